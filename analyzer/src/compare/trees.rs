//! Compares the spanning trees of our own of two runs, stage by stage.

use std::collections::BTreeMap;

use collbench_stats::difference::Verdict;
use serde::{Deserialize, Serialize};

use crate::compare::difference::{Difference, difference, resolution_ns};
use crate::compare::reconfiguration::{WrapperPair, pairs};
use crate::results::analysis::Analysis;
use crate::results::code::Code;
use crate::results::inside::StageKind;
use crate::results::operation::OperationSummary;
use crate::results::trees::{
    MeanTime, OwnTreeSummary, OwnWrapper, RankPath, TreeStage, TreeSummary,
};

/// Paths of ranks that are compared: those that changed most.
const MAX_PATHS: usize = 256;

/// How an operation over spanning trees of our own differs from the baseline, stage by stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TreeDifferences {
    /// Name of the tree in the baseline.
    pub baseline: String,
    /// Name of the tree in the other trace.
    pub other: String,
    /// The wrappers of both trees: those of the baseline, then those that only the other has.
    pub wrappers: Vec<ComparedWrapper>,
    /// The stages of both trees, in the order of a path.
    pub stages: Vec<StageDifferences>,
    /// The paths of ranks without waits for those that arrive later, by their change; at most 256.
    pub paths: Vec<PathDifferences>,
}

/// Whether a wrapper or a stage is configured as in the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Configuration {
    /// As in the baseline.
    Same,
    /// With another owner, other contributors, another destination, or other neighbours.
    Reconfigured,
    /// Only in the other tree.
    Added,
    /// Only in the tree of the baseline.
    Removed,
    /// One of a newer version: only in a document that was read.
    #[serde(other)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Newer,
}

/// A wrapper of one tree, and its counterpart in the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedWrapper {
    /// `gred`, `proxy`, `core` or `exchange`.
    pub kind: Code,
    /// Whether it was reconfigured.
    pub configuration: Configuration,
    /// What is configured differently: `owner`, `contributors`, `order` of contributors, `destination`
    /// of a proxy, `host`: other ranks share the host of its owner.
    pub changed: Vec<Code>,
    /// In the tree of the baseline.
    pub baseline: Option<WrapperAt>,
    /// In the other tree.
    pub other: Option<WrapperAt>,
}

/// Where a wrapper is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WrapperAt {
    /// Its index among the wrappers of its tree.
    pub wrapper: u32,
    /// World rank that acts for it.
    pub owner: u32,
    /// Host of that.
    pub host: String,
    /// Of a proxy the world rank that it leads to.
    pub to: Option<u32>,
    /// Host of that.
    pub to_host: Option<String>,
}

/// A stage in one of two trees, or in both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StageDifferences {
    /// What it is.
    pub kind: StageKind,
    /// `down`: towards the root, `up`: from it; `None`: at the root, or both together.
    pub direction: Option<Code>,
    /// Its wrappers: indexes in [`TreeDifferences::wrappers`].
    pub wrappers: Vec<u32>,
    /// Whether any of them was reconfigured.
    pub configuration: Configuration,
    /// Its time in the baseline.
    pub baseline: Option<MeanTime>,
    /// Its time in the other trace.
    pub other: Option<MeanTime>,
    /// Of the means; `None` where one of the trees has no such stage.
    pub difference: Option<Difference>,
}

/// The path of a rank in two trees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathDifferences {
    /// World rank.
    pub rank: u32,
    /// Which of its threads, from 0.
    pub thread: u32,
    /// Its time in the baseline.
    pub baseline: MeanTime,
    /// Its time in the other trace.
    pub other: MeanTime,
    /// Of the means.
    pub difference: Difference,
}

impl TreeDifferences {
    /// The stages that have changed with this verdict though their configuration is the same, by their
    /// change. Waits for others are left out: their cause is elsewhere.
    #[must_use]
    pub fn not_reconfigured(&self, verdict: Verdict) -> Vec<&StageDifferences> {
        let stages = self.stages.iter();
        let mut found: Vec<&StageDifferences> = stages
            .filter(|stage| {
                stage.configuration == Configuration::Same
                    && stage.verdict() == Some(verdict)
                    && stage.is_cost()
                    && !self.is_known_by_direction(stage)
            })
            .collect();
        found.sort_by_key(|stage| std::cmp::Reverse(stage.change_ns()));
        found
    }

    /// Whether a stage is both ways over a proxy, and there is a verdict on each of them.
    fn is_known_by_direction(&self, stage: &StageDifferences) -> bool {
        let is_way = |other: &&StageDifferences| {
            other.kind == StageKind::Transfer && other.wrappers == stage.wrappers
        };
        let is_known = |other: &StageDifferences| {
            let known = [
                Verdict::Slower,
                Verdict::Faster,
                Verdict::NotDistinguishable,
            ];
            other
                .verdict()
                .is_some_and(|verdict| known.contains(&verdict))
        };
        let mut ways = self.stages.iter().filter(is_way).peekable();
        stage.kind == StageKind::TwoWay && ways.peek().is_some() && ways.all(is_known)
    }

