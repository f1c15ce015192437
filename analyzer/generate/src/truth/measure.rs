//! The times of a complete instance.

use collbench_formats::{Operation, Semantics};

use super::fields::TrueTimes;
use super::instance::Instance;
use crate::group::Members;
use crate::summary::TruthDetail;

pub(super) fn between(later: u64, earlier: u64) -> i64 {
    later.cast_signed() - earlier.cast_signed()
}

/// The times of one complete instance, where `place_of[i]` is the place (host or whole run) of
/// member `i`, and only members at one place are compared. `waits` remain for the caller to read.
///
/// # Source
/// `docs/metrics.md`, "Seen from outside".
pub(super) fn measure(
    instance: &Instance<'_>,
    (enters, leaves): (&[u64], &[u64]),
    place_of: &[usize],
    detail: TruthDetail,
    times: &mut TrueTimes,
    waits: &mut Vec<Option<i64>>,
) {
    let all_wait_for_all = all_wait_for_all(instance);
    let n_places = place_of.iter().max().map_or(0, |&last| last + 1);
    let mut longest = 0;
    let mut n_used = 0;
    let mut core = 0;
    for place in 0..n_places {
        let here = || (0..enters.len()).filter(|&i| place_of[i] == place);
        let last_enter = here().map(|i| enters[i]).max();
        let first_enter = here().map(|i| enters[i]).min();
        let last_leave = here().map(|i| leaves[i]).max();
        let first_leave = here().map(|i| leaves[i]).min();
        let (Some(last_enter), Some(first_enter), Some(last_leave), Some(first_leave)) =
            (last_enter, first_enter, last_leave, first_leave)
        else {
            continue;
        };
        n_used += 1;
        longest = longest.max(between(last_leave, first_enter));
        core = between(first_leave, last_enter);
        for i in here() {
            times
                .arrival_lag_ns
                .add(between(last_enter, enters[i]), detail);
            if all_wait_for_all {
                times
                    .departure_wait_ns
                    .add(between(leaves[i], first_leave), detail);
            }
        }
    }
    times.duration_ns.add(longest, detail);
    if all_wait_for_all && n_used == 1 {
        times.core_ns.add(core, detail);
    }
    waits.clear();
    if instance.operation.semantics().waits_for_nobody() {
        return;
    }
    dependences(instance, enters, place_of, waits);
    if n_places == 1
        && let Some(releases) = instance.releases
    {
        for (release, &on_the_way) in waits.iter_mut().zip(releases) {
            *release = (*release).map(|release| release.max(on_the_way.cast_signed()));
        }
    } else if n_places == 1 && !instance.has_messages && instance.nonblocking.is_none() {
        assume_rendezvous(instance, (enters, leaves), waits);
    }
    for (i, wait) in waits.iter_mut().enumerate() {
        // This is the release.
        // A nonblocking one waits in the completing call; the wait is divided among the operations
        // that this completes.
        let (from, n) = match instance.nonblocking {
            Some(nonblocking) => (nonblocking[i].entered, nonblocking[i].n_together),
            None => (enters[i], 1),
        };
        *wait = wait.map(|release| {
            let until = release.min(leaves[i].cast_signed());
            (until - from.cast_signed()).max(0) / n.cast_signed()
        });
        if let Some(wait) = wait {
            times.wait_ns.add(*wait, detail);
        }
    }
}

/// Where no message is in the trace, a sender of a large payload counts as waiting for a receiver that entered before it left.
fn assume_rendezvous(
    instance: &Instance<'_>,
    (enters, leaves): (&[u64], &[u64]),
    releases: &mut [Option<i64>],
) {
    let members = instance.members;
    let Some(root) = instance.root else { return };
    let is_remote = |i: usize| !members.is_inter() || members.group_of(i) != members.group_of(root);
    for i in (0..enters.len()).filter(|&i| i != root && is_remote(i)) {
        let (sender, receiver) = match instance.operation.semantics() {
            Semantics::ManyToOne => (i, root),
            _ => (root, i),
        };
        if instance.payloads[i] >= 4096 && enters[receiver] <= leaves[sender] {
            let enter = enters[receiver].cast_signed();
            releases[sender] = releases[sender].map(|release| release.max(enter));
        }
    }
}

