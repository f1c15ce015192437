//! From a log of decisions about candidates to a tree file with what was found.

use std::collections::BTreeMap;
use std::fmt::Write;

use collbench_adapt::{Entry, LogError, read_log};
use collbench_formats::tree::{Collective, Rule, TreeRules};
use collbench_text::quantity::{counted, round_duration, size_range};
use collbench_tree_files::{Problems, TreeFile, make, without_tables};

use crate::words::adaptations::takes_longer;

/// Why there is no tree file in a log.
#[derive(Debug, thiserror::Error)]
pub enum FromLogError {
    /// It is no log.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The tree file in it is wrong.
    #[error("its tree file, line {}: {}", .0.0.first().map_or(0, |of| of.line), .0.0.first().map_or("", |of| &of.found))]
    File(Problems),
    /// Its trees are written in a way that cannot be taken over.
    #[error("its tree file has trees in one list; write each one as [[tree]], and record again")]
    Inline,
    /// It has no decision.
    #[error(
        "no control point in it: the program has made too few calls of the operations with candidates"
    )]
    Empty,
    /// It names something that is not in its tree file.
    #[error("its tree file has no candidate {number} at line {line}")]
    Candidate {
        /// Line of the tree.
        line: u32,
        /// Number of the candidate, from 1.
        number: u32,
    },
}

/// Calls that one rule can be for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Calls {
    operation: String,
    ranks: u32,
    /// Line of the tree file where the tree with the candidates begins.
    line: u32,
    bytes: (u64, u64),
}

/// The tree file, without `adapt`, with the candidate that was in use last for each operation, number of processes and
/// payload of a log, and the trees of its tree file that had no other candidates. Where communicators or roots differ, that
/// with the most calls counts.
///
/// # Errors
/// [`FromLogError`].
pub fn tree_file_of_log(log: &str) -> Result<String, FromLogError> {
    let (text, entries) = read_log(log)?;
    if text
        .lines()
        .any(|line| line.trim_start().starts_with("tree") && line.contains('='))
    {
        return Err(FromLogError::Inline);
    }
    let file = TreeFile::parse_without_hosts(&text).map_err(FromLogError::File)?;
    let mut found = found_in(&entries);
    if found.is_empty() {
        return Err(FromLogError::Empty);
    }
    let mut written = String::from(
        "# What was found to be best while a program ran, for its calls alone; made by collbench-tree from-log. A call\n\
         # without a tree here goes to the MPI library.\n",
    );
    for line in without_tables(&text, "tree")
        .lines()
        .filter(|line| !line.is_empty())
    {
        let _ = writeln!(written, "{line}");
    }
    written.push('\n');
    found.reverse();
    while let Some((first, entry)) = found.pop() {
        let number = entry.subject.candidates[entry.in_use];
        let mut bytes = first.bytes;
        remark(&first, entry, &mut written);
        // One rule for payloads that follow one another.
        while let Some((next, other)) = found.pop_if(|(next, other)| {
            let is_alike = next.operation == first.operation && next.ranks == first.ranks;
            is_alike
                && Some(next.bytes.0) == bytes.1.checked_add(1)
                && (other.subject.line, other.subject.candidates[other.in_use])
                    == (entry.subject.line, number)
        }) {
            bytes.1 = next.bytes.1;
            remark(&next, other, &mut written);
        }
        let Some(number) = number else {
            written.push('\n');
            continue;
        };
        let line = entry.subject.line;
        let rule = candidate(&file.rules, line, number);
        let rule = rule.ok_or(FromLogError::Candidate { line, number })?;
        let calls = &rule.calls;
        let found = FoundCalls {
            operations: vec![&first.operation],
            ranks: (first.ranks, first.ranks),
            bytes: (bytes.0.max(calls.bytes.0), bytes.1.min(calls.bytes.1)),
        };
        write_rule(rule, &found, &mut written);
    }
    for (nth, rule) in file.rules.rules.iter().enumerate() {
        if file.rules.candidate(nth).is_none() {
            let own = FoundCalls {
                operations: rule.calls.operations.iter().map(|of| of.name()).collect(),
                ranks: rule.calls.ranks,
                bytes: rule.calls.bytes,
            };
            write_rule(rule, &own, &mut written);
        }
    }
    Ok(written)
}

