//! How long a schedule takes.
//!
//! The processor of each process, its side of the network in both directions, and what links share are used
//! by one thing at a time, in the order in which things are ready for them. Messages are sent at once
//! up to a length; longer ones are announced, and sent when the receiver asks for them.
//!
//! # Source
//! Hoefler, Schneider, Lumsdaine 2010 (LogGOPSim), which this follows, but that data which arrive before their
//! receive is posted occupy the receiver's side of the network then, not when it is posted.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::network::{Link, Network};
use crate::schedule::{Message, Schedule, UnmatchedError, What};

/// A time, ns, at which something happens; of equal ones what was found first.
type Key = (u64, u32);

/// Gives by how much the latency of a message of a class is longer than usual, ns.
type Deviations<'d> = &'d mut dyn FnMut(usize) -> f64;

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A process may begin its next action.
    Begin(u32),
    /// A message was announced to its receiver.
    Announced(u32),
    /// The receiver has asked for a message.
    Asked(u32),
    /// The first byte of a message arrives.
    Arrives(u32),
    /// All of a message is there.
    Complete(u32),
}

/// What is known of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing that the receiver knows of.
    Sent,
    /// It was announced before the receive was posted.
    Announced,
    /// It was complete before the receive was posted.
    Complete,
    /// The receive was posted.
    Posted,
}

/// A schedule with its messages, to be evaluated again and again.
#[derive(Debug, Clone)]
pub struct Evaluator<'s> {
    schedule: &'s Schedule,
    messages: Vec<Message>,
    /// By process and action the message that it sends or receives.
    message_of: Vec<Vec<u32>>,
    processes: Vec<Running>,
    states: Vec<State>,
    shared_free_ns: Vec<f64>,
    events: BinaryHeap<Reverse<(Key, Event)>>,
    n_events: u32,
    leaves_ns: Vec<f64>,
}

/// A process while a schedule is evaluated.
#[derive(Debug, Clone, Default)]
struct Running {
    /// Its next action.
    next: usize,
    /// Whether it waits for an action of which it is not known when it ends.
    is_blocked: bool,
    /// When its actions began, and have ended, ns; NaN: that is not known yet.
    begins_ns: Vec<f64>,
    ends_ns: Vec<f64>,
    processor_free_ns: f64,
    sends_free_ns: f64,
    receives_free_ns: f64,
}

/// Not a message.
const NONE: u32 = u32::MAX;

impl<'s> Evaluator<'s> {
    /// Of a schedule.
    ///
    /// # Errors
    /// [`UnmatchedError`] if a message has one end only.
    pub fn new(schedule: &'s Schedule) -> Result<Self, UnmatchedError> {
        let messages = schedule.messages()?;
        let processes = schedule.processes.iter();
        let mut message_of: Vec<Vec<u32>> =
            processes.map(|of| vec![NONE; of.actions.len()]).collect();
        for (number, message) in (0..).zip(&messages) {
            message_of[message.from][message.send] = number;
            message_of[message.to][message.receive] = number;
        }
        Ok(Self {
            schedule,
            states: Vec::with_capacity(messages.len()),
            messages,
            message_of,
            processes: vec![Running::default(); schedule.processes.len()],
            shared_free_ns: Vec::new(),
            events: BinaryHeap::new(),
            n_events: 0,
            leaves_ns: Vec::new(),
        })
    }

    /// When each process leaves, ns, if each enters at such a time, ns, ≥ 0. `deviation_ns` gives by how much the latency
    /// of a message of a class is longer than usual.
    ///
    /// # Panics
    /// If the network has fewer processes, or processes wait for each other for ever.
    pub fn leaves_ns(
        &mut self,
        network: &Network,
        enters_ns: &[f64],
        mut deviation_ns: impl FnMut(usize) -> f64,
    ) -> &[f64] {
        self.evaluate(network, enters_ns, &mut deviation_ns);
        let is_left = self.leaves_ns.iter().any(|ns| ns.is_nan());
        assert!(!is_left, "processes wait for each other");
        &self.leaves_ns
    }

    fn evaluate(&mut self, network: &Network, enters_ns: &[f64], deviation_ns: Deviations<'_>) {
        self.begin(network, enters_ns);
        while let Some(Reverse(((bits, _), event))) = self.events.pop() {
            let at_ns = f64::from_bits(bits);
            match event {
                Event::Begin(rank) => self.go_on(rank as usize, at_ns, network, deviation_ns),
                Event::Announced(number) => self.announced(number, at_ns, network),
                Event::Asked(number) => self.asked(number, at_ns, network, deviation_ns),
                Event::Arrives(number) => self.arrives(number, at_ns, network),
                Event::Complete(number) => self.complete(number, at_ns, network),
            }
        }
    }

