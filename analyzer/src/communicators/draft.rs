//! The definitions of all processes, grouped by the id of their communicator.

use std::collections::{BTreeMap, BTreeSet};

use collbench_formats::{CommunicatorKind, Definition, NO_COMMUNICATOR, NO_RANK, Operation};
use collbench_text::inert;

use crate::communicators::Communicators;
use crate::remark::Remark;
use crate::trace::call_sites::NO_SITE;
use crate::trace::rank_file::RankFile;
use crate::trace::run::Run;

/// Index of `MPI_COMM_WORLD` in every process.
const WORLD: u32 = 0;
/// Index of `MPI_COMM_SELF` in every process.
const SELF: u32 = 1;

/// Characters of a name that are kept; MPI libraries allow 64 to 256.
const MAX_NAME: usize = 256;
/// A communicator while its definitions are put together. There may be a million.
pub(super) struct Draft {
    pub(super) kind: CommunicatorKind,
    pub(super) is_world: bool,
    pub(super) constructor: u16,
    /// Position of the constructor, as the first known member says.
    pub(super) position: u64,
    /// Index in the file of the first known member.
    pub(super) order: u32,
    pub(super) parent: Option<u64>,
    /// Number of the place in the program that it was made at, or [`NO_SITE`].
    pub(super) made_at: u32,
    pub(super) name: Box<str>,
    pub(super) group_sizes: [u32; 2],
    pub(super) first_members: [u32; 2],
    /// By group and rank.
    pub(super) members: Vec<DraftMember>,
}

#[derive(Clone, Copy)]
pub(super) struct DraftMember {
    /// (group, rank).
    pub(super) place: (u8, u32),
    pub(super) process: u32,
    /// The index that the process uses.
    pub(super) index: u32,
}

/// What one process knows of a communicator beside its definition.
struct OfOneProcess<'a> {
    process: usize,
    parent: Option<u64>,
    name: &'a str,
    made_at: u32,
}

impl Communicators {
    /// The drafts by id, and for each process the indexes of its one-process communicators.
    #[allow(clippy::type_complexity)]
    pub(super) fn collect(
        &mut self,
        run: &Run<'_>,
    ) -> (BTreeMap<u64, Draft>, BTreeMap<usize, Vec<u32>>) {
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
            let numbers = run.sites.of_process(process);
            let mut made_at: BTreeMap<u32, u32> = BTreeMap::new();
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
                    | Definition::Algorithm { .. }
                    | Definition::SpanningTree(_)
                    | Definition::Module(_)
                    | Definition::CallSite(_)
                    | Definition::ScriptFunction(_)
                    | Definition::ControlPoint(_) => {}
                    Definition::CommunicatorSite { index, site } => {
                        if let Some(&number) = numbers.get(site as usize) {
                            made_at.insert(index, number);
                        }
                    }
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
                let made_at = made_at.get(&definition.index).copied();
                let known = OfOneProcess {
                    process,
                    parent,
                    name,
                    made_at: made_at.unwrap_or(NO_SITE),
                };
                if !seen.insert(definition.id) || !add_to_draft(&mut drafts, &definition, &known) {
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
}

impl Draft {
    /// Whether it is a file or a window.
    pub(super) fn is_opened(&self) -> bool {
        Operation::from_code(self.constructor).is_some_and(Operation::opens)
    }

    pub(super) fn size(&self) -> u64 {
        self.group_sizes.iter().map(|&size| u64::from(size)).sum()
    }

    /// Whether another one has equal members: processes, groups and ranks.
    pub(super) fn has_members_of(&self, other: &Self) -> bool {
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
    definition: &collbench_formats::Communicator,
    known: &OfOneProcess<'_>,
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
    // MPI_Comm_connect and MPI_Comm_accept create one communicator.
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
        parent: known.parent,
        made_at: known.made_at,
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
        process: known.process as u32,
        index: definition.index,
    };
    draft.members.insert(at, member);
    // The name of the first member that gave one, and the place of the first that has one.
    if draft.name.is_empty() {
        draft.name = inert::cut(known.name, MAX_NAME).into();
    }
    if draft.made_at == NO_SITE {
        draft.made_at = known.made_at;
    }
    true
}

/// Ids in the order of the results: by first member, members, order of creation. `None` is the
/// entry of all one-process communicators.
pub(super) fn display_order(
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

/// `MPI_COMM_WORLD` as every process has it, for files that lost its definition.
fn definition_of_world(rank_file: &RankFile<'_>, id: u64) -> collbench_formats::Communicator {
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

/// `MPI_COMM_SELF` as every process has it, for files that lost its definition.
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
