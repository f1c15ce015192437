//! What is said of planted times.

mod page;

use std::time::Duration;

use collbench_formats::Operation;

use super::*;
use crate::predict::{Band, Method, Ratios};
use crate::proposal::{Change, Means, Proposal};

fn band(median_ns: f64) -> Band {
    Band {
        p05_ns: 0.9 * median_ns,
        median_ns,
        p95_ns: 1.1 * median_ns,
    }
}

fn tried(name: &str, bytes: &[u64]) -> Tried {
    let change = |&bytes: &u64| Change {
        operation: Operation::Allreduce,
        communicator: "MPI_COMM_WORLD".to_owned(),
        n_processes: 4,
        root: None,
        bytes,
        n_instances: 100,
        ran: "allreduce_intra_ring".to_owned(),
        measured: band(2e6),
        what: "allreduce_intra_recursivedoubling".to_owned(),
        method: Method::Algorithm("allreduce_intra_recursivedoubling".to_owned()),
        predicted: band(1e6),
    };
    Tried {
        proposal: Proposal {
            name: name.to_owned(),
            means: Means::Trees(String::new()),
            changes: bytes.iter().map(change).collect(),
            run: None,
        },
        predicted: Some(Ratios {
            p05: 0.88,
            median: 0.9,
            p95: 0.92,
        }),
        checked: bytes.iter().map(|_| checked(Some(true))).collect(),
        ending: Ending::AsTheProgram,
        command: "X=1 mpirun ./app".to_owned(),
        file: None,
    }
}

fn checked(is_applied: Option<bool>) -> Checked {
    let instead = match is_applied {
        Some(false) => vec![("allreduce_intra_ring".to_owned(), 100)],
        _ => Vec::new(),
    };
    Checked {
        is_applied,
        n_instances: 100,
        instead,
        measured_ns: None,
    }
}

/// An outcome of so many rounds in which each proposal takes such a part of the time of the program.
fn outcome(tried: Vec<Tried>, n_rounds: usize, parts: &[f64]) -> Outcome {
    let mut rounds = Rounds::new(tried.len());
    for round in 0..n_rounds {
        // Equal runs differ by up to 1 %, in either direction.
        let other = if round % 2 == 0 { 0.99 } else { 1.01 };
        let each = parts.iter().enumerate();
        let each: Vec<(usize, f64)> = each.map(|(idx, part)| (idx, 10.0 * part)).collect();
        rounds.add([10.0, 10.0 * other], &each);
    }
    let run = Duration::from_secs(10);
    Outcome {
        command: vec!["mpirun".to_owned(), "./app".to_owned()],
        library: "Open MPI v4.1.4".to_owned(),
        seed: 1,
        plan: Plan::new(10, tried.len(), [run; 2], None, run).ok(),
        recorded_s: 10.0,
        first_s: Some(10.0),
        rounds,
        stop: None,
        differs: None,
        proof: None,
        tried,
        not_tried: Vec::new(),
        considered: Considered::default(),
        remarks: Vec::new(),
        directory: Some("tuned".to_owned()),
    }
}

fn first_line(outcome: &Outcome) -> String {
    let text = outcome.to_text();
    text.lines().next().unwrap_or_default().to_owned()
}

