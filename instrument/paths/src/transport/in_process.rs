//! Threads of one process as ranks, grouped into simulated hosts.
//!
//! For tests without MPI, and for networks that are to be had nowhere: the time that a message
//! takes between two hosts is chosen, and so is the time that a process takes to wake up.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::line::Line;
use super::process::{Received, Transport, TransportError};
use super::reference::{Reference, copy_from_process};

/// What things cost in a simulated network.
#[derive(Debug, Clone, Default)]
pub struct SimulatedCosts {
    /// Time of a message from one host to another: a row for each sending host, a column for each
    /// receiving one. What is missing takes no time.
    pub latencies: Vec<Vec<Duration>>,
    /// Latencies from so long after the beginning on.
    pub later: Option<(Duration, Vec<Vec<Duration>>)>,
    /// Time that a process takes to go on once what it has waited for in shared memory is there: a
    /// row for each rank that it has waited for, a column for each rank that waits. What is missing
    /// takes no time.
    pub wake_ups: Vec<Vec<Duration>>,
}

fn entry(table: &[Vec<Duration>], row: u32, column: u32) -> Duration {
    let row = table.get(row as usize);
    row.and_then(|row| row.get(column as usize))
        .copied()
        .unwrap_or_default()
}

/// Simulated hosts with their network.
#[derive(Debug)]
struct Network {
    hosts: Vec<u32>,
    costs: SimulatedCosts,
    begin: Instant,
    /// The messages for each rank that it has not received.
    mailboxes: Vec<Mutex<VecDeque<Message>>>,
    memories: Mutex<Memories>,
}

/// Shared memory by host, and by its number there.
type Memories = HashMap<(u32, u32), Arc<[Line]>>;

#[derive(Debug)]
struct Message {
    from: u32,
    tag: u32,
    /// When it arrives.
    due: Instant,
    bytes: Vec<u8>,
}

/// A process of a simulated network: one thread, or several with a clone each.
#[derive(Debug, Clone)]
pub struct InProcess {
    network: Arc<Network>,
    rank: u32,
    n_shared: Cell<u32>,
    n_progressed: Cell<u64>,
    /// Copies from other processes that are granted, and those that were asked for.
    n_granted: u64,
    n_asked: Cell<u64>,
}

/// Memory of a simulated host.
#[derive(Debug)]
pub struct SimulatedMemory(Arc<[Line]>);

impl Deref for SimulatedMemory {
    type Target = [Line];

