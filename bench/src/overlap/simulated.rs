//! Whole measurements of libraries with known progress: the ratios and the diagnosis must be what
//! they have by definition.

use super::diagnosis::Diagnosis;
use super::document::{CellFigures, Document, Empty, MeasuredCell, Surroundings};
use super::driver::measure;
use super::journal::{Journal, Plan};
use super::operation::Operation;
use super::page;
use super::stub::{Progression, Stub};
use super::table;
use crate::Machine;
use collbench_viz::Palette;

/// Largest relative error of a ratio, and largest error of one that is 0.
const ERROR: f64 = 0.05;
const MS: u64 = 1_000_000;

fn plan() -> Plan {
    Plan {
        operations: vec![Operation::Ibcast],
        communication_ns: vec![MS, 4 * MS, 16 * MS],
        computation_ns: vec![MS, 4 * MS, 16 * MS],
        runs: 5,
        memory: 1 << 30,
        threads: vec![1; 4],
        hosts: vec!["a".to_owned(); 4],
        mpi_library: "a library with known progress".to_owned(),
        environment: std::collections::BTreeMap::new(),
        configuration: "basic".to_owned(),
    }
}

fn surroundings() -> Surroundings {
    Surroundings {
        machine: Machine {
            load: Some(0.1),
            ..Machine::here()
        },
        command: Vec::new(),
        has_one_clock: true,
        clock_error_ns: 0.0,
        shares_cores: false,
        host_cores: 4,
    }
}

fn measured(plan: &Plan, mut stub: Stub) -> Document {
    let mut journal = Journal::default();
    measure(plan, &mut stub, &mut journal, |_| ()).unwrap();
    Document::of(plan, &journal, surroundings())
}

/// Checks each cell against (overhead, slowdown, communication), computed from the times alone.
fn check(progression: Progression, expected: impl Fn(f64, f64) -> [f64; 3]) -> Vec<MeasuredCell> {
    let document = measured(&plan(), Stub::new(progression));
    let cells: Vec<_> = document.grids[0].cells.iter().collect();
    assert_eq!(cells.len(), 9);
    let cells = cells.into_iter().map(|cell| cell.measured.clone().unwrap());
    let cells: Vec<MeasuredCell> = cells.collect();
    for cell in &cells {
        let (communication, computation) = (cell.communication_alone_ns, cell.computation_alone_ns);
        let [overhead, slowdown, in_mpi] = expected(communication, computation);
        let ratios = cell.ratios;
        // A communication that is hidden still has its call.
        for (found, right) in [
            (ratios.overhead, overhead),
            (ratios.computation_slowdown, slowdown),
            (ratios.communication, in_mpi),
        ] {
            assert!(
                (found - right).abs() <= ERROR * right.abs().max(1.0),
                "{progression:?}, {communication} {computation}: {found} instead of {right}"
            );
        }
        // Ratios of a process are those of the slowest, since all are alike.
        assert_eq!(cell.processes.len(), 4);
        for of_process in &cell.processes {
            let of_process = of_process.unwrap();
            assert!((of_process.overhead - overhead).abs() <= ERROR * overhead.max(1.0));
        }
    }
    cells
}

