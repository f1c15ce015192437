//! Schedules of all algorithms, among any number of processes.

mod algorithms;
mod groupings;
mod literature;
mod resources;
