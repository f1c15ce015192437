//! Files in JSON: what is read, what decides, what is wrong.

use collbench_formats::Operation;
use collbench_stats::random::Random;

use super::json_check::{check, unused};
use super::json_file::JsonFile;
use super::library::{Library, library_of};
use super::run::Settings;
use super::tuned::{Call, TunedFile, decide, starts};
use crate::call::class;
use crate::decision::{DecidedBy, Decision};
use crate::explain::{Explained, divide};
use crate::json::tests::damaged;

fn six() -> Library {
    library_of("Open MPI 6.0.0")
}

fn read(text: &str) -> JsonFile {
    JsonFile::read(text.as_bytes(), six())
}

/// A file with these rules.
fn with(collectives: &str) -> String {
    format!(
        "{{\"rule_file_version\": 3, \"module\": \"tuned\", \"collectives\": {{\n{collectives}\n}}}}"
    )
}

/// Problems of a text, as `LINE:COLUMN what`.
fn problems(text: &str) -> Vec<String> {
    let file = read(text);
    let all = check(&file, six());
    all.iter()
        .map(|problem| format!("{} {}", problem.at, problem.what))
        .collect()
}

fn decision(text: &str, operation: Operation, hosts: &[u32], bytes: u64) -> Decision {
    let of_class = class(operation, hosts, (bytes, bytes));
    let settings = Settings {
        han_priority: Some(0),
        ..Settings::default()
    };
    let file = read(text);
    let call = Call::of(&of_class, bytes, Some(8));
    decide(TunedFile::Json(&file), six(), &settings, call)
}

fn follows(text: &str, operation: Operation, hosts: &[u32], bytes: u64) -> Option<String> {
    decision(text, operation, hosts, bytes).algorithm
}

