//! From sums to results: the spanning trees of our own of an operation.

mod stages;

use std::collections::BTreeSet;

use collbench_formats::Semantics;
use collbench_formats::tree::{Contributor, Wrapper};
use collbench_text::inert;
use collbench_trees::stations::{Flow, Link, Stations};

use crate::communicators::spanning_trees::OwnTree;
use crate::judge::inputs::Inputs;
use crate::judge::over_time::outlier_limit;
use crate::judge::paths::Paths;
use crate::judge::tree_figures::{RanksAndHosts, transfer, tree_figures};
use crate::judge::trees::own_trees::stages::JudgedStages;
use crate::remark::Remark;
use crate::results::detail::Detail;
use crate::results::inside::{PathStage, TreeFigures};
use crate::results::trees::{
    OwnContributor, OwnTreeSummary, OwnWrapper, ProxyOutlier, ProxySummary, RankPath, SlowestPath,
    TreeSummary,
};
use crate::sums::graphs::own_trees::{OwnTreeTallies, OwnTreeTally};
use crate::sums::instances::operation_key::OperationKey;

/// Characters of the name of a tree, which comes from a file.
const MAX_NAME: usize = 120;

/// The spanning trees of our own that instances of an operation ran on, by communicator and order.
pub(super) fn trees(
    inputs: &Inputs<'_>,
    key: &OperationKey,
    tallies: &OwnTreeTallies,
) -> Vec<TreeSummary> {
    let of = |(number, tally): (&u32, &OwnTreeTally)| {
        let (tree, stations) = stations(inputs, key, *number);
        Judged {
            inputs,
            tree,
            stations: &stations,
            tally,
        }
        .summary()
    };
    tallies.iter().map(of).collect()
}

/// A tree with its stations, as the data of an operation flow on it.
fn stations<'s>(
    inputs: &'s Inputs<'_>,
    key: &OperationKey,
    number: u32,
) -> (&'s OwnTree, Stations) {
    let tree = &inputs.communicators.trees.list[number as usize];
    let root = (key.root).and_then(|root| tree.ranks.iter().position(|&rank| rank == root));
    let root = root.map_or(0, |slot| slot as u32 * tree.threads);
    let flow = match key.operation.semantics() {
        Semantics::OneToMany => Flow::FromRoot(root),
        Semantics::ManyToOne => Flow::ToRoot(root),
        _ => Flow::Both,
    };
    (tree, Stations::new(&tree.wrappers, flow))
}

/// Remarks on passes of event collectors.
pub(super) fn remarks(inputs: &Inputs<'_>) -> Vec<Remark> {
    let mut n_instances = 0;
    let mut operations = BTreeSet::new();
    for (key, tally) in inputs.sums.operations() {
        let n: u64 = tally.own_trees.values().map(|tree| tree.n_without).sum();
        n_instances += n;
        if n > 0 {
            operations.insert(key.operation.name());
        }
    }
    let remark = (n_instances > 0).then(|| Remark::PassesMissing {
        n_instances,
        operations: operations.into_iter().collect(),
    });
    remark.into_iter().collect()
}

/// The hops of a tree, and the sums of the instances on it.
pub(crate) struct OwnTreeHops<'s> {
    /// World ranks of the ends, by number.
    pub(crate) hops: Vec<(u32, u32)>,
    /// Greatest number of joins on a path.
    pub(crate) height: u64,
    pub(crate) tally: &'s OwnTreeTally,
}

/// The hops of the trees that instances of an operation ran on.
pub(crate) fn hops<'s>(
    inputs: &Inputs<'_>,
    key: &OperationKey,
    tallies: &'s OwnTreeTallies,
) -> Vec<OwnTreeHops<'s>> {
    let of = |(number, tally): (&u32, &'s OwnTreeTally)| {
        let (tree, stations) = stations(inputs, key, *number);
        let rank = |station: u32| tree.ranks[tree.slot_of(stations.owner(station))];
        let hops = stations
            .hops
            .iter()
            .map(|&(from, to)| (rank(from), rank(to)));
        OwnTreeHops {
            hops: hops.collect(),
            height: tree.wrappers.height().into(),
            tally,
        }
    };
    tallies.iter().map(of).collect()
}

/// A tree, and the sums of the instances on it.
struct Judged<'s> {
    inputs: &'s Inputs<'s>,
    tree: &'s OwnTree,
    stations: &'s Stations,
    tally: &'s OwnTreeTally,
}

