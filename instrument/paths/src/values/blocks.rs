//! What values consist of, and how they are put together.
//!
//! A value on its way through the tree is for a set of ranks. Where it is combined, it is one block
//! for all of them. Where ranks must be combined in their order and the set has gaps, it is a block
//! for each run of consecutive ranks. Where values are only gathered, it is a block for each rank.

use super::combine::Combine;

/// What the blocks of a value are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Shape {
    /// One for all ranks, combined in the order of the tree.
    Whole,
    /// One for each run of consecutive ranks, combined in the order of ranks.
    Runs,
    /// One for each rank.
    PerRank,
}

/// The ranks of a block: first and last.
type Block = (u32, u32);

/// The blocks of a value for these ranks, which are ascending.
pub(crate) fn blocks(ranks: &[u32], shape: Shape) -> Vec<Block> {
    match shape {
        Shape::Whole => vec![(0, 0)],
        Shape::PerRank => ranks.iter().map(|&rank| (rank, rank)).collect(),
        Shape::Runs => ranks
            .chunk_by(|a, b| a + 1 == *b)
            .map(|run| (run[0], run[run.len() - 1]))
            .collect(),
    }
}

/// The positions of the blocks of some ranks among those of more.
pub(crate) fn positions(all: &[u32], some: &[u32], shape: Shape) -> Vec<u32> {
    let of_all = blocks(all, shape);
    let of_some = blocks(some, shape);
    of_some
        .iter()
        .filter_map(|block| of_all.iter().position(|other| other == block))
        .map(|position| position as u32)
        .collect()
}

/// How the blocks of several values become those of one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Merge {
    /// The number of blocks of each value.
    n_blocks: Vec<u32>,
    /// Whether each value is one block, and so is the result.
    is_whole: bool,
    /// For each block of the result which blocks are combined, in this order: value, and block in
    /// it.
    parts: Vec<Vec<(u32, u32)>>,
}

impl Merge {
    /// The merge of values for these sets of ranks, each ascending, which have no rank in common.
    pub(crate) fn new(sets: &[&[u32]], shape: Shape) -> Self {
        let of_sets: Vec<Vec<Block>> = sets.iter().map(|set| blocks(set, shape)).collect();
        let n_blocks = of_sets.iter().map(|blocks| blocks.len() as u32).collect();
        let mut parts: Vec<(Block, (u32, u32))> = Vec::new();
        for (value, blocks) in (0..).zip(&of_sets) {
            parts.extend((0..).zip(blocks).map(|(nth, &block)| (block, (value, nth))));
        }
        let mut all: Vec<u32> = sets.concat();
        all.sort_unstable();
        if shape != Shape::Whole {
            parts.sort_unstable();
        }
        let mut rest = &parts[..];
        let parts = blocks(&all, shape).into_iter().map(|(_, last)| {
            let n = match shape {
                Shape::Whole => rest.len(),
                _ => rest.partition_point(|((_, own_last), _)| *own_last <= last),
            };
            let (of_block, others) = rest.split_at(n);
            rest = others;
            of_block.iter().map(|&(_, part)| part).collect()
        });
        Self {
            n_blocks,
            is_whole: shape == Shape::Whole,
            parts: parts.collect(),
        }
    }

    pub(crate) fn n_values(&self) -> usize {
        self.n_blocks.len()
    }

    pub(crate) fn n_result_blocks(&self) -> usize {
        self.parts.len()
    }

