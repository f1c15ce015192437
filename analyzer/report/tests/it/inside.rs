//! Known truth inside: every wait, latency and transfer of every node and edge of generated trees
//! comes back, stage by stage.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::built::assert_has;
use crate::generated::{self, Case, case, case_with, list, number, trees};

/// Ten trees and exchanges on three hosts.
const INSIDE: &str = include_str!("../../../tests/scenarios/inside.toml");

/// What may be between what is found and what is true: of a sample, ns; and of the middle of many
/// samples, ppm.
#[derive(Debug, Clone, Copy)]
struct Tolerance {
    ns: i64,
    quantile_ppm: i64,
}

const EXACT: Tolerance = Tolerance {
    ns: 0,
    quantile_ppm: 0,
};

impl Tolerance {
    fn check(self, what: &str, found: &Value, expected: &Value) {
        let n = number(&expected["n"]);
        if n == 0 {
            assert!(found.is_null(), "{what}: {found}, of which there is none");
            return;
        }
        assert_eq!(found["n"], expected["n"], "{what}");
        for (field, times) in [("total", n), ("min", 1), ("max", 1)] {
            let (found, expected) = (number(&found[field]), number(&expected[field]));
            assert!(
                (found - expected).abs() <= self.ns * times,
                "{what}: {field} {found} found, {expected} expected"
            );
        }
        let [low, high] = [0, 1].map(|at| number(&expected["median"][at]));
        let median = number(&found["median"]);
        let off = self.ns + 1 + high.abs() * self.quantile_ppm / 1_000_000;
        assert!(
            (low - off..=high + off).contains(&median),
            "{what}: median {median} found, {low} to {high} expected"
        );
    }
}

/// Compares all that is known of the trees; gives how many distributions were compared.
/// `has_common_time`: what lies between hosts is known too.
fn compare(case: &Case, tolerance: Tolerance, has_common_time: bool) -> usize {
    let mut n = 0;
    let hosts: BTreeMap<i64, &Value> = list(&case.truth["ranks"])
        .iter()
        .map(|rank| (number(&rank["rank"]), &rank["host"]))
        .collect();
    for (what, expected, found) in trees(case) {
        assert_eq!(found["instances"], expected["instances"], "{what}");
        let mut check = |what: &str, found: &Value, expected: &Value| {
            tolerance.check(what, found, expected);
            n += 1;
        };
        let mut edges: BTreeMap<(i64, i64), &Value> = BTreeMap::new();
        for edge in list(&found["edges"]) {
            edges.insert((number(&edge["from"]), number(&edge["to"])), edge);
        }
        let true_edges = list(&expected["edges"]);
        assert_eq!(edges.len(), true_edges.len(), "{what}");
        for edge in true_edges {
            let ends = (number(&edge["from"]), number(&edge["to"]));
            let what = format!("{what}, {ends:?}");
            let found = edges[&ends];
            assert_eq!(found["messages"], edge["messages"], "{what}");
            assert_eq!(found["bytes"], edge["bytes"], "{what}");
            // A chain of segments has many messages and no way back.
            check(
                &format!("{what}: two way"),
                &found["two_way_ns"],
                &edge["two_way_ns"],
            );
            let is_within = hosts[&ends.0] == hosts[&ends.1];
            if !is_within && !has_common_time {
                assert!(found["transfer_ns"].is_null(), "{what}");
                assert_eq!(found["one_way_class"], "not_resolvable", "{what}");
                continue;
            }
            let class = found["one_way_class"].as_str().unwrap();
            assert_eq!(class == "one_clock", is_within, "{what}: {class}");
            for field in ["transfer_ns", "late_receiver_ns", "late_progress_ns"] {
                check(&format!("{what}: {field}"), &found[field], &edge[field]);
            }
        }
        let points = list(&found["joining_points"]);
        let true_points = list(&expected["joining_points"]);
        assert_eq!(points.len(), true_points.len(), "{what}");
        for (found, expected) in points.iter().zip(true_points) {
            assert_eq!(found["rank"], expected["rank"], "{what}");
            let what = format!("{what}, rank {}", found["rank"]);
            for field in ["down_ns", "up_ns", "core_ns"] {
                check(&format!("{what}: {field}"), &found[field], &expected[field]);
            }
            for (side, field) in [
                ("arrivals", "arrival_wait_ns"),
                ("departures", "departure_wait_ns"),
            ] {
                let mut waits: BTreeMap<i64, &Value> = BTreeMap::new();
                for contributor in list(&found[side]) {
                    waits.insert(number(&contributor["rank"]), contributor);
                }
                for contributor in list(&expected["contributors"]) {
                    if number(&contributor[field]["n"]) == 0 {
                        continue;
                    }
                    let rank = number(&contributor["rank"]);
                    let found = waits
                        .remove(&rank)
                        .unwrap_or_else(|| panic!("{what}: {rank} is not among the {side}"));
                    check(
                        &format!("{what}: {field} of {rank}"),
                        &found["wait_ns"],
                        &contributor[field],
                    );
                }
                waits.retain(|_, found| !found["wait_ns"].is_null());
                assert!(waits.is_empty(), "{what}: {waits:?}");
            }
        }
        let nobody = &expected["nobody_in_mpi_ns"];
        if has_common_time && number(&nobody["n"]) > 0 {
            let found = &found["progress"];
            assert_eq!(found["instances"], nobody["n"], "{what}");
            check(&what, &found["nobody_in_mpi_ns"], nobody);
        } else {
            assert!(found["progress"].is_null(), "{what}");
        }
        if has_common_time {
            let rounds = list(&found["rounds"]);
            let true_rounds = list(&expected["rounds"]);
            assert_eq!(rounds.len(), true_rounds.len(), "{what}");
            for (found, expected) in rounds.iter().zip(true_rounds) {
                let what = format!("{what}, round {} of {}", found["round"], found["rank"]);
                for field in ["rank", "round"] {
                    assert_eq!(found[field], expected[field], "{what}");
                }
                for field in ["local_ns", "late_sender_ns", "transfer_ns"] {
                    check(&format!("{what}: {field}"), &found[field], &expected[field]);
                }
            }
        }
    }
    n
}

