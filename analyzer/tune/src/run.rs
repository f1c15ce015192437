//! Whether a program becomes faster: it is run as it is and with each [proposal](crate::Proposal), in turns.
//!
//! [`Asked`] says what a benchmark has to measure before the program runs, and a [`Proof`] what came out.
//! A [`Plan`] says how many runs there will be and how long they take; [`Rounds`] has their times, and judges them;
//! [`check`] says what a recorded run of a proposal really ran; an [`Outcome`] is all of that, as text, as a page, or as
//! JSON. Nothing here starts a process: that is the command's part.
//!
//! The time of a run is that of the whole command, and the run is the unit: what instances within a run have in common would
//! make intervals over instances too narrow. Each round has the program twice and each proposal once, in an order that is drawn
//! at random, so that whatever else changes from round to round changes nothing of the comparison.

mod applied;
mod considered;
mod document;
mod folder;
mod outcome;
mod page;
mod plan;
mod proof;
mod rounds;
mod screen;
#[cfg(test)]
mod tests;

pub use applied::{Checked, check, other_calls, ran_over_trees};
pub use considered::{Alternative, Considered, KindOfCalls, Ran, WhyNot};
pub use document::SCHEMA;
pub use folder::{Files, Written};
pub use outcome::{Ending, Outcome, Tried, collectives_s, of_command};
pub use plan::{Plan, TooLittleTime, Turn};
pub use proof::{Asked, Proof, Proven, launcher};
pub use rounds::{BaselinePair, Judged, Rounds, Stop, Verdict};
