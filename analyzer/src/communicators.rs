//! Communicators: what each process defined, put together to what all agree on.
//!
//! A process's definition says its own rank in the communicator; the members are found by
//! putting the definitions with one `id` together. Handles and indexes mean something within
//! one process only.
//!
//! Communicators of one process (`MPI_COMM_SELF` and others) are one entry of the results
//! together, except `MPI_COMM_WORLD` in a job of one process. Files and windows have an order of
//! calls each, and so are communicators here; in the results their calls are on the communicator
//! that they were opened on.

pub(crate) mod persistent;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use collbench_formats::{
    CommunicatorKind, Definition, NO_COMMUNICATOR, NO_RANK, Operation, SequenceEntry,
};
use collbench_text::inert;
use serde::{Deserialize, Serialize};

use crate::remarks::Remark;
use crate::time::clocks::Clocks;
use crate::trace::run::Run;

/// Index of `MPI_COMM_WORLD` in every process.
const WORLD: u32 = 0;
/// Index of `MPI_COMM_SELF` in every process.
const SELF: u32 = 1;

/// Members of all communicators together that may be listed as unknown; beyond, only the known
/// members are listed: a damaged size must not cost memory.
const MAX_HOLES: u64 = 1 << 20;
/// Likewise of one communicator, for each known one, and besides: every operation on it lists
/// them.
const MAX_HOLES_OF_ONE: [u64; 2] = [8, 64];

/// Communicators that were made alike and are shown one by one; where there are more (a program
/// that duplicates and frees one in a loop), they are one entry of the results together.
const MAX_ALIKE: usize = 1000;
/// Characters of a name that are kept; MPI libraries allow 64 to 256.
const MAX_NAME: usize = 256;
/// Characters of a communicator's name in those of others that were made of it.
const MAX_NAME_OF_PARENT: usize = 64;

/// How a communicator compares to the job, for counting calls by class.
///
/// The rule, first match wins: an intercommunicator is [`Scope::Inter`]; one as large as the job
/// is [`Scope::Job`] (so `MPI_COMM_SELF` in a job of one process is); one of one process is
/// [`Scope::Own`]; any other is [`Scope::Sub`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Scope {
    /// As large as the job, or larger; also calls on a communicator that is not known.
    Job,
    /// Smaller than the job.
    Sub,
    /// Of one process.
    Own,
    /// An intercommunicator.
    Inter,
}

impl Scope {
    /// What is put behind an operation's name.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Job => "",
            Self::Sub => ":sub",
            Self::Own => ":self",
            Self::Inter => ":inter",
        }
    }
}

/// One process in a communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// 0 or 1; 0 on intracommunicators. Group 0 is the one with the smaller first world rank.
    pub group: u8,
    /// Rank in its group.
    pub rank: u32,
    /// World rank.
    pub world_rank: u32,
    /// Index of the process in the run.
    pub process: usize,
    /// Index of its host clock.
    pub host: usize,
}

/// One communicator, as matching needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Communicator {
    /// One group or two.
    pub kind: CommunicatorKind,
    /// How it compares to the job.
    pub scope: Scope,
    /// The members that there is a file of, by group and rank. A *slot* is an index in this list.
    pub members: Vec<Member>,
    /// Whether there is a file of every member.
    pub is_whole: bool,
    /// Slots by host, each list ascending, by host index.
    pub hosts: Vec<Vec<usize>>,
    /// Slots whose clocks have a common time, by group of hosts, each list ascending: one list
    /// where all stamps can be compared.
    pub times: Vec<Vec<usize>>,
    /// Index of its entry in [`Communicators::entries`].
    pub entry: usize,
    /// For each slot the index in [`CommunicatorEntry::ranks`].
    pub positions: Vec<usize>,
    /// For each slot those that it receives from in the communicator's topology, ascending, each
    /// once; `None`: not known. Empty where no process has told of a topology.
    pub in_neighbours: Vec<Option<Box<[u32]>>>,
}

