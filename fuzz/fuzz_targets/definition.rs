//! Bytes as a definition, and as an identity.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| collbench_mutate::fuzz::definition(bytes));
