//! Recording does not lose, invent or confuse a call, whatever way the program is started in.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use collbench_tests::{
    Analysis, Form, Job, Workspace, analyze, calls_by_class, command, have, mpirun, program, run,
    run_in, skip_unless, source_dir, sum, target_dir,
};
use serde_json::Value;

const MPI: &[&str] = &["mpirun", "mpicc"];

/// What `every` says about its own calls.
struct OwnCount {
    calls_by_class: BTreeMap<String, u64>,
    first_of_instances: BTreeMap<String, u64>,
    handles_reused: u64,
}

fn own_counts(workspace: &Workspace, ranks: usize) -> Vec<OwnCount> {
    (0..ranks)
        .map(|rank| {
            let text = fs::read_to_string(workspace.join(format!("every.{rank}.json"))).unwrap();
            let count: Value = serde_json::from_str(&text).unwrap();
            let table = |name: &str| serde_json::from_value(count[name].clone()).unwrap();
            OwnCount {
                calls_by_class: table("calls_by_class"),
                first_of_instances: table("instances"),
                handles_reused: count["handles_reused"].as_u64().unwrap(),
            }
        })
        .collect()
}

#[track_caller]
fn check_every(analysis: &Analysis, own: &[OwnCount]) {
    let mut all_calls = 0;
    for (rank, own) in own.iter().enumerate() {
        let entry = analysis.rank(rank);
        assert_eq!(calls_by_class(entry), own.calls_by_class, "rank {rank}");
        let calls: u64 = own.calls_by_class.values().sum();
        assert_eq!(entry["calls"], calls, "rank {rank}");
        all_calls += calls;

        let mut by_operation = BTreeMap::new();
        for (class, calls) in &own.calls_by_class {
            let operation = class.split(':').next().unwrap();
            *by_operation.entry(operation.to_owned()).or_insert(0) += calls;
        }
        let found: BTreeMap<String, u64> =
            serde_json::from_value(entry["calls_by_operation"].clone()).unwrap();
        assert_eq!(found, by_operation, "rank {rank}");
    }
    assert_eq!(analysis.json["trace"]["calls"], all_calls);
    assert_eq!(analysis.json["trace"]["ranks"], own.len());
    assert_eq!(analysis.json["trace"]["complete"], true);
    assert_eq!(analysis.array("/trace/damage"), [] as [Value; 0]);
    assert_eq!(analysis.array("/trace/hosts").len(), 1);

    let operations = analysis.array("/operations");
    assert_eq!(sum(operations, "calls"), i64::try_from(all_calls).unwrap());
    assert_eq!(
        sum(operations, "incomplete"),
        0,
        "some calls were not matched"
    );
    let totals = analysis.json["totals"].as_object().unwrap();
    let mut instances = BTreeMap::new();
    for own in own {
        for (operation, first) in &own.first_of_instances {
            *instances.entry(operation.as_str()).or_insert(0) += first;
        }
    }
    // How many instances these are is a matter of definition: their callers are not the processes
    // of the communicator that they are called on.
    for operation in ["MPI_Intercomm_create", "MPI_Comm_create_group"] {
        instances.remove(operation);
    }
    for (operation, instances) in instances {
        assert_eq!(
            totals[operation]["instances"], instances,
            "instances of {operation}"
        );
    }
}

#[test]
fn every_call_on_every_kind_of_communicator_is_counted_in_its_class() {
    skip_unless!(have(MPI));
    let workspace = Workspace::new();
    let here = workspace.path().to_str().unwrap();
    let job = Job::new(4, program("every.c"), &[here]);
    let trace = job.record_as_plain(workspace.path());
    let own = own_counts(&workspace, 4);
    assert!(
        own.iter().all(|own| own.handles_reused > 0),
        "no handle was used again: no test"
    );
    check_every(&analyze(&trace, &[]).expect(0), &own);
}

#[test]
fn the_inner_form_counts_every_call_too() {
    skip_unless!(have(MPI));
    let workspace = Workspace::new();
    let here = workspace.path().to_str().unwrap();
    // An odd number: communicators with unequal halves.
    let job = Job {
        form: Form::Inner,
        ..Job::new(3, program("every.c"), &[here])
    };
    let trace = job.record_as_plain(workspace.path());
    check_every(&analyze(&trace, &[]).expect(0), &own_counts(&workspace, 3));
}

