//! Whether late processes stand out: they cost at least twice what the others cost on average, and do more than chance
//! explains.

use std::collections::{BTreeMap, BTreeSet};

use collbench_causes::{Cost, Excess, Excesses};
use collbench_stats::chance::binomial_tail;

use crate::judge::causes::Finder;
use crate::judge::causes::late::{AllLate, Late};
use crate::results::over_time::Culprit;

/// How many times the average of the others a rank costs that stands out.
pub(super) const STANDS_OUT: i128 = 2;
/// Largest probability that one of them stands out by chance, and in how many ways that is tested. Where one does,
/// the chance is mostly smaller by many orders of magnitude.
const MAX_P: f64 = 0.001;
const TESTS: usize = 4;
/// Part of what all did the most that one did, at least, where that is the evidence.
const MOST_OF_IT: f64 = 0.5;
/// Instances of an operation from which on chance can be told from them.
pub(super) const FEWEST: u64 = 3;
/// Few times that one does the most are evidence if that all of them are of the same has at most this probability, nobody ever does
/// as much, each is so many times the mean of all others, and they are so much of what anybody does the most: one in so many.
const SELDOM: f64 = 0.05;
/// Few are these among so many times as many instances, at least.
const AMONG: u64 = 16;
const FAR: f64 = 10.0;
const NOTABLY: f64 = 3.0;
/// Parts of the run in each of which one must be late where few times are evidence.
const PARTS: i64 = 3;

/// What some processes, and the others, did more before operations, each with their number; of those that `is_known` takes.
pub(super) fn own_and_others<'e>(
    all: impl IntoIterator<Item = &'e Excesses>,
    is_own: impl Fn(u32) -> bool,
    is_known: impl Fn(u32, &Excess) -> bool,
) -> [(Excess, usize); 2] {
    let mut parts = [(Excess::default(), 0); 2];
    let members = all.into_iter();
    let members = members.flat_map(|of| of.members.iter().zip(&of.by_slot));
    for (&process, excess) in members.filter(|&(&process, excess)| is_known(process, excess)) {
        let (sum, n) = &mut parts[usize::from(!is_own(process))];
        *sum = Excess::of_all([*sum, *excess]);
        *n += 1;
    }
    parts
}

impl Finder<'_, '_> {
    /// Whether some processes stand out, in an operation in which others wait for them.
    pub(super) fn stands_out(&self, processes: &[u32], of: &Late, all: &AllLate) -> bool {
        let cost = of.cost();
        if cost.ns() <= 0 || i128::from(cost.ns()) < self.least_found_ns {
            return false;
        }
        if of.is_by_messages() {
            if self.stands_out_by_own_work(processes, of, all) {
                return true;
            }
            if !self.waits_for_messages_alone(processes, of) {
                return false;
            }
        }
        // One event that costs as much as everything else.
        if cost
            .largest
            .is_some_and(|(ns, _)| i128::from(ns) * 2 >= all.direct_ns)
        {
            return true;
        }
        let is_own = of.is_by_own_work();
        self.is_costly_in_one(processes, &of.operations, &all.by_operation, all, is_own)
    }

    /// Whether some processes are costly in one of the operations in which they cost most.
    pub(super) fn is_costly_in_one(
        &self,
        processes: &[u32],
        costs: &BTreeMap<u64, Cost>,
        of_all: &BTreeMap<u64, i128>,
        all: &AllLate,
        is_own: bool,
    ) -> bool {
        let direct_ns = costs.values().map(|cost| cost.direct_ns);
        let most_ns = direct_ns.max().unwrap_or(0);
        costs.iter().any(|(operation, cost)| {
            let all_ns = of_all.get(operation).copied().unwrap_or(0);
            let is_main = cost.direct_ns > 0 && cost.direct_ns >= most_ns / 2;
            is_main
                && self.is_costly(
                    processes,
                    *operation,
                    [i128::from(cost.direct_ns), all_ns],
                    all,
                    is_own,
                )
        })
    }

