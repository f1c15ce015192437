//! The steps of [`analyze`](crate::analyze) one by one, for those who add up something of their own.
//!
//! A [`Run`] is what the processes said; its [`Clocks`] give one time, its [`Communicators`] say who
//! called together; [`match_calls`] goes through the calls and hands what it [`Outcome`] to an
//! [`Adder`]. That of an analysis is the [`Tally`], which makes [`Sums`] of the [`Figures`] of each
//! instance.

pub use crate::calls::call::{Call, Candidate};
pub use crate::calls::findings::MatchFindings;
pub use crate::communicators::{Communicator, CommunicatorEntry, Communicators, Scope};
pub use crate::instances::complete::{CompleteInstance, Disagreement, Payloads};
pub use crate::instances::matching::match_calls;
pub use crate::instances::outcome::{Adder, Merge, Outcome};
pub use crate::measure::outside::Figures;
pub use crate::messages::instance_messages::Messages;
pub use crate::selection::Resolved;
pub use crate::sums::run_sums::Sums;
pub use crate::sums::tally::Tally;
pub use crate::time::clocks::{Clocks, HostClock};
pub use crate::trace::rank_file::RankFile;
pub use crate::trace::run::{Run, UnreadableFile};
