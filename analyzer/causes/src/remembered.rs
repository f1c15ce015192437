//! Why processes waited, until others wait for them.

use std::ops::Range;

use crate::amounts::smallest;
use crate::cause::Cause;
use crate::column::Column;
use crate::instance::Instance;
use crate::log::{Entry, MOST_ENTRIES};
use crate::process::{Process, waiting_time};

/// No wait.
const NONE: u32 = u32::MAX;

/// The waits since the last instance in which all processes were together, and the comparisons by which they are divided among
/// causes. Few processes are waited for: of what causes the others waited is not worked out.
#[derive(Debug, Default)]
pub(crate) struct Remembered {
    waits: Vec<Remember>,
    /// By process its last wait in `waits`, or [`NONE`].
    newest: Vec<u32>,
    comparisons: Vec<OfComparison>,
    columns: Vec<Column>,
    causes: Vec<(Cause, i64)>,
    /// Of each comparison: how long each waited that was compared, and by column how much more the process did that was waited for, ns.
    rows: Vec<f64>,
    /// Of each that was compared: how much of its wait is for each of these ns.
    in_proportion: Vec<f64>,
    /// When the last wait ended, ns.
    latest_ns: Option<i64>,
    /// Spans of one process by cause, at most.
    most_spans: usize,
}

/// A wait of a process.
#[derive(Debug, Clone, Copy)]
struct Remember {
    span: Entry<()>,
    process: u32,
    comparison: u32,
    /// Where it is in a row of the comparison.
    place: u32,
    /// The wait of the process before, or [`NONE`].
    previous: u32,
}

/// Where a comparison is.
#[derive(Debug)]
struct OfComparison {
    communicator: u32,
    /// How long the process waited itself that was waited for, ns.
    waited: f64,
    rows: Range<usize>,
    in_proportion: Range<usize>,
    columns: Range<usize>,
    causes: Range<usize>,
}

/// Waits that were divided.
#[derive(Debug)]
pub(crate) struct Divided<'d> {
    /// The slots that waited, and where they are in a row.
    pub(crate) slots: &'d [u32],
    pub(crate) places: &'d [u32],
    /// Own work, and each part.
    pub(crate) columns: &'d [Column],
    /// Why the process waited that was waited for.
    pub(crate) causes: &'d [(Cause, i64)],
    /// How long that one waited, ns.
    pub(crate) waited: f64,
    /// How long each waited that is compared, ns, and by column how much more the one did that was waited for than each that waited.
    pub(crate) rows: &'d [f64],
    /// How much of the wait of each is for each of these ns.
    pub(crate) in_proportion: &'d [f64],
}

impl Remembered {
    /// Remembers waits of an instance of a run of so many processes.
    pub(crate) fn add(&mut self, instance: &Instance, n_processes: usize, divided: &Divided<'_>) {
        let Divided {
            slots,
            places,
            columns,
            causes,
            waited,
            rows,
            in_proportion,
        } = *divided;
        let end = |range: usize, n: usize| range..range + n;
        let comparison = self.comparisons.len() as u32;
        self.comparisons.push(OfComparison {
            communicator: instance.communicator,
            waited,
            rows: end(self.rows.len(), rows.len()),
            in_proportion: end(self.in_proportion.len(), in_proportion.len()),
            columns: end(self.columns.len(), columns.len()),
            causes: end(self.causes.len(), causes.len()),
        });
        self.columns.extend_from_slice(columns);
        self.causes.extend_from_slice(causes);
        self.rows.extend_from_slice(rows);
        self.in_proportion.extend_from_slice(in_proportion);
        self.most_spans += 3 * columns.len() + causes.len().max(1);
        self.newest.resize(n_processes, NONE);
        let calls = &instance.calls;
        let mut latest_ns = i64::MIN;
        let newest = &mut self.newest;
        let ats = self.waits.len() as u32..;
        let waits = slots.iter().zip(places).zip(ats);
        self.waits.extend(waits.map(|((&slot, &place), at)| {
            let slot = slot as usize;
            let process = instance.members[slot];
            let span = waiting_time(calls.completion(slot), calls.waits_ns[slot]);
            latest_ns = latest_ns.max(span.end_ns);
            Remember {
                span,
                process,
                comparison,
                place,
                previous: std::mem::replace(&mut newest[process as usize], at),
            }
        }));
        self.latest_ns = self.latest_ns.max(Some(latest_ns));
    }

