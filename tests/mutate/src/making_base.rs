//! A trace to begin with in which communicators are made, several at a time, and the messages of which
//! stand in the calls of others, as the library sends them.

use std::collections::BTreeMap;

use collbench_formats::{
    Abi, CompletingCall, Completion, Creation, Direction, Initiation, Message, NO_TAG, Operation,
    RankTrace, Record, Semantics,
};

use crate::inside_base::with_identity;
use crate::records::rewrite;

/// Communicators that are made in two threads at once, without blocking, and between two groups; and
/// several collectives under way on one of them.
pub(crate) const MAKING_SCENARIO: (&str, &str) = (
    "making",
    r#"
schema = 1
name = "making"
grid_ns = 10
chunk_calls = 70
[threads]
left = 1
right = 2
[[hosts]]
name = "a"
ranks = 4
clock = "raw"
[[program]]
operation = "MPI_Comm_dup"
makes = "left"
[[program]]
operation = "MPI_Comm_dup"
makes = "right"
[[program]]
operation = "MPI_Comm_split"
split = { colours = [0, 0, 1, 1] }
makes = "halves"
[[program]]
repeat = 9
steps = [
  { operation = "MPI_Comm_dup", on = "left", makes = "a", work = [{ exponential_ns = 3000 }] },
  { operation = "MPI_Comm_dup", on = "right", makes = "b", work = [{ exponential_ns = 3000 }] },
  { operation = "MPI_Comm_dup", makes = "c", work = [{ exponential_ns = 3000 }] },
  { operation = "MPI_Comm_split", makes = "d" },
  { operation = "MPI_Allreduce", on = "c", bytes = 8, tree = "recursive-doubling" },
  { operation = "MPI_Intercomm_create", on = "halves", makes = "bridge" },
  { operation = "MPI_Iallreduce", bytes = 8 },
  { operation = "MPI_Ibcast", bytes = 8, root = 1 },
  { operation = "MPI_Iallreduce", on = "d", bytes = 8 },
  { complete = "MPI_Waitall", work = [{ exponential_ns = 20000 }] },
  { operation = "MPI_Comm_free", on = "a" },
  { operation = "MPI_Comm_free", on = "b" },
  { operation = "MPI_Comm_free", on = "c" },
  { operation = "MPI_Comm_free", on = "d" },
  { operation = "MPI_Comm_free", on = "bridge" },
]
"#,
);

/// Tags of nonblocking collectives are this or lower.
const FIRST_TAG: i16 = -40;
/// Collectives of the library's own for one communicator.
const STEPS: u32 = 3;

/// One call that makes a communicator.
#[derive(Clone, Copy)]
struct Made {
    /// Index of the communicator that it was called on.
    on: u32,
    position: u32,
}

/// What the library tells while it makes communicators: messages, for which call they are, and the
/// completion of some that go on while the next is made.
pub(crate) fn with_makings(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let Ok(trace) = RankTrace::parse(&bytes) else {
        return bytes;
    };
    let rank = trace.identity.rank;
    with_identity(&mut bytes, |identity| identity.mpi.abi = Abi::OpenMpi);
    let mut positions: BTreeMap<u32, u32> = BTreeMap::new();
    rewrite(&mut bytes, &mut |records| {
        let mut pending: Option<Made> = None;
        let before = std::mem::take(records);
        for record in &before {
            let mut record = *record;
            let operation = record.operation().filter(|_| !record.is_internal());
            let has_position = |op: &Operation| op.semantics() != Semantics::Process;
            let made = operation.filter(has_position).map(|_| {
                let on = record.communicator.get();
                let next = positions.entry(on).or_default();
                *next += 1;
                let position = *next - 1;
                Made { on, position }
            });
            let (enter, leave) = (record.enter.get(), record.leave.get());
            let (Some(made), true) = (made, enter < leave) else {
                records.push(record);
                continue;
            };
            match operation {
                // Not in the last record of a chunk, behind which its messages would stand.
                Some(Operation::CommDup) if made.on == 0 && made.position > 2 => {
                    let (on, new) = (made.on, record.root.get());
                    record = Record::call(Operation::CommIdup, 0, on, new, 0, enter, leave);
                    records.push(record);
                    pending = Some(made);
                }
                Some(Operation::CommDup | Operation::CommSplit) => {
                    records.push(record);
                    let all: Vec<Made> = pending.take().into_iter().chain([made]).collect();
                    let n = all.len() as u64;
                    for (made, nth) in all.iter().zip(0..) {
                        let part = (leave - enter) / n;
                        let from = enter + part * nth;
                        records.extend(steps(*made, rank ^ 1, (from, from + part)));
                    }
                    if n > 1 {
                        records.push(completion(all[0], leave));
                    }
                }
                Some(Operation::IntercommCreate) => {
                    records.push(record);
                    records.extend(between_groups(made, rank, (enter, leave)));
                }
                _ => records.push(record),
            }
        }
    });
    bytes
}

