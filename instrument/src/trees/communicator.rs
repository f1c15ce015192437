//! The trees of a communicator, and what its processes agree on.
//!
//! A tree is made at the first call that needs it. All processes of the communicator are in that
//! call, so they agree by a collective of the MPI library on the same communicator: which tags the
//! messages have, whether all can share memory with those of their host, and whether buffers are in
//! memory that the processor can read. If one cannot, the tree is used by none.

use std::ops::Range;
use std::sync::atomic::Ordering;

use collbench_formats::NO_RANK;
use collbench_formats::tree::{Collective, Place, Wrappers};
use collbench_paths::{Collect, Kernel, MpiTransport, Team, TeamOptions, n_tags, tree_bytes};
use collbench_trees::wrappers::{Members, Order, resolve};

use super::adaptive::{Adaptive, Candidate, Key as AdaptiveKey};
use super::devices::uses_devices;
use super::last_calls::LastCalls;
use super::predefined::NamedType;
use super::reduce_local::AlignedMemory;
use super::world::World;
use crate::mpi::{Handle, address_of, call_mpi};
use crate::record::{Local, Recorder, define_tree, record_pass};

/// The most memory that the trees of a process may take, with its part of what it shares with
/// others; bytes. Further communicators use the MPI library.
const MOST_BYTES: usize = 128 << 20;

/// The trees of a communicator.
#[derive(Debug)]
pub(super) struct TreesOfCommunicator {
    pub(super) comm: Handle,
    /// This process's rank.
    pub(super) rank: u32,
    /// World rank of each rank; empty if the communicator can have no trees.
    world_ranks: Vec<u32>,
    places: Vec<Place>,
    /// By [`Collective`], the rules for such a communicator, in their order.
    rules: [Vec<RuleOfSize>; Collective::ALL.len()],
    trees: Vec<TreeInUse>,
    /// Trees that the processes have agreed not to use.
    refused: Vec<Key>,
    pub(super) adaptive: Adaptive,
    /// Memory for packed values, and for operations of the program.
    pub(super) scratch: Scratch,
    pub(super) last_used: LastUsed,
    pub(super) last_calls: LastCalls,
}

/// What the last calls have used, and the next ones probably use again. It is predefined, and never
/// changes.
#[derive(Debug, Default)]
pub(super) struct LastUsed {
    pub(super) datatype: Option<(Handle, NamedType)>,
    /// An operation, a datatype, and what executes it.
    pub(super) kernel: Option<(Handle, Handle, Kernel)>,
}

/// Memory of one call, which the next one uses again.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) given: Vec<u8>,
    pub(super) result: Vec<u8>,
    pub(super) memory: [AlignedMemory; 2],
}

/// A rule that is for such communicators.
#[derive(Debug)]
struct RuleOfSize {
    /// Index of the rule.
    idx: usize,
    /// Least and greatest payload, bytes.
    bytes: (u64, u64),
    /// Index of the adaptation, if it is the first of its candidates.
    adaptation: Option<usize>,
    /// Its trees, by order and root; empty before the first.
    slots: Vec<Slot>,
}

/// Whether a rule has a tree.
#[derive(Debug, Clone, Copy)]
enum Slot {
    /// Nobody has asked yet.
    Unknown,
    /// The rule has no tree for this communicator; a later one may.
    Unfit,
    /// The processes have agreed on the MPI library.
    Refused,
    /// It has this index.
    Ready(usize),
    /// The tree of a call is one of several candidates.
    Adaptive,
}

/// What executes a call.
#[derive(Debug, Clone, Copy)]
pub(super) enum Chosen {
    /// The tree with this index.
    Tree(usize),
    /// One of the candidates of the adaptation with this index.
    Adaptation(usize),
}

/// Which tree it is: rule, root of the operation, order of values.
type Key = (usize, Option<u32>, Order);

/// A tree that is used.
#[derive(Debug)]
struct TreeInUse {
    key: Key,
    team: TeamOfProcesses,
    _tags: TakenTags,
    _memory: TakenMemory,
}

/// The processes that execute operations over a tree.
struct TeamOfProcesses(Team<MpiTransport>);