/// One host, whose clock counts the ns of the truth.
fn one_host() -> String {
    let text = INSIDE.replace("ranks = 3\n", "ranks = 7\n");
    let begin = text.find("[[hosts]]\nname = \"b\"").unwrap();
    let end = text.find("# exchanges").unwrap();
    let text = format!("{}{}", &text[..begin], &text[end..]);
    text.replace(
        "{ hosts = [\"a\", \"c\"], ns = 150000 },",
        "{ ranks = [0, 5], ns = 150000 },",
    )
}

/// Three hosts with clocks of their own, measured often.
fn three_hosts() -> String {
    INSIDE
        .replace("# clock b", "drift_ppm = 12.0\noffset_ns = -2000000")
        .replace("# clock c", "drift_ppm = -30.0\noffset_ns = 55000000")
        .replace(
            "# exchanges",
            "[exchanges]\none_way_ns = 1000\nevery_ns = 5000000",
        )
}

#[test]
fn on_one_clock_every_stage_of_every_tree_comes_back_exactly() {
    let case = case(&one_host());
    let n = compare(&case, EXACT, true);
    assert!(n > 600, "{n}");
    compare_critical_paths(&case, 0);
}

#[test]
fn on_three_hosts_every_stage_comes_back_within_the_error_of_the_clocks() {
    let case = case(&three_hosts());
    let error = list(&case.analysis["clock"]["hosts"])
        .iter()
        .filter_map(|host| host["uncertainty_ns"].as_i64());
    // Two hosts that are not the reference, three standard deviations.
    let error = 2 * error.max().unwrap() * 3 / 2 + 4;
    assert!(error < 600, "{error}");
    let tolerance = Tolerance {
        ns: error,
        quantile_ppm: 0,
    };
    let n = compare(&case, tolerance, true);
    assert!(n > 600, "{n}");
    compare_critical_paths(&case, error);
}

