//! Communicators of a run and their constructors.

use std::ops::Range;

use collbench_formats::{
    Communicator, Definition, NO_COMMUNICATOR, NO_RANK, Operation, ROOT_NONE, Topology,
    UNKNOWN_COMMUNICATOR,
};
use collbench_stats::random::hash;

use super::group::{self, Members, Parts};
use super::state::{Execution, FileError, Group, Named, Simulation};

/// Processes that call a constructor together, and the parents on which they call it.
#[derive(Debug)]
struct Callers {
    members: Members,
    /// Index of a part of `on`, and which of `members` call on that part.
    parents: Vec<(usize, Range<usize>)>,
}

impl Simulation<'_> {
    /// Gives a communicator its index in each member's file. `made_on[i]`: the parent's index
    /// there, and when the constructor returned; 0 if it never did.
    pub(super) fn make_group(
        &mut self,
        members: Members,
        id: u64,
        constructor: Option<(Operation, u64)>,
        made_on: &[(u32, u64)],
        name: &str,
        in_truth: usize,
    ) -> Result<Group, FileError> {
        let mut indexes = Vec::with_capacity(members.ranks.len());
        for (i, &(parent, at)) in made_on.iter().enumerate() {
            let rank = members.ranks[i];
            if at == 0 {
                indexes.push(UNKNOWN_COMMUNICATOR);
                continue;
            }
            let index = self.ranks[rank as usize].next_index;
            self.ranks[rank as usize].next_index += 1;
            indexes.push(index);
            let own = members.group_of(i);
            let remote = if !members.is_inter() {
                0..0
            } else if own.start == 0 {
                own.end..members.ranks.len()
            } else {
                0..own.start
            };
            let definition = Definition::Communicator(Communicator {
                index,
                id,
                parent,
                constructor: constructor.map_or(0, |(operation, _)| operation.code()),
                position: constructor.map_or(0, |(_, position)| position),
                kind: members.kind(),
                size: own.len() as u32,
                rank: (i - own.start) as u32,
                remote_size: remote.len() as u32,
                first_member: members.ranks[own.start],
                remote_first_member: if remote.is_empty() {
                    NO_RANK
                } else {
                    members.ranks[remote.start]
                },
                name: match constructor {
                    None => name.to_owned(),
                    Some(_) => String::new(),
                },
            });
            self.define(rank, definition, at)?;
            if let Some(sources) = members.sources.get(i) {
                let to_rank = |source: &Option<usize>| source.map_or(NO_RANK, |s| s as u32);
                let neighbours: Vec<u32> = sources.iter().map(to_rank).collect();
                let topology = Topology {
                    communicator: index,
                    in_neighbours: neighbours.clone(),
                    out_neighbours: neighbours,
                };
                self.define(rank, Definition::Topology(topology), at)?;
            }
            if constructor.is_some() {
                let name = name.to_owned();
                self.define(rank, Definition::CommunicatorName { index, name }, at)?;
            }
        }
        Ok(Group {
            members,
            id,
            indexes,
            calls: 0,
            persistents: 0,
            in_truth,
        })
    }

    /// A constructor, called on all parts of `on`; returns what it makes.
    pub(super) fn construct(
        &mut self,
        execution: Execution<'_>,
        on: &mut Named,
        name: &str,
    ) -> Result<Vec<Group>, FileError> {
        let Execution {
            call, operation, ..
        } = execution;
        let parents: Parts = on
            .groups
            .iter()
            .map(|group| group.members.clone())
            .collect();
        // The program was checked.
        let parts =
            group::made(operation, call, &parents, &self.scenario.host_of).unwrap_or_default();
        let callers = callers_of(operation, &parents, &parts);

        // By world rank: when the constructor returned, 0 if it did not.
        let mut left_at = vec![0; self.ranks.len()];
        let mut seen = Vec::new();
        for callers in &callers {
            self.perform(execution, &callers.members);
            for (&rank, seen) in callers.members.ranks.iter().zip(&self.scratch.seen) {
                left_at[rank as usize] = seen.leave.unwrap_or(0);
            }
            seen.push(self.scratch.seen.clone());
        }

        // A constructor from which nobody returned made nothing.
        let is_made = |part: &Members| part.ranks.iter().any(|&rank| left_at[rank as usize] > 0);
        let parts: Parts = parts.into_iter().filter(is_made).collect();
        let in_truth = self.truth.communicators(name, &parts);

        // By world rank: the index of the new communicator there.
        let mut index_at = vec![ROOT_NONE; self.ranks.len()];
        let mut made = Vec::new();
        for (members, in_truth) in parts.into_iter().zip(in_truth) {
            let (id, position) = self.identity(operation, &members, on);
            let made_on: Vec<(u32, u64)> = members
                .ranks
                .iter()
                .map(|&rank| (parent_index(on, rank), left_at[rank as usize]))
                .collect();
            let constructor = Some((operation, position));
            let group = self.make_group(members, id, constructor, &made_on, name, in_truth)?;
            for (&rank, &index) in group.members.ranks.iter().zip(&group.indexes) {
                if index != UNKNOWN_COMMUNICATOR {
                    index_at[rank as usize] = index.cast_signed();
                }
            }
            made.push(group);
        }

        for (callers, seen) in callers.iter().zip(seen) {
            for (parent, range) in &callers.parents {
                self.scratch.seen.clear();
                self.scratch.seen.extend_from_slice(&seen[range.clone()]);
                self.scratch.payloads.clear();
                self.scratch.payloads.resize(range.len(), 0);
                let made = Some((&callers.members.ranks[range.clone()], &index_at[..]));
                self.note(execution, &mut on.groups[*parent], made)?;
            }
        }
        // From here on the thread that will call on the new communicator knows it.
        let thread = self.scenario.threads.get(name).copied().unwrap_or(0) as usize;
        for (rank, &left_at) in left_at.iter().enumerate() {
            let cursor = &mut self.ranks[rank].cursors[thread];
            *cursor = (*cursor).max(left_at);
        }
        Ok(made)
    }

    /// The number on which the members of a new communicator agree, and the position of the
    /// constructor: on the parent, or among those over the same groups.
    fn identity(&mut self, operation: Operation, members: &Members, on: &Named) -> (u64, u64) {
        let code = u64::from(operation.code());
        if is_over_groups(operation) {
            let mut words = vec![code, members.n_first as u64];
            words.extend(members.ranks.iter().map(|&rank| u64::from(rank)));
            let base = hash(&words);
            let counter = self.over_groups.entry(base).or_insert(0);
            let position = *counter;
            *counter += 1;
            return (hash(&[base, position]), position);
        }
        let first = members.ranks[0];
        let parent = on
            .groups
            .iter()
            .find(|group| group.members.ranks.contains(&first));
        let (parent, position) = parent.map_or((0, 0), |group| (group.id, group.calls));
        (hash(&[code, parent, position, u64::from(first)]), position)
    }
}

