//! A send or receive of the library's point-to-point layer, as it is called.

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
    /// From machine words as the library passes them: of `partner` and `tag` the lower half counts.
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

/// When a message ends.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Post {
    /// When the call returns.
    Blocking,
    /// A nonblocking send: when the call returns, its begin is known, and nobody looks at its end.
    Started,
    /// A nonblocking receive: when the library has waited for the request that it puts here.
    Awaited {
        /// Address of the request.
        request: usize,
    },
}
