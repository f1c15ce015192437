//! Clocks of several hosts, brought to one time by recorded exchanges, against known truth.

use std::path::Path;

use collbench_analyzer::steps::{Clocks, Run};
use collbench_analyzer::{AlignmentMethod, Analysis, Options, RunFiles, analyze};
use collbench_clocks::timestamp::Timestamp;
use collbench_formats::write::file_header;
use collbench_formats::{Layer, RankTrace};

/// Barriers that everybody leaves at the same instant, on four hosts with clocks of their own.
fn scenario(exchanges: &str, wander: &str) -> String {
    format!(
        r#"
schema = 1
grid_ns = 10
placement = "round-robin"
{exchanges}
[[hosts]]
name = "a"
ranks = 2
ghz = 2.5
[[hosts]]
name = "b"
ranks = 2
ghz = 2.1
offset_ns = -3000000000
drift_ppm = 37.5
[[hosts]]
name = "c"
ranks = 1
clock = "raw"
offset_ns = 77000
drift_ppm = -12
{wander}
[[hosts]]
name = "d"
ranks = 1
clock = "monotonic"
offset_ns = 1000000

[latency]
base_ns = 5000

[[program]]
operation = "MPI_Barrier"
repeat = 1000
work = [{{ exponential_ns = 1000000 }}]
"#
    )
}

/// By rank the times of leaving each call, on the time of the analysis.
fn leaves(directory: &Path) -> (Clocks, Vec<Vec<i64>>) {
    let files = RunFiles::open(directory).unwrap();
    let run = Run::read(&files).unwrap();
    let clocks = Clocks::fit(&run);
    let of_rank = |process: usize| {
        let records = run.processes[process]
            .trace
            .chunks
            .iter()
            .flat_map(|c| c.records.iter());
        let leave = |ticks| {
            clocks.processes[process]
                .global(Timestamp::from_ticks(ticks))
                .ns()
        };
        records.map(|record| leave(record.leave.get())).collect()
    };
    let leaves = (0..run.processes.len()).map(of_rank).collect();
    (clocks, leaves)
}

/// The largest difference between stamps of one instant.
fn worst_error(leaves: &[Vec<i64>]) -> i64 {
    let of_call = |call: usize| {
        let times = leaves.iter().map(|of_rank| of_rank[call]);
        times.clone().max().unwrap() - times.min().unwrap()
    };
    // Rank 0's MPI_Init to its MPI_Finalize; everybody leaves these together, too.
    (0..leaves[0].len()).map(of_call).max().unwrap()
}

fn generated(exchanges: &str) -> tempfile::TempDir {
    generated_with(exchanges, "")
}

fn generated_with(exchanges: &str, wander: &str) -> tempfile::TempDir {
    generated_from(&scenario(exchanges, wander))
}

fn generated_from(scenario: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    crate::seeds::trace_in(directory.path(), scenario, None);
    directory
}

#[test]
fn symmetric_exchanges_align_the_clocks_to_their_reading() {
    let directory = generated("[exchanges]\none_way_ns = 1000");
    let (clocks, leaves) = leaves(&directory.path().join("trace"));
    assert_eq!(clocks.n_groups(), 1);
    assert_eq!(leaves[0].len(), 1002);
    let error = worst_error(&leaves);
    assert!(error <= 5, "{error} ns");
    let b = clocks.hosts[1].alignment.unwrap();
    // The rate of a time stamp counter is itself known to 0.04 ppm only.
    assert!((b.drift_ppm.unwrap() - 37.5).abs() < 0.05);
    assert!(
        b.offset_ns.abs_diff(-3_000_000_000 + 37) <= 5,
        "{}",
        b.offset_ns
    );
}

#[test]
fn asymmetry_and_queueing_stay_within_the_bound_and_the_uncertainty_tells_their_size() {
    let directory = generated("[exchanges]\nasymmetry_ns = 1000\njitter_ns = 3000");
    let (clocks, leaves) = leaves(&directory.path().join("trace"));
    let error = worst_error(&leaves);
    let (mut bound, mut uncertainty) = (0, 0);
    for own in clocks.hosts.iter().filter_map(|host| host.alignment) {
        bound = bound.max(own.bound_ns);
        uncertainty = uncertainty.max(own.uncertainty_ns);
    }
    // Two hosts may err in opposite directions.
    assert!(error <= 2 * bound, "{error} ns, bound {bound} ns");
    assert!(error >= 400, "the asymmetry cannot be seen: {error} ns");
    assert!((500..20_000).contains(&uncertainty), "{uncertainty} ns");
}

