//! One instance, message by message.
//!
//! Each rank executes its actions one after the other until it needs a message that has not
//! arrived; the actions of others let it continue. The result does not depend on the order in which
//! the ranks are visited.

use std::collections::{BTreeMap, HashMap, VecDeque};

use collbench_formats::Semantics;

use super::super::delay::Delay;
use super::network::Network;
use super::progress_calls::ProgressCalls;
use super::shape::{Action, Direction, Directions, Shape};

/// How the collective of a step is simulated message by message.
#[derive(Debug, Clone)]
pub(crate) struct MessageModel {
    pub(crate) shape: Shape,
    /// Number of messages per edge, > 0.
    pub(crate) segments: u32,
    /// Whether a node posts the receives from all its children at once.
    pub(crate) posts_all: bool,
    /// What a recorder sees of receives.
    pub(crate) receives: Receives,
    /// Time from the enter to the first action.
    pub(crate) entry_ns: u64,
    /// Time from the last action to the leave.
    pub(crate) exit_ns: u64,
    /// Delays before the first receive in each direction.
    pub(crate) busy: Vec<Delay>,
    /// Delays per message that is combined.
    pub(crate) compute: Vec<Delay>,
}

/// What a recorder sees of the receives of a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Receives {
    /// Source and completion.
    Known,
    /// Receives with MPI_ANY_SOURCE.
    FromAny,
    /// Not when they were completed.
    Unseen,
}

impl MessageModel {
    /// The actions of each of `n` members, by position; `top` is the position of the node without a
    /// parent, and `bytes` go over each edge.
    pub(crate) fn plans(
        &self,
        semantics: Semantics,
        n: usize,
        top: usize,
        bytes: u64,
    ) -> Vec<Vec<Action>> {
        // The scenario was checked: the operation uses a tree.
        let directions = Directions::of(semantics).unwrap_or(Directions {
            down: true,
            up: true,
        });
        let size = n as u32;
        let mut plans =
            (self.shape).actions(size, directions, bytes, self.segments, self.posts_all);
        let top = top as u32;
        let position = |relative: &mut u32| *relative = (*relative + top) % size;
        for action in plans.iter_mut().flatten() {
            match action {
                Action::Post { from, .. } => position(from),
                Action::Send { to, .. } => position(to),
                Action::Busy | Action::Wait | Action::Compute { .. } => {}
            }
        }
        plans.rotate_right(top as usize % n.max(1));
        plans
    }
}

/// A message with the times of both ends; ranks are positions in the communicator.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TrueMessage {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) bytes: u64,
    pub(crate) direction: Direction,
    /// Begin of the send; `None` if it was never sent.
    pub(crate) sent: Option<u64>,
    /// End of the send.
    pub(crate) returned: Option<u64>,
    /// Begin of the receive.
    pub(crate) posted: Option<u64>,
    /// Completion of the receive.
    pub(crate) completed: Option<u64>,
    /// Whether it progressed in other calls in between.
    pub(crate) is_nonblocking: bool,
    /// Whether the send waited until the receive was posted.
    pub(crate) has_waited: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Send,
    Receive,
}

/// One end of a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageEnd {
    pub(crate) side: Side,
    /// Index among the messages of the instance.
    pub(crate) message: usize,
}

/// What a rank did, in order; messages by index.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// It posted a receive.
    Posted(usize),
    /// It sent.
    Sent(usize),
    /// From this instant on it waited until these messages had arrived.
    Waited(u64, Vec<usize>),
}

/// The messages of one instance.
#[derive(Debug, Default)]
pub(crate) struct InstanceMessages {
    pub(crate) messages: Vec<TrueMessage>,
    /// By position: its ends of messages, in the order of their begin.
    pub(crate) ends: Vec<Vec<MessageEnd>>,
    /// By position: its steps.
    pub(crate) steps: Vec<Vec<Step>>,
    /// By position: its leave; `None` if it never left.
    pub(crate) leaves: Vec<Option<u64>>,
}

