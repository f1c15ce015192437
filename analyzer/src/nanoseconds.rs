//! Sums of times, and their means.

/// Adds times that a damaged file may have made of any size: the sum stops at the largest.
pub(crate) fn sum_ns(times: impl IntoIterator<Item = i64>) -> i64 {
    times.into_iter().fold(0, i64::saturating_add)
}

/// Adds a time to a sum, likewise.
#[inline]
pub(crate) fn add_ns(sum: &mut i64, time: i64) {
    *sum = sum.saturating_add(time);
}

/// To the nearest integer, halves upwards; the denominator is above 0.
pub(crate) fn rounded_div(numerator: i128, denominator: i128) -> i128 {
    (2 * numerator + denominator).div_euclid(2 * denominator)
}

/// The nearest time there is.
pub(crate) fn saturate(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

/// The ends of many times, and sums that are true only if they are few and short.
pub(crate) struct ShortSums {
    pub(crate) min: i64,
    pub(crate) max: i64,
    pub(crate) total: i64,
    pub(crate) squares: u64,
}

impl ShortSums {
    /// In a loop that takes several times at once.
    #[inline]
    pub(crate) fn of(times: &[i64]) -> Self {
        let mut sums = Self {
            min: i64::MAX,
            max: i64::MIN,
            total: 0,
            squares: 0,
        };
        for &time in times {
            sums.min = sums.min.min(time);
            sums.max = sums.max.max(time);
            sums.total = sums.total.wrapping_add(time);
            sums.squares = sums.squares.wrapping_add(time.wrapping_mul(time) as u64);
        }
        sums
    }
}
