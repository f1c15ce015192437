//! What messages usually take in a trace, and between whom they take much longer.
//!
//! Links are compared within one graph of one operation: messages of one class and size, between
//! different pairs. So what an algorithm does to all of its messages, as a root that is busy, makes
//! no link slow. Two directions of a pair are averaged, which cancels the error of the clocks.

use std::collections::{BTreeMap, BTreeSet};

use crate::judge::causes::operation_costs::facts::{
    EdgeFacts, GraphFacts, LinkClass, OperationFacts,
};

/// From how many times the usual transfer time on a link is slow: between hosts, within a host.
const SLOW: [i64; 2] = [3, 5];
/// Pairs that a pair is compared with, at least: between hosts, within a host.
const MIN_OTHERS: [usize; 2] = [2, 4];
/// Messages of a pair, at least.
const MIN_MESSAGES: u64 = 20;
/// Larger messages say more about the bandwidth than about the distance.
pub(crate) const SMALL: u64 = 4096;
/// Least time for each further byte of a message that is larger than any of the trace, ns: 1 GB/s
/// within a host, 1 Gbit/s between hosts.
const NS_PER_BYTE: [f64; 2] = [1.0, 8.0];

/// The ends of a link: two hosts, or two ranks of one host; ascending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LinkEnds {
    Hosts(usize, usize),
    Ranks(u32, u32),
}

impl LinkEnds {
    pub(crate) fn of(edge: &EdgeFacts) -> Self {
        match edge.class {
            LinkClass::InHost => Self::Ranks(edge.from.min(edge.to), edge.from.max(edge.to)),
            _ => {
                let (a, b) = edge.hosts;
                Self::Hosts(a.min(b), a.max(b))
            }
        }
    }

    /// The two ends as numbers, those of hosts apart from those of ranks.
    pub(crate) fn each(self) -> [(bool, u64); 2] {
        match self {
            Self::Hosts(a, b) => [(true, a as u64), (true, b as u64)],
            Self::Ranks(a, b) => [(false, a.into()), (false, b.into())],
        }
    }

    fn index(self) -> usize {
        usize::from(matches!(self, Self::Ranks(..)))
    }
}

/// A link that is slow in one graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SlowLink {
    /// Median transfer time of its messages of that size, ns.
    pub(crate) median_ns: i64,
    /// Median of other links, ns.
    pub(crate) usual_ns: i64,
    /// Messages.
    pub(crate) n: u64,
    /// Whether messages in both directions show it.
    pub(crate) is_both_ways: bool,
}

/// Links that are compared with each other: their class, and the size of their messages as a power
/// of two.
type Group = (LinkClass, Option<u32>);

fn group(edge: &EdgeFacts) -> Group {
    (edge.class, edge.bytes.checked_ilog2())
}

/// The slow links of a graph, by the group of messages in which they are slow. `round_trip_ns`: the usual round trip
/// between other hosts than two, where that is known.
pub(crate) fn slow_links(
    graph: &GraphFacts,
    round_trip_ns: impl Fn(usize, usize) -> Option<i64>,
) -> BTreeMap<(LinkEnds, Group), SlowLink> {
    let mut groups: BTreeMap<Group, BTreeMap<LinkEnds, Vec<&EdgeFacts>>> = BTreeMap::new();
    for edge in graph.edges.iter().filter(|edge| edge.n > 0) {
        let links = groups.entry(group(edge)).or_default();
        links.entry(LinkEnds::of(edge)).or_default().push(edge);
    }
    let mut slow = BTreeMap::new();
    for (group, links) in groups {
        let times: BTreeMap<LinkEnds, LinkTime> = links
            .iter()
            .filter_map(|(&ends, edges)| Some((ends, LinkTime::of(edges)?)))
            .collect();
        let mut medians: Vec<i64> = times.values().map(|time| time.median_ns).collect();
        medians.sort_unstable();
        let found: Vec<(LinkEnds, SlowLink)> = times
            .iter()
            .filter_map(|(&ends, time)| {
                let round_trip_ns = match ends {
                    LinkEnds::Hosts(a, b) => round_trip_ns(a, b),
                    LinkEnds::Ranks(..) => None,
                };
                let one_way_ns = round_trip_ns.unwrap_or(0) / 2;
                Some((ends, is_slow(ends, time, &medians, one_way_ns)?))
            })
            .collect();
        let n_slow = links_of_ends(found.iter().map(|&(ends, _)| ends));
        let n_all = links_of_ends(times.keys().copied());
        for (ends, link) in found {
            // Several links of one end are slow, and at least half of them: then it is that end
            // that is slow or busy, not a link.
            let mut of_ends = ends.each().into_iter();
            let is_of_an_end =
                of_ends.any(|end| n_slow[&end] > 1 && 2 * n_slow[&end] >= n_all[&end]);
            if !is_of_an_end {
                slow.insert((ends, group), link);
            }
        }
    }
    slow
}

