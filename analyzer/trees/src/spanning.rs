//! Spanning trees by their definitions, and the names of observed trees.
//!
//! Parents are relative to the root, which is 0 and its own parent.
//!
//! # Source
//! Open MPI's `coll_base_topo.h` and MPICH's `treealgo`, as their documentation defines the trees;
//! binomial and k-nomial trees in both orders of the digits.

use std::collections::BTreeSet;

use super::algorithm::Tree;

/// Largest parameter of trees that is tried: no library uses more.
const MAX_FAN_OUT: u32 = 64;

/// The parent of each rank.
type Parents = Vec<u32>;

/// All named trees of `n` ranks, with their names. If several names fit, as for few ranks, the
/// preferred one comes first.
fn models(n: u32) -> impl Iterator<Item = (Tree, Parents)> {
    let all = |parent: fn(u32) -> u32| (0..n).map(parent).collect::<Parents>();
    let plain = [
        (Tree::Linear, all(|_| 0)),
        (Tree::Pipeline, all(|rank| rank.saturating_sub(1))),
        (Tree::Binomial, all(|rank| without_first_digit(rank, 2))),
        (Tree::Binomial, all(|rank| without_last_digit(rank, 2))),
        (Tree::Binary, k_ary_by_levels(n, 2)),
        (Tree::Binary, k_ary_in_rows(n, 2)),
    ];
    let of_base = move |k: u32| {
        [
            (
                Tree::Knomial(k),
                (0..n).map(|rank| without_last_digit(rank, k)).collect(),
            ),
            (
                Tree::Knomial(k),
                (0..n).map(|rank| without_first_digit(rank, k)).collect(),
            ),
        ]
    };
    let k_ary = move |k: u32| {
        [
            (Tree::Kary(k), k_ary_by_levels(n, k)),
            (Tree::Kary(k), k_ary_in_rows(n, k)),
        ]
    };
    let most = n.saturating_sub(1).min(MAX_FAN_OUT);
    (plain.into_iter())
        .chain((3..most).flat_map(of_base))
        .chain((2..most).map(move |k| (Tree::Chain(k), chains(n, k))))
        .chain((3..most).flat_map(k_ary))
}

/// The trees of `n` ranks with one name; if the parameter is 0, those with any parameter. A tree
/// that several parameters make has parameter 0.
pub(crate) fn of_name(tree: Tree, n: u32) -> Vec<(Tree, Parents)> {
    let any = |own: u32| match own {
        0 => 1..n.clamp(2, MAX_FAN_OUT + 1),
        k => k..k + 1,
    };
    let all = |parent: &dyn Fn(u32) -> u32| (0..n).map(parent).collect::<Parents>();
    let mut found: Vec<(Tree, Parents)> = match tree {
        Tree::Knomial(own) => any(own)
            .map(|k| k + u32::from(own == 0))
            .flat_map(|k| {
                let last = all(&|rank| without_last_digit(rank, k));
                let first = all(&|rank| without_first_digit(rank, k));
                [(Tree::Knomial(k), last), (Tree::Knomial(k), first)]
            })
            .collect(),
        Tree::Chain(own) => any(own).map(|k| (Tree::Chain(k), chains(n, k))).collect(),
        _ => models(n).filter(|(name, _)| *name == tree).collect(),
    };
    // From n - 1 on all ranks are children of the root, whatever the name says.
    for (name, parents) in &mut found {
        match name {
            Tree::Knomial(k) | Tree::Chain(k) if parents.iter().all(|&parent| parent == 0) => {
                *k = 0
            }
            _ => {}
        }
    }
    found.dedup();
    found
}

/// Names of the trees of `n` ranks, with this root, that contain all these edges from child to
/// parent: for the rest of a tree in which some ranks have nothing to send or to receive.
pub(crate) fn with_edges(n: u32, root: u32, edges: &BTreeSet<(u32, u32)>) -> Vec<Tree> {
    let number = |slot: u32| (slot + n - root) % n;
    let has_all = |parents: &Parents| {
        let mut edges = edges.iter();
        edges.all(|&(child, parent)| parents[number(child) as usize] == number(parent))
    };
    let mut names: Vec<Tree> = models(n)
        .filter(|(_, parents)| has_all(parents))
        .map(|(name, _)| name)
        .collect();
    names.dedup();
    names
}

/// The parent of a rank in a k-nomial tree: its highest digit to base k becomes 0.
fn without_first_digit(rank: u32, k: u32) -> u32 {
    let mut power = 1;
    while rank / k >= power {
        power *= k;
    }
    rank % power
}

/// The parent of a rank in a k-nomial tree: its lowest digit to base k that is not 0 becomes 0.
pub(crate) fn without_last_digit(rank: u32, k: u32) -> u32 {
    let mut power = 1;
    while rank != 0 && (rank / power).is_multiple_of(k) {
        power *= k;
    }
    rank - rank / power % k * power
}

/// Each level has k times as many ranks as the one before; the distance of a rank to its children,
/// and between these, is the number of ranks in its level.
fn k_ary_by_levels(n: u32, k: u32) -> Parents {
    let mut parents = vec![0; n as usize];
    let (mut first, mut in_level) = (0u64, 1u64);
    while first < u64::from(n) {
        for rank in first..(first + in_level).min(u64::from(n)) {
            for nth in 1..=u64::from(k) {
                if let Some(parent) = parents.get_mut((rank + nth * in_level) as usize) {
                    *parent = rank as u32;
                }
            }
        }
        first += in_level;
        in_level *= u64::from(k);
    }
    parents
}

/// The children of rank v are k v + 1 ... k v + k.
pub(crate) fn k_ary_in_rows(n: u32, k: u32) -> Parents {
    (0..n).map(|rank| rank.saturating_sub(1) / k).collect()
}

