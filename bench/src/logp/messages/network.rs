//! What carries messages between processes.

/// Words of data in a small message.
pub(in crate::logp) const WORDS: usize = 4;

/// What a message is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::logp) enum Kind {
    /// Asks another process to call a handler.
    Request,
    /// Answers a request.
    Reply,
}

/// A message: the handler that the receiver calls, and its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::logp) struct Message {
    pub(in crate::logp) kind: Kind,
    /// Index into the table of handlers.
    pub(in crate::logp) handler: u8,
    pub(in crate::logp) words: [u64; WORDS],
    /// Bytes of bulk data that come with it; they are in the memory of the receiver before the
    /// handler is called.
    pub(in crate::logp) bytes: usize,
}

impl Message {
    /// The byte that its bulk data begin and end with.
    pub(in crate::logp) fn mark(&self) -> u8 {
        self.words[0] as u8
    }
}

/// A process on a network, with its clock.
pub(in crate::logp) trait Network {
    /// Reads the clock, ns since any instant.
    fn now_ns(&mut self) -> f64;

    /// The time that one reading of the clock takes, ns: part of whatever is measured between two
    /// readings.
    fn clock_ns(&self) -> f64;

    /// Sends a message; returns as soon as the network has taken it.
    fn send(&mut self, to: usize, message: &Message);

    /// Receives a message that has arrived, with its sender; does not wait for one.
    fn receive(&mut self) -> Option<(usize, Message)>;

    /// Computes for this time, without communication.
    fn compute(&mut self, ns: f64);

    /// Requests without a reply that the network takes from one process at once; one more waits
    /// for a reply.
    fn capacity(&self) -> usize;
}
