//! What waits cost, by cause.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::excess::{ExcessSums, Excesses, GapSums, Gaps};
use crate::instance::{Instance, Part};
use crate::union::Union;

/// What made others wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// A process had more of something than the median of its communicator.
    Late {
        /// Which.
        process: u32,
        /// Of what; `None`: of its own work.
        part: Option<Part>,
    },
    /// A process is late for its first collective with others: it did more since `MPI_Init` returned.
    LateAtStart {
        /// Which.
        process: u32,
        /// Of what; `None`: of its own work.
        part: Option<Part>,
    },
    /// Processes of a communicator had more to do than others, but not more than the median.
    Imbalance {
        /// Number of the communicator.
        communicator: u32,
    },
    /// A process left an operation later than others.
    Operation(u64),
    /// Processes began at different times.
    Startup,
    /// The wait was below the error of the clocks.
    Unresolved,
    /// The cause was before what is known of the run, or is not retained any more.
    Unexplained,
}

impl Cause {
    /// The process at which it arises, if that is one.
    pub(crate) fn process(self) -> Option<u32> {
        match self {
            Self::Late { process, .. } | Self::LateAtStart { process, .. } => Some(process),
            _ => None,
        }
    }
}

/// What a cause costs: times are ns of waiting of all processes together, where nothing else is said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// Of those that waited for where it arose.
    pub direct_ns: i64,
    /// Of those that waited for others which had waited for it before.
    pub propagated_ns: i64,
    /// By how much earlier the instances in which it arose would have gone on without it, ns of time, all
    /// together.
    pub sooner_ns: i64,
    /// By how much earlier without it and without everything else that processes of its host had more.
    pub sooner_without_host_ns: i64,
    /// By how much it made the process late, directly or through others, that was waited for in instances of
    /// all processes, ns of time; and where none of those followed, by how much earlier its instances would
    /// have gone on.
    pub at_ends_ns: i64,
    /// Where no instance of all processes has followed: that part of `sooner_ns`, and since which of them.
    since_end: SinceEnd,
    /// Instances with a direct cost.
    pub n: u64,
    /// When the first and the last of them were late, ns since the start.
    pub span_ns: Option<[i64; 2]>,
    /// The largest of their direct costs, and when, ns since the start.
    pub largest: Option<(i64, i64)>,
}

/// By how much earlier instances would have gone on since the last one of all processes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct SinceEnd {
    /// How many instances of all processes there were before.
    n_ends: u64,
    /// How much earlier, ns of time.
    sooner_ns: i64,
}

/// The cost of each cause, by the operation in which it was waited.
pub type Costs = BTreeMap<(Cause, u64), Cost>;

/// The causes of all waits of a run, and what they cost.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Attributed {
    /// The costs; they add up to the waits.
    pub costs: Costs,
    /// By operation and communicator: how much more each member did than the others, by slot.
    pub excesses: BTreeMap<(u64, u32), Excesses>,
    /// As `excesses`, but without time in point-to-point communication, of the instances before which
    /// there was some.
    pub own_excesses: BTreeMap<(u64, u32), Excesses>,
    /// By operation and communicator: what each member did that is its own since it left its last collective, whichever that was.
    /// Not of blocking instances in which all processes of the run wait for all, and where the last one was on the same
    /// communicator: there `excesses` tell that.
    pub gaps: BTreeMap<(u64, u32), Gaps>,
    /// The first instances, of which the members are compared since `MPI_Init`.
    pub starts: Vec<DidBefore>,
    /// The instance at the end of the run.
    pub end: Option<AtEnd>,
}

/// What processes did before the instance at the end of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtEnd {
    /// After the last collective of each of them.
    pub after_last: DidBefore,
    /// Since they were last inside of a collective together.
    pub since_together: DidBefore,
}

/// What the members of a communicator did before an instance that there is once in a run: between `MPI_Init` and their
/// first collective together, or between the last one and the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DidBefore {
    /// The operation of that instance.
    pub operation: u64,
    /// Number of the communicator.
    pub communicator: u32,
    /// The processes, by slot.
    pub members: Arc<[u32]>,
    /// What each of them did that was not in collectives, ns; below 0: of that one it is not known.
    pub did_ns: Vec<i64>,
}

impl DidBefore {
    fn of(instance: &Instance, did_ns: Vec<i64>) -> Self {
        Self {
            operation: instance.operation,
            communicator: instance.communicator,
            members: Arc::clone(&instance.members),
            did_ns,
        }
    }
}

/// Starts that are retained.
const MOST_STARTS: usize = 64;

