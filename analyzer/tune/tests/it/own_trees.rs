//! Predictions of trees of tree files, from simulated runs of algorithms of the library.

use std::path::Path;

use collbench_formats::Operation;
use collbench_formats::tree::{Collective, Place, Wrapper, Wrappers};
use collbench_schedules::Schedule;
use collbench_schedules::own_trees::{TreeCall, schedule};
use collbench_stats::random::Random;
use collbench_tree_files::TreeFile;
use collbench_trees::wrappers::{Members, Order, tree_for};
use collbench_tune::predict::{
    Figure, Given, Instance, Method, NamedTreeFile, OwnTree, Pass, PredictError, Prediction,
    Recorded, ScoreError, Written, predict, score,
};

use crate::predict::{
    MADE_FROM, N, links_file, median, of, predicted, program, recorded, simulate, why_not,
};

const BYTES: u64 = 1024;
const SHAPES: [&str; 3] = ["linear", "binomial", "chain 1"];

fn tree_file(name: &str, text: &str) -> NamedTreeFile {
    NamedTreeFile {
        name: name.to_owned(),
        crc32: 7,
        file: TreeFile::parse(text, Path::new("")).unwrap_or_else(|error| panic!("{error:?}")),
    }
}

fn of_shape(shape: &str) -> NamedTreeFile {
    let text = format!(
        "# A comment\n[[tree]]\noperations = [\"bcast\"]\nshape = {{ ranks = \"linear\", hosts = \"{shape}\" }}"
    );
    tree_file(&format!("{shape}.toml"), &text)
}

/// The tree of a shape with a rank on each host.
fn tree_of(shape: &str) -> Wrappers {
    let place = |host| Place {
        host,
        ..Place::default()
    };
    let places: Vec<Place> = (0..N as u32).map(place).collect();
    let hosts: Vec<String> = (0..N).map(|host| format!("h{host}")).collect();
    let members = Members {
        hosts: &hosts,
        places: &places,
    };
    let rules = of_shape(shape).file.rules;
    let found = tree_for(
        &rules,
        (Collective::Bcast, Some(0)),
        BYTES,
        Order::Any,
        members,
    );
    found.expect("a tree for these hosts").1
}

fn schedule_over(shape: &str) -> Schedule {
    let call = TreeCall {
        collective: Collective::Bcast,
        root: 0,
        bytes: BYTES,
        element_bytes: 1,
    };
    let found = schedule(&tree_of(shape), &call).expect("a schedule");
    assert!(found.in_memory.is_empty());
    found.schedule
}

fn over(tree_files: Vec<NamedTreeFile>) -> Given {
    Given {
        tree_files,
        ..Given::default()
    }
}

/// A run over a tree, whose messages are not recorded.
fn run_over(shape: &str, random: &mut Random) -> Vec<Instance> {
    let mut run = simulate(Operation::Bcast, &schedule_over(shape), 120, random);
    run.iter_mut().for_each(|of| of.messages.clear());
    run
}

fn recorded_over(shape: &str, random: &mut Random) -> Recorded {
    let mut recorded = recorded("", run_over(shape, random));
    recorded.classes[0].reported.clear();
    recorded.classes[0].tree = Some(OwnTree {
        name: "line 2 of the tree file".to_owned(),
        wrappers: tree_of(shape),
    });
    recorded
}

/// A run of an algorithm of the library.
fn recorded_of_library(random: &mut Random) -> Recorded {
    let ran = of("bcast_intra_pipeline", BYTES);
    let run = simulate(Operation::Bcast, &ran, 200, random);
    recorded("bcast_intra_pipeline", run)
}

fn predicted_ns(prediction: &Prediction<'_>, tree: &str) -> Option<f64> {
    let is_it = |of: &Method| matches!(of, Method::Tree { place, .. } if place == tree);
    let found = prediction.candidates.iter().find(|of| is_it(&of.method));
    found.map(|of| of.predicted.median_ns)
}

