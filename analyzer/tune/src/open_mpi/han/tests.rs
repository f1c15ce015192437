//! Files of `coll_han` that are known by heart.

use collbench_formats::Operation;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::super::library::{Library, library_of};
use super::super::run::{HanSettings, Settings};
use super::{HanFile, Level, check, decide, starts};
use crate::call::CallClass;
use crate::decision::DecidedBy;
use crate::problem::Problem;

fn five() -> Library {
    library_of("Open MPI 5.0.11")
}

fn class(operation: Operation, processes_per_host: &[u32]) -> CallClass {
    crate::call::class(operation, processes_per_host, (0, 1 << 20))
}

/// What follows for a bcast of so many bytes.
fn follows(text: &str, processes_per_host: &[u32], bytes: u64) -> (Option<usize>, String) {
    let file = HanFile::read(text.as_bytes(), five());
    let class = class(Operation::Bcast, processes_per_host);
    let decision = decide(&file, five(), &Settings::default(), &class, bytes);
    let follows = decision.replaced_by.or(decision.algorithm);
    (
        decision.line,
        follows.unwrap_or_else(|| decision.by.to_string()),
    )
}

fn problems(text: &str, library: Library) -> Vec<String> {
    let file = HanFile::read(text.as_bytes(), library);
    let problems = check(&file, library);
    problems.iter().map(ToString::to_string).collect()
}

const BCAST: &str = "\
1  # operations
bcast
2
global_communicator
3
1
0
2
3
0 tuned
100 han @simple
1000 han
6
1
0 basic
intra_node
1
1
2
0 tuned
500 basic [1024, 2048]
";

#[test]
fn the_last_entry_that_fits_decides() {
    let simple = "coll_han simple (intra_node bcast coll_tuned, line 20)";
    let of_4 = |bytes| follows(BCAST, &[2, 2], bytes);
    assert_eq!(of_4(99), (Some(10), "coll_tuned".to_owned()));
    assert_eq!(of_4(100), (Some(11), simple.to_owned()));
    assert_eq!(of_4(1000), (Some(12), "coll_han intra".to_owned()));
    assert_eq!(
        follows(BCAST, &[3, 3], 7),
        (Some(15), "coll_basic".to_owned())
    );
    let (line, basic) = of_4(500);
    assert_eq!(
        (line, basic.ends_with("coll_basic, line 21)")),
        (Some(11), true),
        "{basic}"
    );
    let file = HanFile::read(BCAST.as_bytes(), five());
    let mut starts = starts(&file, &class(Operation::Bcast, &[2, 2]));
    starts.sort_unstable();
    starts.dedup();
    assert_eq!(starts, [0, 1, 100, 500, 1000]);
}

#[test]
fn hosts_decide_whether_coll_han_does_anything() {
    // One process on each host, and hosts with different numbers of them.
    assert_eq!(follows(BCAST, &[1, 1, 1], 100).1, "coll_tuned");
    assert_eq!(follows(BCAST, &[3, 2], 1000).1, "coll_tuned");
    let (line, why) = follows(BCAST, &[4], 100);
    assert_eq!(line, None);
    assert!(why.contains("all processes are on one host"), "{why}");
}

#[test]
fn settings_go_before_rules_and_stand_in_for_them() {
    let file = HanFile::read(BCAST.as_bytes(), five());
    let class = class(Operation::Bcast, &[2, 2]);
    let mut settings = Settings::default();
    let by = |settings: &Settings| decide(&file, five(), settings, &class, 100);
    settings
        .han
        .algorithms
        .insert("bcast".to_owned(), "intra".to_owned());
    let decision = by(&settings);
    assert_eq!(decision.algorithm.as_deref(), Some("coll_han intra"));
    assert_eq!(
        decision.by,
        DecidedBy::Setting("coll_han_use_bcast_algorithm=intra".to_owned())
    );
    settings.han = HanSettings {
        ignores_rules: true,
        ..HanSettings::default()
    };
    let decision = by(&settings);
    assert_eq!(
        (decision.line, decision.algorithm.as_deref()),
        (None, Some("coll_han intra"))
    );
    let parameter = "coll_han_bcast_dynamic_global_communicator_module".to_owned();
    settings.han.modules.insert(parameter, 1);
    assert_eq!(by(&settings).algorithm.as_deref(), Some("coll_basic"));
    settings.han_priority = Some(0);
    assert!(matches!(by(&settings).by, DecidedBy::Component(_)));
    let of_4_1 = decide(
        &file,
        library_of("Open MPI 4.1.4"),
        &Settings::default(),
        &class,
        100,
    );
    assert!(matches!(of_4_1.by, DecidedBy::Component(_)), "{of_4_1:?}");
}

#[test]
fn all_that_is_wrong_is_told_at_its_place() {
    let text = "3\nbcast 1 2 2\n2 2 0 han @intra\n64K tuned\n1 1 0 sm\nallreduce 1 inter_node 1 1 1 0 han\n\
                alltoall 1 2 1 1 1 0 han @simple\n";
    assert_eq!(
        problems(text, five()),
        [
            "3:1: communicator size 2 of bcast in global_communicator: a size below it is not larger, and \
             decides all of its calls; ascending sizes",
            "3:1: the first communicator size is 2, not 1: the library ignores the whole file; begin with \
             size 1; after it 0 rules leave it to the library",
            "4:3: \"K\" where a component is expected: the library would ignore the whole file for this, \
             too; tuned, han or basic; a size is a plain number",
            "4:5: \"tuned\" where a number is expected: the library skips it; a number, or # before a \
             comment",
            "5:7: component sm for bcast: coll_sm has priority 0 and is not there: the next component by \
             priority does it, mostly coll_tuned; tuned, or basic",
            "6:13: rules of allreduce for inter_node: they count only within allreduce with @simple, which \
             the file does not choose; han @simple in the rules for global_communicator",
            "7:1: rules for operation 3, which coll_han does not do: the library reads them and never uses \
             them",
            "7:27: algorithm \"simple\" of an operation without algorithms: MPI_Init would crash here with \
             a segmentation fault; han alone",
        ]
    );
    assert_eq!(problems(BCAST, five()).len(), 1, "lengths of segments");
}

