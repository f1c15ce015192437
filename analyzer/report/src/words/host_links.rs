//! Hops of critical paths, added up by pair of hosts: a slow link that many pairs of processes share is in
//! no single hop.

use std::collections::BTreeMap;

use collbench_analyzer::Analysis;
use collbench_analyzer::results::CriticalPathSummary;

/// The hops from one host to another, together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Link<'a> {
    /// Host of the senders.
    pub(super) from: &'a str,
    /// Host of the receivers.
    pub(super) to: &'a str,
    /// Pairs of processes.
    pub(super) n_hops: u64,
    /// How often one of them was on a critical path.
    pub(super) n: u64,
    /// Their total time, ns.
    pub(super) total_ns: i64,
}

/// The pair of hosts whose hops take most time, if that is at least 1.5 times the most expensive hop;
/// `None` on a single host.
pub(super) fn costliest<'a>(
    analysis: &'a Analysis,
    path: &CriticalPathSummary,
) -> Option<Link<'a>> {
    if analysis.trace.hosts.len() < 2 {
        return None;
    }
    let ranks = analysis.ranks.iter();
    let hosts: BTreeMap<u32, &str> = ranks.map(|found| (found.rank, &*found.host)).collect();
    let mut links: BTreeMap<(&str, &str), Link<'_>> = BTreeMap::new();
    for hop in &path.hops {
        let (Some(&from), Some(&to)) = (hosts.get(&hop.from), hosts.get(&hop.to)) else {
            continue;
        };
        if from == to {
            continue;
        }
        let link = links.entry((from, to)).or_insert(Link {
            from,
            to,
            n_hops: 0,
            n: 0,
            total_ns: 0,
        });
        link.n_hops += 1;
        link.n += hop.instances;
        link.total_ns = link.total_ns.saturating_add(hop.total_ns);
    }
    // Among equal ones the first by name.
    let costliest = links.into_values().rev().max_by_key(|link| link.total_ns)?;
    let alone_ns = path.hops.first()?.total_ns;
    let is_more = costliest.total_ns / 3 >= alone_ns / 2;
    (costliest.n_hops > 1 && is_more && costliest.total_ns > 0).then_some(costliest)
}