/// The slow link of an edge.
pub(crate) fn slow_link<'s>(
    slow: &'s BTreeMap<(LinkEnds, Group), SlowLink>,
    edge: &EdgeFacts,
) -> Option<&'s SlowLink> {
    slow.get(&(LinkEnds::of(edge), group(edge)))
}

/// What messages over a link take.
struct LinkTime {
    median_ns: i64,
    /// 10th percentile, ns.
    p10_ns: i64,
    n: u64,
    /// Two standard deviations of the clocks, ns; 0 where both directions are known.
    error_ns: i64,
    /// The shorter of the medians of the two directions, ns; `None` unless both are known.
    shorter_ns: Option<i64>,
}

impl LinkTime {
    /// `None` without a common time, if there is only one direction.
    fn of(edges: &[&EdgeFacts]) -> Option<Self> {
        let goes = |edge: &&&EdgeFacts| match edge.class {
            LinkClass::InHost => edge.from < edge.to,
            _ => edge.hosts.0 < edge.hosts.1,
        };
        let (there, back): (Vec<&EdgeFacts>, Vec<&EdgeFacts>) =
            edges.iter().copied().partition(|edge| goes(&edge));
        let n = edges.iter().map(|edge| edge.n).sum();
        let uncertainty_ns = edges.first()?.uncertainty_ns;
        let are_ready =
            |edges: &[&EdgeFacts]| !edges.is_empty() && edges.iter().all(|edge| edge.is_ready);
        let median_ns = |edge: &EdgeFacts| edge.median_ns;
        let p10_ns = |edge: &EdgeFacts| edge.p10_ns;
        let (there_ns, back_ns) = (middle_of(&there, median_ns), middle_of(&back, median_ns));
        let (there_p10_ns, back_p10_ns) = (middle_of(&there, p10_ns), middle_of(&back, p10_ns));
        Some(match (there_ns, back_ns) {
            (Some(there_ns), Some(back_ns)) if are_ready(&there) == are_ready(&back) => Self {
                median_ns: there_ns / 2 + back_ns / 2,
                p10_ns: there_p10_ns? / 2 + back_p10_ns? / 2,
                n,
                error_ns: 0,
                shorter_ns: Some(there_ns.min(back_ns)),
            },
            _ => Self {
                // Where receivers are late, the time in transit is hidden.
                median_ns: if are_ready(&there) {
                    there_ns?
                } else {
                    back_ns.or(there_ns)?
                },
                p10_ns: if are_ready(&there) {
                    there_p10_ns?
                } else {
                    back_p10_ns.or(there_p10_ns)?
                },
                n,
                error_ns: uncertainty_ns?,
                shorter_ns: None,
            },
        })
    }
}

/// The median of a figure of some edges, each as often as it has messages.
fn middle_of(edges: &[&EdgeFacts], figure_ns: impl Fn(&EdgeFacts) -> i64) -> Option<i64> {
    let mut figures: Vec<(i64, u64)> = edges.iter().map(|edge| (figure_ns(edge), edge.n)).collect();
    figures.sort_unstable();
    let n: u64 = figures.iter().map(|&(_, n)| n).sum();
    let mut before = 0;
    let middle = figures.into_iter().find(|&(_, own)| {
        before += own;
        2 * before >= n
    });
    middle.map(|(figure, _)| figure)
}

