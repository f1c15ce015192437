//! How much of the critical path is the transfer of data: messages that take long because of what is in them.
//!
//! A message takes so long because of its data, if even the shortest ones of that kind take many times the latency of
//! the link. Who is late plays no part in that: a transfer begins when both ends are there.

use std::collections::BTreeMap;

use crate::judge::causes::operation_costs::facts::{
    EdgeFacts, Flow, GraphFacts, LinkClass, OperationFacts,
};
use crate::judge::causes::operation_costs::links::{LinkEnds, SMALL};
use crate::judge::causes::operation_costs::{FAR_ABOVE, PathCosts};
use crate::results::operation_costs::{
    CausePlace, Confidence, CostFacts, OperationCause, OperationCauseKind,
};

/// Larger messages may take long because of their data, bytes: between hosts, within a host.
const LARGE: [u64; 2] = [SMALL, 65_536];
/// Messages whose receiver agrees to them first cross three times.
const LATENCIES: i64 = 3;
/// Messages of an edge, at least.
const MIN_MESSAGES: u64 = 5;

/// The data on the critical path of an instance of a graph.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Transfer {
    /// Within hosts or between them.
    pub(crate) is_in_host: bool,
    /// Time that data take on the path, without the latency of messages, ns.
    pub(crate) ns: f64,
    /// The link on which they take most of that, its time, ns, and its bytes on the path.
    pub(crate) link: LinkEnds,
    pub(crate) link_ns: f64,
    pub(crate) link_bytes: f64,
    /// How often the data of one rank cross that link in one direction; `None` where each rank has data of its own.
    pub(crate) times: Option<f64>,
}

impl PathCosts<'_> {
    /// The data that one rank receives more than the mean of all, if it receives far more than any other. Meanwhile its own small
    /// messages wait, so that the path is in these as well.
    pub(super) fn to_one(&self) -> Option<OperationCause> {
        if !self.operation.has_own_sizes {
            return None;
        }
        let edges = || self.graph.edges.iter();
        let mut received: BTreeMap<u32, f64> = BTreeMap::new();
        for edge in edges() {
            *received.entry(edge.to).or_default() += edge.messages * edge.bytes as f64;
        }
        let by_bytes = received.iter().max_by(|a, b| a.1.total_cmp(b.1));
        let (&rank, &bytes) = by_bytes?;
        let others = || received.iter().filter(|(of, _)| **of != rank);
        let of_next = others().map(|(_, &bytes)| bytes).fold(0.0, f64::max);
        let of_others: f64 = others().map(|(_, bytes)| bytes).sum();
        let n_ranks = self.operation.locations.len() as f64;
        let is_large = edges().any(|edge| edge.to == rank && is_large(edge));
        if bytes < FAR_ABOVE * of_next || n_ranks < 3.0 || !is_large {
            return None;
        }
        let needless = 1.0 - (bytes + of_others) / n_ranks / bytes;
        let there = edges().filter(|edge| edge.to == rank || edge.from == rank);
        let there_ns: i64 = there.map(|edge| edge.on_path_ns.max(0)).sum();
        let there_ns = there_ns as f64 / self.graph.known as f64 * self.operation.typical;
        let (part_ns, rest_ns) = (there_ns * needless, self.rest_ns());
        if part_ns < rest_ns / 4.0 {
            return None;
        }
        let facts = CostFacts::Received {
            bytes: bytes.round() as u64,
            others_bytes: (of_others / (n_ranks - 1.0)).round() as u64,
        };
        let (kind, place) = (OperationCauseKind::Transfer, CausePlace::Node(rank));
        let part_ns = part_ns.min(rest_ns);
        Some(self.cause(kind, place, part_ns, Confidence::Likely, facts))
    }
}

/// The most bytes per second of messages of a class whose data take their time; `None` where there are none.
pub(crate) fn most_per_s(
    operations: &[OperationFacts],
    class: LinkClass,
    latency_ns: impl Fn(&EdgeFacts) -> Option<i64>,
) -> Option<f64> {
    let graphs = operations.iter().flat_map(|operation| &operation.graphs);
    let edges = graphs.flat_map(|graph| &graph.edges);
    let of_data =
        edges.filter(|edge| edge.class == class && others_ns(edge, &latency_ns).is_some());
    let per_s = of_data.map(|edge| edge.bytes as f64 * 1e9 / edge.median_ns as f64);
    per_s.reduce(f64::max)
}

