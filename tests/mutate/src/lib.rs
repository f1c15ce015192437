//! Damaged and hostile traces through the analyzer: nothing that a file says may bring it down.
//!
//! A few small [`Bases`], made by the generator, are the traces to begin with; others are drawn at
//! random, of messages that nobody would send so, but that belong together. A [`Case`] is one
//! of them with up to four [mutations](mutate): bytes, fields behind checksums that are made
//! right again, definitions with other values, messages of other partners, directions and times, files
//! of other ranks and runs. [`examine`] takes a case the way that the command goes, and says whether
//! all that came out of it is inert, and can be. The
//! command runs many of them in processes of their own, under limits of memory and time, and
//! names the seed and number of each that fails, so that it can be run again alone.
#![forbid(unsafe_code)]

// What a case is made of.
mod base;
mod drawn;
mod drawn_graph;
mod inside_base;
mod making_base;
mod random;
mod trace;

// What is done to it.
mod byte_mutations;
mod case;
mod checksums;
mod field_mutations;
mod file_mutations;
mod meaning_mutations;
mod message_mutations;
mod packing;
mod records;

// What has to hold.
mod examine;
mod figures;
mod inert;
mod pictures;

// Many of them.
mod watch;
mod worker;

// The same for a fuzzer.
mod corpus;
pub mod fuzz;

pub use base::Bases;
pub use case::{Case, mutate};
pub use corpus::{Seed, seeds};
pub use drawn::Known;
pub use examine::{Failure, Further, Outcome, examine};
pub use figures::{differs_from, impossible_figures};
pub use inert::{active_text, broken_markup};
pub use pictures::impossible_picture;
pub use random::Random;
pub use trace::{Entry, Trace};
pub use watch::{Limits, Summary, watch};
pub use worker::{Span, examine_case, work};