    /// When each action of a process began, and when it ended, ns, in the last evaluation: of a send when its data had left
    /// the process.
    #[must_use]
    pub fn actions_ns(&self, rank: usize) -> [&[f64]; 2] {
        let process = &self.processes[rank];
        [&process.begins_ns, &process.ends_ns]
    }

    fn begin(&mut self, network: &Network, enters_ns: &[f64]) {
        let n = self.processes.len();
        assert!(network.n_processes() >= n && enters_ns.len() == n, "{n}");
        self.leaves_ns.clear();
        self.leaves_ns.resize(n, f64::NAN);
        self.states.clear();
        self.states.resize(self.messages.len(), State::Sent);
        self.shared_free_ns.clear();
        self.shared_free_ns.resize(network.shared.len(), 0.0);
        self.n_events = 0;
        for (rank, (process, &enter_ns)) in self.processes.iter_mut().zip(enters_ns).enumerate() {
            let n_actions = self.schedule.processes[rank].actions.len();
            for times in [&mut process.begins_ns, &mut process.ends_ns] {
                times.clear();
                times.resize(n_actions, f64::NAN);
            }
            process.next = 0;
            process.is_blocked = false;
            process.processor_free_ns = enter_ns;
            process.sends_free_ns = 0.0;
            process.receives_free_ns = 0.0;
        }
        for (rank, &enter_ns) in enters_ns.iter().enumerate() {
            self.push(enter_ns, Event::Begin(rank as u32));
        }
    }

    fn push(&mut self, at_ns: f64, event: Event) {
        let key = (at_ns.max(0.0).to_bits(), self.n_events);
        self.n_events += 1;
        self.events.push(Reverse((key, event)));
    }

