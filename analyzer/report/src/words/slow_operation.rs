//! An operation that ranks leave late without a known reason: what is known of it, and what would tell more.

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{CriticalPathSummary, OperationSummary, RunningSummary};
use collbench_stats::integers::sum_ns;
use collbench_text::quantity::{duration, percent};

use crate::words;
use crate::words::why_late;

/// Instances with a known critical path from which on the costliest rank or hop is named.
const MIN_PATHS: u64 = 5;
/// From how many times the median on a mean is that of a few long instances.
const FEW_LONG: i64 = 2;
/// Part of the critical paths from which on the costliest rank or hop is named: one in so many.
const NAMED: i64 = 4;

/// What is known; `None` where that is nothing.
pub(crate) fn evidence(analysis: &Analysis, operation: &OperationSummary) -> Option<String> {
    let few = few_long(operation);
    let found = match few {
        Some(_) => few,
        None => path(operation)
            .and_then(|path| between_sites(analysis, path).or_else(|| costliest(analysis, path))),
    };
    let on_core = inside(analysis, operation).map(|(on_core_ns, elapsed_ns)| {
        format!(
            "its ranks were on a core for {} of the time in long calls",
            percent(on_core_ns, elapsed_ns)
        )
    });
    let all: Vec<String> = found.into_iter().chain(on_core).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// What to do next.
pub(crate) fn next(analysis: &Analysis, operation: &OperationSummary) -> String {
    let name = &operation.operation;
    let switches = || {
        format!(
            "record again with --layers +switches, which shows whether ranks lose their cores in {name}"
        )
    };
    match inside(analysis, operation) {
        Some((on_core_ns, elapsed_ns)) if !why_late::is_mostly(on_core_ns, elapsed_ns) => {
            return format!(
                "look at what keeps the ranks off their cores in {name}: more ranks than cores, other \
                 processes, binding"
            );
        }
        None if few_long(operation).is_some() => return switches(),
        _ => {}
    }
    if path(operation).is_some_and(|path| between_sites(analysis, path).is_some()) {
        return format!(
            "call {name} less often, with more data at once, or do something else meanwhile (nonblocking): between the \
             sites it takes that long"
        );
    }
    let has_messages = (analysis.trace.layers.get("messages")).is_some_and(|layer| layer.on);
    if path(operation).is_some() {
        format!(
            "look at {name} under \"Inside collectives\" and in the picture of its tree: which ranks and hops take long"
        )
    } else if !has_messages {
        format!(
            "record with --layers +messages, which shows which ranks and hops take long in {name}"
        )
    } else if analysis.running.is_none() {
        switches()
    } else {
        format!("compare the times in {name} with those of another algorithm of the MPI library")
    }
}

/// That a few instances take much longer than the others.
fn few_long(operation: &OperationSummary) -> Option<String> {
    let of = operation.duration_ns.as_ref()?;
    (of.n > 1 && of.median > 0 && of.mean > of.median.saturating_mul(FEW_LONG)).then(|| {
        format!(
            "a few long instances make most of that (median {}, mean {})",
            duration(of.median),
            duration(of.mean)
        )
    })
}

/// The critical paths of the most frequent graph.
fn path(operation: &OperationSummary) -> Option<&CriticalPathSummary> {
    let tree = operation.trees.as_ref()?.first()?;
    tree.figures.as_ref()?.critical_path.as_ref()
}

/// The rank or hop that takes most of the critical paths after the last rank to arrive.
fn costliest(analysis: &Analysis, path: &CriticalPathSummary) -> Option<String> {
    let late_ns = sum_ns(path.begins.iter().map(|begin| begin.late_ns));
    let rest_ns = path.duration_ns.saturating_sub(late_ns);
    let stay = path.stays.first().map(|stay| {
        (
            stay.total_ns,
            format!("in rank {} between its messages", stay.rank),
        )
    });
    let hop = path.hops.first().map(|hop| {
        let edge = words::inside::edge(analysis, hop.from, hop.to);
        (hop.total_ns, format!("on the message {edge}"))
    });
    let (ns, place) = stay.into_iter().chain(hop).max_by_key(|(ns, _)| *ns)?;
    (path.instances >= MIN_PATHS && rest_ns > 0 && ns >= rest_ns / NAMED).then(|| {
        format!(
            "{} of its critical paths pass {place}",
            percent(ns, rest_ns)
        )
    })
}

/// That most of the critical paths after the last rank to arrive is the way between sites: no message of it is to blame.
fn between_sites(analysis: &Analysis, path: &CriticalPathSummary) -> Option<String> {
    let late_ns = sum_ns(path.begins.iter().map(|begin| begin.late_ns));
    let rest_ns = path.duration_ns.saturating_sub(late_ns);
    let is_between = |from: u32, to: u32| {
        let sites = site(analysis, from).zip(site(analysis, to));
        sites.is_some_and(|(from, to)| from != to)
    };
    let hops = path.hops.iter().filter(|hop| is_between(hop.from, hop.to));
    let ns = sum_ns(hops.map(|hop| hop.total_ns));
    let sites = analysis.clock.host_sites.as_ref()?;
    (path.instances >= MIN_PATHS && rest_ns > 0 && ns >= rest_ns / 2).then(|| {
        format!(
            "{} of the time on its critical paths is the way between sites, whose round trip takes {}",
            percent(ns, rest_ns),
            duration(sites.between_ns)
        )
    })
}

/// The site of the host of a rank, where hosts form sites.
fn site(analysis: &Analysis, rank: u32) -> Option<usize> {
    let host = &analysis.ranks.iter().find(|of| of.rank == rank)?.host;
    let of_host = analysis.clock.hosts.iter().find(|of| of.host == *host);
    of_host?.site
}

/// For how long ranks were on a core in long calls of an operation, and how long these took, ns; `None`
/// where that was not recorded.
fn inside(analysis: &Analysis, operation: &OperationSummary) -> Option<(i64, i64)> {
    let is_of = |sum: &&RunningSummary| {
        sum.place == "inside"
            && sum.operation == operation.operation
            && sum.communicator == operation.communicator
    };
    let of = || analysis.running.iter().flatten().filter(is_of);
    let elapsed_ns = sum_ns(of().map(|sum| sum.elapsed_ns));
    let on_core_ns = sum_ns(of().map(|sum| sum.on_core_ns.min(sum.elapsed_ns)));
    (elapsed_ns > 0).then_some((on_core_ns, elapsed_ns))
}
