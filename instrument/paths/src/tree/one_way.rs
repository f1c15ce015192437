//! What each process does in operations in which data flow one way: to the root, or from it.
//!
//! The tree is looked at from the rank that is the root of the operation, wherever the core is. Each
//! join has one process that acts for it, known beforehand: its owner; but on the path of the root
//! the process that acts for the station before it, as long as the path stays on one host. So what
//! the root collects on its own host it collects itself.

use std::collections::HashMap;

use super::paths::{Paths, Station, tag_back, tag_toward};
use crate::values::{Merge, Shape, positions};

/// Which way data flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Flow {
    /// From all ranks to the root, combined or gathered.
    ToRoot,
    /// From the root to all ranks, the same for all or for each its own.
    FromRoot,
}

/// Where a value comes from, or goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// The buffer of the program.
    Program,
    /// The memory of this host: what is contributed over an edge.
    Contribution(usize),
    /// The memory of this host: what a join returns.
    Result(usize),
    /// A message, with its other end.
    Message {
        /// Rank.
        other: u32,
        /// Tag.
        tag: u32,
    },
}

/// A passing of an event collector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Passing {
    pub(crate) collector: u32,
    /// Whether toward the bottommost wrapper.
    pub(crate) is_down: bool,
}

/// A value that is taken.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) from: Place,
    /// The event collector that it passes on its arrival.
    pub(crate) passing: Option<Passing>,
}

/// A value that is forwarded.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) to: Place,
    /// Which of the blocks; `None` for all.
    pub(crate) blocks: Option<Vec<u32>>,
    pub(crate) passing: Option<Passing>,
}

/// One thing to do: take some values, put them together, forward them.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) inputs: Vec<Input>,
    pub(crate) merge: Merge,
    /// Event collectors that the value passes within this process.
    pub(crate) passings: Vec<Passing>,
    pub(crate) outputs: Vec<Output>,
}

/// What a process does in one segment of an operation, in this order.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    /// The most inputs of a step.
    pub(crate) max_inputs: usize,
}

/// A tree as it looks from the root of an operation.
struct Oriented<'a> {
    paths: &'a Paths,
    shape: Shape,
    root: u32,
    me: u32,
    /// The path of the root: its edges, from the rank on, as far as there is anybody else behind
    /// them.
    path: Vec<usize>,
    /// The place on the path of each join on it, also behind its used part.
    on_path: HashMap<usize, usize>,
    /// The process that acts for each join.
    acting: Vec<u32>,
}

impl Plan {
    /// What process `me` does.
    pub(crate) fn new(paths: &Paths, flow: Flow, shape: Shape, root: u32, me: u32) -> Self {
        let oriented = Oriented::new(paths, shape, root, me);
        let steps = match flow {
            Flow::ToRoot => oriented.steps_to_root(),
            Flow::FromRoot => oriented.steps_from_root(),
        };
        let max_inputs = steps.iter().map(|step| step.inputs.len()).max();
        Self {
            max_inputs: max_inputs.unwrap_or(0),
            steps,
        }
    }
}

