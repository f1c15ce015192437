//! From who sent to whom to how a collective was done.
//!
//! A model is a set of edges, with how often each is used and in which steps where the edges alone
//! do not tell. For few ranks several models are one graph; then all their names are given.

use collbench_formats::Operation;

use super::algorithm::Algorithm;
use super::exchanges::Sent;
use flat::flat;

pub use recognized::{Direction, Places, Recognized, TreeFacts, rotated, turned};

/// Recognizes how `operation` was done by processes at these places, from its messages by sender and
/// their order there; at least one. `root`: slot of the root if there is one.
///
/// `None` for what no algorithm is asked of, as constructors.
pub fn recognize(
    operation: Operation,
    places: Places<'_>,
    root: Option<u32>,
    sent: &[Sent],
) -> Option<Recognized> {
    // What a process sends to itself tells nothing of who is connected to whom.
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
    let Places { hosts, groups } = places;
    let flat = flat(operation, hosts.len() as u32, root, sent)?;
    if let Some(groups) = groups {
        return Some(groups::recognize(operation, groups, root, sent));
    }
    // Some graphs are both. Then it tells whether the levels have tags of their own.
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
mod recognized;
mod root;
mod some;
#[cfg(test)]
mod tests;