/// A message both ways, one after the other within a span.
fn both_ways(communicator: u32, tag: u16, partner: u32, (from, to): (u64, u64)) -> [Record; 2] {
    [Direction::Receive, Direction::Send].map(|direction| {
        let message = Message {
            direction,
            is_nonblocking: true,
            partner,
            communicator,
            tag,
            bytes: 4,
        };
        let begin = match direction {
            Direction::Receive => from,
            Direction::Send => from + (to - from) / 2,
        };
        Record::of_words(message.words(), begin, to)
    })
}

fn making(made: Made, tag: u16, at: u64) -> Record {
    let making = Creation {
        communicator: made.on,
        tag,
        on: made.on,
        position: made.position,
    };
    Record::of_words(making.words(), at, 0)
}

/// The library's own collectives for a communicator, of which some send nothing at once.
fn steps(made: Made, partner: u32, (from, to): (u64, u64)) -> Vec<Record> {
    let part = (to - from) / u64::from(STEPS);
    let mut records = Vec::new();
    for (step, from) in (0..STEPS).map(|step| (step, from + part * u64::from(step))) {
        let tag = (FIRST_TAG - (STEPS * made.position + step) as i16) as u16;
        let is_silent = step + 1 == STEPS && made.position.is_multiple_of(2);
        if is_silent {
            records.push(making(made, NO_TAG, from));
        }
        records.extend(both_ways(made.on, tag, partner, (from, from + part)));
        if !is_silent {
            records.push(making(made, tag, from + part / 2));
        }
    }
    records
}

fn completion(made: Made, at: u64) -> Record {
    let completion = Completion {
        of: Initiation::Nonblocking {
            communicator: made.on,
            position: made.position.into(),
        },
        by: CompletingCall::Wait,
        n_together: 1,
    };
    Record::of_words(completion.words(), at, at)
}

/// What processes of two groups exchange within theirs, and with the other one; not the same each time.
fn between_groups(made: Made, rank: u32, (from, to): (u64, u64)) -> Vec<Record> {
    let n_others = made.position % 3;
    let part = (to - from) / u64::from(n_others + 1);
    let own = both_ways(made.on, FIRST_TAG as u16, rank ^ 1, (from, from + part));
    let mut records = own.to_vec();
    for (nth, from) in (0..n_others).map(|nth| (nth, from + part * u64::from(nth + 1))) {
        let tag = (-31079 - nth as i16) as u16;
        records.extend(both_ways(0, tag, rank ^ 2, (from, from + part)));
    }
    records
}

#[cfg(test)]
mod tests {
    use collbench_analyzer::Options;

    use crate::base::Bases;
    use crate::examine::analyze_trace;
    use crate::trace::Trace;

    #[test]
    fn what_is_sent_for_each_communicator_is_found_in_its_own_instance() {
        let scratch = tempfile::tempdir().unwrap();
        let bases = Bases::generate(scratch.path()).unwrap();
        for wanted in ["making", "making-packed"] {
            let mut all = bases.all().iter();
            let (_, trace) = all.find(|(name, _)| *name == wanted).unwrap();
            let directory = scratch.path().join(wanted);
            std::fs::create_dir_all(&directory).unwrap();
            trace.replace(&Trace::default(), &directory).unwrap();
            let analysis = analyze_trace(&directory, &Options::default()).unwrap();
            assert!(analysis.trace.complete, "{:?}", analysis.trace.damage);
            let ends = analysis.trace.message_ends.unwrap();
            let lost = (
                ends.unpaired_sends,
                ends.unpaired_receives,
                ends.sends_elsewhere,
            );
            assert_eq!(lost, (0, 0, 0), "{ends:?}");
            assert!(ends.sends_to_other_groups > 0, "{ends:?}");
            let operations = analysis.operations.iter();
            let idups = operations.filter(|of| of.operation == "MPI_Comm_idup");
            let messages = idups.flat_map(|of| of.edges.iter().flatten());
            assert!(messages.map(|edge| edge.messages).sum::<u64>() >= 100);
        }
    }
}
