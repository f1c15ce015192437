//! What communicators are called.

use std::collections::{BTreeMap, BTreeSet};

use collbench_formats::Operation;
use collbench_text::inert;

use crate::communicators::Communicators;
use crate::communicators::draft::Draft;
use crate::communicators::entries::{Alike, MANY};
use crate::trace::call_sites::NO_SITE;

/// Characters of a communicator's name in those of others that were made of it.
const MAX_NAME_OF_PARENT: usize = 64;

impl Communicators {
    /// Names: as set by the program, else of how the communicator came about, such as
    /// "MPI_Comm_split 2 of MPI_COMM_WORLD": the second call of that name that made one there. Those that a loop
    /// makes have no number.
    pub(super) fn name_entries(
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
        let places = places(drafts, entry_of);
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
                let place = places.get(&place_of(draft));
                let place = place.filter(|place| place.calls.len() >= MANY);
                let parent = draft.parent.and_then(|id| Some((id, drafts.get(&id)?)));
                let parent = match parent {
                    None => String::new(),
                    _ if place.is_some_and(|place| place.parents.len() > 1) => String::new(),
                    Some((_, parent)) if !parent.name.is_empty() => {
                        format!(" of {}", inert::cut(&parent.name, MAX_NAME_OF_PARENT))
                    }
                    Some((_, parent)) if parent.is_world => " of MPI_COMM_WORLD".to_owned(),
                    Some((id, _)) => format!(" of communicator {}", entry_of[&id]),
                };
                match (together, place) {
                    (None, None) => format!("{constructor} {}{parent}", ordinals[&key]),
                    _ => format!("{constructor}{parent}"),
                }
            };
            let shown = &mut self.entries[entry];
            shown.name = match together {
                Some(n) => format!("{name} ({n} communicators)"),
                None => name,
            };
            shown.count = together.unwrap_or(1);
        }
    }
}

/// Where communicators of one size were made: the place in the program, and the constructor.
type Place = (u32, u16, [u32; 2]);

/// What was made at one place.
#[derive(Default)]
struct MadeAtPlace {
    /// The calls of the constructor: parent and position.
    calls: BTreeSet<(Option<u64>, u64)>,
    /// The entries of the parents.
    parents: BTreeSet<Option<usize>>,
}

fn place_of(draft: &Draft) -> Place {
    (draft.made_at, draft.constructor, draft.group_sizes)
}

/// What was made at each place that is known.
fn places(
    drafts: &BTreeMap<u64, Draft>,
    entry_of: &BTreeMap<u64, usize>,
) -> BTreeMap<Place, MadeAtPlace> {
    let mut places: BTreeMap<Place, MadeAtPlace> = BTreeMap::new();
    for draft in drafts.values().filter(|draft| draft.made_at != NO_SITE) {
        let place = places.entry(place_of(draft)).or_default();
        place.calls.insert((draft.parent, draft.position));
        let parent = draft.parent.and_then(|id| entry_of.get(&id).copied());
        place.parents.insert(parent);
    }
    places
}
