//! Operations in which data flow both ways: to the bottommost join, and the result back.
//!
//! A process brings its value over edges until one leads to another host. It attends to the joins that it
//! owns, contributors first; then it waits for the result, and returns it to whoever waits for it.

use super::Blocks;
use super::paths::{Edge, Paths, tag_back, tag_toward};
use super::written::Written;

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
        n_arrived: vec![0; paths.joins.len()],
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
    /// By join, how many contributors of this host have come.
    n_arrived: Vec<usize>,
}

impl Way<'_> {
    /// Length of what goes over an edge toward the bottommost join.
    fn bytes_above(&self, edge: usize) -> u64 {
        self.bytes * self.blocks.of_ranks(self.paths.ranks_above(edge).len())
    }

    /// Length of the result.
    fn bytes_of_all(&self) -> u64 {
        self.bytes * self.blocks.of_ranks(self.paths.n_ranks)
    }

    /// Returns whether the result is here already.
    fn down(&mut self) -> bool {
        let mut has_result = self.arrive(self.paths.first_edges[self.me as usize]);
        let joins = self.paths.joins.iter().enumerate();
        let owned = joins.filter(|(_, join)| join.is_owned && join.owner == self.me);
        let owned: Vec<usize> = owned.map(|(at, _)| at).collect();
        for join in owned {
            self.await_contributors(join);
            has_result |= self.go_on(join);
        }
        has_result
    }

    fn arrive(&mut self, edge: usize) -> bool {
        let Edge { to, is_proxy, .. } = self.paths.edges[edge];
        let join = &self.paths.joins[to];
        self.done.push(Done::Passed(edge));
        let bytes = self.bytes_above(edge);
        if join.is_exchange {
            for &partner in &join.contributors {
                let other = self.paths.edges[partner].owner;
                if other != self.me {
                    self.written.send(other, tag_toward(edge), bytes);
                }
            }
            return false;
        }
        if is_proxy {
            self.written.send(join.owner, tag_toward(edge), bytes);
            return false;
        }
        self.n_arrived[to] += 1;
        let n = join.contributors.len();
        if join.is_owned || self.n_arrived[to] < n {
            return false;
        }
        self.written.combine(n, self.bytes);
        self.go_on(to)
    }

    fn go_on(&mut self, join: usize) -> bool {
        self.done.push(Done::Joined(join));
        match self.paths.joins[join].below {
            Some(edge) => self.arrive(edge),
            None => true,
        }
    }

    fn await_contributors(&mut self, join: usize) {
        let contributors = &self.paths.joins[join].contributors;
        let edges = contributors
            .iter()
            .map(|&edge| (edge, &self.paths.edges[edge]));
        let messages = edges.filter(|(_, of)| of.is_proxy);
        let messages: Vec<(u32, u32)> = messages
            .map(|(edge, of)| (of.owner, tag_toward(edge)))
            .collect();
        self.written.receive_all(&messages);
        self.written.combine(contributors.len(), self.bytes);
    }

    /// Returns the bottommost edge that a value was brought over: there the result comes.
    fn take_result(&mut self) -> usize {
        let passed = self.done.iter().filter_map(|done| match done {
            Done::Passed(edge) => Some(*edge),
            Done::Joined(_) => None,
        });
        let bottommost = passed.max_by_key(|&edge| self.paths.edges[edge].to);
        let edge = bottommost.expect("each process begins by bringing its own value");
        let join = &self.paths.joins[self.paths.edges[edge].to];
        if join.is_exchange {
            for &partner in &join.contributors {
                let other = self.paths.edges[partner].owner;
                if other != self.me {
                    self.written.receive(other, tag_toward(partner));
                }
            }
            self.written.combine(join.contributors.len(), self.bytes);
        } else {
            self.await_result_of(edge);
        }
        edge
    }

    fn await_result_of(&mut self, edge: usize) {
        let Edge { to, is_proxy, .. } = self.paths.edges[edge];
        if is_proxy {
            self.written
                .receive(self.paths.joins[to].owner, tag_back(edge));
        }
    }

    /// The result was taken at edge `taken`, unless it was made here.
    fn back(&mut self, taken: Option<usize>) {
        for done in std::mem::take(&mut self.done).iter().rev() {
            match *done {
                Done::Joined(join) => self.return_result(join),
                Done::Passed(edge) => {
                    let is_exchange = self.paths.joins[self.paths.edges[edge].to].is_exchange;
                    // At joins of its own host the process has the result itself.
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
            let of = &self.paths.edges[edge];
            if of.is_proxy {
                self.written.send(of.owner, tag_back(edge), bytes);
            }
        }
    }
}
