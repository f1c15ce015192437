//! Random trees, from numbers that are the same in each run.

use collbench_formats::tree::{Collectors, Contributor, Level, Wrapper, WrapperKind, Wrappers};

/// Random numbers from a seed (splitmix64).
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is not 0.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// One time in `n`.
    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

struct Builder {
    hosts: Vec<u32>,
    wrappers: Vec<Wrapper>,
}

impl Builder {
    fn owner(&self, of: Contributor) -> u32 {
        match of {
            Contributor::Rank(rank) => rank,
            Contributor::Wrapper(idx) => self.wrappers[idx as usize].owner,
        }
    }

    fn add(
        &mut self,
        kind: WrapperKind,
        owner: u32,
        contributors: Vec<Contributor>,
    ) -> Contributor {
        let idx = self.wrappers.len() as u32;
        for contributor in &contributors {
            if let Contributor::Wrapper(above) = *contributor {
                self.wrappers[above as usize].parent = Some(idx);
            }
        }
        self.wrappers.push(Wrapper {
            kind,
            owner,
            contributors,
            parent: None,
            level: Level::Rank,
            collectors: Collectors::NONE,
        });
        Contributor::Wrapper(idx)
    }

    /// A gred or a core at `owner`, with proxies where they are needed.
    fn join(
        &mut self,
        kind: WrapperKind,
        owner: u32,
        contributors: Vec<Contributor>,
    ) -> Contributor {
        let host = self.hosts[owner as usize];
        let near = contributors.into_iter().map(|contributor| {
            let own = self.owner(contributor);
            if self.hosts[own as usize] == host {
                contributor
            } else {
                self.add(WrapperKind::Proxy, own, vec![contributor])
            }
        });
        let near = near.collect();
        self.add(kind, owner, near)
    }
}

/// A tree of `n_ranks` ranks on up to four hosts, as [`random_tree_on`] makes it.
pub(crate) fn random_tree(random: &mut Random, n_ranks: usize) -> Wrappers {
    let n_hosts = 1 + random.below(n_ranks.min(4));
    let hosts = (0..n_ranks).map(|_| random.below(n_hosts) as u32).collect();
    random_tree_on(random, hosts)
}

/// A tree of as many ranks as there are `hosts`: any shape, any owners, contributors in any order.
pub(crate) fn random_tree_on(random: &mut Random, hosts: Vec<u32>) -> Wrappers {
    let n_ranks = hosts.len();
    let mut builder = Builder {
        hosts: hosts.clone(),
        wrappers: Vec::new(),
    };
    let mut stations: Vec<Contributor> = (0..n_ranks as u32).map(Contributor::Rank).collect();
    let is_shuffled = random.one_in(2);
    let is_flat = random.one_in(4);
    loop {
        let mut owners: Vec<u32> = stations.iter().map(|&of| builder.owner(of)).collect();
        owners.sort_unstable();
        owners.dedup();
        let can_exchange = stations.len() >= 2 && owners.len() == stations.len();
        if can_exchange && (is_flat || random.one_in(4)) {
            let owner = builder.owner(stations[0]);
            builder.add(WrapperKind::Exchange, owner, stations);
            break;
        }
        if stations.len() == 1 {
            let owner = if random.one_in(3) {
                random.below(n_ranks) as u32
            } else {
                builder.owner(stations[0])
            };
            builder.join(WrapperKind::Core, owner, stations);
            break;
        }
        let n = 2 + random.below(stations.len() - 1);
        let taken: Vec<Contributor> = if is_shuffled {
            (0..n)
                .map(|_| stations.remove(random.below(stations.len())))
                .collect()
        } else {
            let begin = random.below(stations.len() - n + 1);
            stations.drain(begin..begin + n).collect()
        };
        let owner = if random.one_in(3) {
            random.below(n_ranks) as u32
        } else {
            builder.owner(taken[random.below(n)])
        };
        let place = random.below(stations.len() + 1);
        let join = builder.join(WrapperKind::Gred, owner, taken);
        stations.insert(place, join);
    }
    Wrappers::new(hosts, builder.wrappers).expect("a whole tree")
}

/// The same tree with some of its event collectors on.
pub(crate) fn with_collectors(tree: &Wrappers, mut on: impl FnMut() -> bool) -> Wrappers {
    let mut wrappers = tree.all().to_vec();
    for wrapper in &mut wrappers {
        wrapper.collectors = Collectors {
            before: on(),
            after: on(),
        };
    }
    Wrappers::new(tree.hosts().to_vec(), wrappers).expect("the tree was whole")
}
