//! Choices to a classic rule file.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Value, json};

use super::library::Library;
use super::v5_0;
use super::version::{Algorithm, CountedSize, OperationTable};
use crate::choices::Choice;
use crate::written::{BySize, Written, head, with_ends, with_parameters};

/// The fan-out of a chain that is forced without one: `coll_tuned_OPERATION_algorithm_chain_fanout`,
/// with which choices are measured.
const CHAIN_FAN_OUT: i64 = 4;

/// The fan-out with which an algorithm is measured: of one that has a radix in its place in 6.0, the radix
/// that it had before.
fn fan_out(algorithm: Algorithm) -> i64 {
    match algorithm.least_fan_out {
        0 if algorithm.uses_fan_out => CHAIN_FAN_OUT,
        least => least,
    }
}

/// Rules by number of the operation: from a size of the file on, an algorithm, or the library's choice.
type Operations = BTreeMap<i64, (&'static OperationTable, BySize<Option<Algorithm>>)>;

/// A classic rule file for this library. A rule holds from its measured length on; communicators of
/// fewer processes than were measured, and of more, are left to the library.
#[must_use]
pub fn write(choices: &[Choice], library: Library, file_name: &str) -> Written {
    let mut left_out = Vec::new();
    let operations = rules_of(choices, library, &mut left_out);
    let commands = commands(file_name);
    Written {
        text: text_of(&operations, library, &commands),
        commands,
        left_out,
    }
}

/// What uses a file of rules of `coll_tuned`.
fn commands(file_name: &str) -> Vec<String> {
    with_parameters(&[
        ("coll_tuned_use_dynamic_rules", "1"),
        ("coll_tuned_dynamic_rules_filename", file_name),
    ])
}

/// A JSON rule file of Open MPI 6.0, as its published schema has it. No library that could be run reads
/// it. Algorithms are given by numbers, and may have the names of 5.0; communicators of numbers of processes
/// between those that were measured have the rules of the next smaller one.
///
/// Operations that the schema spells otherwise than the reader, `mca_coll_base_name_to_colltype`, or not
/// at all, are left out: the reader ignores the whole file for an operation that it does not know.
#[must_use]
pub fn write_json(choices: &[Choice], of_6_0: Library, file_name: &str) -> Written {
    const NOT_IN_BOTH: [&str; 3] = ["allgatherv", "reduce_scatter", "reduce_scatter_block"];
    let mut left_out = Vec::new();
    let mut operations = rules_of(choices, of_6_0, &mut left_out);
    operations.retain(|_, (table, _)| {
        let is_in_both = !NOT_IN_BOTH.contains(&table.name);
        if !is_in_both {
            left_out.push(format!(
                "{}: the schema of 6.0 and its reader do not agree on its name",
                table.operation.name()
            ));
        }
        is_in_both
    });
    let mut collectives = serde_json::Map::new();
    for (table, by_processes) in operations.values() {
        let sizes: Vec<u32> = by_processes.keys().copied().collect();
        let communicators = by_processes.iter().enumerate().map(|(nth, (n, rules))| {
            let last = sizes.get(nth + 1).map_or(*n, |next| next - 1);
            json!({ "comm_size_min": n, "comm_size_max": last, "rules": json_rules(rules) })
        });
        collectives.insert(table.name.to_owned(), communicators.collect());
    }
    let file = json!({ "rule_file_version": 3, "module": "tuned", "collectives": collectives });
    Written {
        text: format!("{file:#}\n"),
        commands: commands(file_name),
        left_out,
    }
}

/// Rules of one communicator size. A length without a rule is the library's.
fn json_rules(rules: &[(u64, Option<Algorithm>)]) -> Vec<Value> {
    let of = |(nth, (size, algorithm)): (usize, &(u64, Option<Algorithm>))| {
        let algorithm = (*algorithm)?;
        let last = rules
            .get(nth + 1)
            .map_or(json!("inf"), |(next, _)| json!(next - 1));
        let mut rule = json!({ "msg_size_min": size, "msg_size_max": last, "alg": algorithm.id });
        if algorithm.uses_fan_out {
            rule["faninout"] = json!(fan_out(algorithm));
        }
        Some(rule)
    };
    rules.iter().enumerate().filter_map(of).collect()
}

/// The algorithm of a name of this version, or of 5.0.
fn find(table: &OperationTable, name: &str) -> Option<Algorithm> {
    let of = |table: &OperationTable| {
        let mut algorithms = table.algorithms.iter();
        algorithms.find(|algorithm| algorithm.name == name).copied()
    };
    of(table).or_else(|| {
        let before = v5_0::TABLE.operations.iter().find(|of| of.id == table.id)?;
        let id = of(before)?.id;
        // The same number has another name from 6.0 on; before 5.0 there is none with a new number.
        table.algorithms.iter().find(|of| of.id == id).copied()
    })
}

/// What the choices say, and what of them cannot be said, which is left to the library.
fn rules_of(choices: &[Choice], library: Library, left_out: &mut Vec<String>) -> Operations {
    let mut operations: Operations = BTreeMap::new();
    for choice in choices {
        let name = choice.operation.name();
        let Some(table) = library.operation(choice.operation) else {
            left_out.push(format!("{name}: coll_tuned has no rules for it"));
            continue;
        };
        let chosen = choice.algorithm.as_deref();
        let algorithm = chosen.and_then(|chosen| find(table, chosen));
        if let (Some(chosen), None) = (chosen, algorithm) {
            left_out.push(format!(
                "{name}: {} has no algorithm {chosen}",
                library.version
            ));
        }
        let size = match table.size {
            CountedSize::OneElement => choice.bytes,
            size => size.of(choice.bytes, choice.n_processes, 1),
        };
        let (_, by_processes) = operations
            .entry(table.id)
            .or_insert_with(|| (table, BTreeMap::new()));
        by_processes
            .entry(choice.n_processes)
            .or_default()
            .push((size, algorithm));
    }
    for (table, by_processes) in operations.values_mut() {
        by_processes.retain(|&n, rules| {
            rules.sort_by_key(|(size, _)| *size);
            rules.dedup_by(|next, one| next.1 == one.1);
            let by_size = !matches!(table.size, CountedSize::OneElement | CountedSize::Nothing);
            if by_size || rules.len() == 1 {
                rules[0].0 = 0;
                return true;
            }
            let n_algorithms = rules.len();
            left_out.push(format!(
                "{} on {n} processes: {n_algorithms} algorithms were chosen by length, which the library \
                 does not look at",
                table.operation.name()
            ));
            false
        });
    }
    operations.retain(|_, (_, by_processes)| {
        let mut rules = by_processes.values().flatten();
        rules.any(|(_, algorithm)| algorithm.is_some())
    });
    left_out.dedup();
    operations
}

fn text_of(operations: &Operations, library: Library, commands: &[String]) -> String {
    let mut sentences = vec![
        format!("Rules of coll_tuned for {}.", library.version),
        "This format was run with Open MPI 4.1.4 and 5.0.11.".to_owned(),
    ];
    if library.table.han_priority > library.table.tuned_priority {
        sentences.push(
            "On several hosts coll_han goes before it: add --mca coll_han_priority 0, or a file of \
             --write openmpi-han."
                .to_owned(),
        );
    }
    let mut text = head(&sentences, commands);
    let _ = writeln!(text, "{:<20}# operations", operations.len());
    for (id, (table, by_processes)) in operations {
        let _ = writeln!(text, "\n{id:<20}# {} ({})", table.name, table.size);
        let sizes = with_ends(by_processes);
        let _ = writeln!(text, "{:<20}# communicator sizes", sizes.len());
        for (n, rules) in sizes {
            if rules.is_empty() {
                let _ = writeln!(text, "{n:<20}# processes: the library chooses\n0");
                continue;
            }
            let _ = writeln!(text, "{n:<20}# processes\n{:<20}# rules", rules.len());
            for (size, algorithm) in rules {
                let id = algorithm.map_or(0, |algorithm| algorithm.id);
                let name = algorithm.map_or("the library chooses", |algorithm| algorithm.name);
                let fan_out = algorithm.map_or(0, fan_out);
                let rule = format!("{size} {id} {fan_out} 0");
                let _ = writeln!(text, "{rule:<20}# {name}");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use collbench_formats::Operation;

    use super::*;
    use crate::choices::choice;
    use crate::open_mpi::{
        Call, ClassicFile, JsonFile, Placement, Settings, TunedFile, check, check_json, decide,
        library_of,
    };

    /// Of all operations with rules, choices of all algorithms.
    fn all(library: Library) -> Vec<Choice> {
        let mut choices = Vec::new();
        for table in library.table.operations {
            let is_by_size = !matches!(table.size, CountedSize::OneElement | CountedSize::Nothing);
            for (nth, n_processes) in [2, 4, 8].into_iter().enumerate() {
                for (of, algorithm) in table.algorithms.iter().enumerate() {
                    if !is_by_size && of != nth % table.algorithms.len() {
                        continue;
                    }
                    let (operation, bytes) = (table.operation, 1000 << of);
                    choices.push(choice(operation, n_processes, bytes, Some(algorithm.name)));
                }
            }
        }
        choices
    }

    #[test]
    fn what_is_written_decides_as_was_chosen() {
        for name in ["Open MPI 4.1.4", "Open MPI 5.0.11"] {
            let library = library_of(name);
            let choices = all(library);
            let written = write(&choices, library, "rules.txt");
            assert_eq!(written.left_out, [""; 0]);
            let text = written.text.as_bytes();
            let file = ClassicFile::read(text, library);
            assert_eq!((&file.dropped, &file.rest), (&None, &None));
            assert!(file.skipped.is_empty());
            for choice in &choices {
                let call = Call {
                    operation: choice.operation,
                    n_processes: choice.n_processes,
                    placement: Placement::OneHost,
                    bytes: choice.bytes,
                    element: Some(1),
                };
                let decision = decide(
                    TunedFile::Classic(&file),
                    library,
                    &Settings::default(),
                    call,
                );
                let table = library.operation(choice.operation).unwrap();
                let mut algorithms = table.algorithms.iter();
                let chosen = algorithms
                    .find(|algorithm| Some(algorithm.name) == choice.algorithm.as_deref())
                    .unwrap();
                assert_eq!(
                    decision.algorithm.as_deref(),
                    Some(chosen.function),
                    "{choice:?}"
                );
                let above = Call {
                    n_processes: 9,
                    ..call
                };
                let decision = decide(
                    TunedFile::Classic(&file),
                    library,
                    &Settings::default(),
                    above,
                );
                assert!(decision.line.is_none(), "{decision:?}");
            }
            let wrong = check(text, &file, library);
            let other = wrong
                .iter()
                .find(|problem| !problem.what.contains("two_proc"));
            assert_eq!(other.map(|problem| problem.to_string()), None);
        }
    }

    #[test]
    fn what_cannot_be_written_is_told() {
        let library = library_of("Open MPI 4.1.4");
        let choice = |operation, bytes, algorithm| choice(operation, 4, bytes, Some(algorithm));
        let choices = [
            choice(Operation::Gatherv, 8, "linear"),
            choice(Operation::Allgather, 8, "sparbit"),
            choice(Operation::Scan, 8, "linear"),
            choice(Operation::Scan, 1024, "recursive_doubling"),
            choice(Operation::Bcast, 8, "chain"),
            choice(Operation::Bcast, 1024, "trees of mine.toml"),
        ];
        let written = write(&choices, library, "rules.txt");
        assert_eq!(
            written.left_out,
            [
                "MPI_Gatherv: coll_tuned has no rules for it",
                "MPI_Allgather: Open MPI 4.1.4 has no algorithm sparbit",
                "MPI_Bcast: Open MPI 4.1.4 has no algorithm trees of mine.toml",
                "MPI_Scan on 4 processes: 2 algorithms were chosen by length, which the library does not \
                 look at",
            ]
        );
        let rules = "\n0 2 4 0             # chain\n1024 0 0 0          # the library chooses\n";
        assert!(written.text.contains(rules), "{}", written.text);
    }

    #[test]
    fn json_is_as_the_schema_of_6_0_says() {
        let all = all(library_of("Open MPI 5.0.11"));
        let written = write_json(&all, library_of("Open MPI 6.0.0"), "rules.json");
        assert_eq!(
            written.left_out,
            [
                "MPI_Allgatherv",
                "MPI_Reduce_scatter",
                "MPI_Reduce_scatter_block"
            ]
            .map(|name| {
                format!("{name}: the schema of 6.0 and its reader do not agree on its name")
            })
        );
        let file: Value = serde_json::from_str(&written.text).unwrap();
        let keys =
            |of: &Value| -> Vec<String> { of.as_object().unwrap().keys().cloned().collect() };
        assert_eq!(keys(&file), ["collectives", "module", "rule_file_version"]);
        assert_eq!(
            (&file["module"], &file["rule_file_version"]),
            (&json!("tuned"), &json!(3))
        );
        let collectives = file["collectives"].as_object().unwrap();
        // Those of the schema that have algorithms.
        let known = [
            "allgather",
            "allreduce",
            "alltoall",
            "alltoallv",
            "barrier",
            "bcast",
            "exscan",
            "gather",
            "reduce",
            "scan",
            "scatter",
        ];
        assert_eq!(collectives.keys().collect::<Vec<_>>(), known);
        for communicators in collectives.values() {
            let mut before = 0;
            for communicator in communicators.as_array().unwrap() {
                assert_eq!(
                    keys(communicator),
                    ["comm_size_max", "comm_size_min", "rules"]
                );
                let from = communicator["comm_size_min"].as_u64().unwrap();
                let to = communicator["comm_size_max"].as_u64().unwrap();
                assert!(before < from && from <= to);
                before = to;
                let mut next = 0;
                for rule in communicator["rules"].as_array().unwrap() {
                    let allowed = ["alg", "faninout", "msg_size_max", "msg_size_min"];
                    assert!(
                        keys(rule).iter().all(|key| allowed.contains(&&**key)),
                        "{rule}"
                    );
                    assert!(rule["alg"].as_u64().unwrap() > 0);
                    assert_eq!(rule["msg_size_min"], next);
                    next = rule["msg_size_max"].as_u64().map_or(0, |last| last + 1);
                }
                // The last one has no end.
                assert_eq!(next, 0);
            }
        }
    }

    #[test]
    fn json_is_read_back_and_decides_as_was_chosen() {
        let (five, six) = (library_of("Open MPI 5.0.11"), library_of("Open MPI 6.0.0"));
        let choices = all(five);
        let text = write_json(&choices, six, "rules.json").text;
        let file = JsonFile::read(text.as_bytes(), six);
        let wrong = check_json(&file, six);
        let other = wrong
            .iter()
            .find(|problem| !problem.what.contains("two_proc"));
        assert_eq!(other.map(ToString::to_string), None);
        let mut n_decided = 0;
        for choice in &choices {
            let table = six.operation(choice.operation).unwrap();
            let name = table.name;
            if ["allgatherv", "reduce_scatter", "reduce_scatter_block"].contains(&name) {
                continue;
            }
            let call = Call {
                operation: choice.operation,
                n_processes: choice.n_processes,
                placement: Placement::OneHost,
                bytes: choice.bytes,
                element: Some(1),
            };
            let decision = decide(TunedFile::Json(&file), six, &Settings::default(), call);
            let id_of = |of: &Library, is_it: &dyn Fn(&Algorithm) -> bool| {
                let algorithms = of.operation(choice.operation).unwrap().algorithms;
                algorithms
                    .iter()
                    .find(|algorithm| is_it(algorithm))
                    .unwrap()
                    .id
            };
            let chosen = id_of(&five, &|of| Some(of.name) == choice.algorithm.as_deref());
            let follows = decision.algorithm.unwrap();
            assert_eq!(
                id_of(&six, &|of| of.function == follows),
                chosen,
                "{choice:?}"
            );
            n_decided += 1;
        }
        assert!(n_decided > 80, "{n_decided}");
    }
}
