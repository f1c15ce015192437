//! Entries of communicators in the results: one for each, or one for many that were created alike.

use std::collections::BTreeMap;
use std::sync::Arc;

use collbench_formats::CommunicatorKind;

use crate::communicators::draft::{Draft, DraftMember};
use crate::communicators::{Communicator, CommunicatorEntry, Communicators};
use crate::remark::Remark;
use crate::trace::call_sites::NO_SITE;
use crate::trace::run::Run;

/// Members of all communicators together that may be listed as unknown; beyond, only the known
/// members are listed: a damaged size must not cost memory.
pub(super) const MAX_UNKNOWN_MEMBERS: u64 = 1 << 20;
/// Members of one communicator that may be listed as unknown: the first number for each known
/// member, plus the second. Every operation on it lists them.
const MAX_UNKNOWN_OF_ONE: [u64; 2] = [8, 64];

/// From so many communicators on that were created alike (in a loop) they share one entry: at one place in the
/// program, and where no place is known.
pub(super) const MANY: usize = 3;
const MANY_OF_NO_PLACE: usize = 1001;

/// An entry of the results, while communicators are added to it.
#[derive(Clone, Copy)]
pub(super) struct Shown {
    pub(super) entry: usize,
    /// Whether its list of ranks has a place for each member.
    pub(super) is_dense: bool,
}

/// An entry of many communicators, and the first of them.
pub(super) struct ShownTogether {
    pub(super) shown: Shown,
    pub(super) first: Arc<Communicator>,
}

impl Communicators {
    /// Adds an entry of the results for a communicator.
    pub(super) fn show(&mut self, run: &Run<'_>, draft: &Draft, n_unknown_left: &mut u64) -> Shown {
        let entry = self.entries.len();
        let (ranks, is_dense) = listed_ranks(run, draft, n_unknown_left);
        if !is_dense {
            self.note_unlisted(entry);
        }
        let of_first_group = |m: &&DraftMember| m.place.0 == 0;
        self.entries.push(CommunicatorEntry {
            name: String::new(),
            kind: draft.kind,
            size: draft.size(),
            count: 1,
            made_at: Some(draft.made_at).filter(|&number| number != NO_SITE),
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
}

/// Groups of many communicators created alike, which share an entry: same constructor, processes and name, and
/// the same place in the program; where that is not known, the same parent.
#[derive(Default)]
pub(super) struct Alike {
    /// By id: which group of them.
    pub(super) group_of: BTreeMap<u64, usize>,
    /// For each group how many there are.
    pub(super) sizes: Vec<usize>,
}

impl Alike {
    /// Finds them among the ids in the order of the results, in which those of equal processes
    /// stand next to each other.
    pub(super) fn find(drafts: &BTreeMap<u64, Draft>, order: &[Option<u64>]) -> Self {
        type Making<'d> = (u32, Option<u64>, u16, [u32; 2], &'d str);
        let mut alike = Self::default();
        let ids = order.iter().flatten();
        let drafts: Vec<(u64, &Draft)> = ids.map(|&id| (id, &drafts[&id])).collect();
        for of_the_same in drafts.chunk_by(|(_, a), (_, b)| a.kind == b.kind && a.has_members_of(b))
        {
            if of_the_same.len() < MANY {
                continue;
            }
            let mut makings: BTreeMap<Making<'_>, Vec<u64>> = BTreeMap::new();
            for (id, draft) in of_the_same {
                let parent = draft.parent.filter(|_| draft.made_at == NO_SITE);
                let sizes = draft.group_sizes;
                let making = (
                    draft.made_at,
                    parent,
                    draft.constructor,
                    sizes,
                    &*draft.name,
                );
                makings.entry(making).or_default().push(*id);
            }
            for ((made_at, ..), ids) in makings {
                let many = match made_at {
                    NO_SITE => MANY_OF_NO_PLACE,
                    _ => MANY,
                };
                if ids.len() >= many {
                    let group = alike.sizes.len();
                    alike.sizes.push(ids.len());
                    alike.group_of.extend(ids.into_iter().map(|id| (id, group)));
                }
            }
        }
        alike
    }
}

/// World ranks by rank, `None` for unknown members; if too many are unknown, only the known ones.
fn listed_ranks(
    run: &Run<'_>,
    draft: &Draft,
    n_unknown_left: &mut u64,
) -> (Vec<Option<u32>>, bool) {
    let n_unknown = draft.size() - draft.members.len() as u64;
    let rank_of = |process: usize| Some(run.processes[process].rank());
    let [for_each, besides] = MAX_UNKNOWN_OF_ONE;
    if n_unknown > (draft.members.len() as u64 * for_each + besides).min(*n_unknown_left) {
        let known = draft
            .members
            .iter()
            .map(|m| rank_of(m.process as usize))
            .collect();
        return (known, false);
    }
    *n_unknown_left -= n_unknown;
    let mut ranks = vec![None; draft.size() as usize];
    for member in &draft.members {
        let (group, rank) = member.place;
        let offset = if group == 0 { 0 } else { draft.group_sizes[0] };
        ranks[offset as usize + rank as usize] = rank_of(member.process as usize);
    }
    (ranks, true)
}
