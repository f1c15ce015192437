//! Which part of a run is analysed.
//!
//! Everything is matched first, so that a restriction never changes which calls belong together.
//! Operations, communicators and times restrict instances. Ranks restrict whose calls are counted
//! and shown; figures of a whole instance (duration, core, who arrived last) stay those of the
//! whole instance. A phase restricts instances to those that all their processes entered in a phase
//! of that level.

use std::collections::BTreeSet;

use collbench_formats::Operation;

use crate::calls::findings::MatchFindings;
use crate::communicators::Communicators;

/// A selection as given by the user; the default is everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Names of operations, with or without `MPI_`, in any case. Empty: all.
    pub operations: Vec<String>,
    /// Ids or names of communicators. Empty: all.
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

impl Selection {
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

fn seconds(ns: i64) -> String {
    format!("{}", ns as f64 / 1e9)
}
