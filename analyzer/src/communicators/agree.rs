//! Combines the definitions of all processes.

use std::collections::BTreeMap;
use std::sync::Arc;

use collbench_formats::{CommunicatorKind, Definition};

use crate::communicators::draft::{Draft, display_order};
use crate::communicators::entries::{Alike, MAX_UNKNOWN_MEMBERS, Shown, ShownTogether};
use crate::communicators::spanning_trees::OwnTrees;
use crate::communicators::{
    Communicator, CommunicatorEntry, Communicators, LocalComm, Member, Scope,
};
use crate::remark::Remark;
use crate::time::clocks::Clocks;
use crate::trace::run::Run;

impl Communicators {
    /// Combines the definitions of all processes.
    #[must_use]
    pub fn agree(run: &Run<'_>, clocks: &Clocks) -> Self {
        let mut this = Self::default();
        let (drafts, own) = this.collect(run);
        let mut order = display_order(run, &drafts, &own);
        // Files and windows come after all communicators.
        order.sort_by_key(|id| id.is_some_and(|id| drafts[&id].is_opened()));
        let n_communicators =
            order.partition_point(|id| !id.is_some_and(|id| drafts[&id].is_opened()));
        let (order, opened) = order.split_at(n_communicators);
        this.local_comms = vec![Vec::new(); run.processes.len()];
        let alike = Alike::find(&drafts, order);
        let mut entry_of = BTreeMap::new();
        let mut shown_of: BTreeMap<u64, (Shown, usize)> = BTreeMap::new();
        let mut shown_together: BTreeMap<usize, ShownTogether> = BTreeMap::new();
        let mut n_unknown_left = MAX_UNKNOWN_MEMBERS;
        for id in order {
            let Some(id) = id else {
                this.add_own(run, clocks, &own);
                continue;
            };
            let draft = &drafts[id];
            let together = alike.group_of.get(id);
            let before = together.and_then(|group| shown_together.get(group));
            let (shown, communicator) = match before {
                Some(before) => (before.shown, Arc::clone(&before.first)),
                None => {
                    let shown = this.show(run, draft, &mut n_unknown_left);
                    (shown, Arc::new(communicator(run, clocks, draft, shown)))
                }
            };
            if let Some(group) = together {
                shown_together
                    .entry(*group)
                    .or_insert_with(|| ShownTogether {
                        shown,
                        first: Arc::clone(&communicator),
                    });
            }
            entry_of.insert(*id, shown.entry);
            shown_of.insert(*id, (shown, this.list.len()));
            this.add(draft, communicator);
        }
        for id in opened.iter().flatten() {
            let draft = &drafts[id];
            let parent = draft
                .parent
                .and_then(|id| Some((drafts.get(&id)?, shown_of.get(&id)?)))
                .filter(|(parent, _)| {
                    (draft.kind, draft.group_sizes) == (parent.kind, parent.group_sizes)
                });
            let (shown, communicator) = match parent {
                Some((parent, (shown, at))) if draft.has_members_of(parent) => {
                    (*shown, Arc::clone(&this.list[*at]))
                }
                // Some of its processes are not known to have opened it.
                Some((_, (shown, _))) if shown.is_dense => {
                    (*shown, Arc::new(communicator(run, clocks, draft, *shown)))
                }
                _ => {
                    let shown = this.show(run, draft, &mut n_unknown_left);
                    (shown, Arc::new(communicator(run, clocks, draft, shown)))
                }
            };
            entry_of.insert(*id, shown.entry);
            this.add(draft, communicator);
        }
        if !alike.sizes.is_empty() {
            this.remarks.push(Remark::ShownTogether {
                n_communicators: alike.sizes.iter().sum(),
                n_entries: alike.sizes.len(),
            });
        }
        for local_comms in &mut this.local_comms {
            local_comms.sort_by_key(|local_comm| local_comm.index);
        }
        let order: Vec<Option<u64>> = order.iter().chain(opened).copied().collect();
        this.name_entries(&drafts, &order, &entry_of, &alike);
        this.add_topologies(run);
        this.trees = OwnTrees::agree(run, &this);
        this
    }

