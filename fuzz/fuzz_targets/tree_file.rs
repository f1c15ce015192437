//! Bytes as a tree file.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| collbench_mutate::fuzz::tree_file(bytes));
