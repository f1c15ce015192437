//! One process of a communicator, while it executes operations.

mod wait;

mod options;

mod buffers;

mod collectors;

mod worker;

mod direct;

mod lent;

mod direct_broadcast;

mod flat;

mod slices;

mod execution;

mod two_way;

mod team;

mod memory;

mod operands;

mod operations;

pub use buffers::Buffers;
pub use collectors::{Collect, Pass};
pub use memory::tree_bytes;
pub use options::TeamOptions;
pub use team::{Team, n_tags};
pub use wait::{Idle, MAX_PROGRESS_INTERVAL, WaitPolicy};
