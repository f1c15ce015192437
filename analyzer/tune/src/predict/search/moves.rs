//! Steps from one tree of hosts to another.

use collbench_stats::random::Random;

use super::tree::HostTree;

/// What may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Freedom {
    /// Whether any host can be at the root, and several be partners of an exchange: the operation has no root.
    pub(super) is_root_free: bool,
}

/// Makes a random change; `false` if that was not possible.
pub(super) fn change(tree: &mut HostTree, freedom: Freedom, random: &mut Random) -> bool {
    match random.below(if freedom.is_root_free { 9 } else { 6 }) {
        0 | 1 => reattach(tree, random),
        2 => swap(tree, freedom, random),
        3 => permute(tree, random),
        4 => split(tree, random),
        5 => dissolve(tree, random),
        6 => root(tree, random),
        7 => exchange(tree, random),
        _ => owner(tree, random),
    }
}

/// A host below a top.
fn below(tree: &HostTree, random: &mut Random) -> Option<(usize, usize)> {
    let host = random.below(tree.len());
    tree.parent(host).map(|parent| (host, parent))
}

fn take(children: &mut Vec<usize>, host: usize) {
    children.retain(|&of| of != host);
}

/// A host with all below it gets another parent, or another place among the children of its parent.
fn reattach(tree: &mut HostTree, random: &mut Random) -> bool {
    let Some((host, parent)) = below(tree, random) else {
        return false;
    };
    let to = random.below(tree.len());
    if tree.is_below(to, host) {
        return false;
    }
    take(&mut tree.children[parent], host);
    let at = random.below(tree.children[to].len() + 1);
    tree.children[to].insert(at, host);
    true
}

/// Two hosts change places.
fn swap(tree: &mut HostTree, freedom: Freedom, random: &mut Random) -> bool {
    let [one, other] = [(); 2].map(|()| random.below(tree.len()));
    let is_top = |host| tree.tops.contains(&host);
    if one == other || (!freedom.is_root_free && (is_top(one) || is_top(other))) {
        return false;
    }
    tree.children.swap(one, other);
    let lists = tree.children.iter_mut().chain([&mut tree.tops]);
    for host in lists.flatten() {
        if *host == one {
            *host = other;
        } else if *host == other {
            *host = one;
        }
    }
    true
}

/// A host with at least so many children.
fn with_children(tree: &HostTree, least: usize, random: &mut Random) -> Option<usize> {
    let hosts = (0..tree.len()).filter(|&host| tree.children[host].len() >= least);
    let hosts: Vec<usize> = hosts.collect();
    (!hosts.is_empty()).then(|| hosts[random.below(hosts.len())])
}

/// Two children of a host change places.
fn permute(tree: &mut HostTree, random: &mut Random) -> bool {
    let Some(host) = with_children(tree, 2, random) else {
        return false;
    };
    let children = &mut tree.children[host];
    let [one, other] = [(); 2].map(|()| random.below(children.len()));
    children.swap(one, other);
    one != other
}

/// The first child of a host gets the last half of its siblings.
fn split(tree: &mut HostTree, random: &mut Random) -> bool {
    let Some(host) = with_children(tree, 2, random) else {
        return false;
    };
    let children = &mut tree.children[host];
    let n_kept = children.len().div_ceil(2).max(1);
    let moved = children.split_off(n_kept);
    let first = children[0];
    tree.children[first].extend(moved);
    true
}

/// The children of a host become those of its parent, after it.
fn dissolve(tree: &mut HostTree, random: &mut Random) -> bool {
    let Some((host, parent)) = below(tree, random) else {
        return false;
    };
    let moved = std::mem::take(&mut tree.children[host]);
    let is_change = !moved.is_empty();
    let siblings = &mut tree.children[parent];
    let at = siblings.iter().position(|&of| of == host);
    let after = at.map_or(siblings.len(), |at| at + 1);
    siblings.splice(after..after, moved);
    is_change
}

/// A child of a top takes its place, and gets it as a child.
fn root(tree: &mut HostTree, random: &mut Random) -> bool {
    let nth = random.below(tree.tops.len());
    let top = tree.tops[nth];
    if tree.children[top].is_empty() {
        return false;
    }
    let at = random.below(tree.children[top].len());
    let child = tree.children[top].remove(at);
    tree.children[child].insert(0, top);
    tree.tops[nth] = child;
    true
}

/// A child of a top becomes a partner in an exchange, or a partner a child of another one.
fn exchange(tree: &mut HostTree, random: &mut Random) -> bool {
    let nth = random.below(tree.tops.len());
    let top = tree.tops[nth];
    if random.below(2) == 0 && !tree.children[top].is_empty() {
        let at = random.below(tree.children[top].len());
        let child = tree.children[top].remove(at);
        tree.tops.push(child);
        return true;
    }
    let other = tree.tops[random.below(tree.tops.len())];
    if other == top {
        return false;
    }
    tree.tops.remove(nth);
    tree.children[other].push(top);
    true
}

/// Another rank acts for a host.
fn owner(tree: &mut HostTree, random: &mut Random) -> bool {
    let host = random.below(tree.len());
    let ranks = &tree.ranks[host];
    let rank = ranks[random.below(ranks.len())];
    std::mem::replace(&mut tree.owners[host], rank) != rank
}

#[cfg(test)]
mod tests {
    use collbench_formats::tree::Place;

    use super::*;

    #[test]
    fn each_change_leaves_a_spanning_tree_with_the_root_where_it_must_be() {
        let place = |rank: u32| Place {
            host: rank / 2,
            ..Place::default()
        };
        let places: Vec<Place> = (0..18).map(place).collect();
        for is_root_free in [false, true] {
            let freedom = Freedom { is_root_free };
            let random = &mut Random::of(&[u64::from(is_root_free)]);
            let mut tree = HostTree::flat(&places);
            let mut n_changes = 0;
            for _ in 0..5000 {
                let before = tree.clone();
                let is_changed = change(&mut tree, freedom, random);
                n_changes += u32::from(is_changed && before != tree);
                let mut hosts: Vec<usize> = tree.children.iter().flatten().copied().collect();
                hosts.extend(&tree.tops);
                hosts.sort_unstable();
                assert_eq!(hosts, (0..9).collect::<Vec<_>>(), "{before:?} {tree:?}");
                for host in 0..9 {
                    assert!(tree.tops.iter().any(|&top| tree.is_below(host, top)));
                    assert!(tree.ranks[host].contains(&tree.owners[host]));
                }
                assert!(is_root_free || tree.tops == [0]);
            }
            assert!(n_changes > 2000, "{n_changes}");
        }
    }
}