    /// Adds the neighbours in topologies that each process defined.
    fn add_topologies(&mut self, run: &Run<'_>) {
        for (process, file) in run.processes.iter().enumerate() {
            for definition in file.trace.definitions.iter() {
                let Definition::Topology(topology) = definition else {
                    continue;
                };
                let Some(local_comm) = self.local_comm(process, topology.communicator) else {
                    continue;
                };
                let local_comm = self.local_comms[process][local_comm];
                let communicator = &mut self.list[local_comm.communicator as usize];
                // One-process communicators share an entry, but each may have its own topology.
                if !communicator.is_own()
                    && let Some(slot) = communicator.slot_of(process)
                {
                    // Communicators that were made alike may differ in their topologies.
                    let communicator = Arc::make_mut(communicator);
                    communicator.set_in_neighbours(slot, &topology.in_neighbours);
                }
            }
        }
    }

    fn add(&mut self, draft: &Draft, communicator: Arc<Communicator>) {
        self.first_index.push(self.indexes.len());
        for member in &draft.members {
            self.indexes.push(member.index);
            self.local_comms[member.process as usize].push(LocalComm {
                index: member.index,
                communicator: self.list.len() as u32,
            });
        }
        self.list.push(communicator);
    }

    /// The one entry of all one-process communicators, and one communicator for each process.
    fn add_own(&mut self, run: &Run<'_>, clocks: &Clocks, own: &BTreeMap<usize, Vec<u32>>) {
        let entry = self.entries.len();
        for (position, (&process, indexes)) in own.iter().enumerate() {
            let communicator = self.list.len() as u32;
            self.first_index.push(self.indexes.len());
            self.indexes.push(indexes[0]);
            self.list.push(Arc::new(Communicator {
                kind: CommunicatorKind::Intra,
                scope: if run.world_size == 1 {
                    Scope::Job
                } else {
                    Scope::Own
                },
                members: vec![Member {
                    group: 0,
                    rank: 0,
                    world_rank: run.processes[process].rank(),
                    process,
                    host: clocks.processes[process].host,
                }],
                processes: Arc::new([process as u32]),
                is_whole: true,
                hosts: vec![vec![0]],
                times: vec![vec![0]],
                entry,
                positions: vec![position],
                in_neighbours: Vec::new(),
            }));
            for &index in indexes {
                self.local_comms[process].push(LocalComm {
                    index,
                    communicator,
                });
            }
        }
        self.entries.push(CommunicatorEntry {
            name: "MPI_COMM_SELF".to_owned(),
            kind: CommunicatorKind::Intra,
            size: 1,
            count: 1,
            made_at: None,
            ranks: own
                .keys()
                .map(|&process| Some(run.processes[process].rank()))
                .collect(),
            first_group: own.len(),
        });
    }
}

/// A communicator as matching needs it.
fn communicator(run: &Run<'_>, clocks: &Clocks, draft: &Draft, shown: Shown) -> Communicator {
    let mut members = Vec::with_capacity(draft.members.len());
    let mut positions = Vec::with_capacity(draft.members.len());
    for (slot, member) in draft.members.iter().enumerate() {
        let (group, rank) = member.place;
        let process = member.process as usize;
        members.push(Member {
            group,
            rank,
            world_rank: run.processes[process].rank(),
            process,
            host: clocks.processes[process].host,
        });
        let offset = if group == 0 { 0 } else { draft.group_sizes[0] };
        positions.push(if shown.is_dense {
            offset as usize + rank as usize
        } else {
            slot
        });
    }
    Communicator {
        kind: draft.kind,
        scope: match draft.kind {
            CommunicatorKind::Inter => Scope::Inter,
            CommunicatorKind::Intra if draft.size() >= u64::from(run.world_size) => Scope::Job,
            CommunicatorKind::Intra => Scope::Sub,
        },
        is_whole: members.len() as u64 == draft.size(),
        processes: members.iter().map(|member| member.process as u32).collect(),
        hosts: slots_by(&members, |member| member.host),
        times: slots_by(&members, |member| clocks.hosts[member.host].group),
        members,
        entry: shown.entry,
        positions,
        in_neighbours: Vec::new(),
    }
}

fn slots_by(members: &[Member], key: impl Fn(&Member) -> usize) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (slot, member) in members.iter().enumerate() {
        groups.entry(key(member)).or_default().push(slot);
    }
    groups.into_values().collect()
}
