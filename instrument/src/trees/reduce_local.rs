//! Operations of the program, and predefined ones on types that only the library knows, by
//! `MPI_Reduce_local`.

use std::ffi::c_int;

use collbench_paths::Combine;

use super::datatypes::{Elements, Layout, Returning, pack, unpack};
use crate::mpi::{Handle, call_mpi};

/// An operation that the library executes.
///
/// If values are on their way as they lie in memory, it is given them as they are. Otherwise they
/// are unpacked for it, so that a function of the program finds them with the extent and the lower
/// bound of the type in this process, and the result is packed.
#[derive(Debug)]
pub(super) struct LocalReduction<'a> {
    operation: Handle,
    datatype: Handle,
    /// Bytes of an element on its way.
    bytes: usize,
    keeps_rank_order: bool,
    /// `None` if elements lie in memory as they are on their way.
    layout: Option<Layout>,
    comm: Returning,
    memory: &'a mut [AlignedMemory; 2],
    /// The first error code of the library; 0 if there was none.
    pub(super) code: c_int,
}

/// Memory aligned for any type, which grows as it is needed.
#[derive(Debug, Default)]
pub(super) struct AlignedMemory(Vec<u128>);

impl AlignedMemory {
    /// The address of at least `bytes` bytes.
    fn reserve(&mut self, bytes: usize) -> usize {
        let words = bytes.div_ceil(size_of::<u128>());
        if self.0.len() < words {
            self.0.resize(words, 0);
        }
        self.0.as_mut_ptr() as usize
    }
}

impl<'a> LocalReduction<'a> {
    /// An operation on elements that take `bytes` bytes on their way.
    pub(super) fn new(
        (operation, datatype): (Handle, Handle),
        bytes: usize,
        keeps_rank_order: bool,
        layout: Option<Layout>,
        comm: Returning,
        memory: &'a mut [AlignedMemory; 2],
    ) -> Self {
        Self {
            operation,
            datatype,
            bytes,
            keeps_rank_order,
            layout,
            comm,
            memory,
            code: 0,
        }
    }

    fn note(&mut self, code: c_int) {
        if self.code == 0 {
            self.code = code;
        }
    }

    fn reduce(&mut self, left: usize, right: usize, n: usize) {
        let code = call_mpi!(c"PMPI_Reduce_local";
            left, right, n, self.datatype, self.operation);
        self.note(code);
    }

    /// The elements at the begin of some memory, whose data begin at `begin` of the type.
    fn elements(&self, memory: usize, begin: isize, n: usize) -> Elements {
        Elements {
            address: memory.wrapping_add_signed(begin.wrapping_neg()),
            n,
            datatype: self.datatype,
        }
    }

    fn reduce_unpacked(&mut self, layout: Layout, left: &[u8], right: &mut [u8], n: usize) {
        let (begin, bytes) = layout.span(n);
        let [of_left, of_right] = &mut *self.memory;
        let (of_left, of_right) = (of_left.reserve(bytes), of_right.reserve(bytes));
        let of_left = self.elements(of_left, begin, n);
        let of_right = self.elements(of_right, begin, n);
        // SAFETY: each memory has room for what these elements span, and begins where their data
        // do.
        let is_unpacked =
            unsafe { unpack(left, of_left, self.comm) && unpack(right, of_right, self.comm) };
        if !is_unpacked {
            return self.note(-1);
        }
        self.reduce(of_left.address, of_right.address, n);
        // SAFETY: as above.
        if !unsafe { pack(of_right, right, self.comm) } {
            self.note(-1);
        }
    }

    fn reduce_copied(&mut self, left: &[u8], right: &mut [u8], n: usize) {
        let [of_left, of_right] = &mut *self.memory;
        let (of_left, of_right) = (of_left.reserve(left.len()), of_right.reserve(right.len()));
        // SAFETY: each memory has room for as many bytes, and is ours.
        unsafe {
            (of_left as *mut u8).copy_from_nonoverlapping(left.as_ptr(), left.len());
            (of_right as *mut u8).copy_from_nonoverlapping(right.as_ptr(), right.len());
        }
        self.reduce(of_left, of_right, n);
        // SAFETY: as above.
        unsafe { (of_right as *const u8).copy_to_nonoverlapping(right.as_mut_ptr(), right.len()) };
    }
}

impl Combine for LocalReduction<'_> {
    fn element_bytes(&self) -> usize {
        self.bytes
    }

    fn keeps_rank_order(&self) -> bool {
        self.keeps_rank_order
    }

    fn combine(&mut self, left: &[u8], right: &mut [u8]) {
        // If processes have given different lengths, what they have in common.
        let n = left.len().min(right.len()) / self.bytes;
        if n == 0 {
            return;
        }
        let (left, right) = (&left[..n * self.bytes], &mut right[..n * self.bytes]);
        if let Some(layout) = self.layout {
            return self.reduce_unpacked(layout, left, right, n);
        }
        let (of_left, of_right) = (left.as_ptr() as usize, right.as_mut_ptr() as usize);
        if (of_left | of_right).is_multiple_of(align_of::<u128>()) {
            self.reduce(of_left, of_right, n);
        } else {
            self.reduce_copied(left, right, n);
        }
    }
}
