//! Programs that hang, killed by `timeout` as a user does it, and programs that are wrong and go on
//! by luck: the report names ranks, operations and communicators.

use std::path::PathBuf;

use collbench_tests::{
    Analysis, Form, Job, Workspace, analyze, command, have, program, run, skip_unless,
};
use serde_json::{Value, json};

const MPI: &[&str] = &["mpirun", "mpicc", "timeout"];

/// Collectives of each rank before the program goes wrong: three barriers, two copies of
/// `MPI_COMM_WORLD`, and an allreduce on each of these.
const BEFORE: u64 = 7;
const ALL_DONE: [&str; 3] = ["MPI_Barrier", "MPI_Comm_dup", "MPI_Allreduce"];

/// A run that was killed, and what the analyzer says of it.
struct Killed {
    _workspace: Workspace,
    trace: PathBuf,
    analysis: Analysis,
}

/// Words that run a command until all of these ranks are about to hang (`hangs.c` leaves a file of each),
/// and for so many seconds more; then `timeout` kills it, as if its time were over.
fn until_it_hangs(ranks: usize, seconds: &str) -> [String; 4] {
    let script = format!(
        "timeout --preserve-status --kill-after=15 120 \"$@\" & killer=$!
         while kill -0 $killer 2>/dev/null && [ \"$(ls | grep -c '^hangs\\.')\" -lt {ranks} ]; do sleep 0.05; done
         sleep {seconds}; kill -TERM $killer 2>/dev/null; wait $killer"
    );
    ["sh".to_owned(), "-c".to_owned(), script, "sh".to_owned()]
}

/// Runs a program that hangs until it is killed. On a machine that has too much to do it may have
/// come nowhere by then: it gets more time.
fn killed(form: Form, how: &str, rank: usize, ranks: usize) -> Killed {
    for seconds in ["0.3", "3", "12", "40"] {
        let workspace = Workspace::new();
        let chosen = rank.to_string();
        let around = until_it_hangs(ranks, seconds);
        let job = Job {
            form,
            around: &around.each_ref().map(String::as_str),
            ..Job::new(ranks, program("hangs.c"), &[how, &chosen])
        };
        let (_, trace) = job.record(workspace.path());
        let analysis = analyze(&trace, &[]);
        let has_come = |rank: &Value| {
            let calls = &rank["calls_by_operation"];
            let n = |name: &&str| calls[*name].as_u64().unwrap_or(0);
            ALL_DONE.iter().map(n).sum::<u64>() >= BEFORE
        };
        let is_there = analysis.json["ranks"]
            .as_array()
            .is_some_and(|all| all.len() == ranks && all.iter().all(has_come));
        let waits = analysis.json["hang"]["waiting"]
            .as_array()
            .map_or(0, Vec::len);
        if is_there && waits > 0 {
            return Killed {
                _workspace: workspace,
                trace,
                analysis: analysis.expect(3),
            };
        }
    }
    panic!("{how}: nobody hangs");
}

impl Killed {
    /// The entry of `unfinished` of an operation on a communicator of this name.
    #[track_caller]
    fn unfinished(&self, operation: &str, communicator: &str) -> &Value {
        let names = self.analysis.array("/communicators");
        let found = self.analysis.array("/unfinished").iter().find(|entry| {
            let id = entry["communicator"].as_u64().unwrap() as usize;
            let is_it = entry["operations"]
                .as_array()
                .unwrap()
                .contains(&json!(operation));
            is_it && names[id]["name"] == communicator
        });
        found.unwrap_or_else(|| panic!("{:#}", self.analysis.json["unfinished"]))
    }

    /// The screen, with single blanks, and without the places in the program, which must be there.
    fn screen(&self) -> String {
        let analyzer = command("collbench-analyze").into_os_string();
        let finished = run(&[analyzer, "--no-pictures".into(), self.trace.clone().into()]);
        let finished = finished.expect(3);
        let words: Vec<&str> = finished.stdout.split_whitespace().collect();
        let words = words.join(" ");
        let mut parts = words.split(" at hangs.c:");
        let mut screen = parts.next().unwrap().to_owned();
        assert!(screen.len() < words.len(), "no place in {words}");
        for part in parts {
            screen += part.trim_start_matches(|c: char| c.is_ascii_digit());
        }
        screen
    }

    #[track_caller]
    fn assert_says(&self, words: &str) {
        let screen = self.screen();
        assert!(screen.contains(words), "no {words:?} in {screen}");
    }

    #[track_caller]
    fn assert_finalizes(&self, rank: usize) {
        let screen = self.screen();
        let instead = ["has been in MPI_Finalize since", "called MPI_Finalize at"];
        let words = instead.map(|did| format!("rank {rank} never arrived: it {did}"));
        assert!(words.iter().any(|words| screen.contains(words)), "{screen}");
    }

    fn state(&self, rank: usize) -> &str {
        self.analysis.json["hang"]["ranks"][rank]["state"]
            .as_str()
            .unwrap()
    }
}

#[test]
fn a_rank_that_skips_an_allreduce_is_named_with_where_it_is_instead() {
    skip_unless!(have(MPI));
    for form in [Form::Outer, Form::Inner] {
        let killed = killed(form, "skip", 2, 4);
        let allreduce = killed.unfinished("MPI_Allreduce", "MPI_COMM_WORLD");
        assert_eq!(allreduce["inside"], json!([0, 1, 3]), "{form:?}");
        assert_eq!(allreduce["never_came"], json!([2]));
        // Behind three barriers and two copies.
        assert_eq!(
            (&allreduce["sequence"], &allreduce["bytes_max"]),
            (&json!(5), &json!(4))
        );
        // When the launcher is killed, it may let ranks out of MPI_Finalize.
        assert!(["in_finalize", "finished"].contains(&killed.state(2)));
        killed.assert_says(
            "ranks 0-1, 3 have been waiting in MPI_Allreduce (call 5 on MPI_COMM_WORLD, 4 bytes) since",
        );
        killed.assert_finalizes(2);
    }
}

#[test]
fn a_rank_in_an_endless_loop_is_named_with_the_last_that_it_did() {
    skip_unless!(have(MPI));
    for form in [Form::Outer, Form::Inner] {
        let killed = killed(form, "loop", 1, 3);
        let allreduce = killed.unfinished("MPI_Allreduce", "MPI_COMM_WORLD");
        assert_eq!(allreduce["inside"], json!([0, 2]), "{form:?}");
        assert_eq!(allreduce["never_came"], json!([1]));
        assert_eq!(killed.state(1), "outside");
        let last = &killed.analysis.json["hang"]["ranks"][1]["last_call"];
        assert_eq!(
            (&last["operation"], &last["sequence"]),
            (&json!("MPI_Allreduce"), &json!(0))
        );
        assert!(
            last["leave_ns"].as_i64() > last["enter_ns"].as_i64(),
            "{last}"
        );
        killed.assert_says("rank 1 never arrived: it left MPI_Allreduce (call 0 on B) at");
    }
}

#[test]
fn a_barrier_in_place_of_a_broadcast_is_named() {
    skip_unless!(have(MPI));
    for form in [Form::Outer, Form::Inner] {
        let killed = killed(form, "operation", 1, 3);
        let [mismatch] = killed.analysis.array("/mismatches") else {
            panic!("{:#}", killed.analysis.json["mismatches"]);
        };
        assert_eq!(
            (&mismatch["kind"], &mismatch["sequence"]),
            (&json!("operations"), &json!(5))
        );
        killed.assert_says(
            "different operations at call 5 on MPI_COMM_WORLD: MPI_Barrier by rank 1; MPI_Bcast with root 0 \
             by ranks 0, 2",
        );
        assert!(killed.analysis.has_remark("mismatched_calls"));
    }
}

#[test]
fn a_wrong_root_is_named() {
    skip_unless!(have(MPI));
    let killed = killed(Form::Outer, "root", 2, 3);
    killed.assert_says(
        "different roots at call 5 on MPI_COMM_WORLD: MPI_Bcast with root 0 by ranks 0-1; MPI_Bcast with root \
         2 by rank 2",
    );
}

#[test]
fn a_cycle_over_two_communicators_is_named() {
    skip_unless!(have(MPI));
    let killed = killed(Form::Outer, "cycle", 0, 2);
    let [cycle] = killed.analysis.array("/hang/cycles") else {
        panic!("{:#}", killed.analysis.json["hang"]);
    };
    assert_eq!(cycle["ranks"], json!([0, 1]));
    killed.assert_says(
        "a circular wait: rank 0 waits in MPI_Bcast (call 1 on A, root rank 0, 4 MiB) for rank 1, \
         which waits in MPI_Bcast (call 1 on B, root rank 0, 4 MiB) for rank 0",
    );
}

#[test]
fn who_waits_for_a_nonblocking_one_is_told_with_the_completing_call() {
    skip_unless!(have(MPI));
    let killed = killed(Form::Outer, "wait", 1, 3);
    let begun = killed.unfinished("MPI_Iallreduce", "MPI_COMM_WORLD");
    assert_eq!(
        (&begun["inside"], &begun["never_came"]),
        (&json!([0, 2]), &json!([1]))
    );
    assert_eq!(begun["completing"], json!(["MPI_Wait"]));
    killed.assert_says(
        "ranks 0, 2 have been waiting in MPI_Wait for MPI_Iallreduce (call 5 on MPI_COMM_WORLD, 4 bytes)",
    );
}

#[test]
fn ranks_of_a_part_are_told_by_their_world_ranks() {
    skip_unless!(have(MPI));
    // The part is 5, 3, 1; its last rank is the root.
    let killed = killed(Form::Outer, "part", 3, 6);
    let reduce = killed.analysis.array("/unfinished");
    let reduce = reduce
        .iter()
        .find(|entry| entry["operations"] == json!(["MPI_Reduce"]))
        .unwrap();
    assert_eq!(reduce["never_came"], json!([3]));
    assert_eq!(reduce["roots"], json!([1]));
    // A leaf may be through with it.
    let of = |list: &str| reduce[list].as_array().unwrap().clone();
    let mut others = [of("inside"), of("left")].concat();
    others.sort_by_key(Value::as_u64);
    assert_eq!(others, [1, 5]);
    assert!(of("inside").contains(&json!(1)));
}

#[test]
fn a_constructor_that_not_all_call_is_unfinished_on_its_parent() {
    skip_unless!(have(MPI));
    let killed = killed(Form::Outer, "dup", 0, 3);
    let dup = killed.unfinished("MPI_Comm_dup", "A");
    assert_eq!(
        (&dup["inside"], &dup["never_came"]),
        (&json!([1, 2]), &json!([0]))
    );
    killed.assert_finalizes(0);
}

/// Records a program that may hang or not, and looks for a mismatch of a kind.
fn mismatch_of(how: &str, kind: &str) -> Value {
    let mut mismatches = Value::Null;
    for seconds in ["0.5", "5", "20"] {
        let workspace = Workspace::new();
        let around = until_it_hangs(3, seconds);
        let job = Job {
            around: &around.each_ref().map(String::as_str),
            ..Job::new(3, program("hangs.c"), &[how, "1"])
        };
        let (_, trace) = job.record(workspace.path());
        mismatches = analyze(&trace, &[]).json["mismatches"].clone();
        let all = mismatches.as_array().into_iter().flatten();
        if let Some(found) = all.clone().find(|mismatch| mismatch["kind"] == kind) {
            return found.clone();
        }
    }
    panic!("no mismatch of {kind}: {mismatches:#}");
}

#[test]
fn sizes_that_do_not_fit_and_forms_that_do_not_match_are_named_whether_it_hangs_or_not() {
    skip_unless!(have(MPI));
    let sizes = mismatch_of("size", "sizes");
    assert_eq!(sizes["sequence"], 5);
    assert_eq!(
        sizes["calls"],
        json!([
            { "operation": "MPI_Allreduce", "root": null, "bytes": 8, "ranks": [0, 2] },
            { "operation": "MPI_Allreduce", "root": null, "bytes": 16, "ranks": [1] }
        ])
    );
    let forms = mismatch_of("form", "blocking_and_nonblocking");
    assert_eq!(forms["calls"][1]["operation"], "MPI_Ibarrier");
    assert_eq!(forms["calls"][1]["ranks"], json!([1]));
}

#[test]
fn what_nobody_ever_waits_for_is_a_remark_on_a_whole_trace() {
    skip_unless!(have(MPI));
    let workspace = Workspace::new();
    let job = Job::new(3, program("hangs.c"), &["never", "0"]);
    let (finished, trace) = job.record(workspace.path());
    let finished = finished.expect(0);
    assert!(finished.stdout.contains("went through"), "{finished}");
    let analysis = analyze(&trace, &[]).expect(0);
    assert!(analysis.has_remark("never_completed"));
    let [found] = analysis.array("/never_completed") else {
        panic!("{:#}", analysis.json["never_completed"]);
    };
    assert_eq!(
        (&found["operation"], &found["ranks"]),
        (&json!("MPI_Ibarrier"), &json!([0, 1, 2]))
    );
    assert!(analysis.json["hang"].is_null());
}
