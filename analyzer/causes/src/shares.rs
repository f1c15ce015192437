//! An amount divided in proportion, so that the shares add up to it.

/// Weights among which the largest remainders are looked for one after the other.
const FEW: usize = 16;

/// Divides `amount` among weights ≥ 0 in proportion: each share is rounded down, and what is left
/// goes, 1 each, to the largest remainders, of equal ones to the first. One share for each weight.
/// Gives the sum of the shares: the amount, or 0 without a positive weight.
pub(crate) fn divide(amount: i64, weights: &[i64], shares: &mut [i64]) -> i64 {
    let mut weighed = Weighed::default();
    for &weight in weights {
        weighed.add(weight);
    }
    divide_weighed(amount, weights, weighed, shares)
}

/// Divides `amount` in proportion to how much larger `most` is than `own`, where it is larger, as [`divide`]
/// does. These differences are the weights. Always inline: callers know how many weights there are.
#[inline(always)]
pub(crate) fn divide_more(
    amount: i64,
    most: &[i64],
    own: &[i64],
    weights: &mut [i64],
    shares: &mut [i64],
) -> i64 {
    let mut weighed = Weighed::default();
    for ((weight, most), own) in weights.iter_mut().zip(most).zip(own) {
        *weight = (most - own).max(0);
        weighed.add(*weight);
    }
    divide_weighed(amount, weights, weighed, shares)
}

/// What weights are together.
#[derive(Debug, Clone, Copy, Default)]
struct Weighed {
    /// Their sum, or the largest number.
    total: u64,
    n_positive: usize,
}

impl Weighed {
    #[inline]
    fn add(&mut self, weight: i64) {
        self.total = self.total.saturating_add(weight as u64);
        self.n_positive += usize::from(weight > 0);
    }
}

#[inline(always)]
fn divide_weighed(
    amount: i64,
    weights: &[i64],
    Weighed { total, n_positive }: Weighed,
    shares: &mut [i64],
) -> i64 {
    if total == amount as u64 {
        shares.copy_from_slice(weights);
        return amount;
    }
    if n_positive < 2 {
        for (share, &weight) in shares.iter_mut().zip(weights) {
            *share = if weight > 0 { amount } else { 0 };
        }
        return if n_positive == 1 { amount } else { 0 };
    }
    let is_positive = |&weight: &i64| weight > 0;
    let (first, last) = (
        weights.iter().position(is_positive),
        weights.iter().rposition(is_positive),
    );
    if n_positive == 2
        && let (Some(first), Some(second)) = (first, last)
        && let Ok(total) = i64::try_from(total)
        && let Some(product) = amount.checked_mul(weights[first])
    {
        let (share, remainder) = (product / total, product % total);
        // What is left of both together is 0 or the total.
        let share = share + i64::from(remainder > 0 && remainder >= total - remainder);
        shares.fill(0);
        shares[first] = share;
        shares[second] = amount - share;
        return amount;
    }
    divide_among_many(amount, weights, total, shares);
    amount
}

/// Divides an amount among weights of which each product with it may be long.
#[inline(never)]
fn divide_among_many(amount: i64, weights: &[i64], total: u64, shares: &mut [i64]) {
    let largest = weights
        .iter()
        .fold(0, |largest, &weight| weight.max(largest));
    // Short integers are divided ten times as fast.
    match (amount.checked_mul(largest), i64::try_from(total)) {
        (Some(_), Ok(total)) => {
            let share = |weight: i64| amount * weight / total;
            let rest = |weight: i64, share: i64| amount * weight - share * total;
            divide_by(amount, weights, share, rest, shares);
        }
        _ => {
            let total: i128 = weights.iter().map(|&weight| i128::from(weight)).sum();
            let product = |weight: i64| i128::from(amount) * i128::from(weight);
            let share = |weight: i64| (product(weight) / total) as i64;
            let rest = |weight: i64, share: i64| product(weight) - i128::from(share) * total;
            divide_by(amount, weights, share, rest, shares);
        }
    }
}

/// Divides by functions that give the share of a weight, rounded down, and what remains of it.
#[inline]
fn divide_by<R: Ord + Copy>(
    amount: i64,
    weights: &[i64],
    share_of: impl Fn(i64) -> i64,
    rest: impl Fn(i64, i64) -> R,
    shares: &mut [i64],
) {
    let mut left = amount;
    for (share, &weight) in shares.iter_mut().zip(weights) {
        *share = share_of(weight);
        left -= *share;
    }
    if left > 1 && weights.len() > FEW {
        let mut by_rest: Vec<usize> = (0..weights.len()).collect();
        by_rest.sort_by_key(|&at| std::cmp::Reverse(rest(weights[at], shares[at])));
        for at in by_rest.into_iter().take(left as usize) {
            shares[at] += 1;
        }
        return;
    }
    for _ in 0..left {
        let mut largest: Option<(usize, R)> = None;
        for (at, (&weight, &share)) in weights.iter().zip(shares.iter()).enumerate() {
            // Of a share that got more already it is less than nothing.
            let rest = rest(weight, share);
            if largest.is_none_or(|(_, most)| rest > most) {
                largest = Some((at, rest));
            }
        }
        if let Some((at, _)) = largest {
            shares[at] += 1;
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
