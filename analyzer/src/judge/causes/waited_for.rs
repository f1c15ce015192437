//! Those that work longer than others, which wait for them outside of collectives or in completing calls; and whether
//! who is late because of messages stands out by that.

use collbench_causes::Part;
use collbench_formats::Semantics;
use collbench_stats::integers::sum_ns;

use crate::judge::causes::at_start::LARGER;
use crate::judge::causes::completions::waited_for_on;
use crate::judge::causes::late::{AllLate, Late, total};
use crate::judge::causes::partners::WaitedFor;
use crate::judge::causes::stands_out::{FEWEST, STANDS_OUT, own_and_others};
use crate::judge::causes::{Finder, Findings, partners};
use crate::results::causes::{CauseKind, CostOf, FoundCause, LateBy};
use crate::results::operation_costs::{CausePlace, Confidence};

/// Part of what a process waited that the end of its chain of partners works longer, at least, to be what it waited for:
/// one in so many.
const EXPLAINED: i64 = 4;
/// Part of what the process waited that waits longest by which it is longer than the median to be named: one in so many.
const NOTABLY: i64 = 5;
/// A process that is late because of messages is named for its own work if that makes this part of its cost: one in so many.
const NOTABLE_WORK: i128 = 4;
/// This part is enough of a process that works far longer than all others: one in so many.
const NOTABLE_IF_FAR: i128 = 20;
/// A process works far longer if it is so many times as far from the others as these are from one another.
const FAR: f64 = 10.0;
/// Fewest others of which it is known how far they are apart.
const MIN_OTHERS: usize = 3;
/// Part of what the own work of all late ones costs that is its own, at least, in percent: where all are interrupted, one of
/// them is more often than others.
const MOST_WORK: i128 = 60;

impl Finder<'_, '_> {
    /// Those for which others wait in point-to-point communication.
    pub(super) fn of_point_to_point(&self) -> Option<FoundCause> {
        let found = partners::waited_for(self.findings.whole?, self.findings.rank_ns)?;
        let is_late = self.works_longer_beyond_chance(&found.processes)
            || self.works_longer_once(&found.processes, found.longer_ns);
        is_late.then(|| self.waited_for(&found, CostOf::PointToPoint, None))
    }

    /// Charges several ranks that work longer, for which others wait in point-to-point communication, with what a rank costs that
    /// is late because it waits there for one of them.
    pub(super) fn charge_to_those_waited_for(
        &self,
        cause: &mut FoundCause,
        waited_for: &FoundCause,
    ) {
        let origin = cause.origin.or(cause.partner);
        let is_one_of_them = origin.is_some_and(|rank| waited_for.ranks.contains(&rank));
        let is_late = cause.kind == CauseKind::LateRank && cause.by == Some(LateBy::PointToPoint);
        if !is_late || !is_one_of_them || cause.rank().is_none() {
            return;
        }
        let n_ranks = self.inputs.run.processes.len() as u64;
        let mut entries = self.inputs.communicators.entries.iter();
        cause.place = Some(CausePlace::Communicator(
            entries.position(|entry| entry.size == n_ranks),
        ));
        cause.ranks.clone_from(&waited_for.ranks);
        (cause.kind, cause.by) = (CauseKind::Imbalance, waited_for.by);
        (cause.partner, cause.origin, cause.course) = (None, None, None);
    }

    /// Those for which others wait in the calls that complete nonblocking collectives.
    pub(super) fn of_completions(&self) -> impl Iterator<Item = FoundCause> {
        let late = self.findings.late_to_complete.iter();
        let late = late.filter(|late| self.works_longer_beyond_chance(&late.waited_for.processes));
        late.map(|late| FoundCause {
            operation: Some(late.operation),
            communicator: Some(late.entry),
            ..self.waited_for(&late.waited_for, CostOf::OperationTime, Some(late.entry))
        })
    }

    /// Those that others wait for inside an operation though not all depend on all in it: they work longer, and so take
    /// long until they receive, or pass on, what others have for them. Who sends to them is late for what follows.
    pub(super) fn waited_for_inside(&self, operation: u64) -> Option<Vec<u32>> {
        let (_, key) = self.operations.get(&operation)?;
        let is_of_some = matches!(
            key.operation.semantics(),
            Semantics::OneToMany | Semantics::ManyToOne | Semantics::Prefix
        );
        let entry = key.entry.filter(|_| is_of_some)?;
        let mut tallies = self.inputs.sums.operations();
        let (_, tally) = tallies.find(|(of, _)| *of == key)?;
        let in_calls_ns: Vec<i64> = tally.members.iter().map(|member| member.call_ns).collect();
        let Findings { whole, rank_ns, .. } = *self.findings;
        let found = waited_for_on(self.inputs, whole?, entry, &in_calls_ns, rank_ns)?;
        if !self.works_longer_beyond_chance(&found.processes) {
            return None;
        }
        let ranks = found.processes.iter().map(|&of| self.rank(of as u32));
        let mut ranks: Vec<u32> = ranks.collect();
        ranks.sort_unstable();
        Some(ranks)
    }

