//! Commands that cannot be run, programs without MPI, libraries that are not loaded: said clearly,
//! and the exit status is that of the command.

use std::fs;

use collbench_tests::{
    Job, Workspace, analyze, command, have, mpirun, program, rank_files, run, run_in, skip_unless,
};

use super::{MPI, damage_of, good_trace, record_command};

#[test]
fn a_program_that_never_calls_mpi_is_undisturbed_and_the_empty_trace_is_an_error() {
    skip_unless!(have(&["gcc"]));
    let workspace = Workspace::new();
    for source in ["quiet.c", "quiet.c static"] {
        let quiet = program(source);
        let quiet = quiet.to_str().unwrap();
        let script = format!("printf 'some\\ninput' | {quiet} \"$@\"");
        for (status, expected) in [("0", 125), ("3", 3)] {
            let words = ["--", "sh", "-c", &script, "sh", status];
            let name = format!("trace-{}-{status}", source.len());
            let finished = record_command(&workspace, &["-o", &name], &words).expect(expected);
            assert_eq!(finished.stdout, "some\ninput", "{source}");
            finished.must_say("quiet ends\n");
            finished.must_say("nothing was recorded");
            if status == "0" {
                // A likely cause.
                finished.must_say("static");
            }
        }
    }
}

#[test]
fn a_job_without_mpi_under_a_launcher_is_undisturbed_too() {
    skip_unless!(have(MPI));
    let workspace = Workspace::new();
    let job = Job::new(2, program("quiet.c"), &["0"]);
    job.plain(workspace.path()).expect(0);
    let (finished, trace) = job.record(workspace.path());
    let finished = finished.expect(125);
    assert_eq!(
        finished.stderr.matches("quiet ends").count(),
        2,
        "{finished}"
    );
    // A likely cause.
    finished.must_say("static");
    // An empty trace is nothing to analyze.
    let analysis = analyze(&trace, &[]).expect(1);
    analysis.finished.must_say("trace");
}

#[test]
fn the_status_is_that_of_the_command_or_as_in_a_shell() {
    let workspace = Workspace::new();
    let not_executable = workspace.join("not-executable");
    fs::write(&not_executable, "#!/bin/sh\n").unwrap();
    let not_executable = not_executable.to_str().unwrap();
    for (index, (words, status)) in [
        (&["sh", "-c", "exit 42"][..], 42),
        (&["sh", "-c", "kill -TERM $$"], 128 + 15),
        (&["./no-such-program"], 127),
        (&["no-such-program-in-path"], 127),
        (&[not_executable], 126),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("trace-{index}");
        let words = [&["--"], words].concat();
        record_command(&workspace, &["-o", &name], &words).expect(status);
        // The same words without the dashes.
        let name = format!("trace-{index}-again");
        record_command(&workspace, &["-o", &name], &words[1..]).expect(status);
    }
}

#[test]
fn a_command_that_cannot_be_run_leaves_the_old_trace_as_it_was() {
    skip_unless!(have(MPI));
    let workspace = Workspace::new();
    let trace = good_trace(&workspace, 2);
    let before = fs::read(&rank_files(&trace)[0]).unwrap();
    let not_executable = workspace.join("not-executable");
    fs::write(&not_executable, "#!/bin/sh\n").unwrap();
    let rank = [("OMPI_COMM_WORLD_RANK", "0")];
    for variables in [&[][..], &rank] {
        for (word, status) in [
            ("no-such-program-in-path", 127),
            ("./no-such-program", 127),
            (not_executable.to_str().unwrap(), 126),
        ] {
            let recorder = command("collbench-record");
            let line = [recorder.to_str().unwrap(), "--force", "--", word];
            run_in(workspace.path(), variables, &line).expect(status);
            assert_eq!(rank_files(&trace).len(), 2);
            assert_eq!(fs::read(&rank_files(&trace)[0]).unwrap(), before, "{word}");
        }
    }
}

#[test]
fn where_nobody_reads_stderr_the_status_is_still_that_of_the_command() {
    let workspace = Workspace::new();
    let recorder = command("collbench-record");
    for (words, status) in [("sh -c 'exit 7'", 7), ("true", 125), ("./absent", 127)] {
        // The reader is gone before the recorder says anything.
        let script = format!(
            "{{ {{ sleep 0.3; {} -- {words}; echo $? >&3; }} 2>&1 | true; }} 3>&1",
            recorder.display()
        );
        let finished = run_in(workspace.path(), &[], &["bash", "-c", &script]);
        assert_eq!(finished.stdout, format!("{status}\n"), "{finished}");
    }
}

