//! Persistent collectives: the definitions of all processes, combined.
//!
//! Starts have no position in the order of calls, and each process may make them in a different
//! order. So each persistent collective has a call order of its own, in which its starts are
//! counted. It is identified by its communicator and its position among the persistent collectives
//! set up there.

use std::collections::BTreeMap;

use collbench_formats::Definition;

use crate::communicators::Communicators;
use crate::trace::run::Run;

/// One persistent collective of a communicator.
#[derive(Debug)]
pub(crate) struct Persistent {
    /// Index in [`Communicators::list`].
    pub(crate) communicator: usize,
    /// For each slot the process and the index of its [`OwnPersistent`]; `None`: it has none.
    pub(crate) members: Box<[Option<(u32, u32)>]>,
}

/// A persistent collective as one process set it up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnPersistent {
    /// The number that the process's records use.
    pub(crate) index: u32,
    /// Index in [`Persistents::list`].
    pub(crate) persistent: u32,
    /// Index of its communicator, in the process.
    pub(crate) on: u32,
    pub(crate) root: i32,
    pub(crate) payload: Option<u64>,
}

/// All persistent collectives of a run.
#[derive(Debug, Default)]
pub(crate) struct Persistents {
    /// By communicator and position.
    pub(crate) list: Vec<Persistent>,
    /// For each process of the run its own, by index.
    pub(crate) of: Vec<Vec<OwnPersistent>>,
}

impl Persistents {
    /// Combines the definitions of all processes. Of contradicting definitions the first counts;
    /// the starts of the others belong to nothing.
    pub(crate) fn agree(run: &Run<'_>, communicators: &Communicators) -> Self {
        let mut of: Vec<Vec<OwnPersistent>> = Vec::new();
        // Those on communicators of one process, which are one in the list, are distinguished by
        // the index of the communicator.
        type Key = (usize, u32, u64);
        let mut members: BTreeMap<Key, Vec<(usize, u32, u32)>> = BTreeMap::new();
        for (process, file) in run.processes.iter().enumerate() {
            let mut own: BTreeMap<u32, OwnPersistent> = BTreeMap::new();
            for definition in file.trace.definitions.iter() {
                let Definition::PersistentCollective(defined) = definition else {
                    continue;
                };
                let local_comm = communicators.local_comm(process, defined.communicator);
                let Some(local_comm) = local_comm else {
                    continue;
                };
                let local_comm = communicators.local_comms[process][local_comm];
                let communicator = &communicators.list[local_comm.communicator as usize];
                let Some(slot) = communicator.slot_of(process) else {
                    continue;
                };
                let own_index = if communicator.is_own() {
                    local_comm.index
                } else {
                    0
                };
                let key = (
                    local_comm.communicator as usize,
                    own_index,
                    defined.position,
                );
                let known = members.entry(key).or_default();
                let is_second = known.iter().any(|&(other, ..)| other == slot);
                if is_second || own.contains_key(&defined.index) {
                    continue;
                }
                known.push((slot, process as u32, defined.index));
                let made = OwnPersistent {
                    index: defined.index,
                    persistent: 0,
                    on: defined.communicator,
                    root: defined.root,
                    payload: defined.payload_bytes,
                };
                own.insert(defined.index, made);
            }
            of.push(own.into_values().collect());
        }
        let mut this = Self {
            list: Vec::new(),
            of,
        };
        for ((communicator, ..), known) in members {
            let n = communicators.list[communicator].members.len();
            let mut of_slots = vec![None; n].into_boxed_slice();
            for (slot, process, index) in known {
                let Some(local) = local_of(&this.of[process as usize], index) else {
                    continue;
                };
                this.of[process as usize][local].persistent = this.list.len() as u32;
                of_slots[slot] = Some((process, local as u32));
            }
            this.list.push(Persistent {
                communicator,
                members: of_slots,
            });
        }
        this
    }
}

/// Position in `persistents` of the persistent collective with this local index.
pub(crate) fn local_of(persistents: &[OwnPersistent], index: u32) -> Option<usize> {
    match persistents.get(index as usize) {
        Some(own) if own.index == index => Some(index as usize),
        _ => persistents
            .binary_search_by_key(&index, |own| own.index)
            .ok(),
    }
}