    /// Puts values together. Value `i` has its first `lengths[i]` bytes at `i * stride`; all its
    /// blocks are equally long. Returns the length of the result, whose blocks are as long as the
    /// longest that went into it, without what does not fit into `result`.
    pub(crate) fn apply(
        &self,
        values: &[u8],
        stride: usize,
        lengths: &[usize],
        combine: &mut dyn Combine,
        result: &mut [u8],
    ) -> usize {
        if self.is_whole {
            let room = result.len();
            let parts = lengths.iter().enumerate().rev().map(|(value, &bytes)| {
                let begin = value * stride;
                &values[begin..begin + bytes.min(room)]
            });
            return fold(parts, combine, result);
        }
        let block_of = |value: u32, block: u32| {
            let value = value as usize;
            let bytes = lengths[value] / (self.n_blocks[value] as usize).max(1);
            let begin = value * stride + block as usize * bytes;
            &values[begin..begin + bytes]
        };
        let of_parts = self.parts.iter().flatten();
        let longest = of_parts
            .map(|&(value, block)| block_of(value, block).len())
            .max();
        let longest = longest
            .unwrap_or(0)
            .min(result.len() / self.parts.len().max(1));
        for (parts, to) in self
            .parts
            .iter()
            .zip(result.chunks_exact_mut(longest.max(1)))
        {
            let parts = parts.iter().rev().map(|&(value, block)| {
                let part = block_of(value, block);
                &part[..part.len().min(longest)]
            });
            let n_bytes = fold(parts, combine, to);
            to[n_bytes..longest].fill(0);
        }
        longest * self.parts.len()
    }
}

/// Combines parts, given from the last to the first, none longer than `result`. Returns the length
/// of the longest.
#[inline]
fn fold<'a>(
    parts: impl Iterator<Item = &'a [u8]>,
    combine: &mut dyn Combine,
    result: &mut [u8],
) -> usize {
    let mut so_far = 0;
    for part in parts {
        let both = so_far.min(part.len());
        if both > 0 {
            combine.combine(&part[..both], &mut result[..both]);
        }
        if part.len() > so_far {
            result[so_far..part.len()].copy_from_slice(&part[so_far..]);
            so_far = part.len();
        }
    }
    so_far
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds bytes.
    struct Sum;

    impl Combine for Sum {
        fn element_bytes(&self) -> usize {
            1
        }

        fn keeps_rank_order(&self) -> bool {
            true
        }

        fn combine(&mut self, left: &[u8], right: &mut [u8]) {
            for (to, from) in right.iter_mut().zip(left) {
                *to = to.wrapping_add(*from);
            }
        }
    }

    #[test]
    fn ranks_are_divided_into_blocks() {
        let ranks = [0, 1, 3, 5, 6, 7];
        assert_eq!(blocks(&ranks, Shape::Whole).len(), 1);
        assert_eq!(blocks(&ranks, Shape::Runs), [(0, 1), (3, 3), (5, 7)]);
        assert_eq!(blocks(&ranks, Shape::PerRank).len(), 6);
        assert_eq!(positions(&ranks, &[3, 6], Shape::PerRank), [2, 4]);
        assert_eq!(positions(&ranks, &[3], Shape::Whole), [0]);
    }

    #[test]
    fn runs_that_meet_become_one_in_the_order_of_ranks() {
        let merge = Merge::new(&[&[2, 5], &[0, 1, 3]], Shape::Runs);
        assert_eq!(merge.parts, [vec![(1, 0), (0, 0), (1, 1)], vec![(0, 1)]]);
        let merge = Merge::new(&[&[2, 5], &[0, 1, 3]], Shape::Whole);
        assert_eq!(merge.parts, [vec![(0, 0), (1, 0)]]);
        let merge = Merge::new(&[&[2, 5], &[0, 1, 3]], Shape::PerRank);
        assert_eq!(
            merge.parts.concat(),
            [(1, 0), (1, 1), (0, 0), (1, 2), (0, 1)]
        );
    }

    #[test]
    fn a_shorter_value_changes_no_more_than_it_has() {
        let merge = Merge::new(&[&[0], &[1]], Shape::Whole);
        let mut result = [9; 8];
        let values = [1, 2, 3, 4, 10, 20, 0, 0];
        assert_eq!(merge.apply(&values, 4, &[4, 2], &mut Sum, &mut result), 4);
        assert_eq!(result, [11, 22, 3, 4, 9, 9, 9, 9]);
        assert_eq!(merge.apply(&values, 4, &[1, 2], &mut Sum, &mut result), 2);
        assert_eq!(result[..2], [11, 20]);
        let mut small = [0; 3];
        assert_eq!(merge.apply(&values, 4, &[4, 2], &mut Sum, &mut small), 3);
        assert_eq!(small, [11, 22, 3]);
        assert_eq!(merge.apply(&values, 4, &[0, 0], &mut Sum, &mut small), 0);
    }
}
