//! What ranks do between collectives: who waits for whom there is known by construction.

use std::fs;
use std::path::Path;

use collbench_formats::{Activity, GapTime, Note, RankTrace};
use collbench_tests::{Job, Workspace, analyze, have, program, rank_files, skip_unless};
use serde_json::Value;

const TIMES: usize = 3;

/// By rank: the notes on its gaps, in their order.
fn gaps(trace: &Path) -> Vec<Vec<GapTime>> {
    let notes = |path: &std::path::PathBuf| {
        let bytes = fs::read(path).unwrap();
        let trace = RankTrace::parse(&bytes).unwrap();
        let records = trace.chunks.iter().flat_map(|chunk| chunk.records.iter());
        let gaps = records.filter_map(|record| match record.note() {
            Some(Note::Gap(gap)) => Some(gap),
            _ => None,
        });
        gaps.collect()
    };
    rank_files(trace).iter().map(notes).collect()
}

fn of(gaps: &[GapTime], activity: Activity) -> Vec<GapTime> {
    let gaps = gaps.iter().filter(|gap| gap.activity == activity);
    gaps.copied().collect()
}

#[test]
fn waits_between_collectives_are_summed_up_with_their_partner() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    let workspace = Workspace::new();
    let times = TIMES.to_string();
    // Some more bytes than libraries surely take without waiting for the receiver.
    let arguments = [&times[..], "300"];
    let job = Job::new(2, program("point_to_point.c"), &arguments);
    let plain = job.plain(workspace.path()).expect(0);
    let (recorded, trace) = job.record(workspace.path());
    assert_eq!(recorded.expect(0).sorted_lines(), plain.sorted_lines());
    let gaps = gaps(&trace);
    // A receive from any process, one on another communicator, a wait, a probe with its receive: one
    // gap each, all about rank 1, and a last receive. In a loop of tests, the first may be successful.
    let waits = of(&gaps[0], Activity::PointToPoint);
    let polls = of(&gaps[0], Activity::Polling);
    assert!(
        (4 * TIMES < waits.len()) && waits.len() <= 5 * TIMES + 1,
        "{waits:?}"
    );
    assert!(polls.len() <= TIMES && waits.len() + polls.len() > 5 * TIMES);
    for gap in waits.iter().chain(&polls) {
        assert_eq!(gap.known_partner(), Some(1), "{gap:?}");
        assert!(gap.longest_ticks <= gap.ticks && gap.ticks > 0, "{gap:?}");
    }
    let n_calls: usize = waits.iter().map(|gap| usize::from(gap.n_calls)).sum();
    assert!(
        (5 * TIMES < n_calls) && n_calls <= 6 * TIMES + 1,
        "{waits:?}"
    );
    // Sends of a few bytes wait for nobody, and are not timed; one of 300 bytes may wait for its receiver.
    let [send] = gaps[1][..] else {
        panic!("{:?}", gaps[1]);
    };
    let what = (send.activity, send.n_calls, send.known_partner());
    assert_eq!(what, (Activity::PointToPoint, 1, Some(0)));
    let analysis = analyze(&trace, &[]).expect(0);
    let number = |rank: usize, name: &str| analysis.json["ranks"][rank][name].as_i64();
    let n_polls: i64 = polls.iter().map(|gap| i64::from(gap.n_calls)).sum();
    assert_eq!(number(0, "unsuccessful_polls"), Some(n_polls));
    // Rank 1 sleeps 2 ms each time from when rank 0 is about to wait; on a busy machine that may be late for it.
    assert!(number(0, "point_to_point_ns") >= Some(2_000_000));
    assert!(number(1, "point_to_point_ns") > Some(0));
    for name in ["unsuccessful_polls", "io_ns", "rma_ns"] {
        assert_eq!(number(1, name), Some(0), "{name}");
    }
}

#[test]
fn without_the_layer_no_wait_is_noted_and_nothing_is_said_of_it() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    let workspace = Workspace::new();
    let job = Job {
        options: &["--layers", "-p2p,-messages"],
        ..Job::new(2, program("point_to_point.c"), &["1"])
    };
    let trace = job.recorded(workspace.path());
    assert_eq!(gaps(&trace), [[], []] as [[GapTime; 0]; 2]);
    let analysis = analyze(&trace, &[]).expect(0);
    assert_eq!(analysis.json["ranks"][0]["point_to_point_ns"], Value::Null);
    assert_eq!(analysis.json["ranks"][0]["io_ns"], 0);
    let layers = &analysis.json["trace"]["layers"];
    assert_eq!(layers["p2p"]["on"], false);
    assert_eq!(
        layers["messages"]["reason"],
        "not requested (--layers +messages)"
    );
}

#[test]
fn the_fortran_binding_waits_for_the_same_partner() {
    skip_unless!(have(&["mpirun", "mpifort"]));
    let workspace = Workspace::new();
    let trace = Job::new(2, program("point_to_point_f08.F90"), &[]).recorded(workspace.path());
    let gaps = gaps(&trace);
    let waits = of(&gaps[0], Activity::PointToPoint);
    let partners: Vec<_> = waits
        .iter()
        .map(|gap| (gap.n_calls, gap.known_partner()))
        .collect();
    assert_eq!(partners, [(1, Some(1)); 2]);
    assert_eq!(gaps[1], []);
}

#[test]
fn file_access_is_counted_without_its_layer_and_not_twice_with_it() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    for (layers, n_expected) in [("+calls", 3), ("+io", 0)] {
        let workspace = Workspace::new();
        let file = workspace.path().join("file");
        let arguments = [file.to_str().unwrap()];
        let job = Job {
            options: &["--layers", layers],
            ..Job::new(2, program("file.c"), &arguments)
        };
        let trace = job.recorded(workspace.path());
        for gaps in gaps(&trace) {
            let calls = of(&gaps, Activity::Io).into_iter();
            let n: u32 = calls.map(|gap| u32::from(gap.n_calls)).sum();
            assert_eq!(n, n_expected, "{layers}");
            // What the library sends for it is its own.
            assert_eq!(of(&gaps, Activity::PointToPoint), [], "{layers}");
        }
        let analysis = analyze(&trace, &[]).expect(0);
        for rank in analysis.array("/ranks") {
            assert!(rank["io_ns"].as_i64() > Some(0), "{layers}: {rank:#}");
        }
    }
}
