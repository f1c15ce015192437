//! Collectives over spanning trees of our own: when values pass event collectors.
//!
//! Each wrapper takes the times that the scenario chose. Nothing is in the times of a rank that does
//! not stand in the formulas of the stages, so that the truth about them is known exactly.

use collbench_formats::tree::{Contributor, WrapperKind, Wrappers};
use collbench_formats::{CollectorPass, PassedWays};

use super::delay::Delay;

/// A tree of a scenario.
#[derive(Debug, Clone)]
pub(crate) struct OwnTree {
    pub(crate) name: String,
    pub(crate) wrappers: Wrappers,
    /// By wrapper.
    pub(crate) times: Vec<WrapperTimes>,
    /// By wrapper: what each of its times is longer in an instance.
    pub(crate) jitters: Vec<Option<Delay>>,
    /// From the enter of a rank to the event collector before its first wrapper.
    pub(crate) entry_ns: u64,
    /// From there to its leave, on the way back.
    pub(crate) exit_ns: u64,
    /// Ranks of the tree in each process: its threads, of which only the first makes the call.
    pub(crate) threads: u32,
    /// How much later than the one before each further thread comes.
    pub(crate) thread_ns: u64,
}

impl OwnTree {
    /// When the ranks of the tree come, from when the processes enter.
    pub(crate) fn arrivals(&self, enters: &[u64]) -> Vec<u64> {
        let of_process = |&enter: &u64| {
            let threads = 0..u64::from(self.threads);
            threads.map(move |thread| enter + thread * self.thread_ns)
        };
        enters.iter().flat_map(of_process).collect()
    }

    /// Whether a rank of the tree is a thread without a call of its own.
    fn has_no_call(&self, rank: usize) -> bool {
        !rank.is_multiple_of(self.threads as usize)
    }

    /// From when a rank comes to the event collector before its first wrapper.
    fn entry_of(&self, rank: usize) -> u64 {
        if self.has_no_call(rank) {
            0
        } else {
            self.entry_ns
        }
    }
}

/// How long a wrapper takes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WrapperTimes {
    /// Towards the bottommost wrapper: a gred from the last arrival on, a proxy to cross; a core and
    /// an exchange until the result goes back.
    pub(crate) down_ns: u64,
    /// On the way back: to the first departure; a proxy to cross.
    pub(crate) up_ns: u64,
    /// From one departure to the next.
    pub(crate) departure_ns: u64,
}

impl WrapperTimes {
    /// These times, each with a delay of its own.
    pub(crate) fn delayed(self, [down_ns, up_ns, departure_ns]: [u64; 3]) -> Self {
        Self {
            down_ns: self.down_ns + down_ns,
            up_ns: self.up_ns + up_ns,
            departure_ns: self.departure_ns + departure_ns,
        }
    }
}

/// Where data flow, by rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Both,
    ToRoot(u32),
    FromRoot(u32),
}

/// A stage of the path of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stage {
    /// As in `collbench.analysis/1`.
    pub(crate) kind: &'static str,
    /// Its wrapper, if it is at one.
    pub(crate) wrapper: Option<u32>,
    pub(crate) ns: i64,
}

/// What one instance over a tree does.
#[derive(Debug, Default)]
pub(crate) struct OnTree {
    /// By process.
    pub(crate) leaves: Vec<u64>,
    /// By rank of the tree: when a value passed the event collectors that it records, and which they are.
    pub(crate) passes: Vec<Vec<(CollectorPass, u64, u64)>>,
    /// By rank of the tree: its path.
    pub(crate) stages: Vec<Vec<Stage>>,
}

/// A rank or a wrapper, in one list: ranks first.
type Node = usize;

/// The run of one instance.
struct Run<'t> {
    tree: &'t OwnTree,
    times: &'t [WrapperTimes],
    enters: &'t [u64],
    /// By contributor: when its value passed the place between it and the next wrapper, towards the
    /// bottommost wrapper.
    down: Vec<Option<u64>>,
    /// On the way back.
    up: Vec<Option<u64>>,
}

