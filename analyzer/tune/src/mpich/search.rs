//! From a call to the leaf of a file: `MPIR_Csel_prune` and `MPIR_Csel_search` of
//! `src/mpi/coll/src/csel.c`.
//!
//! A communicator, when it is made, passes the tests that are about communicators and stand before
//! any other, once before and once behind the collective; a call goes on from there. Both know
//! `comm_size<N`, but `MPIR_Csel_search` compares with `<=`: behind a test of the message,
//! `comm_size<8` also holds for 8 processes.

use super::call::{Call, Communicator};
use super::test::Test;
use super::tree::{NodeIdx, Tree, What};
use super::version::Version;

/// A test whose outcome is not known of a call, as the file has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Question(pub(super) String);

/// Where a call comes out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// At this choice.
    Choice(NodeIdx),
    /// Nowhere: none of the tests holds, or the collective is not in the file.
    Nothing,
    /// The program ends at this node, for this reason.
    Ends(NodeIdx, String),
    /// What the library does at this node is not defined.
    Undefined(NodeIdx),
}

/// What is known beyond the call.
pub(super) trait Known {
    /// Whether the test `key` holds, if it was asked before.
    fn answer(&self, key: &str) -> Option<bool>;
}

pub(super) struct Search<'a, K> {
    pub(super) tree: &'a Tree,
    pub(super) version: &'a Version,
    pub(super) communicator: Communicator,
    pub(super) known: &'a K,
}

impl<K: Known> Search<'_, K> {
    /// Where `call` comes out.
    ///
    /// # Errors
    /// The first test whose outcome is not known.
    pub(super) fn search(&self, call: &Call) -> Result<Found, Question> {
        let Some(start) = self
            .tree
            .root
            .and_then(|root| self.prune(root, call).transpose())
            .transpose()?
        else {
            return Ok(Found::Nothing);
        };
        let mut here = Some(start);
        let mut subtree = None;
        while let Some(node) = here {
            match &self.tree.nodes[node].what {
                What::Test(Test::Collective(collective)) => {
                    if *collective == call.collective {
                        subtree = Some(node);
                    }
                }
                _ if node == start => {
                    let why = "a communicator is made for which the file has no collectives at its first level";
                    return Ok(Found::Ends(node, why.to_owned()));
                }
                _ => return Ok(Found::Undefined(node)),
            }
            here = self.tree.nodes[node].failure;
        }
        let inside = subtree.and_then(|node| self.tree.nodes[node].success);
        let Some(inside) = inside
            .map(|inside| self.prune(inside, call))
            .transpose()?
            .flatten()
        else {
            return Ok(Found::Nothing);
        };
        self.descend(inside, call)
    }

    /// `prune_tree`: goes on while tests are of the communicator. Where these come to nothing, it
    /// returns `root`, from which the call then makes the same tests itself.
    fn prune(&self, root: NodeIdx, call: &Call) -> Result<Option<NodeIdx>, Question> {
        let mut here = root;
        loop {
            let node = &self.tree.nodes[here];
            let What::Test(test) = node.what else {
                return Ok(Some(here));
            };
            if !test.of_communicator() {
                return Ok(Some(here));
            }
            let holds = match test {
                Test::SizeBelow(value) => i64::from(self.communicator.size) < i64::from(value),
                _ => self.holds(test, &node.key, call)?,
            };
            match if holds { node.success } else { node.failure } {
                Some(next) => here = next,
                None => return Ok(Some(root)),
            }
        }
    }

    fn descend(&self, start: NodeIdx, call: &Call) -> Result<Found, Question> {
        let mut here = start;
        loop {
            let node = &self.tree.nodes[here];
            let What::Test(test) = node.what else {
                return Ok(Found::Choice(here));
            };
            if !test.defined_for(call.collective) {
                let name = node.key.split(['=', '<']).next().unwrap_or_default();
                let why = format!(
                    "{name} is not defined for MPI_{}",
                    super::version::capitalized(call.collective.name)
                );
                return Ok(Found::Ends(here, why));
            }
            match if self.holds(test, &node.key, call)? {
                node.success
            } else {
                node.failure
            } {
                Some(next) => here = next,
                None => return Ok(Found::Nothing),
            }
        }
    }

    fn holds(&self, test: Test, key: &str, call: &Call) -> Result<bool, Question> {
        let communicator = self.communicator;
        let size = i64::from(communicator.size);
        let ask = |known: Option<bool>| known.map_or_else(|| self.ask(key), Ok);
        let compared = |amount: Option<i128>, holds: &dyn Fn(i128) -> bool| ask(amount.map(holds));
        let total = call.total(communicator.size);
        let count = call.elements(communicator.size);
        // The libraries before 5.0 know how many hosts any communicator has, later ones only those
        // with a hierarchy.
        let hosts = if self.version.hierarchy_or_none && !communicator.is_parent() {
            None
        } else {
            Some(i64::from(communicator.n_hosts))
        };
        Ok(match test {
            Test::Threaded(yes) => ask(call.threaded.map(|threaded| threaded == yes))?,
            Test::Intra | Test::Any { .. } | Test::AnyHierarchy => true,
            Test::Inter => false,
            Test::SizeAtMost(value) | Test::SizeBelow(value) => size <= i64::from(value),
            Test::OneHost => communicator.is_parent() && communicator.n_hosts == 1,
            Test::PowerOfTwo => communicator.size.is_power_of_two(),
            Test::Hierarchy(hierarchy) => communicator.hierarchy == hierarchy,
            Test::HasHierarchy(yes) => communicator.is_parent() == yes,
            Test::NodeConsecutive(yes) => communicator.consecutive == yes,
            Test::PerNodeAtMost(value) => {
                hosts.is_some_and(|hosts| size <= i64::from(value) * hosts)
            }
            Test::PerNodeBelow(value) => hosts.is_some_and(|hosts| size < i64::from(value) * hosts),
            Test::Collective(collective) => collective == call.collective,
            Test::AverageAtMost(value) => call.average() <= i128::from(value),
            Test::AverageBelow(value) => call.average() < i128::from(value),
            Test::TotalAtMost(value) => compared(total, &|total| total <= i128::from(value))?,
            Test::TotalBelow(value) => compared(total, &|total| total < i128::from(value))?,
            Test::CountAtMost(value) => compared(count, &|count| count <= i128::from(value))?,
            Test::CountBelowPowerOfTwo => compared(count, &|count| {
                count < i128::from(communicator.power_of_two())
            })?,
            Test::InPlace(yes) => ask(call.in_place.map(|in_place| in_place == yes))?,
            Test::Regular(yes) => ask(call.regular.map(|regular| regular == yes))?,
            Test::Commutative(yes) => ask(call.commutative.map(|commutative| commutative == yes))?,
            Test::BuiltIn(yes) => ask(call.built_in.map(|built_in| built_in == yes))?,
        })
    }

    /// What is known beyond the call of the test `key`; of `x=no` by its opposite `x=yes`.
    fn ask(&self, key: &str) -> Result<bool, Question> {
        let (question, yes) = match key.strip_suffix("=no") {
            Some(before) => (format!("{before}=yes"), false),
            None => (key.to_owned(), true),
        };
        self.known
            .answer(&question)
            .map(|answer| answer == yes)
            .ok_or(Question(question))
    }
}
