//! Times of trees that can be calculated by hand, of the literature and of a model of its own.

use collbench_schedules::trees::Tree;
use collbench_schedules::{Evaluator, Link, Network, Schedule, Way};

/// A link without a gap at the receiver.
fn link(latency: f64, overhead: f64, gap: f64, gap_per_byte: f64) -> Link {
    Link {
        send_overhead_ns: overhead,
        receive_overhead_ns: overhead,
        latency_ns: latency,
        gap_ns: gap,
        gap_per_byte_ns: gap_per_byte,
        receive_gap_ns: 0.0,
        receive_gap_per_byte_ns: 0.0,
        eager_bytes: u64::MAX,
    }
}

fn leaves(schedule: &Schedule, network: &Network) -> Vec<f64> {
    let enters = vec![0.0; schedule.processes.len()];
    let mut evaluator = Evaluator::new(schedule).expect("messages have two ends");
    evaluator.leaves_ns(network, &enters, |_| 0.0).to_vec()
}

fn last(schedule: &Schedule, network: &Network) -> f64 {
    leaves(schedule, network).into_iter().fold(0.0, f64::max)
}

/// A tree by the parent of each process but the first; children by rank.
fn tree(n: usize, parent: impl Fn(usize) -> usize) -> Tree {
    let mut children = vec![Vec::new(); n];
    for rank in 1..n {
        children[parent(rank)].push(rank);
    }
    Tree { root: 0, children }
}

/// A k-nomial tree: the child with the highest rank, which has most below it, comes first.
fn k_nomial(base: usize, n: usize) -> Tree {
    let mut tree = tree(n, |rank| without_lowest(base, rank));
    tree.children.iter_mut().for_each(|of| of.reverse());
    tree
}

/// Without the lowest digit of a number, to a base.
fn without_lowest(base: usize, rank: usize) -> usize {
    let mut digit = 1;
    while rank.is_multiple_of(digit * base) {
        digit *= base;
    }
    rank / (digit * base) * (digit * base)
}

fn families(n: usize) -> [(&'static str, Tree); 7] {
    [
        ("flat", tree(n, |_| 0)),
        ("chain", tree(n, |rank| rank - 1)),
        ("binary", tree(n, |rank| (rank - 1) / 2)),
        ("4-ary", tree(n, |rank| (rank - 1) / 4)),
        ("binomial", k_nomial(2, n)),
        ("4-nomial", k_nomial(4, n)),
        ("8-nomial", k_nomial(8, n)),
    ]
}

/// Whoever is free first sends to the next process: the best tree of equal links.
fn greedy(n: usize, link: &Link) -> Tree {
    let mut children = vec![Vec::new(); n];
    let mut free: Vec<f64> = vec![0.0];
    while free.len() < n {
        let times = free.iter().enumerate();
        let first = times.min_by(|a, b| a.1.total_cmp(b.1)).expect("the root");
        let (sender, at) = (first.0, *first.1);
        let child = free.len();
        children[sender].push(child);
        free[sender] = at + link.gap_ns.max(link.send_overhead_ns);
        free.push(at + link.send_overhead_ns + link.latency_ns + link.receive_overhead_ns);
    }
    Tree { root: 0, children }
}

/// # Source
/// Karp, Sahay, Santos, Schauser 1993, figure 1: P = 8, L = 6, o = 2, g = 4.
#[test]
fn the_best_tree_of_eight_processes_takes_24() {
    let link = link(6.0, 2.0, 4.0, 0.0);
    let network = Network::new(8, vec![link], |_, _| Way::default());
    let best = greedy(8, &link);
    assert_eq!(best.children[0], [1, 2, 3, 5]);
    let mut leaves = leaves(&best.bcast(1), &network);
    // A sender leaves when it has sent its last message.
    assert_eq!(leaves.iter().copied().fold(0.0, f64::max), 24.0);
    leaves.sort_by(f64::total_cmp);
    assert_eq!(leaves[leaves.len() - 2..], [24.0, 24.0]);
    let binomial = k_nomial(2, 8);
    assert_eq!(last(&binomial.bcast(1), &network), 30.0);
}

#[test]
fn broadcasts_among_16_processes_take_what_the_recurrences_give() {
    let network = Network::new(16, vec![link(18.0, 4.0, 5.0, 0.0008)], |_, _| {
        Way::default()
    });
    let expected = [96.1, 390.1, 104.0, 72.0, 104.0, 72.0, 82.0];
    for ((name, tree), expected) in families(16).into_iter().zip(expected) {
        let found = last(&tree.bcast(8), &network);
        assert!(
            (found - expected).abs() < 0.051,
            "{name}: {found}, {expected}"
        );
    }
}

#[test]
fn allreduces_of_64_processes_on_16_hosts_take_what_the_recurrences_give() {
    let classes = vec![link(0.4, 0.2, 0.2, 0.0001), link(18.0, 4.0, 5.0, 0.0008)];
    let network = Network::new(64, classes, |from, to| Way {
        class: usize::from(from / 4 != to / 4),
        shared: None,
    });
    let expected = [583.9, 857.0, 245.9, 160.1, 211.2, 142.4, 185.1];
    for ((name, tree), expected) in families(64).into_iter().zip(expected) {
        let found = last(&tree.allreduce(8), &network);
        assert!(
            (found - expected).abs() < 0.051,
            "{name}: {found}, {expected}"
        );
    }
}
