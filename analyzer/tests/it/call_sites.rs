//! Calls by the places in the program from which they were made.

use collbench_analyzer::Analysis;
use collbench_analyzer::compare::{Comparison, ComparisonVerdict, SiteFigures};
use collbench_formats::{
    CallSite, CallSiteChange, CallSiteForecast, CompletingCall, Definition, Layer, LayerState,
    Module, NO_CALL_SITE, NO_MODULE, NextCallSite, Operation, Record, SCRIPT, ScriptFunction,
    SiteFrame,
};

use crate::built::{
    START, TestChunk, TestProcess, TestTrace, begin, call, complete, initiation, only,
};

fn site(index: u32) -> Record {
    site_at(index, 1)
}

/// A note, at a time since the start.
fn site_at(index: u32, at: u64) -> Record {
    Record::of_words(CallSiteChange { index }.words(), START + at, 0)
}

fn barrier(stamps: (u64, u64)) -> Record {
    call(Operation::Barrier, 0, -1, 0, stamps)
}

/// Two processes, with `modules` in this order and call sites at these addresses of the module of this
/// name.
fn process(rank: u32, modules: &[&str], sites: &[(&str, u64)]) -> TestProcess {
    let mut process = TestProcess::new(rank, 2);
    let layers = &mut process.identity.layers;
    layers.push(LayerState::new(Layer::Sites, true, ""));
    for (index, path) in (0..).zip(modules) {
        process.definitions.push(Definition::Module(Module {
            index,
            path: (*path).to_owned(),
            build_id: vec![index as u8 ^ rank as u8; usize::from(!path.starts_with("/tmp"))],
        }));
    }
    for (index, (path, address)) in (0..).zip(sites) {
        let module = modules.iter().position(|module| module == path);
        let frame = SiteFrame {
            module: module.map_or(NO_MODULE, |at| at as u32),
            address: *address,
        };
        process.definitions.push(call_site(index, vec![frame]));
    }
    process
}

fn call_site(index: u32, frames: Vec<SiteFrame>) -> Definition {
    Definition::CallSite(CallSite {
        index,
        frames,
        is_whole: true,
    })
}

fn script_function(index: u32, file: &str, name: &str) -> Definition {
    Definition::ScriptFunction(ScriptFunction {
        index,
        file: file.to_owned(),
        name: name.to_owned(),
    })
}

/// A line of a function of a script.
fn script_line(function: u64, line: u64) -> SiteFrame {
    SiteFrame {
        module: SCRIPT,
        address: function << 32 | line,
    }
}

/// Both processes, with the same modules and call sites.
fn both(modules: &[&str], sites: &[(&str, u64)]) -> Vec<TestProcess> {
    (0..2).map(|rank| process(rank, modules, sites)).collect()
}

/// (address, ranks, calls, time, wait) of the places of an operation.
fn places(trace: &TestTrace, operation: &str) -> Vec<(u64, u64, u64, i64, Option<i64>)> {
    let analysis = trace.analyze();
    let sites = only(&analysis, operation).sites.iter();
    sites
        .map(|of| {
            let address = analysis.sites[of.site].frames[0].offset;
            (address, of.ranks, of.calls, of.call_time_ns, of.wait_ns)
        })
        .collect()
}