#[test]
fn what_trees_take_is_predicted_from_the_messages_of_an_algorithm_and_compared_with_runs() {
    let random = &mut Random::of(&[21]);
    let files = SHAPES.map(of_shape).to_vec();
    let recorded = recorded_of_library(random);
    let predictions = predict(&recorded, over(files)).expect("a prediction");
    let prediction = &predictions.predictions[0];
    for shape in SHAPES {
        let truth = median(&run_over(shape, random));
        let place = format!("{shape}.toml:2");
        let found = predicted_ns(prediction, &place).expect("a candidate");
        assert!(
            (0.93..1.07).contains(&(found / truth)),
            "{shape}: {found} {truth}"
        );
        assert!(predictions.to_text().contains(&format!("  {place}: ")));
    }
    assert_eq!(
        (
            &predictions.trees_left_out[..],
            &prediction.trees_left_out[..]
        ),
        (&[][..], &[][..])
    );
    let json = predictions.to_json(&MADE_FROM);
    assert!(
        json.contains("\"tree\": \"linear.toml:2\"") && json.contains("\"crc32\": \"00000007\"")
    );
    let written = Written::parse(json.as_bytes()).expect("the document");
    // A run without event collectors does not say what it ran on.
    let mut unknown = recorded_over("linear", random);
    unknown.classes[0].tree = None;
    unknown.classes.truncate(1);
    assert!(matches!(
        score(&written, &[unknown], &[]),
        Err(ScoreError::Nothing)
    ));
    let measured = SHAPES.map(|shape| recorded_over(shape, random));
    let found = score(&written, &measured, &[]).expect("a score");
    let bcast = &found.classes[0];
    assert_eq!(bcast.compared.len(), SHAPES.len(), "{bcast:?}");
    assert!((0.93..1.07).contains(&found.ratio), "{found:?}");
    assert_eq!((found.tau, bcast.regret), (Some(1.0), Some(0.0)));
    assert!(found.to_text().contains("  chain 1.toml:2: predicted "));
}

#[test]
fn the_whole_run_over_a_tree_is_predicted() {
    let random = &mut Random::of(&[22]);
    let mut recorded = recorded_of_library(random);
    recorded.calls = program(&of("bcast_intra_pipeline", BYTES), random).0;
    let files = vec![
        of_shape("binomial"),
        tree_file(
            "other.toml",
            "[[tree]]\noperations = [\"reduce\"]\nshape = \"linear\"",
        ),
    ];
    let predictions = predict(&recorded, over(files)).expect("a prediction");
    let run = predictions
        .run
        .as_ref()
        .expect("a prediction of the whole run");
    let [_, (what, ratio)] = &run.changes[..] else {
        panic!("the fastest algorithm and one tree file: {run:?}");
    };
    assert_eq!(what, "binomial.toml");
    let (_, ran_ns) = program(&of("bcast_intra_pipeline", BYTES), random);
    let (_, changed_ns) = program(&schedule_over("binomial"), random);
    let truth = changed_ns / ran_ns;
    assert!(
        ratio.p05 - 0.01 <= truth && truth <= ratio.p95 + 0.01,
        "{truth} {run:?}"
    );
}

#[test]
fn what_ran_over_a_tree_is_predicted_first() {
    let random = &mut Random::of(&[22]);
    let mut ran = recorded_over("binomial", random);
    // The messages are those of other calls.
    ran.classes
        .push(recorded_of_library(random).classes.swap_remove(0));
    let predictions = predict(&ran, over(vec![of_shape("linear")])).expect("a prediction");
    let prediction = &predictions.predictions[0];
    let identity = prediction.identity.as_ref().expect("what ran is predicted");
    assert!(identity.holds(), "{identity:?}");
    assert!(predicted_ns(prediction, "linear.toml:2").is_some());
    assert!(
        predictions
            .to_text()
            .contains("ran line 2 of the tree file: ")
    );
    // It ran over another one.
    let mut other = ran;
    other.classes[0].tree = recorded_over("chain 1", random).classes[0].tree.clone();
    let predictions = predicted(&other);
    assert!(predictions.predictions[0].not_predicted().is_some());
    other.classes.truncate(1);
    let without = predict(&other, Given::default());
    assert_eq!(without.err(), Some(PredictError::OnlyTrees));
}

