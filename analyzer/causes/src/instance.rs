//! What is attributed: instances with their waits.

use std::sync::Arc;

/// Time that a process spent on something else than own work, besides its calls of the collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartOfProcess {
    /// Which process.
    pub process: u32,
    /// On what.
    pub part: Part,
    /// The span within which it did so, ns.
    pub span_ns: [i64; 2],
    /// How much of the span, ns.
    pub ns: i64,
}

/// What processes did.
#[derive(Debug, Default)]
pub struct Batch {
    /// In collectives.
    pub instances: Vec<Instance>,
    /// Before their next collectives; in order of time for each process.
    pub parts: Vec<PartOfProcess>,
}

/// A complete instance of a collective.
#[derive(Debug, Clone)]
pub struct Instance {
    /// Number of its communicator. Instances of one communicator have the same members.
    pub communicator: u32,
    /// Its position among the instances of that communicator: of two waits that end at one time, the one
    /// on the lower communicator, at the lower position, is attributed first.
    pub position: u64,
    /// What identifies its operation.
    pub operation: u64,
    /// The processes, by slot.
    pub members: Arc<[u32]>,
    /// Which of them depend on each other.
    pub dependence: Dependence,
    /// What each process did in it, by slot.
    pub calls: Vec<Call>,
    /// What else they did for it, between initiation and completion.
    pub parts: Vec<PartOfProcess>,
}

/// Which members of an instance depend on each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dependence {
    /// Each on all: when the last has entered, all are inside.
    All,
    /// Some on others; any two that were inside at once are compared from then on.
    Pairs,
    /// The root on the others, or they on the root.
    Root(u32),
    /// None on any other.
    Nobody,
}

/// The call of one process in an instance, or the two calls of a nonblocking one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// When it entered, ns.
    pub enter_ns: i64,
    /// End of the initiation, ns; of a blocking call any time inside of it, the same as
    /// `completion_ns`.
    pub initiated_ns: i64,
    /// Begin of the call that completed it, ns.
    pub completion_ns: i64,
    /// When it left, ns.
    pub leave_ns: i64,
    /// How many operations the completing call completed: its time is divided by this. At least 1.
    pub n_together: u32,
    /// Its wait; `None` if it did not wait, or if that is not known.
    pub wait: Option<Wait>,
}

/// A wait for another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// How long, ns, > 0; it begins with the completing call.
    pub ns: i64,
    /// Slot of the last process that it depended on.
    pub on: u32,
    /// Whether it is longer than the error of the clocks.
    pub is_resolved: bool,
    /// Whether it is part of the costs; otherwise it only explains later waits.
    pub is_counted: bool,
}

impl Call {
    /// A blocking call.
    #[must_use]
    pub fn blocking(enter_ns: i64, leave_ns: i64, wait: Option<Wait>) -> Self {
        Self {
            enter_ns,
            initiated_ns: enter_ns,
            completion_ns: enter_ns,
            leave_ns,
            n_together: 1,
            wait,
        }
    }
}

/// What a process does besides its own work, and besides waiting in collectives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Time in an operation, without waits.
    Operation(u64),
    /// Point-to-point communication, with the partner of the longest call where it is known.
    PointToPoint(Option<u32>),
    /// Input and output of files.
    Io,
    /// One-sided communication.
    Rma,
    /// The recorder.
    Recorder,
}
