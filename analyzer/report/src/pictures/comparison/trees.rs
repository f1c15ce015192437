//! Pictures of an operation over the spanning trees of our own of several traces.

use collbench_analyzer::results::{OwnTreeSummary, PathStage, RankPath, StageKind, SubtreeSummary};
use collbench_text::{inert, quantity};
use collbench_viz as viz;
use collbench_viz::{Departure, Heading, StageTime, Stages};

use super::{InTrace, column};
use crate::words::own_trees as words;
use crate::words::tree_differences::stage_name;

/// Caption of the serialization curves.
pub(super) const SERIALIZATION: &str = "The subtree of one host, which all traces have: all ranks of the \
     host, and what joins them there. x is the order in which its ranks depart. y is the mean time since \
     the result came to the subtree: up latency, and for all but the first the departure wait. The start of \
     a curve is what the subtree costs every rank. Its slope is how much longer each further rank waits: \
     flatter is better.";
/// Caption of the path.
pub(super) const ONE_PATH: &str = "The rank whose path is the slowest in A. One line for each trace runs \
     from top to bottom through the stages of its tree; trees with more stages have them closer together. \
     Left of x = 0 is the path to the root, right of it the path from the root. Waits for ranks that arrive \
     later are left out.";
/// Characters of the name of a tree.
const MAX_NAME: usize = 40;

/// The tree of our own that most instances of the operation ran on.
fn own<'a>((_, _, operation): &InTrace<'a>) -> Option<&'a OwnTreeSummary> {
    let trees = operation.trees.iter().flatten();
    let own = trees.filter_map(|tree| Some((tree.instances, tree.own.as_ref()?)));
    // Of equally many the first.
    let own = own.min_by_key(|(instances, _)| std::cmp::Reverse(*instances));
    own.map(|(_, own)| own)
}

/// Those traces whose operation ran on a tree of our own, if these are two or more, A among them.
fn with_trees<'a, 's>(
    summaries: &'s [InTrace<'a>],
) -> Option<Vec<(&'s InTrace<'a>, &'a OwnTreeSummary)>> {
    let all = summaries.iter();
    let all: Vec<_> = all.filter_map(|of| Some((of, own(of)?))).collect();
    let is_from_a = all
        .first()
        .is_some_and(|((name, ..), _)| name.starts_with('A'));
    (is_from_a && all.len() > 1).then_some(all)
}

fn name_of((called, analysis, _): &InTrace<'_>, own: &OwnTreeSummary) -> String {
    let tree = inert::line(&own.name, MAX_NAME);
    format!("{}, {tree}", column(called, analysis))
}

/// The serialization of the largest subtree of a host that all traces have: figure 3b of Bongo et al.
pub(super) fn serialization(
    heading: &Heading,
    summaries: &[InTrace<'_>],
) -> Option<viz::Serialization> {
    let all = with_trees(summaries)?;
    let curves_of = |own: &'_ OwnTreeSummary, ranks: &[u32]| -> Option<SubtreeSummary> {
        let mut subtrees = own.subtrees.iter();
        let found = subtrees.find(|of| of.ranks == ranks && !of.serialization.is_empty());
        found.cloned()
    };
    let in_a = all[0].1.subtrees.iter();
    let in_all = in_a.filter(|of| {
        all.iter()
            .all(|(_, own)| curves_of(own, &of.ranks).is_some())
    });
    let largest =
        in_all.min_by_key(|of| (std::cmp::Reverse(of.serialization.len()), of.ranks[0]))?;
    let curves = all.iter().filter_map(|(of, own)| {
        Some((
            name_of(of, own),
            curves_of(own, &largest.ranks)?.serialization,
        ))
    });
    let curves: Vec<_> = curves.collect();
    let most = curves.iter().map(|(_, points)| points.len()).max()?;
    let host = inert::line(&largest.host, MAX_NAME);
    let ends = curves
        .iter()
        .zip(&all)
        .filter_map(|((_, points), ((name, ..), _))| {
            let (first, last) = (points.first()?, points.last()?);
            let [first, last] = [first, last].map(|point| quantity::duration(point.mean_ns));
            Some(format!(
                "{name}: {first} for the first, {last} for the last"
            ))
        });
    let ends: Vec<String> = ends.take(3).collect();
    let heading = Heading {
        finding: format!(
            "Ranks depart from host {host} after, in {}",
            ends.join("; ")
        )
        .into(),
        ..heading.clone()
    };
    let mut picture = viz::Serialization::new(heading, u32::try_from(most).ok()?).of_subtree();
    for (name, points) in curves {
        let departures = points.iter().filter_map(|point| {
            Some(Departure {
                position: u32::try_from(point.position).ok()?,
                time: StageTime::new(point.mean_ns, point.n)?,
                rank: None,
            })
        });
        picture.push(name.into(), departures, None);
    }
    Some(picture)
}

