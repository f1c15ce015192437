//! From sums to results: the trees and other graphs of an operation.

pub(crate) mod own_trees;

use std::cmp::Reverse;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use collbench_formats::Layer;
use collbench_stats::distribution::Summary;
use collbench_text::inert;
use collbench_trees::algorithm::Algorithm;
use collbench_trees::recognize::Direction;

use crate::judge::inputs::Inputs;
use crate::judge::tree_figures;
use crate::judge::tree_figures::{RanksAndHosts, host_of, tree_figures};
use crate::remark::{Remark, UnpairedMessages};
use crate::results::inside::{PathStage, StageKind};
use crate::results::operation::{OperationSummary, Stage};
use crate::results::trace::MessageEndCounts;
use crate::results::trees::{EdgeSummary, OutsideTrees, TreeSummary};
use crate::sums::graphs::figures::EdgeFigures;
use crate::sums::graphs::{EdgeTally, GraphTally, InsideTally};
use crate::sums::instances::operation_key::OperationKey;
use crate::sums::operation::OperationTally;
use crate::trace::rank_file::RankFile;

/// Messages between processes, over all graphs; `None` where no message was seen.
pub(crate) fn edges(
    inputs: &Inputs<'_>,
    key: &OperationKey,
    tally: &OperationTally,
) -> Option<Vec<EdgeSummary>> {
    let inside = tally.inside.as_ref()?;
    let mut sums: BTreeMap<(u32, u32), (EdgeTally, Option<Direction>)> = BTreeMap::new();
    let mut measured: BTreeMap<(u32, u32), EdgeFigures> = BTreeMap::new();
    for (edges, graph) in &inside.graphs {
        let recognition = graph.recognition();
        for (number, (edge, sum)) in edges.iter().zip(&graph.edges).enumerate() {
            let found = recognition.direction(number);
            let (own, direction) = (sums.entry(*edge)).or_insert((EdgeTally::default(), found));
            own.merge(sum);
            // Towards the root in one graph and from it in another is neither.
            if *direction != found {
                *direction = None;
            }
        }
        for (edge, figures) in edges.iter().zip(&graph.figures.edges) {
            match measured.entry(*edge) {
                Entry::Occupied(mut own) => own.get_mut().merge(figures),
                Entry::Vacant(own) => drop(own.insert(figures.clone())),
            }
        }
    }
    let ranks = Ranks::of(inputs, key);
    let edges = sums.iter().map(|(edge, (sum, direction))| {
        let figures = measured.get(edge);
        ranks.edge(*edge, sum, *direction, figures)
    });
    (!sums.is_empty()).then(|| edges.collect())
}

/// The names of algorithms that the library reported for an operation.
pub(crate) fn library_name(inputs: &Inputs<'_>, key: &OperationKey) -> Option<String> {
    key.reported
        .map(|reported| inputs.run.names.in_words(reported))
}

/// Remark on instances whose messages do not fit the algorithm that the library named.
pub(crate) fn contradicted(operations: &[OperationSummary]) -> Option<Remark> {
    let found = operations.iter().filter(|of| of.contradicted > 0);
    let n_instances = found.clone().map(|of| of.contradicted).sum();
    let most = found.max_by_key(|of| (of.contradicted, Reverse(&of.operation)))?;
    let seen = most
        .trees
        .iter()
        .flatten()
        .find_map(|tree| tree.also.first());
    let of = |name: Option<&String>| inert::line(name.map_or("", |name| name), MAX_NAME);
    Some(Remark::AlgorithmContradicted {
        n_instances,
        first: (
            most.operation.to_string(),
            of(most.library_name.as_ref()),
            of(seen),
        ),
    })
}

/// Characters of the names of an algorithm in a remark.
const MAX_NAME: usize = 80;

/// The graphs that instances executed, the most frequent first.
pub(crate) fn trees(
    inputs: &Inputs<'_>,
    key: &OperationKey,
    tally: &OperationTally,
) -> Option<Vec<TreeSummary>> {
    if tally.inside.is_none() && tally.own_trees.is_empty() {
        return None;
    }
    let ranks = Ranks::of(inputs, key);
    let called = Called {
        algorithm: key.algorithm,
        library_name: library_name(inputs, key),
    };
    let graphs = tally.inside.iter().flat_map(|inside| &inside.graphs);
    let own = own_trees::trees(inputs, key, &tally.own_trees);
    let graphs = graphs.map(|(edges, graph)| ranks.tree(edges, graph, &called));
    let mut trees: Vec<_> = own.into_iter().chain(graphs).collect();
    // Stable: graphs as frequent as one another stay in the order of their edges. Messages on a tree
    // of our own are those of its proxies.
    trees.sort_by_key(|tree| (tree.own.is_none(), Reverse(tree.instances)));
    Some(trees)
}

