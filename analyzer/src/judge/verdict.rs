//! Load imbalance: who makes the others wait, if anyone in particular.
//!
//! For each operation on each communicator a graph: the communicator, its hosts, their processes.
//! The weight of an edge is how often the last to arrive came from there, in instances where that
//! is resolved. The path of largest weights leads to the suspect; it is the culprit only if
//!
//! - it arrived last more often than its fair share (its processes / all processes) at p < 0.01, by
//!   the exact binomial tail, and within its host more often than a fair share of that (else the
//!   host is the suspect, not the process). Because the suspect is the heaviest of several, p is
//!   multiplied by their number, and by the number of graphs of the run: without that, one of 64
//!   blameless processes, or one of a hundred operations, would often pass;
//! - and the waits that its arrival ended are at least 1 % of the time of all collectives.
//!
//! A wait counts against the process whose arrival ended it, which in a bcast is the root: a
//! process that arrives last, but that nobody depends on, has made nobody wait.

use collbench_stats::chance::binomial_tail;
use collbench_stats::integers::add_ns;
use petgraph::Direction;
use petgraph::graphmap::DiGraphMap;

use crate::sums::lateness::{Lateness, LatenessOfMember};

/// Largest probability of a false verdict.
const MAX_P: f64 = 0.01;
/// Smallest share of the time of all collectives that is worth a verdict.
const MIN_TIME_SHARE: f64 = 0.01;

/// A vertex of the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Vertex {
    /// The communicator: the root.
    Communicator,
    /// A host, by index of its clock.
    Host(usize),
    /// A process, by position in the communicator's entry.
    Process(usize),
}

/// The verdict on one operation on one communicator.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Verdict {
    /// The heaviest path, without the communicator itself; empty if nobody was ever seen last.
    pub path: Vec<Vertex>,
    /// The deepest vertex on it that passes, if any.
    pub culprit: Option<Vertex>,
    /// Part of the resolved instances that the culprit (without one, the end of the path) arrived
    /// last to; `None` without resolved instances.
    pub share: Option<f64>,
    /// Waits that it caused, ns.
    pub caused_ns: i64,
    /// How much later than the last but one it came, ns, in all.
    pub excess_ns: i64,
}

impl Verdict {
    /// Judges one of `n_judged`; `host_of` gives the host of a process of the run,
    /// `collectives_ns` is the time of all collectives.
    #[must_use]
    pub(crate) fn reach(
        lateness: &Lateness,
        host_of: &dyn Fn(usize) -> usize,
        collectives_ns: i64,
        n_judged: usize,
    ) -> Self {
        let graph = graph(lateness, host_of);
        let path = heaviest_path(&graph);
        let n = Count {
            last: lateness.resolved,
            processes: count_processes(&graph, Vertex::Communicator),
        };
        let mut verdict = Self {
            culprit: None,
            share: None,
            caused_ns: 0,
            excess_ns: 0,
            path,
        };
        for depth in (0..verdict.path.len()).rev() {
            let vertex = verdict.path[depth];
            let (own, parts) = sum_below(&graph, lateness, vertex);
            if verdict.share.is_none() && n.last > 0 {
                verdict.share = Some(own.last as f64 / n.last as f64);
                verdict.caused_ns = parts.caused_ns;
                verdict.excess_ns = parts.excess_ns;
            }
            let n_alike = match vertex {
                Vertex::Process(_) => n.processes,
                _ => graph.neighbors(Vertex::Communicator).count(),
            };
            let stands_out_in_parent = match depth.checked_sub(1) {
                None => true,
                Some(parent) => {
                    let (parent, _) = sum_below(&graph, lateness, verdict.path[parent]);
                    parent.processes == 1
                        || own.beats_fair_share_of(parent, parent.processes * n_judged)
                }
            };
            let is_costly = parts.caused_ns as f64 >= MIN_TIME_SHARE * collectives_ns as f64;
            if own.beats_fair_share_of(n, n_alike * n_judged) && stands_out_in_parent && is_costly {
                verdict.culprit = Some(vertex);
                verdict.share = Some(own.last as f64 / n.last as f64);
                verdict.caused_ns = parts.caused_ns;
                verdict.excess_ns = parts.excess_ns;
                break;
            }
        }
        verdict
    }
}

/// Whether one of `n` processes arrived last in so many of the resolved instances more often than
/// chance explains, being the most frequent of all.
#[must_use]
pub fn stands_out(last: u64, resolved: u64, n: usize) -> bool {
    stands_out_among(last, resolved, n, 1)
}

/// Whether a process [stands out](stands_out) where so many operations are looked at: the more there are, the
/// more often chance alone would name somebody.
#[must_use]
pub fn stands_out_among(last: u64, resolved: u64, n: usize, n_operations: usize) -> bool {
    let count = |last, processes| Count { last, processes };
    count(last, 1).beats_fair_share_of(count(resolved, n), n * n_operations.max(1))
}

/// How often a number of processes arrived last.
#[derive(Debug, Clone, Copy)]
struct Count {
    last: u64,
    processes: usize,
}

impl Count {
    /// Whether a part arrived last more often than its number of processes explains, being the most
    /// frequent of `n_tried`.
    fn beats_fair_share_of(self, whole: Self, n_tried: usize) -> bool {
        if self.processes >= whole.processes {
            return false;
        }
        let fair = self.processes as f64 / whole.processes as f64;
        binomial_tail(whole.last, self.last, fair) * (n_tried as f64) < MAX_P
    }
}

