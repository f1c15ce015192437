//! Archives written by the OTF2 library and read by `otf2-print`, which is part of OTF2.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use collbench_otf2::{
    Archive, AttributeType, AttributeValue, Collective, CollectiveOp, Error, Event, Library,
    LocationRef, MarkerScope, Members, Metric, MetricMode, MetricType, MetricValue, Paradigm,
    Region, RegionRole, Root, Severity, Transfer,
};

/// The library, if it and `otf2-print` are here; else it is said that the test is skipped, which is
/// a failure in CI.
fn library() -> Option<Library> {
    let library = Library::open();
    let print = Command::new("otf2-print").arg("--version").output();
    match (library, print) {
        (Ok(library), Ok(_)) => Some(library),
        (library, print) => {
            let missing = format!("{:?} {:?}", library.err(), print.err());
            assert!(std::env::var_os("CI").is_none(), "missing in CI: {missing}");
            let test = std::thread::current().name().unwrap_or("a test").to_owned();
            let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {missing}");
            None
        }
    }
}

/// A directory for an archive, which does not exist.
struct Place {
    _parent: tempfile::TempDir,
    directory: PathBuf,
}

impl Place {
    fn new() -> Self {
        let parent = tempfile::tempdir().expect("a temporary directory");
        let directory = parent.path().join("archive");
        Self {
            _parent: parent,
            directory,
        }
    }

    fn anchor(&self) -> PathBuf {
        self.directory.join("traces.otf2")
    }
}

