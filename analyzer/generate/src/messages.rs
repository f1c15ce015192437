//! Message-level simulation of a collective: its tree, the network, and when each message was sent
//! and received.

mod network;
mod progress_calls;
mod shape;
mod simulation;
#[cfg(test)]
mod tests;
mod truth;

pub(crate) use network::{Link, LinkEnds, Network};
pub(crate) use progress_calls::ProgressCalls;
pub(crate) use shape::{Directions, Shape};
pub(crate) use simulation::{InstanceMessages, MessageModel, Receives, Setting, Side};
pub(crate) use truth::{TreeBuilder, TrueInstance};
pub use truth::{TrueContributor, TrueCriticalPath, TrueEdge, TrueJoin, TrueRound, TrueTree};