/// The causes of the waits so far.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    costs: FxHashMap<(Cause, u64), Cost>,
    excesses: ExcessSums,
    own_excesses: ExcessSums,
    gaps: GapSums,
    starts: Vec<DidBefore>,
    end: Option<AtEnd>,
    /// Of causes at processes of several threads: when the run would have gone on earlier without them. Other threads
    /// that are late meanwhile make it no longer.
    shortened: FxHashMap<Cause, Union>,
    /// Where processes were late since all of them waited for the last one. Others may wait for the same lateness later.
    counted: FxHashMap<Cause, Vec<Counted>>,
}

/// A span in which a process was late, and by how much, ns, as it is counted.
#[derive(Debug, Clone, Copy)]
struct Counted {
    from_ns: i64,
    to_ns: i64,
    sooner_ns: i64,
    at_ends_ns: i64,
}

/// Spans of one cause that are retained.
const MOST_COUNTED: usize = 16;

impl Totals {
    /// Adds the cost of a cause in one instance of an operation; whether all others waited. What of its lateness is counted already,
    /// because some waited for it before and these wait for the same, makes the run no longer once more.
    #[inline]
    pub(crate) fn add(
        &mut self,
        cause: Cause,
        (operation, have_all_waited): (u64, bool),
        cost: &UnitCost,
        of: &UnitTimes,
    ) {
        let is_late = cost.direct_ns > 0 && cause.process().is_some();
        let may_be_known = is_late && !(have_all_waited && self.counted.is_empty());
        let known_ns = if may_be_known {
            self.known_ns(cause, have_all_waited, cost, of)
        } else {
            [0; 2]
        };
        self.cost(cause, operation).add(cost, of, known_ns);
    }

    /// What of the lateness in an instance is counted in `sooner_ns` and in `at_ends_ns` already; remembers it where others may wait
    /// for it later.
    fn known_ns(
        &mut self,
        cause: Cause,
        have_all_waited: bool,
        cost: &UnitCost,
        of: &UnitTimes,
    ) -> [i64; 2] {
        let spans = self.counted.get(&cause).map_or(&[][..], |spans| &spans[..]);
        let inside = |span: &&Counted| span.from_ns >= of.from_ns && span.to_ns <= of.last_ns;
        let known = |ns: fn(&Counted) -> i64| -> i64 { spans.iter().filter(inside).map(ns).sum() };
        let known_ns = [known(|span| span.sooner_ns), known(|span| span.at_ends_ns)];
        if !have_all_waited {
            let late_ns = cost.longest_ns;
            let is_at_end = of.is_end || of.has_all;
            let spans = self.counted.entry(cause).or_default();
            if spans.len() == MOST_COUNTED {
                spans.remove(0);
            }
            spans.push(Counted {
                from_ns: of.from_ns,
                to_ns: of.last_ns,
                sooner_ns: (late_ns.min(of.apart_ns) - known_ns[0]).max(0),
                at_ends_ns: if is_at_end {
                    (late_ns - known_ns[1]).max(0)
                } else {
                    0
                },
            });
        }
        known_ns
    }

    /// Forgets where processes were late: all waited for the last one.
    #[inline]
    pub(crate) fn forget_counted(&mut self) {
        if !self.counted.is_empty() {
            self.counted.clear();
        }
    }

    /// Finds by how much earlier an instance would have gone on without a cause at a process of several threads. What
    /// others of them did at the same time counts once. That this is no more than the others of the instance waited does
    /// not hold: their threads that wait hold up messages for one another.
    #[cold]
    pub(crate) fn add_of_threads(&mut self, cause: Cause, cost: &mut UnitCost, of: &mut UnitTimes) {
        let late_ns = cost.longest_ns.saturating_add(cost.passed_on_ns);
        let shortened = self.shortened.entry(cause).or_default();
        let begin_ns = of.last_ns.saturating_sub(late_ns);
        let new_ns = shortened.add([begin_ns, of.last_ns]);
        if cost.direct_ns > 0 {
            (cost.longest_ns, cost.passed_on_ns) = (new_ns, 0);
            (of.apart_ns, of.host_apart_ns) = (new_ns, new_ns);
        } else {
            cost.passed_on_ns = cost.passed_on_ns.min(new_ns);
        }
    }

    /// The cost of a cause of waits in an operation.
    #[inline]
    pub(crate) fn cost(&mut self, cause: Cause, operation: u64) -> &mut Cost {
        self.costs.entry((cause, operation)).or_default()
    }

    /// Notes what the members of an instance did, ns by slot; below 0: of that one it is not known.
    pub(crate) fn note_excesses(&mut self, instance: &Instance, did_ns: &[f64]) {
        self.excesses.note(instance, did_ns);
    }

    /// Notes what the members of an instance did besides point-to-point communication, likewise.
    pub(crate) fn note_own_excesses(&mut self, instance: &Instance, did_ns: &[f64]) {
        self.own_excesses.note(instance, did_ns);
    }

