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
#![forbid(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

// The bytes of a trace, and what they say.
mod run;

// Ticks to ns, indexes to communicators that all agree on.
mod causality;
mod clock;
mod common_time;
mod communicators;

// Calls to instances.
mod algorithms;
mod block;
mod calls;
mod instance;
mod irregularities;
mod last_seen;
mod matched;
mod matching;
mod nonblocking;
mod persistent;
mod phases;
mod presence;
mod queue;
mod routing;
mod running;
mod stamps;
mod unpacked;
mod window;

// Instances to figures.
mod agreed;
mod inside;
mod measure;
mod resolution;

// Figures to sums.
mod conduct;
mod irregular;
mod late_arrivals;
mod mismatch;
mod never_completed;
mod orders;
mod outliers;
mod sections;
mod selection;
mod serialization;
mod strip;
mod sums;
mod tally;
mod timeline;
mod unfinished;

// Sums to results.
mod analysis;
mod behaviour;
mod change;
mod classes;
mod clock_summary;
mod damage;
mod detail;
mod disturbances;
mod exchanges;
mod findings;
mod hang;
mod imbalance;
mod marked_phases;
mod operations;
mod over_time;
mod remarks;
mod sources;
mod summarize;

mod progress;

// Several results to what differs.
pub mod comparison;

// A run that goes on.
mod follow;

pub use agreed::{Agreed, Disagreement, Extent, Payloads};
pub use algorithms::{AlgorithmCounts, AlgorithmSummary};
pub use analysis::{
    Analysis, ChangeSummary, ClockCourse, ClockErrors, ClockSummary, ClosureSummary,
    CommunicatorSummary, Culprit, CycleSummary, DamageSummary, Dearest, DetailsSummary,
    DisturbanceSummary, EdgeSummary, HangSummary, HostLateness, HostSummary, ImbalanceSummary,
    InFlightSummary, InStep, LastCallSummary, LatenessSectionSummary, Layer, MarkedPhase,
    MessageEnds, MismatchSummary, MismatchedCallSummary, NeverCompletedSummary,
    OperationSectionSummary, OperationSummary, OutlierSummary, OutsideTrees, PairErrors,
    PhaseSummary, RankClass, RankEndSummary, RankLateness, RankState, RankSummary, RankTimeline,
    RankWindow, RemarkSummary, SCHEMA, SerializationPoint, Spread, Stage, Stages, ThreadWay,
    Timeline, Total, TraceSummary, TreeSummary, UnfinishedSummary, Violations, WindowSummary,
};
pub use causality::CausalityCounts;
pub use change::ChangeKind;
pub use clock::{Clocks, HostAlignment, HostClock};
pub use collbench_clocks::AlignmentMethod;
pub use collbench_clocks::closure::{Blame, Closure};
pub use collbench_clocks::errors::OffsetErrors;
pub use collbench_clocks::rank_clock::RankClock;
pub use collbench_clocks::timestamp::{Global, Local, Timestamp};
pub use collbench_stats::batches::Batches;
pub use collbench_stats::buckets::Bucket;
pub use collbench_stats::distribution::{Distribution, Summary};
pub use collbench_stats::moments::Moments;
pub use communicators::{Binding, Communicator, CommunicatorEntry, Communicators, Member, Scope};
pub use comparison::{
    Change, ComparedOperation, ComparedTrace, Comparison, ComparisonVerdict, Difference,
    DifferingSetting, OnlyIn, OperationDifferences, OperationFigures, QuantityDifferences,
    RunDifferences,
};
pub use conduct::Conduct;
pub use detail::{Detail, Details};
pub use follow::{Follower, Look, Running};
pub use imbalance::{Verdict, Vertex, stands_out};
pub use inside::{
    Algorithm, AllForAll, Begin, BeginSummary, BeginsElsewhere, Contributor, CriticalPathSummary,
    CriticalTally, Doubt, EdgeFigures, EdgeTally, Gauge, Grain, GraphFigures, GraphTally, Hop,
    HopSummary, Hotspot, InsideTally, InstanceMessage, JoiningPoint, LastArrival, LastMessage,
    Meeting, MessageCounts, Messages, Node, NodeFigures, OneWayClass, Pattern, ProgressSummary,
    Recognized, RoleFigures, Roles, Rooted, Round, RoundFigures, RoundSummary, Said, Shape,
    StageKind, Stay, StaySummary, ThenFromLeader, TransferSummary, Tree, TreeDirection, TreeFacts,
    TreeFigures, TreeRoles, TwoLevels, UnknownPaths, Way, WayClass, WayLine, WayStage, Within,
};
pub use instance::{Call, Instance, Lane};
pub use irregularities::{InFlight, Irregularities, ProcessDamage};
pub use last_seen::{LastCall, LastSeen};
pub use late_arrivals::{LateArrival, LateArrivals, Sampled};
pub use matched::{Matched, Sums};
pub use matching::match_calls;
pub use measure::Figures;
pub use mismatch::{Mismatch, MismatchKind, MismatchedCall, Mismatches};
pub use never_completed::{AllNeverCompleted, NeverCompleted};
pub use nonblocking::{CompletingTime, OverlapCourse};
pub use orders::{MAX_POSITIONS, OrderCounts};
pub use outliers::{LongInstance, Longest};
pub use phases::LevelTime;
pub use presence::Presence;
pub use progress::Progress;
pub use remarks::Remark;
pub use resolution::Resolution;
pub use run::{RankFile, Run, RunError, RunFiles, RunManifest, UnreadableFile};
pub use running::{RunningCounts, RunningSummary};
pub use sections::{
    LatenessSection, LatenessSections, OperationSection, OperationSections, TimesLast,
};
pub use selection::{Resolved, Selection, SelectionError};
pub use serialization::Serialization;
pub use stamps::{Contradiction, ImpossibleStamp, ImpossibleStamps, Limit, StampLimits};
pub use sums::{
    ByteClass, Lateness, LatenessOfMember, MemberTally, OperationKey, OperationTally, OverlapTally,
    PhaseTally, ProcessTally, wait_state_names,
};
pub use tally::{Counts, Tally};
pub use timeline::{Course, Stretch};
pub use unfinished::{Absent, AllUnfinished, Unfinished, Waiter};

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