#[test]
fn trees_that_are_left_out_are_told_with_what_to_do() {
    let recorded = recorded_of_library(&mut Random::of(&[23]));
    let tree = "[[tree]]\noperations = [\"bcast\"]\nshape = \"binomial\"\n";
    let sites = tree.replace("\"binomial\"", "{ ranks = \"linear\", sites = \"linear\" }");
    let several = [
        format!("{tree}size = 4"),
        tree.replace("bcast", "reduce"),
        format!("{tree}bytes = \"2048-\""),
        format!("{tree}hosts = [\"h0\", \"k1\"]"),
        sites.clone(),
    ];
    let files = vec![
        tree_file("several", &several.join("\n")),
        tree_file("sleep", &format!("wait = \"sleep\"\n{tree}")),
    ];
    let predictions = predict(&recorded, over(files)).expect("a prediction");
    let prediction = &predictions.predictions[0];
    assert!(prediction.candidates.len() >= 8, "the rest is predicted");
    assert!(predicted_ns(prediction, "several:17").is_some());
    let left_out = predictions.trees_left_out.iter();
    let left_out: Vec<String> = left_out
        .map(|of| format!("{} left out: {}", of.tree, of.why))
        .collect();
    let expected = [
        ("several:16", "no host is called \"k1\""),
        (
            "several:1",
            "it is for communicators of 4 processes; record",
        ),
        ("several:5", "the run has none of its calls; record"),
        ("several:9", "the run has none of its calls; record"),
        ("several:13", "it does not name host h1; record"),
        ("sleep:2", "take \"yield\""),
    ];
    assert_eq!(left_out.len(), expected.len(), "{left_out:#?}");
    for (found, (place, part)) in left_out.iter().zip(expected) {
        let begin = format!("{place} left out: ");
        assert!(found.starts_with(&begin) && found.contains(part), "{found}");
        assert!(predictions.to_text().contains(found), "{found}");
    }
    // All hosts at one site.
    let mut near = recorded;
    let round_trips = near.round_trips_ns.values_mut();
    round_trips.for_each(|ns| *ns = 300_000);
    let files = vec![tree_file("sites", &sites)];
    let predictions = predict(&near, over(files)).expect("a prediction");
    let left_out = &predictions.trees_left_out[..];
    assert!(
        left_out.len() == 1 && left_out[0].why.contains("[[site]]"),
        "{left_out:?}"
    );
}

/// How long a value takes on a host to where values meet, and back, ns.
const BROUGHT_NS: f64 = 40_000.0;
const BACK_NS: f64 = 70_000.0;
/// How long a message of [`BYTES`] takes, of which both processes are busy for 8 us.
const LATENCY_NS: f64 = 400_000.0;

/// Eight processes on four hosts.
const PAIRS: [u32; N] = [0, 0, 1, 1, 2, 2, 3, 3];

/// Two greds for each host, and one for all of them: the tree of four hosts with two ranks each.
fn tree_of_pairs() -> Wrappers {
    let places = PAIRS.map(|host| Place {
        host,
        ..Place::default()
    });
    let hosts: Vec<String> = (0..4).map(|host| format!("h{host}")).collect();
    let members = Members {
        hosts: &hosts,
        places: &places,
    };
    let rules = allreduce_of("linear").file.rules;
    let operation = (Collective::Allreduce, None);
    let found = tree_for(&rules, operation, BYTES, Order::Any, members);
    found.expect("a tree for these hosts").1
}

fn allreduce_of(shape: &str) -> NamedTreeFile {
    let text = format!(
        "[[tree]]\noperations = [\"allreduce\"]\nshape = {{ ranks = \"linear\", hosts = \"{shape}\" }}"
    );
    tree_file(&format!("{shape}.toml"), &text)
}

