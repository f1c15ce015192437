//! A spanning tree of our own as its event collectors see it.
//!
//! Between two wrappers there is one place for an event collector. Wrappers between which there is
//! none cannot be told apart: they are one station. A proxy with collectors on both sides is no
//! station, but what lies between two of them: a hop. Each rank is a station of its own.
//!
//! Data flow to the bottommost wrapper and back, or, in operations with a root, to the rank that is
//! the root or from it; then the tree is looked at from that rank, and a bottommost wrapper that no
//! data pass is left out.

use std::collections::VecDeque;

use collbench_formats::tree::{Contributor, WrapperKind, Wrappers};

/// Where the data of an operation flow. Ranks are those of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flow {
    /// To the bottommost wrapper and back.
    Both,
    /// To this rank.
    ToRoot(u32),
    /// From this rank.
    FromRoot(u32),
}

impl Flow {
    /// Whether data flow to the top, and from it.
    #[must_use]
    pub fn has(self) -> [bool; 2] {
        match self {
            Self::Both => [true, true],
            Self::ToRoot(_) => [true, false],
            Self::FromRoot(_) => [false, true],
        }
    }
}

/// How a station is connected to its parent: the one next to it towards the top. Event collectors
/// have the numbers that they have in records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// The station at the other end.
    pub parent: u32,
    /// The event collector at the end of the station, if it is on.
    pub at_child: Option<u32>,
    /// The event collector at the end of the parent, if it is on; the same one, unless there is a
    /// proxy.
    pub at_parent: Option<u32>,
    /// The proxy between the two: its index in [`Wrappers::all`].
    pub proxy: Option<u32>,
    /// The rank that receives what comes to the parent, and to the station.
    pub receivers: [u32; 2],
    /// Numbers of the hops to the parent and from it, in [`Stations::hops`]; `None` if nothing is
    /// measured there.
    pub hops: [Option<u32>; 2],
}

/// A tree with its event collectors, for one flow of data. Stations are numbered: first the ranks,
/// then the others, contributors before those that they contribute to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stations {
    /// Where data flow.
    pub flow: Flow,
    /// Number of ranks of the tree.
    pub n_ranks: u32,
    /// The wrappers of each station that is no rank, ascending.
    pub wrappers: Vec<Vec<u32>>,
    /// The station without a parent.
    pub top: u32,
    /// By station.
    pub links: Vec<Option<Link>>,
    /// By station: those whose parent it is, ascending.
    pub children: Vec<Vec<u32>>,
    /// Hops with times of their own, (from station, to station), ascending: between a station and its
    /// parent, and between partners of an exchange at the top that are on different hosts.
    pub hops: Vec<(u32, u32)>,
    /// Event collectors that a value passes in each call, ascending.
    pub collectors: Vec<u32>,
    /// By station that is no rank: the rank that acts for it.
    owners: Vec<u32>,
}

/// A connection of two stations, in the direction of the bottommost wrapper.
struct Connection {
    above: u32,
    below: u32,
    at_above: Option<u32>,
    at_below: Option<u32>,
    proxy: Option<u32>,
}

/// The number of an event collector in records.
fn collector(tree: &Wrappers, of: Contributor) -> u32 {
    match of {
        Contributor::Rank(rank) => rank,
        Contributor::Wrapper(idx) => tree.n_ranks() + idx,
    }
}

/// How many wrappers, the first ones, data pass: all, or all but a core, and what is only before it,
/// that nothing flows to.
fn n_passed(tree: &Wrappers, flow: Flow) -> usize {
    let all = tree.all();
    let mut n = all.len();
    while flow != Flow::Both
        && n > 1
        && let [Contributor::Wrapper(_)] = all[n - 1].contributors[..]
    {
        n -= 1;
    }
    n
}

/// With more partners than this an exchange has no hops: nobody looks at so many pairs.
const MAX_PARTNERS: usize = 32;

