//! Bytes as the files of a whole trace, through the analysis.
#![no_main]

use std::sync::LazyLock;

use tempfile::TempDir;

static SCRATCH: LazyLock<TempDir> =
    LazyLock::new(|| tempfile::tempdir().expect("there is a directory for temporary files"));

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| collbench_mutate::fuzz::run(bytes, SCRATCH.path()));
