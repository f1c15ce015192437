//! What differs between versions of the library: the types of their tables.

use std::fmt;

use collbench_formats::Operation;

/// A version of Open MPI, as a trace or a user names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// First number.
    pub major: u32,
    /// Second number.
    pub minor: u32,
    /// Third number.
    pub release: u32,
}

impl Version {
    /// Finds it in a text such as `Open MPI v4.1.4, package: ..` or `Open MPI 5.0.11`; a missing third
    /// number is 0.
    #[must_use]
    pub fn find(text: &str) -> Option<Self> {
        let after = text.trim().strip_prefix("Open MPI")?.trim_start();
        let after = after.strip_prefix('v').unwrap_or(after);
        let end = after
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(after.len());
        let mut numbers = after[..end].split('.').map(str::parse);
        let major = numbers.next()?.ok()?;
        let minor = numbers.next()?.ok()?;
        let release = numbers.next().map_or(Some(0), Result::ok)?;
        Some(Self {
            major,
            minor,
            release,
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            major,
            minor,
            release,
        } = self;
        write!(f, "Open MPI {major}.{minor}.{release}")
    }
}

/// What the releases of a version have in common.
#[derive(Debug)]
pub struct VersionTable {
    /// Numbers of operations in a file are below this one.
    pub n_collectives: i64,
    /// The first release whose reader knows the line `rule-file-version-2`.
    pub version_line_since: u32,
    /// Whether `coll_tuned_OPERATION_algorithm` goes before the file.
    pub forced_goes_first: bool,
    /// Priority of `coll_han`, which goes before `coll_tuned` if it is the larger one.
    pub han_priority: i32,
    /// Priority of `coll_tuned`.
    pub tuned_priority: i32,
    /// The operations that have rules.
    pub operations: &'static [&'static OperationTable],
}

/// An operation that has rules.
#[derive(Debug)]
pub struct OperationTable {
    /// Its number in a file.
    pub id: i64,
    /// Its name in parameters, such as `reduce_scatter`.
    pub name: &'static str,
    /// The operation of the standard.
    pub operation: Operation,
    /// The size that is compared with those of the file.
    pub size: CountedSize,
    /// Whether calls without data return before anything is decided.
    pub returns_without_data: bool,
    /// Its algorithms, by number, from 1.
    pub algorithms: &'static [Algorithm],
    /// The algorithm without a rule, where the dynamic decision has no other one to ask.
    pub otherwise: Option<&'static str>,
}

/// Numbers of operations in a file, with and without rules.
pub(super) const NAMES_BY_ID: [&str; 22] = [
    "allgather",
    "allgatherv",
    "allreduce",
    "alltoall",
    "alltoallv",
    "alltoallw",
    "barrier",
    "bcast",
    "exscan",
    "gather",
    "gatherv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_block",
    "scan",
    "scatter",
    "scatterv",
    "neighbor_allgather",
    "neighbor_allgatherv",
    "neighbor_alltoall",
    "neighbor_alltoallv",
    "neighbor_alltoallw",
];

/// The number of the operation of a name: `mca_coll_base_name_to_colltype`, to which what follows the `v` or
/// `w` of a name does not matter, but for `scatterv`.
pub(super) fn id_of_name(name: &[u8]) -> Option<u32> {
    let mut names = NAMES_BY_ID.iter();
    let fits = |of: &str| {
        let is_open = of.ends_with(['v', 'w']) && of != "scatterv";
        name == of.as_bytes() || is_open && name.starts_with(of.as_bytes())
    };
    let id = names.position(|of| fits(of))?;
    u32::try_from(id).ok()
}

/// Whether files have a number for an operation, or for the blocking form of it.
#[must_use]
pub fn has_number(operation: Operation) -> bool {
    let name = operation.blocking().name().trim_start_matches("MPI_");
    let mut names = NAMES_BY_ID.iter();
    names.any(|of| of.eq_ignore_ascii_case(name))
}

/// The size that a file's sizes are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountedSize {
    /// Bytes of one process.
    OneProcess,
    /// Bytes of one process times the processes of the communicator.
    AllProcesses,
    /// Size of one element times the processes of the communicator; the count is not used.
    OneElement,
    /// Always 0.
    Nothing,
}

impl CountedSize {
    /// The size of the file for `bytes` of one process.
    #[must_use]
    pub fn of(self, bytes: u64, n_processes: u32, element: u64) -> u64 {
        let n = u64::from(n_processes);
        match self {
            Self::OneProcess => bytes,
            Self::AllProcesses => bytes.saturating_mul(n),
            Self::OneElement => element.saturating_mul(n),
            Self::Nothing => 0,
        }
    }
}

impl fmt::Display for CountedSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OneProcess => "bytes of one process",
            Self::AllProcesses => "bytes of one process x processes",
            Self::OneElement => "size of one element x processes",
            Self::Nothing => "not used (always 0)",
        })
    }
}

/// An algorithm of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Algorithm {
    /// Its number in a file.
    pub id: i64,
    /// Its name in parameters, such as `recursive_doubling`.
    pub name: &'static str,
    /// The function of the library, without `ompi_coll_base_`.
    pub function: &'static str,
    /// What it cannot do, and what the library does then.
    pub limit: Limit,
    /// Operations that it is composed of, which are decided by their own rules.
    pub parts: &'static [Part],
    /// Whether it uses the fan-out of a rule.
    pub uses_fan_out: bool,
    /// Below this fan-out its calls never return.
    pub least_fan_out: i64,
    /// Whether it uses the segment size of a rule.
    pub uses_segment: bool,
    /// Whether it uses the fifth number of a rule, the most requests at a time.
    pub uses_requests: bool,
}

/// An operation inside another, with the bytes that it moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// With the bytes of one process.
    Same(Operation),
    /// With the bytes of all processes together.
    All(Operation),
}

/// For which calls an algorithm is not possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// It does all.
    None,
    /// Two processes only: others get an error.
    TwoProcesses,
    /// Numbers of processes that are powers of two; the other algorithm for others.
    PowerOfTwo(&'static str),
    /// Even numbers of processes; the other algorithm for odd ones.
    Even(&'static str),
    /// At least as many elements as processes; the other algorithm for fewer.
    ElementForEach(&'static str),
    /// At least as many elements as the largest power of two of processes; the other algorithm for
    /// fewer.
    ElementForPowerOfTwo(&'static str),
    /// At least one segment for each process; the other algorithm for fewer.
    SegmentForEach(&'static str),
    /// Halves of at least one segment and one element; the other algorithm for less.
    TwoHalves(&'static str),
}
