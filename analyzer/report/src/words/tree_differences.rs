//! Differences of spanning trees of our own in words.

use collbench_analyzer::compare::{
    ComparedOperation, ComparedWrapper, ComparisonVerdict, Configuration, OperationDifferences,
    OperationFigures, StageDifferences, TreeDifferences, WrapperAt,
};
use collbench_analyzer::results::StageKind;
use collbench_text::inert;

use crate::words::difference::verdict_on;

/// Wrappers and stages that are named.
const MAX_NAMED: usize = 3;
/// Characters of the name of a host, and of a tree.
const MAX_HOST: usize = 24;
const MAX_TREE: usize = 60;

/// What was reconfigured, and what changed though it was not.
pub(crate) fn headline(trees: &TreeDifferences) -> String {
    let mut text = format!(
        "reconfigured: {}; got slower although not reconfigured: {}",
        reconfigured(trees),
        changed(trees, ComparisonVerdict::Slower),
    );
    if !trees.not_reconfigured(ComparisonVerdict::Faster).is_empty() {
        text.push_str(&format!(
            "; got faster although not reconfigured: {}",
            changed(trees, ComparisonVerdict::Faster)
        ));
    }
    text
}

/// What an operation ran over: the spanning tree, or the algorithm of the MPI library.
pub(crate) fn what_ran(figures: &OperationFigures) -> String {
    let algorithm = figures.library_name.as_ref().or(figures.algorithm.as_ref());
    match (&figures.spanning_tree, algorithm) {
        (Some(tree), _) => format!("the spanning tree of {}", inert::line(tree, MAX_TREE)),
        (None, Some(name)) => format!("the MPI library's {}", inert::line(name, MAX_TREE)),
        (None, None) => "an algorithm of the MPI library".to_owned(),
    }
}

/// The operations that ran over a spanning tree in one trace only, whether they differ or not: one
/// line for each trace.
pub(crate) fn replaced(
    other: &str,
    rows: &[&(&ComparedOperation, &OperationDifferences)],
) -> Vec<String> {
    let trees = |(operation, differences): &(&ComparedOperation, &OperationDifferences)| {
        let of = |trace: usize| operation.traces.get(trace).and_then(Option::as_ref);
        let tree = |trace| Some(of(trace)?.spanning_tree.clone());
        Some([tree(0)?, tree(differences.trace)?])
    };
    let line = |has: usize| {
        let mut by_tree: Vec<(String, Vec<&str>)> = Vec::new();
        for row in rows {
            let Some(trees) = trees(row).filter(|trees| trees[1 - has].is_none()) else {
                continue;
            };
            let [one, two] = trees;
            let Some(tree) = (if has == 0 { one } else { two }) else {
                continue;
            };
            let name: &str = &row.0.operation;
            match by_tree.iter_mut().find(|known| known.0 == tree) {
                Some((_, names)) if names.contains(&name) => {}
                Some((_, names)) => names.push(name),
                None => by_tree.push((tree, vec![name])),
            }
        }
        let words = by_tree.iter().map(|(tree, names)| {
            let tree = inert::line(tree, MAX_TREE);
            match names.split_last() {
                Some((last, others)) if !others.is_empty() => {
                    format!("{} and {last} ({tree})", others.join(", "))
                }
                _ => format!("{} ({tree})", names.concat()),
            }
        });
        let words: Vec<String> = words.collect();
        let [with, without] = if has == 0 { ["A", other] } else { [other, "A"] };
        (!words.is_empty()).then(|| {
            let named = some_of(&words);
            format!("over a spanning tree in {with}, with the MPI library in {without}: {named}")
        })
    };
    [1, 0].into_iter().filter_map(line).collect()
}

/// `sites.toml:1 -> nodes.toml:1`, or one name if both have it.
pub(crate) fn names(trees: &TreeDifferences) -> String {
    let [one, two] = [&trees.baseline, &trees.other].map(|name| inert::line(name, MAX_TREE));
    if one == two {
        one
    } else {
        format!("{one} -> {two}")
    }
}

/// The wrappers that are not as in the baseline.
fn reconfigured(trees: &TreeDifferences) -> String {
    let wrappers = trees.wrappers.iter();
    let words: Vec<String> = wrappers.filter_map(what_changed).collect();
    some_of(&words)
}

