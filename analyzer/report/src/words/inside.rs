//! What was found inside collectives, in a few sentences that somebody can act on: what ran, whether
//! it is late processes or the tree, and which hop.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{
    CriticalPathSummary, Doubt, HopSummary, Hotspot, OneWayClass, OperationSummary,
    ProgressSummary, StageKind, TreeFigures, TreeSummary,
};
use collbench_stats::distribution::Summary;
use collbench_stats::integers::sum_ns;
use collbench_text::{
    inert,
    quantity::{counted, duration, percent, share},
};

use super::links;
use crate::words;
use crate::words::why_late;

/// Operations that are told of.
const MAX_OPERATIONS: usize = 3;
/// Characters of the name of a host.
const MAX_HOST: usize = 24;

/// A paragraph for each of the operations that took most time and were seen inside, and what holds for
/// several of them.
pub(crate) fn paragraphs(analysis: &Analysis) -> Vec<String> {
    let mut said = Said::default();
    let told = |operation| told(analysis, operation, &mut said);
    let mut told: Vec<Told> = (analysis.operations.iter())
        .filter_map(told)
        .take(MAX_OPERATIONS)
        .collect();
    let mut together = Vec::new();
    for reason in Doubt::ALL {
        let all = told.iter().filter(|told| told.unknown == Some(reason));
        let names: BTreeSet<&str> = all.clone().map(|told| told.operation).collect();
        if all.count() > 1 {
            let names: Vec<&str> = names.into_iter().collect();
            together.push(format!(
                "of {} it is not known what the last to leave waited for: {}",
                names.join(" and "),
                why(reason)
            ));
            for told in &mut told {
                told.unknown = told.unknown.filter(|&other| other != reason);
            }
        }
    }
    let alone = told.into_iter().map(Told::all);
    alone.chain(together).collect()
}

/// What the most frequent tree of an operation comes to; `None` where nothing was measured inside.
pub(crate) fn paragraph(analysis: &Analysis, operation: &OperationSummary) -> Option<String> {
    told(analysis, operation, &mut Said::default()).map(Told::all)
}

/// What was said before, and holds for what follows.
#[derive(Debug, Default)]
struct Said {
    /// That the layer `switches` tells why a hop is long in few instances.
    how_to_see: bool,
}

/// What is told of an operation.
struct Told<'a> {
    operation: &'a str,
    text: String,
    /// Why it is known of no instance what the last to leave waited for.
    unknown: Option<Doubt>,
}

impl Told<'_> {
    fn all(self) -> String {
        let Some(reason) = self.unknown else {
            return self.text;
        };
        format!(
            "{} What the last to leave waited for is not known: {}.",
            self.text,
            why(reason)
        )
    }
}

