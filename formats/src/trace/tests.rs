use proptest::prelude::*;
use zerocopy::IntoBytes;

use crate::*;

pub(crate) fn anchor(ticks: u64) -> Anchor {
    [ticks, ticks / 2, ticks / 2 + 7, ticks / 2 + 9, 3].into()
}

pub(crate) fn place(ordinal: u32, first_record: u64, ticks: u64) -> write::ChunkPosition {
    write::ChunkPosition {
        thread: 0,
        ordinal,
        first_record,
        first_call: 0,
        anchor: anchor(ticks),
        prepare: (0, 0),
    }
}

pub(crate) fn identity() -> Identity {
    Identity {
        anchors: vec![anchor(10).into(), anchor(20).into()],
        ..Identity::made_up(1, 4)
    }
}

fn world() -> Definition {
    Definition::Communicator(Communicator {
        name: "MPI_COMM_WORLD".into(),
        ..Communicator::predefined(0, 5, 4, 1)
    })
}

pub(crate) fn calls(from: u64, n: u64) -> Vec<Record> {
    (from..from + n)
        .map(|i| {
            Record::call(
                Operation::Allreduce,
                0,
                0,
                -1,
                8,
                100 + 10 * i,
                105 + 10 * i,
            )
        })
        .collect()
}

/// Two chunks of records, the second one open, and a chunk of definitions between them.
pub(crate) fn file(in_first: u64, in_second: u64, finalized: bool) -> Vec<u8> {
    let end = finalized.then(|| (anchor(9_000_000), in_first + in_second));
    let mut bytes = write::file_header(&identity(), end).unwrap();
    bytes.extend(write::records_chunk(
        &place(0, 0, 90),
        &[],
        &calls(0, in_first),
        true,
    ));
    bytes.extend(write::definitions_chunk(0, anchor(95), &[world()]).unwrap());
    let entry = SequenceEntry {
        communicator: 0.into(),
        internal_calls: 0.into(),
        calls: in_first.into(),
    };
    let second = calls(in_first, in_second);
    bytes.extend(write::records_chunk(
        &place(1, in_first, 99),
        &[entry],
        &second,
        false,
    ));
    bytes
}

#[test]
fn a_complete_file_is_read_as_it_was_written() {
    let bytes = file(300, 5, true);
    let trace = RankTrace::parse(&bytes).unwrap();
    assert_eq!(trace.identity, identity());
    assert_eq!(trace.definitions.iter().collect::<Vec<_>>(), [world()]);
    assert_eq!(trace.damage, []);
    let records: Vec<_> = trace.chunks.iter().flat_map(|c| c.records.iter()).collect();
    assert_eq!(records, calls(0, 305));
    assert_eq!(trace.chunks[1].sequences[0].calls.get(), 300);
    let ticks: Vec<_> = trace.anchors.iter().map(|a| a.ticks.get()).collect();
    assert_eq!(ticks, [10, 20, 90, 95, 99, 9_000_000]);
}

#[test]
fn a_damaged_end_is_reported_and_not_used_and_one_without_checksum_is_used() {
    let complete = file(300, 5, true);
    let at = std::mem::offset_of!(FileHeader, end_anchor);
    let n_records = std::mem::offset_of!(FileHeader, n_records);
    let crc = std::mem::offset_of!(FileHeader, end_crc32);
    let last_anchor = |bytes: &[u8]| {
        let trace = RankTrace::parse(bytes).unwrap();
        let last = trace.anchors.last().unwrap().ticks.get();
        (last, trace.damage)
    };
    for bit in [8 * at, 8 * at + 319, 8 * n_records + 1, 8 * crc + 31] {
        let mut bytes = complete.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(last_anchor(&bytes), (99, vec![Damage::End]), "bit {bit}");
    }
    // Earlier recorders left it like this.
    let mut bytes = complete;
    bytes[crc..crc + 4].fill(0);
    assert_eq!(last_anchor(&bytes), (9_000_000, vec![]));
}

#[test]
fn a_file_cut_at_any_byte_gives_all_records_before_the_cut() {
    let complete = file(130, 70, true);
    let record_ends: Vec<usize> = {
        let trace = RankTrace::parse(&complete).unwrap();
        trace
            .chunks
            .iter()
            .flat_map(|c| {
                let content = c.offset as usize + c.header.content_at.get() as usize;
                (1..=c.records.len()).map(move |i| content + 32 * i)
            })
            .collect()
    };
    for cut in 0..complete.len() {
        let parsed = RankTrace::parse(&complete[..cut]);
        let identity_end = 256 + complete[24] as usize + 256 * complete[25] as usize;
        if cut < identity_end {
            assert!(parsed.is_err(), "cut at {cut}");
            continue;
        }
        let trace = parsed.unwrap();
        let found: usize = trace.chunks.iter().map(|c| c.records.len()).sum();
        let expected = record_ends.iter().filter(|&&end| end <= cut).count();
        assert_eq!(found, expected, "cut at {cut}");
        if found < 200 {
            assert_ne!(trace.damage, [], "cut at {cut}");
        }
    }
}

