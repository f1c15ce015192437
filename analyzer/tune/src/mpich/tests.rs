use collbench_formats::Operation;
use collbench_stats::random::Random;

use super::*;
use crate::call::class;
use crate::decision::DecidedBy;
use crate::explain::Explained;
use crate::json::tests::damaged;
use crate::problem::Position;

/// Not one of the files that are compiled in, but small enough to be read.
const SMALL: &str = r#"{"collective=bcast":
  {"comm_type=intra":
    {"comm_size<=4": {"algorithm=MPIR_Bcast_intra_binomial":{}},
     "comm_size=any":
       {"avg_msg_size<=2048": {"algorithm=MPIR_Bcast_intra_binomial":{}},
        "avg_msg_size=any": {"algorithm=MPIR_Bcast_intra_scatter_ring_allgather":{}}}}}}"#;

fn four() -> &'static Version {
    Version::of("4.0.2")
}

fn check(text: &str) -> (Fate, Vec<String>) {
    let selection = read(text.as_bytes(), four());
    (
        selection.fate,
        selection.problems.iter().map(ToString::to_string).collect(),
    )
}

/// The small file with one text for another, and all that is said of it.
fn changed(from: &str, to: &str) -> (Fate, String) {
    assert!(SMALL.contains(from), "{from}");
    let (fate, problems) = check(&SMALL.replacen(from, to, 1));
    (fate, problems.join("\n"))
}

/// What becomes of the small file with one text for another, and the lines that are said of it, in any order.
#[track_caller]
fn assert_each_says<const N: usize>(cases: [(&str, &str, &str); N], expected: Fate) {
    for (from, to, lines) in cases {
        let (fate, problems) = changed(from, to);
        assert_eq!(fate, expected, "{to}");
        let mut found: Vec<&str> = problems.lines().collect();
        let mut wanted: Vec<&str> = lines.lines().collect();
        found.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(found, wanted, "{to}");
    }
}

#[test]
fn a_file_without_faults_has_no_problems() {
    assert_eq!(check(SMALL), (Fate::Loads, vec![]));
}

#[test]
fn what_ends_the_program_in_init_is_found_with_its_place_and_what_to_write() {
    let cases = [
        (
            "comm_size<=4",
            "comm_sise<=4",
            "3:6: `comm_sise<=4`, a test that MPICH 4.0 does not know: MPI_Init ends the program (unknown key); write `comm_size<=N`",
        ),
        (
            "MPIR_Bcast_intra_binomial",
            "MPIR_Bcast_intra_binomal",
            "3:23: `algorithm=MPIR_Bcast_intra_binomal`, which MPICH 4.0 does not have among its MPIR algorithms: MPI_Init ends the program (unrecognized key); write `algorithm=MPIR_Bcast_intra_binomial`",
        ),
        (
            "\"algorithm=MPIR_Bcast_intra_scatter_ring_allgather\":{}",
            "",
            "6:9: nothing inside `avg_msg_size=any`: MPI_Init ends the program (unexpected NULL success path)",
        ),
        (
            "comm_size=any",
            "comm_size<=100",
            "4:6: nothing after `comm_size<=100` for calls that do not pass it: MPI_Init ends the program (unexpected NULL failure path); add `comm_size=any` after it",
        ),
        (
            "comm_size<=4",
            "count=any",
            "4:6: `comm_size=any` after `count=any`, which passes all: MPI_Init ends the program (unexpected non-NULL failure path); put `comm_size=any` before `count=any`",
        ),
        (
            "{\"algorithm=MPIR_Bcast_intra_binomial\":{}}",
            "\"binomial\"",
            "3:22: a string where an object belongs: MPI_Init ends the program (type == json_type_object); write {}\n3:6: nothing inside `comm_size<=4`: MPI_Init ends the program (unexpected NULL success path)",
        ),
        (
            "{\"algorithm=MPIR_Bcast_intra_binomial\":{}}",
            "{\"algorithm=MPIR_Bcast_intra_binomial\":{}, \"comm_size=pow2\":{}}",
            "3:65: `comm_size=pow2` beside a choice: MPI_Init ends the program (unrecognized key)",
        ),
    ];
    assert_each_says(cases, Fate::Aborts);
}

