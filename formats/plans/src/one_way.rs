//! What each process does in operations in which data flow one way: to the root, or from it.
//!
//! The tree is looked at from the rank that is the root of the operation, wherever the core is. Each
//! join has one process that acts for it, known beforehand: its owner; but on the path of the root
//! the process that acts for the station before it, as long as the path stays on one host. So what
//! the root collects on its own host it collects itself.

use std::collections::HashMap;

use collbench_formats::tree::Collective;

use crate::paths::{Paths, Station, tag_back, tag_toward};

/// Which way data flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flow {
    /// From all ranks to the root, combined or gathered.
    ToRoot,
    /// From the root to all ranks, the same for all or for each its own.
    FromRoot,
}

impl Flow {
    /// That of an operation; `None` where data flow both ways.
    #[must_use]
    pub fn of(collective: Collective) -> Option<Self> {
        match collective {
            Collective::Reduce | Collective::Gather => Some(Self::ToRoot),
            Collective::Bcast | Collective::Scatter => Some(Self::FromRoot),
            Collective::Allreduce | Collective::Barrier | Collective::Allgather => None,
        }
    }
}

/// Where a value comes from, or goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
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

impl Place {
    /// The join of a place in the memory of a host; `None` of another place.
    #[must_use]
    pub fn join(self, paths: &Paths) -> Option<usize> {
        match self {
            Self::Contribution(edge) => Some(paths.edges[edge].to),
            Self::Result(join) => Some(join),
            Self::Program | Self::Message { .. } => None,
        }
    }
}

/// A passing of an event collector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passing {
    /// Its number.
    pub collector: u32,
    /// Whether toward the bottommost wrapper.
    pub is_down: bool,
}

/// A value that is taken.
#[derive(Debug)]
pub struct Input {
    /// From where.
    pub from: Place,
    /// The ranks that it is of, or for; ascending.
    pub ranks: Vec<u32>,
    /// The event collector that it passes on its arrival.
    pub passing: Option<Passing>,
}

/// A value that is forwarded.
#[derive(Debug)]
pub struct Output {
    /// To where.
    pub to: Place,
    /// The ranks that it is of, or for; ascending.
    pub ranks: Vec<u32>,
    /// The event collector that it passes before.
    pub passing: Option<Passing>,
}

/// One thing to do: take some values, put them together, forward them.
#[derive(Debug)]
pub struct Step {
    /// The values, in the order in which they are put together.
    pub inputs: Vec<Input>,
    /// Event collectors that the value passes within this process.
    pub passings: Vec<Passing>,
    /// Where it goes.
    pub outputs: Vec<Output>,
}

/// A tree as it looks from the root of an operation.
struct Oriented<'a> {
    paths: &'a Paths,
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

