//! Which wrappers of two spanning trees correspond, and how they are configured differently.
//!
//! A wrapper is known by its kind and the ranks whose data come to it; where no wrapper of the other
//! tree has the same ranks, by its kind and owner. Its configuration is what a tree file says of it:
//! owner, contributors, and where a proxy leads to; and which ranks share the host of its owner.
//! Names of hosts are not part of it, since a job may run on other hosts the next time.

use std::collections::BTreeMap;

use collbench_stats::random::mix;

use crate::results::trees::{OwnContributor, OwnWrapper};

/// Two wrappers that correspond, or one that has no counterpart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WrapperPair {
    /// Index in the tree of the baseline.
    pub(crate) baseline: Option<u32>,
    /// Index in the other tree.
    pub(crate) other: Option<u32>,
    /// What is configured differently.
    pub(crate) changed: Vec<&'static str>,
}

/// A set of ranks: number and sum of hashes. Sets of a deep tree would be too large to be kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct RankSet {
    n: u64,
    sum: u128,
}

impl RankSet {
    fn add(&mut self, rank: u32) {
        self.n += 1;
        self.sum = self.sum.wrapping_add(hash(rank));
    }

    fn join(&mut self, other: Self) {
        self.n += other.n;
        self.sum = self.sum.wrapping_add(other.sum);
    }
}

/// 128 bits in which equal sums of different sets do not occur.
fn hash(rank: u32) -> u128 {
    let mix = |seed: u64| mix(u64::from(rank).wrapping_add(seed));
    u128::from(mix(0x9e37_79b9_7f4a_7c15)) << 64 | u128::from(mix(0x3c6e_f372_fe94_f82a))
}

/// What contributes to a wrapper: a rank, or a wrapper by its kind and ranks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum From {
    Rank(u32),
    Wrapper(String, RankSet),
}

/// A wrapper, as it is configured.
#[derive(Debug)]
struct Configured {
    kind: String,
    owner: u32,
    /// The ranks whose data come to it.
    ranks: RankSet,
    contributors: Vec<From>,
    /// The owner of the wrapper that a proxy leads to.
    destination: Option<u32>,
    /// The ranks on the host of its owner.
    neighbours: RankSet,
}

/// The wrappers of a tree. `host_of`: host of a rank, where it is known.
fn configured<'h>(
    wrappers: &[OwnWrapper],
    host_of: impl Fn(u32) -> Option<&'h str>,
) -> Vec<Configured> {
    let mut on_host: BTreeMap<&str, RankSet> = BTreeMap::new();
    let mut found: Vec<Configured> = Vec::with_capacity(wrappers.len());
    for wrapper in wrappers {
        let mut ranks = RankSet::default();
        let mut contributors = Vec::with_capacity(wrapper.contributors.len());
        for of in &wrapper.contributors {
            match *of {
                OwnContributor::Rank(rank) => {
                    ranks.add(rank);
                    if let Some(host) = host_of(rank) {
                        on_host.entry(host).or_default().add(rank);
                    }
                    contributors.push(From::Rank(rank));
                }
                OwnContributor::Wrapper(idx) => {
                    if let Some(above) = found.get(idx as usize) {
                        ranks.join(above.ranks);
                        contributors.push(From::Wrapper(above.kind.clone(), above.ranks));
                    }
                }
            }
        }
        let parent = wrapper.parent.filter(|_| &*wrapper.kind == "proxy");
        let parent = parent.and_then(|parent| wrappers.get(parent as usize));
        found.push(Configured {
            kind: wrapper.kind.to_string(),
            owner: wrapper.owner,
            ranks,
            contributors,
            destination: parent.map(|parent| parent.owner),
            neighbours: RankSet::default(),
        });
    }
    for of in &mut found {
        let host = host_of(of.owner);
        of.neighbours = host
            .and_then(|host| on_host.get(host).copied())
            .unwrap_or_default();
    }
    found
}

/// What differs in the configuration of two wrappers.
fn changed(one: &Configured, two: &Configured) -> Vec<&'static str> {
    let mut changed = Vec::new();
    if one.owner != two.owner {
        changed.push("owner");
    }
    if one.contributors != two.contributors {
        let sorted = |of: &Configured| {
            let mut all = of.contributors.clone();
            all.sort();
            all
        };
        changed.push(if sorted(one) == sorted(two) {
            "order"
        } else {
            "contributors"
        });
    }
    if one.destination != two.destination {
        changed.push("destination");
    }
    // An owner on another host is said already.
    if one.owner == two.owner && one.neighbours != two.neighbours {
        changed.push("host");
    }
    changed
}

/// Pairs the wrappers of two trees: those of the baseline in their order, then those that only the
/// other tree has. `hosts`: host of a rank in each run.
pub(crate) fn pairs<'h>(
    [baseline, other]: [&[OwnWrapper]; 2],
    [host_in_baseline, host_in_other]: [&dyn Fn(u32) -> Option<&'h str>; 2],
) -> Vec<WrapperPair> {
    let (ones, twos) = (
        configured(baseline, host_in_baseline),
        configured(other, host_in_other),
    );
    let mut pair_of: Vec<Option<usize>> = vec![None; ones.len()];
    let mut is_taken = vec![false; twos.len()];
    pair_up((&ones, &twos), (&mut pair_of, &mut is_taken), |of| {
        (of.kind.clone(), of.ranks)
    });
    pair_up((&ones, &twos), (&mut pair_of, &mut is_taken), |of| {
        (of.kind.clone(), of.owner)
    });
    let of_baseline = ones.iter().zip(&pair_of).enumerate();
    let of_baseline = of_baseline.map(|(at, (one, two))| WrapperPair {
        baseline: Some(at as u32),
        other: two.map(|two| two as u32),
        changed: two.map_or_else(Vec::new, |two| changed(one, &twos[two])),
    });
    let left = (0u32..).zip(&is_taken).filter(|(_, is_taken)| !**is_taken);
    let only_there = left.map(|(at, _)| WrapperPair {
        baseline: None,
        other: Some(at),
        changed: Vec::new(),
    });
    of_baseline.chain(only_there).collect()
}

