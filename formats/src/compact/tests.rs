use super::*;
use crate::trace::tests::{anchor, calls, file, identity, place};
use crate::tree::{Collectors, Contributor, Level, Wrapper, WrapperKind, Wrappers};
use crate::{
    CollectorPass, Damage, Definition, FileHeader, Operation, PLACE_MAGIC, PassedWays, RankTrace,
    SpanningTree, write,
};

fn compacted(recorded: &[u8]) -> Vec<u8> {
    let compact: Vec<u8> = Compaction::of(recorded).unwrap().flatten().collect();
    assert_eq!(expands_to(&compact, recorded), Ok(()));
    compact
}

/// What an analysis reads from a trace.
fn seen(trace: &RankTrace<'_>) -> impl PartialEq + std::fmt::Debug + use<> {
    let chunks: Vec<_> = trace
        .chunks
        .iter()
        .map(|chunk| {
            (
                (chunk.offset, chunk.content, chunk.thread, chunk.ordinal),
                (chunk.opened_ticks, chunk.pause_ticks),
                (*chunk.header, chunk.sequences.to_vec()),
                chunk.records.iter().collect::<Vec<_>>(),
            )
        })
        .collect();
    (
        (trace.header, trace.identity.clone()),
        trace.definitions.iter().collect::<Vec<_>>(),
        (chunks, trace.anchors.clone(), trace.damage.clone()),
    )
}

/// Three chunks of several blocks, with definitions between them; the last one is open.
fn long_file() -> Vec<u8> {
    let mut bytes = write::file_header(&identity(), None).unwrap();
    let name = |i| Definition::CommunicatorName {
        index: i,
        name: format!("communicator {i}"),
    };
    for ordinal in 0..3 {
        let n = 5000;
        let first = u64::from(ordinal) * n;
        let place = place(ordinal, first, 100 + 10 * first);
        let mut records = calls(first, n);
        if ordinal == 2 {
            records.resize(6000, Record::FREE);
        }
        bytes.extend(write::records_chunk(&place, &[], &records, ordinal < 2));
        let names: Vec<_> = (0..100).map(name).collect();
        bytes.extend(write::definitions_chunk(ordinal, anchor(95), &names).unwrap());
    }
    bytes
}

/// Calls over a tree of two processes, with the passes of three event collectors in each.
fn file_with_passes() -> Vec<u8> {
    let wrapper = |kind, contributors: &[Contributor], parent| Wrapper {
        kind,
        owner: 0,
        contributors: contributors.to_vec(),
        parent,
        level: Level::Rank,
        collectors: Collectors::ALL,
    };
    let wrappers = vec![
        wrapper(
            WrapperKind::Gred,
            &[Contributor::Rank(0), Contributor::Rank(1)],
            Some(1),
        ),
        wrapper(WrapperKind::Core, &[Contributor::Wrapper(0)], None),
    ];
    let tree = Definition::SpanningTree(SpanningTree {
        index: 0,
        communicator: 0,
        threads: 1,
        name: "trees.toml:3".into(),
        wrappers: Some(Wrappers::new(vec![0, 0], wrappers).unwrap()),
    });
    let mut records = Vec::new();
    for call in 1..=1000 {
        let at = 100 * u64::from(call);
        records.push(Record::call(Operation::Allreduce, 0, 0, -1, 8, at, at + 50));
        for collector in 0..3 {
            let pass = CollectorPass {
                tree: 0,
                call,
                collector,
                segment: 0,
                ways: PassedWays::Both,
            };
            let of = u64::from(collector);
            records.push(Record::of_words(
                pass.words(),
                at + 1 + of,
                at + 40 - of - at / 100 % 3,
            ));
        }
    }
    let mut bytes = write::file_header(&identity(), None).unwrap();
    bytes.extend(write::definitions_chunk(0, anchor(50), &[tree]).unwrap());
    bytes.extend(write::records_chunk(&place(0, 0, 90), &[], &records, true));
    bytes
}

