//! Pictures of generated traces: what they say is what the analysis found.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use collbench_analyzer::{Analysis, Options, RunFiles, analyze};
use collbench_generate::generate;
use collbench_report::write_report;

use crate::built::assert_has;

/// Six ranks of which rank 4 is late in nine of ten allreduces, in the first half of the run only.
const LATE: &str = r#"
schema = 1
name = "late"
seed = 3
[[hosts]]
name = "node1"
ranks = 6
[latency]
base_ns = 4000
departure_ns = 900

[[program]]
repeat = 200
steps = [ { operation = "MPI_Allreduce", bytes = 8, work = [
  { normal_ns = [100000, 2000] },
  { constant_ns = 50000, ranks = [4], share = 0.9 },
] } ]
[[program]]
repeat = 200
steps = [ { operation = "MPI_Allreduce", bytes = 8, work = [ { normal_ns = [100000, 2000] } ] } ]
"#;

/// The analysis of a scenario, and the pictures of its report by name.
fn report(scenario: &str, folder: &Path) -> (Analysis, BTreeMap<String, String>) {
    let (trace, out) = (folder.join("trace"), folder.join("report"));
    let file = folder.join("scenario.toml");
    fs::write(&file, scenario).expect("the folder can be written");
    generate(&file, &trace, None, false).expect("the scenario is good");
    let files = RunFiles::open(&trace).expect("it is a trace");
    let analysis = analyze(&files, &Options::default(), &mut |_| {}).expect("it is a trace");
    write_report(&analysis, &out, 5).expect("the folder can be written");
    let entries = fs::read_dir(&out).expect("the report is there");
    let pictures = entries.filter_map(|entry| {
        let entry = entry.expect("an entry");
        let name = entry.file_name().into_string().expect("a name in UTF-8");
        let svg = fs::read_to_string(entry.path()).expect("text");
        name.ends_with(".svg").then_some((name, svg))
    });
    (analysis, pictures.collect())
}

/// Title of a picture.
fn title(svg: &str) -> &str {
    let rest = svg
        .split_once("<title id=\"collbench-title\">")
        .expect("a title")
        .1;
    rest.split_once("</title>").expect("the title ends").0
}

#[test]
fn the_order_maps_show_the_counts_of_the_analysis() {
    let folder = tempfile::tempdir().unwrap();
    let (analysis, pictures) = report(LATE, folder.path());
    let operation = &analysis.operations[0];
    for (kind, order) in [
        ("arrival", operation.arrival_order.as_ref().unwrap()),
        ("departure", operation.departure_order.as_ref().unwrap()),
    ] {
        let svg = &pictures[&format!("{kind}-order-1-MPI_Allreduce.svg")];
        for (rank, counts) in order.iter().enumerate() {
            for (position, n) in counts.iter().enumerate() {
                let start = format!("<title>rank {rank}, position {}: ", position + 1);
                let (_, rest) = svg.split_once(&start).expect(&start);
                let tooltip = rest.split_once("</title>").unwrap().0;
                assert!(
                    tooltip.ends_with(&format!("({n} of 400 instances)")),
                    "{tooltip}"
                );
            }
        }
    }
    let last: u64 = operation.last_arrivals.iter().sum();
    let share = 100.0 * operation.last_arrivals[4] as f64 / last as f64;
    let svg = &pictures["arrival-order-1-MPI_Allreduce.svg"];
    let found = title(svg);
    assert!(
        found.starts_with(&format!("Rank 4 arrives last in {share:.0} % of ")),
        "{found}"
    );
    let found = title(&pictures["departure-order-1-MPI_Allreduce.svg"]);
    assert!(found.starts_with("Rank 0 leaves first in "), "{found}");
}

#[test]
fn the_order_of_arrival_says_who_is_among_the_last_where_the_last_one_differs() {
    // 300 ranks leave one after another, and arrive in about that order.
    let of = |departure_ns: u32| {
        let scenario = format!(
            r#"
schema = 1
name = "one after another"
seed = 3
[[hosts]]
name = "node1"
ranks = 300
[latency]
base_ns = 4000
departure_ns = {departure_ns}
[[program]]
repeat = 30
steps = [ {{ operation = "MPI_Allreduce", bytes = 8, work = [{{ exponential_ns = 4000 }}] }} ]
"#
        );
        let folder = tempfile::tempdir().unwrap();
        let (analysis, pictures) = report(&scenario, folder.path());
        let found = title(&pictures["arrival-order-1-MPI_Allreduce.svg"]).to_owned();
        (analysis, found)
    };
    let (analysis, found) = of(100);
    let start = "The last to arrive differs; rank ";
    let rest = found.strip_prefix(start).expect(&found);
    let (rank, rest) = rest.split_once(" is among the last tenth in ").unwrap();
    let (percent, rest) = rest.split_once(" % of ").unwrap();
    assert_eq!(rest, "30 instances");
    let orders = analysis.operations[0].arrival_deciles.as_ref().unwrap();
    let n = orders[rank.parse::<usize>().unwrap()][9];
    assert!(n >= 15 && orders.iter().all(|of| of[9] <= n));
    assert_eq!(percent, format!("{:.0}", 100.0 * f64::from(n) / 30.0));
    // Who arrives in any order is not named.
    assert_eq!(
        of(0).1,
        "No rank stands out as the last to arrive in 30 instances"
    );
}

#[test]
fn waits_over_time_name_the_late_rank_and_when_it_is_late() {
    let folder = tempfile::tempdir().unwrap();
    let (analysis, pictures) = report(LATE, folder.path());
    let svg = &pictures["waits-over-time.svg"];
    let found = title(svg);
    assert_has(found, "rank 4 waits the least");
    assert_has(found, ", most of all until ");
    let waits: Vec<i64> = analysis
        .ranks
        .iter()
        .map(|rank| rank.wait_ns.unwrap())
        .collect();
    assert_eq!(waits.iter().min(), Some(&waits[4]));
}

