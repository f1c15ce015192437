//! What one version of MPICH knows: its collectives' algorithms, and how it reads keys.

/// How one version reads selection files and chooses algorithms.
#[derive(Debug)]
pub struct Version {
    /// Versions that read and choose like this, as `4.0`.
    pub(super) number: &'static str,
    /// The first version that reads like this, and the last one that it was tested with.
    pub(super) tested: Option<&'static str>,
    /// Algorithms that other versions have, too, and those of this one.
    pub(super) algorithms: [&'static [Algorithms]; 2],
    /// Keys of algorithms that are spelled otherwise than the algorithm.
    pub(super) other_spellings: &'static [(&'static str, &'static str)],
    /// Algorithms that have no key.
    pub(super) without_key: &'static [&'static str],
    /// Algorithms with a key that the collective does not know when it is to run them.
    pub(super) unknown_when_run: &'static [&'static str],
    /// Those that other versions have, too, and those of this one.
    pub(super) compositions: [&'static [&'static str]; 2],
    /// Algorithms of files for shared memory.
    pub(super) in_shared_memory: &'static [&'static str],
    /// `any`, and whatever ends in `=any`, matches all; otherwise only with some names before it.
    pub(super) any_of_anything: bool,
    /// `comm_avg_ppn<` exists.
    pub(super) per_node_below: bool,
    /// `comm_hierarchy` only tells communicators with a hierarchy from others.
    pub(super) hierarchy_or_none: bool,
    /// Types of trees are named; otherwise they are numbers.
    pub(super) names_of_trees: bool,
}

impl Version {
    /// Versions that read and choose like this, as `4.0`.
    #[must_use]
    pub fn number(&self) -> &'static str {
        self.number
    }

    /// The version that this model was compared with, by running it; `None` for a model made from
    /// the sources alone.
    #[must_use]
    pub fn tested(&self) -> Option<&'static str> {
        self.tested
    }

    /// The algorithm that a file calls `name`, such as `MPIR_Bcast_intra_binomial`.
    pub(super) fn algorithm(&self, name: &str) -> Option<Algorithm> {
        let spelled = self.other_spellings.iter().find(|(key, _)| *key == name);
        let name = spelled.map_or(name, |(_, algorithm)| algorithm);
        if self.without_key.contains(&name) {
            return None;
        }
        self.every_algorithm()
            .find(|algorithm| algorithm.name() == name)
    }

    /// The algorithm that a setting of `collective` calls `value`, on intra- or intercommunicators.
    pub(super) fn by_setting(
        &self,
        collective: &str,
        intra: bool,
        value: &str,
    ) -> Option<Algorithm> {
        let on = if intra { "intra" } else { "inter" };
        self.every_algorithm().find(|algorithm| {
            let fits = algorithm.on == on || algorithm.on == "allcomm";
            algorithm.collective == collective && fits && algorithm.entry.name == value
        })
    }

    /// Whether there is a function, such as `MPIR_Bcast_intra_binomial`, that does a call with a predefined operation, as many
    /// elements for all, and not in place.
    pub(crate) fn does(&self, function: &str, n_processes: usize, elements: u64) -> bool {
        let mut algorithms = self.every_algorithm().filter(|of| of.name() == function);
        let holds = |restriction: &Restriction| match restriction {
            Restriction::PowerOfTwo => n_processes.is_power_of_two(),
            Restriction::CountAtLeastPowerOfTwo => elements >= 1 << n_processes.ilog2(),
            Restriction::InPlace => false,
            _ => true,
        };
        algorithms.any(|of| of.entry.restrictions.iter().all(holds))
    }

    /// All algorithms, those that have no key included.
    pub(super) fn every_algorithm(&self) -> impl Iterator<Item = Algorithm> {
        let listed = self.algorithms.into_iter().flatten().flat_map(|list| {
            list.list.iter().map(|entry| Algorithm {
                collective: list.collective,
                on: list.on,
                entry,
            })
        });
        // Every blocking collective can also run as the nonblocking one and a wait.
        let blocking = BLOCKING.iter().map(|collective| Algorithm {
            collective,
            on: "allcomm",
            entry: &NB,
        });
        listed.chain(blocking)
    }
}

/// The blocking collectives, as files call them.
pub(super) static BLOCKING: [&str; 22] = [
    "barrier",
    "bcast",
    "gather",
    "gatherv",
    "scatter",
    "scatterv",
    "allgather",
    "allgatherv",
    "alltoall",
    "alltoallv",
    "alltoallw",
    "reduce",
    "allreduce",
    "reduce_scatter",
    "reduce_scatter_block",
    "scan",
    "exscan",
    "neighbor_allgather",
    "neighbor_allgatherv",
    "neighbor_alltoall",
    "neighbor_alltoallv",
    "neighbor_alltoallw",
];

static NB: Entry = plain("nb");

/// Algorithms of one collective on one kind of communicators.
#[derive(Debug)]
pub(super) struct Algorithms {
    /// As files call it.
    pub(super) collective: &'static str,
    /// `intra`, `inter`, or `allcomm` for both.
    pub(super) on: &'static str,
    pub(super) list: &'static [Entry],
}

