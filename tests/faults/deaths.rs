//! Programs that end badly, or become others: what they had done is in the trace.

use collbench_tests::{Form, Job, Workspace, analyze, have, program, skip_unless};

use super::matrix::{Fault, Kept};
use super::{MPI, damage_of};

/// Enough calls for several chunks of the trace.
const CALLS: u64 = 10_000;

/// Three ranks of `ends.c`, of which the last one ends in this way behind 100 barriers.
fn ends<'a>(name: &'a str, how: &'a str) -> Fault<'a> {
    Fault {
        name,
        job: Job::new(3, program("ends.c"), &[how, "2", "100"]),
        calls: 100,
        kept: Kept::UntilDeath,
        says: "did not reach MPI_Finalize",
    }
}

#[test]
fn a_rank_is_killed() {
    ends("SIGKILL to a rank", "kill").check();
    ends("SIGKILL to a rank", "kill").inner().check();
}

#[test]
fn a_rank_crashes() {
    ends("SIGSEGV in a rank", "segv").check();
    ends("SIGSEGV in a rank", "segv").inner().check();
}

#[test]
fn a_rank_is_terminated() {
    ends("SIGTERM to a rank", "term").check();
    ends("SIGTERM to a rank", "term").inner().check();
}

#[test]
fn a_rank_aborts() {
    ends("MPI_Abort", "abort").check();
    ends("MPI_Abort", "abort").inner().check();
}

#[test]
fn ranks_forget_to_finalize() {
    ends("exit without MPI_Finalize", "exit").check();
    ends("exit without MPI_Finalize", "exit").inner().check();
}

#[test]
fn ranks_leave_without_handlers_of_exit() {
    ends("_exit", "_exit").check();
    ends("_exit", "_exit").inner().check();
}

/// What a batch system does at the end of a job's time: `signal` to the first process (and with
/// `to_ranks` to a rank).
fn batch_system<'a>(name: &'a str, around: &'a [&'a str]) -> Fault<'a> {
    let mut fault = ends(name, "linger");
    fault.job.around = around;
    fault
}

#[test]
fn the_batch_system_terminates_the_job() {
    let around = [
        "sh",
        "-c",
        "\"$@\" & while ! [ -e ready ]; do sleep 0.05; done; kill -TERM $!; wait $!",
        "sh",
    ];
    let name = "SIGTERM to the first process";
    batch_system(name, &around).check();
    batch_system(name, &around).inner().check();
}

#[test]
fn the_batch_system_terminates_a_rank() {
    let around = [
        "sh",
        "-c",
        "\"$@\" & while ! [ -e ready ]; do sleep 0.05; done; kill -TERM $(cat ready); wait $!",
        "sh",
    ];
    batch_system("SIGTERM to a rank from outside", &around).check();
    batch_system("SIGTERM to a rank from outside", &around)
        .inner()
        .check();
}

#[test]
fn the_batch_system_kills_the_whole_job_at_once() {
    // Nobody is left to say or remove anything.
    let around = [
        "sh",
        "-c",
        "\"$@\" & while ! [ -e ready ]; do sleep 0.05; done; \
         kill -KILL $! $(pgrep -P $!) $(cat ready); wait $!; status=$?; sleep 1; exit $status",
        "sh",
    ];
    let fault = batch_system("SIGKILL to recorder, launcher and a rank", &around);
    Fault { says: "", ..fault }.check();
}

fn forks(what: &str) {
    let calls = CALLS.to_string();
    Fault {
        name: &format!("fork without exec, the child: {what}"),
        job: Job::new(2, program("forks.c"), &[what, &calls]),
        calls: 2 * CALLS,
        kept: Kept::All,
        says: "",
    }
    .check();
}

#[test]
fn a_child_waits_to_be_killed() {
    forks("nothing");
}

#[test]
fn a_child_exits() {
    forks("exit");
}

#[test]
fn a_child_does_other_work() {
    forks("free");
}

#[test]
fn a_child_calls_mpi() {
    forks("barriers");
}

#[test]
fn a_child_shares_the_memory_of_its_parent() {
    forks("vfork");
}

#[test]
fn a_rank_becomes_another_program() {
    let calls = CALLS.to_string();
    let execs = |name, when, kept| Fault {
        name,
        job: Job::new(2, program("execs.c"), &[when, &calls]),
        calls: CALLS,
        kept,
        says: "",
    };
    execs("exec before MPI_Init", "before", Kept::All).check();
    execs("exec before MPI_Init", "before", Kept::All)
        .inner()
        .check();
    execs("exec after MPI_Init", "after", Kept::UntilDeath).check();
}

#[test]
fn a_rank_killed_after_n_calls_leaves_n_records_and_what_the_others_waited_in() {
    skip_unless!(have(MPI));
    for (form, calls) in [(Form::Outer, 1234), (Form::Inner, 3)] {
        let workspace = Workspace::new();
        let n = calls.to_string();
        let job = Job {
            form,
            ..Job::new(3, program("ends.c"), &["kill", "1", &n])
        };
        let (finished, trace) = job.record(workspace.path());
        finished.expect(128 + 9);

        let analysis = analyze(&trace, &[]).expect(3);
        assert_eq!(analysis.json["trace"]["complete"], false);
        let victim = analysis.rank(1);
        assert_eq!(victim["calls"], calls, "{form:?}");
        assert_eq!(victim["calls_by_class"]["MPI_Barrier"], calls);
        let damage = damage_of(&analysis, 1);
        assert!(
            damage["in_flight"].is_null(),
            "it died outside of any collective: {damage}"
        );
        assert!(damage["what"].is_string(), "{damage}");
        for waiting in [0, 2] {
            let in_flight = &damage_of(&analysis, waiting)["in_flight"];
            assert_eq!(
                in_flight["operation"], "MPI_Allreduce",
                "rank {waiting}: {in_flight}"
            );
            assert_eq!(
                in_flight["sequence"], calls,
                "after {calls} others: {in_flight}"
            );
            assert!(!in_flight["communicator"].is_null(), "{in_flight}");
            assert_eq!(
                analysis.rank(waiting)["calls_by_class"]["MPI_Barrier"],
                calls
            );
        }
        let barriers = &analysis.json["totals"]["MPI_Barrier"];
        assert_eq!(
            barriers["instances"], calls,
            "what was complete is analyzed"
        );
    }
}
