//! Waits, lags and orders, against what the program itself saw.
//!
//! `delays` reads the clock right before and after every collective. Its stamps enclose those of
//! the preloaded library, as far apart as the two readings take on this machine, which it measures (some tens of nanoseconds;
//! microseconds where a virtual machine has no fast clock), unless the process loses its core just
//! between the two: then they differ by milliseconds, in this one call. On a machine with fewer
//! cores than processes that happens now and then, and is nobody's error. Hence
//!
//! - single instances are compared one by one (each on a communicator of its own, so that the
//!   analysis tells them apart), and one in twenty figures may be off;
//! - for many instances the medians are compared, which a few such calls do not move;
//! - where other work keeps the machine so busy that even that is not enough, the run is repeated,
//!   up to five times: a wrong formula is wrong in each of them;
//! - what holds whatever the scheduler does is demanded of every run: the library's stamps lie
//!   within those of the program, nothing is counted twice or lost.

use std::collections::BTreeMap;

use collbench_tests::{Analysis, Job, Workspace, alone, have, program, run, skip_unless, sum};
use serde_json::Value;

const MPI: &[&str] = &["mpirun", "mpicc"];
const RANKS: usize = 4;

/// One collective over all ranks, as the program saw it. Times in ns.
struct Instance {
    enters: Vec<i64>,
    leaves: Vec<i64>,
}

/// By operation and number of the communicator, in order.
type Log = BTreeMap<(String, usize), Vec<Instance>>;

fn read_log(workspace: &Workspace) -> Log {
    let mut log = Log::new();
    for rank in 0..RANKS {
        let text = std::fs::read_to_string(workspace.join(format!("delays.{rank}.log"))).unwrap();
        let mut seen: BTreeMap<(String, usize), usize> = BTreeMap::new();
        for line in text.lines() {
            let words: Vec<_> = line.split(' ').collect();
            let key = (words[0].to_owned(), words[1].parse().unwrap());
            let instances = log.entry(key.clone()).or_default();
            let position = seen.entry(key).or_insert(0);
            if *position == instances.len() {
                assert_eq!(rank, 0, "rank {rank} made more calls than others");
                instances.push(Instance {
                    enters: vec![],
                    leaves: vec![],
                });
            }
            instances[*position].enters.push(words[2].parse().unwrap());
            instances[*position].leaves.push(words[3].parse().unwrap());
            *position += 1;
        }
    }
    assert!(
        log.values()
            .flatten()
            .all(|instance| instance.leaves.len() == RANKS)
    );
    log
}

/// Who waits for whom, for the operations and roots of `delays.c`.
enum Kind {
    AllToAll,
    OneToAll { root: usize },
    AllToOne { root: usize },
    Prefix,
}

fn kind(operation: &str) -> Kind {
    match operation {
        "MPI_Barrier" | "MPI_Allreduce" | "MPI_Alltoall" | "MPI_Allgather" => Kind::AllToAll,
        "MPI_Bcast" => Kind::OneToAll { root: 1 },
        "MPI_Scatter" => Kind::OneToAll { root: 3 },
        "MPI_Reduce" => Kind::AllToOne { root: 2 },
        "MPI_Gather" => Kind::AllToOne { root: 0 },
        "MPI_Scan" | "MPI_Exscan" => Kind::Prefix,
        other => panic!("delays.c does not call {other}"),
    }
}

impl Instance {
    fn last_enter(&self) -> i64 {
        *self.enters.iter().max().unwrap()
    }

    fn first_leave(&self) -> i64 {
        *self.leaves.iter().min().unwrap()
    }

    fn duration(&self) -> i64 {
        self.leaves.iter().max().unwrap() - self.enters.iter().min().unwrap()
    }

    fn call_times(&self) -> Vec<i64> {
        self.leaves
            .iter()
            .zip(&self.enters)
            .map(|(leave, enter)| leave - enter)
            .collect()
    }

    fn lags(&self) -> Vec<i64> {
        self.enters
            .iter()
            .map(|enter| self.last_enter() - enter)
            .collect()
    }

