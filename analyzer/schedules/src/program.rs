//! Writes down what a process does, as a program that calls MPI would.

use crate::schedule::{Action, Process, What};

/// An action that may not have ended yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request(usize);

/// What a process does, written down in order.
#[derive(Debug)]
pub struct Program {
    rank: usize,
    process: Process,
    /// What the next action waits for.
    waited: Vec<usize>,
}

impl Program {
    /// Of the process with a rank: nothing yet.
    #[must_use]
    pub fn new(rank: usize) -> Self {
        Self {
            rank,
            process: Process::default(),
            waited: Vec::new(),
        }
    }

    /// The rank of the process.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    fn begin(&mut self, what: What) -> Request {
        let after = std::mem::take(&mut self.waited);
        self.process.actions.push(Action { what, after });
        Request(self.process.actions.len() - 1)
    }

    /// Begins to send.
    pub fn isend(&mut self, to: usize, bytes: u64) -> Request {
        self.begin(What::Send {
            to,
            bytes,
            is_synchronous: false,
        })
    }

    /// Begins to send; that ends when the other one has begun to receive it.
    pub fn isend_synchronous(&mut self, to: usize, bytes: u64) -> Request {
        self.begin(What::Send {
            to,
            bytes,
            is_synchronous: true,
        })
    }

    /// Begins to receive.
    pub fn irecv(&mut self, from: usize) -> Request {
        self.begin(What::Receive { from: Some(from) })
    }

    /// Begins to receive from any process.
    pub fn irecv_from_any(&mut self) -> Request {
        self.begin(What::Receive { from: None })
    }

    /// Waits until an action has ended.
    pub fn wait(&mut self, Request(at): Request) {
        self.waited.push(at);
    }

    /// Waits until all of some have ended.
    pub fn wait_all(&mut self, requests: impl IntoIterator<Item = Request>) {
        self.waited
            .extend(requests.into_iter().map(|Request(at)| at));
    }

    /// Sends.
    pub fn send(&mut self, to: usize, bytes: u64) {
        let request = self.isend(to, bytes);
        self.wait(request);
    }

    /// Sends until the other one has begun to receive it.
    pub fn send_synchronous(&mut self, to: usize, bytes: u64) {
        let request = self.isend_synchronous(to, bytes);
        self.wait(request);
    }

    /// Receives.
    pub fn recv(&mut self, from: usize) {
        let request = self.irecv(from);
        self.wait(request);
    }

    /// Posts a receive, sends, and waits for both; of a process with itself nothing is sent.
    pub fn sendrecv(&mut self, to: usize, bytes: u64, from: usize) {
        if to == self.rank && from == self.rank {
            return;
        }
        let received = self.irecv(from);
        self.send(to, bytes);
        self.wait(received);
    }

    /// Combines.
    pub fn combine(&mut self, bytes: u64) {
        let request = self.begin(What::Combine { bytes });
        self.wait(request);
    }

    /// All that was written down.
    #[must_use]
    pub fn finish(self) -> Process {
        Process {
            at_end: self.waited,
            ..self.process
        }
    }
}
