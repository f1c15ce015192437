//! `collbench-analyze --follow`: the screen of a run that goes on, which is not disturbed by it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use collbench_tests::{Job, Workspace, command, have, program, run, skip_unless};

const MPI: &[&str] = &["mpirun", "mpicc"];

/// Follows a trace from before it is there, while `job` is recorded into it.
fn follow(workspace: &Workspace, job: &Job<'_>) -> (Output, String) {
    let trace = workspace.join("trace");
    let child = Command::new("timeout")
        .arg("120")
        .arg(command("collbench-analyze"))
        .args(["--follow", "--interval", "0.2"])
        .arg(&trace)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let (finished, _) = job.record(workspace.path());
    let output = child.unwrap().wait_with_output().unwrap();
    finished.expect(0);
    let stdout = String::from_utf8(output.stdout.clone()).unwrap();
    (output, stdout)
}

fn text_of(trace: &Path) -> String {
    let analyze = command("collbench-analyze");
    let line = [
        analyze.as_os_str(),
        "--no-pictures".as_ref(),
        trace.as_os_str(),
    ];
    run(&line).expect(0).stdout
}

#[test]
fn a_run_is_shown_while_it_goes_on_and_as_a_whole_at_its_end() {
    skip_unless!(have(MPI));
    for options in [&[][..], &["--keep", "last:64k"]] {
        let workspace = Workspace::new();
        let job = Job {
            options,
            ..Job::new(3, program("ring.c"), &["4000", "500", "end"])
        };
        let (output, stdout) = follow(&workspace, &job);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("waiting for a trace"), "{stderr}");
        let n_screens = stdout.matches("  now   3 of 3 ranks running").count();
        assert!(n_screens >= 2, "{stdout}");
        let last = text_of(&workspace.join("trace"));
        assert!(stdout.ends_with(&last), "{stdout}\n{last}");
        let before = &stdout[..stdout.len() - last.len()];
        for wrong in ["is incomplete", "never arrived", "MPI_Finalize", "damage"] {
            assert!(!before.contains(wrong), "{wrong}: {before}");
        }
        assert!(before.contains("MPI_Allreduce"), "{before}");
        let mut names: Vec<_> = fs::read_dir(workspace.join("trace"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .filter(|name| !name.to_string_lossy().ends_with(".trace"))
            .collect();
        names.sort();
        assert_eq!(names, ["run.json", "world"], "nothing was written there");
    }
}

#[test]
fn who_waits_for_whom_is_shown_as_long_as_it_lasts() {
    skip_unless!(have(MPI));
    let workspace = Workspace::new();
    let job = Job::new(3, program("ring.c"), &["200", "0", "late"]);
    let (output, stdout) = follow(&workspace, &job);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    // One MPI_Comm_split, 200 MPI_Allreduce and 100 MPI_Ibcast came before.
    let waiting = "ranks 1-2 in MPI_Barrier at ring.c:";
    // Wherever lines are broken.
    let words = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(waiting), "{stdout}");
    let which = "(call 301 on MPI_COMM_WORLD) since";
    assert!(words.contains(which), "{stdout}");
    assert!(
        words.contains("rank 0 has not arrived yet; for"),
        "{stdout}"
    );
    let last = text_of(&workspace.join("trace"));
    assert!(!last.contains("not arrived yet"), "{last}");
}

#[test]
fn what_makes_no_sense_beside_follow_is_a_usage_error() {
    let analyze = command("collbench-analyze");
    let analyze = analyze.to_str().unwrap();
    for options in [
        &["--follow", "--format", "json", "t"][..],
        &["--follow", "t", "u"],
        &["--follow", "--interval", "0", "t"],
    ] {
        run(&[&[analyze], options].concat()).expect(2);
    }
}