impl Communicator {
    /// A number for which slots are on which hosts, and of an intercommunicator in which group; 0
    /// where all are on one host and in one group.
    pub(crate) fn host_map(&self) -> u64 {
        if self.hosts.len() < 2 && self.kind == CommunicatorKind::Intra {
            return 0;
        }
        let places = self.members.iter();
        let places = places.map(|member| (member.host as u64) << 1 | u64::from(member.group));
        places.fold(1, |map, place| {
            (map.rotate_left(23) ^ place).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        })
    }

    /// The group of each slot of an intercommunicator.
    pub(crate) fn groups(&self) -> Option<Vec<u32>> {
        let groups = || self.members.iter().map(|member| member.group.into());
        (self.kind == CommunicatorKind::Inter).then(|| groups().collect())
    }

    /// The slot of a process of the run.
    pub(crate) fn slot_of(&self, process: usize) -> Option<usize> {
        self.members
            .iter()
            .position(|member| member.process == process)
    }

    /// The slots that a slot receives from in the communicator's topology, ascending; `None`
    /// where there is none, or it is not known.
    #[must_use]
    pub fn in_neighbours(&self, slot: usize) -> Option<&[u32]> {
        if self.is_own() {
            // At most itself.
            return Some(&[]);
        }
        self.in_neighbours.get(slot)?.as_deref()
    }

    /// Takes in what the process in a slot said of its neighbours, who are ranks. One that there
    /// is no file of leaves open when the slot was released.
    fn set_in_neighbours(&mut self, slot: usize, ranks: &[u32]) {
        if self.in_neighbours.is_empty() {
            self.in_neighbours = vec![None; self.members.len()];
        }
        let members = &self.members;
        let ranks = ranks.iter().filter(|&&rank| rank != NO_RANK);
        let slots = ranks.map(|&rank| {
            let found = members.binary_search_by_key(&(0, rank), |m| (m.group, m.rank));
            found.ok().map(|slot| slot as u32)
        });
        let Some(mut slots) = slots.collect::<Option<Vec<u32>>>() else {
            return;
        };
        slots.sort_unstable();
        slots.dedup();
        self.in_neighbours[slot].get_or_insert(slots.into_boxed_slice());
    }

    /// Whether it is of one process, which waits for nobody else, and may have several such with
    /// orders of their own that are shown as one.
    pub(crate) fn is_own(&self) -> bool {
        self.members.len() == 1 && self.is_whole
    }
}

/// One communicator, as the results show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommunicatorEntry {
    /// As set by the program, or made of how it came about.
    pub name: String,
    /// One group or two.
    pub kind: CommunicatorKind,
    /// Processes in it, both groups together; 1 for the entry of all one-process communicators.
    pub size: u64,
    /// World ranks by rank, both groups one behind the other; `None`: there is no file of it.
    pub ranks: Vec<Option<u32>>,
    /// Length of the first group, on intercommunicators.
    pub first_group: usize,
}

/// What an index means in one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Binding {
    /// The index that the process's records use.
    pub index: u32,
    /// Index in [`Communicators::list`].
    pub communicator: u32,
}

/// All communicators of a run.
#[derive(Debug, Default)]
pub struct Communicators {
    /// As matching needs them. Those that are one entry of the results together, made alike by a
    /// loop, are one.
    pub list: Vec<Arc<Communicator>>,
    /// What the members' records call them, one communicator behind the other, by slot.
    indexes: Vec<u32>,
    /// For each communicator where its indexes begin.
    first_index: Vec<usize>,
    /// As the results show them; the index is the `id` in JSON.
    pub entries: Vec<CommunicatorEntry>,
    /// For each process of the run what its indexes mean, by index.
    pub bindings: Vec<Vec<Binding>>,
    /// What a reader should know about them.
    pub remarks: Vec<Remark>,
    /// Definitions that contradict an earlier one: the process, and its index.
    pub conflicts: Vec<(usize, u32)>,
}