/// The ranks after the root cut into k chains; the first ones are longer by one if there is a
/// remainder.
pub(crate) fn chains(n: u32, k: u32) -> Parents {
    let (length, n_longer) = ((n - 1) / k, (n - 1) % k);
    let lengths = (0..k).map(|chain| length + u32::from(chain < n_longer));
    let of_chain = lengths.scan(1, |next, length| {
        let first = *next;
        *next += length;
        Some((first..*next).map(move |rank| if rank == first { 0 } else { rank - 1 }))
    });
    std::iter::once(0).chain(of_chain.flatten()).collect()
}

/// The parent of each rank in an in-order binary tree, not relative to the root: the root, its own
/// parent, is the last of `n` ranks. Of the ranks below a root the lower half is one subtree, and
/// the rest is the other one; each has its last rank as its root.
pub(crate) fn in_order_binary(n: u32) -> Parents {
    let mut parents = vec![0; n as usize];
    let mut open = vec![(0, n, n - 1)];
    while let Some((first, size, parent)) = open.pop() {
        if size == 0 {
            continue;
        }
        let root = first + size - 1;
        parents[root as usize] = parent;
        let lower = size / 2;
        open.push((first, lower, root));
        open.push((first + lower, size - lower - 1, root));
    }
    parents
}

/// The edges of a binary tree by levels from parent to child, and of the exchange between its two
/// halves: ranks 1 and 2, 3 and 4 ...; with an even number of ranks the last one exchanges with the
/// root.
pub(crate) fn split_binary(n: u32) -> Vec<(u32, u32)> {
    let tree = k_ary_by_levels(n, 2);
    let down = (1..n).map(|rank| (tree[rank as usize], rank));
    let pairs = (1..n).step_by(2).flat_map(|left| {
        if left + 1 < n {
            vec![(left, left + 1), (left + 1, left)]
        } else {
            vec![(0, left)]
        }
    });
    down.chain(pairs).collect()
}

/// The edges of a binomial tree, from parent to child; the parent of a rank is the rank with its
/// lowest bit cleared.
pub(crate) fn binomial_in_order(n: u32) -> impl Iterator<Item = (u32, u32)> {
    (1..n).map(|rank| (without_last_digit(rank, 2), rank))
}

/// An observed spanning tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpanningTree {
    /// The process at the root.
    pub root: u32,
    /// The parent of each slot; the root is its own parent.
    pub parents: Parents,
}

impl SpanningTree {
    /// The tree with these edges from child to parent; `None` if they form no tree of all `n`
    /// slots.
    pub(crate) fn of(n: u32, edges: impl Iterator<Item = (u32, u32)>) -> Option<Self> {
        let mut parents = vec![u32::MAX; n as usize];
        for (child, parent) in edges {
            let own = parents.get_mut(child as usize)?;
            if *own != u32::MAX || parent >= n {
                return None;
            }
            *own = parent;
        }
        let mut roots = (0..n).filter(|&slot| parents[slot as usize] == u32::MAX);
        let root = roots.next().filter(|_| roots.next().is_none())?;
        parents[root as usize] = root;
        let this = Self { root, parents };
        // A slot from which the root cannot be reached is on a circle.
        this.depths().map(|_| this)
    }

    /// Distance of each slot to the root, in edges; `None` if there is a circle.
    fn depths(&self) -> Option<Vec<u32>> {
        let n = self.parents.len();
        let mut depths = vec![u32::MAX; n];
        depths[self.root as usize] = 0;
        let mut path = Vec::new();
        for slot in 0..n {
            let mut at = slot;
            while depths[at] == u32::MAX {
                if path.len() > n {
                    return None;
                }
                path.push(at);
                at = self.parents[at] as usize;
            }
            let mut depth = depths[at];
            while let Some(below) = path.pop() {
                depth += 1;
                depths[below] = depth;
            }
        }
        Some(depths)
    }

    /// Edges on the longest path to the root.
    pub(crate) fn height(&self) -> u32 {
        let depths = self.depths().unwrap_or_default();
        depths.into_iter().max().unwrap_or(0)
    }

    /// Largest number of children of a slot.
    pub(crate) fn fan_out(&self) -> u32 {
        let mut n_children = vec![0; self.parents.len()];
        for (slot, &parent) in self.parents.iter().enumerate() {
            n_children[parent as usize] += u32::from(slot as u32 != parent);
        }
        n_children.into_iter().max().unwrap_or(0)
    }

    /// All names that fit, the most usual first.
    pub(crate) fn names(&self) -> Vec<Tree> {
        let n = self.parents.len() as u32;
        let root = self.root;
        let own = self.numbered(|slot| (slot + n - root) % n);
        let mut names = names_of(&own);
        if names.is_empty() && root != 0 {
            // Some libraries exchange the root and rank 0.
            let changed = |slot: u32| match slot {
                0 => root,
                _ if slot == root => 0,
                _ => slot,
            };
            names = names_of(&self.numbered(changed));
        }
        if root == n - 1 && self.parents == in_order_binary(n) {
            names.push(Tree::InOrderBinary);
        }
        names
    }

    /// The parents after renumbering the slots; `number` gives 0 for the root.
    fn numbered(&self, number: impl Fn(u32) -> u32) -> Parents {
        let mut numbered = vec![0; self.parents.len()];
        for (slot, &parent) in self.parents.iter().enumerate() {
            numbered[number(slot as u32) as usize] = number(parent);
        }
        numbered
    }
}

fn names_of(parents: &Parents) -> Vec<Tree> {
    let fits = models(parents.len() as u32).filter(|(_, model)| model == parents);
    let mut names: Vec<Tree> = fits.map(|(name, _)| name).collect();
    names.dedup();
    names
}
