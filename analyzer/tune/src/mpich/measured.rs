//! From what was measured to be the fastest to choices that can be written.

use std::collections::{BTreeMap, BTreeSet};

use super::version::Version;
use super::write::{Choice, WriteError, Written, write};

/// Choices for ranges of bytes from choices for numbers of bytes. A choice holds from its bytes on to
/// the next ones; fewer bytes, and communicators of which nothing was measured, are left to the
/// library. An algorithm that was chosen throughout holds for all calls.
#[must_use]
pub fn choices(measured: &[crate::choices::Choice]) -> Vec<Choice> {
    let mut by_collective: BTreeMap<String, BTreeMap<u32, BTreeMap<u64, Option<&str>>>> =
        BTreeMap::new();
    for choice in measured {
        let collective = choice
            .operation
            .name()
            .trim_start_matches("MPI_")
            .to_ascii_lowercase();
        let of_size = by_collective
            .entry(collective)
            .or_default()
            .entry(choice.n_processes)
            .or_default();
        of_size.insert(choice.bytes, choice.algorithm.as_deref());
    }
    let mut choices = Vec::new();
    for (collective, by_size) in &by_collective {
        let names: BTreeSet<Option<&str>> = by_size
            .values()
            .flat_map(BTreeMap::values)
            .copied()
            .collect();
        let mut choose = |n_processes, bytes, algorithm: &str| {
            choices.push(Choice {
                collective: collective.clone(),
                n_processes,
                bytes,
                algorithm: algorithm.to_owned(),
                parameters: Vec::new(),
            });
        };
        if let [Some(only)] = names.into_iter().collect::<Vec<_>>()[..] {
            choose(None, None, only);
            continue;
        }
        for (&n_processes, by_bytes) in by_size {
            let points: Vec<(u64, Option<&str>)> = by_bytes
                .iter()
                .map(|(bytes, name)| (*bytes, *name))
                .collect();
            let mut begins = 0;
            for same in points.chunk_by(|a, b| a.1 == b.1) {
                let next = points.get(begins + same.len());
                if let Some(algorithm) = same[0].1 {
                    let most = next.map_or(u64::MAX, |(bytes, _)| bytes - 1);
                    // Of an operation without bytes, or where one length was measured, the length is none.
                    let bytes = (points.len() > 1).then_some((same[0].0, most));
                    choose(Some(n_processes), bytes, algorithm);
                }
                begins += same.len();
            }
        }
    }
    choices
}

/// Writes what can be written of measured choices, and says what cannot.
///
/// # Errors
/// [`WriteError`] if the file to copy, `base`, is none.
pub fn write_measured(
    measured: &[crate::choices::Choice],
    version: &'static Version,
    base: &[u8],
) -> Result<(Written, Vec<String>), WriteError> {
    let choices = choices(measured);
    let (mut kept, mut left_out) = (Vec::new(), Vec::new());
    for of_collective in choices.chunk_by(|a, b| a.collective == b.collective) {
        match write(of_collective, version, base) {
            Ok(_) => kept.extend_from_slice(of_collective),
            Err(WriteError::Base(why)) => return Err(WriteError::Base(why)),
            Err(error) => left_out.push(format!("{}: {error}", of_collective[0].collective)),
        }
    }
    Ok((write(&kept, version, base)?, left_out))
}