/// Trees and exchanges whose messages take no time, and whose processes leave as they send.
const AT_ONCE: &str = r#"
schema = 1
seed = 6
[[hosts]]
name = "a"
ranks = 7
clock = "raw"
# clock
[network]
in_host_ns = 0
send_ns = 0
receive_ns = 0
[[program]]
repeat = 30
steps = [
  { operation = "MPI_Bcast", bytes = 8, root = 3, work = [{ exponential_ns = 3000 }], tree = { shape = [-1, 0, 1, 0, 3, 3, 2], entry_ns = 0, exit_ns = 0 } },
  { operation = "MPI_Reduce", bytes = 64, root = 2, work = [{ exponential_ns = 3000 }], tree = { shape = "binomial", posts_all = true, entry_ns = 0, exit_ns = 0 } },
  { operation = "MPI_Allgather", bytes = 100, work = [{ exponential_ns = 3000 }], tree = { shape = "ring", entry_ns = 0, exit_ns = 0 } },
  { operation = "MPI_Allreduce", bytes = 8, work = [{ exponential_ns = 3000 }], tree = { shape = "binary", segments = 3, entry_ns = 0, exit_ns = 0 } },
]
"#;

#[test]
fn where_stamps_fall_together_no_message_is_lost_and_the_way_back_leads_to_who_was_late() {
    let at_once = case(AT_ONCE);
    let n = compare(&at_once, EXACT, true);
    assert!(n > 150, "{n}");
    compare_critical_paths(&at_once, 0);
    for (what, _, found) in trees(&at_once) {
        let path = &found["critical_path"];
        // Nothing else takes time.
        let late = list(&path["begins"]).iter();
        let late: i64 = late.map(|begin| number(&begin["late_ns"])).sum();
        assert_eq!(late, number(&path["duration_ns"]), "{what}");
    }
    // A clock of coarse steps.
    let coarse = AT_ONCE
        .replace("# clock", "granularity_ticks = 1000")
        .replace("in_host_ns = 0", "in_host_ns = 300");
    let coarse = case(&coarse);
    let ends = &coarse.analysis["trace"]["message_ends"];
    assert_eq!(
        ends["paired"], coarse.analysis["trace"]["messages"],
        "{ends}"
    );
    for (what, expected, found) in trees(&coarse) {
        assert_eq!(found["instances"], expected["instances"], "{what}");
    }
}

#[test]
fn without_a_common_time_what_lies_between_hosts_is_not_made_up() {
    let case = case(INSIDE);
    let tolerance = Tolerance { ns: 4, ..EXACT };
    assert!(compare(&case, tolerance, false) > 300);
    for (what, _, found) in trees(&case) {
        assert!(found["critical_path"].is_null(), "{what}");
    }
}

fn compare_critical_paths(case: &Case, error: i64) {
    for (what, expected, found) in trees(case) {
        let path = &found["critical_path"];
        let unknown = list(&found["critical_path_unknown"]).iter();
        let unknown: i64 = unknown.map(|paths| number(&paths["instances"])).sum();
        if error == 0 {
            assert_eq!(unknown, 0, "{what}");
        }
        let n = number(&path["instances"]) + unknown;
        assert_eq!(n, number(&expected["instances"]), "{what}");
        let sum = |list_of: &str, field: &str| -> i64 {
            let all = list(&path[list_of]).iter();
            all.map(|one| number(&one[field])).sum()
        };
        let parts = sum("begins", "late_ns") + sum("hops", "total_ns") + sum("stays", "total_ns");
        assert_eq!(parts, number(&path["duration_ns"]), "{what}");
        let expected = &expected["critical_path"];
        let begins: BTreeMap<String, i64> = list(&path["begins"])
            .iter()
            .map(|begin| (begin["rank"].to_string(), number(&begin["instances"])))
            .collect();
        let hops: BTreeMap<String, &Value> = list(&path["hops"])
            .iter()
            .map(|hop| (format!("{}-{}", hop["from"], hop["to"]), hop))
            .collect();
        let true_hops = expected["hops"].as_object().unwrap();
        let total = |total: i64, (_, times): (&String, &Value)| total + number(&times[1]);
        let true_total = true_hops.iter().fold(0, total);
        if error == 0 {
            assert_eq!(sum("hops", "total_ns"), true_total, "{what}: time on hops");
            let true_begins = expected["begins"].as_object().unwrap();
            assert_eq!(
                begins.len(),
                true_begins.len(),
                "{what}: {begins:?} {true_begins:?}"
            );
            for (rank, n) in true_begins {
                assert_eq!(begins[rank], number(n), "{what}: begins at {rank}");
            }
        }
        for (hop, times) in true_hops {
            let (n, total) = (number(&times[0]), number(&times[1]));
            // Where nothing takes time there may be several ways back.
            if total == 0 {
                continue;
            }
            if error == 0 {
                assert_eq!(number(&hops[hop]["instances"]), n, "{what}: {hop}");
                assert_eq!(number(&hops[hop]["total_ns"]), total, "{what}: {hop}");
            } else if n > 20 {
                // Where two are late at about the same time, the clocks decide.
                let found = number(&hops[hop]["instances"]);
                assert!(
                    (found - n).abs() < 5 + unknown,
                    "{what}: {hop} {found} of {n}"
                );
            }
        }
    }
}

