//! The figures as text.

use std::io::{self, Write};

use collbench_stats::spread::Spread;
use collbench_text::quantity;

use super::figures::{Figures, PairFigures};
use super::simulation::Simulation;
use crate::overhead::{empty_table, write_machine};

/// Writes one screen.
pub(super) fn write(figures: &Figures, output: &mut impl Write) -> io::Result<()> {
    writeln!(
        output,
        "Clocks of {} processes against that of rank {} on {}",
        figures.pairs.len(),
        figures.reference.rank,
        figures.reference.host
    )?;
    let library = figures.mpi_library.as_deref().unwrap_or("unknown");
    write_machine(&figures.machine, library, &figures.environment, output)?;
    let of_one = if figures.has_one_clock {
        "; all processes read the same clock, so every difference is error"
    } else {
        ""
    };
    writeln!(output, "  clock    {}{of_one}", figures.clock)?;
    writeln!(output, "  command  {}", figures.command.join(" "))?;
    writeln!(output)?;
    write_round_trips(figures, output)?;
    write_drift(figures, output)?;
    write_stop_rule(figures, output)?;
    write_synchronization(figures, output)?;
    for invalid in &figures.invalid {
        writeln!(output, "invalid: {invalid}")?;
    }
    Ok(())
}

/// Writes the results of a simulation.
pub(super) fn write_simulation(simulation: &Simulation, output: &mut impl Write) -> io::Result<()> {
    writeln!(
        output,
        "Measuring all clocks of a group, N = 100, simulated: mean time until all are done"
    )?;
    writeln!(output, "  command  {}\n", simulation.command.join(" "))?;
    let mut table = empty_table(&[
        "network",
        "hosts",
        "rounds",
        "linear",
        "in rounds",
        "ratio",
        "groups",
    ]);
    for group in &simulation.groups {
        table.add_row(vec![
            group.network.to_owned(),
            group.hosts.to_string(),
            group.rounds.to_string(),
            duration(group.linear_ns),
            duration(group.rounds_ns),
            format!("{:.1}", group.ratio),
            group.repetitions.to_string(),
        ]);
    }
    writeln!(output, "{}", table.trim_fmt())
}

fn write_round_trips(figures: &Figures, output: &mut impl Write) -> io::Result<()> {
    writeln!(
        output,
        "Round trips; the error of an offset is at most half the shortest round trip"
    )?;
    let mut table = empty_table(&[
        "rank",
        "host",
        "exchanges",
        "shortest",
        "median",
        "upper quartile",
        "longest",
        "half the shortest",
    ]);
    for pair in &figures.pairs {
        let rtt = pair.round_trip_ns.as_ref();
        let mut row = who(pair);
        row.extend([
            rtt.map_or("0".to_owned(), |spread| spread.n.to_string()),
            time(rtt, |spread| spread.min),
            time(rtt, |spread| spread.median),
            time(rtt, |spread| spread.upper_quartile),
            time(rtt, |spread| spread.max),
            time(rtt, |spread| spread.min / 2.0),
        ]);
        table.add_row(row);
    }
    writeln!(output, "{}\n", table.trim_fmt())
}

fn write_drift(figures: &Figures, output: &mut impl Write) -> io::Result<()> {
    writeln!(
        output,
        "Drift (two standard errors), and distance of a burst from the line through its neighbors"
    )?;
    let mut head = vec![
        "rank",
        "host",
        "bursts",
        "drift ppm",
        "distance, median",
        "distance, largest",
    ];
    if figures.has_one_clock {
        head.extend(["error, median", "error, largest"]);
    }
    let mut table = empty_table(&head);
    for pair in &figures.pairs {
        let mut row = who(pair);
        row.extend([
            (pair.bursts.len() - pair.n_disturbed).to_string(),
            drift(pair),
            time(pair.held_out_ns.as_ref(), |spread| spread.median),
            time(pair.held_out_ns.as_ref(), |spread| spread.max),
        ]);
        if figures.has_one_clock {
            row.push(time(pair.error_ns.as_ref(), |spread| spread.median));
            row.push(time(pair.error_ns.as_ref(), |spread| spread.max));
        }
        table.add_row(row);
    }
    writeln!(output, "{}\n", table.trim_fmt())
}

fn who(pair: &PairFigures) -> Vec<String> {
    vec![pair.local.rank.to_string(), pair.local.host.clone()]
}

/// In ppm, with its error.
pub(super) fn drift(pair: &PairFigures) -> String {
    pair.drift.map_or("unknown".to_owned(), |drift| {
        format!("{:.3} +- {:.3}", drift.ppm, drift.error_ppm)
    })
}

fn write_stop_rule(figures: &Figures, output: &mut impl Write) -> io::Result<()> {
    writeln!(
        output,
        "Stop rule: stop when N exchanges in a row have not improved the smallest round trip"
    )?;
    let mut table = empty_table(&["N", "exchanges", "above the smallest", "runs"]);
    for quality in &figures.stop_rule {
        table.add_row(vec![
            quality.unimproved.to_string(),
            format!("{:.0}", quality.exchanges),
            format!("{:.2} %", quality.above_least_percent),
            quality.runs.to_string(),
        ]);
    }
    writeln!(output, "{}\n", table.trim_fmt())
}

fn write_synchronization(figures: &Figures, output: &mut impl Write) -> io::Result<()> {
    writeln!(
        output,
        "Measuring all clocks of a group, N = 100: median time until all are done"
    )?;
    let mut table = empty_table(&["clocks", "linear", "in rounds", "ratio", "times"]);
    for measured in &figures.synchronization {
        let (linear, rounds) = (measured.linear_ns.as_ref(), measured.rounds_ns.as_ref());
        let ratio = linear.zip(rounds).map(|(l, r)| l.median / r.median);
        table.add_row(vec![
            measured.hosts.to_string(),
            time(linear, |spread| spread.median),
            time(rounds, |spread| spread.median),
            ratio.map_or("unknown".to_owned(), |ratio| format!("{ratio:.1}")),
            linear.map_or("0".to_owned(), |spread| spread.n.to_string()),
        ]);
    }
    writeln!(output, "{}\n", table.trim_fmt())
}

fn time(spread: Option<&Spread>, figure: fn(&Spread) -> f64) -> String {
    spread.map_or("unknown".to_owned(), |spread| duration(figure(spread)))
}

/// A duration in ns, which may be a mean.
pub(super) fn duration(ns: f64) -> String {
    quantity::duration(ns.round() as i64)
}
