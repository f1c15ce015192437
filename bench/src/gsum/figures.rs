//! From the measurements to the figures of the result, `collbench.bench.gsum/1`.

use collbench_stats::distribution::{Distribution, Summary};
use collbench_stats::median::Median;
use collbench_text::quantity;
use serde::Serialize;

use super::Operation;
use super::measure::{Measured, OfAll};
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
    /// The clocks of hosts were compared with at most this error; null with one clock, and for
    /// operations whose loops were timed.
    pub(super) clock_error_ns: Option<f64>,
    pub(super) operation: &'static str,
    pub(super) payload_bytes: u64,
    pub(super) is_one_way: bool,
    pub(super) calls_per_round: u32,
    /// Rounds that count.
    pub(super) rounds: usize,
    /// Rounds in which a leaf was preempted; they do not count unless all rounds do.
    pub(super) disturbed: usize,
    pub(super) configurations: Vec<ConfigurationFigures>,
    pub(super) comparisons: Vec<ComparisonFigures>,
    pub(super) remarks: Vec<String>,
    pub(super) invalid: Vec<Invalid>,
    raw: Raw,
}

/// Figures of a configuration. Times of a call by round, ns.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ConfigurationFigures {
    pub(super) name: String,
    /// Line of the tree file; null on the library.
    line: Option<u32>,
    pub(super) tree: Option<TreeFigures>,
    call_ns: Option<Summary>,
    pub(super) median_ns: Option<Median>,
    /// In all rounds; null for operations without results.
    pub(super) wrong_results: Option<u64>,
    preempted: u64,
}

/// The rounds that count, in the order in which they were made.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Raw {
    /// By configuration, by round.
    call_ns: Vec<Vec<f64>>,
}

impl Figures {
    pub(super) fn of(measured: Measured) -> Self {
        let Measured {
            surroundings,
            first,
            plan,
            rounds,
            clock_error_ns,
        } = measured;
        let (valid, disturbed) =
            rounds_that_count(&rounds, surroundings.all_rounds_count, |of| of.preempted);
        let names = &surroundings.names;
        let times: Vec<Vec<f64>> = (0..names.len())
            .map(|nth| {
                valid
                    .iter()
                    .map(|round| hundredths(round[nth].call_ns))
                    .collect()
            })
            .collect();
        let configuration = |nth: usize| {
            let sum = |of: fn(&OfAll) -> u64| rounds.iter().map(|round| of(&round[nth])).sum();
            let mut call_ns = Distribution::default();
            for &time in &times[nth] {
                call_ns.add(time.round() as i64);
            }
            ConfigurationFigures {
                name: names[nth].clone(),
                line: first.lines[nth],
                tree: surroundings.trees[nth],
                call_ns: call_ns.summary(clock_error_ns.map(|error| error.round() as i64)),
                median_ns: Median::of(times[nth].iter().copied()),
                wrong_results: (plan.operation != Operation::Barrier).then(|| sum(|of| of.wrong)),
                preempted: sum(|of| of.preempted),
            }
        };
        let configurations: Vec<_> = (0..names.len()).map(configuration).collect();
        let wrong = configurations
            .iter()
            .map(|of| (&*of.name, of.wrong_results.unwrap_or(0)));
        Self {
            schema: "collbench.bench.gsum/1",
            clock_error_ns,
            operation: plan.operation.collective().operation().name(),
            payload_bytes: plan.bytes,
            is_one_way: plan.operation.is_one_way(),
            calls_per_round: plan.calls,
            rounds: valid.len(),
            disturbed,
            remarks: with_wrong_results(first.remarks, wrong),
            configurations,
            comparisons: comparisons(&first.comparisons, names, &times),
            invalid: left_out(rounds.len(), valid.len()),
            raw: Raw { call_ns: times },
            surroundings,
        }
    }

    /// What is measured: operation, payload, and by how many.
    pub(super) fn call(&self) -> String {
        let payload = match self.payload_bytes {
            0 => String::new(),
            bytes => format!(" of {}", quantity::counted_grouped(bytes, "byte")),
        };
        format!(
            "{}{payload}, {}",
            self.operation,
            self.surroundings.in_words()
        )
    }

