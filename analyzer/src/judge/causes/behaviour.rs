//! What a late rank did with its own time, where samples or polls tell.

use std::collections::BTreeMap;

use collbench_stats::integers::sum_ns;

use crate::calls::running::{MOSTLY_RUNNING, RunningSummary};
use crate::judge::causes::Finder;
use crate::judge::causes::late::Late;
use crate::results::causes::LateBy;
use crate::results::operation_costs::Confidence;

/// Part of the time before the calls of a late rank from which on what exceeds that of the others is looked
/// at alone: one in so many.
const MORE: i64 = 20;
/// If it was on a core for this part of what it does more than others, in percent, it computes more: what it was off its core is
/// the lesser part.
const HALF_RUNNING: i64 = 50;
/// Part of what a rank does more than others that it was off its core in which explains it, in percent.
const OFF_CORE: f64 = 70.0;
/// Unsuccessful polls for each call from which on a rank waits for messages rather than computes.
const MANY_POLLS: u64 = 4;

/// Whether a process was on a core before its calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Running {
    elapsed_ns: i64,
    on_core_ns: i64,
    blocked: i64,
    preempted: i64,
}

impl Running {
    fn add(&mut self, sum: &RunningSummary) {
        self.merge(&Self {
            elapsed_ns: sum.elapsed_ns,
            on_core_ns: sum.on_core_ns.min(sum.elapsed_ns),
            blocked: i64::try_from(sum.blocked).unwrap_or(i64::MAX),
            preempted: i64::try_from(sum.preempted).unwrap_or(i64::MAX),
        });
    }

    fn merge(&mut self, other: &Self) {
        self.elapsed_ns = self.elapsed_ns.saturating_add(other.elapsed_ns);
        self.on_core_ns = self.on_core_ns.saturating_add(other.on_core_ns);
        self.blocked = self.blocked.saturating_add(other.blocked);
        self.preempted = self.preempted.saturating_add(other.preempted);
    }

    /// The lower median of each figure; 0 of none.
    fn median(of: impl Iterator<Item = Self>) -> Self {
        let all: Vec<Self> = of.collect();
        let median = |figure: fn(&Self) -> i64| {
            let mut values: Vec<i64> = all.iter().map(figure).collect();
            values.sort_unstable();
            let middle = values.len().saturating_sub(1) / 2;
            values.get(middle).copied().unwrap_or(0)
        };
        Self {
            elapsed_ns: median(|of| of.elapsed_ns),
            on_core_ns: median(|of| of.on_core_ns),
            blocked: median(|of| of.blocked),
            preempted: median(|of| of.preempted),
        }
    }

    /// What is more than `n` times another.
    fn less(&self, other: &Self, n: i64) -> Self {
        let less = |own: i64, other: i64| own.saturating_sub(other.saturating_mul(n)).max(0);
        Self {
            elapsed_ns: less(self.elapsed_ns, other.elapsed_ns),
            on_core_ns: less(self.on_core_ns, other.on_core_ns),
            blocked: less(self.blocked, other.blocked),
            preempted: less(self.preempted, other.preempted),
        }
    }

    /// What it is late by, if it computes when it was on a core for this part of the time at least, in percent.
    fn late_by(&self, least: i64) -> LateBy {
        let on_core = self.on_core_ns.saturating_mul(100);
        let is_running = on_core >= self.elapsed_ns.saturating_mul(least);
        match (is_running, self.preempted > self.blocked) {
            (true, _) => LateBy::Computing,
            (false, true) => LateBy::Preempted,
            (false, false) => LateBy::Sleeping,
        }
    }
}

impl Finder<'_, '_> {
    /// What late ranks did with their own time: whether they were on a core before the calls to which they are
    /// late, or polled for messages.
    pub(super) fn behaviour(&self, of: &Late, ranks: &[u32]) -> (Option<LateBy>, Confidence) {
        if self.is_polling(ranks) {
            return (Some(LateBy::PointToPoint), Confidence::Likely);
        }
        match self.late_by(ranks, of.operations.keys().copied()) {
            Some(by) => (Some(by), Confidence::Sure),
            None => (Some(LateBy::Computing), Confidence::Likely),
        }
    }

    /// What ranks did with their time before all their calls: some that seldom wait themselves, and others wait for them.
    pub(super) fn between_calls(&self, ranks: &[u32]) -> LateBy {
        let by = self.late_by(ranks, self.operations.keys().copied());
        by.unwrap_or(LateBy::Computing)
    }

