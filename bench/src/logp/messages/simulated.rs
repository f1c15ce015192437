//! A simulated network in virtual time, with the parameters of LogP and LogGP.
//!
//! Sending takes o_s of the processor, receiving o_r. The network interface of a process passes
//! one message every g + n G on to the network, and one every g + n G on to the process; the last
//! of n bytes arrives L + n G after the interface of the sender has begun with the message. Time is
//! counted in ps, so that runs are the same on every machine.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::rc::Rc;

use serde::Serialize;

use super::endpoint::Endpoint;
use super::job::Job;
use super::network::{Message, Network};
use super::program::{Program, Progress};
use super::work::Work;

/// ps, since the begin of the simulation.
type Time = u64;

fn ps(ns: f64) -> Time {
    (ns * 1e3).round() as Time
}

/// Parameters of a simulated network.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::logp) struct Parameters {
    /// Time of the processor to send a message, ns.
    pub(in crate::logp) send_overhead_ns: f64,
    /// Time of the processor to receive a message, ns.
    pub(in crate::logp) receive_overhead_ns: f64,
    /// Time of the processor to send or receive one byte more, ns.
    pub(in crate::logp) overhead_per_byte_ns: f64,
    /// Least time between two messages, ns.
    pub(in crate::logp) gap_ns: f64,
    /// Least time between two bytes of a message, ns.
    pub(in crate::logp) gap_per_byte_ns: f64,
    /// Time from one process to another, ns.
    pub(in crate::logp) latency_ns: f64,
    /// Requests of a process without a reply at once, at most.
    pub(in crate::logp) capacity: usize,
    /// From this size on a message takes a round trip of the network more.
    pub(in crate::logp) rendezvous_bytes: Option<usize>,
    /// Position of each process, ns: the difference of two is added to their latency.
    pub(in crate::logp) positions_ns: Vec<f64>,
}

#[derive(Debug, Clone, Copy)]
struct Flying {
    from: usize,
    to: usize,
    message: Message,
}

/// A message at its receiver, since this time.
#[derive(Debug, Clone, Copy)]
struct Arrived {
    at: Time,
    flying: Flying,
}

#[derive(Debug)]
struct World {
    parameters: Parameters,
    /// Clock of each process.
    clocks: Vec<Time>,
    /// When the interface of each process can send, and deliver, the next message.
    can_send: Vec<Time>,
    can_deliver: Vec<Time>,
    /// Messages by the arrival of their first byte, and by their number.
    on_the_way: BinaryHeap<Reverse<(Time, usize)>>,
    /// All messages of this piece of work, by number.
    sent: Vec<Flying>,
    arrived: Vec<VecDeque<Arrived>>,
}

impl World {
    fn occupation(&self, bytes: usize) -> Time {
        ps(self.parameters.gap_ns + self.parameters.gap_per_byte_ns * bytes as f64)
    }

    fn send(&mut self, from: usize, to: usize, message: Message) {
        let parameters = &self.parameters;
        let bytes = message.bytes;
        let overhead_ns =
            parameters.send_overhead_ns + parameters.overhead_per_byte_ns * bytes as f64;
        let positions = &parameters.positions_ns;
        let latency_ns = parameters.latency_ns + (positions[from] - positions[to]).abs();
        let is_rendezvous = parameters
            .rendezvous_bytes
            .is_some_and(|least| bytes >= least);
        let trips = if is_rendezvous { 3.0 } else { 1.0 };
        self.clocks[from] += ps(overhead_ns);
        let departure = self.clocks[from].max(self.can_send[from]);
        self.can_send[from] = departure + self.occupation(bytes);
        let first_byte = departure + ps(trips * latency_ns);
        self.on_the_way.push(Reverse((first_byte, self.sent.len())));
        self.sent.push(Flying { from, to, message });
    }

    /// Delivers the message whose first byte arrives first.
    fn deliver_next(&mut self) {
        let Some(Reverse((first_byte, idx))) = self.on_the_way.pop() else {
            return;
        };
        let flying = self.sent[idx];
        let begin = first_byte.max(self.can_deliver[flying.to]);
        self.can_deliver[flying.to] = begin + self.occupation(flying.message.bytes);
        let per_byte_ns = self.parameters.gap_per_byte_ns;
        let at = begin + ps(per_byte_ns * flying.message.bytes as f64);
        self.arrived[flying.to].push_back(Arrived { at, flying });
    }