    /// All differences.
    pub(crate) fn differences_mut(&mut self) -> impl Iterator<Item = &mut Difference> {
        let stages = self.stages.iter_mut();
        let stages = stages.filter_map(|stage| stage.difference.as_mut());
        stages.chain(self.paths.iter_mut().map(|path| &mut path.difference))
    }
}

impl StageDifferences {
    /// The verdict on its mean; `None` where one of the trees has no such stage.
    #[must_use]
    pub fn verdict(&self) -> Option<Verdict> {
        self.difference
            .as_ref()
            .map(|difference| difference.verdict)
    }

    /// By how much its mean changed, ns, >= 0.
    #[must_use]
    pub fn change_ns(&self) -> i64 {
        let difference = self.difference.as_ref();
        difference.map_or(0, |difference| difference.difference_ns.saturating_abs())
    }

    /// Whether it is time that its wrappers cost, and no wait for others.
    #[must_use]
    pub fn is_cost(&self) -> bool {
        !matches!(
            self.kind,
            StageKind::ArrivalWait | StageKind::LateReceiver | StageKind::LateProgress
        )
    }
}

/// Compares the trees of two operations that correspond: those of the same name, then the others in
/// their order.
pub(crate) fn compare(
    baseline: (&Analysis, &OperationSummary),
    other: (&Analysis, &OperationSummary),
) -> Vec<TreeDifferences> {
    let ones = own_trees(baseline.1);
    let mut twos = own_trees(other.1);
    let mut partners: Vec<Option<Own<'_>>> = ones
        .iter()
        .map(|(_, one)| {
            let at = twos.iter().position(|(_, two)| two.name == one.name)?;
            Some(twos.remove(at))
        })
        .collect();
    for partner in partners.iter_mut().filter(|partner| partner.is_none()) {
        *partner = (!twos.is_empty()).then(|| twos.remove(0));
    }
    let both = ones.into_iter().zip(partners);
    both.filter_map(|(one, two)| Some(of_trees([baseline.0, other.0], one, two?)))
        .collect()
}

/// A tree of our own, with what is said of all trees.
type Own<'a> = (&'a TreeSummary, &'a OwnTreeSummary);

fn own_trees(operation: &OperationSummary) -> Vec<Own<'_>> {
    let trees = operation.trees.iter().flatten();
    trees
        .filter_map(|tree| Some((tree, tree.own.as_ref()?)))
        .collect()
}

fn of_trees(analyses: [&Analysis; 2], one: Own<'_>, two: Own<'_>) -> TreeDifferences {
    let hosts = analyses.map(|analysis| {
        let ranks = analysis.ranks.iter();
        ranks
            .map(|rank| (rank.rank, rank.host.as_str()))
            .collect::<BTreeMap<u32, &str>>()
    });
    let host = |in_run: usize| {
        let hosts = &hosts[in_run];
        move |rank: u32| hosts.get(&rank).copied()
    };
    let pairs = pairs([&one.1.wrappers, &two.1.wrappers], [&host(0), &host(1)]);
    let instances = measured(one).min(measured(two));
    let wrappers = pairs.iter().map(|pair| compared([one.1, two.1], pair));
    let wrappers: Vec<ComparedWrapper> = wrappers.collect();
    TreeDifferences {
        baseline: one.1.name.clone(),
        other: two.1.name.clone(),
        stages: stages([one.1, two.1], (&pairs, &wrappers), instances),
        paths: paths([one.1, two.1], instances),
        wrappers,
    }
}

/// Instances that are measured.
fn measured((tree, own): Own<'_>) -> u64 {
    tree.instances.saturating_sub(own.without)
}

fn compared([one, two]: [&OwnTreeSummary; 2], pair: &WrapperPair) -> ComparedWrapper {
    let at = |own: &OwnTreeSummary, idx: Option<u32>| {
        let wrapper = own.wrappers.get(idx? as usize)?;
        let to = wrapper.parent.filter(|_| &*wrapper.kind == "proxy");
        let to = to.and_then(|to| own.wrappers.get(to as usize));
        Some((
            wrapper.kind.clone(),
            WrapperAt {
                wrapper: idx?,
                owner: wrapper.owner,
                host: wrapper.host.clone(),
                to: to.map(|to: &OwnWrapper| to.owner),
                to_host: to.map(|to| to.host.clone()),
            },
        ))
    };
    let (baseline, other) = (at(one, pair.baseline), at(two, pair.other));
    let kind = baseline.iter().chain(&other).next();
    ComparedWrapper {
        kind: kind.map_or_else(Code::default, |(kind, _)| kind.clone()),
        configuration: match (&baseline, &other) {
            (Some(_), None) => Configuration::Removed,
            (None, _) => Configuration::Added,
            _ if pair.changed.is_empty() => Configuration::Same,
            _ => Configuration::Reconfigured,
        },
        changed: pair.changed.iter().map(|&what| what.into()).collect(),
        baseline: baseline.map(|(_, at)| at),
        other: other.map(|(_, at)| at),
    }
}

