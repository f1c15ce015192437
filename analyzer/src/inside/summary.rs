//! Sums to results: the graphs of an operation.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::analysis::{EdgeSummary, GraphSummary, GraphsSummary};
use crate::inside::sums::EdgeTally;
use crate::summarize::Sources;
use crate::sums::{OperationKey, OperationTally};

/// What went from process to process, all graphs together.
pub(crate) fn edges(
    sources: &Sources<'_>,
    key: &OperationKey,
    tally: &OperationTally,
) -> Option<Vec<EdgeSummary>> {
    let inside = tally.inside.as_ref()?;
    let mut sums: BTreeMap<(u32, u32), EdgeTally> = BTreeMap::new();
    for (edges, graph) in &inside.graphs {
        for (edge, sum) in edges.iter().zip(&graph.edges) {
            sums.entry(*edge).or_default().merge(sum);
        }
    }
    let edges = sums
        .iter()
        .map(|(edge, sum)| summary(sources, key, *edge, sum));
    (!sums.is_empty()).then(|| edges.collect())
}

/// The graphs that instances executed.
pub(crate) fn graphs(
    sources: &Sources<'_>,
    key: &OperationKey,
    tally: &OperationTally,
) -> Option<GraphsSummary> {
    let inside = tally.inside.as_ref()?;
    let mut list: Vec<GraphSummary> = (inside.graphs.iter())
        .map(|(edges, graph)| GraphSummary {
            instances: graph.instances,
            edges: (edges.iter().zip(&graph.edges))
                .map(|(edge, sum)| summary(sources, key, *edge, sum))
                .collect(),
        })
        .collect();
    list.sort_by_key(|graph| Reverse(graph.instances));
    Some(GraphsSummary {
        list,
        others: inside.n_others,
        opaque: inside.n_opaque,
        unpaired: inside.n_unpaired,
    })
}

fn summary(
    sources: &Sources<'_>,
    key: &OperationKey,
    (from, to): (u32, u32),
    sum: &EdgeTally,
) -> EdgeSummary {
    let ranks = key
        .entry
        .map_or(&[][..], |entry| &sources.communicators.entries[entry].ranks);
    let rank = |position: u32| {
        let rank = ranks.get(position as usize).copied().flatten();
        rank.unwrap_or(position)
    };
    EdgeSummary {
        from: rank(from),
        to: rank(to),
        messages: sum.messages,
        bytes: sum.bytes,
    }
}