/// What `otf2-print` shows with these options; it must accept the archive without a warning.
fn print(anchor: &Path, options: &[&str]) -> String {
    let output = Command::new("otf2-print")
        .arg("-Werror")
        .args(options)
        .arg(anchor)
        .output()
        .expect("otf2-print can be started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// How many events of each kind are in the archive.
fn kinds(events: &str) -> BTreeMap<&str, usize> {
    let mut kinds = BTreeMap::new();
    for line in events.lines() {
        let mut words = line.split_whitespace();
        let (Some(kind), Some(location)) = (words.next(), words.next()) else {
            continue;
        };
        if location.parse::<u64>().is_ok() && kind.chars().next().is_some_and(char::is_uppercase) {
            *kinds.entry(kind).or_default() += 1;
        }
    }
    kinds
}

const N_CALLS: u64 = 5;

/// Four processes on two hosts that call an allreduce and a nonblocking broadcast five times each.
fn small(library: &Library, directory: &Path) -> Result<(), Error> {
    let mut archive = Archive::create(library, directory)?;
    archive.set_machine("two hosts");
    archive.set_creator("collbench 0.1.0");
    archive.set_description("a \"small\" run\nof two lines");
    archive.set_realtime_at_zero(1_700_000_000_000_000_000);
    let hosts = [archive.host("alpha"), archive.host("beta")];
    let locations: Vec<LocationRef> = (0..4)
        .map(|rank| {
            let process = archive.process(&format!("rank {rank}"), hosts[rank / 2]);
            archive.location("main thread", process)
        })
        .collect();
    let mpi = |name, role| Region {
        name,
        role,
        paradigm: Paradigm::Mpi,
        source_file: None,
        begin_line: 0,
    };
    let allreduce = archive.region(&mpi("MPI_Allreduce", RegionRole::CollectiveAllToAll));
    let ibcast = archive.region(&mpi("MPI_Ibcast", RegionRole::CollectiveOneToAll));
    let wait = archive.region(&mpi("MPI_Wait", RegionRole::PointToPoint));
    let world = archive.comm("MPI_COMM_WORLD", Members::Processes(&[0, 1, 2, 3]), None);
    archive.comm("MPI_COMM_SELF", Members::Itself, None);
    let odd = archive.comm("odd ranks", Members::Processes(&[3, 1]), Some(world));
    archive.intercomm("between", [&[0, 2], &[1, 3]], Some(world));
    let site = archive.attribute("call site", "where the call is", AttributeType::String);
    let line = archive.attribute("line", "the line of the call", AttributeType::SourceCode);
    let waits = archive.metric(&Metric {
        name: "wait",
        description: "time until the last process came",
        value_type: MetricType::Unsigned,
        mode: MetricMode::AbsolutePoint,
        unit: "seconds",
        exponent: -9,
    });
    let drift = archive.metric(&Metric {
        name: "drift",
        description: "a number of either sign",
        value_type: MetricType::Signed,
        mode: MetricMode::AbsoluteLast,
        unit: "",
        exponent: 0,
    });
    let window = archive.window("messages", world);
    let outlier = archive.marker_kind("collbench", "outlier", Severity::High);

    let solver = AttributeValue::String(archive.string("solve() at \"solver.c\":17"));
    let at = AttributeValue::SourceCode(archive.source_code("solver.c", 17));
    for call in 0..N_CALLS {
        for (rank, &location) in (0..).zip(&locations) {
            let time = 1000 * call + rank;
            archive.event(
                location,
                time,
                &Event::Enter(allreduce),
                &[(site, solver), (line, at)],
            )?;
            let plain: [(u64, Event); 11] = [
                (10, Event::MpiCollectiveBegin),
                (
                    20,
                    Event::RmaPut(Transfer {
                        window,
                        remote: 3 - rank as u32,
                        bytes: 64,
                        matching_id: call,
                    }),
                ),
                (
                    21,
                    Event::RmaOpCompleteBlocking {
                        window,
                        matching_id: call,
                    },
                ),
                (
                    30,
                    Event::MpiCollectiveEnd(Collective {
                        op: CollectiveOp::Allreduce,
                        comm: world,
                        root: Root::None,
                        bytes_sent: 8,
                        bytes_received: 16,
                    }),
                ),
                (30, Event::Metric(waits, MetricValue::Unsigned(100 + call))),
                (
                    30,
                    Event::Metric(drift, MetricValue::Signed(-(call as i64))),
                ),
                (40, Event::Leave(allreduce)),
                (50, Event::Enter(ibcast)),
                (
                    51,
                    Event::NonBlockingCollectiveRequest { request: 70 + call },
                ),
                (60, Event::Leave(ibcast)),
                (70, Event::Enter(wait)),
            ];
            for (after, event) in &plain {
                archive.event(location, time + after, event, &[])?;
            }
            let complete = Event::NonBlockingCollectiveComplete {
                collective: Collective {
                    op: CollectiveOp::Bcast,
                    comm: odd,
                    root: Root::Rank(1),
                    bytes_sent: 0,
                    bytes_received: 24,
                },
                request: 70 + call,
            };
            archive.event(location, time + 80, &complete, &[])?;
            archive.event(location, time + 90, &Event::Leave(wait), &[])?;
        }
    }
    archive.marker(
        outlier,
        1000,
        40,
        MarkerScope::Location(locations[2]),
        "rank 2 was late",
    )?;
    archive.finish()
}

#[test]
fn an_archive_has_the_events_that_it_was_given() {
    let Some(library) = library() else { return };
    let place = Place::new();
    small(&library, &place.directory).expect("there is space");

    let events = print(&place.anchor(), &[]);
    let calls = 4 * N_CALLS as usize;
    assert_eq!(
        kinds(&events).into_iter().collect::<Vec<_>>(),
        [
            ("ENTER", 3 * calls),
            ("LEAVE", 3 * calls),
            ("METRIC", 2 * calls),
            ("MPI_COLLECTIVE_BEGIN", calls),
            ("MPI_COLLECTIVE_END", calls),
            ("NON_BLOCKING_COLLECTIVE_COMPLETE", calls),
            ("NON_BLOCKING_COLLECTIVE_REQUEST", calls),
            ("RMA_OP_COMPLETE_BLOCKING", calls),
            ("RMA_PUT", calls),
        ]
    );
    for line in [
        "MPI_COLLECTIVE_END                             1                 2031  Operation: ALLREDUCE, \
         Communicator: \"MPI_COMM_WORLD\" <0>, Root: NONE, Sent: 8, Received: 16",
        "METRIC                                         0                 3030  Metric: 0, 1 Value: \
         (\"wait\" <0>; UINT64; 103)",
        "METRIC                                         2                 4032  Metric: 1, 1 Value: \
         (\"drift\" <1>; INT64; -4)",
        "NON_BLOCKING_COLLECTIVE_REQUEST                3                 1054  Request: 71",
        "NON_BLOCKING_COLLECTIVE_COMPLETE               1                 4081  Operation: BCAST, \
         Communicator: \"odd ranks\" <2>, Root: 1 (\"main thread\" <1>), Sent: 0, Received: 24, \
         Request: 74",
        "RMA_PUT                                        0                   20  Window: \
         \"messages\" <0>, Remote: 3 (\"main thread\" <3>), Bytes: 64, Matching: 0",
    ] {
        assert!(
            events.lines().any(|shown| shown == line),
            "{line}\n{events}"
        );
    }
    let attributes = "ADDITIONAL ATTRIBUTES: (\"call site\" <0>; STRING; \
                      \"solve() at \"solver.c\":17\" <25>), (\"line\" <1>; \
                      SOURCE_CODE_LOCATION; \"solver.c:17\" <0>)";
    assert_eq!(events.matches(attributes).count(), calls, "{events}");
}

#[test]
fn an_archive_has_the_definitions_that_it_was_given() {
    let Some(library) = library() else { return };
    let place = Place::new();
    small(&library, &place.directory).expect("there is space");

    let shown = print(&place.anchor(), &["-I"]) + &print(&place.anchor(), &["-G"]);
    let shown: Vec<String> = shown
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    for line in [
        "Number of locations 4",
        "Machine name two hosts",
        "Creator collbench 0.1.0",
        "Description a \"small\" run",
        "of two lines",
        "CLOCK_PROPERTIES Ticks per Seconds: 1000000000, Global Offset: 0, Length: 4093, \
         Date: 2023-11-14 22:13:20.000000000 +0000",
        "SYSTEM_TREE_NODE 2 Name: \"beta\" <1>, Class: \"node\" <29>, \
         Parent: \"machine::two hosts\" <0>",
        "LOCATION_GROUP 2 Name: \"rank 2\" <5>, Type: PROCESS, Parent: \"node::beta\" <2>, \
         Creator: UNDEFINED",
        "LOCATION 3 Name: \"main thread\" <3>, Type: CPU_THREAD, # Events: 70, \
         Group: \"rank 3\" <3>",
        "REGION 1 Name: \"MPI_Ibcast\" <8> (Aka. \"MPI_Ibcast\" <8>), Descr.: \"\" <23>, \
         Role: COLL_ONE2ALL, Paradigm: \"MPI\" <4>, Flags: NONE, File: UNDEFINED, Begin: 0, End: 0",
        "METRIC_MEMBER 0 Name: \"wait\" <18>, Descr.: \"time until the last process came\" <19>, \
         Type: OTHER, Mode: ABSOLUTE_POINT, Value Type: UINT64, Base: DECIMAL, Exponent: -9, \
         Unit: \"seconds\" <20>",
        "GROUP 3 Name: \"\" <23>, Type: COMM_GROUP, Paradigm: \"MPI\" <4>, Flags: NONE, \
         2 Members: 3 (\"main thread\" <3>), 1 (\"main thread\" <1>)",
        "COMM 2 Name: \"odd ranks\" <12>, Group: \"\" <3>, Parent: \"MPI_COMM_WORLD\" <0>, \
         Flags: NONE",
        "\"between\" <13>, Group A: \"\" <4>, Group B: \"\" <5>, \
         Common Communicator: \"MPI_COMM_WORLD\" <0>, Flags: NONE",
        "RMA_WIN 0 Name: \"messages\" <24>, Communicator: \"MPI_COMM_WORLD\" <0>, Flags: NONE",
    ] {
        assert!(
            shown.iter().any(|shown| shown.ends_with(line)),
            "{line}\n{shown:#?}"
        );
    }

    let markers = Command::new("otf2-marker")
        .arg(place.anchor())
        .output()
        .expect("otf2-marker can be started");
    let markers = String::from_utf8_lossy(&markers.stdout).into_owned();
    for word in ["outlier", "HIGH", "rank 2 was late", "1000"] {
        assert!(markers.contains(word), "{word}\n{markers}");
    }
}

/// All files of a directory, by their path in it.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![directory.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path
                    .strip_prefix(directory)
                    .expect("a path in it")
                    .to_owned();
                found.insert(name, fs::read(&path).expect("a file"));
            }
        }
    }
    found
}