#[test]
fn passes_of_event_collectors_and_their_tree_are_kept() {
    let recorded = file_with_passes();
    let compact = compacted(&recorded);
    let trace = RankTrace::parse(&compact).unwrap();
    assert_eq!(trace.definitions.len(), 1);
    let passes = trace.chunks[0].records.iter();
    let passes: Vec<_> = passes
        .filter_map(|record| record.collector_pass())
        .collect();
    assert_eq!(passes.len(), 3000);
    assert_eq!((passes[2999].call, passes[2999].collector), (1000, 2));
    // Most of it are the numbers of calls.
    assert!(compact.len() < recorded.len() / 5, "{}", compact.len());
}

#[test]
fn a_compact_file_is_read_like_the_recorded_one() {
    for recorded in [
        file(300, 5, true),
        file(0, 0, true),
        file(3, 4, false),
        long_file(),
        file_with_passes(),
    ] {
        let compact = compacted(&recorded);
        assert!(
            compact.len() < recorded.len() / 4,
            "{} bytes",
            compact.len()
        );
        let [recorded, compact] =
            [&recorded, &compact].map(|bytes| RankTrace::parse(bytes).unwrap());
        assert_eq!(seen(&compact), seen(&recorded));
    }
}

#[test]
fn a_file_cut_anywhere_is_compacted_as_it_is() {
    let complete = file(130, 70, true);
    for cut in (0..complete.len()).step_by(7) {
        let recorded = &complete[..cut];
        match RankTrace::parse(recorded) {
            Err(error) => {
                assert_eq!(
                    Compaction::of(recorded).unwrap_err(),
                    NotCompactable::Format(error)
                );
            }
            Ok(trace)
                if trace
                    .damage
                    .iter()
                    .any(|d| matches!(d, Damage::NotAChunk { .. })) =>
            {
                let refused = Compaction::of(recorded).unwrap_err();
                assert!(matches!(refused, NotCompactable::NotAChunk { .. }));
            }
            Ok(trace) => {
                let compact = compacted(recorded);
                assert_eq!(
                    seen(&RankTrace::parse(&compact).unwrap()),
                    seen(&trace),
                    "cut at {cut}"
                );
            }
        }
    }
}

#[test]
fn a_slot_that_was_being_written_is_restored() {
    let mut bytes = write::file_header(&identity(), None).unwrap();
    let mut records = calls(0, 4);
    let mut torn = Record::call(Operation::Bcast, 0, 0, 1, 8, 0, 0);
    torn.enter = 0.into();
    records.push(torn);
    records.resize(40, Record::FREE);
    bytes.extend(write::records_chunk(&place(0, 0, 90), &[], &records, false));
    let compact = compacted(&bytes);
    let trace = RankTrace::parse(&compact).unwrap();
    assert_eq!(
        trace.chunks[0].records.iter().collect::<Vec<_>>(),
        calls(0, 4)
    );
}

#[test]
fn a_ring_with_a_place_that_is_being_reused_is_restored() {
    let mut bytes = write::file_header(&identity(), None).unwrap();
    let keep_bytes = std::mem::offset_of!(FileHeader, keep_bytes);
    bytes[keep_bytes..][..8].copy_from_slice(&(1u64 << 16).to_le_bytes());
    let chunk = |ordinal, first, n| {
        write::records_chunk(
            &place(ordinal, first, 90),
            &[],
            &calls(first, n),
            ordinal < 5,
        )
    };
    bytes.extend(chunk(5, 1300, 40));
    // Some of the old content is still there.
    let mut again = chunk(3, 700, 300);
    again[..4].copy_from_slice(&PLACE_MAGIC);
    bytes.extend(again);
    bytes.extend(chunk(4, 1000, 300));
    let recorded = RankTrace::parse(&bytes).unwrap();
    assert_eq!(recorded.damage, [Damage::NotFinalized]);
    assert_eq!(recorded.chunks.len(), 2);
    let compact = compacted(&bytes);
    let trace = RankTrace::parse(&compact).unwrap();
    assert_eq!(seen(&trace), seen(&recorded));
    assert_eq!(trace.window, recorded.window);
}

#[test]
fn what_is_not_recorded_or_damaged_stays_as_it_is() {
    let recorded = file(300, 5, true);
    let compact = compacted(&recorded);
    let refused = |bytes: &[u8]| Compaction::of(bytes).unwrap_err();
    assert_eq!(refused(&compact), NotCompactable::IsCompact);
    let mut damaged = recorded.clone();
    let at = RankTrace::parse(&recorded).unwrap().chunks[0].offset;
    damaged[at as usize + 9] ^= 0x40;
    assert_eq!(refused(&damaged), NotCompactable::NotAChunk { offset: at });
    assert_eq!(
        refused(b"ELF"),
        NotCompactable::Format(RankTrace::parse(b"ELF").unwrap_err())
    );
}