    fn waits(&self, kind: &Kind) -> Vec<i64> {
        (0..RANKS)
            .map(|i| {
                let own = self.enters[i];
                let release = match *kind {
                    Kind::AllToAll => self.last_enter(),
                    Kind::OneToAll { root } => self.enters[root],
                    Kind::AllToOne { root } if i == root => self.last_enter(),
                    Kind::AllToOne { .. } => own,
                    Kind::Prefix => *self.enters[..=i].iter().max().unwrap(),
                };
                (release.max(own).min(self.leaves[i]) - own).max(0)
            })
            .collect()
    }

    fn core(&self) -> i64 {
        self.first_leave() - self.last_enter()
    }

    fn departure_waits(&self) -> Vec<i64> {
        self.leaves
            .iter()
            .map(|leave| leave - self.first_leave())
            .collect()
    }
}

/// Ranks in order of these times, if no two neighbours are closer than any doubt.
fn clear_order(times: &[i64]) -> Option<Vec<usize>> {
    let mut order: Vec<_> = (0..times.len()).collect();
    order.sort_by_key(|&rank| times[rank]);
    order
        .windows(2)
        .all(|pair| times[pair[1]] - times[pair[0]] > 10_000)
        .then_some(order)
}

/// The agreement that is asked for: 2 us + 1 %, and twice `cost_ns`: what it takes on this machine to read the clocks and to be
/// recorded, part of which is between the stamps of the program and those of the library.
#[expect(
    clippy::cast_precision_loss,
    reason = "times of a test, far below 2^53 ns"
)]
fn agree(found: f64, expected: i64, cost_ns: i64) -> bool {
    let allowed = 4_000.0 + 2.0 * cost_ns as f64 + expected.abs() as f64 / 100.0;
    (found - expected as f64).abs() <= allowed
}

/// What an empty call takes, ns: the median of the rank where it is largest.
fn read_cost_ns(workspace: &Workspace) -> i64 {
    let cost_ns = |rank: usize| {
        let text = std::fs::read_to_string(workspace.join(format!("delays.{rank}.cost"))).unwrap();
        text.trim().parse().unwrap()
    };
    (0..RANKS).map(cost_ns).max().unwrap()
}

#[track_caller]
fn number(entry: &Value, place: &str) -> f64 {
    entry
        .pointer(place)
        .and_then(Value::as_f64)
        .unwrap_or_else(|| panic!("no number {place} in {entry:#}"))
}

struct Recorded {
    log: Log,
    cost_ns: i64,
    analysis: Analysis,
    _workspace: Workspace,
}

fn record_delays(mode: &str, argument: &str) -> Recorded {
    let workspace = Workspace::new();
    let here = workspace.path().to_str().unwrap();
    // Before all other work on this machine, where that is allowed.
    let first = ["chrt", "--rr", "1"];
    let allowed = run(&[&first[..], &["true"]].concat()).status == 0;
    let job = Job {
        around: if allowed { &first } else { &[] },
        // Of waits the program knows those for the ranks that operations name; and the less is done besides, the closer are the
        // stamps of the library to those of the program.
        options: &["--layers", "calls"],
        ..Job::new(RANKS, program("delays.c"), &[here, mode, argument])
    };
    let analysis = job.analyzed(workspace.path());
    Recorded {
        log: read_log(&workspace),
        cost_ns: read_cost_ns(&workspace),
        analysis,
        _workspace: workspace,
    }
}

impl Recorded {
    /// The entry of `operations` for an operation on the communicator with this number.
    #[track_caller]
    fn entry(&self, operation: &str, number: usize) -> &Value {
        let all: Vec<_> = (0..RANKS).collect();
        let ids: Vec<_> = self
            .analysis
            .array("/communicators")
            .iter()
            // MPI_COMM_SELF is one entry for all ranks, of size 1.
            .filter(|communicator| communicator["size"] == RANKS)
            .filter(|communicator| communicator["ranks"] == serde_json::json!(all))
            .map(|communicator| &communicator["id"])
            .collect();
        let entries: Vec<_> = self
            .analysis
            .array("/operations")
            .iter()
            .filter(|entry| {
                entry["operation"] == operation && entry["communicator"] == *ids[number]
            })
            .collect();
        assert_eq!(entries.len(), 1, "{operation} on {number} of {ids:?}");
        entries[0]
    }
}

