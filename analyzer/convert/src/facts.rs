//! What is known of a trace before its instances: ranks, hosts and communicators.

use std::sync::Arc;

use collbench_analyzer::Prepared;
use collbench_analyzer::results::CallSiteSummary;
use collbench_analyzer::rows::call_sites;

/// Ranks, hosts and communicators of a trace.
#[derive(Debug)]
pub(crate) struct Facts {
    /// Names of the hosts.
    pub(crate) hosts: Vec<String>,
    /// By world rank; `None`: there is no file of it.
    pub(crate) ranks: Vec<Option<RankFacts>>,
    /// By index in the list of communicators.
    pub(crate) communicators: Vec<CommunicatorFacts>,
    /// Names of the communicators of the results.
    pub(crate) entries: Arc<[String]>,
    /// Records of all files, about as many as calls where no messages were recorded.
    pub(crate) n_records: u64,
    /// The places in the program from which collectives are called; functions and lines are not known yet.
    pub(crate) sites: Vec<CallSiteSummary>,
}

/// What is known of a rank.
#[derive(Debug)]
pub(crate) struct RankFacts {
    /// Index of its host.
    pub(crate) host: usize,
    /// How many of its threads made calls, > 0.
    pub(crate) n_threads: u32,
}

/// What is known of a communicator.
#[derive(Debug)]
pub(crate) struct CommunicatorFacts {
    /// World ranks by slot.
    pub(crate) ranks: Vec<u32>,
    /// How many of the slots are of the first group; of an intracommunicator all.
    pub(crate) first_group: usize,
    /// The communicator of the results.
    pub(crate) entry: usize,
}

impl Facts {
    /// Of a trace.
    pub(crate) fn of(prepared: Prepared<'_, '_>) -> Self {
        let Prepared {
            run,
            clocks,
            communicators,
        } = prepared;
        let mut ranks: Vec<Option<RankFacts>> = Vec::new();
        for (process, clock) in run.processes.iter().zip(&clocks.processes) {
            let at = process.rank() as usize;
            if ranks.len() <= at {
                ranks.resize_with(at + 1, || None);
            }
            let threads = process.trace.chunks.iter().map(|chunk| chunk.thread);
            ranks[at] = Some(RankFacts {
                host: clock.host,
                n_threads: threads.max().unwrap_or(0).saturating_add(1),
            });
        }
        let list = communicators.list.iter().map(|of| CommunicatorFacts {
            ranks: of.members.iter().map(|member| member.world_rank).collect(),
            first_group: of.members.iter().filter(|member| member.group == 0).count(),
            entry: of.entry,
        });
        Self {
            hosts: clocks.hosts.iter().map(|host| host.name.clone()).collect(),
            ranks,
            communicators: list.collect(),
            entries: (communicators.entries.iter())
                .map(|entry| entry.name.clone())
                .collect(),
            n_records: run.n_records(),
            sites: call_sites(run),
        }
    }
}
