//! Calls that the program leaves by a jump, in which it forks, or behind which a thread is cancelled.
//! What signal handlers may do in the middle of the recorder is the command collbench-interrupt's.

use collbench_tests::{Job, analyze, program};

use super::matrix::{Fault, Kept};

fn interrupts<'a>(name: &'a str, how: &'a str, calls: u64, kept: Kept, says: &'a str) -> Fault<'a> {
    Fault {
        name,
        job: Job::new(1, program("interrupts.c"), &[how]),
        calls,
        kept,
        says,
    }
}

#[test]
fn calls_behind_one_that_was_left_by_a_jump_are_the_programs() {
    let fault = interrupts("longjmp out of MPI", "jump", 511, Kept::All, "");
    let Some(workspace) = fault.check() else {
        return;
    };
    let analysis = analyze(&workspace.join("recorded/trace"), &[]).expect(0);
    assert_eq!(analysis.json["trace"]["calls"], 511);
    assert_eq!(analysis.json["trace"]["complete"], true);
    assert!(!analysis.has_remark("internal_calls"));
}

#[test]
fn a_thread_that_is_to_be_cancelled_is_so_behind_its_calls() {
    interrupts("pthread_cancel before MPI", "cancel", 3, Kept::All, "").check();
}

#[test]
fn a_call_that_returns_in_a_child_stores_nothing_for_its_parent() {
    let ended = "did not reach MPI_Finalize";
    interrupts("fork in MPI", "forked", 10, Kept::UntilDeath, ended).check();
}