/// The stages inside the most frequent of the trees: its nodes, and its edges.
pub(crate) fn stages(trees: Option<&[TreeSummary]>) -> Vec<Stage> {
    let Some(tree) = trees.and_then(<[TreeSummary]>::first) else {
        return Vec::new();
    };
    let points = tree.figures.iter().flat_map(|found| &found.joining_points);
    let mut stages: Vec<Stage> = points
        .map(|point| Stage {
            name: "node".into(),
            node: Some(format!("rank {}", point.rank)),
            down_ns: point.down_ns.clone(),
            up_ns: point.up_ns.clone().or_else(|| point.core_ns.clone()),
        })
        .collect();
    if stages.is_empty() {
        return stages;
    }
    // By child and parent: down and up.
    let mut edges: BTreeMap<(u32, u32), [Option<Summary>; 2]> = BTreeMap::new();
    for edge in &tree.edges {
        let (ends, way) = match edge.direction.as_deref() {
            Some("down") => ((edge.from, edge.to), 0),
            Some("up") => ((edge.to, edge.from), 1),
            _ => continue,
        };
        let transfer = edge.measured.as_ref();
        let transfer = transfer.and_then(|measured| measured.transfer_ns.clone());
        edges.entry(ends).or_default()[way] = transfer;
    }
    stages.extend(
        edges
            .into_iter()
            .map(|((child, parent), [down_ns, up_ns])| Stage {
                name: "edge".into(),
                node: Some(format!("rank {child} to rank {parent}")),
                down_ns,
                up_ns,
            }),
    );
    stages
}

/// Counts of what is in none of the graphs.
pub(crate) fn outside_trees(inside: &InsideTally) -> OutsideTrees {
    OutsideTrees {
        other_graphs: inside.n_others,
        opaque: inside.n_opaque,
        unpaired: inside.n_unpaired,
    }
}

/// Remarks on messages.
pub(crate) fn remarks(inputs: &Inputs<'_>, ends: &MessageEndCounts) -> Vec<Remark> {
    let mut n_opaque = 0;
    let mut opaque = BTreeSet::new();
    for (key, tally) in inputs.sums.operations() {
        let n = tally.inside.as_ref().map_or(0, |inside| inside.n_opaque);
        n_opaque += n;
        if n > 0 {
            opaque.insert(key.operation.name());
        }
    }
    let mut remarks = own_trees::remarks(inputs);
    // A library without any visible message is reported in the layers, and here only if the user
    // asked for messages.
    let is_expected = inputs.findings.n_messages > 0
        || inputs
            .run
            .processes
            .iter()
            .any(|file| file.was_asked_for(Layer::Messages));
    if n_opaque > 0 && is_expected {
        remarks.push(Remark::Opaque {
            n_instances: n_opaque,
            operations: opaque.into_iter().collect(),
        });
    }
    let n_instances = inputs.sums.counts.in_finalize;
    if n_instances > 0 && is_expected {
        remarks.push(Remark::InFinalize { n_instances });
    }
    // For a ring there is a remark on overwritten calls, which includes those of these messages.
    let processes = || inputs.run.processes.iter();
    let is_cut = processes().any(|file| file.trace.window.is_some_and(|window| window.is_cut()));
    let n_elsewhere = if is_cut { 0 } else { ends.sends_elsewhere };
    if ends.unpaired_sends + ends.unpaired_receives + n_elsewhere > 0 {
        let are_recorded =
            |file: &RankFile<'_>| file.has_layer(Layer::Rma) && file.has_layer(Layer::Io);
        let counts = &inputs.sums.counts;
        remarks.push(Remark::UnpairedMessages(UnpairedMessages {
            n_sends: ends.unpaired_sends,
            n_receives: ends.unpaired_receives,
            n_elsewhere,
            // Collectives on windows and files have messages, too, also where these calls are not.
            are_calls_missing: !processes().all(are_recorded),
            are_any_incomplete: counts.incomplete + counts.failed_instances > 0,
        }));
    }
    remarks
}

/// A message received before it was sent, by more than the error of the clocks. Ordered by how
/// early it was; among equals the first pair of hosts is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TooEarly {
    by_ns: i64,
    /// Hosts of the sender and the receiver.
    hosts: Reverse<(usize, usize)>,
    uncertainty_ns: i64,
}

/// The earliest of the messages over some edges, if one was too early.
pub(crate) fn received_too_early<'a>(
    inputs: &Inputs<'_>,
    edges: impl Iterator<Item = &'a EdgeSummary>,
) -> Option<TooEarly> {
    let too_early = edges.filter_map(|edge| {
        let transfer = edge.measured.as_ref()?.transfer_ns.as_ref()?;
        let from = host_of(inputs, edge.from)?;
        let to = host_of(inputs, edge.to)?;
        let uncertainty_ns = inputs.clocks.uncertainty_ns(from, to)?;
        let by_ns = transfer.min.saturating_neg();
        // Three standard deviations.
        let is_too_early = by_ns > uncertainty_ns.saturating_add(uncertainty_ns / 2);
        (from != to && is_too_early).then_some(TooEarly {
            by_ns,
            hosts: Reverse((from, to)),
            uncertainty_ns,
        })
    });
    too_early.max()
}

