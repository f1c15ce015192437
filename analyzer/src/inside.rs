//! What happened inside the instances: the messages that the MPI library sent for them.
//!
//! The records of the messages of a call stand behind its own. When all calls of an instance are
//! there, those of all members are [gathered](gather), and each send is put together with its
//! receive; nothing of that is kept from one instance to the next. What is kept of an operation
//! are sums over the [graphs](sums) that its instances executed.

mod gather;
mod message;
mod pairing;
mod shape;
pub(crate) mod summary;
mod sums;

pub(crate) use gather::Gatherer;
pub use message::{InstanceMessage, MessageCounts, Messages};
pub use shape::Shape;
pub(crate) use shape::Shapes;
pub use sums::{EdgeTally, GraphTally, InsideTally};