fn is_over_groups(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::IntercommCreate | Operation::CommCreateGroup
    )
}

/// Processes that call a constructor together. An intercommunicator is made by two groups that wait
/// for each other; only the members of the group call a constructor over a group; each part calls
/// the others separately.
fn callers_of(operation: Operation, parents: &[Members], parts: &[Members]) -> Vec<Callers> {
    let part_of = |rank: u32| {
        parents
            .iter()
            .position(|parent| parent.ranks.contains(&rank))
    };
    match operation {
        Operation::IntercommCreate => (parts.iter().cloned())
            .map(|members| Callers {
                parents: vec![
                    (0, 0..members.n_first),
                    (1, members.n_first..members.ranks.len()),
                ],
                members,
            })
            .collect(),
        Operation::CommCreateGroup => (parts.iter().cloned())
            .map(|members| Callers {
                parents: vec![(
                    part_of(members.ranks[0]).unwrap_or(0),
                    0..members.ranks.len(),
                )],
                members,
            })
            .collect(),
        _ => (parents.iter().cloned().enumerate())
            .map(|(parent, members)| Callers {
                parents: vec![(parent, 0..members.ranks.len())],
                members,
            })
            .collect(),
    }
}

/// The index, in the file of this rank, of the part that it belongs to.
fn parent_index(on: &Named, rank: u32) -> u32 {
    on.groups
        .iter()
        .find_map(|group| {
            let at = group
                .members
                .ranks
                .iter()
                .position(|&member| member == rank)?;
            Some(group.indexes[at])
        })
        .unwrap_or(NO_COMMUNICATOR)
}
