//! `--keep last:SIZE`: the newest records are kept, in so much room, and what they tell is what a
//! full trace tells of the same stretch of the same run.

use std::collections::BTreeMap;
use std::fs;
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use collbench_formats::{ChunkHeader, FileHeader, Operation, RankTrace, SequenceOf};
use collbench_tests::{
    Analysis, Finished, Job, Workspace, analyze, command, have, long_or, mpirun, program,
    rank_files, run, skip_unless,
};
use serde_json::Value;

const MPI: &[&str] = &["mpirun", "mpicc"];

/// Records two ranks of `ring` into rings of 64k.
fn record_into_64k(workspace: &Workspace, words: &[&str]) -> PathBuf {
    let job = Job {
        options: &["--keep", "last:64k"],
        ..Job::new(2, program("ring.c"), words)
    };
    job.recorded(workspace.path())
}

/// Looks at the file of each rank, of which none is damaged.
fn each_ring(trace: &Path, look: impl Fn(&[u8], RankTrace<'_>)) {
    for path in rank_files(trace) {
        let bytes = fs::read(&path).unwrap();
        let read = RankTrace::parse(&bytes).unwrap();
        assert_eq!(read.damage, []);
        look(&bytes, read);
    }
}

/// What the program printed: how many collectives each rank called.
fn calls_printed(stdout: &str, rank: usize) -> u64 {
    let line = format!("rank {rank}: ");
    let calls = stdout.lines().find_map(|it| it.strip_prefix(&line));
    let calls = calls.and_then(|it| it.strip_suffix(" calls"));
    calls.unwrap_or_else(|| panic!("{stdout}")).parse().unwrap()
}

/// The chunks of a run, collected while its rings overwrite them.
#[derive(Default)]
struct Collected {
    /// By file, thread and number: the bytes of closed chunks.
    chunks: BTreeMap<(PathBuf, u32, u32), Vec<u8>>,
}

impl Collected {
    /// Takes what is closed now, also again: a call that was under way when its chunk was full has
    /// left since. A chunk that was overwritten while it was read has another header afterwards.
    fn look(&mut self, trace: &Path) {
        for path in rank_files(trace) {
            let Ok(bytes) = fs::read(&path) else { continue };
            let Ok(read) = RankTrace::parse(&bytes) else {
                continue;
            };
            let after = fs::read(&path).unwrap_or_default();
            for chunk in &read.chunks {
                let header = chunk.offset as usize..chunk.content as usize;
                let is_same = after.get(header.clone()) == Some(&bytes[header]);
                if chunk.header.closed.get() == 0 || !is_same {
                    continue;
                }
                let key = (path.clone(), chunk.thread, chunk.ordinal);
                let from = chunk.offset as usize;
                let length = chunk.header.length.get() as usize;
                let mut whole = bytes[from..bytes.len().min(from + length)].to_vec();
                whole.resize(length, 0);
                self.chunks.insert(key, whole);
            }
        }
    }

    /// Writes the trace that a recording without a ring would have left.
    fn write(&self, ring: &Path, full: &Path) {
        fs::create_dir(full).unwrap();
        fs::copy(ring.join("run.json"), full.join("run.json")).unwrap();
        for path in rank_files(ring) {
            let bytes = fs::read(&path).unwrap();
            let read = RankTrace::parse(&bytes).unwrap();
            let header_length = read.header.header_length.get() as usize;
            let mut whole = bytes[..header_length].to_vec();
            whole[offset_of!(FileHeader, keep_bytes)..][..8].fill(0);
            let mut at = header_length;
            while let Some(kind) = bytes.get(at + 4..at + 8) {
                let length = at + offset_of!(ChunkHeader, length);
                let length = u64::from_le_bytes(bytes[length..][..8].try_into().unwrap()) as usize;
                if kind == 2u32.to_le_bytes() {
                    whole.extend(&bytes[at..bytes.len().min(at + length)]);
                    whole.resize(whole.len().next_multiple_of(4096), 0);
                }
                at += length;
            }
            for ((_, _, _), chunk) in self.chunks.iter().filter(|((file, ..), _)| *file == path) {
                whole.extend(chunk);
            }
            fs::write(full.join(path.file_name().unwrap()), whole).unwrap();
        }
    }
}

/// Records `ring` into rings, and collects all that they ever held.
fn record_and_collect(
    workspace: &Workspace,
    ranks: usize,
    options: &[&str],
    words: &[&str],
) -> (String, Collected) {
    let ring = workspace.join("trace");
    let mut line = mpirun(ranks);
    line.push(program("ring.c").into());
    let child = Command::new(command("collbench-record"))
        .args(options)
        .arg("-o")
        .arg(&ring)
        .arg("--")
        .args(line)
        .args(words)
        .env("OMPI_MCA_mpi_yield_when_idle", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = child.unwrap();
    let mut collected = Collected::default();
    while child.try_wait().unwrap().is_none() {
        collected.look(&ring);
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    collected.look(&ring);
    let stdout = String::from_utf8(output.stdout).unwrap();
    (stdout, collected)
}

/// Fields of a document that say something of what was selected, apart from those of the whole
/// trace and of the recorder.
fn of_the_selection(analysis: &Analysis) -> Value {
    let mut json = analysis.json.clone();
    let document = json.as_object_mut().unwrap();
    // Causes may lie before the part.
    for apart in [
        "trace",
        "clock",
        "phases",
        "algorithms",
        "remarks",
        "causes",
    ] {
        document.remove(apart);
    }
    for rank in document["ranks"].as_array_mut().unwrap() {
        let rank = rank.as_object_mut().unwrap();
        for of_the_whole in [
            "recorder_pause_ns",
            "point_to_point_ns",
            "unsuccessful_polls",
            "io_ns",
            "rma_ns",
        ] {
            rank.remove(of_the_whole);
        }
    }
    json
}

/// The calls of phases, by level.
fn calls_of_phases(analysis: &Analysis) -> Vec<[Value; 4]> {
    let phases = analysis.array("/phases").iter();
    let fields = ["level", "calls", "call_time_ns", "wait_ns"];
    let mut phases: Vec<_> = phases
        .map(|phase| fields.map(|it| phase[it].clone()))
        .collect();
    phases.sort_by_key(|phase| phase[0].as_i64());
    phases
}

/// With `COLLBENCH_RING_ITERATIONS=1000000` the run takes ten minutes and more.
#[test]
fn the_last_seconds_in_a_ring_are_those_of_a_full_trace_of_the_same_run() {
    skip_unless!(have(MPI));
    const RANKS: usize = 3;
    let long = std::env::var("COLLBENCH_RING_ITERATIONS").ok();
    let (iterations, keep) = match &long {
        Some(iterations) => (iterations.as_str(), "last:1MB"),
        None => ("6000", "last:256k"),
    };
    let workspace = Workspace::new();
    let options = ["--keep", keep, "--clock", "raw"];
    let (stdout, collected) =
        record_and_collect(&workspace, RANKS, &options, &[iterations, "500", "end"]);
    let (ring, full) = (workspace.join("trace"), workspace.join("full"));
    collected.write(&ring, &full);

    let kept = analyze(&ring, &[]).expect(0);
    assert_eq!(kept.json["trace"]["complete"], true);
    let window = &kept.json["trace"]["window"];
    let keep_bytes = window["keep_bytes"].as_u64().unwrap();
    for file in rank_files(&ring) {
        let size = fs::metadata(&file).unwrap().len();
        assert!(size <= keep_bytes, "{}: {size} bytes", file.display());
    }
    let mut made = 0;
    for (rank, of_rank) in window["ranks"].as_array().unwrap().iter().enumerate() {
        let calls = calls_printed(&stdout, rank);
        assert_eq!(of_rank["calls_made"], calls, "{of_rank}");
        assert!(
            of_rank["calls_dropped"].as_u64().unwrap() > calls / 4,
            "{of_rank}"
        );
        made += calls;
    }
    assert_eq!(window["calls_made"], made);
    let there = made - window["calls_dropped"].as_u64().unwrap();
    assert_eq!(
        kept.json["trace"]["calls"], there,
        "every call that is there is counted"
    );
    assert!(kept.has_remark("ring"));
    for innocent in [
        "incomplete_instances",
        "mismatched_calls",
        "stray_completions",
    ] {
        assert!(!kept.has_remark(innocent), "{}", kept.finished);
    }
    assert_eq!(kept.array("/unfinished"), [] as [Value; 0]);

    let all = analyze(&full, &[]).expect(0);
    assert_eq!(
        all.json["trace"]["calls"], made,
        "all chunks were collected"
    );
    assert_eq!(all.json["trace"]["window"], Value::Null);
    let from_ns = window["from_ns"].as_i64().unwrap() + 1;
    let to_ns = kept.json["trace"]["duration_ns"].as_i64().unwrap() - 1_000_000;
    assert!(from_ns < to_ns);
    let seconds = |ns: i64| format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    let (from, to) = (seconds(from_ns), seconds(to_ns));
    let part = ["--from", &from, "--to", &to];
    let [of_ring, of_full] = [&ring, &full].map(|trace| analyze(trace, &part).expect(0));
    assert!(
        of_ring.array("/operations").len() > 4,
        "{}",
        of_ring.finished
    );
    assert_eq!(of_the_selection(&of_ring), of_the_selection(&of_full));
    assert_eq!(calls_of_phases(&of_ring), calls_of_phases(&of_full));
    if long.is_some() {
        let calls = of_ring
            .array("/ranks")
            .iter()
            .map(|rank| rank["calls"].as_u64());
        eprintln!(
            "{} calls of {made} kept; from {from} to {to} s both say the same of {} calls",
            there,
            calls.flatten().sum::<u64>()
        );
    }
}

/// Most records are messages here, and so most chunks are opened within a call.
#[test]
fn a_ring_with_messages_is_as_large_as_was_asked_for() {
    skip_unless!(have(MPI));
    for keep in [64 << 10, 100 << 10] {
        let workspace = Workspace::new();
        let size = format!("last:{keep}");
        let options = ["--keep", &size];
        let job = Job {
            options: &options,
            ..Job::new(3, program("ring.c"), &["2000", "0", "end"])
        };
        let (finished, trace) = job.record(workspace.path());
        let finished = finished.expect(0);
        for file in rank_files(&trace) {
            let size = fs::metadata(&file).unwrap().len();
            assert!(size <= keep, "{}: {size} bytes", file.display());
        }
        let analysis = analyze(&trace, &[]).expect(0);
        let ranks = analysis.array("/trace/window/ranks");
        for (rank, of_rank) in ranks.iter().enumerate() {
            assert_eq!(of_rank["calls_made"], calls_printed(&finished.stdout, rank));
        }
        let ends = &analysis.json["trace"]["message_ends"];
        assert!(ends["paired"].as_u64().unwrap() > 200, "{ends}");
        assert!(!analysis.has_remark("mismatched_calls"));
    }
}

/// One MPI_Waitall has more records than the ring has room for, and stores the ends of the first of
/// them last.
#[test]
fn a_call_under_way_is_kept_with_all_that_it_does_and_the_ring_grows_by_no_more() {
    skip_unless!(have(MPI));
    const COLLECTIVES: u64 = 2000;
    let workspace = Workspace::new();
    let n = COLLECTIVES.to_string();
    let trace = record_into_64k(&workspace, &[&n, "0", "waitall"]);
    each_ring(&trace, |bytes, read| {
        let records = read.chunks.iter().flat_map(|chunk| chunk.records.iter());
        let completions = records.filter(|record| record.completion().is_some());
        let (done, open): (Vec<_>, Vec<_>) = completions.partition(|r| r.leave.get() != 0);
        assert_eq!(open, []);
        assert!(done.len() as u64 >= COLLECTIVES, "{}", done.len());
        // They take 64,000 bytes, and what they do at most two messages for each process.
        let most = (64 << 10) + COLLECTIVES * 3 * 32;
        assert!(bytes.len() as u64 <= most, "{} bytes", bytes.len());
    });
    let analysis = analyze(&trace, &[]).expect(0);
    for innocent in [
        "stray_completions",
        "sequence_conflict",
        "unpaired_messages",
    ] {
        assert!(!analysis.has_remark(innocent), "{}", analysis.finished);
    }
}

#[test]
fn who_waits_when_a_rank_was_killed_is_told_from_a_ring_too() {
    skip_unless!(have(MPI));
    let workspace = Workspace::new();
    let job = Job {
        options: &["--keep", "last:64k"],
        ..Job::new(3, program("ring.c"), &["3000", "0", "kill"])
    };
    let (finished, trace) = job.record(workspace.path());
    finished.expect(128 + 9);
    let analysis = analyze(&trace, &[]).expect(3);
    let [unfinished] = analysis.array("/unfinished") else {
        panic!("{}", analysis.finished);
    };
    assert_eq!(unfinished["operations"], serde_json::json!(["MPI_Barrier"]));
    assert_eq!(unfinished["inside"], serde_json::json!([1, 2]));
    assert_eq!(unfinished["never_came"], serde_json::json!([0]));
    // One MPI_Comm_split, 3000 MPI_Allreduce and 1500 MPI_Ibcast came before.
    assert_eq!(unfinished["sequence"], 4501);
    assert!(!analysis.has_remark("mismatched_calls"));
}

/// Recording makes room for every 122nd barrier here, which takes most of the time: most of these
/// processes die while they do.
#[test]
fn a_process_that_is_killed_at_any_instant_leaves_a_ring_that_can_be_read() {
    skip_unless!(have(MPI));
    let (recorder, ring) = (command("collbench-record"), program("ring.c"));
    let words = [recorder.to_str().unwrap(), "--keep", "last:64k", "-o"];
    for i in 0..6 {
        let workspace = Workspace::new();
        let trace = workspace.join("trace");
        let microseconds = (20_000 + 3_337 * i).to_string();
        let path = [trace.to_str().unwrap(), "--", ring.to_str().unwrap()];
        let program = ["0", &microseconds, "timer"];
        run(&[&words[..], &path, &program].concat()).expect(128 + 9);
        let analysis = analyze(&trace, &[]).expect(3);
        let [damage] = analysis.array("/trace/damage") else {
            panic!("{}", analysis.finished);
        };
        let what = damage["what"].as_str().unwrap();
        assert!(what.ends_with("without MPI_Finalize"), "{what}");
        let window = &analysis.json["trace"]["window"];
        let calls = analysis.rank(0)["calls"].as_u64().unwrap();
        assert!(calls > 1000, "{calls} are there");
        let dropped = window["calls_dropped"].as_u64().unwrap();
        assert_eq!(window["calls_made"], dropped + calls);
    }
}

/// The n-th call of each communicator tells n by its size.
#[test]
fn positions_in_a_ring_are_true_with_several_threads() {
    skip_unless!(have(MPI));
    let of_thread: u64 = long_or(100_000, 20_000);
    let workspace = Workspace::new();
    let calls = of_thread.to_string();
    let trace = record_into_64k(&workspace, &[&calls, "0", "threads"]);
    each_ring(&trace, |_, read| {
        let window = read.window.unwrap();
        assert!(window.is_cut());
        let mut next: BTreeMap<u32, u64> = BTreeMap::new();
        for entry in window.sequences {
            if let SequenceOf::Communicator(index) = entry.of() {
                next.insert(index, entry.calls.get());
            }
        }
        let records = read.chunks.iter().flat_map(|chunk| chunk.records.iter());
        let in_window = records.filter(|r| r.enter.get() >= window.begin_ticks);
        let mut n = 0;
        for record in in_window.filter(|r| r.operation() == Some(Operation::Allreduce)) {
            let position = next.entry(record.communicator.get()).or_default();
            assert_eq!(
                record.payload_bytes(),
                Some(1 + *position % 8000),
                "{record:?}"
            );
            *position += 1;
            n += 1;
        }
        // How many depends on which of the threads ran last, and for how long.
        assert!(n > 0);
        // The communicators of the two busy threads, and of the idle one, were seen to their ends.
        let mut ends: Vec<u64> = (2..5).map(|index| next[&index]).collect();
        ends.sort_unstable();
        assert_eq!(ends, [10, of_thread, of_thread]);
    });
    let analysis = analyze(&trace, &[]).expect(0);
    for innocent in [
        "incomplete_instances",
        "mismatched_calls",
        "sequence_conflict",
    ] {
        assert!(!analysis.has_remark(innocent), "{}", analysis.finished);
    }
}

#[test]
fn a_size_to_stop_at_and_one_to_keep_exclude_each_other() {
    let recorder = command("collbench-record");
    let recorder = recorder.to_str().unwrap();
    let try_it = |options: &[&str]| -> Finished {
        let line = [&[recorder], options, &["--", "true"]].concat();
        run(&line).expect(2)
    };
    let both = try_it(&["--keep", "last:1M", "--max-size", "1M"]);
    assert!(both.stderr.contains("--max-size") && both.stderr.contains("--keep"));
    for wrong in ["1M", "first:1M", "last:1k", "last:"] {
        let finished = try_it(&["--keep", wrong]);
        finished.must_say("--keep");
    }
}
