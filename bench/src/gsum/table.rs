//! The figures as text.

use std::io::{self, Write};

use collbench_text::quantity;

use super::figures::Figures;
use crate::overhead::{empty_table, write_invalid};
use crate::trees::{ComparisonFigures, median_in_words};

/// Writes one screen.
pub(super) fn write(figures: &Figures, output: &mut impl Write) -> io::Result<()> {
    writeln!(output, "{}", figures.call())?;
    figures.surroundings.write(output)?;
    let calls = quantity::grouped(figures.calls_per_round.into());
    let rounds = quantity::counted_grouped(figures.rounds as u64, "round");
    if figures.is_one_way {
        let error = match figures.clock_error_ns {
            Some(error) => format!("; clocks compared to +- {}", quantity::fine_duration(error)),
            None => String::new(),
        };
        writeln!(
            output,
            "Time of a call from the first enter to the last leave: medians of {rounds} of {calls} \
             calls{error}"
        )?;
    } else {
        writeln!(
            output,
            "Time of a call in loops of {calls}: medians of {rounds}"
        )?;
    }
    let mut table = empty_table(&[
        "configuration",
        "height",
        "collectors",
        "time",
        "95 % interval",
        "wrong results",
    ]);
    for of in &figures.configurations {
        let [time, interval] = median_in_words(of.median_ns.as_ref());
        table.add_row(vec![
            of.name.clone(),
            of.tree
                .map_or(String::new(), |tree| tree.height.to_string()),
            of.tree
                .map_or(String::new(), |tree| tree.collectors.to_string()),
            time,
            interval,
            of.wrong_results.map_or(String::new(), |n| n.to_string()),
        ]);
    }
    writeln!(output, "{}\n", table.trim_fmt())?;
    ComparisonFigures::write(&figures.comparisons, output)?;
    for remark in &figures.remarks {
        writeln!(output, "{remark}")?;
    }
    write_invalid(&figures.invalid, output)
}
