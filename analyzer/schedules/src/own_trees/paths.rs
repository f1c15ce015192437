//! A tree as it is executed: where paths join, and what lies between two joins.

use collbench_formats::tree::{Contributor, WrapperKind, Wrappers};

/// Where paths join: a gred, an exchange, or the core.
#[derive(Debug)]
pub(super) struct Join {
    /// The rank that receives what comes from other hosts.
    pub(super) owner: u32,
    pub(super) is_exchange: bool,
    /// Whether its owner acts for it where data flow both ways; else who arrives last.
    pub(super) is_owned: bool,
    /// Indexes of edges, in the order in which values are combined.
    pub(super) contributors: Vec<usize>,
    /// The edge to the next join; the bottommost one has none.
    pub(super) below: Option<usize>,
    /// All ranks whose paths go through it, ascending.
    ranks: Vec<u32>,
}

/// A process, or a join whose result goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Station {
    Rank(u32),
    Join(usize),
}

/// The way from a station to the join that it contributes to.
#[derive(Debug)]
pub(super) struct Edge {
    pub(super) from: Station,
    /// Its join.
    pub(super) to: usize,
    /// The rank that acts for the station.
    pub(super) owner: u32,
    /// Whether it leads to another host, but for an exchange.
    pub(super) is_proxy: bool,
}

/// A tree as it is executed by processes that have a host each.
#[derive(Debug)]
pub(super) struct Paths {
    pub(super) n_ranks: usize,
    /// Contributors before those they contribute to.
    pub(super) joins: Vec<Join>,
    pub(super) edges: Vec<Edge>,
    /// The first edge on the path of each rank.
    pub(super) first_edges: Vec<usize>,
}

impl Paths {
    pub(super) fn new(tree: &Wrappers) -> Self {
        let mut paths = Self {
            n_ranks: tree.hosts().len(),
            joins: Vec::new(),
            edges: Vec::new(),
            first_edges: vec![0; tree.hosts().len()],
        };
        // The join of each wrapper that is one.
        let mut joins = Vec::with_capacity(tree.all().len());
        for wrapper in tree.all() {
            joins.push(paths.joins.len());
            if wrapper.kind == WrapperKind::Proxy {
                continue;
            }
            let join = paths.joins.len();
            paths.joins.push(Join {
                owner: wrapper.owner,
                is_exchange: wrapper.kind == WrapperKind::Exchange,
                is_owned: false,
                contributors: Vec::with_capacity(wrapper.contributors.len()),
                below: None,
                ranks: Vec::new(),
            });
            for &contributor in &wrapper.contributors {
                paths.add_edge(tree, contributor, join, &joins);
            }
            paths.joins[join].ranks.sort_unstable();
        }
        for at in 0..paths.joins.len() {
            paths.joins[at].is_owned = paths.must_be_owned(at);
        }
        paths
    }

    fn add_edge(&mut self, tree: &Wrappers, contributor: Contributor, to: usize, joins: &[usize]) {
        let mut start = contributor;
        let mut is_proxy = false;
        if let Contributor::Wrapper(at) = contributor {
            let wrapper = &tree.all()[at as usize];
            if wrapper.kind == WrapperKind::Proxy {
                (start, is_proxy) = (wrapper.contributors[0], true);
            }
        }
        let edge = self.edges.len();
        let from = match start {
            Contributor::Rank(rank) => {
                self.first_edges[rank as usize] = edge;
                self.joins[to].ranks.push(rank);
                Station::Rank(rank)
            }
            Contributor::Wrapper(above) => {
                let above = joins[above as usize];
                self.joins[above].below = Some(edge);
                let ranks = self.joins[above].ranks.clone();
                self.joins[to].ranks.extend(ranks);
                Station::Join(above)
            }
        };
        self.joins[to].contributors.push(edge);
        self.edges.push(Edge {
            from,
            to,
            owner: tree.owner_of(start),
            is_proxy,
        });
    }

    /// Whether messages come to a join, or go from it to partners of an exchange.
    fn must_be_owned(&self, join: usize) -> bool {
        let join = &self.joins[join];
        let mut contributors = join.contributors.iter();
        let is_partner = join.below.is_some_and(|below| {
            let below = &self.joins[self.edges[below].to];
            let mut owners = below
                .contributors
                .iter()
                .map(|&edge| self.edges[edge].owner);
            let first = owners.next();
            below.is_exchange && owners.any(|owner| Some(owner) != first)
        });
        is_partner || contributors.any(|&edge| self.edges[edge].is_proxy)
    }

    /// The ranks whose paths go over an edge, ascending.
    pub(super) fn ranks_above(&self, edge: usize) -> &[u32] {
        match &self.edges[edge].from {
            Station::Rank(rank) => std::slice::from_ref(rank),
            Station::Join(join) => &self.joins[*join].ranks,
        }
    }
}

/// The tag of messages toward the bottommost join over an edge.
pub(super) const fn tag_toward(edge: usize) -> u32 {
    edge as u32 * 2
}

/// The tag of messages back over an edge.
pub(super) const fn tag_back(edge: usize) -> u32 {
    edge as u32 * 2 + 1
}
