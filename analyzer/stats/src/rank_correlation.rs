//! Whether what is large in one list is large in another.

/// Spearman's rank correlation of two lists of numbers, from −1 to 1; equal numbers have the mean of their ranks. `None` if
/// one list has no two different numbers.
///
/// # Panics
/// If the lists are not equally long.
///
/// # Source
/// Spearman 1904.
#[must_use]
pub fn rank_correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    assert_eq!(a.len(), b.len());
    let [a, b] = [a, b].map(ranks);
    let mean = (a.len() as f64 + 1.0) / 2.0;
    let product = |one: &[f64], other: &[f64]| -> f64 {
        one.iter()
            .zip(other)
            .map(|(x, y)| (x - mean) * (y - mean))
            .sum()
    };
    let variances = product(&a, &a) * product(&b, &b);
    (variances > 0.0).then(|| product(&a, &b) / variances.sqrt())
}

/// The rank of each number, from 1.
fn ranks(of: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..of.len()).collect();
    order.sort_by(|&a, &b| of[a].total_cmp(&of[b]));
    let mut ranks = vec![0.0; of.len()];
    let mut before = 0;
    for equal in order.chunk_by(|&a, &b| of[a] == of[b]) {
        let rank = before as f64 + (equal.len() as f64 + 1.0) / 2.0;
        before += equal.len();
        for &at in equal {
            ranks[at] = rank;
        }
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_counts_and_nothing_else() {
        let some = [3.0, 1.0, 2.0, 10.0];
        assert_eq!(
            rank_correlation(&some, &[30.0, 10.0, 20.0, 21000.0]),
            Some(1.0)
        );
        assert_eq!(
            rank_correlation(&some, &[-3.0, -1.0, -2.0, -10.0]),
            Some(-1.0)
        );
        assert_eq!(rank_correlation(&some, &[1.0; 4]), None);
        assert_eq!(rank_correlation(&[], &[]), None);
    }

    #[test]
    fn equal_numbers_share_a_rank() {
        assert_eq!(ranks(&[5.0, 1.0, 5.0, 7.0]), [2.5, 1.0, 2.5, 4.0]);
        let correlation = rank_correlation(&[1.0, 2.0, 2.0, 3.0], &[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert!((correlation - 4.5 / (4.5 * 5.0_f64).sqrt()).abs() < 1e-12);
    }
}