/// A communicator while its definitions are put together. There may be a million.
struct Draft {
    kind: CommunicatorKind,
    is_world: bool,
    constructor: u16,
    /// Position of the constructor, as the first known member says.
    position: u64,
    /// Index in the file of the first known member.
    order: u32,
    parent: Option<u64>,
    name: Box<str>,
    group_sizes: [u32; 2],
    first_members: [u32; 2],
    /// By group and rank.
    members: Vec<DraftMember>,
}

#[derive(Clone, Copy)]
struct DraftMember {
    /// (group, rank).
    place: (u8, u32),
    process: u32,
    /// The index that the process uses.
    index: u32,
}

/// An entry of the results, while communicators are added to it.
#[derive(Clone, Copy)]
struct Shown {
    entry: usize,
    /// Whether its list of ranks has a place for each member.
    is_dense: bool,
}

/// An entry of many communicators, and the first of them.
struct ShownTogether {
    shown: Shown,
    first: Arc<Communicator>,
}

impl Communicators {
    /// Puts the definitions of all processes together.
    #[must_use]
    pub fn agree(run: &Run<'_>, clocks: &Clocks) -> Self {
        let mut this = Self::default();
        let (drafts, own) = this.collect(run);
        let mut order = display_order(run, &drafts, &own);
        // What was opened on a communicator stands behind all of them.
        order.sort_by_key(|id| id.is_some_and(|id| drafts[&id].is_opened()));
        let n_communicators =
            order.partition_point(|id| !id.is_some_and(|id| drafts[&id].is_opened()));
        let (order, opened) = order.split_at(n_communicators);
        this.bindings = vec![Vec::new(); run.processes.len()];
        let alike = Alike::find(&drafts, order);
        let mut entry_of = BTreeMap::new();
        let mut shown_of: BTreeMap<u64, (Shown, usize)> = BTreeMap::new();
        let mut shown_together: BTreeMap<usize, ShownTogether> = BTreeMap::new();
        let mut holes_left = MAX_HOLES;
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
                    let shown = this.show(run, draft, &mut holes_left);
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
                    let shown = this.show(run, draft, &mut holes_left);
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
        for bindings in &mut this.bindings {
            bindings.sort_by_key(|binding| binding.index);
        }
        let order: Vec<Option<u64>> = order.iter().chain(opened).copied().collect();
        this.name_entries(&drafts, &order, &entry_of, &alike);
        this.add_topologies(run);
        this
    }