#[test]
fn bursts_in_between_follow_a_bent_clock() {
    let directory = generated("[exchanges]\none_way_ns = 1000\nn = 10\nevery_ns = 50000000");
    let (clocks, leaves) = leaves(&directory.path().join("trace"));
    assert!(clocks.hosts[1].alignment.unwrap().n_bursts > 10);
    let error = worst_error(&leaves);
    assert!(error <= 8, "{error} ns");
}

#[test]
fn without_exchanges_every_host_has_a_time_of_its_own() {
    let directory = generated("");
    let (clocks, _) = leaves(&directory.path().join("trace"));
    assert_eq!(clocks.n_groups(), 4);
    assert_eq!(clocks.uncertainty_ns(0, 1), None);
    assert_eq!(clocks.uncertainty_ns(2, 2), Some(0));
}

fn analysis(directory: &tempfile::TempDir, method: AlignmentMethod) -> Analysis {
    let trace = directory.path().join("trace");
    let files = RunFiles::open(&trace).unwrap();
    let options = Options {
        alignment: method,
        ..Options::default()
    };
    analyze(&files, &options, &mut |_| {}).unwrap()
}

fn has_remark(analysis: &Analysis, code: &str) -> bool {
    analysis.remarks.iter().any(|remark| remark.code() == code)
}

#[test]
fn of_a_run_without_an_end_the_collectives_tell_the_drift() {
    let directory = generated("[exchanges]\none_way_ns = 1000\nat_end = false");
    let smooth = analysis(&directory, AlignmentMethod::Smooth);
    assert!(
        has_remark(&smooth, "no_offset_at_end"),
        "{:?}",
        smooth.remarks
    );
    assert!(!has_remark(&smooth, "drift_not_known"));
    let drift_ppm = smooth.clock.hosts[1].drift_ppm.unwrap();
    assert!((drift_ppm - 37.5).abs() < 1.0, "{drift_ppm} ppm");
    let lines = analysis(&directory, AlignmentMethod::Piecewise);
    assert!(has_remark(&lines, "drift_not_known"));
    let (smooth_ns, lines_ns) = (uncertainty_ns(&smooth), uncertainty_ns(&lines));
    assert!(10 * smooth_ns < lines_ns, "{smooth_ns} ns, {lines_ns} ns");
    let violations = &smooth.clock.violations;
    assert_eq!(violations.after, Some(0));
    // Of four hosts three leave before the clock of another says that it came.
    assert!(violations.before.unwrap() >= 1000, "{violations:?}");
    assert!(violations.checked.unwrap() >= 4000, "{violations:?}");
    assert!(lines.clock.violations.after.unwrap() > 0);
}

/// The greatest against the reference.
fn uncertainty_ns(analysis: &Analysis) -> i64 {
    let hosts = analysis.clock.hosts.iter();
    hosts.filter_map(|host| host.uncertainty_ns).max().unwrap()
}

#[test]
fn a_clock_whose_rate_steps_is_followed_within_its_uncertainty() {
    // 20 ppm for a second are 20 us.
    let steps = "steps = [{ at_ns = 500000000, ppm = 20 }, { at_ns = 1500000000, ppm = -20 }]";
    let wander = format!("wander = {{ amplitude_ppm = 1, period_ns = 900000000, {steps} }}");
    let exchanges = "[exchanges]\none_way_ns = 1000\njitter_ns = 50\nn = 20\nevery_ns = 50000000";
    let directory = generated_with(exchanges, &wander);
    let (clocks, leaves) = leaves(&directory.path().join("trace"));
    let error = worst_error(&leaves);
    let stated = clocks.uncertainty_ns(0, 2).unwrap();
    assert!(error <= stated, "{error} ns, {stated} ns stated");
    assert!(stated < 2_000, "{stated} ns");
    let two_point = analysis(&directory, AlignmentMethod::TwoPoint);
    assert!(two_point.clock.violations.after.unwrap() > 0);
    assert_eq!(
        two_point.clock.method,
        "offsets at start and end, interpolated"
    );
    let smooth = analysis(&directory, AlignmentMethod::Smooth);
    assert_eq!(smooth.clock.violations.after, Some(0));
    assert!(has_remark(&smooth, "clocks_wander"), "{:?}", smooth.remarks);
}