/// Simulates an instance that the ranks of the tree enter at these times, with wrappers that take these times.
pub(crate) fn run(
    (tree, times): (&OwnTree, &[WrapperTimes]),
    way: Way,
    enters: &[u64],
    call: u64,
) -> OnTree {
    let n_nodes = enters.len() + tree.wrappers.all().len();
    let mut run = Run {
        tree,
        times,
        enters,
        down: vec![None; n_nodes],
        up: vec![None; n_nodes],
    };
    match way {
        Way::Both => run.both(),
        Way::ToRoot(root) => run.send_to_root(root as usize),
        Way::FromRoot(root) => run.send_from_root(root as usize),
    }
    run.finish(way, call)
}

impl Run<'_> {
    fn n_ranks(&self) -> usize {
        self.enters.len()
    }

    fn node(&self, of: Contributor) -> Node {
        match of {
            Contributor::Rank(rank) => rank as usize,
            Contributor::Wrapper(idx) => self.n_ranks() + idx as usize,
        }
    }

    fn contributors(&self, wrapper: usize) -> Vec<Node> {
        let of = &self.tree.wrappers.all()[wrapper].contributors;
        of.iter().map(|&of| self.node(of)).collect()
    }

    /// The wrapper that a node contributes to.
    fn parent(&self, node: Node) -> Option<usize> {
        let all = self.tree.wrappers.all();
        (0..all.len()).find(|&idx| self.contributors(idx).contains(&node))
    }

    /// The rank that records the passes between a node and the next wrapper.
    fn recorder(&self, node: Node) -> usize {
        let all = self.tree.wrappers.all();
        let Some(idx) = node.checked_sub(self.n_ranks()) else {
            return node;
        };
        match (all[idx].kind, all[idx].parent) {
            (WrapperKind::Proxy, Some(parent)) => all[parent as usize].owner as usize,
            _ => all[idx].owner as usize,
        }
    }

    /// A value passes between a node and the next wrapper at an instant, or as soon as the rank that
    /// records it is there.
    fn when_there(&self, node: Node, at: u64) -> u64 {
        let rank = self.recorder(node);
        at.max(self.enters[rank] + self.tree.entry_of(rank))
    }

    fn both(&mut self) {
        let n = self.n_ranks();
        for rank in 0..n {
            self.down[rank] = Some(self.when_there(rank, 0));
        }
        let n_wrappers = self.times.len();
        let last = |run: &Self, wrapper: usize| {
            let all = run.contributors(wrapper);
            all.into_iter()
                .filter_map(|node| run.down[node])
                .max()
                .unwrap_or(0)
        };
        for wrapper in 0..n_wrappers {
            let at = last(self, wrapper) + self.times[wrapper].down_ns;
            self.down[n + wrapper] = Some(self.when_there(n + wrapper, at));
        }
        for wrapper in (0..n_wrappers).rev() {
            let times = self.times[wrapper];
            let begin = if wrapper + 1 == n_wrappers {
                last(self, wrapper) + times.down_ns
            } else {
                self.up[n + wrapper].unwrap_or(0) + times.up_ns
            };
            for (nth, node) in (0..).zip(self.contributors(wrapper)) {
                self.up[node] = Some(begin + nth * times.departure_ns);
            }
        }
    }

    /// The neighbours of a wrapper: its contributors, and the wrapper that it contributes to.
    fn neighbours(&self, wrapper: usize) -> Vec<Node> {
        let mut all = self.contributors(wrapper);
        let parent = self.tree.wrappers.all()[wrapper].parent;
        all.extend(parent.map(|parent| self.n_ranks() + parent as usize));
        all
    }

    /// Where the passes between two neighbours are kept: at the one that contributes to the other.
    fn place(&self, a: Node, b: Node) -> Node {
        let is_above = a
            .checked_sub(self.n_ranks())
            .is_none_or(|_| self.parent(a).map(|it| it + self.n_ranks()) == Some(b));
        if is_above { a } else { b }
    }

    /// Whether a value goes from one node to its neighbour towards the bottommost wrapper.
    fn is_down(&self, from: Node, to: Node) -> bool {
        self.place(from, to) == from
    }

    fn set(&mut self, from: Node, to: Node, at: u64) {
        let place = self.place(from, to);
        if self.is_down(from, to) {
            self.down[place] = Some(at);
        } else {
            self.up[place] = Some(at);
        }
    }

    /// When the data that a node has from all others than `to` go on to it; `None` if no rank is
    /// behind it.
    fn send_on(&mut self, from: Node, to: Node) -> Option<u64> {
        let at = match from.checked_sub(self.n_ranks()) {
            None => 0,
            Some(wrapper) => {
                let others = self
                    .neighbours(wrapper)
                    .into_iter()
                    .filter(|&other| other != to);
                let mut last = None;
                for other in others {
                    last = last.max(self.send_on(other, from));
                }
                let times = self.times[wrapper];
                let takes = if self.is_down(from, to) {
                    times.down_ns
                } else {
                    times.up_ns
                };
                last? + takes
            }
        };
        let at = self.when_there(self.place(from, to), at);
        self.set(from, to, at);
        Some(at)
    }

    fn send_to_root(&mut self, root: Node) {
        if let Some(first) = self.parent(root) {
            self.send_on(self.n_ranks() + first, root);
        }
    }

    /// Whether there is a rank at a node or behind it, as seen from its neighbour.
    fn has_rank(&self, node: Node, from: Node) -> bool {
        match node.checked_sub(self.n_ranks()) {
            None => true,
            Some(wrapper) => {
                let others = self.neighbours(wrapper).into_iter();
                others
                    .filter(|&other| other != from)
                    .any(|other| self.has_rank(other, node))
            }
        }
    }

    fn send_from_root(&mut self, root: Node) {
        let Some(first) = self.parent(root) else {
            return;
        };
        let first = self.n_ranks() + first;
        let begin = self.when_there(root, 0);
        self.set(root, first, begin);
        let mut open = vec![(first, root, begin)];
        while let Some((node, from, at)) = open.pop() {
            let Some(wrapper) = node.checked_sub(self.n_ranks()) else {
                continue;
            };
            let times = self.times[wrapper];
            let others = self.neighbours(wrapper).into_iter();
            let others = others.filter(|&other| other != from && self.has_rank(other, node));
            for (nth, to) in (0..).zip(others.collect::<Vec<_>>()) {
                let takes = if self.is_down(node, to) {
                    times.down_ns
                } else {
                    times.up_ns
                };
                let passes = at + takes + nth * times.departure_ns;
                let passes = self.when_there(self.place(node, to), passes);
                self.set(node, to, passes);
                open.push((to, node, passes));
            }
        }
    }

    /// Leaves, passes and paths.
    fn finish(&self, way: Way, call: u64) -> OnTree {
        let n = self.n_ranks();
        let tree = &self.tree.wrappers;
        let mut found = OnTree {
            leaves: Vec::new(),
            passes: vec![Vec::new(); n],
            stages: Vec::new(),
        };
        let is_on = |node: Node, wrapper: usize| {
            let of = match node.checked_sub(n) {
                None => Contributor::Rank(node as u32),
                Some(idx) => Contributor::Wrapper(idx as u32),
            };
            tree.collects(of, wrapper as u32)
        };
        for node in 0..n + tree.all().len() {
            if !self
                .parent(node)
                .is_some_and(|wrapper| is_on(node, wrapper))
            {
                continue;
            }
            let (ways, enter, leave) = match (self.down[node], self.up[node]) {
                (Some(down), Some(up)) => (PassedWays::Both, down, up),
                (Some(down), None) => (PassedWays::Down, down, down),
                (None, Some(up)) => (PassedWays::Up, up, up),
                (None, None) => continue,
            };
            let pass = CollectorPass {
                tree: 0,
                call: call as u32,
                collector: node as u32,
                segment: 0,
                ways,
            };
            found.passes[self.recorder(node)].push((pass, enter, leave));
        }
        let mut leaves = Vec::with_capacity(n);
        for (rank, passes) in found.passes.iter_mut().enumerate() {
            passes.sort_by_key(|&(_, enter, leave)| (leave, enter));
            let own = self.up[rank].max(self.down[rank]).unwrap_or(0);
            leaves.push(if self.tree.has_no_call(rank) {
                own
            } else {
                let begun = self.enters[rank] + self.tree.entry_ns;
                let last = passes.last().map_or(0, |&(_, _, leave)| leave);
                own.max(begun).max(last) + self.tree.exit_ns
            });
        }
        found.stages = (0..n).map(|rank| self.stages(way, rank, &leaves)).collect();
        found.leaves = leaves
            .into_iter()
            .step_by(self.tree.threads as usize)
            .collect();
        found
    }

    /// The stages of the path of a rank, with all event collectors on.
    fn stages(&self, way: Way, rank: usize, leaves: &[u64]) -> Vec<Stage> {
        let mut stages = Vec::new();
        let mut add = |kind, wrapper: Option<usize>, from: u64, to: u64| {
            stages.push(Stage {
                kind,
                wrapper: wrapper.map(|wrapper| wrapper as u32),
                ns: to as i64 - from as i64,
            });
        };
        let at = |times: &[Option<u64>], node: Node| times[node].unwrap_or(0);
        let all = self.tree.wrappers.all();
        let n = self.n_ranks();
        if way != Way::Both {
            // The whole path is what is known of it without looking at the tree from the root.
            let whole = match way {
                Way::ToRoot(root) => (self.enters[rank], leaves[root as usize]),
                Way::FromRoot(root) => (self.enters[root as usize], leaves[rank]),
                Way::Both => (0, 0),
            };
            add("path", None, whole.0, whole.1);
            return stages;
        }
        add("entry", None, self.enters[rank], at(&self.down, rank));
        let mut path = vec![rank];
        while let Some(wrapper) = self.parent(path[path.len() - 1]) {
            path.push(n + wrapper);
        }
        for pair in path.windows(2) {
            let (node, wrapper) = (pair[0], pair[1] - n);
            let own = at(&self.down, node);
            let last = self.contributors(wrapper).into_iter();
            let last = last.map(|node| at(&self.down, node)).max().unwrap_or(0);
            if all[wrapper].kind == WrapperKind::Proxy {
                let received = at(&self.down, n + wrapper);
                let there = self.enters[self.recorder(n + wrapper)].clamp(own, received);
                add("late_receiver", Some(wrapper), own, there);
                add("transfer", Some(wrapper), there, received);
                continue;
            }
            add("arrival_wait", Some(wrapper), own, last);
            if all[wrapper].parent.is_some() {
                add(
                    "node_down",
                    Some(wrapper),
                    last,
                    at(&self.down, n + wrapper),
                );
            }
        }
        for pair in path.windows(2).rev() {
            let (node, wrapper) = (pair[0], pair[1] - n);
            let contributors = self.contributors(wrapper);
            let first = contributors.iter().map(|&node| at(&self.up, node)).min();
            let first = first.unwrap_or(0);
            if all[wrapper].kind == WrapperKind::Proxy {
                add("transfer", Some(wrapper), at(&self.up, n + wrapper), first);
                continue;
            }
            match all[wrapper].parent {
                Some(_) => add("node_up", Some(wrapper), at(&self.up, n + wrapper), first),
                None => {
                    let last = contributors.iter().map(|&node| at(&self.down, node)).max();
                    add("core", Some(wrapper), last.unwrap_or(0), first);
                }
            }
            add("departure_wait", Some(wrapper), first, at(&self.up, node));
        }
        add("exit", None, at(&self.up, rank), leaves[rank]);
        stages
    }
}