/// Collectives that go on in the calls that begin and complete them, and nowhere else.
const BEGUN: &str = include_str!("../../../tests/scenarios/inside_nonblocking.toml");

#[test]
fn where_a_collective_goes_on_only_in_calls_every_stage_comes_back_and_why_it_is_late() {
    let one_host = BEGUN.replace("ranks = 3\n", "ranks = 7\n");
    let end = one_host.find("[[hosts]]\nname = \"b\"").unwrap();
    let begin = one_host.find("[network]").unwrap();
    let one_host = format!("{}{}", &one_host[..end], &one_host[begin..]);
    let found = case(&one_host);
    let n = compare(&found, EXACT, true);
    assert!(n > 200, "{n}");
    compare_critical_paths(&found, 0);
    let (mut n_late, mut n_idle) = (0, 0);
    let all = trees(&found);
    let begun = all
        .iter()
        .filter(|(_, _, tree)| !tree["progress"].is_null());
    assert_eq!(begun.clone().count(), 4);
    for (what, _, tree) in begun {
        for edge in list(&tree["edges"]) {
            let late = &edge["late_progress_ns"];
            n_late += u64::from(number(&late["max"]) > 50_000);
            assert!(
                number(&late["total"]) <= number(&edge["late_receiver_ns"]["total"]),
                "{what}"
            );
        }
        n_idle += u64::from(number(&tree["progress"]["nobody_in_mpi_ns"]["min"]) > 0);
    }
    assert!(n_late > 10 && n_idle == 2, "{n_late} {n_idle}");
    let hosts = case(BEGUN);
    let error = list(&hosts.analysis["clock"]["hosts"])
        .iter()
        .filter_map(|host| host["uncertainty_ns"].as_i64());
    let error = error.max().unwrap() * 3 + 4;
    assert!(error < 600, "{error}");
    let tolerance = Tolerance {
        ns: error,
        quantile_ppm: 0,
    };
    compare(&hosts, tolerance, true);
}

#[test]
fn what_lies_between_tests_that_nobody_has_noted_is_not_made_up() {
    let text = BEGUN.replace(
        "complete_ns = 400",
        "complete_ns = 400, tests = 3, test_ns = 500",
    );
    let found = case(&text);
    for (what, expected, tree) in trees(&found) {
        assert_eq!(tree["instances"], expected["instances"], "{what}");
        assert!(tree["progress"].is_null(), "{what}");
        for edge in list(&tree["edges"]) {
            assert!(edge["late_progress_ns"].is_null(), "{what}: {edge}");
            assert_eq!(edge["transfer_ns"]["n"], edge["messages"], "{what}");
        }
    }
}

/// The stages of a way are all there is of it: they follow one another without a gap.
#[test]
fn the_stages_of_each_way_add_up_to_it() {
    for scenario in [one_host(), three_hosts(), BEGUN.to_owned()] {
        let case = case(&scenario);
        let mut n = 0;
        for (what, expected, found) in trees(&case) {
            let mut of_ranks = Vec::new();
            for class in list(&found["ways"]) {
                of_ranks.extend(list(&class["ranks"]).iter().map(number));
                let stages = list(&class["stages"]);
                let sum: i64 = stages.iter().map(|stage| number(&stage["mean_ns"])).sum();
                let whole = number(&class["way_ns"]["mean"]);
                let rest = number(&class["unattributed_ns"]);
                assert_eq!(sum + rest, whole, "{what}");
                // Each mean is rounded by itself.
                assert!(
                    rest.abs() <= stages.len() as i64,
                    "{what}: {rest} of {whole}"
                );
                n += stages.len();
            }
            of_ranks.sort_unstable();
            let points = list(&expected["edges"]);
            let mut all: Vec<i64> = points
                .iter()
                .flat_map(|edge| [number(&edge["from"]), number(&edge["to"])])
                .collect();
            all.sort_unstable();
            all.dedup();
            assert_eq!(of_ranks, all, "{what}: each process has one way");
        }
        assert!(n > 150, "{n}");
    }
}