    /// Takes in what each process said of its neighbours in topologies.
    fn add_topologies(&mut self, run: &Run<'_>) {
        for (process, file) in run.processes.iter().enumerate() {
            for definition in file.trace.definitions.iter() {
                let Definition::Topology(topology) = definition else {
                    continue;
                };
                let Some(binding) = self.binding(process, topology.communicator) else {
                    continue;
                };
                let binding = self.bindings[process][binding];
                let communicator = &mut self.list[binding.communicator as usize];
                // Those of one process are many, of which each may have another topology.
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

    /// What an index means in a process; `None` where it has no (usable) definition.
    #[must_use]
    #[inline]
    pub fn binding(&self, process: usize, index: u32) -> Option<usize> {
        let bindings = &self.bindings[process];
        // Indexes count up from 0, so mostly the binding stands at its own index.
        match bindings.get(index as usize) {
            Some(binding) if binding.index == index => Some(index as usize),
            _ => bindings.binary_search_by_key(&index, |b| b.index).ok(),
        }
    }

    /// The processes of a communicator by slot, each with the place of its binding.
    pub fn bound(&self, communicator: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let indexes = self.indexes[self.first_index[communicator]..].iter();
        let members = self.list[communicator].members.iter().zip(indexes);
        members.filter_map(|(member, &index)| {
            Some((member.process, self.binding(member.process, index)?))
        })
    }

    /// What the entries of a chunk's sequence table mean in a process.
    pub fn resolve<'s>(
        &'s self,
        process: usize,
        table: &'s [SequenceEntry],
    ) -> impl Iterator<Item = (usize, &'s SequenceEntry)> + 's {
        table.iter().filter_map(move |entry| {
            Some((self.binding(process, entry.communicator.get())?, entry))
        })
    }

    /// The drafts by id, and for each process the indexes of its one-process communicators.
    #[allow(clippy::type_complexity)]
    fn collect(&mut self, run: &Run<'_>) -> (BTreeMap<u64, Draft>, BTreeMap<usize, Vec<u32>>) {
        let world_id = run
            .processes
            .iter()
            .flat_map(|process| process.trace.definitions.iter())
            .find_map(|definition| match definition {
                Definition::Communicator(c) if c.index == WORLD => Some(c.id),
                _ => None,
            })
            .unwrap_or(0);
        let mut drafts: BTreeMap<u64, Draft> = BTreeMap::new();
        let mut own: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        let mut conflicts = BTreeSet::new();
        for (process, rank_file) in run.processes.iter().enumerate() {
            let mut ids: BTreeMap<u32, u64> = BTreeMap::new();
            let mut seen = BTreeSet::new();
            let mut names: BTreeMap<u32, Box<str>> = BTreeMap::new();
            let mut has = [false; 2];
            for definition in rank_file.trace.definitions.iter() {
                match definition {
                    Definition::CommunicatorName { index, name } => {
                        names.insert(index, inert::cut(&name, MAX_NAME).into());
                    }
                    Definition::Communicator(communicator) => {
                        has[0] |= communicator.index == WORLD;
                        has[1] |= communicator.index == SELF;
                    }
                    Definition::OffsetMeasurement { .. }
                    | Definition::PersistentCollective(_)
                    | Definition::Topology(_)
                    | Definition::ClockExchanges { .. }
                    | Definition::ClockApart { .. }
                    | Definition::Pause { .. }
                    | Definition::Algorithm { .. } => {}
                }
            }
            let predefined = [
                definition_of_world(rank_file, world_id),
                definition_of_self(),
            ];
            let missing = predefined.into_iter().zip(has);
            let missing = missing.filter_map(|(it, has)| (!has).then_some(it));
            let written = rank_file.trace.definitions.iter();
            let definitions = missing.chain(written.filter_map(|definition| match definition {
                Definition::Communicator(communicator) => Some(communicator),
                _ => None,
            }));
            for definition in definitions {
                if ids.contains_key(&definition.index) {
                    conflicts.insert(definition.id);
                    self.conflicts.push((process, definition.index));
                    continue;
                }
                ids.insert(definition.index, definition.id);
                let is_intra = definition.kind == CommunicatorKind::Intra;
                if is_intra && definition.size == 1 && definition.index != WORLD {
                    own.entry(process).or_default().push(definition.index);
                    continue;
                }
                let name = names
                    .get(&definition.index)
                    .map_or(&*definition.name, |name| name);
                let parent = ids.get(&definition.parent).copied();
                if !seen.insert(definition.id)
                    || !add_to_draft(&mut drafts, process, &definition, parent, name)
                {
                    conflicts.insert(definition.id);
                    self.conflicts.push((process, definition.index));
                }
            }
            // The pages of a million definitions, which nobody needs any more.
            rank_file.give_back(0, u64::MAX);
        }
        if !conflicts.is_empty() {
            self.remarks.push(Remark::CommunicatorConflict {
                n_communicators: conflicts.len(),
            });
        }
        (drafts, own)
    }

    /// Adds an entry of the results for a communicator.
    fn show(&mut self, run: &Run<'_>, draft: &Draft, holes_left: &mut u64) -> Shown {
        let entry = self.entries.len();
        let (ranks, is_dense) = listed_ranks(run, draft, holes_left);
        if !is_dense {
            self.note_unlisted(entry);
        }
        let of_first_group = |m: &&DraftMember| m.place.0 == 0;
        self.entries.push(CommunicatorEntry {
            name: String::new(),
            kind: draft.kind,
            size: draft.size(),
            first_group: match draft.kind {
                CommunicatorKind::Intra => ranks.len(),
                CommunicatorKind::Inter if is_dense => draft.group_sizes[0] as usize,
                CommunicatorKind::Inter => draft.members.iter().filter(of_first_group).count(),
            },
            ranks,
        });
        Shown { entry, is_dense }
    }

    /// Notes that not all members of an entry are listed: one remark for all such entries.
    fn note_unlisted(&mut self, entry: usize) {
        for remark in &mut self.remarks {
            if let Remark::MembersNotListed { n_others, .. } = remark {
                *n_others += 1;
                return;
            }
        }
        self.remarks.push(Remark::MembersNotListed {
            communicator: entry,
            n_others: 0,
        });
    }

    fn add(&mut self, draft: &Draft, communicator: Arc<Communicator>) {
        self.first_index.push(self.indexes.len());
        for member in &draft.members {
            self.indexes.push(member.index);
            self.bindings[member.process as usize].push(Binding {
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
                is_whole: true,
                hosts: vec![vec![0]],
                times: vec![vec![0]],
                entry,
                positions: vec![position],
                in_neighbours: Vec::new(),
            }));
            for &index in indexes {
                self.bindings[process].push(Binding {
                    index,
                    communicator,
                });
            }
        }
        self.entries.push(CommunicatorEntry {
            name: "MPI_COMM_SELF".to_owned(),
            kind: CommunicatorKind::Intra,
            size: 1,
            ranks: own
                .keys()
                .map(|&process| Some(run.processes[process].rank()))
                .collect(),
            first_group: own.len(),
        });
    }

    /// Names: as set by the program, else of how the communicator came about, such as
    /// "MPI_Comm_split 2 of MPI_COMM_WORLD": the second call of that name that made one there.
    fn name_entries(
        &mut self,
        drafts: &BTreeMap<u64, Draft>,
        order: &[Option<u64>],
        entry_of: &BTreeMap<u64, usize>,
        alike: &Alike,
    ) {
        let mut calls: BTreeMap<(Option<u64>, u16), BTreeSet<u64>> = BTreeMap::new();
        for draft in drafts.values() {
            calls
                .entry((draft.parent, draft.constructor))
                .or_default()
                .insert(draft.position);
        }
        let ordinals: BTreeMap<(Option<u64>, u16, u64), usize> = calls
            .iter()
            .flat_map(|((parent, constructor), positions)| {
                positions
                    .iter()
                    .enumerate()
                    .map(|(n, &position)| ((*parent, *constructor, position), n + 1))
            })
            .collect();
        for id in order.iter().flatten() {
            let draft = &drafts[id];
            let entry = entry_of[id];
            if !self.entries[entry].name.is_empty() {
                continue;
            }
            let together = alike.group_of.get(id).map(|&group| alike.sizes[group]);
            let name = if !draft.name.is_empty() {
                draft.name.to_string()
            } else if draft.is_world {
                "MPI_COMM_WORLD".to_owned()
            } else {
                let constructor = Operation::from_code(draft.constructor);
                let constructor = constructor.map_or("communicator", Operation::name);
                let key = (draft.parent, draft.constructor, draft.position);
                let parent = draft.parent.and_then(|id| Some((id, drafts.get(&id)?)));
                let parent = match parent {
                    None => String::new(),
                    Some((_, parent)) if !parent.name.is_empty() => {
                        format!(" of {}", inert::cut(&parent.name, MAX_NAME_OF_PARENT))
                    }
                    Some((_, parent)) if parent.is_world => " of MPI_COMM_WORLD".to_owned(),
                    Some((id, _)) => format!(" of communicator {}", entry_of[&id]),
                };
                match together {
                    Some(_) => format!("{constructor}{parent}"),
                    None => format!("{constructor} {}{parent}", ordinals[&key]),
                }
            };
            self.entries[entry].name = match together {
                Some(n) => format!("{name} ({n} communicators)"),
                None => name,
            };
        }
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
        hosts: slots_by(&members, |member| member.host),
        times: slots_by(&members, |member| clocks.hosts[member.host].group),
        members,
        entry: shown.entry,
        positions,
        in_neighbours: Vec::new(),
    }
}

/// Communicators of which so many were made alike that they are shown together: called on the
/// same one, by the same constructor, of the same processes, under the same name.
#[derive(Default)]
struct Alike {
    /// By id: which group of them.
    group_of: BTreeMap<u64, usize>,
    /// For each group how many there are.
    sizes: Vec<usize>,
}

impl Alike {
    /// Finds them among the ids in the order of the results, in which those of the same
    /// processes stand side by side.
    fn find(drafts: &BTreeMap<u64, Draft>, order: &[Option<u64>]) -> Self {
        type Making<'d> = (Option<u64>, u16, [u32; 2], &'d str);
        let mut alike = Self::default();
        let ids = order.iter().flatten();
        let drafts: Vec<(u64, &Draft)> = ids.map(|&id| (id, &drafts[&id])).collect();
        for of_the_same in drafts.chunk_by(|(_, a), (_, b)| a.kind == b.kind && a.has_members_of(b))
        {
            if of_the_same.len() <= MAX_ALIKE {
                continue;
            }
            let mut makings: BTreeMap<Making<'_>, Vec<u64>> = BTreeMap::new();
            for (id, draft) in of_the_same {
                let constructor = draft.constructor;
                makings
                    .entry((draft.parent, constructor, draft.group_sizes, &draft.name))
                    .or_default()
                    .push(*id);
            }
            for ids in makings.into_values().filter(|ids| ids.len() > MAX_ALIKE) {
                let group = alike.sizes.len();
                alike.sizes.push(ids.len());
                alike.group_of.extend(ids.into_iter().map(|id| (id, group)));
            }
        }
        alike
    }
}

impl Draft {
    /// Whether it is a file or a window.
    fn is_opened(&self) -> bool {
        Operation::from_code(self.constructor).is_some_and(Operation::opens)
    }

