//! Reads traces and explains the waiting.
//!
//! The path of the data, in reading order: a directory of rank files ([`RunFiles`]) holds what each
//! process did ([`Run`]); its clocks are aligned to one time ([`Clocks`](steps::Clocks)); its definitions give the
//! communicators that all agree on ([`Communicators`](steps::Communicators)); calls of all processes become instances
//! ([`match_calls`]), instances figures ([`Figures`](steps::Figures)), figures sums ([`Tally`],
//! [`Sums`](steps::Sums)), sums results ([`Analysis`]): plain types, from which JSON, text and
//! pictures are made. [`analyze`] does all of it:
//!
//! ```no_run
//! use std::path::Path;
//!
//! use collbench_analyzer::{Options, RunFiles, analyze};
//!
//! let files = RunFiles::open(Path::new("collbench-traces/my_program"))?;
//! let analysis = analyze(&files, &Options::default(), &mut |_| {})?;
//! for operation in &analysis.operations {
//!     println!("{}: {} calls", operation.operation, operation.calls);
//! }
//! # Ok::<(), collbench_analyzer::AnalyzeError>(())
//! ```
//!
//! Everything is streamed: memory grows with processes, communicators and operations, not with
//! calls. Nothing that is printed depends on the order of files, on hashing or on the number of
//! threads.
#![forbid(unsafe_code)]

mod trace;

mod communicators;
mod time;

mod calls;
mod instances;
mod messages;

mod align;
mod measure;
mod sums;

mod judge;
pub mod results;
pub mod rows;

pub mod compare;
mod follow;
mod options;
mod progress;
mod remark;
mod selection;
pub mod steps;

pub use collbench_clocks::AlignmentMethod;
pub use follow::{Follower, Look, Running};
pub use judge::details::Details;
pub use judge::verdict::{stands_out, stands_out_among};
pub use options::Options;
pub use progress::Progress;
pub use results::Analysis;
pub use selection::{Selection, SelectionError};
pub use time::hosts::RunHosts;
pub use trace::error::RunError;
pub use trace::files::RunFiles;

use instances::matching::match_calls;
use judge::inputs::Inputs;
use sums::tally::Tally;
use trace::run::Run;

/// Why there is no analysis.
#[derive(Debug, thiserror::Error)]
pub enum AnalyzeError {
    /// The directory is not a trace that can be analysed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The selection does not fit this trace: a usage error.
    #[error(transparent)]
    Selection(#[from] SelectionError),
}

/// Analyses a trace, or a selected part of it. `progress` is called now and then.
///
/// 1. The headers and definitions of all files are [read](Run::read).
/// 2. The clocks of all hosts are aligned to one time; the default method may need an extra pass
///    over the calls.
/// 3. The communicators of all processes are [combined](steps::Communicators).
/// 4. The calls are [matched to instances](match_calls), and the figures of each instance [added
///    up](Tally).
/// 5. The sums are judged, and become the [`Analysis`] with its remarks.
///
/// Files that were cut meanwhile are read again.
///
/// # Errors
/// [`AnalyzeError`] if there is nothing to analyse. Damage in a trace is part of the analysis.
pub fn analyze(
    files: &RunFiles,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<Analysis, AnalyzeError> {
    analyze_then(files, options, progress, &mut |_, _| ())
}

/// What an analysis has read and brought to one time.
#[derive(Debug, Clone, Copy)]
pub struct Prepared<'p, 'r> {
    /// The files.
    pub run: &'p Run<'r>,
    /// Their clocks.
    pub clocks: &'p steps::Clocks,
    /// Their communicators.
    pub communicators: &'p steps::Communicators,
}

/// As [`analyze`], and then looks into the run again, for what is added to the analysis.
///
/// # Errors
/// As of [`analyze`].
pub fn analyze_then(
    files: &RunFiles,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
    then: &mut dyn FnMut(Prepared<'_, '_>, &mut Analysis),
) -> Result<Analysis, AnalyzeError> {
    files.while_whole(&mut |files| {
        let run = Run::read(files)?;
        let (clocks, communicators) = steps::prepare(&run, options, progress);
        let prepared = Prepared {
            run: &run,
            clocks: &clocks,
            communicators: &communicators,
        };
        let wanted = (options.selection).resolve(&communicators, run.world_size)?;
        let nothing = || Tally::new(&run, &clocks, &communicators, &wanted);
        let (mut sums, findings) = match_calls(
            &run,
            &clocks,
            &communicators,
            options.window,
            progress,
            &nothing,
        );
        let inputs = Inputs::of(
            prepared,
            &mut sums,
            findings,
            (&options.selection, options.details),
        )?;
        let mut analysis = judge::summarize::summarize(&inputs);
        drop(inputs);
        // Nobody has to wait until all of its memory is freed.
        rayon::spawn(move || drop(sums));
        then(prepared, &mut analysis);
        Ok(analysis)
    })
}