    /// What the members of a communicator did before an operation since their last collectives, ns by slot.
    #[inline]
    pub(crate) fn gaps(&mut self, instance: &Instance) -> &mut [i64] {
        self.gaps.of(instance)
    }

    /// Notes what the members of the first instance of a communicator did before, likewise.
    pub(crate) fn note_start(&mut self, instance: &Instance, did_ns: Vec<i64>) {
        if self.starts.len() < MOST_STARTS {
            self.starts.push(DidBefore::of(instance, did_ns));
        }
    }

    /// Notes what the members of the instance at the end did since their last collective, and since they were last inside of one
    /// together, likewise.
    pub(crate) fn note_end(&mut self, instance: &Instance, did_ns: [Vec<i64>; 2]) {
        let [after_last, since_together] = did_ns.map(|did_ns| DidBefore::of(instance, did_ns));
        self.end = Some(AtEnd {
            after_last,
            since_together,
        });
    }

    /// Adds the costs of a later section, and leaves its buffers empty for the next one. `n_ends`: instances before it in which
    /// all processes waited for the last.
    pub(crate) fn merge(&mut self, later: &mut Self, n_ends: u64) {
        for (key, cost) in later.costs.drain() {
            self.costs.entry(key).or_default().follow(&cost, n_ends);
        }
        self.excesses.merge(&mut later.excesses);
        self.own_excesses.merge(&mut later.own_excesses);
        self.gaps.merge(&mut later.gaps);
        let n_left = MOST_STARTS - self.starts.len().min(MOST_STARTS);
        self.starts.extend(later.starts.drain(..).take(n_left));
        self.end = later.end.take().or(self.end.take());
        self.shortened.extend(later.shortened.drain());
        self.counted.extend(later.counted.drain());
    }

    /// Completes the costs, after so many instances of all processes.
    pub(crate) fn end(&mut self, n_ends: u64) {
        for cost in self.costs.values_mut() {
            cost.finish(n_ends);
        }
    }

    /// All of them, after so many instances of all processes.
    pub(crate) fn finish(mut self, n_ends: u64) -> Attributed {
        self.end(n_ends);
        Attributed {
            costs: self.costs.into_iter().collect(),
            excesses: self.excesses.finish(),
            own_excesses: self.own_excesses.finish(),
            gaps: self.gaps.finish(),
            starts: self.starts,
            end: self.end,
        }
    }
}

/// What a cause costs in one instance.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct UnitCost {
    pub(crate) direct_ns: i64,
    pub(crate) propagated_ns: i64,
    /// By how much it made the process late that was waited for, ns.
    pub(crate) longest_ns: i64,
    /// By how much it did so through others, ns.
    pub(crate) passed_on_ns: i64,
}

/// When the waits of a unit were.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnitTimes {
    /// Since when the last is compared with those that waited, ns; of several such times the latest.
    pub(crate) from_ns: i64,
    /// When the last entered, ns.
    pub(crate) last_ns: i64,
    /// How much later than any other, ns; without limit where not all of them waited.
    pub(crate) apart_ns: i64,
    /// How much later than any on another host, ns, likewise.
    pub(crate) host_apart_ns: i64,
    /// Whether all processes of the run waited for the last, and all those waits are resolved.
    pub(crate) is_end: bool,
    /// Whether all processes of the run are members, so that nothing before is compared again with those that waited.
    pub(crate) has_all: bool,
    /// How many such instances there were before.
    pub(crate) n_ends: u64,
}

impl UnitCost {
    /// Adds a direct cost, ns.
    #[inline]
    pub(crate) fn direct(&mut self, ns: i64) {
        self.direct_ns = self.direct_ns.saturating_add(ns);
    }

    /// Adds a propagated cost, ns; by how much it made the process late, ns.
    #[inline]
    pub(crate) fn propagated(&mut self, ns: i64, passed_on_ns: i64) {
        self.propagated_ns = self.propagated_ns.saturating_add(ns);
        self.passed_on_ns = self.passed_on_ns.max(passed_on_ns);
    }

    /// Notes by how much it made a process late, ns.
    #[inline]
    pub(crate) fn longest(&mut self, ns: i64) {
        self.longest_ns = self.longest_ns.max(ns);
    }
}

impl Cost {
    /// Direct and propagated together, ns.
    #[must_use]
    pub fn ns(&self) -> i64 {
        self.direct_ns.saturating_add(self.propagated_ns)
    }

    /// As what follows from lateness that arose before, and costs directly there.
    #[must_use]
    pub fn passed_on(&self) -> Self {
        Self {
            propagated_ns: self.ns(),
            at_ends_ns: self.at_ends_ns,
            ..Self::default()
        }
    }

