//! What can be said of the bits of a reduction's results.

use super::Grouping;

/// What is the same to the bit, for a reduction that rounds; `None`: that is not known.
///
/// That an operation does not round, or its result does not depend on the grouping, is for the caller to know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Numerics {
    /// Processes that get the same elements get the same bits. So it is with operations that give no two processes
    /// the same elements.
    pub same_on_all_ranks: Option<bool>,
    /// Another run, with the same contributions, gives the same bits: what arrives first plays no role.
    pub same_from_run_to_run: Option<bool>,
    /// So it is if the ranks are on other hosts.
    pub same_for_other_mappings: Option<bool>,
    /// Another number of processes gives the same bits, if those that are more contribute nothing, such as zeros to a sum.
    pub same_for_other_numbers: Option<bool>,
}

impl Numerics {
    /// Those of a grouping. `others` are the groupings with other mappings of ranks to hosts: none, if the
    /// mapping plays no role. `among` gives the grouping among another number of processes; `None`: it is not known.
    ///
    /// Numbers from 2 to twice as many are compared, without those too small to have the root: all of them if there are up to 16
    /// processes, else a few. The answer is "no" if one of them differs, else unknown if one of them is unknown.
    #[must_use]
    pub fn of(
        grouping: &Grouping,
        others: &[Option<Grouping>],
        among: impl Fn(usize) -> Option<Grouping>,
    ) -> Self {
        let mappings = others.iter().map(|other| {
            let other = other.as_ref();
            other.map(|other| grouping.has_same_bits_as(other))
        });
        let n = grouping.n_ranks();
        let least = grouping.sole_rank().map_or(0, |root| root + 1);
        let numbers = compared_with(n).into_iter().filter(|&m| m >= least);
        let numbers = numbers.map(|m| {
            let other = among(m)?;
            let (fewer, more) = if m < n {
                (&other, grouping)
            } else {
                (grouping, &other)
            };
            Some(more.of_first(fewer.n_ranks()).has_same_bits_as(fewer))
        });
        Self {
            same_on_all_ranks: Some(grouping.is_same_on_all_ranks()),
            same_from_run_to_run: Some(true),
            same_for_other_mappings: all(mappings),
            same_for_other_numbers: all(numbers),
        }
    }
}

/// Whether all are true; `None` if none is false, and one is unknown.
fn all(answers: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    let mut all = Some(true);
    for answer in answers {
        if answer == Some(false) {
            return answer;
        }
        all = all.and(answer);
    }
    all
}

/// The numbers of processes with which one is compared: small ones first, whose groupings are made soonest.
fn compared_with(n: usize) -> Vec<usize> {
    if n <= 16 {
        return (2..=2 * n).filter(|&m| m != n).collect();
    }
    let below = n.next_power_of_two() / 2;
    let mut numbers = vec![3, 4, n / 3, n / 2, below, n - 1, n + 1, 2 * below, 2 * n];
    numbers.retain(|&m| m != n);
    numbers.dedup();
    numbers
}
