//! What was found inside collectives, in a few sentences to act on: what ran, whether late processes or
//! messages take the time, and which hop.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{
    CriticalPathSummary, Doubt, EdgeSummary, HopSummary, Hotspot, OneWayClass, OperationSummary,
    ProgressSummary, StageKind, TreeFigures, TreeSummary,
};
use collbench_stats::distribution::Summary;
use collbench_stats::integers::sum_ns;
use collbench_text::{
    inert,
    quantity::{counted, duration, percent, share, size, size_range},
};

use super::host_links;
use crate::words;
use crate::words::{own_trees, uncertainty, why_late};

/// Operations that are described.
const MAX_OPERATIONS: usize = 3;
/// Characters of the name of a host.
const MAX_HOST: usize = 24;

/// What was found inside a collective.
pub(crate) struct Paragraph {
    /// Index of the operation; `None` of what holds for several.
    pub(crate) operation: Option<usize>,
    pub(crate) text: String,
}

/// A paragraph for each of the operations that took most time and were seen inside, and what holds for
/// several of them.
pub(crate) fn paragraphs(analysis: &Analysis) -> Vec<Paragraph> {
    let mut said = Said::default();
    let operations = analysis.operations.iter().enumerate();
    let mut described: Vec<(usize, Described<'_>)> = operations
        .filter_map(|(index, operation)| Some((index, describe(analysis, operation, &mut said)?)))
        .take(MAX_OPERATIONS)
        .collect();
    let mut together = Vec::new();
    for reason in Doubt::ALL {
        let all = described
            .iter()
            .filter(|(_, of)| of.unknown == Some(reason));
        let names: BTreeSet<&str> = all.clone().map(|(_, of)| of.operation).collect();
        if all.count() > 1 {
            let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
            together.push(format!(
                "the critical path of {} is not known: {}",
                words::list(names),
                why(reason)
            ));
            for (_, of) in &mut described {
                of.unknown = of.unknown.filter(|&other| other != reason);
            }
        }
    }
    let alone = described.into_iter().map(|(index, of)| Paragraph {
        operation: Some(index),
        text: of.all(),
    });
    let together = together.into_iter().map(|text| Paragraph {
        operation: None,
        text,
    });
    alone.chain(together).collect()
}

/// The paragraph on the most frequent tree of an operation; `None` where nothing was measured inside.
pub(crate) fn paragraph(analysis: &Analysis, operation: &OperationSummary) -> Option<String> {
    describe(analysis, operation, &mut Said::default()).map(Described::all)
}

/// Hints that were given in an earlier paragraph, and are not repeated.
#[derive(Debug, Default)]
struct Said {
    /// That the layer `switches` shows why a hop is long in a few instances.
    how_to_see: bool,
}

/// The description of an operation.
struct Described<'a> {
    operation: &'a str,
    text: String,
    /// Why the critical path of no instance is known; `None` if that of some is.
    unknown: Option<Doubt>,
}

impl Described<'_> {
    fn all(self) -> String {
        let Some(reason) = self.unknown else {
            return self.text;
        };
        format!(
            "{} The critical path is not known: {}.",
            self.text,
            why(reason)
        )
    }
}

fn describe<'a>(
    analysis: &Analysis,
    operation: &'a OperationSummary,
    said: &mut Said,
) -> Option<Described<'a>> {
    let trees = operation.trees.as_ref()?;
    let tree = trees.first()?;
    let figures = tree.figures.as_ref()?;
    let mut text = what_ran(analysis, operation, trees, tree, figures);
    let path = figures.critical_path.as_ref();
    match path {
        Some(path) => {
            text.push_str(&where_it_goes(operation, path, figures.n));
            text.push_str(&in_processes(analysis, path));
            text.push('.');
            text.push_str(&in_others(figures));
        }
        None if tree.own.is_some() => {}
        None => text.push_str(&what_was_sent(operation, tree)),
    }
    // A hop that takes hardly any of the time is not worth a sentence.
    if let Some((path, hop)) = path.and_then(|path| Some((path, path.hops.first()?)))
        && is_worth_telling(hop.total_ns, path.duration_ns)
    {
        text.push_str(&costliest_hop(analysis, tree, path, hop, said));
    }
    if let Some(path) = path
        && let Some(link) = host_links::costliest(analysis, path)
        && is_worth_telling(link.total_ns, path.duration_ns)
    {
        text.push_str(&format!(
            " The {} hops from {} to {} together take {} of the time (n = {}).",
            link.n_hops,
            inert::line(link.from, MAX_HOST),
            inert::line(link.to, MAX_HOST),
            percent(link.total_ns, path.duration_ns),
            link.n
        ));
    }
    if let Some(hop) = path.and_then(|path| path.hops.first())
        && let Some(running) = why_late::inside(analysis, operation, [hop.from, hop.to])
    {
        text.push_str(&running);
    }
    if let Some(progress) = &figures.progress {
        text.push_str(&did_not_progress(progress, figures.n));
    }
    let matters = |hotspot: &&Hotspot| path.is_none_or(|path| matters(path, hotspot));
    if let Some(hotspot) = figures.hotspot.as_ref().filter(matters) {
        text.push_str(&costs_most(analysis, tree, figures, hotspot));
    }
    if let Some(own) = &tree.own {
        text.push_str(&own_trees::about(tree, own));
    }
    Some(Described {
        operation: &operation.operation,
        text,
        unknown: match path {
            Some(_) => None,
            None => figures
                .critical_path_unknown
                .first()
                .map(|paths| paths.reason),
        },
    })
}