#[test]
fn a_flipped_bit_damages_one_chunk_and_is_reported() {
    let recorded = long_file();
    let compact = compacted(&recorded);
    let n_records = |trace: &RankTrace<'_>| -> usize {
        trace.chunks.iter().map(|chunk| chunk.records.len()).sum()
    };
    let complete = RankTrace::parse(&compact).unwrap();
    for at in (0..compact.len()).step_by(5) {
        let mut flipped = compact.clone();
        flipped[at] ^= 1 << (at % 8);
        assert_ne!(expands_to(&flipped, &recorded), Ok(()), "flipped at {at}");
        let Ok(trace) = RankTrace::parse(&flipped) else {
            assert!(at < 400, "flipped at {at}");
            continue;
        };
        let n_missing = n_records(&complete) - n_records(&trace);
        assert!(
            n_missing == 0 || n_missing == 5000,
            "flipped at {at}: {n_missing}"
        );
        let n_reported = |trace: &RankTrace<'_>| trace.damage.len();
        assert!(
            n_reported(&trace) > n_reported(&complete),
            "flipped at {at}"
        );
    }
}

#[test]
fn a_compact_file_cut_anywhere_gives_the_parts_before() {
    let recorded = long_file();
    let compact = compacted(&recorded);
    let mut most = 0;
    for cut in (0..compact.len()).step_by(11) {
        let Ok(trace) = RankTrace::parse(&compact[..cut]) else {
            assert!(cut < 400, "cut at {cut}");
            continue;
        };
        assert!(
            trace.chunks.len() >= most && trace.damage.len() > 1,
            "cut at {cut}"
        );
        most = trace.chunks.len();
    }
    assert_eq!(most, 3);
}

/// The compact file with another length of the recorded file in its header.
fn stating(compact: &[u8], length: u64) -> Vec<u8> {
    let n_parts = u32::from_le_bytes(compact[24..28].try_into().unwrap());
    let header = CompactHeader::new(length, n_parts);
    [header.as_bytes(), &compact[size_of::<CompactHeader>()..]].concat()
}

#[test]
fn a_length_that_no_part_can_explain_is_not_believed() {
    let recorded = long_file();
    let length = recorded.len() as u64;
    let compact = compacted(&recorded);
    let last = |compact: &[u8]| Expansion::of(compact).unwrap().unwrap().last().unwrap();
    // Space that was reserved, and not used before the process was killed.
    assert!(last(&stating(&compact, length + (500 << 20))).is_ok());
    for stated in [length + (3 << 30), 1 << 40, 1 << 62] {
        let found = last(&stating(&compact, stated));
        let Err(Damage::Hollow { length, explained }) = found else {
            panic!("{found:?}");
        };
        assert_eq!((length, explained), (stated, recorded.len() as u64));
    }
    // The place of a part is also checked.
    let mut parts: Vec<Vec<u8>> = Compaction::of(&recorded).unwrap().collect();
    let n = parts.len();
    let content = parts[n - 1][size_of::<PartHeader>()..].to_vec();
    parts[n - 1] = part(PartKind::Chunk, 1 << 40, &content);
    let moved = stating(&parts.concat(), (1 << 40) + length);
    let mut pieces = Expansion::of(&moved).unwrap().unwrap();
    let refused = pieces.find(Result::is_err).unwrap();
    assert!(matches!(refused, Err(Damage::Hollow { .. })), "{refused:?}");
}

#[test]
fn no_piece_is_longer_than_a_block_however_many_records_its_chunk_has() {
    let mut bytes = write::file_header(&identity(), None).unwrap();
    let records = calls(0, 100_000);
    bytes.extend(write::records_chunk(&place(0, 0, 90), &[], &records, true));
    let compact = compacted(&bytes);
    let pieces = Expansion::of(&compact).unwrap().unwrap();
    let longest = pieces.map(|piece| piece.unwrap().bytes.len()).max();
    assert_eq!(longest, Some(BLOCK_RECORDS * size_of::<Record>()));
}
