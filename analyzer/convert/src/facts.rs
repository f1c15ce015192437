//! What is known of a trace before its instances: ranks, hosts and communicators.

use std::collections::BTreeMap;
use std::sync::Arc;

use collbench_analyzer::Prepared;
use collbench_analyzer::results::CallSiteSummary;
use collbench_analyzer::rows::call_sites;
use collbench_clocks::timestamp::Timestamp;
use collbench_formats::tree::Wrappers;

/// Ranks without a file that count nevertheless, at most: a damaged number of ranks must not cost memory. Calls of ranks behind
/// them are left out.
const MOST_WITHOUT_FILE: usize = 1 << 16;

/// Ranks, hosts and communicators of a trace.
#[derive(Debug)]
pub(crate) struct Facts {
    /// Names of the hosts.
    pub(crate) hosts: Vec<String>,
    /// By world rank, of those that there is a file of.
    pub(crate) ranks: BTreeMap<u32, RankFacts>,
    /// How many ranks there should be a file of.
    pub(crate) world_size: u32,
    /// Time of day at the start of the run, ns since 1970; `None` where it is not known.
    pub(crate) started_unix_ns: Option<u64>,
    /// By index in the list of communicators.
    pub(crate) communicators: Vec<CommunicatorFacts>,
    /// Names of the communicators of the results.
    pub(crate) entries: Arc<[String]>,
    /// The places in the program from which collectives are called; functions and lines are not known yet.
    pub(crate) sites: Vec<CallSiteSummary>,
    /// Spanning trees of our own, by number; `None` for those whose ranks are threads.
    pub(crate) own_trees: Vec<Option<Wrappers>>,
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
        let mut ranks = BTreeMap::new();
        for (process, clock) in run.processes.iter().zip(&clocks.processes) {
            let threads = process.trace.chunks.iter().map(|chunk| chunk.thread);
            let facts = RankFacts {
                host: clock.host,
                n_threads: threads.max().unwrap_or(0).saturating_add(1),
            };
            ranks.insert(process.rank(), facts);
        }
        let list = communicators.list.iter().map(|of| CommunicatorFacts {
            ranks: of.members.iter().map(|member| member.world_rank).collect(),
            first_group: of.members.iter().filter(|member| member.group == 0).count(),
            entry: of.entry,
        });
        Self {
            hosts: clocks.hosts.iter().map(|host| host.name.clone()).collect(),
            ranks,
            world_size: run.world_size,
            started_unix_ns: started_unix_ns(prepared),
            communicators: list.collect(),
            entries: (communicators.entries.iter())
                .map(|entry| entry.name.clone())
                .collect(),
            sites: call_sites(run),
            own_trees: (0..communicators.n_own_trees())
                .map(|number| communicators.own_tree(number).map(|(_, tree)| tree.clone()))
                .collect(),
        }
    }
}

impl Facts {
    /// How many ranks there are, with those that there is no file of, since others count them.
    pub(crate) fn n_ranks(&self) -> usize {
        let last = self.ranks.keys().next_back();
        let n_listed = last.map_or(0, |rank| *rank as usize + 1);
        let most = self.ranks.len() + MOST_WITHOUT_FILE;
        n_listed.max(self.world_size as usize).min(most)
    }
}

/// The time of day at the start of the run, by the first process, which read both clocks when it left `MPI_Init`.
fn started_unix_ns(prepared: Prepared<'_, '_>) -> Option<u64> {
    let first = prepared.run.processes.first()?;
    let &[ticks, _, _, realtime_ns, _] = first.trace.identity.anchors.get(1)?;
    if ticks == 0 || realtime_ns == 0 {
        return None;
    }
    let clock = prepared.clocks.processes.first()?;
    let since_start = clock.global(Timestamp::from_ticks(ticks)).ns();
    realtime_ns.checked_add_signed(since_start.checked_neg()?)
}