#[test]
fn the_same_calls_give_the_same_bytes() {
    let Some(library) = library() else { return };
    let places = [Place::new(), Place::new()];
    for place in &places {
        small(&library, &place.directory).expect("there is space");
    }
    let [first, second] = places.each_ref().map(|place| files(&place.directory));
    assert_eq!(
        first.keys().collect::<Vec<_>>(),
        second.keys().collect::<Vec<_>>()
    );
    for (name, bytes) in &first {
        assert_eq!(bytes, &second[name], "{}", name.display());
    }
    assert_eq!(first.len(), 3 + 2 * 4, "{:?}", first.keys());
}

/// An archive of one location that enters and leaves a region at these times.
fn one_location(
    library: &Library,
    directory: &Path,
    name: &str,
    times: impl Iterator<Item = u64>,
) -> Result<(), Error> {
    let mut archive = Archive::create(library, directory)?;
    let host = archive.host(name);
    let process = archive.process(name, host);
    let location = archive.location(name, process);
    let region = archive.region(&Region {
        name,
        role: RegionRole::Barrier,
        paradigm: Paradigm::Mpi,
        source_file: Some(name),
        begin_line: 3,
    });
    for time in times {
        archive.event(location, time, &Event::Enter(region), &[])?;
        archive.event(location, time, &Event::Leave(region), &[])?;
    }
    archive.finish()
}