#[test]
fn what_cannot_be_read_makes_the_library_ignore_all() {
    for (text, why) in [
        (
            "",
            "the file ends where the number of operations is expected",
        ),
        ("0", "0 where the number of operations is expected"),
        (
            "1 bcast 1 2 1 1 2 0 tuned",
            "the file ends where a message size is expected",
        ),
        (
            "1 bcst 1 2 1 1 1 0 tuned",
            "\"bcst\" where an operation is expected",
        ),
        (
            "1 bcast 1 all 1 1 1 0 tuned",
            "\"all\" where a level is expected",
        ),
        (
            "1 bcast 1 2 1 1 1 2 tuned",
            "the first message size is 2, not 0",
        ),
        (
            "1 bcast 1 2 1 1 1 0 6",
            "\"6\" where a component is expected",
        ),
        (
            "1 bcast 1 2 1 1 1 0 han @tree",
            "bcast has no algorithm \"tree\" in coll_han",
        ),
    ] {
        let file = HanFile::read(text.as_bytes(), five());
        assert_eq!(file.faults.first().map(|fault| &*fault.why), Some(why));
        let class = class(Operation::Bcast, &[2, 2]);
        let decision = decide(&file, five(), &Settings::default(), &class, 8);
        assert!(matches!(decision.by, DecidedBy::Library(_)), "{decision:?}");
        assert_eq!(decision.algorithm.as_deref(), Some("coll_han intra"));
    }
    for good in [
        "1 bcast 1 2 1 1 1 1 tuned",
        "1 allgathervx 1 2 1 1 1 0 han",
        "1 7 1 2 1 1 1 0 han @ 2",
    ] {
        assert_eq!(HanFile::read(good.as_bytes(), five()).faults, []);
    }
}

#[test]
fn in_4_1_levels_are_numbers_and_coll_han_is_off() {
    let of_4_1 = library_of("Open MPI 4.1.4");
    let told = problems("1 bcast 1 2 1 1 2 0 tuned 8 han @simple\n", of_4_1);
    assert_eq!(
        told,
        [
            "1:1: rules of coll_han for Open MPI 4.1.4: coll_han has priority 0 there: coll_tuned does all \
             calls; rules of coll_tuned",
            "1:33: text behind the last operation: the library does not read it; count it in the number of \
             operations at the begin, or remove it",
        ]
    );
    // The word is skipped, and the number behind it is taken for the level.
    let file = HanFile::read(b"1 bcast 1 intra_node 1 1 1 1 0 tuned", of_4_1);
    assert_eq!(file.faults, []);
    assert_eq!(file.operations[0].levels[0].level, Level::InterNode);
    let mut settings = Settings {
        han_priority: Some(40),
        ..Settings::default()
    };
    let class = class(Operation::Bcast, &[2, 2]);
    let decision = decide(&file, of_4_1, &settings, &class, 8);
    assert!(
        decision.by.to_string().contains("not modelled"),
        "{decision:?}"
    );
    settings.han_priority = None;
    let decision = decide(&file, of_4_1, &settings, &class, 8);
    assert!(
        decision
            .by
            .to_string()
            .contains("coll_tuned has priority 30"),
        "{decision:?}"
    );
}

/// Words that files have, and some that they should not have.
const WORDS: [&str; 32] = [
    "0",
    "0",
    "0",
    "1",
    "1",
    "1",
    "1",
    "2",
    "2",
    "3",
    "7",
    "8",
    "100",
    "-1",
    "99999999999999999999",
    "64K",
    "bcast",
    "bcast",
    "allreduce",
    "alltoall",
    "intra_node",
    "global_communicator",
    "han",
    "han",
    "tuned",
    "basic",
    "@simple",
    "@",
    "[",
    "]",
    "# remark\n",
    "\n",
];

proptest! {
    #[test]
    fn any_words_are_read_and_their_problems_are_in_the_file(
        words in vec(select(&WORDS[..]), 0..60),
        has_begin in any::<bool>(),
    ) {
        let begin = if has_begin { "1 bcast 1 2 1 1 " } else { "" };
        let text = format!("{begin}{}", words.join(" "));
        let n_lines = 1 + text.matches('\n').count();
        for name in ["Open MPI 4.1.4", "Open MPI 5.0.11"] {
            let file = HanFile::read(text.as_bytes(), library_of(name));
            let told = check(&file, library_of(name));
            let is_inside = |problem: &Problem| problem.at.line <= n_lines;
            prop_assert!(told.iter().all(is_inside), "{told:?}");
            // A file that the library ignores has a problem.
            prop_assert!(file.faults.is_empty() || !told.is_empty());
            let class = class(Operation::Bcast, &[2, 2]);
            for bytes in starts(&file, &class) {
                let decision = decide(&file, library_of(name), &Settings::default(), &class, bytes);
                prop_assert!(decision.line.is_none_or(|line| line <= n_lines));
                prop_assert!(decision.line.is_none() || file.faults.is_empty());
            }
        }
    }
}