/// The remark on such a message.
pub(crate) fn too_early_remark(
    inputs: &Inputs<'_>,
    earliest: TooEarly,
    ends: &MessageEndCounts,
) -> Remark {
    let Reverse((from, to)) = earliest.hosts;
    let name = |host: usize| inputs.clocks.hosts[host].name.clone();
    Remark::ReceivedTooEarly {
        n_messages: ends.received_before_sent,
        n_paired: ends.paired,
        from: name(from),
        to: name(to),
        by_ns: earliest.by_ns,
        uncertainty_ns: earliest.uncertainty_ns,
    }
}

/// Names of the algorithm of an operation.
struct Called {
    algorithm: Option<Algorithm>,
    library_name: Option<String>,
}

/// World ranks by position in a communicator's entry.
struct Ranks<'s> {
    inputs: &'s Inputs<'s>,
    ranks: &'s [Option<u32>],
}

impl<'s> Ranks<'s> {
    fn of(inputs: &'s Inputs<'s>, key: &OperationKey) -> Self {
        let entries = &inputs.communicators.entries;
        Self {
            inputs,
            ranks: key.entry.map_or(&[], |entry| &entries[entry].ranks),
        }
    }

    fn at(&self, position: u32) -> u32 {
        let rank = self.ranks.get(position as usize).copied().flatten();
        rank.unwrap_or(position)
    }

    fn tree(&self, edges: &[(u32, u32)], graph: &GraphTally, called: &Called) -> TreeSummary {
        let recognition = graph.recognition();
        let tree = recognition.tree;
        let others = recognition.names.iter();
        let others = others.filter(|name| Some(**name) != called.algorithm);
        let edges_of_tree: Vec<EdgeSummary> = (edges.iter().zip(&graph.edges).enumerate())
            .map(|(number, (edge, sum))| {
                let figures = graph.figures.edges.get(number);
                self.edge(*edge, sum, recognition.direction(number), figures)
            })
            .collect();
        let mut figures = tree_figures(
            &graph.figures,
            edges,
            &RanksAndHosts {
                rank: &|position| self.at(position),
                host: &|position| host_of(self.inputs, self.at(position)),
                wrappers: &|_, _| Vec::new(),
                clocks: self.inputs.clocks,
            },
        );
        if let Some(hotspot) = figures.as_mut().and_then(|of| of.hotspot.as_mut()) {
            name_the_larger(&mut hotspot.stage, &edges_of_tree);
        }
        TreeSummary {
            algorithm: called.algorithm.map(|name| name.to_string()),
            also: others.map(Algorithm::to_string).collect(),
            library_name: called.library_name.clone(),
            is_tree: tree.is_some(),
            root: tree.map(|tree| self.at(tree.root)),
            height: tree.map(|tree| tree.height),
            fan_out: tree.map(|tree| tree.fan_out),
            instances: graph.instances,
            bytes_min: graph.bytes.map(|(least, _)| least),
            bytes_max: graph.bytes.map(|(_, most)| most),
            edges: edges_of_tree.into(),
            figures,
            own: None,
        }
    }

    fn edge(
        &self,
        (from, to): (u32, u32),
        sum: &EdgeTally,
        direction: Option<Direction>,
        figures: Option<&EdgeFigures>,
    ) -> EdgeSummary {
        let (from, to) = (self.at(from), self.at(to));
        let hosts = (host_of(self.inputs, from), host_of(self.inputs, to));
        let clocks = self.inputs.clocks;
        EdgeSummary {
            from,
            to,
            messages: sum.messages,
            bytes: sum.bytes,
            direction: direction.map(|direction| match direction {
                Direction::Down => "down".into(),
                Direction::Up => "up".into(),
            }),
            measured: figures.map(|figures| tree_figures::transfer(figures, hosts, clocks)),
        }
    }
}

/// In a round, two ranks send to each other at once: the time is that of the larger of the two messages.
fn name_the_larger(stage: &mut PathStage, edges: &[EdgeSummary]) {
    let (StageKind::Transfer, Some(_), Some(from)) = (stage.kind, stage.round, stage.from) else {
        return;
    };
    let bytes = |from: u32, to: u32| {
        let edge = edges
            .iter()
            .find(|edge| (edge.from, edge.to) == (from, to))?;
        Some(edge.bytes / edge.messages.max(1))
    };
    if bytes(stage.node, from) > bytes(from, stage.node) {
        (stage.from, stage.node) = (Some(stage.node), from);
    }
}
