//! Others who can write in the trace directory: what they put there, swap or cut is neither followed
//! nor waited for, and named; and a signal ends whatever takes long, without leaving it half done.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use collbench_tests::{Finished, Workspace, command, rank_files, run, run_in};

const SECRET: &str = "secret-that-nobody-reads";

/// Two ranks of `repeat` calls, without MPI.
fn generated(workspace: &Workspace, name: &str, repeat: usize) -> PathBuf {
    let scenario = workspace.join(format!("{name}.toml"));
    let text = format!(
        "schema = 1\nname = \"{name}\"\nseed = 5\ntruth = \"counts\"\n\
         [[hosts]]\nname = \"node1\"\nranks = 2\nghz = 2.45\n\
         [[program]]\nrepeat = {repeat}\nsteps = [\n  \
         {{ operation = \"MPI_Allreduce\", bytes = 8, work = [{{ normal_ns = [50000, 9000] }}] }},\n]\n"
    );
    fs::write(&scenario, text).unwrap();
    let trace = workspace.join(name);
    let generate = command("collbench-generate");
    run(&[
        generate.as_os_str(),
        scenario.as_os_str(),
        trace.as_os_str(),
    ])
    .expect(0);
    trace
}

/// A command of collbench that must end within a minute.
#[track_caller]
fn soon(name: &str, words: &[&OsStr]) -> Finished {
    let command = command(name);
    let limit = ["timeout", "60"].map(OsStr::new);
    run(&[&limit[..], &[command.as_os_str()], words].concat())
}

fn make_pipe(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

/// Everything that is no file, under names of rank files.
fn plant(workspace: &Workspace, trace: &Path) -> [&'static str; 6] {
    let secret = workspace.join("secret");
    fs::write(&secret, SECRET).unwrap();
    symlink(&secret, trace.join("a-link.trace")).unwrap();
    symlink("/dev/zero", trace.join("b-device.trace")).unwrap();
    symlink("nowhere", trace.join("c-dangling.trace")).unwrap();
    make_pipe(&trace.join("d-pipe.trace"));
    drop(UnixListener::bind(trace.join("e-socket.trace")).unwrap());
    fs::create_dir(trace.join("f-folder.trace")).unwrap();
    [
        "a-link.trace",
        "b-device.trace",
        "c-dangling.trace",
        "d-pipe.trace",
        "e-socket.trace",
        "f-folder.trace",
    ]
}

#[track_caller]
fn assert_names_all(finished: &Finished, shown: &str, names: &[&str]) {
    for name in names {
        let is_named = |line: &str| line.contains(name) && line.contains("not a regular file");
        assert!(shown.lines().any(is_named), "{name}: {finished}");
    }
    let both = format!("{}{}", finished.stdout, finished.stderr);
    assert!(!both.contains("secret-"), "{finished}");
}

#[test]
fn what_is_no_file_is_named_and_neither_read_nor_copied() {
    let workspace = Workspace::new();
    let trace = generated(&workspace, "trace", 200);
    let names = plant(&workspace, &trace);
    let json = ["--no-pictures", "--format", "json"].map(OsStr::new);
    let finished = soon(
        "collbench-analyze",
        &[&json[..], &[trace.as_os_str()]].concat(),
    );
    let finished = finished.expect(3);
    // One finding a line.
    let lines = finished.stdout.replace("},", "},\n").replace("\\n", "\n");
    let lines = lines.replace("\",\n", "\" ");
    assert_names_all(&finished, &lines, &names);

    let out = workspace.join("out");
    let finished = soon("collbench-compact", &[trace.as_os_str(), out.as_os_str()]).expect(3);
    assert_names_all(&finished, &finished.stderr, &names);
    assert_eq!(
        finished
            .stderr
            .matches("neither followed nor copied")
            .count(),
        6
    );
    assert_eq!(rank_files(&out).len(), 2);
    assert_eq!(
        fs::read_dir(&out).unwrap().count(),
        4,
        "run.json and truth.json too"
    );
    // In place.
    let finished = soon("collbench-compact", &[trace.as_os_str()]).expect(3);
    assert_names_all(&finished, &finished.stderr, &names);
    assert_eq!(
        fs::read_to_string(workspace.join("secret")).unwrap(),
        SECRET
    );
    assert!(trace.join("a-link.trace").is_symlink());
    // Of a run that has ended there is one look, and then the whole; as it is now, and as it was.
    for words in [&["--expand"][..], &[]] {
        let follow = [OsStr::new("--follow"), trace.as_os_str()];
        let finished = soon("collbench-analyze", &follow).expect(3);
        assert!(finished.stdout.contains("a-link.trace"), "{finished}");
        let words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
        soon(
            "collbench-compact",
            &[&words[..], &[trace.as_os_str()]].concat(),
        )
        .expect(3);
    }
}

#[test]
fn run_json_is_no_pipe_no_device_and_has_an_end() {
    let workspace = Workspace::new();
    let trace = generated(&workspace, "trace", 200);
    let run_json = trace.join("run.json");
    let plants: [&dyn Fn(); 4] = [
        &|| make_pipe(&run_json),
        &|| symlink("/dev/zero", &run_json).unwrap(),
        &|| symlink("/etc/passwd", &run_json).unwrap(),
        // Without an end that anybody could wait for, and without a byte on the disk.
        &|| File::create(&run_json).unwrap().set_len(1 << 40).unwrap(),
    ];
    for plant in plants {
        fs::remove_file(&run_json).unwrap();
        plant();
        let words = [OsStr::new("--no-pictures"), trace.as_os_str()];
        let finished = soon("collbench-analyze", &words).expect(0);
        assert!(finished.stdout.contains("run.json"), "{finished}");
        assert!(!finished.stdout.contains("root:"), "{finished}");
    }
}

#[test]
fn the_recorder_ends_whatever_has_taken_the_place_of_run_json() {
    for plant in [
        "mkfifo t/run.json",
        "ln -s /dev/zero t/run.json",
        "mkdir t/run.json",
    ] {
        let workspace = Workspace::new();
        let recorder = command("collbench-record");
        let script = format!("rm t/run.json; {plant}");
        let recorder = recorder.to_str().unwrap();
        let line = [
            "timeout", "60", recorder, "-o", "t", "--", "sh", "-c", &script,
        ];
        let finished = run_in(workspace.path(), &[], &line).expect(125);
        finished.must_say("nothing was recorded");
    }
}

/// Calls `swap` with 0, 1, 2 ... until `work` is done.
fn while_swapping(swap: impl Fn(usize) + Sync, work: impl FnOnce()) {
    struct Ended<'a>(&'a AtomicBool);
    impl Drop for Ended<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let has_ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut n = 0;
            while !has_ended.load(Ordering::Relaxed) {
                swap(n);
                n += 1;
            }
        });
        // Also where it fails.
        let _ended = Ended(&has_ended);
        work();
    });
}