/// Calls over that tree, whose event collectors show when values come to the gred of their host, and back; between hosts
/// they take [`LATENCY_NS`].
fn instances_over_pairs(tree: &Wrappers, random: &mut Random) -> Vec<Instance> {
    let latest = |times: &[f64]| times.iter().copied().fold(0.0, f64::max);
    // The wrapper of each host, the numbers of which are after those of ranks.
    let of_host = |host: usize| {
        let owner = 2 * host as u32;
        let mut all = tree.all().iter();
        let is_it = |of: &Wrapper| of.owner == owner && of.contributors.len() == 2;
        (N + all.position(is_it).expect("a gred for each host")) as u32
    };
    let instances = (0..120).map(|position| {
        let mut jitter = || random.exponential_real(2000.0);
        let enters_ns: Vec<f64> = (0..N).map(|_| 20.0 * jitter()).collect();
        let met_ns: Vec<f64> = (enters_ns.chunks(2))
            .map(|pair| latest(pair) + BROUGHT_NS + jitter())
            .collect();
        let there_ns = |host: usize| met_ns[host] + if host == 0 { 0.0 } else { LATENCY_NS };
        let result_ns = latest(&(0..4).map(there_ns).collect::<Vec<_>>());
        let mut passes = Vec::new();
        let mut leaves_ns = Vec::new();
        let mut pass = |collector, down_ns, up_ns| {
            passes.push(Pass {
                collector,
                segment: 0,
                ways_ns: [Some(down_ns), Some(up_ns)],
            });
        };
        for (host, &here_ns) in met_ns.iter().enumerate() {
            let back_ns = result_ns + if host == 0 { 0.0 } else { LATENCY_NS };
            pass(of_host(host), here_ns, back_ns);
            for (rank, more_ns) in [(2 * host, 0.0), (2 * host + 1, BACK_NS + jitter())] {
                pass(rank as u32, enters_ns[rank], back_ns + more_ns);
                leaves_ns.push(back_ns + more_ns);
            }
        }
        let figure = Figure::of(Operation::Allreduce, 0);
        Instance {
            position,
            took_ns: figure.takes_ns(&enters_ns, &leaves_ns),
            enters_ns,
            messages: Vec::new(),
            passes,
        }
    });
    instances.collect()
}

#[test]
fn what_it_costs_to_meet_on_a_host_is_from_event_collectors() {
    let random = &mut Random::of(&[24]);
    let tree = tree_of_pairs();
    let mut recorded = recorded_of_library(random);
    recorded.hosts.truncate(4);
    recorded.host_of_rank = PAIRS.iter().map(|&host| Some(host as usize)).collect();
    recorded.round_trips_ns.clear();
    let mut ran = recorded.classes.swap_remove(0);
    ran.operation = Operation::Allreduce;
    ran.reported.clear();
    ran.instances = instances_over_pairs(&tree, random);
    ran.tree = Some(OwnTree {
        name: "line 1 of the tree file".to_owned(),
        wrappers: tree,
    });
    let hosts = ["h0", "h1", "h2", "h3"];
    let links = links_file(&hosts, [LATENCY_NS - 10_100.0; 2]);
    let given = |over_trees: Vec<Recorded>| Given {
        links: Some(links.clone()),
        tree_files: vec![allreduce_of("linear"), allreduce_of("chain 1")],
        over_trees,
    };
    recorded.classes = vec![ran.clone()];
    let predictions = predict(&recorded, given(Vec::new())).expect("a prediction");
    let prediction = &predictions.predictions[0];
    let identity = prediction.identity.as_ref().expect("what ran is predicted");
    assert!(identity.holds(), "{identity:?}");
    let linear_ns = predicted_ns(prediction, "linear.toml:1").expect("the tree that ran");
    assert!((0.97..1.03).contains(&(linear_ns / median(&ran.instances))));
    // Three links down, three back.
    let chain_ns = predicted_ns(prediction, "chain 1.toml:1").expect("another tree");
    let expected_ns = linear_ns + 4.0 * LATENCY_NS;
    assert!((0.9..1.1).contains(&(chain_ns / expected_ns)), "{chain_ns}");
    // Over a tree of two threads for each process.
    let mut threads = recorded.clone();
    threads.classes[0].ranks.truncate(4);
    for instance in &mut threads.classes[0].instances {
        instance.enters_ns.truncate(4);
    }
    let predictions = predict(&threads, given(Vec::new())).expect("a prediction");
    let why = predictions.predictions[0].not_predicted();
    assert!(why.is_some_and(|why| why.contains("several threads")));
    // With links between two of the hosts only.
    let some = Given {
        links: Some(links_file(&hosts[..2], [LATENCY_NS; 2])),
        ..Given::default()
    };
    let predictions = predict(&recorded, some).expect("a prediction");
    let why = why_not(&predictions);
    assert!(why.starts_with("too few messages"), "{why}");
    // Without event collectors.
    let with_passes = recorded.clone();
    recorded.classes[0]
        .instances
        .iter_mut()
        .for_each(|of| of.passes.clear());
    let predictions = predict(&recorded, given(Vec::new())).expect("a prediction");
    let why = why_not(&predictions);
    assert!(
        why.starts_with("2 ranks of a host meet") && why.contains("--memory"),
        "{why}"
    );
    // With those of another run.
    let predictions = predict(&recorded, given(vec![with_passes])).expect("a prediction");
    assert!(predictions.predictions[0].not_predicted().is_none());
}
