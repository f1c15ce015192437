//! Traces to begin with in which collectives are seen inside.

use collbench_formats::{
    AlgorithmStart, Definition, Identity, Layer, LayerState, NO_RANK, Operation, RankTrace, Record,
    RecordKind, Running, UNKNOWN_COMMUNICATOR, write,
};

use crate::checksums;
use crate::meaning_mutations::replace_definitions;
use crate::records::rewrite;

/// Scenarios with messages, by name.
pub(crate) const INSIDE_SCENARIOS: [(&str, &str); 4] = [
    // Trees and exchanges of all kinds on three hosts that have measured their clocks, on the world and
    // on parts of it.
    (
        "inside",
        r#"
schema = 1
name = "inside"
grid_ns = 10
chunk_calls = 60
[[hosts]]
name = "a"
ranks = 3
clock = "raw"
[[hosts]]
name = "b"
ranks = 2
ghz = 2.1
offset_ns = -40000
drift_ppm = 1.5
[[hosts]]
name = "c"
ranks = 1
clock = "raw"
offset_ns = 7000000
[exchanges]
n = 10
one_way_ns = 9000
every_ns = 1000000
[network]
jitter = { exponential_ns = 900 }
rendezvous_bytes = 65536
links = [{ hosts = ["a", "c"], ns = 150000 }]
[[program]]
operation = "MPI_Comm_split"
split = { every = 2 }
makes = "halves"
[[program]]
repeat = 4
steps = [
  { operation = "MPI_Bcast", bytes = 8, root = "rotating", tree = "binomial", work = [{ exponential_ns = 30000 }] },
  { operation = "MPI_Reduce", bytes = 64, root = 2, tree = { shape = "binary", compute = [{ constant_ns = 700 }] } },
  { operation = "MPI_Allreduce", bytes = 64, tree = { shape = "knomial:4", posts_all = true, busy = [{ constant_ns = 40000, ranks = [4], share = 0.5 }] } },
  { operation = "MPI_Barrier", tree = [-1, 0, 1, 1, 0, 4], work = [{ exponential_ns = 30000 }] },
  { operation = "MPI_Allreduce", bytes = 8, tree = "recursive-doubling" },
  { operation = "MPI_Allgather", bytes = 100, tree = "ring" },
  { operation = "MPI_Barrier", on = "halves", tree = "dissemination", work = [{ exponential_ns = 30000 }] },
  { operation = "MPI_Bcast", bytes = 40000, root = 1, tree = { shape = "chain", segments = 5 } },
  { operation = "MPI_Gather", bytes = 200000, tree = { shape = "linear", posts_all = true } },
  { operation = "MPI_Reduce", on = "halves", bytes = 16, internal = true, tree = "binary" },
  { operation = "MPI_Scan", bytes = 8 },
]
"#,
    ),
    // Nonblocking and persistent ones, which go on in other calls.
    (
        "inside-begun",
        r#"
schema = 1
name = "inside-begun"
chunk_calls = 50
[[hosts]]
name = "a"
ranks = 3
clock = "raw"
[[hosts]]
name = "b"
ranks = 2
clock = "raw"
offset_ns = -3000000
[exchanges]
n = 10
one_way_ns = 1000
[network]
in_host_ns = 700
across_hosts_ns = 9000
[[program]]
repeat = 6
steps = [
  { operation = "MPI_Ibcast", bytes = 8, root = 3, begin_ns = 2500, tree = "binomial", work = [{ exponential_ns = 2000 }] },
  { complete = "MPI_Wait", complete_ns = 400, work = [{ exponential_ns = 30000 }] },
  { operation = "MPI_Allreduce", bytes = 8, tree = "recursive-doubling" },
  { operation = "MPI_Iallreduce", bytes = 64, begin_ns = 1500, tree = { shape = "binomial", posts_all = true } },
  { complete = "MPI_Waitall", tests = 3, complete_ns = 400, work = [{ exponential_ns = 40000 }] },
  { operation = "MPI_Reduce_init", bytes = 64, root = 2, begin_ns = 6000, tree = "binary", work = [{ exponential_ns = 90000 }] },
  { complete = "MPI_Wait", complete_ns = 400, work = [{ exponential_ns = 70000 }] },
  { operation = "MPI_Ibarrier", begin_ns = 900, tree = "linear" },
  { complete = "MPI_Testall", tests = 2 },
]
"#,
    ),
    // Rings that hold different stretches of it, one of them left open.
    (
        "inside-ring",
        r#"
schema = 1
name = "inside-ring"
chunk_calls = 20
keep_chunks = [6, 4, 9]
[[hosts]]
name = "a"
ranks = 4
clock = "raw"
[[program]]
repeat = 20
steps = [
  { operation = "MPI_Bcast", bytes = 8, root = "rotating", tree = "binomial", work = [{ exponential_ns = 3000 }] },
  { operation = "MPI_Iallreduce", bytes = 64, begin_ns = 1500, tree = "binomial" },
  { complete = "MPI_Wait", complete_ns = 400, work = [{ exponential_ns = 4000 }] },
  { operation = "MPI_Barrier", tree = "dissemination" },
]
[[faults]]
rank = 2
no_finalize = true
"#,
    ),
    // Ranks that end in the midst of it.
    (
        "inside-faults",
        r#"
schema = 1
name = "inside-faults"
chunk_calls = 40
[[hosts]]
name = "a"
ranks = 6
ghz = 2.5
[[program]]
repeat = 12
steps = [
  { operation = "MPI_Allreduce", bytes = 8, tree = "recursive-doubling", work = [{ normal_ns = [50000, 20000] }] },
  { operation = "MPI_Bcast", bytes = 100000, root = 2, tree = { shape = "chain", segments = 3 } },
]
[[faults]]
rank = 1
killed_after_calls = 15
[[faults]]
rank = 3
damaged_chunk = 1
[[faults]]
rank = 4
size_reached_after_calls = 18
[[faults]]
rank = 5
cut_at_fraction = 0.7
"#,
    ),
];

