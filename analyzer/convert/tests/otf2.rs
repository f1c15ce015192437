//! Traces exported as archives of OTF2, read again by `otf2-print`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use collbench_analyzer::Analysis;
use collbench_convert::{ExportError, Failure, Format, How, UsageError, export};
use collbench_otf2::Library;

/// Whether the library and `otf2-print` are here; else it is said that the test is skipped, which is a failure in CI.
fn has_otf2() -> bool {
    let library = Library::open();
    let print = Command::new("otf2-print").arg("--version").output();
    if library.is_ok() && print.is_ok() {
        return true;
    }
    let missing = format!("{:?} {:?}", library.err(), print.err());
    assert!(std::env::var_os("CI").is_none(), "missing in CI: {missing}");
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {missing}");
    false
}

/// A trace, and a place for an archive of it.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    /// With the trace of a scenario.
    fn with(scenario: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("scenario.toml");
        fs::write(&file, scenario).unwrap();
        collbench_generate::generate(&file, &folder.path().join("trace"), None, false).unwrap();
        Self { folder }
    }

    /// With the trace of a scenario of the analyzer's tests.
    fn of(name: &str) -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../tests/scenarios")
            .join(name);
        Self::with(&fs::read_to_string(file).unwrap())
    }

    fn trace(&self) -> PathBuf {
        self.folder.path().join("trace")
    }

    fn archive(&self) -> PathBuf {
        self.folder.path().join("archive")
    }

    fn how(&self) -> How {
        How {
            format: Format::Otf2,
            output: self.archive(),
            table: None,
            messages: false,
            force: false,
            max_bytes: u64::MAX,
            options: collbench_analyzer::Options::default(),
        }
    }

    fn try_export(&self, how: &How) -> Result<Analysis, Failure> {
        let exported = export(&self.trace(), how, &mut |_| {})?;
        Ok(exported.analysis)
    }

    fn export(&self) -> Analysis {
        self.try_export(&self.how()).unwrap()
    }

    /// What `otf2-print` shows with these options; it must accept the archive without a warning.
    fn print(&self, options: &[&str]) -> String {
        let output = Command::new("otf2-print")
            .arg("-Werror")
            .args(options)
            .arg(self.archive().join("traces.otf2"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The events, each location in the order of its times.
    fn events(&self) -> Vec<Event> {
        let shown = self.print(&[]);
        let mut events: Vec<Event> = Vec::new();
        for line in shown.lines() {
            if let Some((_, attributes)) = line.split_once("ADDITIONAL ATTRIBUTES: ") {
                let event = events.last_mut().unwrap();
                event.attributes = attributes.to_owned();
                continue;
            }
            let mut words = line.split_whitespace();
            let mut next = || words.next().unwrap_or_default();
            let (kind, location, time) = (next().to_owned(), next().parse(), next().parse());
            if let (Ok(location), Ok(time)) = (location, time) {
                events.push(Event {
                    kind,
                    location,
                    time,
                    rest: words.collect::<Vec<_>>().join(" "),
                    attributes: String::new(),
                });
            } else if let Some(event) = events.last_mut() {
                // A name goes on.
                event.rest.push_str(line);
            }
        }
        check_nesting(&events);
        events
    }

    /// By location its rank and its thread.
    fn locations(&self) -> Vec<(u32, u32)> {
        let shown = self.print(&["-G"]);
        let number = |line: &str, before: &str| {
            let (_, behind) = line.split_once(before).unwrap();
            behind.split('"').next().unwrap().parse().unwrap()
        };
        let lines = shown.lines().filter(|line| line.starts_with("LOCATION "));
        lines
            .map(|line| (number(line, "Group: \"rank "), number(line, "\"thread ")))
            .collect()
    }
}

/// One event, as `otf2-print` shows it.
#[derive(Debug)]
struct Event {
    kind: String,
    location: usize,
    time: u64,
    rest: String,
    attributes: String,
}

impl Event {
    /// What stands between two texts.
    fn between(&self, before: &str, behind: &str) -> &str {
        let (_, rest) = self.rest.split_once(before).unwrap();
        rest.split(behind).next().unwrap()
    }

    fn region(&self) -> &str {
        self.between("Region: \"", "\"")
    }

    /// A number behind a word.
    fn number(&self, word: &str) -> u64 {
        self.between(&format!("{word}: "), ",").parse().unwrap()
    }

    /// The value of a metric.
    fn value(&self) -> u64 {
        self.between("UINT64; ", ")").parse().unwrap()
    }
}

/// On each location times do not decrease, what is entered is left, and operations are between enter and leave.
fn check_nesting(events: &[Event]) {
    let mut inside: BTreeMap<usize, (u64, Vec<&str>)> = BTreeMap::new();
    for event in events {
        let (last, regions) = inside.entry(event.location).or_default();
        assert!(*last <= event.time, "{event:?} after {last}");
        *last = event.time;
        match event.kind.as_str() {
            "ENTER" => regions.push(event.region()),
            "LEAVE" => assert_eq!(regions.pop(), Some(event.region()), "{event:?}"),
            // Of a nonblocking operation also between its calls.
            kind if kind.starts_with("RMA_") => {}
            _ => assert!(!regions.is_empty(), "{event:?}"),
        }
    }
    assert!(inside.values().all(|(_, regions)| regions.is_empty()));
}

/// Events of a kind, by rank and what is counted.
fn count<'e>(
    events: &'e [Event],
    locations: &[(u32, u32)],
    kind: &str,
    name: impl Fn(&'e Event) -> &'e str,
) -> BTreeMap<(u32, &'e str), u64> {
    let mut counts = BTreeMap::new();
    for event in events.iter().filter(|event| event.kind == kind) {
        let (rank, _) = locations[event.location];
        *counts.entry((rank, name(event))).or_default() += 1;
    }
    counts
}

/// Two hosts, communicators of all sizes, and names that need care.
const TWO_HOSTS: &str = r#"
schema = 1
name = "two \"hosts\""
chunk_calls = 100
[[hosts]]
name = "alpha"
ranks = 3
[[hosts]]
name = "beta"
ranks = 3
ghz = 2.1
offset_ns = -40000
drift_ppm = 1.5
[exchanges]
[latency]
base_ns = 5000
across_hosts_ns = 20000
[[program]]
operation = "MPI_Comm_split"
split = { every = 2 }
makes = "a \"name\"\nof two lines"
[[program]]
repeat = 50
steps = [
  { operation = "MPI_Allreduce", bytes = 8, work = [{ normal_ns = [100000, 20000] }], called_at = { module = "/opt/solver", address = 8000 } },
  { operation = "MPI_Reduce", on = "a \"name\"\nof two lines", bytes = 4096, root = 1, work = [{ exponential_ns = 9000 }] },
  { operation = "MPI_Bcast", bytes = 100, root = 4, work = [{ exponential_ns = 9000 }] },
  { operation = "MPI_Barrier", on = "self" },
  { operation = "MPI_Iallreduce", bytes = 16, work = [{ exponential_ns = 9000 }] },
  { complete = "MPI_Wait", work = [{ exponential_ns = 9000 }] },
]
"#;

#[test]
fn calls_waits_and_bytes_are_those_of_the_analysis() {
    if !has_otf2() {
        return;
    }
    let place = Place::with(TWO_HOSTS);
    let analysis = place.export();
    let (events, locations) = (place.events(), place.locations());
    let entered = count(&events, &locations, "ENTER", Event::region);
    let is_wait = |(_, region): &&(u32, &str)| *region == "MPI_Wait";
    assert_eq!(entered.keys().filter(is_wait).count(), 6);
    for rank in &analysis.ranks {
        for (operation, &calls) in &rank.calls_by_operation {
            let found = entered.get(&(rank.rank, &**operation));
            assert_eq!(found, Some(&calls), "{operation:?} of {}", rank.rank);
        }
        let of_rank = |event: &&Event| locations[event.location].0 == rank.rank;
        let waits = events.iter().filter(of_rank);
        let waits = waits.filter(|event| event.kind == "METRIC");
        let total: u64 = waits.map(Event::value).sum();
        assert_eq!(Some(total as i64), rank.wait_ns, "{}", rank.rank);
        let ends = events.iter().filter(of_rank).filter(|event| {
            ["MPI_COLLECTIVE_END", "NON_BLOCKING_COLLECTIVE_COMPLETE"]
                .contains(&event.kind.as_str())
        });
        assert_eq!(ends.count() as u64, rank.calls, "{}", rank.rank);
    }
    let payload = |event: &Event| match event.number("Sent") {
        0 => event.number("Received"),
        sent => sent,
    };
    let ends = events.iter().filter(|event| event.rest.contains("Sent: "));
    assert_eq!(ends.map(payload).sum::<u64>(), analysis.trace.bytes);
}

#[test]
fn roots_and_communicators_are_those_of_the_program() {
    if !has_otf2() {
        return;
    }
    let place = Place::with(TWO_HOSTS);
    place.export();
    let definitions = place.print(&["-G"]);
    for node in [
        "Name: \"Linux\"",
        "Name: \"alpha\"",
        "Name: \"beta\"",
        "Name: \"rank 4\"",
    ] {
        assert!(definitions.contains(node), "{node}\n{definitions}");
    }
    assert!(
        definitions.contains("\"a \"name\"\nof two lines\""),
        "{definitions}"
    );
    let comms: BTreeSet<_> = definitions
        .lines()
        .filter(|line| line.starts_with("COMM "))
        .map(|line| line.split_whitespace().nth(1).unwrap())
        .collect();
    // All, the two halves, and those of one process together.
    assert_eq!(comms.len(), 4, "{definitions}");
    let events = place.events();
    let with = |text: &str, root: &str| {
        let ends = events
            .iter()
            .filter(|event| event.kind == "MPI_COLLECTIVE_END");
        ends.filter(|event| event.rest.contains(text) && event.rest.contains(root))
            .count()
    };
    // Rank 1 is world rank 2 in one half, 3 in the other.
    let name = "Communicator: \"a \"name\"of two lines\" <";
    for root in ["Root: 1 (\"thread 0\" <2>)", "Root: 1 (\"thread 0\" <3>)"] {
        assert_eq!(with(name, root), 3 * 50, "{root}");
    }
    let broadcast = "Operation: BCAST, Communicator: \"MPI_COMM_WORLD\" <0>, Root: 4 ";
    assert_eq!(with(broadcast, "Sent: 100, Received: 0"), 50);
    assert_eq!(with(broadcast, "Sent: 0, Received: 100"), 5 * 50);
}

#[test]
fn calls_have_their_call_site_and_waits_their_cause() {
    if !has_otf2() {
        return;
    }
    let place = Place::with(TWO_HOSTS);
    let analysis = place.export();
    let site = analysis.sites[0].place();
    let events = place.events();
    let is_of =
        |event: &&Event, kind: &str| event.kind == kind && event.rest.contains("\"MPI_Allreduce\"");
    let with = |kind: &str, text: &str| {
        let events = events.iter().filter(|event| is_of(event, kind));
        events
            .filter(|event| event.attributes.contains(text))
            .count()
    };
    let called_at = format!("(\"call site\" <0>; STRING; \"{site}\" <");
    assert_eq!(with("ENTER", &called_at), 6 * 50);
    assert!(with("LEAVE", "(\"wait cause\" <2>; STRING; \"late_rank\" <") > 0);
    assert!(with("LEAVE", "(\"waited for\" <3>; UINT64; ") > 50);
    let completed = events
        .iter()
        .filter(|event| event.kind == "NON_BLOCKING_COLLECTIVE_COMPLETE");
    assert!(
        completed
            .filter(|event| event.attributes.contains("wait cause"))
            .count()
            > 50
    );
}

#[test]
fn what_one_call_starts_or_completes_is_in_that_call() {
    if !has_otf2() {
        return;
    }
    let place = Place::of("nonblocking.toml");
    let analysis = place.export();
    let (events, locations) = (place.events(), place.locations());
    let entered = count(&events, &locations, "ENTER", Event::region);
    for rank in 0..6 {
        // Each Waitall of the scenario completes four, each Testall three.
        assert_eq!(entered[&(rank, "MPI_Waitall")], 12);
        assert_eq!(entered[&(rank, "MPI_Testall")], 12);
        assert_eq!(entered[&(rank, "MPI_Waitany")], 3 * 12);
        // The generator starts one at a time: five for each repetition.
        assert_eq!(entered[&(rank, "MPI_Start")], 5 * 12);
    }
    let in_thread: BTreeSet<_> = events
        .iter()
        .filter(|event| event.kind == "ENTER" && locations[event.location].1 == 1)
        .map(Event::region)
        .collect();
    assert_eq!(in_thread, BTreeSet::from(["MPI_Waitany"]));
    // A request is completed once, later, by the same process; no other has its number meanwhile.
    let mut outstanding = BTreeSet::new();
    let mut completed_in_call: BTreeMap<usize, u64> = BTreeMap::new();
    let mut most_in_call = 0;
    let mut n_completed = 0;
    for event in &events {
        let (rank, _) = locations[event.location];
        let in_call = completed_in_call.entry(event.location).or_default();
        match event.kind.as_str() {
            "ENTER" => *in_call = 0,
            "NON_BLOCKING_COLLECTIVE_REQUEST" => {
                assert!(outstanding.insert((rank, event.number("Request"))));
            }
            "NON_BLOCKING_COLLECTIVE_COMPLETE" => {
                assert!(outstanding.remove(&(rank, event.number("Request"))));
                *in_call += 1;
                most_in_call = most_in_call.max(*in_call);
                n_completed += 1;
            }
            _ => {}
        }
    }
    assert!(outstanding.is_empty());
    assert_eq!(most_in_call, 4);
    assert_eq!(n_completed, 6 * 12 * 15);
    let waits = events.iter().filter(|event| event.kind == "METRIC");
    let total: i64 = analysis.ranks.iter().filter_map(|rank| rank.wait_ns).sum();
    assert_eq!(waits.map(Event::value).sum::<u64>() as i64, total);
}

#[test]
fn messages_inside_are_puts_if_they_are_asked_for() {
    if !has_otf2() {
        return;
    }
    let place = Place::of("inside_one_host.toml");
    place.export();
    let is_put = |event: &&Event| event.kind == "RMA_PUT";
    assert_eq!(place.events().iter().filter(is_put).count(), 0);
    let mut how = place.how();
    (how.force, how.messages) = (true, true);
    let analysis = place.try_export(&how).unwrap();
    let (events, locations) = (place.events(), place.locations());
    let puts: Vec<&Event> = events.iter().filter(is_put).collect();
    assert_eq!(Some(puts.len() as u64), analysis.trace.messages);
    let mut by_pair: BTreeMap<(u32, u64), u64> = BTreeMap::new();
    for put in puts
        .iter()
        .filter(|put| put.rest.contains("MPI_COMM_WORLD"))
    {
        let remote = put.between("Remote: ", " ").parse().unwrap();
        let pair = (locations[put.location].0, remote);
        *by_pair.entry(pair).or_default() += put.number("Bytes");
    }
    let mut expected: BTreeMap<(u32, u64), u64> = BTreeMap::new();
    let world = analysis.operations.iter();
    for operation in world.filter(|of| of.communicator == Some(0)) {
        for edge in operation.edges.as_ref().into_iter().flatten() {
            let pair = (edge.from, u64::from(edge.to));
            *expected.entry(pair).or_default() += edge.bytes;
        }
    }
    assert!(!expected.is_empty());
    assert_eq!(by_pair, expected);
    let completed = events
        .iter()
        .filter(|event| event.kind == "RMA_OP_COMPLETE_BLOCKING");
    assert_eq!(completed.count(), puts.len());
}

/// Rank, thread, enter and leave of each call, by region.
type Calls = BTreeMap<String, Vec<(u32, u32, i64, i64)>>;

/// Those of the table of calls, but for completing calls, of which it does not say which they are.
fn calls_of_table(table: &Path) -> Calls {
    let mut reader = csv::Reader::from_path(table).unwrap();
    let columns = reader.headers().unwrap().clone();
    let at = |name: &str| columns.iter().position(|column| column == name).unwrap();
    let mut calls = Calls::new();
    for record in reader.records() {
        let record = record.unwrap();
        let number = |name: &str| record[at(name)].parse().ok();
        let leave = number("initiated_ns").or_else(|| number("leave_ns"));
        let operation = &record[at("operation")];
        let region = match operation.ends_with("_init") {
            true => "MPI_Start",
            false => operation,
        };
        calls.entry(region.to_owned()).or_default().push((
            number("rank").unwrap() as u32,
            number("thread").unwrap() as u32,
            number("enter_ns").unwrap(),
            leave.unwrap(),
        ));
    }
    for of_region in calls.values_mut() {
        of_region.sort_unstable();
    }
    calls
}

#[test]
fn times_are_those_of_the_table_of_calls() {
    if !has_otf2() {
        return;
    }
    for scenario in [
        "nonblocking.toml",
        "everything.toml",
        "inside_one_host.toml",
    ] {
        let place = Place::of(scenario);
        place.export();
        let table = place.folder.path().join("calls.csv");
        let of_tables = How {
            format: Format::Csv,
            output: table.clone(),
            ..place.how()
        };
        place.try_export(&of_tables).unwrap();
        let (events, locations) = (place.events(), place.locations());
        let mut calls = Calls::new();
        let mut inside: BTreeMap<usize, Vec<&Event>> = BTreeMap::new();
        for event in &events {
            let entered = inside.entry(event.location).or_default();
            match event.kind.as_str() {
                "ENTER" => entered.push(event),
                "LEAVE" => {
                    let enter = entered.pop().unwrap();
                    let (rank, thread) = locations[event.location];
                    let call = (rank, thread, enter.time as i64, event.time as i64);
                    let of_region = calls.entry(event.region().to_owned()).or_default();
                    of_region.push(call);
                }
                _ => {}
            }
        }
        let expected = calls_of_table(&table);
        for (region, expected) in &expected {
            let found = calls.get_mut(region).unwrap();
            found.sort_unstable();
            assert_eq!(found, expected, "{scenario}: {region}");
        }
        assert!(!place.print(&["-I"]).contains("moved:"), "{scenario}");
    }
}

/// A run of which one rank is killed.
const KILLED: &str = r#"
schema = 1
name = "killed"
chunk_calls = 20
[[hosts]]
name = "node"
ranks = 4
[[program]]
repeat = 100
steps = [
  { operation = "MPI_Allreduce", bytes = 8, work = [{ exponential_ns = 9000 }] },
  { operation = "MPI_Bcast", bytes = 8, work = [{ exponential_ns = 9000 }] },
]
[[faults]]
rank = 2
killed_after_calls = 120
"#;

#[test]
fn calls_that_never_returned_are_left_at_the_end_and_marked() {
    if !has_otf2() {
        return;
    }
    let place = Place::with(KILLED);
    let analysis = place.export();
    assert!(!analysis.trace.complete);
    let (events, locations) = (place.events(), place.locations());
    let end = events.iter().map(|event| event.time).max();
    let incomplete: Vec<&Event> = events
        .iter()
        .filter(|event| event.attributes.contains("\"incomplete\""))
        .filter(|event| event.attributes.contains("UINT64; 1"))
        .collect();
    assert!(incomplete.len() >= 3, "{incomplete:?}");
    for event in &incomplete {
        assert_eq!(Some(event.time), end, "{event:?}");
    }
    // Operations are those of instances that all ranks completed.
    let ends = count(&events, &locations, "MPI_COLLECTIVE_END", |event| {
        event.between("Operation: ", ",")
    });
    let complete = |operation: &str| -> u64 {
        let operations = analysis.operations.iter();
        operations
            .filter(|of| *of.operation == *operation)
            .map(|of| of.instances)
            .sum()
    };
    for rank in 0..4 {
        assert_eq!(ends[&(rank, "ALLREDUCE")], complete("MPI_Allreduce"));
        assert_eq!(ends[&(rank, "BCAST")], complete("MPI_Bcast"));
    }
}

#[test]
fn a_trace_with_damaged_and_missing_files_is_exported_as_far_as_it_goes() {
    if !has_otf2() {
        return;
    }
    for fault in [
        "cut_at_fraction = 0.5",
        "damaged_chunk = 1",
        "missing = true",
    ] {
        let place = Place::with(&KILLED.replace("killed_after_calls = 120", fault));
        let analysis = place.export();
        assert!(!analysis.trace.complete, "{fault}");
        let (events, locations) = (place.events(), place.locations());
        let entered = count(&events, &locations, "ENTER", Event::region);
        for rank in &analysis.ranks {
            for (operation, &calls) in &rank.calls_by_operation {
                let found = entered.get(&(rank.rank, &**operation));
                assert_eq!(found, Some(&calls), "{fault}: {}", rank.rank);
            }
        }
        // Ranks are numbered as in the run.
        let ranks: Vec<u32> = locations.iter().map(|(rank, _)| *rank).collect();
        assert_eq!(ranks, [0, 1, 2, 3], "{fault}");
        let states = events
            .iter()
            .filter(|event| event.attributes.contains("STRING; \"incomplete\""));
        assert!(states.count() > 0, "{fault}");
    }
}

/// The files in a folder and in those in it, with their contents.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}

#[test]
fn the_number_of_threads_does_not_show() {
    if !has_otf2() {
        return;
    }
    for scenario in ["nonblocking.toml", "everything.toml"] {
        let place = Place::of(scenario);
        let with = |n: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n);
            let mut how = place.how();
            how.force = true;
            let exported = pool.build().unwrap().install(|| place.try_export(&how));
            exported.unwrap();
            files(&place.archive())
        };
        let alone = with(1);
        assert!(alone.len() > 4);
        for n in [2, 4] {
            assert!(with(n) == alone, "{scenario}, {n} threads");
        }
    }
}

