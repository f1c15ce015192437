//! One process of a communicator, while it executes operations.

mod wait;

mod buffers;

mod collectors;

mod worker;

mod direct;

mod execution;

mod two_way;

mod team;

mod memory;

mod operations;

pub use buffers::Buffers;
pub use collectors::{Collect, Pass};
pub use memory::tree_bytes;
pub use team::{Team, TeamOptions, n_tags};
pub use wait::{Idle, MAX_PROGRESS_INTERVAL, WaitPolicy};
