//! Joins to wrappers: proxies where paths cross hosts, and a core at the root.

use collbench_formats::tree::{
    Collectors, CollectorsOfKinds, Contributor, Level, Node, TreeError, Wrapper, WrapperKind,
    Wrappers,
};

use super::{Members, Unfit};

/// Number of ranks that nodes name: one more than the greatest.
pub(super) fn n_ranks(nodes: &[Node]) -> u32 {
    let contributors = nodes.iter().flat_map(|node| &node.contributors);
    let ranks = contributors.filter_map(|contributor| match contributor {
        Contributor::Rank(rank) => Some(rank.saturating_add(1)),
        Contributor::Wrapper(_) => None,
    });
    ranks.max().unwrap_or(0)
}

/// The tree of these joins, each after its contributors; without any, that of one rank. The result
/// is handed over to `root` if that is not where the last join has it.
pub(super) fn assemble(
    nodes: &[Node],
    collectors: &CollectorsOfKinds,
    root: Option<u32>,
    members: Members<'_>,
) -> Result<Wrappers, Unfit> {
    let mut assembly = Assembly {
        collectors,
        members,
        wrappers: Vec::with_capacity(2 * nodes.len() + 1),
    };
    // The wrapper of each node, with what its proxy collects.
    let mut of_nodes: Vec<(u32, &Node)> = Vec::with_capacity(nodes.len());
    for (number, node) in (0..).zip(nodes) {
        let mut contributors = Vec::with_capacity(node.contributors.len());
        for &contributor in &node.contributors {
            contributors.push(match contributor {
                Contributor::Rank(rank) => {
                    assembly.check_rank(number, rank)?;
                    assembly.crossed(Contributor::Rank(rank), None, node)
                }
                Contributor::Wrapper(below) => {
                    let Some(&(idx, from)) = of_nodes.get(below as usize) else {
                        return Err(Unfit::Tree(TreeError::Order {
                            wrapper: number,
                            contributor: below,
                        }));
                    };
                    assembly.crossed(Contributor::Wrapper(idx), Some(from), node)
                }
            });
        }
        assembly.check_rank(number, node.owner)?;
        let collectors = node.collectors;
        let idx = assembly.push(node.kind, node.owner, contributors, collectors);
        of_nodes.push((idx, node));
    }
    let last = of_nodes.last().copied();
    if last.is_none_or(|(_, node)| node.kind != WrapperKind::Exchange) {
        assembly.push_core(last, root);
    } else if root.is_some() {
        return Err(Unfit::Exchange);
    }
    assembly.finish()
}

struct Assembly<'m> {
    collectors: &'m CollectorsOfKinds,
    members: Members<'m>,
    wrappers: Vec<Wrapper>,
}

impl Assembly<'_> {
    fn check_rank(&self, wrapper: u32, rank: u32) -> Result<(), TreeError> {
        let n_ranks = self.members.places.len() as u32;
        let error = TreeError::Rank {
            wrapper,
            rank,
            n_ranks,
        };
        if rank < n_ranks { Ok(()) } else { Err(error) }
    }

    fn owner_of(&self, contributor: Contributor) -> u32 {
        match contributor {
            Contributor::Rank(rank) => rank,
            Contributor::Wrapper(idx) => self.wrappers[idx as usize].owner,
        }
    }

    /// What comes to a node from a contributor, which is the wrapper of node `from`: a proxy, if it
    /// is on another host than the owner.
    fn crossed(&mut self, from: Contributor, source: Option<&Node>, to: &Node) -> Contributor {
        let collectors = source.and_then(|node| node.proxy_collectors);
        if to.kind == WrapperKind::Exchange {
            return from;
        }
        self.crossed_to(from, to.owner, collectors)
    }

    fn crossed_to(
        &mut self,
        from: Contributor,
        owner: u32,
        collectors: Option<Collectors>,
    ) -> Contributor {
        let source = self.owner_of(from);
        let host = |rank: u32| {
            self.members
                .places
                .get(rank as usize)
                .map(|place| place.host)
        };
        if host(source) == host(owner) {
            return from;
        }
        let idx = self.push(WrapperKind::Proxy, source, vec![from], collectors);
        Contributor::Wrapper(idx)
    }

    /// A core below the last node, or of the only rank.
    fn push_core(&mut self, last: Option<(u32, &Node)>, root: Option<u32>) {
        let (from, source) = match last {
            Some((idx, node)) => (Contributor::Wrapper(idx), Some(node)),
            None => (Contributor::Rank(0), None),
        };
        let owner = root.unwrap_or_else(|| self.owner_of(from));
        let collectors = source.and_then(|node| node.proxy_collectors);
        let from = self.crossed_to(from, owner, collectors);
        self.push(WrapperKind::Core, owner, vec![from], None);
    }

    fn push(
        &mut self,
        kind: WrapperKind,
        owner: u32,
        contributors: Vec<Contributor>,
        collectors: Option<Collectors>,
    ) -> u32 {
        let idx = self.wrappers.len() as u32;
        self.wrappers.push(Wrapper {
            kind,
            owner,
            contributors,
            parent: None,
            level: Level::Rank,
            collectors: collectors.unwrap_or(self.collectors.of(kind)),
        });
        idx
    }

    /// Sets parents and levels.
    fn finish(mut self) -> Result<Wrappers, Unfit> {
        for idx in 0..self.wrappers.len() {
            let own = std::mem::take(&mut self.wrappers[idx].contributors);
            let owner = self.wrappers[idx].owner;
            for &contributor in &own {
                let level = self.level_between(self.owner_of(contributor), owner);
                if let Contributor::Wrapper(below) = contributor {
                    let below = &mut self.wrappers[below as usize];
                    below.parent = Some(idx as u32);
                    if below.kind == WrapperKind::Proxy {
                        below.level = level;
                    }
                }
                let wrapper = &mut self.wrappers[idx];
                wrapper.level = wrapper.level.max(level);
            }
            self.wrappers[idx].contributors = own;
        }
        let hosts = self.members.places.iter().map(|place| place.host).collect();
        Ok(Wrappers::new(hosts, self.wrappers)?)
    }

    /// The widest level at which two ranks are at different places.
    fn level_between(&self, one: u32, other: u32) -> Level {
        let [one, other] = [one, other].map(|rank| &self.members.places[rank as usize]);
        let mut levels = Level::ALL.into_iter().rev();
        let different = levels.find(|&level| one.at(level) != other.at(level));
        different.unwrap_or(Level::Rank)
    }
}
