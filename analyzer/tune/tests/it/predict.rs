//! Predictions from simulated runs, whose links are known, against simulations of what is predicted.

use std::mem;

use collbench_formats::Operation;
use collbench_schedules::open_mpi::{Named, Release, schedule};
use collbench_schedules::{
    self as schedules, Call, Evaluator, Link, Network, Schedule, Way, mpich,
};
use collbench_stats::random::Random;
use collbench_tune::predict::{
    Benchmarked, Class, CollectiveCall, Figure, Given, Identity, Instance, MadeFrom, MeasuredLinks,
    Parameters, PredictError, Predictions, Recorded, Sample, ScoreError, Written, faster, predict,
    score,
};

use crate::built::assert_has;

pub(crate) const N: usize = 8;
/// Of one message after the other in a chain each is alone.
const PIPELINE: &str = "bcast_intra_pipeline";
pub(crate) const MADE_FROM: MadeFrom<'static> = MadeFrom {
    trace: "t",
    trace_crc32: 1,
    links_crc32: None,
    memory: &[],
};

/// One rank on each of eight hosts, four at each of two sites.
fn network() -> Network {
    let link = |latency_ns: f64| Link {
        send_overhead_ns: 3000.0,
        receive_overhead_ns: 5000.0,
        latency_ns,
        gap_ns: 0.0,
        gap_per_byte_ns: 2.0,
        receive_gap_ns: 0.0,
        receive_gap_per_byte_ns: 2.0,
        eager_bytes: 65_536 - 64,
    };
    let classes = vec![link(100_000.0), link(2_000_000.0)];
    Network::new(N, classes, |from, to| Way {
        class: usize::from(from / 4 != to / 4),
        shared: None,
    })
}

pub(crate) fn of(name: &str, bytes: u64) -> Schedule {
    let call = Call {
        n_processes: N,
        root: 0,
        elements: bytes / 8,
        element_bytes: 8,
    };
    let named = Named {
        name,
        parameters: schedules::Parameters::default(),
    };
    schedule(Release::V4_1, &[named], &call).expect("an algorithm without parts")
}

/// So many instances of an operation, whose processes enter at random.
pub(crate) fn simulate(
    operation: Operation,
    schedule: &Schedule,
    n: u64,
    random: &mut Random,
) -> Vec<Instance> {
    simulate_on(&network(), operation, schedule, n, random, |_, random| {
        (0..N).map(|_| random.uniform_real(0.0, 50_000.0)).collect()
    })
}

/// So many instances of an operation on a network, with the times at which processes enter each, ns.
pub(crate) fn simulate_on(
    network: &Network,
    operation: Operation,
    schedule: &Schedule,
    n: u64,
    random: &mut Random,
    mut enters_ns: impl FnMut(u64, &mut Random) -> Vec<f64>,
) -> Vec<Instance> {
    let figure = Figure::of(operation, 0);
    let messages = schedule.messages().expect("messages have two ends");
    let mut evaluator = Evaluator::new(schedule).expect("messages have two ends");
    let instances = (0..n).map(|position| {
        let enters_ns = enters_ns(position, random);
        let leaves_ns =
            evaluator.leaves_ns(network, &enters_ns, |_| random.exponential_real(8000.0));
        let took_ns = figure.takes_ns(&enters_ns, leaves_ns);
        let sample = |of: &collbench_schedules::Message| {
            let [begins_ns, ends_ns] = evaluator.actions_ns(of.from);
            let (sent_ns, returned_ns) = (begins_ns[of.send], ends_ns[of.send]);
            let [begins_ns, ends_ns] = evaluator.actions_ns(of.to);
            let (posted_ns, received_ns) = (begins_ns[of.receive], ends_ns[of.receive]);
            Sample {
                from: of.from as u32,
                to: of.to as u32,
                bytes: of.bytes,
                is_alone: true,
                sent_ns: sent_ns as i64,
                returned_ns: Some(returned_ns as i64),
                posted_ns: posted_ns as i64,
                received_ns: Some(received_ns as i64),
                positions: [of.send as u32, of.receive as u32],
            }
        };
        Instance {
            position,
            enters_ns,
            took_ns,
            messages: messages.iter().map(sample).collect(),
            passes: Vec::new(),
        }
    });
    instances.collect()
}

