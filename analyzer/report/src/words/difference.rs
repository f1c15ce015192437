//! Differences of two times in words.

use collbench_analyzer::compare::{ComparisonVerdict, Difference};
use collbench_text::quantity;

/// Beside an interval without 0 of a difference that is not significant.
pub(crate) const NOT_SIGNIFICANT: &str = " (*)";

/// Whether a difference is not significant though its interval, taken alone, is without 0: the
/// verdicts are corrected for all differences that are tested together.
pub(crate) fn is_only_alone(difference: &Difference) -> bool {
    difference.verdict == ComparisonVerdict::NotDistinguishable
        && difference
            .interval_ns
            .is_some_and(|(low, high)| (low > 0) == (high > 0) && low != 0 && high != 0)
}

/// The verdict on a difference, with the interval.
pub(crate) fn verdict_on(mean: &Difference) -> String {
    match mean.verdict {
        ComparisonVerdict::Slower | ComparisonVerdict::Faster => named(mean),
        ComparisonVerdict::NotDistinguishable => {
            let mark = if is_only_alone(mean) {
                NOT_SIGNIFICANT
            } else {
                ""
            };
            match (mean.ratio_interval, mean.interval_ns) {
                (Some((low, high)), _) if high < 3.0 => format!(
                    "?  {} to {}{mark}",
                    signed_percent(low),
                    signed_percent(high)
                ),
                (_, Some((low, high))) => format!("?  {} to {}{mark}", signed(low), signed(high)),
                (_, None) => "?".to_owned(),
            }
        }
        ComparisonVerdict::NotResolvable => "not resolvable".to_owned(),
        ComparisonVerdict::TooFew => "too few".to_owned(),
        ComparisonVerdict::Newer => "not known".to_owned(),
    }
}

/// `slower by 12 % (8 to 16 %)`.
pub(crate) fn named(difference: &Difference) -> String {
    let word = match difference.verdict {
        ComparisonVerdict::Slower => "slower",
        _ => "faster",
    };
    let (Some(ratio), Some((low, high))) = (difference.ratio, difference.ratio_interval) else {
        let (low, high) = difference.interval_ns.unwrap_or_default();
        let by = quantity::duration(difference.difference_ns.saturating_abs());
        let (low, high) = (low.saturating_abs(), high.saturating_abs());
        let (least, most) = (low.min(high), low.max(high));
        return format!(
            "{word} by {by} ({} to {})",
            quantity::duration(least),
            quantity::duration(most)
        );
    };
    if ratio >= 2.0 {
        return format!("x{ratio:.2} {word} ({low:.2} to {high:.2})");
    }
    let percents = [ratio, low, high].map(|ratio| (100.0 * (ratio - 1.0)).abs());
    let [by, low, high] = percents.map(digits);
    if percents[1] <= percents[2] {
        format!("{word} by {by} % ({low} to {high} %)")
    } else {
        format!("{word} by {by} % ({high} to {low} %)")
    }
}

/// Percents with two or three digits.
fn digits(percent: f64) -> String {
    if percent < 9.95 {
        format!("{percent:.1}")
    } else {
        format!("{percent:.0}")
    }
}

/// A ratio as a change: `+12 %`, `-3.1 %`.
pub(crate) fn signed_percent(ratio: f64) -> String {
    let percent = 100.0 * (ratio - 1.0);
    let sign = if percent < 0.0 { "-" } else { "+" };
    format!("{sign}{} %", digits(percent.abs()))
}

/// A change in time: `+5.20 ms`.
pub(crate) fn signed(ns: i64) -> String {
    let sign = if ns > 0 { "+" } else { "" };
    format!("{sign}{}", quantity::duration(ns))
}
