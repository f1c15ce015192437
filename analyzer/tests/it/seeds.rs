//! Scenarios whose truth is known, generated with several seeds.

use std::fs;
use std::path::{Path, PathBuf};

use collbench_analyzer::{Analysis, Options, RunFiles, analyze};

pub(crate) const SEEDS: u64 = 20;

/// Says which scenario and seed it is of which a check fails.
struct Checked<'s>(&'s str, u64);

impl Drop for Checked<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}, seed {}", self.0, self.1);
        }
    }
}

/// Analyses a scenario of a folder of `tests/scenarios` for each of [`SEEDS`] seeds.
pub(crate) fn each_seed(folder: &str, scenario: &str, mut check: impl FnMut(&Analysis)) {
    let file = format!("tests/scenarios/{folder}/{scenario}");
    for seed in 0..SEEDS {
        let _checked = Checked(scenario, seed);
        check(&analysis_of(&file, Some(seed)));
    }
}

/// The trace of a scenario, in a folder; without a seed, with its own.
pub(crate) fn trace_in(folder: &Path, scenario: &str, seed: Option<u64>) -> PathBuf {
    let file = folder.join("scenario.toml");
    fs::write(&file, scenario).unwrap();
    let trace = folder.join("trace");
    collbench_generate::generate(&file, &trace, seed, true).unwrap();
    trace
}

/// Analyses a scenario, whose path is relative to the crate; without a seed, with its own.
pub(crate) fn analysis_of(scenario: &str, seed: Option<u64>) -> Analysis {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(scenario);
    let directory = tempfile::tempdir().unwrap();
    collbench_generate::generate(&file, directory.path(), seed, false).unwrap();
    let files = RunFiles::open(directory.path()).unwrap();
    analyze(&files, &Options::default(), &mut |_| {}).unwrap()
}
