//! Accuracy of the estimator on simulated hosts with known clocks.
//!
//! Without trace files: exchanges, calls and messages are created directly, thousands of calls per
//! second, so that errors can be measured over many seeds.

mod observed;
mod targets;
mod world;
