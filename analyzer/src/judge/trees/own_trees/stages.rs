//! The stages of a spanning tree of our own, with the errors of their means.

use std::collections::BTreeSet;

use collbench_formats::tree::WrapperKind;
use collbench_stats::estimate::Estimate;
use collbench_stats::moments::Moments;
use collbench_trees::stations::Flow;

use crate::judge::trees::own_trees::Judged;
use crate::measure::passes::subtrees::SubtreeQuantity;
use crate::results::inside::StageKind;
use crate::results::trees::{MeanTime, SubtreeSummary, TreeStage};
use crate::sums::graphs::stages::{Doing, Stage, StageColumns, StagePlace};

/// The stages of a tree, and what they came to.
pub(super) struct JudgedStages<'j> {
    of: &'j Judged<'j>,
    columns: StageColumns,
    times: Vec<(Moments, Option<Estimate>)>,
}

impl<'j> JudgedStages<'j> {
    pub(super) fn of(judged: &'j Judged<'j>) -> Self {
        Self {
            of: judged,
            columns: StageColumns::new(judged.stations, |rank| judged.host_of(rank)),
            times: judged.tally.stages.columns(),
        }
    }

    /// The stages that any instance has.
    pub(super) fn all(&self) -> Vec<TreeStage> {
        let stages = self.columns.stages.iter().enumerate();
        let stages = stages.filter_map(|(column, stage)| {
            let name = |is_down: bool| if is_down { "down" } else { "up" };
            let wrappers = match stage.place {
                StagePlace::Station(at) => self.of.wrappers(at, None),
                StagePlace::Proxy(child) => {
                    let link = self.of.stations.links[child as usize].as_ref()?;
                    link.proxy.into_iter().collect()
                }
            };
            Some(TreeStage {
                kind: kind(stage.doing),
                direction: stage.is_down.map(|is_down| name(is_down).into()),
                wrappers,
                time: self.time(column, self.uncertainty_ns(stage))?,
            })
        });
        stages.collect()
    }

    /// The path of a rank of the tree without waits for those that arrive later.
    pub(super) fn path(&self, rank: u32) -> Option<MeanTime> {
        let stations = self.of.stations;
        let mut uncertainty_ns = match stations.flow {
            Flow::Both => None,
            _ => self.between(&[rank, stations.top]),
        };
        let mut at = rank;
        while let Some(link) = &stations.links[at as usize] {
            uncertainty_ns = uncertainty_ns.max(self.meeting_uncertainty_ns(link.parent));
            at = link.parent;
        }
        self.time(self.columns.of_rank(rank), uncertainty_ns)
    }

    /// The subtrees of hosts.
    pub(super) fn subtrees(&self) -> Vec<SubtreeSummary> {
        let hosts = &self.of.inputs.clocks.hosts;
        let all = self.columns.subtrees.iter().enumerate();
        all.map(|(number, subtree)| {
            let time = |quantity| self.time(self.columns.of_subtree(number, quantity)?, None);
            let mut ranks: Vec<u32> = subtree
                .ranks
                .iter()
                .map(|&rank| self.of.world_rank(rank))
                .collect();
            ranks.dedup();
            SubtreeSummary {
                wrappers: self.of.wrappers(subtree.station, None),
                host: hosts[self.of.host_of(subtree.ranks[0])].name.clone(),
                ranks,
                down: time(SubtreeQuantity::Down),
                up: time(SubtreeQuantity::Up),
                departure_wait: time(SubtreeQuantity::DepartureWait),
                serialization: self.of.tally.stages.departures(number).collect(),
            }
        })
        .collect()
    }

    fn time(&self, column: usize, uncertainty_ns: Option<i64>) -> Option<MeanTime> {
        let (moments, estimate) = self.times.get(column)?;
        let ns = |time: f64| time.round() as i64;
        Some(MeanTime {
            n: moments.n(),
            mean_ns: moments.mean_ns()?,
            sd_ns: moments.standard_deviation_ns(),
            interval_ns: estimate.map(|estimate| {
                let (low, high) = estimate.interval();
                (ns(low), ns(high))
            }),
            uncertainty_ns,
            estimate: *estimate,
        })
    }

    /// Uncertainty of the times of a stage, ns; `None` where one clock is involved.
    fn uncertainty_ns(&self, stage: &Stage) -> Option<i64> {
        match (stage.doing, stage.place) {
            (Doing::TwoWay | Doing::Entry | Doing::Exit, _) => None,
            (_, StagePlace::Station(station)) => self.meeting_uncertainty_ns(station),
            (_, StagePlace::Proxy(child)) => {
                let link = self.of.stations.links[child as usize].as_ref()?;
                let stated = self.between(&[child, link.parent])?;
                // What was received before it was sent proves an error at least as large.
                let hop = link.hops[usize::from(stage.is_down == Some(false))]?;
                let least = self.of.tally.figures.edges.get(hop as usize)?;
                let least = least.transfer.summary(None).map_or(0, |all| all.min);
                Some(stated.max(least.saturating_neg()))
            }
        }
    }

    /// Of those who meet at a station: what comes over a proxy is stamped at the station, all else where
    /// it comes from.
    fn meeting_uncertainty_ns(&self, station: u32) -> Option<i64> {
        let stations = self.of.stations;
        let children = stations.children[station as usize].iter();
        let stamped_at = children.map(|&child| {
            let link = stations.links[child as usize].as_ref();
            match link.and_then(|link| link.proxy) {
                Some(_) => station,
                None => child,
            }
        });
        let mut all: Vec<u32> = stamped_at.collect();
        if station >= stations.n_ranks && !self.is_exchange(station) {
            all.push(station);
        }
        self.between(&all)
    }

    /// Whether partners meet at a station, none of which acts for the others.
    fn is_exchange(&self, station: u32) -> bool {
        let all = self.of.tree.wrappers.all();
        let mut wrappers = self.of.stations.wrappers_of(station).iter();
        wrappers.any(|&wrapper| all[wrapper as usize].kind == WrapperKind::Exchange)
    }

    /// The greatest uncertainty between the clocks of the hosts of some stations, ns.
    fn between(&self, stations: &[u32]) -> Option<i64> {
        let hosts: BTreeSet<usize> = stations.iter().map(|&at| self.of.host_of(at)).collect();
        let clocks = self.of.inputs.clocks;
        let pairs = hosts
            .iter()
            .flat_map(|&a| hosts.range(a + 1..).map(move |&b| (a, b)));
        pairs.filter_map(|(a, b)| clocks.uncertainty_ns(a, b)).max()
    }
}

fn kind(doing: Doing) -> StageKind {
    match doing {
        Doing::Entry => StageKind::Entry,
        Doing::ArrivalWait => StageKind::ArrivalWait,
        Doing::NodeDown => StageKind::NodeDown,
        Doing::LateReceiver => StageKind::LateReceiver,
        Doing::Transfer => StageKind::Transfer,
        Doing::TwoWay => StageKind::TwoWay,
        Doing::Core => StageKind::Core,
        Doing::NodeUp => StageKind::NodeUp,
        Doing::DepartureWait => StageKind::DepartureWait,
        Doing::Exit => StageKind::Exit,
    }
}
