//! `collbench-tune run`, with a recorder that copies a trace, and programs that are scripts.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use collbench_formats::Operation;
use serde_json::Value;
use tempfile::TempDir;

use crate::built::{TestTrace, assert_has};

/// Copies the trace beside it instead of recording, and tells the program over which trees it runs.
const RECORD: &str = r#"#!/bin/sh
records=yes
while [ $# -gt 0 ]; do
    case $1 in
    -o) directory=$2; shift 2 ;;
    --trees) TREES=$2; export TREES; shift 2 ;;
    --no-trace) records=; shift ;;
    --) shift; break ;;
    esac
done
[ -z "$records" ] || cp -r "$(dirname "$0")/recorded" "$directory"
exec "$@"
"#;

const TREES: &str = "[[tree]]\noperations = [\"allreduce\"]\nshape = { ranks = \"exchange\" }\n";

/// A directory with the command, its recorder and a program, and one that the program is run in.
struct Room {
    folder: TempDir,
}

impl Room {
    /// With a program that is this script.
    fn new(program: &str) -> Self {
        Self::with_calls(program, 60)
    }

    fn with_calls(program: &str, n_calls: u64) -> Self {
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let room = Self { folder };
        for directory in ["bin", "work"] {
            fs::create_dir(room.path(directory)).unwrap();
        }
        let own = env!("CARGO_BIN_EXE_collbench-tune");
        let linked = fs::hard_link(own, room.path("bin/collbench-tune"));
        linked
            .or_else(|_| fs::copy(own, room.path("bin/collbench-tune")).map(drop))
            .unwrap();
        let mut trace = TestTrace::new(2);
        for call in 0..n_calls {
            let enter = 1_000_000 + 100_000 * call;
            let stamps = [(enter, enter + 50_000), (enter + 100, enter + 50_000)];
            trace.world(Operation::Allreduce, -1, 8, &stamps);
        }
        fs::create_dir(room.path("bin/recorded")).unwrap();
        trace.write(&room.path("bin/recorded"));
        room.script("bin/collbench-record", RECORD);
        room.script("bin/program", &format!("#!/bin/sh\n{program}\n"));
        fs::write(room.path("trees.toml"), TREES).unwrap();
        room
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn script(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The command, which tries the trees.
    fn command(&self, options: &[&str]) -> Command {
        let mut command = Command::new(self.path("bin/collbench-tune"));
        command
            .args(["run", "--trees", "../trees.toml"])
            .args(options)
            .args(["--", "../bin/program"])
            .current_dir(self.path("work"))
            .stdin(Stdio::null());
        command
    }

    fn run(&self, options: &[&str]) -> Ended {
        ended(&mut self.command(options))
    }

    /// What is in the directory that the program was run in.
    fn left(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("work")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name());
        names.map(|name| name.into_string().unwrap()).collect()
    }

    fn document(&self) -> Value {
        let text = fs::read(self.path("work/tuned/run.json")).unwrap();
        collbench_schemas::read(text)
    }
}

/// The status of a command, and what it wrote to stdout and stderr.
type Ended = (Option<i32>, String, String);

fn ended(command: &mut Command) -> Ended {
    let output = command.output().unwrap();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Processes whose command line has this word.
fn processes_with(word: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines
        .filter(|line| text(line).split('\0').any(|of| of == word))
        .count()
}

#[test]
fn a_program_that_is_faster_over_trees_is_said_to_be() {
    let room = Room::new("[ -n \"$TREES\" ] || sleep 0.3");
    let (status, said, told) = room.run(&["--rounds", "10", "--seed", "7"]);
    assert_eq!(status, Some(0), "{told}");
    assert!(
        said.starts_with("with trees.toml the program takes "),
        "{said}"
    );
    assert_has(&said, "less time");
    let use_it = "use it: collbench-record --trees ../trees.toml --no-trace -- ../bin/program\n";
    assert_has(&said, use_it);
    assert_has(&told, "then 10 rounds of 3 runs, of about ");
    assert_eq!(room.left(), ["tuned"]);
    let document = room.document();
    assert_eq!(document["schema"], "collbench.tune-run/1");
    assert_eq!(document["best"], "trees.toml");
    assert_eq!(document["seed"], 7);
    let proposal = &document["proposals"][0];
    assert_eq!(proposal["verdict"], "faster");
    assert!(proposal["ratio"]["high"].as_f64().unwrap() < 1.0);
    let files = document["files"].as_array().unwrap();
    assert_eq!(files.len(), 4, "{files:?}");
    let page = text(&fs::read(room.path("work/tuned/index.html")).unwrap());
    let answer = said.lines().next().unwrap();
    assert_has(&page, &format!("<li>{answer}</li>"));
    assert_has(&page, "<li>nothing is predicted: ");
    // Once more: not over the first result, but with --force.
    let (status, _, told) = room.run(&["--rounds", "4"]);
    assert_eq!(status, Some(1));
    assert_has(&told, "exists; --force replaces it");
    fs::write(room.path("work/tuned/mine"), "").unwrap();
    let (_, _, told) = room.run(&["--force"]);
    assert_has(
        &told,
        "tuned has mine, which collbench-tune run has not written",
    );
    fs::remove_file(room.path("work/tuned/mine")).unwrap();
    let (status, said, told) = room.run(&["--rounds", "4", "--force", "--format", "json"]);
    assert_eq!(status, Some(0), "{told}");
    let written = fs::read_to_string(room.path("work/tuned/run.json"));
    assert_eq!(said, written.unwrap());
    assert_eq!(room.left(), ["tuned"]);
}

#[test]
fn what_was_not_applied_is_not_said_to_gain_nothing() {
    // The trace has no calls at all.
    let room = Room::with_calls("true", 0);
    let (_, said, _) = room.run(&["--rounds", "4"]);
    assert!(said.starts_with("not applied: "), "{said}");
    assert_has(&said, "trees.toml: not applied: no call ran over its trees");
    assert!(!said.contains("no gain"), "{said}");
    assert_eq!(room.document()["proposals"][0]["verdict"], "not_applied");
}

#[test]
fn a_program_that_fails_is_told_with_its_last_words() {
    let room = Room::new("echo a; echo no such input >&2; exit 3");
    let (status, _, told) = room.run(&[]);
    assert_eq!(status, Some(1));
    assert_has(
        &told,
        "ended with status 3: nothing to compare with. Its stdin was empty.",
    );
    assert!(
        told.ends_with("It wrote at last:\n    no such input\n"),
        "{told}"
    );
    assert_eq!(room.left(), [] as [&str; 0]);
}

#[test]
fn a_program_that_ends_in_different_ways_is_told_with_the_files_that_it_wrote() {
    // The fourth run of the program: in the first round.
    let room = Room::new("echo >> runs; [ $(wc -l < runs) -lt 4 ] || exit 5");
    let (status, said, told) = room.run(&["--rounds", "4"]);
    assert_eq!(status, Some(1));
    assert_has(&told, "the program created runs; if it reads them");
    let is_told = said.contains("cannot compare: the program ended with status 0 the first time; now it ended with status 5")
        || said.contains("failed: it ended with status 5");
    assert!(is_told, "{said}");
    assert!(
        room.left().contains(&"runs".to_owned()),
        "the files of the user stay"
    );
}

#[test]
fn a_second_run_that_ends_otherwise_ends_all() {
    let room = Room::new("[ ! -e done ] || kill -SEGV $$; touch done");
    let (status, said, _) = room.run(&[]);
    assert_eq!(status, Some(1));
    let expected = "cannot compare: the program ended with status 0 the first time; the second time it ended by signal 11";
    assert!(said.starts_with(expected), "{said}");
}

#[test]
fn each_run_reads_the_whole_file_on_stdin_and_nothing_of_a_pipe() {
    let room = Room::new("read a; read b; [ \"$a$b\" = 12 ]");
    fs::write(room.path("input"), "1\n2\n").unwrap();
    let file = fs::File::open(room.path("input")).unwrap();
    let (status, _, told) = ended(room.command(&["--rounds", "4"]).stdin(file));
    assert_eq!(status, Some(0), "{told}");
    let mut piped = Command::new("sh");
    piped
        .arg("-c")
        .arg("(printf '1\\n2\\n'; sleep 0.1) | { sleep 0.05; exec \"$0\" run --force -- ../bin/program; }")
        .arg(room.path("bin/collbench-tune"))
        .current_dir(room.path("work"));
    let (_, _, told) = ended(&mut piped);
    assert_has(&told, "stdin is a pipe, which only one run could read");
    assert_has(&told, "ended with status 1");
}

#[test]
fn a_run_that_takes_longer_than_announced_is_ended_with_all_that_it_started() {
    let seconds = "41421.356";
    let room = Room::new(&format!(
        "trap '' TERM; (sleep {seconds}) & sleep {seconds}"
    ));
    let (status, _, told) = room.run(&["--seconds", "1"]);
    assert_eq!(status, Some(1));
    assert_has(&told, "the program did not end within --seconds 1;");
    assert_eq!(processes_with(seconds), 0);
    assert_eq!(room.left(), [] as [&str; 0]);
}

#[test]
fn too_little_time_is_said_before_the_rounds() {
    let room = Room::new("sleep 0.4");
    let (status, _, told) = room.run(&["--seconds", "3"]);
    assert_eq!(status, Some(1));
    assert_has(&told, "expected --seconds ");
    assert!(!told.contains("round 1"), "{told}");
    assert_eq!(room.left(), [] as [&str; 0]);
}

#[test]
fn interrupted_it_tells_what_was_measured_and_leaves_nothing() {
    let seconds = "57721.566";
    // The eleventh run, in the third round, goes on for hours.
    let room = Room::new(&format!(
        "echo >> ../runs; [ $(wc -l < ../runs) -lt 11 ] || sleep {seconds}"
    ));
    let mut command = room.command(&["--rounds", "9"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("round 2 of 9")));
    while processes_with(seconds) == 0 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let killed = Command::new("kill")
        .arg("-TERM")
        .arg(child.id().to_string())
        .status()
        .unwrap();
    assert!(killed.success());
    let mut said = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    assert!(said.starts_with("interrupted after 2 rounds: "), "{said}");
    assert_has(&said, "trees.toml: too few rounds to tell");
    assert_eq!(processes_with(seconds), 0);
    assert_eq!(room.left(), [] as [&str; 0]);
}

#[test]
fn what_is_not_a_directory_of_its_own_is_not_touched() {
    let room = Room::new("true");
    fs::create_dir(room.path("work/tuned")).unwrap();
    fs::write(room.path("work/tuned/run.json"), "{\"schema\": \"mine\"}").unwrap();
    let (status, _, told) = room.run(&["--force"]);
    assert_eq!(status, Some(1));
    assert_has(&told, "exists and is not of collbench-tune run");
    assert_eq!(room.left(), ["tuned"]);
}

#[test]
fn within_an_mpi_job_it_is_not_run() {
    let room = Room::new("true");
    let (status, _, told) = ended(room.command(&[]).env("PMIX_RANK", "0"));
    assert_eq!(status, Some(2));
    assert_has(&told, "collbench-tune run -- mpirun");
    let (status, ..) = room.run(&["--trees", "missing.toml"]);
    assert_eq!(status, Some(1));
    assert_eq!(room.left(), [] as [&str; 0]);
}