fn identifier(anchor: &Path) -> String {
    let shown = print(anchor, &["-I"]);
    let line = shown
        .lines()
        .find(|line| line.starts_with("Trace identifier"))
        .expect("the identifier");
    line.to_owned()
}

#[test]
fn archives_with_other_times_have_another_identifier() {
    let Some(library) = library() else { return };
    let identifiers = [[1, 2, 3], [1, 2, 3], [1, 1, 3]].map(|times| {
        let place = Place::new();
        one_location(&library, &place.directory, "a", times.into_iter()).expect("there is space");
        identifier(&place.anchor())
    });
    assert_eq!(identifiers[0], identifiers[1]);
    assert_ne!(identifiers[0], identifiers[2]);
}

#[test]
fn names_of_all_kinds_are_kept() {
    let Some(library) = library() else { return };
    let megabyte = "x".repeat(1_000_000);
    for name in [
        "",
        "a \"b\" 'c' \\",
        "two\nlines\r\ttab",
        "Größe 名前 🦀",
        &megabyte,
    ] {
        let place = Place::new();
        one_location(&library, &place.directory, name, 1..3).expect("there is space");
        let shown = print(&place.anchor(), &["-G"]);
        assert!(
            shown.contains(&format!("  \"{name}\"\n")),
            "{name}\n{shown}"
        );
        assert_eq!(kinds(&print(&place.anchor(), &[]))["ENTER"], 2);
    }
}

#[test]
fn names_that_otf2_cannot_keep_are_changed() {
    let Some(library) = library() else { return };
    let place = Place::new();
    one_location(&library, &place.directory, "a\0b", 1..3).expect("there is space");
    assert!(print(&place.anchor(), &["-G"]).contains("\"a\u{fffd}b\""));

    let place = Place::new();
    // Each of these letters takes two bytes, so the limit is within one of them.
    let long = "ä".repeat(3 << 20);
    one_location(&library, &place.directory, &long, 1..3).expect("there is space");
    let shown = print(&place.anchor(), &["-G"]);
    let kept = shown
        .lines()
        .find_map(|line| line.split_once('"').filter(|_| line.starts_with("STRING")))
        .map(|(_, text)| text.trim_end_matches('"'))
        .expect("the first text");
    assert!(kept.ends_with("ää…"));
    assert!(
        kept.len() <= 4 << 20 && kept.len() > (4 << 20) - 4,
        "{}",
        kept.len()
    );
}

