//! Reads traces and explains the waiting.
//!
//! The way of a datum, in reading order: a directory of rank files ([`RunFiles`]) says what each
//! process did ([`Run`]); its clocks give one time ([`Clocks`]); its definitions give the
//! communicators that all agree on ([`Communicators`]); calls of all processes become instances
//! ([`match_calls`]), instances figures ([`Figures`]), figures sums ([`Tally`]), sums results
//! ([`Analysis`]): plain types, from which JSON, text and pictures are made. [`analyze`] shows
//! the whole way.
//!
//! Everything is streamed: memory grows with processes, communicators and operations, not with
//! calls. Nothing that is printed depends on the order of files, on hashing or on the number of
//! threads.
#![deny(unsafe_code)]

use std::path::Path;

// The bytes of a trace, and what they say.
mod run;

// Ticks to ns, indexes to communicators that all agree on.
mod align;
mod clock;
mod communicators;

// Calls to instances, instances to figures.
mod calls;
mod matching;
mod measure;
mod stamps;

// Figures to sums.
mod bins;
mod buckets;
mod conduct;
mod distribution;
mod orders;
mod selection;
mod serialization;
mod sums;
mod tally;
mod timeline;
mod unfinished;

// Sums to results.
mod analysis;
mod behaviour;
mod classes;
mod damage;
mod imbalance;
mod operations;
mod remarks;
mod summarize;

// Results to what people meet.
mod inert;
mod json;
mod pictures;
mod progress;
mod report;
mod text;
mod words;

// Traces of known truth.
pub mod generate;

pub use analysis::{
    Analysis, ClockSummary, CommunicatorSummary, Culprit, DamageSummary, Dearest, HostSummary,
    ImbalanceSummary, InFlightSummary, Layer, OperationSummary, RankClass, RankSummary,
    RankTimeline, RemarkSummary, SerializationPoint, Stage, ThreadWay, Timeline, Total,
    TraceSummary, UnfinishedSummary, Violations,
};
pub use buckets::Bucket;
pub use calls::{CallStream, ChunkStart, Step};
pub use clock::{Clocks, Global, HostAlignment, HostClock, Local, RankClock, Timestamp};
pub use communicators::{Binding, Communicator, CommunicatorEntry, Communicators, Member, Scope};
pub use conduct::{Conduct, Moments};
pub use distribution::{Distribution, Summary};
pub use imbalance::{Verdict, Vertex};
pub use json::to_json;
pub use matching::{
    Call, InFlight, Instance, Irregularities, Lane, Matched, ProcessDamage, match_calls,
};
pub use measure::{Agreed, Disagreement, Figures};
pub use orders::{MAX_POSITIONS, OrderCounts};
pub use progress::Progress;
pub use remarks::Remark;
pub use report::{ReportError, write_report};
pub use run::{RankFile, Run, RunError, RunFiles, RunManifest, UnreadableFile};
pub use selection::{Resolved, Selection, SelectionError};
pub use serialization::Serialization;
pub use stamps::{Contradiction, ImpossibleStamp, ImpossibleStamps, Limit, StampLimits};
pub use sums::{
    ByteClass, Lateness, LatenessOfMember, MemberTally, OperationKey, OperationTally, ProcessTally,
    wait_state_names,
};
pub use tally::{Counts, Tally};
pub use text::to_text;
pub use timeline::{Course, Stretch};
pub use unfinished::Unfinished;

/// Why there is no analysis.
#[derive(Debug, thiserror::Error)]
pub enum AnalyzeError {
    /// The directory is not a trace that can be analysed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The restriction means nothing in this trace: a usage error.
    #[error(transparent)]
    Selection(#[from] SelectionError),
}

/// Analyses a trace directory, or the part of it that is asked for. `report` is called now and
/// then with how far it has come.
///
/// # Errors
/// [`AnalyzeError`] if there is nothing to analyse. Damage in a trace is part of the analysis.
pub fn analyze(
    directory: &Path,
    selection: &Selection,
    report: &mut dyn FnMut(Progress),
) -> Result<Analysis, AnalyzeError> {
    let files = RunFiles::open(directory)?;
    let run = Run::read(&files)?;
    let clocks = Clocks::fit(&run);
    let communicators = Communicators::agree(&run, &clocks);
    let wanted = selection.resolve(&communicators, run.world_size)?;
    let mut tally = Tally::new(&run, &clocks, &communicators, wanted);
    let irregularities = match_calls(&run, &clocks, &communicators, report, &mut |matched| {
        tally.take(matched);
    });
    Ok(summarize::summarize(&summarize::Sources {
        run: &run,
        clocks: &clocks,
        communicators: &communicators,
        tally: &tally,
        irregularities,
        is_restricted: *selection != Selection::default(),
    }))
}