#[test]
fn a_file_that_is_swapped_all_the_time_gives_nothing_of_what_lies_elsewhere() {
    let workspace = Workspace::new();
    let trace = generated(&workspace, "trace", 50);
    let secret = workspace.join("secret");
    fs::write(&secret, SECRET).unwrap();
    let next = workspace.join("next");
    let swap = |n: usize| {
        match n % 3 {
            0 => fs::write(&next, "no trace").unwrap(),
            1 => symlink(&secret, &next).unwrap(),
            _ => make_pipe(&next),
        }
        let name = ["x.trace", "notes.txt"][n / 3 % 2];
        fs::rename(&next, trace.join(name)).unwrap();
    };
    while_swapping(swap, || {
        for round in 0..25 {
            let words = ["--no-pictures".as_ref(), trace.as_os_str()];
            let finished = soon("collbench-analyze", &words);
            assert!(!finished.to_string().contains("secret-"), "{finished}");
            let out = workspace.join(format!("out-{round}"));
            let finished = soon("collbench-compact", &[trace.as_os_str(), out.as_os_str()]);
            assert!([0, 1, 3].contains(&finished.status), "{finished}");
            for entry in fs::read_dir(&out).into_iter().flatten() {
                let bytes = fs::read(entry.unwrap().path()).unwrap();
                assert_ne!(bytes, SECRET.as_bytes(), "round {round}");
            }
        }
    });
}

#[test]
fn replacing_a_trace_removes_nothing_of_a_folder_that_takes_the_place_of_its_report() {
    let workspace = Workspace::new();
    let trace = workspace.join("trace");
    let (mine, theirs) = (workspace.join("mine"), workspace.join("theirs"));
    for folder in [&trace, &mine, &theirs] {
        fs::create_dir(folder).unwrap();
    }
    for name in ["index.html", "analysis.json", "thesis.svg"] {
        fs::write(theirs.join(name), "precious").unwrap();
    }
    let report = trace.join("report");
    let swap = |n: usize| {
        // What cannot be renamed just now is being replaced.
        if n.is_multiple_of(2) {
            fs::write(mine.join("index.html"), "").unwrap();
            let _ = fs::rename(&mine, &report);
        } else {
            let _ = fs::rename(&report, &mine);
            let _ = fs::create_dir(&mine);
            let _ = symlink(&theirs, &report);
            let _ = fs::remove_file(&report);
        }
    };
    while_swapping(swap, || {
        for _ in 0..100 {
            let _ = fs::write(trace.join("run.json"), "{\"schema\": \"collbench.run/1\"}");
            let words = ["--force", "-o", trace.to_str().unwrap(), "--", "true"];
            soon("collbench-record", &words.map(OsStr::new));
            assert_eq!(fs::read_dir(&theirs).unwrap().count(), 3);
        }
    });
}