#[test]
fn every_clock_gives_the_same_counts() {
    skip_unless!(have(MPI));
    for clock in ["raw", "monotonic"] {
        let workspace = Workspace::new();
        let here = workspace.path().to_str().unwrap();
        let options = ["--clock", clock];
        let job = Job {
            options: &options,
            ..Job::new(3, program("every.c"), &[here])
        };
        let analysis = job.analyzed(workspace.path());
        check_every(&analysis, &own_counts(&workspace, 3));
        let source = analysis.json["clock"]["source"].to_string().to_lowercase();
        assert!(source.contains(clock), "asked for {clock}, got {source}");
    }
}

#[test]
fn four_threads_in_collectives_at_once_lose_nothing() {
    skip_unless!(have(MPI));
    let workspace = Workspace::new();
    let job = Job::new(2, program("threads.c"), &["100"]);
    let analysis = job.analyzed(workspace.path());
    let expected = BTreeMap::from(
        [
            ("MPI_Allreduce", 100 + 200 + 300 + 400),
            ("MPI_Barrier", 99 + 199 + 299 + 399),
            ("MPI_Comm_dup", 4),
            ("MPI_Comm_free", 4),
        ]
        .map(|(name, calls)| (name.to_owned(), calls)),
    );
    for rank in 0..2 {
        assert_eq!(calls_by_class(analysis.rank(rank)), expected, "rank {rank}");
    }
    // The communicators of the threads are made at one place of the program: they are one row, and each has complete
    // instances.
    let allreduces = analysis.array("/operations").iter();
    let allreduces = allreduces.filter(|operation| operation["operation"] == "MPI_Allreduce");
    let instances: Vec<_> = allreduces
        .map(|operation| operation["instances"].as_u64())
        .collect();
    assert_eq!(instances, [Some(100 + 200 + 300 + 400)]);
    assert_eq!(sum(analysis.array("/operations"), "incomplete"), 0);
}

#[test]
fn ranks_whose_chunks_end_at_different_calls_are_still_matched_call_by_call() {
    skip_unless!(have(MPI));
    let workspace = Workspace::new();
    let (shared, threads) = (9000, 500);
    let arguments = [shared.to_string(), threads.to_string()];
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let job = Job::new(3, program("uneven.c"), &arguments);
    let trace = job.recorded(workspace.path());
    let analysis = analyze(&trace, &[]).expect(0);
    let on_the_duplicate = analysis
        .array("/operations")
        .iter()
        .find(|entry| entry["operation"] == "MPI_Barrier" && entry["calls"] == 3 * shared)
        .expect("the barriers on the communicator of MPI_Comm_idup");
    assert_eq!(on_the_duplicate["instances"], shared);
    assert_eq!(sum(analysis.array("/operations"), "incomplete"), 0);
    // A call matched with its neighbour's shows as an instance that a rank left before the last
    // one came.
    let remarks = analysis.array("/remarks");
    for code in ["negative_core", "unknown_communicator", "sequence_conflict"] {
        assert!(
            remarks.iter().all(|remark| remark["code"] != code),
            "{remarks:?}"
        );
    }
    for rank in 0..3 {
        let own = 700 * rank + (shared + rank + 1) / (rank + 2);
        let own = own + if rank == 0 { threads } else { 0 };
        let calls = calls_by_class(analysis.rank(rank as usize));
        assert_eq!(calls["MPI_Barrier:self"], own as u64, "rank {rank}");
    }
    // Threads that have ended give their chunk to the next.
    let bytes: u64 = std::fs::read_dir(&trace)
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    assert!(bytes < 6_000_000, "{bytes} bytes");
}

