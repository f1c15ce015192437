//! The page of made-up outcomes.

use collbench_stats::median::Median;

use super::*;
use crate::predict::Gain;

const RAN: &str = "allreduce_intra_ring";
const FASTER: &str = "allreduce_intra_recursivedoubling";
const WORLD: &str = "MPI_COMM_WORLD";

fn alternative(what: &str, median_ns: f64, mean: f64, why_not: Option<WhyNot>) -> Alternative {
    Alternative {
        what: what.to_owned(),
        is_tree: what.starts_with("tree"),
        methods: vec![Method::Algorithm(what.to_owned())],
        predicted: vec![band(median_ns)],
        gain: Gain {
            mean,
            low: mean - 0.02,
            high: mean + 0.02,
        },
        why_not,
    }
}

/// Calls that ran as the changes of [`tried`] say.
fn kind(bytes: u64, alternatives: Result<Vec<Alternative>, String>) -> KindOfCalls {
    KindOfCalls {
        operation: Operation::Allreduce,
        n_processes: 4,
        bytes,
        n_instances: 100,
        took_ns: 2e8,
        ran: vec![Ran {
            communicator: WORLD.to_owned(),
            root: None,
            what: RAN.to_owned(),
            measured: band(2e6),
        }],
        alternatives,
    }
}

/// An algorithm that is proposed and measured, a tree that is not proposed, and calls of which nothing is predicted.
fn considered() -> Considered {
    let small = "-1.9 %, less than 3 %".to_owned();
    let all = vec![
        alternative(FASTER, 1e6, 0.5, None),
        alternative(
            "tree, ranks linear",
            1.962e6,
            0.019,
            Some(WhyNot::Gain(small)),
        ),
        alternative("tree, ranks ring", 0.7e6, 0.6, Some(WhyNot::OtherBits)),
    ];
    let unknown = Err("what ran is predicted wrongly by 40 %".to_owned());
    Considered {
        n_hosts: 2,
        n_processes: 4,
        kinds: vec![kind(8, Ok(all)), kind(4096, unknown)],
        n_rare: 0,
    }
}

fn measured() -> Outcome {
    let mut tried = tried("algorithms", &[8]);
    tried.checked[0].measured_ns = Some(Median {
        n: 100,
        value: 1.25e6,
        interval: Some((1.2e6, 1.3e6)),
    });
    Outcome {
        considered: considered(),
        ..outcome(vec![tried], 10, &[0.8])
    }
}

/// The cells of the rows of the table.
fn cells(page: &str) -> Vec<Vec<String>> {
    let table = page.split_once("<table class=\"data\">").unwrap().1;
    let body = table.split_once("<tbody>").unwrap().1;
    let body = body.split_once("</tbody>").unwrap().0;
    let rows = body.split("<tr>").skip(1);
    rows.map(|row| {
        let cells = row.split("</t").filter_map(|cell| {
            let text = cell.trim_end_matches("</a>").rsplit_once('>')?.1;
            (!text.trim().is_empty()).then(|| text.to_owned())
        });
        cells.collect()
    })
    .collect()
}

#[test]
fn the_page_has_the_answer_and_all_that_could_run_with_its_reason() {
    let outcome = measured();
    let page = outcome.to_html();
    let statements = page.split_once("<ul class=\"verdict\">").unwrap().1;
    let statements: Vec<&str> = statements.split("<li>").skip(1).take(2).collect();
    let answer = "with algorithms the program takes 20.0 % less time (19.2 to 20.8 %), measured in 10 rounds</li>";
    assert!(statements[0].starts_with(answer), "{statements:?}");
    let agreement = "predicted 0.900 (0.880 to 0.920): it is faster than predicted</li>";
    assert!(statements[1].contains(agreement), "{statements:?}");
    let rows = cells(&page);
    assert_eq!(rows.len(), 4, "{rows:?}");
    let calls = "MPI_Allreduce, 4 processes, 8 bytes";
    assert_eq!(
        rows[0],
        [
            calls,
            FASTER,
            "2.00 ms",
            "1.00 ms",
            "-50.0 % (-52.0 to -48.0 %)",
            "proposed",
            "1.25 ms",
            "algorithms: faster, 20.0 % less time (19.2 to 20.8 %)",
        ]
    );
    assert_eq!(rows[1][1], "tree, ranks linear");
    assert_eq!(
        rows[1][5..],
        ["not proposed: -1.9 %, less than 3 %", "-", "not run"],
        "nobody ran it"
    );
    assert_eq!(
        rows[2][5],
        "not proposed: its results may differ in the last digits"
    );
    let unknown = "nothing is predicted: what ran is predicted wrongly by 40 %";
    assert_eq!(rows[3][5], unknown);
    assert!(page.contains(&format!(
        "<li>MPI_Allreduce, 4 processes, 4096 bytes: {unknown}</li>"
    )));
    assert!(page.contains("mpirun ./app, 4 processes on 2 hosts, Open MPI v4.1.4."));
}

