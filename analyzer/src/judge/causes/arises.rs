//! Before which operation lateness arises: who is late for one is late for later ones, too.

use std::collections::{BTreeMap, BTreeSet};

use collbench_causes::Cost;
use collbench_formats::{CommunicatorKind, Semantics};

use crate::judge::causes::Finder;
use crate::judge::causes::late::{Late, total};

/// Part of what some do more before an operation that they do before an earlier one, at least, to be late from there on.
const MUCH_OF_IT: f64 = 0.4;
/// Part of it that others wait for in the earlier one, at least.
const NOTABLE_WAIT: f64 = 0.2;

impl Finder<'_, '_> {
    /// The operation in which the lateness of some ranks arises that costs most in `costliest`, and what it costs: one before which
    /// they do most of what they do more, if others wait there for a notable part of it, or that one itself. Who is late there
    /// is late for later operations, too.
    pub(super) fn where_it_arises(
        &self,
        ranks: &[u32],
        of: &Late,
        costliest: u64,
    ) -> (Option<u64>, Cost) {
        let is_own = of.is_by_own_work();
        let more: BTreeMap<u64, f64> = of
            .operations
            .keys()
            .map(|&hash| (hash, self.more_directly_before_ns(ranks, hash, is_own)))
            .collect();
        let late = of.operations.iter().filter(|(hash, cost)| {
            cost.direct_ns > 0 && cost.direct_ns as f64 > more[*hash] * NOTABLE_WAIT
        });
        let most = late.max_by(|a, b| more[a.0].total_cmp(&more[b.0]));
        let distinct: BTreeMap<u64, f64> = more
            .iter()
            .map(|(&hash, &ns)| (self.of_call(hash), ns))
            .collect();
        let all: f64 = distinct.values().sum();
        let Some((&arises, _)) = most.filter(|(hash, _)| more[*hash] > all * MUCH_OF_IT) else {
            return (Some(costliest), of.cost());
        };
        let costs = of.operations.iter().map(|(hash, cost)| {
            if more[hash] < more[&arises] * MUCH_OF_IT {
                cost.passed_on()
            } else {
                *cost
            }
        });
        (Some(arises), total(costs))
    }

    /// The hash of an operation, if it may be that of its completion.
    fn of_call(&self, hash: u64) -> u64 {
        let operation = self.operations.get(&hash);
        operation.map_or(hash, |(_, key)| key.stable_hash())
    }

    /// How much more than others some ranks do before an operation, in all instances, but for what is before earlier ones, ns.
    fn more_directly_before_ns(&self, ranks: &[u32], operation: u64, is_own: bool) -> f64 {
        let is_own_rank = |process: &u32| ranks.contains(&self.rank(*process));
        let in_excesses = |hash: u64| -> f64 {
            let on_communicators = self.excesses(hash, is_own);
            let members = on_communicators.flat_map(|(_, of)| of.members.iter().zip(&of.by_slot));
            let own = members.filter(|(process, _)| is_own_rank(process));
            own.map(|(_, excess)| excess.sum_ns).sum()
        };
        let found = &self.inputs.findings.wait_causes;
        let in_gaps = |hash: u64| {
            let hash = self.of_call(hash);
            let (mut is_any, mut more_ns) = (false, 0.0);
            for (key, of) in found.gaps.range((hash, 0)..=(hash, u32::MAX)) {
                let excesses = found.excesses.get(key);
                let n = excesses
                    .and_then(|of| of.by_slot.first())
                    .map_or(0, |of| of.n);
                // Else they are of the few instances in which its members came from another communicator.
                if of.n * 2 >= n {
                    is_any = true;
                    let own = of
                        .more_ns
                        .iter()
                        .filter(|(process, _)| is_own_rank(process));
                    more_ns += own.map(|(_, ns)| ns).sum::<f64>();
                }
            }
            is_any.then_some(more_ns.max(0.0))
        };
        in_gaps(operation).unwrap_or_else(|| {
            let hashes = self.operations.keys();
            let before = hashes.filter(|&&hash| self.may_be_before(hash, operation));
            let before: BTreeSet<u64> = before.map(|&hash| self.of_call(hash)).collect();
            let before = before.iter().map(|&hash| {
                let more_ns = in_gaps(hash).unwrap_or_else(|| in_excesses(hash));
                more_ns.max(0.0)
            });
            (in_excesses(operation) - before.sum::<f64>()).max(0.0)
        })
    }

    /// Whether what a rank does more before the operation `inner` is part of what it does more before `outer`, if it comes to
    /// that later: all ranks of `inner` are in that one, and more, or as many and all of them wait for all in that one only.
    pub(super) fn may_be_before(&self, inner: u64, outer: u64) -> bool {
        let entries = &self.inputs.communicators.entries;
        let entry = |hash: u64| {
            let (_, key) = self.operations.get(&hash)?;
            entries.get(key.entry?)
        };
        let (Some(within), Some(all)) = (entry(inner), entry(outer)) else {
            return false;
        };
        let are_in_both = || within.ranks.iter().all(|rank| all.ranks.contains(rank));
        (within.size, self.is_of_all(inner)) < (all.size, self.is_of_all(outer)) && are_in_both()
    }

    /// Whether all wait for all in an operation.
    pub(super) fn is_of_all(&self, operation: u64) -> bool {
        let key = self.operations.get(&operation).map(|(_, key)| key);
        key.is_some_and(|key| {
            let is_of_all = matches!(
                key.operation.semantics(),
                Semantics::Barrier | Semantics::AllToAll | Semantics::Constructor
            );
            // Between two groups each process waits for those of the other one only.
            let entry = key
                .entry
                .map(|entry| &self.inputs.communicators.entries[entry]);
            let is_within_one_group = entry.is_none_or(|of| of.kind != CommunicatorKind::Inter);
            is_of_all && is_within_one_group && operation == key.stable_hash()
        })
    }
}
