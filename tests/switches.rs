//! Why a rank is late: it computed, or it was not running.

use collbench_tests::{Analysis, Job, Workspace, alone, analyze, have, program, skip_unless};
use serde_json::Value;

const TIMES: u64 = 20;
/// What the late rank spends in front of each call, ns.
const LATE_NS: i64 = 3_000_000;

fn analysis(why: &str, layers: &str) -> (Analysis, String) {
    let workspace = Workspace::new();
    let options = ["--layers", layers];
    let times = TIMES.to_string();
    let arguments = [why, &times];
    let job = Job {
        options: &options,
        ..Job::new(2, program("late.c"), &arguments)
    };
    let trace = job.record_as_plain(workspace.path());
    let document = analyze(&trace, &[]).expect(0);
    let screen = collbench_tests::run(&[
        collbench_tests::command("collbench-analyze").as_os_str(),
        "--no-pictures".as_ref(),
        trace.as_os_str(),
    ]);
    (document, screen.expect(0).stdout)
}

/// What rank 1 did in front of its allreduces.
fn before(analysis: &Analysis) -> &Value {
    let mut all = analysis.array("/running").iter();
    let found = all.find(|sum| {
        sum["rank"] == 1 && sum["operation"] == "MPI_Allreduce" && sum["place"] == "before"
    });
    found.unwrap_or_else(|| panic!("no sample: {:#}", analysis.json["running"]))
}

#[test]
fn a_rank_that_sleeps_computes_is_stopped_or_shares_its_core_is_told_apart() {
    let _alone = alone();
    skip_unless!(have(&["mpirun", "mpicc"]));
    for why in ["sleeps", "computes", "stopped", "shares"] {
        let (analysis, screen) = analysis(why, "calls,switches");
        let found = before(&analysis);
        let number = |name: &str| found[name].as_i64().unwrap();
        let (elapsed_ns, on_core_ns) = (number("elapsed_ns"), number("on_core_ns"));
        let (blocked, preempted) = (number("blocked"), number("preempted"));
        let times = TIMES as i64;
        assert!(number("samples") >= times - 1, "{why}: {found}");
        assert!(
            elapsed_ns >= (times - 1) * LATE_NS * 9 / 10,
            "{why}: {found}"
        );
        match why {
            "sleeps" | "stopped" => {
                assert!(on_core_ns < elapsed_ns / 2, "{why}: {found}");
                // If it has lost its core to whoever stops it, it has not left the core by itself: on a busy
                // machine that is so nearly each time.
                let left = match why {
                    "stopped" => blocked + preempted,
                    _ => blocked,
                };
                assert!(left >= times - 1, "{why}: {found}");
            }
            "computes" => {
                assert!(
                    on_core_ns >= (times - 1) * LATE_NS * 9 / 10,
                    "{why}: {found}"
                );
                assert!(blocked < times / 2, "{why}: {found}");
            }
            _ => {
                assert!(on_core_ns < elapsed_ns * 8 / 10, "{why}: {found}");
                assert!(
                    preempted >= times / 2 && blocked < times / 2,
                    "{why}: {found}"
                );
            }
        }
        let told = screen.replace("\n    ", " ");
        // On a busy machine the other one may be as late.
        if !told.contains("rank 1 arrives last in")
            && !told.contains("is for rank 1, which arrives last in")
        {
            continue;
        }
        assert!(told.contains("rank 1 was on a core for"), "{why}: {screen}");
        let words = match why {
            "sleeps" => "slept, blocked or was stopped",
            "stopped" if blocked >= times - 1 => "slept, blocked or was stopped",
            "shares" => "other threads got its core",
            // On a busy machine others get its core then, too.
            _ => "",
        };
        assert!(told.contains(words), "{why}: {screen}");
        assert!(
            why != "computes" || !told.contains("slept, blocked or was stopped"),
            "{screen}"
        );
    }
}

#[test]
fn threads_are_asked_about_only_if_that_is_wanted() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    let (analysis, screen) = analysis("sleeps", "calls");
    assert!(analysis.json["running"].is_null());
    assert!(!screen.contains("on a core"), "{screen}");
    let layer = &analysis.json["trace"]["layers"]["switches"];
    assert_eq!(layer["on"], false);
}
