//! Operations in which data flow both ways: to the bottommost wrapper, and the result back.
//!
//! On the way down each process takes its own value to its first join. All but the last that arrive
//! there wait for what comes back; the last puts the values together and takes the result to the
//! next join. Where messages come from other hosts, a process that is known beforehand must receive
//! them: such a join is acted for by its owner, who waits for shared memory and for messages in one
//! loop.
//!
//! A process may act for several joins, also for such as its own path does not go through. On the
//! way down it attends to them in the order of the tree, contributors first, and waits for nothing
//! but their contributors. Only then does it wait for the result. So whoever is waited for can go
//! on: the way down needs only what is above, the way back only what is below.

use super::worker::Worker;
use crate::error::Error;
use crate::transport::Transport;
use crate::tree::{Edge, Join, Paths, Place, tag_back, tag_toward};
use crate::values::{Combine, Merge, Position, Shape};

/// How values are put together at each join, for one shape of values.
#[derive(Debug)]
pub(crate) struct Merges(Vec<Merge>);

impl Merges {
    pub(crate) fn new(paths: &Paths, shape: Shape) -> Self {
        let of_join = |join: &Join| {
            let edges = join.contributors.iter();
            let sets: Vec<&[u32]> = edges.map(|&edge| paths.ranks_above(edge)).collect();
            Merge::new(&sets, shape)
        };
        Self(paths.joins.iter().map(of_join).collect())
    }
}

/// What a process has done on the way down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Done {
    /// It has brought a value over an edge.
    Passed(usize),
    /// It has put values together at a join, and will return the result.
    Joined(usize),
}

/// How one process executes operations in which data flow both ways.
#[derive(Debug)]
pub(crate) struct TwoWay {
    /// Whether the tree is one exchange of processes of one host.
    is_flat: bool,
    /// The joins that this process acts for, contributors first.
    owned: Vec<usize>,
    /// What it has done so far in this segment.
    done: Vec<Done>,
    /// When it has passed each edge: at the station, and behind the proxy.
    stamps: Vec<[u64; 2]>,
    /// Who has sent the message that came over each edge.
    senders: Vec<u32>,
    /// Which contributors of a join have come.
    has_come: Vec<bool>,
}

impl TwoWay {
    pub(crate) fn new(paths: &Paths, me: u32) -> Self {
        let is_mine = |join: &Join| join.is_owned && join.owner == me;
        let owned = (0..).zip(&paths.joins).filter(|(_, join)| is_mine(join));
        let contributors = paths.joins.iter().map(|join| join.contributors.len());
        Self {
            is_flat: paths.is_one_host() && paths.joins.len() == 1 && paths.joins[0].is_exchange,
            owned: owned.map(|(idx, _)| idx).collect(),
            done: Vec::with_capacity(paths.joins.len() + paths.edges.len()),
            stamps: vec![[0; 2]; paths.edges.len()],
            senders: vec![0; paths.edges.len()],
            has_come: vec![false; contributors.max().unwrap_or(0)],
        }
    }

    /// Takes the value of this process to the bottommost wrapper and the result back. It is the
    /// value afterwards.
    pub(crate) fn execute<T: Transport>(
        &mut self,
        worker: &mut Worker<T>,
        paths: &Paths,
        merges: &Merges,
        combine: &mut dyn Combine,
        at: Position,
    ) -> Result<(), Error> {
        let mut pass = Way {
            state: self,
            worker,
            paths,
            merges,
            combine,
            at,
        };
        if pass.state.is_flat {
            return pass.exchange();
        }
        pass.state.done.clear();
        let has_result = pass.down()?;
        let taken = if has_result {
            None
        } else {
            Some(pass.take_result()?)
        };
        pass.back(taken)
    }
}

/// One segment of an operation, on its way.
struct Way<'a, T: Transport> {
    state: &'a mut TwoWay,
    worker: &'a mut Worker<T>,
    paths: &'a Paths,
    merges: &'a Merges,
    combine: &'a mut dyn Combine,
    at: Position,
}