/// Whether members may depend on others than those that the operation names, as its messages show.
pub(crate) fn depends_on_the_way(operation: Operation, members: &Members) -> bool {
    match operation.semantics() {
        Semantics::OneToMany
        | Semantics::ManyToOne
        | Semantics::Prefix
        | Semantics::Neighborhood => true,
        Semantics::Barrier | Semantics::AllToAll => members.is_inter(),
        _ => false,
    }
}

/// Whether the operation has a core, between the last arrival and the first departure: barriers, N
/// x N and constructors have; two groups that wait for each other, and operations with nothing to
/// send, have not.
pub(super) fn all_wait_for_all(instance: &Instance<'_>) -> bool {
    if instance.nonblocking.is_some() {
        return false;
    }
    match instance.operation.semantics() {
        Semantics::Constructor | Semantics::GroupConstructor => true,
        Semantics::Barrier => !instance.members.is_inter(),
        Semantics::AllToAll => {
            !instance.members.is_inter() && instance.payloads.iter().any(|&bytes| bytes > 0)
        }
        _ => false,
    }
}

/// The release of each member: the latest enter among itself and the members that it depends on,
/// counting only those at its own place; `None` for a member that depends on others, none of which
/// is at its place.
///
/// A member that contributes and receives nothing does not count. A payload of zero means this for
/// the sender in N-to-1 operations, for the receiver in 1-to-N, for all members if it is the root's
/// in 1-to-N, for the rank in a scan, and in N x N only if all payloads are zero (a rank that sends
/// nothing may receive).
///
/// # Source
/// `docs/metrics.md`, "Who i depends on".
pub(super) fn dependences(
    instance: &Instance<'_>,
    enters: &[u64],
    place_of: &[usize],
    found: &mut Vec<Option<i64>>,
) {
    let members = instance.members;
    let n = enters.len();
    let semantics = instance.operation.semantics();
    if semantics == Semantics::Neighborhood {
        return dependences_on_neighbours(instance, enters, place_of, found);
    }
    let side = |i: usize| usize::from(i >= members.n_first);
    let root = instance.root.unwrap_or(usize::MAX);
    let has_data = |i: usize| instance.payloads[i] > 0;
    let takes_part = |i: usize| i == root || !members.is_inter() || side(i) != side(root);
    let any_data = (0..n).any(has_data);
    // Members that can be waited for, and members that can wait.
    let (contributes, receives): (&dyn Fn(usize) -> bool, &dyn Fn(usize) -> bool) = match semantics
    {
        Semantics::AllToAll => (&|_| any_data, &|_| any_data),
        Semantics::OneToMany => (&|i| i == root && has_data(i), &|i| {
            i != root && has_data(i) && takes_part(i)
        }),
        Semantics::ManyToOne => (&|i| i != root && has_data(i) && takes_part(i), &|i| {
            i == root
        }),
        Semantics::Prefix => (&has_data, &has_data),
        Semantics::Neighborhood
        | Semantics::Unspecified
        | Semantics::Free
        | Semantics::NonblockingConstructor
        | Semantics::Process => (&|_| false, &|_| false),
        _ => (&|_| true, &|_| true),
    };
    let only_remote =
        members.is_inter() && matches!(semantics, Semantics::Barrier | Semantics::AllToAll);

    #[derive(Clone, Copy, Default)]
    struct Contributors {
        n: usize,
        latest: u64,
    }
    let mut at_place =
        vec![[Contributors::default(); 2]; place_of.iter().max().map_or(0, |&p| p + 1)];
    let mut anywhere = [0; 2];
    let add = |i: usize, at_place: &mut Vec<[Contributors; 2]>, anywhere: &mut [usize; 2]| {
        if contributes(i) {
            let here = &mut at_place[place_of[i]][side(i)];
            here.n += 1;
            here.latest = here.latest.max(enters[i]);
            anywhere[side(i)] += 1;
        }
    };
    let is_prefix = semantics == Semantics::Prefix;
    if !is_prefix {
        for i in 0..n {
            add(i, &mut at_place, &mut anywhere);
        }
    }
    found.clear();
    for i in 0..n {
        let sides = if only_remote {
            1 - side(i)..2 - side(i)
        } else {
            0..2
        };
        let itself = usize::from(!is_prefix && !only_remote && contributes(i));
        let n_anywhere: usize = anywhere[sides.clone()].iter().sum();
        let here = &at_place[place_of[i]][sides];
        let n_here: usize = here.iter().map(|side| side.n).sum();
        let latest = here.iter().map(|side| side.latest).max().unwrap_or(0);
        let release = if !receives(i) || n_anywhere == itself {
            Some(enters[i])
        } else if n_here == itself {
            None
        } else {
            Some(latest.max(enters[i]))
        };
        found.push(release.map(u64::cast_signed));
        if is_prefix {
            add(i, &mut at_place, &mut anywhere);
        }
    }
}