#[test]
fn each_signal_reaches_the_program_once_with_its_mask_and_ignored_signals_as_given() {
    skip_unless!(have(MPI));
    // The launcher passes these on, to the process groups of its ranks.
    // One that came twice would come soon.
    let program = "trap 'echo USR1; : > one' USR1; trap 'echo USR2; : > two' USR2; : > ready; \
                   while ! [ -e two ]; do sleep 0.1; done; sleep 0.3; sleep 0.3; echo end";
    let recorder = command("collbench-record");
    let recorder = format!("{} --force --", recorder.display());
    let launcher = mpirun(1).join(" ".as_ref()).into_string().unwrap();
    for line in [
        launcher.clone(),
        format!("{recorder} {launcher}"),
        format!("{launcher} {recorder}"),
    ] {
        let workspace = Workspace::new();
        let script = format!(
            "{line} sh -c '{}' & while ! [ -e ready ]; do sleep 0.1; done; \
             kill -USR1 $!; while ! [ -e one ]; do sleep 0.1; done; kill -USR2 $!; wait",
            program.replace('\'', "'\\''")
        );
        let finished = run_in(workspace.path(), &[], &["sh", "-c", &script]);
        assert_eq!(finished.stdout, "USR1\nUSR2\nend\n", "{finished}");
    }
    // Of a process that is not handed on to another: what it was given.
    let workspace = Workspace::new();
    let look = "trap '' HUP PIPE USR1; exec \"$@\" grep -E 'SigBlk|SigIgn' /proc/self/status";
    let plain = run(&["sh", "-c", look, "sh"]).expect(0);
    let recorder = command("collbench-record");
    let recorder = recorder.to_str().unwrap();
    let as_rank = |rank: &'static str| [("OMPI_COMM_WORLD_RANK", rank)];
    for variables in [&[][..], &as_rank("0"), &as_rank("1")] {
        let line = ["sh", "-c", look, "sh", recorder, "--"];
        let finished = run_in(workspace.path(), variables, &line);
        assert_eq!(finished.stdout, plain.stdout, "{variables:?}: {finished}");
    }
}

#[test]
fn the_launcher_finds_a_program_in_the_current_folder_as_without_recording() {
    skip_unless!(have(MPI));
    let workspace = Workspace::new();
    fs::copy(program("many.c"), workspace.join("only-here")).unwrap();
    let job = Job::new(2, "only-here", &["5"]);
    let plain = job.plain(workspace.path()).expect(0);
    let (finished, trace) = job.record(workspace.path());
    let finished = finished.expect(0);
    assert_eq!(finished.sorted_lines(), plain.sorted_lines());
    assert_eq!(rank_files(&trace).len(), 2);
}

#[test]
fn around_a_launcher_a_rank_that_is_left_over_from_an_outer_job_does_not_count() {
    skip_unless!(have(MPI));
    let workspace = Workspace::new();
    let job = Job {
        variables: &[("FLUX_TASK_RANK", "1")],
        ..Job::new(2, program("many.c"), &["5"])
    };
    let (finished, trace) = job.record(workspace.path());
    // As rank 1 it would leave the report to rank 0.
    finished.expect(0).must_say("collbench-record: 2 ranks, ");
    assert_eq!(rank_files(&trace).len(), 2);
}

#[test]
fn a_missing_preloaded_library_is_an_error_that_names_it() {
    let workspace = Workspace::new();
    let finished = run_in(
        workspace.path(),
        &[("COLLBENCH_PRELOAD", "/nowhere/lib.so")],
        &[
            command("collbench-record").to_str().unwrap(),
            "--",
            "echo",
            "ran",
        ],
    )
    .expect(125);
    assert_eq!(finished.stdout, "", "the command ran: {finished}");
    finished.must_say("/nowhere/lib.so");
}

#[test]
fn a_preloaded_library_of_another_version_is_refused_with_both_versions() {
    let workspace = Workspace::new();
    let own = env!("CARGO_PKG_VERSION");
    let note = format!("collbench\0\0\0{own} (commit ");
    let other = workspace.join("other.so");
    let mut library = fs::read(command("libcollbench_preload.so")).unwrap();
    let mut windows = library.windows(note.len());
    let at = windows
        .position(|window| window == note.as_bytes())
        .unwrap();
    library[at + 12] = b'9';
    fs::write(&other, library).unwrap();
    let recorder = command("collbench-record");
    let finished = run_in(
        workspace.path(),
        &[("COLLBENCH_PRELOAD", other.to_str().unwrap())],
        &[recorder.to_str().unwrap(), "--", "echo", "ran"],
    )
    .expect(125);
    assert_eq!(finished.stdout, "", "the command ran: {finished}");
    finished.must_say(&format!("is of version 9{} (commit ", &own[1..]));
    finished.must_say(&format!("this command of {own} (commit "));
}

#[test]
fn a_preloaded_library_that_the_loader_refuses_is_an_error() {
    skip_unless!(have(MPI));
    let workspace = Workspace::new();
    let refused = workspace.join("refused.so");
    fs::write(&refused, "no library\n").unwrap();
    let variables = [("COLLBENCH_PRELOAD", refused.to_str().unwrap())];
    let job = Job {
        variables: &variables,
        ..Job::new(2, program("many.c"), &["10"])
    };
    let (finished, _) = job.record(workspace.path());
    let finished = finished.expect(125);
    assert_eq!(finished.sorted_lines(), ["rank 0 done", "rank 1 done"]);
    // A likely cause.
    finished.must_say("loader refused");
}

#[test]
fn a_rank_that_was_not_recorded_is_missed() {
    skip_unless!(have(MPI));
    let workspace = Workspace::new();
    let script = format!(
        "if [ $OMPI_COMM_WORLD_RANK = 1 ]; then unset LD_PRELOAD; fi; exec {} 100",
        program("many.c").display()
    );
    let (finished, trace) = Job::new(3, "sh", &["-c", &script]).record(workspace.path());
    let finished = finished.expect(125);
    assert_eq!(
        finished.sorted_lines(),
        ["rank 0 done", "rank 1 done", "rank 2 done"]
    );
    assert!(
        finished.stderr.contains('2') && finished.stderr.contains('3'),
        "{finished}"
    );
    let analysis = analyze(&trace, &[]).expect(3);
    damage_of(&analysis, 1);
    for rank in [0, 2] {
        assert_eq!(analysis.rank(rank)["calls"], 101);
    }
}