impl Stations {
    /// The stations of a tree. A root that is none of its ranks is taken for rank 0.
    #[must_use]
    pub fn new(tree: &Wrappers, flow: Flow) -> Self {
        let n_ranks = tree.n_ranks();
        let passed = &tree.all()[..n_passed(tree, flow)];
        let is_on = |of: Contributor, wrapper: usize| tree.collects(of, wrapper as u32);
        // By wrapper: the first one that it cannot be told apart from.
        let mut first: Vec<usize> = (0..passed.len()).collect();
        let mut is_hop = vec![false; passed.len()];
        for (idx, wrapper) in passed.iter().enumerate() {
            for &of in &wrapper.contributors {
                if let (Contributor::Wrapper(above), false) = (of, is_on(of, idx)) {
                    let (a, b) = (root_of(&first, above as usize), root_of(&first, idx));
                    first[a.max(b)] = a.min(b);
                }
            }
            let own = Contributor::Wrapper(idx as u32);
            let parent = wrapper
                .parent
                .filter(|&parent| (parent as usize) < passed.len());
            is_hop[idx] = wrapper.kind == WrapperKind::Proxy
                && is_on(wrapper.contributors[0], idx)
                && parent.is_some_and(|parent| is_on(own, parent as usize));
        }
        let mut wrappers: Vec<Vec<u32>> = Vec::new();
        let mut station_of = vec![0; passed.len()];
        for idx in (0..passed.len()).filter(|&idx| !is_hop[idx]) {
            let root = root_of(&first, idx);
            if root == idx {
                station_of[idx] = n_ranks + wrappers.len() as u32;
                wrappers.push(Vec::new());
            } else {
                station_of[idx] = station_of[root];
            }
            wrappers[(station_of[idx] - n_ranks) as usize].push(idx as u32);
        }
        let station = |of: Contributor| match of {
            Contributor::Rank(rank) => rank,
            Contributor::Wrapper(idx) => station_of[idx as usize],
        };
        let mut connections = Vec::new();
        for (idx, wrapper) in passed.iter().enumerate().filter(|(idx, _)| !is_hop[*idx]) {
            for &of in &wrapper.contributors {
                let hop = match of {
                    Contributor::Wrapper(above) if is_hop[above as usize] => Some(above),
                    _ => None,
                };
                let end = is_on(of, idx).then(|| collector(tree, of));
                let before = hop.map(|proxy| passed[proxy as usize].contributors[0]);
                let connection = Connection {
                    above: station(before.unwrap_or(of)),
                    below: station_of[idx],
                    at_above: before.map_or(end, |before| Some(collector(tree, before))),
                    at_below: end,
                    proxy: hop,
                };
                if connection.above != connection.below {
                    connections.push(connection);
                }
            }
        }
        let bottommost = station_of[passed.len() - 1];
        let owners = wrappers.iter().map(|of| {
            let last = of[of.len() - 1] as usize;
            passed[last].owner
        });
        let mut this = Self {
            flow,
            n_ranks,
            top: match flow {
                Flow::Both => bottommost,
                Flow::ToRoot(rank) | Flow::FromRoot(rank) if rank < n_ranks => rank,
                _ => 0,
            },
            links: vec![None; n_ranks as usize + wrappers.len()],
            children: vec![Vec::new(); n_ranks as usize + wrappers.len()],
            hops: Vec::new(),
            collectors: Vec::new(),
            owners: owners.collect(),
            wrappers,
        };
        this.orient(&connections);
        let partners = this.hops_of_partners(tree);
        this.number_hops(partners);
        let at = |connection: &Connection| [connection.at_above, connection.at_below];
        this.collectors = connections.iter().flat_map(at).flatten().collect();
        this.collectors.sort_unstable();
        this.collectors.dedup();
        this
    }

    /// The rank that acts for a station: the rank itself, or the owner of its last wrapper.
    #[must_use]
    pub fn owner(&self, station: u32) -> u32 {
        match station.checked_sub(self.n_ranks) {
            None => station,
            Some(at) => self.owners[at as usize],
        }
    }

    /// The wrappers of a station; none of a rank.
    #[must_use]
    pub fn wrappers_of(&self, station: u32) -> &[u32] {
        match station.checked_sub(self.n_ranks) {
            None => &[],
            Some(at) => &self.wrappers[at as usize],
        }
    }

    /// Parents by station, first of data that flow to the top, then of data from there; `u32::MAX`:
    /// none.
    #[must_use]
    pub fn parents(&self) -> Vec<u32> {
        let parents = self.links.iter();
        let parents = parents.map(|link| link.map_or(u32::MAX, |link| link.parent));
        let parents: Vec<u32> = parents.collect();
        let none = vec![u32::MAX; parents.len()];
        let [down, up] = self
            .flow
            .has()
            .map(|has| if has { &parents } else { &none });
        [&down[..], &up[..]].concat()
    }