#[test]
fn a_file_that_is_cut_while_it_is_read_is_named_and_ends_nobody() {
    let workspace = Workspace::new();
    let whole = generated(&workspace, "whole", 300_000);
    let trace = workspace.join("trace");
    let mut n_named = 0;
    for round in 0..12u32 {
        let _ = fs::remove_dir_all(&trace);
        fs::create_dir(&trace).unwrap();
        for entry in fs::read_dir(&whole).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, trace.join(path.file_name().unwrap())).unwrap();
        }
        let victim = rank_files(&trace).swap_remove(1);
        let name = victim.file_name().unwrap().to_str().unwrap();
        let file = File::options().write(true).open(&victim).unwrap();
        let length = file.metadata().unwrap().len();
        let line: &[&str] = match round % 3 {
            0 => &["collbench-analyze", "--no-pictures"],
            1 => &["collbench-compact"],
            _ => &["collbench-analyze", "--follow"],
        };
        let mut child = started(line[0], &[&line[1..], &[trace.to_str().unwrap()]].concat());
        // Again and again, since nobody knows how far the command is.
        for step in 1..40 {
            std::thread::sleep(Duration::from_millis(u64::from(round) + 1));
            file.set_len(length - length / 40 * step).unwrap();
            if child.try_wait().unwrap().is_some() {
                break;
            }
        }
        let finished = ended(child);
        assert!(
            [0, 1, 3].contains(&finished.status),
            "of a signal, or a panic: {finished}"
        );
        let shown = format!("{}{}", finished.stdout, finished.stderr);
        assert!(!shown.contains("panicked"), "{finished}");
        if shown.contains("became shorter") {
            assert!(shown.contains(name), "{finished}");
            n_named += 1;
        }
        let left = fs::read_dir(&trace).unwrap();
        let left = left.filter(|entry| {
            let name = entry.as_ref().unwrap().file_name();
            name.to_string_lossy().ends_with(".compacting")
        });
        assert_eq!(left.count(), 0, "{finished}");
    }
    // How many depends on the machine; a unit test of the analyzer cuts at a given instant.
    println!("named {n_named} times");
}