#[test]
fn calls_are_those_of_the_last_note_and_places_of_several_ranks_are_one() {
    // The second rank has met its modules and places in another order.
    let (app, library) = ("/tmp/app", "/tmp/libx.so");
    let mut first = process(0, &[app, library], &[(app, 16), (library, 32)]);
    let mut second = process(1, &[library, app], &[(library, 32), (app, 16)]);
    first
        .call(site(0))
        .call(barrier((100, 200)))
        .call(barrier((300, 410)))
        .call(site_at(1, 410))
        .call(barrier((500, 600)));
    second
        .call(site(1))
        .call(barrier((150, 200)))
        .call(barrier((300, 400)))
        .call(site_at(0, 400))
        .call(barrier((580, 600)));
    let trace = TestTrace {
        processes: vec![first, second],
    };
    assert_eq!(
        places(&trace, "MPI_Barrier"),
        [
            (16, 2, 4, 100 + 110 + 50 + 100, Some(50)),
            (32, 2, 2, 120, Some(80))
        ]
    );
    let analysis = trace.analyze();
    assert_eq!(analysis.sites.len(), 2);
    let frame = &analysis.sites[0].frames[0];
    assert_eq!(frame.module.as_deref(), Some(app));
    assert_eq!(
        (&frame.build_id, &frame.function, frame.line),
        (&None, &None, None)
    );
    assert_eq!(analysis.sites[0].place(), "app+0x10");
}

#[test]
fn calls_that_follow_from_those_before_need_no_note() {
    let places_of = [("/tmp/app", 16), ("/tmp/app", 32), ("/tmp/app", 48)];
    let mut processes = both(&["/tmp/app"], &places_of);
    let mut n_notes = 0;
    for process in &mut processes {
        // The first rounds of the loop are noted; afterwards each call is expected where it is.
        let mut forecast = CallSiteForecast::default();
        for i in 0..300u32 {
            let (index, at) = (i % 3, u64::from(i) * 100);
            if forecast.clone().take() != index {
                forecast.correct(index);
                let note = NextCallSite { index }.words();
                process.call(Record::of_words(note, START + at, 0));
                n_notes += 1;
            }
            forecast.take();
            let leave = at + 50 + 10 * u64::from(index);
            process.call(barrier((at + 10, leave)));
        }
    }
    assert!(n_notes <= 2 * 8, "{n_notes}");
    let trace = TestTrace { processes };
    let expected = [(48, 60), (32, 50), (16, 40)].map(|(at, ns)| (at, 2, 200, 200 * ns, Some(0)));
    assert_eq!(places(&trace, "MPI_Barrier"), expected);
}

#[test]
fn other_builds_are_other_places_and_generated_code_is_in_no_file() {
    let mut processes = both(&["/opt/app"], &[("/opt/app", 16), ("", 0x7f00)]);
    for process in &mut processes {
        process.call(site(0)).call(barrier((100, 200)));
        process.call(site_at(1, 200)).call(barrier((300, 400)));
    }
    let analysis = TestTrace { processes }.analyze();
    let mut shown: Vec<String> = analysis.sites.iter().map(|site| site.place()).collect();
    shown.sort();
    assert_eq!(shown, ["app+0x10", "app+0x10", "generated code at 0x7f00"]);
    let sites = &only(&analysis, "MPI_Barrier").sites;
    let ranks: Vec<u64> = sites.iter().map(|site| site.ranks).collect();
    assert_eq!(ranks.iter().sum::<u64>(), 4);
}

#[test]
fn a_chunk_begins_at_an_unknown_place_and_so_does_what_a_note_does_not_know() {
    let mut processes = both(&["/tmp/app"], &[("/tmp/app", 16)]);
    for process in &mut processes {
        process.call(site(0)).call(barrier((100, 200)));
        process
            .call(site_at(NO_CALL_SITE, 200))
            .call(barrier((300, 400)));
        // No call site has this index: damage.
        process.call(site_at(7, 400)).call(barrier((500, 600)));
        process.call(site_at(0, 600)).call(barrier((700, 800)));
        process.chunks.push(TestChunk {
            ordinal: 1,
            first_record: 8,
            sequences: vec![(0, 0, 4)],
            records: vec![
                barrier((900, 1000)),
                site_at(0, 1000),
                barrier((1100, 1200)),
            ],
            ..TestChunk::default()
        });
    }
    let trace = TestTrace { processes };
    assert_eq!(places(&trace, "MPI_Barrier"), [(16, 2, 6, 600, Some(0))]);
    let analysis = trace.analyze();
    assert_eq!(only(&analysis, "MPI_Barrier").calls, 12);
}

