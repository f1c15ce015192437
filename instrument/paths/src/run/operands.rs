//! Combining the values of several processes in one order.

use crate::error::Error;
use crate::values::Combine;

/// A part of the values that are combined.
pub(super) struct Operands<'a> {
    /// What this process has.
    pub(super) given: &'a [u8],
    /// What is combined so far.
    pub(super) so_far: &'a mut [u8],
    /// What is combined with it next; there is at least as much room.
    pub(super) next: &'a mut [u8],
}

impl Operands<'_> {
    /// Combines what all ranks have, which `fetch` stores for those that are not `me`, in this order or, if
    /// the operation asks for that, in that of ranks. Returns whether all was fetched.
    #[inline]
    pub(super) fn combine(
        self,
        order: &[usize],
        me: u32,
        combine: &mut dyn Combine,
        mut fetch: impl FnMut(usize, &mut [u8]) -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        let Self {
            given,
            so_far,
            next,
        } = self;
        let next = &mut next[..so_far.len()];
        let keeps_rank_order = combine.keeps_rank_order();
        let mut is_first = true;
        for nth in (0..order.len()).rev() {
            let rank = if keeps_rank_order { nth } else { order[nth] };
            let is_own = rank == me as usize;
            let into = if is_first { &mut *so_far } else { &mut *next };
            if !is_own && !fetch(rank, into)? {
                return Ok(false);
            }
            match (is_first, is_own) {
                (true, true) => so_far.copy_from_slice(given),
                (true, false) => {}
                (false, true) => combine.combine(given, so_far),
                (false, false) => combine.combine(next, so_far),
            }
            is_first = false;
        }
        Ok(true)
    }
}
