//! The document of a run of many operations: bounded, with sums of all and details of what matters;
//! and all details for whoever asks for them.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::LazyLock;

use collbench_analyzer::{Analysis, Details, Options, RunFiles, analyze};
use collbench_report::{Document, to_json, to_text, write_report};
use serde_json::Value;
use tempfile::TempDir;

/// Communicators, classes of payloads, processes.
const COMMUNICATORS: usize = 15;
const CLASSES: u32 = 10;
const RANKS: usize = 8;

/// Of each class on each communicator two exchanges and a broadcast from each root.
fn scenario() -> String {
    let mut text = format!(
        "schema = 1\nname = \"many operations\"\nseed = 3\n\
         [[hosts]]\nname = \"node\"\nranks = {RANKS}\n"
    );
    for number in 0..COMMUNICATORS {
        let step = "[[program]]\noperation = \"MPI_Comm_dup\"";
        writeln!(text, "{step}\nmakes = \"c{number}\"").unwrap();
    }
    for number in 0..COMMUNICATORS {
        writeln!(text, "[[program]]\nrepeat = 8\nsteps = [").unwrap();
        for bytes in (0..CLASSES).map(|class| 1 << class) {
            for (operation, more) in [
                ("MPI_Allreduce", "tree = \"recursive-doubling\""),
                ("MPI_Bcast", "root = \"rotating\", tree = \"binomial\""),
                ("MPI_Alltoall", "tree = \"ring\""),
            ] {
                writeln!(
                    text,
                    "{{ operation = \"{operation}\", on = \"c{number}\", bytes = {bytes}, {more}, \
                     work = [{{ normal_ns = [{}, 20000] }}] }},",
                    // The later, the more time.
                    100_000 + 10_000 * number
                )
                .unwrap();
            }
        }
        writeln!(text, "]").unwrap();
    }
    text
}

/// The trace, made once.
static TRACE: LazyLock<TempDir> = LazyLock::new(|| {
    let directory = tempfile::tempdir().unwrap();
    crate::generated::trace_in(directory.path(), &scenario(), None);
    directory
});

fn analysis(details: Details) -> Analysis {
    let trace: &Path = &TRACE.path().join("trace");
    let options = Options {
        details,
        ..Options::default()
    };
    analyze(&RunFiles::open(trace).unwrap(), &options, &mut |_| {}).unwrap()
}

/// With all details, and with those of what matters; made once.
static WHOLE: LazyLock<Analysis> = LazyLock::new(|| analysis(Details::All));
static BOUNDED: LazyLock<Analysis> =
    LazyLock::new(|| analysis(Details::OfWhatMatters { n_drawn: DRAWN }));

/// Operations that get pictures: more than there are all details of in the document.
const DRAWN: usize = 90;

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

/// Fields of an operation that nobody would call details.
const SUMS: [&str; 19] = [
    "operation",
    "communicator",
    "root",
    "bytes_min",
    "bytes_max",
    "algorithm",
    "calls",
    "instances",
    "incomplete",
    "duration_ns",
    "call_time_ns",
    "wait_ns",
    "arrival_lag_ns",
    "core_ns",
    "departure_wait_ns",
    "wait_states",
    "last_arrivals",
    "last_unresolved",
    "outside_trees",
];

/// Whether a document has something at a path such as `trees[].ways`.
fn has(operation: &Value, path: &str) -> bool {
    match path.split_once("[].") {
        Some((trees, rest)) => list(&operation[trees]).iter().any(|tree| has(tree, rest)),
        None if path == "stages[3..]" => list(&operation["stages"]).len() > 3,
        None => {
            let value = path.split('.').fold(operation, |value, key| &value[key]);
            !value.is_null()
        }
    }
}

#[test]
fn a_document_that_leaves_details_out_is_read_and_written_as_it_was() {
    let json = to_json(&Document::of(&BOUNDED));
    let read: Document<'static> = serde_json::from_str(&json).unwrap();
    assert!(!read.details.complete);
    assert!(to_json(&read) == json);
}

