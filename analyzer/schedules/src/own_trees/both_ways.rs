//! Operations in which data flow both ways: to the bottommost join, and the result back.
//!
//! A process brings its value to a join, and attends to the joins that it owns, contributors first; then it waits
//! for the result, and returns it to whoever waits for it. On a host the process that arrives last acts for a join
//! to which nothing comes from elsewhere; here its owner does.

use collbench_plans::{Edge, Paths, tag_back, tag_toward};

use super::Blocks;
use super::written::{IN_MEMORY, InMemory, Written};

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

    /// Sends a value to the process that acts at the other end of an edge: by a message, or in the memory of this host on
    /// its way to the join of the edge, or back from it.
    fn give(&mut self, to: u32, edge: usize, tag: u32, (bytes, is_brought): (u64, bool)) {
        let host = self.paths.hosts[self.me as usize];
        if self.paths.hosts[to as usize] != host {
            return self.written.send(to, tag, bytes);
        }
        let how = InMemory {
            contributors: self.paths.n_meeting(self.edge(edge).to, host),
            is_brought,
        };
        self.written.put(to, how, bytes);
    }

    /// A value from another process, as it is waited for: by a message with a tag, or in the memory of this host.
    fn value(&self, from: u32, tag: u32) -> (u32, u32) {
        let is_here = self.paths.hosts[from as usize] == self.paths.hosts[self.me as usize];
        (from, if is_here { IN_MEMORY } else { tag })
    }

    /// Returns whether the result is here already.
    fn down(&mut self) -> bool {
        self.arrive(self.paths.first_edges[self.me as usize]);
        let (me, paths) = (self.me, self.paths);
        let joins = paths.joins.iter().enumerate();
        let mut has_result = false;
        for (join, of) in joins.filter(|(_, of)| of.owner == me && !of.is_exchange) {
            let values = of.contributors.iter();
            let values = values.map(|&edge| self.value(self.edge(edge).owner, tag_toward(edge)));
            let values: Vec<(u32, u32)> = values.collect();
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
        let join = &self.paths.joins[self.edge(edge).to];
        self.done.push(Done::Passed(edge));
        let value = (self.bytes_above(edge), true);
        if join.is_exchange {
            for &partner in &join.contributors {
                self.give(self.edge(partner).owner, edge, tag_toward(edge), value);
            }
        } else {
            self.give(join.owner, edge, tag_toward(edge), value);
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
                let value = self.value(self.edge(partner).owner, tag_toward(partner));
                self.written.receive_all([value]);
            }
            self.written.combine(join.contributors.len(), self.bytes);
        } else {
            self.await_result_of(edge);
        }
        edge
    }

    fn await_result_of(&mut self, edge: usize) {
        let owner = self.paths.joins[self.edge(edge).to].owner;
        let value = self.value(owner, tag_back(edge));
        self.written.receive_all([value]);
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
        let value = (self.bytes_of_all(), false);
        for &edge in &self.paths.joins[join].contributors {
            self.give(self.edge(edge).owner, edge, tag_back(edge), value);
        }
    }
}