/// Counts agreements, for the one in twenty that the scheduler may spoil.
struct Tally {
    cost_ns: i64,
    checked: BTreeMap<String, usize>,
    off: BTreeMap<String, Vec<String>>,
}

impl Tally {
    fn of(recorded: &Recorded) -> Self {
        Self {
            cost_ns: recorded.cost_ns,
            checked: BTreeMap::new(),
            off: BTreeMap::new(),
        }
    }

    fn check(&mut self, what: &str, place: &str, found: f64, expected: i64) {
        let text = format!("{place}: found {found}, the program saw {expected}");
        self.note(what, agree(found, expected, self.cost_ns), text);
    }

    fn note(&mut self, what: &str, agrees: bool, text: String) {
        *self.checked.entry(what.to_owned()).or_insert(0) += 1;
        if !agrees {
            self.off.entry(what.to_owned()).or_default().push(text);
        }
    }

    fn verdict(self) -> Result<(), String> {
        assert!(!self.checked.is_empty());
        for (what, off) in &self.off {
            let checked = self.checked[what];
            if off.len() * 20 > checked {
                return Err(format!("{what}: {} of {checked} off: {off:#?}", off.len()));
            }
        }
        Ok(())
    }
}

/// Runs the program with random delays until collbench and the program agree; not for ever.
#[track_caller]
fn agree_on_mixed_delays(compare: impl Fn(&Recorded) -> Tally) {
    for seed in 1..=5 {
        match compare(&record_delays("mixed", &seed.to_string())).verdict() {
            Ok(()) => return,
            Err(differences) => eprintln!("run {seed}: {differences}"),
        }
    }
    panic!("in none of five runs do collbench and the program agree");
}

#[test]
fn each_single_instance_has_the_waits_and_lags_that_the_program_saw() {
    let _alone = alone();
    skip_unless!(have(MPI));
    agree_on_mixed_delays(compare_single_instances);
}

fn compare_single_instances(recorded: &Recorded) -> Tally {
    let mut tally = Tally::of(recorded);
    for ((operation, communicator), instances) in &recorded.log {
        if *communicator == 0 {
            continue;
        }
        let [instance] = &instances[..] else {
            panic!("one instance on each duplicate")
        };
        let entry = recorded.entry(operation, *communicator);
        let place = format!("{operation} on {communicator}");
        assert_eq!(
            (&entry["instances"], &entry["calls"]),
            (&1.into(), &RANKS.into()),
            "{place}"
        );

        let mut each_call = |name: &str, expected: Vec<i64>| {
            assert_eq!(entry[name]["n"], RANKS, "{place} {name}");
            let total = expected.iter().sum::<i64>();
            #[expect(clippy::cast_precision_loss, reason = "four")]
            let mean = number(entry, &format!("/{name}/total")) / RANKS as f64;
            tally.check(&format!("{name} mean"), &place, mean, total / RANKS as i64);
            let (min, max) = (
                *expected.iter().min().unwrap(),
                *expected.iter().max().unwrap(),
            );
            tally.check(
                &format!("{name} min"),
                &place,
                number(entry, &format!("/{name}/min")),
                min,
            );
            tally.check(
                &format!("{name} max"),
                &place,
                number(entry, &format!("/{name}/max")),
                max,
            );
        };
        let kind = kind(operation);
        let waits = instance.waits(&kind);
        let total_wait = waits.iter().sum::<i64>();
        each_call("wait_ns", waits);
        each_call("arrival_lag_ns", instance.lags());
        each_call("call_time_ns", instance.call_times());
        if let Kind::AllToAll = kind {
            each_call("departure_wait_ns", instance.departure_waits());
            tally.check(
                "core",
                &place,
                number(entry, "/core_ns/median"),
                instance.core(),
            );
        } else {
            assert!(entry["core_ns"].is_null(), "{place}");
            assert!(entry["departure_wait_ns"].is_null(), "{place}");
        }
        tally.check(
            "duration",
            &place,
            number(entry, "/duration_ns/max"),
            instance.duration(),
        );

        let state = match (operation.as_str(), &kind) {
            ("MPI_Barrier", _) => "Wait at Barrier",
            (_, Kind::AllToAll) => "Wait at N x N",
            (_, Kind::OneToAll { .. }) => "Late Broadcast",
            (_, Kind::AllToOne { .. }) => "Early Reduce",
            (_, Kind::Prefix) => "Early Scan",
        };
        let found = number(entry, &format!("/wait_states/{state}"));
        tally.check("wait state", &place, found, total_wait);
    }
    assert_eq!(
        tally.checked["duration"],
        10 * 12,
        "10 operations on 12 communicators"
    );
    tally
}

