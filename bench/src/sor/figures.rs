//! From the measurements to the figures of the result, `collbench.bench.sor/1`.

use collbench_stats::distribution::{Distribution, Summary};
use collbench_stats::median::Median;
use serde::Serialize;

use super::measure::{Measured, OfAll, Result};
use crate::overhead::{Invalid, hundredths};
use crate::trees::{
    ComparisonFigures, Surroundings, TreeFigures, comparisons, left_out, rounds_that_count,
    with_wrong_results,
};

/// The result; unknown figures are `null`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Figures {
    schema: &'static str,
    #[serde(flatten)]
    pub(super) surroundings: Surroundings,
    size: u32,
    tolerance: f64,
    /// Larger errors are wrong.
    largest_right_error: f64,
    /// Rounds that count.
    pub(super) rounds: usize,
    /// Rounds in which a leaf was preempted; they do not count unless all rounds do.
    disturbed: usize,
    pub(super) configurations: Vec<ConfigurationFigures>,
    pub(super) comparisons: Vec<ComparisonFigures>,
    pub(super) remarks: Vec<String>,
    pub(super) invalid: Vec<Invalid>,
    raw: Raw,
}

/// Figures of a configuration.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ConfigurationFigures {
    pub(super) name: String,
    /// Line of the tree file; null on the library.
    line: Option<u32>,
    pub(super) tree: Option<TreeFigures>,
    /// Each allreduce of each leaf, from its enter to its leave.
    pub(super) call_ns: Option<Summary>,
    /// Time of a solution.
    pub(super) run_ns: Option<Median>,
    /// Mean share of a leaf's time in allreduces.
    pub(super) allreduce_share: Option<f64>,
    /// Mean share of a leaf's time in exchanges of rows.
    pub(super) halo_share: Option<f64>,
    /// Steps of a solution.
    steps: Option<u64>,
    /// Largest difference from the exact solution, in any round.
    pub(super) largest_error: Option<f64>,
    /// Solutions, of all rounds, with an error that is too large, or that differ from the first one.
    pub(super) wrong_results: u64,
    preempted: u64,
}

/// The rounds that count, in the order in which they were made.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Raw {
    /// By configuration, by round.
    run_ns: Vec<Vec<f64>>,
}

impl Figures {
    pub(super) fn of(measured: Measured) -> Self {
        let Measured {
            surroundings,
            first,
            plan,
            rounds,
        } = measured;
        let (valid, disturbed) =
            rounds_that_count(&rounds, surroundings.all_rounds_count, |of| of.preempted);
        let names = &surroundings.names;
        let of_configuration = |nth: usize| valid.iter().map(move |round| &round[nth]);
        let times: Vec<Vec<f64>> = (0..names.len())
            .map(|nth| {
                of_configuration(nth)
                    .map(|of| hundredths(of.run_ns))
                    .collect()
            })
            .collect();
        let right = rounds.first().and_then(|round| round.first());
        let right = right.map(|of| of.result);
        let configuration = |nth: usize| {
            let all = || rounds.iter().map(move |round| &round[nth]);
            let mut call_ns = Distribution::default();
            of_configuration(nth).for_each(|of| call_ns.merge(&of.call_ns));
            let mean_share = |of: fn(&OfAll) -> f64| {
                let total: f64 = of_configuration(nth).map(|of| of.run_ns).sum();
                let part: f64 = of_configuration(nth).map(of).sum();
                (total > 0.0).then(|| hundredths(100.0 * part / total) / 100.0)
            };
            let is_wrong = |of: &&OfAll| is_wrong(of.result, right, plan.largest_error());
            ConfigurationFigures {
                name: names[nth].clone(),
                line: first.lines[nth],
                tree: surroundings.trees[nth],
                call_ns: call_ns.summary(None),
                run_ns: Median::of(times[nth].iter().copied()),
                allreduce_share: mean_share(|of| of.calls_ns),
                halo_share: mean_share(|of| of.halo_ns),
                steps: all().next().map(|of| of.result.steps),
                largest_error: all().map(|of| of.result.error).reduce(f64::max),
                wrong_results: all().filter(is_wrong).count() as u64,
                preempted: all().map(|of| of.preempted).sum(),
            }
        };
        let configurations: Vec<_> = (0..names.len()).map(configuration).collect();
        let wrong = configurations
            .iter()
            .map(|of| (&*of.name, of.wrong_results));
        Self {
            schema: "collbench.bench.sor/1",
            size: plan.size,
            tolerance: plan.tolerance,
            largest_right_error: plan.largest_error(),
            rounds: valid.len(),
            disturbed,
            remarks: with_wrong_results(first.remarks, wrong),
            configurations,
            comparisons: comparisons(&first.comparisons, names, &times),
            invalid: left_out(rounds.len(), valid.len()),
            raw: Raw { run_ns: times },
            surroundings,
        }
    }

    /// What is solved.
    pub(super) fn problem(&self) -> String {
        let Self {
            size, tolerance, ..
        } = self;
        let steps = self.configurations.iter().find_map(|of| of.steps);
        let steps = steps.map_or(String::new(), |steps| format!(" in {steps} steps"));
        format!("SOR on {size} x {size} points to a change of {tolerance:e}{steps}")
    }

    /// By configuration: its name, and the time of each solution that counts, ns.
    pub(super) fn times(&self) -> impl Iterator<Item = (&str, &[f64])> {
        let names = self.configurations.iter().map(|of| of.name.as_str());
        names.zip(self.raw.run_ns.iter().map(Vec::as_slice))
    }
}

/// Whether a solution is not exact, or not the same as the first one.
fn is_wrong(result: Result, right: Option<Result>, largest_error: f64) -> bool {
    // Not a number is wrong, too.
    let is_exact = result.error <= largest_error;
    !is_exact || right.is_some_and(|right| right != result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_solution_is_wrong_if_it_is_not_exact_or_not_the_same_as_others() {
        let right = Result {
            steps: 100,
            error: 1e-9,
            checksum: 7,
        };
        assert!(!is_wrong(right, Some(right), 1e-8));
        assert!(is_wrong(right, Some(right), 1e-10));
        for other in [
            Result { steps: 99, ..right },
            Result {
                checksum: 8,
                ..right
            },
            Result {
                error: f64::NAN,
                ..right
            },
        ] {
            assert!(is_wrong(other, Some(right), 1e-8), "{other:?}");
        }
    }

    #[test]
    fn the_schema_is_that_of_the_types() {
        collbench_schemas::check::<Figures>("collbench.bench.sor/1");
    }
}