    /// What ranks did more than the others with their own time before the calls of some operations; `None` where it is not known
    /// whether they were on a core.
    fn late_by(&self, ranks: &[u32], operations: impl Iterator<Item = u64>) -> Option<LateBy> {
        let mut of_all = self.running_before(operations);
        self.leave_own(&mut of_all);
        let (late, others): (Vec<_>, Vec<_>) =
            (of_all.into_iter()).partition(|(rank, _)| ranks.contains(rank));
        let mut own = Running::default();
        late.iter().for_each(|(_, running)| own.merge(running));
        if own.elapsed_ns <= 0 {
            return None;
        }
        // What the others did too does not make it late.
        let usual = Running::median(others.iter().map(|(_, running)| *running));
        let mut more = own.less(&usual, late.len() as i64);
        if more.blocked.max(more.preempted) == 0 {
            // The others lose, or give up, their cores as often while they wait for messages.
            (more.blocked, more.preempted) = (own.blocked, own.preempted);
        }
        let (of, least) = if more.elapsed_ns > own.elapsed_ns / MORE {
            (more, HALF_RUNNING)
        } else {
            (own, MOSTLY_RUNNING)
        };
        Some(of.late_by(least))
    }

    /// Leaves, of the time of ranks before some of their calls, what was their own: not in point-to-point communication. They were on
    /// a core no longer than that took.
    fn leave_own(&self, of_all: &mut BTreeMap<u32, Running>) {
        let mut before_ns: BTreeMap<u32, i64> = BTreeMap::new();
        let sums = self.findings.running.into_iter().flatten();
        for sum in sums.filter(|sum| sum.place == "before") {
            let ns = before_ns.entry(sum.rank).or_default();
            *ns = ns.saturating_add(sum.elapsed_ns);
        }
        let processes = self.inputs.run.processes.iter();
        for (file, found) in processes.zip(&self.inputs.findings.processes) {
            let rank = file.rank();
            let (Some(running), Some(&all_ns)) = (of_all.get_mut(&rank), before_ns.get(&rank))
            else {
                continue;
            };
            // Before which calls it communicated is not known.
            let communicated = found.besides.point_to_point_ns as f64 / all_ns.max(1) as f64;
            let left = 1.0 - communicated.min(1.0);
            running.elapsed_ns = (running.elapsed_ns as f64 * left).round() as i64;
            running.on_core_ns = running.on_core_ns.min(running.elapsed_ns);
        }
    }

    /// Whether each process was on a core before the calls of some operations, by rank; empty where that was not
    /// recorded.
    fn running_before(&self, operations: impl Iterator<Item = u64>) -> BTreeMap<u32, Running> {
        let keys = operations.filter_map(|hash| self.operations.get(&hash));
        let keys: Vec<_> = keys.map(|(_, key)| key).collect();
        let is_of = |sum: &&RunningSummary| {
            let mut keys = keys.iter();
            let is_in = keys
                .any(|key| key.entry == sum.communicator && key.operation.name() == sum.operation);
            sum.place == "before" && is_in
        };
        let mut of_all: BTreeMap<u32, Running> = BTreeMap::new();
        for sum in self.findings.running.into_iter().flatten().filter(is_of) {
            of_all.entry(sum.rank).or_default().add(sum);
        }
        of_all
    }

    /// Whether the time that processes were off their cores before the calls of an operation explains that they did
    /// more than others: by so much on average, ns.
    pub(super) fn is_off_core(&self, processes: &[u32], operation: u64, more_ns: f64) -> bool {
        let ranks: Vec<u32> = processes.iter().map(|&of| self.rank(of)).collect();
        let of_all = self.running_before(std::iter::once(operation));
        let (own, others): (Vec<_>, Vec<_>) =
            (of_all.into_iter()).partition(|(rank, _)| ranks.contains(rank));
        if own.is_empty() || others.is_empty() || more_ns <= 0.0 {
            return false;
        }
        let mean_ns = |of: &[(u32, Running)]| {
            let off_core = of.iter().map(|(_, of)| of.elapsed_ns - of.on_core_ns);
            sum_ns(off_core) as f64 / of.len() as f64
        };
        (mean_ns(&own) - mean_ns(&others)) * 100.0 >= more_ns * OFF_CORE
    }

    /// Whether ranks made many unsuccessful tests or probes between their calls, far more than others did.
    pub(super) fn is_polling(&self, ranks: &[u32]) -> bool {
        let processes = self
            .inputs
            .run
            .processes
            .iter()
            .zip(&self.inputs.findings.processes);
        let polls = processes.zip(&self.inputs.sums.processes);
        let polls = polls.map(|((file, found), tally)| {
            let n = found.besides.n_unsuccessful_polls;
            (file.rank(), n / tally.calls.max(1))
        });
        let (own, others): (Vec<_>, Vec<_>) = polls.partition(|(rank, _)| ranks.contains(rank));
        let mut others: Vec<u64> = others.into_iter().map(|(_, n)| n).collect();
        others.sort_unstable();
        let usual = others
            .get(others.len().saturating_sub(1) / 2)
            .copied()
            .unwrap_or(0);
        let is_many = |n: u64| n >= MANY_POLLS && n >= usual.saturating_mul(2);
        !own.is_empty() && own.iter().all(|&(_, n)| is_many(n))
    }
}