    fn link<'n>(&self, number: u32, network: &'n Network) -> &'n Link {
        let Message { from, to, .. } = self.messages[number as usize];
        &network.classes[network.way(from, to).class]
    }

    /// An action of a process has ended.
    fn ends(&mut self, rank: usize, action: usize, at_ns: f64) {
        let process = &mut self.processes[rank];
        process.ends_ns[action] = at_ns;
        if std::mem::take(&mut process.is_blocked) {
            self.push(at_ns, Event::Begin(rank as u32));
        }
    }

    /// When all of some actions have ended, ns; `None` if that is not known yet.
    fn ended_ns(&self, rank: usize, actions: &[usize]) -> Option<f64> {
        let ends_ns = &self.processes[rank].ends_ns;
        let mut latest_ns = 0.0_f64;
        for &action in actions {
            let at_ns = ends_ns[action];
            if at_ns.is_nan() {
                return None;
            }
            latest_ns = latest_ns.max(at_ns);
        }
        Some(latest_ns)
    }

    /// Begins the next action of a process, if that is possible.
    fn go_on(&mut self, rank: usize, at_ns: f64, network: &Network, deviation_ns: Deviations<'_>) {
        let schedule = self.schedule;
        let of = &schedule.processes[rank];
        let next = self.processes[rank].next;
        let action = of.actions.get(next);
        let after = action.map_or(&of.at_end, |action| &action.after);
        let Some(ended_ns) = self.ended_ns(rank, after) else {
            self.processes[rank].is_blocked = true;
            return;
        };
        let process = &self.processes[rank];
        let what = action.map(|action| action.what);
        let ready_ns = match what {
            None | Some(What::Combine { .. }) => process.processor_free_ns,
            Some(What::Send { .. }) => process.processor_free_ns.max(process.sends_free_ns),
            Some(What::Receive { .. }) => 0.0,
        };
        let ready_ns = ready_ns.max(ended_ns);
        if ready_ns > at_ns {
            return self.push(ready_ns, Event::Begin(rank as u32));
        }
        let Some(what) = what else {
            self.leaves_ns[rank] = at_ns;
            return;
        };
        self.processes[rank].begins_ns[next] = at_ns;
        let number = self.message_of[rank][next];
        let next_ns = match what {
            What::Combine { bytes } => {
                let end_ns = at_ns + bytes as f64 * network.combine_ns_per_byte;
                self.processes[rank].processor_free_ns = end_ns;
                self.ends(rank, next, end_ns);
                end_ns
            }
            What::Receive { .. } => {
                let before = std::mem::replace(&mut self.states[number as usize], State::Posted);
                match before {
                    State::Announced => self.push(at_ns, Event::Announced(number)),
                    State::Complete => self.push(at_ns, Event::Complete(number)),
                    State::Sent | State::Posted => {}
                }
                at_ns
            }
            What::Send {
                bytes,
                is_synchronous,
                ..
            } => {
                let link = self.link(number, network);
                let sent_ns = at_ns + link.send_overhead_ns;
                self.processes[rank].processor_free_ns = sent_ns;
                if is_synchronous || bytes > link.eager_bytes {
                    self.push(sent_ns + link.latency_ns, Event::Announced(number));
                } else {
                    self.processes[rank].sends_free_ns = at_ns + link.sends_for_ns(bytes);
                    self.depart(number, sent_ns, network, deviation_ns);
                    self.ends(rank, next, sent_ns);
                }
                sent_ns
            }
        };
        self.processes[rank].next = next + 1;
        self.push(next_ns, Event::Begin(rank as u32));
    }

    /// The first byte of a message leaves its sender.
    fn depart(&mut self, number: u32, at_ns: f64, network: &Network, deviation_ns: Deviations<'_>) {
        let Message {
            from, to, bytes, ..
        } = self.messages[number as usize];
        let way = network.way(from, to);
        let mut at_ns = at_ns;
        if let Some(shared) = way.shared {
            let free_ns = &mut self.shared_free_ns[shared];
            at_ns = at_ns.max(*free_ns);
            *free_ns = at_ns + bytes as f64 * network.shared[shared].gap_per_byte_ns;
        }
        let latency_ns = network.classes[way.class].latency_ns + deviation_ns(way.class);
        self.push(at_ns + latency_ns.max(0.0), Event::Arrives(number));
    }

    /// The receiver asks for a message that was announced, when its receive is posted.
    fn announced(&mut self, number: u32, at_ns: f64, network: &Network) {
        if self.states[number as usize] != State::Posted {
            self.states[number as usize] = State::Announced;
            return;
        }
        let link = self.link(number, network);
        let process = &mut self.processes[self.messages[number as usize].to];
        if process.processor_free_ns > at_ns {
            let free_ns = process.processor_free_ns;
            return self.push(free_ns, Event::Announced(number));
        }
        process.processor_free_ns = at_ns + link.receive_overhead_ns + link.send_overhead_ns;
        let asked_ns = process.processor_free_ns + link.latency_ns;
        self.push(asked_ns, Event::Asked(number));
    }

    /// The sender sends a message that the receiver has asked for.
    fn asked(&mut self, number: u32, at_ns: f64, network: &Network, deviation_ns: Deviations<'_>) {
        let Message {
            from, send, bytes, ..
        } = self.messages[number as usize];
        let link = self.link(number, network);
        let process = &mut self.processes[from];
        let ready_ns = process.processor_free_ns.max(process.sends_free_ns);
        if ready_ns > at_ns {
            return self.push(ready_ns, Event::Asked(number));
        }
        let sent_ns = at_ns + link.send_overhead_ns;
        process.processor_free_ns = sent_ns;
        process.sends_free_ns = at_ns + link.sends_for_ns(bytes);
        self.depart(number, sent_ns, network, deviation_ns);
        self.ends(from, send, sent_ns + link.lasts_ns(bytes));
    }

    /// The receiver's side of the network takes a message.
    fn arrives(&mut self, number: u32, at_ns: f64, network: &Network) {
        let Message { to, bytes, .. } = self.messages[number as usize];
        let link = self.link(number, network);
        let process = &mut self.processes[to];
        let begin_ns = at_ns.max(process.receives_free_ns);
        process.receives_free_ns = begin_ns + link.receives_for_ns(bytes);
        self.push(begin_ns + link.lasts_ns(bytes), Event::Complete(number));
    }

    /// The receiver takes a message that is there, when its receive is posted.
    fn complete(&mut self, number: u32, at_ns: f64, network: &Network) {
        if self.states[number as usize] != State::Posted {
            self.states[number as usize] = State::Complete;
            return;
        }
        let Message { to, receive, .. } = self.messages[number as usize];
        let link = self.link(number, network);
        let process = &mut self.processes[to];
        if process.processor_free_ns > at_ns {
            let free_ns = process.processor_free_ns;
            return self.push(free_ns, Event::Complete(number));
        }
        let end_ns = at_ns + link.receive_overhead_ns;
        process.processor_free_ns = end_ns;
        self.ends(to, receive, end_ns);
    }
}