/// Each member depends on those that it receives data from.
fn dependences_on_neighbours(
    instance: &Instance<'_>,
    enters: &[u64],
    place_of: &[usize],
    found: &mut Vec<Option<i64>>,
) {
    found.clear();
    for i in 0..enters.len() {
        let sources = instance.members.sources[i].iter().flatten();
        let sources = sources.filter(|&&j| j != i && instance.payloads[j] > 0);
        let here = sources.clone().filter(|&&j| place_of[j] == place_of[i]);
        let latest = here.map(|&j| enters[j]).max();
        let is_elsewhere = latest.is_none() && sources.count() > 0;
        let release = latest.unwrap_or(0).max(enters[i]);
        found.push((!is_elsewhere).then_some(release.cast_signed()));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Whether `i` depends on `j`, pair by pair as defined in `docs/metrics.md`.
    fn depends(instance: &Instance<'_>, i: usize, j: usize) -> bool {
        let members = instance.members;
        let inter = members.is_inter();
        let remote = members.group_of(i) != members.group_of(j);
        let root = instance.root;
        let data = |k: usize| instance.payloads[k] > 0;
        i != j
            && match instance.operation.semantics() {
                Semantics::Barrier => !inter || remote,
                Semantics::AllToAll => {
                    (!inter || remote) && instance.payloads.iter().any(|&bytes| bytes > 0)
                }
                Semantics::Constructor | Semantics::GroupConstructor => true,
                Semantics::OneToMany => Some(j) == root && (!inter || remote) && data(i) && data(j),
                Semantics::ManyToOne => Some(i) == root && (!inter || remote) && data(j),
                Semantics::Prefix => j < i && data(i) && data(j),
                Semantics::Neighborhood => members.sources[i].contains(&Some(j)) && data(j),
                Semantics::Unspecified
                | Semantics::Free
                | Semantics::NonblockingConstructor
                | Semantics::Process => false,
            }
    }

    proptest! {
        #[test]
        fn dependences_are_those_found_pair_by_pair(
            op in 0..Operation::ALL.len(),
            enters in prop::collection::vec(1u64..50, 1..9),
            hosts in prop::collection::vec(0usize..3, 9),
            payloads in prop::collection::vec(0u64..3, 9),
            root in 0usize..9,
            n_first in 1usize..9,
        ) {
            let operation = Operation::ALL[op];
            let n = enters.len();
            let inter = n_first < n && operation.semantics() != Semantics::Prefix;
            let n_first = if inter { n_first } else { n };
            // Each member receives from the previous one and, in part, from the next one.
            let sources = (0..n).map(|i| vec![i.checked_sub(1), Some((i + 1) % n)]).collect();
            let members = Members { ranks: (0..n as u32).collect(), n_first, sources };
            let instance = Instance {
                operation,
                communicator: 0,
                members: &members,
                root: operation.semantics().is_rooted().then_some(root % n),
                payloads: &payloads[..n],
                seen: &[],
                has_messages: false,
                releases: None,
                nonblocking: None,
            };
            let place_of = &hosts[..n];
            let mut found = Vec::new();
            dependences(&instance, &enters, place_of, &mut found);
            for i in 0..n {
                let on = || (0..n).filter(|&j| depends(&instance, i, j));
                let here = on().filter(|&j| place_of[i] == place_of[j]).map(|j| enters[j]).max();
                let expected = match (on().count(), here) {
                    (0, _) => Some(enters[i]),
                    (_, None) => None,
                    (_, Some(latest)) => Some(latest.max(enters[i])),
                };
                let expected = expected.map(u64::cast_signed);
                prop_assert_eq!(found[i], expected, "{} of {}", i, operation.name());
            }
        }
    }
}
