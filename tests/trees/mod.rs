//! Spanning trees under mpirun: those of MPI libraries, and our own.

mod adapt;
mod killed;
mod of_libraries;
mod own;
mod replaced;
mod shorter;
mod sites;
mod woven;

use std::fs;
use std::path::{Path, PathBuf};

use collbench_tests::{Finished, Job, Workspace};

/// The file with these trees in a folder, as an argument.
fn tree_file(folder: &Workspace, trees: &str) -> String {
    let path = folder.join("trees.toml");
    fs::write(&path, trees).unwrap();
    path.to_str().unwrap().to_owned()
}

/// What there is in a folder, by name.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Runs a job over trees without a trace, which leaves nothing behind.
#[track_caller]
fn unrecorded(job: &Job<'_>, trees: &str) -> Finished {
    unrecorded_with(job, trees, &[])
}

/// The same with further options.
#[track_caller]
fn unrecorded_with(job: &Job<'_>, trees: &str, more: &[&str]) -> Finished {
    let folder = Workspace::new();
    let file = tree_file(&folder, trees);
    let options = [&["--trees", &file, "--no-trace"], more].concat();
    let job = Job {
        options: &options,
        ..job.clone()
    };
    let (finished, _) = job.record(folder.path());
    let left = names_in(folder.path());
    let own = ["callbacks.out", "trees.toml"];
    assert!(
        left.iter().all(|name| own.contains(&name.as_str())),
        "{left:?}"
    );
    finished
}

/// Records a job over trees in a folder; what it said, and the trace.
#[track_caller]
fn recorded_over(folder: &Workspace, job: &Job<'_>, trees: &str) -> (Finished, PathBuf) {
    let file = tree_file(folder, trees);
    let options = ["--trees", &file];
    let job = Job {
        options: &options,
        ..job.clone()
    };
    job.record(folder.path())
}