    /// Whether some processes cost at least twice what the others cost on average in an operation, and did
    /// more than them beyond chance, in all instances.
    ///
    /// `own_ns`, `all_ns`: what these, and all late ones that were not found, cost there directly. `is_own`: by own work,
    /// without point-to-point communication, in which others wait for it.
    ///
    /// In those to which it is late alone, a rank has more to do than others also where that is chance: as
    /// the root of a broadcast, or behind a slow link, it is late every time.
    pub(super) fn is_costly(
        &self,
        processes: &[u32],
        operation: u64,
        [own_ns, all_ns]: [i128; 2],
        all: &AllLate,
        is_own: bool,
    ) -> bool {
        let is_one = |process: u32| processes.contains(&process);
        let on_communicators = self.excesses(operation, is_own).map(|(_, of)| of);
        let [(own, n_own), (others, n_others)] =
            own_and_others(on_communicators, is_one, |process, excess| {
                excess.n > 0 && !all.found.contains(&process)
            });
        if n_own == 0 {
            // They made members wait in point-to-point communication.
            let processes: Vec<usize> = processes.iter().map(|&of| of as usize).collect();
            return 2 * own_ns >= all_ns && self.works_longer_beyond_chance(&processes);
        }
        if n_others == 0 {
            return false;
        }
        let others_ns = (all_ns - own_ns).max(0);
        let is_costly = own_ns * n_others as i128 >= STANDS_OUT * others_ns * n_own as i128;
        if !is_costly {
            return false;
        }
        let more_ns = own.sum_ns / n_own as f64 - others.sum_ns / n_others as f64;
        if self.is_disturbed(processes) || self.is_off_core(processes, operation, more_ns) {
            return true;
        }
        self.is_beyond_chance((own, n_own), (others, n_others))
            || self.do_more_in_related_ones(processes, operation, all, is_own)
            || self.are_largest_of(
                processes,
                operation,
                all,
                is_own,
                n_own as f64 / (n_own + n_others) as f64,
            )
    }

    /// Whether some processes that are late for an operation do more beyond chance before one that is before or after it: two ranks
    /// alone tell hardly which of them is late, and others may wait only now and then.
    fn do_more_in_related_ones(
        &self,
        processes: &[u32],
        operation: u64,
        all: &AllLate,
        is_own: bool,
    ) -> bool {
        let is_one = |process: u32| processes.contains(&process);
        let mut related = self.operations.keys().filter(|&&other| {
            self.may_be_before(operation, other) || self.may_be_before(other, operation)
        });
        related.any(|&other| {
            self.excesses(other, is_own).any(|(_, of)| {
                let [own, others] = own_and_others([of], is_one, |process, excess| {
                    excess.n >= FEWEST && !all.found.contains(&process)
                });
                own.1 == processes.len() && others.1 > 0 && self.is_beyond_chance(own, others)
            })
        })
    }

