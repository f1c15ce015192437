//! A send or receive in the library's point-to-point layer.

use collbench_formats::Direction;

use crate::mpi::Handle;

/// The arguments of a send or receive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawMessage {
    pub(crate) direction: Direction,
    pub(crate) count: usize,
    pub(crate) datatype: Handle,
    pub(crate) partner: i32,
    pub(crate) tag: i32,
    pub(crate) comm: Handle,
}

impl RawMessage {
    /// From machine words as the library passes them; `partner` and `tag` are in the lower half.
    #[inline]
    pub(crate) fn new(
        direction: Direction,
        count: usize,
        datatype: Handle,
        partner: usize,
        tag: usize,
        comm: Handle,
    ) -> Self {
        Self {
            direction,
            count,
            datatype,
            partner: partner as i32,
            tag: tag as i32,
            comm,
        }
    }
}

/// When the record of a message is complete.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Post {
    /// When the call returns.
    Blocking,
    /// A nonblocking send: when the call returns. Its begin is known, and its end is not observed.
    Started,
    /// A nonblocking receive: when the library has waited for the request that it stores at this
    /// address.
    Awaited {
        /// Address of the request.
        request: usize,
    },
}