fn verdict_in_json(outcome: &Outcome) -> String {
    let document: serde_json::Value = serde_json::from_str(&outcome.to_json(&[])).unwrap();
    document["proposals"][0]["verdict"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn the_first_line_is_the_answer() {
    let both = || vec![tried("algorithms", &[8]), tried("trees", &[8])];
    let faster = outcome(both(), 10, &[0.95, 0.8]);
    assert_eq!(
        first_line(&faster),
        "with trees the program takes 20.0 % less time (19.2 to 20.8 %), measured in 10 rounds"
    );
    let text = faster.to_text();
    let predicted =
        "  predicted: 10.0 % less time (8.0 to 12.0 %); measured by predicted time 0.889\n";
    assert!(text.contains(predicted), "{text}");
    assert!(
        text.contains("algorithms: faster, 5.0 % less time"),
        "{text}"
    );
    assert!(text.contains("  use it: X=1 mpirun ./app\n"), "{text}");
    let equal = outcome(both(), 10, &[1.0, 1.0]);
    assert_eq!(
        first_line(&equal),
        "no gain that can be told from chance, in 10 rounds"
    );
    let slower = outcome(both(), 10, &[1.3, 1.2]);
    assert_eq!(
        first_line(&slower),
        "the program is fastest as it is, in 10 rounds"
    );
    assert!(
        slower
            .to_text()
            .contains("algorithms: slower, 30.0 % more time")
    );
    let few = outcome(both(), 3, &[0.5, 0.5]);
    assert_eq!(first_line(&few), "no answer: too few rounds");
    let none = outcome(Vec::new(), 0, &[]);
    assert!(first_line(&none).starts_with("nothing to try"));
    let interrupted = Outcome {
        stop: Some(Stop::Interrupted),
        directory: None,
        ..outcome(both(), 9, &[0.8, 1.0])
    };
    assert!(
        first_line(&interrupted)
            .starts_with("interrupted after 9 rounds: with algorithms the program")
    );
    assert!(
        !interrupted.to_text().contains("use it"),
        "its files are gone"
    );
    let differs = Outcome {
        differs: Some("it ended with status 1".to_owned()),
        ..outcome(both(), 9, &[0.8, 1.0])
    };
    assert_eq!(
        first_line(&differs),
        "cannot compare: it ended with status 1"
    );
}

#[test]
fn what_was_not_applied_is_never_no_gain() {
    let mut in_part = tried("trees", &[8, 16]);
    in_part.checked[1] = checked(Some(false));
    let in_part = outcome(vec![in_part], 10, &[1.0]);
    let text = in_part.to_text();
    let expected = "trees: applied in part only, with no gain that can be told from chance: ";
    assert!(text.contains(expected), "{text}");
    assert!(
        text.contains("4 processes, 16 bytes: ran allreduce_intra_ring"),
        "{text}"
    );
    assert_eq!(verdict_in_json(&in_part), "applied_in_part");
    assert!(first_line(&in_part).starts_with("no answer: "), "{text}");
    let mut not = tried("trees", &[8]);
    not.ending = Ending::NotApplied("ran allreduce_intra_ring".to_owned());
    let not = outcome(vec![not], 0, &[]);
    assert_eq!(
        first_line(&not),
        "not applied: what was proposed did not run"
    );
    assert_eq!(verdict_in_json(&not), "not_applied");
    assert!(!not.to_text().contains("no gain"));
}

#[test]
fn why_it_ended_early_is_told_with_what_would_help() {
    let stop = Stop::TooNoisy {
        detectable: 0.05,
        predicted: 0.01,
        n_rounds: 250,
    };
    let noisy = Outcome {
        stop: Some(stop),
        ..outcome(vec![tried("trees", &[8])], 5, &[1.0])
    };
    let text = noisy.to_text();
    assert!(
        text.contains("less than 5.0 % cannot be told from chance"),
        "{text}"
    );
    assert!(text.contains("that takes some 250 rounds"), "{text}");
    let document: serde_json::Value = serde_json::from_str(&noisy.to_json(&[])).unwrap();
    assert_eq!(document["stopped"]["why"], "too_noisy");
    assert_eq!(document["stopped"]["rounds_needed"], 250);
}

#[test]
fn what_is_outside_of_collectives_takes_as_long_as_before() {
    let run = Ratios {
        p05: 0.4,
        median: 0.5,
        p95: 0.6,
    };
    let call = crate::predict::CollectiveCall {
        ranks: vec![0, 1].into(),
        operation: Operation::Barrier,
        root: 0,
        class: None,
        enters_ns: vec![0.0, 1e9],
        leaves_ns: vec![4e9, 5e9],
    };
    let mut recorded = crate::predict::Recorded {
        command: Vec::new(),
        library: String::new(),
        hosts: Vec::new(),
        host_of_rank: Vec::new(),
        round_trips_ns: std::collections::BTreeMap::new(),
        classes: Vec::new(),
        calls: vec![call],
        has_more_calls: false,
    };
    let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
    let of = of_command(run, &recorded, 10.0);
    assert!(
        close(of.p05, 0.7) && close(of.median, 0.75) && close(of.p95, 0.8),
        "{of:?}"
    );
    recorded.has_more_calls = true;
    assert_eq!(
        of_command(run, &recorded, 10.0),
        run,
        "of a long run the begin stands for all"
    );
}
