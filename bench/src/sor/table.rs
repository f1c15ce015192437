//! The figures as text.

use std::io::{self, Write};

use collbench_text::quantity;

use super::figures::Figures;
use crate::overhead::{empty_table, write_invalid};
use crate::trees::{ComparisonFigures, median_in_words};

/// Writes one screen.
pub(super) fn write(figures: &Figures, output: &mut impl Write) -> io::Result<()> {
    writeln!(
        output,
        "{}, {}",
        figures.problem(),
        figures.surroundings.in_words()
    )?;
    figures.surroundings.write(output)?;
    writeln!(
        output,
        "Time of a solution: medians of {}",
        quantity::counted_grouped(figures.rounds as u64, "round")
    )?;
    let mut table = empty_table(&[
        "configuration",
        "time",
        "95 % interval",
        "in allreduces",
        "in exchanges of rows",
        "median allreduce",
        "largest error",
        "wrong results",
    ]);
    let unknown = || "unknown".to_owned();
    let share =
        |share: Option<f64>| share.map_or_else(unknown, |share| format!("{:.0} %", 100.0 * share));
    for of in &figures.configurations {
        let [time, interval] = median_in_words(of.run_ns.as_ref());
        table.add_row(vec![
            of.name.clone(),
            time,
            interval,
            share(of.allreduce_share),
            share(of.halo_share),
            of.call_ns
                .as_ref()
                .map_or_else(unknown, |call| quantity::duration(call.median)),
            of.largest_error
                .map_or_else(unknown, |error| format!("{error:.1e}")),
            of.wrong_results.to_string(),
        ]);
    }
    writeln!(output, "{}\n", table.trim_fmt())?;
    ComparisonFigures::write(&figures.comparisons, output)?;
    for remark in &figures.remarks {
        writeln!(output, "{remark}")?;
    }
    write_invalid(&figures.invalid, output)
}
