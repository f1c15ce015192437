//! Sums of an operation by the place in the program from which it was called.

use std::collections::BTreeMap;

use collbench_stats::integers::add_ns;
use serde::{Deserialize, Serialize};

use crate::instances::complete::CompleteInstance;
use crate::measure::outside::Figures;
use crate::selection::Resolved;
use crate::trace::call_sites::NO_SITE;

/// The calls of one process from one place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SiteMember {
    /// Calls of complete instances.
    pub calls: u64,
    /// Time in them, ns.
    pub call_ns: i64,
    /// Those whose wait is known.
    pub n_waits: u64,
    /// Their waits, ns.
    pub wait_ns: i64,
}

impl SiteMember {
    fn merge(&mut self, other: &Self) {
        self.calls += other.calls;
        add_ns(&mut self.call_ns, other.call_ns);
        self.n_waits += other.n_waits;
        add_ns(&mut self.wait_ns, other.wait_ns);
    }
}

/// By number of the place: for each position in the communicator's entry the calls from there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteTallies(BTreeMap<u32, Vec<SiteMember>>);

impl SiteTallies {
    /// Adds the calls of an instance; `times` are those in its calls, ns, and `positions` those of its
    /// processes, by slot, among `n_positions`.
    pub(crate) fn add(
        &mut self,
        instance: &CompleteInstance<'_>,
        (figures, times): (&Figures, &[i64]),
        (positions, n_positions): (&[usize], usize),
        selection: &Resolved,
    ) {
        let members = &instance.communicator.members;
        let is_counted =
            |slot: usize| selection.has_all_ranks() || selection.has_rank(members[slot].world_rank);
        let mut sites: &[u32] = instance.sites;
        let mut at = 0;
        // Mostly all processes call from one place.
        while let Some(&site) = sites.first() {
            let n = sites.iter().take_while(|&&other| other == site).count();
            if site != NO_SITE {
                let tally = self.of(site, n_positions);
                for slot in (at..at + n).filter(|&slot| is_counted(slot)) {
                    let member = &mut tally[positions[slot]];
                    member.calls += 1;
                    add_ns(&mut member.call_ns, times[slot]);
                    if let Some(wait) = figures.wait(slot) {
                        member.n_waits += 1;
                        add_ns(&mut member.wait_ns, wait);
                    }
                }
            }
            sites = &sites[n..];
            at += n;
        }
    }

    fn of(&mut self, site: u32, n_positions: usize) -> &mut [SiteMember] {
        let new = || vec![SiteMember::default(); n_positions];
        self.0.entry(site).or_insert_with(new)
    }

    /// Adds those of another part.
    pub(crate) fn merge(&mut self, other: Self) {
        for (site, members) in other.0 {
            for (own, other) in self.of(site, members.len()).iter_mut().zip(&members) {
                own.merge(other);
            }
        }
    }

    /// By number of the place, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &[SiteMember])> {
        self.0
            .iter()
            .map(|(&site, members)| (site, members.as_slice()))
    }
}
