//! An amount divided in proportion, so that the shares add up to it.

/// Divides `amount` among weights ≥ 0 in proportion: each share is rounded down, and what is left
/// goes, 1 each, to the largest remainders, of equal ones to the first. `shares` is overwritten.
///
/// Without a positive weight all shares are 0.
pub(crate) fn divide(amount: i64, weights: &[i64], shares: &mut Vec<i64>) {
    shares.clear();
    let mut positive = weights
        .iter()
        .enumerate()
        .filter(|&(_, &weight)| weight > 0);
    let (first, second) = (positive.next(), positive.next());
    let Some((at, _)) = first else {
        shares.resize(weights.len(), 0);
        return;
    };
    if second.is_none() {
        shares.resize(weights.len(), 0);
        shares[at] = amount;
        return;
    }
    let total: i128 = weights.iter().map(|&weight| i128::from(weight)).sum();
    let largest = weights.iter().copied().max().unwrap_or(0);
    if total == i128::from(amount) {
        shares.extend(weights);
        return;
    }
    // Short integers are divided ten times as fast.
    match (amount.checked_mul(largest), i64::try_from(total)) {
        (Some(_), Ok(total)) => {
            let of = |weight: i64| (amount * weight / total, amount * weight % total);
            divide_by(amount, weights, of, shares);
        }
        _ => {
            let product = |weight: i64| i128::from(amount) * i128::from(weight);
            let of = |weight: i64| ((product(weight) / total) as i64, product(weight) % total);
            divide_by(amount, weights, of, shares);
        }
    }
}

/// Divides by a function that gives the share of a weight, rounded down, and what remains of it.
fn divide_by<R: Ord + Copy>(
    amount: i64,
    weights: &[i64],
    of: impl Fn(i64) -> (i64, R),
    shares: &mut Vec<i64>,
) {
    shares.extend(weights.iter().map(|&weight| of(weight).0));
    let left = (amount - shares.iter().sum::<i64>()) as usize;
    match left {
        0 => {}
        1 => {
            let largest = (0..weights.len()).rev().max_by_key(|&at| of(weights[at]).1);
            shares[largest.unwrap_or(0)] += 1;
        }
        _ => {
            let mut by_remainder: Vec<usize> = (0..weights.len()).collect();
            by_remainder.sort_by_key(|&at| std::cmp::Reverse(of(weights[at]).1));
            for at in by_remainder.into_iter().take(left) {
                shares[at] += 1;
            }
        }
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
        assert_eq!(shares(11, &[1, 1, 1]), [4, 4, 3]);
        assert_eq!(shares(10, &[1, 2, 3]), [2, 3, 5]);
        assert_eq!(shares(7, &[0, 5, 0]), [0, 7, 0]);
        assert_eq!(shares(7, &[0, 0]), [0, 0]);
        assert_eq!(
            shares(i64::MAX, &[i64::MAX, i64::MAX]).iter().sum::<i64>(),
            i64::MAX
        );
    }
}