/// A tree whose one edge is slow, one owner late, one node slow in computing.
fn slow(operation: &str, tree: &str, network: &str) -> String {
    format!(
        "schema = 1\nseed = 3\n[[hosts]]\nname = \"a\"\nranks = 16\nclock = \"raw\"\n\
         [network]\njitter = {{ exponential_ns = 200 }}\n{network}\n\
         [[program]]\nrepeat = 100\nsteps = [\n\
         {{ operation = \"MPI_Barrier\" }},\n\
         {{ operation = \"{operation}\", bytes = 8, work = [{{ exponential_ns = 2000 }}], \
         tree = {tree} }},\n]\n"
    )
}

#[test]
fn the_stage_that_costs_most_is_named() {
    let link = "links = [{ ranks = [8, 12], ns = 100000 }]";
    let busy = "{ shape = \"binomial\", busy = [{ constant_ns = 90000, ranks = [12] }] }";
    let computes = "{ shape = \"binomial\", compute = [{ constant_ns = 70000, ranks = [4] }] }";
    let cases = [
        ("MPI_Bcast", "\"binomial\"", link, "transfer", 12, Some(8)),
        ("MPI_Allreduce", "\"binomial\"", link, "transfer", 0, None),
        ("MPI_Bcast", busy, "", "late_receiver", 12, Some(8)),
        ("MPI_Reduce", computes, "", "node_down", 4, None),
        (
            "MPI_Allreduce",
            "\"recursive-doubling\"",
            "links = [{ ranks = [9, 13], ns = 100000 }]",
            "transfer",
            0,
            None,
        ),
    ];
    for (operation, tree, network, kind, node, from) in cases {
        let case = case(&slow(operation, tree, network));
        let what = format!("{operation} {tree}");
        let (_, _, found) = trees(&case)[0];
        let hotspot = &found["hotspot"];
        assert_eq!(hotspot["kind"], kind, "{what}: {hotspot}");
        let ends = [
            number(&hotspot["node"]),
            hotspot["from"].as_i64().unwrap_or(-1),
        ];
        match operation {
            "MPI_Allreduce" => {
                let mut ends = ends;
                ends.sort_unstable();
                assert!([[8, 12], [9, 13]].contains(&ends), "{what}: {hotspot}");
            }
            _ => assert_eq!(ends, [node, from.unwrap_or(-1)], "{what}: {hotspot}"),
        }
        assert!(
            hotspot["share"].as_f64().unwrap() > 0.3,
            "{what}: {hotspot}"
        );
    }
}

#[test]
fn the_heaviest_path_of_the_imbalance_graph_leads_to_the_late_process() {
    // In this tree 5 is below 4, and 4 below 0.
    let tree = "{ shape = \"binomial\", posts_all = true }";
    let late = slow("MPI_Reduce", tree, "").replace(
        "work = [{ exponential_ns = 2000 }]",
        "work = [{ constant_ns = 300000, ranks = [5], share = 0.9 }]",
    );
    let case = case(&late);
    let (_, _, found) = trees(&case)[0];
    let path = list(&found["last_path"]);
    let steps: Vec<(i64, i64)> = path
        .iter()
        .map(|step| (number(&step["node"]), number(&step["last"])))
        .collect();
    assert_eq!(steps, [(0, 4), (4, 5)]);
    for step in path {
        let (times, resolved) = (number(&step["times"]), number(&step["resolved"]));
        assert!((80..=100).contains(&times) && resolved >= times, "{step}");
    }
}

