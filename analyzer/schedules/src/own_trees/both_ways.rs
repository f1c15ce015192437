//! Operations in which data flow both ways: to the bottommost join, and the result back.
//!
//! A process brings its value to a join, and attends to the joins that it owns, contributors first; then it waits
//! for the result, and returns it to whoever waits for it. On a host the process that arrives last acts for a join
//! to which nothing comes from elsewhere; here its owner does.

use collbench_plans::{Edge, Paths, tag_back, tag_toward};

use super::Blocks;
use super::written::{IN_MEMORY, Written};

/// What a process has done on the way to the bottommost join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Done {
    /// It has brought a value over an edge.
    Passed(usize),
    /// It has put values together at a join.
    Joined(usize),
}

/// Writes down what the process does in a segment with so many bytes of each rank.
pub(super) fn write(paths: &Paths, blocks: Blocks, bytes: u64, written: &mut Written) {
    let mut way = Way {
        me: written.rank(),
        paths,
        blocks,
        bytes,
        written,
        done: Vec::new(),
    };
    let has_result = way.down();
    let taken = (!has_result).then(|| way.take_result());
    way.back(taken);
}

struct Way<'a> {
    me: u32,
    paths: &'a Paths,
    blocks: Blocks,
    bytes: u64,
    written: &'a mut Written,
    done: Vec<Done>,
}

impl Way<'_> {
    /// Length of what goes over an edge toward the bottommost join.
    fn bytes_above(&self, edge: usize) -> u64 {
        self.bytes * self.blocks.of_ranks(self.paths.ranks_above(edge).len())
    }

    /// Length of the result.
    fn bytes_of_all(&self) -> u64 {
        self.bytes * self.blocks.of_ranks(self.paths.n_ranks())
    }

    fn edge(&self, edge: usize) -> &Edge {
        &self.paths.edges[edge]
    }

    /// The tag of a value between this process and the one that acts for an edge, where it is not in memory `tag`.
    fn tag_with(&self, partner: usize, tag: u32) -> u32 {
        match self.paths.is_on_host_of(partner, self.me) {
            true => IN_MEMORY,
            false => tag,
        }
    }

    /// Returns whether the result is here already.
    fn down(&mut self) -> bool {
        self.arrive(self.paths.first_edges[self.me as usize]);
        let (me, paths) = (self.me, self.paths);
        let joins = paths.joins.iter().enumerate();
        let mut has_result = false;
        for (join, of) in joins.filter(|(_, of)| of.owner == me && !of.is_exchange) {
            let values = of.contributors.iter().map(|&edge| {
                let Edge {
                    owner, is_proxy, ..
                } = paths.edges[edge];
                let tag = if is_proxy {
                    tag_toward(edge)
                } else {
                    IN_MEMORY
                };
                (owner, tag)
            });
            self.written.receive_all(values);
            self.written.combine(of.contributors.len(), self.bytes);
            self.done.push(Done::Joined(join));
            match of.below {
                Some(edge) => self.arrive(edge),
                None => has_result = true,
            }
        }
        has_result
    }

    fn arrive(&mut self, edge: usize) {
        let &Edge { to, is_proxy, .. } = self.edge(edge);
        let join = &self.paths.joins[to];
        self.done.push(Done::Passed(edge));
        let bytes = self.bytes_above(edge);
        if join.is_exchange {
            for &partner in &join.contributors {
                let tag = self.tag_with(partner, tag_toward(edge));
                self.written.send(self.edge(partner).owner, tag, bytes);
            }
        } else {
            let tag = if is_proxy {
                tag_toward(edge)
            } else {
                IN_MEMORY
            };
            self.written.send(join.owner, tag, bytes);
        }
    }

    /// Returns the bottommost edge that a value was brought over: there the result comes.
    fn take_result(&mut self) -> usize {
        let passed = self.done.iter().filter_map(|done| match done {
            Done::Passed(edge) => Some(*edge),
            Done::Joined(_) => None,
        });
        let bottommost = passed.max_by_key(|&edge| self.edge(edge).to);
        let edge = bottommost.expect("each process begins by bringing its own value");
        let join = &self.paths.joins[self.edge(edge).to];
        if join.is_exchange {
            for &partner in &join.contributors {
                let tag = self.tag_with(partner, tag_toward(partner));
                self.written.receive_all([(self.edge(partner).owner, tag)]);
            }
            self.written.combine(join.contributors.len(), self.bytes);
        } else {
            self.await_result_of(edge);
        }
        edge
    }

    fn await_result_of(&mut self, edge: usize) {
        let &Edge { to, is_proxy, .. } = self.edge(edge);
        let tag = if is_proxy { tag_back(edge) } else { IN_MEMORY };
        self.written
            .receive_all([(self.paths.joins[to].owner, tag)]);
    }

    /// The result was taken at edge `taken`, unless it was made here.
    fn back(&mut self, taken: Option<usize>) {
        for done in std::mem::take(&mut self.done).iter().rev() {
            match *done {
                Done::Joined(join) => self.return_result(join),
                Done::Passed(edge) => {
                    let is_exchange = self.paths.joins[self.edge(edge).to].is_exchange;
                    // At joins for which it acts the process has the result itself.
                    if !is_exchange && taken != Some(edge) {
                        self.await_result_of(edge);
                    }
                }
            }
        }
    }

    fn return_result(&mut self, join: usize) {
        let bytes = self.bytes_of_all();
        for &edge in &self.paths.joins[join].contributors {
            let &Edge {
                owner, is_proxy, ..
            } = self.edge(edge);
            let tag = if is_proxy { tag_back(edge) } else { IN_MEMORY };
            self.written.send(owner, tag, bytes);
        }
    }
}
