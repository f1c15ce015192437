//! The collectives within hosts and among them that a collective is composed of.

/// A collective on a part of the communicator.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    /// Within the host of each process, if it has others.
    Node(&'static str),
    /// Among the first processes of all hosts.
    Roots(&'static str),
    /// A broadcast of one byte within each host, which ends a barrier.
    Release,
    /// A broadcast within each host that tells whether the next one comes.
    Noneed,
    /// A broadcast within each host but the first of what the hosts before it have.
    Prefix,
}

/// Where the root is, seen from a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RootPlace {
    /// On another host.
    Elsewhere,
    /// The first process of its host.
    First,
    /// On its host, but not the first.
    Later,
}

/// The parts of `collective` in composition `letter`, for a rank that sees the root there.
pub(super) fn hierarchical_parts(collective: &str, letter: &str, root: RootPlace) -> Vec<Part> {
    match (collective, letter) {
        ("bcast", "alpha") => vec![Part::Roots("bcast"), Part::Node("bcast")],
        ("bcast", _) if root == RootPlace::Later => {
            vec![Part::Node("bcast"), Part::Roots("bcast")]
        }
        ("bcast", _) => vec![Part::Roots("bcast"), Part::Node("bcast")],
        ("reduce", "beta") if root != RootPlace::Elsewhere => {
            vec![Part::Roots("reduce"), Part::Node("reduce")]
        }
        ("reduce", _) => vec![Part::Node("reduce"), Part::Roots("reduce")],
        ("scan", _) => vec![
            Part::Node("scan"),
            Part::Roots("scan"),
            Part::Noneed,
            Part::Prefix,
        ],
        _ => vec![
            Part::Node("reduce"),
            Part::Roots("allreduce"),
            Part::Node("bcast"),
        ],
    }
}