/// What process `me` does in one segment of an operation, in this order.
#[must_use]
pub fn steps(paths: &Paths, flow: Flow, root: u32, me: u32) -> Vec<Step> {
    let oriented = Oriented::new(paths, root, me);
    match flow {
        Flow::ToRoot => oriented.steps_to_root(),
        Flow::FromRoot => oriented.steps_from_root(),
    }
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
        let has_others = |edge: &&usize| paths.ranks_above(**edge).len() < paths.n_ranks();
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
    fn input_down(&self, edge: usize, ranks: Vec<u32>) -> Input {
        if self.is_local(edge) {
            return Input {
                from: Place::Contribution(edge),
                ranks,
                passing: None,
            };
        }
        Input {
            from: Place::Message {
                other: self.acting_above(edge),
                tag: tag_toward(edge),
            },
            ranks,
            passing: self.passing(edge, 1, true),
        }
    }

    /// What a station beside the path of the root brings.
    fn brought(&self, edge: usize) -> Input {
        self.input_down(edge, self.ranks_above(edge))
    }

    /// A value that comes back to a station.
    fn input_back(&self, edge: usize, local: Place, ranks: Vec<u32>) -> Input {
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
            ranks,
            passing: self.passing(edge, 0, false),
        }
    }

    /// A value that goes on to a join.
    fn output_down(&self, edge: usize, ranks: Vec<u32>) -> Output {
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
            ranks,
            passing: self.passing(edge, 0, true),
        }
    }

    /// A value that goes back to a station of another host.
    fn output_back(&self, edge: usize, ranks: Vec<u32>) -> Output {
        Output {
            to: Place::Message {
                other: self.acting_above(edge),
                tag: tag_back(edge),
            },
            ranks,
            passing: self.passing(edge, 1, false),
        }
    }

    /// What the program brings.
    fn program(&self, ranks: Vec<u32>) -> Input {
        Input {
            from: Place::Program,
            ranks,
            passing: None,
        }
    }

    fn step(inputs: Vec<Input>, outputs: Vec<Output>) -> Step {
        Step {
            inputs,
            passings: Vec::new(),
            outputs,
        }
    }

    fn all(&self) -> Vec<u32> {
        (0..self.paths.n_ranks() as u32).collect()
    }

    fn steps_to_root(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let own = vec![self.me];
        let own_edge = self.paths.first_edges[self.me as usize];
        if self.me != self.root {
            let output = self.output_down(own_edge, own.clone());
            steps.push(Self::step(vec![self.program(own.clone())], vec![output]));
        }
        let mine = |join: &usize| self.acting[*join] == self.me;
        let beside = (0..self.paths.joins.len()).filter(|join| !self.on_path.contains_key(join));
        for join in beside.filter(mine) {
            let below = self.below(join);
            let inputs = self.others(join).map(|edge| self.brought(edge)).collect();
            let output = self.output_down(below, self.ranks_above(below));
            steps.push(Self::step(inputs, vec![output]));
        }
        for &edge in self.path.iter().rev() {
            let join = self.paths.edges[edge].to;
            if mine(&join) {
                steps.push(self.join_to_root(join, edge));
            }
        }
        if self.me == self.root && self.acting_below(own_edge) != self.me {
            let rest = self.input_back(own_edge, Place::Program, self.ranks_below(own_edge));
            let output = to_program(self.all());
            steps.push(Self::step(vec![self.program(own), rest], vec![output]));
        }
        steps
    }

    /// The edge that leads on from a join that is not the bottommost one.
    fn below(&self, join: usize) -> usize {
        let below = self.paths.joins[join].below;
        below.expect("the bottommost join is on all paths")
    }

    /// What comes to a join on the path of the root goes back over its edge on that path.
    fn join_to_root(&self, join: usize, edge: usize) -> Step {
        let is_first = self.paths.edges[edge].from == Station::Rank(self.root);
        let is_roots = is_first && self.acting[join] == self.root;
        let contributors = self.paths.joins[join].contributors.iter();
        let inputs = contributors.filter_map(|&other| match other == edge {
            false => Some(self.brought(other)),
            true => is_roots.then(|| self.program(vec![self.root])),
        });
        let below = self.next_edge(join).map(|below| {
            let result = Place::Result(self.paths.edges[below].to);
            self.input_back(below, result, self.ranks_below(below))
        });
        let inputs: Vec<Input> = inputs.chain(below).collect();
        let output = if is_roots {
            Output {
                passing: self.passing(edge, 0, false),
                ..to_program(self.all())
            }
        } else if self.is_local(edge) {
            Output {
                to: Place::Result(join),
                ranks: self.ranks_below(edge),
                passing: None,
            }
        } else {
            self.output_back(edge, self.ranks_below(edge))
        };
        Self::step(inputs, vec![output])
    }

    fn steps_from_root(&self) -> Vec<Step> {
        let mut steps = self.along_the_path();
        let own_edge = self.paths.first_edges[self.me as usize];
        let mine = |join: &usize| self.acting[*join] == self.me;
        let beside = (0..self.paths.joins.len()).filter(|join| !self.on_path.contains_key(join));
        for join in beside.rev().filter(mine) {
            let input = self.returned(self.below(join));
            let mut outputs = Vec::new();
            self.return_result(join, Place::Result(join), &mut outputs);
            steps.push(Self::step(vec![input], outputs));
        }
        if self.me != self.root {
            let input = self.returned(own_edge);
            steps.push(Self::step(vec![input], vec![to_program(vec![self.me])]));
        }
        steps
    }

    /// What comes back over an edge beside the path of the root: where that stays on one host, with what others of
    /// its join get.
    fn returned(&self, edge: usize) -> Input {
        let (from, published) = self.published_at(self.paths.edges[edge].to);
        let ranks = if self.is_local(edge) {
            published
        } else {
            self.ranks_above(edge)
        };
        self.input_back(edge, from, ranks)
    }

    /// What the root, and the owners of joins where its path comes to another host, forward: a step
    /// for each part of the path for which this process acts.
    fn along_the_path(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let first = self.path[0];
        let is_root = self.me == self.root;
        if is_root && self.acting_below(first) != self.me {
            let below = self.output_down(first, self.ranks_below(first));
            let outputs = vec![below, to_program(vec![self.me])];
            steps.push(Self::step(vec![self.program(self.all())], outputs));
        }
        let parts = self
            .path
            .chunk_by(|a, b| self.acting_below(*a) == self.acting_below(*b));
        for part in parts.filter(|part| self.acting_below(part[0]) == self.me) {
            let is_first = is_root && part[0] == first;
            let input = if is_first {
                self.program(self.all())
            } else {
                self.input_down(part[0], self.ranks_below(part[0]))
            };
            let mut outputs = Vec::new();
            for &edge in part {
                let join = self.paths.edges[edge].to;
                let (place, _) = self.published_at(join);
                self.return_result(join, place, &mut outputs);
            }
            let last = self.paths.edges[part[part.len() - 1]].to;
            if let Some(below) = self.next_edge(last) {
                outputs.push(self.output_down(below, self.ranks_below(below)));
            }
            if is_first {
                outputs.push(to_program(vec![self.me]));
            }
            let local = part.iter().filter(|&&edge| self.is_local(edge));
            let passings = local.filter_map(|&edge| self.passing(edge, 0, true));
            steps.push(Step {
                passings: passings.collect(),
                ..Self::step(vec![input], outputs)
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

    /// Returns a value to what contributes to a join.
    fn return_result(&self, join: usize, place: Place, outputs: &mut Vec<Output>) {
        let (_, ranks) = self.published_at(join);
        if !ranks.is_empty() {
            outputs.push(Output {
                to: place,
                ranks,
                passing: None,
            });
        }
        let remote = self.others(join).filter(|&edge| !self.is_local(edge));
        outputs.extend(remote.map(|edge| self.output_back(edge, self.ranks_above(edge))));
    }
}

fn to_program(ranks: Vec<u32>) -> Output {
    Output {
        to: Place::Program,
        ranks,
        passing: None,
    }
}
