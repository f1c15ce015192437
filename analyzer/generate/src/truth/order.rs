//! Orders in which the members of an instance arrived and left.

use crate::summary::TruthDetail;

/// Tables of orders exist for communicators up to this size, which people can still read.
pub(super) fn order_table(detail: TruthDetail, n: usize) -> Vec<Vec<u64>> {
    if detail == TruthDetail::Full && n <= 64 {
        vec![vec![0; n]; n]
    } else {
        Vec::new()
    }
}

pub(super) fn sort_by_time(times: &[u64], order: &mut Vec<(u64, usize)>) {
    order.clear();
    order.extend(times.iter().copied().zip(0..));
    order.sort_unstable();
}

/// The member at this position of the order, if no other has the same time, and there are others.
pub(super) fn alone(order: &[(u64, usize)], at: usize) -> Option<usize> {
    let (time, i) = order[at];
    let is_alone = (at == 0 || order[at - 1].0 < time)
        && order.get(at + 1).is_none_or(|&(next, _)| time < next);
    (is_alone && order.len() > 1).then_some(i)
}

pub(super) fn note_order(
    order: &[(u64, usize)],
    table: &mut [Vec<u64>],
    position_of: impl Fn(usize) -> usize,
) {
    if table.is_empty() {
        return;
    }
    for at in (0..order.len()).filter(|&at| alone(order, at).is_some()) {
        let (_, i) = order[at];
        table[position_of(i)][at] += 1;
    }
}

pub(super) fn note_closest(closest: &mut Option<u64>, order: &[(u64, usize)]) {
    let distances = order.windows(2).map(|pair| pair[1].0 - pair[0].0);
    if let Some(least) = distances.filter(|&distance| distance > 0).min() {
        *closest = Some(closest.map_or(least, |closest| closest.min(least)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_with_the_time_of_another_has_no_position() {
        let mut order = Vec::new();
        sort_by_time(&[3, 9, 7, 9], &mut order);
        let found: Vec<_> = (0..4).map(|at| alone(&order, at)).collect();
        assert_eq!(found, [Some(0), Some(2), None, None]);
        sort_by_time(&[4], &mut order);
        assert_eq!(alone(&order, 0), None);
    }
}
