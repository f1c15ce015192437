//! Sums of times.

/// Adds times that a damaged file may have made of any size: the sum stops at the largest.
pub(crate) fn sum_ns(times: impl IntoIterator<Item = i64>) -> i64 {
    times.into_iter().fold(0, i64::saturating_add)
}

/// Adds a time to a sum, likewise.
#[inline]
pub(crate) fn add_ns(sum: &mut i64, time: i64) {
    *sum = sum.saturating_add(time);
}