    /// Passes how long a process waited between two times, ns, and for what cause.
    pub(crate) fn between(
        &self,
        process: usize,
        [from_ns, to_ns]: [i64; 2],
        mut found: impl FnMut(i64, Cause),
    ) {
        let mut at = self.newest.get(process).copied().unwrap_or(NONE);
        while let Some(wait) = self.waits.get(at as usize) {
            self.spans(at as usize, |entry| {
                let ns = entry.within(from_ns, to_ns);
                if ns > 0 {
                    found(ns, entry.what);
                }
            });
            at = wait.previous;
        }
    }

    /// Passes about how much of a wait has which cause.
    fn spans(&self, at: usize, mut found: impl FnMut(Entry<Cause>)) {
        let Remember {
            span,
            comparison,
            place,
            ..
        } = self.waits[at];
        let of = &self.comparisons[comparison as usize];
        let mut pass = |cause: Cause, ns: f64| {
            let ns = (ns + 0.5) as i64;
            if ns > 0 {
                found(Entry {
                    ns,
                    ..span.on(cause)
                });
            }
        };
        let n_compared = of.in_proportion.len();
        let in_proportion = self.in_proportion[of.in_proportion.clone()][place as usize];
        if in_proportion == 0.0 {
            pass(Cause::Unexplained, span.ns as f64);
            return;
        }
        let rows = self.rows[of.rows.clone()][place as usize..].iter();
        let mut more = rows.step_by(n_compared);
        let waited = more.next().map_or(of.waited, |&ns| smallest(ns, of.waited));
        let passed_on = (of.waited - waited) * in_proportion;
        for (column, &more) in self.columns[of.columns.clone()].iter().zip(more) {
            let [late, partner] = column.charged(more);
            pass(column.late, late * in_proportion);
            pass(column.partner, partner * in_proportion);
            let communicator = of.communicator;
            let imbalance = Cause::Imbalance { communicator };
            pass(imbalance, (more - late - partner) * in_proportion);
        }
        let causes = &self.causes[of.causes.clone()];
        if causes.is_empty() {
            pass(Cause::Unexplained, passed_on);
        } else if passed_on > 0.0 {
            let of_all: f64 = causes.iter().map(|&(_, ns)| ns as f64).sum();
            for &(cause, of_cause) in causes {
                pass(cause, passed_on * (of_cause as f64 / of_all));
            }
        }
    }

    /// Whether the waits of a process may be so many, with those in its log, that old ones are to be added up.
    #[inline]
    pub(crate) fn may_be_long(&self, of: &Process) -> bool {
        of.waits.len() + self.most_spans > MOST_ENTRIES && !self.waits.is_empty()
    }

    /// Moves the waits to the logs of the processes.
    pub(crate) fn move_to(&mut self, processes: &mut [Process]) {
        for at in 0..self.waits.len() {
            let log = &mut processes[self.waits[at].process as usize].waits;
            self.spans(at, |entry| log.push(entry));
        }
        self.forget();
    }

    /// Spans of one process by cause, at most.
    pub(crate) fn most_spans(&self) -> usize {
        self.most_spans
    }

    /// Forgets the waits that ended before a time, ns. Where some did not, all are in the logs of the processes from then on; gives
    /// whether that is so.
    #[inline]
    pub(crate) fn forget_before(&mut self, at_ns: i64, processes: &mut [Process]) -> bool {
        let are_some_later = self.latest_ns.is_some_and(|latest_ns| latest_ns > at_ns);
        if are_some_later {
            self.move_to(processes);
        } else if !self.waits.is_empty() {
            self.forget();
        }
        are_some_later
    }

    fn forget(&mut self) {
        self.waits.clear();
        self.newest.fill(NONE);
        self.comparisons.clear();
        self.columns.clear();
        self.causes.clear();
        self.rows.clear();
        self.in_proportion.clear();
        self.latest_ns = None;
        self.most_spans = 0;
    }
}
