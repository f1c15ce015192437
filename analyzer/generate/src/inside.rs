//! The messages of a collective that a scenario lets be seen inside: which tree, over which
//! network, and when each of them was sent and received.

mod course;
mod in_calls;
mod network;
mod shape;
#[cfg(test)]
mod tests;
mod truth;

pub(crate) use course::{Course, Inside, Receives, Setting, Side};
pub(crate) use in_calls::InCalls;
pub(crate) use network::{Link, LinkEnds, Network};
pub(crate) use shape::{Directions, Shape};
pub(crate) use truth::{TreeBook, TrueInstance};
pub use truth::{
    TrueContributor, TrueCriticalPath, TrueEdge, TrueJoiningPoint, TrueRound, TrueTree,
};