impl Judged<'_> {
    /// World rank of a rank of the tree.
    fn world_rank(&self, rank: u32) -> u32 {
        self.tree.ranks[self.tree.slot_of(rank)]
    }

    fn rank_of(&self, station: u32) -> u32 {
        self.world_rank(self.stations.owner(station))
    }

    /// Host of the process that acts for a station.
    fn host_of(&self, station: u32) -> usize {
        self.tree.hosts[self.tree.slot_of(self.stations.owner(station))]
    }

    /// The wrappers that a stage at a station is about, or a hop that comes from another one.
    fn wrappers(&self, station: u32, from: Option<u32>) -> Vec<u32> {
        let Some(from) = from else {
            return self.stations.wrappers_of(station).to_vec();
        };
        let links = &self.stations.links;
        let ends = [(from, station), (station, from)];
        let link = ends.into_iter().find_map(|(child, parent)| {
            let link = links[child as usize].as_ref()?;
            (link.parent == parent).then_some(link)
        });
        link.and_then(|link| link.proxy).into_iter().collect()
    }

    fn summary(&self) -> TreeSummary {
        let all = self.tree.wrappers.all();
        let stages = JudgedStages::of(self);
        let figures = self.figures();
        let fan_out = all.iter().map(|wrapper| wrapper.contributors.len());
        TreeSummary {
            algorithm: None,
            also: Vec::new(),
            library_name: None,
            is_tree: true,
            root: Some(self.rank_of(self.stations.top)),
            height: Some(self.tree.wrappers.height()),
            fan_out: fan_out.max().map(|most| most as u32),
            instances: self.tally.instances + self.tally.n_without,
            bytes_min: self.tally.bytes.map(|(least, _)| least),
            bytes_max: self.tally.bytes.map(|(_, most)| most),
            edges: Detail::default(),
            own: Some(OwnTreeSummary {
                name: inert::line(&self.tree.name, MAX_NAME),
                threads: self.tree.threads,
                without: self.tally.n_without,
                wrappers: all.iter().map(|wrapper| self.wrapper(wrapper)).collect(),
                summed: self.summed(),
                stages: stages.all(),
                subtrees: stages.subtrees(),
                proxies: self.proxies(),
                slowest: self.slowest(),
                slowest_of: self.tally.slowest.iter().sum(),
                paths: self.paths(&stages),
            }),
            figures,
        }
    }

    fn wrapper(&self, wrapper: &Wrapper) -> OwnWrapper {
        let hosts = &self.inputs.clocks.hosts;
        let contributors = wrapper.contributors.iter().map(|of| match *of {
            Contributor::Rank(rank) => OwnContributor::Rank(self.world_rank(rank)),
            Contributor::Wrapper(idx) => OwnContributor::Wrapper(idx),
        });
        let host = self.tree.hosts[self.tree.slot_of(wrapper.owner)];
        OwnWrapper {
            kind: wrapper.kind.name().into(),
            owner: self.world_rank(wrapper.owner),
            host: hosts[host].name.clone(),
            contributors: contributors.collect(),
            parent: wrapper.parent,
        }
    }

    /// Wrappers whose times are one sum.
    fn summed(&self) -> Vec<Vec<u32>> {
        let of_stations = self.stations.wrappers.iter();
        of_stations.filter(|of| of.len() > 1).cloned().collect()
    }

    fn ranks_and_hosts<R>(&self, with: impl FnOnce(&RanksAndHosts<'_>) -> R) -> R {
        with(&RanksAndHosts {
            rank: &|station| self.rank_of(station),
            host: &|station| Some(self.host_of(station)),
            wrappers: &|station, from| self.wrappers(station, from),
            clocks: self.inputs.clocks,
        })
    }

    fn figures(&self) -> Option<TreeFigures> {
        self.ranks_and_hosts(|of| tree_figures(&self.tally.figures, &self.stations.hops, of))
    }

    fn proxies(&self) -> Vec<ProxySummary> {
        let links = (0u32..).zip(&self.stations.links);
        let proxies = links.filter_map(|(child, link)| {
            let link = link.as_ref()?;
            let hosts = [child, link.parent].map(|station| Some(self.host_of(station)));
            let edge = |hop: Option<u32>| self.tally.figures.edges.get(hop? as usize);
            let times = |hop| {
                let edge = edge(hop).filter(|edge| edge.last.n > 0)?;
                Some(transfer(edge, (hosts[0], hosts[1]), self.inputs.clocks))
            };
            let two_way = edge(link.hops[0]).and_then(|edge| edge.two_way.summary(None));
            Some(ProxySummary {
                wrapper: link.proxy?,
                from: self.rank_of(child),
                to: self.rank_of(link.parent),
                two_way_ns: two_way,
                down: times(link.hops[0]),
                up: times(link.hops[1]),
                from_host: self.host_name(child),
                to_host: self.host_name(link.parent),
                outliers: self.outliers(link),
            })
        });
        let mut proxies: Vec<ProxySummary> = proxies.collect();
        proxies.sort_by_key(|proxy| proxy.wrapper);
        proxies
    }

    fn host_name(&self, station: u32) -> String {
        let hosts = &self.inputs.clocks.hosts;
        hosts[self.host_of(station)].name.clone()
    }

    /// The crossings of a proxy that took longest, if they are outliers.
    fn outliers(&self, link: &Link) -> Vec<ProxyOutlier> {
        let figures = &self.tally.figures;
        let of_hop = |hop: Option<u32>, direction: Option<&'static str>| {
            let edge = hop.and_then(|hop| figures.edges.get(hop as usize));
            let is_both = direction.is_none();
            let times = edge.map(|edge| {
                if is_both {
                    &edge.two_way
                } else {
                    &edge.transfer
                }
            });
            let limit = times.and_then(outlier_limit).zip(hop);
            limit.into_iter().flat_map(move |(limit, hop)| {
                let long = self.tally.crossings.beyond(hop, is_both, limit);
                long.map(move |crossing| ProxyOutlier {
                    direction: direction.map(Into::into),
                    ns: crossing.ns,
                    sequence: crossing.sequence,
                    at_ns: crossing.at_ns,
                })
            })
        };
        let ways = of_hop(link.hops[0], Some("down")).chain(of_hop(link.hops[1], Some("up")));
        let mut outliers: Vec<ProxyOutlier> = ways.collect();
        let has_ways = link.hops.iter().flatten().any(|&hop| {
            let edge = figures.edges.get(hop as usize);
            edge.is_some_and(|edge| edge.transfer.n() > 0)
        });
        if !has_ways {
            outliers.extend(of_hop(link.hops[0], None));
        }
        outliers.sort_by_key(|it| (std::cmp::Reverse(it.ns), it.sequence));
        outliers
    }

    fn slowest(&self) -> Vec<SlowestPath> {
        let threads = self.tree.threads;
        let all = (0u32..).zip(&self.tally.slowest);
        let all = all.filter(|(_, instances)| **instances > 0);
        let mut slowest: Vec<SlowestPath> = all
            .map(|(rank, &instances)| SlowestPath {
                rank: self.world_rank(rank),
                thread: rank % threads,
                instances,
            })
            .collect();
        slowest.sort_by_key(|path| (std::cmp::Reverse(path.instances), path.rank, path.thread));
        slowest
    }

    /// The path of each rank of the tree.
    fn paths(&self, means: &JudgedStages<'_>) -> Detail<Vec<RankPath>> {
        let figures = &self.tally.figures;
        let Some(roles) = figures.usual_roles() else {
            return Detail::default();
        };
        let through = Paths::new(figures, roles, &self.stations.hops);
        let paths = through.all().into_iter().map(|path| {
            let whole = &roles.nodes[path.slot as usize].path;
            let stages: Vec<PathStage> = path.stages.into_iter().map(|it| self.named(it)).collect();
            let attributed = stages.iter().map(|stage| stage.mean_ns);
            let attributed = attributed.fold(0, i64::saturating_add);
            RankPath {
                rank: self.world_rank(path.slot),
                thread: path.slot % self.tree.threads,
                path_ns: whole.summary(None),
                without_waits: means.path(path.slot),
                unattributed_ns: whole.mean().map(|whole| whole.saturating_sub(attributed)),
                stages,
            }
        });
        paths.collect::<Vec<_>>().into()
    }

    /// A stage with ranks in place of stations.
    fn named(&self, stage: PathStage) -> PathStage {
        PathStage {
            wrappers: self.wrappers(stage.node, stage.from),
            node: self.rank_of(stage.node),
            from: stage.from.map(|from| self.rank_of(from)),
            ..stage
        }
    }
}