/// The lower median.
fn middle(mut values: Vec<i64>) -> Option<i64> {
    values.sort_unstable();
    values.get(values.len().checked_sub(1)? / 2).copied()
}

/// The lower median of all but one of some values, ascending, of which there are at least two.
fn middle_of_others(sorted: &[i64], own: i64) -> i64 {
    let middle = (sorted.len() - 2) / 2;
    let at = sorted.partition_point(|&value| value < own);
    sorted[middle + usize::from(at <= middle)]
}

/// Whether a link is slow; `medians` are those of all links, ascending, and `one_way_ns` is half of a usual round trip.
fn is_slow(ends: LinkEnds, time: &LinkTime, medians: &[i64], one_way_ns: i64) -> Option<SlowLink> {
    let of = ends.index();
    if medians.len() <= MIN_OTHERS[of] || time.n < MIN_MESSAGES {
        return None;
    }
    let usual_ns = middle_of_others(medians, time.median_ns).max(1);
    let longer_ns = time.median_ns.saturating_sub(usual_ns);
    // Three standard deviations.
    let is_resolved = longer_ns > time.error_ns.saturating_add(time.error_ns / 2);
    // Where receivers are late on other links, the time in transit is hidden there.
    let least_ns = usual_ns.max(one_way_ns).saturating_mul(SLOW[of]);
    // Within a host, processes that wait for a core make messages slow as well. Not all of them, though.
    let is_of_link = match ends {
        LinkEnds::Hosts(..) => true,
        LinkEnds::Ranks(..) => time.p10_ns.saturating_sub(usual_ns) > longer_ns / 2,
    };
    (time.median_ns > least_ns && is_resolved && is_of_link).then_some(SlowLink {
        median_ns: time.median_ns,
        usual_ns,
        n: time.n,
        is_both_ways: time.shorter_ns.is_some_and(|shorter| shorter > least_ns),
    })
}

/// By host or rank the number of links that end there.
pub(crate) fn links_of_ends(links: impl Iterator<Item = LinkEnds>) -> BTreeMap<(bool, u64), usize> {
    let mut counts = BTreeMap::new();
    for end in links.flat_map(LinkEnds::each) {
        *counts.entry(end).or_default() += 1;
    }
    counts
}

/// Half of the round trips between hosts outside of collectives, by class of their link.
#[derive(Debug, Default)]
pub(crate) struct Ways(BTreeMap<LinkClass, Way>);

/// The shortest of them, and the lower median, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Way {
    pub(crate) least_ns: i64,
    pub(crate) usual_ns: i64,
}

impl Ways {
    /// Of round trips, each with its class, ns.
    pub(crate) fn of(round_trips: impl Iterator<Item = (LinkClass, i64)>) -> Self {
        let mut by_class: BTreeMap<LinkClass, Vec<i64>> = BTreeMap::new();
        for (class, ns) in round_trips {
            by_class.entry(class).or_default().push(ns / 2);
        }
        let ways = by_class.into_iter().filter_map(|(class, all)| {
            let (least_ns, usual_ns) = (*all.iter().min()?, middle(all)?);
            Some((class, Way { least_ns, usual_ns }))
        });
        Self(ways.collect())
    }

    /// `None` where no round trip is known.
    pub(crate) fn of_class(&self, class: LinkClass) -> Option<Way> {
        self.0.get(&class).copied()
    }
}

/// What messages usually take in a trace, by class and size.
#[derive(Debug, Default)]
pub(crate) struct UsualTimes {
    /// By class: size in bytes, median and 10th percentile, ns; ascending.
    points: BTreeMap<LinkClass, Vec<Point>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Point {
    bytes: u64,
    median_ns: i64,
    p10_ns: i64,
}

/// A time, and whether it is more than what messages of that class and size took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UsualTime {
    pub(crate) ns: i64,
    pub(crate) is_assumed: bool,
}

