//! Programs that end badly, places that cannot be written, files that are no traces: the program
//! is not harmed, what was recorded is kept, and each is said clearly, with its exit status.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use collbench_tests::{
    Analysis, Finished, Form, Job, Workspace, analyze, command, have, program, run, run_in, skipped,
};
use serde_json::Value;

const MPI: &[&str] = &["mpirun", "mpicc"];

fn rank_files(trace: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(trace)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "trace")
        })
        .collect();
    files.sort();
    files
}

/// A good trace of `ranks` ranks of 1001 calls each, as a start for mischief.
fn good_trace(workspace: &Workspace, ranks: usize) -> PathBuf {
    let (finished, trace) = Job::new(ranks, program("many.c"), &["1000"]).record(workspace.path());
    finished.expect(0);
    assert_eq!(rank_files(&trace).len(), ranks);
    trace
}

#[track_caller]
fn damage_of(analysis: &Analysis, rank: usize) -> &Value {
    let damage = analysis.array("/trace/damage");
    damage
        .iter()
        .find(|damage| damage["rank"] == rank)
        .unwrap_or_else(|| panic!("no damage of rank {rank} in {damage:#?}"))
}

fn record_command(workspace: &Workspace, options: &[&str], words: &[&str]) -> Finished {
    let recorder = command("collbench-record");
    let line = [&[recorder.to_str().unwrap()], options, words].concat();
    run_in(workspace.path(), &[], &line)
}

// ---- programs that end badly ----

#[test]
fn a_rank_killed_after_n_calls_leaves_n_records_and_what_the_others_waited_in() {
    if !have(MPI) {
        return;
    }
    for (form, calls) in [(Form::Outer, 1234), (Form::Inner, 3)] {
        let workspace = Workspace::new();
        let n = calls.to_string();
        let job = Job {
            form,
            ..Job::new(3, program("ends.c"), &["kill", "1", &n])
        };
        let (finished, trace) = job.record(workspace.path());
        finished.expect(128 + 9);

        let analysis = analyze(&trace, &[]).expect(3);
        assert_eq!(analysis.json["trace"]["complete"], false);
        let victim = analysis.rank(1);
        assert_eq!(victim["calls"], calls, "{form:?}");
        assert_eq!(victim["calls_by_class"]["MPI_Barrier"], calls);
        let damage = damage_of(&analysis, 1);
        assert!(
            damage["in_flight"].is_null(),
            "it died outside of any collective: {damage}"
        );
        assert!(damage["what"].is_string(), "{damage}");
        for waiting in [0, 2] {
            let in_flight = &damage_of(&analysis, waiting)["in_flight"];
            assert_eq!(
                in_flight["operation"], "MPI_Allreduce",
                "rank {waiting}: {in_flight}"
            );
            assert_eq!(
                in_flight["sequence"], calls,
                "after {calls} others: {in_flight}"
            );
            assert!(!in_flight["communicator"].is_null(), "{in_flight}");
            assert_eq!(
                analysis.rank(waiting)["calls_by_class"]["MPI_Barrier"],
                calls
            );
        }
        let barriers = &analysis.json["totals"]["MPI_Barrier"];
        assert_eq!(
            barriers["instances"], calls,
            "what was complete is analyzed"
        );
    }
}

#[test]
fn programs_that_abort_crash_or_forget_to_finalize_end_as_without_recording() {
    if !have(MPI) {
        return;
    }
    for how in ["abort", "segv", "exit"] {
        for form in [Form::Outer, Form::Inner] {
            let workspace = Workspace::new();
            let job = Job {
                form,
                ..Job::new(3, program("ends.c"), &[how, "2", "100"])
            };
            let plain = job.plain(workspace.path());
            let (finished, trace) = job.record(workspace.path());
            let finished = finished.expect(plain.status);
            assert_eq!(finished.stdout, plain.stdout, "{how} {form:?}");

            let analysis = analyze(&trace, &[]).expect(3);
            assert_eq!(analysis.json["trace"]["complete"], false, "{how}");
            for rank in 0..3 {
                let barriers = &analysis.rank(rank)["calls_by_class"]["MPI_Barrier"];
                assert_eq!(*barriers, 100, "{how} {form:?}: rank {rank}");
            }
            damage_of(&analysis, 2);
        }
    }
}