impl Transfer {
    /// The data of a graph between hosts, or else within them; `None` where latency is most of it. `is_slow`: edges that
    /// are slow for another reason. `latency_ns`: of a message without data; `None` where it is not known.
    pub(crate) fn of(
        operation: &OperationFacts,
        graph: &GraphFacts,
        is_slow: impl Fn(&EdgeFacts) -> bool,
        latency_ns: impl Fn(&EdgeFacts) -> Option<i64>,
    ) -> Option<Self> {
        let mut links: BTreeMap<LinkEnds, (f64, f64)> = BTreeMap::new();
        let mut ns = [0.0; 2];
        let n = graph.known as f64;
        for edge in graph.edges.iter().filter(|edge| edge.on_path > 0) {
            let Some(least_ns) = others_ns(edge, &latency_ns).filter(|_| !is_slow(edge)) else {
                continue;
            };
            let uses = edge.on_path as f64 / n;
            let all_ns = edge.on_path_ns.max(0) as f64 / n;
            let of_data_ns = (all_ns - uses * least_ns as f64).max(0.0);
            ns[is_within(edge)] += of_data_ns;
            let of_link = links.entry(LinkEnds::of(edge)).or_default();
            of_link.0 += all_ns;
            of_link.1 += uses * edge.messages * edge.bytes as f64;
        }
        let is_in_host = ns[1] > ns[0];
        let is_of = |ends: &LinkEnds| matches!(ends, LinkEnds::Ranks(..)) == is_in_host;
        let (link, (link_ns, link_bytes)) = (links.into_iter())
            .filter(|(ends, _)| is_of(ends))
            .max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
        Some(Self {
            is_in_host,
            ns: ns[usize::from(is_in_host)],
            link,
            link_ns,
            link_bytes,
            times: times(operation, graph, link),
        })
    }

    /// Bytes per second on its link.
    pub(crate) fn per_s(&self) -> f64 {
        self.link_bytes * 1e9 / self.link_ns.max(1.0)
    }
}

fn is_within(edge: &EdgeFacts) -> usize {
    usize::from(edge.class == LinkClass::InHost)
}

/// Whether messages of an edge may take long because of their data.
fn is_large(edge: &EdgeFacts) -> bool {
    edge.bytes > LARGE[is_within(edge)]
}

/// What a message takes besides its data, ns; `None` where these are not most of it, in nine of ten messages.
fn others_ns(edge: &EdgeFacts, latency_ns: impl Fn(&EdgeFacts) -> Option<i64>) -> Option<i64> {
    let is_large = is_large(edge) && edge.n >= MIN_MESSAGES;
    let others_ns = latency_ns(edge)?.saturating_mul(LATENCIES);
    let is_of_data = edge.p10_ns > 0 && edge.p10_ns >= others_ns.saturating_mul(2);
    (is_large && is_of_data).then_some(others_ns)
}

/// How often the payload of an operation crosses a link in one direction or the other, in all messages of an instance.
fn times(operation: &OperationFacts, graph: &GraphFacts, link: LinkEnds) -> Option<f64> {
    let is_same = matches!(operation.flow, Flow::OneWay | Flow::BothWays);
    let mut bytes: BTreeMap<bool, f64> = BTreeMap::new();
    for edge in graph.edges.iter().filter(|edge| LinkEnds::of(edge) == link) {
        let direction = match link {
            LinkEnds::Hosts(..) => edge.hosts.0 < edge.hosts.1,
            LinkEnds::Ranks(..) => edge.from < edge.to,
        };
        *bytes.entry(direction).or_default() += edge.messages * edge.bytes as f64;
    }
    let most = bytes.into_values().reduce(f64::max)?;
    (is_same && graph.bytes > 0).then(|| most / graph.bytes as f64)
}
