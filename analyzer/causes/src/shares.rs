//! An amount divided in proportion, so that the shares add up to it.

/// Divides `amount` among weights ≥ 0 in proportion: each share is rounded down, and what is left
/// goes, 1 each, to the largest remainders, of equal ones to the first. `shares` are 0 before, one for
/// each weight. Gives the sum of the shares: the amount, or 0 without a positive weight.
#[inline]
pub(crate) fn divide(amount: i64, weights: &[i64], shares: &mut [i64]) -> i64 {
    let (mut first, mut second, mut n_positive) = (0, 0, 0);
    let mut total = 0_i64;
    for (at, &weight) in weights.iter().enumerate() {
        if weight > 0 {
            (first, second) = if n_positive == 0 {
                (at, at)
            } else {
                (first, at)
            };
            n_positive += 1;
            total = total.saturating_add(weight);
        }
    }
    if n_positive == 0 {
        return 0;
    }
    if n_positive == 1 {
        shares[first] = amount;
        return amount;
    }
    // A sum that stopped at the largest number is no amount.
    if total == amount && total < i64::MAX {
        shares.copy_from_slice(weights);
        return amount;
    }
    if n_positive == 2
        && total < i64::MAX
        && let Some(product) = amount.checked_mul(weights[first])
    {
        let (share, remainder) = (product / total, product % total);
        // What is left of both together is 0 or the total.
        let share = share + i64::from(remainder > 0 && remainder >= total - remainder);
        shares[first] = share;
        shares[second] = amount - share;
        return amount;
    }
    divide_among_many(amount, weights, shares);
    amount
}

/// Divides an amount among weights whose products with it may be long.
fn divide_among_many(amount: i64, weights: &[i64], shares: &mut [i64]) {
    let total: i128 = weights.iter().map(|&weight| i128::from(weight)).sum();
    let largest = weights.iter().copied().max().unwrap_or(0);
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
    shares: &mut [i64],
) {
    for (share, &weight) in shares.iter_mut().zip(weights) {
        *share = of(weight).0;
    }
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
        let mut shares = vec![0; weights.len()];
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
