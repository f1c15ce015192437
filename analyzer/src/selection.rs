//! Which part of a run is analysed.
//!
//! Everything is matched first, so that a restriction never changes which calls belong together.
//! Operations, communicators and times restrict instances. Ranks restrict whose calls are counted
//! and shown; figures of a whole instance (duration, core, who arrived last) stay those of the
//! whole instance. A phase restricts instances to those that all their processes entered in a phase
//! of that level.

use std::collections::BTreeSet;

use collbench_formats::Operation;
use collbench_stats::random;
use serde::{Deserialize, Serialize};

use crate::calls::findings::MatchFindings;
use crate::communicators::Communicators;

/// A selection as given by the user; the default is everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Selection {
    /// Names of operations, with or without `MPI_`, in any case. Empty: all.
    pub operations: Vec<String>,
    /// Ids or names of communicators, or both as they are shown: `6`, `rows`, `rows #6`. Empty: all.
    pub communicators: Vec<String>,
    /// Ranges of world ranks, each `(first, last)`. Empty: all.
    pub ranks: Vec<(u32, u32)>,
    /// Instances in a phase of this level.
    pub phase: Option<i32>,
    /// Instances that begin at this time since the start of the run or later, ns.
    pub from_ns: Option<i64>,
    /// Instances that begin before this time since the start of the run, ns.
    pub to_ns: Option<i64>,
}

/// Why a selection does not fit a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// No such operation.
    #[error(
        "--operation {name}: no such collective operation; expected a name of the MPI standard, \
         such as MPI_Allreduce"
    )]
    Operation {
        /// What was asked for.
        name: String,
    },
    /// No such communicator in this trace.
    #[error("--communicator {name}: not in this trace; its communicators: {known}")]
    Communicator {
        /// What was asked for.
        name: String,
        /// Some that there are.
        known: String,
    },
    /// Ranks that the run does not have.
    #[error("--ranks {}: the run has ranks 0 to {greatest}", as_given(*first, *last))]
    Ranks {
        /// First of the range.
        first: u32,
        /// Last of the range.
        last: u32,
        /// Greatest rank of the run.
        greatest: u32,
    },
    /// No process marked such a phase.
    #[error("--phase {level}: not in this trace; its phases: {known}")]
    Phase {
        /// What was asked for.
        level: i32,
        /// Some that there are.
        known: String,
    },
    /// An empty span of time.
    #[error("--from {from_s} --to {to_s}: the end is not after the beginning")]
    Times {
        /// Seconds.
        from_s: String,
        /// Seconds.
        to_s: String,
    },
}

fn as_given(first: u32, last: u32) -> String {
    if first == last {
        first.to_string()
    } else {
        format!("{first}-{last}")
    }
}

/// Most characters of the name of a restriction.
const MAX_FILE_NAME: usize = 120;

impl Selection {
    /// A name for files on this part of a run: letters, digits and `_.+-`, at most some 140 of them; the same
    /// for the same part, and another one for another. `None` for the whole run.
    ///
    /// `MPI_Allreduce-ranks-0-3+7-from-1.5s` are calls of `MPI_Allreduce` by ranks 0 to 3 and 7 from 1.5 s on.
    /// A name that cannot stand in a file name as it is, or is too long, is cut and followed by its hash.
    #[must_use]
    pub fn file_name(&self) -> Option<String> {
        let mut parts = Vec::new();
        if !self.operations.is_empty() {
            let names = self.operations.iter().map(|name| match operation(name) {
                Ok(known) => known.name().to_owned(),
                Err(_) => plain(name),
            });
            parts.push(joined(names));
        }
        if !self.communicators.is_empty() {
            let names = self.communicators.iter().map(|name| plain(name));
            parts.push(format!("communicator-{}", joined(names)));
        }
        if !self.ranks.is_empty() {
            parts.push(format!("ranks-{}", self.ranks_as_given().join("+")));
        }
        parts.extend(self.phase.map(|level| format!("phase-{level}")));
        parts.extend(self.from_ns.map(|ns| format!("from-{}s", seconds(ns))));
        parts.extend(self.to_ns.map(|ns| format!("to-{}s", seconds(ns))));
        let name = parts.join("-");
        match name.len() {
            0 => None,
            1..=MAX_FILE_NAME => Some(name),
            _ => Some(with_hash(&name[..MAX_FILE_NAME], &name)),
        }
    }

