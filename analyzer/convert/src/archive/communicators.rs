//! Communicators of an archive, defined when they are first used.

use std::sync::Arc;

use std::collections::BTreeMap;

use collbench_otf2::{Archive, CommRef, Members, WindowRef};

use crate::facts::{CommunicatorFacts, Facts};

/// Name of the communicator of all ranks.
const WORLD: &str = "MPI_COMM_WORLD";

/// The communicators, by index in the list of those of the trace.
#[derive(Debug)]
pub(super) struct Communicators {
    list: Vec<CommunicatorFacts>,
    names: Arc<[String]>,
    defined: Vec<Option<CommRef>>,
    /// Those of one process each, by what they are together in the results.
    own: BTreeMap<usize, CommRef>,
    /// For messages inside, by index.
    windows: BTreeMap<usize, WindowRef>,
    /// The last root that was looked for: communicator and world rank, and its place.
    last_root: (usize, u32, Option<u32>),
}

impl Communicators {
    /// Of a trace; defines that of all ranks, which is the first.
    pub(super) fn define(archive: &mut Archive, facts: Facts, n_ranks: usize) -> Self {
        let Facts {
            communicators: list,
            entries: names,
            ..
        } = facts;
        let world = list.iter().position(|of| names[of.entry] == WORLD);
        let mut defined = vec![None; list.len()];
        let everybody: Vec<u32> = (0..n_ranks as u32).collect();
        let comm = archive.comm(WORLD, Members::Processes(&everybody), None);
        if let Some(world) = world {
            defined[world] = Some(comm);
        }
        Self {
            list,
            names,
            defined,
            own: BTreeMap::new(),
            windows: BTreeMap::new(),
            last_root: (usize::MAX, 0, None),
        }
    }

    /// One of them.
    pub(super) fn get(&mut self, archive: &mut Archive, index: usize) -> CommRef {
        if let Some(comm) = self.defined[index] {
            return comm;
        }
        let of = &self.list[index];
        let name = &self.names[of.entry];
        let comm = match of.ranks.len() {
            1 => *(self.own.entry(of.entry))
                .or_insert_with(|| archive.comm(name, Members::Itself, None)),
            _ => archive.comm(name, Members::Processes(&of.ranks), None),
        };
        self.defined[index] = Some(comm);
        comm
    }

    /// The window of the messages that the library sends in one of them.
    pub(super) fn window(&mut self, archive: &mut Archive, index: usize) -> WindowRef {
        if let Some(window) = self.windows.get(&index) {
            return *window;
        }
        let comm = self.get(archive, index);
        let name = format!("messages inside {}", self.names[self.list[index].entry]);
        let window = archive.window(&name, comm);
        self.windows.insert(index, window);
        window
    }

    /// The rank there of a world rank.
    pub(super) fn rank_of(&mut self, index: usize, world_rank: u32) -> Option<u32> {
        if self.list[index].ranks.get(world_rank as usize) == Some(&world_rank) {
            return Some(world_rank);
        }
        let (last_index, last_rank, place) = self.last_root;
        if (last_index, last_rank) == (index, world_rank) {
            return place;
        }
        let mut ranks = self.list[index].ranks.iter();
        let place = ranks.position(|&rank| rank == world_rank);
        let place = place.map(|place| place as u32);
        self.last_root = (index, world_rank, place);
        place
    }

    /// The world ranks of the two groups of an intercommunicator; else all, and nobody.
    pub(super) fn groups(&self, index: usize) -> [&[u32]; 2] {
        let of = &self.list[index];
        let (first, second) = of.ranks.split_at(of.first_group.min(of.ranks.len()));
        [first, second]
    }
}