#[test]
fn a_document_of_many_operations_is_bounded_and_says_what_it_leaves_out() {
    let all = to_json(&Document::of(&WHOLE));
    let bounded = to_json(&Document::of(&BOUNDED));
    let read = |text: &str| collbench_schemas::read(text);
    let (whole, told) = (read(&all), read(&bounded));
    let n = list(&whole["operations"]).len();
    assert!(n >= 1_500, "{n}");
    // 4 MiB of details, 3 MiB of sums, 2 MiB of verdicts, and little of the rest.
    assert!(bounded.len() < 10 << 20, "{} bytes", bounded.len());
    assert!(all.len() > 5 * bounded.len(), "{} bytes", all.len());
    assert_rest_adds_up(&whole, &told, "operations", |rest| list(rest).to_vec());

    assert_eq!(whole["details"]["complete"], true);
    assert_eq!(whole["details"]["all_by"], Value::Null);
    assert_eq!(told["details"]["complete"], false);
    assert_eq!(told["details"]["all_by"], "collbench-analyze --full");
    let n_listed = list(&told["operations"]).len();
    assert!((400..n).contains(&n_listed), "{n_listed} of {n}");
    let n_with = told["details"]["operations"].as_u64().unwrap() as usize;
    assert!((20..DRAWN).contains(&n_with), "{n_with} of {n}");
    let share = told["details"]["share_of_time"].as_f64().unwrap();
    assert!(share > n_with as f64 / n as f64, "{share}");

    let both = list(&whole["operations"])
        .iter()
        .zip(list(&told["operations"]));
    for (index, (whole, told)) in both.enumerate() {
        assert_eq!(whole["left_out"], Value::Array(Vec::new()));
        let keys = |value: &Value| {
            value
                .as_object()
                .unwrap()
                .keys()
                .cloned()
                .collect::<Vec<_>>()
        };
        assert_eq!(keys(whole), keys(told));
        for field in SUMS {
            assert_eq!(whole[field], told[field], "{field} of operation {index}");
        }
        let left_out = list(&told["left_out"]);
        assert_eq!(left_out.is_empty(), index < n_with, "operation {index}");
        if index < n_with {
            assert_eq!(whole, told);
        }
        for path in left_out.iter().map(|path| path.as_str().unwrap()) {
            assert!(has(whole, path) && !has(told, path), "{path} of {index}");
        }
        let trees = list(&whole["trees"]).iter().zip(list(&told["trees"]));
        for (whole, told) in trees {
            assert_eq!(keys(whole), keys(told));
            for field in [
                "algorithm",
                "also",
                "instances",
                "n",
                "root",
                "height",
                "hotspot",
            ] {
                assert_eq!(whole[field], told[field], "{field} of operation {index}");
            }
        }
    }
    for field in ["trace", "totals", "ranks", "timeline", "remarks"] {
        assert_eq!(whole[field], told[field], "{field}");
    }
    assert_rest_adds_up(&whole, &told, "imbalance", |rest| match rest {
        Value::Null => Vec::new(),
        rest => vec![rest.clone()],
    });
}

/// That a document lists the first entries, and has the others in sums.
fn assert_rest_adds_up(
    whole: &Value,
    told: &Value,
    entries: &str,
    sums: impl Fn(&Value) -> Vec<Value>,
) {
    let (all, listed) = (list(&whole[entries]), list(&told[entries]));
    let details = |of: &Value| {
        let n = of["details"][format!("{entries}_listed")].as_u64().unwrap() as usize;
        (n, sums(&of["details"][format!("{entries}_rest")]))
    };
    assert_eq!(details(whole), (all.len(), Vec::new()));
    let (n, rest) = details(told);
    assert_eq!(n, listed.len());
    let n_rest: u64 = rest.iter().map(|of| of["entries"].as_u64().unwrap()).sum();
    assert_eq!(n_rest as usize, all.len() - n);
    for field in [
        "calls",
        "instances",
        "incomplete",
        "resolved",
        "all_waits_caused_ns",
    ] {
        if !all[0][field].is_number() {
            continue;
        }
        let left: i64 = all[n..].iter().map(|of| of[field].as_i64().unwrap()).sum();
        let told: i64 = rest.iter().map(|of| of[field].as_i64().unwrap()).sum();
        assert_eq!(told, left, "{field} of {entries}");
    }
    for field in ["call_time_ns", "wait_ns"] {
        if !all[0][field].is_object() {
            continue;
        }
        let known = all[n..].iter().filter_map(|of| of[field]["total"].as_i64());
        let told = rest.iter().filter_map(|of| of[field].as_i64());
        assert_eq!(
            told.sum::<i64>(),
            known.sum::<i64>(),
            "{field} of {entries}"
        );
    }
    // The costliest are listed, in the same order.
    for (one, other) in listed.iter().zip(all) {
        for field in [
            "operation",
            "communicator",
            "root",
            "bytes_max",
            "instances",
        ] {
            assert_eq!(one[field], other[field]);
        }
    }
}

#[test]
fn screen_page_and_pictures_do_not_depend_on_what_the_document_leaves_out() {
    let report = |analysis: &Analysis| {
        let directory = tempfile::tempdir().unwrap();
        write_report(analysis, directory.path(), DRAWN).unwrap();
        let mut files: Vec<(String, Vec<u8>)> = std::fs::read_dir(directory.path())
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let name = entry.file_name().to_string_lossy().into_owned();
                (name, std::fs::read(entry.path()).unwrap())
            })
            .filter(|(name, _)| name != "analysis.json")
            .collect();
        files.sort_unstable();
        (to_text(analysis, None), files)
    };
    let (whole_text, whole_files) = report(&WHOLE);
    let (text, files) = report(&BOUNDED);
    assert_eq!(text, whole_text);
    assert!(files.len() > 500, "{}", files.len());
    for (own, whole) in files.iter().zip(&whole_files) {
        assert!(own == whole, "{}", own.0);
    }
    assert_eq!(files.len(), whole_files.len());
    // Without pictures the screen is the same.
    let screen = to_text(&analysis(Details::OfWhatMatters { n_drawn: 0 }), None);
    assert_eq!(screen, whole_text);
}