/// The last control point of each class of calls. A rule cannot tell sums that are rounded from others, so where sums must
/// keep their grouping others have the same tree; what was found about these counts for other payloads only.
fn found_in(entries: &[Entry]) -> Vec<(Calls, &Entry)> {
    let mut last: BTreeMap<(bool, Calls), &Entry> = BTreeMap::new();
    for entry in entries {
        let subject = &entry.subject;
        let calls = Calls {
            operation: subject.operation.clone(),
            ranks: subject.ranks,
            line: subject.line,
            bytes: subject.bytes,
        };
        let kept = last
            .entry((!subject.keeps_grouping, calls))
            .or_insert(entry);
        if entry.calls >= kept.calls {
            *kept = entry;
        }
    }
    let mut found: Vec<(Calls, &Entry)> = Vec::new();
    // Those that keep their grouping come first.
    for ((_, calls), entry) in last {
        let tree = |of: &Calls| (of.operation.clone(), of.ranks, of.line);
        let of_tree = found.iter().filter(|(of, _)| tree(of) == tree(&calls));
        let taken: Vec<(u64, u64)> = of_tree.map(|(of, _)| of.bytes).collect();
        for bytes in without(calls.bytes, &taken) {
            found.push((
                Calls {
                    bytes,
                    ..calls.clone()
                },
                entry,
            ));
        }
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    found
}

/// What is left of a range of payloads without others; all ends are included.
fn without(range: (u64, u64), others: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut left = vec![range];
    for &(least, most) in others {
        let parts = left.into_iter().flat_map(|(begin, end)| {
            let below = least.checked_sub(1).map(|last| (begin, end.min(last)));
            let above = most.checked_add(1).map(|first| (begin.max(first), end));
            below.into_iter().chain(above)
        });
        left = parts.filter(|(begin, end)| begin <= end).collect();
    }
    left
}

/// A candidate of the tree at a line, by its number.
fn candidate(rules: &TreeRules, line: u32, number: u32) -> Option<&Rule> {
    let adaptation = rules.adaptations.iter().find(|of| of.line == line)?;
    let nth = number
        .checked_sub(1)
        .filter(|nth| *nth < adaptation.n_rules)?;
    rules.rules.get((adaptation.first + nth) as usize)
}

/// What was found, as a comment.
fn remark(calls: &Calls, entry: &Entry, text: &mut String) {
    let name = |nth: usize| match entry.subject.candidates[nth] {
        None => "the MPI library".to_owned(),
        Some(number) => format!("candidate {number}"),
    };
    let payload = match calls.bytes {
        (0, 0) => String::new(),
        (least, most) => format!(" of {}", size_range(least, most)),
    };
    let n = u64::from(calls.ranks);
    let _ = write!(
        text,
        "# {}{payload} on {}: {} is in use after {}",
        calls.operation,
        counted(n, "rank"),
        name(entry.in_use),
        counted(entry.calls, "call")
    );
    if let (_, _, Some(total)) = entry.candidates[entry.in_use] {
        let _ = write!(
            text,
            ", {} a call",
            round_duration(total as f64 / n.max(1) as f64)
        );
    }
    for (nth, gain) in entry.gains.iter().enumerate() {
        if let Some(gain) = gain.filter(|[_, lower, _]| *lower > 0) {
            let gain = gain.map(|millionths| millionths as f64 / 1e6);
            let _ = write!(text, "; {}", takes_longer(&name(nth), gain));
        }
    }
    text.push('\n');
}

/// The calls of a tree that is written.
struct FoundCalls<'a> {
    operations: Vec<&'a str>,
    ranks: (u32, u32),
    bytes: (u64, u64),
}

