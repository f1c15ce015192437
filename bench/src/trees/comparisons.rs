//! Medians of configurations, and their ratios.

use std::io::{self, Write};

use collbench_stats::median::Median;
use collbench_text::quantity;
use serde::Serialize;

use super::configuration::{Against, Comparison};
use crate::overhead::empty_table;

/// A median time and its interval, as words.
pub(crate) fn median_in_words(median: Option<&Median>) -> [String; 2] {
    let unknown = || "unknown".to_owned();
    let interval = median.and_then(|median| median.interval);
    [
        median.map_or_else(unknown, |median| quantity::fine_duration(median.value)),
        interval.map_or_else(unknown, |(least, most)| {
            let [least, most] = [least, most].map(quantity::fine_duration);
            format!("{least} to {most}")
        }),
    ]
}

/// Two configurations compared.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ComparisonFigures {
    configuration: String,
    with: String,
    against: Against,
    /// Ratio of their times in each round; `None` without rounds.
    ratio: Option<Median>,
}

/// Compares configurations, whose times in each round are `times[configuration]`.
pub(crate) fn comparisons(
    all: &[Comparison],
    names: &[String],
    times: &[Vec<f64>],
) -> Vec<ComparisonFigures> {
    let figures = |comparison: &Comparison| {
        let &Comparison { of, with, against } = comparison;
        let ratios = times[of].iter().zip(&times[with]);
        let ratios = ratios.filter(|(_, with)| **with > 0.0);
        ComparisonFigures {
            configuration: names[of].clone(),
            with: names[with].clone(),
            against,
            ratio: Median::of(ratios.map(|(of, with)| (1e4 * of / with).round() / 1e4)),
        }
    };
    all.iter().map(figures).collect()
}

impl ComparisonFigures {
    /// Writes a table of them; nothing without any.
    pub(crate) fn write(all: &[Self], output: &mut impl Write) -> io::Result<()> {
        if all.is_empty() {
            return Ok(());
        }
        let mut table = empty_table(&["compared", "with", "ratio", "95 % interval"]);
        for comparison in all {
            let ratio = comparison.ratio.as_ref();
            let interval = ratio.and_then(|ratio| ratio.interval);
            table.add_row(vec![
                comparison.configuration.clone(),
                comparison.with.clone(),
                ratio.map_or("unknown".to_owned(), |ratio| format!("{:.3}", ratio.value)),
                interval.map_or("unknown".to_owned(), |(least, most)| {
                    format!("{least:.3} to {most:.3}")
                }),
            ]);
        }
        writeln!(output, "{}\n", table.trim_fmt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_those_of_each_round() {
        let comparison = Comparison {
            of: 1,
            with: 0,
            against: Against::First,
        };
        let names = ["a".to_owned(), "b".to_owned()];
        // Twice as long in each round, though rounds differ much.
        let times = [
            vec![1.0, 10.0, 3.0, 50.0, 2.0, 9.0, 0.0],
            vec![2.0, 20.0, 6.0, 100.0, 4.0, 18.0, 5.0],
        ];
        let all = comparisons(&[comparison], &names, &times);
        let ratio = all[0].ratio.unwrap();
        assert_eq!(
            (ratio.n, ratio.value, ratio.interval),
            (6, 2.0, Some((2.0, 2.0)))
        );
        assert_eq!(all[0].configuration, "b");
        let none = comparisons(&[comparison], &names, &[vec![], vec![]]);
        assert_eq!(none[0].ratio, None);
    }
}
