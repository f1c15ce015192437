//! What is wrong with a classic rule file.

use collbench_formats::Operation;

use super::classic::{ClassicFile, CommunicatorRules, MessageRule, OperationRules};
use super::layout::meant;
use super::library::Library;
use super::parameters::{Parameters, known_elsewhere, limit, parameters};
use super::scanner::Places;
use super::version::{CountedSize, NAMES_BY_ID, OperationTable};
use crate::problem::{Problem, Problems};

/// The largest element of a predefined type, bytes.
pub(super) const MAX_ELEMENT: i64 = 16;

/// All that is wrong with a file, by place: at most 10,000 problems. `text` is what `file` was read from.
#[must_use]
pub fn check(text: &[u8], file: &ClassicFile, library: Library) -> Vec<Problem> {
    let mut check = Check {
        library,
        problems: Problems::default(),
    };
    match check.wrong_version_line(text) {
        // The others are those of the file without it.
        Some(without) => {
            let file = ClassicFile::read(&without, library);
            check.all(&without, &file);
        }
        None => check.all(text, file),
    }
    check.problems.by_place()
}

/// Whether the numbers of a rule are on several lines, while others are not.
fn has_split_rules(file: &ClassicFile) -> bool {
    let rules = all_rules(file);
    let mut n_whole = 0;
    let mut n_split = 0;
    for (_, _, rule) in rules {
        if rule.size.1.line == rule.segment.1.line {
            n_whole += 1;
        } else {
            n_split += 1;
        }
    }
    n_split > 0 && n_whole > 0
}

fn all_rules(
    file: &ClassicFile,
) -> impl Iterator<Item = (&OperationRules, &CommunicatorRules, &MessageRule)> {
    file.operations.iter().flat_map(|operation| {
        operation.communicators.iter().flat_map(move |sizes| {
            let rules = sizes.rules.iter();
            rules.map(move |rule| (operation, sizes, rule))
        })
    })
}

struct Check {
    library: Library,
    problems: Problems,
}

impl Check {
    fn all(&mut self, text: &[u8], file: &ClassicFile) {
        self.skipped(file);
        let is_astray = file.dropped.is_some() || file.rest.is_some() || has_split_rules(file);
        let meant = if is_astray {
            meant(text, self.library)
        } else {
            None
        };
        let Some(meant) = meant else {
            self.dropped(file);
            self.operations(file);
            self.rest(file);
            return;
        };
        let is_explained = !meant.problems.is_empty();
        self.problems.extend(meant.problems);
        self.operations(&meant.file);
        self.requests(&meant.file);
        // The reader gives up somewhere behind what is wrong.
        if !is_explained {
            self.dropped(file);
            self.rest(file);
        }
    }

    fn skipped(&mut self, file: &ClassicFile) {
        for skipped in &file.skipped {
            let shown = skipped.shown();
            let instead = match skipped.text.as_str() {
                text if text.starts_with('@') => {
                    "nothing: this word is of a patch that no release has"
                }
                "K" | "k" | "KB" | "KiB" | "M" | "MB" | "MiB" | "G" => {
                    "the size in bytes, as a plain number"
                }
                "e" | "E" | "." | "," => "the whole number, in digits",
                _ => "a number, or # before a comment",
            };
            self.problems.add(
                skipped.at,
                format!("\"{shown}\" is no number"),
                skipped.effect(),
                Some(instead),
            );
        }
    }

    fn dropped(&mut self, file: &ClassicFile) {
        let Some(dropped) = &file.dropped else {
            return;
        };
        self.problems.add(
            dropped.at,
            dropped.why.clone(),
            "the library ignores the whole file, without a word",
            Some(&dropped.instead),
        );
    }

    fn rest(&mut self, file: &ClassicFile) {
        if let (Some(at), None) = (file.rest, &file.dropped) {
            self.problems.add(
                at,
                "numbers behind the last operation",
                "the library does not read them",
                Some("count them in the number of operations at the begin, or remove them"),
            );
        }
    }

