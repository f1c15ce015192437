//! Hosts, ranks and threads of an archive.

use collbench_otf2::{Archive, LocationRef};

use crate::facts::Facts;

/// Threads of a rank that have a location each, at most: a damaged number of threads must not cost memory. Calls of
/// further threads are at the last location.
const MOST_THREADS: u32 = 1 << 10;

/// The threads of all ranks.
#[derive(Debug)]
pub(super) struct Places {
    /// By rank where its threads begin in a list of all threads; at the end, how long that is.
    begins: Vec<usize>,
}

impl Places {
    /// Defines them, and gives the list of all threads: ranks in their order, also those that there is no file of, since
    /// others count them.
    pub(super) fn define(archive: &mut Archive, facts: &Facts) -> (Self, Vec<LocationRef>) {
        let hosts: Vec<_> = facts.hosts.iter().map(|name| archive.host(name)).collect();
        let mut nowhere = None;
        let mut locations = Vec::new();
        let mut begins = vec![0];
        for rank in 0..facts.n_ranks() as u32 {
            let known = facts.ranks.get(&rank);
            let host = known.and_then(|of| hosts.get(of.host).copied());
            let host = host
                .unwrap_or_else(|| *nowhere.get_or_insert_with(|| archive.host("unknown host")));
            let process = archive.process(&format!("rank {rank}"), host);
            for thread in 0..known.map_or(1, |of| of.n_threads.min(MOST_THREADS)) {
                let name = format!("thread {thread}");
                locations.push(archive.location(&name, process));
            }
            begins.push(locations.len());
        }
        (Self { begins }, locations)
    }

    /// How many ranks there are.
    pub(super) fn n_ranks(&self) -> usize {
        self.begins.len() - 1
    }

    /// Index in the list of a thread of a rank.
    pub(super) fn index(&self, rank: u32, thread: u32) -> Option<usize> {
        let &[begin, end] = self
            .begins
            .get(rank as usize..rank as usize + 2)?
            .first_chunk()?;
        Some(begin.saturating_add(thread as usize).min(end - 1))
    }
}
