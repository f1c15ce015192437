//! The command as users call it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn run(command: &mut Command) -> Output {
    command.output().expect("the command can be started")
}

#[test]
fn long_traces_are_written_with_little_memory() {
    let scenario = "schema = 1\ntruth = \"counts\"\n[[hosts]]\nname = \"a\"\nranks = 4\n\
                    [[program]]\nrepeat = 400000\noperation = \"MPI_Reduce\"\nbytes = 8\n\
                    work = [{ exponential_ns = 1000 }]\n";
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("scenario.toml");
    let out = directory.path().join("trace");
    fs::write(&file, scenario).unwrap();
    // 1.6 million records are 51 MB; the program itself takes some of the 40 MB.
    let output = run(Command::new("sh")
        .args(["-c", "ulimit -v 40000; exec \"$0\" \"$@\""])
        .arg(env!("CARGO_BIN_EXE_collbench-generate"))
        .args([&file, &out]));
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let document = |name: &str| collbench_schemas::read(fs::read(out.join(name)).unwrap());
    let truth = document("truth.json");
    assert_eq!(document("run.json")["form"], "generated");
    assert_eq!(truth["calls"], 1_600_000);
    assert!(truth["operations"][0]["global"]["wait_ns"]["median"].is_null());
}

#[test]
fn the_command_names_the_error_and_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("late.toml");
    let out = directory.path().join("trace");
    fs::write(
        &file,
        "schema = 1\n[[hosts]]\nname = \"a\"\nranks = 0\n[[program]]\n",
    )
    .unwrap();
    let generate = |arguments: &[&Path]| {
        run(Command::new(env!("CARGO_BIN_EXE_collbench-generate")).args(arguments))
    };
    let output = generate(&[&file, &out]);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{words}");
    assert!(
        words.contains("late.toml: line 4: ranks = 0; expected 1 to"),
        "{words}"
    );
    assert!(!out.exists());
    assert_eq!(generate(&[&file]).status.code(), Some(2));
    let output = generate(&[&directory.path().join("none.toml"), &out]);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("none.toml: cannot be read"), "{words}");
    for (option, expected) in [
        ("--completions=bash", "_collbench__generate"),
        ("--man", ".TH collbench-generate"),
    ] {
        let output = generate(&[Path::new(option)]);
        assert!(
            String::from_utf8_lossy(&output.stdout).contains(expected),
            "{option}"
        );
    }
}
