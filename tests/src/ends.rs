//! The messages in a trace, as its format says, and how they meet.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

use crate::rank_files;
use collbench_formats::{
    Definition, Direction, Message, Operation, RankTrace, Record, RecordKind, UNKNOWN_COMMUNICATOR,
};

/// One end of a message, as a process saw it.
#[derive(Debug, Clone, Copy)]
pub struct End {
    /// World rank of the process.
    pub rank: u32,
    /// What all members call the communicator; `None` for one that the library made for itself.
    pub communicator: Option<u64>,
    /// The call of the application that was under way.
    pub within: Option<Operation>,
    /// What the record says of it.
    pub message: Message,
    /// When it began, ticks.
    pub begin: u64,
    /// When it ended, ticks; 0 where that is not known.
    pub end: u64,
}

/// All ends of all messages of a trace, by process in the order in which they began.
///
/// # Panics
///
/// If the trace cannot be read.
pub fn ends(trace: &Path) -> Vec<Vec<End>> {
    let mut of_ranks = BTreeMap::new();
    for path in rank_files(trace) {
        let bytes = std::fs::read(path).unwrap();
        let parsed = RankTrace::parse(&bytes).unwrap();
        let rank = parsed.identity.rank;
        let ids: BTreeMap<u32, u64> = parsed
            .definitions
            .iter()
            .filter_map(|definition| match definition {
                Definition::Communicator(communicator) => {
                    Some((communicator.index, communicator.id))
                }
                _ => None,
            })
            .collect();
        let mut within: Option<&Record> = None;
        let mut ends = Vec::new();
        let records: Vec<Record> = (parsed.chunks.iter())
            .flat_map(|chunk| (0..chunk.records.len()).filter_map(|at| chunk.records.get(at)))
            .collect();
        for record in &records {
            if record.kind() == Some(RecordKind::Call) && !record.is_internal() {
                within = Some(record);
            }
            let Some(message) = record.message() else {
                continue;
            };
            let begin = record.enter.get();
            ends.push(End {
                rank,
                communicator: match message.communicator {
                    UNKNOWN_COMMUNICATOR => None,
                    index => Some(ids[&index]),
                },
                within: within
                    .filter(|call| begin < call.leave.get())
                    .and_then(Record::operation),
                message,
                begin,
                end: record.leave.get(),
            });
        }
        of_ranks.insert(rank, ends);
    }
    of_ranks.into_values().collect()
}

/// Who sends to whom in `MPI_Bcast` on `MPI_COMM_WORLD`, by world rank.
#[must_use]
pub fn edges_of_bcast(ends: &[Vec<End>]) -> BTreeSet<(u32, u32)> {
    edges_of_bcasts(ends).remove(&0).unwrap_or_default()
}

/// Who sends to whom in `MPI_Bcast`, by world rank, on each communicator by its index: the communicators of
/// a program in which all processes make the same ones.
#[must_use]
pub fn edges_of_bcasts(ends: &[Vec<End>]) -> BTreeMap<u32, BTreeSet<(u32, u32)>> {
    let ends = ends.iter().flatten();
    let sends = ends.filter(|end| {
        end.within == Some(Operation::Bcast) && end.message.direction == Direction::Send
    });
    let mut edges: BTreeMap<u32, BTreeSet<(u32, u32)>> = BTreeMap::new();
    for send in sends {
        if let Some(to) = send.message.known_partner()
            && send.message.communicator != UNKNOWN_COMMUNICATOR
        {
            let of_it = edges.entry(send.message.communicator).or_default();
            of_it.insert((send.rank, to));
        }
    }
    edges
}

/// Checks that receives take what was sent, and end behind the begin of the send on the one clock
/// that they have. Gives how many of them have an end.
///
/// # Panics
///
/// If one does not.
#[must_use]
pub fn n_received(pairs: &[(End, End)]) -> usize {
    for (send, receive) in pairs {
        assert!(
            send.message.bytes <= receive.message.bytes,
            "{send:?} {receive:?}"
        );
        if receive.end != 0 {
            assert!(receive.end >= send.begin, "{send:?} {receive:?}");
            assert!(receive.end >= receive.begin, "{receive:?}");
        }
    }
    pairs.iter().filter(|(_, receive)| receive.end != 0).count()
}

/// Pairs sends and receives that name their partner, in their order between two processes; checks
/// that what is left are receives from any and as many sends. Gives the pairs.
///
/// # Panics
///
/// If an end is left alone.
#[must_use]
pub fn paired(ends: &[Vec<End>]) -> Vec<(End, End)> {
    type Way = (u32, u32, Option<u64>, u16);
    let mut sent: BTreeMap<Way, VecDeque<End>> = BTreeMap::new();
    for end in ends.iter().flatten() {
        if end.message.direction == Direction::Send {
            let to = end
                .message
                .known_partner()
                .expect("a send names its partner");
            let way = (end.rank, to, end.communicator, end.message.tag);
            sent.entry(way).or_default().push_back(*end);
        }
    }
    let mut pairs = Vec::new();
    let mut from_any: BTreeMap<(u32, Option<u64>, u16), usize> = BTreeMap::new();
    for end in ends.iter().flatten() {
        if end.message.direction == Direction::Send {
            continue;
        }
        match end.message.known_partner() {
            None => {
                let key = (end.rank, end.communicator, end.message.tag);
                *from_any.entry(key).or_default() += 1;
            }
            Some(from) => {
                let way = (from, end.rank, end.communicator, end.message.tag);
                let send = sent.get_mut(&way).and_then(VecDeque::pop_front);
                pairs.push((send.unwrap_or_else(|| panic!("nobody sends {end:?}")), *end));
            }
        }
    }
    for ((_, to, communicator, tag), left) in sent.into_iter().filter(|(_, left)| !left.is_empty())
    {
        let any = from_any.entry((to, communicator, tag)).or_default();
        *any = any
            .checked_sub(left.len())
            .unwrap_or_else(|| panic!("nobody receives {left:?}"));
    }
    assert!(from_any.values().all(|&n| n == 0), "{from_any:?}");
    pairs
}
