//! Rounds, in each of which all configurations are measured.

use collbench_stats::random::Random;
use collbench_text::quantity;

use crate::overhead::Invalid;

/// The order of configurations in a round: at random, the same on all leaves. So none is always
/// measured after the same other one.
pub(crate) fn random_order(round: u32, n: usize) -> Vec<usize> {
    let mut random = Random::of(&[0x726f_756e_6473, round.into()]);
    let mut order: Vec<usize> = (0..n).collect();
    for last in (1..n).rev() {
        order.swap(last, random.below(last + 1));
    }
    order
}

/// The rounds that count, and the number of those in which a leaf was preempted: these do not count
/// unless all do. `rounds`: by round, by configuration.
pub(crate) fn rounds_that_count<T>(
    rounds: &[Vec<T>],
    all_count: bool,
    preempted: impl Fn(&T) -> u64,
) -> (Vec<&Vec<T>>, usize) {
    let is_disturbed = |round: &[T]| round.iter().any(|of| preempted(of) > 0);
    let counting = rounds
        .iter()
        .filter(|round| all_count || !is_disturbed(round));
    let disturbed = rounds.iter().filter(|round| is_disturbed(round));
    (counting.collect(), disturbed.count())
}

/// These remarks, and how many results were wrong, by name.
pub(crate) fn with_wrong_results<'c>(
    mut remarks: Vec<String>,
    wrong: impl Iterator<Item = (&'c str, u64)>,
) -> Vec<String> {
    for (name, n) in wrong.filter(|(_, n)| *n > 0) {
        let wrong = quantity::counted_grouped(n, "wrong result");
        remarks.push(format!("{name}: {wrong}"));
    }
    remarks
}

/// What is said about rounds that do not count.
pub(crate) fn left_out(n_rounds: usize, n_counting: usize) -> Vec<Invalid> {
    let left_out = (n_rounds > n_counting).then_some(Invalid {
        measurement: "rounds",
        n: n_rounds - n_counting,
        of: n_rounds,
        why: "a leaf was preempted (--all-rounds counts these rounds, too)",
    });
    left_out.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_has_each_configuration_once_in_changing_order() {
        let orders: Vec<_> = (0..50).map(|round| random_order(round, 3)).collect();
        for order in &orders {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2]);
        }
        let distinct: std::collections::BTreeSet<_> = orders.iter().collect();
        assert_eq!(distinct.len(), 6);
    }

    #[test]
    fn rounds_with_a_preemption_count_only_where_all_do() {
        let rounds = [vec![0, 0], vec![0, 2], vec![0, 0]];
        let (counting, disturbed) = rounds_that_count(&rounds, false, |&preempted| preempted);
        assert_eq!((counting.len(), disturbed), (2, 1));
        assert_eq!(left_out(3, counting.len())[0].n, 1);
        let (counting, disturbed) = rounds_that_count(&rounds, true, |&preempted| preempted);
        assert_eq!((counting.len(), disturbed), (3, 1));
        assert!(left_out(3, counting.len()).is_empty());
    }
}
