//! Reading a rank file: going through its chunks, and the cost of each record that is looked at.

use collbench_formats::write::{ChunkPosition, file_header, records_chunk};
use collbench_formats::{Anchor, Identity, Operation, RankTrace, Record};
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};

/// Records in a chunk of the recorder, in the long run.
const PER_CHUNK: u64 = 32_000;

fn main() {
    divan::main();
}

/// A file of `n_chunks` chunks of barriers and allreduces: finished if `closed`, otherwise of a
/// killed process, so that the end of each chunk has to be found.
fn rank_file(n_chunks: u32, closed: bool) -> Vec<u8> {
    let anchor = Anchor::from([1_000, 500, 500, 500, 4]);
    let identity = Identity {
        anchors: vec![anchor.into()],
        ..Identity::made_up(0, 2)
    };
    let n_records = u64::from(n_chunks) * PER_CHUNK;
    let end = closed.then_some((anchor, n_records));
    let mut bytes = file_header(&identity, end).expect("a small identity");
    for ordinal in 0..n_chunks {
        let first_record = u64::from(ordinal) * PER_CHUNK;
        let records: Vec<Record> = (first_record..first_record + PER_CHUNK)
            .map(|i| {
                let (operation, payload) = match i % 4 {
                    0 => (Operation::Allreduce, 8),
                    _ => (Operation::Barrier, 0),
                };
                Record::call(operation, 0, 0, -1, payload, 2_000 + i * 50, 2_020 + i * 50)
            })
            .collect();
        let place = ChunkPosition {
            thread: 0,
            ordinal,
            first_record,
            first_call: 0,
            anchor,
            prepare: (1_000, 1_100),
        };
        bytes.extend(records_chunk(&place, &[], &records, closed));
    }
    bytes
}

/// The time grows with the number of chunks, not with that of records in them.
#[divan::bench(args = [1, 16, 64])]
fn parse_finished(bencher: Bencher<'_, '_>, n_chunks: u32) {
    let bytes = rank_file(n_chunks, true);
    bencher
        .counter(ItemsCount::new(n_chunks))
        .bench(|| RankTrace::parse(black_box(&bytes)));
}

/// A file of a killed process: the end of each chunk has to be found.
#[divan::bench(args = [1, 16, 64])]
fn parse_killed(bencher: Bencher<'_, '_>, n_chunks: u32) {
    let bytes = rank_file(n_chunks, false);
    bencher
        .counter(ItemsCount::new(n_chunks))
        .bench(|| RankTrace::parse(black_box(&bytes)));
}

/// Every field that an analysis asks a record for.
#[divan::bench]
fn decode_records(bencher: Bencher<'_, '_>) {
    let bytes = rank_file(16, true);
    let trace = RankTrace::parse(&bytes).expect("a sound file");
    bencher.counter(ItemsCount::new(16 * PER_CHUNK)).bench(|| {
        let mut sum = 0;
        for record in trace.chunks.iter().flat_map(|chunk| chunk.records.iter()) {
            if record.operation().is_some_and(Operation::is_counted) && !record.is_internal() {
                sum += record.leave.get() - record.enter.get()
                    + record.payload_bytes().unwrap_or(0)
                    + u64::from(record.communicator.get());
            }
        }
        sum
    });
}