/// Communicator -> host -> process, weighted by how often the last to arrive came from there.
fn graph(lateness: &Lateness, host_of: &dyn Fn(usize) -> usize) -> DiGraphMap<Vertex, u64> {
    let mut graph = DiGraphMap::new();
    for (position, member) in lateness.members.iter().enumerate() {
        let Some(process) = member.process else {
            continue;
        };
        let host = Vertex::Host(host_of(process));
        graph.add_edge(host, Vertex::Process(position), member.last);
        let so_far = graph.edge_weight(Vertex::Communicator, host).unwrap_or(&0);
        graph.add_edge(Vertex::Communicator, host, so_far + member.last);
    }
    graph
}

/// From the root always to the heaviest, among equals to the first; ends where no weight is.
fn heaviest_path(graph: &DiGraphMap<Vertex, u64>) -> Vec<Vertex> {
    let mut path = Vec::new();
    let mut at = Vertex::Communicator;
    while let Some((weight, next)) = graph
        .edges_directed(at, Direction::Outgoing)
        .map(|(_, to, &weight)| (weight, to))
        .max_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)))
    {
        if weight == 0 {
            break;
        }
        path.push(next);
        at = next;
    }
    path
}

fn count_processes(graph: &DiGraphMap<Vertex, u64>, vertex: Vertex) -> usize {
    match vertex {
        Vertex::Process(_) => 1,
        _ => graph
            .neighbors(vertex)
            .map(|below| count_processes(graph, below))
            .sum(),
    }
}

/// Sums over all processes below a vertex.
fn sum_below(
    graph: &DiGraphMap<Vertex, u64>,
    lateness: &Lateness,
    vertex: Vertex,
) -> (Count, LatenessOfMember) {
    let mut sum = LatenessOfMember::default();
    let mut processes = 0;
    let mut below = vec![vertex];
    while let Some(vertex) = below.pop() {
        match vertex {
            Vertex::Process(position) => {
                let member = &lateness.members[position];
                processes += 1;
                sum.last += member.last;
                add_ns(&mut sum.caused_ns, member.caused_ns);
                add_ns(&mut sum.excess_ns, member.excess_ns);
            }
            other => below.extend(graph.neighbors(other)),
        }
    }
    let last = sum.last;
    (Count { last, processes }, sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use collbench_stats::random::Random;

    fn lateness(last: &[u64], caused_ns: &[i64]) -> Lateness {
        Lateness {
            resolved: last.iter().sum(),
            instances: last.iter().sum(),
            members: last
                .iter()
                .zip(caused_ns)
                .enumerate()
                .map(|(process, (&last, &caused_ns))| LatenessOfMember {
                    process: Some(process),
                    last,
                    caused_ns,
                    excess_ns: 0,
                })
                .collect(),
            sections: Default::default(),
            arrivals: Default::default(),
        }
    }

    #[test]
    fn one_late_process_is_the_culprit() {
        let verdict = Verdict::reach(
            &lateness(&[20, 15, 45, 20], &[9, 9, 900, 9]),
            &|_| 0,
            10_000,
            1,
        );
        assert_eq!(verdict.culprit, Some(Vertex::Process(2)));
        assert_eq!(verdict.path, [Vertex::Host(0), Vertex::Process(2)]);
        assert_eq!(verdict.share, Some(0.45));
        assert_eq!(verdict.caused_ns, 900);
    }

    #[test]
    fn a_late_host_is_the_culprit_not_the_most_frequent_of_its_processes() {
        let last = [3, 2, 1, 2, 30, 33, 29, 31];
        let verdict = Verdict::reach(&lateness(&last, &[100; 8]), &|p| p / 4, 1_000, 1);
        assert_eq!(verdict.culprit, Some(Vertex::Host(1)));
        assert_eq!(verdict.caused_ns, 400);
    }

    #[test]
    fn a_late_process_on_a_host_of_several_is_the_culprit_itself() {
        let last = [3, 2, 1, 2, 3, 90, 2, 1];
        let verdict = Verdict::reach(&lateness(&last, &[100; 8]), &|p| p / 4, 1_000, 1);
        assert_eq!(verdict.culprit, Some(Vertex::Process(5)));
    }

    #[test]
    fn chance_and_trifles_have_no_culprit() {
        let fair = Verdict::reach(&lateness(&[27, 25, 24, 24], &[1000; 4]), &|_| 0, 10, 1);
        assert_eq!(fair.culprit, None);
        assert_eq!(fair.path.last(), Some(&Vertex::Process(0)));
        let cheap = Verdict::reach(
            &lateness(&[0, 0, 100, 0], &[0, 0, 99, 0]),
            &|_| 0,
            10_000,
            1,
        );
        assert_eq!(cheap.culprit, None);
        let costly = Verdict::reach(
            &lateness(&[0, 0, 100, 0], &[0, 0, 100, 0]),
            &|_| 0,
            10_000,
            1,
        );
        assert_eq!(costly.culprit, Some(Vertex::Process(2)));
        let unseen = Verdict::reach(&lateness(&[0, 0, 0], &[0, 0, 0]), &|_| 0, 10, 1);
        assert_eq!(
            (unseen.culprit, unseen.share, unseen.path.len()),
            (None, None, 0)
        );
    }

    #[test]
    fn the_heaviest_of_many_blameless_processes_is_rarely_accused() {
        // Last by lot, 64 processes, 200 instances, 300 runs: without the correction for having
        // picked the heaviest, about every other run would have a culprit.
        let mut random = Random::of(&[1]);
        let mut accused = 0;
        for _ in 0..300 {
            let mut last = [0u64; 64];
            for _ in 0..200 {
                last[random.below(64)] += 1;
            }
            let verdict = Verdict::reach(&lateness(&last, &[1_000; 64]), &|_| 0, 1_000, 1);
            accused += u32::from(verdict.culprit.is_some());
        }
        assert!(accused <= 6, "{accused} of 300");
    }
}