    /// This selection with the names of operations as in the MPI standard and ranges of ranks in rising order;
    /// `None` if it selects the whole run.
    pub(crate) fn restriction(&self) -> Option<Self> {
        let names = self.operations.iter().map(|name| match operation(name) {
            Ok(known) => known.name().to_owned(),
            Err(_) => name.clone(),
        });
        let names: BTreeSet<String> = names.collect();
        (*self != Self::default()).then(|| Self {
            operations: names.into_iter().collect(),
            ranks: self.merged_ranks(),
            ..self.clone()
        })
    }

    /// The ranges of ranks in rising order, each as on the command line: `7`, `0-3`.
    #[must_use]
    pub fn ranks_as_given(&self) -> Vec<String> {
        let ranges = self.merged_ranks().into_iter();
        ranges.map(|(first, last)| as_given(first, last)).collect()
    }

    /// The ranges of ranks in rising order, those that touch as one.
    #[must_use]
    pub fn merged_ranks(&self) -> Vec<(u32, u32)> {
        let mut ranges = self.ranks.clone();
        ranges.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::new();
        for (first, last) in ranges {
            match merged.last_mut() {
                Some((_, before)) if first <= before.saturating_add(1) => {
                    *before = last.max(*before);
                }
                _ => merged.push((first, last)),
            }
        }
        merged
    }

    /// Whether the phase that is asked for was marked by any process.
    ///
    /// # Errors
    /// [`SelectionError::Phase`] if not.
    pub(crate) fn check_phase(&self, met: &MatchFindings) -> Result<(), SelectionError> {
        let Some(level) = self.phase else {
            return Ok(());
        };
        let marked = met.processes.iter().flat_map(|process| &process.phases);
        let levels: BTreeSet<i32> = marked.map(|phase| phase.level).collect();
        if levels.contains(&level) {
            return Ok(());
        }
        let mut known: Vec<String> = levels.iter().take(8).map(i32::to_string).collect();
        if levels.len() > known.len() {
            known.push("...".to_owned());
        }
        if known.is_empty() {
            known.push("none (the program never called MPI_Pcontrol)".to_owned());
        }
        Err(SelectionError::Phase {
            level,
            known: known.join(", "),
        })
    }
}

/// A selection, in the indexes of one run.
#[derive(Debug, Clone)]
pub struct Resolved {
    operations: Option<BTreeSet<Operation>>,
    entries: Option<BTreeSet<usize>>,
    ranks: Vec<(u32, u32)>,
    phase: Option<i32>,
    from_ns: i64,
    to_ns: i64,
}

impl Selection {
    /// Resolves the names in a run.
    ///
    /// # Errors
    /// [`SelectionError`] if one does not exist there.
    pub fn resolve(
        &self,
        communicators: &Communicators,
        world_size: u32,
    ) -> Result<Resolved, SelectionError> {
        let greatest = world_size.saturating_sub(1);
        if let Some(&(first, last)) = self
            .ranks
            .iter()
            .find(|(first, last)| first > last || *last > greatest)
        {
            return Err(SelectionError::Ranks {
                first,
                last,
                greatest,
            });
        }
        let from_ns = self.from_ns.unwrap_or(i64::MIN);
        let to_ns = self.to_ns.unwrap_or(i64::MAX);
        if from_ns >= to_ns {
            return Err(SelectionError::Times {
                from_s: seconds(from_ns),
                to_s: seconds(to_ns),
            });
        }
        let operations = self.operations.iter().map(|name| operation(name));
        let operations: BTreeSet<_> = operations.collect::<Result<_, _>>()?;
        let entries = self
            .communicators
            .iter()
            .map(|name| entries_of(communicators, name));
        let entries: Vec<Vec<usize>> = entries.collect::<Result<_, _>>()?;
        Ok(Resolved {
            operations: (!self.operations.is_empty()).then_some(operations),
            entries: (!self.communicators.is_empty())
                .then(|| entries.into_iter().flatten().collect()),
            ranks: self.ranks.clone(),
            phase: self.phase,
            from_ns,
            to_ns,
        })
    }
}

impl Resolved {
    /// Whether the calls of all ranks are counted.
    #[must_use]
    pub fn has_all_ranks(&self) -> bool {
        self.ranks.is_empty()
    }

