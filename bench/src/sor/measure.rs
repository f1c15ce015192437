//! The measurement, in all processes of the job at once.

use anyhow::ensure;
use collbench_formats::tree::Collective;
use collbench_stats::distribution::Distribution;

use super::Options;
use super::solve::{Plan, Solution};
use crate::folder;
use crate::trees::{Call, First, Run, Surroundings};

/// What was measured, as process 0 has it at the end.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) surroundings: Surroundings,
    pub(super) first: First,
    pub(super) plan: Plan,
    /// By round: by configuration.
    pub(super) rounds: Vec<Vec<OfAll>>,
}

/// The solution of one configuration in one round, as all leaves have found it.
#[derive(Debug, Clone, Default)]
pub(super) struct OfAll {
    /// Time of the slowest leaf, ns.
    pub(super) run_ns: f64,
    /// Mean over the leaves of the time in exchanges of rows, ns.
    pub(super) halo_ns: f64,
    /// Mean over the leaves of the time in allreduces, ns.
    pub(super) calls_ns: f64,
    /// Each allreduce of each leaf.
    pub(super) call_ns: Distribution,
    /// Sum over the leaves.
    pub(super) preempted: u64,
    pub(super) result: Result,
}

/// What the leaves have found together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Result {
    pub(super) steps: u64,
    /// Largest difference from the exact solution.
    pub(super) error: f64,
    pub(super) checksum: u64,
}

/// Words of a solution before the times of its calls, as it is gathered.
const WORDS: usize = 6;

/// Measures; returns what was measured in process 0 only.
///
/// # Errors
/// States what is missing or wrong.
pub(super) fn measure(options: &Options) -> anyhow::Result<Option<Measured>> {
    let call = |_| Call {
        collective: Collective::Allreduce,
        bytes: size_of::<f64>() as u64,
    };
    let check = || options.output.as_deref().map_or(Ok(()), folder::make);
    let Some(mut run) = Run::begin(&options.trees, call, check)? else {
        return Ok(None);
    };
    let n_leaves = run.settings.n_leaves();
    if n_leaves > options.size {
        // Said once.
        ensure!(
            run.first.is_none(),
            "--size {}: there are {n_leaves} leaves, and each needs a row",
            options.size
        );
        return Ok(None);
    }
    let plan = Plan {
        size: options.size,
        tolerance: options.tolerance,
        rounds: options.rounds,
    };
    let of_leaves = run.on_leaves(|leaf| plan.execute(leaf));
    let rate = run.ns_per_tick()?;
    let mut all = Vec::new();
    for nth in 0..of_leaves[0].len() {
        let own = of_leaves
            .iter()
            .flat_map(|of_leaf| words(&of_leaf[nth], rate));
        let own: Vec<u64> = own.collect();
        if let Some(words) = run.gathered(&own) {
            all.push(OfAll::of(&words, n_leaves as usize));
        }
    }
    let n_configurations = run.configurations.len();
    let measured = run.first.take().map(|first| Measured {
        surroundings: Surroundings::of(&run),
        first,
        plan,
        rounds: all
            .chunks(n_configurations)
            .map(<[OfAll]>::to_vec)
            .collect(),
    });
    run.end()?;
    Ok(measured)
}

/// A solution as words. The leaves have made equally many calls.
fn words(solution: &Solution, ns_per_tick: f64) -> Vec<u64> {
    let ns = |ticks: u64| (ticks as f64 * ns_per_tick).to_bits();
    let mut words = vec![
        ns(solution.run),
        ns(solution.halo),
        ns(solution.calls.iter().sum()),
        solution.preempted,
        solution.error.to_bits(),
        solution.checksum,
    ];
    words.extend(solution.calls.iter().map(|&ticks| ns(ticks)));
    words
}

impl OfAll {
    /// `words`: those of all leaves.
    fn of(words: &[u64], n_leaves: usize) -> Self {
        let n_words = words.len() / n_leaves;
        let mut of_all = Self::default();
        for words in words.chunks_exact(n_words) {
            let (words, calls) = words.split_at(WORDS);
            let ns = |nth: usize| f64::from_bits(words[nth]);
            of_all.run_ns = of_all.run_ns.max(ns(0));
            of_all.halo_ns += ns(1) / n_leaves as f64;
            of_all.calls_ns += ns(2) / n_leaves as f64;
            of_all.preempted += words[3];
            let result = &mut of_all.result;
            result.error = result.error.max(f64::from_bits(words[4]));
            result.checksum = result.checksum.wrapping_add(words[5]);
            result.steps = calls.len() as u64;
            for &call in calls {
                of_all.call_ns.add(f64::from_bits(call).round() as i64);
            }
        }
        of_all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solutions_of_leaves_are_put_together() {
        let of_leaf = |run, error, checksum| Solution {
            run,
            halo: 10,
            calls: vec![run / 10, 30],
            preempted: 1,
            error,
            checksum,
        };
        let leaves = [of_leaf(1_000, 0.5, u64::MAX), of_leaf(2_000, 0.25, 3)];
        let all: Vec<u64> = leaves
            .iter()
            .flat_map(|of_leaf| words(of_leaf, 0.5))
            .collect();
        let of_all = OfAll::of(&all, 2);
        assert_eq!(
            (of_all.run_ns, of_all.halo_ns, of_all.preempted),
            (1_000.0, 5.0, 2)
        );
        assert_eq!(of_all.calls_ns, (65.0 + 115.0) / 2.0);
        assert_eq!(
            (of_all.call_ns.n(), of_all.call_ns.total()),
            (4, 50 + 15 + 100 + 15)
        );
        let result = Result {
            steps: 2,
            error: 0.5,
            checksum: 2,
        };
        assert_eq!(of_all.result, result);
    }
}
