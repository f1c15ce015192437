//! The participants: the first process of each host, or all processes if they have one clock.

use anyhow::Context;
use collbench_formats::ClockSource;
use collbench_instrument::{host_identity, host_key};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};

/// Bytes of a host's name in an entry.
const NAME: usize = 64;
/// An entry: this number of bytes that identify the host, then one byte that states whether the
/// process is ready, then the name.
const KEY: usize = 16;
const ENTRY: usize = KEY + 1 + NAME;

/// The participants of the job, the same in every process.
#[derive(Debug)]
pub(super) struct Participants {
    /// World rank and host of each participating process; the first is the reference.
    pub(super) participants: Vec<(i32, String)>,
    /// Whether all participants read the same clock.
    pub(super) has_one_clock: bool,
}

impl Participants {
    /// Collective over all processes; `ready` is what this process needs to continue.
    ///
    /// Returns `None` if another process is not ready: that one reports why.
    ///
    /// # Errors
    /// Why this process is not ready.
    pub(super) fn gather<T>(
        world: &SimpleCommunicator,
        source: ClockSource,
        ready: anyhow::Result<T>,
    ) -> anyhow::Result<Option<(Self, T)>> {
        let host = host_identity();
        let mut entry = [0u8; ENTRY];
        entry[..KEY].copy_from_slice(&host_key(&host, source));
        entry[KEY] = u8::from(ready.is_ok());
        let name = &host.name.as_bytes()[..host.name.len().min(NAME)];
        entry[KEY + 1..][..name.len()].copy_from_slice(name);
        let mut entries = vec![0u8; ENTRY * world.size() as usize];
        world.all_gather_into(&entry[..], &mut entries[..]);
        let ready = ready.with_context(|| format!("rank {} on {}", world.rank(), host.name))?;
        if entries.chunks_exact(ENTRY).any(|entry| entry[KEY] == 0) {
            return Ok(None);
        }
        Ok(Some((Self::of(&entries), ready)))
    }

    fn of(entries: &[u8]) -> Self {
        let entries: Vec<&[u8]> = entries.chunks_exact(ENTRY).collect();
        let has_one_clock = entries
            .iter()
            .all(|entry| entry[..KEY] == entries[0][..KEY]);
        let is_first = |rank: usize| {
            let of_host = entries
                .iter()
                .position(|e| e[..KEY] == entries[rank][..KEY]);
            of_host == Some(rank)
        };
        let participants = (0..entries.len())
            .filter(|&rank| has_one_clock || is_first(rank))
            .map(|rank| {
                let name = String::from_utf8_lossy(&entries[rank][KEY + 1..]);
                (rank as i32, name.trim_end_matches('\0').to_owned())
            })
            .collect();
        Self {
            participants,
            has_one_clock,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn participants(hosts: &[(u8, &str)]) -> Participants {
        let mut entries = Vec::new();
        for (key, name) in hosts {
            let mut entry = [0u8; ENTRY];
            entry[..KEY].fill(*key);
            entry[KEY] = 1;
            entry[KEY + 1..][..name.len()].copy_from_slice(name.as_bytes());
            entries.extend(entry);
        }
        Participants::of(&entries)
    }

    #[test]
    fn of_several_hosts_the_first_process_of_each_takes_part() {
        let all = participants(&[(1, "a"), (2, "b"), (1, "a"), (3, "b"), (3, "b")]);
        let expected = [(0, "a"), (1, "b"), (3, "b")];
        let found = all.participants.iter();
        let found: Vec<_> = found.map(|(rank, name)| (*rank, name.as_str())).collect();
        assert_eq!(found, expected);
        assert!(!all.has_one_clock);
    }

    #[test]
    fn of_one_host_all_processes_take_part() {
        let all = participants(&[(1, "a"), (1, "a"), (1, "a")]);
        assert_eq!(all.participants.len(), 3);
        assert!(all.has_one_clock);
    }
}
