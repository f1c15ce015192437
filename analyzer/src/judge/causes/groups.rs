//! Ranks that have more to do than the others, several of them alike.

use collbench_causes::DidBefore;

/// From how many times the distance within the others, and within themselves, on some are apart from the others.
const APART: f64 = 2.0;

/// Some that are above all others.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Group {
    /// Their indexes, ascending.
    pub(crate) members: Vec<usize>,
    /// How much more than the others they have: the mean of theirs less that of the others.
    pub(crate) more: f64,
}

/// Those of some values, at most so many, that are apart from the others: by more than twice as much as the values within
/// either of the two groups are from each other. `None` where values are spread evenly.
pub(crate) fn group_above(values: &[f64], at_most: usize) -> Option<Group> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let first = values.len().saturating_sub(at_most).max(1);
    let gap = |at: usize| values[order[at]] - values[order[at - 1]];
    // Of equal ones the higher.
    let at = (first..values.len()).max_by(|&a, &b| gap(a).total_cmp(&gap(b)))?;
    let (below, above) = order.split_at(at);
    let spread = |of: &[usize]| match of {
        [least, .., most] => values[*most] - values[*least],
        _ => 0.0,
    };
    let is_apart = gap(at) > APART * spread(below).max(spread(above)) && gap(at) > 0.0;
    let mean = |of: &[usize]| of.iter().map(|&at| values[at]).sum::<f64>() / of.len() as f64;
    is_apart.then(|| {
        let mut members = above.to_vec();
        members.sort_unstable();
        Group {
            members,
            more: mean(above) - mean(below),
        }
    })
}

/// From how many times the distance of the others from each other on ranks are apart from them.
const APART_ONCE: f64 = 3.0;

/// Processes that were late for a first collective, or at the end, and by how much, ns.
pub(super) struct LateOnce {
    pub(super) processes: Vec<u32>,
    pub(super) late_ns: i64,
    pub(super) communicator: u32,
    /// What the others did at most, ns.
    pub(super) others_ns: f64,
    /// How far they are apart from one another, ns.
    pub(super) differ_ns: f64,
}

impl LateOnce {
    pub(super) fn of(start: &DidBefore) -> Option<Self> {
        let members = start.members.iter().copied().zip(&start.did_ns);
        let known: Vec<(u32, f64)> = members
            .filter(|&(_, &ns)| ns >= 0)
            .map(|(process, &ns)| (process, ns as f64))
            .collect();
        let did: Vec<f64> = known.iter().map(|&(_, ns)| ns).collect();
        let group = group_above(&did, did.len() / 2)?;
        let is_late = |at: usize| group.members.binary_search(&at).is_ok();
        let others = || {
            did.iter()
                .enumerate()
                .filter(|&(at, _)| !is_late(at))
                .map(|(_, &ns)| ns)
        };
        let (least, most) = others()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), ns| {
                (least.min(ns), most.max(ns))
            });
        let own = || group.members.iter().map(|&at| did[at]);
        let earliest = own().fold(f64::INFINITY, f64::min);
        let latest = own().fold(f64::NEG_INFINITY, f64::max);
        (earliest - most > APART_ONCE * (most - least)).then(|| Self {
            processes: group.members.iter().map(|&at| known[at].0).collect(),
            late_ns: group.more.round() as i64,
            communicator: start.communicator,
            others_ns: most,
            differ_ns: latest - earliest,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn late(did_ns: &[i64]) -> Option<(Vec<u32>, i64)> {
        let start = DidBefore {
            operation: 1,
            communicator: 0,
            members: (0..did_ns.len() as u32).collect(),
            did_ns: did_ns.to_vec(),
        };
        let found = LateOnce::of(&start)?;
        Some((found.processes, found.late_ns))
    }

    #[test]
    fn late_for_the_first_collective_are_those_apart_from_all_others() {
        assert_eq!(late(&[10, 1010, 12, 14]), Some((vec![1], 998)));
        assert_eq!(late(&[10, 1010, 12, 1014]), Some((vec![1, 3], 1001)));
        // Evenly spread, most of them, and one of which it is not known.
        assert_eq!(late(&[10, 20, 30, 45]), None);
        assert_eq!(late(&[1010, 1012, 10, 1011]), None);
        assert_eq!(late(&[10, -1, 12, 14]), None);
    }

    #[test]
    fn those_apart_from_the_others_are_a_group() {
        let group = |values: &[f64]| Some(group_above(values, values.len() / 2)?.members);
        assert_eq!(group(&[1.0, 9.0, 1.5, 9.5]), Some(vec![1, 3]));
        assert_eq!(group(&[1.0, 1.1, 5.0]), Some(vec![2]));
        // Evenly spread, one lower, not at all different, and not far enough apart.
        assert_eq!(group(&[632.0, 766.0, 1035.0, 699.0, 920.0]), None);
        assert_eq!(group(&[1.0, 2.0, 3.0, 4.0]), None);
        assert_eq!(group(&[9.0, 1.0, 9.0, 9.0]), None);
        assert_eq!(group(&[2.0; 4]), None);
        assert_eq!(group(&[]), None);
        assert_eq!(group(&[1.0]), None);
    }
}
