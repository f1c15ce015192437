//! Trials of the estimator on hosts with known clocks.
//!
//! Not through trace files: exchanges, calls and messages are made directly, thousands of calls in
//! a moment, so that the errors can be told over many seeds.

mod observed;
mod targets;
mod world;