    /// A version line that the library does not take for one; the text without it.
    fn wrong_version_line(&mut self, text: &[u8]) -> Option<Vec<u8>> {
        const LINE: &[u8] = b"rule-file-version-";
        let begin = text.windows(LINE.len()).position(|window| window == LINE)?;
        let line = text[..begin].iter().rposition(|&byte| byte == b'\n');
        let before = &text[line.map_or(0, |end| end + 1)..begin];
        if before.contains(&b'#') {
            return None;
        }
        let at = Places::of(text).place(begin);
        if !self.library.reads_version_line() {
            let version = self.library.version;
            self.problems.add(
                at,
                "a version line",
                format!(
                    "{version} does not know it: it reads a negative number, and ignores the whole file"
                ),
                Some("no version line, and four numbers in each rule"),
            );
        } else if begin != 0 {
            self.problems.add(
                at,
                "a version line that is not at the very begin",
                "the library reads a negative number, and ignores the whole file",
                Some("the version line first, before comments and spaces"),
            );
        } else {
            return None;
        }
        let mut without = text.to_vec();
        let rest = without[begin..].iter_mut();
        rest.take_while(|byte| **byte != b'\n')
            .for_each(|byte| *byte = b' ');
        Some(without)
    }

    /// A fifth number where the file has no version line.
    fn requests(&mut self, file: &ClassicFile) {
        if file.version.is_some() {
            return;
        }
        for (_, _, rule) in all_rules(file) {
            if let Some((_, at)) = rule.requests {
                self.problems.add(
                    at,
                    "a fifth number in a rule",
                    "the library takes it for the size of the next rule",
                    Some(
                        "four numbers, or from Open MPI 5.0.7 and 4.1.8 on rule-file-version-2 as the \
                         first line"
                            ,
                    ),
                );
            }
        }
    }

    fn operations(&mut self, file: &ClassicFile) {
        for (nth, operation) in file.operations.iter().enumerate() {
            let name = NAMES_BY_ID.get(usize::try_from(operation.id).unwrap_or(usize::MAX));
            let Some(name) = name else {
                if file.dropped.as_ref().map(|dropped| dropped.at) != Some(operation.at) {
                    self.problems.add(
                        operation.at,
                        format!("operation {}, where the last is 21", operation.id),
                        "the library ignores the whole file, without a word",
                        Some("the number of an operation, such as 2 for allreduce"),
                    );
                }
                continue;
            };
            let is_repeated = file.operations[nth + 1..]
                .iter()
                .any(|later| later.id == operation.id);
            if is_repeated {
                self.problems.add(
                    operation.at,
                    format!("{name} comes once more below"),
                    "the library keeps the last one only: no call reaches these rules",
                    Some("all rules of an operation in one place"),
                );
            }
            match self.library.operation_by_id(operation.id) {
                Some(table) => self.communicators(table, operation),
                None => self.problems.add(
                    operation.at,
                    format!("{name} ({}) has no algorithms to choose from", operation.id),
                    "the library reads these rules, and never looks at them",
                    Some("nothing"),
                ),
            }
        }
    }

    fn communicators(&mut self, table: &OperationTable, operation: &OperationRules) {
        let sizes = &operation.communicators;
        for (nth, of) in operation.communicators.iter().enumerate() {
            let (from, to) = operation.reached(nth);
            if to.is_some_and(|to| to < from.max(2)) {
                let why = match nth
                    .checked_sub(1)
                    .map(|before| sizes[before].size > of.size)
                {
                    Some(true) => "communicator sizes that do not ascend",
                    _ if of.size < 2 && nth + 1 < sizes.len() => {
                        // It holds the place below the next size.
                        continue;
                    }
                    _ => "the next size is not larger",
                };
                self.problems.add(
                    of.at,
                    format!("{} processes: {why}", of.size),
                    "the library stops at the first larger size and takes the last one before it: no \
                     communicator reaches these rules",
                    Some("each communicator size once, in ascending order"),
                );
            }
            if nth == 0 && of.size > 2 && !of.rules.is_empty() {
                self.problems.add(
                    of.at,
                    format!("{} processes, and no smaller size before", of.size),
                    format!(
                        "the library takes these rules for communicators of 2 to {} processes too",
                        of.size - 1
                    ),
                    Some(
                        "first a communicator size of 1 with 0 message sizes, so that the library \
                          chooses below",
                    ),
                );
            }
            self.messages(table, of, (from, to));
        }
    }

