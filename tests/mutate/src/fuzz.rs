//! What a fuzzer calls with bytes of its own, and tests with those that a fuzzer found worth
//! keeping. Nothing here may panic, whatever the bytes.

use std::fs;
use std::path::Path;

use collbench_formats::compact::{Compaction, Expansion, expands_to, is_compact};
use collbench_formats::tree::{Place, TreeRules, Wrappers};
use collbench_formats::{Definition, Identity, Operation, RankTrace, decode_meta};
use collbench_tree_files::{Problems, TreeFile};
use collbench_trees::wrappers::{Members, Order, group_hosts, resolve};
use collbench_tune::open_mpi::{Library, Settings, Version};
use collbench_tune::{CallClass, RuleFile};

use crate::checksums::make_right;
use crate::examine::examine;

/// A rank file, as it is and with its checksums made right.
pub fn rank_file(bytes: &[u8]) {
    read_all(bytes);
    let mut right = bytes.to_vec();
    make_right(&mut right);
    read_all(&right);
}

fn read_all(bytes: &[u8]) {
    if let Ok(trace) = RankTrace::parse(bytes) {
        let n_records: usize = trace.chunks.iter().map(|chunk| chunk.records.len()).sum();
        if is_compact(bytes) {
            // Deflated, some may take a bit.
            assert!(n_records <= bytes.len() * 1032, "more records than can be")
        } else {
            assert!(n_records * 32 <= bytes.len(), "more records than bytes")
        }
        for record in trace
            .chunks
            .iter()
            .flat_map(|chunk| chunk.records.iter().take(5000))
        {
            let _ = (record.operation(), record.completion());
            let _ = record.collector_pass();
        }
        for damage in &trace.damage {
            assert!(!damage.to_string().is_empty());
        }
    }
    // What can be packed comes out again, to the byte.
    if let Ok(parts) = Compaction::of(bytes) {
        let compact: Vec<u8> = parts.flatten().collect();
        assert_eq!(expands_to(&compact, bytes), Ok(()));
    }
    if let Ok(Some(expansion)) = Expansion::of(bytes) {
        for piece in expansion {
            let _ = piece.map(|piece| piece.bytes.len());
        }
    }
}

/// An encoded definition, and an encoded identity.
pub fn definition(bytes: &[u8]) {
    let crc32 = crc32fast::hash(bytes);
    let _ = decode_meta::<Definition>(bytes, crc32);
    let _ = decode_meta::<Identity>(bytes, crc32);
}

/// Encoded rules of trees, and an encoded tree; the rules make trees of some ranks, which are whole.
///
/// # Panics
/// If a tree is not.
pub fn tree(bytes: &[u8]) {
    let crc32 = crc32fast::hash(bytes);
    if let Ok(tree) = decode_meta::<Wrappers>(bytes, crc32) {
        examine_tree(&tree);
    }
    let Ok(rules) = decode_meta::<TreeRules>(bytes, crc32) else {
        return;
    };
    let hosts = ["a1", "a2", "b1"].map(str::to_owned);
    // Two ranks on each host in turns.
    let mut places: Vec<Place> = (0..12)
        .map(|rank| Place {
            host: rank / 2 % 3,
            socket: Some(rank % 2),
            ..Place::default()
        })
        .collect();
    group_hosts(&rules, &hosts, &mut places);
    let members = Members {
        hosts: &hosts,
        places: &places,
    };
    for rule in &rules.rules {
        for (root, order) in [
            (None, Order::Any),
            (Some(7), Order::Any),
            (None, Order::OfRanks),
        ] {
            if let Ok(tree) = resolve(rule, root, order, members) {
                examine_tree(&tree);
            }
        }
    }
}

fn examine_tree(tree: &Wrappers) {
    let mut order = tree.order();
    order.sort_unstable();
    assert!(order.into_iter().eq(0..tree.n_ranks()), "a rank is missing");
    let last = tree.all().len() - 1;
    for first in tree.first_wrappers() {
        let end = tree.path(first).last();
        assert_eq!(end.map(|(idx, _)| idx as usize), Some(last));
    }
}

/// The text of a tree file. What is wrong has a place in it.
///
/// # Panics
/// If it has none.
pub fn tree_file(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Err(Problems(problems)) = TreeFile::parse(text, Path::new("/nowhere")) {
        assert!(!problems.is_empty());
        let n_lines = text.lines().count() as u32;
        assert!(problems.iter().all(|problem| problem.line <= n_lines + 1));
    }
}

/// The text of a rule file, as both versions of Open MPI read it. What is wrong has a place in it.
///
/// # Panics
/// If it has none.
pub fn rule_file(bytes: &[u8]) {
    let n_lines = 1 + bytes.iter().filter(|&&byte| byte == b'\n').count();
    for name in ["Open MPI 4.1.4", "Open MPI 5.0.11", "Open MPI 6.0.0"] {
        let library = Version::find(name).and_then(Library::of);
        let library = library.expect("a version that is known");
        let file = RuleFile::of_open_mpi(bytes.to_vec(), library, Settings::default(), None);
        let Ok(file) = file else {
            continue;
        };
        let problems = file.problems();
        assert!(problems.iter().all(|problem| problem.at.line <= n_lines));
        let operations = [Operation::Bcast, Operation::Allgather, Operation::Scan];
        let hosts = [vec![4], vec![2, 2]];
        let all = operations
            .into_iter()
            .flat_map(|operation| hosts.iter().map(move |hosts| (operation, hosts)));
        for (operation, processes_per_host) in all {
            let class = CallClass {
                operation,
                n_processes: 4,
                processes_per_host: processes_per_host.clone(),
                bytes: (0, 1 << 20),
                calls: 4,
                failed: 0,
                ran: None,
            };
            let explained = file.explain(&class);
            let mut parts = explained.iter().map(|part| part.bytes);
            assert_eq!(parts.clone().next().map(|(from, _)| from), Some(0));
            assert_eq!(parts.next_back().map(|(_, to)| to), Some(1 << 20));
        }
    }
}

/// A whole trace, of the files that [`files_of`] makes of the bytes; `scratch` is a directory
/// for it.
///
/// # Panics
/// If the analysis does, or what it gives is not inert.
pub fn run(bytes: &[u8], scratch: &Path) {
    let directory = scratch.join("trace");
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).expect("the scratch directory can be written to");
    for (name, mut content) in files_of(bytes) {
        if name.ends_with(".trace") {
            make_right(&mut content);
        }
        fs::write(directory.join(name), content).expect("the scratch directory can be written to");
    }
    if let Err(failure) = examine(&directory, None, None) {
        panic!("{failure}");
    }
}

/// The files in a list of (kind, length, bytes): kind 0 is run.json, others a rank file; the
/// length is of 4 bytes, little-endian, and what it says beyond the end is cut.
#[must_use]
pub fn files_of(mut bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    while let Some((&[kind, a, b, c, d], rest)) = bytes.split_first_chunk() {
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        let (content, after) = rest.split_at(length.min(rest.len()));
        let name = match kind {
            0 => "run.json".to_owned(),
            _ => format!("{:03}.trace", files.len()),
        };
        files.push((name, content.to_vec()));
        bytes = after;
    }
    files
}

/// The bytes that [`files_of`] takes apart again.
#[must_use]
pub fn bytes_of<'f>(files: impl IntoIterator<Item = (&'f str, &'f [u8])>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, content) in files {
        bytes.push(u8::from(name != "run.json"));
        bytes.extend((content.len() as u32).to_le_bytes());
        bytes.extend(content);
    }
    bytes
}