    fn receive(&mut self, own: usize) -> Option<(usize, Message)> {
        let arrived = &mut self.arrived[own];
        let first = *arrived
            .front()
            .filter(|first| first.at <= self.clocks[own])?;
        arrived.pop_front();
        let Flying { from, message, .. } = first.flying;
        let parameters = &self.parameters;
        self.clocks[own] +=
            ps(parameters.receive_overhead_ns
                + parameters.overhead_per_byte_ns * message.bytes as f64);
        Some((from, message))
    }
}

/// A process on the simulated network.
#[derive(Debug)]
struct Process {
    own: usize,
    world: Rc<RefCell<World>>,
}

impl Network for Process {
    fn now_ns(&mut self) -> f64 {
        self.world.borrow().clocks[self.own] as f64 / 1e3
    }

    fn clock_ns(&self) -> f64 {
        0.0
    }

    fn send(&mut self, to: usize, message: &Message) {
        self.world.borrow_mut().send(self.own, to, *message);
    }

    fn receive(&mut self) -> Option<(usize, Message)> {
        self.world.borrow_mut().receive(self.own)
    }

    fn compute(&mut self, ns: f64) {
        self.world.borrow_mut().clocks[self.own] += ps(ns);
    }

    fn capacity(&self) -> usize {
        self.world.borrow().parameters.capacity
    }
}

/// All processes on a simulated network.
#[derive(Debug)]
pub(in crate::logp) struct SimulatedJob {
    world: Rc<RefCell<World>>,
    endpoints: Vec<Endpoint<Process>>,
}

impl SimulatedJob {
    /// As many processes as there are positions.
    pub(in crate::logp) fn new(parameters: Parameters) -> Self {
        let n = parameters.positions_ns.len();
        let world = Rc::new(RefCell::new(World {
            parameters,
            clocks: vec![0; n],
            can_send: vec![0; n],
            can_deliver: vec![0; n],
            on_the_way: BinaryHeap::new(),
            sent: Vec::new(),
            arrived: vec![VecDeque::new(); n],
        }));
        let endpoint = |own| {
            Endpoint::new(Process {
                own,
                world: Rc::clone(&world),
            })
        };
        Self {
            endpoints: (0..n).map(endpoint).collect(),
            world,
        }
    }

    /// The time at which a process can go on; `None` if only a message that is on its way, or none,
    /// lets it.
    fn goes_on_at(&self, own: usize, progress: Progress) -> Option<Time> {
        let world = self.world.borrow();
        match progress {
            Progress::Goes => Some(world.clocks[own]),
            Progress::Waits => {
                let first = world.arrived[own].front()?;
                Some(first.at.max(world.clocks[own]))
            }
            Progress::Done => None,
        }
    }
}

impl Job for SimulatedJob {
    fn n_processes(&self) -> usize {
        self.endpoints.len()
    }

    fn elapsed_ns(&self) -> f64 {
        let world = self.world.borrow();
        world
            .clocks
            .iter()
            .max()
            .map_or(0.0, |last| *last as f64 / 1e3)
    }

    fn execute(&mut self, work: &Work) -> Vec<Vec<f64>> {
        let n = self.n_processes();
        let mut programs: Vec<Program> = (0..n).map(|own| Program::of(*work, own)).collect();
        let mut progress = vec![Progress::Goes; n];
        for endpoint in &mut self.endpoints {
            endpoint.begin(work.window);
        }
        {
            // All begin at once, when everything of the work before is over.
            let world = &mut *self.world.borrow_mut();
            let clocks = world.clocks.iter().chain(&world.can_send);
            let begin = clocks.chain(&world.can_deliver).max().copied().unwrap_or(0);
            world.clocks.fill(begin);
            world.sent.clear();
        }
        loop {
            let times = (0..n).filter_map(|own| Some((self.goes_on_at(own, progress[own])?, own)));
            let next = times.min();
            let first_byte = self.world.borrow().on_the_way.peek().map(|first| first.0.0);
            match (next, first_byte) {
                (None, None) => break,
                (Some((time, own)), at) if at.is_none_or(|at| time < at) => {
                    self.world.borrow_mut().clocks[own] = time;
                    progress[own] = programs[own].step(&mut self.endpoints[own]);
                }
                _ => self.world.borrow_mut().deliver_next(),
            }
        }
        let requesters = work.pattern.requesters().into_iter();
        requesters
            .map(|own| std::mem::take(&mut programs[own].times_ns))
            .collect()
    }
}
