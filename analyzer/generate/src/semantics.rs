//! The semantics of an operation for each caller: when it may leave, and what its record contains.

use std::ops::Range;

use collbench_formats::{Operation, ROOT_IS_ME, ROOT_OTHER_OF_MY_GROUP, Semantics};

use super::group::Members;
use super::scenario::Call;

/// When a member may leave, and which position released it: the one that arrived last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Release {
    pub(super) at: u64,
    pub(super) by: usize,
}

/// The root as the record of member `i` states it.
pub(super) fn root_field(members: &Members, root: usize, i: usize) -> i32 {
    let own_group = members.group_of(i);
    if !members.is_inter() {
        root as i32
    } else if i == root {
        ROOT_IS_ME
    } else if own_group.contains(&root) {
        ROOT_OTHER_OF_MY_GROUP
    } else {
        (root - members.group_of(root).start) as i32
    }
}

/// Payload of member `i`, as the trace format defines it.
pub(super) fn payload(
    call: &Call,
    operation: Operation,
    members: &Members,
    root: Option<usize>,
    i: usize,
) -> u64 {
    let bytes = call.bytes.of(members.ranks[i]);
    let Some(root) = root else { return bytes };
    let is_inter = members.is_inter();
    if is_inter && i != root && members.group_of(i).contains(&root) {
        // It enters and takes no part.
        return 0;
    }
    match operation.blocking() {
        Operation::Scatter | Operation::Scatterv if i == root => {
            let receivers = if !is_inter {
                0..members.ranks.len()
            } else if root < members.n_first {
                members.n_first..members.ranks.len()
            } else {
                0..members.n_first
            };
            members.ranks[receivers]
                .iter()
                .map(|&rank| call.bytes.of(rank))
                .sum()
        }
        // It only receives.
        Operation::Gather | Operation::Gatherv if is_inter && i == root => 0,
        _ => bytes,
    }
}

/// End of work that began at `from` and would end at `until`, if another process takes the
/// processor at the beginning of each period.
pub(super) fn with_noise(from: u64, until: u64, period_ns: u64, length_ns: u64) -> u64 {
    let into_period = from % period_ns;
    let begin = from.max(from - into_period + length_ns);
    let next = from - into_period + period_ns;
    let work = until - from;
    let Some(left) = work.checked_sub(next - begin).filter(|&left| left > 0) else {
        return begin + work;
    };
    // Whole periods, then a part of one after its noise.
    let free = period_ns - length_ns;
    let periods = (left - 1) / free;
    let end = u128::from(next)
        + u128::from(periods) * u128::from(period_ns)
        + u128::from(length_ns + left - periods * free);
    u64::try_from(end).unwrap_or(u64::MAX)
}

/// When each member is released; `None` if it waits for a rank that never enters, or has not
/// entered itself. `heard`: the enters of those that did.
pub(super) fn releases(
    semantics: Semantics,
    members: &Members,
    root: Option<usize>,
    heard: &[Option<u64>],
    found: &mut Vec<Option<Release>>,
) {
    let last_of = |range: Range<usize>| {
        let mut last = Release {
            at: 0,
            by: range.start,
        };
        for by in range {
            let at = heard[by]?;
            if at >= last.at {
                last = Release { at, by };
            }
        }
        Some(last)
    };
    let later = |a: Option<Release>, b: Option<Release>| {
        let (a, b) = (a?, b?);
        Some(if b.at > a.at { b } else { a })
    };
    let n = heard.len();
    let own = |i: usize| heard[i].map(|at| Release { at, by: i });
    let remote_of = |i: usize| match members.group_of(i).start {
        0 => members.n_first..n,
        end => 0..end,
    };
    found.clear();
    match semantics {
        Semantics::Barrier | Semantics::AllToAll if members.is_inter() => {
            let [first, second] = [last_of(0..members.n_first), last_of(members.n_first..n)];
            found.extend(
                (0..n).map(|i| later(own(i), if i < members.n_first { second } else { first })),
            );
        }
        Semantics::Barrier
        | Semantics::AllToAll
        | Semantics::Constructor
        | Semantics::GroupConstructor => {
            let last = last_of(0..n);
            found.extend((0..n).map(|i| later(own(i), last)));
        }
        Semantics::OneToMany => {
            let root = root.unwrap_or(0);
            found.extend((0..n).map(|i| {
                let is_bystander = members.is_inter() && !remote_of(i).contains(&root);
                if is_bystander {
                    own(i)
                } else {
                    later(own(i), own(root))
                }
            }));
        }
        Semantics::ManyToOne => {
            let root = root.unwrap_or(0);
            found.extend((0..n).map(|i| {
                if i != root {
                    own(i)
                } else if members.is_inter() {
                    later(own(i), last_of(remote_of(i)))
                } else {
                    last_of(0..n)
                }
            }));
        }
        Semantics::Prefix => {
            let mut last = own(0);
            for i in 0..n {
                last = later(own(i), last);
                found.push(last);
            }
        }
        Semantics::Neighborhood
        | Semantics::Unspecified
        | Semantics::Free
        | Semantics::NonblockingConstructor
        | Semantics::Process => found.extend((0..n).map(own)),
    }
}

/// In a neighborhood operation a member is released by the ranks that it receives from, and itself.
pub(super) fn neighbours_release(
    members: &Members,
    heard: &[Option<u64>],
    found: &mut [Option<Release>],
) {
    for (i, (release, sources)) in found.iter_mut().zip(&members.sources).enumerate() {
        for &source in sources.iter().flatten().filter(|&&source| source != i) {
            let heard = heard[source].map(|at| Release { at, by: source });
            *release = match (*release, heard) {
                (Some(own), Some(other)) if other.at > own.at => Some(other),
                (own, Some(_)) => own,
                (_, None) => None,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_takes_its_part_of_each_period() {
        // The work has the processor from 0 to 10, from 100 to 110, and so on.
        assert_eq!(with_noise(20, 90, 100, 10), 90);
        assert_eq!(with_noise(20, 101, 100, 10), 111);
        assert_eq!(with_noise(5, 50, 100, 10), 55);
        assert_eq!(with_noise(0, 50, 100, 10), 60);
        assert_eq!(with_noise(110, 200, 100, 10), 200);
        // 1,000 ns of work need 1,000 / 90 periods.
        assert_eq!(with_noise(10, 1010, 100, 10), 1010 + 11 * 10);
    }

    #[test]
    fn a_member_that_never_enters_delays_those_that_depend_on_it() {
        let members = Members::one_group(vec![0, 1, 2]);
        let released = |semantics, root| {
            let mut found = Vec::new();
            releases(
                semantics,
                &members,
                root,
                &[Some(5), None, Some(9)],
                &mut found,
            );
            found
                .into_iter()
                .map(|release| release.map(|r| r.at))
                .collect::<Vec<_>>()
        };
        assert_eq!(released(Semantics::Barrier, None), [None, None, None]);
        assert_eq!(
            released(Semantics::OneToMany, Some(0)),
            [Some(5), None, Some(9)]
        );
        assert_eq!(released(Semantics::OneToMany, Some(1)), [None, None, None]);
        assert_eq!(
            released(Semantics::ManyToOne, Some(2)),
            [Some(5), None, None]
        );
        assert_eq!(released(Semantics::Prefix, None), [Some(5), None, None]);
        assert_eq!(released(Semantics::Free, None), [Some(5), None, Some(9)]);
    }
}