#[test]
fn collectives_of_the_mpi_library_itself_are_not_counted() {
    skip_unless!(have(MPI));
    // ROMIO calls MPI's collectives for files, Open MPI's own component has others.
    for component in ["romio321", "ompio"] {
        let workspace = Workspace::new();
        let launcher_options = ["--mca", "io", component];
        let job = Job {
            launcher_options: &launcher_options,
            ..Job::new(
                4,
                program("file.c"),
                &[workspace.join("out").to_str().unwrap()],
            )
        };
        let analysis = job.analyzed(workspace.path());
        for rank in 0..4 {
            assert_eq!(
                calls_by_class(analysis.rank(rank)),
                BTreeMap::from([("MPI_Barrier".to_owned(), 2)]),
                "rank {rank} with {component}"
            );
        }
    }
}

#[test]
fn the_recorder_adds_one_line_to_what_the_program_says_and_it_names_the_next_command() {
    skip_unless!(have(MPI));
    for form in [Form::Outer, Form::Inner] {
        let workspace = Workspace::new();
        let job = Job {
            form,
            ..Job::new(2, program("many.c"), &["1000"])
        };
        let plain = job.plain(workspace.path()).expect(0);
        let (finished, _) = job.record(workspace.path());
        let finished = finished.expect(0);
        assert_eq!(finished.sorted_lines(), plain.sorted_lines(), "{form:?}");

        let (ours, others): (Vec<_>, Vec<_>) = finished
            .stderr
            .lines()
            .partition(|line| line.contains("collbench"));
        assert_eq!(others, plain.stderr.lines().collect::<Vec<_>>(), "{form:?}");
        let [line] = ours[..] else {
            panic!("{form:?}: not one line: {finished}")
        };
        assert!(line.contains("collbench-analyze trace"), "{form:?}: {line}");
        assert!(line.contains("2 ranks"), "{form:?}: {line}");
        let digits: String = line.chars().filter(char::is_ascii_digit).collect();
        assert!(
            digits.contains("2002"),
            "{form:?}: 2 ranks of 1001 calls: {line}"
        );
    }
}

#[test]
fn the_trace_says_which_layers_are_in_it_and_what_was_run() {
    skip_unless!(have(MPI));
    for (options, layers) in [(&[][..], "default"), (&["--layers", "calls"], "calls")] {
        let workspace = Workspace::new();
        let many = program("many.c");
        let job = Job {
            options,
            ..Job::new(2, &many, &["5"])
        };
        let trace = job.recorded(workspace.path());
        let analysis = analyze(&trace, &[]).expect(0);
        let trace = &analysis.json["trace"];
        assert_eq!(trace["layers"]["calls"]["on"], true, "{layers}");
        for layer in ["messages", "algorithms"] {
            let layer = &trace["layers"][layer];
            assert_eq!(layer["on"], layers == "default", "{layer}");
            assert!(
                layer["on"] == true || layer["reason"].is_string(),
                "off without a reason"
            );
        }
        let words: Vec<_> = trace["command"].as_array().unwrap().iter().collect();
        assert!(
            words.iter().any(|word| **word == many.to_str().unwrap()),
            "{words:?}"
        );
        assert!(
            trace["mpi_library"].as_str().unwrap().contains("Open MPI"),
            "{trace}"
        );
    }
}

#[test]
fn shells_between_the_launcher_and_the_program_do_no_harm() {
    skip_unless!(have(MPI));
    let many = program("many.c");
    let script = format!("true; env {} 50; exit $?", many.display());
    for form in [Form::Outer, Form::Inner] {
        let workspace = Workspace::new();
        let job = Job {
            form,
            ..Job::new(2, "sh", &["-c", &script])
        };
        let plain = job.plain(workspace.path()).expect(0);
        let (finished, trace) = job.record(workspace.path());
        let finished = finished.expect(0);
        assert_eq!(finished.sorted_lines(), plain.sorted_lines());
        let analysis = analyze(&trace, &[]).expect(0);
        assert_eq!(analysis.json["trace"]["calls"], 2 * 51, "{form:?}");
    }
}

