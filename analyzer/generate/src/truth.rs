//! What an analysis of the trace must find, computed from the chosen times.
//!
//! This is independent code: nothing of the analysis is called, times are those of the global
//! clock, before they are converted to any clock of a host, and each quantity is computed literally
//! by its formula.

mod builder;
mod fields;
mod instance;
mod measure;
mod order;
mod paths;

pub(crate) use builder::TruthBuilder;
pub use fields::{TrueCommunicator, TrueInFlight, TrueOperation, TrueRank, TrueTimes, Truth};
pub(crate) use instance::{Instance, NonblockingTimes, Seen};
pub(crate) use measure::depends_on_the_way;
pub use paths::{TruePath, TrueStage};