#[test]
fn what_the_library_reads_otherwise_than_it_is_meant_is_found() {
    let cases = [
        (
            "avg_msg_size<=2048",
            "avg_msg_size<=2k",
            "5:9: `avg_msg_size<=2k` has no plain number: the library takes it for 2; write `avg_msg_size<=2048`",
        ),
        (
            "avg_msg_size<=2048",
            "avg_msg_size<=4294967297",
            "5:9: `avg_msg_size<=4294967297` has no plain number: the library takes it for 1",
        ),
        (
            "}}}}}}",
            "}}}}}} {}",
            "6:90: text after the end of the object: the library does not read it",
        ),
        (
            "avg_msg_size<=2048",
            "avg_msg_size<0",
            "5:9: `avg_msg_size<0`, for which the tests around it leave nothing: no call comes to what is inside",
        ),
        (
            "binomial\":{}",
            "binomial\":{\"k=2\":{}}",
            "3:62: `k=2`, which `MPIR_Bcast_intra_binomial` does not have: the library ignores it",
        ),
        (
            "comm_size<=4\": {\"algorithm=MPIR_Bcast_intra_binomial",
            "comm_size<=4\": {\"algorithm=MPIR_Bcast_intra_smp",
            "3:23: MPIR_Bcast_intra_smp, which needs a communicator with several processes on a host, where the tests around it let other calls pass: the library does not check this of files: such a call ends the program; put it into comm_hierarchy=parent",
        ),
        (
            "collective=bcast",
            "collective=barrier",
            "3:23: MPIR_Bcast_intra_binomial for barrier: the first MPI_Barrier that comes here ends the program\n5:32: MPIR_Bcast_intra_binomial for barrier: the first MPI_Barrier that comes here ends the program\n5:9: `avg_msg_size<=2048`, which is not defined for barrier: the first MPI_Barrier that comes here ends the program\n6:30: MPIR_Bcast_intra_scatter_ring_allgather for barrier: the first MPI_Barrier that comes here ends the program",
        ),
    ];
    assert_each_says(cases, Fate::Loads);
}

#[test]
fn all_faults_of_a_file_are_found_at_once() {
    let text = SMALL
        .replacen("comm_size<=4", "comm_size<=4x", 1)
        .replacen("avg_msg_size<=2048", "avg_msg_size==2048", 1)
        .replacen("ring_allgather", "ring", 1);
    let lines: Vec<usize> = read(text.as_bytes(), four())
        .problems
        .iter()
        .map(|problem| problem.at.line)
        .collect();
    assert_eq!(lines, [3, 5, 6]);
}

#[test]
fn what_passes_with_the_librarys_reader_is_no_problem() {
    for (from, to) in [
        ("{}}}}}}", "{},},},},},}"),
        ("{\"collective", "/* all */ {// one\n\"collective"),
        ("\"comm_size<=4\"", "' comm_size <= 4'"),
    ] {
        assert_eq!(changed(from, to), (Fate::Loads, String::new()), "{to}");
    }
}

#[test]
fn what_is_no_json_leaves_the_library_with_memory_that_it_has_not_set() {
    for text in ["", "[]", "{", "collective=bcast", "{\"a\":{}}}\u{0}"] {
        let (fate, problems) = check(text);
        assert!(fate != Fate::Loads, "{text:?}");
        assert!(!problems.is_empty(), "{text:?}");
    }
    let deep = "{\"comm_size=any\":".repeat(40) + "{}" + &"}".repeat(40);
    assert_eq!(check(&deep).0, Fate::Undefined);
}

/// What runs of a call of `name` on communicators whose processes lie on hosts like this.
fn runs(text: &str, name: &str, bytes: u64, per_host: &[u32]) -> Vec<String> {
    let (mpir, ch4) = (
        read_as(Kind::Mpir, text.as_bytes(), four()),
        read_as(Kind::Ch4, b"{}", four()),
    );
    let settings = Settings::default();
    let chooser = Chooser {
        version: four(),
        mpir: &mpir,
        ch4: &ch4,
        settings: &settings,
    };
    let call = Call::new(name, bytes).unwrap();
    let plans = chooser.plans(&call, &Layout::consecutive(per_host), 0);
    plans
        .into_iter()
        .map(|plan| match plan.failure {
            Some(failure) => failure.why,
            None => plan
                .steps
                .into_iter()
                .map(|step| step.algorithm)
                .collect::<Vec<_>>()
                .join(" "),
        })
        .collect()
}

