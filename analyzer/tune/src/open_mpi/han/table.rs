//! What `coll_han` has names and numbers for.

use collbench_formats::Operation;

use super::super::version::id_of_name;

/// A topological level: which communicators rules are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Those of the processes of one host, which `coll_han` makes.
    IntraNode,
    /// Those of one process of each host, which `coll_han` makes.
    InterNode,
    /// Those of the program.
    Global,
}

impl Level {
    /// All, by number.
    pub const ALL: [Self; 3] = [Self::IntraNode, Self::InterNode, Self::Global];

    /// Its name in a file, from 5.0 on.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::IntraNode => "intra_node",
            Self::InterNode => "inter_node",
            Self::Global => "global_communicator",
        }
    }
}

/// A component that a rule can name: `ompi_coll_han_available_components`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Component {
    /// For communicators of one process.
    SelfOnly,
    /// Simple algorithms.
    Basic,
    /// Nonblocking operations only.
    Libnbc,
    /// The one that follows `coll_han` by priority.
    Tuned,
    /// Shared memory; priority 0.
    Sm,
    /// Event-driven trees; priority 0.
    Adapt,
    /// `coll_han` itself.
    Han,
}

impl Component {
    /// All, by number.
    pub const ALL: [Self; 7] = [
        Self::SelfOnly,
        Self::Basic,
        Self::Libnbc,
        Self::Tuned,
        Self::Sm,
        Self::Adapt,
        Self::Han,
    ];

    /// Its name in a file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::SelfOnly => "self",
            Self::Basic => "basic",
            Self::Libnbc => "libnbc",
            Self::Tuned => "tuned",
            Self::Sm => "sm",
            Self::Adapt => "adapt",
            Self::Han => "han",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn find(name: &[u8]) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|component| component.name().as_bytes() == name)
    }
}

/// A call that an algorithm of `coll_han` makes on a communicator whose rules it looks up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Where.
    pub level: Level,
    /// What.
    pub operation: Operation,
    /// Its size, from the bytes of one process.
    pub size: StepSize,
}

/// The size of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepSize {
    /// Nothing is moved.
    Nothing,
    /// The bytes of one process.
    OneProcess,
    /// Times the processes of a host.
    OneHost,
    /// Times all processes.
    All,
}

/// An operation that rules can be for.
#[derive(Debug)]
pub struct HanOperationTable {
    /// Its number in a file.
    pub id: u32,
    /// Its name in a file.
    pub name: &'static str,
    /// The operation of the standard.
    pub operation: Operation,
    /// Algorithms from 1 on: `mca_coll_han_available_algorithms`.
    pub algorithms: &'static [HanAlgorithm],
    /// The one that 0 stands for from 5.0 on.
    pub default: usize,
    /// Whether `coll_han` also does it where hosts have different numbers of processes.
    pub copes_with_imbalance: bool,
}

/// An algorithm of `coll_han`.
#[derive(Debug)]
pub struct HanAlgorithm {
    /// Its name.
    pub name: &'static str,
    /// The steps for which it looks rules up; empty for one that looks up none.
    pub steps: &'static [Step],
}

const fn plain(name: &'static str) -> HanAlgorithm {
    HanAlgorithm { name, steps: &[] }
}

const fn step(level: Level, operation: Operation, size: StepSize) -> Step {
    Step {
        level,
        operation,
        size,
    }
}

const ALLGATHER_STEPS: &[Step] = &[
    step(Level::IntraNode, Operation::Gather, StepSize::OneProcess),
    step(Level::InterNode, Operation::Allgather, StepSize::OneHost),
    step(Level::IntraNode, Operation::Bcast, StepSize::All),
];

