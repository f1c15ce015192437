//! End-to-end tests under mpirun: programs of `programs/` with and without recording.
//!
//! One executable: what may run at a time is then known in one place (`collbench_tests::run`).

mod agreement;
mod callbacks;
mod clocks;
mod compact;
mod export;
mod faults;
mod follow;
mod gaps;
mod groupings;
mod hang;
mod hosts;
mod messages;
mod names;
mod nonblocking;
mod opened;
mod record;
mod ring;
mod rules;
mod same;
mod schedules;
mod sites;
mod switches;
mod trees;
mod truth;
mod worlds;