fn diagnoses(cells: &[MeasuredCell]) -> Vec<Diagnosis> {
    let mut all: Vec<Diagnosis> = cells.iter().map(|cell| cell.diagnosis).collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[test]
fn progress_in_the_background_is_good_overlap() {
    let cells = check(Progression::Background, |communication, computation| {
        [0.0, 1.0, (1.0 - computation / communication).max(0.0)]
    });
    assert_eq!(diagnoses(&cells), [Diagnosis::GoodOverlap]);
    for cell in cells {
        assert!(cell.osu_percent.unwrap() <= 100.0);
    }
}

#[test]
fn progress_in_the_wait_alone_is_none() {
    let cells = check(Progression::InWait, |_, _| [1.0, 1.0, 1.0]);
    assert_eq!(diagnoses(&cells), [Diagnosis::NoProgression]);
    for cell in cells {
        assert!(cell.osu_percent.unwrap() < 5.0, "{cell:?}");
        assert!(cell.imb_percent.unwrap() < 5.0, "{cell:?}");
    }
}

#[test]
fn a_first_step_alone_is_overlapped() {
    let share = 0.4;
    let cells = check(
        Progression::FirstStep(share),
        |communication, computation| {
            let hidden = computation.min(share * communication);
            let shorter = communication.min(computation);
            [1.0 - hidden / shorter, 1.0, 1.0 - hidden / communication]
        },
    );
    // A computation that is as short as the first step is hidden whole.
    for cell in &cells {
        let is_short = cell.computation_alone_ns < share * cell.communication_alone_ns;
        let expected = if is_short {
            Diagnosis::GoodOverlap
        } else {
            Diagnosis::FirstStepOnly
        };
        assert_eq!(cell.diagnosis, expected, "{cell:?}");
    }
}

#[test]
fn a_computation_that_progress_slows_is_told_and_osu_does_not_see_it() {
    let factor = 2.0;
    let cells = check(
        Progression::Slowing(factor),
        |communication, computation| {
            let slowed = computation * factor;
            let total = slowed.max(communication);
            [
                (total - communication.max(computation)) / communication.min(computation),
                factor,
                (1.0 - slowed / communication).max(0.0),
            ]
        },
    );
    for cell in &cells {
        let is_hidden = cell.computation_alone_ns * factor <= cell.communication_alone_ns;
        let expected = if is_hidden {
            Diagnosis::GoodOverlap
        } else {
            Diagnosis::ComputationSlowed
        };
        assert_eq!(cell.diagnosis, expected, "{cell:?}");
        if !is_hidden {
            assert!(cell.osu_percent.unwrap() > 90.0, "{cell:?}");
        }
    }
}

#[test]
fn contention_is_told_from_a_slow_computation() {
    let cells = check(
        Progression::Contending(1.5, 1.6),
        |communication, computation| {
            let total = 1.6 * communication + 1.5 * computation;
            [
                (total - communication.max(computation)) / communication.min(computation),
                1.5,
                1.6,
            ]
        },
    );
    assert_eq!(diagnoses(&cells), [Diagnosis::ContentionWithoutOverlap]);
}

#[test]
fn two_causes_are_said_where_a_ratio_near_1_has_both() {
    let cells = check(
        Progression::Contending(1.5, 1.0),
        |communication, computation| {
            let total = communication + 1.5 * computation;
            [
                (total - communication.max(computation)) / communication.min(computation),
                1.5,
                1.0,
            ]
        },
    );
    assert_eq!(diagnoses(&cells), [Diagnosis::TwoCauses]);
}

#[test]
fn the_slowest_process_counts_and_each_has_ratios_of_its_own() {
    let mut stub = Stub::new(Progression::InWait);
    stub.is_tree = true;
    let document = measured(&plan(), stub);
    for (_, cell) in document.grids[0].counted() {
        assert!((cell.ratios.overhead - 1.0).abs() < ERROR, "{cell:?}");
        assert!((cell.ratios.communication - 1.0).abs() < ERROR, "{cell:?}");
        // By itself no process has overlap, however short its communication is.
        for own in &cell.processes {
            assert!((own.unwrap().communication - 1.0).abs() < ERROR, "{cell:?}");
        }
    }
    // The mean over the processes, which the other benchmarks take, is 5/8 of the slowest.
    let alone = document.grids[0].communications[0]
        .communication
        .alone
        .as_ref();
    let alone = alone.unwrap();
    let mean = alone.processes_ns.iter().sum::<f64>() / 4.0;
    assert!((mean / alone.slowest_ns - 0.625).abs() < ERROR, "{alone:?}");
}

#[test]
fn the_impact_of_idle_mpi_is_a_ratio_of_its_own() {
    let mut stub = Stub::new(Progression::InWait);
    stub.idle = 1.27;
    let document = measured(&plan(), stub);
    assert_eq!(document.computations.len(), 3);
    for computation in &document.computations {
        let impact = computation.impact.unwrap();
        assert!((impact / 1.27 - 1.0).abs() < ERROR, "{impact}");
        assert_eq!(computation.processes_impact.len(), 4);
    }
    // The reference is that without MPI: the impact does not enter the other ratios.
    for (_, cell) in document.grids[0].counted() {
        assert!((cell.ratios.computation_slowdown - 1.0).abs() < ERROR);
    }
}

#[test]
fn calibrated_times_are_within_a_tenth_of_those_wanted() {
    let document = measured(&plan(), Stub::new(Progression::InWait));
    let near = |found: f64, wanted: u64| (found / wanted as f64 - 1.0).abs() < 0.1 + ERROR;
    for cell in &document.grids[0].cells {
        let found = cell.measured.as_ref().unwrap();
        assert!(near(found.communication_alone_ns, cell.communication_ns));
        assert!(near(found.computation_alone_ns, cell.computation_ns));
    }
}

#[test]
fn a_size_that_was_found_during_a_disturbance_is_searched_again() {
    // Some of these end after a size was found, and before its reference was measured.
    for disturbed in 0..40 {
        let mut stub = Stub::new(Progression::InWait);
        stub.disturbed = disturbed;
        let document = measured(&plan(), stub);
        for figures in &document.computations {
            let computation = &figures.computation;
            let found = computation.without_mpi.as_ref().unwrap().slowest_ns;
            let error = found / computation.wanted_ns as f64 - 1.0;
            assert!(error.abs() <= 0.2, "{disturbed}: {computation:?}");
        }
    }
}

fn empty(cells: &[CellFigures]) -> Vec<Option<Empty>> {
    cells.iter().map(|cell| cell.empty).collect()
}

#[test]
fn cells_beyond_the_memory_are_left_empty_and_said() {
    let mut stub = Stub::new(Progression::InWait);
    // 2 ns an element: some 4 ms.
    stub.longest = 2_000_000;
    let document = measured(&plan(), stub);
    let cells = &document.grids[0].cells;
    assert_eq!(empty(&cells[..6]), [None; 6]);
    assert_eq!(empty(&cells[6..]), [Some(Empty::Memory); 3]);
    assert!(cells[6..].iter().all(|cell| cell.measured.is_none()));
    assert_eq!(
        document.invalid,
        ["MPI_Ibcast of 16 ms: more memory is needed than --memory allows"]
    );
}

#[test]
fn far_corners_are_marked_and_in_no_region() {
    let plan = Plan {
        communication_ns: vec![MS, 100 * MS],
        computation_ns: vec![MS, 100 * MS],
        ..plan()
    };
    let document = measured(&plan, Stub::new(Progression::InWait));
    let grid = &document.grids[0];
    let far: Vec<bool> = grid.cells.iter().map(|cell| cell.is_far).collect();
    assert_eq!(far, [false, true, true, false]);
    let cells: Vec<usize> = grid.regions.iter().map(|region| region.cells).collect();
    assert_eq!(cells, [1, 1]);
    assert_eq!(grid.regions[0].diagnosis, Diagnosis::NoProgression);
}

#[test]
fn runs_that_begin_late_do_not_count_and_are_counted() {
    let mut stub = Stub::new(Progression::InWait);
    stub.late_every = 3;
    let document = measured(&plan(), stub);
    for (_, cell) in document.grids[0].counted() {
        assert_eq!(cell.runs_ns.len(), 5);
        assert!(cell.late > 0);
        assert!((cell.ratios.overhead - 1.0).abs() < ERROR, "{cell:?}");
    }
    assert!(document.invalid[0].contains("began too late"));
}

#[test]
fn a_machine_on_which_all_runs_are_late_gives_empty_cells_and_says_why() {
    let mut stub = Stub::new(Progression::InWait);
    stub.late_every = 1;
    let document = measured(&plan(), stub);
    assert_eq!(empty(&document.grids[0].cells), [Some(Empty::Late); 9]);
    assert!(document.computations.iter().all(|one| one.impact.is_none()));
    assert_eq!(document.invalid.len(), 6, "{:?}", document.invalid);
    assert!(document.invalid[0].contains("no run began at the same time"));
}

#[test]
fn an_interrupted_measurement_continues_and_gives_what_a_whole_one_gives() {
    let plan = plan();
    let folder = tempfile::tempdir().unwrap();
    let mut n_interruptions = 0;
    let interrupted = loop {
        let mut journal = Journal::open(folder.path(), &plan).unwrap();
        let before = journal.cells.len();
        let mut stub = Stub::new(Progression::FirstStep(0.4));
        stub.runs_left = 60;
        let result = measure(&plan, &mut stub, &mut journal, |_| ());
        let document = Document::of(&plan, &journal, surroundings());
        if result.is_ok() {
            break document;
        }
        let missing = Some(Empty::NotYetMeasured);
        assert!(empty(&document.grids[0].cells).contains(&missing));
        n_interruptions += 1;
        assert!(n_interruptions < 20 && journal.cells.len() >= before);
    };
    assert!(n_interruptions > 1);
    let whole = measured(&plan, Stub::new(Progression::FirstStep(0.4)));
    for (a, b) in interrupted.grids[0].cells.iter().zip(&whole.grids[0].cells) {
        let [a, b] = [a, b].map(|cell| cell.measured.as_ref().unwrap());
        assert_eq!(a.diagnosis, b.diagnosis);
        assert!((a.ratios.overhead - b.ratios.overhead).abs() < ERROR);
    }
}

#[test]
fn progress_counts_up_and_the_estimate_down() {
    let plan = plan();
    let mut told = Vec::new();
    let mut stub = Stub::new(Progression::InWait);
    measure(&plan, &mut stub, &mut Journal::default(), |progress| {
        told.push(progress.clone());
    })
    .unwrap();
    assert_eq!(told.len(), 1 + 3 + 3 + 9);
    for pair in told.windows(2) {
        assert_eq!(pair[0].done + 1, pair[1].done);
        assert!(pair[0].remaining_ns > pair[1].remaining_ns);
    }
    let last = told.last().unwrap();
    assert_eq!((last.done, last.all, last.remaining_ns), (15, 15, 0));
}

#[test]
fn a_host_that_was_busy_before_is_said() {
    let mut surroundings = surroundings();
    surroundings.machine.load = Some(2.5);
    let document = Document::of(&plan(), &Journal::default(), surroundings);
    assert!(document.invalid[0].starts_with("load 2.5 on 4 cores"));
}

#[test]
fn pages_and_pictures_of_several_documents_have_names_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let basic = measured(&plan(), Stub::new(Progression::InWait));
    let mut progress = measured(&plan(), Stub::new(Progression::Slowing(2.0)));
    progress.plan.configuration = "progress thread".to_owned();
    let documents = [basic, progress];
    page::write(&documents, Palette::Lightness, folder.path()).unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let overhead = read("overhead-ibcast-1.svg");
    assert!(overhead.contains("basic: overhead ratio"));
    assert!(overhead.contains("progress thread: overhead ratio"));
    assert!(read("concurrency-ibcast-2.svg").contains("computation slowed"));
    assert!(read("impact.svg").contains("1.00 to 1.00 times"));
    let page = read("overlap.html");
    for words in [
        "no progression (9 of 9 cells)",
        "progress thread",
        "What ran",
    ] {
        assert!(page.contains(words), "{words}");
    }
    let mut text = Vec::new();
    table::write(&documents, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("no progression (9 of 9 cells)"), "{text}");
    let mut text = Vec::new();
    table::write(&documents[..1], &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(
        text.contains("No progression: 9 cells, communication 1 ms to 16 ms"),
        "{text}"
    );
}

#[test]
fn a_document_is_read_as_it_was_written() {
    let document = measured(&plan(), Stub::new(Progression::Background));
    let text = serde_json::to_string(&document).unwrap();
    let read: Document = serde_json::from_str(&text).unwrap();
    // The last digit of a number may differ.
    assert_eq!(read.plan, document.plan);
    assert_eq!(read.invalid, document.invalid);
    assert_eq!(read.grids[0].regions, document.grids[0].regions);
    for (a, b) in read.grids[0].counted().zip(document.grids[0].counted()) {
        assert!((a.1.ratios.overhead - b.1.ratios.overhead).abs() < 1e-9);
        assert_eq!(a.1.diagnosis, b.1.diagnosis);
    }
    assert!(read.has_this_schema());
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["schema"], "collbench.bench.overlap/1");
    assert_eq!(value["grids"][0]["operation"], "MPI_Ibcast");
    assert_eq!(
        value["grids"][0]["cells"][0]["measured"]["diagnosis"],
        "good_overlap"
    );
}