/// The path of one rank in all traces: figure 3a of Bongo et al.
pub(super) fn one_path(heading: &Heading, summaries: &[InTrace<'_>]) -> Option<viz::Comparison> {
    let all = with_trees(summaries)?;
    let path = |own: &'_ OwnTreeSummary, of: (u32, u32)| {
        let mut paths = own.paths.iter();
        paths.position(|path| (path.rank, path.thread) == of)
    };
    let own_ns = |path: &RankPath| path.without_waits.as_ref().map(|time| time.mean_ns);
    let in_a = all[0].1.paths.iter();
    let in_all = in_a.filter(|of| {
        let rank = (of.rank, of.thread);
        own_ns(of).is_some() && all.iter().all(|(_, own)| path(own, rank).is_some())
    });
    let slowest = in_all.max_by_key(|of| (own_ns(of), std::cmp::Reverse((of.rank, of.thread))))?;
    let rank = (slowest.rank, slowest.thread);
    let times = all.iter().filter_map(|((name, ..), own)| {
        let time = own_ns(&own.paths[path(own, rank)?])?;
        Some(format!("{name}: {}", quantity::duration(time)))
    });
    let times: Vec<String> = times.take(4).collect();
    let heading = Heading {
        finding: format!(
            "The path of rank {} takes, without waits for others, in {}",
            rank.0,
            times.join("; ")
        )
        .into(),
        ..heading.clone()
    };
    let mut comparison = viz::Comparison::new(heading);
    for (of, own) in &all {
        let path = &own.paths[path(own, rank)?];
        let shown: Vec<&PathStage> = path.stages.iter().filter(|stage| is_shown(stage)).collect();
        let of_direction = |direction: Option<&str>| {
            let stages = shown
                .iter()
                .filter(|stage| stage.direction.as_deref() == direction);
            stages.map(|stage| stage_words(own, stage).into()).collect()
        };
        let stages = Stages {
            down: of_direction(Some("down")),
            core: shown
                .iter()
                .find(|stage| stage.direction.is_none())
                .map(|stage| stage_words(own, stage).into()),
            up: of_direction(Some("up")),
        };
        if stages.len() != shown.len() {
            return None;
        }
        comparison.push(name_of(of, own).into(), stages, |at| {
            StageTime::new(shown[at].mean_ns, shown[at].n)
        });
    }
    Some(comparison)
}

/// Whether a stage is none of waiting for ranks that arrive later.
fn is_shown(stage: &PathStage) -> bool {
    let is_late = stage.kind == StageKind::LateReceiver;
    !(stage.kind == StageKind::ArrivalWait || is_late && stage.direction.as_deref() == Some("down"))
}

fn stage_words(own: &OwnTreeSummary, stage: &PathStage) -> String {
    let kind = stage_name(stage.kind, stage.direction.as_deref());
    match words::wrappers(own, &stage.wrappers) {
        Some(at) => format!("{kind}, {at}"),
        None => kind.to_owned(),
    }
}
