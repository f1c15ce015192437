//! Ranks that share fewer cores than they are, as the recorder noted it.

use std::fs;
use std::path::Path;

use collbench_analyzer::results::{CauseKind, CostOf, LateBy, SharedCores};
use collbench_analyzer::{Analysis, Options, RunFiles, analyze};

/// All ranks leave an operation at different times, and are late for the next one because of that.
const SCENARIO: &str = r#"
schema = 1
name = "ranks lose their cores in allreduces"
truth = "counts"
[[hosts]]
name = "node1"
ranks = 4
[[program]]
repeat = 300
steps = [ { operation = "MPI_Allreduce", bytes = 8, work = [{ normal_ns = [100000, 1000] }],
            latency = { base_ns = 1000, jitter = { exponential_ns = 200000 } } } ]
"#;

/// Where the header of a rank file has the cores: how many may be used, how many are online, and which.
const AT: usize = 236;

/// The analysis of a trace whose recorder noted these cores of each rank: usable, online, set.
fn with_cores(cores: &[(u16, u16, u64)]) -> Analysis {
    let directory = tempfile::tempdir().unwrap();
    let trace = crate::seeds::trace_in(directory.path(), SCENARIO, None);
    for (rank, &(usable, online, set)) in cores.iter().enumerate() {
        note(&trace, rank, usable, online, set);
    }
    let files = RunFiles::open(&trace).unwrap();
    analyze(&files, &Options::default(), &mut |_| {}).unwrap()
}

fn note(trace: &Path, rank: usize, usable: u16, online: u16, set: u64) {
    let prefix = format!("rank-{rank}.");
    let mut paths = fs::read_dir(trace)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let is_of_rank = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with(&prefix)
    };
    let path = paths.find(is_of_rank).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[AT..AT + 2].copy_from_slice(&usable.to_le_bytes());
    bytes[AT + 2..AT + 4].copy_from_slice(&online.to_le_bytes());
    bytes[AT + 4..AT + 12].copy_from_slice(&set.to_le_bytes());
    fs::write(&path, bytes).unwrap();
}

/// The causes of waits in collectives that say that ranks lose their cores.
fn of_cores(analysis: &Analysis) -> usize {
    let causes = analysis.causes.iter();
    let causes = causes.filter(|cause| cause.of == CostOf::Waiting);
    let of = |kind, by| kind == CauseKind::Algorithm && by == Some(LateBy::Preempted);
    causes.filter(|cause| of(cause.kind, cause.by)).count()
}

#[test]
fn more_ranks_than_cores_are_the_cause_of_late_leaving() {
    let shared = |ranks, cores| {
        let host = "node1".to_owned();
        vec![SharedCores { host, ranks, cores }]
    };
    // All on two cores: of a host that has no more, or of one that has many.
    for (online, ranks) in [(2, 4), (64, 4)] {
        let analysis = with_cores(&[(2, online, 7); 4]);
        assert_eq!(analysis.trace.shared_cores, shared(ranks, 2), "{online}");
        assert_eq!(of_cores(&analysis), 1, "{:#?}", analysis.causes);
    }
    // Each on its own core, of fewer than there are ranks.
    let bound = [(1, 2, 1), (1, 2, 2), (1, 2, 1), (1, 2, 2)];
    assert_eq!(with_cores(&bound).trace.shared_cores, shared(4, 2));
}

#[test]
fn ranks_with_cores_of_their_own_share_none() {
    for cores in [
        [(1, 64, 1), (1, 64, 2), (1, 64, 3), (1, 64, 4)],
        [(4, 4, 9); 4],
        // Of an older recorder.
        [(0, 0, 0); 4],
    ] {
        let analysis = with_cores(&cores);
        assert_eq!(analysis.trace.shared_cores, []);
        assert_eq!(of_cores(&analysis), 0);
    }
}
