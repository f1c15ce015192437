//! Operations in which data flow one way: to the root, or from it.
//!
//! The tree is looked at from the rank that is the root of the operation, wherever the core is. Each
//! join has one process that acts for it: its owner; but on the path of the root the process that acts
//! for the station before it, as long as the path stays on one host.

use std::collections::HashMap;

use super::Blocks;
use super::paths::{Paths, Station, tag_back, tag_toward};
use super::written::Written;

/// Which way data flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// From all ranks to the root.
    ToRoot,
    /// From the root to all ranks.
    FromRoot,
}

/// The other end of a message, and its tag; `None`: on this host.
type Place = Option<(u32, u32)>;

/// One thing to do: take some values, put them together, forward them.
#[derive(Debug)]
struct Step {
    inputs: Vec<Place>,
    /// Where values go, and of how many ranks.
    outputs: Vec<(Place, usize)>,
}

/// What a process does in each segment of an operation, in this order.
#[derive(Debug)]
pub(super) struct Plan(Vec<Step>);

impl Plan {
    /// What process `me` does.
    pub(super) fn new(paths: &Paths, flow: Flow, root: u32, me: u32) -> Self {
        let oriented = Oriented::new(paths, root, me);
        Self(match flow {
            Flow::ToRoot => oriented.steps_to_root(),
            Flow::FromRoot => oriented.steps_from_root(),
        })
    }

    /// Writes down a segment with so many bytes of each rank.
    pub(super) fn write(&self, blocks: Blocks, bytes: u64, written: &mut Written) {
        for step in &self.0 {
            let messages: Vec<(u32, u32)> = step.inputs.iter().copied().flatten().collect();
            written.receive_all(&messages);
            written.combine(step.inputs.len(), bytes);
            for &(to, n_ranks) in &step.outputs {
                if let Some((other, tag)) = to {
                    written.send(other, tag, bytes * blocks.of_ranks(n_ranks));
                }
            }
        }
    }
}

/// A tree as it looks from the root of an operation.
struct Oriented<'a> {
    paths: &'a Paths,
    root: u32,
    me: u32,
    /// The edges on the path of the root, from the rank on, as far as anybody else is behind them.
    path: Vec<usize>,
    /// The place on the path of each join on it, also behind its used part.
    on_path: HashMap<usize, usize>,
    /// The process that acts for each join.
    acting: Vec<u32>,
}

impl<'a> Oriented<'a> {
    fn new(paths: &'a Paths, root: u32, me: u32) -> Self {
        let first = paths.first_edges[root as usize];
        let next = |edge: &usize| paths.joins[paths.edges[*edge].to].below;
        let mut path: Vec<usize> = std::iter::successors(Some(first), next).collect();
        let mut acting: Vec<u32> = paths.joins.iter().map(|join| join.owner).collect();
        let mut on_path = HashMap::new();
        let mut current = root;
        for (nth, &edge) in path.iter().enumerate() {
            let to = paths.edges[edge].to;
            if paths.edges[edge].is_proxy {
                current = paths.joins[to].owner;
            }
            acting[to] = current;
            on_path.insert(to, nth);
        }
        let has_others = |edge: &&usize| paths.ranks_above(**edge).len() < paths.n_ranks;
        let n_used = path.iter().take_while(has_others).count().max(1);
        path.truncate(n_used);
        Self {
            paths,
            root,
            me,
            path,
            on_path,
            acting,
        }
    }

    /// The process that acts for the station at the beginning of an edge.
    fn acting_above(&self, edge: usize) -> u32 {
        match self.paths.edges[edge].from {
            Station::Rank(rank) => rank,
            Station::Join(join) => self.acting[join],
        }
    }

    fn acting_below(&self, edge: usize) -> u32 {
        self.acting[self.paths.edges[edge].to]
    }

    /// Whether what goes over an edge stays on one host, and so in one process.
    fn is_local(&self, edge: usize) -> bool {
        self.acting_above(edge) == self.acting_below(edge)
    }

    /// The edge on the path of the root that leads to a join.
    fn path_edge(&self, join: usize) -> Option<usize> {
        self.path.get(*self.on_path.get(&join)?).copied()
    }

    /// The edge on the path of the root that leads on from a join.
    fn next_edge(&self, join: usize) -> Option<usize> {
        self.path.get(*self.on_path.get(&join)? + 1).copied()
    }

    /// What contributes to a join beside the path of the root.
    fn others(&self, join: usize) -> impl Iterator<Item = usize> {
        let on_path = self.path_edge(join);
        let all = self.paths.joins[join].contributors.iter().copied();
        all.filter(move |&edge| Some(edge) != on_path)
    }

    fn n_above(&self, edge: usize) -> usize {
        self.paths.ranks_above(edge).len()
    }

    fn n_below(&self, edge: usize) -> usize {
        self.paths.n_ranks - self.n_above(edge)
    }

