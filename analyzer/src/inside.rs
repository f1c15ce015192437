//! What happened inside the instances: the messages that the MPI library sent for them.
//!
//! The records of the messages of a call stand behind its own. When all calls of an instance are
//! there, those of all members are [gathered](gather), and each send is put together with its
//! receive. Who sent to whom is the [shape] of the instance, in which the algorithm is
//! [recognized](recognize). Nothing of that is kept from one instance to the next but shapes; what is
//! kept of an operation are sums over the [graphs](sums) that its instances executed.

mod gather;
mod message;
mod pairing;

// Who sent to whom, and what that is called.
mod algorithm;
mod exchanges;
mod recognize;
mod shape;
mod trees;

// What is kept.
pub(crate) mod summary;
mod sums;

pub use algorithm::{Algorithm, Rooted, Tree};
pub(crate) use gather::Gatherer;
pub use message::{InstanceMessage, MessageCounts, Messages};
pub use recognize::{Direction as TreeDirection, Recognized, TreeFacts};
pub use shape::Shape;
pub(crate) use shape::Shapes;
pub use sums::{EdgeTally, GraphTally, InsideTally};
