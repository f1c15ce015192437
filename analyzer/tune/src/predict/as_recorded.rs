//! Instances as they ran, as schedules: where it is not known which algorithm that was.

use std::collections::BTreeSet;

use collbench_schedules::{Action, Process, Schedule, What};

use super::recorded::{Class, Instance};

/// Instances that are compared.
const COMPARED: usize = 20;

/// Something that a process did.
#[derive(Debug, Clone, Copy)]
struct Did {
    /// Its number among all that the process did.
    position: u32,
    what: What,
    /// When it began, ns.
    begin_ns: i64,
    /// When it had ended; `None` where that is not known, and of sends, for which nothing waits before the end: that
    /// could be for ever where long messages are announced first.
    end_ns: Option<i64>,
}

/// What each process of an instance did, by rank and in order.
fn did(instance: &Instance, n_processes: usize) -> Option<Vec<Vec<Did>>> {
    let mut by_rank: Vec<Vec<Did>> = vec![Vec::new(); n_processes];
    for of in &instance.messages {
        let [sent, received] = of.positions;
        by_rank.get_mut(of.from as usize)?.push(Did {
            position: sent,
            what: What::Send {
                to: of.to as usize,
                bytes: of.bytes,
                is_synchronous: false,
            },
            begin_ns: of.sent_ns,
            end_ns: None,
        });
        by_rank.get_mut(of.to as usize)?.push(Did {
            position: received,
            what: What::Receive {
                from: Some(of.from as usize),
            },
            begin_ns: of.posted_ns,
            end_ns: of.received_ns,
        });
    }
    for did in &mut by_rank {
        did.sort_by_key(|of| of.position);
    }
    Some(by_rank)
}

/// Of each action of a process those that had ended before it began.
fn ended_before(did: &[Did]) -> Vec<BTreeSet<usize>> {
    let before = |(at, of): (usize, &Did)| {
        let earlier = did[..at].iter().enumerate();
        let ended = earlier.filter(|(_, other)| other.end_ns.is_some_and(|ns| ns <= of.begin_ns));
        ended.map(|(at, _)| at).collect()
    };
    did.iter().enumerate().map(before).collect()
}

/// What the processes did in the instances of a class, as far as these are alike: an action waits for those that had ended
/// before it in all of them. `None` without messages.
pub(super) fn schedule(class: &Class) -> Option<Schedule> {
    let mut instances = (class.usual_instances())
        .filter_map(|of| did(of, class.ranks.len()))
        .take(COMPARED);
    let first = instances.next()?;
    let mut before: Vec<Vec<BTreeSet<usize>>> = first.iter().map(|did| ended_before(did)).collect();
    let whats = |of_all: &[Vec<Did>]| -> Vec<Vec<What>> {
        let whats = |did: &Vec<Did>| did.iter().map(|of| of.what).collect();
        of_all.iter().map(whats).collect()
    };
    let whats_of_first = whats(&first);
    for other in instances.filter(|other| whats(other) == whats_of_first) {
        let of_other = other.iter().flat_map(|did| ended_before(did));
        for (before, of_other) in before.iter_mut().flatten().zip(of_other) {
            before.retain(|at| of_other.contains(at));
        }
    }
    let processes = whats_of_first.into_iter().zip(before);
    let processes = processes.map(|(whats, before)| {
        let mut waited = BTreeSet::new();
        let actions = whats.into_iter().zip(before).map(|(what, before)| Action {
            what,
            after: (before.into_iter())
                .filter(|at| waited.insert(*at))
                .collect(),
        });
        let actions: Vec<Action> = actions.collect();
        Process {
            at_end: (0..actions.len())
                .filter(|at| !waited.contains(at))
                .collect(),
            actions,
        }
    });
    let schedule = Schedule {
        processes: processes.collect(),
    };
    schedule.messages().is_ok().then_some(schedule)
}