/// Three hosts whose clocks drift and wander, measured at both ends only; allreduces message by
/// message, and calls of which nothing is certain, which everybody leaves at the same instant.
const MARKED: &str = r#"
schema = 1
grid_ns = 10
exchanges = { one_way_ns = 20000, jitter_ns = 3000 }
network = { across_hosts_ns = 20000, jitter = { exponential_ns = 3000 } }
hosts = [
  { name = "a", ranks = 2, clock = "raw" },
  { name = "b", ranks = 2, clock = "raw", offset_ns = -3000000000, drift_ppm = 37.5, wander = { amplitude_ppm = 1, period_ns = 23000000000 } },
  { name = "c", ranks = 2, clock = "raw", offset_ns = 77000, drift_ppm = -12, wander = { amplitude_ppm = 2, period_ns = 17000000000 } },
]

[[program]]
repeat = 1500
steps = [
  { operation = "MPI_Allreduce", bytes = 8, tree = "binomial", work = [{ constant_ns = 40000000 }, { exponential_ns = 100000 }] },
  { operation = "MPI_Allgatherv", bytes = 8 },
]
"#;

/// Makes all rank files say that messages were not recorded.
fn hide_messages(trace: &Path) {
    for entry in std::fs::read_dir(trace).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_none_or(|extension| extension != "trace")
        {
            continue;
        }
        let mut bytes = std::fs::read(&path).unwrap();
        let mut identity = RankTrace::parse(&bytes).unwrap().identity;
        let before = file_header(&identity, None).unwrap().len();
        let mut layers = identity.layers.iter_mut();
        layers
            .find(|layer| layer.name == Layer::Messages.name())
            .unwrap()
            .on = false;
        let header = file_header(&identity, None).unwrap();
        assert_eq!(header.len(), before);
        bytes[..before].copy_from_slice(&header);
        std::fs::write(&path, bytes).unwrap();
    }
}

/// By how much stamps of one instant are apart at the most, ns.
fn worst_of_marks(analysis: &Analysis) -> i64 {
    let mut operations = analysis.operations.iter();
    let marks = operations.find(|operation| operation.operation == "MPI_Allgatherv");
    marks.unwrap().departure_wait_ns.as_ref().unwrap().max
}

#[test]
fn messages_follow_clocks_that_wander_more_closely_than_collectives_do() {
    let directory = generated_from(MARKED);
    let by_messages = analysis(&directory, AlignmentMethod::Smooth);
    hide_messages(&directory.path().join("trace"));
    let by_collectives = analysis(&directory, AlignmentMethod::Smooth);
    assert_eq!(by_collectives.trace.messages, None);
    let by_lines = analysis(&directory, AlignmentMethod::TwoPoint);
    let [messages, collectives, lines] =
        [&by_messages, &by_collectives, &by_lines].map(worst_of_marks);
    let found = format!("{messages} ns, by collectives {collectives} ns, by lines {lines} ns");
    assert!(messages < collectives && 4 * messages < lines, "{found}");
    let errors = by_messages.clock.errors.as_ref().unwrap();
    let stated = errors.pairs.iter().flat_map(|pair| &pair.uncertainty_ns);
    let stated = *stated.max().unwrap();
    assert!(
        (messages..10_000).contains(&stated),
        "{found}, {stated} ns stated"
    );
    let ends = by_messages.trace.message_ends.as_ref().unwrap();
    assert_eq!(ends.received_before_sent, 0);
    assert!(ends.paired >= 1500 * 10, "{}", ends.paired);
    assert_eq!(by_messages.clock.violations.after, Some(0));
}

