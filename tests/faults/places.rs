//! Where a trace goes: directories that are there already, that vanish or fill up during the run,
//! that others use too.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use collbench_tests::{
    Finished, Form, Job, Workspace, analyze, command, have, mpirun, program, rank_files, run_in,
    skip_unless,
};

use super::matrix::{Fault, Kept};
use super::{MPI, good_trace, record_command};

/// A program that meddles with its trace directory between two series of 100 barriers.
fn meddles<'a>(name: &'a str, what: &'a str) -> Fault<'a> {
    Fault {
        name,
        job: Job::new(2, program("meddles.c"), &[what, "trace", "100"]),
        calls: 200,
        kept: Kept::All,
        says: "",
    }
}

#[test]
fn the_directory_is_moved_during_the_run() {
    Fault {
        kept: Kept::Moved,
        says: "removed or renamed",
        ..meddles("directory moved during the run", "rename")
    }
    .check();
}

#[test]
fn the_directory_is_removed_during_the_run() {
    Fault {
        kept: Kept::Nothing,
        says: "removed or renamed",
        ..meddles("directory removed during the run", "remove")
    }
    .check();
}

#[test]
fn ten_thousand_files_come_to_the_directory() {
    meddles("10,000 other files in the directory", "fill").check();
}

/// Does something to the trace directory between the recorder's look at it and the launcher.
pub(crate) fn behind_the_recorders_back(script: &str) -> Vec<OsString> {
    let script = format!("if [ -e trace ]; then {script}; fi; exec \"$@\"");
    let mut words = ["sh", "-c", &script, "sh"].map(OsString::from).to_vec();
    words.extend(mpirun(2).into_iter().take_while(|word| word != "-n"));
    words
}

#[test]
fn the_directory_is_removed_before_mpi_init() {
    let many = Job::new(2, program("many.c"), &["100"]);
    Fault {
        name: "directory removed before MPI_Init",
        job: Job {
            launcher: behind_the_recorders_back("rm -r trace"),
            ..many
        },
        calls: 101,
        kept: Kept::Nothing,
        says: "not recording: ",
    }
    .check();
}

#[test]
fn a_relative_path_means_where_the_command_was_given() {
    for form in [Form::Outer, Form::Inner] {
        let job = Job::new(2, program("many.c"), &["10000", "elsewhere"]);
        Fault {
            name: "relative directory, the program changes its own",
            job: Job { form, ..job },
            calls: 10_001,
            kept: Kept::All,
            says: "",
        }
        .check_with(|folder| fs::create_dir(folder.join("elsewhere")).unwrap());
    }
}

#[test]
fn two_jobs_at_once_in_two_directories() {
    skip_unless!(have(MPI));
    let workspace = Workspace::new();
    let line = |name: &str| {
        let launcher = mpirun(2).join(" ".as_ref()).into_string().unwrap();
        let recorder = command("collbench-record");
        let many = program("many.c");
        format!(
            "{} -o {name} -- {launcher} {} 1000",
            recorder.display(),
            many.display()
        )
    };
    // By process: of a job that has ended already the shell forgets the number.
    let [one, two] = [line("one"), line("two")];
    let script = format!("{one} & one=$!; {two} & two=$!; wait $one && wait $two");
    let finished = run_in(workspace.path(), &[], &["bash", "-c", &script]).expect(0);
    let lines = ["rank 0 done", "rank 0 done", "rank 1 done", "rank 1 done"];
    assert_eq!(finished.sorted_lines(), lines);
    for name in ["one", "two"] {
        let analysis = analyze(&workspace.join(name), &[]).expect(0);
        assert_eq!(analysis.json["trace"]["calls"], 2 * 1001, "{name}");
    }
}

/// So many recorders in one directory, of which one records until all others were refused; its
/// command says what is in the directory then.
fn several_at_once(workspace: &Workspace, recorder: &str, n: usize) -> Finished {
    let others = n - 1;
    let wait = format!("while [ $(ls refused | wc -l) -lt {others} ]; do sleep 0.1; done");
    let script = format!(
        "mkdir refused; i=0; while [ $i -lt {n} ]; do i=$((i+1)); \
             {{ {recorder} -o trace -- sh -c '{wait}; ls trace; exit 9' || : > refused/$i; }} & \
         done; wait"
    );
    run_in(workspace.path(), &[], &["sh", "-c", &script]).expect(0)
}

#[test]
fn of_two_forced_recorders_at_once_one_records_and_the_other_says_why_not() {
    skip_unless!(have(MPI));
    let workspace = Workspace::new();
    let trace = good_trace(&workspace, 2);
    let recorder = command("collbench-record");
    // Each would remove what the others have just begun.
    let recorder = format!("{} --force", recorder.display());
    let finished = several_at_once(&workspace, &recorder, 8);
    assert_eq!(finished.stdout, "run.json\n", "{finished}");
    let refused = finished.stderr.matches("is recording into").count();
    assert_eq!(refused, 7, "{finished}");
    assert!(!trace.join("run.json").exists(), "nothing was recorded");
}

#[test]
fn a_running_job_keeps_its_directory() {
    skip_unless!(have(MPI));
    for form in [Form::Outer, Form::Inner] {
        let workspace = Workspace::new();
        let intruder = format!(
            "while ! ls trace/rank-* >/dev/null 2>&1; do sleep 0.05; done; \
             {} --force -o trace -- echo ran; echo $?; : > tried",
            command("collbench-record").display()
        );
        let script = format!("\"$@\" & ({intruder}); wait $!");
        let around = ["sh", "-c", &script, "sh"];
        let tried = workspace.join("tried");
        let variables = [("UNTIL", tried.to_str().unwrap())];
        let job = Job {
            around: &around,
            form,
            variables: &variables,
            ..Job::new(2, program("many.c"), &["3000"])
        };
        let (finished, trace) = job.record(workspace.path());
        let finished = finished.expect(0);
        let lines = ["125", "rank 0 done", "rank 1 done"];
        assert_eq!(finished.sorted_lines(), lines, "{finished}");
        let analysis = analyze(&trace, &[]).expect(0);
        assert_eq!(analysis.json["trace"]["calls"], 2 * 3001);
    }
}

#[test]
fn an_existing_trace_is_only_replaced_when_told() {
    skip_unless!(have(MPI));
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
        refused.must_say("--force");
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
        finished.must_say(output);
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
        finished.must_say("not a trace");
        assert_eq!(fs::read_to_string(&file).unwrap(), text, "{name}");
    }
}

#[test]
fn an_old_trace_is_not_taken_for_that_of_a_program_without_mpi() {
    skip_unless!(have(MPI));
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
        finished.must_say("nothing was recorded");
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
    let finished = several_at_once(&workspace, &recorder.display().to_string(), 4);
    assert_eq!(finished.stdout, "run.json\n", "{finished}");
    let refused = ["already holds a trace", "is recording into"];
    let refused = refused.map(|words| finished.stderr.matches(words).count());
    assert_eq!(refused.iter().sum::<usize>(), 3, "{finished}");
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
    finished.must_say("locked");
    assert!(
        finished.stderr.to_lowercase().contains("permission"),
        "{finished}"
    );
    drop(workspace);
}