#[test]
fn events_that_fill_many_chunks_come_back() {
    let Some(library) = library() else { return };
    let place = Place::new();
    let n = 60_000;
    let write = || -> Result<(), Error> {
        let mut archive = Archive::create(&library, &place.directory)?;
        let host = archive.host("host");
        let locations = [0, 1, 2].map(|rank| {
            let process = archive.process(&format!("rank {rank}"), host);
            archive.location("thread", process)
        });
        let region = archive.region(&Region {
            name: "MPI_Barrier",
            role: RegionRole::Barrier,
            paradigm: Paradigm::Mpi,
            source_file: None,
            begin_line: 0,
        });
        let world = archive.comm("MPI_COMM_WORLD", Members::Processes(&[0, 1, 2]), None);
        // Definitions that fill many chunks, too.
        for site in 0..n {
            archive.string(&format!("call site {site}"));
        }
        for call in 0..n {
            for location in locations {
                let end = Event::MpiCollectiveEnd(Collective {
                    op: CollectiveOp::Barrier,
                    comm: world,
                    root: Root::None,
                    bytes_sent: 0,
                    bytes_received: 0,
                });
                archive.event(location, 100 * call, &Event::Enter(region), &[])?;
                archive.event(location, 100 * call, &Event::MpiCollectiveBegin, &[])?;
                archive.event(location, 100 * call + 9, &end, &[])?;
                archive.event(location, 100 * call + 9, &Event::Leave(region), &[])?;
            }
        }
        archive.finish()
    };
    write().expect("there is space");
    assert!(
        fs::metadata(place.directory.join("traces/1.evt"))
            .expect("a file")
            .len()
            > 1 << 20
    );
    let calls = 3 * n as usize;
    assert_eq!(
        kinds(&print(&place.anchor(), &[]))
            .into_iter()
            .collect::<Vec<_>>(),
        [
            ("ENTER", calls),
            ("LEAVE", calls),
            ("MPI_COLLECTIVE_BEGIN", calls),
            ("MPI_COLLECTIVE_END", calls),
        ]
    );
    let definitions = print(&place.anchor(), &["-G"]);
    assert!(definitions.contains(&format!("\"call site {}\"", n - 1)));
}

#[test]
fn a_group_that_is_longer_than_the_smallest_chunk_is_kept() {
    let Some(library) = library() else { return };
    let place = Place::new();
    let mut archive = Archive::create(&library, &place.directory).expect("there is space");
    let host = archive.host("host");
    let process = archive.process("rank 0", host);
    archive.location("thread", process);
    archive.comm("large", Members::Processes(&vec![0; 200_000]), None);
    archive.finish().expect("there is space");
    assert!(print(&place.anchor(), &["-G"]).contains("200000 Members"));
}

#[test]
fn an_archive_needs_a_location_and_no_events() {
    let Some(library) = library() else { return };
    let place = Place::new();
    let archive = Archive::create(&library, &place.directory).expect("there is space");
    let refused = archive.finish();
    assert!(
        matches!(
            refused,
            Err(Error::Undefined {
                what: "location",
                ..
            })
        ),
        "{refused:?}"
    );
    one_location(&library, &place.directory, "a", [].into_iter()).expect("there is space");
    print(&place.anchor(), &["-A"]);
}