    /// Whether an instance of this operation on this communicator (entry), begun at this time,
    /// is wanted.
    #[must_use]
    #[inline]
    pub fn has_instance(
        &self,
        operation: Operation,
        entry: Option<usize>,
        first_enter_ns: i64,
    ) -> bool {
        let is_in = |set: &Option<BTreeSet<usize>>| match (set, entry) {
            (None, _) => true,
            (Some(set), Some(entry)) => set.contains(&entry),
            (Some(_), None) => false,
        };
        self.operations
            .as_ref()
            .is_none_or(|operations| operations.contains(&operation))
            && is_in(&self.entries)
            && (self.from_ns..self.to_ns).contains(&first_enter_ns)
    }

    /// Whether an instance, all of whose calls were made in phases of this level, is wanted.
    #[must_use]
    #[inline]
    pub fn has_phase(&self, phase: Option<i32>) -> bool {
        self.phase.is_none() || self.phase == phase
    }

    /// Whether only calls of some ranks are wanted.
    #[must_use]
    pub fn selects_ranks(&self) -> bool {
        !self.ranks.is_empty()
    }

    /// Whether calls of this world rank are wanted.
    #[must_use]
    #[inline]
    pub fn has_rank(&self, rank: u32) -> bool {
        self.ranks.is_empty()
            || self
                .ranks
                .iter()
                .any(|&(first, last)| (first..=last).contains(&rank))
    }
}

fn operation(name: &str) -> Result<Operation, SelectionError> {
    let bare = |name: &str| {
        let lower = name.to_ascii_lowercase();
        lower.strip_prefix("mpi_").unwrap_or(&lower).to_owned()
    };
    Operation::ALL
        .iter()
        .copied()
        .find(|operation| operation.is_counted() && bare(operation.name()) == bare(name))
        .ok_or_else(|| SelectionError::Operation {
            name: name.to_owned(),
        })
}

fn entries_of(communicators: &Communicators, name: &str) -> Result<Vec<usize>, SelectionError> {
    let entries = &communicators.entries;
    if let Ok(id) = name.parse::<usize>()
        && id < entries.len()
    {
        return Ok(vec![id]);
    }
    let named: Vec<usize> = (0..entries.len())
        .filter(|&id| entries[id].name == name)
        .collect();
    if !named.is_empty() {
        return Ok(named);
    }
    if let Some(id) = shown_as(entries.len(), |id| &entries[id].name, name) {
        return Ok(vec![id]);
    }
    let named: Vec<usize> = (0..entries.len())
        .filter(|&id| of_each(&entries[id].name) == of_each(name))
        .collect();
    if !named.is_empty() {
        return Ok(named);
    }
    let mut known: Vec<String> = entries
        .iter()
        .enumerate()
        .take(8)
        .map(|(id, entry)| format!("{id} ({})", collbench_text::inert::line(&entry.name, 40)))
        .collect();
    if entries.len() > known.len() {
        known.push("...".to_owned());
    }
    Err(SelectionError::Communicator {
        name: name.to_owned(),
        known: known.join(", "),
    })
}

/// The communicator that the screen shows with its id: `rows #6`, `rows #6 (ranks 3-5)`, `#6`. A long name is cut there,
/// and one that has a short form is shown by that.
fn shown_as<'a>(n: usize, name_of: impl Fn(usize) -> &'a str, shown: &str) -> Option<usize> {
    let (name, number) = shown.rsplit_once('#')?;
    let id = number
        .split(" (")
        .next()?
        .parse()
        .ok()
        .filter(|&id| id < n)?;
    let mut parts = name.trim_end().split("...");
    parts.all(|part| name_of(id).contains(part)).then_some(id)
}

/// A name without how many communicators have it: of `rows (8)` and `rows (8 communicators)` it is `rows`.
fn of_each(name: &str) -> &str {
    let Some((bare, n)) = name.rsplit_once(" (") else {
        return name;
    };
    let n = n.strip_suffix(')').unwrap_or_default();
    let n = n.strip_suffix(" communicators").unwrap_or(n);
    if n.parse::<usize>().is_ok() {
        bare
    } else {
        name
    }
}

/// Each name once, in alphabetic order.
fn joined(names: impl Iterator<Item = String>) -> String {
    let names: BTreeSet<String> = names.collect();
    names.into_iter().collect::<Vec<_>>().join("+")
}