/// A sender that is held up for no longer than this is not counted as waiting, ns.
const LEAST_HELD_NS: u64 = 1_000;

impl InstanceMessages {
    /// By position, the latest enter that it could not leave before: of those that messages came from, and of those that could not
    /// be sent to before, as far as these had depended on others by then. `stamps`: enter and leave by position. `None` where no
    /// sender was held up.
    ///
    /// # Source
    /// `docs/metrics.md`, "On the way of the data".
    pub(crate) fn releases(&self, stamps: &[(u64, u64)]) -> Option<Vec<u64>> {
        let mut messages = self.messages.iter();
        if !messages.any(|message| message.has_waited_ns() > LEAST_HELD_NS) {
            return None;
        }
        let mut known = HashMap::new();
        let all = stamps.iter().enumerate();
        Some(
            all.map(|(i, &(_, leave))| self.release(stamps, &mut known, (i, leave)))
                .collect(),
        )
    }

    /// The latest enter that a member had depended on by an instant.
    fn release(
        &self,
        stamps: &[(u64, u64)],
        known: &mut HashMap<(usize, u64), u64>,
        (i, until): (usize, u64),
    ) -> u64 {
        if let Some(&found) = known.get(&(i, until)) {
            return found;
        }
        // On a coarse grid, messages may come and go at one instant.
        known.insert((i, until), stamps[i].0);
        let by = |at: Option<u64>| at.filter(|&at| at <= until);
        let mut found = stamps[i].0;
        for message in &self.messages {
            let received = by(message.completed).filter(|_| message.to == i);
            if let (Some(_), Some(sent)) = (received, message.sent) {
                found = found.max(self.release(stamps, known, (message.from, sent)));
            }
            let held = message.from == i && message.has_waited_ns() > LEAST_HELD_NS;
            if let Some(posted) = by(message.posted).filter(|_| held) {
                found = found.max(self.release(stamps, known, (message.to, posted)));
            }
        }
        known.insert((i, until), found);
        found
    }
}

impl TrueMessage {
    /// How long it could not leave because the receive was not posted.
    fn has_waited_ns(&self) -> u64 {
        let waited = self.posted.zip(self.sent).filter(|_| self.has_waited);
        waited.map_or(0, |(posted, sent)| posted.saturating_sub(sent))
    }
}

/// Input of the simulation of one instance.
pub(crate) struct Setting<'a> {
    /// By position: its actions, with positions as partners.
    pub(crate) plans: &'a [Vec<Action>],
    /// By position: its enter; `None` if it takes no part.
    pub(crate) enters: &'a [Option<u64>],
    /// World ranks.
    pub(crate) members: &'a [u32],
    pub(crate) model: &'a MessageModel,
    pub(crate) network: &'a Network,
    pub(crate) host_of: &'a [usize],
    pub(crate) seed: u64,
    pub(crate) instance: u64,
    /// Additional time of a world rank by a delay.
    pub(crate) delay_ns: &'a dyn Fn(&Delay, u32) -> u64,
    /// By position: the calls in which it progresses. `None`: from its enter to its leave.
    pub(crate) calls: Option<&'a [ProgressCalls]>,
    /// Rounds up to the next instant of the clock's grid.
    pub(crate) snap: &'a dyn Fn(u64) -> u64,
}

#[derive(Debug, Default)]
struct RankState {
    /// Index of the next action.
    at: usize,
    /// Current time; `None` before the enter.
    now: Option<u64>,
    /// Receives posted since the last wait.
    open: Vec<usize>,
}

/// Messages from one rank to another, matched with receives in order.
#[derive(Debug, Default)]
struct Channel {
    messages: Vec<usize>,
    n_sent: usize,
    n_posted: usize,
    /// Arrival of the latest message.
    last_arrival: u64,
}