const RULES: &str = "\
\"allreduce\": [
 {\"comm_size_min\": 4, \"comm_size_max\": 8, \"comm_rank_distribution\": \"one-per-node\", \"rules\": [
  {\"alg\": \"ring\"}]},
 {\"comm_size_min\": 4, \"comm_size_max\": 8, \"rules\": [
  {\"msg_size_max\": 99, \"alg\": 3},
  {\"msg_size_min\": 200, \"msg_size_max\": \"inf\", \"alg\": \"Rabenseifner\"},
  {\"msg_size_min\": 50, \"alg\": \"nonoverlapping\"}]}],
\"bcast\": [
 {\"rules\": [{\"alg\": \"chain\", \"faninout\": 2, \"seg_size\": 1024}]}]";

#[test]
fn the_first_entry_and_the_first_rule_that_fit_decide() {
    let text = with(RULES);
    assert_eq!(problems(&text), [""; 0]);
    let of = |hosts: &[u32], bytes| follows(&text, Operation::Allreduce, hosts, bytes);
    let recursive = Some("allreduce_intra_recursivedoubling".to_owned());
    assert_eq!(of(&[4], 99), recursive);
    assert_eq!(
        of(&[4], 100),
        Some("allreduce_intra_nonoverlapping".to_owned())
    );
    assert_eq!(
        of(&[4], 200),
        Some("allreduce_intra_redscat_allgather".to_owned())
    );
    assert_eq!(
        of(&[1, 1, 1, 1], 99),
        Some("allreduce_intra_ring".to_owned())
    );
    assert_eq!(of(&[2, 2], 99), recursive);
    for hosts in [&[3][..], &[9]] {
        let decision = decision(&text, Operation::Allreduce, hosts, 99);
        assert!(matches!(decision.by, DecidedBy::Library(_)), "{decision:?}");
    }
    let decision = decision(&text, Operation::Bcast, &[2], 8);
    assert_eq!((decision.line, decision.by), (Some(10), DecidedBy::Rule));
    let file = read(&text);
    let unknown = Call {
        n_processes: 4,
        ..Call::of(&class(Operation::Allreduce, &[], (8, 8)), 8, None)
    };
    let decided = decide(TunedFile::Json(&file), six(), &Settings::default(), unknown);
    assert_eq!(
        (decided.algorithm, decided.depends.is_some()),
        (recursive, true)
    );
    let of_class = class(Operation::Allreduce, &[4], (0, 1000));
    let all = starts(TunedFile::Json(&file), six(), &of_class);
    assert!(
        [50, 100, 200].iter().all(|start| all.contains(start)),
        "{all:?}"
    );
}

#[test]
fn all_that_is_wrong_is_found_at_once() {
    let text = with(
        "\"allgather\": [
 {\"comm_size_max\": \"inf\", \"rules\": [{\"alg\": \"ring\"}]},
 {\"comm_size_min\": 2, \"comm_size_max\": 9, \"rules\": [
  {\"alg\": 2}, {\"alg\": \"bruck\"}, {\"alg\": 4, \"faninout\": 3, \"seg_size\": 8, \"reqs\": 1}]},
 {\"comm_size_min\": 3, \"comm_size_max\": 8, \"comm_rank_distribution\": \"single-node\", \"rules\": []}],
\"barrier\": [{\"comm_size_max\": 4, \"rules\": [
  {\"msg_size_min\": 1, \"alg\": 1}, {\"alg\": \"two_proc\"}, {\"alg\": 2.5}, {\"sise\": 1}]}],
\"bcast\": [{\"comm_rank_distribution\": \"node\", \"rules\": [
  {\"msg_size_min\": 9, \"msg_size_max\": 8, \"alg\": 1},]}]",
    );
    let expected = [
        "3:20 comm_size_max \"inf\"",
        "3:2 allgather for 0 to -1 processes",
        "5:11 fan-out 0 for bruck-k-fanout",
        "5:23 allgather has no algorithm \"bruck\" in Open MPI 6.0.0; Open MPI 4.1 has bruck",
        "5:33 the rule of allgather for sizes from 0 on",
        "5:56 fan-out 3 for ring",
        "5:71 segments of 8 bytes for ring",
        "5:82 1 requests at a time for ring",
        "6:2 allgather for 3 to 8 processes, single-node, behind entries for any distribution",
        "8:3 the rule of barrier for sizes from 1 on",
        "8:42 two_proc is for two processes, these rules are for 2 to 4",
        "8:55 the rule of barrier for sizes from 0 on",
        "8:63 alg is 2.5",
        "8:69 a rule without alg",
        "8:69 the rule of barrier for sizes from 0 on",
        "8:70 key \"sise\"",
        "9:38 comm_rank_distribution \"node\"",
        "10:3 the rule of bcast for sizes 9 to 8",
        "10:52 a comma before a closing bracket",
    ];
    let mut found = problems(&text);
    let mut expected = expected.map(str::to_owned).to_vec();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn what_makes_the_library_ignore_the_file_is_told_first() {
    for (text, why) in [
        (
            with("\"bcast\": [] // none"),
            "a comment: the library takes the file for numbers",
        ),
        (
            with("\"bcast\": [{\"rules\": [{\"alg\": 1, \"msg_size_min\": \"64K\"}]}]"),
            "msg_size_min is \"64K\"",
        ),
        (
            with("\"bcast\": [{\"rules\": [{\"alg\": 1, \"msg_size_min\": 1e3}]}]"),
            "msg_size_min is \"1e3\"",
        ),
        (
            with("\"bcast\": [{\"comm_size_min\": 2}]"),
            "an entry without rules",
        ),
        (with("\"bcast\": {}"), "the rules of bcast are an object"),
        (
            with("\"reducescatterblock\": []"),
            "\"reducescatterblock\" where an operation is expected",
        ),
        (
            "{\"rule_file_version\": 3}".to_owned(),
            "collectives are missing",
        ),
        (with("\"bcast\": [").replace('}', ""), "expected"),
    ] {
        let file = read(&text);
        let fault = file.ignored().unwrap_or_else(|| panic!("{text}"));
        assert!(fault.why.contains(why) && !fault.crashes, "{fault:?}");
        let decision = decision(&text, Operation::Bcast, &[4], 8);
        let DecidedBy::Library(said) = decision.by else {
            panic!("{text}: {decision:?}");
        };
        assert!(
            said.starts_with("the library ignores the whole file"),
            "{said}"
        );
    }
}

#[test]
fn what_crashes_or_never_returns_is_a_failure() {
    let null = with("\"gatherv\": [{\"rules\": [{\"alg\": 1}]}]");
    let by = decision(&null, Operation::Bcast, &[4], 8).by;
    assert_eq!(
        by,
        DecidedBy::Failure("MPI_Init crashes in line 2".to_owned())
    );
    let radix = |fan_out: &str| {
        let text = with(&format!(
            "\"allgather\": [{{\"rules\": [{{\"alg\": 2{fan_out}}}]}}]"
        ));
        (
            decision(&text, Operation::Allgather, &[4], 8).by,
            problems(&text).len(),
        )
    };
    for none in ["", ", \"faninout\": 1"] {
        let (by, n_problems) = radix(none);
        assert!(matches!(by, DecidedBy::Failure(_)), "{by:?}");
        assert_eq!(n_problems, 1);
    }
    assert_eq!(radix(", \"faninout\": 2"), (DecidedBy::Rule, 0));
}

#[test]
fn of_an_operation_that_comes_twice_the_last_rules_hold() {
    let text =
        with("\"bcast\": [{\"rules\": [{\"alg\": 1}]}],\n\"bcast\": [{\"rules\": [{\"alg\": 6}]}]");
    let found = follows(&text, Operation::Bcast, &[4], 8);
    assert_eq!(found.as_deref(), Some("bcast_intra_binomial"));
    // Of other keys the first one.
    let keys = with("\"bcast\": [{\"rules\": [{\"alg\": 1, \"alg\": 6}]}]");
    let found = follows(&keys, Operation::Bcast, &[4], 8);
    assert_eq!(found.as_deref(), Some("bcast_intra_basic_linear"));
    assert_eq!(
        problems(&text),
        ["2:1 bcast comes again below", "3:1 the same key as in 2:1"]
    );
}

#[test]
fn rules_that_no_call_of_a_trace_comes_to_are_told() {
    let text = with(RULES);
    let file = read(&text);
    let of_class = class(Operation::Allreduce, &[4], (8, 64));
    let call = |bytes| {
        let call = Call::of(&of_class, bytes, None);
        decide(TunedFile::Json(&file), six(), &Settings::default(), call)
    };
    let parts = divide(
        &of_class,
        starts(TunedFile::Json(&file), six(), &of_class),
        call,
    );
    let explained: Vec<_> = parts
        .into_iter()
        .map(|(bytes, decision)| Explained {
            class: &of_class,
            bytes,
            size: None,
            is_whole: true,
            decision,
        })
        .collect();
    let lines: Vec<_> = unused(&file, six(), &explained)
        .iter()
        .map(|of| of.at.line)
        .collect();
    assert_eq!(lines, [4, 7, 8, 9]);
}

#[test]
fn a_rule_is_dead_if_no_call_comes_to_it() {
    let mut drawn = Random::of(&[1]);
    let (mut n_dead, mut n_alive) = (0, 0);
    for _ in 0..400 {
        let mut entries = Vec::new();
        for _ in 0..1 + drawn.below(5) {
            let size = 3 + drawn.below(4);
            let distribution = ["any", "one-per-node", "single-node"][drawn.below(3)];
            let rules: Vec<String> = (0..1 + drawn.below(4))
                .map(|_| {
                    let least = 1 + drawn.below(6);
                    let most = least + drawn.below(6);
                    format!("{{\"msg_size_min\": {least}, \"msg_size_max\": {most},\n\"alg\": 1}}")
                })
                .collect();
            entries.push(format!(
                "{{\"comm_size_min\": {size}, \"comm_size_max\": {}, \"comm_rank_distribution\": \
                 \"{distribution}\", \"rules\": [{}]}}",
                size + drawn.below(3),
                rules.join(", ")
            ));
        }
        let text = with(&format!("\"bcast\": [{}]", entries.join(", ")));
        let file = read(&text);
        let told = check(&file, six());
        let mut reached = Vec::new();
        for n in 3..9_u32 {
            let mut two = vec![1; n as usize - 1];
            two[0] = 2;
            for hosts in [vec![n], vec![1; n as usize], two] {
                let of_class = class(Operation::Bcast, &hosts, (1, 12));
                for bytes in 1..13 {
                    let settings = Settings {
                        han_priority: Some(0),
                        ..Settings::default()
                    };
                    let call = Call::of(&of_class, bytes, Some(1));
                    let decided = decide(TunedFile::Json(&file), six(), &settings, call);
                    reached.extend(decided.line);
                }
            }
        }
        for entry in &file.operations[&7].entries {
            let is_dead_entry = told.iter().any(|problem| problem.at == entry.at);
            for rule in &entry.rules {
                let is_dead = is_dead_entry || told.iter().any(|problem| problem.at == rule.at);
                let line = rule.algorithm.unwrap().1.line;
                let is_reached = reached.contains(&line);
                assert_ne!(is_reached, is_dead, "line {line}\n{text}\n{told:#?}");
                n_dead += usize::from(is_dead);
                n_alive += usize::from(is_reached);
            }
        }
    }
    assert!(n_dead > 100 && n_alive > 100, "{n_dead} {n_alive}");
}

/// Texts with bytes changed, left out, doubled and swapped; a million with `COLLBENCH_TESTS_LONG`.
#[test]
fn no_damaged_file_makes_it_panic_or_loop() {
    let mut drawn = Random::of(&[1]);
    let is_long = std::env::var_os("COLLBENCH_TESTS_LONG").is_some();
    let whole = with(RULES);
    let mut n_read = 0;
    for _ in 0..if is_long { 1_000_000 } else { 2000 } {
        let text = damaged(whole.as_bytes(), b"{}[]\":,-0e1.' \\\x00\xff", &mut drawn);
        let file = JsonFile::read(&text, six());
        n_read += u64::from(file.ignored().is_none());
        let n_lines = 1 + text.iter().filter(|&&byte| byte == b'\n').count();
        let told = check(&file, six());
        assert!(told.iter().all(|problem| problem.at.line <= n_lines));
        assert!(file.ignored().is_none() || !told.is_empty());
        let of_class = class(Operation::Allreduce, &[2, 2], (0, 1 << 20));
        for bytes in starts(TunedFile::Json(&file), six(), &of_class) {
            let call = Call::of(&of_class, bytes, None);
            let decided = decide(TunedFile::Json(&file), six(), &Settings::default(), call);
            assert!(decided.line.is_none() || file.ignored().is_none());
        }
    }
    assert!(n_read > 0);
}

#[test]
fn ten_thousand_rules_are_checked_at_once() {
    let rules: Vec<String> = (0..10_000)
        .map(|nth| format!("{{\"msg_size_min\": {nth}, \"msg_size_max\": {nth}, \"alg\": 1}}"))
        .collect();
    let entries: Vec<String> = (2..10_002)
        .map(|n| format!("{{\"comm_size_min\": {n}, \"comm_size_max\": {n}, \"rules\": []}}"))
        .collect();
    let text = with(&format!(
        "\"bcast\": [{{\"rules\": [\n{}\n]}}],\n\"reduce\": [\n{}]",
        rules.join(",\n"),
        entries.join(",\n")
    ));
    let begin = std::time::Instant::now();
    assert_eq!(problems(&text), [""; 0]);
    // 0.2 s in a debug build.
    assert!(begin.elapsed().as_secs() < 20, "{:?}", begin.elapsed());
}