#[test]
fn only_archives_are_replaced() {
    if !has_otf2() {
        return;
    }
    let place = Place::with(KILLED);
    place.export();
    let mut how = place.how();
    let refused = place.try_export(&how).unwrap_err();
    assert!(matches!(refused, Failure::Export(ExportError::Exists(_))));
    how.force = true;
    place.try_export(&how).unwrap();
    let mine = place.archive().join("traces/thesis.tex");
    fs::write(&mine, "mine").unwrap();
    let refused = place.try_export(&how).unwrap_err();
    assert!(refused.to_string().contains("thesis.tex"), "{refused}");
    assert!(mine.exists());
}

#[test]
fn an_archive_is_neither_a_table_nor_for_standard_output() {
    let place = Place::with(KILLED);
    let refused = |table: Option<&str>, output: &str| {
        let how = How {
            table: table.map(str::to_owned),
            output: output.into(),
            ..place.how()
        };
        place.try_export(&how).unwrap_err().to_string()
    };
    assert!(refused(Some("calls"), "archive").contains("leave --table out"));
    assert!(refused(None, "-").contains("--to otf2 -o -"));
    let how = How {
        output: "-".into(),
        ..place.how()
    };
    let error = place.try_export(&how).unwrap_err();
    let of_tables = How {
        format: Format::Csv,
        messages: true,
        ..place.how()
    };
    let refused = place.try_export(&of_tables).unwrap_err();
    assert!(
        refused.to_string().contains("only for --to otf2"),
        "{refused}"
    );
    assert!(matches!(error, Failure::Usage(UsageError::Stdout("otf2"))));
}

#[test]
fn without_the_library_the_command_names_the_package() {
    let place = Place::with(KILLED);
    // Found before those of the system, and no libraries.
    let libraries = place.folder.path().join("lib");
    fs::create_dir(&libraries).unwrap();
    for name in ["libotf2", "libopen-trace-format2"] {
        for end in ["so", "so.10"] {
            fs::write(libraries.join(format!("{name}.{end}")), "").unwrap();
        }
    }
    let output = Command::new(env!("CARGO_BIN_EXE_collbench-export"))
        .arg(place.trace())
        .args(["--to", "otf2", "-o"])
        .arg(place.archive())
        .env("LD_LIBRARY_PATH", &libraries)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("libopen-trace-format2-10"), "{said}");
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(!place.archive().exists());
}