struct Running<'a> {
    setting: &'a Setting<'a>,
    ranks: Vec<RankState>,
    channels: BTreeMap<(usize, usize), Channel>,
    /// By message: arrival at the receiver's host.
    arrivals: Vec<Option<u64>>,
    simulated: InstanceMessages,
    /// Ranks that can continue.
    ready: VecDeque<usize>,
}

impl InstanceMessages {
    /// When the receiver of a message began to send the next one, or left: by then it had received
    /// it.
    pub(crate) fn forwarded_at(&self, number: usize) -> Option<u64> {
        let receiver = self.messages[number].to;
        let ends = &self.ends[receiver];
        let is_it = |end: &MessageEnd| end.side == Side::Receive && end.message == number;
        let behind = &ends[ends.iter().position(is_it)? + 1..];
        let next = behind.iter().find(|end| end.side == Side::Send);
        let sent = next.map(|end: &MessageEnd| &self.messages[end.message]);
        match sent {
            Some(TrueMessage { sent, .. }) => *sent,
            None => self.leaves[receiver],
        }
    }

    /// Simulates the instance.
    pub(crate) fn of(setting: &Setting<'_>) -> Self {
        let n = setting.plans.len();
        let mut running = Running {
            setting,
            ranks: (0..n).map(|_| RankState::default()).collect(),
            channels: BTreeMap::new(),
            arrivals: Vec::new(),
            simulated: Self {
                messages: Vec::new(),
                ends: vec![Vec::new(); n],
                steps: vec![Vec::new(); n],
                leaves: vec![None; n],
            },
            ready: (0..n).collect(),
        };
        while let Some(i) = running.ready.pop_front() {
            running.advance(i);
        }
        running.simulated
    }
}