#[test]
fn a_nonblocking_operation_is_called_where_it_is_initiated() {
    let mut processes = both(&["/tmp/app"], &[("/tmp/app", 16), ("/tmp/app", 32)]);
    for process in &mut processes {
        let of = initiation(0, 0);
        process.call(site(0));
        process.call(begin(Operation::Ibarrier, 0, -1, 0, (100, 110)));
        process.call(site_at(1, 110));
        process.call(complete(of, CompletingCall::Wait, 1, (200, 230)));
    }
    let trace = TestTrace { processes };
    assert_eq!(places(&trace, "MPI_Ibarrier"), [(16, 2, 2, 80, Some(0))]);
}

#[test]
fn a_rank_that_hangs_is_at_the_place_of_its_call() {
    let mut processes = both(&["/tmp/app"], &[("/tmp/app", 16), ("/tmp/app", 32)]);
    for process in &mut processes {
        process.is_finalized = false;
        process.call(site(0)).call(barrier((100, 200)));
    }
    processes[1].call(site_at(1, 200)).call(barrier((300, 0)));
    let analysis = TestTrace { processes }.analyze();
    let hang = analysis.hang.unwrap();
    let at = |rank: usize| hang.ranks[rank].site;
    assert_eq!(at(0), None, "it is in no call");
    assert_eq!(analysis.sites[at(1).unwrap()].frames[0].offset, 32);
    let last = hang.ranks[1].last_call.as_ref().unwrap();
    assert_eq!((last.site, analysis.unfinished[0].site), (at(1), at(1)));
}

#[test]
fn places_do_not_depend_on_the_window_nor_on_what_is_selected_beside_them() {
    let mut processes = both(&["/tmp/app"], &[("/tmp/app", 16), ("/tmp/app", 32)]);
    for (process, late) in processes.iter_mut().zip([0, 7]) {
        for i in 1..300u64 {
            process.call(site_at((i % 7 == 0).into(), i * 100 - 50));
            process.call(barrier((i * 100 + late, i * 100 + 40)));
        }
    }
    let trace = TestTrace { processes };
    let directory = trace.in_directory();
    let sites = |window| {
        let analysis = crate::built::analyze_in_windows(directory.path(), window);
        only(&analysis, "MPI_Barrier").sites.clone()
    };
    let all = sites(1 << 19);
    let calls: Vec<u64> = all.iter().map(|site| site.calls).collect();
    assert_eq!(calls, [2 * (299 - 42), 2 * 42]);
    assert_eq!(all[0].wait_ns, Some(7 * (299 - 42)));
    for window in [1, 2, 64] {
        assert_eq!(sites(window), all, "{window}");
    }
}

#[test]
fn a_line_of_a_script_is_the_same_place_in_all_processes() {
    // The second process has met the functions of the script in another order.
    let mut processes: Vec<TestProcess> = (0..2)
        .map(|rank| {
            let mut process = process(rank, &["/tmp/python"], &[]);
            let mut names = ["solve", "main"];
            if rank == 1 {
                names.reverse();
            }
            for (index, name) in (0..).zip(names) {
                let function = script_function(index, "/x/solver.py", name);
                process.definitions.push(function);
            }
            let interpreter = SiteFrame {
                module: 0,
                address: 64,
            };
            // The last one is of no function: damage.
            let ways = [
                vec![interpreter, script_line(rank.into(), 12)],
                vec![interpreter, script_line(9, 3)],
            ];
            for (index, frames) in (0..).zip(ways) {
                process.definitions.push(call_site(index, frames));
            }
            process
        })
        .collect();
    for process in &mut processes {
        process.call(site(0)).call(barrier((100, 200)));
        process.call(site_at(1, 200)).call(barrier((300, 400)));
    }
    let analysis = TestTrace { processes }.analyze();
    let sites = &only(&analysis, "MPI_Barrier").sites;
    assert_eq!(sites.iter().map(|of| of.calls).collect::<Vec<_>>(), [2, 2]);
    let place = &analysis.sites[sites[0].site];
    assert_eq!(place.place(), "solver.py:12");
    let own = place.own_frame().unwrap();
    assert_eq!(own.function.as_deref(), Some("solve"));
    assert!(analysis.sites[1].place().starts_with("generated code"));
}

