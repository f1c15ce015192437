//! The steps of [`analyze`](crate::analyze), for programs that add up something of their own.
//!
//! A [`Run`] holds the contents of the files; its [`Clocks`] give one time, its [`Communicators`]
//! the groups of processes. [`match_calls`] matches the calls and passes each [`Outcome`] to an
//! [`Adder`]. The [`Tally`] is the adder of an analysis: it makes [`Sums`] of the [`Figures`] of
//! each instance.

pub use crate::calls::call::{Call, Candidate};
pub use crate::calls::findings::MatchFindings;
pub use crate::calls::gap::{Gap, LongestCall, TimeBesides};
pub use crate::communicators::{Communicator, CommunicatorEntry, Communicators, Scope};
pub use crate::instances::complete::{CompleteInstance, Disagreement, Payloads};
pub use crate::instances::matching::{match_calls, match_until};
pub use crate::instances::outcome::{Adder, Merge, Outcome};
pub use crate::measure::outside::Figures;
pub use crate::messages::instance_messages::Messages;
pub use crate::messages::message::InstanceMessage;
pub use crate::selection::Resolved;
pub use crate::sums::run_sums::Sums;
pub use crate::sums::tally::Tally;
pub use crate::time::clocks::{Clocks, HostClock};
pub use crate::trace::algorithm_names::AlgorithmNames;
pub use crate::trace::rank_file::RankFile;
pub use crate::trace::run::{Run, UnreadableFile};

use crate::align;
use crate::options::Options;
use crate::progress::Progress;

/// The clocks of a run, brought to one time, and its communicators: the second and third step of
/// [`analyze`](crate::analyze). `progress` is called now and then.
pub fn prepare(
    run: &Run<'_>,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> (Clocks, Communicators) {
    let (mut clocks, preliminary) = Clocks::begin(run, options.alignment);
    let communicators = Communicators::agree(run, &clocks);
    if let Some(preliminary) = preliminary {
        align::settle::settle(
            run,
            &mut clocks,
            preliminary,
            &communicators,
            options.window,
            progress,
        );
    }
    (clocks, communicators)
}
