//! Values from and to the layout of a datatype.
//!
//! On their way over a tree values lie side by side. What the program has with gaps, or in another
//! order, is packed before and unpacked after by the MPI library.

use std::ffi::c_int;

use crate::mpi::{Handle, address_of, call_mpi};

/// Some elements of a datatype in memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Elements {
    /// The address as MPI has it: elements may lie before it.
    pub(super) address: usize,
    pub(super) n: usize,
    pub(super) datatype: Handle,
}

/// A communicator of ours, on which errors are returned.
pub(super) type Returning = Handle;

/// Packs elements. Returns whether the library has done it, and filled `into`.
///
/// # Safety
/// `elements` are valid for reading, as MPI requires it of the buffer of a send.
pub(super) unsafe fn pack(elements: Elements, into: &mut [u8], comm: Returning) -> bool {
    let mut position: c_int = 0;
    let Elements {
        address,
        n,
        datatype,
    } = elements;
    let to = into.as_mut_ptr() as usize;
    let code = call_mpi!(c"PMPI_Pack";
        address, n, datatype, to, into.len(), address_of(&mut position), comm);
    code == 0 && position as usize == into.len()
}

/// Unpacks elements. Returns whether the library has done it.
///
/// # Safety
/// `elements` are valid for writing, as MPI requires it of the buffer of a receive.
pub(super) unsafe fn unpack(from: &[u8], elements: Elements, comm: Returning) -> bool {
    let mut position: c_int = 0;
    let Elements {
        address,
        n,
        datatype,
    } = elements;
    let begin = from.as_ptr() as usize;
    let code = call_mpi!(c"PMPI_Unpack";
        begin, from.len(), address_of(&mut position), address, n, datatype, comm);
    code == 0
}

/// Whether the library takes a datatype for communication: it is committed.
pub(super) fn is_committed(datatype: Handle, comm: Returning) -> bool {
    let nothing = Elements {
        address: 0,
        n: 0,
        datatype,
    };
    // SAFETY: no elements are read.
    unsafe { pack(nothing, &mut [], comm) }
}

/// Where the elements of a datatype are, relative to the address of the first one; bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    /// From one element to the next; may be negative.
    pub(super) extent: isize,
    /// The first byte of data of an element.
    begin: isize,
    /// The end of its data.
    end: isize,
}

impl Layout {
    /// The layout of a datatype; `None` if the library does not say.
    ///
    /// # Safety
    /// `datatype` is a valid datatype.
    pub(super) unsafe fn of(datatype: Handle) -> Option<Self> {
        let (mut lower, mut extent, mut begin, mut data) = (0isize, 0isize, 0isize, 0isize);
        let codes = [
            call_mpi!(c"PMPI_Type_get_extent";
                datatype, address_of(&mut lower), address_of(&mut extent)),
            call_mpi!(c"PMPI_Type_get_true_extent";
                datatype, address_of(&mut begin), address_of(&mut data)),
        ];
        (codes == [0, 0]).then_some(Self {
            extent,
            begin,
            end: begin + data,
        })
    }

    /// Where the data of `n` elements begin, and how many bytes they take.
    pub(super) fn span(&self, n: usize) -> (isize, usize) {
        let last = self.extent * (n.max(1) - 1) as isize;
        let begin = self.begin + last.min(0);
        let end = self.end + last.max(0);
        (begin, (end - begin) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_span_what_lies_between_the_first_and_the_last_byte_of_their_data() {
        let with_gap = Layout {
            extent: 16,
            begin: 0,
            end: 12,
        };
        assert_eq!(with_gap.span(1), (0, 12));
        assert_eq!(with_gap.span(3), (0, 44));
        let backwards = Layout {
            extent: -8,
            begin: 4,
            end: 8,
        };
        assert_eq!(backwards.span(3), (-12, 20));
        let absolute = Layout {
            extent: 4,
            begin: 0x7000_0000,
            end: 0x7000_0004,
        };
        assert_eq!(absolute.span(2), (0x7000_0000, 8));
    }
}