#[test]
fn the_first_test_that_holds_is_gone_into() {
    let ring = "MPIR_Bcast_intra_scatter_ring_allgather";
    let binomial = "MPIR_Bcast_intra_binomial";
    assert_eq!(runs(SMALL, "bcast", 100_000, &[4]), [binomial]);
    assert_eq!(runs(SMALL, "bcast", 2048, &[5]), [binomial]);
    assert_eq!(runs(SMALL, "bcast", 2049, &[5]), [ring]);
    let nothing = "no rule of the file fits the call, and the library asserts that one does";
    assert_eq!(runs(SMALL, "allreduce", 8, &[4]), [nothing]);
}

/// `MPIR_Csel_search` compares `comm_size<N` with `<=`, `MPIR_Csel_prune` with `<`.
#[test]
fn less_is_at_most_behind_a_test_of_the_message() {
    let behind = r#"{"collective=bcast":{"comm_type=intra":{"avg_msg_size<=9":
        {"comm_size<8":{"algorithm=MPIR_Bcast_intra_binomial":{}}, "comm_size=any":{"algorithm=MPIR_Bcast_allcomm_nb":{}}},
        "avg_msg_size=any":{"algorithm=MPIR_Bcast_intra_binomial":{}}}},
        "collective=ibcast":{"algorithm=MPIR_Ibcast_intra_sched_binomial":{}}}"#;
    let before = behind
        .replace("\"avg_msg_size<=9\"", "\"comm_size<=100\"")
        .replace("avg_msg_size=any", "comm_size=any");
    assert_eq!(
        runs(behind, "bcast", 8, &[8]),
        ["MPIR_Bcast_intra_binomial"]
    );
    assert_eq!(
        runs(&before, "bcast", 8, &[8]),
        ["MPIR_Bcast_allcomm_nb MPIR_Ibcast_intra_sched_binomial"]
    );
    assert_eq!(
        runs(behind, "bcast", 8, &[9]),
        runs(&before, "bcast", 8, &[9])
    );
}

#[test]
fn a_test_that_is_not_known_of_a_call_makes_two_plans() {
    let text = r#"{"collective=reduce":{"is_commutative=no":{"algorithm=MPIR_Reduce_intra_binomial":{}},
        "is_commutative=yes":{"algorithm=MPIR_Reduce_allcomm_nb":{}}},
        "collective=ireduce":{"algorithm=MPIR_Ireduce_intra_sched_binomial":{}}}"#;
    let mut both = runs(text, "reduce", 8, &[4]);
    both.sort();
    let expected = [
        "MPIR_Reduce_allcomm_nb MPIR_Ireduce_intra_sched_binomial",
        "MPIR_Reduce_intra_binomial",
    ];
    assert_eq!(both, expected);
}

#[test]
fn files_that_are_compiled_in_are_found_in_a_library() {
    let mpir = SMALL.replace(['\n', ' '], "");
    let ch4 = r#"{"collective=bcast":{"composition=MPIDI_Bcast_intra_composition_gamma":{}}}"#;
    let library = [
        b"\x7fELF {\"collective= \0".as_slice(),
        ch4.as_bytes(),
        b"\0\0",
        mpir.as_bytes(),
        b"\0..",
    ]
    .concat();
    assert_eq!(compiled(&library, Kind::Ch4), Some(ch4.as_bytes()));
    assert_eq!(compiled(&library, Kind::Mpir), Some(mpir.as_bytes()));
    assert_eq!(compiled(&library, Kind::Posix), None);
}

#[test]
fn problems_are_at_the_column_of_the_key() {
    let text = SMALL.replacen("comm_size<=4", "x", 1);
    let selection = read(text.as_bytes(), four());
    assert_eq!(selection.problems[0].at, Position { line: 3, column: 6 });
}

