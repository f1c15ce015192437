//! The keys of a selection file: tests.

use super::measures::{Collective, collective};
use super::version::Version;

/// What a key asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Test {
    Threaded(bool),
    Intra,
    Inter,
    SizeAtMost(i32),
    /// At most where a test of the message comes before it, less than elsewhere: see `search`.
    SizeBelow(i32),
    /// All processes are on one host.
    OneHost,
    PowerOfTwo,
    Hierarchy(Hierarchy),
    /// In versions that know no more than this.
    HasHierarchy(bool),
    NodeConsecutive(bool),
    PerNodeAtMost(i32),
    PerNodeBelow(i32),
    Collective(&'static Collective),
    AverageAtMost(i32),
    AverageBelow(i32),
    TotalAtMost(i32),
    TotalBelow(i32),
    CountAtMost(i32),
    CountBelowPowerOfTwo,
    InPlace(bool),
    Regular(bool),
    Commutative(bool),
    BuiltIn(bool),
    /// Passes all; nothing may follow it.
    Any {
        /// It is decided when a communicator is made.
        of_communicator: bool,
    },
    /// Passes all; what follows is never reached.
    AnyHierarchy,
}

/// What a communicator is in the hierarchy that MPICH makes of the hosts of its processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Hierarchy {
    /// It has none: every process is on a host of its own, or it has only one process.
    Flat,
    /// It has one communicator per host and one of the first processes of all hosts.
    Parent,
    /// It is that of the first processes of all hosts of another communicator.
    NodeRoots,
    /// It is that of one host of another communicator.
    Node,
}

/// A number in a key, as the library reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Number {
    pub(super) value: i32,
    /// Nothing but digits, and not more than it can hold.
    pub(super) plain: bool,
}

/// `atoi`: spaces, a sign, digits; whatever follows is ignored, and nothing at all is 0.
pub(super) fn atoi(text: &str) -> Number {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_whitespace());
    let unsigned = rest.strip_prefix(['-', '+']).unwrap_or(rest);
    let n_digits = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    let digits = &unsigned[..n_digits];
    // strtol() stops at the largest number it can hold; the cast to int takes the low half of it.
    let magnitude = digits
        .parse::<i64>()
        .unwrap_or(if digits.is_empty() { 0 } else { i64::MAX });
    let long = if rest.starts_with('-') {
        if magnitude == i64::MAX {
            i64::MIN
        } else {
            -magnitude
        }
    } else {
        magnitude
    };
    let value = low_half(long);
    let plain = !digits.is_empty() && text.len() == n_digits && i64::from(value) == long;
    Number { value, plain }
}

fn low_half(long: i64) -> i32 {
    let [a, b, c, d, ..] = long.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}

