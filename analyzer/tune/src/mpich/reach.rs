//! What no call comes to, and what a call that comes there does not survive.
//!
//! Goes through a file with what is left possible of a call by the tests before. It takes more to be
//! possible than is: sizes in bytes, in elements and of communicators are not set in relation.

use super::measures::{COLLECTIVES, Collective};
use super::test::{Hierarchy, Test};
use super::tree::{NodeIdx, Selection, Tree, What};
use super::version::{Algorithm, Restriction, Violation, capitalized};
use crate::problem::Problem;

/// Facts of which a call has one or the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fact {
    Threaded,
    OneHost,
    PowerOfTwo,
    NodeConsecutive,
    CountBelowPowerOfTwo,
    InPlace,
    Regular,
    Commutative,
    BuiltIn,
}
const N_FACTS: usize = 9;

/// What is possible of a call.
#[derive(Debug, Clone)]
struct Possible {
    size: (i64, i64),
    average: (i64, i64),
    total: (i64, i64),
    count: (i64, i64),
    facts: [Option<bool>; N_FACTS],
    /// A bit for each [`Hierarchy`].
    hierarchies: u8,
    intra: bool,
    inter: bool,
    /// A bit for each of [`COLLECTIVES`].
    collectives: u64,
    /// Tests of the communicator are made when it is made.
    is_pruning: bool,
}

const EVERY_HIERARCHY: u8 = 0b1111;

fn bit(hierarchy: Hierarchy) -> u8 {
    1 << hierarchy as u8
}

impl Possible {
    fn all() -> Self {
        let any = (0, i64::MAX);
        Self {
            size: (1, i64::from(i32::MAX)),
            average: any,
            total: any,
            count: any,
            facts: [None; N_FACTS],
            hierarchies: EVERY_HIERARCHY,
            intra: true,
            inter: true,
            collectives: (1 << COLLECTIVES.len()) - 1,
            is_pruning: true,
        }
    }

    fn fact(&self, fact: Fact) -> Option<bool> {
        self.facts[fact as usize]
    }

    fn set(&mut self, fact: Fact, value: bool) -> bool {
        let known = &mut self.facts[fact as usize];
        let agrees = known.is_none_or(|known| known == value);
        *known = Some(value);
        agrees
    }

    /// What is left if `test` holds, or does not; `None` if that cannot be.
    fn after(&self, test: Test, holds: bool) -> Option<Self> {
        let mut left = self.clone();
        left.is_pruning &= test.of_communicator() || matches!(test, Test::Collective(_));
        left.restrict(test, holds).then_some(left)
    }

    fn restrict(&mut self, test: Test, holds: bool) -> bool {
        match test {
            Test::Threaded(value) => self.set(Fact::Threaded, value == holds),
            Test::InPlace(value) => self.set(Fact::InPlace, value == holds),
            Test::Regular(value) => self.set(Fact::Regular, value == holds),
            Test::Commutative(value) => self.set(Fact::Commutative, value == holds),
            Test::BuiltIn(value) => self.set(Fact::BuiltIn, value == holds),
            Test::CountBelowPowerOfTwo => self.set(Fact::CountBelowPowerOfTwo, holds),
            Test::NodeConsecutive(value) => {
                let consecutive = value == holds;
                self.set(Fact::NodeConsecutive, consecutive)
                    && (!consecutive || self.only(bit(Hierarchy::Parent)))
            }
            Test::OneHost => {
                self.set(Fact::OneHost, holds) && (!holds || self.only(bit(Hierarchy::Parent)))
            }
            Test::PowerOfTwo => self.set(Fact::PowerOfTwo, holds) && self.has_size(),
            Test::Intra | Test::Inter => {
                let intra = (test == Test::Intra) == holds;
                (self.intra, self.inter) = (self.intra && intra, self.inter && !intra);
                self.intra || self.inter
            }
            Test::Hierarchy(hierarchy) => {
                let bit = bit(hierarchy);
                self.only(if holds { bit } else { EVERY_HIERARCHY & !bit })
            }
            Test::HasHierarchy(value) => {
                let bit = bit(Hierarchy::Parent);
                self.only(if value == holds {
                    bit
                } else {
                    EVERY_HIERARCHY & !bit
                })
            }
            Test::Collective(collective) => {
                let bit = collective_bit(collective);
                self.collectives &= if holds { bit } else { !bit };
                self.collectives != 0
            }
            Test::Any { .. } | Test::AnyHierarchy => holds,
            Test::SizeAtMost(value) => narrow(&mut self.size, value, holds) && self.has_size(),
            Test::SizeBelow(value) => {
                // The library compares with `<=` where tests of the call came before.
                let value = if holds || !self.is_pruning {
                    value
                } else {
                    value.saturating_sub(1)
                };
                narrow(&mut self.size, value, holds) && self.has_size()
            }
            Test::AverageAtMost(value) => narrow(&mut self.average, value, holds),
            Test::AverageBelow(value) => narrow(&mut self.average, value.saturating_sub(1), holds),
            Test::TotalAtMost(value) => narrow(&mut self.total, value, holds),
            Test::TotalBelow(value) => narrow(&mut self.total, value.saturating_sub(1), holds),
            Test::CountAtMost(value) => narrow(&mut self.count, value, holds),
            Test::PerNodeAtMost(_) | Test::PerNodeBelow(_) => true,
        }
    }