proptest::proptest! {
    #[test]
    fn no_text_of_keys_makes_it_panic(keys in proptest::collection::vec(proptest::sample::select(vec![
        "{", "}", "{\"collective=bcast\":", "{\"comm_type=intra\":", "\"comm_size<8\":", ",", "\"comm_size=any\":",
        "{\"algorithm=MPIR_Bcast_intra_smp\":", "{}", "\"k=\":", "null", "\"count<=99999999999\":", "{\"algorithm=\":",
        "\"=\":", "{\"composition=\":", "\"avg_msg_size<\":", "\"comm_avg_ppn<=-1\":",
    ]), 0..30)) {
        let selection = read(keys.concat().as_bytes(), four());
        let ch4 = read_as(Kind::Ch4, b"{}", four());
        let settings = Settings::default();
        let chooser = Chooser { version: four(), mpir: &selection, ch4: &ch4, settings: &settings };
        for name in ["bcast", "reduce", "scan"] {
            let _ = chooser.plans(&Call::new(name, 8).unwrap(), &Layout::consecutive(&[2, 1]), 1);
        }
    }
}

fn file(text: &str, settings: &[(&str, &str)]) -> MpichFile {
    let ch4 = r#"{"collective=bcast":{"comm_hierarchy=parent":{"composition=MPIDI_Bcast_intra_composition_alpha":{}}}}"#;
    let others = OtherFiles {
        mpir: Some(SMALL.into()),
        ch4: Some(ch4.into()),
    };
    let settings = Settings::of(settings.iter().copied());
    MpichFile::read(text.as_bytes(), four(), settings, &others).unwrap()
}

#[test]
fn a_decision_has_the_line_the_algorithm_and_what_decides() {
    let class = class(Operation::Bcast, &[1, 1, 1, 1, 1], (0, 4096));
    let by_file = file(SMALL, &[]).decide(&class, 4096, None);
    assert_eq!(by_file.line, Some(6));
    assert_eq!(by_file.by, DecidedBy::Rule);
    assert_eq!(
        by_file.algorithm.as_deref(),
        Some("MPIR_Bcast_intra_scatter_ring_allgather")
    );
    let setting = "MPIR_CVAR_BCAST_INTRA_ALGORITHM";
    let by_setting = file(SMALL, &[(setting, "binomial")]).decide(&class, 4096, None);
    assert_eq!(
        by_setting.by,
        DecidedBy::Setting(format!("{setting}=binomial"))
    );
    assert_eq!(
        by_setting.algorithm.as_deref(),
        Some("MPIR_Bcast_intra_binomial")
    );
    // It needs hosts with several processes, which these have not: the file decides.
    let by_file_again = file(SMALL, &[(setting, "smp")]).decide(&class, 4096, None);
    assert_eq!(
        (by_file_again.line, by_file_again.by),
        (Some(6), DecidedBy::Rule)
    );
    assert!(
        by_file_again
            .depends
            .unwrap()
            .contains("BCAST_INTRA_ALGORITHM=smp, which needs")
    );
}

#[test]
fn parts_of_a_composition_are_named_with_the_processes_that_they_run_on() {
    let class = class(Operation::Bcast, &[6, 6], (0, 4096));
    let decision = file(SMALL, &[]).decide(&class, 4096, None);
    let expected = "MPIR_Bcast_intra_binomial among hosts, then MPIR_Bcast_intra_scatter_ring_allgather within each host";
    assert_eq!(decision.algorithm.as_deref(), Some(expected));
    let alone = file(SMALL, &[("MPIR_CVAR_DEVICE_COLLECTIVES", "none")]).decide(&class, 4096, None);
    assert_eq!(
        alone.algorithm.as_deref(),
        Some("MPIR_Bcast_intra_scatter_ring_allgather")
    );
}

#[test]
fn sizes_from_which_on_another_rule_holds_are_those_of_the_file() {
    let mut starts = file(SMALL, &[]).starts(&class(Operation::Bcast, &[6], (0, 4096)));
    starts.sort_unstable();
    assert_eq!(starts, [1, 2049, 12_288, 524_288]);
    let total = SMALL
        .replace("avg_msg_size", "total_msg_size")
        .replace("bcast", "allgather");
    let mut starts = file(&total, &[]).starts(&class(Operation::Allgather, &[6], (0, 4096)));
    starts.sort_unstable();
    assert_eq!(starts, [1, 342, 12_288, 524_288]);
}

