//! By how much the run can be shorter without a cause: a bound that is not below what it would be, as the same program without
//! that cause tells, and not far above it.

use collbench_analyzer::results::FoundCause;
use collbench_analyzer::{Analysis, Options, RunFiles, Selection, analyze};

const SEEDS: u64 = 5;

/// Rows and columns of a square of ranks, with more work before either, and a barrier now and then.
fn scenario(before_rows: &str, before_columns: &str) -> String {
    format!(
        r#"
schema = 1
name = "rows and columns"
truth = "counts"
[[hosts]]
name = "node1"
ranks = 16
[[program]]
operation = "MPI_Comm_split"
split = {{ parts = 4 }}
makes = "rows"
[[program]]
operation = "MPI_Comm_split"
split = {{ every = 4 }}
makes = "columns"
[[program]]
repeat = 5
steps = [
  {{ repeat = 20, steps = [
    {{ operation = "MPI_Allreduce", on = "rows", bytes = 8, work = [
        {{ normal_ns = [500000, 10000] }}, {before_rows}
    ] }},
    {{ operation = "MPI_Allreduce", on = "columns", bytes = 8, work = [
        {{ normal_ns = [500000, 10000] }}, {before_columns}
    ] }},
  ] }},
  {{ operation = "MPI_Barrier", work = [{{ normal_ns = [50000, 1000] }}] }},
]
"#
    )
}

fn analysis_of(scenario: &str, selection: &Selection, seed: u64) -> Analysis {
    let directory = tempfile::tempdir().unwrap();
    let trace = crate::seeds::trace_in(directory.path(), scenario, Some(seed));
    let files = RunFiles::open(&trace).unwrap();
    let options = Options {
        selection: selection.clone(),
        ..Options::default()
    };
    analyze(&files, &options, &mut |_| {}).unwrap()
}

/// The first cause of each of some seeds, and the run; the bound is compared with what repairing it gains.
#[track_caller]
fn is_bound(late: &str, repaired: &str, selection: &Selection, check: impl Fn(&FoundCause)) {
    for seed in 0..SEEDS {
        let analysis = analysis_of(late, selection, seed);
        let whole_ns = analysis.trace.duration_ns;
        let without = analysis_of(repaired, &Selection::default(), seed);
        let gained_ns = whole_ns - without.trace.duration_ns;
        let cause = &analysis.causes[0];
        check(cause);
        let bound_ns = cause.run_shorter_ns.expect("a bound");
        let are_near = (gained_ns..gained_ns + gained_ns / 5).contains(&bound_ns);
        assert!(are_near, "{gained_ns} ns: {cause:#?}");
        for cause in &analysis.causes {
            assert!(cause.run_shorter_ns.unwrap_or(0) <= whole_ns, "{cause:#?}");
        }
    }
}

const ONE: &str = "{ constant_ns = 5000000, ranks = [0] },";
const OTHER: &str = "{ constant_ns = 5000000, ranks = [5] },";

#[test]
fn a_late_rank_for_which_all_have_waited_before_they_meet_makes_the_run_longer() {
    let late = scenario(ONE, "");
    let whole = Selection::default();
    is_bound(&late, &scenario("", ""), &whole, |cause| {
        assert_eq!(cause.rank(), Some(0), "{cause:#?}");
    });
}

#[test]
fn two_ranks_that_are_late_alike_on_different_communicators_make_it_longer_together() {
    let late = scenario(ONE, OTHER);
    let whole = Selection::default();
    is_bound(&late, &scenario("", ""), &whole, |cause| {
        assert_eq!(cause.ranks, [0, 5], "{cause:#?}");
    });
}

#[test]
fn of_a_part_in_which_ranks_do_not_all_meet_it_is_a_bound_too() {
    let late = scenario(ONE, "");
    for part in [
        Selection {
            communicators: vec!["rows".into()],
            ..Selection::default()
        },
        Selection {
            operations: vec!["MPI_Allreduce".into()],
            ..Selection::default()
        },
    ] {
        is_bound(&late, &scenario("", ""), &part, |cause| {
            assert_eq!(cause.rank(), Some(0), "{cause:#?}");
        });
    }
}

#[test]
fn where_all_parts_of_a_communicator_are_uneven_they_are_repaired_together() {
    let by_lot = "{ exponential_ns = 1000000 },";
    for seed in 0..SEEDS {
        let analysis = analysis_of(&scenario(by_lot, ""), &Selection::default(), seed);
        let even = scenario("{ constant_ns = 1000000 },", "");
        let even = analysis_of(&even, &Selection::default(), seed);
        let gained_ns = analysis.trace.duration_ns - even.trace.duration_ns;
        let cause = &analysis.causes[0];
        assert!(
            cause.run_shorter_ns > Some(gained_ns / 2),
            "{gained_ns} {cause:#?}"
        );
    }
}
