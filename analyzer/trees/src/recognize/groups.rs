//! Recognizes collectives on intercommunicators: one group has data for the other one, or each for
//! the other.
//!
//! Ranks are those in the groups. Data flow directly from group to group, or through the leaders,
//! the first rank of each group; then the pattern within each group is recognized.

use std::collections::BTreeSet;

use collbench_formats::{Operation, Semantics};

use super::super::algorithm::{Algorithm, Pattern, Rooted, ThenFromLeader, Within};
use super::super::exchanges::{Edge, Edges, Sent, Traffic};
use super::flat::flat;
use super::levels;
use super::partial::loose_tree;
use super::recognized::{Direction, Flat, Recognized, rooted};
use super::root::{from_root, to_root};

/// Recognizes how the two groups did `operation`; `root` as in [`recognize`](super::recognize).
pub(super) fn recognize(
    operation: Operation,
    groups: &[u32],
    root: Option<u32>,
    sent: &[Sent],
) -> Recognized {
    let operation = operation.blocking();
    let found = match (operation.semantics(), root) {
        (Semantics::OneToMany, Some(root)) => {
            one_way(operation, groups, root, Direction::Up, sent).map(Recognized::from)
        }
        (Semantics::ManyToOne, Some(root)) => {
            one_way(operation, groups, root, Direction::Down, sent).map(Recognized::from)
        }
        _ => each_for_the_other(operation, groups, sent)
            .map(|name| Flat::exchange(name).into())
            .or_else(|| by_leaders(operation, groups, sent))
            .or_else(|| from_one_group(operation, groups, sent))
            .or_else(|| to_other_leader(operation, groups, sent)),
    };
    let n = groups.len() as u32;
    let found = found.or_else(|| loose_tree(&Traffic::new(n, sent)).map(Recognized::from));
    found.unwrap_or_else(|| Flat::exchange(Pattern::Unrecognized).into())
}

/// Between the root and the other group.
fn one_way(
    operation: Operation,
    groups: &[u32],
    root: u32,
    direction: Direction,
    sent: &[Sent],
) -> Option<Flat> {
    let own = groups[root as usize];
    let others = (0..groups.len() as u32).filter(|&slot| groups[slot as usize] != own);
    let slots: Vec<u32> = std::iter::once(root).chain(others).collect();
    let number = |slot: u32| slots.iter().position(|&other| other == slot);
    let sent: Option<Vec<Sent>> = sent
        .iter()
        .map(|sent| {
            Some(Sent {
                from: number(sent.from)? as u32,
                to: number(sent.to)? as u32,
                ..*sent
            })
        })
        .collect();
    let mut sent = sent?;
    sent.sort_by_key(|sent| sent.from);
    let n = slots.len() as u32;
    let direct = flat(operation, n, Some(0), &sent).filter(|found| !found.is_unnamed());
    let found = direct.or_else(|| via_leader(operation, n, direction, &sent))?;
    let slot = |(from, to): Edge| (slots[from as usize], slots[to as usize]);
    Some(Flat {
        names: found.names,
        // It does not span the other ranks of the root's group.
        tree: None,
        directed: (found.directed.into_iter())
            .map(|(edge, direction)| (slot(edge), direction))
            .collect(),
    })
}

/// Between number 0, the root, and number 1, the leader of the other group, and along a tree within
/// that group.
fn via_leader(operation: Operation, n: u32, direction: Direction, sent: &[Sent]) -> Option<Flat> {
    let (within, between): (Vec<Sent>, Vec<Sent>) =
        sent.iter().partition(|sent| sent.from > 0 && sent.to > 0);
    let edge = match direction {
        Direction::Up => (0, 1),
        Direction::Down => (1, 0),
    };
    if between.iter().any(|sent| (sent.from, sent.to) != edge) {
        return None;
    }
    let within: Vec<Sent> = (within.into_iter())
        .map(|sent| Sent {
            from: sent.from - 1,
            to: sent.to - 1,
            ..sent
        })
        .collect();
    let traffic = Traffic::new(n - 1, &within);
    let found = match direction {
        Direction::Up => from_root(operation, &traffic, Some(0)),
        Direction::Down => to_root(operation, &traffic, Some(0)),
    }?;
    let Pattern::Rooted(Rooted::Tree(name)) = found.names[0] else {
        return None;
    };
    let directed = found.directed.into_iter();
    let directed = directed.map(|((from, to), direction)| ((from + 1, to + 1), direction));
    let first = std::iter::once((edge, direction));
    Some(rooted(Rooted::ByWayOfFirst(name), directed.chain(first)))
}