    fn size(&self) -> u64 {
        self.group_sizes.iter().map(|&size| u64::from(size)).sum()
    }

    /// Whether another one has the same processes at the same places.
    fn has_members_of(&self, other: &Self) -> bool {
        let same =
            |(a, b): (&DraftMember, &DraftMember)| (a.place, a.process) == (b.place, b.process);
        self.members.len() == other.members.len()
            && self.members.iter().zip(&other.members).all(same)
    }

    /// The known members, by group and rank.
    fn processes(&self) -> impl Iterator<Item = usize> + '_ {
        self.members.iter().map(|member| member.process as usize)
    }
}

/// Takes a process's definition into the draft with its id; `false` if it contradicts that
/// draft, or itself.
fn add_to_draft(
    drafts: &mut BTreeMap<u64, Draft>,
    process: usize,
    definition: &collbench_formats::Communicator,
    parent: Option<u64>,
    name: &str,
) -> bool {
    if definition.rank >= definition.size {
        return false;
    }
    // The group with the smaller first world rank is the first one.
    let is_second = definition.kind == CommunicatorKind::Inter
        && definition.first_member > definition.remote_first_member;
    let mut group_sizes = [definition.size, definition.remote_size];
    let mut first_members = [definition.first_member, definition.remote_first_member];
    if definition.kind == CommunicatorKind::Intra {
        group_sizes[1] = 0;
        first_members[1] = NO_RANK;
    } else if is_second {
        group_sizes.reverse();
        first_members.reverse();
    }
    // Who connects and who accepts make the same one.
    let constructor = match Operation::from_code(definition.constructor) {
        Some(Operation::CommConnect) => Operation::CommAccept.code(),
        _ => definition.constructor,
    };
    let draft = drafts.entry(definition.id).or_insert_with(|| Draft {
        kind: definition.kind,
        is_world: definition.index == WORLD,
        constructor,
        position: definition.position,
        order: definition.index,
        parent,
        name: "".into(),
        group_sizes,
        first_members,
        members: Vec::new(),
    });
    let agrees = draft.kind == definition.kind
        && draft.constructor == constructor
        && draft.group_sizes == group_sizes
        && draft.is_world == (definition.index == WORLD);
    let place = (u8::from(is_second), definition.rank);
    let found = draft.members.binary_search_by_key(&place, |m| m.place);
    let (true, Err(at)) = (agrees, found) else {
        return false;
    };
    let member = DraftMember {
        place,
        process: process as u32,
        index: definition.index,
    };
    draft.members.insert(at, member);
    // The name of the first member that gave one.
    if draft.name.is_empty() {
        draft.name = inert::cut(name, MAX_NAME).into();
    }
    true
}