    fn only(&mut self, hierarchies: u8) -> bool {
        self.hierarchies &= hierarchies;
        if self.hierarchies == bit(Hierarchy::Parent) {
            self.size.0 = self.size.0.max(2);
        }
        self.hierarchies != 0 && self.has_size()
    }

    /// Whether a number of processes is left.
    fn has_size(&self) -> bool {
        let (least, most) = self.size;
        if least > most {
            return false;
        }
        match self.fact(Fact::PowerOfTwo) {
            None => true,
            Some(true) => next_power_of_two(least) <= most,
            // Of 1 and 2, and of one number alone, all may be powers of two.
            Some(false) => most > 2 && !(least == most && least == next_power_of_two(least)),
        }
    }

    /// The collective that it must be, if only one is left.
    fn collective(&self) -> Option<&'static Collective> {
        let is_one = self.collectives.count_ones() == 1;
        is_one
            .then(|| COLLECTIVES.get(self.collectives.trailing_zeros() as usize))
            .flatten()
    }

    /// Whether all that is left keeps `restriction`.
    fn ensures(&self, restriction: Restriction) -> bool {
        let is = |fact| self.fact(fact) == Some(true);
        match restriction {
            Restriction::ParentComm => self.hierarchies == bit(Hierarchy::Parent),
            Restriction::PowerOfTwo => {
                let (least, most) = self.size;
                is(Fact::PowerOfTwo)
                    || most <= 2
                    || (least == most && least == next_power_of_two(least))
            }
            Restriction::InPlace => is(Fact::InPlace),
            Restriction::NotInPlace => self.fact(Fact::InPlace) == Some(false),
            Restriction::Commutative => is(Fact::Commutative),
            Restriction::BuiltIn => is(Fact::BuiltIn),
            Restriction::Regular => is(Fact::Regular),
            // Only parts of a composition have fewer.
            Restriction::SeveralProcesses => true,
            Restriction::NodeConsecutive => is(Fact::NodeConsecutive),
            // No test asks for it.
            Restriction::OrderedDisplacements => true,
            Restriction::CountAtLeastPowerOfTwo => {
                self.fact(Fact::CountBelowPowerOfTwo) == Some(false) || self.count.0 >= self.size.1
            }
        }
    }
}

fn collective_bit(collective: &Collective) -> u64 {
    let place = COLLECTIVES.iter().position(|other| other == collective);
    place.map_or(0, |place| 1 << place)
}

fn next_power_of_two(least: i64) -> i64 {
    u64::try_from(least).map_or(1, |least| {
        i64::try_from(least.next_power_of_two()).unwrap_or(i64::MAX)
    })
}

/// Leaves of `range` what is at most `most`, or what is more.
fn narrow(range: &mut (i64, i64), most: i32, holds: bool) -> bool {
    let most = i64::from(most);
    if holds {
        range.1 = range.1.min(most);
    } else {
        range.0 = range.0.max(most.saturating_add(1));
    }
    range.0 <= range.1
}

/// What is wrong in a file beyond what keeps the library from using it.
pub(super) fn problems(tree: &Tree) -> Vec<Problem> {
    let mut walk = Walk {
        tree,
        problems: Vec::new(),
    };
    if let Some(root) = tree.root {
        walk.from(root, &Possible::all());
    }
    walk.problems
}

struct Walk<'a> {
    tree: &'a Tree,
    problems: Vec<Problem>,
}