impl UsualTimes {
    /// Usual transfer times of a run, by class and size: the lower median over the links of each graph, and of
    /// these medians the shortest. Of a class without messages, half of the usual round trip.
    pub(crate) fn of(operations: &[OperationFacts], ways: &Ways) -> Self {
        let mut points: BTreeMap<Group, Point> = BTreeMap::new();
        for graph in operations.iter().flat_map(|operation| &operation.graphs) {
            let of_graph = || graph.edges.iter().filter(|edge| edge.n > 0);
            let has_ready = |key: Group| of_graph().any(|edge| group(edge) == key && edge.is_ready);
            let groups: BTreeSet<Group> = of_graph().map(group).collect();
            for key in groups {
                let needs_ready = has_ready(key);
                let alike = || {
                    of_graph().filter(|edge| group(edge) == key && (edge.is_ready || !needs_ready))
                };
                let n: u64 = alike().map(|edge| edge.n).sum();
                let medians = middle(alike().map(|edge| edge.median_ns).collect());
                let p10s = middle(alike().map(|edge| edge.p10_ns).collect());
                let bytes = alike().map(|edge| edge.bytes).max();
                let (Some(median_ns), Some(p10_ns), Some(bytes)) = (medians, p10s, bytes) else {
                    continue;
                };
                // Clock errors can make it negative.
                if n < MIN_MESSAGES || median_ns <= 0 {
                    continue;
                }
                let own = Point {
                    bytes,
                    median_ns,
                    p10_ns: p10_ns.max(1),
                };
                let known = points.entry(key).or_insert(own);
                if median_ns < known.median_ns {
                    *known = own;
                }
            }
        }
        let mut usual = Self::default();
        for ((class, _), point) in points {
            usual.points.entry(class).or_default().push(point);
        }
        for (&class, way) in &ways.0 {
            let ns = way.usual_ns;
            usual.points.entry(class).or_insert_with(|| {
                vec![Point {
                    bytes: 1,
                    median_ns: ns,
                    p10_ns: ns,
                }]
            });
        }
        for points in usual.points.values_mut() {
            points.sort_unstable();
        }
        usual
    }

    /// What a message of a class with next to no data takes; `None` where there is none.
    pub(crate) fn small_ns(&self, class: LinkClass) -> Option<i64> {
        let smallest = self.points.get(&class)?.first()?;
        (smallest.bytes <= SMALL).then_some(smallest.median_ns)
    }

    /// The next class of messages that go less far than those of a class; `None` where there are none.
    pub(crate) fn nearer(&self, class: LinkClass) -> Option<LinkClass> {
        let (nearer, _) = self.points.range(..class).next_back()?;
        Some(*nearer)
    }

    /// What a message of this class and size takes: as much as one of the next size that the trace
    /// has; beyond the largest one, more for each further byte. Without any of the class, as one of
    /// the next class that there is; `None` if there is none.
    pub(crate) fn of_message(&self, class: LinkClass, bytes: u64) -> Option<UsualTime> {
        let own = self.points.get_key_value(&class);
        let further = || self.points.range(class..).next();
        let (of, points) = own
            .or_else(further)
            .or_else(|| self.points.iter().next_back())?;
        if let Some(point) = points.iter().find(|point| size(point.bytes) >= size(bytes)) {
            return Some(UsualTime {
                ns: point.median_ns,
                is_assumed: *of != class,
            });
        }
        let (first, last) = (points.first()?, points.last()?);
        let least = NS_PER_BYTE[usize::from(*of != LinkClass::InHost)];
        let slope = match last.bytes - first.bytes {
            0 => least,
            more => ((last.p10_ns - first.p10_ns) as f64 / more as f64).max(least),
        };
        let from = |point: &Point| {
            let more = (bytes - point.bytes) as f64 * slope;
            point.median_ns.saturating_add(more.round() as i64)
        };
        Some(UsualTime {
            ns: points.iter().map(from).min()?,
            is_assumed: true,
        })
    }
}

/// Binary logarithm of a size in bytes, rounded down; `None` for 0 bytes.
fn size(bytes: u64) -> Option<u32> {
    bytes.checked_ilog2()
}
