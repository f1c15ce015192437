//! Outcomes of matching, and the trait of what adds them up.

use collbench_causes::{Batch, Charged, Spare};
use collbench_clocks::timestamp::{Global, Timestamp};

use crate::calls::call::{Call, Candidate};
use crate::calls::gap::Gap;
use crate::calls::unqueued::Unqueued;
use crate::instances::complete::{CompleteInstance, Disagreement};

/// One outcome of matching.
#[derive(Debug)]
pub enum Outcome<'m> {
    /// A complete instance of one collective.
    Complete(CompleteInstance<'m>),
    /// Calls at one position that are not a complete instance, when no further calls can be added.
    Irregular {
        /// The calls.
        instance: Candidate<'m>,
        /// Why they are not one collective, if they are not.
        disagreement: Option<Disagreement>,
    },
    /// A call that is in no instance: its communicator is not known, or (for constructors over a
    /// group) the one that it was to make.
    Unmatched {
        /// Index of the process in the run.
        process: usize,
        /// Index in [`Communicators::list`](crate::communicators::Communicators::list) of the communicator called on.
        called_on: Option<usize>,
        /// The call.
        call: Call,
        /// Whether the MPI library made it internally.
        is_internal: bool,
    },
    /// The begin or end of MPI in a process.
    Process {
        /// Index of the process in the run.
        process: usize,
        /// The call.
        call: Call,
        /// Whether the process made no call of the application before.
        is_first: bool,
    },
    /// `MPI_Finalize` of all processes of the run, after everything else.
    Finalize {
        /// From when on each process of the run was in it, but in no call of a callback any more, and when it left it.
        spans: &'m [[Timestamp<Global>; 2]],
    },
    /// What a thread did between two calls, where it did more than its own work. Those of a thread
    /// come in order of time, each before the instance of the call that ends it.
    Gap {
        /// Index of the process in the run.
        process: usize,
        /// What it did.
        gap: Gap,
    },
}

/// What a worker uses to add up the outcomes that it gets.
pub trait Adder: Send {
    /// The sums. They must not depend on the order of instances, nor on how these are distributed
    /// among workers.
    type Sums: Merge;
    /// What is passed on instance by instance besides, with the causes of waits.
    type Rows: Send;
    /// Adds what was matched.
    fn take(&mut self, matched: Outcome<'_>);
    /// Hands over, once, what is needed to attribute waits to their causes; takes buffers for what is handed over
    /// next.
    fn hand_over(&mut self, _spare: Spare) -> Batch {
        Batch::default()
    }
    /// Gives back the buffers that it had no use for.
    fn give_back_spare(&mut self) -> Spare {
        Spare::default()
    }
    /// Hands over, once, what is passed on instance by instance.
    fn hand_over_rows(&mut self) -> Self::Rows;
    /// The sums of all that was taken.
    fn finish(self) -> Self::Sums;
}

/// What takes what is passed on instance by instance.
pub(crate) trait TakeRows<R>: Send {
    /// Takes what workers handed over, and the waits that were attributed meanwhile. Nothing that is still to be handed over
    /// began before a time, ns, and all waits that ended before it are attributed. Gives whether more is wanted.
    fn take(&mut self, rows: Vec<R>, charged: Vec<Charged>, until_ns: i64) -> bool;
}

/// Sums of parts that can be merged in any order and any grouping.
pub trait Merge: Send {
    /// Adds the sums of another part.
    fn merge(&mut self, other: Self);
}

impl From<Unqueued> for Outcome<'_> {
    fn from(unqueued: Unqueued) -> Self {
        match unqueued {
            Unqueued::Unmatched {
                process,
                called_on,
                call,
                is_internal,
            } => Self::Unmatched {
                process,
                called_on,
                call,
                is_internal,
            },
            Unqueued::Process {
                process,
                call,
                is_first,
            } => Self::Process {
                process,
                call,
                is_first,
            },
            Unqueued::Gap { process, gap } => Self::Gap { process, gap },
        }
    }
}
