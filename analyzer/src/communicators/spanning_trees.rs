//! Spanning trees of our own: the definitions of all processes, combined.
//!
//! All processes of a communicator define its trees in the same order, and one of them says what
//! each tree is.

use std::collections::{BTreeMap, HashMap};

use collbench_formats::tree::Wrappers;
use collbench_formats::{CommunicatorKind, Definition, SpanningTree, encode_meta};

use crate::communicators::Communicators;
use crate::trace::run::Run;

/// A spanning tree of our own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnTree {
    /// What people call it.
    pub(crate) name: String,
    /// Ranks of the tree in each process.
    pub(crate) threads: u32,
    pub(crate) wrappers: Wrappers,
    /// World rank of each process, by slot.
    pub(crate) ranks: Box<[u32]>,
    /// Host of each process, by slot: its index among the clocks.
    pub(crate) hosts: Box<[usize]>,
}

impl OwnTree {
    /// The slot of the process with a rank of the tree.
    pub(crate) fn slot_of(&self, rank: u32) -> usize {
        (rank / self.threads) as usize
    }
}

/// All spanning trees of our own of a run.
#[derive(Debug, Default)]
pub(crate) struct OwnTrees {
    /// By communicator and order; those alike of one entry of the results are one.
    pub(crate) list: Vec<OwnTree>,
    /// For each process of the run its trees: index in its records, and index in the list, ascending.
    of: Vec<Vec<(u32, u32)>>,
}

/// The definitions of the n-th tree of a communicator.
#[derive(Default)]
struct Draft {
    defined: Option<SpanningTree>,
    /// Process and index in its records.
    used_by: Vec<(usize, u32)>,
}

impl OwnTrees {
    /// Combines the definitions of all processes. Trees that nobody describes, or that do not fit
    /// their communicator, are left out.
    pub(super) fn agree(run: &Run<'_>, communicators: &Communicators) -> Self {
        let mut drafts: BTreeMap<(usize, usize), Draft> = BTreeMap::new();
        for (process, file) in run.processes.iter().enumerate() {
            let mut n_on: BTreeMap<usize, usize> = BTreeMap::new();
            for definition in file.trace.definitions.iter() {
                let Definition::SpanningTree(defined) = definition else {
                    continue;
                };
                let local_comm = communicators.local_comm(process, defined.communicator);
                let Some(local_comm) = local_comm else {
                    continue;
                };
                let local_comm = communicators.local_comms[process][local_comm];
                let on = local_comm.communicator as usize;
                let nth = n_on.entry(on).or_default();
                let draft = drafts.entry((on, *nth)).or_default();
                *nth += 1;
                draft.used_by.push((process, defined.index));
                if draft.defined.is_none() && defined.wrappers.is_some() {
                    draft.defined = Some(defined);
                }
            }
        }
        let mut this = Self {
            list: Vec::new(),
            of: vec![Vec::new(); run.processes.len()],
        };
        let mut known: HashMap<(usize, Vec<u8>), u32> = HashMap::new();
        for ((on, _), draft) in drafts {
            let communicator = &communicators.list[on];
            let Some(defined) = draft.defined else {
                continue;
            };
            let content = (&defined.name, defined.threads, &defined.wrappers);
            let Ok((content, _)) = encode_meta(&content) else {
                continue;
            };
            let n_members = communicator.members.len() as u64;
            let (Some(wrappers), true) = (
                defined.wrappers,
                communicator.is_whole && communicator.kind == CommunicatorKind::Intra,
            ) else {
                continue;
            };
            let fits = u64::from(wrappers.n_ranks()) == n_members * u64::from(defined.threads);
            if defined.threads == 0 || !fits {
                continue;
            }
            let tree = *known
                .entry((communicator.entry, content))
                .or_insert_with(|| {
                    let members = communicator.members.iter();
                    this.list.push(OwnTree {
                        name: defined.name,
                        threads: defined.threads,
                        wrappers,
                        ranks: members.clone().map(|member| member.world_rank).collect(),
                        hosts: members.map(|member| member.host).collect(),
                    });
                    this.list.len() as u32 - 1
                });
            for (process, index) in draft.used_by {
                this.of[process].push((index, tree));
            }
        }
        // Of several definitions with one index the first counts.
        for own in &mut this.of {
            own.sort_by_key(|&(index, _)| index);
            own.dedup_by_key(|&mut (index, _)| index);
        }
        this
    }

    /// Whether a process defined any.
    pub(crate) fn are_of(&self, process: usize) -> bool {
        self.of.get(process).is_some_and(|own| !own.is_empty())
    }

    /// The tree with an index in the records of a process: its index in the list.
    pub(crate) fn of_index(&self, process: usize, index: u32) -> Option<u32> {
        let own = self.of.get(process)?;
        let at = own.binary_search_by_key(&index, |&(index, _)| index).ok()?;
        Some(own[at].1)
    }
}