    fn input_down(&self, edge: usize) -> Place {
        (!self.is_local(edge)).then(|| (self.acting_above(edge), tag_toward(edge)))
    }

    fn input_back(&self, edge: usize) -> Place {
        (!self.is_local(edge)).then(|| (self.acting_below(edge), tag_back(edge)))
    }

    fn output_down(&self, edge: usize) -> Place {
        (!self.is_local(edge)).then(|| (self.acting_below(edge), tag_toward(edge)))
    }

    fn output_back(&self, edge: usize) -> Place {
        (!self.is_local(edge)).then(|| (self.acting_above(edge), tag_back(edge)))
    }

    fn steps_to_root(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let own_edge = self.paths.first_edges[self.me as usize];
        if self.me != self.root {
            steps.push(Step {
                inputs: vec![None],
                outputs: vec![(self.output_down(own_edge), 1)],
            });
        }
        let mine = |join: &usize| self.acting[*join] == self.me;
        let beside = (0..self.paths.joins.len()).filter(|join| !self.on_path.contains_key(join));
        for join in beside.filter(mine) {
            let below = self.paths.joins[join]
                .below
                .expect("the bottommost join is on all paths");
            steps.push(Step {
                inputs: self
                    .others(join)
                    .map(|edge| self.input_down(edge))
                    .collect(),
                outputs: vec![(self.output_down(below), self.n_above(below))],
            });
        }
        for &edge in self.path.iter().rev() {
            let join = self.paths.edges[edge].to;
            if mine(&join) {
                steps.push(self.join_to_root(join, edge));
            }
        }
        if self.me == self.root && self.acting_below(own_edge) != self.me {
            steps.push(Step {
                inputs: vec![None, self.input_back(own_edge)],
                outputs: Vec::new(),
            });
        }
        steps
    }

    /// What comes to a join on the path of the root goes back over its edge on that path.
    fn join_to_root(&self, join: usize, edge: usize) -> Step {
        let is_first = self.paths.edges[edge].from == Station::Rank(self.root);
        let is_roots = is_first && self.acting[join] == self.root;
        let contributors = self.paths.joins[join].contributors.iter();
        let inputs = contributors.filter_map(|&other| match other == edge {
            false => Some(self.input_down(other)),
            true => is_roots.then_some(None),
        });
        let below = self.next_edge(join);
        let output = (self.output_back(edge), self.n_below(edge));
        Step {
            inputs: inputs
                .chain(below.map(|below| self.input_back(below)))
                .collect(),
            outputs: if is_roots { Vec::new() } else { vec![output] },
        }
    }

    fn steps_from_root(&self) -> Vec<Step> {
        let mut steps = self.along_the_path();
        let own_edge = self.paths.first_edges[self.me as usize];
        let mine = |join: &usize| self.acting[*join] == self.me;
        let beside = (0..self.paths.joins.len()).filter(|join| !self.on_path.contains_key(join));
        for join in beside.rev().filter(mine) {
            let below = self.paths.joins[join]
                .below
                .expect("the bottommost join is on all paths");
            let mut outputs = Vec::new();
            self.return_result(join, &mut outputs);
            steps.push(Step {
                inputs: vec![self.input_back(below)],
                outputs,
            });
        }
        if self.me != self.root {
            steps.push(Step {
                inputs: vec![self.input_back(own_edge)],
                outputs: Vec::new(),
            });
        }
        steps
    }

    /// What the root, and the owners of joins where its path comes to another host, forward: a step
    /// for each part of the path for which this process acts.
    fn along_the_path(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let first = self.path[0];
        let is_root = self.me == self.root;
        if is_root && self.acting_below(first) != self.me {
            steps.push(Step {
                inputs: vec![None],
                outputs: vec![(self.output_down(first), self.n_below(first))],
            });
        }
        let parts = self
            .path
            .chunk_by(|a, b| self.acting_below(*a) == self.acting_below(*b));
        for part in parts.filter(|part| self.acting_below(part[0]) == self.me) {
            let is_first = is_root && part[0] == first;
            let input = if is_first {
                None
            } else {
                self.input_down(part[0])
            };
            let mut outputs = Vec::new();
            for &edge in part {
                self.return_result(self.paths.edges[edge].to, &mut outputs);
            }
            let last = self.paths.edges[part[part.len() - 1]].to;
            if let Some(below) = self.next_edge(last) {
                outputs.push((self.output_down(below), self.n_below(below)));
            }
            steps.push(Step {
                inputs: vec![input],
                outputs,
            });
        }
        steps
    }

    /// Returns a value to what contributes to a join on other hosts.
    fn return_result(&self, join: usize, outputs: &mut Vec<(Place, usize)>) {
        for edge in self.others(join).filter(|&edge| !self.is_local(edge)) {
            outputs.push((self.output_back(edge), self.n_above(edge)));
        }
    }
}
