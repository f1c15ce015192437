//! Recognizes how a collective was done from who sent to whom.
//!
//! A model is a set of edges, with how often each is used and in which steps where the edges alone
//! are ambiguous. For few ranks several models have the same graph; then all their names are
//! returned.

use collbench_formats::Operation;

use super::algorithm::Algorithm;
use super::exchanges::Sent;
use flat::flat;

pub use recognized::{Direction, Placement, Recognized, TreeFacts, reversed, rotated};

/// Recognizes how processes at these locations did `operation`, from its messages, at least one, by
/// sender and in the order of sending. `root`: slot of the root if there is one.
///
/// `None` for operations without algorithms, as constructors.
pub fn recognize(
    operation: Operation,
    places: Placement<'_>,
    root: Option<u32>,
    sent: &[Sent],
) -> Option<Recognized> {
    // Messages of a process to itself do not show who is connected to whom.
    let to_others: Vec<Sent>;
    let sent = if sent.iter().all(|sent| sent.from != sent.to) {
        sent
    } else {
        let others = sent.iter().filter(|sent| sent.from != sent.to);
        to_others = others.copied().collect();
        &to_others
    };
    if sent.is_empty() {
        return None;
    }
    let Placement { hosts, groups } = places;
    let flat = flat(operation, hosts.len() as u32, root, sent)?;
    if let Some(groups) = groups {
        return Some(groups::recognize(operation, groups, root, sent));
    }
    // Some graphs are both. Then separate tags of the levels decide.
    let levels = if flat.is_unnamed() || levels::are_apart(hosts, sent) {
        levels::recognize(operation, hosts, root, sent)
    } else {
        None
    };
    let is_unnamed = flat.is_unnamed();
    let mut found = Recognized::from(flat);
    if let Some((name, directed)) = levels {
        if is_unnamed {
            found.names.clear();
        }
        found.names.insert(0, Algorithm::TwoLevels(name));
        if found.directed.is_empty() {
            found.directed = directed;
        }
    }
    Some(found)
}

mod flat;
mod groups;
mod levels;
mod partial;
mod recognized;
mod root;
#[cfg(test)]
mod tests;