#[test]
fn choices_that_no_call_comes_to_are_told() {
    let class = class(Operation::Bcast, &[1, 1, 1, 1, 1], (0, 4096));
    let file = file(SMALL, &[]);
    let decision = file.decide(&class, 0, None);
    let explained = Explained {
        class: &class,
        bytes: (0, 2048),
        size: None,
        is_whole: false,
        decision,
    };
    let lines: Vec<usize> = file
        .unused(&[explained], None)
        .iter()
        .map(|problem| problem.at.line)
        .collect();
    assert_eq!(lines, [3, 6]);
}

#[test]
fn what_is_not_known_of_a_call_is_said() {
    let text = r#"{"collective=reduce":{
        "is_commutative=yes":{"algorithm=MPIR_Reduce_intra_binomial":{}},
        "is_commutative=no":{"algorithm=MPIR_Reduce_intra_reduce_scatter_gather":{}}}}"#;
    let decision = file(text, &[]).decide(&class(Operation::Reduce, &[4], (8, 8)), 8, None);
    assert_eq!(decision.line, Some(2));
    assert_eq!(
        decision.depends.as_deref(),
        Some(
            "if is_commutative=no: none, the call fails: MPIR_Reduce_intra_reduce_scatter_gather needs a predefined operation (line 3); if count<pow2 and is_commutative=no: none, the call fails: MPIR_Reduce_intra_reduce_scatter_gather needs as many elements as the largest power of two of processes (line 3)"
        )
    );
}

fn choice(
    collective: &str,
    n_processes: Option<u32>,
    bytes: Option<(u64, u64)>,
    algorithm: &str,
) -> Choice {
    Choice {
        collective: collective.to_owned(),
        n_processes,
        bytes,
        algorithm: algorithm.to_owned(),
        parameters: Vec::new(),
    }
}

#[test]
fn one_algorithm_for_all_calls_is_written_as_variables() {
    let written = write(
        &[choice("bcast", None, None, "binomial")],
        four(),
        SMALL.as_bytes(),
    )
    .unwrap();
    assert_eq!(written.file, None);
    assert_eq!(
        written.command("-"),
        [
            "MPIR_CVAR_BCAST_DEVICE_COLLECTIVE=0 MPIR_CVAR_BCAST_INTRA_ALGORITHM=binomial mpiexec -n N ./app",
            "mpiexec -genv MPIR_CVAR_BCAST_DEVICE_COLLECTIVE 0 -genv MPIR_CVAR_BCAST_INTRA_ALGORITHM binomial -n N ./app",
        ]
    );
}

#[test]
fn a_written_file_has_no_problems_and_decides_what_was_chosen() {
    let nb = r#","collective=ibcast":{"comm_type=intra":{"algorithm=MPIR_Ibcast_intra_sched_binomial":{}}}}"#;
    let base = SMALL.trim_end().strip_suffix('}').unwrap().to_owned() + nb;
    let ring = "scatter_ring_allgather";
    let choices = [
        choice("bcast", Some(3), Some((100, 199)), "nb"),
        choice("bcast", Some(3), Some((300, u64::MAX)), ring),
        choice(
            "bcast",
            Some(6),
            None,
            "scatter_recursive_doubling_allgather",
        ),
        choice("bcast", Some(4), Some((0, 99)), "smp"),
    ];
    let written = write(&choices, four(), base.as_bytes()).unwrap();
    let text = written.file.unwrap();
    assert_eq!(check(&text), (Fate::Loads, vec![]), "{text}");
    let nb = "MPIR_Bcast_allcomm_nb MPIR_Ibcast_intra_sched_binomial";
    let of_base = "MPIR_Bcast_intra_binomial";
    for (n, bytes, expected) in [
        (3, 99, of_base),
        (3, 100, nb),
        (3, 199, nb),
        (3, 200, of_base),
        (3, 300, "MPIR_Bcast_intra_scatter_ring_allgather"),
        (2, 300, of_base),
        (5, 300, of_base),
        (
            6,
            300,
            "MPIR_Bcast_intra_scatter_recursive_doubling_allgather",
        ),
        (7, 3000, "MPIR_Bcast_intra_scatter_ring_allgather"),
        (4, 100, of_base),
    ] {
        assert_eq!(
            runs(&text, "bcast", bytes, &vec![1; n]),
            [expected],
            "{n} processes, {bytes} bytes:\n{text}"
        );
    }
    // What an algorithm cannot do is left to the library's own rules.
    assert_eq!(runs(&text, "bcast", 8, &[1; 4]), [of_base]);
    assert!(runs(&text, "bcast", 8, &[2, 2])[0].starts_with("MPIR_Bcast_intra_smp"));
}