impl Running<'_> {
    fn advance(&mut self, i: usize) {
        let Setting {
            plans,
            enters,
            members,
            model,
            delay_ns,
            snap,
            ..
        } = *self.setting;
        let Some(enter) = enters[i] else { return };
        if self.simulated.leaves[i].is_some() {
            return;
        }
        let mut now = match self.ranks[i].now {
            Some(now) => now,
            None => snap(enter.saturating_add(model.entry_ns)),
        };
        let delayed = |delays: &[Delay]| {
            let each = delays.iter().map(|delay| delay_ns(delay, members[i]));
            each.fold(0, u64::saturating_add)
        };
        while let Some(&action) = plans[i].get(self.ranks[i].at) {
            let needed_ns = match action {
                Action::Busy => delayed(&model.busy),
                Action::Compute { times } => {
                    delayed(&model.compute).saturating_mul(u64::from(times))
                }
                Action::Send { .. } => self.setting.network.send_ns,
                Action::Post { .. } | Action::Wait => 0,
            };
            let Some(begin) = self.can_act(i, now, needed_ns) else {
                break;
            };
            match action {
                Action::Busy | Action::Compute { .. } => {
                    now = snap(begin.saturating_add(needed_ns));
                }
                Action::Post {
                    from,
                    bytes,
                    direction,
                } => {
                    now = begin;
                    let next = plans[i].get(self.ranks[i].at + 1);
                    let is_nonblocking = next != Some(&Action::Wait);
                    self.post(i, from as usize, bytes, direction, now, is_nonblocking);
                }
                Action::Wait => match self.receive(i, now) {
                    Some(done) => now = done,
                    None => break,
                },
                Action::Send {
                    to,
                    bytes,
                    direction,
                } => match self.send(i, to as usize, bytes, direction, begin) {
                    Some(done) => now = done,
                    None => break,
                },
            }
            self.ranks[i].at += 1;
        }
        self.ranks[i].now = Some(now);
        if self.ranks[i].at == plans[i].len() {
            let done = self.can_act(i, now, model.exit_ns);
            self.simulated.leaves[i] = done.map(|done| snap(done.saturating_add(model.exit_ns)));
        }
    }

    /// The earliest time at which a rank can do something that takes `needed_ns`; `None`: never.
    fn can_act(&self, i: usize, now: u64, needed_ns: u64) -> Option<u64> {
        match self.setting.calls {
            None => Some(now),
            Some(calls) => calls[i].can_act(now, needed_ns),
        }
    }

    /// The message of this number from one rank to another, which the end that comes to it first makes.
    fn message(
        &mut self,
        (from, to): (usize, usize),
        nth: usize,
        bytes: u64,
        direction: Direction,
    ) -> usize {
        let made = &mut self.channels.entry((from, to)).or_default().messages;
        if let Some(&message) = made.get(nth) {
            return message;
        }
        let message = self.simulated.messages.len();
        made.push(message);
        self.arrivals.push(None);
        self.simulated.messages.push(TrueMessage {
            from,
            to,
            bytes,
            direction,
            sent: None,
            returned: None,
            posted: None,
            completed: None,
            is_nonblocking: false,
            has_waited: false,
        });
        message
    }

    /// Posts a receive; wakes a sender that waits for it.
    fn post(
        &mut self,
        i: usize,
        from: usize,
        bytes: u64,
        direction: Direction,
        now: u64,
        is_nonblocking: bool,
    ) {
        let channel = self.channels.entry((from, i)).or_default();
        let nth = channel.n_posted;
        channel.n_posted += 1;
        let message = self.message((from, i), nth, bytes, direction);
        let seen = &mut self.simulated.messages[message];
        seen.posted = Some(now);
        seen.is_nonblocking = is_nonblocking;
        self.ranks[i].open.push(message);
        self.simulated.steps[i].push(Step::Posted(message));
        self.simulated.ends[i].push(MessageEnd {
            side: Side::Receive,
            message,
        });
        self.ready.push_back(from);
    }

    /// When all posted messages have arrived; `None` as long as one has not been sent.
    fn receive(&mut self, i: usize, now: u64) -> Option<u64> {
        let arrived = |&message: &usize| self.arrivals[message].is_some();
        if !self.ranks[i].open.iter().all(arrived) {
            return None;
        }
        let receive_ns = self.setting.network.receive_ns;
        let ready = |&message: &usize| {
            let posted = self.simulated.messages[message].posted.unwrap_or(0);
            let arrival = self.arrivals[message].unwrap_or(0);
            self.can_act(i, arrival.max(posted), receive_ns)
        };
        let ready: Option<Vec<u64>> = self.ranks[i].open.iter().map(ready).collect();
        let ready = ready?;
        let mut done = now;
        let open = std::mem::take(&mut self.ranks[i].open);
        self.simulated.steps[i].push(Step::Waited(now, open.clone()));
        for (message, ready) in open.into_iter().zip(ready) {
            let seen = &mut self.simulated.messages[message];
            let completed = (self.setting.snap)(ready.saturating_add(receive_ns));
            seen.completed = Some(completed);
            done = done.max(completed);
        }
        Some(done)
    }

    /// When the send returns; `None` as long as it waits for the receiver.
    fn send(
        &mut self,
        i: usize,
        to: usize,
        bytes: u64,
        direction: Direction,
        now: u64,
    ) -> Option<u64> {
        let Setting {
            members,
            network,
            host_of,
            seed,
            instance,
            snap,
            ..
        } = *self.setting;
        let nth = self.channels.entry((i, to)).or_default().n_sent;
        let message = self.message((i, to), nth, bytes, direction);
        let seen = &mut self.simulated.messages[message];
        if seen.sent.is_none() {
            seen.sent = Some(now);
            self.simulated.steps[i].push(Step::Sent(message));
            self.simulated.ends[i].push(MessageEnd {
                side: Side::Send,
                message,
            });
        }
        // A collective that progresses in other calls does not block for a message.
        let waits = bytes >= network.rendezvous_bytes && self.setting.calls.is_none();
        let leaves = match (waits, seen.posted) {
            (false, _) => now,
            (true, Some(posted)) => now.max(posted),
            (true, None) => return None,
        };
        let pair = (members[i], members[to]);
        let on_network = network.network_ns(pair, host_of, (seed, instance, nth as u64));
        let channel = self.channels.entry((i, to)).or_default();
        // Messages do not overtake one another.
        let arrival = leaves.saturating_add(on_network).max(channel.last_arrival);
        channel.last_arrival = arrival;
        channel.n_sent += 1;
        self.arrivals[message] = Some(arrival);
        let returned = now.saturating_add(network.send_ns);
        let returned = snap(if waits {
            returned.max(arrival)
        } else {
            returned
        });
        seen.returned = Some(returned);
        seen.has_waited = leaves > now;
        self.ready.push_back(to);
        Some(returned)
    }
}

