//! The messages of one instance, both ends of each.

use crate::clock::{Global, Timestamp};

/// One message inside an instance. Times are on the time of the analysis; those of the sender and
/// those of the receiver may be of two clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstanceMessage {
    /// Slot of the sender in the communicator of the instance.
    pub from: u32,
    /// Slot of the receiver.
    pub to: u32,
    /// Bytes sent.
    pub bytes: u64,
    /// The lower half of the library's tag.
    pub tag: u16,
    /// Whether it travelled on another communicator than that of the instance, such as one that
    /// the library made for itself.
    pub is_on_another: bool,
    /// Whether the receive was one from any process. Which of those that a process posted met
    /// which send is not known then: they are put together in their order.
    pub is_from_any: bool,
    /// When the library began to send.
    pub sent: Timestamp<Global>,
    /// When its call to send returned.
    pub send_returned: Timestamp<Global>,
    /// When the library posted the receive.
    pub posted: Timestamp<Global>,
    /// When the library saw that it had come; `None` where it looked without a call that a
    /// recorder sees.
    pub received: Option<Timestamp<Global>>,
    /// Number of the send among all ends, sends and receives, of the sender, from 0.
    pub nth_of_sender: u32,
    /// Number of the receive among all ends of the receiver.
    pub nth_of_receiver: u32,
    /// Step of the sender in which it sent, from 0: a step of a process ends where it has seen a
    /// message come, and then sends or posts a receive.
    pub step_of_sender: u32,
    /// Step of the receiver in which the receive was posted.
    pub step_of_receiver: u32,
}

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
}

impl Messages<'_> {
    /// Whether there is no end of any message.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.paired.is_empty() && self.n_unpaired_sends == 0 && self.n_unpaired_receives == 0
    }
}

/// How many messages of instances have both their ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MessageCounts {
    /// Messages of which both ends are known.
    pub n_paired: u64,
    /// Among them those whose receive was one from any process.
    pub n_from_any: u64,
    /// Of those that are known one by one, those received before they were sent: a clock error.
    pub n_before_sent: u64,
    /// Sends that no receive is known of.
    pub n_unpaired_sends: u64,
    /// Receives that no send is known of.
    pub n_unpaired_receives: u64,
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
        });
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.n_paired += other.n_paired;
        self.n_from_any += other.n_from_any;
        self.n_before_sent += other.n_before_sent;
        self.n_unpaired_sends += other.n_unpaired_sends;
        self.n_unpaired_receives += other.n_unpaired_receives;
    }
}
