//! Amounts that are divided so that the parts add up to them.

/// Parts among which the largest remainders are looked for one after the other.
const FEW: usize = 16;

/// Divides an amount among weights ≥ 0 in proportion, as [`round`] rounds. `parts` is a buffer.
pub(crate) fn divide<K>(
    amount: i64,
    weights: &[(K, i64)],
    parts: &mut Vec<f64>,
    shares: &mut Vec<i64>,
) {
    let total: f64 = weights.iter().map(|&(_, weight)| weight as f64).sum();
    let amount_by_total = amount as f64 / total.max(1.0);
    parts.clear();
    parts.extend(
        weights
            .iter()
            .map(|&(_, weight)| weight as f64 * amount_by_total),
    );
    round(amount, parts, shares);
}

/// Rounds parts ≥ 0 of an amount down, and adds what is left, 1 each, to those with the largest remainders, of equal ones to the
/// first. Of long numbers, of which the last digits are not known, the largest part gets all that is left.
pub(crate) fn round(amount: i64, parts: &[f64], rounded: &mut Vec<i64>) {
    rounded.clear();
    rounded.extend(parts.iter().map(|&part| part as i64));
    let sum: i128 = rounded.iter().map(|&part| i128::from(part)).sum();
    let left = i128::from(amount) - sum;
    if left < 0 || left > parts.len() as i128 {
        if let Some(largest) = rounded.iter_mut().max() {
            *largest = (i128::from(*largest) + left).max(0) as i64;
        }
        return;
    }
    if parts.len() > FEW {
        let mut order: Vec<usize> = (0..parts.len()).collect();
        order.sort_by(|&a, &b| parts[b].fract().total_cmp(&parts[a].fract()));
        for &at in &order[..left as usize] {
            rounded[at] += 1;
        }
        return;
    }
    for _ in 0..left {
        let (mut largest, mut most) = (0, f64::MIN);
        for (at, (part, &rounded)) in parts.iter().zip(&*rounded).enumerate() {
            // Of one that got more already it is less than nothing.
            let rest = part - rounded as f64;
            if rest > most {
                (largest, most) = (at, rest);
            }
        }
        rounded[largest] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(amount: i64, weights: &[i64]) -> Vec<i64> {
        let weights: Vec<((), i64)> = weights.iter().map(|&weight| ((), weight)).collect();
        let mut shares = Vec::new();
        divide(amount, &weights, &mut Vec::new(), &mut shares);
        shares
    }

    #[test]
    fn shares_add_up_and_the_largest_remainders_get_what_is_left() {
        assert_eq!(shares(10, &[1, 1, 1]), [4, 3, 3]);
        assert_eq!(shares(11, &[1, 1, 1]), [4, 4, 3]);
        assert_eq!(shares(10, &[1, 2, 3]), [2, 3, 5]);
        assert_eq!(shares(7, &[0, 5, 0]), [0, 7, 0]);
        assert_eq!(
            shares(i64::MAX, &[i64::MAX, i64::MAX]).iter().sum::<i64>(),
            i64::MAX
        );
    }
}