#[test]
fn many_instances_have_the_median_waits_and_lags_that_the_program_saw() {
    let _alone = alone();
    skip_unless!(have(MPI));
    agree_on_mixed_delays(compare_medians);
}

fn compare_medians(recorded: &Recorded) -> Tally {
    let mut tally = Tally::of(recorded);
    for ((operation, communicator), instances) in &recorded.log {
        if *communicator != 0 {
            continue;
        }
        let entry = recorded.entry(operation, 0);
        assert_eq!(entry["instances"], instances.len(), "{operation}");
        assert_eq!(entry["calls"], instances.len() * RANKS, "{operation}");
        let mut check = |name: &str, expected: Vec<i64>| {
            let mut sorted = expected;
            sorted.sort_unstable();
            assert_eq!(entry[name]["n"], sorted.len(), "{operation} {name}");
            // Of an even number there are two medians; anything from one to the other will do.
            let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
            let found = number(entry, &format!("/{name}/median"));
            #[expect(clippy::cast_precision_loss, reason = "far below 2^53 ns")]
            let between = low as f64 <= found && found <= high as f64;
            tally.note(
                &format!("{operation} {name}"),
                between
                    || agree(found, low, recorded.cost_ns)
                    || agree(found, high, recorded.cost_ns),
                format!("median {found}, the program saw {low} to {high}"),
            );
        };
        let kind = kind(operation);
        check(
            "wait_ns",
            instances.iter().flat_map(|i| i.waits(&kind)).collect(),
        );
        check(
            "arrival_lag_ns",
            instances.iter().flat_map(Instance::lags).collect(),
        );
        check(
            "call_time_ns",
            instances.iter().flat_map(Instance::call_times).collect(),
        );
        check(
            "duration_ns",
            instances.iter().map(Instance::duration).collect(),
        );
        if let Kind::AllToAll = kind {
            check("core_ns", instances.iter().map(Instance::core).collect());
            let departures = instances
                .iter()
                .flat_map(Instance::departure_waits)
                .collect();
            check("departure_wait_ns", departures);
        }

        // The library's stamps lie within the program's: no exception. (100 ns for a call: two
        // scales of the same counter, each rounded.)
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53 ns")]
        let within = |name: &str, seen: i64, n: usize| {
            let found = number(entry, &format!("/{name}/total"));
            let most = seen as f64 * 1.000_01 + 100.0 * n as f64;
            assert!(
                found <= most,
                "{operation} {name}: {found}, more than the program's {seen}"
            );
        };
        let calls = instances.iter().flat_map(Instance::call_times);
        within("call_time_ns", calls.clone().sum(), calls.count());
        within(
            "duration_ns",
            instances.iter().map(Instance::duration).sum(),
            instances.len(),
        );
    }
    assert_eq!(tally.checked.len(), 10 * 4 + 4 * 2);
    tally
}

#[test]
fn arrival_and_departure_orders_are_those_that_the_program_saw() {
    let _alone = alone();
    skip_unless!(have(MPI));
    agree_on_mixed_delays(compare_orders);
}

