//! From figures of nodes and edges to the paths of the data through them.
//!
//! A path leads from a process's enter to the root and back to its leave. Where nothing goes to the
//! root, it begins at the root's enter; where nothing comes from the root, it ends at the root's
//! leave. Its stages are contiguous, so their means add up to the mean of the whole.

use std::collections::BTreeMap;

use collbench_stats::distribution::Distribution;

use crate::results::inside::{Hotspot, PathClass, PathStage, StageKind};
use crate::sums::graphs::by_roles::RoleFigures;
use crate::sums::graphs::figures::{EdgeFigures, GraphFigures};
use crate::sums::graphs::node_figures::{ContributorFigures, NodeFigures};

/// The path of one process, in slots, not ranks.
#[derive(Debug, Clone)]
pub(crate) struct ProcessPath {
    pub(crate) slot: u32,
    /// Instances.
    n: u64,
    pub(crate) stages: Vec<PathStage>,
}

/// The graph of some figures, from which paths are found.
pub(crate) struct Paths<'a> {
    figures: &'a GraphFigures,
    roles: &'a RoleFigures,
    /// Number of each edge.
    edge_numbers: BTreeMap<(u32, u32), usize>,
    /// By slot: parent towards the root, and from it.
    parents: [Vec<Option<u32>>; 2],
}

/// Paths of equal stages whose times differ by no more than this share are one class.
const ALIKE: f64 = 0.2;
/// Paths that take at least this share of the slowest are slow.
const SLOW: f64 = 0.9;

impl<'a> Paths<'a> {
    /// `edges`: those of the graph, ascending; `roles`: the figures of its nodes.
    pub(crate) fn new(
        figures: &'a GraphFigures,
        roles: &'a RoleFigures,
        edges: &[(u32, u32)],
    ) -> Self {
        let n = roles.nodes.len();
        let mut parents = [vec![None; n], vec![None; n]];
        for (slot, node) in (0u32..).zip(&roles.nodes) {
            for (contributors, parents) in [&node.arrivals, &node.departures]
                .into_iter()
                .zip(&mut parents)
            {
                for child in contributors
                    .iter()
                    .filter(|contributor| contributor.slot != slot)
                {
                    parents[child.slot as usize] = Some(slot);
                }
            }
        }
        Self {
            figures,
            roles,
            edge_numbers: edges.iter().copied().zip(0..).collect(),
            parents,
        }
    }