    /// By configuration: its name, and the time of a call in each round that counts, ns.
    pub(super) fn times(&self) -> impl Iterator<Item = (&str, &[f64])> {
        let names = self.configurations.iter().map(|of| of.name.as_str());
        names.zip(self.raw.call_ns.iter().map(Vec::as_slice))
    }
}

#[cfg(test)]
mod tests {
    use super::super::rounds::Plan;
    use super::super::table;
    use super::*;
    use crate::trees::{Against, Comparison, First};

    /// Two configurations in ten rounds of which the last was disturbed; `b` takes half the time of
    /// `a`.
    fn figures(operation: Operation) -> Figures {
        let of = |call_ns, preempted, wrong| OfAll {
            call_ns,
            preempted,
            wrong,
        };
        let round = |nth: u32| {
            let ns = 1_000.0 + 10.0 * f64::from(nth);
            let preempted = u64::from(nth == 9);
            vec![of(ns, preempted, 0), of(ns / 2.0, 0, u64::from(nth == 4))]
        };
        Figures::of(Measured {
            surroundings: Surroundings::made_up(&["a", "b"]),
            first: First {
                lines: vec![None, Some(7)],
                comparisons: vec![Comparison {
                    of: 1,
                    with: 0,
                    against: Against::First,
                }],
                remarks: vec!["c.toml: nothing".to_owned()],
            },
            plan: Plan {
                operation,
                bytes: 16,
                calls: 100,
                rounds: 10,
                is_each_timed: operation.is_one_way(),
            },
            rounds: (0..10).map(round).collect(),
            clock_error_ns: Some(12.3),
        })
    }

    #[test]
    fn figures_are_of_the_rounds_that_count_and_wrong_results_of_all() {
        let figures = figures(Operation::Allreduce);
        assert_eq!((figures.rounds, figures.disturbed), (9, 1));
        assert_eq!((figures.invalid[0].n, figures.invalid[0].of), (1, 10));
        let [a, b] = &figures.configurations[..] else {
            panic!("two configurations")
        };
        let median = a.median_ns.unwrap();
        // Of nine values the second and the eighth.
        assert_eq!(
            (median.value, median.interval),
            (1_040.0, Some((1_010.0, 1_070.0)))
        );
        assert_eq!(b.median_ns.unwrap().value, 520.0);
        assert_eq!(a.call_ns.as_ref().unwrap().uncertainty_ns, Some(12));
        assert_eq!((a.wrong_results, b.wrong_results), (Some(0), Some(1)));
        assert_eq!((a.preempted, b.line), (1, Some(7)));
    }

    #[test]
    fn a_barrier_has_no_results_to_be_wrong() {
        let figures = figures(Operation::Barrier);
        assert_eq!(figures.configurations[1].wrong_results, None);
    }

    #[test]
    fn the_table_has_times_ratios_remarks_and_what_does_not_count() {
        let mut text = Vec::new();
        table::write(&figures(Operation::Bcast), &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let about = "  command  collbench-bench\n";
        let (head, rest) = text.split_once(about).unwrap();
        assert!(
            head.starts_with("MPI_Bcast of 16 bytes, 4 processes on 2 hosts\n"),
            "{head}"
        );
        assert_eq!(
            rest,
            "
Time of a call from the first enter to the last leave: medians of 9 rounds of 100 calls; clocks compared to +- 12.3 ns
 configuration  height  collectors     time       95 % interval  wrong results
 a                                  1.04 us  1.01 us to 1.07 us              0
 b                                   520 ns    505 ns to 535 ns              1

 compared  with  ratio   95 % interval
 b            a  0.500  0.500 to 0.500

c.toml: nothing
b: 1 wrong result
invalid: 1 of 10 rounds: a leaf was preempted (--all-rounds counts these rounds, too)
"
        );
    }

    #[test]
    fn the_schema_is_that_of_the_types() {
        collbench_schemas::check::<Figures>("collbench.bench.gsum/1");
    }
}
