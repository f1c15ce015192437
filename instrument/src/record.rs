//! From a call to a record: what every wrapper of the preloaded library does.
//!
//! Each thread stores into a chunk of its own, so threads share nothing on the hot path except what
//! MPI itself requires to be ordered. The state of a thread consists of plain cells without a
//! destructor, so that it is still valid for an MPI call in a thread-exit handler.

mod algorithms;
mod calls;
#[allow(unsafe_code)]
mod completion;
#[allow(unsafe_code)]
mod constructors;
#[allow(unsafe_code)]
mod creations;
#[allow(unsafe_code)]
mod files_and_windows;
#[allow(unsafe_code)]
mod gaps;
#[allow(unsafe_code)]
mod initiation;
#[allow(unsafe_code)]
mod local;
#[allow(unsafe_code)]
mod nesting;
#[allow(unsafe_code)]
mod overflow;
mod passes;
#[allow(unsafe_code)]
mod persistent;
#[allow(unsafe_code)]
mod receives;
#[allow(unsafe_code)]
mod recorder;
#[allow(unsafe_code)]
mod requests;
mod retained;
#[allow(unsafe_code)]
mod running;
mod sequences;
#[allow(unsafe_code)]
mod session;
#[allow(unsafe_code)]
mod sites;
#[allow(unsafe_code)]
mod thread;

pub use algorithms::{Algorithm, algorithm_call};
pub use calls::{is_inside_a_call, recorded_call, rooted_call};
pub use completion::{
    get_status_call, request_free_call, some_call, test_call, testall_call, testany_call,
    wait_call, waitall_call, waitany_call,
};
pub use constructors::{constructor_call, free_call, group_constructor_call, name_communicator};
pub use creations::{creation_call, creation_request, creation_start, creation_step};
pub use files_and_windows::{
    access_begin_call, access_end_call, closing_call, fence_call, file_or_window_call,
    nonblocking_access_call, opening_call,
};
pub use gaps::{Peer, begin_transfer_call, poll_call, send_call, timed_call};
pub use initiation::{RequestCall, nonblocking_call};
pub(crate) use local::Local;
pub use nesting::guarded_call;
pub(crate) use passes::define_control_point;
pub use passes::{begin_own_call, define_tree, end_own_call, record_pass};
pub use persistent::{persistent_call, start_call, startall_call};
pub(crate) use recorder::Recorder;
pub(crate) use running::{Thresholds, usage_of_this_thread};
pub(crate) use session::record_init;
pub use session::{abort_call, begin_call, end_call, phase_call};