/// A test of the size that stood before the tests of the call means another thing after them.
#[test]
fn a_copy_keeps_what_tests_mean_where_they_are_moved() {
    let base = SMALL.replacen("comm_size<=4", "comm_size<5", 1);
    let choices = [choice(
        "bcast",
        Some(5),
        Some((7, 8)),
        "scatter_ring_allgather",
    )];
    let text = write(&choices, four(), base.as_bytes())
        .unwrap()
        .file
        .unwrap();
    for (per_host, bytes) in [
        (vec![1; 5], 4000),
        (vec![1; 4], 4000),
        (vec![1; 5], 9),
        (vec![1; 6], 4000),
    ] {
        assert_eq!(
            runs(&text, "bcast", bytes, &per_host),
            runs(&base, "bcast", bytes, &per_host),
            "{text}"
        );
    }
}

#[test]
fn what_cannot_be_written_is_refused_with_the_reason() {
    let cases = [
        (
            choice("broadcast", None, None, "x"),
            "MPICH chooses no algorithm for `broadcast`",
        ),
        (
            choice("allgather", None, None, "binomial"),
            "MPICH 4.0 has no algorithm `binomial` for allgather; it has brucks, recursive_doubling, ring, nb",
        ),
        (
            choice("allgather", Some(3), None, "recursive_doubling"),
            "MPIR_Allgather_intra_recursive_doubling needs a power of two of processes, which 3 processes are not",
        ),
        (
            choice("gather", Some(3), Some((0, 8)), "binomial"),
            "a file cannot tell calls of gather apart by their bytes; choose one algorithm for each size of communicator",
        ),
        (
            choice("igather", Some(3), None, "tsp_tree"),
            "no file can give MPIR_Igather_intra_tsp_tree its k; choose it for all calls of igather, by a variable",
        ),
        (
            choice("bcast", Some(3), Some((0, 1 << 31)), "binomial"),
            "2147483648 bytes are more than a file can name (2147483647, for all processes together where the file counts so)",
        ),
    ];
    let base = SMALL
        .replace("collective=bcast", "collective=gather")
        .replace("MPIR_Bcast", "MPIR_Gather");
    for (choice, expected) in cases {
        let own = format!(
            "{{\"collective={}\":{{\"algorithm=MPIR_Gather_intra_binomial\":{{}}}}}}",
            choice.collective
        );
        let error = write(&[choice], four(), own.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    let error = write(
        &[choice("bcast", Some(2), None, "smp")],
        four(),
        base.as_bytes(),
    )
    .unwrap_err()
    .to_string();
    assert!(
        error.starts_with("the file to copy: MPICH 4.0 does not load it"),
        "{error}"
    );
    let twice = [
        choice("bcast", Some(3), Some((0, 8)), "smp"),
        choice("bcast", Some(3), Some((8, 9)), "binomial"),
    ];
    let error = write(&twice, four(), SMALL.as_bytes()).unwrap_err();
    assert_eq!(error, WriteError::Twice("bcast".to_owned()));
}

#[test]
fn measured_choices_hold_from_their_bytes_on() {
    let measured = crate::choices::choice;
    let ring = Some("scatter_ring_allgather");
    let list = [
        measured(Operation::Bcast, 4, 8, Some("binomial")),
        measured(Operation::Bcast, 4, 64, Some("binomial")),
        measured(Operation::Bcast, 4, 512, None),
        measured(Operation::Bcast, 4, 4096, ring),
        measured(Operation::Reduce, 4, 8, Some("binomial")),
        measured(Operation::Reduce, 8, 512, Some("binomial")),
        measured(Operation::Gather, 4, 8, Some("binomial")),
        measured(Operation::Gather, 4, 9, Some("linear")),
    ];
    let expected = [
        choice("bcast", Some(4), Some((8, 511)), "binomial"),
        choice(
            "bcast",
            Some(4),
            Some((4096, u64::MAX)),
            "scatter_ring_allgather",
        ),
        choice("gather", Some(4), Some((8, 8)), "binomial"),
        choice("gather", Some(4), Some((9, u64::MAX)), "linear"),
        choice("reduce", None, None, "binomial"),
    ];
    assert_eq!(choices(&list), expected);
    let (written, left_out) = write_measured(&list, four(), SMALL.as_bytes()).unwrap();
    assert_eq!(
        left_out,
        ["gather: MPICH 4.0 has no algorithm `linear` for gather; it has binomial, nb"]
    );
    let variables: Vec<&str> = written
        .variables
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(
        variables,
        [
            "MPIR_CVAR_BCAST_DEVICE_COLLECTIVE",
            "MPIR_CVAR_REDUCE_DEVICE_COLLECTIVE",
            "MPIR_CVAR_REDUCE_INTRA_ALGORITHM"
        ]
    );
    assert_eq!(
        runs(&written.file.unwrap(), "bcast", 4096, &[1; 4]),
        ["MPIR_Bcast_intra_scatter_ring_allgather"]
    );
}

/// Texts with bytes changed, left out, doubled and swapped; a million with `COLLBENCH_TESTS_LONG`.
#[test]
fn no_damaged_file_makes_it_panic_or_loop() {
    let mut random = Random::of(&[1]);
    let n_texts = if std::env::var_os("COLLBENCH_TESTS_LONG").is_some() {
        1_000_000
    } else {
        1000
    };
    let ch4 = read_as(Kind::Ch4, b"{}", four());
    let settings = Settings::default();
    for _ in 0..n_texts {
        let text = damaged(SMALL.as_bytes(), b"{}[]\":,=<>0 \\\x00\xff", &mut random);
        let mpir = read_as(Kind::Mpir, &text, four());
        let chooser = Chooser {
            version: four(),
            mpir: &mpir,
            ch4: &ch4,
            settings: &settings,
        };
        let plans = chooser.plans(
            &Call::new("bcast", 8).unwrap(),
            &Layout::consecutive(&[2, 1]),
            1,
        );
        assert!(plans.len() < 100);
    }
}

#[test]
fn a_file_of_ten_thousand_lines_is_explained_at_once() {
    let mut text = String::from("{\"collective=bcast\":{\"comm_type=intra\":{\n");
    for size in 1..=250 {
        text.push_str(&format!("\"comm_size<={size}\":{{\n"));
        for kib in 0..38 {
            text.push_str(&format!(
                "\"avg_msg_size<={}\":{{\"algorithm=MPIR_Bcast_intra_binomial\":{{}}}},\n",
                kib * 1024 + size
            ));
        }
        text.push_str(
            "\"avg_msg_size=any\":{\"algorithm=MPIR_Bcast_intra_scatter_ring_allgather\":{}}},\n",
        );
    }
    text.push_str("\"comm_size=any\":{\"algorithm=MPIR_Bcast_intra_binomial\":{}}}}}");
    assert!(text.lines().count() > 10_000);
    let begin = std::time::Instant::now();
    let file = file(&text, &[]);
    assert_eq!(file.problems(), []);
    let class = class(Operation::Bcast, &[1; 64], (0, 1 << 20));
    let starts = file.starts(&class);
    assert!(starts.len() > 9000);
    let algorithms: Vec<_> = starts
        .iter()
        .map(|bytes| file.decide(&class, *bytes, None).algorithm)
        .collect();
    assert!(algorithms.windows(2).any(|pair| pair[0] != pair[1]));
    // 1.5 s in a debug build on a busy machine.
    assert!(begin.elapsed().as_secs() < 60, "{:?}", begin.elapsed());
}

#[test]
fn the_version_is_found_in_what_the_library_calls_itself() {
    let find = |name: &str| Version::find(name).map(|(model, number)| (model.number(), number));
    assert_eq!(find("MPICH 4.0.2"), Some(("4.0", "4.0.2".to_owned())));
    assert_eq!(
        find("MPICH Version:\t5.0.2\nMPICH Release date: x"),
        Some(("5.0", "5.0.2".to_owned()))
    );
    assert_eq!(
        find("MPICH Version:      4.0rc1"),
        Some(("4.0", "4.0rc1".to_owned()))
    );
    for other in [
        "Open MPI 4.1.4",
        "MPICH 4.3.2",
        "MVAPICH Version: 3.0",
        "MPICH",
        "Intel(R) MPI Library 2021.19",
    ] {
        assert_eq!(find(other), None, "{other}");
    }
}