/// Whether the stage that costs most on the slowest paths takes a notable part of the time up to the last
/// leave: other paths may be slower still.
fn matters(path: &CriticalPathSummary, hotspot: &Hotspot) -> bool {
    let stage = &hotspot.stage;
    let is_of_edge = |hop: &&HopSummary| {
        let ends = (Some(hop.from), hop.to);
        ends == (stage.from, stage.node) || ends == (Some(stage.node), stage.from.unwrap_or(hop.to))
    };
    let hops = path.hops.iter().filter(is_of_edge);
    let on_edge = sum_ns(hops.map(|hop| hop.total_ns));
    let in_process = match stage.kind {
        StageKind::Transfer | StageKind::TwoWay => 0,
        _ => {
            let stays = path.stays.iter().filter(|stay| stay.rank == stage.node);
            let begins = path.begins.iter().filter(|begin| begin.rank == stage.node);
            let late = sum_ns(begins.map(|begin| begin.late_ns));
            sum_ns(stays.map(|stay| stay.total_ns)) + late
        }
    };
    is_worth_telling(on_edge + in_process, path.duration_ns)
}

/// Whether a part of the time is worth a sentence of its own.
fn is_worth_telling(part_ns: i64, of_ns: i64) -> bool {
    part_ns > of_ns / 20
}

/// In how many instances the critical path is not known, where it is in others.
fn in_others(figures: &TreeFigures) -> String {
    let unknown = &figures.critical_path_unknown;
    let Some(most) = unknown.first() else {
        return String::new();
    };
    let n: u64 = unknown.iter().map(|paths| paths.instances).sum();
    let mostly = match unknown.len() {
        1 => "",
        _ => "mostly because ",
    };
    format!(
        " The critical path of {} is not known: {mostly}{}.",
        counted(n, "more instance"),
        why(most.reason)
    )
}

/// Why a critical path is not known.
pub(crate) fn why(reason: Doubt) -> &'static str {
    match reason {
        Doubt::NoCommonTime => "the clocks of the hosts are not aligned",
        Doubt::UnresolvedClocks => "the clocks of the hosts do not resolve which event was first",
        Doubt::FromAny => {
            "it is not recorded which message matched which of the receives from MPI_ANY_SOURCE"
        }
        Doubt::NotSeen => "the MPI library checks internally whether messages have arrived",
        Doubt::Incomplete => "some messages are known from one end only",
        Doubt::Hidden => "no message from the last rank to enter is seen",
        Doubt::Newer => "this version does not know the reason",
    }
}

/// Messages, bytes and duration of instances whose critical path is not known.
fn what_was_sent(operation: &OperationSummary, tree: &TreeSummary) -> String {
    let n = tree.instances.max(1);
    let messages: u64 = tree.edges.iter().map(|edge| edge.messages).sum();
    let bytes: u64 = tree.edges.iter().map(|edge| edge.bytes).sum();
    let (it, on_average) = match n {
        1 => ("It", ""),
        _ => ("An instance", " on average"),
    };
    let mut text = format!(
        " {it} sends {}{on_average}, {} in total",
        counted(messages.div_ceil(n), "message"),
        size(bytes / n)
    );
    if let Some(duration_ns) = &operation.duration_ns {
        // One instance has no median.
        let median = if duration_ns.n == 1 { "" } else { "median " };
        text.push_str(&format!(
            "; the {median}duration is {} (n = {})",
            duration(duration_ns.median),
            duration_ns.n
        ));
    }
    text.push('.');
    text
}

