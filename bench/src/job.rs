//! The processes of a job: on which hosts they run, and exchanges between their clocks.

use std::convert::Infallible;

use anyhow::Context;
use collbench_formats::ClockSource;
use collbench_instrument::exchange::{Transport, WORDS};
use collbench_instrument::{Clock, host_identity, host_key};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Source};

/// Bytes of a host's name in an entry.
const NAME: usize = 64;
/// An entry: this number of bytes that identify the host, then one byte that states whether the
/// process is ready, then the name.
const KEY: usize = 16;
const ENTRY: usize = KEY + 1 + NAME;

/// A process of the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    /// Equal for processes with the same clock.
    pub(crate) clock: [u8; KEY],
    /// Name of its host.
    pub(crate) host: String,
}

/// All processes of the job, by rank, in each of them. Collective; `ready` is what this process
/// needs to continue.
///
/// Returns `None` if another process is not ready: that one reports why.
///
/// # Errors
/// Why this process is not ready.
pub(crate) fn gather<T>(
    world: &SimpleCommunicator,
    source: ClockSource,
    ready: anyhow::Result<T>,
) -> anyhow::Result<Option<(Vec<Process>, T)>> {
    let host = host_identity();
    let mut entry = [0u8; ENTRY];
    entry[..KEY].copy_from_slice(&host_key(&host, source));
    entry[KEY] = u8::from(ready.is_ok());
    let name = &host.name.as_bytes()[..host.name.len().min(NAME)];
    entry[KEY + 1..][..name.len()].copy_from_slice(name);
    let mut entries = vec![0u8; ENTRY * world.size() as usize];
    world.all_gather_into(&entry[..], &mut entries[..]);
    let ready = ready.with_context(|| format!("rank {} on {}", world.rank(), host.name))?;
    let (entries, _) = entries.as_chunks::<ENTRY>();
    if entries.iter().any(|entry| entry[KEY] == 0) {
        return Ok(None);
    }
    Ok(Some((entries.iter().map(Process::of).collect(), ready)))
}

impl Process {
    fn of(entry: &[u8; ENTRY]) -> Self {
        let (key, rest) = entry.split_at(KEY);
        let name = String::from_utf8_lossy(&rest[1..]);
        let mut clock = [0; KEY];
        clock.copy_from_slice(key);
        Self {
            clock,
            host: name.trim_end_matches('\0').to_owned(),
        }
    }
}

/// By rank, the lowest rank with the same clock.
pub(crate) fn clocks(processes: &[Process]) -> Vec<usize> {
    let first = |own: &Process| {
        let mut ranks = processes.iter();
        ranks.position(|process| process.clock == own.clock)
    };
    let firsts = processes.iter().map(|own| first(own).unwrap_or(0));
    firsts.collect()
}

/// A communicator as the transport of the recorder's exchanges.
pub(crate) struct Group {
    pub(crate) clock: Clock,
    pub(crate) comm: SimpleCommunicator,
}

impl Transport for Group {
    type Error = Infallible;

    fn now(&mut self) -> u64 {
        self.clock.now()
    }

    fn send(&mut self, to: usize, words: [u64; WORDS]) -> Result<(), Infallible> {
        self.comm.process_at_rank(to as i32).send(&words[..]);
        Ok(())
    }

    fn receive(&mut self, from: usize) -> Result<[u64; WORDS], Infallible> {
        let mut words = [0; WORDS];
        let from = self.comm.process_at_rank(from as i32);
        from.receive_into(&mut words[..]);
        Ok(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_as_long_as_it_was_and_at_most_as_long_as_there_is_room() {
        let mut entry = [0; ENTRY];
        entry[..KEY].fill(7);
        entry[KEY] = 1;
        entry[KEY + 1..][..5].copy_from_slice(b"node1");
        let process = Process::of(&entry);
        assert_eq!((process.host.as_str(), process.clock), ("node1", [7; KEY]));
        entry[KEY + 1..].fill(b'x');
        assert_eq!(Process::of(&entry).host.len(), NAME);
    }
}
