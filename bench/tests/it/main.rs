//! The command `collbench-bench`.

mod clock;
mod collective;
mod command;
mod gsum;
mod launch;
mod logp;
mod overlap;
mod recorded;
mod sor;