    /// Gives each station its parent, from the top on.
    fn orient(&mut self, connections: &[Connection]) {
        let mut of_station: Vec<Vec<usize>> = vec![Vec::new(); self.links.len()];
        for (number, connection) in connections.iter().enumerate() {
            of_station[connection.above as usize].push(number);
            of_station[connection.below as usize].push(number);
        }
        let mut is_reached = vec![false; self.links.len()];
        is_reached[self.top as usize] = true;
        let mut open = VecDeque::from([self.top]);
        while let Some(parent) = open.pop_front() {
            for &number in &of_station[parent as usize] {
                let connection = &connections[number];
                let is_reversed = connection.above == parent;
                let (child, ends) = if is_reversed {
                    (connection.below, [connection.at_below, connection.at_above])
                } else {
                    (connection.above, [connection.at_above, connection.at_below])
                };
                if std::mem::replace(&mut is_reached[child as usize], true) {
                    continue;
                }
                self.links[child as usize] = Some(Link {
                    parent,
                    at_child: ends[0],
                    at_parent: ends[1],
                    proxy: connection.proxy,
                    receivers: [self.owner(parent), self.owner(child)],
                    hops: [None; 2],
                });
                self.children[parent as usize].push(child);
                open.push_back(child);
            }
        }
        self.children
            .iter_mut()
            .for_each(|list| list.sort_unstable());
    }

    /// The number of the hop between two partners of the exchange at the top; `None` if they are on
    /// one host, or are none.
    #[must_use]
    pub fn hop_of_partners(&self, from: u32, to: u32) -> Option<u32> {
        let at = self.hops.binary_search(&(from, to)).ok()?;
        Some(at as u32)
    }

    /// The hops between partners of an exchange at the top.
    fn hops_of_partners(&self, tree: &Wrappers) -> Vec<(u32, u32)> {
        let is_exchange = |&at: &u32| tree.all()[at as usize].kind == WrapperKind::Exchange;
        let partners = &self.children[self.top as usize];
        if self.flow != Flow::Both
            || partners.len() > MAX_PARTNERS
            || !self.wrappers_of(self.top).iter().any(is_exchange)
        {
            return Vec::new();
        }
        let host = |partner: u32| tree.hosts()[self.owner(partner) as usize];
        let pairs = partners
            .iter()
            .flat_map(|&from| partners.iter().map(move |&to| (from, to)));
        pairs.filter(|&(from, to)| host(from) != host(to)).collect()
    }

    /// Numbers the hops: proxies, where a rank may be late to receive what flows one way, and those
    /// of partners.
    fn number_hops(&mut self, partners: Vec<(u32, u32)>) {
        let [down, up] = self.flow.has();
        let (n_ranks, top) = (self.n_ranks, self.top);
        let ways = |child: u32, link: &Link| match link.proxy {
            Some(_) => [down, up],
            None => [
                down && !up && link.parent == top,
                up && !down && child < n_ranks,
            ],
        };
        let links = || (0u32..).zip(&self.links);
        let ends = links().filter_map(|(child, link)| Some((child, link.as_ref()?)));
        let mut hops: Vec<(u32, u32)> = ends
            .flat_map(|(child, link)| {
                let is_there = ways(child, link);
                let both = [(child, link.parent), (link.parent, child)];
                both.into_iter()
                    .zip(is_there)
                    .filter_map(|(hop, is)| is.then_some(hop))
            })
            .chain(partners)
            .collect();
        hops.sort_unstable();
        let number = |hop: (u32, u32)| hops.binary_search(&hop).ok().map(|at| at as u32);
        for (child, link) in (0u32..).zip(&mut self.links) {
            if let Some(link) = link {
                link.hops = [number((child, link.parent)), number((link.parent, child))];
            }
        }
        self.hops = hops;
    }
}

/// The first of those that cannot be told apart.
fn root_of(first: &[usize], mut at: usize) -> usize {
    while first[at] != at {
        at = first[at];
    }
    at
}

#[cfg(test)]
mod tests {
    use collbench_formats::tree::{Collectors, Level, Wrapper};

    use super::*;

    use Contributor::{Rank, Wrapper as Above};

    fn wrapper(kind: WrapperKind, owner: u32, of: &[Contributor], parent: Option<u32>) -> Wrapper {
        Wrapper {
            kind,
            owner,
            contributors: of.to_vec(),
            parent,
            level: Level::Host,
            collectors: Collectors::ALL,
        }
    }