/// A name as it can stand in that of a file, between `-` and `+`.
fn plain(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    if !name.is_empty() && name.chars().all(is_plain) {
        return name.to_owned();
    }
    let kept = name.chars().map(|c| if is_plain(c) { c } else { '_' });
    with_hash(&kept.take(MAX_FILE_NAME / 2).collect::<String>(), name)
}

/// The beginning of a name, and what tells it from other names that begin so.
fn with_hash(beginning: &str, name: &str) -> String {
    let bytes: Vec<u64> = name.bytes().map(u64::from).collect();
    format!("{beginning}-{:016x}", random::hash(&bytes))
}

fn seconds(ns: i64) -> String {
    format!("{}", ns as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_restriction_has_a_name_that_is_read_and_does_not_depend_on_how_it_was_written() {
        let part = Selection {
            operations: vec!["bcast".into(), "mpi_allreduce".into()],
            ranks: vec![(7, 7), (0, 2), (2, 3)],
            from_ns: Some(1_190_000_000),
            to_ns: Some(1_200_000_000),
            ..Selection::default()
        };
        let name = "MPI_Allreduce+MPI_Bcast-ranks-0-3+7-from-1.19s-to-1.2s";
        assert_eq!(part.file_name().as_deref(), Some(name));
        let same = Selection {
            operations: vec!["MPI_Allreduce".into(), "MPI_Bcast".into(), "Bcast".into()],
            ranks: vec![(0, 3), (7, 7)],
            ..part
        };
        assert_eq!(same.file_name().as_deref(), Some(name));
        let communicator = Selection {
            communicators: vec!["4".into()],
            phase: Some(-1),
            ..Selection::default()
        };
        let name = "communicator-4-phase--1";
        assert_eq!(communicator.file_name().as_deref(), Some(name));
        assert_eq!(Selection::default().file_name(), None);
    }

    #[test]
    fn communicators_are_found_by_what_the_screen_calls_them() {
        let names = ["rows", "MPI_Comm_split 3 of MPI_COMM_WORLD", "rows"];
        let found = |shown| shown_as(names.len(), |id| names[id], shown);
        for shown in ["rows #2", "#2", "rows #2 (ranks 3-5)", "ro... #2"] {
            assert_eq!(found(shown), Some(2), "{shown}");
        }
        assert_eq!(found("split 3 #1"), Some(1));
        for other in ["rows", "rows #1", "rows #3", "rows #", "#", "rows #2x"] {
            assert_eq!(found(other), None, "{other}");
        }
        assert_eq!(of_each("rows (8)"), "rows");
        assert_eq!(of_each("rows (8 communicators)"), "rows");
        assert_eq!(of_each("rows (new)"), "rows (new)");
    }

    fn selections() -> impl Strategy<Value = Selection> {
        let names = || prop::collection::vec("[a+/.\u{e9}-]{0,3}|[a-b]{100,130}", 0..3);
        let ranks = prop::collection::vec((0..3u32, 3..5u32), 0..3);
        let level = prop::option::of(-1..2i32);
        let times = || prop::option::of(-2..2i64);
        (names(), names(), ranks, level, times(), times()).prop_map(
            |(operations, communicators, ranks, phase, from_ns, to_ns)| Selection {
                operations,
                communicators,
                ranks,
                phase,
                from_ns,
                to_ns,
            },
        )
    }

    proptest! {
        #[test]
        fn another_restriction_has_another_name_and_any_is_the_name_of_a_file(
            one in selections(), other in selections()
        ) {
            let set = |names: &[String]| names.iter().cloned().collect::<BTreeSet<String>>();
            let is_same = set(&one.operations) == set(&other.operations)
                && set(&one.communicators) == set(&other.communicators)
                && one.merged_ranks() == other.merged_ranks()
                && (one.phase, one.from_ns, one.to_ns) == (other.phase, other.from_ns, other.to_ns);
            prop_assert_eq!(one.file_name() == other.file_name(), is_same);
            let name = one.file_name().unwrap_or_default();
            prop_assert!(name.len() <= 160);
            let is_safe = |c: char| c.is_ascii_alphanumeric() || "_.+-".contains(c);
            prop_assert!(name.chars().all(is_safe), "{}", name);
        }
    }
}
