//! Ranks that have more to do than the others, several of them alike.

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

#[cfg(test)]
mod tests {
    use super::*;

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