    /// Whether some processes work longer than others beyond chance, by the instances of any operation; true where none
    /// has enough of them to tell.
    pub(super) fn works_longer_beyond_chance(&self, processes: &[usize]) -> bool {
        let is_one = |process: u32| processes.contains(&(process as usize));
        let mut is_tested = false;
        for &operation in self.operations.keys() {
            for (_, of) in self.excesses(operation, true) {
                let [own, others] = own_and_others([of], is_one, |_, excess| excess.n > 0);
                if own.1 < processes.len() || others.1 == 0 || own.0.n < FEWEST * own.1 as u64 {
                    continue;
                }
                is_tested = true;
                if self.is_beyond_chance(own, others) {
                    return true;
                }
            }
        }
        !is_tested
    }

    /// Whether a process works longer once, by most of some time, ns, and nobody ever does by nearly as much.
    fn works_longer_once(&self, processes: &[usize], longer_ns: i64) -> bool {
        let &[process] = processes else {
            return false;
        };
        let found = &self.inputs.findings.wait_causes;
        let all = found.excesses.values().chain(found.own_excesses.values());
        let events = all.flat_map(|of| {
            let events = of.largest.iter();
            events.map(|most| {
                (
                    of.members[most.slot as usize] as usize == process,
                    most.more_ns,
                )
            })
        });
        let [own_ns, others_ns] = events.fold([0; 2], |[own, others], (is_own, ns)| match is_own {
            true => [ns.max(own), others],
            false => [own, ns.max(others)],
        });
        own_ns > longer_ns / 2 && own_ns >= others_ns.saturating_mul(LARGER)
    }

    /// Those that work longer than others, which wait for them; `entry`: the communicator, where that is one.
    fn waited_for(&self, found: &WaitedFor, of: CostOf, entry: Option<usize>) -> FoundCause {
        let mut ranks: Vec<u32> = found
            .processes
            .iter()
            .map(|&of| self.rank(of as u32))
            .collect();
        ranks.sort_unstable();
        let (kind, place) = match ranks[..] {
            [rank] => (CauseKind::LateRank, CausePlace::Rank(rank)),
            _ => (CauseKind::Imbalance, CausePlace::Communicator(entry)),
        };
        FoundCause {
            by: Some(self.between_calls(&ranks)),
            ranks: if ranks.len() > 1 { ranks } else { Vec::new() },
            operation: None,
            communicator: None,
            cost_ns: found.cost_ns,
            of,
            direct_ns: found.cost_ns,
            propagated_ns: 0,
            share: self.share(found.cost_ns),
            run_shorter_ns: Some(found.longest_ns),
            confidence: if found.is_sure {
                Confidence::Sure
            } else {
                Confidence::Likely
            },
            matters: true,
            ..self.found(kind, Some(place), &[], &Late::default())
        }
    }

    /// What some processes cost that stand out, as it is named: of those that do so by their own work alone, also
    /// what they waited in point-to-point communication is because of what delays or interrupts them.
    pub(super) fn as_named(&self, processes: &[u32], of: Late, all: &AllLate) -> Late {
        if of.is_by_messages() && self.stands_out_by_own_work(processes, &of, all) {
            of.with_messages_as_own()
        } else {
            of
        }
    }

    /// Whether some processes that are late mostly because of point-to-point communication, as all are that wait for messages,
    /// stand out by their own work, which is a notable part of it: of them alone. Who is stopped now and then
    /// is stopped in its calls, too, and its neighbors wait for it.
    pub(super) fn stands_out_by_own_work(
        &self,
        processes: &[u32],
        of: &Late,
        all: &AllLate,
    ) -> bool {
        let own = total(of.own.values().copied()).ns();
        let of_all: i128 = all.own.values().sum();
        let least = if self.works_far_longer(processes) {
            NOTABLE_IF_FAR
        } else {
            NOTABLE_WORK
        };
        let is_notable = i128::from(own) * least >= i128::from(of.cost().ns());
        let ranks: Vec<u32> = processes.iter().map(|&of| self.rank(of)).collect();
        is_notable
            && !self.is_polling(&ranks)
            && i128::from(own) * 100 >= MOST_WORK * of_all
            && i128::from(own) >= self.least_found_ns
            && !self.may_wait_for_one_that_works(processes, of)
            && self.is_costly_in_one(processes, &of.own, &all.own, all, true)
    }

