//! Choices of algorithms, from measurements.

use std::collections::BTreeMap;

use collbench_formats::Operation;
use serde::Deserialize;

/// Which algorithm is to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// For this operation.
    pub operation: Operation,
    /// On communicators of so many processes.
    pub n_processes: u32,
    /// With so many bytes of one process.
    pub bytes: u64,
    /// Its name, as the library gives it; `None`: the library chooses.
    pub algorithm: Option<String>,
}

/// A choice, for tests.
#[cfg(test)]
pub(crate) fn choice(
    operation: Operation,
    n_processes: u32,
    bytes: u64,
    algorithm: Option<&str>,
) -> Choice {
    Choice {
        operation,
        n_processes,
        bytes,
        algorithm: algorithm.map(str::to_owned),
    }
}

/// Why choices cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChoicesError {
    /// It is not JSON, or not as expected.
    #[error(
        "no choices: {0}; expected collective.json of collbench-bench collective --algorithms, best merged from several launches"
    )]
    Other(String),
    /// There is nothing to choose.
    #[error("nothing was chosen; measure with collbench-bench collective --algorithms")]
    Nothing,
}

#[derive(Deserialize)]
struct Measured {
    schema: String,
    #[serde(default)]
    selection: Vec<Selected>,
}

#[derive(Deserialize)]
struct Selected {
    operation: String,
    bytes: Option<u64>,
    processes: u32,
    arrivals: Option<String>,
    candidates: Vec<Candidate>,
    fastest: Option<usize>,
    not_distinguishable: Vec<usize>,
}

#[derive(Deserialize)]
struct Candidate {
    algorithm: Option<String>,
}

/// The choices of a document `collbench.bench.collective/1`, by operation, processes and bytes: the
/// fastest algorithm, or the library's own choice where that cannot be distinguished from it.
/// Measurements of arrival patterns are left out; of several with the same operation, processes and
/// bytes the first one is taken.
///
/// # Errors
/// [`ChoicesError`] if it is no such document, or has no choices.
pub fn choices_of(text: &[u8]) -> Result<Vec<Choice>, ChoicesError> {
    let measured: Measured =
        serde_json::from_slice(text).map_err(|error| ChoicesError::Other(error.to_string()))?;
    if measured.schema != "collbench.bench.collective/1" {
        let schema: String = measured.schema.chars().take(60).collect();
        return Err(ChoicesError::Other(format!("a document \"{schema}\"")));
    }
    let mut choices: BTreeMap<_, Choice> = BTreeMap::new();
    for selected in &measured.selection {
        let Some(operation) = Operation::from_name(&selected.operation) else {
            continue;
        };
        if selected.arrivals.is_some() {
            continue;
        }
        let Some(algorithm) = selected.chosen() else {
            continue;
        };
        let bytes = selected.bytes.unwrap_or(0);
        let key = (operation.name(), selected.processes, bytes);
        choices.entry(key).or_insert_with(|| Choice {
            operation,
            n_processes: selected.processes,
            bytes,
            algorithm: algorithm.map(str::to_owned),
        });
    }
    if choices.is_empty() {
        return Err(ChoicesError::Nothing);
    }
    Ok(choices.into_values().collect())
}

/// The bytes of one process for which a choice holds: the first and the last number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Held<'c> {
    pub(crate) choice: &'c Choice,
    pub(crate) bytes: (u64, u64),
}

/// Choices by operation, number of processes and bytes. Each holds from its bytes on to the next one of
/// its operation and number of processes; the first one from 0 on.
pub(crate) fn held(choices: &[Choice]) -> Vec<Held<'_>> {
    let mut sorted: Vec<&Choice> = choices.iter().collect();
    let place = |choice: &Choice| (choice.operation.name(), choice.n_processes);
    sorted.sort_by_key(|choice| (place(choice), choice.bytes));
    sorted.dedup_by_key(|choice| (place(choice), choice.bytes));
    let mut all: Vec<Held<'_>> = Vec::new();
    for choice in sorted {
        let mut first = 0;
        if let Some(before) = all.last_mut()
            && place(before.choice) == place(choice)
        {
            if before.choice.algorithm == choice.algorithm {
                continue;
            }
            before.bytes.1 = choice.bytes - 1;
            first = choice.bytes;
        }
        all.push(Held {
            choice,
            bytes: (first, u64::MAX),
        });
    }
    all
}

impl Selected {
    /// `None` if no time is known, `Some(None)` for the library's own choice.
    fn chosen(&self) -> Option<Option<&str>> {
        let mut alike = self
            .not_distinguishable
            .iter()
            .filter_map(|&idx| self.candidates.get(idx));
        if let Some(fastest) = self.fastest.and_then(|idx| self.candidates.get(idx)) {
            return Some(fastest.algorithm.as_deref());
        }
        if alike.clone().any(|one| one.algorithm.is_none()) {
            return Some(None);
        }
        Some(alike.next()?.algorithm.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(selection: &str) -> Result<Vec<Choice>, ChoicesError> {
        let text = format!(
            "{{\"schema\": \"collbench.bench.collective/1\", \"selection\": [{selection}]}}"
        );
        choices_of(text.as_bytes())
    }

    fn selected(bytes: u64, fastest: &str, alike: &str) -> String {
        format!(
            "{{\"operation\": \"MPI_Bcast\", \"bytes\": {bytes}, \"processes\": 4, \"arrivals\": null, \
             \"candidates\": [{{\"algorithm\": null}}, {{\"algorithm\": \"chain\"}}, \
             {{\"algorithm\": \"binomial\"}}], \"fastest\": {fastest}, \"not_distinguishable\": {alike}}}"
        )
    }

    #[test]
    fn the_fastest_is_chosen_and_the_library_where_it_is_as_fast() {
        let all = [
            selected(1, "2", "[2]"),
            selected(2, "null", "[1, 0]"),
            selected(3, "null", "[2, 1]"),
            selected(4, "null", "[]"),
        ];
        let choices = read(&all.join(",")).unwrap();
        let chosen: Vec<_> = choices
            .iter()
            .map(|choice| (choice.bytes, choice.algorithm.as_deref()))
            .collect();
        assert_eq!(
            chosen,
            [(1, Some("binomial")), (2, None), (3, Some("binomial"))]
        );
    }

    #[test]
    fn what_are_no_choices_is_told() {
        assert_eq!(read(""), Err(ChoicesError::Nothing));
        let other = choices_of(b"{\"schema\": \"collbench.tree/1\"}");
        assert_eq!(
            other,
            Err(ChoicesError::Other(
                "a document \"collbench.tree/1\"".to_owned()
            ))
        );
        assert!(matches!(choices_of(b"1 2 3"), Err(ChoicesError::Other(_))));
    }
}