/// A trace with a call from each of these lines of one function, and the time of each in ns.
fn with_lines(lines: &[(u32, u64)]) -> Analysis {
    let mut processes = both(&["/tmp/python"], &[]);
    for process in &mut processes {
        let function = script_function(0, "solver.py", "solve");
        process.definitions.push(function);
        for (index, (line, ns)) in (0..).zip(lines) {
            let frames = vec![script_line(0, (*line).into())];
            process.definitions.push(call_site(index, frames));
            let at = 10_000 * u64::from(index) + 1000;
            process.call(site_at(index, at - 1));
            process.call(barrier((at, at + ns)));
        }
    }
    TestTrace { processes }.analyze()
}

#[test]
fn places_that_moved_by_some_lines_are_compared_with_each_other() {
    let before = with_lines(&[(10, 100), (20, 200), (30, 300)]);
    // Four lines were added above, and a call between the second and the third.
    let after = with_lines(&[(14, 100), (24, 900), (27, 50), (34, 310)]);
    let comparison = Comparison::new(&[before, after]);
    let places = comparison.sites.iter().map(|site| {
        let place = |of: &Option<SiteFigures>| of.as_ref().map_or("", |of| &of.place).to_owned();
        let change = site.call_time_ns.difference;
        (place(&site.baseline), place(&site.other), change)
    });
    let expected = [
        ("solver.py:20", "solver.py:24", 2 * 700),
        ("", "solver.py:27", 2 * 50),
        ("solver.py:30", "solver.py:34", 2 * 10),
        ("solver.py:10", "solver.py:14", 0),
    ];
    let expected = expected.map(|(one, two, ns)| (one.to_owned(), two.to_owned(), ns));
    assert_eq!(places.collect::<Vec<_>>(), expected);
}

#[test]
fn places_of_several_runs_of_each_side_are_compared_by_what_runs_differ() {
    let runs = [
        with_lines(&[(10, 100), (20, 200)]),
        with_lines(&[(10, 110), (20, 210)]),
        // One line more, and four lines above.
        with_lines(&[(14, 300), (24, 200), (27, 50)]),
        with_lines(&[(14, 310), (24, 204), (27, 51)]),
    ];
    let comparison = Comparison::of_sides(&runs, 2);
    let sides = comparison.sides.unwrap();
    let found = sides.sites.iter().map(|site| {
        let places = [&site.baseline, &site.other].map(|place| place.as_deref().unwrap_or("-"));
        let times = &site.call_time_ns;
        let of_runs = (times.baseline_ns.clone(), times.other_ns.clone());
        (places, of_runs, times.difference.verdict)
    });
    use ComparisonVerdict::{NotDistinguishable, Slower, TooFew};
    let line = |n: u32| format!("solver.py:{n}");
    let lines = [10, 14, 20, 24, 27].map(line);
    let expected = [
        (
            [&*lines[0], &*lines[1]],
            (vec![200, 220], vec![600, 620]),
            Slower,
        ),
        // Only B has it, which needs no test.
        (["-", &*lines[4]], (vec![0, 0], vec![100, 102]), TooFew),
        (
            [&*lines[2], &*lines[3]],
            (vec![400, 420], vec![400, 408]),
            NotDistinguishable,
        ),
    ];
    assert_eq!(found.collect::<Vec<_>>(), expected);
    assert_eq!(sides.site_tests, 2);
    let difference = &sides.sites[1].call_time_ns.difference;
    assert_eq!((difference.difference_ns, difference.p), (101, None));
}
