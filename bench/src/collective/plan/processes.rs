//! On how many processes, and on how many hosts, a part of a plan is measured.

use collbench_text::quantity::counted;
use serde::{Deserialize, Serialize};

use super::{Limits, Method, Part, Problem};
use crate::measure::refinement::geometric;

/// Processes on some of the hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::collective) struct OnHosts {
    /// Number of hosts, from that of process 0 on.
    pub(in crate::collective) hosts: usize,
    /// World ranks, ascending.
    pub(in crate::collective) ranks: Vec<usize>,
}

impl OnHosts {
    /// `processes` on the first `hosts` hosts, whose numbers on each host differ by at most one: the
    /// first ones of each. `host_of` has the host of each process, by its index. `None` if some host
    /// has not as many.
    pub(super) fn of(hosts: usize, processes: usize, host_of: &[usize]) -> Option<Self> {
        let mut left: Vec<usize> = (0..hosts)
            .map(|host| processes / hosts + usize::from(host < processes % hosts))
            .collect();
        let ranks: Vec<usize> = (0..host_of.len())
            .filter(|&rank| {
                let left = left.get_mut(host_of[rank]).filter(|left| **left > 0);
                left.map(|left| *left -= 1).is_some()
            })
            .collect();
        (ranks.len() == processes).then_some(Self { hosts, ranks })
    }
}

impl Limits<'_> {
    /// Number of hosts.
    fn hosts(&self) -> usize {
        self.host_of.iter().max().map_or(1, |last| last + 1)
    }
}

impl Part {
    /// Numbers of processes and hosts that the job does not have.
    pub(super) fn check_processes(&self, limits: Limits<'_>, problems: &mut Vec<Problem>) {
        for processes in &self.processes {
            if !(1..=limits.processes).contains(&processes.value) {
                problems.push(processes.problem(format!(
                    "{} processes: this job has {}; start more with the launcher",
                    processes.value, limits.processes
                )));
            }
        }
        if let Some(range) = &self.process_range {
            let (least, greatest) = range.value;
            if !(1..=greatest).contains(&least) || greatest > limits.processes {
                problems.push(range.problem(format!(
                    "from {least} to {greatest} processes: expected a range within those of this job, \
                     1 to {}",
                    limits.processes
                )));
            }
            if !self.hosts.is_empty() {
                problems.push(range.problem(
                    "a range of processes is not spread over numbers of hosts; name the numbers of \
                     processes",
                ));
            }
        }
        self.check_hosts(limits, problems);
    }

    fn check_hosts(&self, limits: Limits<'_>, problems: &mut Vec<Problem>) {
        let there = limits.hosts();
        for hosts in &self.hosts {
            if !(1..=there).contains(&hosts.value) {
                problems.push(hosts.problem(format!(
                    "{} hosts: this job has {}",
                    hosts.value,
                    counted(there, "host")
                )));
                continue;
            }
            for processes in &self.processes {
                if processes.value <= limits.processes
                    && OnHosts::of(hosts.value, processes.value, limits.host_of).is_none()
                {
                    problems.push(processes.problem(format!(
                        "{} processes on {}: these have fewer; start more on each with the launcher",
                        processes.value,
                        counted(hosts.value, "host")
                    )));
                }
            }
        }
    }

    /// Numbers of processes, with the number of hosts that they are on; `None`: the first ones.
    pub(super) fn counts(
        &self,
        method: &Method,
        limits: Limits<'_>,
    ) -> Vec<(Option<usize>, usize)> {
        let hosts: Vec<Option<usize>> = match &self.hosts[..] {
            [] => vec![None],
            given => given.iter().map(|given| Some(given.value)).collect(),
        };
        let on = |hosts: Option<usize>| -> Vec<(Option<usize>, usize)> {
            let all = || limits.host_of.iter();
            let all = hosts.map_or(limits.processes, |n| {
                all().filter(|host| **host < n).count()
            });
            match (&self.process_range, &self.processes[..]) {
                (Some(range), _) => {
                    let (least, greatest) = range.value;
                    let factor = method.refinement.factor;
                    let counts = geometric(least as u64, greatest as u64, factor);
                    counts.map(|n| (hosts, n as usize)).collect()
                }
                (None, []) => vec![(hosts, all)],
                (None, given) => given.iter().map(|given| (hosts, given.value)).collect(),
            }
        };
        hosts.into_iter().flat_map(on).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::collective::plan::tests::{plan, problem};

    #[test]
    fn processes_are_spread_evenly_over_as_many_hosts_as_are_named() {
        let of = |rest: &str| {
            let text = format!("[[measure]]\noperations = [\"MPI_Bcast\"]\n{rest}\n");
            let plan = plan(&text).unwrap();
            let series = plan.series.into_iter();
            series
                .map(|one| (one.processes, one.on_hosts.map(|of| of.ranks)))
                .collect::<Vec<_>>()
        };
        let first = Some(vec![0, 1, 2, 3]);
        assert_eq!(
            of("hosts = [1, 2]"),
            [(4, first.clone()), (8, Some((0..8).collect()))]
        );
        assert_eq!(
            of("hosts = [1, 2]\nprocesses = [4, 3]"),
            [
                (4, first),
                (3, Some(vec![0, 1, 2])),
                (4, Some(vec![0, 1, 4, 5])),
                (3, Some(vec![0, 1, 4])),
            ]
        );
        let refused = |rest: &str| {
            problem(&format!(
                "[[measure]]\noperations = [\"MPI_Bcast\"]\n{rest}\n"
            ))
        };
        assert_eq!(
            refused("hosts = [3]"),
            "plan.toml:3: 3 hosts: this job has 2 hosts"
        );
        assert_eq!(
            refused("hosts = [1]\nprocesses = [5]"),
            "plan.toml:4: 5 processes on 1 host: these have fewer; start more on each with the launcher"
        );
    }

    #[test]
    fn a_range_of_processes_begins_with_a_geometric_grid() {
        let text = "[[measure]]\noperations = [\"MPI_Bcast\", \"MPI_Send-MPI_Recv\"]\n\
                    from_processes = 2\nto_processes = 7\n";
        let series = plan(text).unwrap().series;
        let counts: Vec<usize> = series.iter().map(|one| one.processes).collect();
        assert_eq!(counts, [2, 4, 7, 2]);
        assert_eq!(series[1].process_range, Some((2, 7)));
        assert_eq!(series[3].process_range, None);
        let refused = |rest: &str| {
            problem(&format!(
                "[[measure]]\noperations = [\"MPI_Bcast\"]\n{rest}\n"
            ))
        };
        let said = refused("from_processes = 4\nto_processes = 9");
        assert!(
            said.starts_with("plan.toml:3: from 4 to 9 processes: expected a range"),
            "{said}"
        );
        let said = refused("from_processes = 2\nto_processes = 4\nhosts = [1]");
        assert!(said.contains("name the numbers of processes"), "{said}");
        let said = refused("from_processes = 2");
        assert!(
            said.contains("both from_processes and to_processes"),
            "{said}"
        );
        let said = refused("from_processes = 2\nto_processes = 4\nprocesses = [2]");
        assert!(said.contains("either processes"), "{said}");
    }
}