#[test]
fn a_launcher_inside_of_a_script_is_recorded() {
    skip_unless!(have(MPI));
    let workspace = Workspace::new();
    let launcher = mpirun(3).join(" ".as_ref()).into_string().unwrap();
    let script = format!("cd / && {launcher} {} 20", program("many.c").display());
    run_in(
        workspace.path(),
        &[],
        &[
            command("collbench-record").to_str().unwrap(),
            "-o",
            "trace",
            "--",
            "sh",
            "-c",
            &script,
        ],
    )
    .expect(0);
    let analysis = analyze(&workspace.join("trace"), &[]).expect(0);
    assert_eq!(analysis.json["trace"]["calls"], 3 * 21);
}

#[test]
fn the_trace_goes_where_the_command_was_given_even_if_the_program_goes_elsewhere() {
    skip_unless!(have(MPI));
    for form in [Form::Outer, Form::Inner] {
        let workspace = Workspace::new();
        let elsewhere = workspace.join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        let elsewhere_name = elsewhere.to_str().unwrap();
        let job = Job {
            form,
            ..Job::new(2, program("many.c"), &["5", elsewhere_name])
        };
        let trace = job.recorded(workspace.path());
        assert_eq!(
            analyze(&trace, &[]).expect(0).json["trace"]["calls"],
            2 * 6,
            "{form:?}"
        );
        assert_eq!(
            fs::read_dir(&elsewhere).unwrap().count(),
            0,
            "{form:?}: files left elsewhere"
        );
    }
}

#[test]
fn a_library_that_was_preloaded_before_stays_and_the_trace_is_the_same() {
    skip_unless!(have(MPI));
    let other = program("other_preload.c");
    for form in [Form::Outer, Form::Inner] {
        let workspace = Workspace::new();
        // Set for the ranks alone: the tools around them are not what is tested.
        let set = format!("LD_PRELOAD={}", other.display());
        let mut job = Job {
            form,
            ..Job::new(2, program("many.c"), &["5"])
        };
        let program_words = std::mem::take(&mut job.program);
        let (finished, trace) = match form {
            Form::Outer => {
                let variables = [("LD_PRELOAD", other.to_str().unwrap())];
                job.program = program_words;
                Job {
                    variables: &variables,
                    ..job
                }
                .record(workspace.path())
            }
            Form::Inner => {
                // mpirun env LD_PRELOAD=other collbench-record -- program
                let line = [
                    mpirun(2),
                    [
                        "env",
                        &set,
                        command("collbench-record").to_str().unwrap(),
                        "-o",
                        "trace",
                    ]
                    .map(Into::into)
                    .to_vec(),
                    vec!["--".into()],
                    program_words,
                ]
                .concat();
                (
                    run_in(workspace.path(), &[], &line),
                    workspace.join("trace"),
                )
            }
        };
        let finished = finished.expect(0);
        let here = finished
            .stderr
            .matches("the other preloaded library is here")
            .count();
        assert!(here >= 2, "{form:?}: loaded {here} times: {finished}");
        assert_eq!(
            analyze(&trace, &[]).expect(0).json["trace"]["calls"],
            2 * 6,
            "{form:?}"
        );
    }
}

#[test]
fn a_program_built_with_address_sanitizer_runs_and_no_leak_is_reported_of_the_recorder() {
    skip_unless!(have(MPI));
    // What leaks is the MPI library's.
    let leaked = |finished: &collbench_tests::Finished| -> u64 {
        let ends = finished.stderr.split("SUMMARY: AddressSanitizer: ").skip(1);
        // Of the process that leaks most: when the first one has failed, the launcher may end the other one
        // before it has said anything.
        ends.filter_map(|end| end.split(' ').next()?.parse::<u64>().ok())
            .max()
            .unwrap_or(0)
    };
    for form in [Form::Outer, Form::Inner] {
        for variables in [&[("ASAN_OPTIONS", "detect_leaks=0")][..], &[]] {
            let workspace = Workspace::new();
            let job = Job {
                form,
                variables,
                ..Job::new(2, program("many.c sanitized"), &["50"])
            };
            let plain = job.plain(workspace.path());
            let (recorded, trace) = job.record(workspace.path());
            let recorded = recorded.expect(plain.status);
            assert_eq!(recorded.status == 0, !variables.is_empty(), "{recorded}");
            assert_eq!(recorded.sorted_lines(), plain.sorted_lines());
            // What the recorder keeps for ever is more than that.
            let (with, without) = (leaked(&recorded), leaked(&plain));
            assert!(with < without + 5_000, "{with}, {without}: {recorded}");
            assert_eq!(
                analyze(&trace, &[]).expect(0).json["trace"]["calls"],
                2 * 51,
                "{form:?}"
            );
        }
    }
}

