//! Single instances with their calls, one after the other, while a trace is analysed.
//!
//! [`analyze_rows`] analyses a trace and passes on each instance with its calls, their waits and the causes of these:
//! in an order that depends on nothing but the trace, and in pieces, so that memory does not grow with the length of the
//! trace. They come in the order in which they began. One that is under way while [`MOST_PENDING`] calls and
//! messages of others begin comes behind these; their causes may then not be known.

mod in_order;
mod names;

pub use crate::sums::rows::{CallRow, InstanceRow, InstanceState, MessageRow, OverlapRow, PassRow};
pub use in_order::MOST_PENDING;
pub use names::{CausePart, CauseRow, OperationRow, WaitCauseKind};

use std::sync::atomic::AtomicU64;

use crate::instances::matching::match_with_rows;
use crate::judge::inputs::Inputs;
use crate::options::Options;
use crate::progress::Progress;
use crate::results::{Analysis, CallSiteSummary};
use crate::rows::in_order::InOrder;
use crate::sums::rows::{RowBuffer, RowCollector};
use crate::sums::tally::Tally;
use crate::trace::files::RunFiles;
use crate::trace::run::Run;
use crate::{AnalyzeError, Prepared, judge, steps};

/// Records that are looked at together: always as many, so that what is passed on does not depend on the number of threads.
const RECORDS: u64 = 1 << 14;
/// Records of each process, at least.
const RECORDS_OF_PROCESS: u64 = 128;

/// Some instances, in their order, with what their numbers stand for.
#[derive(Debug)]
pub struct Rows<'r> {
    pub(crate) buffer: &'r RowBuffer,
    /// The operations of all instances so far, by number.
    pub operations: &'r [OperationRow],
    /// The causes of all waits so far, by number.
    pub causes: &'r [CauseRow],
}

/// An instance with its calls.
#[derive(Debug, Clone, Copy)]
pub struct InstanceWithCalls<'r> {
    /// What its calls have in common.
    pub instance: &'r InstanceRow,
    /// The calls of those ranks that are wanted, by rank in the communicator.
    pub calls: &'r [CallRow],
    /// Of nonblocking operations what each call has besides; else empty.
    pub overlaps: &'r [Option<OverlapRow>],
    /// The messages inside, as far as both ends are known.
    pub messages: &'r [MessageRow],
    /// The passes through event collectors.
    pub passes: &'r [PassRow],
}

impl<'r> Rows<'r> {
    /// The instances, in their order.
    pub fn instances(&self) -> impl Iterator<Item = InstanceWithCalls<'r>> + use<'r> {
        let buffer = self.buffer;
        let mut begins = [0; 3];
        buffer.instances.iter().map(move |instance| {
            let found = buffer.from(begins, instance);
            begins = instance.ends;
            found
        })
    }
}

impl RowBuffer {
    /// An instance, whose calls, messages and passes begin here.
    pub(crate) fn from<'r>(
        &'r self,
        begins: [u32; 3],
        instance: &'r InstanceRow,
    ) -> InstanceWithCalls<'r> {
        let range = |list: usize| begins[list] as usize..instance.ends[list] as usize;
        InstanceWithCalls {
            instance,
            calls: &self.calls[range(0)],
            overlaps: if instance.is_overlapped {
                self.overlaps.get(range(0)).unwrap_or(&[])
            } else {
                &[]
            },
            messages: &self.messages[range(1)],
            passes: &self.passes[range(2)],
        }
    }
}

/// What is done with instances while a trace is analysed.
pub trait TakeInstances: Send {
    /// A trace was opened. If a file is cut meanwhile, everything begins anew: then this is called again, and what was taken
    /// before does not count.
    fn begin(&mut self, prepared: Prepared<'_, '_>);
    /// Takes the next instances; gives whether more are wanted.
    fn take(&mut self, rows: &Rows<'_>) -> bool;
}

/// What is known after all instances were passed on.
#[derive(Debug)]
pub struct AnalysisOfRows {
    /// The analysis.
    pub analysis: Analysis,
    /// The operations, by number.
    pub operations: Vec<OperationRow>,
    /// The causes, by number.
    pub causes: Vec<CauseRow>,
}

/// The places in the program from which the collectives of a run are called, by number; functions and lines are not
/// known yet.
#[must_use]
pub fn call_sites(run: &Run<'_>) -> Vec<CallSiteSummary> {
    judge::call_sites::of_run(run)
}

/// Analyses a trace, or a selected part of it, and passes on each instance.
///
/// # Errors
/// As of [`analyze`](crate::analyze).
pub fn analyze_rows(
    files: &RunFiles,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
    taker: &mut dyn TakeInstances,
) -> Result<AnalysisOfRows, AnalyzeError> {
    files.while_whole(&mut |files| {
        let run = Run::read(files)?;
        let (clocks, communicators) = steps::prepare(&run, options, progress);
        let prepared = Prepared {
            run: &run,
            clocks: &clocks,
            communicators: &communicators,
        };
        let wanted = (options.selection).resolve(&communicators, run.world_size)?;
        taker.begin(prepared);
        let serials = AtomicU64::new(1);
        let new = || {
            let tally = Tally::new(&run, &clocks, &communicators, &wanted);
            tally.with_rows(RowCollector::new(&serials))
        };
        let window = RECORDS.max(RECORDS_OF_PROCESS * run.processes.len() as u64);
        let mut in_order = InOrder::new(&run, &communicators, taker);
        let (mut sums, findings) = match_with_rows(
            &run,
            &clocks,
            &communicators,
            options.window.unwrap_or(window),
            progress,
            &new,
            &mut in_order,
        );
        let (mut operations, causes) = in_order.finish();
        let inputs = Inputs::of(
            prepared,
            &mut sums,
            findings,
            (&options.selection, options.details),
        )?;
        let analysis = judge::summarize::summarize(&inputs);
        for (place, (key, _)) in judge::operations::by_time(&inputs).into_iter().enumerate() {
            let found = operations.iter_mut().find(|of| of.key == *key);
            if let Some(found) = found {
                found.place = Some(place);
            }
        }
        Ok(AnalysisOfRows {
            analysis,
            operations,
            causes,
        })
    })
}