/// Pairs those without a counterpart that have equal keys, in their order.
fn pair_up<K: Ord>(
    (ones, twos): (&[Configured], &[Configured]),
    (pair_of, is_taken): (&mut [Option<usize>], &mut [bool]),
    key: impl Fn(&Configured) -> K,
) {
    let mut left: BTreeMap<K, Vec<usize>> = BTreeMap::new();
    for (at, two) in twos.iter().enumerate().rev() {
        if !is_taken[at] {
            left.entry(key(two)).or_default().push(at);
        }
    }
    for (one, pair) in ones.iter().zip(pair_of) {
        let alike = if pair.is_none() {
            left.get_mut(&key(one))
        } else {
            None
        };
        if let Some(at) = alike.and_then(Vec::pop) {
            *pair = Some(at);
            is_taken[at] = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use OwnContributor::{Rank, Wrapper};

    fn wrapper(
        kind: &'static str,
        owner: u32,
        contributors: &[OwnContributor],
        parent: Option<u32>,
    ) -> OwnWrapper {
        OwnWrapper {
            kind: kind.into(),
            owner,
            host: String::new(),
            contributors: contributors.to_vec(),
            parent,
        }
    }

    /// Two hosts with two ranks each; the gred of ranks 2 and 3 is owned by one of them.
    fn two_hosts(owner: u32) -> Vec<OwnWrapper> {
        vec![
            wrapper("gred", owner, &[Rank(2), Rank(3)], Some(1)),
            wrapper("proxy", owner, &[Wrapper(0)], Some(2)),
            wrapper("gred", 0, &[Rank(0), Rank(1), Wrapper(1)], Some(3)),
            wrapper("core", 0, &[Wrapper(2)], None),
        ]
    }

    fn host(rank: u32) -> Option<&'static str> {
        Some(if rank < 2 { "a" } else { "b" })
    }

    fn of(one: &[OwnWrapper], two: &[OwnWrapper]) -> Vec<WrapperPair> {
        pairs([one, two], [&host, &host])
    }

    fn pair(baseline: u32, other: u32, changed: &[&'static str]) -> WrapperPair {
        WrapperPair {
            baseline: Some(baseline),
            other: Some(other),
            changed: changed.to_vec(),
        }
    }

    #[test]
    fn a_tree_is_not_reconfigured_against_itself() {
        let tree = two_hosts(2);
        let same: Vec<WrapperPair> = (0..4).map(|at| pair(at, at, &[])).collect();
        assert_eq!(of(&tree, &tree), same);
    }

    #[test]
    fn another_owner_reconfigures_the_wrapper_and_its_proxy_only() {
        let found = of(&two_hosts(2), &two_hosts(3));
        let expected = [
            pair(0, 0, &["owner"]),
            pair(1, 1, &["owner"]),
            pair(2, 2, &[]),
            pair(3, 3, &[]),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_level_that_is_added_has_no_counterpart_and_its_parent_other_contributors() {
        let mut deeper = two_hosts(2);
        deeper[2].contributors = vec![Wrapper(0), Wrapper(2)];
        deeper.insert(0, wrapper("gred", 0, &[Rank(0), Rank(1)], Some(3)));
        for wrapper in &mut deeper[1..] {
            wrapper.parent = wrapper.parent.map(|parent| parent + 1);
        }
        deeper[2].contributors = vec![Wrapper(1)];
        deeper[3].contributors = vec![Wrapper(0), Wrapper(2)];
        deeper[4].contributors = vec![Wrapper(3)];
        let found = of(&two_hosts(2), &deeper);
        let added = WrapperPair {
            baseline: None,
            other: Some(0),
            changed: vec![],
        };
        let expected = [
            pair(0, 1, &[]),
            pair(1, 2, &[]),
            pair(2, 3, &["contributors"]),
            pair(3, 4, &[]),
            added.clone(),
        ];
        assert_eq!(found, expected);
        let back = of(&deeper, &two_hosts(2));
        let removed = WrapperPair {
            baseline: Some(0),
            other: None,
            changed: vec![],
        };
        assert!(back.contains(&removed) && !back.contains(&added));
    }

    #[test]
    fn other_ranks_under_the_same_owner_are_other_contributors() {
        let mut smaller = two_hosts(2);
        smaller[0].contributors = vec![Rank(3), Rank(2)];
        assert_eq!(of(&two_hosts(2), &smaller)[0], pair(0, 0, &["order"]));
        smaller[0].contributors = vec![Rank(2), Rank(4)];
        let found = of(&two_hosts(2), &smaller);
        // There is another rank on the host, too, and its data are among those all the way down.
        let changed = ["contributors", "host"];
        assert_eq!(found[0], pair(0, 0, &changed));
        assert_eq!(found[1], pair(1, 1, &changed));
    }

    #[test]
    fn hosts_of_other_names_are_the_same_but_other_neighbours_are_not() {
        let tree = two_hosts(2);
        let renamed = |rank: u32| Some(if rank < 2 { "n7" } else { "n9" });
        let found = pairs([&tree, &tree], [&host, &renamed]);
        assert!(found.iter().all(|pair| pair.changed.is_empty()));
        let together = |_: u32| Some("a");
        let found = pairs([&tree, &tree], [&host, &together]);
        assert!(found.iter().all(|pair| pair.changed == ["host"]));
    }
}