#[test]
fn variables_for_the_ranks_are_left_as_they_are() {
    skip_unless!(have(MPI));
    let launcher_options = ["-x", "GREETING=hello"];
    for form in [Form::Outer, Form::Inner] {
        let workspace = Workspace::new();
        let job = Job {
            form,
            launcher_options: &launcher_options,
            ..Job::new(2, program("many.c"), &["5"])
        };
        let (finished, trace) = job.record(workspace.path());
        let finished = finished.expect(0);
        assert_eq!(
            finished.sorted_lines(),
            ["rank 0 done hello", "rank 1 done hello"]
        );
        assert_eq!(
            analyze(&trace, &[]).expect(0).json["trace"]["calls"],
            2 * 6,
            "{form:?}"
        );
    }
}

#[test]
fn the_preloaded_library_does_not_need_an_mpi_library() {
    let library = command("libcollbench_preload.so");
    let dynamic = run(&["readelf", "-d", library.to_str().unwrap()]).expect(0);
    let needed: Vec<_> = dynamic
        .stdout
        .lines()
        .filter(|line| line.contains("(NEEDED)"))
        .collect();
    assert!(!needed.is_empty(), "not even the C library? {dynamic}");
    assert!(
        !needed.iter().any(|line| line.contains("mpi")),
        "{needed:?}"
    );
}

#[test]
fn the_preloaded_library_has_every_routine_under_both_of_its_names() {
    let library = command("libcollbench_preload.so");
    let symbols = run(&["nm", "-D", "--defined-only", library.to_str().unwrap()]).expect(0);
    let defined: Vec<_> = symbols
        .stdout
        .lines()
        .filter_map(|line| line.split_whitespace().last())
        .collect();

    let with_large_counts = [
        "Bcast",
        "Gather",
        "Gatherv",
        "Scatter",
        "Scatterv",
        "Allgather",
        "Allgatherv",
        "Alltoall",
        "Alltoallv",
        "Alltoallw",
        "Reduce",
        "Allreduce",
        "Reduce_scatter",
        "Reduce_scatter_block",
        "Scan",
        "Exscan",
    ];
    let others = [
        "Init",
        "Init_thread",
        "Finalize",
        "Abort",
        "Barrier",
        "Comm_dup",
        "Comm_dup_with_info",
        "Comm_idup",
        "Comm_split",
        "Comm_split_type",
        "Comm_create",
        "Comm_create_group",
        "Cart_create",
        "Cart_sub",
        "Graph_create",
        "Dist_graph_create",
        "Dist_graph_create_adjacent",
        "Intercomm_create",
        "Intercomm_merge",
        "Comm_free",
    ];
    let large = with_large_counts.iter().map(|name| format!("{name}_c"));
    let missing: Vec<_> = with_large_counts
        .iter()
        .chain(&others)
        .map(ToString::to_string)
        .chain(large)
        // Open MPI's Fortran bindings call the second of them.
        .flat_map(|name| [format!("MPI_{name}"), format!("PMPI_{name}")])
        .filter(|name| !defined.contains(&name.as_str()))
        .collect();
    assert!(missing.is_empty(), "missing: {missing:?}");

    // What of UCX is handed on, to see the messages of MPICH.
    let of_ucx = [
        "ucp_ep_create",
        "ucp_tag_recv_nbx",
        "ucp_tag_send_nbx",
        "ucp_tag_send_sync_nbx",
        "ucp_worker_get_address",
    ];
    assert!(of_ucx.iter().all(|name| defined.contains(name)));
    // The algorithms of Open MPI.
    let is_algorithm = |name: &str| name.starts_with("ompi_coll_base_") && name.contains("_intra_");
    assert!(defined.iter().filter(|name| is_algorithm(name)).count() > 60);

    // What Open MPI makes communicators with.
    let of_making = [
        "ompi_comm_activate",
        "ompi_comm_activate_nb",
        "ompi_comm_idup",
        "ompi_comm_idup_with_info",
        "ompi_comm_nextcid",
        "ompi_comm_request_get",
        "ompi_comm_request_schedule_append",
        "ompi_comm_set",
    ];
    assert!(of_making.iter().all(|name| defined.contains(name)));

    // Nothing else that could take the place of something in a program.
    let foreign: Vec<_> = defined
        .iter()
        .filter(|name| {
            !["MPI_", "PMPI_", "collbench_"]
                .iter()
                .any(|p| name.starts_with(p))
        })
        // MPI's persistent collectives before MPI 4, and a Rust library's own.
        .filter(|name| {
            !["MPIX_", "PMPIX_", "rust_"]
                .iter()
                .any(|p| name.starts_with(p))
        })
        .filter(|name| !of_ucx.contains(name) && !of_making.contains(name))
        .filter(|name| !is_algorithm(name))
        .collect();
    assert!(foreign.is_empty(), "also defined: {foreign:?}");
}