    /// Two hosts with two ranks each: wrappers 0 and 1 are the gred of ranks 2 and 3 and its proxy.
    fn two_hosts(change: impl FnOnce(&mut [Wrapper])) -> Wrappers {
        let mut wrappers = [
            wrapper(WrapperKind::Gred, 2, &[Rank(2), Rank(3)], Some(1)),
            wrapper(WrapperKind::Proxy, 2, &[Above(0)], Some(2)),
            wrapper(WrapperKind::Gred, 0, &[Rank(0), Rank(1), Above(1)], Some(3)),
            wrapper(WrapperKind::Core, 0, &[Above(2)], None),
        ];
        change(&mut wrappers);
        Wrappers::new(vec![7, 7, 9, 9], wrappers.to_vec()).unwrap()
    }

    #[test]
    fn with_all_collectors_on_each_join_is_a_station_and_each_proxy_a_hop() {
        let stations = Stations::new(&two_hosts(|_| {}), Flow::Both);
        assert_eq!(stations.wrappers, [vec![0], vec![2], vec![3]]);
        assert_eq!(stations.top, 6);
        assert_eq!(stations.children[5], [0, 1, 4]);
        assert_eq!(stations.hops, [(4, 5), (5, 4)]);
        let link = stations.links[4].unwrap();
        assert_eq!((link.at_child, link.at_parent), (Some(4), Some(5)));
        assert_eq!((link.proxy, link.receivers), (Some(1), [0, 2]));
        assert_eq!(stations.collectors, [0, 1, 2, 3, 4, 5, 6]);
        let parents = stations.parents();
        assert_eq!(parents[..7], [5, 5, 4, 4, 5, 6, u32::MAX]);
        assert_eq!(parents[..7], parents[7..]);
    }

    #[test]
    fn partners_of_an_exchange_have_hops_between_hosts_only() {
        let exchange = wrapper(WrapperKind::Exchange, 0, &[Rank(0), Rank(1), Rank(2)], None);
        let tree = Wrappers::new(vec![7, 7, 9], vec![exchange]).unwrap();
        let stations = Stations::new(&tree, Flow::Both);
        assert_eq!(stations.hops, [(0, 2), (1, 2), (2, 0), (2, 1)]);
        assert_eq!(stations.hop_of_partners(2, 1), Some(3));
        assert_eq!(stations.hop_of_partners(0, 1), None);
        assert!(stations.links[0].unwrap().hops.iter().all(Option::is_none));
    }

    #[test]
    fn wrappers_without_a_collector_between_them_are_one_station() {
        let before_gred = |wrappers: &mut [Wrapper]| {
            for wrapper in wrappers {
                wrapper.collectors = Collectors::NONE;
            }
        };
        let none = Stations::new(&two_hosts(before_gred), Flow::Both);
        assert_eq!(none.wrappers, [vec![0, 1, 2, 3]]);
        assert_eq!((none.collectors.len(), none.hops.len()), (0, 0));
        assert_eq!(none.children[4], [0, 1, 2, 3]);
        // Only before greds: the proxy and what follows its end are apart from the first gred.
        let only_joins = |wrappers: &mut [Wrapper]| {
            for wrapper in &mut wrappers[1..] {
                wrapper.collectors = Collectors::NONE;
            }
            wrappers[0].collectors.after = false;
            wrappers[1].collectors.after = true;
        };
        let some = Stations::new(&two_hosts(only_joins), Flow::Both);
        assert_eq!(some.wrappers, [vec![0, 1], vec![2, 3]]);
        assert_eq!(some.collectors, [2, 3, 5]);
        assert_eq!(some.links[0].unwrap().at_child, None);
    }

    #[test]
    fn operations_with_a_root_are_looked_at_from_there_and_leave_the_core_out() {
        let stations = Stations::new(&two_hosts(|_| {}), Flow::ToRoot(3));
        assert_eq!(stations.wrappers, [vec![0], vec![2]]);
        assert_eq!(stations.top, 3);
        let parents = stations.parents();
        assert_eq!(parents[..6], [5, 5, 4, u32::MAX, 3, 4]);
        assert_eq!(parents[6..], [u32::MAX; 6]);
        let link = stations.links[5].unwrap();
        // The proxy is crossed the other way round.
        assert_eq!((link.at_child, link.at_parent), (Some(5), Some(4)));
        assert_eq!(link.receivers, [2, 0]);
        assert_eq!(stations.hops, [(4, 3), (5, 4)]);
        let back = Stations::new(&two_hosts(|_| {}), Flow::FromRoot(3));
        assert_eq!(back.hops, [(4, 2), (4, 5), (5, 0), (5, 1)]);
        assert_eq!(back.parents()[6..], parents[..6]);
    }
}