/// So many broadcasts of 1 KiB by [`PIPELINE`].
fn pipelines(n: u64, random: &mut Random) -> Vec<Instance> {
    simulate(Operation::Bcast, &of(PIPELINE, 1024), n, random)
}

/// A run of a broadcast, and of exchanges of short messages between all processes.
pub(crate) fn recorded(name: &str, instances: Vec<Instance>) -> Recorded {
    let random = &mut Random::of(&[9]);
    let exchanges = simulate(
        Operation::Alltoall,
        &of("alltoall_intra_pairwise", 8),
        60,
        random,
    );
    let class = |operation, name: &str, bytes, instances: Vec<Instance>| Class {
        operation,
        communicator: "MPI_COMM_WORLD".to_owned(),
        number: None,
        ranks: (0..N as u32).collect(),
        root: 0,
        bytes,
        reported: vec![name.to_owned()],
        tree: None,
        n_instances: instances.len() as u64,
        instances,
    };
    Recorded {
        command: Vec::new(),
        library: "Open MPI v4.1.4, package: Debian".to_owned(),
        hosts: (0..N).map(|host| format!("h{host}")).collect(),
        host_of_rank: (0..N).map(Some).collect(),
        round_trips_ns: (0..N)
            .flat_map(|a| (a + 1..N).map(move |b| (a, b)))
            .map(|(a, b)| ((a, b), if a / 4 == b / 4 { 210_000 } else { 4_100_000 }))
            .collect(),
        classes: vec![
            class(Operation::Bcast, name, 1024, instances),
            class(Operation::Alltoall, "alltoall_intra_pairwise", 8, exchanges),
        ],
        calls: Vec::new(),
        has_more_calls: false,
    }
}

pub(crate) fn predicted(recorded: &Recorded) -> Predictions<'_> {
    predict(recorded, Given::default()).expect("a prediction")
}

/// Why the first class of calls is not predicted.
pub(crate) fn why_not(predictions: &Predictions<'_>) -> String {
    let prediction = &predictions.predictions[0];
    prediction.not_predicted().expect("a reason")
}

