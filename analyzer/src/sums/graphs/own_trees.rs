//! Sums over the instances of one operation on spanning trees of our own.

use std::collections::BTreeMap;

use collbench_stats::batches::Sum;
use collbench_trees::stations::{Flow, Stations};
use serde::{Deserialize, Serialize};

use crate::communicators::spanning_trees::OwnTrees;
use crate::instances::complete::CompleteInstance;
use crate::measure::critical_path::CriticalPath;
use crate::measure::inside::Quantity;
use crate::measure::passes::{InstanceOnTree, PassTimes, flow_of};
use crate::sums::graphs::crossings::{Crossing, LongCrossings};
use crate::sums::graphs::figures::GraphFigures;
use crate::sums::graphs::stages::{StageColumns, StageSamples, StageTally, SubtreeSample};
use crate::time::resolution::Resolution;

/// Sums of the instances on one tree.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct OwnTreeTally {
    /// Instances in which all event collectors that are on have recorded a pass.
    pub instances: u64,
    /// Other instances: passes are missing, or contradict one another.
    pub n_without: u64,
    /// Smallest and largest payload of any process, bytes.
    pub bytes: Option<(u64, u64)>,
    /// What is measured at its stations and hops.
    pub figures: Box<GraphFigures>,
    /// What its stages cost all who pass them.
    pub(crate) stages: StageTally,
    /// The longest crossings of its proxies.
    pub(crate) crossings: LongCrossings,
    /// By rank of the tree: in how many instances its path was the slowest.
    pub slowest: Vec<u64>,
}

/// Sums by tree: an index in [`OwnTrees::list`].
pub(crate) type OwnTreeTallies = BTreeMap<u32, OwnTreeTally>;

/// A tree: an index in [`OwnTrees::list`]; and the root of operations that have one, with whether data flow
/// to it.
type Flowing = (u32, Option<(u32, bool)>);

/// Trees with their event collectors, and buffers that are reused.
#[derive(Debug, Default)]
pub(crate) struct OwnTreeScratch {
    known: BTreeMap<Flowing, (Stations, StageColumns)>,
    times: PassTimes,
    samples: Vec<(Quantity, i64)>,
    of_subtrees: Vec<SubtreeSample>,
    row: Vec<Sum>,
    path: CriticalPath,
}

/// Trees of which the stations are kept; beyond they are found again.
const MAX_KNOWN: usize = 1024;

/// Adds an instance in which there are passes of event collectors, whose last enter is `at_ns` after the
/// start.
pub(crate) fn add(
    tallies: &mut OwnTreeTallies,
    (instance, at_ns): (&CompleteInstance<'_>, i64),
    (trees, resolution): (&OwnTrees, &Resolution),
    scratch: &mut OwnTreeScratch,
) {
    let Some(first) = instance.passes.first() else {
        return;
    };
    let number = first.tree;
    let tree = &trees.list[number as usize];
    let tally = tallies.entry(number).or_default();
    let slots = instance.communicator.members.len();
    let Some(flow) = flow_of(tree, instance).filter(|_| tree.ranks.len() == slots) else {
        tally.n_without += 1;
        return;
    };
    let root = match flow {
        Flow::Both => None,
        Flow::ToRoot(rank) => Some((rank, true)),
        Flow::FromRoot(rank) => Some((rank, false)),
    };
    if scratch.known.len() >= MAX_KNOWN {
        scratch.known.clear();
    }
    let new = || {
        let stations = Stations::new(&tree.wrappers, flow);
        let host_of = |rank: u32| tree.hosts[tree.slot_of(rank)];
        let columns = StageColumns::new(&stations, host_of);
        (stations, columns)
    };
    let (stations, columns) = &*scratch.known.entry((number, root)).or_insert_with(new);
    let on_tree = InstanceOnTree {
        instance,
        tree: (number, tree),
        stations,
        resolution,
    };
    if !on_tree.find(&mut scratch.times) {
        tally.n_without += 1;
        return;
    }
    tally.instances += 1;
    tally.see_bytes(instance.payloads.sums(instance.n_calls()).range);
    scratch.samples.clear();
    let slowest = on_tree.samples(&mut scratch.times, &mut scratch.samples);
    tally.figures.add_on_tree(stations, &scratch.samples);
    for &(quantity, ns) in &scratch.samples {
        if let Some((hop, is_both)) = columns.crossing(quantity) {
            let crossing = Crossing {
                ns,
                at_ns,
                sequence: instance.position,
            };
            tally.crossings.add(hop, is_both, crossing);
        }
    }
    scratch.of_subtrees.clear();
    for (number, subtree) in columns.subtrees.iter().enumerate() {
        on_tree.of_subtree(&scratch.times, subtree, |quantity, sample| {
            scratch.of_subtrees.push((number, quantity, sample));
        });
    }
    let found = StageSamples {
        samples: &scratch.samples,
        of_subtrees: &scratch.of_subtrees,
        times: &scratch.times,
        row: &mut scratch.row,
    };
    tally
        .stages
        .add(instance.position, (columns, stations), found);
    let found = on_tree.follow(&scratch.times, &mut scratch.path);
    let path = found.map(|()| &scratch.path);
    tally.figures.add_path(instance, path, stations.hops.len());
    if let Some(rank) = slowest {
        tally.slowest.resize(stations.n_ranks as usize, 0);
        tally.slowest[rank as usize] += 1;
    }
}

impl OwnTreeTally {
    fn see_bytes(&mut self, range: Option<(u64, u64)>) {
        if let Some((least, most)) = range {
            let (own_least, own_most) = self.bytes.unwrap_or((least, most));
            self.bytes = Some((own_least.min(least), own_most.max(most)));
        }
    }

    fn merge(&mut self, other: &Self) {
        self.instances += other.instances;
        self.n_without += other.n_without;
        self.see_bytes(other.bytes);
        self.figures.merge(&other.figures);
        self.stages.merge(&other.stages);
        self.crossings.merge(&other.crossings);
        let n = self.slowest.len().max(other.slowest.len());
        self.slowest.resize(n, 0);
        for (own, other) in self.slowest.iter_mut().zip(&other.slowest) {
            *own += other;
        }
    }
}

/// Adds another part.
pub(crate) fn merge(own: &mut OwnTreeTallies, others: &OwnTreeTallies) {
    for (tree, other) in others {
        own.entry(*tree).or_default().merge(other);
    }
}
