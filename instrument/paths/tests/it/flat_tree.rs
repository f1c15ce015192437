//! Trees of one host whose ranks all contribute to one wrapper.

use collbench_formats::tree::{Collectors, Contributor, Level, Wrapper, WrapperKind, Wrappers};

/// Ranks of one host contribute to one wrapper of this owner, in this order; it is the core or has
/// it behind it.
pub(crate) fn flat_tree(
    kind: WrapperKind,
    ranks: impl IntoIterator<Item = u32>,
    owner: u32,
) -> Wrappers {
    let wrapper = |kind, contributors, parent| Wrapper {
        kind,
        owner,
        contributors,
        parent,
        level: Level::Rank,
        collectors: Collectors::NONE,
    };
    let ranks: Vec<_> = ranks.into_iter().map(Contributor::Rank).collect();
    let hosts = vec![0; ranks.len()];
    let wrappers = match kind {
        WrapperKind::Gred => vec![
            wrapper(kind, ranks, Some(1)),
            wrapper(WrapperKind::Core, vec![Contributor::Wrapper(0)], None),
        ],
        _ => vec![wrapper(kind, ranks, None)],
    };
    Wrappers::new(hosts, wrappers).expect("a whole tree")
}
