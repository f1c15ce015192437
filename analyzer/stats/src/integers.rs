//! Sums of times, and their means.

/// Sum of times; saturates, since times in a damaged file may have any size.
pub fn sum_ns(times: impl IntoIterator<Item = i64>) -> i64 {
    times.into_iter().fold(0, i64::saturating_add)
}

/// Adds a time to a sum; saturates, since times in a damaged file may have any size.
#[inline]
pub fn add_ns(sum: &mut i64, time: i64) {
    *sum = sum.saturating_add(time);
}

/// Quotient to the nearest integer, halves upwards; the denominator is above 0.
pub fn rounded_div(numerator: i128, denominator: i128) -> i128 {
    (2 * numerator + denominator).div_euclid(2 * denominator)
}

/// The nearest value in the range of i64.
pub fn saturate(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}