impl<T: Transport> Way<'_, T> {
    fn edge(&self, edge: usize) -> &Edge {
        &self.paths.edges[edge]
    }

    /// All there is to do where the tree is one exchange of processes of one host.
    fn exchange(&mut self) -> Result<(), Error> {
        let edge = self.paths.first_edges[self.worker.me as usize];
        let collector = self.edge(edge).collectors[0];
        let down = self.worker.stamp(collector);
        self.worker
            .forward(Place::Contribution(edge), self.at, None)?;
        for (nth, &partner) in self.paths.joins[0].contributors.iter().enumerate() {
            let place = if partner == edge {
                Place::Program
            } else {
                Place::Contribution(partner)
            };
            self.worker.await_input(nth, place, self.at)?;
        }
        self.worker.merge(&self.merges.0[0], self.combine);
        let up = self.worker.stamp(collector);
        self.worker.record(collector, self.at, down, up);
        Ok(())
    }

    /// The way down. Returns whether the result is here already.
    fn down(&mut self) -> Result<bool, Error> {
        let mut has_result = self.arrive(self.paths.first_edges[self.worker.me as usize])?;
        for nth in 0..self.state.owned.len() {
            let join = self.state.owned[nth];
            self.await_contributors(join)?;
            has_result |= self.go_on(join)?;
        }
        Ok(has_result)
    }

    /// Brings the value over an edge, and goes on if this process is the last there.
    fn arrive(&mut self, edge: usize) -> Result<bool, Error> {
        let Edge { to, is_proxy, .. } = *self.edge(edge);
        let join = &self.paths.joins[to];
        self.state.stamps[edge][0] = self.worker.stamp(self.edge(edge).collectors[0]);
        self.state.done.push(Done::Passed(edge));
        if join.is_exchange {
            self.give_to_partners(edge)?;
            return Ok(false);
        }
        if is_proxy {
            let place = Place::Message {
                other: join.owner,
                tag: tag_toward(edge),
            };
            self.worker.forward(place, self.at, None)?;
            return Ok(false);
        }
        self.worker
            .forward(Place::Contribution(edge), self.at, None)?;
        let n = join.contributors.len();
        if join.is_owned || (n > 1 && !self.worker.is_last_of(n, to, self.at)) {
            return Ok(false);
        }
        if n > 1 {
            for nth in 0..n {
                let place = Place::Contribution(join.contributors[nth]);
                self.worker.await_input(nth, place, self.at)?;
            }
            self.worker.merge(&self.merges.0[to], self.combine);
        }
        self.go_on(to)
    }

    /// Takes what a join has put together to the next one.
    fn go_on(&mut self, join: usize) -> Result<bool, Error> {
        self.state.done.push(Done::Joined(join));
        match self.paths.joins[join].below {
            Some(edge) => self.arrive(edge),
            None => Ok(true),
        }
    }

    /// Gives the value to all partners of an exchange: in the memory of this host, and by messages.
    fn give_to_partners(&mut self, edge: usize) -> Result<(), Error> {
        let partners = &self.paths.joins[self.edge(edge).to].contributors;
        let me = self.worker.me;
        // Also for this process itself, which may put other values together before it takes this one.
        self.worker
            .forward(Place::Contribution(edge), self.at, None)?;
        let others = partners.iter().copied();
        for partner in others.filter(|&partner| !self.paths.is_on_host_of(partner, me)) {
            let place = Place::Message {
                other: self.edge(partner).owner,
                tag: tag_toward(edge),
            };
            self.worker.forward(place, self.at, None)?;
        }
        Ok(())
    }

    /// Takes from all partners of an exchange, and puts everything together.
    fn take_from_partners(&mut self, edge: usize) -> Result<(), Error> {
        let to = self.edge(edge).to;
        for (nth, &partner) in self.paths.joins[to].contributors.iter().enumerate() {
            let place = if self.paths.is_on_host_of(partner, self.worker.me) {
                Place::Contribution(partner)
            } else {
                Place::Message {
                    other: self.edge(partner).owner,
                    tag: tag_toward(partner),
                }
            };
            self.worker.await_input(nth, place, self.at)?;
        }
        self.worker.merge(&self.merges.0[to], self.combine);
        Ok(())
    }

    /// Waits for the contributors of a join that this process acts for, whichever comes first.
    fn await_contributors(&mut self, join: usize) -> Result<(), Error> {
        let Self {
            state,
            worker,
            paths,
            at,
            ..
        } = self;
        let edges = &paths.joins[join].contributors;
        let mut n_missing = edges.len();
        state.has_come[..n_missing].fill(false);
        while n_missing > 0 {
            let ((nth, by), has_waited) = worker.wait(|worker| {
                for (nth, &edge) in edges.iter().enumerate() {
                    if state.has_come[nth] {
                        continue;
                    }
                    let by = if paths.edges[edge].is_proxy {
                        worker.take_message(nth, None, tag_toward(edge), *at)?
                    } else {
                        worker.take_input(nth, Place::Contribution(edge), *at)?
                    };
                    if let Some(by) = by {
                        return Ok(Some((nth, by)));
                    }
                }
                Ok(None)
            })?;
            let edge = edges[nth];
            state.has_come[nth] = true;
            state.senders[edge] = by;
            n_missing -= 1;
            if paths.edges[edge].is_proxy {
                state.stamps[edge][1] = worker.stamp(paths.edges[edge].collectors[1]);
            } else {
                worker.note_woken(by, has_waited, Place::Contribution(edge));
            }
        }
        self.worker.merge(&self.merges.0[join], self.combine);
        Ok(())
    }

    /// Waits for the result, at the bottommost of the edges that this process has brought a value
    /// over. Returns that edge.
    fn take_result(&mut self) -> Result<usize, Error> {
        let passed = self.state.done.iter().filter_map(|done| match done {
            Done::Passed(edge) => Some(*edge),
            Done::Joined(_) => None,
        });
        let bottommost = passed.max_by_key(|&edge| self.paths.edges[edge].to);
        let edge = bottommost.expect("each process begins by bringing its own value");
        if self.paths.joins[self.edge(edge).to].is_exchange {
            self.take_from_partners(edge)?;
        } else {
            let place = self.result_of(edge);
            self.worker.await_value(place, self.at)?;
        }
        Ok(edge)
    }

    /// Where the result comes back to the station of an edge.
    fn result_of(&self, edge: usize) -> Place {
        let Edge { to, is_proxy, .. } = *self.edge(edge);
        if is_proxy {
            Place::Message {
                other: self.paths.joins[to].owner,
                tag: tag_back(edge),
            }
        } else {
            Place::Result(to)
        }
    }

    /// Returns the result to everybody who waits for it at a join where this process has put
    /// values together. The result was taken at edge `taken`, unless it was made here.
    fn back(&mut self, taken: Option<usize>) -> Result<(), Error> {
        for nth in (0..self.state.done.len()).rev() {
            match self.state.done[nth] {
                Done::Joined(join) => self.return_result(join)?,
                Done::Passed(edge) => {
                    let to = self.edge(edge).to;
                    // It may have brought the values of two partners of an exchange, and has the
                    // result of both.
                    let is_here = self.paths.joins[to].is_exchange
                        || self.state.done.contains(&Done::Joined(to));
                    if !is_here && taken != Some(edge) {
                        // The same result has come to another join that this process acts for. It
                        // is taken here too: paths are what the tree says.
                        let place = self.result_of(edge);
                        self.worker.await_input(0, place, self.at)?;
                    }
                    self.record_pass(edge, 0);
                }
            }
        }
        Ok(())
    }

    fn return_result(&mut self, join: usize) -> Result<(), Error> {
        let Join {
            contributors,
            is_owned,
            ..
        } = &self.paths.joins[join];
        let is_local = |edge: &usize| !self.paths.edges[*edge].is_proxy;
        // Where there is one contributor, and no owner that acts for it, this process has brought
        // it.
        let n_local = contributors.iter().filter(|edge| is_local(edge)).count();
        if n_local > 1 || (n_local > 0 && *is_owned) {
            self.worker.forward(Place::Result(join), self.at, None)?;
        }
        for &edge in contributors.iter().filter(|edge| !is_local(edge)) {
            let place = Place::Message {
                other: self.state.senders[edge],
                tag: tag_back(edge),
            };
            self.record_pass(edge, 1);
            self.worker.forward(place, self.at, None)?;
        }
        Ok(())
    }

    /// Records the pass of an event collector at an edge, whose value came down earlier.
    fn record_pass(&mut self, edge: usize, end: usize) {
        let collector = self.edge(edge).collectors[end];
        if collector.is_some() {
            let up = self.worker.stamp(collector);
            let down = self.state.stamps[edge][end];
            self.worker.record(collector, self.at, down, up);
        }
    }
}
