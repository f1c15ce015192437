//! Combining values.

/// What combines the values of two contributors: an operation on elements of some type.
pub trait Combine {
    /// Size of an element, at least one byte. Values are divided between elements only.
    fn element_bytes(&self) -> usize;

    /// Whether values must be combined in the order of ranks: for operations that do not commute,
    /// or of which that is not known.
    fn keeps_rank_order(&self) -> bool;

    /// Combines two values of the same length, a multiple of the size of an element unless processes
    /// have given different lengths: `right` becomes `left` op `right`, element by element, as with
    /// `MPI_Reduce_local`.
    fn combine(&mut self, left: &[u8], right: &mut [u8]);

    /// Stores the result where the program wants it. Elements with gaps leave the gaps as they are.
    fn store(&self, result: &[u8], to: &mut [u8]) {
        to.copy_from_slice(result);
    }

    /// Whether [`store`](Self::store) copies all bytes as they are.
    fn stores_all_bytes(&self) -> bool {
        true
    }
}

/// For values that are only moved.
pub(crate) struct Moved;

impl Combine for Moved {
    fn element_bytes(&self) -> usize {
        1
    }

    fn keeps_rank_order(&self) -> bool {
        false
    }

    /// Nothing is combined.
    fn combine(&mut self, _left: &[u8], _right: &mut [u8]) {}
}
