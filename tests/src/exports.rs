//! Exports, read by programs of others.

use std::path::Path;
use std::process::Command;

use crate::machine::{command, have, have_folder, source_dir, target_dir};

/// Exports a trace in all formats and compares them with its analysis (`scripts/export-check.py`): by Python alone, or (with
/// `packages`) also by those that `scripts/readers.sh` installs.
///
/// # Panics
///
/// If they differ.
#[track_caller]
pub fn check_exports(trace: &Path, packages: bool) {
    let readers = target_dir().join("readers");
    let python = readers.join("bin/python");
    if packages && !have_folder(&readers) || !have(&["python3"]) {
        return;
    }
    let mut check = if packages {
        Command::new(python)
    } else {
        Command::new("/usr/bin/python3")
    };
    check.arg(source_dir().join("../scripts/export-check.py"));
    if !packages {
        check.arg("--python-alone");
    }
    let release = command("collbench-export");
    let release = release.parent().expect("a folder");
    let output = check
        .arg(release)
        .arg(trace)
        .output()
        .expect("Python can be run");
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
