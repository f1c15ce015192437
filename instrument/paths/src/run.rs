//! One process of a communicator, while it executes operations.

mod wait;

mod collectors;

mod worker;

mod execution;

mod two_way;

mod team;

mod operations;

pub use collectors::{Collect, Pass};
pub use operations::Buffers;
pub use team::{Team, TeamOptions, n_tags};
pub use wait::{Idle, MAX_PROGRESS_INTERVAL, WaitPolicy};
