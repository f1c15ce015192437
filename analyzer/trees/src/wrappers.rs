//! From the description of trees and the places of the processes of a communicator to the spanning
//! tree of that communicator.
//!
//! The tree depends on nothing else, so that it is the same on every process that knows the same.
//! First the ranks are divided by levels and joined by shapes, or nodes are taken as they are
//! spelled out; then proxies are put where paths cross hosts, and a core at the root.

mod assemble;
mod hosts;
mod shaped;
mod shapes;

use collbench_formats::tree::{
    Calls, Collective, Form, Level, Node, Place, Rule, TreeError, TreeRules, Wrappers,
};

pub use hosts::{group_hosts, host_fits, place_on};

/// The processes of a communicator.
#[derive(Debug, Clone, Copy)]
pub struct Members<'m> {
    /// Names of hosts, by their number in places.
    pub hosts: &'m [String],
    /// Where each rank runs; at least one.
    pub places: &'m [Place],
}

/// In which order values are best combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// In any order: the operation commutes, or nothing is combined.
    Any,
    /// In the order of ranks. Shapes are put on ranks so that each subtree is a range of them, and
    /// the result is handed over to the root. Where places of a level have ranks of several ranges,
    /// or nodes are spelled out, the tree may have another order all the same:
    /// [`Wrappers::is_in_rank_order`] says so.
    OfRanks,
}

/// Why a rule has no tree for a communicator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// The rule is for communicators of other sizes.
    #[error("it is for communicators of {} processes", range(*.0))]
    Size((u32, u32)),
    /// The rule is for communicators that extend across another level.
    #[error("it is for communicators {}", across(*.0))]
    Across(Level),
    /// The rank at the root is not in the communicator.
    #[error("its root is rank {root} of {n_ranks}")]
    Root {
        /// The rank.
        root: u32,
        /// Ranks of the communicator.
        n_ranks: u32,
    },
    /// A host is not among those that the rule names.
    #[error("it does not name host {0}")]
    Host(String),
    /// It is spelled out for another number of ranks.
    #[error("it is spelled out for {nodes} ranks, and there are {ranks}")]
    Ranks {
        /// Ranks of its nodes.
        nodes: u32,
        /// Ranks of the communicator.
        ranks: u32,
    },
    /// The operation has a root, and the tree has an exchange in its place.
    #[error("an exchange has no root")]
    Exchange,
    /// What it describes is not a tree.
    #[error(transparent)]
    Tree(#[from] TreeError),
}

fn range((least, most): (u32, u32)) -> String {
    match most {
        u32::MAX => format!("{least} or more"),
        _ if least == most => least.to_string(),
        _ => format!("{least} to {most}"),
    }
}

/// Where the processes of a communicator are that extends across a level.
fn across(level: Level) -> &'static str {
    match level {
        Level::Rank | Level::CoreComplex | Level::Socket => "on one host",
        Level::Host | Level::Switch => "on several hosts of one site",
        Level::Site => "at several sites",
    }
}

/// The tree of the first rule that is for these calls and has one, with the index of the rule.
/// `root` is the rank that the call names; `None` for operations without a root. `bytes` is the
/// payload of one rank.
///
/// The places are those of [`group_hosts`].
#[must_use]
pub fn tree_for(
    rules: &TreeRules,
    (operation, root): (Collective, Option<u32>),
    bytes: u64,
    order: Order,
    members: Members<'_>,
) -> Option<(usize, Wrappers)> {
    let is_for = |calls: &Calls| calls.include(operation, bytes);
    let rules = rules.rules.iter().enumerate();
    let mut fitting = rules.filter(|(_, rule)| is_for(&rule.calls));
    fitting.find_map(|(idx, rule)| Some((idx, resolve(rule, root, order, members).ok()?)))
}

/// The tree that a rule makes of the processes of a communicator, whatever the payload. `root` is
/// the rank that the call names; `None` for operations without a root. It takes time in proportion
/// to the number of ranks: once for each communicator and root, not for each call.
///
/// # Errors
/// [`Unfit`] if it makes none.
pub fn resolve(
    rule: &Rule,
    root: Option<u32>,
    order: Order,
    members: Members<'_>,
) -> Result<Wrappers, Unfit> {
    let n_ranks = members.places.len() as u32;
    let (least, most) = rule.calls.ranks;
    if !(least..=most).contains(&n_ranks) {
        return Err(Unfit::Size(rule.calls.ranks));
    }
    if let Some(level) = rule.calls.across
        && level != Level::across(members.places)
    {
        return Err(Unfit::Across(level));
    }
    if let Some(root) = root.filter(|&root| root >= n_ranks) {
        return Err(Unfit::Root { root, n_ranks });
    }
    let shaped;
    let nodes: &[Node] = match &rule.form {
        Form::Shaped(form) => {
            shaped = shaped::nodes(form, root, order, members)?;
            &shaped
        }
        Form::Nodes(nodes) => {
            let named = assemble::n_ranks(nodes);
            if named != n_ranks {
                return Err(Unfit::Ranks {
                    nodes: named,
                    ranks: n_ranks,
                });
            }
            nodes
        }
    };
    assemble::assemble(nodes, &rule.collectors, root, members)
}

#[cfg(test)]
mod tests;