pub(crate) fn median(instances: &[Instance]) -> f64 {
    let mut times: Vec<f64> = instances.iter().map(|of| of.took_ns).collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

#[test]
fn what_another_algorithm_takes_is_predicted_from_the_messages_of_one() {
    let random = &mut Random::of(&[5]);
    let recorded = recorded(PIPELINE, pipelines(400, random));
    let predictions = predicted(&recorded);
    assert_eq!(predictions.links.len(), 2);
    let prediction = &predictions.predictions[0];
    let identity = prediction.identity.as_ref().expect("what ran is predicted");
    assert!(identity.holds(), "{identity:?}");
    assert!(
        prediction.candidates.len() >= 8,
        "{:?}",
        prediction.candidates
    );
    for candidate in prediction
        .candidates
        .iter()
        .filter(|of| of.segment_bytes == 0)
    {
        let truth = median(&simulate(
            Operation::Bcast,
            &of(candidate.method.name(), 1024),
            400,
            random,
        ));
        let ratio = candidate.predicted.median_ns / truth;
        assert!((0.93..1.07).contains(&ratio), "{candidate:?} {truth}");
        let is_inside = candidate.predicted.p05_ns * 0.97 <= truth
            && truth <= candidate.predicted.p95_ns * 1.03;
        assert!(is_inside, "{candidate:?} {truth}");
    }
    let again = predicted(&recorded);
    let json = predictions.to_json(&MADE_FROM);
    assert_eq!(json, again.to_json(&MADE_FROM));
    let json: serde_json::Value = collbench_schemas::read(json);
    let arrivals_ns = json["operations"][0]["arrivals_ns"]
        .as_array()
        .expect("arrivals");
    assert_eq!(arrivals_ns.len(), 100);
    for instance in arrivals_ns {
        let times = instance.as_array().expect("a time for each process");
        assert_eq!(times.len(), N);
        let is_in_time =
            |ns: &serde_json::Value| ns.as_i64().is_some_and(|ns| (0..=50_000).contains(&ns));
        assert!(times.iter().all(is_in_time), "{times:?}");
    }
    let text = predictions.to_text();
    assert!(
        text.contains("check: what ran is predicted to take ") && !text.contains("cannot predict"),
        "{text}"
    );
}

#[test]
fn what_is_not_the_algorithm_that_was_reported_is_predicted_as_its_messages_show_it() {
    let random = &mut Random::of(&[6]);
    let run = pipelines(100, random);
    let mut other = recorded("bcast_intra_binomial", run);
    let predictions = predicted(&other);
    let prediction = &predictions.predictions[0];
    assert!(prediction.identity.as_ref().is_ok_and(Identity::holds));
    assert!(!prediction.candidates.is_empty());
    // Without messages.
    let instances = other.classes[0].instances.iter_mut();
    let messages: Vec<Vec<Sample>> = instances.map(|of| mem::take(&mut of.messages)).collect();
    let predictions = predicted(&other);
    let prediction = &predictions.predictions[0];
    let why = prediction.not_predicted().expect("a reason");
    assert_has(&why, "no messages of its calls");
    assert!(prediction.candidates.is_empty());
    let instances = other.classes[0].instances.iter_mut();
    for (instance, messages) in instances.zip(messages) {
        instance.messages = messages;
    }
    let holds = |run: &Recorded| {
        let prediction = &predicted(run).predictions[0];
        prediction.identity.as_ref().is_ok_and(Identity::holds)
    };
    // What is not reported is found by its messages.
    other.classes[0].reported.clear();
    assert!(holds(&other));
    // Another one handed over to it, and in its first call the library has made messages for itself.
    other.classes[0].reported = ["bcast_intra_binomial", PIPELINE].map(str::to_owned).into();
    let first = &mut other.classes[0].instances[0].messages;
    first.extend(first.clone());
    assert!(holds(&other));
}

#[test]
fn other_algorithms_of_mpich_are_predicted_from_the_one_that_its_messages_show() {
    let random = &mut Random::of(&[5]);
    let call = Call {
        n_processes: N,
        root: 0,
        elements: 128,
        element_bytes: 8,
    };
    let of = |name: &str| {
        mpich::schedule(name, &call, &schedules::Parameters::default())
            .expect("an algorithm of MPICH")
    };
    let ran = "MPIR_Bcast_intra_binomial";
    let run = simulate(Operation::Bcast, &of(ran), 400, random);
    let mut recorded = recorded(ran, run);
    // The library reports nothing.
    (recorded.classes.iter_mut()).for_each(|class| class.reported.clear());
    let names = |recorded: &Recorded| {
        let predictions = predicted(recorded);
        let candidates = predictions.predictions[0].candidates.iter();
        let mut names: Vec<_> = candidates.map(|of| of.method.name().to_owned()).collect();
        names.sort();
        names
    };
    recorded.library = "MPICH Version: 4.0.2".to_owned();
    let of_4 = [
        ran,
        "MPIR_Bcast_intra_scatter_recursive_doubling_allgather",
        "MPIR_Bcast_intra_scatter_ring_allgather",
    ];
    assert_eq!(names(&recorded), of_4);
    recorded.library = "MPICH Version: 5.0.2".to_owned();
    assert_eq!(names(&recorded).len(), of_4.len() + 3);
    let predictions = predicted(&recorded);
    for candidate in &predictions.predictions[0].candidates {
        let name = candidate.method.name();
        let parameters = schedules::Parameters {
            radix: 2,
            ..schedules::Parameters::default()
        };
        let schedule = mpich::schedule(name, &call, &parameters).expect("its name is known");
        let truth = median(&simulate(Operation::Bcast, &schedule, 400, random));
        let ratio = candidate.predicted.median_ns / truth;
        assert!((0.93..1.07).contains(&ratio), "{candidate:?} {truth}");
    }
}

#[test]
fn what_takes_longer_than_its_messages_say_is_refused() {
    let random = &mut Random::of(&[7]);
    let mut run = pipelines(100, random);
    // Processes that are not on a core meanwhile.
    run.iter_mut().for_each(|of| of.took_ns *= 1.6);
    let slow = recorded(PIPELINE, run);
    let predictions = predicted(&slow);
    let why = why_not(&predictions);
    assert_has(&why, "predicted to take 0.6");
    assert!(!why.contains("themselves vary"), "{why}");
    assert!(predictions.to_json(&MADE_FROM).contains("\"holds\": false"));
}

#[test]
fn where_times_themselves_vary_too_much_for_any_model_the_reason_says_so() {
    let random = &mut Random::of(&[17]);
    let mut run = pipelines(100, random);
    // Every third call is disturbed.
    run.iter_mut().step_by(3).for_each(|of| of.took_ns *= 2.0);
    let disturbed = recorded(PIPELINE, run);
    let predictions = predicted(&disturbed);
    let prediction = &predictions.predictions[0];
    let identity = prediction.identity.as_ref().expect("was compared");
    assert!((0.6..0.72).contains(&identity.alike), "{identity:?}");
    let why = prediction.not_predicted().expect("a reason");
    assert_has(&why, "The measured times themselves vary: 6");
}

#[test]
fn what_is_missing_is_told() {
    let random = &mut Random::of(&[8]);
    let run = pipelines(100, random);
    let few = recorded(PIPELINE, run[..30].to_vec());
    let predictions = predicted(&few);
    let why = why_not(&predictions);
    assert_has(&why, "too few instances");
    let mut without = run.clone();
    without.iter_mut().for_each(|of| of.messages.clear());
    let mut without = recorded(PIPELINE, without);
    without.classes.truncate(1);
    assert_eq!(
        predict(&without, Given::default()).err(),
        Some(PredictError::NoMessages)
    );
    without.classes.clear();
    let nothing = predict(&without, Given::default());
    assert_eq!(nothing.err(), Some(PredictError::NothingPredicted));
    let mut other = recorded(PIPELINE, run);
    other.library = "Intel(R) MPI Library 2021.19".to_owned();
    assert!(matches!(
        predict(&other, Given::default()),
        Err(PredictError::Library(_))
    ));
    let mut unknown = other;
    unknown.library = "Open MPI v4.1.4".to_owned();
    unknown.host_of_rank[3] = None;
    let predictions = predicted(&unknown);
    let why = why_not(&predictions);
    assert_has(&why, "no file of rank 3");
}

#[test]
fn predictions_are_compared_with_runs_of_what_was_predicted() {
    let random = &mut Random::of(&[10]);
    let recorded = recorded(PIPELINE, pipelines(100, random));
    let predictions = predicted(&recorded);
    let written = Written::parse(predictions.to_json(&MADE_FROM).as_bytes()).expect("the document");
    let others = [
        "bcast_intra_binomial",
        "bcast_intra_chain",
        "bcast_intra_pipeline",
    ];
    let measured: Vec<Recorded> = (others.iter())
        .map(|name| {
            let run = simulate(Operation::Bcast, &of(name, 1024), 60, random);
            self::recorded(name, run)
        })
        .collect();
    let found = score(&written, &measured, &[]).expect("a score");
    let bcast = &found.classes[0];
    assert_eq!(bcast.compared.len(), 3, "{bcast:?}");
    assert!((0.93..1.07).contains(&found.ratio), "{found:?}");
    assert_eq!((found.tau, bcast.regret), (Some(1.0), Some(0.0)));
    assert!(found.to_text().contains("tau 1.00"), "{}", found.to_text());
    let svg = found.to_svg();
    assert!(
        svg.contains("MPI_Bcast") && svg.contains("measured as predicted"),
        "{svg}"
    );
    // Where the one that was predicted to be the fastest is slow, that is told.
    let mut slow = measured;
    for of in &mut slow[1].classes[0].instances {
        of.took_ns *= 9.0;
    }
    let found = score(&written, &slow, &[]).expect("a score");
    assert!(
        found.regret_worst.is_some_and(|regret| regret > 0.5),
        "{found:?}"
    );
    assert!(found.tau.is_some_and(|tau| tau < 0.5), "{found:?}");
    assert!(matches!(
        score(&written, &[], &[]),
        Err(ScoreError::Nothing)
    ));
    assert!(matches!(Written::parse(b"{}"), Err(ScoreError::Json(_))));
    let other = b"{\"schema\": \"collbench.rules/1\", \"operations\": []}";
    assert!(matches!(Written::parse(other), Err(ScoreError::Schema(_))));
}

/// A links file of these hosts, the first four at one site, with overheads of `network` and latencies in ns.
fn with(links: MeasuredLinks) -> Given {
    Given {
        links: Some(links),
        ..Given::default()
    }
}

pub(crate) fn links_file(hosts: &[&str], latencies_ns: [f64; 2]) -> MeasuredLinks {
    let class = |name: &str, latency_ns: f64| {
        serde_json::json!({
            "name": name, "round_trip_from_ns": 1.0, "round_trip_to_ns": 1.0,
            "o_s_ns": 3000.0, "o_r_ns": 5000.0, "g_ns": 3000.0, "g_is_visible": false,
            "L_ns": latency_ns, "G_ns": 2.0, "sizes": [{ "bytes": 65_536, "T_ns": 1.0 }],
        })
    };
    let n = hosts.len();
    let pairs = (0..n).flat_map(|a| (a + 1..n).map(move |b| [a, b]));
    let link = |[a, b]: [usize; 2]| {
        let class = usize::from(a / 4 != b / 4);
        let round_trip_ns = 2.0 * (8000.0 + latencies_ns[class]);
        serde_json::json!({ "between": [a, b], "class": (["LAN", "WAN"][class]), "round_trip_ns": round_trip_ns })
    };
    let document = serde_json::json!({
        "schema": "collbench.links/1", "command": [], "hosts": hosts,
        "classes": [class("LAN", latencies_ns[0]), class("WAN", latencies_ns[1])],
        "links": pairs.map(link).collect::<Vec<_>>(),
    });
    MeasuredLinks::parse(document.to_string().as_bytes()).expect("a links file")
}

#[test]
fn hosts_of_a_site_share_a_slow_link_to_another_one() {
    let random = &mut Random::of(&[12]);
    let recorded = recorded(PIPELINE, pipelines(60, random));
    let hosts: Vec<&str> = recorded.hosts.iter().map(String::as_str).collect();
    let mut links = links_file(&hosts, [105_500.0, 2_005_500.0]);
    let network = |links: &MeasuredLinks| {
        let parameters = Parameters::of(&recorded, recorded.classes.iter(), Some(links));
        let found = parameters.network(&recorded, &recorded.classes[0]);
        found.expect("all hosts are known").0
    };
    assert!(network(&links).shared.is_empty());
    let between = links.classes[1].link.as_mut().expect("a link");
    between.gap_per_byte_ns = 80.0;
    let network = network(&links);
    let shared = |from, to| network.way(from, to).shared;
    assert_eq!(network.shared.len(), 2);
    assert!(network.shared.iter().all(|of| of.gap_per_byte_ns == 80.0));
    assert!(shared(0, 4).is_some() && shared(0, 4) == shared(3, 7));
    assert!(shared(4, 0).is_some() && shared(4, 0) != shared(0, 4));
    assert_eq!([shared(0, 3), shared(5, 4)], [None; 2]);
}

#[test]
fn a_gap_per_byte_that_is_not_known_is_from_the_times_of_stores() {
    let of = |times_ns: [f64; 5]| {
        let sizes = (0..).zip(times_ns);
        let sizes: Vec<_> = sizes
            .map(|(nth, ns)| serde_json::json!({ "bytes": 64 << nth, "T_ns": ns }))
            .collect();
        let document = serde_json::json!({
            "schema": "collbench.links/1", "command": [], "hosts": ["a", "b"],
            "classes": [{
                "name": "LAN", "round_trip_from_ns": 1.0, "round_trip_to_ns": 1.0, "o_s_ns": 3000.0,
                "o_r_ns": 5000.0, "g_ns": 3000.0, "g_is_visible": false, "L_ns": 9e4, "G_ns": null, "sizes": sizes,
            }],
            "links": [{ "between": [0, 1], "class": "LAN", "round_trip_ns": 2e5 }],
        });
        let links = MeasuredLinks::parse(document.to_string().as_bytes()).expect("a links file");
        let class = links.classes[0].clone();
        let link = class.link.expect("its parameters are known");
        (link.gap_per_byte_ns, class.longest_bytes)
    };
    let (ns, longest_bytes) = of([2.5e5, 3.01e5, 3.99e5, 6.0e5, 1.002e6]);
    assert!((ns - 784.0).abs() < 10.0, "{ns}");
    assert_eq!(longest_bytes, 1024);
    assert_eq!(of([2.5e5, 2.1e5, 2.6e5, 2.2e5, 2.4e5]), (0.0, 0));
}

#[test]
fn links_that_were_measured_count_more_than_those_of_the_run() {
    let random = &mut Random::of(&[11]);
    let recorded = recorded(PIPELINE, pipelines(200, random));
    let hosts = ["h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7"];
    // The recorded messages took some 8 us longer, the mean of their exponential delay.
    let right = links_file(&hosts, [105_500.0, 2_005_500.0]);
    let predictions = predict(&recorded, with(right.clone())).expect("a prediction");
    let names: Vec<_> = predictions
        .links
        .iter()
        .map(|link| &link.name[..])
        .collect();
    assert_eq!(names, ["LAN", "WAN"]);
    assert!(
        predictions
            .links
            .iter()
            .all(|link| link.is_measured && !link.deviations.of_messages_ns.is_empty())
    );
    let text = predictions.to_text();
    assert!(
        text.contains("LAN: o_s 3.00 us") && text.contains("from the links file"),
        "{text}"
    );
    let bcast = &predictions.predictions[0];
    assert!(
        bcast.not_predicted().is_none() && bcast.candidates.len() >= 8,
        "{text}"
    );
    // As on hosts of other names.
    let mixed = ["h0", "h4", "h1", "h5", "h2", "h6", "h3", "h7"];
    let wrong = predict(
        &recorded,
        with(links_file(&mixed, [105_500.0, 2_005_500.0])),
    );
    let wrong = wrong.expect("a prediction");
    let why = why_not(&wrong);
    assert_has(&why, "what ran is predicted to take");
    // Hosts of one site only: the others have the links of the run.
    let some = links_file(&hosts[..4], [105_500.0, 1.0]);
    let predictions = predict(&recorded, with(some.clone())).expect("a prediction");
    let measured: Vec<bool> = predictions
        .links
        .iter()
        .map(|link| link.is_measured)
        .collect();
    assert_eq!(measured, [true, false, false]);
    assert!(predictions.predictions[0].not_predicted().is_none());
    let others = predict(&recorded, with(links_file(&["a", "b"], [1.0, 1.0]))).err();
    let others = others.expect("an error").to_string();
    assert!(
        others.contains("between the hosts of the trace (h0, h1")
            && others.contains("but between a, b;"),
        "{others}"
    );
}

#[test]
fn other_files_than_those_of_links_are_refused() {
    let error = |text: &str| {
        MeasuredLinks::parse(text.as_bytes())
            .expect_err("an error")
            .to_string()
    };
    assert!(error("{}").contains("this is not a links file of collbench-bench logp"));
    let with = |classes: &str, links: &str| {
        format!(
            r#"{{ "schema": "collbench.links/1", "hosts": ["a", "b"], "classes": [{classes}], "links": [{links}] }}"#
        )
    };
    assert!(error(&with("", "").replace("links/1", "links/9")).contains("collbench.links/9"));
    let link = r#"{ "between": [0, 1], "class": "LAN", "round_trip_ns": 1e5 }"#;
    assert!(error(&with("", link)).contains("the class \"LAN\", which the file does not have"));
    assert!(error(&with("", &link.replace("1]", "2]"))).contains("ranks 0 and 2, of 2"));
    let class = r#"{ "name": "LAN", "o_s_ns": 1e300, "o_r_ns": null, "g_ns": null, "g_is_visible": false,
        "L_ns": null, "G_ns": null, "sizes": [] }"#;
    assert!(error(&with(class, link)).contains("o_s_ns of the class \"LAN\" is 1"));
    // Parameters that are not known are not made up.
    let unknown = with(&class.replace("1e300", "null"), link);
    let links = MeasuredLinks::parse(unknown.as_bytes()).expect("a links file");
    assert_eq!(links.classes[0].link, None);
}

