//! Spanning trees of our own in words.

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{
    CausePlace, OperationCause, OwnTreeSummary, OwnWrapper, PathStage, ProxyOutlier, ProxySummary,
    StageKind, TreeSummary,
};
use collbench_text::inert;
use collbench_text::quantity::{counted, duration};

/// Characters of the name of a tree.
const MAX_NAME: usize = 60;
/// Characters of the name of a host.
const MAX_HOST: usize = 24;
/// Groups of wrappers that are listed.
const MAX_GROUPS: usize = 3;
/// Outliers that are listed.
const MAX_OUTLIERS: usize = 3;

/// What an instance ran on, as what follows a colon.
pub(super) fn name(own: &OwnTreeSummary) -> String {
    format!("the spanning tree of {}", inert::line(&own.name, MAX_NAME))
}

/// `gred 4 of rank 0 (node1)`; of a proxy where it crosses to.
pub(crate) fn wrapper(own: &OwnTreeSummary, idx: u32) -> String {
    let Some(of) = own.wrappers.get(idx as usize) else {
        return format!("wrapper {idx}");
    };
    let owner = |of: &OwnWrapper| {
        let host = inert::line(&of.host, MAX_HOST);
        format!("rank {} ({host})", of.owner)
    };
    let kind = inert::line(&of.kind, MAX_NAME);
    let next = of
        .parent
        .and_then(|parent| own.wrappers.get(parent as usize));
    match next.filter(|_| &*of.kind == "proxy") {
        Some(next) => format!("{kind} {idx} from {} to {}", owner(of), owner(next)),
        None => format!("{kind} {idx} of {}", owner(of)),
    }
}

/// Several wrappers that event collectors do not tell apart.
pub(crate) fn wrappers(own: &OwnTreeSummary, all: &[u32]) -> Option<String> {
    let names = all.iter().map(|&idx| wrapper(own, idx));
    let names: Vec<String> = names.collect();
    let (last, others) = names.split_last()?;
    Some(if others.is_empty() {
        last.clone()
    } else {
        format!("{} and {last} together", others.join(", "))
    })
}

/// The proxy that takes longest, beside the median of all.
pub(crate) fn slowest_proxy(own: &OwnTreeSummary) -> String {
    let known = own.proxies.iter().filter_map(|proxy| {
        let ways = [&proxy.down, &proxy.up].into_iter().flatten();
        let ways = ways.filter_map(|way| Some(way.transfer_ns.as_ref()?.mean));
        Some((ways.max()?, proxy.wrapper))
    });
    let mut known: Vec<(i64, u32)> = known.collect();
    known.sort_unstable();
    match (known.last(), known.get(known.len().saturating_sub(1) / 2)) {
        (Some(&(ns, slowest)), Some(&(usual, _))) if known.len() > 1 => format!(
            "The slowest proxy is {}: {} on average, the median of all is {}",
            wrapper(own, slowest),
            duration(ns),
            duration(usual)
        ),
        (Some(&(ns, only)), _) => {
            format!("{} takes {} on average", wrapper(own, only), duration(ns))
        }
        _ => "No proxy has event collectors on both sides, on clocks with a common time".to_owned(),
    }
}

/// Crossings of proxies that took much longer than usual, the longest first; `None` without any.
fn outliers(own: &OwnTreeSummary) -> Option<String> {
    let all = own.proxies.iter();
    let all = all.flat_map(|proxy| proxy.outliers.iter().map(move |it| (proxy, it)));
    let mut all: Vec<(&ProxySummary, &ProxyOutlier)> = all.collect();
    all.sort_by_key(|(proxy, it)| (std::cmp::Reverse(it.ns), it.sequence, proxy.wrapper));
    let (first, longest) = all.first()?;
    let usual = match longest.direction.as_deref() {
        Some("up") => first.up.as_ref(),
        _ => first.down.as_ref(),
    };
    let usual = usual.and_then(|way| way.transfer_ns.as_ref());
    let usual = usual.or(first.two_way_ns.as_ref());
    let usual = usual.map_or_else(String::new, |usual| {
        format!(" (median {})", duration(usual.median))
    });
    let others = all[1..].iter().take(MAX_OUTLIERS - 1).map(|(proxy, it)| {
        format!(
            "{} on proxy {} in instance {}",
            duration(it.ns),
            proxy.wrapper,
            it.sequence
        )
    });
    let others: Vec<String> = others.collect();
    let more = if others.is_empty() {
        String::new()
    } else {
        format!("; then {}", others.join(", "))
    };
    Some(format!(
        " {} of proxies took much longer than usual: the longest {} on {} in instance {}{usual}{more}.",
        counted(all.len() as u64, "crossing"),
        duration(longest.ns),
        wrapper(own, first.wrapper),
        longest.sequence,
    ))
}