/// What stages of different trees must share to correspond: kind, direction, wrappers.
type StageKey = (StageKind, Option<bool>, Vec<u32>);

fn stages(
    [one, two]: [&OwnTreeSummary; 2],
    (pairs, wrappers): (&[WrapperPair], &[ComparedWrapper]),
    instances: u64,
) -> Vec<StageDifferences> {
    let numbers = |of: fn(&WrapperPair) -> Option<u32>| {
        let numbered = (0u32..).zip(pairs);
        numbered
            .filter_map(move |(number, pair)| Some((of(pair)?, number)))
            .collect::<BTreeMap<u32, u32>>()
    };
    let numbers = [numbers(|pair| pair.baseline), numbers(|pair| pair.other)];
    let key = |stage: &TreeStage, tree: usize| -> StageKey {
        let of = stage.wrappers.iter();
        let mut of: Vec<u32> = of
            .filter_map(|wrapper| numbers[tree].get(wrapper).copied())
            .collect();
        of.sort_unstable();
        let direction = stage.direction.as_deref();
        (stage.kind, direction.map(|way| way == "down"), of)
    };
    let mut there: BTreeMap<StageKey, &TreeStage> = BTreeMap::new();
    for stage in &two.stages {
        there.entry(key(stage, 1)).or_insert(stage);
    }
    let stage = |(kind, is_down, of): StageKey, both: [Option<&TreeStage>; 2]| {
        let times = both.map(|stage| stage.map(|stage| &stage.time));
        StageDifferences {
            kind,
            direction: is_down.map(|is_down| if is_down { "down" } else { "up" }.into()),
            configuration: configuration(&of, wrappers, both.map(|stage| stage.is_some())),
            wrappers: of,
            baseline: times[0].cloned(),
            other: times[1].cloned(),
            difference: times[0]
                .zip(times[1])
                .map(|(one, two)| of_times(one, two, instances)),
        }
    };
    let mut found: Vec<StageDifferences> = Vec::new();
    for here in &one.stages {
        let key = key(here, 0);
        let counterpart = there.remove(&key);
        found.push(stage(key, [Some(here), counterpart]));
    }
    for only_there in &two.stages {
        let key = key(only_there, 1);
        if there.remove(&key).is_some() {
            found.push(stage(key, [None, Some(only_there)]));
        }
    }
    found
}

/// The configuration of a stage at some wrappers.
fn configuration(of: &[u32], wrappers: &[ComparedWrapper], is_in: [bool; 2]) -> Configuration {
    let has = |wanted: Configuration| {
        let mut of = of.iter();
        of.any(|&wrapper| wrappers[wrapper as usize].configuration == wanted)
    };
    let all = [
        Configuration::Added,
        Configuration::Removed,
        Configuration::Reconfigured,
    ];
    let found = all.into_iter().find(|&wanted| has(wanted));
    match (found, is_in) {
        // Next to nobody's wrapper: at the rank that is the root of the operation.
        (None, _) | (Some(Configuration::Reconfigured), _) => found.unwrap_or(Configuration::Same),
        (_, [true, false]) => Configuration::Removed,
        (_, [false, true]) => Configuration::Added,
        _ => Configuration::Reconfigured,
    }
}

fn of_times(one: &MeanTime, two: &MeanTime, instances: u64) -> Difference {
    difference(
        (one.mean_ns, two.mean_ns),
        one.estimate.zip(two.estimate),
        resolution_ns([one.uncertainty_ns, two.uncertainty_ns]),
        instances,
    )
}

fn paths([one, two]: [&OwnTreeSummary; 2], instances: u64) -> Vec<PathDifferences> {
    let of = |path: &RankPath| (path.rank, path.thread);
    let there: BTreeMap<(u32, u32), &RankPath> =
        two.paths.iter().map(|path| (of(path), path)).collect();
    let paths = one.paths.iter().filter_map(|path| {
        let counterpart = there.get(&of(path))?;
        let (one, two) = (
            path.without_waits.as_ref()?,
            counterpart.without_waits.as_ref()?,
        );
        Some(PathDifferences {
            rank: path.rank,
            thread: path.thread,
            baseline: one.clone(),
            other: two.clone(),
            difference: of_times(one, two, instances),
        })
    });
    let mut paths: Vec<PathDifferences> = paths.collect();
    // Stable: of equal changes the first rank comes first.
    paths.sort_by_key(|path| std::cmp::Reverse(path.difference.difference_ns.saturating_abs()));
    paths.truncate(MAX_PATHS);
    paths
}
