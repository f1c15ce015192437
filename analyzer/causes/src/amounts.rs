//! Sums and parts of amounts, which damaged traces may make as long as numbers are.

/// A sum that stops at the largest number, ns: damaged traces have times as long as that.
pub(crate) fn sum_ns(amounts: impl Iterator<Item = i64>) -> i64 {
    amounts.fold(0, i64::saturating_add)
}

/// The part of an amount that `of` is of `all`, which is > 0.
#[inline]
pub(crate) fn in_proportion(amount: i64, of: i64, all: i64) -> i64 {
    match amount.checked_mul(of) {
        Some(product) => product / all,
        None => (i128::from(amount) * i128::from(of) / i128::from(all)) as i64,
    }
}

/// Adds to the amount of one of some, or adds it to them.
#[inline]
pub(crate) fn add<K: PartialEq>(amounts: &mut Vec<(K, i64)>, key: K, ns: i64) {
    if ns == 0 {
        return;
    }
    match amounts.iter_mut().find(|(other, _)| *other == key) {
        Some((_, amount)) => *amount = amount.saturating_add(ns),
        None => amounts.push((key, ns)),
    }
}

/// The larger one of two numbers.
#[inline(always)]
pub(crate) fn largest(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// The smaller one of two numbers.
#[inline(always)]
pub(crate) fn smallest(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}