/// Broadcasts along a schedule, one after the other, with computations of random length between: the calls of class 0, and
/// how long all take.
pub(crate) fn program(schedule: &Schedule, random: &mut Random) -> (Vec<CollectiveCall>, f64) {
    let network = network();
    let mut evaluator = Evaluator::new(schedule).expect("messages have two ends");
    let mut at_ns = vec![0.0; N];
    let mut computes = Random::of(&[12]);
    let calls = (0..400).map(|_| {
        let enters_ns: Vec<f64> = at_ns
            .iter()
            .map(|ns| ns + computes.uniform_real(0.0, 3e6))
            .collect();
        let first_ns = enters_ns.iter().copied().fold(f64::MAX, f64::min);
        let after: Vec<f64> = enters_ns.iter().map(|ns| ns - first_ns).collect();
        let leaves_ns = evaluator.leaves_ns(&network, &after, |_| random.exponential_real(8000.0));
        at_ns = leaves_ns.iter().map(|ns| first_ns + ns).collect();
        CollectiveCall {
            ranks: (0..N as u32).collect(),
            operation: Operation::Bcast,
            root: 0,
            class: Some(0),
            enters_ns,
            leaves_ns: at_ns.clone(),
        }
    });
    let calls: Vec<_> = calls.collect();
    (calls, at_ns.into_iter().fold(0.0, f64::max))
}