    /// Whether these processes work longer than all others in the whole run, by far more than the others are apart from one
    /// another.
    fn works_far_longer(&self, processes: &[u32]) -> bool {
        let Some(all) = self.findings.whole else {
            return false;
        };
        let is_own = |at: usize| processes.contains(&(at as u32));
        let times = || all.iter().map(|of| of.own_ns as f64).enumerate();
        let of_others = || times().filter(|&(at, _)| !is_own(at)).map(|(_, ns)| ns);
        let own = times().filter(|&(at, _)| is_own(at)).map(|(_, ns)| ns);
        let least_own_ns = own.fold(f64::INFINITY, f64::min);
        let most_ns = of_others().fold(f64::NEG_INFINITY, f64::max);
        let least_ns = of_others().fold(f64::INFINITY, f64::min);
        of_others().count() >= MIN_OTHERS && least_own_ns - most_ns > FAR * (most_ns - least_ns)
    }

    /// Whether some processes that are late because of point-to-point communication stand out by that: they wait there
    /// far longer than others, and neither for one that works longer nor at the end of a chain.
    ///
    /// Where all wait for messages, as in an exchange with neighbors, who waits somewhat longer than others is late
    /// because of its place among them, or because its messages were late: it has nothing to do with what it does.
    pub(super) fn waits_for_messages_alone(&self, processes: &[u32], of: &Late) -> bool {
        let ranks: Vec<u32> = processes.iter().map(|&of| self.rank(of)).collect();
        if self.is_polling(&ranks) {
            return true;
        }
        if let ([process], Some(Part::PointToPoint(Some(partner))), Some(all)) =
            (processes, of.costliest_part().0, self.findings.whole)
        {
            let own = &all[*process as usize];
            let waited_ns = own.with_partners_ns;
            let end = partners::origin(
                all,
                *process as usize,
                partner as usize,
                waited_ns,
                partners::usual_own_ns(all),
            );
            if let Some(end) = end.filter(|&end| end != partner as usize) {
                let longer_ns = all[end].own_ns.saturating_sub(own.own_ns);
                return longer_ns > waited_ns / EXPLAINED;
            }
        }
        if self.may_wait_for_one_that_works(processes, of) {
            return false;
        }
        let times = self.inputs.findings.processes.iter();
        let times = times.map(|found| found.besides.point_to_point_ns);
        let is_own = |at: usize| processes.contains(&(at as u32));
        let (own, others): (Vec<_>, Vec<_>) = times.enumerate().partition(|&(at, _)| is_own(at));
        let own_ns = sum_ns(own.iter().map(|&(_, ns)| ns)) / own.len().max(1) as i64;
        let mut others: Vec<i64> = others.into_iter().map(|(_, ns)| ns).collect();
        others.sort_unstable();
        let usual_ns = others.get(others.len() / 2).copied().unwrap_or(0);
        i128::from(own_ns) >= STANDS_OUT * i128::from(usual_ns)
    }

    /// The partner of the process that is longest in point-to-point communication, where it is notably longer there than
    /// others, and the one for which that partner waits in turn, if that is another one. Of equal ones the highest rank, as
    /// in words.
    pub(super) fn longest_wait(&self) -> Option<(u32, Option<u32>)> {
        let all = self.findings.whole?;
        let times = all.iter().enumerate();
        let (process, longest) =
            times.max_by_key(|&(at, of)| (of.with_partners_ns, self.rank(at as u32)))?;
        let longest_ns = longest.with_partners_ns;
        let usual_ns = partners::usual_ns(all, |of| of.with_partners_ns);
        if longest_ns.saturating_sub(usual_ns) < longest_ns / NOTABLY {
            return None;
        }
        let partner = longest.partner?;
        let end = partners::origin(
            all,
            process,
            partner,
            longest_ns,
            partners::usual_own_ns(all),
        );
        let end = end.filter(|&end| end != partner);
        Some((
            self.rank(partner as u32),
            end.map(|end| self.rank(end as u32)),
        ))
    }

    /// Whether another process works longer before the operation to which some are late, by half of what these are longer
    /// in point-to-point communication, or more: they may wait for it there, whoever their partners seem to be.
    fn may_wait_for_one_that_works(&self, processes: &[u32], of: &Late) -> bool {
        let Some(operation) = of.costliest_operation() else {
            return false;
        };
        let all = &self.inputs.findings.wait_causes;
        self.excesses(operation, true).any(|(key, own)| {
            // Without point-to-point communication it is the same.
            let Some(with_messages) = all.excesses.get(key) else {
                return false;
            };
            let members = own.members.iter().zip(&own.by_slot);
            let members = members.zip(&with_messages.by_slot);
            let (waiting, others): (Vec<_>, Vec<_>) =
                members.partition(|((process, _), _)| processes.contains(process));
            let longer = waiting
                .iter()
                .map(|((_, own), all)| all.sum_ns - own.sum_ns);
            let longer_ns = longer.fold(0.0, f64::max);
            let most = waiting.iter().map(|((_, own), _)| own.sum_ns);
            let most_ns = most.fold(f64::NEG_INFINITY, f64::max);
            let mut working = others.iter().map(|((_, own), _)| own.sum_ns - most_ns);
            longer_ns > 0.0 && working.any(|ns| ns > longer_ns / 2.0)
        })
    }
}
