//! Bytes as rules of trees, and as a tree.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| collbench_mutate::fuzz::tree(bytes));
