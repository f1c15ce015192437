//! What event collectors record.

/// One pass of a value through an event collector, on its way to the bottommost wrapper and back.
///
/// In operations in which data flow one way a value passes once, and one of the times is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Pass {
    /// When it passed on its way to the bottommost wrapper, ticks of
    /// [`Transport::now`](crate::Transport::now); 0 if it did not.
    pub down: u64,
    /// When it passed on its way back, ticks; 0 if it did not.
    pub up: u64,
    /// The number of the operation on its communicator, from 1.
    pub call: u64,
    /// Which collector: the rank if it is between a process and its first wrapper; otherwise the
    /// number of ranks and the index of the wrapper that it is after.
    pub collector: u32,
    /// The number of the segment of the payload, from 0.
    pub segment: u32,
}

const _: () = assert!(size_of::<Pass>() == 32);

/// Called for each pass of this process through an event collector. It must neither wait nor
/// allocate.
pub type Collect = Box<dyn FnMut(Pass) + Send>;