/// Keys that test for a number: what is before it, and the test.
type Numbered = (&'static str, fn(i32) -> Test);
static NUMBERED: [Numbered; 9] = [
    ("comm_size<=", Test::SizeAtMost),
    ("comm_size<", Test::SizeBelow),
    ("count<=", Test::CountAtMost),
    ("avg_msg_size<=", Test::AverageAtMost),
    ("avg_msg_size<", Test::AverageBelow),
    ("total_msg_size<=", Test::TotalAtMost),
    ("total_msg_size<", Test::TotalBelow),
    ("comm_avg_ppn<=", Test::PerNodeAtMost),
    ("comm_avg_ppn<", Test::PerNodeBelow),
];

static PLAIN: [(&str, Test); 21] = [
    ("is_multi_threaded=yes", Test::Threaded(true)),
    ("is_multi_threaded=no", Test::Threaded(false)),
    ("comm_type=intra", Test::Intra),
    ("comm_type=inter", Test::Inter),
    ("comm_size=pow2", Test::PowerOfTwo),
    ("comm_size=node_comm_size", Test::OneHost),
    ("count<pow2", Test::CountBelowPowerOfTwo),
    ("is_commutative=yes", Test::Commutative(true)),
    ("is_commutative=no", Test::Commutative(false)),
    ("is_sendbuf_inplace=yes", Test::InPlace(true)),
    ("is_sendbuf_inplace=no", Test::InPlace(false)),
    ("is_op_built_in=yes", Test::BuiltIn(true)),
    ("is_op_built_in=no", Test::BuiltIn(false)),
    ("is_block_regular=yes", Test::Regular(true)),
    ("is_block_regular=no", Test::Regular(false)),
    ("is_node_consecutive=yes", Test::NodeConsecutive(true)),
    ("is_node_consecutive=no", Test::NodeConsecutive(false)),
    ("comm_hierarchy=parent", Test::Hierarchy(Hierarchy::Parent)),
    (
        "comm_hierarchy=node_roots",
        Test::Hierarchy(Hierarchy::NodeRoots),
    ),
    ("comm_hierarchy=node", Test::Hierarchy(Hierarchy::Node)),
    ("comm_hierarchy=flat", Test::Hierarchy(Hierarchy::Flat)),
];

static ANY: [&str; 4] = [
    "comm_size=any",
    "count=any",
    "avg_msg_size=any",
    "total_msg_size=any",
];

/// The test of `key`, which has no spaces, and its number; `None` if this version does not know it.
/// `parse_json_tree` of `src/mpi/coll/src/csel.c`.
pub(super) fn test(key: &str, version: &Version) -> Option<(Test, Option<Number>)> {
    if let Some(name) = key.strip_prefix("collective=") {
        return collective(name).map(|collective| (Test::Collective(collective), None));
    }
    if let Some((_, test)) = PLAIN.iter().find(|(plain, _)| *plain == key) {
        return Some((simplified(*test, version), None));
    }
    if version.any_of_anything {
        if key == "any" || key.ends_with("=any") {
            return Some((
                Test::Any {
                    of_communicator: true,
                },
                None,
            ));
        }
    } else if ANY.contains(&key) {
        let of_communicator = key == "comm_size=any";
        return Some((Test::Any { of_communicator }, None));
    } else if key == "comm_hierarchy=any" {
        return Some((Test::AnyHierarchy, None));
    }
    let (before, test) = NUMBERED
        .iter()
        .find(|(before, _)| key.starts_with(before))?;
    if *before == "comm_avg_ppn<" && !version.per_node_below {
        return None;
    }
    let number = atoi(&key[before.len()..]);
    Some((test(number.value), Some(number)))
}

fn simplified(test: Test, version: &Version) -> Test {
    match test {
        Test::Hierarchy(hierarchy) if version.hierarchy_or_none => {
            Test::HasHierarchy(hierarchy == Hierarchy::Parent)
        }
        other => other,
    }
}

/// Keys that `version` knows, `N` in place of a number; for suggestions.
pub(super) fn known_keys(version: &Version) -> Vec<String> {
    let numbered = NUMBERED
        .iter()
        .filter(|(before, _)| version.per_node_below || *before != "comm_avg_ppn<");
    PLAIN
        .iter()
        .map(|(key, _)| (*key).to_owned())
        .chain(numbered.map(|(before, _)| format!("{before}N")))
        .chain(ANY.iter().map(|key| (*key).to_owned()))
        .chain(["comm_hierarchy=any".to_owned()])
        .chain(
            super::measures::COLLECTIVES
                .iter()
                .map(|collective| format!("collective={}", collective.name)),
        )
        .collect()
}

impl Test {
    /// Whether something must follow among the keys of the same object: `validate_tree`.
    pub(super) fn needs_another(self) -> bool {
        matches!(
            self,
            Self::SizeAtMost(_)
                | Self::SizeBelow(_)
                | Self::OneHost
                | Self::PowerOfTwo
                | Self::PerNodeAtMost(_)
                | Self::PerNodeBelow(_)
                | Self::AverageAtMost(_)
                | Self::AverageBelow(_)
                | Self::TotalAtMost(_)
                | Self::TotalBelow(_)
                | Self::CountAtMost(_)
                | Self::CountBelowPowerOfTwo
        )
    }

    /// Whether it is of the communicator alone, and hence made when a communicator is: `prune_tree`.
    pub(super) fn of_communicator(self) -> bool {
        matches!(
            self,
            Self::Intra
                | Self::Inter
                | Self::SizeAtMost(_)
                | Self::SizeBelow(_)
                | Self::OneHost
                | Self::PowerOfTwo
                | Self::Hierarchy(_)
                | Self::HasHierarchy(_)
                | Self::NodeConsecutive(_)
                | Self::PerNodeAtMost(_)
                | Self::PerNodeBelow(_)
                | Self::AnyHierarchy
                | Self::Any {
                    of_communicator: true
                }
        )
    }

    /// Whether `collective` defines what it tests.
    pub(super) fn defined_for(self, collective: &Collective) -> bool {
        match self {
            Self::AverageAtMost(_) | Self::AverageBelow(_) => collective.average,
            Self::TotalAtMost(_) | Self::TotalBelow(_) => {
                collective.total != super::measures::Total::None
            }
            Self::CountAtMost(_) | Self::CountBelowPowerOfTwo => collective.count,
            Self::InPlace(_) => collective.in_place,
            Self::Regular(_) => collective.regular,
            Self::Commutative(_) => collective.commutative,
            Self::BuiltIn(_) => collective.built_in,
            _ => true,
        }
    }
}
