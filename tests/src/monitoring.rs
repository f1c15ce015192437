//! A second opinion from inside the MPI library: what Open MPI's own component `monitoring` counts,
//! below the MPI interface, in the very run that is recorded.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::analysis::Analysis;

/// Words for Open MPI's launcher that switch it on; its files begin with `prefix`, a path.
#[must_use]
pub fn monitoring(prefix: &str) -> [&str; 9] {
    [
        "--mca",
        "pml_monitoring_enable",
        "2",
        "--mca",
        "pml_monitoring_enable_output",
        "3",
        "--mca",
        "pml_monitoring_filename",
        prefix,
    ]
}

/// Operations of one rank on `MPI_COMM_WORLD`. A rooted one counts at its root.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    one_to_all: u64,
    all_to_one: u64,
    all_to_all: u64,
}

impl Counts {
    /// As the component says.
    fn monitored(prefix: &Path, rank: usize) -> Self {
        let path = format!("{}.{rank}.prof", prefix.display());
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut lines = text.lines().skip_while(|line| {
            !line.starts_with("D\tMPI_COMM_WORLD\t") // then its three counts
        });
        assert!(lines.next().is_some(), "no MPI_COMM_WORLD in {path}");
        let mut count = |kind: &str| {
            let line = lines.next().unwrap_or_default();
            let words: Vec<&str> = line.split(['\t', ' ']).collect();
            assert_eq!(words.first(), Some(&kind), "{path}: {line}");
            words[4].parse().unwrap()
        };
        Self {
            one_to_all: count("O2A"),
            all_to_one: count("A2O"),
            all_to_all: count("A2A"),
        }
    }

    /// As the analysis says. Open MPI does nothing, and the component counts nothing, where there
    /// is no data, but in a barrier.
    fn analyzed(analysis: &Analysis, rank: usize) -> Self {
        let world = analysis
            .array("/communicators")
            .iter()
            .find(|communicator| communicator["name"] == "MPI_COMM_WORLD")
            .unwrap();
        let mut counts = Self::default();
        for operation in analysis.array("/operations") {
            let name = operation["operation"].as_str().unwrap();
            let name = name.trim_start_matches("MPI_").to_lowercase();
            let name = name.trim_end_matches("_init");
            let is_call = !name.starts_with("comm_")
                && !name.contains("_create")
                && !name.starts_with("intercomm_");
            let has_data = operation["bytes_max"] != 0 || name.ends_with("barrier");
            if operation["communicator"] != world["id"] || !is_call || !has_data {
                continue;
            }
            let instances = operation["instances"].as_u64().unwrap();
            let is_root = operation["root"] == rank;
            match name.strip_prefix('i').unwrap_or(name) {
                "bcast" | "scatter" | "scatterv" if is_root => counts.one_to_all += instances,
                "gather" | "gatherv" | "reduce" if is_root => counts.all_to_one += instances,
                "bcast" | "scatter" | "scatterv" | "gather" | "gatherv" | "reduce" => {}
                _ => counts.all_to_all += instances,
            }
        }
        counts
    }
}

/// Compares what a run says of `MPI_COMM_WORLD`, rank by rank. Constructors of communicators make
/// the component count operations between all, with which the library agrees on their numbers.
///
/// # Panics
///
/// Where they differ.
#[track_caller]
pub fn check_against_monitoring(analysis: &Analysis, prefix: &Path) {
    let makes_communicators = analysis
        .json
        .pointer("/totals")
        .and_then(Value::as_object)
        .unwrap()
        .keys()
        .any(|name| name.contains("_create") || name.contains("_dup") || name.contains("_split"));
    for rank in 0..analysis.array("/ranks").len() {
        let monitored = Counts::monitored(prefix, rank);
        let mut analyzed = Counts::analyzed(analysis, rank);
        if makes_communicators && analyzed.all_to_all < monitored.all_to_all {
            analyzed.all_to_all = monitored.all_to_all;
        }
        assert_eq!(analyzed, monitored, "rank {rank}");
        assert_ne!(monitored, Counts::default(), "rank {rank}: nothing told");
    }
}
