//! The memory that a tree takes in a process.

use collbench_formats::tree::Wrappers;

use super::flat::flat_bytes;
use super::options::TeamOptions;
use super::worker::buffer_bytes;
use crate::transport::LINE_BYTES;
use crate::tree::{Layout, Paths};

/// Bytes that a tree takes in the process with this rank: what it has for itself, which is not
/// known exactly, and its part of what the processes of its host share.
///
/// # Panics
/// If the rank is none of the tree.
#[must_use]
pub fn tree_bytes(tree: &Wrappers, rank: u32, options: &TeamOptions) -> usize {
    /// Of what is known about each place where paths join, and each way between two of them.
    const DESCRIPTION_BYTES: usize = 256;
    let paths = Paths::new(tree);
    let segment_bytes = options.segment_bytes;
    let layout = Layout::new(&paths, paths.hosts[rank as usize], segment_bytes);
    let shared = layout.n_lines() * LINE_BYTES;
    let contributors = paths.joins.iter().map(|join| join.contributors.len());
    let n_described = paths.edges.len() + paths.joins.len();
    let n_listed: usize = paths.joins.iter().map(|join| join.ranks.len()).sum();
    shared.div_ceil(layout.mates.len())
        + buffer_bytes(segment_bytes, contributors.max().unwrap_or(0))
        + flat_bytes(&paths, options)
        + n_described * DESCRIPTION_BYTES
        + n_listed * size_of::<u32>()
}
