//! Who is late, for each operation on each communicator.

use std::collections::BTreeMap;

use collbench_stats::integers::sum_ns;

use crate::judge::inputs::Inputs;
use crate::judge::over_time::{change, lateness_sections};
use crate::judge::verdict::{Verdict, Vertex};
use crate::results::imbalance::{HostLateness, ImbalanceSummary, MostWaitedFor, RankLateness};
use crate::results::over_time::Culprit;
use crate::sums::lateness::Lateness;
use crate::time::clocks::Clocks;
use crate::trace::run::Run;

/// The verdicts, those with a culprit first, then by what waiting it caused.
pub(crate) fn imbalances(inputs: &Inputs<'_>) -> Vec<ImbalanceSummary> {
    let Inputs {
        run,
        clocks,
        communicators,
        sums,
        ..
    } = inputs;
    let collectives_ns = sum_ns(sums.processes.iter().map(|process| process.call_ns));
    let n_judged = sums.n_judged();
    let host_of = |process: usize| clocks.processes[process].host;
    let mut summaries: Vec<ImbalanceSummary> = sums
        .lateness
        .iter()
        .map(|(&(entry, operation), lateness)| {
            let verdict = Verdict::reach(lateness, &host_of, collectives_ns, n_judged);
            let rank_at = |position: usize| {
                let process = lateness.members[position].process?;
                Some(run.processes[process].rank())
            };
            let name = |vertex: &Vertex| match vertex {
                Vertex::Communicator => communicators.entries[entry].name.clone(),
                Vertex::Host(host) => format!("host {}", clocks.hosts[*host].name),
                Vertex::Process(position) => {
                    rank_at(*position).map_or_else(String::new, |rank| format!("rank {rank}"))
                }
            };
            let is_resolved = lateness.resolved > 0;
            let path = [Vertex::Communicator];
            ImbalanceSummary {
                communicator: entry,
                operation: operation.name().into(),
                path: path.iter().chain(&verdict.path).map(name).collect(),
                culprit: verdict.culprit.and_then(|vertex| match vertex {
                    Vertex::Communicator => None,
                    Vertex::Host(host) => Some(Culprit::Host(clocks.hosts[host].name.clone())),
                    Vertex::Process(position) => rank_at(position).map(Culprit::Rank),
                }),
                share: verdict.share,
                wait_caused_ns: is_resolved.then_some(verdict.caused_ns),
                excess_ns: is_resolved.then_some(verdict.excess_ns),
                most_waited_for: most_waited_for(run, lateness),
                hosts: hosts(run, clocks, lateness).into(),
                all_waits_caused_ns: sum_ns(lateness.members.iter().map(|m| m.caused_ns)),
                instances: lateness.instances,
                resolved: lateness.resolved,
                sections: lateness_sections(inputs, lateness).into(),
                change: change(inputs, operation, lateness, collectives_ns, n_judged),
            }
        })
        .collect();
    summaries.sort_by_key(|s| std::cmp::Reverse((s.culprit.is_some(), s.wait_caused_ns)));
    summaries
}

/// How often each rank arrived last, by host; hosts in the order of their clocks, ranks in that of
/// the communicator.
fn hosts(run: &Run<'_>, clocks: &Clocks, lateness: &Lateness) -> Vec<HostLateness> {
    let mut by_host: BTreeMap<usize, Vec<RankLateness>> = BTreeMap::new();
    for member in &lateness.members {
        if let Some(process) = member.process {
            let host = by_host.entry(clocks.processes[process].host).or_default();
            host.push(RankLateness {
                rank: run.processes[process].rank(),
                last: member.last,
                wait_caused_ns: member.caused_ns,
            });
        }
    }
    let hosts = by_host.into_iter().map(|(host, members)| HostLateness {
        host: clocks.hosts[host].name.clone(),
        ranks: members.len() as u64,
        last: members.iter().map(|member| member.last).sum(),
        wait_caused_ns: sum_ns(members.iter().map(|member| member.wait_caused_ns)),
        members,
    });
    hosts.collect()
}

/// The rank whose arrival ended the most waiting; among equals the first.
fn most_waited_for(run: &Run<'_>, lateness: &Lateness) -> Option<MostWaitedFor> {
    let known = lateness
        .members
        .iter()
        .filter(|member| member.caused_ns > 0);
    let most = known.rev().max_by_key(|member| member.caused_ns)?;
    Some(MostWaitedFor {
        rank: run.processes[most.process?].rank(),
        last: most.last,
        wait_caused_ns: most.caused_ns,
    })
}
