//! The subtrees of hosts in a spanning tree of our own, measured as a gred is.
//!
//! # Source
//! Bongo et al. 2004, section 3: for a subtree, too, down latency, up latency and departure wait; figure
//! 3b shows the last two by the order of departure.

use collbench_trees::stations::{Flow, Stations};

use super::{At, InstanceOnTree, PassTimes};

/// All of a tree below one station, whose ranks are on one host, if the station next to it towards the
/// top has others, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Subtree {
    pub(crate) station: u32,
    /// Its ranks of the tree, ascending; at least two.
    pub(crate) ranks: Vec<u32>,
}

/// What is measured of a subtree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SubtreeQuantity {
    /// From the arrival of the last of its ranks until it sends.
    Down,
    /// From its receiving to the first departure of its ranks.
    Up,
    /// Own departure - first departure.
    DepartureWait,
    /// From its receiving to the departure of whoever is at a position of the order.
    Departure(u32),
}

/// Which ranks are below a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Below {
    Nobody,
    /// Those of one host.
    Host(usize),
    Several,
}

impl Below {
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nobody, of) | (of, Self::Nobody) => of,
            (a, b) if a == b => a,
            _ => Self::Several,
        }
    }
}

impl Subtree {
    /// The subtrees of a tree. `host_of`: host of a rank of the tree.
    pub(crate) fn all(stations: &Stations, host_of: impl Fn(u32) -> usize) -> Vec<Self> {
        let mut order = vec![stations.top];
        let mut at = 0;
        while let Some(&station) = order.get(at) {
            order.extend(&stations.children[station as usize]);
            at += 1;
        }
        let is_leaf = |station: u32| station < stations.n_ranks && station != stations.top;
        let mut below = vec![Below::Nobody; stations.links.len()];
        for &station in order.iter().rev() {
            let own = if is_leaf(station) {
                Below::Host(host_of(station))
            } else {
                Below::Nobody
            };
            let children = stations.children[station as usize].iter();
            below[station as usize] =
                children.fold(own, |all, &child| all.with(below[child as usize]));
        }
        let is_topmost = |station: &u32| {
            let parent = stations.links[*station as usize].as_ref();
            let parent = parent.map(|link| below[link.parent as usize]);
            let is_of_host = matches!(below[*station as usize], Below::Host(_));
            is_of_host && parent.is_none_or(|parent| parent == Below::Several)
        };
        let topmost = order.iter().copied().filter(is_topmost);
        let subtrees = topmost.map(|station| {
            let mut ranks = Vec::new();
            let mut open = vec![station];
            while let Some(station) = open.pop() {
                if is_leaf(station) {
                    ranks.push(station);
                }
                open.extend(&stations.children[station as usize]);
            }
            ranks.sort_unstable();
            Self { station, ranks }
        });
        let mut subtrees: Vec<Self> = subtrees.filter(|of| of.ranks.len() > 1).collect();
        subtrees.sort_by_key(|of| of.ranks[0]);
        subtrees
    }
}

impl InstanceOnTree<'_> {
    /// Passes what is measured of a subtree to `add`.
    pub(crate) fn of_subtree(
        &self,
        times: &PassTimes,
        subtree: &Subtree,
        mut add: impl FnMut(SubtreeQuantity, i64),
    ) {
        let link = self.stations.links[subtree.station as usize].as_ref();
        let [goes_down, goes_up] = self.stations.flow.has();
        if let (true, Some(link)) = (goes_down, link) {
            let arrivals = subtree.ranks.iter();
            let arrivals = arrivals.map(|&rank| Some((rank, self.arrival(rank, times)?)));
            let arrivals: Option<Vec<(u32, At)>> = arrivals.collect();
            let last = arrivals.and_then(|all| self.extent(&all));
            let sent = self.down_at(times, link.at_child);
            if let (Some((last, ..)), Some(sent)) = (last, sent)
                && let Some(down) = self.span(sent, last)
            {
                add(SubtreeQuantity::Down, down);
            }
        }
        if !goes_up {
            return;
        }
        let received = match link {
            Some(link) => self.up_at(times, link.at_child),
            None if self.stations.flow == Flow::Both => {
                times.last_arrivals[subtree.station as usize]
            }
            None => Some(self.call(times, subtree.station, true)),
        };
        let departures = subtree.ranks.iter().map(|&rank| {
            let link = self.stations.links[rank as usize].as_ref()?;
            let passed = self.up_at(times, link.at_parent);
            Some(passed.unwrap_or_else(|| self.call(times, rank, false)))
        });
        let departures: Option<Vec<At>> = departures.collect();
        if let (Some(received), Some(mut departures)) = (received, departures) {
            departures.sort_by_key(|at| at.ns);
            let Some(first) = departures.first().copied() else {
                return;
            };
            let Some(up) = self.span(first, received) else {
                return;
            };
            add(SubtreeQuantity::Up, up);
            for (position, at) in (0u32..).zip(&departures) {
                add(SubtreeQuantity::DepartureWait, at.ns - first.ns);
                add(SubtreeQuantity::Departure(position), at.ns - received.ns);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use collbench_formats::tree::{Collectors, Contributor, Level, Wrapper, WrapperKind, Wrappers};

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

    #[test]
    fn the_subtree_of_a_host_is_the_topmost_one_with_ranks_of_that_host_only() {
        use WrapperKind::{Core, Gred, Proxy};
        let wrappers = vec![
            wrapper(Gred, 2, &[Rank(2), Rank(3)], Some(1)),
            wrapper(Gred, 2, &[Above(0), Rank(4)], Some(2)),
            wrapper(Proxy, 2, &[Above(1)], Some(3)),
            wrapper(Gred, 0, &[Rank(0), Rank(1), Above(2)], Some(4)),
            wrapper(Core, 0, &[Above(3)], None),
        ];
        let hosts = [7, 7, 9, 9, 9];
        let tree = Wrappers::new(hosts.to_vec(), wrappers).unwrap();
        let of = |flow: Flow, hosts: [u32; 5]| {
            let stations = Stations::new(&tree, flow);
            let found = Subtree::all(&stations, |rank| hosts[rank as usize] as usize);
            let wrappers = found.into_iter().map(|of| {
                let wrappers = stations.wrappers_of(of.station).to_vec();
                (wrappers, of.ranks)
            });
            wrappers.collect::<Vec<_>>()
        };
        // Ranks 0 and 1 join where the other host does: they have no subtree of their own.
        assert_eq!(of(Flow::Both, hosts), [(vec![1], vec![2, 3, 4])]);
        assert_eq!(of(Flow::Both, [7; 5]), [(vec![4], vec![0, 1, 2, 3, 4])]);
        // Seen from rank 3, the data of the others come from the other host.
        assert_eq!(of(Flow::ToRoot(3), hosts), [(vec![3], vec![0, 1])]);
    }
}