#[cfg(test)]
mod tests {
    use super::super::shape::Directions;
    use super::*;

    fn model(shape: &str) -> MessageModel {
        MessageModel {
            shape: Shape::of_name(shape).unwrap(),
            segments: 1,
            posts_all: false,
            receives: Receives::Known,
            entry_ns: 10,
            exit_ns: 5,
            busy: Vec::new(),
            compute: Vec::new(),
        }
    }

    fn network() -> Network {
        Network {
            in_host_ns: 1_000,
            send_ns: 100,
            receive_ns: 50,
            ..Network::default()
        }
    }

    fn simulated_instance(
        model: &MessageModel,
        network: &Network,
        down: bool,
        enters: &[Option<u64>],
    ) -> InstanceMessages {
        let n = enters.len() as u32;
        let directions = Directions { down, up: !down };
        let plans = model.shape.actions(n, directions, 8, 1, false);
        let members: Vec<u32> = (0..n).collect();
        InstanceMessages::of(&Setting {
            plans: &plans,
            enters,
            members: &members,
            model,
            network,
            host_of: &vec![0; n as usize],
            seed: 1,
            instance: 0,
            delay_ns: &|_, _| 0,
            calls: None,
            snap: &|t| t,
        })
    }

    #[test]
    fn a_broadcast_over_a_chain_takes_what_its_hops_take() {
        let simulated = simulated_instance(
            &model("chain"),
            &network(),
            false,
            &[Some(100), Some(0), Some(5_000)],
        );
        let [first, second] = simulated.messages[..] else {
            panic!("{:?}", simulated.messages)
        };
        // Rank 1 waits for it from 10 on; it leaves rank 0 at 110.
        assert_eq!((first.posted, first.sent), (Some(10), Some(110)));
        assert_eq!((first.returned, first.completed), (Some(210), Some(1_160)));
        // It has already arrived when rank 2 enters.
        assert_eq!((second.sent, second.posted), (Some(1_160), Some(5_010)));
        assert_eq!(second.completed, Some(5_060));
        assert_eq!(simulated.leaves, [Some(215), Some(1_265), Some(5_065)]);
    }

    #[test]
    fn a_message_that_needs_its_receiver_leaves_when_that_is_ready() {
        let network = Network {
            rendezvous_bytes: 8,
            ..network()
        };
        let simulated =
            simulated_instance(&model("chain"), &network, false, &[Some(0), Some(4_000)]);
        let [message] = simulated.messages[..] else {
            panic!("{:?}", simulated.messages)
        };
        assert_eq!((message.sent, message.posted), (Some(10), Some(4_010)));
        assert_eq!(
            (message.returned, message.completed),
            (Some(5_010), Some(5_060))
        );
    }

    #[test]
    fn a_rank_that_never_enters_delays_those_after_it() {
        let simulated =
            simulated_instance(&model("chain"), &network(), true, &[Some(0), None, Some(0)]);
        assert_eq!(simulated.leaves, [None, None, Some(115)]);
        let waiting = simulated.messages.iter().find(|m| m.to == 0).unwrap();
        assert_eq!((waiting.posted, waiting.completed), (Some(10), None));
    }
}