#[test]
fn the_commands_say_who_they_are_and_refuse_what_they_do_not_know() {
    for name in [
        "collbench-record",
        "collbench-analyze",
        "collbench-generate",
        "collbench-tree",
        "collbench-tune",
        "collbench-export",
    ] {
        let path = command(name);
        let path = path.to_str().unwrap();
        let version = run(&[path, "--version"]).expect(0);
        assert!(
            version.stdout.starts_with(&format!("{name} 0.1.0")),
            "{version}"
        );
        let help = run(&[path, "--help"]).expect(0);
        assert!(help.stdout.contains("Usage:"), "{help}");
        let usage = run(&[path, "--no-such-option"]).expect(2);
        assert!(usage.stdout.is_empty(), "{usage}");
        usage.must_say("--no-such-option");
        run(&[path]).expect(2);
    }
}

#[test]
fn installed_commands_record_and_bring_their_manuals_and_completions() {
    skip_unless!(have(MPI));
    let workspace = Workspace::new();
    let prefix = workspace.join("prefix");
    let script = source_dir().join("../scripts/install.sh");
    run_in(
        workspace.path(),
        &[("CARGO_TARGET_DIR", target_dir().to_str().unwrap())],
        &[script.to_str().unwrap(), prefix.to_str().unwrap()],
    )
    .expect(0);

    // The library is found in ../lib, not in cargo's folder.
    let recorder = prefix.join("bin/collbench-record");
    let line = [
        [
            recorder.as_os_str(),
            "-o".as_ref(),
            "trace".as_ref(),
            "--".as_ref(),
        ]
        .map(Into::into)
        .to_vec(),
        mpirun(2),
        vec![program("many.c").into(), "5".into()],
    ]
    .concat();
    run_in(workspace.path(), &[], &line).expect(0);
    let analyzer = prefix.join("bin/collbench-analyze");
    let text = run(&[analyzer.as_os_str(), workspace.join("trace").as_os_str()]).expect(0);
    assert!(text.stdout.contains("MPI_Barrier"), "{text}");

    for name in [
        "collbench-record",
        "collbench-analyze",
        "collbench-generate",
        "collbench-tree",
        "collbench-tune",
        "collbench-export",
    ] {
        let manual = fs::read_to_string(prefix.join(format!("share/man/man1/{name}.1"))).unwrap();
        assert!(manual.contains(".SH OPTIONS"), "{name}: {manual}");
        let completions = prefix.join(format!("share/bash-completion/completions/{name}"));
        let completions = fs::read_to_string(completions).unwrap();
        assert!(completions.contains("--help"), "{name}: {completions}");
    }
}

#[test]
fn a_closed_pipe_ends_the_analyzer_quietly() {
    skip_unless!(have(MPI));
    let workspace = Workspace::new();
    let trace = Job::new(2, program("many.c"), &["5"]).recorded(workspace.path());
    let script = format!(
        "{} --no-pictures --format json {} | head -c 1",
        command("collbench-analyze").display(),
        trace.display()
    );
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert_eq!(output.stdout, b"{");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
