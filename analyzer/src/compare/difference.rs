//! One difference of two times, and verdicts on many.

use collbench_stats::difference::{Contrast, Verdict, holm};
use collbench_stats::estimate::Estimate;
use serde::{Deserialize, Serialize};

/// A difference with what is known of its error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    /// The verdict, with all differences of the comparison considered together.
    pub verdict: Verdict,
    /// Second minus first, ns.
    pub difference_ns: i64,
    /// Its 95 % interval, taken alone, ns; `None` with too few instances.
    pub interval_ns: Option<(i64, i64)>,
    /// Second by first; `None` where the first is 0, or cannot be distinguished from 0, and where the second is below 0.
    pub ratio: Option<f64>,
    /// Its 95 % interval, taken alone: 0 or more.
    pub ratio_interval: Option<(f64, f64)>,
    /// Probability of such a difference if there is none.
    pub p: Option<f64>,
    /// The clocks do not resolve differences below this, ns; `None` where one clock is involved.
    pub resolution_ns: Option<i64>,
    /// Instances of each run that would be needed to detect a difference of this size, where it is
    /// not distinguishable.
    pub instances_needed: Option<u64>,
    /// Runs of each side that would be needed, where several runs are compared, at most 1,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs_needed: Option<u64>,
}

/// Decides which of some differences are significant, all of them together; gives how many were tested.
pub(crate) fn decide<'d>(differences: impl Iterator<Item = &'d mut Difference>) -> usize {
    let is_open =
        |d: &&mut Difference| d.verdict == Verdict::NotDistinguishable && d.difference_ns != 0;
    let mut candidates: Vec<&mut Difference> = differences.filter(is_open).collect();
    let chances: Vec<f64> = candidates.iter().map(|d| d.p.unwrap_or(1.0)).collect();
    for (difference, is_distinct) in candidates.iter_mut().zip(holm(&chances)) {
        if is_distinct {
            difference.instances_needed = None;
            difference.runs_needed = None;
            difference.verdict = if difference.difference_ns > 0 {
                Verdict::Slower
            } else {
                Verdict::Faster
            };
        }
    }
    chances.len()
}

/// Three standard deviations of the difference of two times whose uncertainties, two standard
/// deviations each, are given; ns. One without is of one clock; `None` if both are.
pub(crate) fn resolution_ns(uncertainties: [Option<i64>; 2]) -> Option<i64> {
    if uncertainties == [None; 2] {
        return None;
    }
    let [first, second] = uncertainties.map(|uncertainty| uncertainty.unwrap_or(0) as f64);
    Some((1.5 * first.hypot(second)).round() as i64)
}

/// A probability to three digits: more would be numerical noise.
fn three_digits(p: f64) -> f64 {
    let rounded = format!("{p:.2e}").parse();
    rounded.unwrap_or(p)
}

/// The difference of two times, second minus first, with a verdict for [`decide`] to complete.
pub(crate) fn difference(
    (first, second): (i64, i64),
    estimates: Option<(Estimate, Estimate)>,
    resolution_ns: Option<i64>,
    instances: u64,
) -> Difference {
    let Some((one, two)) = estimates else {
        return Difference {
            verdict: Verdict::TooFew,
            difference_ns: second.saturating_sub(first),
            interval_ns: None,
            ratio: (first > 0 && second >= 0).then(|| rounded(second as f64 / first as f64)),
            ratio_interval: None,
            p: None,
            resolution_ns,
            instances_needed: None,
            runs_needed: None,
        };
    };
    let contrast = Contrast::new(&one, &two);
    let ns = |time: f64| time.round() as i64;
    let difference_ns = ns(contrast.difference);
    let is_resolved = resolution_ns.is_none_or(|least| difference_ns.saturating_abs() > least);
    let needed = contrast.times_needed().map(|times| {
        // A number beyond any real run has no further meaning.
        (times * instances as f64).ceil().min(1e15) as u64
    });
    Difference {
        // Until all differences are looked at together.
        verdict: if is_resolved {
            Verdict::NotDistinguishable
        } else {
            Verdict::NotResolvable
        },
        difference_ns,
        interval_ns: Some((ns(contrast.interval.0), ns(contrast.interval.1))),
        ratio: contrast.ratio.map(|(ratio, _)| rounded(ratio)),
        ratio_interval: contrast
            .ratio
            .map(|(_, (low, high))| (rounded(low), rounded(high))),
        p: Some(three_digits(contrast.p)),
        resolution_ns,
        instances_needed: needed.filter(|&needed| needed > instances),
        runs_needed: None,
    }
}

/// A ratio to six digits behind the point: what lies beyond is noise of the arithmetic.
pub(crate) fn rounded(ratio: f64) -> f64 {
    (ratio * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimates(first: f64, second: f64, error: f64) -> Option<(Estimate, Estimate)> {
        let estimate = |value| Estimate {
            value,
            below: error,
            above: error,
            df: 30.0,
        };
        Some((estimate(first), estimate(second)))
    }

    #[test]
    fn differences_below_the_error_of_the_clocks_are_not_resolvable() {
        // Three standard deviations, of clocks with two of 300 and of 400 ns.
        let least = 750;
        assert_eq!(resolution_ns([Some(300), Some(400)]), Some(least));
        assert_eq!(resolution_ns([None, Some(400)]), Some(600));
        assert_eq!(resolution_ns([None, None]), None);
        let verdict = |second, resolution_ns| {
            let found = difference((0, 0), estimates(5000.0, second, 1.0), resolution_ns, 100);
            (found.verdict, found.difference_ns)
        };
        let unresolved = Verdict::NotResolvable;
        assert_eq!(verdict(5750.0, Some(least)), (unresolved, 750));
        assert_eq!(verdict(4250.0, Some(least)), (unresolved, -750));
        // Decided together with the others, later.
        let open = Verdict::NotDistinguishable;
        assert_eq!(verdict(5751.0, Some(least)), (open, 751));
        assert_eq!(verdict(5001.0, None), (open, 1));
    }

    #[test]
    fn what_is_not_distinguishable_says_how_many_instances_would_tell() {
        let found = difference((0, 0), estimates(1000.0, 1010.0, 10.0), None, 100);
        // 10 ns with an interval of 2 sqrt(2) 10 ns to each side: 8 times as many.
        let needed = found.instances_needed.unwrap();
        assert!((790..810).contains(&needed), "{needed}");
        let clear = difference((0, 0), estimates(1000.0, 2000.0, 10.0), None, 100);
        assert_eq!(clear.instances_needed, None);
    }

    #[test]
    fn without_estimates_there_are_too_few() {
        let found = difference((1000, 1500), None, None, 3);
        assert_eq!(found.verdict, Verdict::TooFew);
        assert_eq!((found.difference_ns, found.ratio), (500, Some(1.5)));
        assert_eq!((found.p, found.interval_ns), (None, None));
    }
}
