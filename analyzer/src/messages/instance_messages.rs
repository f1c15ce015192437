//! The messages of one instance.

use std::sync::Arc;

use collbench_trees::shape::Shape;
use serde::{Deserialize, Serialize};

use crate::messages::message::InstanceMessage;
use crate::messages::pattern::Pattern;

/// The messages of one instance.
#[derive(Debug, Clone, Copy, Default)]
pub struct Messages<'m> {
    /// Those of which both ends are known, by sender and their order there.
    pub paired: &'m [InstanceMessage],
    /// Sends that no receive is known of: that went to a process outside the instance, or whose
    /// other end was not recorded.
    pub n_unpaired_sends: u64,
    /// Receives that no send is known of.
    pub n_unpaired_receives: u64,
    /// Sends to another group, where the collective joins groups: each is an instance of its own.
    pub n_foreign_sends: u64,
    /// Receives from another group.
    pub n_foreign_receives: u64,
    /// The pattern that they follow, if it is known.
    pub(crate) pattern: Option<&'m Pattern>,
}

impl Messages<'_> {
    /// Whether the receive time of every message is known, and none was received from any process.
    pub(crate) fn are_all_known(&self) -> bool {
        self.pattern.is_some_and(Pattern::are_all_received)
    }

    /// Whether there are ends whose other end is not known, or is outside of the instance.
    pub(crate) fn has_unknown_ends(&self) -> bool {
        let n_unpaired = self.n_unpaired_sends + self.n_unpaired_receives;
        n_unpaired + self.n_foreign_sends + self.n_foreign_receives > 0
    }

    /// Their shape, which `find` finds where it is not known.
    pub(crate) fn shape(&self, find: impl FnOnce() -> Arc<Shape>) -> Arc<Shape> {
        match self.pattern {
            Some(pattern) => pattern.shape(find),
            None => find(),
        }
    }

    /// Whether there is no end of any message.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let n_others = self.n_unpaired_sends
            + self.n_unpaired_receives
            + self.n_foreign_sends
            + self.n_foreign_receives;
        self.paired.is_empty() && n_others == 0
    }
}

/// Counts of messages inside instances, by which ends are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageCounts {
    /// Messages of which both ends are known.
    pub n_paired: u64,
    /// Among them those whose receive was one from any process.
    pub n_from_any: u64,
    /// Messages received before they were sent, by a clock error; without those received from any
    /// process.
    pub n_before_sent: u64,
    /// Sends that no receive is known of.
    pub n_unpaired_sends: u64,
    /// Receives that no send is known of.
    pub n_unpaired_receives: u64,
    /// Sends to another group, where a collective joins groups.
    pub n_foreign_sends: u64,
    /// Receives from another group.
    pub n_foreign_receives: u64,
}

impl MessageCounts {
    /// Adds those of an instance.
    pub(crate) fn add(&mut self, messages: &Messages<'_>) {
        let from_any = messages.paired.iter().filter(|message| message.is_from_any);
        let is_before = |message: &&InstanceMessage| {
            !message.is_from_any && message.received.is_some_and(|at| at < message.sent)
        };
        self.merge(Self {
            n_paired: messages.paired.len() as u64,
            n_from_any: from_any.count() as u64,
            n_before_sent: messages.paired.iter().filter(is_before).count() as u64,
            n_unpaired_sends: messages.n_unpaired_sends,
            n_unpaired_receives: messages.n_unpaired_receives,
            n_foreign_sends: messages.n_foreign_sends,
            n_foreign_receives: messages.n_foreign_receives,
        });
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.n_paired += other.n_paired;
        self.n_from_any += other.n_from_any;
        self.n_before_sent += other.n_before_sent;
        self.n_unpaired_sends += other.n_unpaired_sends;
        self.n_unpaired_receives += other.n_unpaired_receives;
        self.n_foreign_sends += other.n_foreign_sends;
        self.n_foreign_receives += other.n_foreign_receives;
    }
}
