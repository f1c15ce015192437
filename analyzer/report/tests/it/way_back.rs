//! Known truth of who was waited for, where a recorder does not see which receive met which send, or when
//! one ended: what is claimed is true, and what cannot be known is counted apart.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::generated::{case, list, number, trees};

/// Operations on six processes, of which one is mostly late; the rest of the time is noise. `receives`:
/// what is seen of them. No library receives from any process in an exchange, and one that does so
/// one by one gets what comes first, which a scenario has not.
fn scenario(receives: &str, late_ns: u32, bytes: u32) -> String {
    let all =
        |shape: &str| format!("{{ shape = {shape}, receives = \"{receives}\", posts_all = true }}");
    let tree = |shape: &str| match receives {
        "from-any" => all(shape),
        _ => format!("{{ shape = {shape}, receives = \"{receives}\" }}"),
    };
    let exchange = |shape: &str| match receives {
        "from-any" => format!("{{ shape = {shape} }}"),
        _ => tree(shape),
    };
    let (linear, binomial) = ("\"linear\"", "\"binomial\"");
    let steps = [
        ("MPI_Barrier", 0, 3, all(linear)),
        ("MPI_Allreduce", bytes, 0, tree(linear)),
        ("MPI_Allreduce", 4 * bytes, 5, all(binomial)),
        ("MPI_Allgather", bytes, 2, exchange("\"ring\"")),
        ("MPI_Alltoall", bytes, 1, exchange("\"dissemination\"")),
        (
            "MPI_Allgather",
            4 * bytes,
            4,
            exchange("\"recursive-doubling\""),
        ),
        ("MPI_Reduce", bytes, 1, all(linear)),
        ("MPI_Reduce", 4 * bytes, 4, tree(binomial)),
        ("MPI_Bcast", bytes, 0, tree(binomial)),
    ];
    let step = |(operation, bytes, late, tree): (&str, u32, u32, String)| {
        let payload = match operation {
            "MPI_Barrier" => String::new(),
            _ => format!("bytes = {bytes}, "),
        };
        format!(
            "{{ operation = \"{operation}\", {payload}work = [{{ exponential_ns = 400 }}, \
             {{ constant_ns = {late_ns}, ranks = [{late}], share = 0.8 }}], tree = {tree} }},\n"
        )
    };
    let steps: String = steps.map(step).concat();
    format!(
        "schema = 1\nseed = 9\n[[hosts]]\nname = \"a\"\nranks = 6\nclock = \"raw\"\n\
         [network]\nin_host_ns = 600\njitter = {{ exponential_ns = 150 }}\n\
         [[program]]\nrepeat = 60\nsteps = [\n{steps}]\n"
    )
}

fn begins(path: &Value) -> BTreeMap<String, i64> {
    let begins = list(&path["begins"]).iter();
    let begin = |begin: &Value| (begin["rank"].to_string(), number(&begin["instances"]));
    begins.map(begin).collect()
}

/// Instances of which it is not known, by why.
fn unknown(tree: &Value) -> BTreeMap<&str, i64> {
    let unknown = list(&tree["critical_path_unknown"]).iter();
    let one = |paths| -> (&str, i64) {
        let paths: &Value = paths;
        (
            paths["reason"].as_str().unwrap(),
            number(&paths["instances"]),
        )
    };
    unknown.map(one).collect()
}

/// Of each tree how many instances are claimed, and how many are not; none is claimed for a process that
/// was not waited for.
fn claimed(text: &str) -> Vec<(String, i64, BTreeMap<String, i64>)> {
    let case = case(text);
    let mut found_all = Vec::new();
    for (what, expected, found) in trees(&case) {
        let (path, unknown) = (&found["critical_path"], unknown(found));
        let n_claimed = path["instances"].as_i64().unwrap_or(0);
        let n_unknown: i64 = unknown.values().sum();
        assert_eq!(
            n_claimed + n_unknown,
            number(&expected["instances"]),
            "{what}"
        );
        let truth = &expected["critical_path"]["begins"];
        for (rank, n) in begins(path) {
            let true_n = truth[&rank].as_i64().unwrap_or(0);
            assert!(n <= true_n, "{what}: {n} begin at {rank}, in truth {truth}");
        }
        let unknown = unknown.into_iter().map(|(why, n)| (why.to_owned(), n));
        found_all.push((what, n_claimed, unknown.collect()));
    }
    found_all
}

#[test]
fn what_is_seen_in_full_is_known_of_every_instance() {
    for (what, n, unknown) in claimed(&scenario("known", 60_000, 8)) {
        assert_eq!((n, unknown.len()), (60, 0), "{what}: {unknown:?}");
    }
}

#[test]
fn of_receives_from_any_process_the_last_of_the_sends_ended_the_wait() {
    for (what, n, unknown) in claimed(&scenario("from-any", 60_000, 8)) {
        assert!(n >= 50, "{what}: {n} {unknown:?}");
        assert!(unknown.keys().all(|why| why == "from_any"), "{unknown:?}");
    }
}

#[test]
fn where_receives_are_not_seen_to_end_only_who_came_last_is_told() {
    let mut n_unknown = 0;
    for (what, n, unknown) in claimed(&scenario("unseen", 60_000, 8)) {
        assert!(n >= 30, "{what}: {n} {unknown:?}");
        assert!(unknown.keys().all(|why| why == "not_seen"), "{unknown:?}");
        n_unknown += unknown.values().sum::<i64>();
    }
    assert!(n_unknown > 0, "in noise it cannot be known");
}

#[test]
fn where_nobody_is_late_what_is_claimed_is_true_as_well() {
    for receives in ["known", "from-any"] {
        for (what, n, unknown) in claimed(&scenario(receives, 500, 8)) {
            assert!(n > 0, "{what}: {unknown:?}");
        }
    }
}