#[test]
fn events_that_do_not_fit_their_archive_are_refused() {
    let Some(library) = library() else { return };
    let place = Place::new();
    let mut archive = Archive::create(&library, &place.directory).expect("there is space");
    let host = archive.host("host");
    let process = archive.process("rank 0", host);
    let location = archive.location("thread", process);
    let site = archive.attribute("site", "", AttributeType::String);
    let metric = archive.metric(&Metric {
        name: "wait",
        description: "",
        value_type: MetricType::Unsigned,
        mode: MetricMode::AbsolutePoint,
        unit: "seconds",
        exponent: -9,
    });
    let other_place = Place::new();
    let mut other = Archive::create(&library, &other_place.directory).expect("there is space");
    let [_, region] = ["a", "b"].map(|name| {
        other.region(&Region {
            name,
            role: RegionRole::Function,
            paradigm: Paradigm::User,
            source_file: None,
            begin_line: 0,
        })
    });

    let begin = Event::MpiCollectiveBegin;
    archive.event(location, 7, &begin, &[]).expect("an event");
    let refused = archive.event(location, 6, &begin, &[]);
    let Err(error @ Error::TimeDecreases { .. }) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(
        error.to_string(),
        "an event of location 0 at 6 ns comes after one at 7 ns; the times of a location must not \
         decrease"
    );
    let refused = archive.event(location, 7, &Event::Enter(region), &[]);
    assert!(
        matches!(
            refused,
            Err(Error::Undefined {
                what: "region",
                number: 1
            })
        ),
        "{refused:?}"
    );
    let float = Event::Metric(metric, MetricValue::Float(0.5));
    let refused = archive.event(location, 7, &float, &[]);
    assert!(
        matches!(refused, Err(Error::WrongType { what: "metric", .. })),
        "{refused:?}"
    );
    let refused = archive.event(location, 7, &begin, &[(site, AttributeValue::Unsigned(1))]);
    assert!(
        matches!(
            refused,
            Err(Error::WrongType {
                what: "attribute",
                ..
            })
        ),
        "{refused:?}"
    );

    archive.comm("with a process too many", Members::Processes(&[0, 1]), None);
    let refused = archive.finish();
    assert!(
        matches!(
            refused,
            Err(Error::Undefined {
                what: "process",
                number: 1
            })
        ),
        "{refused:?}"
    );
    assert!(!place.directory.exists(), "something was written");
}

#[test]
fn nothing_remains_of_an_archive_that_is_not_finished() {
    let Some(library) = library() else { return };
    let place = Place::new();
    let mut archive = Archive::create(&library, &place.directory).expect("there is space");
    let host = archive.host("host");
    let process = archive.process("rank 0", host);
    let location = archive.location("thread", process);
    // So many that some are in the temporary file.
    for time in 0..100_000 {
        archive
            .event(location, time, &Event::MpiCollectiveBegin, &[])
            .expect("there is space");
    }
    assert!(place.directory.exists());
    drop(archive);
    assert!(!place.directory.exists());
}

#[test]
fn a_directory_with_something_in_it_is_refused() {
    let Some(library) = library() else { return };
    let place = Place::new();
    fs::create_dir(&place.directory).expect("a directory");
    drop(Archive::create(&library, &place.directory).expect("it is empty"));
    assert!(place.directory.exists(), "it was there before");
    fs::write(place.directory.join("file"), "").expect("a file");
    let refused = Archive::create(&library, &place.directory).err();
    assert!(
        matches!(refused, Some(Error::NotEmpty { .. })),
        "{refused:?}"
    );
    let refused = Archive::create(&library, &place.directory.join("file")).err();
    assert!(matches!(refused, Some(Error::File { .. })), "{refused:?}");
}

/// Does something with an archive whose files cannot be written completely; the error must be
/// returned, with the words of the library, and the archive must not look complete.
fn fails(place: &Place, spoil: impl FnOnce(&Path), library: &Library, action: &str, reason: &str) {
    let mut archive = Archive::create(library, &place.directory).expect("there is space");
    let host = archive.host("host");
    let process = archive.process("rank 0", host);
    let location = archive.location("thread", process);
    for time in 0..10 {
        archive
            .event(location, time, &Event::MpiCollectiveBegin, &[])
            .expect("there is space");
    }
    spoil(&place.directory);
    let error = archive.finish().expect_err("there is no space");
    let said = error.to_string();
    assert!(
        said.starts_with(&format!("OTF2 cannot {action}: ")),
        "{said}"
    );
    assert!(said.contains(reason), "{said}");
    assert!(!place.anchor().is_file(), "there is an anchor file");
}

