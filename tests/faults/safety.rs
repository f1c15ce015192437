//! Neighbours that mean harm, and rights: no file is written through a link, none is executable,
//! nothing in a trace is obeyed, programs with other rights are left alone.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;

use collbench_tests::{Form, Job, Workspace, command, have, program, run, skip_unless, skipped};

use super::matrix::{Fault, Kept};
use super::places::behind_the_recorders_back;
use super::{MPI, good_trace};

fn many(name: &str) -> Fault<'_> {
    Fault {
        name,
        job: Job::new(2, program("many.c"), &["100"]),
        calls: 101,
        kept: Kept::All,
        says: "",
    }
}

/// A row in which something is done to the trace directory before MPI begins, for which nothing can
/// be recorded.
fn not_recorded<'a>(name: &'a str, script: &str) -> Fault<'a> {
    let mut fault = Fault {
        kept: Kept::Nothing,
        says: "not recording: ",
        ..many(name)
    };
    fault.job.launcher = behind_the_recorders_back(script);
    fault
}

#[test]
fn files_have_the_permissions_that_the_umask_leaves_and_none_is_executable() {
    skip_unless!(have(MPI));
    for (umask, file_mode, folder_mode) in [("077", 0o600, 0o700), ("000", 0o666, 0o777)] {
        let mut fault = many("umask");
        let script = format!("umask {umask}; exec \"$@\"");
        let around = ["sh", "-c", &script, "sh"];
        fault.job.around = &around;
        let Some(left) = fault.check() else { return };
        let trace = left.join("recorded/trace");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(&trace), folder_mode, "umask {umask}");
        for entry in fs::read_dir(&trace).unwrap() {
            let path = entry.unwrap().path();
            assert_eq!(mode(&path), file_mode, "umask {umask}: {}", path.display());
        }
    }
}

#[test]
fn a_directory_that_others_can_write_takes_a_trace() {
    many("directory that others can write").check_with(|folder| {
        fs::create_dir(folder.join("trace")).unwrap();
        fs::set_permissions(folder.join("trace"), fs::Permissions::from_mode(0o1777)).unwrap();
    });
}

#[test]
fn a_link_in_the_place_of_the_directory_is_not_followed() {
    let fault = not_recorded(
        "directory replaced by a link before MPI_Init",
        "mv trace mine; mkdir else; ln -s else trace",
    );
    let Some(left) = fault.check() else { return };
    let elsewhere = fs::read_dir(left.join("recorded/else")).unwrap();
    assert_eq!(elsewhere.count(), 0, "written through the link");
}

#[test]
fn links_in_the_place_of_files_are_not_followed() {
    let fault = not_recorded(
        "links planted in the directory before MPI_Init",
        "echo precious >victim; ln -s ../victim trace/world; ln -s ../new trace/x.trace",
    );
    let Some(left) = fault.check() else { return };
    let victim = fs::read_to_string(left.join("recorded/victim")).unwrap();
    assert_eq!(victim, "precious\n");
    assert!(!left.join("recorded/new").exists());
}

#[test]
fn nobody_waits_for_a_pipe_in_the_place_of_a_file() {
    not_recorded(
        "pipes planted in the directory before MPI_Init",
        "mkfifo trace/world trace/y.trace",
    )
    .check();
}

#[test]
fn a_program_with_other_rights_is_left_alone_and_named() {
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        skipped("only root gives a program to another group");
        return;
    }
    for form in [Form::Outer, Form::Inner] {
        // Without MPI: Open MPI lets no rank begin that has another group than its launcher.
        let job = Job::new(2, "./with-rights", &["0"]);
        Fault {
            job: Job { form, ..job },
            kept: Kept::Nothing,
            says: "./with-rights is set-user-id, set-group-id or has capabilities",
            ..many("set-group-id program")
        }
        .check_with(|folder| {
            let program_of_group = folder.join("with-rights");
            fs::copy(program("quiet.c"), &program_of_group).unwrap();
            chown(&program_of_group, None, Some(65534)).unwrap();
            let mode = fs::Permissions::from_mode(0o2755);
            fs::set_permissions(&program_of_group, mode).unwrap();
        });
    }
}

/// What a terminal would obey, line feeds apart.
fn is_obeyed(c: char) -> bool {
    c.is_control() && c != '\n' || ('\u{202a}'..='\u{202e}').contains(&c)
}

#[test]
fn names_in_a_trace_are_shown_and_not_obeyed() {
    skip_unless!(have(MPI));
    let workspace = Workspace::new();
    let arguments = [
        "\u{1b}[2J$(touch hit)",
        "`touch hit`;touch hit",
        "\u{7}\u{9b}\u{202e}\n%n",
    ];
    let job = Job::new(2, program("names.c"), &arguments);
    let (finished, trace) = job.record(workspace.path());
    let finished = finished.expect(0);
    let analyzer = command("collbench-analyze");
    let analyzer = analyzer.to_str().unwrap();
    let line = trace.to_str().unwrap();
    let text = run(&[analyzer, line]).expect(0);
    let json = run(&[analyzer, "--format", "json", line]).expect(0);
    let mut shown = vec![
        finished.stderr,
        text.stdout,
        text.stderr,
        json.stdout.clone(),
    ];
    for entry in fs::read_dir(trace.join("report")).unwrap() {
        shown.push(fs::read_to_string(entry.unwrap().path()).unwrap());
    }
    assert!(shown.len() > 6, "there is a report");
    for shown in &shown {
        assert_eq!(shown.chars().find(|&c| is_obeyed(c)), None, "in {shown}");
    }
    assert!(
        json.stdout.contains("$(touch hit) `touch hit`"),
        "the name itself"
    );
    // Nothing was executed, here or beside the trace.
    for folder in [workspace.path(), &trace, &trace.join("report")] {
        assert!(!folder.join("hit").exists());
    }
    assert!(!Path::new("hit").exists());
}

#[test]
fn a_report_is_not_written_through_links() {
    skip_unless!(have(MPI));
    let workspace = Workspace::new();
    let trace = good_trace(&workspace, 2);
    let analyzer = command("collbench-analyze");
    let analyze = || run(&[analyzer.to_str().unwrap(), trace.to_str().unwrap()]);
    let victim = workspace.join("victim");
    fs::write(&victim, "precious").unwrap();
    // In the place of a file: the link goes, and what it led to stays.
    fs::create_dir(trace.join("report")).unwrap();
    for name in ["index.html", "analysis.json", "waits-over-time.svg"] {
        symlink(&victim, trace.join("report").join(name)).unwrap();
    }
    analyze().expect(0);
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert!(!trace.join("report/index.html").is_symlink());
    // In the place of the directory.
    fs::remove_dir_all(trace.join("report")).unwrap();
    fs::create_dir(workspace.join("else")).unwrap();
    symlink(workspace.join("else"), trace.join("report")).unwrap();
    let finished = analyze().expect(1);
    finished.must_say("report: ");
    assert_eq!(fs::read_dir(workspace.join("else")).unwrap().count(), 0);
}
