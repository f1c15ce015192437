//! The trees of Open MPI: of each process its parent, and its children in the order in which the
//! library looks at them.
//!
//! # Source
//! Open MPI's `coll_base_topo.c` says in which order the children are.

/// A process in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// `None`: it is the root.
    pub(crate) parent: Option<usize>,
    pub(crate) children: Vec<usize>,
}

/// Makes places of ranks relative to the root, all of them below `n`, those of the communicator.
pub(crate) fn absolute(
    n: usize,
    root: usize,
    parent: Option<usize>,
    children: Vec<usize>,
) -> Place {
    let of = |relative: usize| (relative + root) % n;
    Place {
        parent: parent.map(of),
        children: children.into_iter().map(of).collect(),
    }
}

/// The rank of a process relative to the root.
pub(crate) fn relative(rank: usize, root: usize, n: usize) -> usize {
    (rank + n - root) % n
}

/// The largest power of two that is not above a number, which is not 0.
pub(crate) fn power_of_two_below(n: usize) -> usize {
    1 << n.ilog2()
}

/// With so many children for each, level by level: the children of a process are as far from each other as its level is
/// wide.
pub(super) fn k_ary(fan_out: usize, rank: usize, root: usize, n: usize) -> Place {
    let at = relative(rank, root, n);
    let (mut width, mut first) = (1, 0);
    while at >= first + width {
        first += width;
        width *= fan_out;
    }
    let children = (1..=fan_out).map(|i| at + width * i);
    let children = children.take_while(|&child| child < n).collect();
    let parent = (at > 0).then(|| {
        let above = width / fan_out;
        first - above + (at - first) % above
    });
    absolute(n, root, parent, children)
}

/// Two children for each, so that the ranks are in order; the root is the last rank.
pub(super) fn in_order_binary(rank: usize, n: usize) -> Place {
    // The part of the ranks from `first` on, of which the last one is the root.
    let (mut first, mut size) = (0, n);
    let mut parent = None;
    loop {
        let root = first + size - 1;
        let right = size / 2;
        let left_child = (size > 1).then(|| root - 1);
        let right_child = (size > 2).then(|| first + right - 1);
        if rank == root {
            let children = left_child.into_iter().chain(right_child).collect();
            return Place { parent, children };
        }
        parent = Some(root);
        match right_child {
            Some(child) if rank <= child => size = right,
            _ => (first, size) = (first + right, size - right - 1),
        }
    }
}

/// A binomial tree in which a process is below the one without its highest bit.
pub(super) fn binomial(rank: usize, root: usize, n: usize) -> Place {
    let at = relative(rank, root, n);
    let above = if at == 0 { 0 } else { power_of_two_below(at) };
    let bits = (0..usize::BITS).map(|bit| 1_usize << bit);
    let children = bits
        .skip_while(|&bit| bit <= above && at > 0)
        .map(|bit| at + bit);
    let children = children.take_while(|&child| child < n).collect();
    absolute(n, root, (at > 0).then(|| at - above), children)
}

/// A binomial tree in which a process is below the one without its lowest bit: each subtree has ranks that follow each other.
pub(crate) fn in_order_binomial(rank: usize, root: usize, n: usize) -> Place {
    let at = relative(rank, root, n);
    let lowest = if at == 0 {
        n.next_power_of_two()
    } else {
        1 << at.trailing_zeros()
    };
    let bits = (0..lowest.ilog2()).map(|bit| at + (1 << bit));
    let children = bits.filter(|&child| child < n).collect();
    absolute(n, root, (at > 0).then(|| at - lowest), children)
}

/// A k-nomial tree; the children with the largest subtrees come first.
pub(crate) fn k_nomial(radix: usize, rank: usize, root: usize, n: usize) -> Place {
    let at = relative(rank, root, n);
    let mut digit = 1;
    while digit < n && at.is_multiple_of(radix * digit) {
        digit *= radix;
    }
    let parent = (at > 0).then(|| at / (radix * digit) * (radix * digit));
    let mut children = Vec::new();
    while digit > 1 {
        digit /= radix;
        children.extend(
            (1..radix)
                .map(|i| at + digit * i)
                .filter(|&child| child < n),
        );
    }
    absolute(n, root, parent, children)
}

/// Chains that begin at the root, of which the first ones may be longer by one.
pub(super) fn chains(n_chains: usize, rank: usize, root: usize, n: usize) -> Place {
    let at = relative(rank, root, n);
    let n_chains = n_chains.clamp(1, (n - 1).max(1));
    let (length, n_longer) = ((n - 1) / n_chains, (n - 1) % n_chains);
    let mut heads = Vec::with_capacity(n_chains + 1);
    heads.push(1);
    for chain in 0..n_chains {
        heads.push(heads[chain] + length + usize::from(chain < n_longer));
    }
    if at == 0 {
        heads.truncate(n_chains);
        heads.retain(|&head| head < n);
        return absolute(n, root, None, heads);
    }
    let parent = if heads.contains(&at) { 0 } else { at - 1 };
    let is_last = heads.contains(&(at + 1));
    let children = if is_last { Vec::new() } else { vec![at + 1] };
    absolute(n, root, Some(parent), children)
}