impl std::fmt::Debug for TeamOfProcesses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Team")
    }
}

/// Tags that a tree has until this is dropped.
#[derive(Debug)]
struct TakenTags {
    trees: &'static World,
    range: Range<u32>,
}

impl TakenTags {
    fn take(trees: &'static World, first: u32, n: u32) -> Option<Self> {
        let range = trees.tags().take(first, n)?;
        Some(Self { trees, range })
    }
}

impl Drop for TakenTags {
    fn drop(&mut self) {
        self.trees.tags().give_back(&self.range);
    }
}

/// Memory that a tree has until this is dropped.
#[derive(Debug)]
struct TakenMemory {
    trees: &'static World,
    bytes: usize,
    /// Whether all trees together have more than they may.
    is_too_much: bool,
}

impl TakenMemory {
    fn take(trees: &'static World, bytes: usize) -> Self {
        let before = trees.bytes.fetch_add(bytes, Ordering::Relaxed);
        Self {
            trees,
            bytes,
            is_too_much: before + bytes > MOST_BYTES,
        }
    }
}

impl Drop for TakenMemory {
    fn drop(&mut self) {
        self.trees.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl TreesOfCommunicator {
    /// A communicator without trees so far. Nothing is asked of other processes.
    ///
    /// # Safety
    /// `comm` is a communicator of the library of `trees`, which has not ended, or null.
    pub(super) unsafe fn new(trees: &World, comm: Handle) -> Self {
        let library = &trees.library;
        let mut new = Self {
            comm,
            rank: 0,
            world_ranks: Vec::new(),
            places: Vec::new(),
            rules: Default::default(),
            trees: Vec::new(),
            refused: Vec::new(),
            adaptive: Adaptive::default(),
            scratch: Scratch::default(),
            last_used: LastUsed::default(),
            last_calls: LastCalls::default(),
        };
        if comm == library.comm_null || comm == 0 {
            return new;
        }
        // SAFETY: the caller promises a communicator, which is not null.
        let (rank, world_ranks) = unsafe {
            let size = library.size(comm);
            if size < 2 || library.remote_size(comm) > 0 {
                return new;
            }
            let world_ranks = library.world_ranks(comm, false, size);
            (library.rank(comm), world_ranks)
        };
        if world_ranks.contains(&NO_RANK) {
            return new;
        }
        let place = |rank: &u32| trees.hosts.places[*rank as usize];
        new.places = world_ranks.iter().map(place).collect();
        new.world_ranks = world_ranks;
        new.rank = rank;
        let mut last_adaptation = None;
        for (idx, rule) in trees.rules.rules.iter().enumerate() {
            let calls = &rule.calls;
            let adaptation = trees.rules.candidate(idx).map(|(adaptation, _)| adaptation);
            let is_further_candidate = adaptation.is_some() && adaptation == last_adaptation;
            if is_further_candidate || !calls.are_on(&new.places) {
                continue;
            }
            last_adaptation = adaptation;
            for &collective in &calls.operations {
                new.rules[collective as usize].push(RuleOfSize {
                    idx,
                    bytes: calls.bytes,
                    adaptation,
                    slots: Vec::new(),
                });
            }
        }
        new
    }

    /// Number of processes.
    pub(super) fn n_ranks(&self) -> usize {
        self.world_ranks.len()
    }

    /// Whether a rule is for the operation.
    #[inline]
    pub(super) fn has_rules(&self, collective: Collective) -> bool {
        !self.rules[collective as usize].is_empty()
    }

    /// Whether a rule is for a call of this operation with this payload of each rank, bytes.
    #[inline]
    pub(super) fn has_rule(&self, collective: Collective, bytes: u64) -> bool {
        let mut rules = self.rules[collective as usize].iter();
        rules.any(|rule| (rule.bytes.0..=rule.bytes.1).contains(&bytes))
    }

    /// The index of the tree for a call, in which all processes of the communicator are; `None` if they all use
    /// the MPI library.
    #[inline]
    pub(super) fn tree(
        &mut self,
        trees: &'static World,
        collective: Collective,
        bytes: u64,
        root: Option<u32>,
        order: Order,
    ) -> Option<Chosen> {
        let n_roots = if root.is_some() { self.n_ranks() } else { 1 };
        let slot = order as usize * n_roots + root.unwrap_or(0) as usize;
        for nth in 0..self.rules[collective as usize].len() {
            let rule = &mut self.rules[collective as usize][nth];
            if !(rule.bytes.0..=rule.bytes.1).contains(&bytes) {
                continue;
            }
            if rule.slots.is_empty() {
                rule.slots.resize(2 * n_roots, Slot::Unknown);
            }
            if let Slot::Unknown = rule.slots[slot] {
                let key = (rule.idx, root, order);
                let found = match rule.adaptation {
                    Some(_) => Slot::Adaptive,
                    None => self.find(key, trees),
                };
                self.rules[collective as usize][nth].slots[slot] = found;
            }
            match self.rules[collective as usize][nth].slots[slot] {
                Slot::Unknown | Slot::Unfit => {}
                Slot::Refused => return None,
                Slot::Ready(idx) => return Some(Chosen::Tree(idx)),
                Slot::Adaptive => {
                    let adaptation = self.rules[collective as usize][nth].adaptation;
                    return adaptation.map(Chosen::Adaptation);
                }
            }
        }
        None
    }

    /// The index of the tree of a rule, for a call in which all processes of the communicator are; `None` if there is
    /// none.
    pub(super) fn tree_of_rule(
        &mut self,
        trees: &'static World,
        rule: usize,
        root: Option<u32>,
        order: Order,
    ) -> Option<usize> {
        match self.find((rule, root, order), trees) {
            Slot::Ready(idx) => Some(idx),
            Slot::Unknown | Slot::Unfit | Slot::Refused | Slot::Adaptive => None,
        }
    }

    /// The first tree that there is among the candidates of calls, for one in which all processes are.
    #[cold]
    pub(super) fn able_tree(
        &mut self,
        trees: &'static World,
        of: usize,
        (root, order): (Option<u32>, Order),
    ) -> Option<usize> {
        let candidates = self.adaptive.calls[of].candidates.clone();
        candidates
            .into_iter()
            .find_map(|candidate| match candidate {
                Candidate::Library => None,
                Candidate::Tree(rule) => self.tree_of_rule(trees, rule, root, order),
            })
    }

    /// The first call with a key, with its payload of each rank.
    #[cold]
    pub(super) fn add_key(&mut self, trees: &World, call: (AdaptiveKey, u64)) -> usize {
        let mut adaptive = std::mem::take(&mut self.adaptive);
        let of = adaptive.add(trees, call, self.members(trees), self.world_ranks[0]);
        self.adaptive = adaptive;
        of
    }

    /// The processes, and where they run.
    pub(super) fn members<'m>(&'m self, trees: &'m World) -> Members<'m> {
        Members {
            hosts: &trees.hosts.names,
            places: &self.places,
        }
    }

    /// The processes that use the tree with this index.
    #[inline]
    pub(super) fn team(&mut self, tree: usize) -> &mut Team<MpiTransport> {
        &mut self.trees[tree].team.0
    }

    #[cold]
    fn find(&mut self, key: Key, trees: &'static World) -> Slot {
        let (rule, root, order) = key;
        if let Some(idx) = self.trees.iter().position(|tree| tree.key == key) {
            return Slot::Ready(idx);
        }
        if self.refused.contains(&key) {
            return Slot::Refused;
        }
        let members = self.members(trees);
        // All processes find the same.
        let Ok(wrappers) = resolve(&trees.rules.rules[rule], root, order, members) else {
            return Slot::Unfit;
        };
        let made = Local::of_this_thread().silently(|| self.make(key, &wrappers, trees));
        match made {
            Ok(tree) => {
                self.trees.push(tree);
                Slot::Ready(self.trees.len() - 1)
            }
            Err(why) => {
                if self.rank == 0 {
                    trees.tell_once(why);
                }
                self.refused.push(key);
                Slot::Refused
            }
        }
    }

    /// Makes a tree together with the other processes, or finds together with them why there is
    /// none.
    fn make(
        &self,
        key: Key,
        wrappers: &Wrappers,
        trees: &'static World,
    ) -> Result<TreeInUse, &'static str> {
        const DEVICES: &str = "a library for computing on devices is loaded";
        const NO_MEMORY: &str = "its trees would take more memory than they may";
        const NO_SHARING: &str = "its processes cannot share memory on a host";
        const NO_TAGS: &str = "there are no tags for its messages any more";
        const FAILED: &str = "the MPI library has failed in its MPI_Allreduce";
        const NO_REASON: i64 = 0;
        let reasons = [DEVICES, NO_MEMORY, NO_TAGS, NO_SHARING];
        let n_tags = n_tags(wrappers) + 1;
        let options = TeamOptions::new(trees.hosts.policy(trees.rank));
        let options = options.for_processes(wrappers.n_ranks());
        let memory = TakenMemory::take(trees, tree_bytes(wrappers, self.rank, &options));
        let own_reason = if uses_devices() {
            1
        } else if memory.is_too_much {
            2
        } else {
            NO_REASON
        };
        let tags = loop {
            let proposed = trees.tags().propose(n_tags);
            let reason = if proposed.is_none() { 3 } else { own_reason };
            let first = i64::from(proposed.unwrap_or(0));
            let is_multithreaded = i64::from(trees.library.is_multithreaded());
            let agreed = self.agree(trees, [first, reason, is_multithreaded]);
            let [first, reason, any_is_multithreaded] = agreed.ok_or(FAILED)?;
            if reason != NO_REASON {
                return Err(reasons[reason as usize - 1]);
            }
            let taken = TakenTags::take(trees, first as u32, n_tags);
            let has_failed = i64::from(taken.is_none());
            let any_failed = match any_is_multithreaded {
                0 => 0,
                _ => self.agree(trees, [has_failed, 0, 0]).ok_or(FAILED)?[0],
            };
            match taken {
                Some(taken) if any_failed == 0 => break taken,
                // Another thread has taken them meanwhile.
                _ => {}
            }
        };
        let options = TeamOptions {
            first_tag: tags.range.start,
            ..options
        };
        let team = self.make_team(wrappers, options, tags.range.end - 1, trees);
        let has_failed = i64::from(team.is_none());
        match (team, self.agree(trees, [has_failed, 0, 0])) {
            (Some(mut team), Some([0, ..])) => {
                let name = trees.rules.name(key.0);
                team.set_collect(self.collect(name, wrappers));
                Ok(TreeInUse {
                    key,
                    team: TeamOfProcesses(team),
                    _tags: tags,
                    _memory: memory,
                })
            }
            _ => Err(NO_SHARING),
        }
    }

    fn make_team(
        &self,
        wrappers: &Wrappers,
        options: TeamOptions,
        share_tag: u32,
        trees: &'static World,
    ) -> Option<Team<MpiTransport>> {
        let transport = MpiTransport::new(
            trees.ours,
            self.world_ranks.clone(),
            wrappers.hosts(),
            self.rank,
            ticks,
        )
        .with_share_tag(share_tag);
        Team::new(transport, wrappers, options).ok()
    }

    /// What records the passes through the event collectors of a new tree; `None` if nothing is
    /// recorded.
    fn collect(&self, name: String, wrappers: &Wrappers) -> Option<Collect> {
        let of_first = (self.rank == 0).then(|| wrappers.clone());
        let index = define_tree(self.comm, 1, name, of_first)?;
        Some(Box::new(move |pass| record_pass(index, &pass)))
    }

    /// The greatest of what the processes give, for each number; `None` if the library has failed.
    fn agree(&self, trees: &World, mut given: [i64; 3]) -> Option<[i64; 3]> {
        let mut greatest = [0i64; 3];
        let (long, max) = (trees.constants.long, trees.constants.max);
        let (from, to) = (address_of(&mut given), address_of(&mut greatest));
        let code = call_mpi!(c"PMPI_Allreduce"; from, to, given.len(), long, max, self.comm);
        (code == 0).then_some(greatest)
    }
}

/// The clock of event collectors.
fn ticks() -> u64 {
    Recorder::active().map_or(0, |recorder| recorder.clock.now())
}
