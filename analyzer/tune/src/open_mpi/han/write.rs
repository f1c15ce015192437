//! Choices to a rule file of `coll_han`.
//!
//! What is measured with `collbench-bench collective --algorithms` are algorithms of `coll_tuned`, which
//! `coll_han` hides on several hosts. So a file says which calls `coll_han` hands over to `coll_tuned`, as
//! a whole; which algorithm these take there is for the file of `coll_tuned`.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::super::library::Library;
use super::table::{self, Component, HanOperationTable, Level};
use crate::choices::{Choice, held};
use crate::written::{BySize, Written, head, with_ends, with_parameters};

/// Rules by number of the operation: from a number of bytes on, a component with the name of an algorithm.
type Operations = BTreeMap<u32, (&'static HanOperationTable, BySize<String>)>;

/// A rule file of `coll_han`. The library's own choice, and what cannot be said, is left to `coll_han`.
#[must_use]
pub fn write(choices: &[Choice], library: Library, file_name: &str) -> Written {
    let mut left_out = Vec::new();
    let operations = rules_of(choices, library, &mut left_out);
    let commands = with_parameters(&[
        ("coll_han_use_dynamic_file_rules", "1"),
        ("coll_han_dynamic_rules_filename", file_name),
    ]);
    let text = if operations.is_empty() {
        String::new()
    } else {
        text_of(&operations, library, &commands)
    };
    Written {
        text,
        commands,
        left_out,
    }
}

fn rules_of(choices: &[Choice], library: Library, left_out: &mut Vec<String>) -> Operations {
    let mut operations: Operations = BTreeMap::new();
    for of in held(choices) {
        let choice = of.choice;
        let name = choice.operation.name();
        let Some(table) = table::operation(choice.operation) else {
            left_out.push(format!(
                "{name}: coll_han does not do it, coll_tuned does: its rules are enough"
            ));
            continue;
        };
        let component = component(choice, table, library).unwrap_or_else(|why| {
            left_out.push(format!("{name}: {why}"));
            Component::Han.name().to_owned()
        });
        let (_, by_size) = operations
            .entry(table.id)
            .or_insert_with(|| (table, BySize::new()));
        let rules = by_size.entry(choice.n_processes).or_default();
        if rules.last().is_none_or(|(_, before)| *before != component) {
            rules.push((of.bytes.0, component));
        }
    }
    operations.retain(|_, (_, by_size)| {
        by_size.retain(|&n, _| n > 1);
        let mut rules = by_size.values().flatten();
        rules.any(|(_, component)| component != Component::Han.name())
    });
    left_out.dedup();
    operations
}

/// What a rule says for a choice.
fn component(
    choice: &Choice,
    table: &HanOperationTable,
    library: Library,
) -> Result<String, String> {
    let Some(chosen) = choice.algorithm.as_deref() else {
        return Ok(Component::Han.name().to_owned());
    };
    let of_han = chosen.strip_prefix("han @");
    if ["han", "tuned", "basic"].contains(&chosen)
        || of_han.is_some_and(|name| table.algorithms.iter().any(|of| of.name == name))
    {
        return Ok(chosen.to_owned());
    }
    let of_tuned = library
        .operation(choice.operation)
        .map_or(&[][..], |table| table.algorithms);
    if of_tuned.iter().any(|of| of.name == chosen) {
        return Ok(Component::Tuned.name().to_owned());
    }
    Err(format!(
        "neither coll_han nor coll_tuned of {} has {chosen}",
        library.version
    ))
}

fn text_of(operations: &Operations, library: Library, commands: &[String]) -> String {
    let sentences = [
        format!("Rules of coll_han for {}.", library.version),
        "This format was run with Open MPI 5.0.11.".to_owned(),
        "Calls with tuned take the algorithm that a file of --write openmpi says, used beside this one."
            .to_owned(),
    ];
    let mut text = head(&sentences, commands);
    let _ = writeln!(text, "{:<20}# operations", operations.len());
    for (table, by_size) in operations.values() {
        let level = Level::Global.name();
        let _ = writeln!(text, "\n{}\n{:<20}# level\n{level}", table.name, 1);
        let sizes = with_ends(by_size);
        let _ = writeln!(text, "{:<20}# communicator sizes", sizes.len());
        for (n, rules) in sizes {
            if rules.is_empty() {
                let _ = writeln!(text, "{n:<20}# processes: as without a file\n0");
                continue;
            }
            let _ = writeln!(text, "{n:<20}# processes\n{:<20}# rules", rules.len());
            for (bytes, component) in rules {
                let _ = writeln!(text, "{bytes} {component}");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use collbench_formats::Operation;

    use super::super::{HanFile, check, decide};
    use super::*;
    use crate::call::class;
    use crate::choices::choice;
    use crate::decision::DecidedBy;
    use crate::open_mpi::Settings;
    use crate::open_mpi::library_of;

    fn five() -> Library {
        library_of("Open MPI 5.0.11")
    }

    #[test]
    fn what_is_written_hands_over_what_was_chosen_and_nothing_else() {
        let choices = [
            choice(Operation::Allreduce, 4, 8, None),
            choice(Operation::Allreduce, 4, 1024, Some("ring")),
            choice(Operation::Allreduce, 4, 4096, Some("rabenseifner")),
            choice(Operation::Allreduce, 4, 65536, Some("han @simple")),
            choice(Operation::Barrier, 4, 0, Some("tree")),
            choice(Operation::Bcast, 4, 8, Some("basic")),
            choice(Operation::Bcast, 4, 64, None),
            choice(Operation::Gather, 4, 8, None),
            // Communicators of one process have another component.
            choice(Operation::Scatter, 1, 8, Some("binomial")),
        ];
        let written = write(&choices, five(), "han.txt");
        assert_eq!(written.left_out, [""; 0]);
        let file = HanFile::read(written.text.as_bytes(), five());
        assert_eq!(check(&file, five()), [], "{}", written.text);
        assert!(file.skipped.is_empty());
        assert!(!written.text.contains("scatter"), "{}", written.text);
        let mut n_by_rule = 0;
        for (operation, n, bytes, expected) in [
            (Operation::Allreduce, 4, 1023, "coll_han intra"),
            (Operation::Allreduce, 4, 1024, "coll_tuned"),
            (Operation::Allreduce, 4, 65535, "coll_tuned"),
            (Operation::Allreduce, 4, 65536, "coll_han simple"),
            (Operation::Barrier, 4, 0, "coll_tuned"),
            (Operation::Bcast, 4, 63, "coll_basic"),
            (Operation::Bcast, 4, 64, "coll_han intra"),
            (Operation::Allreduce, 2, 1024, "coll_han intra"),
            (Operation::Allreduce, 6, 1024, "coll_han intra"),
            (Operation::Gather, 4, 8, "coll_han simple"),
        ] {
            let class = class(operation, &[n / 2; 2], (bytes, bytes));
            // With one process on each host coll_han would give the call away.
            if n == 2 {
                continue;
            }
            let decision = decide(&file, five(), &Settings::default(), &class, bytes);
            let follows = decision.algorithm.unwrap();
            assert!(
                follows.starts_with(expected),
                "{operation:?} {n} {bytes}: {follows}"
            );
            n_by_rule += u32::from(decision.by == DecidedBy::Rule);
        }
        assert_eq!(n_by_rule, 7);
    }

    #[test]
    fn what_coll_han_cannot_be_told_is_left_to_it_and_told() {
        let choices = [
            choice(Operation::Alltoall, 4, 8, Some("pairwise")),
            choice(Operation::Bcast, 4, 8, Some("chain")),
            choice(Operation::Bcast, 4, 64, Some("trees of mine.toml")),
        ];
        let written = write(&choices, five(), "han.txt");
        assert_eq!(
            written.left_out,
            [
                "MPI_Alltoall: coll_han does not do it, coll_tuned does: its rules are enough",
                "MPI_Bcast: neither coll_han nor coll_tuned of Open MPI 5.0.11 has trees of mine.toml",
            ]
        );
        assert!(
            written.text.contains("0 tuned\n64 han\n"),
            "{}",
            written.text
        );
        assert_eq!(write(&choices[..1], five(), "han.txt").text, "");
    }
}
