//! Recording: from an MPI call to 32 bytes in a mapped file.
//!
//! # The folders
//!
//! Each one imports only from those above it.
//!
//! | folder | what is in it |
//! | --- | --- |
//! | `table` | the MPI routines that are wrapped: [`mpi_routines`], [`library_algorithms`] |
//! | `process`, `host` | running inside a program's process; the clock ([`Clock`]) and the host |
//! | `settings` | what the user has asked for ([`Settings`]) |
//! | `mpi` | the MPI library of the process ([`MpiLibrary`], [`Abi`](collbench_formats::Abi)) |
//! | `communicators` | communicators, files and windows, and their identities |
//! | `args` | arguments of calls: [`payload`], and counts to be narrowed |
//! | [`directory`], `file` | the trace directory; the file of a rank, and the slots of records in it |
//! | [`exchange`] | measuring the clocks of hosts against one another |
//! | `messages` | data about the messages that the MPI library sends |
//! | `sites` | from where in the program a call is made |
//! | `record` | from a call to a record: the [`Recorder`](record::Recorder) and what wrappers do |
//! | `hooks` | functions that the MPI library calls: from a message to a record |
//! | `trees` | collectives over spanning trees of our own, in place of the library's |
//! | `start` | the start of recording, inside `MPI_Init` |
//!
//! The commands around it are in a package of their own.
//!
//! The preloaded library is in a package of its own, which has the `MPI_*` symbols and nothing
//! else. If they were here, a program that links this crate would be interposed at link time.
//!
//! # The hot path
//!
//! Between the enter stamp and the call of `PMPI_X` nothing is done. Before the stamp: one load of
//! the recorder, one of the thread's state, a cached look-up of the communicator, the payload, and
//! four stores. After the call: one stamp and one store. There is no allocation, lock, system call
//! or MPI call, except where a chunk is full or a communicator is not in the thread's cache, and
//! then before the enter stamp.
//!
//! A nonblocking collective adds an entry to a table of requests without locks. The call that
//! completes it takes the entry before the MPI library's call, and removes it afterwards.

// Unsafe code is only allowed in modules that call MPI, the loader or the kernel, or use mapped
// memory.
#![deny(unsafe_code)]

#[macro_use]
mod table;
mod args;
mod communicators;
pub mod directory;
pub mod exchange;
mod file;
mod hooks;
mod host;
mod messages;
mod mpi;
mod process;
mod record;
mod settings;
mod sites;
#[allow(unsafe_code)]
mod start;
mod trees;

pub use args::{ArgumentRole, Initiated, Peers, RetainedArrays, call_narrowed, payload};
pub use communicators::{CommunicatorEntry, CommunicatorIdentity, FileOrWindow};
pub use hooks::{endpoint_call, own_address_call, tagged_receive, tagged_send};
pub use host::{
    Clock, HostKey, LauncherRank, boot_id, host_identity, host_key, host_name, is_launcher,
    launched_job, measure_clock,
};
pub use mpi::{CalledAs, MpiLibrary, RealFunction};
pub use process::ReservedMemory;
pub use record::{
    Algorithm, Peer, RequestCall, abort_call, access_begin_call, access_end_call, algorithm_call,
    begin_call, begin_own_call, begin_transfer_call, closing_call, constructor_call, creation_call,
    creation_request, creation_start, creation_step, define_tree, end_call, end_own_call,
    fence_call, file_or_window_call, free_call, get_status_call, group_constructor_call,
    guarded_call, is_inside_a_call, name_communicator, nonblocking_access_call, nonblocking_call,
    opening_call, persistent_call, phase_call, poll_call, record_pass, recorded_call,
    request_free_call, rooted_call, send_call, some_call, start_call, startall_call, test_call,
    testall_call, testany_call, timed_call, wait_call, waitall_call, waitany_call,
};
pub use settings::{
    ExchangeSettings, Form, Layers, LayersError, Scheme, Settings, SettingsError, clock_of_name,
    environment_of, name_of_clock,
};
pub use start::{InitAnchor, start_recording};