#[test]
fn a_full_disk_is_an_error_when_definitions_are_written() {
    let Some(library) = library() else { return };
    let place = Place::new();
    let spoil = |directory: &Path| {
        std::os::unix::fs::symlink("/dev/full", directory.join("traces.def")).expect("a link");
    };
    fails(
        &place,
        spoil,
        &library,
        "write definitions",
        "No space left on device",
    );
}

#[test]
fn an_anchor_file_that_cannot_be_written_is_an_error() {
    let Some(library) = library() else { return };
    // The library reports this, and says that it closed the archive successfully.
    for (spoil, reason) in [
        (
            (|anchor| fs::create_dir(anchor)) as fn(&Path) -> _,
            "Target is a directory",
        ),
        (
            |anchor| std::os::unix::fs::symlink("/dev/full", anchor),
            "No space left on device",
        ),
    ] {
        let place = Place::new();
        let spoil = |directory: &Path| spoil(&directory.join("traces.otf2")).expect("an entry");
        fails(&place, spoil, &library, "write the anchor file", reason);
    }
}

/// Where the next two tests run themselves again, with a limit to the length of files.
const LIMITED: &str = "COLLBENCH_OTF2_TEST_LIMITED";

/// Runs a test of this file again, in a process that cannot write files of more than `kib`.
fn limited(test: &str, kib: u32) {
    let output = Command::new("bash")
        .arg("-c")
        .arg("trap '' XFSZ; ulimit -f \"$1\"; shift; exec \"$@\"")
        .arg("bash")
        .arg(kib.to_string())
        .arg(std::env::current_exe().expect("this program"))
        .args(["--exact", test, "--nocapture"])
        .env(LIMITED, kib.to_string())
        .output()
        .expect("bash can be started");
    let said = String::from_utf8_lossy(&output.stderr);
    // The library would print errors there.
    assert!(output.status.success() && said.is_empty(), "{said}");
}

#[test]
fn files_that_cannot_grow_are_an_error_when_events_are_written() {
    let Some(library) = library() else { return };
    // The library has a buffer of 4 MiB for a file. Closing the file fails with a limit of 1 KiB,
    // and the second write of the buffer with one of 4.5 MiB, which the temporary file does not reach.
    let Ok(kib) = std::env::var(LIMITED) else {
        for kib in [1, 4608] {
            limited(
                "files_that_cannot_grow_are_an_error_when_events_are_written",
                kib,
            );
        }
        return;
    };
    let place = Place::new();
    let n = if kib == "1" { 200 } else { 550_000 };
    let error = one_location(&library, &place.directory, "a", 0..n).expect_err("there is no space");
    let said = error.to_string();
    assert!(said.starts_with("OTF2 cannot write events: "), "{said}");
    assert!(said.contains("File is too large"), "{said}");
    assert!(!place.anchor().exists());
}

#[test]
fn a_temporary_file_that_cannot_grow_is_an_error() {
    let Some(library) = library() else { return };
    if std::env::var_os(LIMITED).is_none() {
        limited("a_temporary_file_that_cannot_grow_is_an_error", 100);
        return;
    }
    let place = Place::new();
    let error = one_location(&library, &place.directory, "a", 0..100_000).expect_err("no space");
    assert!(matches!(error, Error::Temporary { .. }), "{error}");
    assert!(!place.directory.exists(), "something remains");
}