#[test]
fn neither_threads_nor_the_length_of_chunks_show_inside() {
    let scenario = three_hosts().replace("repeat = 40", "repeat = 300");
    let one = case_with(&scenario, &["--threads", "1"]);
    let three = case_with(&scenario, &["--threads", "3"]);
    let operations = |case: &Case| case.analysis["operations"].to_string();
    assert!(operations(&one) == operations(&three), "threads show");
    let chunks = scenario.replace("chunk_calls = 100", "chunk_calls = 7");
    assert_eq!(
        case(&chunks).analysis["operations"],
        one.analysis["operations"]
    );
    // More than a distribution lists: what is exact stays so, quantiles keep within a thousandth.
    let error = 600;
    let tolerance = Tolerance {
        ns: error,
        quantile_ppm: 1_000,
    };
    compare(&one, tolerance, true);
}

/// What a person sees of the trace of a scenario: the screen, on one line, and the pictures.
fn shown(scenario: &str) -> (String, BTreeMap<String, String>) {
    let directory = tempfile::tempdir().unwrap();
    let trace = generated::trace_in(directory.path(), scenario, None);
    let screen = generated::printed(&[trace.to_str().unwrap()]);
    let pictures = fs::read_dir(trace.join("report")).unwrap();
    let pictures = pictures.map(|entry| {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, fs::read_to_string(path).unwrap())
    });
    (generated::in_one_line(&screen), pictures.collect())
}

#[test]
fn the_screen_says_what_ran_and_which_hop_costs_most() {
    let link = "links = [{ ranks = [8, 12], ns = 100000 }]";
    let (screen, pictures) = shown(&slow("MPI_Bcast", "\"binomial\"", link));
    for words in [
        "MPI_Bcast on MPI_COMM_WORLD, 8 bytes, root 0: binomial, 100 instances.",
        "The most expensive hop is from rank 8 to rank 12: 99.9 us on average in 100 of 100",
        "(transfer: median 100 us, p10 98.",
        " us, n = 100)",
    ] {
        assert!(screen.contains(words), "{words} in {screen}");
    }
    let tree = &pictures["tree-2-MPI_Bcast.svg"];
    assert_has(tree, "rank 12 (a), child of rank 8 (a)");
    for name in [
        "timemap-inside-2-MPI_Bcast.svg",
        "node-serialization-2-MPI_Bcast.svg",
        "messages-2-MPI_Bcast.svg",
    ] {
        assert!(pictures[name].contains("<svg"), "{name}");
    }
    let page = &pictures["index.html"];
    assert!(page.contains("The most frequent tree"));
    assert!(page.contains("The most expensive hop is from rank 8 to rank 12: 99.9 us on average"));
    assert!(!screen.contains("Only a few instances"), "{screen}");
}

#[test]
fn over_trees_of_the_recorder_no_messages_are_recorded_and_shown() {
    let (_, pictures) = shown(include_str!("../../../tests/scenarios/own-trees.toml"));
    let has = |kind: &str| pictures.keys().any(|name| name.starts_with(kind));
    assert!(has("tree-") && has("timemap-inside-"));
    assert!(!has("messages-"));
}

#[test]
fn children_of_a_node_wait_behind_their_siblings_alone() {
    // The root sends to each of its 15 children for 2 us, and stays a millisecond longer.
    let linear = slow(
        "MPI_Bcast",
        "{ shape = \"linear\", exit_ns = 1000000 }",
        "send_ns = 2000",
    )
    .replace("jitter = { exponential_ns = 200 }", "");
    let (_, pictures) = shown(&linear);
    let nodes = &pictures["node-serialization-1-MPI_Bcast.svg"];
    let found = "At rank 0 the last of 15 children waits 28.0 us longer than the first";
    assert_has(nodes, found);
    assert!(nodes.contains("rank 0, position 14 (rank 1): 28.0 us (n = 100)"));
    assert!(
        !nodes.contains("(rank 0)"),
        "the node itself is in no curve"
    );
    let tree = &pictures["tree-1-MPI_Bcast.svg"];
    assert_has(tree, ">↓ 1 × 8 B</text>");
    assert!(tree.contains("No hop stands out: the slowest is from rank 0 to rank "));
}