    /// Whether the largest of what anybody did more than the others before an operation is of some processes: more of the
    /// largest than by chance, or all of a few; they are throughout the run, and a notable part of all that was the most.
    ///
    /// Few large ones among many small ones change neither a mean nor a number by much.
    fn are_largest_of(
        &self,
        processes: &[u32],
        operation: u64,
        all: &AllLate,
        is_own: bool,
        fair_share: f64,
    ) -> bool {
        let (mut largest, mut n_all, mut all_ns) = (Vec::new(), 0, 0.0);
        let (mut begin_ns, mut end_ns) = (i64::MAX, i64::MIN);
        for (_, of) in self.excesses(operation, is_own) {
            let known = of.members.iter().zip(&of.by_slot);
            let known = known.filter(|(process, _)| !all.found.contains(process));
            for (_, excess) in known {
                n_all += excess.n_most;
                all_ns += excess.most_ns;
            }
            let events = of
                .largest
                .iter()
                .map(|most| (of.members[most.slot as usize], most));
            let events = events.filter(|(process, _)| !all.found.contains(process));
            largest.extend(
                events.map(|(process, most)| {
                    (most.more_ns, most.at_ns, processes.contains(&process))
                }),
            );
            begin_ns = begin_ns.min(of.span_ns[0]);
            end_ns = end_ns.max(of.span_ns[1]);
        }
        largest.sort_unstable_by(|a, b| b.cmp(a));
        let length_ns = end_ns.saturating_sub(begin_ns).saturating_add(1).max(1);
        let n_tried = self.n_tried() * largest.len() as f64;
        let (mut n_own, mut own_ns) = (0, 0);
        let mut parts = BTreeSet::new();
        largest
            .iter()
            .zip(1..)
            .any(|(&(more_ns, at_ns, is_own), n)| {
                if is_own {
                    n_own += 1;
                    own_ns += more_ns;
                    let at = i128::from(at_ns - begin_ns) * i128::from(PARTS);
                    parts.insert(at / i128::from(length_ns));
                }
                let mean_ns = (all_ns - own_ns as f64) / n_all.saturating_sub(n).max(1) as f64;
                let is_seldom = n * AMONG <= n_all && fair_share.powi(n as i32 - 1) <= SELDOM;
                let are_all = n_own == n && is_seldom && more_ns as f64 >= FAR * mean_ns;
                let are_many = n_own as f64 >= MOST_OF_IT * n as f64
                    && binomial_tail(n, n_own, fair_share) * n_tried <= MAX_P;
                (are_all || are_many)
                    && own_ns as f64 * NOTABLY >= all_ns
                    && parts.len() as i64 == PARTS
            })
    }

    /// Whether some processes did more than others beyond chance; both with their number.
    pub(super) fn is_beyond_chance(
        &self,
        (own, n_own): (Excess, usize),
        (others, n_others): (Excess, usize),
    ) -> bool {
        let n_tried = self.n_tried();
        let is_far = own.chance_above(&others, n_own, n_others) * n_tried <= MAX_P;
        // A few interruptions hide a mean: how often it did the most, and how much that was, is another
        // evidence.
        let both = Excess::of_all([own, others]);
        let fair_share = n_own as f64 / (n_own + n_others) as f64;
        // On busy machines all are interrupted, some more often, or for longer, than others: no matter of chance either.
        let most = f64::midpoint(1.0, fair_share);
        let least = (f64::from(STANDS_OUT as u8) * fair_share).min(most);
        let stands_out = |k: f64, n: f64, least: f64| {
            let p = binomial_tail(n as u64, k as u64, fair_share);
            k >= least * n && p * n_tried <= MAX_P
        };
        let n_events = both.equal_events();
        let part = own.most_ns / both.most_ns.max(1.0);
        is_far
            || stands_out(own.n_most as f64, both.n_most as f64, least)
            || stands_out(part * n_events, n_events, least.max(MOST_OF_IT).min(most))
    }

    /// In how many ways all of them are tested.
    fn n_tried(&self) -> f64 {
        (TESTS * self.inputs.run.processes.len() * self.operations.len().max(1)) as f64
    }

    /// Whether some processes are late at regular intervals: a rhythm beyond chance, of them beyond chance.
    fn is_disturbed(&self, processes: &[u32]) -> bool {
        let mut late = (self.findings.disturbances.iter()).filter_map(|of| of.late.as_ref());
        late.any(|late| match (late, processes) {
            (Culprit::Rank(rank), [process]) => self.rank(*process) == *rank,
            (Culprit::Ranks(ranks), [_, _, ..]) => {
                let mut own: Vec<u32> = processes.iter().map(|&of| self.rank(of)).collect();
                own.sort_unstable();
                own == *ranks
            }
            (Culprit::Host(name), [first, _, ..]) => {
                self.inputs.clocks.hosts[self.host(*first)].name == *name
            }
            _ => false,
        })
    }
}