    /// The rules of communicators `from` to `to`.
    fn messages(
        &mut self,
        table: &OperationTable,
        of: &CommunicatorRules,
        (from, to): (i64, Option<i64>),
    ) {
        if let Some(first) = of.rules.first()
            && first.size.0 > 0
        {
            self.problems.add(
                first.size.1,
                format!("the first message size is {}, not 0", first.size.0),
                "the library ignores the whole file, without a word",
                Some("a first rule for size 0, with algorithm 0 where the library is to choose"),
            );
        }
        for (nth, rule) in of.rules.iter().enumerate() {
            let (least, most) = of.reached(nth);
            let largest = match table.size {
                CountedSize::Nothing => Some(0),
                CountedSize::OneElement => {
                    let n = to.unwrap_or(i64::MAX).max(1);
                    Some(n.saturating_mul(MAX_ELEMENT))
                }
                _ => None,
            };
            if most.is_some_and(|most| most < least) {
                let before = of.largest_before(nth);
                let is_descending = before.is_some_and(|largest| largest > rule.size.0);
                let why = if is_descending {
                    "message sizes that do not ascend"
                } else {
                    "the next message size is not larger"
                };
                self.problems.add(
                    rule.size.1,
                    format!("size {}: {why}", rule.size.0),
                    "the library stops at the first larger size and takes the last rule before it: no \
                     call reaches this rule",
                    Some("each message size once, in ascending order"),
                );
            } else if least > rule.size.0 && nth > 0 {
                self.problems.add(
                    rule.size.1,
                    format!("size {}: message sizes that do not ascend", rule.size.0),
                    format!(
                        "the library stops at the first larger size: this rule holds from {least} on"
                    ),
                    Some("each message size once, in ascending order"),
                );
            } else if let Some(largest) = largest
                && least > largest
            {
                let effect = match table.size {
                    CountedSize::Nothing => format!(
                        "the size of {} is not used, the library takes 0: no call reaches this rule",
                        table.name
                    ),
                    _ => format!(
                        "the library counts one element x processes, at most {largest} here, whatever the count: no call reaches this rule"
                    ),
                };
                self.problems.add(
                    rule.size.1,
                    format!("size {}", rule.size.0),
                    effect,
                    Some("one rule, for size 0"),
                );
            }
            self.algorithm(table, rule, (from, to));
        }
    }

