//! Why ranks were waited for: the time that processes waited in collectives, attributed to what
//! caused it. This crate knows neither traces nor MPI; times are ns on one clock.
//!
//! A wait of process j in an instance is caused by l, the last process that j depends on. Both are
//! compared since T0, the last instant at which both were inside of one earlier instance in which
//! they depended on each other. What each did between T0 and its enter consists of [parts](Part):
//! own work, and time in calls by operation, and waits. The differences of the parts, l less j, add up
//! to how much later l entered, which is at least the wait. So the wait is divided among the parts
//! of which l had more:
//!
//! - work: a direct cost. What exceeds the median of the communicator is charged to l, the rest is
//!   imbalance: nobody is accused because another one had little to do. What a process did between the polls of a
//!   span that is full of unsuccessful ones counts as waiting for its partner.
//! - communication point to point: charged to the partner, as far as that one had more work, or the one that it waited
//!   for in turn did.
//! - time in an operation: charged to that operation.
//! - waits: propagated. They are charged to the causes of those waits, in proportion.
//!
//! Before the first instance of two processes T0 is when `MPI_Init` returned for the first time to any process, where
//! that is known. Until it returned to a process as well, that was being started: `startup`.
//!
//! An instance at the end of the run, in which all wait for the last one to end, is compared likewise.
//!
//! Every wait is attributed completely: the costs add up to the waits, to the ns.
//!
//! # Source
//! Böhme, Geimer, Arnold, Voigtlaender, Wolf, "Identifying the root causes of wait states in
//! large-scale parallel applications", 2016: direct (short-term) and propagated (long-term) costs
//! of delays. Carried over from messages to collectives.
#![forbid(unsafe_code)]

mod ahead;
mod amounts;
mod attribution;
mod batch;
mod blocking_calls;
mod cause;
mod charged;
mod column;
mod compare;
mod excess;
mod history;
mod hosts;
mod instance;
mod levels;
mod log;
mod of_run;
mod others;
mod process;
mod processes;
mod remembered;
mod section;
mod shares;
mod spare;
mod spent;
mod split;
mod synchronizations;
mod times;
mod union;
mod unit;

pub use ahead::Held;
pub use attribution::Attribution;
pub use batch::Batch;
pub use cause::{AtEnd, Attributed, Cause, Cost, Costs, DidBefore};
pub use charged::Charged;
pub use excess::{Excess, Excesses, Gaps, Most};
pub use instance::{
    Call, Calls, Completion, Dependence, Instance, Part, PartOfProcess, Polled, UNCOMPARED, Wait,
};
pub use spare::Spare;