#[test]
fn lateness_is_handed_on_or_absorbed_in_the_whole_run() {
    let random = &mut Random::of(&[13]);
    let schedule = of(PIPELINE, 1024);
    let run = simulate(Operation::Bcast, &schedule, 400, random);
    let mut recorded = recorded(PIPELINE, run);
    recorded.calls = program(&schedule, random).0;
    let predictions = predicted(&recorded);
    let fastest = &predictions.predictions[0].candidates[0];
    assert_eq!(fastest.segment_bytes, 0, "{fastest:?}");
    let (_, ran_ns) = program(&schedule, random);
    let (_, changed_ns) = program(&of(fastest.method.name(), 1024), random);
    let truth = changed_ns / ran_ns;
    let run = predictions
        .run
        .as_ref()
        .expect("a prediction of the whole run");
    assert!((0.99..1.01).contains(&run.identity), "{run:?}");
    let (_, ratio) = &run.changes[0];
    // What the calls save alone would be more: late processes absorb a part of it.
    assert!(
        ratio.p05 - 0.01 <= truth && truth <= ratio.p95 + 0.01,
        "{truth} {run:?}"
    );
    assert!(truth < 0.97, "{truth}");
    let text = predictions.to_text();
    assert_has(&text, "the whole run, 400 collectives in");
    // Where processes compute otherwise than it seems, such as in calls that are not known, nothing is said.
    for call in &mut recorded.calls {
        let last_ns = call.enters_ns.iter().copied().fold(0.0, f64::max);
        call.leaves_ns
            .iter_mut()
            .for_each(|ns| *ns = (*ns + last_ns) / 2.0);
    }
    let predictions = predicted(&recorded);
    let run = predictions
        .run
        .as_ref()
        .expect("a prediction of the whole run");
    assert!(
        run.not_predicted().is_some() && run.changes.is_empty(),
        "{run:?}"
    );
}

