//! Trees of more processes than a picture can show: the hops that stand out, and what leads to them.

use std::cmp::Reverse;

use super::{Row, Tree, TreeNode};
use crate::Text;
use crate::hops::{Grade, Medians};
use crate::timemap::StageTime;

/// Most rows without abbreviation.
pub(super) const MAX_ROWS: usize = 160;
/// Most processes in an abbreviated tree; each may have a row for the rest of its children.
const MAX_KEPT: usize = 64;

/// What is below each row; lists are indexed by row.
#[derive(Clone, Copy)]
struct Below<'a> {
    /// Children of a row that are kept.
    children: &'a [Vec<usize>],
    /// Number of processes below a row that are neither kept nor below a child that is kept.
    hidden: &'a [usize],
    /// Number of the colour of the slowest hop of these processes.
    worst: &'a [usize],
}

impl Tree {
    /// This tree with the processes whose hops stand out, the slowest first, then those nearest to the
    /// root, each with all above it; the others are counted. `None` if it is small enough.
    pub(super) fn abbreviated(&self, medians: &Medians) -> Option<Tree> {
        if self.rows.len() <= MAX_ROWS {
            return None;
        }
        let kept = self.kept(medians);
        let mut sizes = vec![1; self.rows.len()];
        // Rows are below their parents.
        for row in (0..self.rows.len()).rev() {
            if let Some(parent) = self.rows[row].parent {
                sizes[parent] += sizes[row];
            }
        }
        let mut hidden: Vec<usize> = sizes.iter().map(|size| size - 1).collect();
        let mut children = vec![Vec::new(); self.rows.len()];
        for (row, size) in sizes.iter().enumerate().filter(|(row, _)| kept[*row]) {
            if let Some(parent) = self.rows[row].parent {
                hidden[parent] -= size;
                children[parent].push(row);
            }
        }
        let mut worst = vec![0; self.rows.len()];
        for (number, row) in self.rows.iter().enumerate().rev() {
            if let Some(parent) = row.parent.filter(|_| !kept[number]) {
                let own = self.grade(row, medians).color().unwrap_or(0);
                worst[parent] = worst[number].max(worst[parent]).max(own);
            }
        }
        let mut shorter = Tree {
            rows: Vec::new(),
            ..self.clone()
        };
        let roots = self.rows.iter().enumerate();
        let roots = roots.filter(|(row, of)| of.parent.is_none() && kept[*row]);
        for (root, _) in roots {
            let below = Below {
                children: &children,
                hidden: &hidden,
                worst: &worst,
            };
            self.add(root, None, below, &mut shorter);
        }
        Some(shorter)
    }

    /// Whether a row is kept, by row.
    fn kept(&self, medians: &Medians) -> Vec<bool> {
        let mut candidates: Vec<usize> = (0..self.rows.len()).collect();
        candidates.sort_by_key(|&number| {
            let row = &self.rows[number];
            let node = &self.nodes[row.node];
            let color = match self.grade(row, medians) {
                Grade::Above(_) if row.parent.is_some() => 1,
                _ => 0,
            };
            let times = [node.down, node.up].into_iter().flatten();
            let slower = times.map(StageTime::mean_ns).max().filter(|_| color > 0);
            (Reverse(color), Reverse(slower), row.depth, number)
        });
        let mut kept = vec![false; self.rows.len()];
        let mut n_kept = 0;
        for row in candidates {
            let above = std::iter::successors(Some(row), |&row| self.rows[row].parent);
            let new: Vec<usize> = above.take_while(|&row| !kept[row]).collect();
            if n_kept + new.len() <= MAX_KEPT {
                n_kept += new.len();
                new.into_iter().for_each(|row| kept[row] = true);
            }
        }
        kept
    }

    /// Adds a row, the kept ones below it, and one for the rest of those.
    fn add(&self, row: usize, parent: Option<usize>, below: Below<'_>, shorter: &mut Tree) {
        let own = shorter.rows.len();
        let found = self.rows[row];
        shorter.rows.push(Row { parent, ..found });
        for &child in &below.children[row] {
            self.add(child, Some(own), below, shorter);
        }
        let n_hidden = below.hidden[row];
        if n_hidden > 0 {
            shorter.rows.push(Row {
                node: shorter.nodes.len(),
                depth: found.depth + 1,
                parent: Some(own),
                rest: Some(below.worst[row]),
            });
            shorter.nodes.push(rest(n_hidden));
        }
    }
}

/// What stands for processes that are not shown.
fn rest(n: usize) -> TreeNode {
    TreeNode::unmeasured(format!("{n} more"), Text::default(), None)
}
