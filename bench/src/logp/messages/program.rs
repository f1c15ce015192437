//! What each process does for a piece of work, one step at a time.
//!
//! A step communicates at most once, so that a simulation can execute the steps of all processes in
//! the order of their clocks. On a real network a process executes its steps in a loop.

use super::endpoint::{Attempt, ECHO, Endpoint, GET, LAST};
use super::network::{Kind, Message, Network, WORDS};
use super::work::{Timed, Transfer, Work};

/// What a step has led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::logp) enum Progress {
    /// There is more to do.
    Goes,
    /// There is nothing to do before a message arrives.
    Waits,
    /// Everything is done.
    Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Begin,
    Issue,
    Drain,
}

/// The part of one process in a piece of work.
#[derive(Debug)]
pub(in crate::logp) struct Program {
    work: Work,
    /// Empty if it sends no requests.
    targets: Vec<usize>,
    /// Requests that it has to handle.
    n_to_handle: u64,
    /// Requests sent, in all repetitions.
    n_sent: usize,
    stage: Stage,
    /// Requests sent in this repetition.
    issued: usize,
    begin_ns: f64,
    has_warmed_up: bool,
    /// Times of the repetitions, ns: the mean time of a request where their issue or a computation
    /// is timed.
    pub(in crate::logp) times_ns: Vec<f64>,
}

impl Program {
    /// The part of process `own`.
    pub(in crate::logp) fn of(work: Work, own: usize) -> Self {
        let targets = work.pattern.targets(own);
        Self {
            n_to_handle: work.requests_to(own),
            times_ns: Vec::with_capacity(if targets.is_empty() {
                0
            } else {
                work.repetitions
            }),
            targets,
            work,
            n_sent: 0,
            stage: Stage::Begin,
            issued: 0,
            begin_ns: 0.0,
            has_warmed_up: !work.warms_up,
        }
    }

    /// Executes the next step.
    #[inline]
    pub(in crate::logp) fn step<N: Network>(&mut self, endpoint: &mut Endpoint<N>) -> Progress {
        if self.targets.is_empty() || self.times_ns.len() == self.work.repetitions {
            return self.serve(endpoint);
        }
        match self.stage {
            Stage::Begin => {
                self.issued = 0;
                self.stage = Stage::Issue;
                self.begin_ns = endpoint.network.now_ns();
                Progress::Goes
            }
            Stage::Issue => self.issue(endpoint),
            Stage::Drain => self.drain(endpoint),
        }
    }

    fn serve<N: Network>(&self, endpoint: &mut Endpoint<N>) -> Progress {
        if endpoint.tally.requests >= self.n_to_handle {
            Progress::Done
        } else if endpoint.poll() {
            Progress::Goes
        } else {
            Progress::Waits
        }
    }

    #[inline]
    fn issue<N: Network>(&mut self, endpoint: &mut Endpoint<N>) -> Progress {
        match self.work.timed {
            Timed::Issue { m, delay_ns } => {
                match self.try_request(endpoint) {
                    Attempt::Handled => return Progress::Goes,
                    Attempt::Full => return Progress::Waits,
                    Attempt::Sent => {}
                }
                if delay_ns > 0.0 {
                    endpoint.network.compute(delay_ns);
                }
                if self.issued == m {
                    self.end(endpoint, m);
                    self.stage = Stage::Drain;
                }
            }
            Timed::RoundTrip => match self.try_request(endpoint) {
                Attempt::Full => return Progress::Waits,
                Attempt::Handled => {}
                Attempt::Sent => self.stage = Stage::Drain,
            },
            Timed::Receipt { delay_ns } => match self.try_request(endpoint) {
                Attempt::Full => return Progress::Waits,
                Attempt::Handled => {}
                Attempt::Sent => {
                    endpoint.network.compute(delay_ns);
                    self.begin_ns = endpoint.network.now_ns();
                    self.stage = Stage::Drain;
                }
            },
            Timed::Prtt { m, delay_ns } => {
                let request = self.request(LAST, (m - 1 - self.issued) as u64);
                if self.issued + 1 < m {
                    endpoint.send_without_reply(self.target(), &request);
                    self.issued += 1;
                    self.n_sent += 1;
                    if delay_ns > 0.0 {
                        endpoint.network.compute(delay_ns);
                    }
                } else {
                    match endpoint.try_request(self.target(), &request) {
                        Attempt::Full => return Progress::Waits,
                        Attempt::Handled => {}
                        Attempt::Sent => {
                            self.n_sent += 1;
                            self.stage = Stage::Drain;
                        }
                    }
                }
            }
            Timed::Computation { m, delay_ns } => {
                for _ in 0..m {
                    endpoint.network.compute(delay_ns);
                }
                self.end(endpoint, m);
                self.stage = Stage::Begin;
            }
        }
        Progress::Goes
    }

    fn drain<N: Network>(&mut self, endpoint: &mut Endpoint<N>) -> Progress {
        if !endpoint.poll() {
            if !endpoint.is_drained() {
                return Progress::Waits;
            }
        } else if endpoint.is_drained() && !matches!(self.work.timed, Timed::Issue { .. }) {
            self.end(endpoint, 1);
        }
        if endpoint.is_drained() {
            self.stage = Stage::Begin;
        }
        Progress::Goes
    }

    #[inline]
    fn try_request<N: Network>(&mut self, endpoint: &mut Endpoint<N>) -> Attempt {
        let request = self.request(ECHO, self.n_sent as u64);
        let attempt = endpoint.try_request(self.target(), &request);
        if attempt == Attempt::Sent {
            self.issued += 1;
            self.n_sent += 1;
        }
        attempt
    }

    fn target(&self) -> usize {
        self.targets[self.n_sent % self.targets.len()]
    }

    fn request(&self, handler: u8, first: u64) -> Message {
        let mut words = [0; WORDS];
        words[0] = first;
        let (handler, bytes) = match self.work.transfer {
            Transfer::Small => (handler, 0),
            Transfer::Store(bytes) => (handler, bytes),
            Transfer::Get(bytes) => {
                words[1] = bytes as u64;
                (GET, 0)
            }
        };
        Message {
            kind: Kind::Request,
            handler,
            words,
            bytes,
        }
    }

    /// Ends the time of a repetition, and divides it by `n`.
    fn end<N: Network>(&mut self, endpoint: &mut Endpoint<N>, n: usize) {
        let end_ns = endpoint.network.now_ns();
        let elapsed_ns = end_ns - self.begin_ns - endpoint.network.clock_ns();
        if self.has_warmed_up {
            self.times_ns.push(elapsed_ns / n as f64);
        }
        self.has_warmed_up = true;
    }
}