/// The edge with the longest mean transfer time, of those whose transfer time is known and longer than
/// the error of the clocks, beside the median of its kind: within a host, or between hosts.
pub(crate) fn slowest_edge(analysis: &Analysis, tree: &TreeSummary) -> String {
    let hosts: BTreeMap<u32, &str> = (analysis.ranks.iter())
        .map(|rank| (rank.rank, &*rank.host))
        .collect();
    let is_within_host = |edge: &EdgeSummary| hosts.get(&edge.from) == hosts.get(&edge.to);
    let known = tree.edges.iter().filter_map(|edge| {
        let transfer = edge.measured.as_ref()?.transfer_ns.as_ref()?;
        let error_ns = transfer.uncertainty_ns.map(i64::unsigned_abs);
        Some((transfer, edge, error_ns))
    });
    let resolved = known
        .clone()
        .filter(|(transfer, _, error_ns)| uncertainty::is_resolved(transfer.mean, *error_ns));
    let slowest = resolved.clone().max_by_key(|(transfer, edge, _)| {
        let ends = Reverse((edge.from, edge.to));
        (transfer.mean, ends)
    });
    let Some((transfer, edge, error_ns)) = slowest else {
        return "The transfer time of messages is not resolvable".to_owned();
    };
    let within = is_within_host(edge);
    let of_kind = known.filter(|known| is_within_host(known.1) == within);
    let mut means: Vec<i64> = of_kind.map(|(transfer, ..)| transfer.mean).collect();
    means.sort_unstable();
    let usual_ns = means[(means.len() - 1) / 2];
    let (n_resolved, n) = (resolved.count(), tree.edges.len());
    let unresolved = if n_resolved == n {
        String::new()
    } else {
        format!("; {} of {n} hops are not resolved", n - n_resolved)
    };
    let which = format!(
        "{}: {} on average (n = {})",
        self::edge(analysis, edge.from, edge.to),
        uncertainty::time(transfer.mean, error_ns),
        transfer.n
    );
    let where_usual = match (analysis.trace.hosts.len(), within) {
        (..2, _) => "",
        (_, true) => " within hosts",
        (_, false) => " between hosts",
    };
    let usual = format!("the median{where_usual} is {}", duration(usual_ns));
    if transfer.mean.saturating_mul(2) <= usual_ns.saturating_mul(3) {
        format!("No hop stands out: the slowest is {which}, {usual}{unresolved}")
    } else {
        format!("The slowest hop is {which}, {usual}{unresolved}")
    }
}

pub(crate) use super::own_trees::slowest_proxy;

/// The stage that costs most on the slowest paths, as a title.
pub(crate) fn headline(analysis: &Analysis, operation: &OperationSummary) -> Option<String> {
    let tree = operation.trees.as_ref()?.first()?;
    let hotspot = tree.figures.as_ref()?.hotspot.as_ref()?;
    Some(format!(
        "On the slowest paths {} of the time is {}",
        share(hotspot.share),
        stage(analysis, tree, hotspot)
    ))
}

/// Operation, tree and number of instances.
fn what_ran(
    analysis: &Analysis,
    operation: &OperationSummary,
    trees: &[TreeSummary],
    tree: &TreeSummary,
    figures: &TreeFigures,
) -> String {
    let mut text = format!(
        "{} on {}",
        operation.operation,
        words::communicator(analysis, operation.communicator, 40)
    );
    if let Some((least, most @ 1..)) = operation.bytes_min.zip(operation.bytes_max) {
        text.push_str(&format!(", {}", size_range(least, most)));
    }
    if let Some(root) = operation.root {
        text.push_str(&format!(", root {root}"));
    }
    let algorithm = match (&tree.own, &tree.algorithm) {
        (Some(own), _) => own_trees::name(own),
        (None, Some(algorithm)) => inert::line(algorithm, 120),
        (None, None) if figures.joining_points.is_empty() => "an exchange".to_owned(),
        (None, None) => "a tree".to_owned(),
    };
    text.push_str(&format!(
        ": {algorithm}, {}",
        counted(figures.n, "instance")
    ));
    match trees.len() {
        1 => {}
        n => text.push_str(&format!(" (and {})", counted(n as u64 - 1, "other graph"))),
    }
    text.push('.');
    text
}

