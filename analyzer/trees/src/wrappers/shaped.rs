//! Ranks divided by levels, and joined by shapes.

use std::collections::HashMap;

use collbench_formats::tree::{Contributor, Level, Node, Place, Shape, Shaped, WrapperKind};

use super::hosts::host_fits;
use super::shapes::Tree;
use super::{Members, Order, Unfit};

/// The joins of all ranks, each after its contributors.
pub(super) fn nodes(
    form: &Shaped,
    root: Option<u32>,
    order: Order,
    members: Members<'_>,
) -> Result<Vec<Node>, Unfit> {
    let n_ranks = members.places.len() as u32;
    if let Some(root) = form.root.filter(|&root| root >= n_ranks) {
        return Err(Unfit::Root { root, n_ranks });
    }
    let mut joining = Joining {
        form,
        places: members.places,
        order,
        // In the order of ranks the root is where the shape has it: the result is handed over.
        root: root.or(form.root).filter(|_| order == Order::Any),
        nodes: Vec::new(),
    };
    let ranks = ranks_in_order(form, order, members)?;
    joining.join(&ranks, Level::ALL.len(), true);
    Ok(joining.nodes)
}

/// All ranks, by the hosts that the form names, if it does, and then by rank.
fn ranks_in_order(form: &Shaped, order: Order, members: Members<'_>) -> Result<Vec<u32>, Unfit> {
    let mut ranks: Vec<u32> = (0..members.places.len() as u32).collect();
    if form.hosts.is_empty() {
        return Ok(ranks);
    }
    let mut keys = Vec::with_capacity(ranks.len());
    for place in members.places {
        let name = members.hosts.get(place.host as usize);
        let name = name.map_or("", String::as_str);
        let position = form.hosts.iter().position(|named| host_fits(named, name));
        let Some(position) = position else {
            return Err(Unfit::Host(name.to_owned()));
        };
        keys.push(position);
    }
    if order == Order::Any {
        ranks.sort_by_key(|&rank| (keys[rank as usize], rank));
    }
    Ok(ranks)
}

struct Joining<'m> {
    form: &'m Shaped,
    places: &'m [Place],
    order: Order,
    /// The rank that has to be at the root.
    root: Option<u32>,
    nodes: Vec<Node>,
}

/// What contributes to a join, with the rank that acts for it.
#[derive(Debug, Clone, Copy)]
struct Part {
    contributor: Contributor,
    owner: u32,
    /// Whether the root is in it.
    has_root: bool,
}

impl Joining<'_> {
    /// Joins these ranks, at least one, by the narrowest `n_levels` levels.
    fn join(&mut self, ranks: &[u32], n_levels: usize, is_bottommost: bool) -> Part {
        let level = Level::ALL[n_levels - 1];
        let shape = self.form.joins.iter().find(|(of, _)| *of == level);
        if level == Level::Rank {
            let shape = shape.map_or(Shape::Linear, |&(_, shape)| shape);
            return self.join_ranks(ranks, shape, is_bottommost);
        }
        let Some(&(_, shape)) = shape else {
            return self.join(ranks, n_levels - 1, is_bottommost);
        };
        let groups = self.groups(ranks, level);
        if groups.len() == 1 {
            return self.join(ranks, n_levels - 1, is_bottommost);
        }
        let groups = groups.iter();
        let parts = groups.map(|group| self.join(group, n_levels - 1, false));
        let parts = parts.collect();
        self.join_parts(parts, shape, is_bottommost)
    }

    /// The ranks of each place at a level, in the order of the first ones.
    fn groups(&self, ranks: &[u32], level: Level) -> Vec<Vec<u32>> {
        let mut groups: Vec<Vec<u32>> = Vec::new();
        let mut known = HashMap::new();
        for &rank in ranks {
            let place = &self.places[rank as usize];
            // The same number on two hosts is not the same socket.
            let wider = Level::ALL.map(|of| place.at(of).filter(|_| of >= level));
            let group = *known.entry(wider).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            groups[group].push(rank);
        }
        groups
    }

    fn join_ranks(&mut self, ranks: &[u32], shape: Shape, is_bottommost: bool) -> Part {
        let part = |&rank: &u32| Part {
            contributor: Contributor::Rank(rank),
            owner: rank,
            has_root: self.root == Some(rank),
        };
        let parts = ranks.iter().map(part).collect();
        self.join_parts(parts, shape, is_bottommost)
    }

    /// Joins at least one part by a shape; the one with the root is at its root.
    fn join_parts(&mut self, mut parts: Vec<Part>, shape: Shape, is_bottommost: bool) -> Part {
        if let [only] = parts[..] {
            return only;
        }
        let has_root = parts.iter().any(|part| part.has_root);
        if shape == Shape::Exchange && is_bottommost {
            let owner = parts[0].owner;
            return self.push(WrapperKind::Exchange, owner, &parts, has_root);
        }
        let tree = Tree::of(shape, parts.len() as u32, self.order);
        if let Some(at) = parts.iter().position(|part| part.has_root) {
            let n = parts.len();
            parts.rotate_left((at + n - tree.root()) % n);
        }
        self.join_tree(&parts, &tree, tree.root(), has_root)
    }

    /// The subtree of a place, children first.
    fn join_tree(&mut self, parts: &[Part], tree: &Tree, root: usize, has_root: bool) -> Part {
        // Without recursion: a chain is as deep as it has places.
        let mut children = vec![Vec::new(); parts.len()];
        for (place, &parent) in tree.parents.iter().enumerate() {
            if place != root {
                children[parent as usize].push(place);
            }
        }
        let mut order = Vec::with_capacity(parts.len());
        let mut open = vec![root];
        while let Some(place) = open.pop() {
            order.push(place);
            open.extend(&children[place]);
        }
        let mut joined: Vec<Part> = parts.to_vec();
        for &place in order
            .iter()
            .rev()
            .filter(|&&place| !children[place].is_empty())
        {
            let mut contributors: Vec<Part> =
                children[place].iter().map(|&child| joined[child]).collect();
            let own = parts[place];
            let own_at = if tree.is_last { contributors.len() } else { 0 };
            contributors.insert(own_at, own);
            joined[place] = self.push(WrapperKind::Gred, own.owner, &contributors, has_root);
        }
        joined[root]
    }

    fn push(&mut self, kind: WrapperKind, owner: u32, parts: &[Part], has_root: bool) -> Part {
        let contributor = Contributor::Wrapper(self.nodes.len() as u32);
        self.nodes.push(Node {
            name: String::new(),
            line: 0,
            kind,
            owner,
            contributors: parts.iter().map(|part| part.contributor).collect(),
            collectors: None,
            proxy_collectors: None,
        });
        Part {
            contributor,
            owner,
            has_root,
        }
    }
}
