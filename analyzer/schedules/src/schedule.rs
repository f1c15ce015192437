//! What the processes of a collective do.

use std::collections::{BTreeMap, VecDeque};

/// What a process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// Begins to send.
    Send {
        /// The rank that receives it.
        to: usize,
        /// How much.
        bytes: u64,
        /// Whether it ends only when the receiver has begun to receive it, however short it is.
        is_synchronous: bool,
    },
    /// Posts a receive.
    Receive {
        /// The rank of the sender; `None`: any.
        from: Option<usize>,
    },
    /// Combines what it received with what it has.
    Combine {
        /// How much.
        bytes: u64,
    },
}

/// An action of a process. It begins when the process has begun all actions before it, and those in
/// `after` have ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// What it does.
    pub what: What,
    /// Positions of earlier actions of the process that must have ended, besides those for which an
    /// action before this one waited already.
    pub after: Vec<usize>,
}

/// What one process does, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Process {
    /// Its actions.
    pub actions: Vec<Action>,
    /// Positions of those that must have ended before it leaves, besides those for which an action
    /// waited already.
    pub at_end: Vec<usize>,
}

/// A collective: what each process does, by rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// The processes.
    pub processes: Vec<Process>,
}

/// A message of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Message {
    /// Rank of the sender.
    pub from: usize,
    /// Position of the send among its actions.
    pub send: usize,
    /// Rank of the receiver.
    pub to: usize,
    /// Position of the receive among its actions.
    pub receive: usize,
    /// How long it is.
    pub bytes: u64,
}

/// Something is sent that nobody receives, or the other way round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmatchedError {
    /// Rank of the sender; `None`: any.
    pub from: Option<usize>,
    /// Rank of the receiver.
    pub to: usize,
}

impl Schedule {
    /// How many messages are sent.
    #[must_use]
    pub fn n_messages(&self) -> usize {
        let actions = self.processes.iter().flat_map(|of| &of.actions);
        actions
            .filter(|action| matches!(action.what, What::Send { .. }))
            .count()
    }

    /// The messages, by sender and in order. Messages of a pair are received in the order in which
    /// they are sent; receives from any process, in the order of the ranks of the senders, get what no
    /// other receive gets.
    ///
    /// # Errors
    /// [`UnmatchedError`] if not each send has a receive, and each receive a send.
    pub fn messages(&self) -> Result<Vec<Message>, UnmatchedError> {
        let mut sent: BTreeMap<(usize, usize), VecDeque<(usize, u64)>> = BTreeMap::new();
        for (from, process) in self.processes.iter().enumerate() {
            for (at, action) in process.actions.iter().enumerate() {
                if let What::Send { to, bytes, .. } = action.what {
                    sent.entry((to, from)).or_default().push_back((at, bytes));
                }
            }
        }
        let mut messages = Vec::new();
        for (to, process) in self.processes.iter().enumerate() {
            let receives = || {
                let actions = process.actions.iter().enumerate();
                actions.filter_map(|(at, action)| match action.what {
                    What::Receive { from } => Some((at, from)),
                    _ => None,
                })
            };
            for (receive, from) in receives() {
                let Some(from) = from else {
                    continue;
                };
                let first = sent.get_mut(&(to, from)).and_then(VecDeque::pop_front);
                let Some((send, bytes)) = first else {
                    let from = Some(from);
                    return Err(UnmatchedError { from, to });
                };
                messages.push(Message {
                    from,
                    send,
                    to,
                    receive,
                    bytes,
                });
            }
            for (receive, _) in receives().filter(|(_, from)| from.is_none()) {
                let mut left = sent.range_mut((to, 0)..(to + 1, 0));
                let first = left.find_map(|((_, from), of)| Some((*from, of.pop_front()?)));
                let Some((from, (send, bytes))) = first else {
                    return Err(UnmatchedError { from: None, to });
                };
                messages.push(Message {
                    from,
                    send,
                    to,
                    receive,
                    bytes,
                });
            }
        }
        if let Some(((to, from), _)) = sent.iter().find(|(_, of)| !of.is_empty()) {
            let from = Some(*from);
            return Err(UnmatchedError { from, to: *to });
        }
        messages.sort_unstable();
        Ok(messages)
    }
}
