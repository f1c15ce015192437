//! Finds the commit that is built, and its date.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=commit");
    println!("cargo::rerun-if-changed=build.rs");
    let target = std::env::var("TARGET").unwrap_or_default();
    println!("cargo::rustc-env=COLLBENCH_TARGET={target}");
    // Only in releases: otherwise every commit would link all tests again.
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let archived = std::fs::read_to_string("commit").unwrap_or_default();
    let found = if !archived.starts_with('$') {
        Some(archived)
    } else if is_release {
        of_repository()
    } else {
        None
    };
    let found = found.unwrap_or_default();
    let mut words = found.split_whitespace();
    let commit = words.next().unwrap_or("unknown");
    let commit = commit.get(..12).unwrap_or(commit);
    println!("cargo::rustc-env=COLLBENCH_COMMIT={commit}");
    let date = words.next().unwrap_or("unknown");
    println!("cargo::rustc-env=COLLBENCH_DATE={date}");
}

/// The commit that is checked out, and its date, with a blank between; `None` if this folder is not in a
/// repository of its own.
fn of_repository() -> Option<String> {
    let root = Path::new("../..").canonicalize().ok()?;
    let top = PathBuf::from(git(&["rev-parse", "--show-toplevel"])?);
    // A source archive may have been unpacked inside of another repository.
    if top.canonicalize().ok()? != root {
        return None;
    }
    // What changes with each commit and each checkout.
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", file])
            && Path::new(&path).exists()
        {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["log", "-1", "--format=%H %cs"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_owned())
}