#[test]
fn a_hop_that_costs_by_a_few_long_messages_is_told_from_a_slow_one() {
    let interrupted = slow("MPI_Bcast", "\"binomial\"", "").replace(
        "{ exponential_ns = 200 }",
        "{ constant_ns = 5000000, ranks = [8], share = 0.1 }",
    );
    let (screen, _) = shown(&interrupted);
    let words = "as if one end of the hop had been interrupted. To check, record again with --layers +switches";
    assert_has(&screen, words);
}

#[test]
fn a_slow_link_in_a_ring_is_told_by_its_slowest_round_and_not_taken_for_interruptions() {
    // All rounds but the first find their messages there: most transfers over the link take no time.
    let link = "links = [{ ranks = [0, 1], ns = 1000000, one_way = true }]";
    let (screen, pictures) = shown(&slow("MPI_Allgather", "\"ring\"", link));
    let words = "The most expensive hop is from rank 0 to rank 1: 1.01 ms on average in 100 of 100";
    assert_has(&screen, words);
    assert_has(
        &screen,
        "(transfer in the slowest round, 0: median 1.00 ms, p10 99",
    );
    assert!(!screen.contains("Only a few instances"), "{screen}");
    let document: Value = collbench_schemas::read(&pictures["analysis.json"]);
    let operations = list(&document["operations"]);
    let ring = operations
        .iter()
        .find(|o| o["operation"] == "MPI_Allgather");
    let tree = &ring.unwrap()["trees"][0];
    let mut edges = list(&tree["edges"]).iter();
    let edge = edges.find(|edge| (number(&edge["from"]), number(&edge["to"])) == (0, 1));
    assert!(number(&edge.unwrap()["transfer_p10_ns"]) < 2_000);
    let mut rounds = list(&tree["rounds"]).iter();
    let round = rounds.find(|r| (number(&r["rank"]), number(&r["round"])) == (1, 0));
    assert!(number(&round.unwrap()["transfer_p10_ns"]) > 900_000);
}

#[test]
fn time_between_messages_is_told_where_it_is_a_part_worth_telling() {
    let (screen, _) = shown(&slow("MPI_Bcast", "\"binomial\"", ""));
    assert!(!screen.contains("between messages"), "{screen}");
    let computes = "{ shape = \"binomial\", compute = [{ constant_ns = 70000, ranks = [4] }] }";
    let (screen, _) = shown(&slow("MPI_Reduce", computes, ""));
    let words = "in processes between messages (most in rank 4: ";
    assert_has(&screen, words);
}

#[test]
fn what_spans_two_clocks_says_how_wrong_they_may_be_and_nothing_else_does() {
    let case = case(&three_hosts());
    let ranks = list(&case.analysis["ranks"]).iter();
    let hosts: Vec<&Value> = ranks.map(|rank| &rank["host"]).collect();
    let host = |rank: &Value| hosts[number(rank) as usize];
    let (mut n_within, mut n_between) = (0, 0);
    let mut check = |what: &str, one: &Value, other: &Value, figures: &Value| {
        if figures.is_null() {
            return;
        }
        let is_within = host(one) == host(other);
        n_within += usize::from(is_within);
        n_between += usize::from(!is_within);
        assert_eq!(
            figures["uncertainty_ns"].is_null(),
            is_within,
            "{what}: {figures}"
        );
    };
    for (what, expected, found) in trees(&case) {
        for edge in list(&found["edges"]) {
            check(&what, &edge["from"], &edge["to"], &edge["transfer_ns"]);
        }
        for round in list(&found["rounds"]) {
            for field in ["late_sender_ns", "transfer_ns"] {
                check(&what, &round["rank"], &round["from"], &round[field]);
            }
            check(&what, &round["rank"], &round["rank"], &round["local_ns"]);
        }
        let goes_one_way =
            ["MPI_Bcast", "MPI_Reduce"].contains(&expected["operation"].as_str().unwrap());
        for way in list(&found["ways"]) {
            let end = if goes_one_way {
                &found["root"]
            } else {
                &way["representative"]
            };
            check(&what, &way["representative"], end, &way["way_ns"]);
        }
    }
    assert!(n_within > 50 && n_between > 50, "{n_within} {n_between}");
}