fn write_rule(rule: &Rule, calls: &FoundCalls<'_>, text: &mut String) {
    let bytes = match calls.operations[..] {
        // It has no payload.
        [operation] if operation == Collective::Barrier.name() => (0, u64::MAX),
        _ => calls.bytes,
    };
    *text += &make::calls(&calls.operations, calls.ranks, bytes);
    if let Some(level) = rule.calls.across {
        let _ = writeln!(text, "across = \"{}\"", level.plural());
    }
    *text += &make::form(rule);
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use collbench_adapt::{Subject, first_lines};

    use super::*;

    const FILE: &str = "wait = 'yield'\n# a comment\n[[site]]\nname = 's'\nhosts = ['a*']\n[[tree]]\n\
        operations = ['bcast', 'allreduce']\nacross = 'hosts'\nadapt = { library = true }\n[[tree.candidate]]\n\
        shape = 'binomial'\n[[tree.candidate]]\nshape = { ranks = 'linear', hosts = 'chain 2' }\nhosts = ['b*', 'a*']\n\
        root = 1\ncollectors = 'none'\n\
        [[tree]]\noperations = 'scatter'\nsize = '2-'\nbytes = '0-7'\nshape = 'linear'\n\
        [[host]]\nhosts = ['a*']\ntopology = 'elsewhere.xml'\n";

    fn entry(operation: &str, bytes: (u64, u64), calls: u64, in_use: usize) -> Entry {
        Entry {
            subject: Subject {
                line: 6,
                operation: operation.to_owned(),
                ranks: 4,
                first_rank: 0,
                places: 0,
                bytes,
                root: None,
                keeps_grouping: false,
                candidates: vec![Some(1), Some(2), None],
            },
            calls,
            in_use,
            before: 0,
            reason: "better".to_owned(),
            cost_ns: [0; 3],
            candidates: vec![("tried".to_owned(), 5, Some(4_000)); 3],
            gains: vec![Some([250_000, 100_000, 300_000]), None, None],
        }
    }

    fn log(entries: &[Entry]) -> String {
        let lines: String = entries.iter().map(Entry::line).collect();
        first_lines(FILE) + &lines
    }

    #[test]
    fn what_was_in_use_last_is_a_tree_for_payloads_that_follow_one_another() {
        let text = tree_file_of_log(&log(&[
            entry("bcast", (8, 15), 10, 0),
            entry("bcast", (8, 15), 20, 1),
            entry("bcast", (16, 31), 20, 1),
            entry("bcast", (64, 127), 20, 0),
            entry("allreduce", (8, 15), 20, 2),
        ]))
        .unwrap();
        assert!(text.contains("topology = 'elsewhere.xml'"));
        let file = TreeFile::parse_without_hosts(&text).unwrap();
        let [one, other, scatter] = &file.rules.rules[..] else {
            panic!("{text}");
        };
        let original = TreeFile::parse_without_hosts(FILE).unwrap();
        assert_eq!(scatter.calls, original.rules.rules[2].calls);
        assert_eq!((one.calls.bytes, one.calls.ranks), ((8, 31), (4, 4)));
        assert_eq!(one.form, original.rules.rules[1].form);
        assert_eq!(one.collectors, original.rules.rules[1].collectors);
        assert_eq!(one.calls.across, original.rules.rules[1].calls.across);
        assert_eq!(other.form, original.rules.rules[0].form);
        assert!(file.rules.adaptations.is_empty());
        assert_eq!(file.rules.groups, original.rules.groups);
        assert_eq!(file.rules.wait, original.rules.wait);
        assert!(text.contains(
            "allreduce of 8 to 15 bytes on 4 ranks: the MPI library is in use after 20 calls"
        ));
        assert!(
            text.contains("candidate 1 takes 25 % longer (10 % to 30 %)"),
            "{text}"
        );
    }

    #[test]
    fn payloads_of_sums_that_keep_their_grouping_have_its_tree_and_others_what_was_found() {
        let left_alone = |bytes, candidate| {
            Entry::only(Subject {
                keeps_grouping: true,
                candidates: vec![candidate],
                ..entry("bcast", bytes, 0, 0).subject
            })
        };
        let text = tree_file_of_log(&log(&[
            entry("bcast", (1, 63), 500, 1),
            left_alone((8, 15), Some(1)),
            left_alone((32, 63), None),
        ]))
        .unwrap();
        let file = TreeFile::parse_without_hosts(&text).unwrap();
        let original = TreeFile::parse_without_hosts(FILE).unwrap();
        let trees: Vec<_> = file.rules.rules[..3]
            .iter()
            .map(|rule| {
                let candidates = original.rules.rules[..2].iter();
                let nth = candidates.take_while(|of| of.form != rule.form).count();
                (rule.calls.bytes, nth + 1)
            })
            .collect();
        assert_eq!(trees, [((1, 7), 2), ((8, 15), 1), ((16, 31), 2)]);
    }

    #[test]
    fn what_is_left_of_a_range_is_before_between_and_behind_others() {
        assert_eq!(without((1, 63), &[]), [(1, 63)]);
        assert_eq!(without((1, 63), &[(0, 7), (16, 31)]), [(8, 15), (32, 63)]);
        assert_eq!(without((8, 15), &[(0, u64::MAX)]), []);
        assert_eq!(without((8, 15), &[(64, 127)]), [(8, 15)]);
    }

    #[test]
    fn what_keeps_the_bits_of_sums_is_written_if_others_use_another_tree() {
        let strict = Entry {
            subject: Subject {
                keeps_grouping: true,
                ..entry("bcast", (8, 15), 10, 0).subject
            },
            ..entry("bcast", (8, 15), 10, 0)
        };
        let text = tree_file_of_log(&log(&[strict, entry("bcast", (8, 15), 500, 1)])).unwrap();
        assert!(text.contains("shape = { ranks = \"binomial\" }"), "{text}");
        let inline = first_lines("tree = [{ operations = 'bcast', shape = 'linear' }]\n");
        let error = tree_file_of_log(&inline);
        assert!(matches!(error, Err(FromLogError::Inline)));
    }

    #[test]
    fn a_log_without_decisions_or_with_others_trees_is_refused() {
        assert!(matches!(
            tree_file_of_log(&log(&[])),
            Err(FromLogError::Empty)
        ));
        let mut other = entry("bcast", (8, 15), 10, 0);
        other.subject.candidates[0] = Some(99);
        let error = tree_file_of_log(&log(&[other]));
        assert!(matches!(
            error,
            Err(FromLogError::Candidate {
                line: 6,
                number: 99
            })
        ));
        assert!(matches!(tree_file_of_log("x"), Err(FromLogError::Log(_))));
    }
}