fn started(name: &str, words: &[&str]) -> Child {
    Command::new("timeout")
        .args(["--foreground", "120"])
        .arg(command(name))
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn ended(child: Child) -> Finished {
    let output = child.wait_with_output().unwrap();
    let status = output.status;
    Finished {
        line: String::new(),
        status: status
            .code()
            .or_else(|| status.signal().map(|signal| 128 + signal))
            .unwrap(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Waits for a file to appear in a folder, by the end of its name.
#[track_caller]
fn wait_for(folder: &Path, end: &str, child: &mut Child) {
    let is_there = || {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.into_iter().any(|name| name.ends_with(end))
    };
    while !is_there() {
        assert!(
            child.try_wait().unwrap().is_none(),
            "it ended before {end} was there"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn all_bytes(trace: &Path) -> Vec<Vec<u8>> {
    let files = rank_files(trace).into_iter();
    files.map(|path| fs::read(path).unwrap()).collect()
}

/// A signal to the command below `timeout`, which is given as it is to nobody else.
fn send(signal: &str, child: &Child) {
    let of = format!("/proc/{0}/task/{0}/children", child.id());
    let command = fs::read_to_string(of).unwrap();
    let sent = Command::new("kill").args([signal, command.trim()]).status();
    assert!(sent.unwrap().success());
}

#[test]
fn a_signal_ends_compacting_and_nothing_half_done_stays() {
    let workspace = Workspace::new();
    let whole = generated(&workspace, "whole", 400_000);
    let before = all_bytes(&whole);
    let whole = whole.to_str().unwrap();
    let out = workspace.join("out");
    let place = workspace.join("recorded");
    let copy = format!("cp {whole}/*.trace {}", place.display());
    let record = [
        "--compact",
        "-o",
        place.to_str().unwrap(),
        "--",
        "sh",
        "-c",
        &copy,
    ];
    for (signal, status) in [("-TERM", 143), ("-INT", 130)] {
        // In place.
        let mut child = started("collbench-compact", &[whole]);
        wait_for(Path::new(whole), ".compacting", &mut child);
        send(signal, &child);
        let finished = ended(child);
        assert_eq!(finished.status, status, "{finished}");
        finished.must_say("interrupted");
        assert_eq!(fs::read_dir(whole).unwrap().count(), 4);
        run(&[
            command("collbench-compact").to_str().unwrap(),
            "--expand",
            whole,
        ])
        .expect(0);
        assert!(all_bytes(Path::new(whole)) == before, "every file is whole");

        // To another directory.
        let mut child = started("collbench-compact", &[whole, out.to_str().unwrap()]);
        wait_for(&workspace.join("out.compacting"), ".trace", &mut child);
        send(signal, &child);
        let finished = ended(child);
        assert_eq!(finished.status, status, "{finished}");
        assert!(
            !out.exists() && !workspace.join("out.compacting").exists(),
            "{finished}"
        );

        // After a run, of a command that ended well.
        let mut child = started("collbench-record", &record);
        wait_for(&place, ".compacting", &mut child);
        send(signal, &child);
        let finished = ended(child);
        assert_eq!(finished.status, status, "{finished}");
        finished.must_say("2 ranks");
        assert_eq!(rank_files(&place).len(), 2);
        assert_eq!(fs::read_dir(&place).unwrap().count(), 3, "{finished}");
        fs::remove_dir_all(&place).unwrap();
    }
}

#[test]
fn what_a_killed_compaction_leaves_does_not_block_the_next_and_what_is_not_its_own_stays() {
    let workspace = Workspace::new();
    let trace = generated(&workspace, "trace", 400_000);
    let (out, half) = (workspace.join("out"), workspace.join("out.compacting"));
    let compact = command("collbench-compact");
    let line = [compact.as_os_str(), trace.as_os_str(), out.as_os_str()];
    let mut child = started(
        "collbench-compact",
        &[trace.to_str().unwrap(), out.to_str().unwrap()],
    );
    wait_for(&half, ".trace", &mut child);
    send("-KILL", &child);
    ended(child);
    assert!(half.exists() && !out.exists());
    // One that is at work has it locked.
    let locked = [OsStr::new("flock"), half.as_os_str()];
    let before = fs::read_dir(&half).unwrap().count();
    let finished = run(&[&locked[..], &line].concat()).expect(1);
    finished.must_say("in use by");
    assert_eq!(fs::read_dir(&half).unwrap().count(), before);
    run(&line).expect(0);
    assert!(!half.exists());
    assert_eq!(rank_files(&out).len(), 2);
    assert_eq!(fs::read_dir(&out).unwrap().count(), 4);
    // Somebody's own.
    fs::remove_dir_all(&out).unwrap();
    fs::create_dir(&half).unwrap();
    fs::write(half.join("thesis.tex"), "precious").unwrap();
    let finished = run(&line).expect(1);
    finished.must_say("out.compacting");
    assert_eq!(fs::read(half.join("thesis.tex")).unwrap(), b"precious");
    fs::remove_dir_all(&half).unwrap();
    symlink(&trace, &half).unwrap();
    run(&line).expect(1);
    assert_eq!(rank_files(&trace).len(), 2);
}

/// CRC-32, as zip has it.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 * (crc & 1))
        })
    };
    !bytes.iter().fold(!0, step)
}

#[test]
fn expanding_takes_no_longer_than_what_is_there() {
    let workspace = Workspace::new();
    let trace = generated(&workspace, "trace", 200);
    let compact = command("collbench-compact");
    run(&[compact.as_os_str(), trace.as_os_str()]).expect(0);
    let file = rank_files(&trace).remove(0);
    let small = fs::read(&file).unwrap();
    for stated in [1u64 << 33, 1 << 40, 1 << 62] {
        let mut bytes = small.clone();
        bytes[16..24].copy_from_slice(&stated.to_le_bytes());
        bytes[12..16].fill(0);
        let sum = crc32(&bytes[..32]).to_le_bytes();
        bytes[12..16].copy_from_slice(&sum);
        fs::write(&file, &bytes).unwrap();
        let finished = soon(
            "collbench-compact",
            &["--expand".as_ref(), trace.as_os_str()],
        );
        let finished = finished.expect(3);
        finished.must_say(&stated.to_string());
        assert_eq!(fs::read(&file).unwrap(), bytes, "it stays as it is");
        run(&[compact.as_os_str(), trace.as_os_str()]).expect(0);
    }
}