#[test]
fn a_program_that_never_calls_mpi_is_undisturbed_and_the_empty_trace_is_an_error() {
    if !have(&["gcc"]) {
        return;
    }
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
            assert!(finished.stderr.contains("quiet ends\n"), "{finished}");
            assert!(
                finished.stderr.contains("nothing was recorded"),
                "{finished}"
            );
            if status == "0" {
                assert!(
                    finished.stderr.contains("static"),
                    "a likely cause: {finished}"
                );
            }
        }
    }
}

#[test]
fn a_job_without_mpi_under_a_launcher_is_undisturbed_too() {
    if !have(MPI) {
        return;
    }
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
    assert!(
        finished.stderr.contains("static"),
        "a likely cause: {finished}"
    );
    // An empty trace is nothing to analyze.
    let analysis = analyze(&trace, &[]).expect(1);
    assert!(
        analysis.finished.stderr.contains("trace"),
        "{}",
        analysis.finished
    );
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

// ---- places ----

#[test]
fn an_existing_trace_is_only_replaced_when_told() {
    if !have(MPI) {
        return;
    }
    let workspace = Workspace::new();
    let trace = good_trace(&workspace, 2);
    let before = fs::read(&rank_files(&trace)[0]).unwrap();

    for form in [Form::Outer, Form::Inner] {
        let job = Job {
            form,
            ..Job::new(2, program("many.c"), &["10"])
        };
        let (refused, _) = job.record(workspace.path());
        match form {
            Form::Outer => assert_eq!(refused.status, 125, "{refused}"),
            // The launcher may have a status of its own for programs that end badly.
            Form::Inner => assert_ne!(refused.status, 0, "{refused}"),
        }
        assert!(refused.stderr.contains("--force"), "{refused}");
        assert_eq!(refused.stdout, "", "the program ran: {refused}");
        assert_eq!(
            fs::read(&rank_files(&trace)[0]).unwrap(),
            before,
            "the trace was touched"
        );
    }
    for (form, ranks) in [(Form::Outer, 3), (Form::Inner, 2)] {
        let job = Job {
            form,
            options: &["--force"],
            ..Job::new(ranks, program("many.c"), &["10"])
        };
        let (finished, _) = job.record(workspace.path());
        finished.expect(0);
        assert_eq!(rank_files(&trace).len(), ranks, "{form:?}");
        let analysis = analyze(&trace, &[]).expect(0);
        assert_eq!(analysis.json["trace"]["calls"], ranks * 11, "{form:?}");
    }
}

#[test]
fn a_directory_that_is_no_trace_is_never_replaced() {
    let workspace = Workspace::new();
    let precious = workspace.join("trace");
    fs::create_dir(&precious).unwrap();
    fs::write(precious.join("thesis.tex"), "text").unwrap();
    fs::write(workspace.join("file"), "text").unwrap();
    for (output, options) in [
        ("trace", &["--force"][..]),
        ("trace", &[]),
        ("file", &["--force"]),
        ("file", &[]),
    ] {
        let options = [options, &["-o", output]].concat();
        let finished = record_command(&workspace, &options, &["--", "echo", "ran"]).expect(125);
        assert_eq!(finished.stdout, "", "the command ran: {finished}");
        assert!(finished.stderr.contains(output), "{finished}");
        assert_eq!(fs::read(precious.join("thesis.tex")).unwrap(), b"text");
        assert_eq!(fs::read(workspace.join("file")).unwrap(), b"text");
    }
}

#[test]
fn what_only_has_the_names_of_a_trace_is_never_replaced() {
    let workspace = Workspace::new();
    for (index, (name, text)) in [
        ("thesis.trace", "a trace of something else"),
        ("run.json", "{\"schema\": \"of something else\"}"),
        ("report/thesis.tex", "text"),
    ]
    .into_iter()
    .enumerate()
    {
        let output = format!("trace-{index}");
        let file = workspace.join(&output).join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        if name.starts_with("report") {
            let run = "{\"schema\": \"collbench.run/1\"}";
            fs::write(workspace.join(&output).join("run.json"), run).unwrap();
        }
        fs::write(&file, text).unwrap();
        let options = ["--force", "-o", &output];
        let finished = record_command(&workspace, &options, &["--", "echo", "ran"]).expect(125);
        assert_eq!(finished.stdout, "", "the command ran: {finished}");
        assert!(finished.stderr.contains("not a trace"), "{finished}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text, "{name}");
    }
}

#[test]
fn a_command_that_cannot_be_run_leaves_the_old_trace_as_it_was() {
    if !have(MPI) {
        return;
    }
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
fn an_old_trace_is_not_taken_for_that_of_a_program_without_mpi() {
    if !have(MPI) {
        return;
    }
    for form in [Form::Outer, Form::Inner] {
        let workspace = Workspace::new();
        let trace = good_trace(&workspace, 2);
        let job = Job {
            form,
            options: &["--force"],
            ..Job::new(2, program("quiet.c"), &["0"])
        };
        let (finished, _) = job.record(workspace.path());
        let finished = finished.expect(125);
        assert!(
            finished.stderr.contains("nothing was recorded"),
            "{finished}"
        );
        assert!(
            !trace.exists() || rank_files(&trace).is_empty(),
            "{form:?}: the old trace is there"
        );
    }
}

#[test]
fn a_directory_is_removed_only_by_the_command_that_made_it() {
    let workspace = Workspace::new();
    fs::create_dir(workspace.join("mine")).unwrap();
    for (output, stays) in [("mine", true), ("new", false)] {
        record_command(&workspace, &["-o", output], &["--", "true"]).expect(125);
        assert_eq!(workspace.join(output).exists(), stays, "{output}");
    }
    assert_eq!(fs::read_dir(workspace.join("mine")).unwrap().count(), 0);
}

#[test]
fn of_recorders_at_once_in_one_directory_one_records_and_the_others_say_why_not() {
    let workspace = Workspace::new();
    let recorder = command("collbench-record");
    let script = format!(
        "for i in 1 2 3 4; do {} -o trace -- sh -c 'sleep 1; ls trace; exit 9' & done; wait",
        recorder.display()
    );
    let finished = run_in(workspace.path(), &[], &["sh", "-c", &script]).expect(0);
    assert_eq!(finished.stdout, "run.json\n", "{finished}");
    let refused = finished.stderr.matches("holds a trace already").count();
    assert_eq!(refused, 3, "{finished}");
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
    if !have(MPI) {
        return;
    }
    // The launcher passes these on, to the process groups of its ranks.
    let program = "trap 'echo USR1' USR1; trap 'echo USR2' USR2; : > ready; i=0; \
                   while [ $i -lt 15 ]; do sleep 0.1; i=$((i+1)); done; echo end";
    let recorder = command("collbench-record");
    let recorder = format!("{} --force --", recorder.display());
    let launcher: Vec<_> = collbench_tests::mpirun(1)
        .into_iter()
        .map(|word| word.into_string().unwrap())
        .collect();
    let launcher = launcher.join(" ");
    for line in [
        launcher.clone(),
        format!("{recorder} {launcher}"),
        format!("{launcher} {recorder}"),
    ] {
        let workspace = Workspace::new();
        let script = format!(
            "{line} sh -c '{}' & while ! [ -e ready ]; do sleep 0.1; done; \
             kill -USR1 $!; sleep 0.3; kill -USR2 $!; wait",
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
    if !have(MPI) {
        return;
    }
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
fn a_place_without_write_permission_is_an_error_before_the_command_runs() {
    let workspace = Workspace::new();
    // Root may write anywhere: be nobody then, with a copy of the commands that nobody can reach.
    let public = tempfile::Builder::new()
        .prefix("collbench-e2e-")
        .tempdir()
        .unwrap();
    fs::set_permissions(public.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["collbench-record", "libcollbench_preload.so"] {
        fs::copy(command(name), public.path().join(name)).unwrap();
    }
    let locked = public.path().join("locked");
    fs::create_dir(&locked).unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).unwrap();

    let recorder = public.path().join("collbench-record");
    let words = [
        recorder.to_str().unwrap(),
        "-o",
        "locked/trace",
        "--",
        "echo",
        "ran",
    ];
    let root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let as_nobody = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ];
    let line = if root {
        [&as_nobody[..], &words].concat()
    } else {
        words.to_vec()
    };
    let finished = run_in(public.path(), &[], &line).expect(125);
    assert_eq!(finished.stdout, "", "the command ran: {finished}");
    assert!(
        finished.stderr.contains("locked"),
        "names the place: {finished}"
    );
    assert!(
        finished.stderr.to_lowercase().contains("permission"),
        "{finished}"
    );
    drop(workspace);
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
    assert!(finished.stderr.contains("/nowhere/lib.so"), "{finished}");
}

#[test]
fn a_preloaded_library_that_the_loader_refuses_is_an_error() {
    if !have(MPI) {
        return;
    }
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
    assert!(
        finished.stderr.contains("loader refused"),
        "a likely cause: {finished}"
    );
}

#[test]
fn a_rank_that_was_not_recorded_is_missed() {
    if !have(MPI) {
        return;
    }
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

// ---- no more room ----

/// A job whose ranks write 16 MB of records each on their own, and then meet.
fn big_job<'a>() -> Job<'a> {
    Job::new(2, program("many.c"), &["500000"])
}

const BIG_JOB_LINES: [&str; 2] = ["rank 0 done", "rank 1 done"];

#[track_caller]
fn check_cut_short(trace: &Path) -> Analysis {
    let analysis = analyze(trace, &[]).expect(3);
    assert_eq!(analysis.json["trace"]["complete"], false);
    for rank in 0..2 {
        let calls = analysis.rank(rank)["calls"].as_u64().unwrap();
        assert!(
            (1000..500_000).contains(&calls),
            "rank {rank}: {calls} of 500001 calls"
        );
        damage_of(&analysis, rank);
    }
    analysis
}

#[test]
fn recording_stops_at_the_size_that_was_given_and_the_program_goes_on() {
    if !have(MPI) {
        return;
    }
    let workspace = Workspace::new();
    let job = Job {
        options: &["--max-size", "4M"],
        ..big_job()
    };
    let (finished, trace) = job.record(workspace.path());
    let finished = finished.expect(0);
    assert_eq!(finished.sorted_lines(), BIG_JOB_LINES);
    assert!(finished.stderr.contains("max-size"), "says so: {finished}");
    for file in rank_files(&trace) {
        let size = fs::metadata(&file).unwrap().len();
        assert!(size <= 4 << 20, "{}: {size} bytes", file.display());
    }
    check_cut_short(&trace);
}

#[test]
fn a_full_disk_ends_the_recording_and_not_the_program() {
    if !have(MPI) {
        return;
    }
    // A small disk in a mount namespace of its own, which goes away by itself; the trace is copied
    // out of it.
    let root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let unshare: &[&str] = if root {
        &["unshare", "-m"]
    } else {
        &["unshare", "-m", "--map-root-user"]
    };
    let workspace = Workspace::new();
    for folder in ["disk", "kept"] {
        fs::create_dir(workspace.join(folder)).unwrap();
    }
    let try_it = ["sh", "-c", "mount -t tmpfs -o size=6m none disk"];
    let tried = run_in(workspace.path(), &[], &[unshare, &try_it].concat());
    if tried.status != 0 {
        skipped(&format!("no mounts on this machine: {tried}"));
        return;
    }

    let mut words: Vec<OsString> = unshare.iter().map(OsString::from).collect();
    let script = "mount -t tmpfs -o size=6m none disk || exit 99
        \"$@\"; status=$?; cp -r disk/trace kept/; exit $status";
    words.extend(["sh", "-c", script, "sh"].map(OsString::from));
    words.push(command("collbench-record").into());
    words.extend(["-o", "disk/trace", "--"].map(OsString::from));
    words.extend(collbench_tests::mpirun(2));
    if !root {
        words.push("--allow-run-as-root".into()); // mapped to root by unshare
    }
    words.extend(big_job().program);
    let finished = run_in(workspace.path(), &[], &words).expect(0);
    assert_eq!(finished.sorted_lines(), BIG_JOB_LINES);
    assert!(
        finished.stderr.to_lowercase().contains("space"),
        "says why: {finished}"
    );
    check_cut_short(&workspace.join("kept/trace"));
}

#[test]
fn a_limit_on_the_size_of_files_ends_the_recording_and_not_the_program() {
    if !have(MPI) {
        return;
    }
    let workspace = Workspace::new();
    // In units of 512 bytes, in POSIX: 8 MiB, enough for the files that Open MPI itself makes.
    let limited = ["sh", "-c", "ulimit -f 16384; exec \"$@\"", "sh"].map(OsString::from);
    let job = [collbench_tests::mpirun(2), big_job().program].concat();
    run_in(workspace.path(), &[], &[&limited[..], &job].concat()).expect(0);

    let mut words = limited.to_vec();
    words.push(command("collbench-record").into());
    words.extend(["-o", "trace", "--"].map(OsString::from));
    words.extend(job);
    let finished = run_in(workspace.path(), &[], &words).expect(0);
    assert_eq!(finished.sorted_lines(), BIG_JOB_LINES);
    assert!(
        finished.stderr.to_lowercase().contains("limit"),
        "says why: {finished}"
    );
    check_cut_short(&workspace.join("trace"));
}

// ---- traces that are none, or not whole ----

#[test]
fn what_is_no_trace_is_refused_by_name() {
    let workspace = Workspace::new();
    fs::create_dir(workspace.join("empty")).unwrap();
    fs::create_dir(workspace.join("foreign")).unwrap();
    fs::write(
        workspace.join("foreign/some.trace"),
        b"not one of ours\n".repeat(1000),
    )
    .unwrap();
    fs::write(workspace.join("file"), "text").unwrap();
    for (name, named) in [
        ("empty", "empty"),
        ("foreign", "some.trace"),
        ("file", "file"),
        ("missing", "missing"),
    ] {
        let analysis = analyze(&workspace.join(name), &[]).expect(1);
        let Finished { stdout, stderr, .. } = &analysis.finished;
        assert!(stderr.contains(named), "{name}: {stderr}");
        assert_eq!(stdout, "", "{name}");
        assert!(!stderr.contains("panicked"), "{name}: {stderr}");
    }
}

#[test]
fn a_missing_empty_or_foreign_file_costs_its_rank_and_is_named() {
    if !have(MPI) {
        return;
    }
    for (what, spoil) in [
        (
            "missing",
            &(|path: &Path| fs::remove_file(path).unwrap()) as &dyn Fn(&Path),
        ),
        ("empty", &|path| fs::write(path, b"").unwrap()),
        ("foreign", &|path| {
            fs::write(path, b"not one of ours\n".repeat(1000)).unwrap()
        }),
    ] {
        let workspace = Workspace::new();
        let trace = good_trace(&workspace, 3);
        let files = rank_files(&trace);
        let spoiled = files.last().unwrap();
        spoil(spoiled);
        let analysis = analyze(&trace, &[]).expect(3);
        assert_eq!(analysis.json["trace"]["complete"], false, "{what}");
        let whole = analysis
            .array("/ranks")
            .iter()
            .filter(|rank| rank["calls"] == 1001)
            .count();
        assert_eq!(whole, 2, "{what}: the other ranks are analyzed");
        let lost = (0..3)
            .find(|rank| {
                !analysis
                    .array("/ranks")
                    .iter()
                    .any(|entry| entry["rank"] == *rank)
            })
            .unwrap();
        damage_of(&analysis, lost);
        let said =
            analysis.json["trace"]["damage"].to_string() + &analysis.json["remarks"].to_string();
        if what != "missing" {
            let name = spoiled.file_name().unwrap().to_str().unwrap();
            assert!(said.contains(name), "{what}: {name} in {said}");
        }
    }
}

#[test]
fn a_file_cut_at_any_place_is_analyzed_up_to_there() {
    if !have(MPI) {
        return;
    }
    let workspace = Workspace::new();
    let trace = good_trace(&workspace, 2);
    let files = rank_files(&trace);
    let whole = fs::read(&files[1]).unwrap();
    let mut most = 0;
    let cuts = 24;
    for cut in 0..cuts {
        // From nothing to all but one byte.
        let length = (whole.len() - 1) * cut / (cuts - 1);
        fs::write(&files[1], &whole[..length]).unwrap();
        let analysis = analyze(&trace, &[]);
        let Finished { status, stderr, .. } = &analysis.finished;
        assert!(
            [0, 3].contains(status),
            "cut at {length}: {}",
            analysis.finished
        );
        assert!(!stderr.contains("panicked"), "cut at {length}: {stderr}");
        let calls = |rank: usize| {
            let entries = analysis.array("/ranks");
            let entry = entries.iter().find(|entry| entry["rank"] == rank);
            entry.map_or(0, |entry| entry["calls"].as_u64().unwrap())
        };
        let (a, b) = (calls(0), calls(1));
        let (full, cut_short) = (a.max(b), a.min(b));
        assert_eq!(full, 1001, "cut at {length}: the other rank is whole");
        assert!(
            cut_short >= most,
            "cut at {length}: {cut_short} calls, but {most} before"
        );
        if cut_short < 1001 {
            assert_eq!(*status, 3, "cut at {length}: calls are missing");
            assert!(
                !analysis.array("/trace/damage").is_empty(),
                "cut at {length}"
            );
        }
        most = cut_short;
    }
    assert!(
        most > 0,
        "nothing was ever read of a file that lacks one byte"
    );
}

#[test]
fn two_runs_in_one_directory_are_refused_and_both_are_named() {
    if !have(MPI) {
        return;
    }
    let (one, other) = (Workspace::new(), Workspace::new());
    let (trace, other_trace) = (good_trace(&one, 2), good_trace(&other, 2));
    // The rank files of the other run beside, and then instead of one of, those of the first.
    for instead in [false, true] {
        let mixed = one.join(format!("mixed-{instead}"));
        fs::create_dir(&mixed).unwrap();
        for entry in fs::read_dir(&trace).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                fs::copy(&path, mixed.join(path.file_name().unwrap())).unwrap();
            }
        }
        let strangers = rank_files(&other_trace);
        let stranger = if instead {
            mixed.join(strangers[1].file_name().unwrap())
        } else {
            mixed.join("stranger.trace")
        };
        fs::copy(&strangers[1], &stranger).unwrap();

        let analysis = analyze(&mixed, &[]).expect(1);
        let stderr = &analysis.finished.stderr;
        assert!(stderr.contains("run"), "{stderr}");
        let stranger_name = stranger.file_name().unwrap().to_str().unwrap();
        let own_name = rank_files(&trace)[0]
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        assert!(
            stderr.contains(stranger_name),
            "a file of the other run: {stderr}"
        );
        assert!(stderr.contains(&own_name), "a file of this run: {stderr}");
    }
}

#[test]
fn a_report_that_cannot_be_written_is_an_error_that_names_the_place() {
    if !have(MPI) {
        return;
    }
    let workspace = Workspace::new();
    let trace = good_trace(&workspace, 2);
    fs::write(workspace.join("in-the-way"), "").unwrap();
    let output = workspace.join("in-the-way/report");
    let finished = run(&[
        command("collbench-analyze").to_str().unwrap(),
        "-o",
        output.to_str().unwrap(),
        trace.to_str().unwrap(),
    ])
    .expect(1);
    assert!(finished.stderr.contains("in-the-way"), "{finished}");
}

#[test]
fn without_pictures_nothing_is_written() {
    if !have(MPI) {
        return;
    }
    let workspace = Workspace::new();
    let trace = good_trace(&workspace, 2);
    let list = || {
        let mut names: Vec<_> = fs::read_dir(&trace)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        names
    };
    let before = list();
    let _ = analyze(&trace, &[]).expect(0);
    assert_eq!(list(), before);
}