#[test]
fn a_file_cut_after_its_last_record_by_its_recorder_is_complete() {
    let mut bytes = write::file_header(&identity(), Some((anchor(900), 3))).unwrap();
    bytes.extend(write::records_chunk(
        &place(0, 0, 90),
        &[],
        &calls(0, 3),
        true,
    ));
    let end = bytes.len() - 4096 + 128 + 3 * 32;
    let trace = RankTrace::parse(&bytes[..end]).unwrap();
    assert_eq!(trace.damage, []);
    assert_eq!(trace.chunks[0].records.len(), 3);
    let trace = RankTrace::parse(&bytes[..end - 1]).unwrap();
    assert!(trace.damage.contains(&Damage::LostRecords {
        expected: 3,
        found: 2
    }));
}

#[test]
fn a_call_under_way_is_the_last_record_of_a_killed_process() {
    let mut bytes = write::file_header(&identity(), None).unwrap();
    let mut records = calls(0, 4);
    records.push(Record::call(Operation::Barrier, 0, 0, -1, 0, 500, 0));
    bytes.extend(write::records_chunk(&place(0, 0, 90), &[], &records, false));
    let trace = RankTrace::parse(&bytes).unwrap();
    assert_eq!(trace.damage, [Damage::NotFinalized]);
    assert_eq!(trace.chunks[0].records.len(), 5);
    assert!(trace.chunks[0].records.get(4).unwrap().is_in_flight());
}

#[test]
fn a_damaged_chunk_affects_no_other() {
    let mut bytes = file(300, 5, true);
    let first = RankTrace::parse(&bytes).unwrap().chunks[0].offset as usize;
    bytes[first + 9] ^= 0x40;
    let trace = RankTrace::parse(&bytes).unwrap();
    assert_eq!(trace.chunks.len(), 1);
    let records: Vec<_> = trace.chunks[0].records.iter().collect();
    assert_eq!(records, calls(300, 5));
    assert_eq!(trace.definitions.len(), 1);
    assert!(matches!(
        trace.damage[0],
        Damage::NotAChunk { skipped: 12288, .. }
    ));
    assert!(matches!(
        trace.damage[1],
        Damage::MissingChunk {
            expected: 0,
            found: 1,
            ..
        }
    ));
}

#[test]
fn foreign_empty_and_future_files_are_distinguished() {
    assert_eq!(RankTrace::parse(b"").unwrap_err(), FormatError::Empty);
    let text = RankTrace::parse(b"\x7fELF\x02\x01 and more")
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("not a collbench trace") && text.contains("x7fELF"),
        "{text}"
    );
    let mut bytes = file(1, 1, true);
    bytes[8] = 3;
    assert_eq!(
        RankTrace::parse(&bytes).unwrap_err(),
        FormatError::Version { found: 3 }
    );
}

#[test]
fn a_file_of_headers_whose_tables_reach_its_end_is_read_in_one_go() {
    let mut bytes = write::file_header(&identity(), None).unwrap();
    let n_blocks = 8192;
    for block in 0..n_blocks {
        // Its table is everything that follows, and its checksum is wrong.
        let n_entries = (n_blocks - block) * 256 - 8;
        let length = ((n_blocks - block) as u64) * CHUNK_ALIGN;
        let mut opening = write::chunk_opening(ChunkKind::Records, length, &place(0, 0, 1), &[]);
        let content_at = ChunkHeader::content_offset(n_entries) as u32;
        opening[24..28].copy_from_slice(&(n_entries as u32).to_le_bytes());
        opening[28..32].copy_from_slice(&content_at.to_le_bytes());
        opening.resize(CHUNK_ALIGN as usize, 0);
        bytes.extend(opening);
    }
    let record = Record::call(Operation::Barrier, 0, 0, -1, 0, 500, 600);
    let valid_chunk = write::records_chunk(&place(0, 0, 1), &[], &[record], true);
    bytes.extend(&valid_chunk);
    let begin = std::time::Instant::now();
    let trace = RankTrace::parse(&bytes).unwrap();
    assert_eq!(trace.chunks.len(), 1);
    // Time proportional to the square of its length would be minutes.
    assert!(begin.elapsed().as_secs() < 20);
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(
        flips in prop::collection::vec((0usize..30_000, any::<u8>()), 1..20),
        cut in 0usize..30_000,
    ) {
        let mut bytes = file(150, 40, false);
        let length = bytes.len();
        for (at, value) in flips {
            bytes[at % length] = value;
        }
        bytes.truncate(cut.max(200));
        if let Ok(trace) = RankTrace::parse(&bytes) {
            let n: usize = trace.chunks.iter().map(|c| c.records.len()).sum();
            prop_assert!(n * 32 <= bytes.len());
        }
    }

    #[test]
    fn arbitrary_content_after_a_valid_header_is_survived(noise: Vec<u8>, at in 0usize..8192) {
        let mut bytes = write::file_header(&identity(), None).unwrap();
        bytes.resize(bytes.len() + at, 0);
        bytes.extend_from_slice(CHUNK_MAGIC.as_bytes());
        bytes.extend_from_slice(&noise);
        prop_assert!(RankTrace::parse(&bytes).is_ok());
    }
}