impl<'a> Oriented<'a> {
    fn new(paths: &'a Paths, shape: Shape, root: u32, me: u32) -> Self {
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
        let has_others = |edge: &&usize| paths.ranks_above(**edge).len() < paths.n_ranks();
        let n_used = path.iter().take_while(has_others).count().max(1);
        path.truncate(n_used);
        Self {
            paths,
            shape,
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

    /// Whether what goes over an edge stays on one host.
    fn is_local(&self, edge: usize) -> bool {
        self.paths.hosts[self.acting_above(edge) as usize]
            == self.paths.hosts[self.acting_below(edge) as usize]
    }

    /// The edge on the path of the root that leads to a join, if it is on it.
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

    fn ranks_above(&self, edge: usize) -> Vec<u32> {
        self.paths.ranks_above(edge).to_vec()
    }

    fn ranks_below(&self, edge: usize) -> Vec<u32> {
        self.paths.all_but(self.paths.ranks_above(edge))
    }

    /// What passes an edge: event collectors at the station, and at the join where that is on
    /// another host.
    fn passing(&self, edge: usize, at: usize, is_down: bool) -> Option<Passing> {
        let collector = self.paths.edges[edge].collectors[at]?;
        Some(Passing { collector, is_down })
    }

    /// A value that comes to a join over one of its edges.
    fn input_down(&self, edge: usize) -> Input {
        if self.is_local(edge) {
            return Input {
                from: Place::Contribution(edge),
                passing: None,
            };
        }
        let from = Place::Message {
            other: self.acting_above(edge),
            tag: tag_toward(edge),
        };
        Input {
            from,
            passing: self.passing(edge, 1, true),
        }
    }

    /// A value that comes back to a station.
    fn input_back(&self, edge: usize, local: Place) -> Input {
        let from = if self.is_local(edge) {
            local
        } else {
            Place::Message {
                other: self.acting_below(edge),
                tag: tag_back(edge),
            }
        };
        Input {
            from,
            passing: self.passing(edge, 0, false),
        }
    }

    /// A value that goes on to a join.
    fn output_down(&self, edge: usize) -> Output {
        let to = if self.is_local(edge) {
            Place::Contribution(edge)
        } else {
            Place::Message {
                other: self.acting_below(edge),
                tag: tag_toward(edge),
            }
        };
        Output {
            to,
            blocks: None,
            passing: self.passing(edge, 0, true),
        }
    }

    /// A value that goes back to a station of another host.
    fn output_back(&self, edge: usize) -> Output {
        Output {
            to: Place::Message {
                other: self.acting_above(edge),
                tag: tag_back(edge),
            },
            blocks: None,
            passing: self.passing(edge, 1, false),
        }
    }

    fn step(&self, inputs: Vec<Input>, sets: &[Vec<u32>], outputs: Vec<Output>) -> Step {
        let sets: Vec<&[u32]> = sets.iter().map(Vec::as_slice).collect();
        Step {
            inputs,
            merge: Merge::new(&sets, self.shape),
            passings: Vec::new(),
            outputs,
        }
    }

    /// What the program brings.
    fn program(&self) -> Input {
        Input {
            from: Place::Program,
            passing: None,
        }
    }

    fn to_program(&self, blocks: Option<Vec<u32>>) -> Output {
        Output {
            to: Place::Program,
            blocks,
            passing: None,
        }
    }

    fn steps_to_root(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let own_edge = self.paths.first_edges[self.me as usize];
        if self.me != self.root {
            let output = self.output_down(own_edge);
            steps.push(self.step(vec![self.program()], &[vec![self.me]], vec![output]));
        }
        let mine = |join: &usize| self.acting[*join] == self.me;
        let beside = (0..self.paths.joins.len()).filter(|join| !self.on_path.contains_key(join));
        for join in beside.filter(mine) {
            let below = self.paths.joins[join]
                .below
                .expect("the bottommost join is on all paths");
            let edges: Vec<usize> = self.others(join).collect();
            let inputs = edges.iter().map(|&edge| self.input_down(edge)).collect();
            let sets: Vec<_> = edges.iter().map(|&edge| self.ranks_above(edge)).collect();
            steps.push(self.step(inputs, &sets, vec![self.output_down(below)]));
        }
        for &edge in self.path.iter().rev() {
            let join = self.paths.edges[edge].to;
            if mine(&join) {
                steps.push(self.join_to_root(join, edge));
            }
        }
        if self.me == self.root && self.acting_below(own_edge) != self.me {
            let rest = self.input_back(own_edge, Place::Program);
            let sets = [vec![self.me], self.ranks_below(own_edge)];
            steps.push(self.step(
                vec![self.program(), rest],
                &sets,
                vec![self.to_program(None)],
            ));
        }
        steps
    }

    /// What comes to a join on the path of the root goes back over its edge on that path.
    fn join_to_root(&self, join: usize, edge: usize) -> Step {
        let (mut inputs, mut sets) = (Vec::new(), Vec::new());
        let is_first = self.paths.edges[edge].from == Station::Rank(self.root);
        let is_roots = is_first && self.acting[join] == self.root;
        for &other in &self.paths.joins[join].contributors {
            if other != edge {
                inputs.push(self.input_down(other));
            } else if is_roots {
                inputs.push(self.program());
            } else {
                continue;
            }
            sets.push(self.ranks_above(other));
        }
        if let Some(below) = self.next_edge(join) {
            let next = self.paths.edges[below].to;
            inputs.push(self.input_back(below, Place::Result(next)));
            sets.push(self.ranks_below(below));
        }
        let output = if is_roots {
            Output {
                passing: self.passing(edge, 0, false),
                ..self.to_program(None)
            }
        } else if self.is_local(edge) {
            Output {
                to: Place::Result(join),
                blocks: None,
                passing: None,
            }
        } else {
            self.output_back(edge)
        };
        self.step(inputs, &sets, vec![output])
    }

    fn steps_from_root(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let own_edge = self.paths.first_edges[self.me as usize];
        steps.extend(self.along_the_path());
        let mine = |join: &usize| self.acting[*join] == self.me;
        let beside = (0..self.paths.joins.len()).filter(|join| !self.on_path.contains_key(join));
        for join in beside.rev().filter(mine) {
            let below = self.paths.joins[join]
                .below
                .expect("the bottommost join is on all paths");
            let (from, ranks) = self.published(below);
            let input = self.input_back(below, from);
            let ranks = if self.is_local(below) {
                ranks
            } else {
                self.ranks_above(below)
            };
            let mut outputs = Vec::new();
            self.return_result(join, Place::Result(join), &ranks, &mut outputs);
            steps.push(self.step(vec![input], &[ranks], outputs));
        }
        if self.me != self.root {
            let (from, ranks) = self.published(own_edge);
            let ranks = if self.is_local(own_edge) {
                ranks
            } else {
                vec![self.me]
            };
            let blocks = self.select(&ranks, &[self.me]);
            let input = self.input_back(own_edge, from);
            steps.push(self.step(vec![input], &[ranks], vec![self.to_program(blocks)]));
        }
        steps
    }

    /// What the root, and the owners of joins where its path comes to another host, forward: a step
    /// for each part of the path for which this process acts.
    fn along_the_path(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let first = self.path[0];
        let is_root = self.me == self.root;
        let all: Vec<u32> = (0..self.paths.n_ranks() as u32).collect();
        let own = |ranks: &[u32]| self.to_program(self.select(ranks, &[self.me]));
        if is_root && self.acting_below(first) != self.me {
            let below = self.selected(self.output_down(first), &all, &self.ranks_below(first));
            let outputs = vec![below, own(&all)];
            steps.push(self.step(vec![self.program()], std::slice::from_ref(&all), outputs));
        }
        let parts = self
            .path
            .chunk_by(|a, b| self.acting_below(*a) == self.acting_below(*b));
        for part in parts.filter(|part| self.acting_below(part[0]) == self.me) {
            let is_first = is_root && part[0] == first;
            let (input, ranks) = if is_first {
                (self.program(), all.clone())
            } else {
                (self.input_down(part[0]), self.ranks_below(part[0]))
            };
            let mut outputs = Vec::new();
            for &edge in part {
                let join = self.paths.edges[edge].to;
                let (place, _) = self.published_at(join);
                self.return_result(join, place, &ranks, &mut outputs);
            }
            let last = self.paths.edges[part[part.len() - 1]].to;
            if let Some(below) = self.next_edge(last) {
                let output = self.output_down(below);
                outputs.push(self.selected(output, &ranks, &self.ranks_below(below)));
            }
            if is_first {
                outputs.push(own(&ranks));
            }
            let local = part.iter().filter(|&&edge| self.is_local(edge));
            let passings = local.filter_map(|&edge| self.passing(edge, 0, true));
            steps.push(Step {
                passings: passings.collect(),
                ..self.step(vec![input], &[ranks], outputs)
            });
        }
        steps
    }

    /// Where what a join returns lies in shared memory, and for which ranks.
    fn published_at(&self, join: usize) -> (Place, Vec<u32>) {
        let place = match self.path_edge(join) {
            Some(edge) if self.is_local(edge) => Place::Contribution(edge),
            _ => Place::Result(join),
        };
        let mut ranks: Vec<u32> = Vec::new();
        for edge in self.others(join).filter(|&edge| self.is_local(edge)) {
            ranks.extend(self.paths.ranks_above(edge));
        }
        ranks.sort_unstable();
        (place, ranks)
    }

    fn published(&self, edge: usize) -> (Place, Vec<u32>) {
        self.published_at(self.paths.edges[edge].to)
    }

    /// Returns a value, which is for `ranks`, to what contributes to a join.
    fn return_result(&self, join: usize, place: Place, ranks: &[u32], outputs: &mut Vec<Output>) {
        let (_, local) = self.published_at(join);
        if !local.is_empty() {
            let output = Output {
                to: place,
                blocks: None,
                passing: None,
            };
            outputs.push(self.selected(output, ranks, &local));
        }
        for edge in self.others(join).filter(|&edge| !self.is_local(edge)) {
            outputs.push(self.selected(
                self.output_back(edge),
                ranks,
                self.paths.ranks_above(edge),
            ));
        }
    }

    fn selected(&self, output: Output, all: &[u32], some: &[u32]) -> Output {
        Output {
            blocks: self.select(all, some),
            ..output
        }
    }

    fn select(&self, all: &[u32], some: &[u32]) -> Option<Vec<u32>> {
        let is_part = self.shape == Shape::PerRank && all != some;
        is_part.then(|| positions(all, some, self.shape))
    }
}
