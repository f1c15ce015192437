//! Who arrives last, and the sums of long traces.

use super::*;

/// Eight ranks in 200 allreduces; `work` is what they do between.
fn allreduces(work: &str) -> String {
    format!(
        "schema = 1
        [[hosts]]
        name = \"a\"
        ranks = 8
        granularity_ticks = 26
        ghz = 2.4
        [latency]
        base_ns = 3000
        departure_ns = 200
        jitter = {{ exponential_ns = 500 }}
        [[program]]
        repeat = 200
        operation = \"MPI_Allreduce\"
        bytes = 8
        work = [{work}]"
    )
}

const SEEDS: std::ops::Range<u64> = 0..20;

fn with_seed(scenario: &str, seed: u64) -> Case {
    Case::with(scenario, Some(seed))
}

#[test]
fn one_late_rank_is_the_culprit() {
    let late = allreduces(
        "{ normal_ns = [1000000, 20000] }, { constant_ns = 5000000, ranks = [5], share = 0.6 }",
    );
    for seed in SEEDS {
        let case = with_seed(&late, seed);
        let culprits = case.culprits();
        assert_eq!(culprits.len(), 1, "seed {seed}");
        let culprit = &culprits[0]["culprit"];
        assert_eq!(
            (text(&culprit["kind"]), number(&culprit["id"])),
            ("rank", 5),
            "seed {seed}"
        );
    }
}

#[test]
fn a_rank_that_is_always_late_is_last_in_all_instances() {
    let late =
        allreduces("{ normal_ns = [1000000, 20000] }, { constant_ns = 5000000, ranks = [3] }");
    let case = Case::new(&late);
    let allreduce = operation(&case, "MPI_Allreduce");
    assert_eq!(
        allreduce["last_arrivals"],
        serde_json::json!([0, 0, 0, 200, 0, 0, 0, 0])
    );
    assert_eq!(number(&case.analysis["ranks"][3]["wait_ns"]), 0);
}

#[test]
fn where_nobody_in_particular_is_late_there_is_no_culprit() {
    for work in [
        "{ normal_ns = [1000000, 50000] }",
        "{ exponential_ns = 300000 }",
        "{ normal_ns = [1000000, 20000] }, { constant_ns = 5000000, moves_every = 1 }",
        "{ normal_ns = [1000000, 20000] }, { constant_ns = 2000000, moves_every = 5 }",
        "{ normal_ns = [1000000, 20000] }, \
         { noise = { period_ns = 10000000, length_ns = 300000 } }",
    ] {
        let scenario = allreduces(work);
        let with_culprit: Vec<u64> = SEEDS
            .filter(|&seed| !with_seed(&scenario, seed).culprits().is_empty())
            .collect();
        assert!(
            with_culprit.is_empty(),
            "{work}: a culprit with seeds {with_culprit:?}"
        );
    }
}

#[test]
fn who_comes_at_the_same_time_is_not_told_apart() {
    // All at once, and rank 7 always less than a step of the clock later.
    for work in [
        "{ constant_ns = 1000000 }",
        "{ constant_ns = 1000000 }, { constant_ns = 9, ranks = [7] }",
    ] {
        let scenario = with(
            &allreduces(work),
            &[
                ("jitter = { exponential_ns = 500 }", ""),
                ("departure_ns = 200", "departure_ns = 0"),
            ],
        );
        let case = Case::new(&scenario);
        let allreduce = operation(&case, "MPI_Allreduce");
        assert_eq!(number(&allreduce["last_unresolved"]), 200, "{work}");
        assert_eq!(number(&allreduce["first_unresolved"]), 200, "{work}");
        assert_eq!(case.culprits(), Vec::<&Value>::new(), "{work}");
    }
}

#[test]
fn sums_of_long_traces_are_those_of_the_truth() {
    let scenario = "schema = 1\ntruth = \"counts\"\n[[hosts]]\nname = \"a\"\nranks = 4\n\
                    [[program]]\nrepeat = 400000\noperation = \"MPI_Reduce\"\nbytes = 8\n\
                    work = [{ exponential_ns = 1000 }]\n";
    let case = Case::new(scenario);
    assert_eq!(case.status, 0);
    let found = &case.analysis["operations"][0];
    let wait = &case.truth["operations"][0]["global"]["wait_ns"];
    let off = number(&found["wait_ns"]["total"]) - number(&wait["total"]);
    assert!(off.abs() < 400_000, "{off} ns in 400,000 waits");
}
