//! Trees with which the search begins: shapes by level, and trees that are made for the links.

use collbench_formats::tree::{Form, Level, Shape, Shaped};

use super::super::own_trees::collective;
use super::objective::{Objective, OfClass};
use super::tree::{HostTree, n_hosts};

/// Shapes for the places of a level.
const SHAPES: [Shape; 9] = [
    Shape::Linear,
    Shape::Binomial,
    Shape::Knomial(4),
    Shape::Knomial(8),
    Shape::Kary(2),
    Shape::Kary(4),
    Shape::Chain(1),
    Shape::Chain(2),
    Shape::Exchange,
];
/// Shapes for sites: there are few of them.
const OF_SITES: [Shape; 3] = [Shape::Linear, Shape::Binomial, Shape::Exchange];
/// Of more hosts no trees are made for the links: that takes the third power of their number.
const MOST_HOSTS: usize = 256;

/// Shapes by level for the calls, as far as they have places of the level.
pub(super) fn shapes(objective: &Objective<'_, '_>) -> Vec<Form> {
    let mut forms = Vec::new();
    let mut add = |joins: &[(Level, Shape)]| {
        forms.push(Form::Shaped(Shaped {
            joins: joins.to_vec(),
            root: None,
            hosts: Vec::new(),
        }));
    };
    let has_root = has_root(objective);
    let is_possible = |shape: &Shape| !(has_root && *shape == Shape::Exchange);
    let all_hosts = objective.classes.iter().map(|of| n_hosts(&of.places));
    if all_hosts.max().unwrap_or(1) < 2 {
        for shape in SHAPES.into_iter().filter(is_possible) {
            add(&[(Level::Rank, shape)]);
        }
        return forms;
    }
    let of_ranks = (Level::Rank, Shape::Linear);
    for of_hosts in SHAPES.into_iter().filter(is_possible) {
        add(&[of_ranks, (Level::Host, of_hosts)]);
        if !objective.has_sites() || of_hosts == Shape::Exchange {
            continue;
        }
        for of_sites in OF_SITES.into_iter().filter(is_possible) {
            add(&[of_ranks, (Level::Host, of_hosts), (Level::Site, of_sites)]);
        }
    }
    forms
}

/// Whether the operation has a root.
pub(super) fn has_root(objective: &Objective<'_, '_>) -> bool {
    let of_first = collective(objective.classes[0].class);
    of_first.is_some_and(|of| of.has_root())
}

/// Trees in which whoever is free first sends to whom the message reaches first, from some roots.
///
/// # Source
/// Bhat, Raghavendra, Prasanna 1999 (earliest completing edge first). Where the same processes are late again and again,
/// a message reaches nobody before it has entered.
pub(super) fn earliest(objective: &Objective<'_, '_>) -> Vec<HostTree> {
    let of = &objective.classes[0];
    let flat = HostTree::flat(&of.places);
    if flat.len() < 2 || flat.len() > MOST_HOSTS {
        return Vec::new();
    }
    let mut roots = vec![0];
    if has_root(objective) {
        roots[0] = flat.host_of(of.class.root as u32);
    } else if let Some(late_ns) = &of.late_ns {
        let latest = (0..late_ns.len()).max_by(|&a, &b| late_ns[a].total_cmp(&late_ns[b]));
        roots.extend(latest.map(|rank| flat.host_of(rank as u32)));
    }
    let late_ns = |host: usize| {
        let of_ranks = of.late_ns.as_ref().map(|late_ns| {
            let ranks = flat.ranks[host].iter();
            ranks
                .map(|&rank| late_ns[rank as usize])
                .fold(0.0, f64::max)
        });
        of_ranks.unwrap_or(0.0)
    };
    let mut trees: Vec<HostTree> = Vec::new();
    for &root in &roots {
        for is_for_late in [false, true] {
            let late_ns = |host| if is_for_late { late_ns(host) } else { 0.0 };
            let mut flat = flat.clone();
            if has_root(objective) {
                flat.owners[root] = of.class.root as u32;
            }
            let tree = earliest_from(flat, root, of, late_ns);
            trees.extend(tree.filter(|tree| !trees.contains(tree)));
        }
    }
    trees
}

fn earliest_from(
    mut tree: HostTree,
    root: usize,
    of: &OfClass<'_, '_>,
    late_ns: impl Fn(usize) -> f64,
) -> Option<HostTree> {
    tree.children.iter_mut().for_each(Vec::clear);
    tree.tops = vec![root];
    // When each host can send next, ns; `None` while it does not have the value.
    let mut free_ns: Vec<Option<f64>> = vec![None; tree.len()];
    free_ns[root] = Some(late_ns(root));
    for _ in 1..tree.len() {
        let mut earliest: Option<(f64, usize, usize, f64)> = None;
        for (from, free) in free_ns.iter().enumerate() {
            let Some(begin_ns) = *free else {
                continue;
            };
            let to = free_ns
                .iter()
                .enumerate()
                .filter(|(_, free)| free.is_none());
            for (to, _) in to {
                let ends = [tree.owners[from] as usize, tree.owners[to] as usize];
                let link = of.known().link(ends)?;
                let rest_ns = of.class.bytes.saturating_sub(1) as f64 * link.gap_per_byte_ns;
                let arrives_ns = begin_ns + link.send_overhead_ns + link.latency_ns + rest_ns;
                let there_ns = arrives_ns.max(late_ns(to)) + link.receive_overhead_ns;
                if earliest.is_none_or(|(before_ns, ..)| there_ns < before_ns) {
                    let next_ns = begin_ns + link.send_overhead_ns.max(link.gap_ns + rest_ns);
                    earliest = Some((there_ns, from, to, next_ns));
                }
            }
        }
        let (there_ns, from, to, next_ns) = earliest?;
        free_ns[from] = Some(next_ns);
        free_ns[to] = Some(there_ns);
        tree.children[from].push(to);
    }
    Some(tree)
}
