//! Whether the same processes are late again and again.

use super::super::recorded::Instance;
use super::objective::mean;

/// Below this part of the variation that is between processes trees are not made for who is late.
const PERSISTENT: f64 = 0.3;

/// How late processes enter.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Lateness {
    /// The part of the variation of enters that is between processes, from 0 to 1: the variance of the mean of each
    /// process by the variance of all.
    pub(super) persistence: f64,
    /// On average, by process, ns after the median one; `None` where that is chance.
    pub(super) of_process_ns: Option<Vec<f64>>,
}

fn variance(times: impl Iterator<Item = f64> + Clone) -> f64 {
    let n = times.clone().count().max(1) as f64;
    let mean = times.clone().sum::<f64>() / n;
    times.map(|ns| (ns - mean).powi(2)).sum::<f64>() / n
}

/// In some instances of the same processes.
pub(super) fn of(instances: &[Instance]) -> Lateness {
    let after_median = instances.iter().map(|of| {
        let mut sorted = of.enters_ns.clone();
        sorted.sort_by(f64::total_cmp);
        let median_ns = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
        let late = of.enters_ns.iter().map(|ns| ns - median_ns);
        late.collect::<Vec<f64>>()
    });
    let late_ns: Vec<Vec<f64>> = after_median.collect();
    let n_processes = late_ns.first().map_or(0, Vec::len);
    let of_process = |rank: usize| -> Vec<f64> { late_ns.iter().map(|of| of[rank]).collect() };
    let of_process_ns: Vec<f64> = (0..n_processes)
        .map(|rank| mean(&of_process(rank)))
        .collect();
    let all = variance(late_ns.iter().flatten().copied());
    let persistence = if all > 0.0 {
        variance(of_process_ns.iter().copied()) / all
    } else {
        0.0
    };
    Lateness {
        persistence,
        of_process_ns: (persistence >= PERSISTENT).then_some(of_process_ns),
    }
}

#[cfg(test)]
mod tests {
    use collbench_stats::random::Random;

    use super::*;

    fn instances(late: impl Fn(u64) -> usize) -> Vec<Instance> {
        let random = &mut Random::of(&[1]);
        let instances = (0..100).map(|position| {
            let mut enters_ns: Vec<f64> = (0..8).map(|_| random.uniform_real(0.0, 10.0)).collect();
            enters_ns[late(position)] += 300.0;
            Instance {
                position,
                enters_ns,
                took_ns: 0.0,
                messages: Vec::new(),
                passes: Vec::new(),
            }
        });
        instances.collect()
    }

    #[test]
    fn a_process_that_is_late_again_and_again_is_told_from_one_after_another() {
        let always = of(&instances(|_| 5));
        let late_ns = always.of_process_ns.expect("one is late");
        assert!(late_ns[5] > 290.0 && late_ns[4] < 10.0, "{late_ns:?}");
        let moving = of(&instances(|position| position as usize % 8));
        assert!(moving.persistence < 0.05, "{}", moving.persistence);
        assert_eq!(moving.of_process_ns, None);
    }
}