/// All ranks together wait for less than one in so many parts of the time until the last arrives: nobody waits for it.
const NOBODY_WAITS: i64 = 20;

/// How the duration is divided between late processes and messages. `n_seen`: instances whose messages
/// were recorded.
fn where_it_goes(operation: &OperationSummary, path: &CriticalPathSummary, n_seen: u64) -> String {
    let n = path.instances.max(1);
    // One instance is no average.
    let (it, on_average) = match n_seen {
        1 => ("It", ""),
        _ => ("An instance", " on average"),
    };
    let of_those = if n == n_seen {
        String::new()
    } else {
        format!(" (over {n} of {n_seen} instances)")
    };
    let late = sum_ns(path.begins.iter().map(|begin| begin.late_ns));
    let on_hops = sum_ns(path.hops.iter().map(|hop| hop.total_ns));
    // Who sends what another one receives later need not be there any more when that one arrives.
    let waits_ns = operation.wait_ns.as_ref().map_or(late, |wait| wait.total);
    let whom = if waits_ns.saturating_mul(NOBODY_WAITS) < late {
        "last rank arrives, for which nobody waits"
    } else {
        "rank it waits for arrives"
    };
    let mut text = format!(
        " {it} takes {}{on_average}{of_those}: {} until the {whom}",
        duration(path.duration_ns / n.cast_signed()),
        percent(late, path.duration_ns),
    );
    if let Some(begin) = path.begins.first() {
        text.push_str(&format!(
            " (rank {}{})",
            begin.rank,
            in_so_many(begin.instances, n)
        ));
    }
    text.push_str(&format!(
        ", {} messages",
        percent(on_hops, path.duration_ns)
    ));
    text
}

/// "in 3 of 10", of `n` instances if there are several.
fn in_so_many(instances: u64, n: u64) -> String {
    match n {
        1 => String::new(),
        _ => format!(" in {instances} of {n}"),
    }
}

/// The most expensive hop, and the distribution of its transfer times.
fn costliest_hop(
    analysis: &Analysis,
    tree: &TreeSummary,
    path: &CriticalPathSummary,
    hop: &HopSummary,
    said: &mut Said,
) -> String {
    let n = path.instances.max(1);
    let on_average = match n {
        1 => "",
        _ => " on average",
    };
    let mut text = format!(
        " The most expensive hop is {}: {}{on_average}{}, {} of the time",
        edge(analysis, hop.from, hop.to),
        duration(hop.total_ns / hop.instances.max(1).cast_signed()),
        match n {
            1 => String::new(),
            _ => format!("{} instances", in_so_many(hop.instances, n)),
        },
        percent(hop.total_ns, path.duration_ns),
    );
    let Some(messages) = HopMessages::of(tree, hop, n) else {
        text.push('.');
        return text;
    };
    let transfer = messages.transfer;
    let class = match messages.class {
        OneWayClass::OneClock | OneWayClass::Resolved => "",
        OneWayClass::Likely => ", likely given the clocks",
        OneWayClass::NotResolvable | OneWayClass::Newer => ", not resolved by the clocks",
    };
    let error = match transfer.uncertainty_ns {
        Some(error) => format!(", error {}", duration(error)),
        None => String::new(),
    };
    let quantiles = match transfer.n {
        1 => duration(transfer.median),
        _ => format!(
            "median {}, p10 {}",
            duration(transfer.median),
            duration(messages.p10_ns)
        ),
    };
    let which = match messages.round {
        Some(round) => format!(" in the slowest round, {round}"),
        None => String::new(),
    };
    text.push_str(&format!(
        " (transfer{which}: {quantiles}{error}, n = {}{class}).",
        transfer.n
    ));
    if messages.is_one_each && is_seldom_long(hop, transfer) {
        text.push_str(
            " Only a few instances take that long, as if one end of the hop had been interrupted",
        );
        text.push_str(match analysis.running {
            Some(_) => ".",
            None if std::mem::replace(&mut said.how_to_see, true) => ".",
            None => ". To check, record again with --layers +switches.",
        });
    }
    text
}

/// The messages over a hop of the critical path: all of them, or, in an exchange with several rounds over
/// it, those of the slowest round.
struct HopMessages<'a> {
    transfer: &'a Summary,
    p10_ns: i64,
    class: OneWayClass,
    /// Number of the round, from 0.
    round: Option<usize>,
    /// Whether an instance has at most one of them, so that their median is that of instances.
    is_one_each: bool,
}

