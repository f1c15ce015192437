//! What a fuzzer would call, with bytes of any kind and with files that were valid.

use std::fs;
use std::path::Path;

use collbench_formats::tree::{TreeRules, Wrappers};
use collbench_formats::{Definition, Direction, Note, RankTrace, Record, decode_meta};
use collbench_mutate::{Bases, Random, fuzz, mutate};
use proptest::prelude::*;
use tempfile::tempdir;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        fuzz::rank_file(&bytes);
        fuzz::definition(&bytes);
        fuzz::tree(&bytes);
        fuzz::tree_file(&bytes);
        fuzz::rule_file(&bytes);
        // Behind a true beginning.
        let mut file = b"COLLBNCH".to_vec();
        file.extend(&bytes);
        fuzz::rank_file(&file);
    }
}

#[test]
fn no_mutated_rank_file_makes_the_reader_panic() {
    let scratch = tempdir().unwrap();
    let bases = Bases::generate(scratch.path()).unwrap();
    for number in 0..500 {
        let mut random = Random::new(3, number);
        let (_, base) = &bases.all()[number as usize % bases.all().len()];
        let mut trace = base.clone();
        mutate(&mut trace, &bases, &mut random);
        for name in trace.rank_files() {
            fuzz::rank_file(trace.bytes(&name));
        }
    }
}

#[test]
fn files_that_are_put_into_one_list_of_bytes_come_out_and_are_analysed() {
    let scratch = tempdir().unwrap();
    let bases = Bases::generate(scratch.path()).unwrap();
    for (_, trace) in bases.all() {
        let names = trace.rank_files();
        let files = names.iter().map(|name| (name.as_str(), trace.bytes(name)));
        let bytes = fuzz::bytes_of(files);
        let out = fuzz::files_of(&bytes);
        assert_eq!(out.len(), names.len());
        assert!(
            out.iter()
                .zip(&names)
                .all(|((_, out), name)| out == trace.bytes(name))
        );
        fuzz::run(&bytes, scratch.path());
        // Cut anywhere, the rest is analysed or refused.
        for part in [1, 3, 7] {
            fuzz::run(&bytes[..bytes.len() * part / 8], scratch.path());
        }
    }
}

/// The contents of a target's files in the corpus of the fuzzers, by name.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let entries = fs::read_dir(directory.join(target)).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

#[test]
fn the_corpus_of_the_fuzzers_is_survived_and_worth_beginning_with() {
    let rank_files = corpus("rank_file");
    rank_files.iter().for_each(|bytes| fuzz::rank_file(bytes));
    let read = rank_files.iter().filter_map(|b| RankTrace::parse(b).ok());
    let with_records = read.filter(|trace| !trace.chunks.is_empty());
    let records: Vec<Vec<Record>> = with_records
        .map(|trace| {
            let chunks = trace.chunks.iter();
            let records = chunks.map(|chunk| chunk.records.iter().collect::<Vec<_>>());
            records.flatten().collect()
        })
        .collect();
    assert!(records.len() >= 5);
    // Of what stands beside calls, too.
    let n_with = |is_one: &dyn Fn(&Record) -> bool| {
        let with = records.iter().filter(|records| records.iter().any(is_one));
        with.count()
    };
    let receives = |is_nonblocking: bool| {
        n_with(&|record| {
            let message = record.message();
            message.is_some_and(|message| {
                message.direction == Direction::Receive && message.is_nonblocking == is_nonblocking
            })
        })
    };
    assert!(receives(true) >= 5 && receives(false) >= 5);
    let is_algorithm = |record: &Record| matches!(record.note(), Some(Note::Algorithm(_)));
    let is_running = |record: &Record| matches!(record.note(), Some(Note::Running(_)));
    assert!(n_with(&is_algorithm) > 0 && n_with(&is_running) > 0);

    let definitions = corpus("definition");
    definitions.iter().for_each(|bytes| fuzz::definition(bytes));
    let is_one = |b: &&Vec<u8>| decode_meta::<Definition>(b, crc32fast::hash(b)).is_ok();
    assert!(definitions.iter().filter(is_one).count() >= 10);
    let is_name = |bytes: &Vec<u8>| {
        let definition = decode_meta(bytes, crc32fast::hash(bytes));
        matches!(definition, Ok(Definition::Algorithm { .. }))
    };
    assert!(definitions.iter().any(is_name));

    let trees = corpus("tree");
    trees.iter().for_each(|bytes| fuzz::tree(bytes));
    let n_rules = trees
        .iter()
        .filter(|b| decode_meta::<TreeRules>(b, crc32fast::hash(b)).is_ok());
    let n_trees = trees
        .iter()
        .filter(|b| decode_meta::<Wrappers>(b, crc32fast::hash(b)).is_ok());
    assert!(n_rules.count() >= 3 && n_trees.count() >= 3);
    let files = corpus("tree_file");
    assert!(files.len() >= 3);
    files.iter().for_each(|bytes| fuzz::tree_file(bytes));
    let files = corpus("rule_file");
    assert!(files.len() >= 3);
    files.iter().for_each(|bytes| fuzz::rule_file(bytes));

    let scratch = tempdir().unwrap();
    let runs = corpus("run");
    runs.iter()
        .for_each(|bytes| fuzz::run(bytes, scratch.path()));
    assert!(runs.iter().filter(|b| fuzz::files_of(b).len() > 1).count() >= 5);
}
