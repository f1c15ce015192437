//! One message inside an instance, both ends of it.

use collbench_clocks::timestamp::{Global, Timestamp};

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
    /// Whether the receive was one from any process. Then it is unknown which of them received
    /// which send: they are paired in their order.
    pub is_from_any: bool,
    /// Whether the call to send returns before the message is sent; then it is not recorded when that was.
    pub is_send_nonblocking: bool,
    /// When the library began to send.
    pub sent: Timestamp<Global>,
    /// When its call to send returned.
    pub send_returned: Timestamp<Global>,
    /// When the library posted the receive.
    pub posted: Timestamp<Global>,
    /// When the library saw that it had arrived; `None` where it checked without a call that the
    /// recorder sees.
    pub received: Option<Timestamp<Global>>,
    /// Number of the send among all ends, sends and receives, of the sender, from 0.
    pub nth_of_sender: u32,
    /// Number of the receive among all ends of the receiver.
    pub nth_of_receiver: u32,
    /// Step of the sender in which it sent, from 0: a step of a process ends when it has seen a
    /// message arrive and then sends or posts a receive.
    pub step_of_sender: u32,
    /// Step of the receiver in which the receive was posted.
    pub step_of_receiver: u32,
}