/// Ids in the order of the results: by first member, members, order of creation. `None` is the
/// entry of all one-process communicators.
fn display_order(
    run: &Run<'_>,
    drafts: &BTreeMap<u64, Draft>,
    own: &BTreeMap<usize, Vec<u32>>,
) -> Vec<Option<u64>> {
    // Processes are in the order of their ranks.
    let mut sorted: Vec<(u64, &Draft)> = drafts.iter().map(|(&id, draft)| (id, draft)).collect();
    let processes = Draft::processes;
    sorted.sort_by(|(a_id, a), (b_id, b)| {
        let by_first = a.first_members[0].cmp(&b.first_members[0]);
        by_first
            .then_with(|| processes(a).cmp(processes(b)))
            .then_with(|| (a.order, a_id).cmp(&(b.order, b_id)))
    });
    let mut order: Vec<Option<u64>> = sorted.iter().map(|(id, _)| Some(*id)).collect();
    if let Some(&first) = own.keys().next() {
        let first_rank = run.processes[first].rank();
        let at = sorted.partition_point(|(_, draft)| {
            let by_first = draft.first_members[0].cmp(&first_rank);
            by_first
                .then_with(|| processes(draft).cmp(own.keys().copied()))
                .then_with(|| draft.order.cmp(&SELF))
                .is_lt()
        });
        order.insert(at, None);
    }
    order
}