    pub(crate) fn edge(&self, from: u32, to: u32) -> Option<&'a EdgeFigures> {
        let number = self.edge_numbers.get(&(from, to))?;
        self.figures.edges.get(*number)
    }

    fn node(&self, slot: u32) -> &'a NodeFigures {
        &self.roles.nodes[slot as usize]
    }

    /// The paths of all processes.
    pub(crate) fn all(&self) -> Vec<ProcessPath> {
        let slots = 0..self.roles.n_processes as u32;
        let path = |slot| {
            let mut path = ProcessPath {
                slot,
                n: self.node(slot).path.n(),
                stages: match self.roles.has {
                    [false, false] => self.through_rounds(slot),
                    has => self.through_tree(slot, has),
                },
            };
            path.spread();
            path
        };
        slots.map(path).collect()
    }

    fn through_tree(&self, slot: u32, [goes_down, goes_up]: [bool; 2]) -> Vec<PathStage> {
        let top = self.roles.top;
        let mut stages = Vec::new();
        if goes_down {
            let mut at = slot;
            let mut came_from = slot;
            while let Some(parent) = self.parents[0][at as usize] {
                let node = self.node(at);
                let is_leaf = node.arrivals.len() < 2;
                if at == slot && node.own.n() > 0 {
                    stages.extend(stage(StageKind::ArrivalWait, at, &node.own));
                } else if !is_leaf {
                    wait(
                        &mut stages,
                        StageKind::ArrivalWait,
                        at,
                        came_from,
                        &node.arrivals,
                    );
                }
                let kind = if is_leaf {
                    StageKind::Entry
                } else {
                    StageKind::NodeDown
                };
                stages.extend(stage(kind, at, &node.down));
                self.hop(&mut stages, at, parent, Some(goes_up));
                (came_from, at) = (at, parent);
            }
            let node = self.node(top);
            if slot == top && node.own.n() > 0 {
                stages.extend(stage(StageKind::ArrivalWait, top, &node.own));
            } else {
                let kind = StageKind::ArrivalWait;
                wait(&mut stages, kind, top, came_from, &node.arrivals);
            }
        }
        stages
            .iter_mut()
            .for_each(|stage| stage.direction = Some("down".into()));
        stages.extend(stage(StageKind::Core, top, &self.node(top).core));
        let n_before = stages.len();
        if goes_up {
            // From the top to the process.
            let mut line = vec![slot];
            while let Some(parent) = self.parents[1][line[line.len() - 1] as usize] {
                line.push(parent);
            }
            line.reverse();
            for (nth, &at) in line.iter().enumerate() {
                let node = self.node(at);
                let goes_to = line.get(nth + 1).copied();
                let is_leaf = node.departures.len() < 2;
                if nth > 0 {
                    let kind = if is_leaf {
                        StageKind::Exit
                    } else {
                        StageKind::NodeUp
                    };
                    stages.extend(stage(kind, at, &node.up));
                }
                if !is_leaf {
                    let kind = StageKind::DepartureWait;
                    let departs = goes_to.unwrap_or(at);
                    wait(&mut stages, kind, at, departs, &node.departures);
                    if let (None, Some(away)) = (goes_to, node.away.mean()) {
                        split_off(&mut stages, at, away, &node.away);
                    }
                }
                if let Some(to) = goes_to {
                    self.hop(&mut stages, at, to, None);
                }
            }
        }
        for stage in &mut stages[n_before..] {
            stage.direction = Some("up".into());
        }
        stages
    }

    /// Adds an edge: its parts where both ends have a common time; otherwise the round trip, once,
    /// where messages go in both directions. `comes_back`: towards the root, whether anything comes
    /// back.
    fn hop(&self, stages: &mut Vec<PathStage>, from: u32, to: u32, comes_back: Option<bool>) {
        let Some(edge) = self.edge(from, to) else {
            return;
        };
        let of_edge = |kind, mean_ns, (median_ns, sd_ns), n| PathStage {
            kind,
            node: to,
            from: Some(from),
            direction: None,
            round: None,
            mean_ns,
            median_ns,
            sd_ns,
            n,
            wrappers: Vec::new(),
        };
        let last = &edge.last;
        if last.n > 0 {
            let has_progress = last.n_progress == last.n;
            let late_progress_ns = if has_progress {
                last.late_progress_ns
            } else {
                0
            };
            // The parts of a distribution have no separate medians.
            let late_receiver = match late_progress_ns {
                0 => Some(&edge.late_receiver),
                _ => None,
            };
            let mut parts = vec![(
                StageKind::LateReceiver,
                last.late_receiver_ns - late_progress_ns,
                late_receiver,
            )];
            if has_progress {
                let each = Some(&edge.late_progress);
                parts.push((StageKind::LateProgress, late_progress_ns, each));
            }
            parts.push((StageKind::Transfer, last.transfer_ns, Some(&edge.transfer)));
            for (kind, total, each) in parts {
                let mean_ns = mean(total, last.n);
                // With several messages, the last differs from the others.
                let each = each.filter(|each| each.n() == last.n);
                let median_ns = each.and_then(|each| each.quantile(50));
                let around = (median_ns.unwrap_or(mean_ns), each.and_then(deviation));
                stages.push(of_edge(kind, mean_ns, around, last.n));
            }
        } else if let (Some(true), Some(mean_ns)) = (comes_back, edge.two_way.mean()) {
            let median_ns = edge.two_way.quantile(50).unwrap_or(mean_ns);
            let n = edge.two_way.n();
            let around = (median_ns, deviation(&edge.two_way));
            stages.push(of_edge(StageKind::TwoWay, mean_ns, around, n));
        }
    }

    fn through_rounds(&self, slot: u32) -> Vec<PathStage> {
        let node = self.node(slot);
        let mut stages = Vec::new();
        for (number, round) in node.rounds.iter().enumerate() {
            let mut add = |kind, times: &Distribution, from| {
                let found = stage(kind, slot, times);
                stages.extend(found.map(|stage| PathStage {
                    from,
                    round: Some(number),
                    ..stage
                }));
            };
            add(StageKind::Local, &round.local, None);
            add(StageKind::LateSender, &round.late_sender, round.partner);
            add(StageKind::Transfer, &round.transfer, round.partner);
        }
        stages.extend(stage(StageKind::Exit, slot, &node.exit));
        stages
    }

    /// The ways in classes, the slowest first; `kind_of_edge` tells edges apart that are not alike.
    pub(crate) fn classes(
        &self,
        paths: &[ProcessPath],
        kind_of_edge: &dyn Fn(u32, u32) -> bool,
    ) -> Vec<PathClass> {
        type Signature = Vec<(StageKind, bool)>;
        let mut alike: BTreeMap<Signature, Vec<(i64, &ProcessPath)>> = BTreeMap::new();
        for path in paths {
            let signature = path.stages.iter().map(|stage| {
                let kind = stage
                    .from
                    .is_some_and(|from| kind_of_edge(from, stage.node));
                (stage.kind, kind)
            });
            let own = path.own_ns();
            alike
                .entry(signature.collect())
                .or_default()
                .push((own, path));
        }
        let mut classes: Vec<(i64, PathClass)> = Vec::new();
        for mut group in alike.into_values() {
            group.sort_by_key(|&(own, path)| (own, path.slot));
            let mut rest = &group[..];
            while let Some(&(least, _)) = rest.first() {
                let limit = least.max(0) as f64 * (1.0 + ALIKE);
                let n = rest.partition_point(|&(own, _)| own as f64 <= limit).max(1);
                let (class, behind) = rest.split_at(n);
                rest = behind;
                classes.push(self.class(class));
            }
        }
        classes.sort_by_key(|(own, class)| (std::cmp::Reverse(*own), class.ranks[0]));
        classes.into_iter().map(|(_, class)| class).collect()
    }

    fn class(&self, paths: &[(i64, &ProcessPath)]) -> (i64, PathClass) {
        let sum: i128 = paths.iter().map(|&(own, _)| i128::from(own)).sum();
        let middle = mean(sum, paths.len() as u64);
        let nearest = paths
            .iter()
            .min_by_key(|(own, path)| (own.abs_diff(middle), path.slot))
            .map_or(paths[0].1, |&(_, path)| path);
        let mut ranks: Vec<u32> = paths.iter().map(|(_, path)| path.slot).collect();
        ranks.sort_unstable();
        let whole = &self.node(nearest.slot).path;
        let stages = nearest.stages.iter().map(|stage| stage.mean_ns);
        let attributed = stages.fold(0, i64::saturating_add);
        let class = PathClass {
            ranks,
            representative: nearest.slot,
            way_ns: whole.summary(None),
            unattributed_ns: whole.mean().map(|whole| whole.saturating_sub(attributed)),
            stages: nearest.stages.clone(),
        };
        (middle, class)
    }
}

