//! Spanning trees of our own: the description of trees as it is handed over, and a tree of one
//! communicator.
//!
//! [`Wrappers`] is a tree of the processes of one communicator, after Bongo et al. 2004, section 2:
//! the data of each rank go along a path of wrappers to the root, and the result comes back along
//! it. A gred joins contributors, a proxy crosses to another host, and the bottommost wrapper is a
//! core or an exchange.
//!
//! [`TreeRules`] is what a tree file says: which calls have a tree, and how it is made of the
//! processes of any communicator, from their [`Place`]s. Both are encoded with
//! [`encode_meta`](crate::encode_meta).

mod calls;
mod check;
mod place;
mod rules;
mod wrapper;
mod wrappers;

#[cfg(test)]
mod tests;

pub use calls::{Calls, Collective};
pub use check::TreeError;
pub use place::Place;
pub use rules::{
    Adaptation, Adapting, CollectorsOfKinds, Cpu, DescribedHost, Form, HostGroup, HostTopology,
    LibraryCandidate, Node, Policy, Results, Rule, Shape, Shaped, TreeRules, Waiting,
};
pub use wrapper::{Collectors, Contributor, Level, Wrapper, WrapperKind};
pub use wrappers::Wrappers;