    /// Adds the cost of one instance; `known_ns`: what of the lateness is counted in `sooner_ns` and in `at_ends_ns` already.
    #[inline]
    fn add(&mut self, unit: &UnitCost, instance: &UnitTimes, known_ns: [i64; 2]) {
        let add = |own: &mut i64, ns: i64| *own = own.saturating_add(ns);
        add(&mut self.direct_ns, unit.direct_ns);
        add(&mut self.propagated_ns, unit.propagated_ns);
        if instance.is_end || instance.has_all {
            let own_ns = (unit.longest_ns - known_ns[1]).max(0);
            let late_ns = own_ns.saturating_add(unit.passed_on_ns);
            add(&mut self.at_ends_ns, late_ns);
        }
        if unit.direct_ns == 0 {
            return;
        }
        let sooner = |apart_ns: i64| (unit.longest_ns.min(apart_ns) - known_ns[0]).max(0);
        let host_sooner_ns = sooner(instance.host_apart_ns);
        add(&mut self.sooner_ns, sooner(instance.apart_ns));
        add(&mut self.sooner_without_host_ns, host_sooner_ns);
        self.n += 1;
        let at_ns = instance.last_ns;
        let [first_ns, last_ns] = self.span_ns.unwrap_or([at_ns; 2]);
        self.span_ns = Some([first_ns.min(at_ns), last_ns.max(at_ns)]);
        self.note_largest(unit.direct_ns, at_ns);
        if !instance.is_end && !instance.has_all {
            if self.since_end.n_ends != instance.n_ends {
                self.since_end = SinceEnd {
                    n_ends: instance.n_ends,
                    sooner_ns: 0,
                };
            }
            let sooner_ns = sooner(instance.host_apart_ns.max(instance.apart_ns));
            self.since_end.sooner_ns = self.since_end.sooner_ns.saturating_add(sooner_ns);
        }
    }

    /// Adds waits of one instance at a time that are not compared, and by how much earlier it would have gone on without them,
    /// ns.
    pub(crate) fn add_uncompared(&mut self, waits_ns: i64, sooner_ns: i64, at_ns: i64) {
        self.merge(&Self {
            direct_ns: waits_ns,
            sooner_ns,
            sooner_without_host_ns: sooner_ns,
            at_ends_ns: sooner_ns,
            n: 1,
            span_ns: Some([at_ns; 2]),
            largest: Some((waits_ns, at_ns)),
            ..Self::default()
        });
    }

    /// Completes it, after so many instances of all processes.
    fn finish(&mut self, n_ends: u64) {
        let since = std::mem::take(&mut self.since_end);
        if since.n_ends == n_ends {
            self.at_ends_ns = self.at_ends_ns.saturating_add(since.sooner_ns);
        }
    }

    /// Adds its cost in a later section of the run, before which there were so many instances of all processes.
    fn follow(&mut self, later: &Self, n_ends: u64) {
        self.merge(later);
        let SinceEnd {
            n_ends: n_later,
            sooner_ns,
        } = later.since_end;
        let since = SinceEnd {
            n_ends: n_ends + n_later,
            sooner_ns,
        };
        if since.n_ends == self.since_end.n_ends {
            self.since_end.sooner_ns = self.since_end.sooner_ns.saturating_add(sooner_ns);
        } else if since.n_ends > self.since_end.n_ends {
            self.since_end = since;
        }
    }

    /// Adds the cost of the same cause in other operations, or of another cause.
    pub fn merge(&mut self, other: &Self) {
        for (own, other) in [
            (&mut self.direct_ns, other.direct_ns),
            (&mut self.propagated_ns, other.propagated_ns),
            (&mut self.sooner_ns, other.sooner_ns),
            (
                &mut self.sooner_without_host_ns,
                other.sooner_without_host_ns,
            ),
            (&mut self.at_ends_ns, other.at_ends_ns),
        ] {
            *own = own.saturating_add(other);
        }
        self.n += other.n;
        self.span_ns = match (self.span_ns, other.span_ns) {
            (Some(a), Some(b)) => Some([a[0].min(b[0]), a[1].max(b[1])]),
            (own, other) => own.or(other),
        };
        if let Some((ns, at_ns)) = other.largest {
            self.note_largest(ns, at_ns);
        }
    }

    /// Notes a direct cost, ns, and when; of equal ones the earliest is retained.
    #[inline]
    fn note_largest(&mut self, ns: i64, at_ns: i64) {
        let is_larger = |(known_ns, known_at_ns): (i64, i64)| {
            ns > known_ns || (ns == known_ns && at_ns < known_at_ns)
        };
        if self.largest.is_none_or(is_larger) {
            self.largest = Some((ns, at_ns));
        }
    }
}