fn compare_orders(recorded: &Recorded) -> Tally {
    let mut orders = Tally::of(recorded);
    for ((operation, communicator), instances) in &recorded.log {
        let entry = recorded.entry(operation, *communicator);
        for (counts, unresolved) in [
            ("last_arrivals", "last_unresolved"),
            ("first_departures", "first_unresolved"),
        ] {
            let resolved: u64 = entry[counts]
                .as_array()
                .unwrap()
                .iter()
                .map(|count| count.as_u64().unwrap())
                .sum();
            let unresolved = entry[unresolved].as_u64().unwrap();
            assert_eq!(
                resolved + unresolved,
                instances.len() as u64,
                "{operation}: {counts}"
            );
        }
        if *communicator == 0 {
            continue;
        }
        // One instance: the matrix [rank][position] is its order, with one 1 in each row.
        let position_of = |matrix: &Value, rank: usize| -> Option<usize> {
            let row = matrix[rank]
                .as_array()
                .unwrap_or_else(|| panic!("no rows in {matrix}"));
            assert_eq!(row.len(), RANKS);
            row.iter().position(|count| *count == 1)
        };
        let instance = &instances[0];
        let text = format!("{operation} on {communicator}: {entry:#}");
        if let Some(order) = clear_order(&instance.enters) {
            for (position, &rank) in order.iter().enumerate() {
                let found = position_of(&entry["arrival_order"], rank);
                orders.note("arrival order", found == Some(position), text.clone());
            }
            let last = order[RANKS - 1];
            orders.note(
                "last arrival",
                entry["last_arrivals"][last] == 1,
                text.clone(),
            );
        }
        if let Some(order) = clear_order(&instance.leaves) {
            for (position, &rank) in order.iter().enumerate() {
                let found = position_of(&entry["departure_order"], rank);
                orders.note("departure order", found == Some(position), text.clone());
            }
            orders.note(
                "first departure",
                entry["first_departures"][order[0]] == 1,
                text,
            );
        }
    }
    // Departures are often close together, but not always.
    for (what, enough) in [("last arrival", 60), ("first departure", 5)] {
        let clear = orders.checked.get(what).copied().unwrap_or(0);
        orders.note(
            "clear orders",
            clear >= enough,
            format!("{what}: only {clear}"),
        );
    }
    orders
}

#[test]
fn a_rank_that_is_5_ms_late_in_200_allreduces_is_last_and_is_the_culprit() {
    let _alone = alone();
    skip_unless!(have(MPI));
    const LATE: usize = 2;
    // The others have 5 ms to arrive. Where the machine is so busy that they do not, by their own
    // log, it was not the experiment that is wanted; then again.
    for _ in 0..5 {
        let recorded = record_delays("late", &LATE.to_string());
        let instances = &recorded.log[&("MPI_Allreduce".to_owned(), 0)];
        assert_eq!(instances.len(), 200);
        let last = instances
            .iter()
            .filter(|i| i.enters[LATE] == i.last_enter())
            .count();
        let entry = recorded.entry("MPI_Allreduce", 0);
        let found = entry["last_arrivals"][LATE].as_u64().unwrap();
        let differ = (found as usize).abs_diff(last);
        assert!(
            differ <= 2,
            "last {found} times, by its own log {last} times"
        );
        if last < 198 {
            eprintln!("a busy machine: rank {LATE} was last only {last} times");
            continue;
        }
        assert!(found >= 196, "98 % of 200: {found}");

        // 1 % above what is in the log is within the agreement; each instance has about 3 x 5 ms.
        let waits = sum(recorded.analysis.array("/ranks"), "wait_ns");
        assert!(waits > 200 * 3 * 4_000_000, "{waits} ns");
        let verdicts = recorded.analysis.array("/imbalance");
        let verdict = verdicts
            .iter()
            .find(|verdict| verdict["operation"] == "MPI_Allreduce")
            .unwrap_or_else(|| panic!("no verdict on the allreduces: {verdicts:#?}"));
        assert_eq!(verdict["culprit"]["kind"], "rank", "{verdict:#}");
        assert_eq!(verdict["culprit"]["id"], LATE, "{verdict:#}");
        assert!(number(verdict, "/share") >= 0.98, "{verdict:#}");
        return;
    }
    panic!("this machine is too busy: in five runs ranks were later than 5 ms by themselves");
}
