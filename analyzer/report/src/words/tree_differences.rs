//! Differences of spanning trees of our own in words.

use collbench_analyzer::compare::{
    ComparedWrapper, ComparisonVerdict, Configuration, StageDifferences, TreeDifferences, WrapperAt,
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