fn told<'a>(
    analysis: &Analysis,
    operation: &'a OperationSummary,
    said: &mut Said,
) -> Option<Told<'a>> {
    let trees = operation.trees.as_ref()?;
    let tree = trees.first()?;
    let figures = tree.figures.as_ref()?;
    let mut text = what_ran(analysis, operation, trees, tree, figures);
    let path = figures.critical_path.as_ref();
    match path {
        Some(path) => {
            text.push_str(&where_it_goes(path, figures.n));
            text.push_str(&in_processes(analysis, path));
            text.push('.');
            text.push_str(&in_others(figures));
        }
        None => text.push_str(&what_went(operation, tree)),
    }
    // What takes next to nothing of the time is nobody's concern.
    if let Some((path, hop)) = path.and_then(|path| Some((path, path.hops.first()?)))
        && is_worth_telling(hop.total_ns, path.duration_ns)
    {
        text.push_str(&dearest_hop(analysis, tree, path, hop, said));
    }
    if let Some(path) = path
        && let Some(link) = links::dearest(analysis, path)
        && is_worth_telling(link.total_ns, path.duration_ns)
    {
        text.push_str(&format!(
            " All {} hops from {} to {} together take {} of the time (n = {}).",
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
    Some(Told {
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

/// Whether the stage that costs most on the slowest ways takes a part of the time up to the last leave
/// that is worth telling: other ways may be slower still.
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

/// Of how many instances it is not known what the last to leave waited for, where it is of others.
fn in_others(figures: &TreeFigures) -> String {
    let unknown = &figures.critical_path_unknown;
    let Some(most) = unknown.first() else {
        return String::new();
    };
    let n: u64 = unknown.iter().map(|paths| paths.instances).sum();
    let mostly = match unknown.len() {
        1 => "",
        _ => "mostly, ",
    };
    format!(
        " Of {} it is not known what the last to leave waited for: {mostly}{}.",
        counted(n, "more instance"),
        why(most.reason)
    )
}

/// Why it is not known what the last to leave waited for.
fn why(reason: Doubt) -> &'static str {
    match reason {
        Doubt::NoCommonTime => "the clocks of its hosts have no common time",
        Doubt::UnresolvedClocks => "the clocks of its hosts do not tell what came first",
        Doubt::FromAny => {
            "it depends on which message met which of the receives from any process, which is not seen"
        }
        Doubt::NotSeen => "the MPI library looks by itself whether messages have come",
        Doubt::Incomplete => "some messages are known from one end only",
        Doubt::Hidden => "nothing is seen to come from the last to enter",
        Doubt::Newer => "for a reason that this version does not know",
    }
}

/// What is known of instances of which it is not known what was waited for.
fn what_went(operation: &OperationSummary, tree: &TreeSummary) -> String {
    let n = tree.instances.max(1);
    let messages: u64 = tree.edges.iter().map(|edge| edge.messages).sum();
    let bytes: u64 = tree.edges.iter().map(|edge| edge.bytes).sum();
    let (each, per) = match n {
        1 => ("", ""),
        _ => ("on average ", " each"),
    };
    let mut text = format!(
        " They send {each}{}, {} bytes together{per}",
        counted(messages.div_ceil(n), "message"),
        bytes / n
    );
    if let Some(duration_ns) = &operation.duration_ns {
        text.push_str(&format!(
            "; from the first enter to the last leave {} pass in the median (n = {})",
            duration(duration_ns.median),
            duration_ns.n
        ));
    }
    text.push('.');
    text
}

/// The edge whose messages take longest in the mean, of those of which it is known.
pub(crate) fn slowest_edge(analysis: &Analysis, tree: &TreeSummary) -> String {
    let known = tree.edges.iter().filter_map(|edge| {
        let transfer = edge.measured.as_ref()?.transfer_ns.as_ref()?;
        Some((transfer, edge))
    });
    let n_known = known.clone().count();
    let slowest = known.max_by_key(|(transfer, edge)| {
        let ends = std::cmp::Reverse((edge.from, edge.to));
        (transfer.mean, ends)
    });
    let Some((transfer, edge)) = slowest else {
        return "How long messages take is not resolvable".to_owned();
    };
    let n = tree.edges.len();
    let which = if n_known == n {
        "The slowest edge is".to_owned()
    } else {
        format!("The slowest of the {n_known} edges (of {n}) that can be told is")
    };
    format!(
        "{which} {}: {} on average (n = {})",
        self::edge(analysis, edge.from, edge.to),
        duration(transfer.mean),
        transfer.n
    )
}

/// What costs most on the slowest ways, as a title.
pub(crate) fn headline(analysis: &Analysis, operation: &OperationSummary) -> Option<String> {
    let tree = operation.trees.as_ref()?.first()?;
    let hotspot = tree.figures.as_ref()?.hotspot.as_ref()?;
    Some(format!(
        "On the slowest ways of the data {} of the time goes to {}",
        share(hotspot.share),
        stage(analysis, hotspot)
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
    if operation.bytes_max.is_some_and(|bytes| bytes > 0) {
        text.push_str(&format!(", {} bytes", words::bytes(operation)));
    }
    if let Some(root) = operation.root {
        text.push_str(&format!(", root {root}"));
    }
    let algorithm = match (&tree.algorithm, figures.joining_points.is_empty()) {
        (Some(algorithm), _) => inert::line(algorithm, 120),
        (None, false) => "a tree".to_owned(),
        (None, true) => "an exchange".to_owned(),
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

/// Late processes against messages. `n_seen`: instances that were seen inside.
fn where_it_goes(path: &CriticalPathSummary, n_seen: u64) -> String {
    let n = path.instances.max(1);
    // One instance is no average.
    let passing = match n {
        1 => "",
        _ => " that pass on average",
    };
    let of_those = if n == n_seen {
        String::new()
    } else {
        format!(" (in {} of {n_seen} instances)", n)
    };
    let late = sum_ns(path.begins.iter().map(|begin| begin.late_ns));
    let on_hops = sum_ns(path.hops.iter().map(|hop| hop.total_ns));
    let mut text = format!(
        " Of the {}{passing}{of_those} from the first enter to the last leave, {} go by until the one comes \
         that all wait for",
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
        ", {} on messages",
        percent(on_hops, path.duration_ns)
    ));
    text
}

/// In how many of so many instances, if there are several.
fn in_so_many(instances: u64, n: u64) -> String {
    match n {
        1 => String::new(),
        _ => format!(" in {instances} of {n}"),
    }
}

/// The hop that costs most, and what is usual of it.
fn dearest_hop(
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
        " The hop that costs most is {}: {}{on_average}{}, {} of the time",
        edge(analysis, hop.from, hop.to),
        duration(hop.total_ns / hop.instances.max(1).cast_signed()),
        in_so_many(hop.instances, n),
        percent(hop.total_ns, path.duration_ns),
    );
    let Some(messages) = HopMessages::of(tree, hop, n) else {
        text.push('.');
        return text;
    };
    let transfer = messages.transfer;
    let class = match messages.class {
        OneWayClass::OneClock | OneWayClass::Resolved => "",
        OneWayClass::Likely => ", likely by the clocks",
        OneWayClass::NotResolvable | OneWayClass::Newer => ", not resolvable by the clocks",
    };
    let error = match transfer.uncertainty_ns {
        Some(error) => format!(", give or take {}", duration(error)),
        None => String::new(),
    };
    let quantiles = match transfer.n {
        1 => duration(transfer.median),
        _ => format!(
            "median {}, a tenth below {}",
            duration(transfer.median),
            duration(messages.p10_ns)
        ),
    };
    let which = match messages.round {
        Some(round) => format!(" in round {round}, its slowest"),
        None => String::new(),
    };
    text.push_str(&format!(
        " (transfer{which}: {quantiles}{error}, n = {}{class}).",
        transfer.n
    ));
    if messages.is_one_each && is_seldom_long(hop, transfer) {
        text.push_str(
            " It is that long in few instances only, as if something had interrupted its ends",
        );
        text.push_str(match analysis.running {
            Some(_) => ".",
            None if std::mem::replace(&mut said.how_to_see, true) => ".",
            None => "; recorded with --layers calls,messages,algorithms,switches, the trace tells.",
        });
    }
    text
}

/// The messages over a hop of the critical path: all of them, or, of an exchange of several rounds over it,
/// those of the slowest of these.
struct HopMessages<'a> {
    transfer: &'a Summary,
    p10_ns: i64,
    class: OneWayClass,
    /// Number of the round, from 0.
    round: Option<usize>,
    /// Whether each instance has one of them, so that what is usual of them is usual of instances.
    is_one_each: bool,
}

impl<'a> HopMessages<'a> {
    /// `None` where nothing is known of them.
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

/// The time that is spent in processes, between the messages that the rest waits for, where that is
/// worth saying.
fn in_processes(analysis: &Analysis, path: &CriticalPathSummary) -> String {
    let all = sum_ns(path.stays.iter().map(|stay| stay.total_ns));
    let Some(dearest) = path
        .stays
        .first()
        .filter(|_| is_worth_telling(all, path.duration_ns))
    else {
        return String::new();
    };
    format!(
        ", {} in processes between their messages (most in {}: {})",
        percent(all, path.duration_ns),
        process(analysis, dearest.rank),
        percent(dearest.total_ns, path.duration_ns)
    )
}

/// Whether a hop costs what it costs by a few messages that took much longer than most.
fn is_seldom_long(hop: &HopSummary, transfer: &Summary) -> bool {
    let mean_ns = hop.total_ns / hop.instances.max(1).cast_signed();
    let usual_ns = transfer
        .median
        .saturating_add(transfer.uncertainty_ns.unwrap_or(0));
    transfer.n >= MIN_MESSAGES && mean_ns / TIMES_LONGER > usual_ns
}

/// Of fewer messages nobody knows what is usual.
const MIN_MESSAGES: u64 = 10;
/// What is much longer than the median.
const TIMES_LONGER: i64 = 10;

/// For how long a collective that goes on in other calls could not, where that is worth a sentence.
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
            " In {} of {n} (in the others it is not known: processes tested, say) no rank was in MPI \
             for {part}: nothing progressed.",
            counted(progress.instances, "instance")
        )
    }
}

/// The stage with the largest share of the slowest ways, unless it is the hop that was just named.
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
    format!(
        " On the slowest ways of the data (of {ranks}) {} of the time goes to {}: {} in the median \
         (n = {}).",
        share(hotspot.share),
        self::stage(analysis, hotspot),
        duration(stage.median_ns),
        stage.n
    )
}

/// A stage in words.
fn stage(analysis: &Analysis, hotspot: &Hotspot) -> String {
    let stage = &hotspot.stage;
    let node = process(analysis, stage.node);
    match (stage.kind, stage.from) {
        (StageKind::Transfer, Some(from)) => {
            format!("the transfer {}", edge(analysis, from, stage.node))
        }
        (StageKind::TwoWay, Some(from)) => {
            format!("the way {} and back", edge(analysis, from, stage.node))
        }
        (StageKind::LateReceiver, Some(from)) => format!(
            "{node}, which is not ready for what {} has sent it",
            process(analysis, from)
        ),
        (StageKind::LateProgress, Some(from)) => format!(
            "{node}, which is in no call of MPI when {} sends to it",
            process(analysis, from)
        ),
        (StageKind::Core, _) => {
            format!("the root, {node}, between the last to come and the first to go")
        }
        (StageKind::NodeDown | StageKind::Local, _) => {
            format!("what {node} does before it goes on")
        }
        (StageKind::NodeUp, _) => format!("handing on at {node}"),
        (StageKind::DepartureWait, _) => {
            format!("waiting for a turn at {node}")
        }
        (StageKind::Entry, _) => format!("{node}, before it sends"),
        (StageKind::Exit, _) => format!("{node}, before it returns"),
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

fn edge(analysis: &Analysis, from: u32, to: u32) -> String {
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