/// What the library has told besides: which algorithms it began, and whether threads were running;
/// some messages on a communicator of its own, some received from any process or complete as soon as
/// they were to be received. Of each operation that has messages all processes tell alike.
pub(crate) fn noted(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    add_layers(&mut bytes);
    add_names(&mut bytes);
    let mut n_calls = 0;
    rewrite(&mut bytes, &mut |records| {
        let before = std::mem::take(records);
        for (record, next) in before
            .iter()
            .zip(before.iter().skip(1).map(Some).chain([None]))
        {
            let is_call = record.operation().is_some();
            n_calls += u32::from(is_call);
            if is_call && n_calls % 5 == 0 {
                let words = Running {
                    elapsed_ticks: 100_000,
                    on_core_us: 20 * (n_calls % 4),
                    n_blocked: (n_calls % 3) as u16,
                    n_preempted: (n_calls % 2) as u16,
                }
                .words();
                records.push(Record::of_words(words, record.enter.get(), 0));
            }
            records.push(of_the_library(record, n_calls));
            let has_messages =
                next.is_some_and(|next| next.kind() == Some(RecordKind::Message)) && is_call;
            if has_messages {
                // Of one algorithm that is made of another there are two notes.
                for index in 0..=u32::from(n_calls % 3 == 0) {
                    let words = AlgorithmStart { index }.words();
                    records.push(Record::of_words(words, record.enter.get(), 0));
                }
            }
        }
    });
    bytes
}