impl ProcessPath {
    /// Changes the mean of each stage to that over all instances, including those without it:
    /// otherwise the means of the stages would not add up.
    fn spread(&mut self) {
        let n = self.n;
        for stage in self.stages.iter_mut().filter(|stage| stage.n < n) {
            stage.mean_ns = mean(i128::from(stage.mean_ns) * i128::from(stage.n), n);
        }
    }

    /// The median of a stage; reduced in proportion if not all instances have it.
    fn median_ns(&self, stage: &PathStage) -> i64 {
        if stage.n < self.n {
            mean(i128::from(stage.median_ns) * i128::from(stage.n), self.n)
        } else {
            stage.median_ns
        }
    }

    /// Mean time of the path without waits for data of other paths, ns.
    fn own_ns(&self) -> i64 {
        let own = self.stages.iter().filter(|stage| is_own(stage));
        own.map(|stage| stage.mean_ns).fold(0, i64::saturating_add)
    }
}

impl ProcessPath {
    /// Sum of the medians of its stages, without waits for data of other paths, ns.
    fn own_median_ns(&self) -> i64 {
        let own = self.stages.iter().filter(|stage| is_own(stage));
        own.map(|stage| self.median_ns(stage))
            .fold(0, i64::saturating_add)
    }
}

fn is_own(stage: &PathStage) -> bool {
    match stage.kind {
        StageKind::ArrivalWait | StageKind::LateSender => false,
        // Nobody waits for what a process does before it checks for completion.
        StageKind::LateProgress if stage.from.is_none() => false,
        StageKind::LateReceiver | StageKind::LateProgress => {
            stage.direction.as_deref() != Some("down")
        }
        _ => true,
    }
}

/// The stage with the largest mean share of the slowest paths. None where a stage is longer than the
/// paths are, because others are negative: clock errors are then larger than what is measured.
pub(crate) fn hotspot(paths: &[ProcessPath]) -> Option<Hotspot> {
    let slowest = paths.iter().map(ProcessPath::own_median_ns).max()?;
    if slowest <= 0 {
        return None;
    }
    let slow = paths
        .iter()
        .filter(|path| path.own_median_ns() as f64 >= slowest as f64 * SLOW);
    // A node that serves its children is not a child that waits behind its siblings.
    type Place = (StageKind, bool, u32, Option<u32>, Option<usize>);
    let mut shares: BTreeMap<Place, (f64, &PathStage)> = BTreeMap::new();
    for path in slow.clone() {
        let own = path.own_median_ns() as f64;
        for stage in path.stages.iter().filter(|stage| is_own(stage)) {
            let serves = stage.kind == StageKind::DepartureWait && stage.node == path.slot;
            let place = (stage.kind, serves, stage.node, stage.from, stage.round);
            let entry = shares.entry(place).or_insert((0.0, stage));
            entry.0 += path.median_ns(stage) as f64 / own;
        }
    }
    let n = slow.clone().count() as f64;
    let mut largest: Option<(f64, bool, &PathStage)> = None;
    for (&(_, serves, ..), &(share, stage)) in &shares {
        if largest.is_none_or(|(most, ..)| share > most) {
            largest = Some((share, serves, stage));
        }
    }
    let largest = largest.map(|(share, serves, stage)| (share / n, serves, stage));
    let resolved = largest.filter(|&(share, ..)| share <= 1.0);
    resolved.map(|(share, serves, stage)| Hotspot {
        stage: stage.clone(),
        share,
        serves,
        ranks: slow.map(|path| path.slot).collect(),
    })
}