/// World ranks by rank with holes, or, if that takes too many holes, only the known ones.
fn listed_ranks(run: &Run<'_>, draft: &Draft, holes_left: &mut u64) -> (Vec<Option<u32>>, bool) {
    let holes = draft.size() - draft.members.len() as u64;
    let rank_of = |process: usize| Some(run.processes[process].rank());
    let [for_each, besides] = MAX_HOLES_OF_ONE;
    if holes > (draft.members.len() as u64 * for_each + besides).min(*holes_left) {
        let known = draft
            .members
            .iter()
            .map(|m| rank_of(m.process as usize))
            .collect();
        return (known, false);
    }
    *holes_left -= holes;
    let mut ranks = vec![None; draft.size() as usize];
    for member in &draft.members {
        let (group, rank) = member.place;
        let offset = if group == 0 { 0 } else { draft.group_sizes[0] };
        ranks[offset as usize + rank as usize] = rank_of(member.process as usize);
    }
    (ranks, true)
}

fn slots_by(members: &[Member], key: impl Fn(&Member) -> usize) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (slot, member) in members.iter().enumerate() {
        groups.entry(key(member)).or_default().push(slot);
    }
    groups.into_values().collect()
}

/// `MPI_COMM_WORLD` as every process has it, for files that lost its definition.
fn definition_of_world(
    rank_file: &crate::trace::run::RankFile<'_>,
    id: u64,
) -> collbench_formats::Communicator {
    let identity = &rank_file.trace.identity;
    collbench_formats::Communicator {
        index: WORLD,
        id,
        parent: NO_COMMUNICATOR,
        constructor: 0,
        position: 0,
        kind: CommunicatorKind::Intra,
        size: identity.world_size,
        rank: identity.rank,
        remote_size: 0,
        first_member: 0,
        remote_first_member: NO_RANK,
        name: String::new(),
    }
}

/// `MPI_COMM_SELF`, likewise.
fn definition_of_self() -> collbench_formats::Communicator {
    collbench_formats::Communicator {
        index: SELF,
        id: 0,
        parent: NO_COMMUNICATOR,
        constructor: 0,
        position: 0,
        kind: CommunicatorKind::Intra,
        size: 1,
        rank: 0,
        remote_size: 0,
        first_member: NO_RANK,
        remote_first_member: NO_RANK,
        name: String::new(),
    }
}
