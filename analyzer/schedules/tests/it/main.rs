//! Schedules of all algorithms, among any number of processes.

mod algorithms;
mod literature;
mod resources;