fn stage(kind: StageKind, node: u32, times: &Distribution) -> Option<PathStage> {
    Some(PathStage {
        kind,
        node,
        from: None,
        direction: None,
        round: None,
        mean_ns: times.mean()?,
        median_ns: times.quantile(50)?,
        sd_ns: deviation(times),
        n: times.n(),
        wrappers: Vec::new(),
    })
}

/// Standard deviation, ns; `None` for less than two samples.
fn deviation(times: &Distribution) -> Option<i64> {
    times.summary(None)?.sd
}

/// Adds the wait at a node of the contributor in slot `of`.
fn wait(
    stages: &mut Vec<PathStage>,
    kind: StageKind,
    node: u32,
    of: u32,
    contributors: &[ContributorFigures],
) {
    let contributor = contributors
        .iter()
        .find(|contributor| contributor.slot == of);
    stages.extend(contributor.and_then(|contributor| stage(kind, node, &contributor.wait)));
}

/// Splits the departure wait of a node's own process, the last stage, into time outside of calls
/// and the rest.
fn split_off(stages: &mut Vec<PathStage>, node: u32, away_ns: i64, away: &Distribution) {
    let Some(departure) = stages.last_mut().filter(|last| last.n == away.n()) else {
        return;
    };
    departure.mean_ns = departure.mean_ns.saturating_sub(away_ns);
    departure.median_ns = departure.mean_ns;
    departure.sd_ns = None;
    let own = stage(StageKind::LateProgress, node, away);
    let at = stages.len() - 1;
    own.into_iter().for_each(|own| stages.insert(at, own));
}

fn mean(total: i128, n: u64) -> i64 {
    let n = i128::from(n.max(1));
    let half = if total < 0 { -n / 2 } else { n / 2 };
    ((total + half) / n) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path of one transfer and one forwarding, with their medians.
    fn path(slot: u32, transfer_ns: i64, forwarding_ns: i64) -> ProcessPath {
        let stage = |kind, from, median_ns| PathStage {
            kind,
            node: 1,
            from,
            direction: Some("up".into()),
            round: None,
            mean_ns: median_ns,
            median_ns,
            sd_ns: None,
            n: 10,
            wrappers: Vec::new(),
        };
        let stages = vec![
            stage(StageKind::Transfer, Some(0), transfer_ns),
            stage(StageKind::NodeUp, None, forwarding_ns),
        ];
        ProcessPath {
            slot,
            n: 10,
            stages,
        }
    }

    #[test]
    fn the_hotspot_is_the_stage_with_the_largest_share_of_the_slowest_paths() {
        let found = hotspot(&[path(1, 300, 100), path(2, 30, 10)]).unwrap();
        assert_eq!((found.stage.kind, found.share), (StageKind::Transfer, 0.75));
        assert_eq!(found.ranks, [1]);
        let found = hotspot(&[path(1, 400, 0)]).unwrap();
        assert_eq!(found.share, 1.0);
    }

    #[test]
    fn a_node_that_serves_its_children_does_not_wait_behind_them() {
        // 520 us at node 1 are its own; its child in slot 2 waits 11 us.
        let departs = |slot, wait_ns| {
            let mut path = path(slot, 0, wait_ns);
            path.stages[1].kind = StageKind::DepartureWait;
            path
        };
        let found = hotspot(&[departs(1, 520_000), departs(2, 11_000)]).unwrap();
        assert_eq!((found.serves, found.ranks), (true, vec![1]));
        let found = hotspot(&[departs(1, 9_000), departs(2, 11_000)]).unwrap();
        assert_eq!((found.serves, found.ranks), (false, vec![2]));
        // Both are slow, and of equal shares the sum is not one stage.
        let found = hotspot(&[departs(1, 11_000), departs(2, 11_000)]).unwrap();
        assert_eq!(found.share, 0.5);
    }

    #[test]
    fn there_is_no_hotspot_where_clock_errors_make_a_stage_longer_than_its_path() {
        assert_eq!(hotspot(&[path(1, 500, -100)]), None);
    }
}
