//! Rule files that `collbench-tune` writes, run for real.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::agreement::{Agreed, RuledLibrary};
use super::made_up::Made;
use crate::machine::{Workspace, command};

/// The algorithms of each operation, by the names that measurements have.
const NAMES: [(&str, &[&str]); 14] = [
    (
        "MPI_Allgather",
        &["linear", "bruck", "recursive_doubling", "ring", "neighbor"],
    ),
    ("MPI_Allgatherv", &["default", "bruck", "ring", "neighbor"]),
    (
        "MPI_Allreduce",
        &[
            "basic_linear",
            "nonoverlapping",
            "recursive_doubling",
            "ring",
            "segmented_ring",
            "rabenseifner",
        ],
    ),
    (
        "MPI_Alltoall",
        &["linear", "pairwise", "modified_bruck", "linear_sync"],
    ),
    ("MPI_Alltoallv", &["basic_linear", "pairwise"]),
    (
        "MPI_Barrier",
        &[
            "linear",
            "double_ring",
            "recursive_doubling",
            "bruck",
            "tree",
        ],
    ),
    (
        "MPI_Bcast",
        &[
            "basic_linear",
            "chain",
            "pipeline",
            "split_binary_tree",
            "binary_tree",
            "binomial",
            "knomial",
            "scatter_allgather",
            "scatter_allgather_ring",
        ],
    ),
    ("MPI_Exscan", &["linear", "recursive_doubling"]),
    ("MPI_Gather", &["basic_linear", "binomial", "linear_sync"]),
    (
        "MPI_Reduce",
        &[
            "linear",
            "chain",
            "pipeline",
            "binary",
            "binomial",
            "in-order_binary",
            "rabenseifner",
        ],
    ),
    (
        "MPI_Reduce_scatter",
        &["non-overlapping", "recursive_halving", "ring", "butterfly"],
    ),
    (
        "MPI_Reduce_scatter_block",
        &[
            "basic_linear",
            "recursive_doubling",
            "recursive_halving",
            "butterfly",
        ],
    ),
    ("MPI_Scan", &["linear", "recursive_doubling"]),
    ("MPI_Scatter", &["basic_linear", "binomial", "linear_nb"]),
];

/// Operations whose length the library does not look at.
const WITHOUT_LENGTH: [&str; 4] = ["MPI_Alltoallv", "MPI_Barrier", "MPI_Exscan", "MPI_Scan"];

impl RuledLibrary {
    /// Has files written of choices of each algorithm in turn, runs them, and compares what ran with
    /// what was chosen.
    ///
    /// # Panics
    ///
    /// If a file is not written, or does not run.
    #[must_use]
    pub fn run_written(&self, library_name: &str, seed: u64) -> Agreed {
        let payloads = Self::payloads(seed);
        let baseline = self.baseline(&payloads);
        let mut sum = Agreed::default();
        // The longest list has nine.
        for turn in 0..9 {
            let text = written(library_name, turn, &payloads);
            let made = Made {
                text,
                faults: Vec::new(),
                parameters: Vec::new(),
            };
            let name = format!("written {turn}");
            let mut agreed = self.compare(&made, &name, &payloads, &baseline);
            let by_rule = agreed.by.get("rule").copied().unwrap_or(0);
            // All communicators but those of 3, of which nothing was chosen below 4: they have the
            // rules of 2. Calls without data are not decided.
            let expected = 3 * (12 * (payloads.len() as u64 - 1) + 2 * payloads.len() as u64);
            if by_rule != expected {
                let difference = format!("{name}: {by_rule} calls by a rule, not {expected}");
                agreed.differences.push(difference);
            }
            sum.add(agreed);
        }
        sum
    }
}

/// The file that is written where each operation has the algorithm of this turn, and from a longer
/// length on the next one.
fn written(library_name: &str, turn: usize, payloads: &[u64]) -> String {
    let mut selection: Vec<Value> = Vec::new();
    for (operation, names) in NAMES {
        for processes in [2, 4] {
            let lengths = [payloads[1], payloads[6]];
            let n_lengths = if WITHOUT_LENGTH.contains(&operation) {
                1
            } else {
                2
            };
            for (nth, bytes) in lengths.into_iter().take(n_lengths).enumerate() {
                let algorithm = names[(turn + nth) % names.len()];
                selection.push(chosen(operation, processes, bytes, Some(algorithm)));
            }
        }
    }
    write("openmpi", library_name, &selection)
}

/// A choice, as `collbench-bench` writes it.
pub(super) fn chosen(
    operation: &str,
    processes: u64,
    bytes: u64,
    algorithm: Option<&str>,
) -> Value {
    json!({
        "operation": operation, "bytes": bytes, "processes": processes,
        "hosts": null, "root": 0, "start": "window", "arrivals": null,
        "candidates": [{ "algorithm": algorithm, "time_ns": 1.0, "relative_error": 0.0 }],
        "fastest": 0, "not_distinguishable": [0],
    })
}

/// The file that `collbench-tune` writes of choices, all of which it can write.
pub(super) fn write(format: &str, library_name: &str, selection: &[Value]) -> String {
    let choices = json!({ "schema": "collbench.bench.collective/1", "selection": selection });
    let workspace = Workspace::new();
    let path = workspace.path().join("collective.json");
    fs::write(&path, choices.to_string()).expect("a file can be written");
    let output = Command::new(command("collbench-tune"))
        .args(["rules", "--write", format, "--library", library_name])
        .arg(&path)
        .output()
        .expect("collbench-tune can be run");
    let stderr = String::from_utf8_lossy(&output.stderr);
    let is_whole = !stderr.contains("left out");
    assert!(output.status.success() && is_whole, "{stderr}");
    String::from_utf8(output.stdout).expect("text")
}