#[test]
fn the_errors_of_all_pairs_are_told_over_the_run() {
    let directory = generated("[exchanges]\none_way_ns = 1000\njitter_ns = 100");
    let smooth = analysis(&directory, AlignmentMethod::Smooth);
    let errors = smooth.clock.errors.unwrap();
    assert_eq!(errors.pairs.len(), 6);
    assert_eq!(errors.at_ns[0], 0);
    for pair in &errors.pairs {
        assert_eq!(pair.uncertainty_ns.len(), errors.at_ns.len());
        assert_eq!(pair.bound_ns.len(), errors.at_ns.len());
        // Half a round trip to the reference, or one of each.
        assert!(
            pair.bound_ns
                .iter()
                .all(|&bound| (1_000..20_000).contains(&bound))
        );
        assert!(
            pair.uncertainty_ns
                .iter()
                .all(|&own| (50..20_000).contains(&own))
        );
    }
}

#[test]
fn one_host_has_no_errors_and_breaks_no_causality() {
    let scenario = scenario("", "");
    let (before, rest) = scenario.split_once("[[hosts]]").unwrap();
    let (_, program) = rest.split_once("[latency]").unwrap();
    let one = format!("{before}[[hosts]]\nname = \"a\"\nranks = 4\n[latency]{program}");
    let analysis = analysis(&generated_from(&one), AlignmentMethod::Smooth);
    assert!(analysis.clock.errors.is_none());
    let violations = &analysis.clock.violations;
    let counts = [violations.checked, violations.before, violations.after];
    assert_eq!(counts, [Some(1000), Some(0), Some(0)]);
}

/// The only operation of a run in which a rank of host b comes `late_ns` after all others, and the
/// uncertainty of that host.
fn with_a_late_rank(late_ns: u64) -> (u64, u64, u64, i64) {
    let late =
        format!("work = [{{ constant_ns = 1000000 }}, {{ constant_ns = {late_ns}, ranks = [1] }}]");
    let scenario = scenario("[exchanges]\none_way_ns = 100000", "")
        .replace("work = [{ exponential_ns = 1000000 }]", &late);
    let analysis = analysis(&generated_from(&scenario), AlignmentMethod::Smooth);
    let barrier = &analysis.operations[0];
    let resolved: u64 = barrier.last_arrivals.iter().sum();
    let uncertainty_ns = analysis.clock.hosts[1].uncertainty_ns.unwrap();
    let n_likely = barrier.last_likely;
    (barrier.instances, resolved, n_likely, uncertainty_ns)
}

#[test]
fn who_comes_last_is_resolved_or_likely_or_not_resolvable_by_the_error_of_the_clocks() {
    let (n, resolved, likely, uncertainty_ns) = with_a_late_rank(8_000);
    assert!(
        (6_000..14_000).contains(&uncertainty_ns),
        "{uncertainty_ns} ns"
    );
    assert_eq!((n, resolved, likely), (1000, 0, 1000));
    let (n, resolved, likely, _) = with_a_late_rank(60_000);
    assert_eq!((n, resolved, likely), (1000, 1000, 0));
    let (n, resolved, likely, _) = with_a_late_rank(1_000);
    assert_eq!((n, resolved, likely), (1000, 0, 0));
}

#[test]
fn a_missing_file_of_the_reference_leaves_hosts_apart_and_says_so() {
    let file_of = |directory: &tempfile::TempDir, rank: &str| {
        let files = std::fs::read_dir(directory.path().join("trace")).unwrap();
        let mut files = files.map(|file| file.unwrap().path());
        let is_own = |path: &std::path::PathBuf| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            name.starts_with(rank) && name.ends_with(".trace")
        };
        files.find(is_own).unwrap()
    };
    // Exchanges are in the files of both, and stamps of one of them mean nothing without the other.
    let directory = generated("[exchanges]\none_way_ns = 1000");
    std::fs::remove_file(file_of(&directory, "rank-0.")).unwrap();
    let found = analysis(&directory, AlignmentMethod::Smooth);
    assert!(
        has_remark(&found, "clocks_not_aligned"),
        "{:?}",
        found.remarks
    );
    assert_eq!(found.clock.violations.checked, None);
    // Of any other host only that one is missing.
    let directory = generated("[exchanges]\none_way_ns = 1000");
    std::fs::remove_file(file_of(&directory, "rank-3.")).unwrap();
    let found = analysis(&directory, AlignmentMethod::Smooth);
    assert!(
        !has_remark(&found, "clocks_not_aligned"),
        "{:?}",
        found.remarks
    );
    assert!(uncertainty_ns(&found) < 1_000);
}