/// From every rank to every rank of the other group, as far as they have data for one another.
fn each_for_the_other(operation: Operation, groups: &[u32], sent: &[Sent]) -> Option<Pattern> {
    let n = groups.len() as u32;
    let traffic = Traffic::new(n, sent);
    let slots = || 0..n;
    let is_apart = |(from, to): &Edge| groups[*from as usize] != groups[*to as usize];
    let all: Edges = slots()
        .flat_map(|from| slots().map(move |to| (from, to)))
        .filter(is_apart)
        .collect::<BTreeSet<Edge>>();
    let is_all = match operation {
        Operation::Allgatherv | Operation::Alltoallv | Operation::Alltoallw => {
            traffic.is_within(&all)
        }
        _ => traffic.is_exactly(&all),
    };
    let is_direct = traffic.is_once() && is_all;
    is_direct.then(|| {
        if traffic.is_at_once() {
            Pattern::Linear
        } else if traffic.is_one_by_one() {
            Pattern::Pairwise
        } else {
            Pattern::LinearSynchronized
        }
    })
}

/// To the leader of each group, between the leaders, and back.
fn by_leaders(operation: Operation, groups: &[u32], sent: &[Sent]) -> Option<Recognized> {
    let (levels, directed) = levels::recognize_groups(operation, groups, sent)?;
    let Within::ToAndFrom(to, from) = levels.within else {
        return None;
    };
    let between = levels.between;
    Some(Recognized {
        names: vec![Algorithm::TwoGroups { between, to, from }],
        tree: None,
        directed,
    })
}

/// To the leader of the sending group, between the leaders, and from the leader of the other group.
fn from_one_group(operation: Operation, groups: &[u32], sent: &[Sent]) -> Option<Recognized> {
    if !matches!(operation, Operation::Allgather | Operation::Allgatherv) {
        return None;
    }
    let from = |giver| levels::recognize_one_way(operation, groups, giver, sent);
    let (parts, directed) = from(0).or_else(|| from(1))?;
    let (between, to, from) = (parts.between, parts.to, parts.from);
    Some(Recognized {
        names: vec![Algorithm::FromOneGroup { between, to, from }],
        tree: None,
        directed,
    })
}

/// From every rank to the leader of the other group, which forwards the data within its own group,
/// or answers.
///
/// # Source
/// Open MPI 4.1, `coll_basic_reduce_scatter.c` and `coll_basic_reduce_scatter_block.c`, and libnbc's
/// `nbc_iallreduce.c`, `nbc_ibarrier.c` and `nbc_ireduce_scatter_block.c`, on intercommunicators.
fn to_other_leader(operation: Operation, groups: &[u32], sent: &[Sent]) -> Option<Recognized> {
    let leader = |group: u32| groups.iter().position(|&other| other == group);
    let leaders = [leader(0)? as u32, leader(1)? as u32];
    let of_other = |slot: u32| leaders[1 - groups[slot as usize] as usize];
    let (within, between): (Vec<Sent>, Vec<Sent>) = sent
        .iter()
        .partition(|sent| groups[sent.from as usize] == groups[sent.to as usize]);
    let is_there = |sent: &Sent| sent.to == of_other(sent.from);
    let is_back = |sent: &Sent| sent.from == of_other(sent.to);
    let traffic = Traffic::new(groups.len() as u32, &between);
    let there: Edges = (0..groups.len() as u32)
        .map(|slot| (slot, of_other(slot)))
        .collect();
    if !traffic.has_all(&there) || !between.iter().all(|sent| is_there(sent) || is_back(sent)) {
        return None;
    }
    // Between the leaders both directions are alike.
    let has_answers = !traffic.is_exactly(&there) || !traffic.is_once();
    let mut directed: Vec<(Edge, Direction)> = Vec::new();
    let then = match (within.is_empty(), has_answers) {
        (true, false) => ThenFromLeader::Nothing,
        (true, true) => ThenFromLeader::Back,
        (false, true) => return None,
        (false, false) => {
            let mut names: Vec<Vec<Pattern>> = Vec::new();
            for (group, leader) in [0, 1].into_iter().zip(leaders) {
                let slots = (0..groups.len() as u32).filter(|&slot| groups[slot as usize] == group);
                let slots: Vec<u32> = slots.collect();
                let part = levels::Part::of(slots, &within);
                if part.is_idle() {
                    continue;
                }
                let root = part.number(leader);
                let found = part.along(operation, root, Direction::Up)?;
                part.add_directed(&found, &mut directed);
                names.push(found.names);
            }
            names.sort_by_key(|names| names.len());
            ThenFromLeader::Within(levels::common(&names))
        }
    };
    Some(Recognized {
        names: vec![Algorithm::ToOtherLeader(then)],
        tree: None,
        directed,
    })
}
