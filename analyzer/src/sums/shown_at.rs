//! Where an instance is shown.

use std::borrow::Cow;

use crate::communicators::Scope;

/// Where an instance is shown: entry, class, and for each slot the position in the entry.
pub(crate) struct ShownAt<'m> {
    pub(crate) entry: usize,
    pub(crate) scope: Scope,
    pub(crate) positions: Cow<'m, [usize]>,
}

/// Finds the positions of world ranks in the list of ranks of a communicator.
pub(crate) struct PositionsOfRanks<'r> {
    ranks: &'r [Option<u32>],
    /// World ranks and their positions, ascending; filled when first needed.
    sorted: Vec<(u32, usize)>,
}

impl<'r> PositionsOfRanks<'r> {
    pub(crate) fn new(ranks: &'r [Option<u32>]) -> Self {
        Self {
            ranks,
            sorted: Vec::new(),
        }
    }

    /// Position of a world rank; 0 if it is not in the list.
    pub(crate) fn of(&mut self, world_rank: u32) -> usize {
        // In `MPI_COMM_WORLD`, and others like it, the position is the rank.
        if self.ranks.get(world_rank as usize) == Some(&Some(world_rank)) {
            return world_rank as usize;
        }
        if self.sorted.is_empty() {
            let ranks = self.ranks.iter().zip(0..);
            self.sorted = ranks
                .filter_map(|(rank, at)| Some(((*rank)?, at)))
                .collect();
            self.sorted.sort_unstable();
        }
        let at = self.sorted.partition_point(|(rank, _)| *rank < world_rank);
        let found = self.sorted.get(at).filter(|(rank, _)| *rank == world_rank);
        found.map_or(0, |(_, at)| *at)
    }
}

impl ShownAt<'_> {
    /// Whether slots are positions, of all `n` of the entry.
    pub(crate) fn is_in_order(&self, n: usize) -> bool {
        let mut positions = self.positions.iter().enumerate();
        self.positions.len() == n && positions.all(|(slot, &position)| slot == position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_world_rank_is_found_wherever_it_stands() {
        let ranks = [Some(5), None, Some(2), Some(9)];
        let mut positions_of_ranks = PositionsOfRanks::new(&ranks);
        assert_eq!(
            [5, 2, 9, 7].map(|rank| positions_of_ranks.of(rank)),
            [0, 2, 3, 0]
        );
    }
}