/// A stage, as what follows "37 % of the time is"; `None` of one that is at no wrapper.
pub(super) fn stage(own: &OwnTreeSummary, stage: &PathStage) -> Option<String> {
    let at = wrappers(own, &stage.wrappers)?;
    Some(match stage.kind {
        StageKind::Transfer if stage.direction.as_deref() == Some("up") => {
            format!("the way back over {at}")
        }
        StageKind::Transfer => format!("the way over {at}"),
        StageKind::TwoWay => format!("the way over {at} and back"),
        StageKind::LateReceiver => format!("waiting until the receiver of {at} has entered"),
        StageKind::Core => {
            format!("spent in {at}, between the last arrival and the first departure")
        }
        StageKind::DepartureWait => format!("serialization at {at}"),
        _ => format!("spent in {at}"),
    })
}

/// Whose path is the slowest, what is summed, and what is not measured.
pub(super) fn about(tree: &TreeSummary, own: &OwnTreeSummary) -> String {
    let mut text = String::new();
    if let Some(slowest) = own.slowest.first().filter(|_| own.slowest_of > 1) {
        let thread = match own.threads {
            1 => String::new(),
            _ => format!(", thread {}", slowest.thread),
        };
        text.push_str(&format!(
            " The path of rank {}{thread} is the slowest in {} of {}, without waits for ranks that arrive \
             later.",
            slowest.rank, slowest.instances, own.slowest_of
        ));
    }
    if !own.summed.is_empty() {
        let groups = own.summed.iter().take(MAX_GROUPS);
        let groups = groups.map(|all| {
            let all: Vec<String> = all.iter().map(u32::to_string).collect();
            all.join(" and ")
        });
        let groups: Vec<String> = groups.collect();
        let more = match own.summed.len().checked_sub(MAX_GROUPS) {
            Some(n) if n > 0 => format!(" and {n} more"),
            _ => String::new(),
        };
        text.push_str(&format!(
            " No event collector is on between the wrappers {}{more}: the time of each of these groups is \
             one sum.",
            groups.join("; ")
        ));
    }
    text.extend(outliers(own));
    if own.without > 0 {
        text.push_str(&format!(
            " {} of {} not measured: passes of event collectors are missing.",
            counted(own.without, "instance"),
            if own.without == 1 {
                format!("{} is", tree.instances)
            } else {
                format!("{} are", tree.instances)
            }
        ));
    }
    text
}

/// Which proxies of a tree of the operation cross a slow link; `None` if none does.
pub(super) fn crossing(analysis: &Analysis, cause: &OperationCause) -> Option<String> {
    let CausePlace::Hosts { from, to } = &cause.place else {
        return None;
    };
    let trees = analysis.operations.get(cause.operation)?.trees.iter();
    let own = trees.flatten().find_map(|tree| tree.own.as_ref())?;
    let crosses = |(_, of): &(usize, &OwnWrapper)| {
        let next = of
            .parent
            .and_then(|parent| own.wrappers.get(parent as usize));
        let ends = next.map(|next| (&of.host, &next.host));
        let is_proxy = &*of.kind == "proxy";
        is_proxy && (ends == Some((from, to)) || ends == Some((to, from)))
    };
    let mut proxies = own.wrappers.iter().enumerate().filter(crosses);
    let (idx, _) = proxies.next()?;
    Some(format!(
        "{} of {} crosses it",
        wrapper(own, idx as u32),
        name(own)
    ))
}