fn changed(trees: &TreeDifferences, verdict: ComparisonVerdict) -> String {
    let stages = trees.not_reconfigured(verdict).into_iter();
    let words: Vec<String> = stages
        .map(|stage| {
            let by = stage
                .difference
                .as_ref()
                .map_or_else(String::new, verdict_on);
            let at = place(trees, stage);
            format!("{} at {at}, {by}", kind(stage))
        })
        .collect();
    some_of(&words)
}

/// The first of a list, and how many there are more; `nothing` of an empty one.
fn some_of(words: &[String]) -> String {
    let named = words[..words.len().min(MAX_NAMED)].join(", ");
    match words.len() {
        0 => "nothing".to_owned(),
        n if n > MAX_NAMED => format!("{named} and {} more", n - MAX_NAMED),
        _ => named,
    }
}

fn process(rank: u32, host: &str) -> String {
    format!("rank {rank} ({})", inert::line(host, MAX_HOST))
}

/// What of a wrapper is configured differently; `None` if nothing is.
fn what_changed(wrapper: &ComparedWrapper) -> Option<String> {
    let name = wrapper_name(wrapper);
    let was = match (wrapper.configuration, &wrapper.baseline) {
        (Configuration::Reconfigured, Some(was)) => was,
        (Configuration::Same, _) => return None,
        (other, _) => return Some(format!("{name} {}", configuration(other))),
    };
    let to = |at: &WrapperAt| match (at.to, &at.to_host) {
        (Some(rank), Some(host)) => process(rank, host),
        _ => "nowhere".to_owned(),
    };
    let changes = wrapper.changed.iter().map(|what| match &**what {
        "owner" => format!("was at {}", process(was.owner, &was.host)),
        "contributors" => "other contributors".to_owned(),
        "order" => "other order of contributors".to_owned(),
        "destination" => format!("led to {}", to(was)),
        _ => "other ranks on its host".to_owned(),
    });
    let changes: Vec<String> = changes.collect();
    Some(format!("{name} ({})", changes.join(", ")))
}

/// `gred 4 of rank 0 (node1)`, of a proxy where it crosses to; as it is in the other trace, if it is
/// there.
fn wrapper_name(wrapper: &ComparedWrapper) -> String {
    let kind = inert::line(&wrapper.kind, MAX_HOST);
    let Some(at) = wrapper.other.as_ref().or(wrapper.baseline.as_ref()) else {
        return kind;
    };
    let owner = process(at.owner, &at.host);
    match (at.to, &at.to_host) {
        (Some(rank), Some(host)) => {
            let to = process(rank, host);
            format!("{kind} {} from {owner} to {to}", at.wrapper)
        }
        _ => format!("{kind} {} of {owner}", at.wrapper),
    }
}

/// The wrappers of a stage.
pub(crate) fn place(trees: &TreeDifferences, stage: &StageDifferences) -> String {
    let wrappers = stage.wrappers.iter();
    let names: Vec<String> = wrappers
        .filter_map(|&wrapper| trees.wrappers.get(wrapper as usize).map(wrapper_name))
        .collect();
    match names.split_last() {
        None => "the root".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last} together", others.join(", ")),
    }
}

/// What a stage is, in the words of the timemap.
pub(crate) fn kind(stage: &StageDifferences) -> &'static str {
    stage_name(stage.kind, stage.direction.as_deref())
}

/// What a stage is, in the words of the timemap.
pub(crate) fn stage_name(kind: StageKind, direction: Option<&str>) -> &'static str {
    match (kind, direction) {
        (StageKind::Entry, _) => "entry",
        (StageKind::ArrivalWait, _) => "wait for others",
        (StageKind::NodeDown, _) => "processing",
        (StageKind::LateReceiver | StageKind::LateProgress, _) => "late receiver",
        (StageKind::Transfer, Some("up")) => "hop from root",
        (StageKind::Transfer, _) => "hop to root",
        (StageKind::TwoWay, _) => "hop there and back",
        (StageKind::Core, _) => "core",
        (StageKind::NodeUp, _) => "forwarding",
        (StageKind::DepartureWait, _) => "serialization",
        (StageKind::Exit, _) => "exit",
        (StageKind::Local, _) => "local work",
        (StageKind::LateSender, _) => "late sender",
        (StageKind::Newer, _) => "other",
    }
}

/// Whether a stage was reconfigured.
pub(crate) fn configuration(of: Configuration) -> &'static str {
    match of {
        Configuration::Same => "same",
        Configuration::Reconfigured => "reconfigured",
        Configuration::Added => "added",
        Configuration::Removed => "removed",
        Configuration::Newer => "not known",
    }
}
