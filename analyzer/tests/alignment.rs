//! Clocks of several hosts, brought to one time by recorded exchanges, against known truth.

use std::path::Path;

use collbench_analyzer::generate::generate;
use collbench_analyzer::{Clocks, Run, RunFiles, Timestamp};

/// Barriers that everybody leaves at the same instant, on four hosts with clocks of their own.
fn scenario(exchanges: &str) -> String {
    format!(
        r#"
schema = 1
grid_ns = 10
placement = "round-robin"
{exchanges}
[[hosts]]
name = "a"
ranks = 2
ghz = 2.5
[[hosts]]
name = "b"
ranks = 2
ghz = 2.1
offset_ns = -3000000000
drift_ppm = 37.5
[[hosts]]
name = "c"
ranks = 1
clock = "raw"
offset_ns = 77000
drift_ppm = -12
[[hosts]]
name = "d"
ranks = 1
clock = "monotonic"
offset_ns = 1000000

[latency]
base_ns = 5000

[[program]]
operation = "MPI_Barrier"
repeat = 1000
work = [{{ exponential_ns = 1000000 }}]
"#
    )
}

/// By rank the times of leaving each call, on the time of the analysis.
fn leaves(directory: &Path) -> (Clocks, Vec<Vec<i64>>) {
    let files = RunFiles::open(directory).unwrap();
    let run = Run::read(&files).unwrap();
    let clocks = Clocks::fit(&run);
    let of_rank = |process: usize| {
        let records = run.processes[process]
            .trace
            .chunks
            .iter()
            .flat_map(|c| c.records.iter());
        let leave = |ticks| {
            clocks.processes[process]
                .global(Timestamp::from_ticks(ticks))
                .ns()
        };
        records.map(|record| leave(record.leave.get())).collect()
    };
    let leaves = (0..run.processes.len()).map(of_rank).collect();
    (clocks, leaves)
}

/// The largest difference between stamps of one instant.
fn worst_error(leaves: &[Vec<i64>]) -> i64 {
    let of_call = |call: usize| {
        let times = leaves.iter().map(|of_rank| of_rank[call]);
        times.clone().max().unwrap() - times.min().unwrap()
    };
    // Rank 0's MPI_Init to its MPI_Finalize; everybody leaves these together, too.
    (0..leaves[0].len()).map(of_call).max().unwrap()
}

fn generated(exchanges: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("trace");
    let file = directory.path().join("scenario.toml");
    std::fs::write(&file, scenario(exchanges)).unwrap();
    generate(&file, &out, None, false).unwrap();
    directory
}

#[test]
fn symmetric_exchanges_align_the_clocks_to_their_reading() {
    let directory = generated("[exchanges]\none_way_ns = 1000");
    let (clocks, leaves) = leaves(&directory.path().join("trace"));
    assert_eq!(clocks.n_groups(), 1);
    assert_eq!(leaves[0].len(), 1002);
    let error = worst_error(&leaves);
    assert!(error <= 5, "{error} ns");
    let b = clocks.hosts[1].alignment.unwrap();
    // The rate of a time stamp counter is itself known to 0.04 ppm only.
    assert!((b.drift_ppm.unwrap() - 37.5).abs() < 0.05);
    assert!(
        b.offset_ns.abs_diff(-3_000_000_000 + 37) <= 5,
        "{}",
        b.offset_ns
    );
}

#[test]
fn asymmetry_and_queueing_stay_within_the_bound_and_the_uncertainty_tells_their_size() {
    let directory = generated("[exchanges]\nasymmetry_ns = 1000\njitter_ns = 3000");
    let (clocks, leaves) = leaves(&directory.path().join("trace"));
    let error = worst_error(&leaves);
    let (mut bound, mut uncertainty) = (0, 0);
    for own in clocks.hosts.iter().filter_map(|host| host.alignment) {
        bound = bound.max(own.bound_ns);
        uncertainty = uncertainty.max(own.uncertainty_ns);
    }
    // Two hosts may err in opposite directions.
    assert!(error <= 2 * bound, "{error} ns, bound {bound} ns");
    assert!(error >= 400, "the asymmetry cannot be seen: {error} ns");
    assert!((500..20_000).contains(&uncertainty), "{uncertainty} ns");
}

#[test]
fn bursts_in_between_follow_a_bent_clock() {
    let directory = generated("[exchanges]\none_way_ns = 1000\nn = 10\nevery_ns = 50000000");
    let (clocks, leaves) = leaves(&directory.path().join("trace"));
    assert!(clocks.hosts[1].alignment.unwrap().n_bursts > 10);
    let error = worst_error(&leaves);
    assert!(error <= 8, "{error} ns");
}

#[test]
fn without_exchanges_every_host_has_a_time_of_its_own() {
    let directory = generated("");
    let (clocks, _) = leaves(&directory.path().join("trace"));
    assert_eq!(clocks.n_groups(), 4);
    assert_eq!(clocks.uncertainty_ns(0, 1), None);
    assert_eq!(clocks.uncertainty_ns(2, 2), Some(0));
}