impl Walk<'_> {
    fn problem(&mut self, node: NodeIdx, what: String, effect: String, instead: Option<String>) {
        self.problems.push(Problem {
            at: self.tree.nodes[node].at,
            what,
            effect,
            instead,
        });
    }

    fn from(&mut self, first: NodeIdx, possible: &Possible) {
        let mut possible = possible.clone();
        let mut before: Option<NodeIdx> = None;
        let mut next = Some(first);
        while let Some(idx) = next {
            let node = &self.tree.nodes[idx];
            next = node.failure;
            let test = match &node.what {
                What::Test(test) => *test,
                What::Unknown => {
                    if let Some(success) = node.success {
                        self.from(success, &possible);
                    }
                    continue;
                }
                What::Algorithm { algorithm, .. } => {
                    let algorithm = *algorithm;
                    return self.choice(idx, algorithm, &possible);
                }
                What::Composition(_) | What::Posix => return,
            };
            self.definition(idx, test, &possible);
            match (node.success, possible.after(test, true)) {
                (Some(success), Some(left)) => self.from(success, &left),
                (_, Some(_)) => {}
                (_, None) => self.unreachable(idx, before),
            }
            before = Some(idx);
            match possible.after(test, false) {
                Some(left) => possible = left,
                None => {
                    let mut after = next;
                    // What follows a test that passes all keeps the library from using the file.
                    while let Some(idx) = after.filter(|_| !matches!(test, Test::Any { .. })) {
                        self.unreachable(idx, before);
                        after = self.tree.nodes[idx].failure;
                    }
                    return;
                }
            }
        }
    }

    fn unreachable(&mut self, node: NodeIdx, before: Option<NodeIdx>) {
        let key = &self.tree.nodes[node].key;
        let what = match before {
            Some(before) => {
                let before = &self.tree.nodes[before];
                format!(
                    "`{key}`, for which `{}` in line {} leaves nothing",
                    before.key, before.at.line
                )
            }
            None => format!("`{key}`, for which the tests around it leave nothing"),
        };
        self.problem(
            node,
            what,
            "no call comes to what is inside".to_owned(),
            None,
        );
    }

    /// A test must be defined for the collectives that come to it.
    fn definition(&mut self, node: NodeIdx, test: Test, possible: &Possible) {
        let Some(collective) = possible
            .collective()
            .filter(|collective| !test.defined_for(collective))
        else {
            return;
        };
        let what = format!(
            "`{}`, which is not defined for {}",
            self.tree.nodes[node].key, collective.name
        );
        let effect = format!(
            "the first MPI_{} that comes here ends the program",
            capitalized(collective.name)
        );
        let instead = match test {
            Test::AverageAtMost(_) | Test::AverageBelow(_)
                if collective.total != super::measures::Total::None =>
            {
                Some("test total_msg_size, which is that of all processes".to_owned())
            }
            Test::TotalAtMost(_) | Test::TotalBelow(_) if collective.average => {
                Some("test avg_msg_size, which is that of one process".to_owned())
            }
            _ => None,
        };
        self.problem(node, what, effect, instead);
    }

    fn choice(&mut self, node: NodeIdx, algorithm: Algorithm, possible: &Possible) {
        let Some(collective) = possible.collective() else {
            return;
        };
        if algorithm.collective != collective.name {
            let what = format!("{} for {}", algorithm.name(), collective.name);
            let effect = format!(
                "the first MPI_{} that comes here ends the program",
                capitalized(collective.name)
            );
            self.problem(node, what, effect, None);
            return;
        }
        if !possible.intra && matches!(collective.name, "scan" | "exscan" | "iscan" | "iexscan") {
            // MPI has none of these on intercommunicators.
            return;
        }
        let wrong_kind = match algorithm.on {
            "intra" => possible.inter,
            "inter" => possible.intra,
            _ => false,
        };
        if wrong_kind {
            let (has, other) = if algorithm.on == "intra" {
                ("intra", "inter")
            } else {
                ("inter", "intra")
            };
            if possible.intra != possible.inter {
                let what = format!("{} for {other}communicators", algorithm.name());
                self.problem(
                    node,
                    what,
                    "what it does then is not defined".to_owned(),
                    None,
                );
            } else if !matches!(collective.name, "scan" | "exscan" | "iscan" | "iexscan") {
                let what = format!("{} outside of comm_type={has}", algorithm.name());
                let effect = format!("what it does on {other}communicators is not defined");
                self.problem(
                    node,
                    what,
                    effect,
                    Some(format!("put it into comm_type={has}")),
                );
            }
        }
        for &restriction in algorithm
            .entry
            .restrictions
            .iter()
            .chain(algorithm.entry.needs)
        {
            // Without a hierarchy it only copies the data, which is right where there are none.
            let of_nothing = algorithm.entry.name == "smp" && possible.average.1 == 0;
            if !of_nothing
                && !possible.ensures(restriction)
                && algorithm.violation(restriction) != Violation::Harmless
            {
                self.unkept(node, algorithm, restriction);
            }
        }
    }

    fn unkept(&mut self, node: NodeIdx, algorithm: Algorithm, restriction: Restriction) {
        let what = format!(
            "{}, which needs {}, where the tests around it let other calls pass",
            algorithm.name(),
            restriction.words()
        );
        let instead = match restriction {
            Restriction::ParentComm => "comm_hierarchy=parent",
            Restriction::PowerOfTwo => "comm_size=pow2",
            Restriction::InPlace => "is_sendbuf_inplace=yes",
            Restriction::NotInPlace => "is_sendbuf_inplace=no",
            Restriction::Commutative => "is_commutative=yes",
            Restriction::BuiltIn => "is_op_built_in=yes",
            Restriction::NodeConsecutive => "is_node_consecutive=yes",
            Restriction::Regular => "is_block_regular=yes",
            Restriction::SeveralProcesses => "a test behind comm_size<=1",
            Restriction::CountAtLeastPowerOfTwo | Restriction::OrderedDisplacements => {
                "count=any behind count<pow2"
            }
        };
        let effect = match algorithm.violation(restriction) {
            Violation::Undefined => {
                "the library does not check this of files: such a call has a wrong result or does not end"
            }
            _ => "the library does not check this of files: such a call ends the program",
        };
        self.problem(
            node,
            what,
            effect.to_owned(),
            Some(format!("put it into {instead}")),
        );
    }
}

impl Selection {
    /// Adds what no call comes to, and what a call that comes there does not survive.
    pub(super) fn add_problems(&mut self) {
        let found = problems(&self.tree);
        self.problems.extend(found);
        self.problems.sort();
        self.problems.dedup();
    }
}