#[test]
fn pictures_have_what_was_measured_beside_what_was_predicted() {
    let page = measured().to_html();
    let pictures: Vec<&str> = page.split("<svg ").skip(1).collect();
    assert_eq!(pictures.len(), 2, "the program, and one kind of calls");
    let texts = |picture: &str| -> Vec<String> {
        let labels = picture.split("<text class=\"label").skip(1);
        let texts = labels.map(|of| of.split_once('>').unwrap().1.split_once('<').unwrap().0);
        texts.map(str::to_owned).collect()
    };
    assert_eq!(
        texts(pictures[0])[1..],
        [
            "as it is 1.000 (0.990 to 1.010)",
            "algorithms: faster, 20.0 % less time (19.2 to 20.8 %)",
            "predicted 0.900 (0.880 to 0.920)",
            "measured 0.800 (0.792 to 0.808)",
        ]
    );
    assert_eq!(
        texts(pictures[1])[..5],
        [
            "allreduce_intra_ring, which ran",
            "as it ran 2.00 ms (1.80 ms to 2.20 ms)",
            "allreduce_intra_recursivedoubling: proposed",
            "predicted 1.00 ms (900 us to 1.10 ms)",
            "measured 1.25 ms (1.20 ms to 1.30 ms)",
        ]
    );
    let instead =
        "allreduce_intra_recursivedoubling took 1.25 ms instead of 2.00 ms, predicted 1.00 ms";
    assert!(pictures[1].contains(instead));
}

#[test]
fn what_was_not_applied_has_no_measured_time() {
    let mut outcome = measured();
    outcome.tried[0].checked[0].is_applied = Some(false);
    outcome.tried[0].checked[0].instead = vec![(RAN.to_owned(), 100)];
    let page = outcome.to_html();
    let first = &cells(&page)[0];
    assert_eq!(first[6..], ["-", "not applied: ran allreduce_intra_ring"]);
    assert!(page.contains(">measured 0.800"), "of the whole program");
    assert!(!page.contains(">measured 1.25 ms"));
    let why = "<li>algorithms: MPI_Allreduce on MPI_COMM_WORLD, 4 processes, 8 bytes: ran allreduce_intra_ring</li>";
    assert!(page.contains(why), "{page}");
}

#[test]
fn what_was_given_is_shown_beside_what_was_found() {
    let mut given = tried("mine.toml", &[8, 64]);
    given.proposal.changes[0].what = "mine.toml:3".to_owned();
    given.proposal.changes[0].method = Method::Tree {
        place: "mine.toml:3".to_owned(),
        crc32: 7,
    };
    let outcome = Outcome {
        considered: considered(),
        ..outcome(vec![given], 10, &[1.0])
    };
    let rows = cells(&outcome.to_html());
    assert_eq!(rows.len(), 6, "{rows:?}");
    assert_eq!(rows[0][5], "faster as predicted, but not run");
    let found: Vec<&str> = rows[3].iter().map(String::as_str).collect();
    assert_eq!(found[1], "mine.toml:3");
    assert_eq!(found[4..6], ["-", "tried, since it was given"]);
    assert_eq!(rows[5][0], "MPI_Allreduce, 4 processes, 64 bytes");
}

#[test]
fn without_a_proposal_the_page_says_why_for_each_kind_of_calls() {
    let not_better = kind(8, Ok(Vec::new()));
    let slower = WhyNot::Gain("slower than what ran".to_owned());
    let slower = kind(64, Ok(vec![alternative(FASTER, 3e6, -0.5, Some(slower))]));
    let considered = Considered {
        kinds: vec![not_better, slower],
        n_rare: 3,
        ..considered()
    };
    let outcome = Outcome {
        considered,
        ..outcome(Vec::new(), 0, &[])
    };
    let page = outcome.to_html();
    assert!(page.contains("<li>nothing to try: no proposal is predicted to be faster</li>"));
    for why in [
        "MPI_Allreduce, 4 processes, 8 bytes: nothing is better than what ran",
        "MPI_Allreduce, 4 processes, 64 bytes: nothing is proposed: the best is slower than what ran",
        "3 instances of other calls, too few of each to predict",
    ] {
        assert_eq!(page.matches(&format!("<li>{why}</li>")).count(), 1, "{why}");
    }
    let rows = cells(&page);
    assert_eq!(rows[0][5], "nothing is better than what ran");
    assert_eq!(rows[1][5], "not proposed: slower than what ran");
    assert!(!page.contains("<h2 id=\"whole-run\""), "nothing ran");
    assert!(page.contains("allreduce_intra_recursivedoubling: not proposed: slower than what ran"));
}

#[test]
fn names_of_traces_stay_text() {
    let mut outcome = measured();
    let hostile = "</title></style></script><script>alert(1)</script>\u{1b}]0;x\u{7}\u{202e}";
    outcome.considered.kinds[0].ran[0].what = hostile.to_owned();
    outcome.considered.kinds[0].ran[0].communicator = hostile.to_owned();
    outcome.tried[0].proposal.changes[0].ran = hostile.to_owned();
    outcome.tried[0].proposal.name = hostile.to_owned();
    outcome.command.push(hostile.to_owned());
    outcome.differs = Some(hostile.to_owned());
    outcome.remarks.push(hostile.to_owned());
    let page = outcome.to_html();
    assert!(!page.contains("<script>alert"));
    assert!(!page.contains(['\u{1b}', '\u{7}', '\u{202e}']));
}

#[test]
fn the_document_has_what_was_considered() {
    let document = measured().to_json(&[]);
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let kinds = &document["considered"];
    let tree = &kinds[0]["alternatives"][1];
    assert_eq!(tree["what"], "tree, ranks linear");
    assert_eq!(tree["means"], "trees");
    assert_eq!(tree["proposed"], false);
    assert_eq!(tree["why_not"], "-1.9 %, less than 3 %");
    assert_eq!(tree["gain"]["mean"], 0.019);
    assert_eq!(tree["predicted_ns"][0]["median"], 1.962e6);
    assert_eq!(kinds[0]["ran"][0]["measured_ns"]["median"], 2e6);
    assert_eq!(kinds[0]["not_predicted"], serde_json::Value::Null);
    let why = "what ran is predicted wrongly by 40 %";
    assert_eq!(kinds[1]["not_predicted"], why);
}