#[test]
fn a_missing_library_is_an_error_that_says_where_it_is_from() {
    let path = Path::new("/nowhere/libotf2.so.10");
    let Err(error @ Error::NoLibrary { .. }) = Library::open_file(path) else {
        panic!("there is a library")
    };
    let said = error.to_string();
    for part in [
        "looked for /nowhere/libotf2.so.10)",
        "libopen-trace-format2-10",
        "https://www.vi-hps.org",
    ] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn another_library_is_an_error() {
    let refused = Library::open_file(Path::new("libc.so.6")).err();
    let Some(error @ Error::NotOtf2 { .. }) = refused else {
        panic!("{refused:?}")
    };
    assert!(error.to_string().contains("OTF2_Archive_Open"), "{error}");

    let parent = tempfile::tempdir().expect("a temporary directory");
    let text = parent.path().join("text.so");
    fs::write(&text, "not a library").expect("a file");
    let refused = Library::open_file(&text).err();
    let Some(error @ Error::NoLibrary { .. }) = refused else {
        panic!("{refused:?}")
    };
    assert!(error.to_string().contains("text.so: "), "{error}");
}

#[test]
fn a_library_of_another_version_is_refused() {
    let parent = tempfile::tempdir().expect("a temporary directory");
    for version in ["2,3,0", "4,0,0"] {
        let source = parent.path().join("otf2.c");
        let object = parent.path().join(format!("libotf2-{version}.so"));
        fs::write(
            &source,
            format!(
                "static const unsigned char version[3] = {{{version}}};\n\
                 void *OTF2_Archive_Open(void) {{ return (void *)version; }}\n\
                 int OTF2_Archive_SetSerialCollectiveCallbacks(void *a) {{ return 0; }}\n\
                 int OTF2_Archive_GetVersion(void *a, unsigned char *major, unsigned char *minor, \
                 unsigned char *bugfix) {{ *major = version[0]; *minor = version[1]; \
                 *bugfix = version[2]; return 0; }}\n\
                 int OTF2_Archive_Close(void *a) {{ return 0; }}\n\
                 const char *OTF2_Error_GetDescription(int code) {{ return \"\"; }}\n\
                 void *OTF2_Error_RegisterCallback(void *f, void *data) {{ return 0; }}\n"
            ),
        )
        .expect("a file");
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .args([&object, &source])
            .status();
        // Rust links programs by the same command.
        assert!(built.is_ok_and(|status| status.success()), "cc failed");
        let refused = Library::open_file(&object).err();
        let Some(error @ Error::Version { .. }) = refused else {
            panic!("{refused:?}")
        };
        let wanted = format!(
            "is OTF2 {}, but version 3 is needed (3.0 or later)",
            version.replace(',', ".")
        );
        assert!(error.to_string().ends_with(&wanted), "{error}");
    }
}

#[test]
fn a_text_may_be_set_after_the_events_that_refer_to_it() {
    let Some(library) = library() else { return };
    let place = Place::new();
    let mut archive = Archive::create(&library, &place.directory).expect("there is space");
    let host = archive.host("host");
    let process = archive.process("rank 0", host);
    let location = archive.location("thread 0", process);
    let region = archive.region(&Region {
        name: "MPI_Barrier",
        role: RegionRole::Barrier,
        paradigm: Paradigm::Mpi,
        source_file: None,
        begin_line: 0,
    });
    let site = archive.attribute("call site", "where it is", AttributeType::String);
    let [later, never] = [archive.reserve_string(), archive.reserve_string()];
    for (time, text) in [(1, later), (2, never)] {
        let attributes = [(site, AttributeValue::String(text))];
        archive
            .event(location, time, &Event::Enter(region), &attributes)
            .expect("the text is reserved");
        archive
            .event(location, time, &Event::Leave(region), &[])
            .expect("the region is defined");
    }
    archive
        .set_string(later, "MPI_Barrier")
        .expect("it was reserved");
    let named = archive.string("MPI_Barrier");
    let refused = archive.set_string(named, "other").expect_err("it is known");
    assert!(
        matches!(refused, Error::Undefined { .. }),
        "another error: {refused}"
    );
    archive.finish().expect("there is space");
    let shown = print(&place.anchor(), &[]);
    let sites: Vec<&str> = shown
        .lines()
        .filter_map(|line| line.split_once("ATTRIBUTES: "))
        .map(|(_, attributes)| attributes)
        .collect();
    assert_eq!(sites.len(), 2, "{shown}");
    assert!(sites[0].contains("\"MPI_Barrier\""), "{}", sites[0]);
    assert!(sites[1].contains("; \"\" <"), "{}", sites[1]);
}
