//! What happened inside the instances: the messages that the MPI library sent for them.
//!
//! The records of the messages of a call stand behind its own; those of a collective that goes on
//! in later calls are [kept](begun) until it is complete. When all calls of an instance are there,
//! those of all members are [gathered](gather), and each send is put together with its receive,
//! which is done once for all instances of one [pattern], whose records mostly [come
//! again](recurrence) as they are. Who sent to whom is the [shape](collbench_trees::shape) of the
//! instance, in which the algorithm is [recognized](collbench_trees::recognize), and the
//! [role](collbench_trees::roles) of each message. Nothing of that is kept from one instance to the next but patterns and shapes; what is
//! kept of an operation are sums over the [graphs](sums) that its instances executed, with [figures]
//! of each edge and node, which make [ways] of the data and [results].

mod begun;
mod by_roles;
mod gather;
mod message;
mod messages;
mod pairing;
mod pattern;
mod recurrence;
mod tags;

// Who sent to whom, and what that is called.
mod calling;
pub(crate) mod said;
mod shapes;

// What meets where, and how long it takes.
mod critical;
mod figures;
mod rows;
mod samples;
mod taken;
mod way_back;

// What is kept.
mod steps;
pub(crate) mod summary;
mod sums;

// Sums to results.
mod measured;
mod results;
mod ways;

pub(crate) use begun::{CallOf, OwnCollective, Owner, Owners};
pub use by_roles::RoleFigures;
pub(crate) use calling::Calling;
pub use collbench_stats::compact_distribution::{Gauge, Grain};
pub use collbench_trees::algorithm::{
    Algorithm, Pattern, Rooted, ThenFromLeader, Tree, TwoLevels, Within,
};
pub use collbench_trees::recognize::{Direction as TreeDirection, Recognized, TreeFacts};
pub use collbench_trees::roles::{Node, Roles, Round, TreeRoles, Way};
pub(crate) use collbench_trees::shape::Of;
pub use collbench_trees::shape::Shape;
pub use critical::{AllForAll, Begin, CriticalTally, Hop, Stay};
pub(crate) use figures::Room;
pub use figures::{EdgeFigures, GraphFigures, LastMessage, Meeting, NodeFigures, RoundFigures};
pub(crate) use gather::{Gatherer, each_message};
pub use message::InstanceMessage;
pub use messages::{MessageCounts, Messages};
pub(crate) use recurrence::Kind;
pub use results::{
    BeginSummary, BeginsElsewhere, Contributor, CriticalPathSummary, HopSummary, Hotspot,
    JoiningPoint, LastArrival, OneWayClass, ProgressSummary, RoundSummary, StageKind, StaySummary,
    TransferSummary, TreeFigures, UnknownPaths, WayClass, WayLine, WayStage,
};
pub use said::Said;
pub(crate) use said::{Names, Saying};
pub(crate) use shapes::Shapes;
pub use sums::{EdgeTally, GraphTally, InsideTally};
pub(crate) use tags::Tags;
pub use way_back::Doubt;