#[test]
fn the_timemap_without_waits_gives_what_the_operation_itself_takes() {
    let folder = tempfile::tempdir().unwrap();
    let (_, pictures) = report(LATE, folder.path());
    let found = title(&pictures["timemap-1-MPI_Allreduce-without-waits.svg"]);
    // 4 us, and 0.9 us for each rank before it.
    assert_eq!(
        found,
        "Without the waits this MPI_Allreduce takes from 4.00 us (rank 0) to 8.50 us (rank 5) on \
         average"
    );
}

#[test]
fn where_no_position_can_be_told_the_order_map_says_so() {
    let folder = tempfile::tempdir().unwrap();
    // All come and leave at multiples of 10 ms, that is together.
    let ties = LATE
        .replace("seed = 3", "seed = 3\ngrid_ns = 10000000")
        .replace("departure_ns = 900", "");
    let (analysis, pictures) = report(&ties, folder.path());
    assert_eq!(analysis.operations[0].last_unresolved, 400);
    let svg = &pictures["arrival-order-1-MPI_Allreduce.svg"];
    assert_eq!(
        title(svg),
        "Who arrives last is not resolvable in any instance"
    );
    assert_has(svg, "unresolved: at most 100 %");
    // One row of six cells for all ranks, and the sample in the legend.
    assert_has(svg, "data-row=\"ranks 0-5\"");
    assert_eq!(svg.matches("class=\"blank\"").count(), 7);
}

#[test]
fn on_one_host_there_are_no_rows_for_times_across_hosts() {
    let folder = tempfile::tempdir().unwrap();
    let (_, pictures) = report(LATE, folder.path());
    let timemap = &pictures["timemap-1-MPI_Allreduce.svg"];
    assert_has(timemap, ">wait inside the host<");
    assert!(!timemap.contains("across hosts") && !timemap.contains("clock error"));
}

#[test]
fn figures_below_the_clock_error_are_called_not_resolved() {
    let folder = tempfile::tempdir().unwrap();
    // Exchanges take 5 ms, the waits some 100 us.
    let scenario = include_str!("../../../tests/scenarios/verdicts/clock-error.toml");
    let (analysis, pictures) = report(scenario, folder.path());
    let duration = analysis.operations[0].duration_ns.as_ref().unwrap();
    assert!(duration.uncertainty_ns.unwrap() > duration.median);
    for (name, words) in [
        (
            "timemap-1-MPI_Allreduce.svg",
            "How long ranks wait for other hosts in this MPI_Allreduce is not resolved",
        ),
        (
            "timemap-1-MPI_Allreduce-without-waits.svg",
            "How long this MPI_Allreduce takes without the waits is not resolved (clock error ±",
        ),
        (
            "serialization-1-MPI_Allreduce.svg",
            "How much later each further rank leaves is not resolved",
        ),
        (
            "waits-over-time.svg",
            "which rank waits the least is not resolved",
        ),
    ] {
        let svg = &pictures[name];
        assert!(title(svg).contains(words), "{name}: {}", title(svg));
    }
    assert!(title(&pictures["durations-1-MPI_Allreduce.svg"]).contains(", clock error ±"));
    let curve = &pictures["serialization-1-MPI_Allreduce.svg"];
    assert!(curve.contains("class=\"error\"") && !curve.contains("straight-line fit"));
}

#[test]
fn the_tree_is_second_on_the_page_and_departures_are_folded() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = LATE.replace(
        "{ operation = \"MPI_Allreduce\", bytes = 8, work",
        "{ operation = \"MPI_Allreduce\", bytes = 8, tree = \"binomial\", work",
    );
    report(&scenario, folder.path());
    let page = fs::read_to_string(folder.path().join("report/index.html")).unwrap();
    let group = page.split_once("<section class=\"group\"").unwrap().1;
    let headings: Vec<&str> = group
        .split("<h4 id=")
        .skip(1)
        .map(|rest| rest.split_once('>').unwrap().1.split_once('<').unwrap().0)
        .collect();
    assert!(headings[0].starts_with("Timemap"), "{headings:?}");
    assert_eq!(headings[1], "The most frequent tree");
    let folded = group.split("<summary><h4 id=").count() - 1;
    assert!(folded > 0);
    let at = headings
        .iter()
        .position(|name| *name == "Order of departure")
        .unwrap();
    assert!(at >= headings.len() - folded, "{headings:?}");
}

#[test]
fn the_timemap_of_a_nonblocking_operation_sets_computing_apart_from_waiting() {
    let scenario = LATE.replace(
        "{ operation = \"MPI_Allreduce\", bytes = 8, work = [\n",
        "{ complete = \"MPI_Wait\", work = [{ constant_ns = 7000 }] },\n  \
         { operation = \"MPI_Iallreduce\", bytes = 8, work = [\n",
    );
    let folder = tempfile::tempdir().expect("a folder");
    let (_, pictures) = report(&scenario, folder.path());
    let timemap = pictures
        .iter()
        .find(|(name, _)| name.starts_with("timemap-") && name.ends_with("MPI_Iallreduce.svg"));
    let (_, svg) = timemap.expect("a picture of it");
    for stage in ["initiation", "application continues", "rest of completion"] {
        assert!(svg.contains(stage), "{stage}");
    }
    assert!(
        !pictures
            .keys()
            .any(|name| name.contains("Iallreduce-without-waits"))
    );
}