impl<'a> HopMessages<'a> {
    /// `None` where their transfer times are not known.
    fn of(tree: &'a TreeSummary, hop: &HopSummary, n_instances: u64) -> Option<Self> {
        let mut edges = tree.edges.iter();
        let edge = edges.find(|edge| (edge.from, edge.to) == (hop.from, hop.to))?;
        let measured = edge.measured.as_ref()?;
        let (transfer, p10_ns) = (measured.transfer_ns.as_ref()?, measured.transfer_p10_ns?);
        let is_one_each = transfer.n <= n_instances;
        let all = Self {
            transfer,
            p10_ns,
            class: measured.one_way_class,
            round: None,
            is_one_each,
        };
        if is_one_each {
            return Some(all);
        }
        let rounds = tree.figures.iter().flat_map(|figures| &figures.rounds);
        let over_it = rounds.filter(|round| (round.from, round.rank) == (Some(hop.from), hop.to));
        let known = over_it.filter_map(|round| {
            Some((
                round.transfer_ns.as_ref()?,
                round.transfer_p10_ns?,
                round.round,
            ))
        });
        let slowest = known.max_by_key(|(transfer, _, round)| (transfer.mean, Reverse(*round)));
        Some(slowest.map_or(all, |(transfer, p10_ns, round)| Self {
            transfer,
            p10_ns,
            class: match measured.one_way_class {
                OneWayClass::OneClock => OneWayClass::OneClock,
                _ => OneWayClass::of(Some(transfer.median), transfer.uncertainty_ns),
            },
            round: Some(round),
            is_one_each: true,
        }))
    }
}

/// The time that critical paths spend in processes, between messages, if it is a notable part.
fn in_processes(analysis: &Analysis, path: &CriticalPathSummary) -> String {
    let all = sum_ns(path.stays.iter().map(|stay| stay.total_ns));
    let Some(costliest) = path
        .stays
        .first()
        .filter(|_| is_worth_telling(all, path.duration_ns))
    else {
        return String::new();
    };
    format!(
        ", {} in processes between messages (most in {}: {})",
        percent(all, path.duration_ns),
        process(analysis, costliest.rank),
        percent(costliest.total_ns, path.duration_ns)
    )
}

/// Whether a few messages, much longer than the median, make most of the cost of a hop.
fn is_seldom_long(hop: &HopSummary, transfer: &Summary) -> bool {
    let mean_ns = hop.total_ns / hop.instances.max(1).cast_signed();
    let usual_ns = transfer
        .median
        .saturating_add(transfer.uncertainty_ns.unwrap_or(0));
    transfer.n >= MIN_MESSAGES && mean_ns / TIMES_LONGER > usual_ns
}

/// With fewer messages a median says little.
const MIN_MESSAGES: u64 = 10;
/// From how many times the median on a message is much longer.
const TIMES_LONGER: i64 = 10;

/// For how long a nonblocking collective could not progress, if that is at least 1 % of its duration.
fn did_not_progress(progress: &ProgressSummary, n: u64) -> String {
    let nobody = progress.nobody_in_mpi_ns.as_ref();
    let is_worth = |nobody: &&Summary| nobody.total.saturating_mul(100) >= progress.duration_ns;
    let Some(nobody) = nobody.filter(is_worth) else {
        return String::new();
    };
    let part = format!(
        "{} of {}",
        duration(nobody.mean),
        duration(progress.duration_ns / progress.instances.max(1).cast_signed())
    );
    if progress.instances == n {
        format!(" For {part} no rank was in MPI: nothing progressed.")
    } else {
        format!(
            " In {} of {n} no rank was in MPI for {part}: nothing progressed. In the others this is not \
             known, for example because processes tested.",
            counted(progress.instances, "instance")
        )
    }
}

/// The stage with the largest share of the slowest paths, unless it is the hop that was just named.
fn costs_most(
    analysis: &Analysis,
    tree: &TreeSummary,
    figures: &TreeFigures,
    hotspot: &Hotspot,
) -> String {
    let stage = &hotspot.stage;
    let path = figures.critical_path.as_ref();
    let is_named = path
        .and_then(|path| path.hops.first())
        .is_some_and(|hop| stage.from == Some(hop.from) && stage.node == hop.to);
    if is_named && stage.kind == StageKind::Transfer {
        return String::new();
    }
    let ranks = if hotspot.ranks.len() == process_count(tree) {
        "all processes".to_owned()
    } else {
        inert::ranks(&hotspot.ranks)
    };
    let mut text = format!(
        " On the slowest paths ({ranks}) {} of the time is {}: median {}, n = {}",
        share(hotspot.share),
        self::stage(analysis, tree, hotspot),
        duration(stage.median_ns),
        stage.n
    );
    if hotspot.serves {
        let mut nodes = figures.joining_points.iter();
        let node = nodes.find(|node| node.rank == stage.node);
        let children = node.iter().flat_map(|node| &node.departures);
        let others = children.filter(|child| child.rank != stage.node);
        let waits = others.filter_map(|child| Some(child.wait_ns.as_ref()?.mean));
        if let Some(said) = behind_siblings(waits) {
            text.push_str(&format!("; {said}"));
        }
    }
    text.push('.');
    text
}

