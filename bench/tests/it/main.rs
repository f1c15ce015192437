//! The command `collbench-bench`.

mod clock;
mod command;