/// On intracommunicators.
pub(super) const fn intra(collective: &'static str, list: &'static [Entry]) -> Algorithms {
    Algorithms {
        collective,
        on: "intra",
        list,
    }
}

/// On intercommunicators.
pub(super) const fn inter(collective: &'static str, list: &'static [Entry]) -> Algorithms {
    Algorithms {
        on: "inter",
        ..intra(collective, list)
    }
}

/// On both.
pub(super) const fn allcomm(collective: &'static str, list: &'static [Entry]) -> Algorithms {
    Algorithms {
        on: "allcomm",
        ..intra(collective, list)
    }
}

/// What the table says of an algorithm.
#[derive(Debug)]
pub(super) struct Entry {
    /// As settings call it.
    pub(super) name: &'static str,
    /// All of these must hold; settings are checked for it, files are not.
    pub(super) restrictions: &'static [Restriction],
    /// These must hold as well, for which not even settings are checked.
    pub(super) needs: &'static [Restriction],
    /// Parameters that files give it.
    pub(super) reads: &'static [&'static str],
    /// Parameters that it has and that no file can give: it takes what its memory held before.
    pub(super) lacks: &'static [&'static str],
}

/// What a call must be for an algorithm to do it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Restriction {
    ParentComm,
    PowerOfTwo,
    InPlace,
    NotInPlace,
    Commutative,
    BuiltIn,
    NodeConsecutive,
    OrderedDisplacements,
    CountAtLeastPowerOfTwo,
    Regular,
    SeveralProcesses,
}

/// What becomes of a call that an algorithm does although it does not keep a restriction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Violation {
    /// The algorithm asserts it: the program ends.
    Ends,
    /// The algorithm does not look: its result is wrong, or it never ends.
    Undefined,
    /// The algorithm does it all the same.
    Harmless,
}

impl Restriction {
    /// What it asks for.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::ParentComm => "a communicator with several processes on a host",
            Self::PowerOfTwo => "a power of two of processes",
            Self::InPlace => "MPI_IN_PLACE",
            Self::NotInPlace => "a send buffer that is not MPI_IN_PLACE",
            Self::Commutative => "a commutative operation",
            Self::BuiltIn => "a predefined operation",
            Self::NodeConsecutive => "consecutive ranks on every host",
            Self::OrderedDisplacements => "displacements in the order of ranks",
            Self::Regular => "the same count for all processes",
            Self::SeveralProcesses => "more than one process",
            Self::CountAtLeastPowerOfTwo => {
                "as many elements as the largest power of two of processes"
            }
        }
    }
}

pub(super) const fn plain(name: &'static str) -> Entry {
    Entry {
        name,
        restrictions: &[],
        needs: &[],
        reads: &[],
        lacks: &[],
    }
}

pub(super) const fn only(name: &'static str, restrictions: &'static [Restriction]) -> Entry {
    Entry {
        restrictions,
        ..plain(name)
    }
}

impl Entry {
    pub(super) const fn reads(self, reads: &'static [&'static str]) -> Self {
        Self { reads, ..self }
    }

    pub(super) const fn needs(self, needs: &'static [Restriction]) -> Self {
        Self { needs, ..self }
    }

    pub(super) const fn lacks(self, lacks: &'static [&'static str]) -> Self {
        Self { lacks, ..self }
    }
}

/// An algorithm of a version.
#[derive(Debug, Clone, Copy)]
pub(super) struct Algorithm {
    pub(super) collective: &'static str,
    pub(super) on: &'static str,
    pub(super) entry: &'static Entry,
}

impl Algorithm {
    /// As files call it.
    pub(super) fn name(self) -> String {
        format!(
            "MPIR_{}_{}_{}",
            capitalized(self.collective),
            self.on,
            self.entry.name
        )
    }
}

impl Algorithm {
    /// What becomes of calls that do not keep `restriction`, by the assertions of the algorithms in
    /// `src/mpi/coll/*/*_intra_*.c`.
    pub(super) fn violation(self, restriction: Restriction) -> Violation {
        match (self.collective, self.entry.name, restriction) {
            // It takes another algorithm itself, or keeps the order of ranks.
            ("iscan", "sched_smp", _) | ("scan", "smp", Restriction::Commutative) => {
                Violation::Harmless
            }
            ("allreduce" | "scan", "smp", _)
            | ("reduce", "smp", Restriction::ParentComm)
            | ("ireduce" | "iallreduce", "sched_smp", Restriction::Commutative)
            | ("alltoall", "pairwise_sendrecv_replace", _) => Violation::Undefined,
            (_, _, Restriction::SeveralProcesses) => Violation::Ends,
            (_, name, _) if name.starts_with("tsp_") => Violation::Undefined,
            _ => Violation::Ends,
        }
    }
}

/// `Allreduce` of `allreduce`.
pub(super) fn capitalized(collective: &str) -> String {
    let mut name = collective.to_owned();
    name[..1].make_ascii_uppercase();
    name
}
