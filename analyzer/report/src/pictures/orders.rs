//! The orders of arrival and of departure of an operation.

use std::collections::BTreeMap;

use collbench_analyzer::Analysis;
use collbench_analyzer::results::OperationSummary;
use collbench_text::quantity;
use collbench_viz::{Heading, Order, OrderMap, Positions};

use super::title;
use crate::words;
use crate::words::arrivals::LastToArrive;

/// Caption of an order map.
pub(super) fn caption(order: Order) -> String {
    let (comes, last) = match order {
        Order::Arrival => (
            "arrives",
            "The last column shows for which ranks the others wait",
        ),
        Order::Departure => ("leaves", "The first column shows which ranks leave first"),
    };
    format!(
        "One row per rank (or band of ranks), one column per position. The darker a cell (on a dark \
         screen, the brighter), the more often the rank {comes} at that position. {last}. A rank \
         whose row is evenly spread has no typical position. The hatched bar is the share of \
         instances in which the clocks cannot resolve the rank's position; these are in no cell."
    )
}

/// The order map of one operation; `None` if there is no order: one process, or clocks that are not
/// aligned.
pub(super) fn order_map(
    analysis: &Analysis,
    operation: &OperationSummary,
    order: Order,
) -> Option<OrderMap> {
    let communicator = analysis.communicators.get(operation.communicator?)?;
    let (by_position, deciles) = match order {
        Order::Arrival => (&*operation.arrival_order, &*operation.arrival_deciles),
        Order::Departure => (&*operation.departure_order, &*operation.departure_deciles),
    };
    let (counts, positions) = match (by_position, deciles) {
        (Some(counts), _) => (counts, Positions::Each(counts.len())),
        (None, Some(deciles)) => (deciles, Positions::Tenths),
        (None, None) => return None,
    };
    if counts.len() < 2 || operation.instances == 0 {
        return None;
    }
    let heading = Heading {
        finding: finding(analysis, operation, order).into(),
        operation: title(analysis, operation).into(),
        n_instances: operation.instances,
    };
    let hosts: BTreeMap<u32, &str> = analysis
        .ranks
        .iter()
        .map(|rank| (rank.rank, rank.host.as_str()))
        .collect();
    let mut map = OrderMap::new(heading, order, positions);
    for (rank, counts) in communicator.ranks.iter().zip(counts) {
        if let Some(rank) = *rank {
            let host = hosts.get(&rank).copied().unwrap_or_default();
            map.push(rank, host.into(), |column| {
                counts.get(column).copied().map_or(0, u64::from)
            });
        }
    }
    Some(map)
}

/// Ranks from which on some are named as among the last, a tenth of all.
const MANY_RANKS: usize = 20;

/// The rank that is most often among the last tenth to arrive, where it is in half of the instances or more: where all
/// ranks arrive in about the same order, the last of them differs from instance to instance.
fn mostly_among_the_last(
    analysis: &Analysis,
    operation: &OperationSummary,
) -> Option<(u32, String)> {
    let communicator = analysis.communicators.get(operation.communicator?)?;
    let n_ranks = communicator.ranks.len();
    if n_ranks < MANY_RANKS {
        return None;
    }
    let (orders, n_last) = match (&*operation.arrival_order, &*operation.arrival_deciles) {
        (Some(orders), _) => (orders, n_ranks / 10),
        (None, deciles) => (deciles.as_ref()?, 1),
    };
    let among = communicator
        .ranks
        .iter()
        .zip(orders)
        .filter_map(|(rank, counts)| {
            let at_end = counts.len().saturating_sub(n_last);
            let n: u64 = counts[at_end..].iter().copied().map(u64::from).sum();
            Some((n, std::cmp::Reverse((*rank)?)))
        });
    let (n, std::cmp::Reverse(rank)) = among.max()?;
    let share = n as f64 / operation.instances as f64;
    (2 * n >= operation.instances).then(|| (rank, quantity::share(share)))
}

/// Who arrives last, or leaves first, as a sentence.
fn finding(analysis: &Analysis, operation: &OperationSummary, order: Order) -> String {
    let (counts, n_unresolved, n_likely, comes_last, last_to_arrive) = match order {
        Order::Arrival => (
            &operation.last_arrivals,
            operation.last_unresolved,
            operation.last_likely,
            words::arrivals::is_last(&operation.operation),
            if words::arrivals::is_initiated(&operation.operation) {
                "last to initiate"
            } else {
                "last to arrive"
            },
        ),
        Order::Departure => (
            &operation.first_departures,
            operation.first_unresolved,
            operation.first_likely,
            "leaves first",
            "first to leave",
        ),
    };
    let n_resolved: u64 = counts.iter().sum();
    if n_resolved == 0 {
        return match n_likely {
            0 => format!("Who {comes_last} is not resolvable in any instance"),
            _ => format!(
                "Who {comes_last} is not resolved in any instance, but likely in {n_likely} of {}",
                operation.instances
            ),
        };
    }
    let of = match n_unresolved {
        0 => quantity::counted(n_resolved, "instance"),
        _ => format!(
            "{n_resolved} resolved instances (of {})",
            operation.instances
        ),
    };
    let most = counts
        .iter()
        .enumerate()
        .max_by_key(|&(at, n)| (n, std::cmp::Reverse(at)));
    if order == Order::Arrival {
        return match words::arrivals::at_operation(analysis, operation) {
            LastToArrive::Mostly {
                who, n, of: n_of, ..
            } => format!(
                "{} {comes_last} in {}",
                words::capitalized(&who),
                match n_of {
                    1 => "the one instance whose last rank is known".to_owned(),
                    _ => format!("{} of {of}", words::arrivals::share(n, n_of)),
                }
            ),
            _ => match mostly_among_the_last(analysis, operation) {
                Some((rank, share)) => format!(
                    "The {last_to_arrive} differs; rank {rank} is among the last tenth in {share} of {of}"
                ),
                None => format!("No rank stands out as the {last_to_arrive} in {of}"),
            },
        };
    }
    match most {
        Some((at, &n)) if collbench_analyzer::stands_out(n, n_resolved, counts.len()) => {
            let communicator = operation
                .communicator
                .and_then(|id| analysis.communicators.get(id));
            let rank = communicator.and_then(|c| c.ranks.get(at).copied().flatten());
            let rank = rank.map_or_else(|| "?".to_owned(), |rank| rank.to_string());
            let share = quantity::share(n as f64 / n_resolved as f64);
            format!("Rank {rank} {comes_last} in {share} of {of}")
        }
        _ => format!("No rank stands out as the {last_to_arrive} in {of}"),
    }
}
