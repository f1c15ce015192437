//! Requests and replies: small active messages, after GAM.
//!
//! A request names a handler, which the receiver calls with the words of the message, and which may
//! reply. Messages are handled only by polling: explicitly, and before each request is sent.
//! Requests that wait for replies are limited in number, by the sender and by the network.
//!
//! # Source
//! Culler et al. 1996, section "Active messages".

use super::network::{Kind, Message, Network, WORDS};

/// What the handlers of a process change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::logp) struct Tally {
    /// Requests handled.
    pub(in crate::logp) requests: u64,
    /// Replies handled.
    pub(in crate::logp) replies: u64,
    /// Sum of the first words of all replies.
    pub(in crate::logp) sum: u64,
}

/// Changes the state of its process; returns the reply, if it makes one.
type Handler = fn(&mut Tally, &Message) -> Option<Message>;

/// Replies with the words of the request.
pub(in crate::logp) const ECHO: u8 = 0;
/// Replies if the first word is 0: to the last of several requests.
pub(in crate::logp) const LAST: u8 = 1;
/// Replies with as many bytes as the second word says.
pub(in crate::logp) const GET: u8 = 2;
/// Takes a reply.
const DONE: u8 = 3;

const HANDLERS: [Handler; 4] = [echo, last, get, done];

fn reply(words: [u64; WORDS], bytes: usize) -> Message {
    Message {
        kind: Kind::Reply,
        handler: DONE,
        words,
        bytes,
    }
}

fn echo(_: &mut Tally, request: &Message) -> Option<Message> {
    Some(reply(request.words, 0))
}

fn last(tally: &mut Tally, request: &Message) -> Option<Message> {
    (request.words[0] == 0).then(|| echo(tally, request))?
}

fn get(_: &mut Tally, request: &Message) -> Option<Message> {
    Some(reply(request.words, request.words[1] as usize))
}

fn done(tally: &mut Tally, reply: &Message) -> Option<Message> {
    tally.sum = tally.sum.wrapping_add(reply.words[0]);
    None
}

/// What an attempt to send a request has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::logp) enum Attempt {
    /// Sent it.
    Sent,
    /// Handled another message; try again.
    Handled,
    /// Nothing: as many requests wait for replies as may, and no reply has arrived.
    Full,
}

/// A process that sends requests and handles those of others.
#[derive(Debug)]
pub(in crate::logp) struct Endpoint<N> {
    pub(in crate::logp) network: N,
    pub(in crate::logp) tally: Tally,
    /// Requests without a reply at once, at most.
    window: usize,
    outstanding: usize,
}

impl<N: Network> Endpoint<N> {
    pub(in crate::logp) fn new(network: N) -> Self {
        Self {
            network,
            tally: Tally::default(),
            window: 1,
            outstanding: 0,
        }
    }

    /// Begins to count, with at most `window` requests without a reply.
    pub(in crate::logp) fn begin(&mut self, window: usize) {
        self.window = window.max(1).min(self.network.capacity());
        self.tally = Tally::default();
    }

    /// Handles one message that has arrived; returns whether there was one.
    #[inline]
    pub(in crate::logp) fn poll(&mut self) -> bool {
        let Some((from, message)) = self.network.receive() else {
            return false;
        };
        match message.kind {
            Kind::Request => self.tally.requests += 1,
            Kind::Reply => {
                self.tally.replies += 1;
                self.outstanding -= 1;
            }
        }
        let handler = HANDLERS[usize::from(message.handler)];
        if let Some(reply) = handler(&mut self.tally, &message) {
            self.network.send(from, &reply);
        }
        true
    }

    /// Polls; sends the request if nothing has arrived and there is room for it.
    #[inline]
    pub(in crate::logp) fn try_request(&mut self, to: usize, request: &Message) -> Attempt {
        if self.poll() {
            return Attempt::Handled;
        }
        if self.outstanding >= self.window {
            return Attempt::Full;
        }
        self.outstanding += 1;
        self.network.send(to, request);
        Attempt::Sent
    }

    /// Sends a request that is not replied to, whatever the number of those that are.
    #[inline]
    pub(in crate::logp) fn send_without_reply(&mut self, to: usize, request: &Message) {
        self.network.send(to, request);
    }

    /// Whether all requests were replied to.
    #[inline]
    pub(in crate::logp) fn is_drained(&self) -> bool {
        self.outstanding == 0
    }
}