#[test]
fn messages_that_contradict_the_stated_error_of_the_clocks_are_told_with_their_hosts() {
    let scenario = |asymmetry_ns: u32| {
        format!(
            "schema = 1\nseed = 3\n\
             [[hosts]]\nname = \"near\"\nranks = 2\nclock = \"raw\"\n\
             [[hosts]]\nname = \"far\"\nranks = 2\nclock = \"raw\"\noffset_ns = 4000\n\
             [exchanges]\none_way_ns = 1000\nn = 20\nasymmetry_ns = {asymmetry_ns}\n\
             [network]\nacross_hosts_ns = 2000\n\
             [[program]]\nrepeat = 50\nsteps = [\n\
             {{ operation = \"MPI_Allreduce\", bytes = 8, tree = \"recursive-doubling\" }},\n]\n"
        )
    };
    let remark = |asymmetry_ns: u32| {
        // By the exchanges alone.
        let case = case_with(&scenario(asymmetry_ns), &["--alignment", "two-point"]);
        for edge in list(&case.analysis["operations"][0]["edges"]) {
            let transfer = &edge["transfer_ns"];
            let is_known_to_come_first = number(&transfer["min"]) >= 0;
            assert!(
                is_known_to_come_first || edge["one_way_class"] != "resolved",
                "{edge}"
            );
            let error = transfer["uncertainty_ns"].as_i64().unwrap_or(0);
            assert!(error >= -number(&transfer["min"]), "{edge}");
        }
        let remarks = list(&case.analysis["remarks"]).to_vec();
        let mut remarks = remarks.into_iter();
        let found = remarks.find(|remark| remark["code"] == "received_too_early");
        found.map(|remark| remark["text"].to_string())
    };
    assert_eq!(remark(0), None);
    // The clocks seem to agree on half of that, which no exchange between two hosts can see.
    let text = remark(20_000).unwrap();
    assert_has(
        &text,
        " of 400 messages were received before they were sent, from ",
    );
    assert_has(&text, "from near to far by up to 7.90 us");
}

#[test]
fn the_screen_tells_late_processes_from_a_slow_tree() {
    let late = slow("MPI_Allreduce", "\"binomial\"", "").replace(
        "work = [{ exponential_ns = 2000 }]",
        "work = [{ constant_ns = 3000000, ranks = [5] }]",
    );
    let (screen, _) = shown(&late);
    let words = "99 % until the rank it waits for arrives (rank 5 in 100 of 100)";
    assert_has(&screen, words);
}

#[test]
fn a_slow_link_is_told_where_many_processes_send_over_it() {
    // Even ranks are on the one host, odd ones on the other.
    let scenario = "schema = 1\nseed = 3\nplacement = \"round-robin\"\n\
         [[hosts]]\nname = \"near\"\nranks = 8\nclock = \"raw\"\n\
         [[hosts]]\nname = \"far\"\nranks = 8\nclock = \"raw\"\noffset_ns = 4000\n\
         [exchanges]\n\
         [network]\njitter = { exponential_ns = 2000 }\n\
         links = [{ hosts = [\"near\", \"far\"], ns = 100000 }]\n\
         [[program]]\nrepeat = 100\nsteps = [\n\
         { operation = \"MPI_Barrier\" },\n\
         { operation = \"MPI_Bcast\", bytes = 8, tree = \"binomial\" },\n]\n";
    let (screen, pictures) = shown(scenario);
    let document: Value = collbench_schemas::read(&pictures["analysis.json"]);
    let operations = list(&document["operations"]);
    let broadcast = operations.iter().find(|o| o["operation"] == "MPI_Bcast");
    let path = &broadcast.unwrap()["trees"][0]["critical_path"];
    let is_over_link = |hop: &&Value| number(&hop["from"]) % 2 == 0 && number(&hop["to"]) % 2 == 1;
    let hops: Vec<&Value> = list(&path["hops"]).iter().filter(is_over_link).collect();
    let sum = |name: &str| hops.iter().map(|hop| number(&hop[name])).sum::<i64>();
    assert!(hops.len() > 4, "{path:#}");
    let share = sum("total_ns") as f64 / number(&path["duration_ns"]) as f64;
    assert!(share > 0.5, "{share}");
    let words = format!(
        "The {} hops from near to far together take {:.0} % of the time (n = {}).",
        hops.len(),
        share * 100.0,
        sum("instances")
    );
    assert!(screen.contains(&words), "{words} in {screen}");
}