    fn algorithm(
        &mut self,
        table: &OperationTable,
        rule: &MessageRule,
        (from, to): (i64, Option<i64>),
    ) {
        let (id, at) = rule.algorithm;
        if id == 0 {
            return;
        }
        let mut algorithms = table.algorithms.iter();
        let Some(algorithm) = algorithms.find(|algorithm| algorithm.id == i64::from(id as i32))
        else {
            let last = table.algorithms.last().map_or(0, |last| last.id);
            let elsewhere = known_elsewhere(table, |of| of.id == id)
                .map_or_else(String::new, |(name, version)| {
                    format!("; {version} has {name}")
                });
            self.problems.add(
                at,
                format!(
                    "algorithm {id}, where {} has 1 to {last} in {}{elsewhere}",
                    table.name, self.library.version
                ),
                match table.operation {
                    Operation::Bcast => {
                        "each call of this rule fails with MPI_ERR_ARG, and an allgatherv by its algorithm \
                         default that comes to it returns success with wrong data"
                    }
                    _ => "each call of this rule fails with MPI_ERR_ARG",
                },
                Some(&format!("1 to {last}, or 0 to let the library choose")),
            );
            return;
        };
        let of = Parameters {
            fan_out: rule.fan_out,
            segment: rule.segment,
            requests: rule.requests.filter(|_| self.library.reads_version_line()),
        };
        self.problems.extend(limit(algorithm, at, (from, to)));
        self.problems.extend(parameters(algorithm, of));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open_mpi::library_of;
    use collbench_stats::random::Random;

    /// Problems of a text, as `LINE:COLUMN what`.
    fn problems(text: &str, name: &str) -> Vec<String> {
        let library = library_of(name);
        let file = ClassicFile::read(text.as_bytes(), library);
        let problems = check(text.as_bytes(), &file, library);
        let shown = problems
            .iter()
            .map(|problem| format!("{} {}", problem.at, problem.what));
        shown.collect()
    }

    #[test]
    fn nothing_is_wrong_with_a_valid_file() {
        let text = "# rules\n2\n2\n2\n1\n0\n64\n2\n0 3 0 0\n65536 6 0 0\n7\n1\n2\n1\n0 7 0 8192\n";
        assert_eq!(problems(text, "Open MPI 4.1.4"), [""; 0]);
        assert_eq!(problems(text, "Open MPI 5.0.11"), [""; 0]);
        let version_2 = "rule-file-version-2\n1\n3\n1\n1\n2\n0 4 0 0 16\n100 2 0 0\n";
        assert_eq!(problems(version_2, "Open MPI 5.0.11"), [""; 0]);
    }

    #[test]
    fn a_dead_rule_an_unknown_algorithm_a_unit_and_a_lost_count_are_found_at_once() {
        let text =
            "2\n2\n1\n2\n3\n0 3 0 0\n64K 4 0 0\n7\n1\n2\n3\n0 12 0 0\n500 1 0 0\n500 2 4 0\n";
        assert_eq!(
            problems(text, "Open MPI 4.1.4"),
            [
                "5:1 3 message sizes, but 2 rules follow",
                "7:3 \"K\" is no number",
                "12:3 algorithm 12, where bcast has 1 to 9 in Open MPI 4.1.4",
                "13:1 size 500: the next message size is not larger",
            ]
        );
    }

    #[test]
    fn a_count_that_leads_astray_is_told_where_it_is() {
        let of = |count: &str| {
            format!("{count}\n2\n1\n2\n1\n0 3 0 0\n7\n2\n2\n1\n0 6 0 0\n4\n1\n0 1 0 0\n")
        };
        assert_eq!(problems(&of("2"), "Open MPI 4.1.4"), [""; 0]);
        assert_eq!(
            problems(&of("3"), "Open MPI 4.1.4"),
            ["1:1 3 operations, but 2 follow"]
        );
        assert_eq!(
            problems(&of("1"), "Open MPI 4.1.4"),
            ["1:1 1 operations, but 2 follow"]
        );
        let one_communicator = of("2").replace("7\n2\n2", "7\n1\n2");
        assert_eq!(
            problems(&one_communicator, "Open MPI 4.1.4"),
            ["8:1 1 communicator sizes, but 2 follow"]
        );
    }

    #[test]
    fn what_makes_the_library_ignore_the_file_is_told() {
        let first = "1\n2\n1\n2\n1\n5 3 0 0\n";
        let found = problems(first, "Open MPI 4.1.4");
        assert!(
            found.contains(&"6:1 the first message size is 5, not 0".to_owned()),
            "{found:?}"
        );
        let negative = "1\n2\n1\n2\n1\n0 -3 0 0\n";
        assert_eq!(
            problems(negative, "Open MPI 4.1.4"),
            [
                "6:3 -3 where the number of an algorithm is expected",
                "6:3 algorithm -3, where allreduce has 1 to 6 in Open MPI 4.1.4"
            ]
        );
        assert_eq!(
            problems("rule-file-version-2\n0\n", "Open MPI 4.1.4")[0],
            "1:1 a version line"
        );
        assert_eq!(
            problems("rule-file-version-2\n0\n", "Open MPI 4.1.8"),
            [""; 0]
        );
        assert_eq!(
            problems("rule-file-version-2\n0\n", "Open MPI 5.0.6"),
            ["1:1 a version line"]
        );
        assert_eq!(
            problems("# x\nrule-file-version-2\n0\n", "Open MPI 5.0.11"),
            ["2:1 a version line that is not at the very begin"]
        );
    }

    #[test]
    fn what_an_algorithm_cannot_do_or_ignores_is_told() {
        let text = "2\n0\n2\n2\n1\n0 6 0 0\n3\n2\n0 3 0 0\n9 6 5 7\n13\n1\n2\n1\n0 3 1 1\n";
        assert_eq!(
            problems(text, "Open MPI 5.0.11"),
            [
                "10:3 two_proc is for two processes, these rules are for 3 and more",
                "10:5 fan-out 5 for two_proc",
                "10:7 segments of 7 bytes for two_proc",
                "15:5 fan-out 1 for recursive_halving",
                "15:7 segments of 1 bytes for recursive_halving",
            ]
        );
    }

    #[test]
    fn sizes_that_are_not_used_or_do_not_ascend_are_dead() {
        let text = "3\n6\n1\n2\n2\n0 1 0 0\n8 2 0 0\n14\n1\n2\n2\n0 1 0 0\n100000000000 2 0 0\n11\n1\n2\n3\n0 1 0 0\n100 2 0 0\n50 3 0 0\n";
        let found = problems(text, "Open MPI 5.0.11");
        assert!(found.contains(&"7:1 size 8".to_owned()), "{found:?}");
        assert!(
            found.contains(&"19:1 size 100: the next message size is not larger".to_owned()),
            "{found:?}"
        );
        assert!(
            found.contains(&"20:1 size 50: message sizes that do not ascend".to_owned()),
            "{found:?}"
        );
    }

    #[test]
    fn a_rule_is_dead_if_no_size_comes_to_it() {
        let mut random = Random::of(&[7]);
        let library = library_of("Open MPI 4.1.4");
        let (mut n_dead, mut n_alive) = (0, 0);
        for _ in 0..500 {
            let n = 1 + random.below(6);
            let mut text = format!("1\n11\n1\n2\n{n}\n0 1 0 0\n");
            for _ in 1..n {
                text += &format!("{} 1 0 0\n", random.below(10));
            }
            let file = ClassicFile::read(text.as_bytes(), library);
            let rules = &file.operations[0].communicators[0];
            let problems = check(text.as_bytes(), &file, library);
            for rule in &rules.rules {
                let is_taken = (0..12).any(|size| rules.for_size(size) == Some(rule));
                let is_dead = problems.iter().any(|problem| {
                    problem.at == rule.size.1
                        && problem.effect.ends_with("no call reaches this rule")
                });
                assert_ne!(is_taken, is_dead, "{text}{problems:#?}");
                n_dead += usize::from(is_dead);
                n_alive += usize::from(is_taken);
            }
        }
        assert!(n_dead > 100 && n_alive > 100);
    }

    #[test]
    fn any_bytes_are_checked() {
        let mut random = Random::of(&[1]);
        let pieces = [
            "0",
            "1",
            "2 ",
            "64\n",
            "-",
            "K",
            "#",
            "0x",
            "\n",
            "@intra",
            "rule-file-version-2",
            "\u{e9}",
            " ",
        ];
        // A million with make test-long.
        let is_long = std::env::var_os("COLLBENCH_TESTS_LONG").is_some();
        for _ in 0..if is_long { 1_000_000 } else { 20_000 } {
            let mut text = String::new();
            for _ in 0..30 {
                text += pieces[random.below(pieces.len())];
            }
            for name in ["Open MPI 4.1.4", "Open MPI 5.0.11"] {
                problems(&text, name);
            }
        }
    }
}
