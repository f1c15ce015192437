//! For whom ranks wait in the calls that complete nonblocking collectives, after all have initiated them.
//!
//! Without progress between its calls a collective goes on only while all ranks are in MPI. So who arrives last at its
//! completing call, because it works longer, makes the others wait in theirs, though it initiated the collective in time.
//! As in point-to-point communication this is known as sums over the whole run.

use std::collections::BTreeMap;

use collbench_formats::Semantics;

use crate::judge::causes::partners::{WaitedFor, Whole, waited_for};
use crate::judge::inputs::Inputs;
use crate::judge::operations::by_time;

/// Instances of nonblocking collectives on a communicator from which on the sums say something.
const MIN_INSTANCES: u64 = 5;

/// Those who are waited for in the completing calls of nonblocking collectives on a communicator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LateToComplete {
    /// Index of the operation whose completing calls take longest.
    pub(crate) operation: usize,
    /// Id of the communicator.
    pub(crate) entry: usize,
    /// The processes of the run, and what it costs.
    pub(crate) waited_for: WaitedFor,
}

/// The nonblocking collectives on a communicator in which all wait for all.
#[derive(Debug, Clone, Default)]
struct Completions {
    /// Index of the longest operation: the first in the order of the results.
    operation: usize,
    instances: u64,
    /// Time of each member in completing calls, without waits for ranks that initiate late, ns.
    by_position: Vec<i64>,
}

/// Those who are waited for in completing calls, by communicator; `whole`: what each process did in the whole run.
/// `rank_ns`: the time of all ranks, ns.
pub(crate) fn late_to_complete(
    inputs: &Inputs<'_>,
    whole: &[Whole],
    rank_ns: i128,
) -> Vec<LateToComplete> {
    let mut all: BTreeMap<usize, Completions> = BTreeMap::new();
    for (index, (key, tally)) in by_time(inputs).into_iter().enumerate() {
        let semantics = key.operation.semantics();
        let of_all = matches!(semantics, Semantics::Barrier | Semantics::AllToAll);
        let Some(entry) = key.entry.filter(|_| tally.overlap.is_some() && of_all) else {
            continue;
        };
        let of_entry = all.entry(entry).or_insert_with(|| Completions {
            operation: index,
            by_position: vec![0; tally.members.len()],
            ..Completions::default()
        });
        of_entry.instances += tally.instances;
        for (sum_ns, member) in of_entry.by_position.iter_mut().zip(&tally.members) {
            let in_calls_ns = member.call_ns.saturating_sub(member.initiation_ns);
            let ns = in_calls_ns.saturating_sub(member.wait_ns).max(0);
            *sum_ns = sum_ns.saturating_add(ns);
        }
    }
    let late = all.into_iter().filter_map(|(entry, of)| {
        let waited_for = waited_for_on(inputs, whole, entry, &of.by_position, rank_ns)?;
        (of.instances >= MIN_INSTANCES).then_some(LateToComplete {
            operation: of.operation,
            entry,
            waited_for,
        })
    });
    late.collect()
}

/// Who works longer than the others on a communicator that spend time in calls there: of each member, ns; `whole`: what
/// each process did in the whole run. `rank_ns`: the time of all ranks, ns.
pub(super) fn waited_for_on(
    inputs: &Inputs<'_>,
    whole: &[Whole],
    entry: usize,
    in_calls_ns: &[i64],
    rank_ns: i128,
) -> Option<WaitedFor> {
    let ranks = &inputs.communicators.entries[entry].ranks;
    let process = |rank: u32| {
        let mut processes = inputs.run.processes.iter();
        processes.position(|process| process.rank() == rank)
    };
    let processes: Vec<usize> = ranks
        .iter()
        .map(|rank| process((*rank)?))
        .collect::<Option<_>>()?;
    let members = processes.iter().zip(in_calls_ns);
    let members: Vec<Whole> = members
        .map(|(&process, &ns)| Whole {
            own_ns: whole[process].own_ns,
            with_partners_ns: ns,
            waited_ns: 0,
            partner: None,
        })
        .collect();
    let mut waited_for = waited_for(&members, rank_ns)?;
    for member in &mut waited_for.processes {
        *member = processes[*member];
    }
    Some(waited_for)
}