/// The operations of `coll_han` on communicators of the program: `mca_coll_han_comm_query`. The steps are
/// those of algorithms that call `mca_coll_han_comm_create_new`; those that call `mca_coll_han_comm_create`
/// use communicators without `coll_han`, for which nobody looks rules up.
pub(super) const OPERATIONS: &[HanOperationTable] = &[
    HanOperationTable {
        id: 0,
        name: "allgather",
        operation: Operation::Allgather,
        algorithms: &[
            HanAlgorithm {
                name: "intra",
                steps: ALLGATHER_STEPS,
            },
            HanAlgorithm {
                name: "simple",
                steps: ALLGATHER_STEPS,
            },
        ],
        default: 1,
        copes_with_imbalance: false,
    },
    HanOperationTable {
        id: 2,
        name: "allreduce",
        operation: Operation::Allreduce,
        algorithms: &[
            plain("intra"),
            HanAlgorithm {
                name: "simple",
                steps: &[
                    step(Level::IntraNode, Operation::Reduce, StepSize::OneProcess),
                    step(Level::InterNode, Operation::Allreduce, StepSize::OneProcess),
                    step(Level::IntraNode, Operation::Bcast, StepSize::OneProcess),
                ],
            },
            plain("reproducible"),
        ],
        default: 1,
        copes_with_imbalance: true,
    },
    HanOperationTable {
        id: 6,
        name: "barrier",
        operation: Operation::Barrier,
        algorithms: &[HanAlgorithm {
            name: "simple",
            steps: &[
                step(Level::IntraNode, Operation::Barrier, StepSize::Nothing),
                step(Level::InterNode, Operation::Barrier, StepSize::Nothing),
            ],
        }],
        default: 1,
        copes_with_imbalance: true,
    },
    HanOperationTable {
        id: 7,
        name: "bcast",
        operation: Operation::Bcast,
        algorithms: &[
            plain("intra"),
            HanAlgorithm {
                name: "simple",
                steps: &[
                    step(Level::InterNode, Operation::Bcast, StepSize::OneProcess),
                    step(Level::IntraNode, Operation::Bcast, StepSize::OneProcess),
                ],
            },
        ],
        default: 1,
        copes_with_imbalance: false,
    },
    HanOperationTable {
        id: 9,
        name: "gather",
        operation: Operation::Gather,
        algorithms: &[
            plain("intra"),
            HanAlgorithm {
                name: "simple",
                steps: &[
                    step(Level::IntraNode, Operation::Gather, StepSize::OneProcess),
                    step(Level::InterNode, Operation::Gather, StepSize::OneHost),
                ],
            },
        ],
        default: 2,
        copes_with_imbalance: false,
    },
    HanOperationTable {
        id: 11,
        name: "reduce",
        operation: Operation::Reduce,
        algorithms: &[plain("intra"), plain("simple"), plain("reproducible")],
        default: 1,
        copes_with_imbalance: false,
    },
    HanOperationTable {
        id: 15,
        name: "scatter",
        operation: Operation::Scatter,
        algorithms: &[
            plain("intra"),
            HanAlgorithm {
                name: "simple",
                steps: &[
                    step(Level::InterNode, Operation::Scatter, StepSize::OneHost),
                    step(Level::IntraNode, Operation::Scatter, StepSize::OneProcess),
                ],
            },
        ],
        default: 1,
        copes_with_imbalance: false,
    },
];

/// The table of an operation; `None` for one that `coll_han` does not have.
#[must_use]
pub(super) fn operation(operation: Operation) -> Option<&'static HanOperationTable> {
    OPERATIONS.iter().find(|table| table.operation == operation)
}

/// The number of a word for an operation: its name, or else the number itself.
#[must_use]
pub(super) fn operation_id(word: &[u8]) -> Option<u32> {
    id_of_name(word).or_else(|| {
        let id = u32::try_from(number(word)?).ok()?;
        (id < N_OPERATIONS).then_some(id)
    })
}

/// Numbers of operations are below this one.
pub(super) const N_OPERATIONS: u32 = 22;

/// The name of an operation by its number.
#[must_use]
pub(super) fn operation_name(id: u32) -> String {
    let known = OPERATIONS.iter().find(|table| table.id == id);
    known.map_or_else(|| format!("operation {id}"), |table| table.name.to_owned())
}

/// A whole word that is a decimal number.
#[must_use]
pub(super) fn number(word: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(word).ok()?;
    text.parse().ok()
}
