//! Bytes as a rule file of Open MPI.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| collbench_mutate::fuzz::rule_file(bytes));