#[test]
fn predictions_are_compared_with_measured_collectives() {
    let random = &mut Random::of(&[14]);
    let recorded = recorded(PIPELINE, pipelines(100, random));
    let predictions = predicted(&recorded);
    let written = Written::parse(predictions.to_json(&MADE_FROM).as_bytes()).expect("the document");
    let network = network();
    let mut point = |name: &str, function: &str| {
        let schedule = of(function, 1024);
        let mut evaluator = Evaluator::new(&schedule).expect("messages have two ends");
        let samples: Vec<serde_json::Value> = (0..60)
            .map(|i| {
                let enters_ns: Vec<f64> = (0..N).map(|_| random.uniform_real(0.0, 50_000.0)).collect();
                let leaves_ns = evaluator.leaves_ns(&network, &enters_ns, |_| 8000.0);
                // What began too late does not count.
                let leaves_ns: Vec<f64> = leaves_ns.iter().map(|ns| ns * if i == 7 { 9.0 } else { 1.0 }).collect();
                serde_json::json!({ "enter_ns": enters_ns, "leave_ns": leaves_ns, "is_valid": i != 7 })
            })
            .collect();
        serde_json::json!({
            "operation": "MPI_Bcast", "bytes": 1024, "processes": N, "root": 0, "algorithm": name, "samples": samples,
        })
    };
    let points = [
        point("binomial", "bcast_intra_binomial"),
        point("pipeline", "bcast_intra_pipeline"),
    ];
    let document = |points: &serde_json::Value| {
        let run = serde_json::json!({ "mpi_library": "Open MPI v4.1.4, package: Debian" });
        let document = serde_json::json!({ "schema": "collbench.bench.collective/1", "run": run, "points": points });
        document.to_string()
    };
    let points = serde_json::json!(points);
    let measured = Benchmarked::parse(document(&points).as_bytes()).expect("a measurement");
    let found = score(&written, &[], &[measured]).expect("a score");
    let compared = &found.classes[0].compared;
    let instances: Vec<usize> = compared.iter().map(|of| of.instances).collect();
    assert_eq!(instances, [59, 59], "{found:?}");
    assert!((0.93..1.07).contains(&found.ratio), "{found:?}");
    assert_eq!(found.tau, Some(1.0));
    let error = |text: &str| {
        let parsed = Benchmarked::parse(text.as_bytes());
        parsed.expect_err("an error").to_string()
    };
    assert!(error("[]").contains("this is not what collbench-bench collective"));
    assert!(
        error(&document(&points).replace("collective/1", "overlap/1")).contains("bench.overlap/1")
    );
    assert!(error(&document(&serde_json::json!([]))).contains("--samples"));
}

#[test]
fn what_makes_a_run_faster_is_found_by_little_work() {
    let random = &mut Random::of(&[14]);
    let schedule = of(PIPELINE, 1024);
    let run = simulate(Operation::Bcast, &schedule, 400, random);
    let mut slow = recorded(PIPELINE, run);
    slow.calls = program(&schedule, random).0;
    // The others only show what links take.
    slow.classes[1].n_instances = 1;
    let found = faster(&slow).expect("something faster");
    assert_eq!((&*found.operation, found.bytes), ("MPI_Bcast", 1024));
    assert!(found.predicted_ns < found.ran_ns, "{found:?}");
    assert!(found.run_median < 0.97 && found.run_p95 < 1.0, "{found:?}");
    assert!(found.run_p05 <= found.run_median && found.run_median <= found.run_p95);
    // Where the calls take a small part of the run, it is not worth a word.
    for (nth, call) in slow.calls.iter_mut().enumerate() {
        let times = call.enters_ns.iter_mut().chain(&mut call.leaves_ns);
        times.for_each(|ns| *ns += 1e8 * nth as f64);
    }
    assert_eq!(faster(&slow), None);
}
