//! Bytes as a rank file.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| collbench_mutate::fuzz::rank_file(bytes));