/// A message as another library would send it, by its operation, within the n-th call; any other
/// record as it is.
fn of_the_library(record: &Record, nth: u32) -> Record {
    let Some(mut message) = record.message() else {
        return *record;
    };
    // The generator's tags lie below zero by the operation.
    let is_of = |operation: Operation| message.tag == operation.code().wrapping_neg();
    let is_receive = message.direction == collbench_formats::Direction::Receive;
    let (enter, mut leave) = (record.enter.get(), record.leave.get());
    if is_of(Operation::Allgather) {
        message.communicator = UNKNOWN_COMMUNICATOR;
    } else if is_of(Operation::Gather) && is_receive {
        message.partner = NO_RANK;
    } else if is_of(Operation::Allreduce) && is_receive && nth.is_multiple_of(3) {
        (message.is_nonblocking, leave) = (false, leave.min(enter + 1));
    }
    Record::of_words(message.words(), enter, leave)
}

/// Says that these layers were recorded.
fn add_layers(bytes: &mut Vec<u8>) {
    with_identity(bytes, |identity| {
        let layers = [Layer::Algorithms, Layer::Switches];
        let layers = layers.map(|layer| LayerState::new(layer, true, ""));
        identity.layers.extend(layers);
    });
}

/// Changes what a rank file says of its process.
pub(crate) fn with_identity(bytes: &mut Vec<u8>, change: impl FnOnce(&mut Identity)) {
    let Ok(trace) = RankTrace::parse(bytes) else {
        return;
    };
    let mut identity = trace.identity.clone();
    let chunks_at = trace.header.header_length.get() as usize;
    change(&mut identity);
    let Ok(mut new) = write::file_header(&identity, None) else {
        return;
    };
    // How recording ended stays as it was.
    new[40..256].copy_from_slice(&bytes[40..256]);
    new.extend_from_slice(&bytes[chunks_at..]);
    *bytes = new;
    checksums::make_right(bytes);
}

fn add_names(bytes: &mut Vec<u8>) {
    let Ok(trace) = RankTrace::parse(bytes) else {
        return;
    };
    let mut definitions: Vec<Definition> = trace.definitions.iter().collect();
    let names = ["intra_binomial", "intra_ring"];
    definitions.extend((0..).zip(names).map(|(index, name)| Definition::Algorithm {
        index,
        name: name.to_owned(),
    }));
    replace_definitions(bytes, &definitions);
}

#[cfg(test)]
mod tests {
    use collbench_analyzer::{Analysis, Options};

    use crate::base::Bases;
    use crate::examine::analyze_trace;
    use crate::trace::Trace;

    fn of_base(name: &str) -> Analysis {
        let scratch = tempfile::tempdir().unwrap();
        let bases = Bases::generate(scratch.path()).unwrap();
        let (_, trace) = bases
            .all()
            .iter()
            .find(|(known, _)| *known == name)
            .unwrap();
        trace.replace(&Trace::default(), scratch.path()).unwrap();
        analyze_trace(scratch.path(), &Options::default()).unwrap()
    }

    #[test]
    fn what_is_mutated_has_messages_of_all_kinds() {
        for name in ["inside", "inside-begun", "inside-ring", "inside-faults"] {
            for name in [name.to_owned(), format!("{name}-packed")] {
                let ends = of_base(&name).trace.message_ends.unwrap();
                assert!(ends.paired >= 100, "{name}: {ends:?}");
            }
        }
        let whole = of_base("inside").trace;
        assert!(whole.complete, "{:?}", whole.damage);
        let ends = whole.message_ends.unwrap();
        assert_eq!(
            (ends.unpaired_sends, ends.sends_elsewhere),
            (0, 0),
            "{ends:?}"
        );
    }

    #[test]
    fn notes_do_not_hide_messages_and_are_counted() {
        let (without, with) = (of_base("inside"), of_base("inside-noted"));
        assert!(with.trace.complete, "{:?}", with.trace.damage);
        let ends = |analysis: &Analysis| analysis.trace.message_ends.unwrap();
        assert_eq!(
            ends(&with).paired,
            ends(&without).paired,
            "{:?}",
            ends(&with)
        );
        assert!(ends(&with).from_any > 0);
        let algorithms = with.algorithms.unwrap();
        assert!(algorithms.iter().all(|found| found.calls > 0) && algorithms.len() > 5);
        assert!(with.running.is_some());
    }
}
