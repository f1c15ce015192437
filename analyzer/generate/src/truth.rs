//! What an analysis of the trace has to say, worked out from the times that were chosen.
//!
//! This is a route of its own: nothing of the analysis is called, times are those of the global
//! clock before any clock of a host showed them, and each quantity is its formula, literally.

mod builder;
mod fields;
mod instance;
mod measure;
mod order;

pub(crate) use builder::TruthBuilder;
pub use fields::{TrueCommunicator, TrueInFlight, TrueOperation, TrueRank, TrueTimes, Truth};
pub(crate) use instance::{Instance, NonblockingTimes, Seen};
