//! Where the ranks of a timeline are.

use std::ops::Range;

use super::InstanceTimeline;
use crate::heat_map::MAX_ROWS;
use crate::heat_map::band::{self, RankOnHost};

/// Height of all rows together, if rows are then not too high, px.
const ROWS_HEIGHT: f64 = 512.0;
const MAX_ROW_HEIGHT: f64 = 26.0;
/// Least height of a row of many, px: coordinates have one decimal.
const MIN_ROW_HEIGHT: f64 = 0.4;
/// Height of a line of text, px.
const TEXT_LINE: f64 = 13.0;
/// Height of a row above the others, and the gap below these, px.
const APART_HEIGHT: f64 = 18.0;
const APART_GAP: f64 = 10.0;
/// Most rows above the others.
const MAX_APART: usize = 4;

/// A row, or several without text.
pub(super) struct RowGroup {
    /// Indexes of its ranks.
    pub(super) ranks: Range<usize>,
    /// Upper end of the first row, px.
    pub(super) top: f64,
    /// Height of each row, px.
    pub(super) height: f64,
    /// Whether it repeats a rank that is shown below, too.
    pub(super) is_apart: bool,
    /// Its ranks, for scripts: `16-31`.
    pub(super) numbers: String,
    /// `rank 3`.
    pub(super) name: String,
    /// The host.
    pub(super) host: String,
}

impl RowGroup {
    pub(super) fn bottom(&self) -> f64 {
        self.top + self.height * self.ranks.len() as f64
    }

    /// Upper end of the row of a rank.
    pub(super) fn top_of(&self, rank: usize) -> f64 {
        self.top + self.height * (rank - self.ranks.start) as f64
    }
}

impl InstanceTimeline {
    /// Whether each rank has a row that is high enough to be pointed at.
    pub(super) fn has_row_for_each(&self) -> bool {
        self.ranks.len() <= MAX_ROWS
    }

    /// The rows from `top` on: of many ranks first those that arrive last, then all.
    pub(super) fn rows(&self, top: f64) -> Vec<RowGroup> {
        let ranks: Vec<&RankOnHost> = self.ranks.iter().collect();
        let group = |ranks_of: Range<usize>, top: f64, height: f64, is_apart| RowGroup {
            numbers: band::numbers(&ranks[ranks_of.clone()]),
            name: band::name(&ranks[ranks_of.clone()]),
            host: band::host(&ranks[ranks_of.clone()]).as_str().to_owned(),
            ranks: ranks_of,
            top,
            height,
            is_apart,
        };
        let mut rows = Vec::new();
        let mut y = top;
        for rank in self.apart() {
            rows.push(group(rank..rank + 1, y, APART_HEIGHT, true));
            y += APART_HEIGHT;
        }
        if !rows.is_empty() {
            y += APART_GAP;
        }
        let n = ranks.len().max(1) as f64;
        // A multiple of the least coordinate: rows are equally high.
        let height = (ROWS_HEIGHT / n).clamp(MIN_ROW_HEIGHT, MAX_ROW_HEIGHT);
        let height = (height * 10.0).floor() / 10.0;
        for members in band::bands(&ranks) {
            let n_members = members.len() as f64;
            rows.push(group(members, y, height, false));
            y += height * n_members;
        }
        rows
    }

    /// Of many ranks those that arrive last to an instance that the picture is about.
    fn apart(&self) -> Vec<usize> {
        let mut apart = Vec::new();
        if self.ranks.len() as f64 * TEXT_LINE <= ROWS_HEIGHT {
            return apart;
        }
        let instances = self.instances.iter().filter(|instance| !instance.is_beside);
        for (rank, _) in instances.filter_map(|instance| instance.last) {
            let index = self.index_of(rank).filter(|index| !apart.contains(index));
            apart.extend(index.filter(|_| apart.len() < MAX_APART));
        }
        apart.sort_unstable();
        apart
    }
}
