use super::*;
use crate::read::tests::{anchor, calls, file, identity, place};
use crate::{Damage, Definition, FileHeader, Operation, PLACE_MAGIC, RankTrace, encode};

fn compacted(recorded: &[u8]) -> Vec<u8> {
    let compact: Vec<u8> = Compaction::of(recorded).unwrap().flatten().collect();
    assert_eq!(expands_to(&compact, recorded), Ok(()));
    compact
}

/// What of a trace an analysis sees.
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

/// Three chunks, of several blocks, with definitions between them, the last one open.
fn long_file() -> Vec<u8> {
    let mut bytes = encode::file_header(&identity(), None).unwrap();
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
        bytes.extend(encode::records_chunk(&place, &[], &records, ordinal < 2));
        let names: Vec<_> = (0..100).map(name).collect();
        bytes.extend(encode::definitions_chunk(ordinal, anchor(95), &names).unwrap());
    }
    bytes
}

#[test]
fn a_compact_file_says_the_same() {
    for recorded in [
        file(300, 5, true),
        file(0, 0, true),
        file(3, 4, false),
        long_file(),
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
    let whole = file(130, 70, true);
    for cut in (0..whole.len()).step_by(7) {
        let recorded = &whole[..cut];
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
fn a_slot_that_was_being_written_comes_back() {
    let mut bytes = encode::file_header(&identity(), None).unwrap();
    let mut records = calls(0, 4);
    let mut torn = Record::call(Operation::Bcast, 0, 0, 1, 8, 0, 0);
    torn.enter = 0.into();
    records.push(torn);
    records.resize(40, Record::FREE);
    bytes.extend(encode::records_chunk(
        &place(0, 0, 90),
        &[],
        &records,
        false,
    ));
    let compact = compacted(&bytes);
    let trace = RankTrace::parse(&compact).unwrap();
    assert_eq!(
        trace.chunks[0].records.iter().collect::<Vec<_>>(),
        calls(0, 4)
    );
}

#[test]
fn a_ring_with_a_place_that_is_being_used_again_comes_back() {
    let mut bytes = encode::file_header(&identity(), None).unwrap();
    let keep_bytes = std::mem::offset_of!(FileHeader, keep_bytes);
    bytes[keep_bytes..][..8].copy_from_slice(&(1u64 << 16).to_le_bytes());
    let chunk = |ordinal, first, n| {
        encode::records_chunk(
            &place(ordinal, first, 90),
            &[],
            &calls(first, n),
            ordinal < 5,
        )
    };
    bytes.extend(chunk(5, 1300, 40));
    // What was there is not all gone.
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
fn a_flipped_bit_costs_a_chunk_and_is_told() {
    let recorded = long_file();
    let compact = compacted(&recorded);
    let n_records = |trace: &RankTrace<'_>| -> usize {
        trace.chunks.iter().map(|chunk| chunk.records.len()).sum()
    };
    let whole = RankTrace::parse(&compact).unwrap();
    for at in (0..compact.len()).step_by(5) {
        let mut flipped = compact.clone();
        flipped[at] ^= 1 << (at % 8);
        assert_ne!(expands_to(&flipped, &recorded), Ok(()), "flipped at {at}");
        let Ok(trace) = RankTrace::parse(&flipped) else {
            assert!(at < 400, "flipped at {at}");
            continue;
        };
        let lost = n_records(&whole) - n_records(&trace);
        assert!(lost == 0 || lost == 5000, "flipped at {at}: {lost}");
        let n_told = |trace: &RankTrace<'_>| trace.damage.len();
        assert!(n_told(&trace) > n_told(&whole), "flipped at {at}");
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