/// How much longer the last of the children of a node waits than the first, given the mean waits of all;
/// `None` without any.
pub(crate) fn longer_behind_siblings(waits: impl Iterator<Item = i64>) -> Option<i64> {
    let (least, most, _) = extremes(waits)?;
    Some(most.saturating_sub(least))
}

/// How long the children of a node wait behind their siblings, given the mean waits of all; `None` where
/// it has less than two.
pub(crate) fn behind_siblings(waits: impl Iterator<Item = i64>) -> Option<String> {
    let (least, most, n) = extremes(waits)?;
    (n > 1).then(|| {
        format!(
            "the last of {n} children waits {} longer than the first",
            duration(most.saturating_sub(least))
        )
    })
}

/// The least and the most of some values, and how many there are.
fn extremes(values: impl Iterator<Item = i64>) -> Option<(i64, i64, usize)> {
    values.fold(None, |so_far, value| {
        let (least, most, n) = so_far.unwrap_or((value, value, 0));
        Some((least.min(value), most.max(value), n + 1))
    })
}

/// A stage, as what follows "37 % of the time is".
fn stage(analysis: &Analysis, tree: &TreeSummary, hotspot: &Hotspot) -> String {
    let stage = &hotspot.stage;
    let own = tree.own.as_ref();
    if let Some(said) = own.and_then(|own| own_trees::stage(own, stage)) {
        return said;
    }
    let node = process(analysis, stage.node);
    match (stage.kind, stage.from) {
        (StageKind::Transfer, Some(from)) => {
            format!("the transfer {}", edge(analysis, from, stage.node))
        }
        (StageKind::TwoWay, Some(from)) => {
            format!(
                "the round trip {} and back",
                edge(analysis, from, stage.node)
            )
        }
        (StageKind::LateReceiver, Some(from)) => format!(
            "waiting until {node} is ready to receive what {} has sent",
            process(analysis, from)
        ),
        (StageKind::LateProgress, Some(from)) => format!(
            "waiting for {node}, which is in no MPI call when {} sends to it",
            process(analysis, from)
        ),
        (StageKind::Core, _) => {
            format!("spent in the root, {node}, between the last arrival and the first departure")
        }
        (StageKind::NodeDown | StageKind::Local, _) => {
            format!("spent in {node} before it sends or receives next")
        }
        (StageKind::NodeUp, _) => format!("forwarding at {node}"),
        (StageKind::DepartureWait, _) if hotspot.serves => {
            format!("spent in {node} between its first send and its leave")
        }
        (StageKind::DepartureWait, _) => format!("serialization at {node}"),
        (StageKind::Entry, _) => format!("spent in {node} before it sends"),
        (StageKind::Exit, _) => format!("spent in {node} before it returns"),
        _ => node,
    }
}

fn process_count(tree: &TreeSummary) -> usize {
    let figures = tree.figures.iter();
    let ways = figures.flat_map(|figures| &figures.ways);
    ways.map(|way| way.ranks.len()).sum()
}

/// `rank 3 (node2)`; the host only where there are several.
fn process(analysis: &Analysis, rank: u32) -> String {
    match host(analysis, rank) {
        Some(host) => format!("rank {rank} ({host})"),
        None => format!("rank {rank}"),
    }
}

pub(crate) fn edge(analysis: &Analysis, from: u32, to: u32) -> String {
    format!(
        "from {} to {}",
        process(analysis, from),
        process(analysis, to)
    )
}

fn host(analysis: &Analysis, rank: u32) -> Option<String> {
    if analysis.trace.hosts.len() < 2 {
        return None;
    }
    let mut ranks = analysis.ranks.iter();
    let found = ranks.find(|found| found.rank == rank)?;
    Some(inert::line(&found.host, MAX_HOST))
}
