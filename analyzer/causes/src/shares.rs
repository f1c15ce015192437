//! An amount divided in proportion, so that the shares add up to it.

/// Divides `amount` among weights ≥ 0 in proportion: each share is rounded down, and what is left
/// goes, 1 each, to the largest remainders, of equal ones to the first. `shares` is overwritten.
///
/// Without a positive weight all shares are 0.
pub(crate) fn divide(amount: i64, weights: &[i64], shares: &mut Vec<i64>) {
    shares.clear();
    let total: i128 = weights.iter().map(|&weight| i128::from(weight)).sum();
    if total <= 0 {
        shares.resize(weights.len(), 0);
        return;
    }
    let product = |weight: i64| i128::from(amount) * i128::from(weight);
    shares.extend(
        weights
            .iter()
            .map(|&weight| (product(weight) / total) as i64),
    );
    let mut left = amount - shares.iter().sum::<i64>();
    if left == 0 {
        return;
    }
    let mut by_remainder: Vec<usize> = (0..weights.len()).collect();
    by_remainder.sort_by_key(|&at| std::cmp::Reverse(product(weights[at]) % total));
    for at in by_remainder {
        if left == 0 {
            break;
        }
        shares[at] += 1;
        left -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(amount: i64, weights: &[i64]) -> Vec<i64> {
        let mut shares = vec![7];
        divide(amount, weights, &mut shares);
        shares
    }

    #[test]
    fn shares_add_up_and_the_largest_remainders_get_what_is_left() {
        assert_eq!(shares(10, &[1, 1, 1]), [4, 3, 3]);
        assert_eq!(shares(10, &[1, 2, 3]), [2, 3, 5]);
        assert_eq!(shares(7, &[0, 5, 0]), [0, 7, 0]);
        assert_eq!(shares(7, &[0, 0]), [0, 0]);
        assert_eq!(
            shares(i64::MAX, &[i64::MAX, i64::MAX]).iter().sum::<i64>(),
            i64::MAX
        );
    }
}
