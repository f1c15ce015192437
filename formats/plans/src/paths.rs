//! Where paths join, and what lies between two joins.

use collbench_formats::tree::{Contributor, WrapperKind, Wrappers};

/// Where paths join: a gred, an exchange, or the core.
#[derive(Debug)]
pub struct Join {
    /// The rank that receives what comes from other hosts.
    pub owner: u32,
    /// Whether all contributors get what all bring, without an owner.
    pub is_exchange: bool,
    /// Whether its owner acts for it in operations in which data flow both ways. Otherwise it is the
    /// last process that arrives.
    pub is_owned: bool,
    /// What contributes, in the order in which values are combined: indexes of edges.
    pub contributors: Vec<usize>,
    /// The edge to the next join; `None` for the bottommost one.
    pub below: Option<usize>,
    /// All ranks whose paths go through it, ascending.
    pub ranks: Vec<u32>,
}

/// A process, or a join whose result goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Station {
    /// A process.
    Rank(u32),
    /// The index of a join.
    Join(usize),
}

/// The way from a station to the join that it contributes to.
#[derive(Debug)]
pub struct Edge {
    /// Where it begins.
    pub from: Station,
    /// The index of its join.
    pub to: usize,
    /// The rank that acts for the station where that does not depend on who arrives last.
    pub owner: u32,
    /// Whether there is a proxy.
    pub is_proxy: bool,
    /// The event collector at the station's end, and the one between the proxy and the join.
    pub collectors: [Option<u32>; 2],
}

/// A tree as it is executed.
#[derive(Debug)]
pub struct Paths {
    /// The host of each rank.
    pub hosts: Vec<u32>,
    /// Contributors before those they contribute to.
    pub joins: Vec<Join>,
    /// The ways between them.
    pub edges: Vec<Edge>,
    /// The first edge on the path of each rank.
    pub first_edges: Vec<usize>,
}

impl Paths {
    /// The paths of a tree.
    #[must_use]
    pub fn new(tree: &Wrappers) -> Self {
        let mut paths = Self {
            hosts: tree.hosts().to_vec(),
            joins: Vec::new(),
            edges: Vec::new(),
            first_edges: vec![0; tree.hosts().len()],
        };
        // The join of each wrapper that is one.
        let mut joins = Vec::with_capacity(tree.all().len());
        for (idx, wrapper) in (0..).zip(tree.all()) {
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
                paths.add_edge(tree, (contributor, idx), join, &joins);
            }
            paths.joins[join].ranks.sort_unstable();
        }
        for idx in 0..paths.joins.len() {
            paths.joins[idx].is_owned = paths.must_be_owned(idx);
        }
        paths
    }

    fn add_edge(
        &mut self,
        tree: &Wrappers,
        (contributor, wrapper): (Contributor, u32),
        to: usize,
        joins: &[usize],
    ) {
        let at = |of, wrapper| tree.collects(of, wrapper).then(|| collector(tree, of));
        let proxy = match contributor {
            Contributor::Wrapper(below) => {
                let all = &tree.all()[below as usize];
                (all.kind == WrapperKind::Proxy).then(|| (below, all.contributors[0]))
            }
            Contributor::Rank(_) => None,
        };
        let (start, collectors) = match proxy {
            Some((proxy, start)) => (start, [at(start, proxy), at(contributor, wrapper)]),
            None => (contributor, [at(contributor, wrapper), None]),
        };
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
                let ranks = std::mem::take(&mut self.joins[above].ranks);
                self.joins[to].ranks.extend(&ranks);
                self.joins[above].ranks = ranks;
                Station::Join(above)
            }
        };
        self.joins[to].contributors.push(edge);
        self.edges.push(Edge {
            from,
            to,
            owner: tree.owner_of(start),
            is_proxy: proxy.is_some(),
            collectors,
        });
    }

    /// Only a process whose rank is known beforehand can be sent messages.
    fn must_be_owned(&self, join: usize) -> bool {
        let join = &self.joins[join];
        let by_contributors = join
            .contributors
            .iter()
            .any(|&edge| self.edges[edge].is_proxy);
        let is_partner = join.below.is_some_and(|below| {
            let below = &self.joins[self.edges[below].to];
            let mut hosts = below.contributors.iter().map(|&edge| self.host_of(edge));
            let first = hosts.next();
            below.is_exchange && hosts.any(|host| Some(host) != first)
        });
        by_contributors || is_partner
    }

    /// How many processes there are.
    #[must_use]
    pub fn n_ranks(&self) -> usize {
        self.hosts.len()
    }

    /// Whether all ranks are on one host.
    #[must_use]
    pub fn is_one_host(&self) -> bool {
        self.hosts.iter().all(|host| *host == self.hosts[0])
    }

    /// The join to which all ranks contribute, if there is one, and all are on one host.
    #[must_use]
    pub fn meeting_place(&self) -> Option<usize> {
        let mut to = self.first_edges.iter().map(|&edge| self.edges[edge].to);
        let join = to.next()?;
        (self.is_one_host() && to.all(|other| other == join)).then_some(join)
    }

    /// The host where an edge begins.
    #[must_use]
    pub fn host_of(&self, edge: usize) -> u32 {
        self.hosts[self.edges[edge].owner as usize]
    }

    /// The ranks whose paths go over an edge, ascending.
    #[must_use]
    pub fn ranks_above(&self, edge: usize) -> &[u32] {
        match &self.edges[edge].from {
            Station::Rank(rank) => std::slice::from_ref(rank),
            Station::Join(join) => &self.joins[*join].ranks,
        }
    }

    /// How many contributors to a join meet in the memory of a host.
    #[must_use]
    pub fn n_meeting(&self, join: usize, host: u32) -> usize {
        let contributors = self.joins[join].contributors.iter();
        let is_here = |edge: &&usize| !self.edges[**edge].is_proxy && self.host_of(**edge) == host;
        contributors.filter(is_here).count()
    }

    /// Whether the process that acts for `edge` and rank `other` share memory.
    #[must_use]
    pub fn is_on_host_of(&self, edge: usize, other: u32) -> bool {
        self.host_of(edge) == self.hosts[other as usize]
    }

    /// All ranks but some, which are ascending.
    #[must_use]
    pub fn all_but(&self, ranks: &[u32]) -> Vec<u32> {
        (0..self.n_ranks() as u32)
            .filter(|rank| ranks.binary_search(rank).is_err())
            .collect()
    }
}

/// The number of the event collector between a contributor and the wrapper after it: that of the
/// rank, or the number of ranks and that of the wrapper.
fn collector(tree: &Wrappers, contributor: Contributor) -> u32 {
    match contributor {
        Contributor::Rank(rank) => rank,
        Contributor::Wrapper(wrapper) => tree.n_ranks() + wrapper,
    }
}

/// The tag of messages toward the root over an edge. From one partner of an exchange to another it
/// is that of the sender's edge.
#[must_use]
pub const fn tag_toward(edge: usize) -> u32 {
    edge as u32 * 2
}

/// The tag of messages from the root over an edge.
#[must_use]
pub const fn tag_back(edge: usize) -> u32 {
    edge as u32 * 2 + 1
}