/// Records that are looked at together: what is a window of all files then fits into the last cache.
const WINDOW: u64 = 1 << 19;

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
    let method = AlignmentMethod::default();
    analyze_by(directory, selection, method, Details::All, report)
}

/// Like [`analyze`], the clocks of several hosts being brought to one time by `method`, with so many
/// details.
///
/// # Errors
/// Those of [`analyze`].
pub fn analyze_by(
    directory: &Path,
    selection: &Selection,
    method: AlignmentMethod,
    details: Details,
    report: &mut dyn FnMut(Progress),
) -> Result<Analysis, AnalyzeError> {
    while_whole(directory, &mut |files| {
        analyze_files_by(files, selection, (method, details), WINDOW, report)
    })
}

/// Like [`analyze`], looking at `window` records together, > 0: what follows does not depend on it.
///
/// # Errors
/// Those of [`analyze`].
pub fn analyze_in_windows(
    directory: &Path,
    selection: &Selection,
    window: u64,
    report: &mut dyn FnMut(Progress),
) -> Result<Analysis, AnalyzeError> {
    while_whole(directory, &mut |files| {
        analyze_files(files, selection, window, report)
    })
}

/// Analyses files that somebody may cut meanwhile: then what was made of them, even a panic, means
/// nothing, and they are looked at once more as they are.
fn while_whole(
    directory: &Path,
    analyze: &mut dyn FnMut(&RunFiles) -> Result<Analysis, AnalyzeError>,
) -> Result<Analysis, AnalyzeError> {
    const TRIES: usize = 3;
    let mut files = RunFiles::open(directory)?;
    for n_left in (0..TRIES).rev() {
        let analysis = catch_unwind(AssertUnwindSafe(|| analyze(&files)));
        let shorter = files.shorter_now();
        match (analysis, shorter.first()) {
            (Ok(analysis), None) => return analysis,
            (Err(panic), None) => resume_unwind(panic),
            (_, Some(_)) if n_left > 0 => files = files.open_again(shorter)?,
            (_, Some(name)) => {
                return Err(RunError::BecomesShorter {
                    path: directory.to_path_buf(),
                    name: collbench_text::inert::line(name, 255),
                }
                .into());
            }
        }
    }
    unreachable!("the last try returns")
}

fn analyze_files(
    files: &RunFiles,
    selection: &Selection,
    window: u64,
    report: &mut dyn FnMut(Progress),
) -> Result<Analysis, AnalyzeError> {
    let how = (AlignmentMethod::default(), Details::All);
    analyze_files_by(files, selection, how, window, report)
}

fn analyze_files_by(
    files: &RunFiles,
    selection: &Selection,
    (method, details): (AlignmentMethod, Details),
    window: u64,
    report: &mut dyn FnMut(Progress),
) -> Result<Analysis, AnalyzeError> {
    let run = Run::read(files)?;
    let (mut clocks, preliminary) = Clocks::begin(&run, method);
    let communicators = Communicators::agree(&run, &clocks);
    if let Some(preliminary) = preliminary {
        common_time::settle(
            &run,
            &mut clocks,
            preliminary,
            &communicators,
            window,
            report,
        );
    }
    let wanted = selection.resolve(&communicators, run.world_size)?;
    let nothing = || Tally::new(&run, &clocks, &communicators, &wanted);
    let (mut tally, irregularities) =
        match_calls(&run, &clocks, &communicators, window, report, &nothing);
    tally.settle();
    selection.check_phase(&irregularities)?;
    Ok(summarize::summarize(&sources::Sources {
        run: &run,
        clocks: &clocks,
        communicators: &communicators,
        tally: &tally,
        irregularities,
        is_restricted: *selection != Selection::default(),
        details,
    }))
}