    fn deref(&self) -> &[Line] {
        &self.0
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl InProcess {
    /// As many processes as there are `hosts`: the host of each rank, by any numbers (those of the
    /// tables in `costs`). Each is to be used by a thread of its own.
    #[must_use]
    pub fn processes(hosts: &[u32], costs: SimulatedCosts) -> Vec<Self> {
        let network = Arc::new(Network {
            hosts: hosts.to_vec(),
            costs,
            begin: Instant::now(),
            mailboxes: hosts.iter().map(|_| Mutex::default()).collect(),
            memories: Mutex::default(),
        });
        (0..hosts.len() as u32)
            .map(|rank| Self {
                network: Arc::clone(&network),
                rank,
                n_shared: Cell::new(0),
                n_progressed: Cell::new(0),
                n_granted: u64::MAX,
                n_asked: Cell::new(0),
            })
            .collect()
    }

    /// How often [`progress`](Transport::progress) was called.
    #[must_use]
    pub fn n_progressed(&self) -> u64 {
        self.n_progressed.get()
    }
}

impl InProcess {
    /// Grants so many copies from other processes, and then no more.
    #[must_use]
    pub fn granting(mut self, n_copies: u64) -> Self {
        self.n_granted = n_copies;
        self
    }

    /// How often a copy from another process was asked for.
    #[must_use]
    pub fn n_asked_to_copy(&self) -> u64 {
        self.n_asked.get()
    }
}

impl Transport for InProcess {
    type Memory = SimulatedMemory;

    fn rank(&self) -> u32 {
        self.rank
    }

    fn share(&self, n_lines: usize) -> Result<SimulatedMemory, TransportError> {
        let host = self.network.hosts[self.rank as usize];
        let nth = self.n_shared.replace(self.n_shared.get() + 1);
        let mut memories = locked(&self.network.memories);
        let memory = memories
            .entry((host, nth))
            .or_insert_with(|| (0..n_lines).map(|_| Line::default()).collect());
        if memory.len() < n_lines {
            return Err(TransportError::Memory(
                "another process of this host has asked for less".into(),
            ));
        }
        Ok(SimulatedMemory(Arc::clone(memory)))
    }

    fn send(&self, to: u32, tag: u32, bytes: &[u8]) -> Result<(), TransportError> {
        let [from, at] = [self.rank, to].map(|rank| self.network.hosts[rank as usize]);
        let costs = &self.network.costs;
        let latencies = match &costs.later {
            Some((after, latencies)) if self.network.begin.elapsed() >= *after => latencies,
            _ => &costs.latencies,
        };
        let latency = entry(latencies, from, at);
        let message = Message {
            from: self.rank,
            tag,
            due: Instant::now() + latency,
            bytes: bytes.to_vec(),
        };
        locked(&self.network.mailboxes[to as usize]).push_back(message);
        Ok(())
    }

    fn receive(
        &self,
        from: Option<u32>,
        tag: u32,
        into: &mut [u8],
    ) -> Result<Option<Received>, TransportError> {
        let mut mailbox = locked(&self.network.mailboxes[self.rank as usize]);
        // The first of each sender: its messages stay in order.
        let mut matching = mailbox.iter().enumerate().filter(|(_, message)| {
            message.tag == tag && from.is_none_or(|from| from == message.from)
        });
        let found = match from {
            Some(_) => matching.next().filter(|(_, first)| is_due(first)),
            None => matching.find(|(_, message)| is_due(message)),
        };
        let Some((idx, _)) = found else {
            return Ok(None);
        };
        let message = mailbox.remove(idx).expect("found just now");
        drop(mailbox);
        into[..message.bytes.len()].copy_from_slice(&message.bytes);
        Ok(Some(Received {
            from: message.from,
            bytes: message.bytes.len(),
        }))
    }

    fn progress(&self) -> Result<(), TransportError> {
        self.n_progressed.set(self.n_progressed.get() + 1);
        Ok(())
    }

    fn copy_from(&self, reference: &Reference, into: &mut [u8]) -> bool {
        let n_before = self.n_asked.replace(self.n_asked.get() + 1);
        n_before < self.n_granted && copy_from_process(reference, into)
    }

    fn woken(&self, by: u32) {
        let cost = entry(&self.network.costs.wake_ups, by, self.rank);
        let begin = Instant::now();
        while begin.elapsed() < cost {
            std::thread::yield_now();
        }
    }

    /// Nanoseconds since the network began.
    fn now(&self) -> u64 {
        u64::try_from(self.network.begin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

fn is_due(message: &Message) -> bool {
    Instant::now() >= message.due
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(process: &InProcess, from: Option<u32>, tag: u32) -> Option<(u32, Vec<u8>)> {
        let mut into = [0; 16];
        let received = process.receive(from, tag, &mut into).unwrap()?;
        Some((received.from, into[..received.bytes].to_vec()))
    }

    #[test]
    fn messages_are_told_apart_by_sender_and_tag_and_stay_in_order() {
        let processes = InProcess::processes(&[0, 0, 1], SimulatedCosts::default());
        processes[0].send(2, 5, b"first").unwrap();
        processes[0].send(2, 6, b"other tag").unwrap();
        processes[1].send(2, 5, b"other sender").unwrap();
        processes[0].send(2, 5, b"second").unwrap();
        let receiver = &processes[2];
        assert_eq!(
            received(receiver, Some(1), 5),
            Some((1, b"other sender".to_vec()))
        );
        assert_eq!(received(receiver, None, 5), Some((0, b"first".to_vec())));
        assert_eq!(
            received(receiver, Some(0), 5),
            Some((0, b"second".to_vec()))
        );
        assert_eq!(received(receiver, None, 5), None);
        assert_eq!(
            received(receiver, None, 6),
            Some((0, b"other tag".to_vec()))
        );
    }

    #[test]
    fn a_message_takes_the_time_that_was_chosen_for_its_way() {
        let latency = Duration::from_millis(20);
        let costs = SimulatedCosts {
            latencies: vec![vec![Duration::ZERO, latency]],
            ..SimulatedCosts::default()
        };
        let processes = InProcess::processes(&[0, 1, 0], costs);
        let begin = Instant::now();
        processes[0].send(1, 0, b"far").unwrap();
        processes[0].send(2, 0, b"near").unwrap();
        assert!(received(&processes[2], None, 0).is_some());
        while received(&processes[1], None, 0).is_none() {
            std::thread::yield_now();
        }
        assert!(begin.elapsed() >= latency);
    }

    #[test]
    fn processes_of_one_host_share_memory_and_no_others() {
        let processes = InProcess::processes(&[3, 4, 3], SimulatedCosts::default());
        let memories: Vec<_> = processes.iter().map(|own| own.share(2).unwrap()).collect();
        assert!(std::ptr::eq(&memories[0][1], &memories[2][1]));
        assert!(!std::ptr::eq(&memories[0][1], &memories[1][1]));
        let next = processes[0].share(2).unwrap();
        assert!(!std::ptr::eq(&memories[0][1], &next[1]));
        assert!(processes[2].share(3).is_err(), "equal calls, equal numbers");
    }
}
