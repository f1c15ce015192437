//! Attributes waits to their causes while calls are matched.
//!
//! Workers hand over complete instances in any order. A wait is attributed once nothing can come any
//! more that began before it ended: no call that is still to be read, or that is still to be matched.

use collbench_causes::{Attributed, Attribution, Batch, Instance, Spare};

use crate::instances::outcome::TakeRows;
use crate::trace::run::Run;

/// Calls that are held until older ones are complete. Where there are more, older ones are waited for no
/// longer: a collective that is under way for most of a long run would hold all others.
const MOST_HELD: usize = 1 << 22;

/// The causes of the waits of a run, as far as its calls are known.
pub(crate) struct WaitCauses<'t, R> {
    attribution: Attribution,
    /// Who takes single instances, if anybody does, and whether more is wanted.
    rows: Option<&'t mut dyn TakeRows<R>>,
    is_wanted: bool,
    /// Whether the begin of the run is there: of a ring it is not.
    has_begin: bool,
    /// The instance at the end of the run.
    end: Option<Instance>,
}

/// What workers have handed over.
pub(crate) struct HandedOver<R> {
    pub(crate) batches: Vec<Batch>,
    pub(crate) rows: Vec<R>,
    /// Nothing that is handed over later began before this time, ns.
    pub(crate) until_ns: i64,
}

impl<R> Default for HandedOver<R> {
    fn default() -> Self {
        Self {
            batches: Vec::new(),
            rows: Vec::new(),
            until_ns: i64::MIN,
        }
    }
}

impl<'t, R> WaitCauses<'t, R> {
    /// Of a run of which nothing is known yet; the host of each process.
    pub(crate) fn new(run: &Run<'_>, hosts: &[u32], rows: Option<&'t mut dyn TakeRows<R>>) -> Self {
        let mut attribution = Attribution::new(hosts);
        for (process, file) in (0..).zip(&run.processes) {
            let mut chunks = file.trace.chunks.iter();
            if let Some(first) = chunks.next()
                && chunks.any(|chunk| chunk.thread != first.thread)
            {
                attribution.add_threads(process);
            }
        }
        Self {
            has_begin: !run.has_lost_begin(),
            attribution,
            rows,
            is_wanted: true,
            end: None,
        }
    }

    /// Adds what was handed over, and attributes the waits that ended before everything that is still to be
    /// added began.
    pub(crate) fn attribute(&mut self, handed_over: HandedOver<R>) {
        for batch in handed_over.batches {
            for (process, left_ns) in batch.begins.into_iter().filter(|_| self.has_begin) {
                self.attribution.add_begin(process, left_ns);
            }
            self.end = self.end.take().or(batch.end);
            for polled in &batch.polled {
                self.attribution.add_polled(polled);
            }
            for part in batch.parts {
                self.attribution.add_part(part);
            }
            self.attribution.add_all(batch.instances);
        }
        let mut until_ns = handed_over.until_ns;
        self.attribution.advance(until_ns);
        if self.attribution.n_held() > MOST_HELD {
            until_ns = i64::MAX;
            self.attribution.advance(until_ns);
        }
        if let Some(rows) = &mut self.rows
            && self.is_wanted
        {
            let charged = self.attribution.take_charged();
            self.is_wanted = rows.take(handed_over.rows, charged, until_ns);
        }
    }

    /// Whether more instances are wanted.
    pub(crate) fn is_wanted(&self) -> bool {
        self.is_wanted
    }

    /// Buffers for what is handed over next.
    pub(crate) fn take_spare(&mut self) -> Spare {
        self.attribution.take_spare()
    }

    /// The causes of all waits.
    pub(crate) fn finish(self) -> Attributed {
        self.attribution.finish(self.end)
    }
}
