//! Many threads as one band: quantiles of their positions at the borders of stages.

use super::Thread;

/// Quantiles of the threads' positions at one border, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spread {
    pub(super) p05: i64,
    pub(super) p25: i64,
    pub(super) median: i64,
    pub(super) p75: i64,
    pub(super) p95: i64,
}

/// Consecutive stages without a gap: the first stage, and the quantiles at its begin and at the end
/// of each stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) first_stage: usize,
    pub(super) borders: Vec<Spread>,
}

/// The bands of `threads` over `n_stages` stages. A stage that no thread resolves is a gap; if some
/// resolve it, the quantiles at its borders are those of these threads.
pub(super) fn band(threads: &[&Thread], n_stages: usize) -> Vec<Stretch> {
    stretches(n_stages, |stage| {
        threads.iter().any(|thread| thread.times[stage].is_some())
    })
    .into_iter()
    .map(|(first_stage, end)| {
        let borders = (first_stage..=end).map(|border| {
            let touching = border.saturating_sub(1).max(first_stage)..(border + 1).min(end);
            let mut at: Vec<i64> = threads
                .iter()
                .filter(|thread| thread.times[touching.clone()].iter().any(Option::is_some))
                .map(|thread| thread.borders_ns[border])
                .collect();
            spread(&mut at)
        });
        Stretch {
            first_stage,
            borders: borders.collect(),
        }
    })
    .collect()
}

/// The maximal runs of stages that are `drawn`, as (first stage, end).
pub(super) fn stretches(n_stages: usize, drawn: impl Fn(usize) -> bool) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for stage in (0..n_stages).filter(|&stage| drawn(stage)) {
        match runs.last_mut() {
            Some(run) if run.1 == stage => run.1 = stage + 1,
            _ => runs.push((stage, stage + 1)),
        }
    }
    runs
}

fn spread(values: &mut [i64]) -> Spread {
    values.sort_unstable();
    Spread {
        p05: quantile(values, 5),
        p25: quantile(values, 25),
        median: quantile(values, 50),
        p75: quantile(values, 75),
        p95: quantile(values, 95),
    }
}

/// The `percent` quantile of sorted values, interpolated linearly; 0 without values.
pub(super) fn quantile(sorted: &[i64], percent: usize) -> i64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return 0;
    };
    let (idx, rest) = (last * percent / 100, last * percent % 100);
    let (low, high) = (
        i128::from(sorted[idx]),
        i128::from(sorted[(idx + 1).min(last)]),
    );
    // A value between two i64 is an i64.
    (low + (high - low) * rest as i128 / 100) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timemap::{Line, StageTime, cumulate};

    fn thread(times: &[Option<i64>]) -> Thread {
        let times: Vec<_> = times
            .iter()
            .map(|t| t.and_then(|ns| StageTime::new(ns, 1)))
            .collect();
        let line = Line {
            name: "r".into(),
            host: "h".into(),
            class: None,
        };
        Thread {
            line,
            borders_ns: cumulate(&times, 1),
            times,
        }
    }

    #[test]
    fn quantiles_interpolate_between_neighbours() {
        assert_eq!(quantile(&[], 50), 0);
        assert_eq!(quantile(&[7], 95), 7);
        assert_eq!(quantile(&[0, 10], 25), 2);
        assert_eq!(quantile(&[0, 10, 20, 30, 40], 75), 30);
        assert_eq!(quantile(&[i64::MIN, i64::MAX], 50), -1);
    }

    #[test]
    fn a_stage_that_none_can_resolve_parts_the_band() {
        let threads = [
            thread(&[Some(4), None, Some(2)]),
            thread(&[Some(6), None, Some(4)]),
        ];
        let bands = band(&threads.iter().collect::<Vec<_>>(), 3);
        let medians: Vec<(usize, Vec<i64>)> = bands
            .iter()
            .map(|s| (s.first_stage, s.borders.iter().map(|b| b.median).collect()))
            .collect();
        assert_eq!(medians, [(0, vec![-5, 0]), (2, vec![0, 3])]);
    }

    #[test]
    fn threads_that_cannot_resolve_a_stage_do_not_count_there() {
        let threads = [thread(&[Some(4), Some(100)]), thread(&[Some(4), None])];
        let bands = band(&threads.iter().collect::<Vec<_>>(), 2);
        assert_eq!(bands.len(), 1);
        assert_eq!(bands[0].borders[2].median, 100);
    }
}
