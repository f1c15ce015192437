//! The figures as text.

use std::collections::BTreeMap;
use std::io::{self, Write};

use collbench_stats::spread::Spread;
use collbench_text::quantity;
use comfy_table::{CellAlignment, Table, presets};

use super::figures::{ClockFigures, Figures, Intervals, Invalid, Means};
use crate::machine::Machine;

/// Writes one screen.
pub(super) fn write(figures: &Figures, output: &mut impl Write) -> io::Result<()> {
    write_surroundings(figures, output)?;
    write_batches(figures, output)?;
    write_all_calls(figures, output)?;
    write_single_calls(figures, output)?;
    write_trace(figures, output)?;
    write_invalid(&figures.invalid, output)
}

/// Writes what was left out, and why.
pub(crate) fn write_invalid(all: &[Invalid], output: &mut impl Write) -> io::Result<()> {
    for invalid in all {
        writeln!(
            output,
            "invalid: {} of {} {}: {}",
            invalid.n, invalid.of, invalid.measurement, invalid.why
        )?;
    }
    Ok(())
}

fn write_surroundings(figures: &Figures, output: &mut impl Write) -> io::Result<()> {
    writeln!(
        output,
        "Cost of recording {} on {}",
        figures.operation, figures.communicator
    )?;
    write_machine(
        &figures.machine,
        &figures.mpi_library,
        &figures.environment,
        output,
    )?;
    write_clock(&figures.clock, output)?;
    writeln!(output, "  command  {}", figures.command.join(" "))?;
    writeln!(output)
}

/// Writes the machine of the measurement, its MPI library and the settings of that.
pub(crate) fn write_machine(
    machine: &Machine,
    mpi_library: &str,
    environment: &BTreeMap<String, String>,
    output: &mut impl Write,
) -> io::Result<()> {
    let known = |what: &Option<String>| what.clone().unwrap_or_else(|| "unknown".to_owned());
    writeln!(
        output,
        "  machine  {}: {}{}, {}, {}, load {}",
        known(&machine.host),
        known(&machine.cpu),
        if machine.is_virtual == Some(true) {
            " (virtual)"
        } else {
            ""
        },
        machine
            .cores
            .map_or("? cores".to_owned(), |n| quantity::counted(n, "core")),
        known(&machine.kernel),
        machine.load.map_or("?".to_owned(), |load| load.to_string()),
    )?;
    writeln!(output, "  MPI      {mpi_library}")?;
    for (name, value) in environment {
        writeln!(output, "           {name}={value}")?;
    }
    Ok(())
}

pub(super) fn write_clock(clock: &ClockFigures, output: &mut impl Write) -> io::Result<()> {
    writeln!(
        output,
        "  clock    {}, in steps of {:.1} ns; rate known to {:.2} ppm",
        clock.source, clock.granularity_ns, clock.rate_error_ppm
    )
}

fn write_batches(figures: &Figures, output: &mut impl Write) -> io::Result<()> {
    let batches = &figures.batches;
    writeln!(
        output,
        "Per call, batches of {} calls",
        batches.calls_per_batch
    )?;
    let mut table = empty_table(&["", "median ns", "quartiles ns", "batches"]);
    for (name, spread) in [
        ("plain", &batches.plain_ns),
        ("recorded", &batches.recorded_ns),
        ("added by recording", &batches.added_ns),
        ("two clock readings", &batches.two_clock_readings_ns),
        ("least that can record", &batches.floor_ns),
    ] {
        table.add_row(spread_row(name, spread.as_ref()));
    }
    writeln!(output, "{}", table.trim_fmt())?;
    writeln!(
        output,
        "  added / {}: {}",
        figures.yardstick.name(),
        verdict(batches.ratio, batches.bar, batches.met)
    )?;
    if batches.times_floor.is_some() {
        writeln!(
            output,
            "  recorded / the least that can record: {}",
            verdict(batches.times_floor, batches.floor_bar, batches.floor_met)
        )?;
    }
    writeln!(output)
}

fn write_all_calls(figures: &Figures, output: &mut impl Write) -> io::Result<()> {
    let all = &figures.all_calls;
    writeln!(
        output,
        "Mean per call, including the preparation of space in the trace"
    )?;
    let mut table = empty_table(&["", "calls", "plain ns", "recorded ns", "added ns", "ratio"]);
    table.add_row(means_row("all calls", &all.everything));
    if let Some(undisturbed) = &all.undisturbed {
        table.add_row(means_row("undisturbed turns", undisturbed));
    }
    writeln!(output, "{}", table.trim_fmt())?;
    writeln!(
        output,
        "  added / {}: {}",
        figures.yardstick.name(),
        verdict(all.everything.ratio, all.bar, all.met)
    )?;
    writeln!(
        output,
        "  for comparison, writing the same number of bytes to a plain file: {:.1} ns per call",
        all.same_bytes_written_ns
    )?;
    writeln!(output)
}

fn write_single_calls(figures: &Figures, output: &mut impl Write) -> io::Result<()> {
    let single = &figures.single_calls;
    writeln!(
        output,
        "Single calls: {} intervals between clock readings",
        single.calls
    )?;
    let mut table = empty_table(&["", "plain", "recorded"]);
    let mut line = |name: &str, value: &dyn Fn(&Intervals) -> String| {
        table.add_row([
            name.to_owned(),
            value(&single.plain),
            value(&single.recorded),
        ]);
    };
    line("median", &|of| time(of.median_ns));
    line("90 %", &|of| time(of.p90_ns));
    line("99 %", &|of| time(of.p99_ns));
    line("99.9 %", &|of| time(of.p999_ns));
    line("99.99 %", &|of| time(of.p9999_ns));
    line("longest pause", &|of| time(of.longest_ns));
    line("pauses > 1 us", &|of| of.pauses_above_1us.to_string());
    line("pauses > 10 us", &|of| of.pauses_above_10us.to_string());
    line("pauses > 100 us", &|of| of.pauses_above_100us.to_string());
    line("preempted, times", &|of| of.preempted.to_string());
    line("blocked, times", &|of| of.blocked.to_string());
    writeln!(output, "{}", table.trim_fmt())?;
    writeln!(
        output,
        "  Pauses that the plain program has too are those of the machine; the recorder's own are in\n  \
         the next line."
    )?;
    writeln!(output)
}

fn write_trace(figures: &Figures, output: &mut impl Write) -> io::Result<()> {
    let trace = &figures.trace;
    writeln!(
        output,
        "Trace on {}: all {} calls recorded; {} bytes per call ({} with headers)",
        trace.file_system, trace.calls, trace.bytes_per_call, trace.file_bytes_per_call
    )?;
    if let Some(preparation) = &trace.preparation_ns {
        writeln!(
            output,
            "  space for more prepared {} {}: median {}, longest {}; {} ns per call on average",
            trace.chunks,
            if trace.chunks == 1 { "time" } else { "times" },
            time(preparation.median),
            time(preparation.max),
            trace.preparation_per_call_ns
        )?;
    }
    Ok(())
}

pub(crate) fn empty_table(head: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(head);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

pub(super) fn spread_row(name: &str, spread: Option<&Spread>) -> Vec<String> {
    let Some(spread) = spread else {
        return vec![name.to_owned(), "unknown".to_owned()];
    };
    vec![
        name.to_owned(),
        format!("{:.1}", spread.median),
        format!(
            "{:.1} to {:.1}",
            spread.lower_quartile, spread.upper_quartile
        ),
        spread.n.to_string(),
    ]
}

fn means_row(name: &str, means: &Means) -> Vec<String> {
    vec![
        name.to_owned(),
        means.calls.to_string(),
        format!("{:.1}", means.plain_ns),
        format!("{:.1}", means.recorded_ns),
        format!("{:.1}", means.added_ns),
        means.ratio.map_or("unknown".to_owned(), ratio_of),
    ]
}

/// A small ratio, a share of the call itself, with one more digit.
fn ratio_of(ratio: f64) -> String {
    match ratio {
        ..0.5 => format!("{ratio:.3}"),
        _ => format!("{ratio:.2}"),
    }
}

pub(super) fn verdict(ratio: Option<f64>, bar: f64, met: Option<bool>) -> String {
    let ratio = ratio.map_or("unknown".to_owned(), ratio_of);
    format!("{ratio} (target: at most {bar}, {})", met_in_words(met))
}

/// Whether a target was met.
pub(super) fn met_in_words(met: Option<bool>) -> &'static str {
    match met {
        Some(true) => "met",
        Some(false) => "NOT met",
        None => "no verdict",
    }
}

/// A time of one interval: no digits below the granularity of the clock of some ns.
fn time(ns: f64) -> String {
    match ns {
        ..10_000.0 => format!("{ns:.0} ns"),
        ..10_000_000.0 => format!("{:.1} us", ns / 1e3),
        _ => format!("{:.1} ms", ns / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_that_suit_them() {
        assert_eq!(time(20.4), "20 ns");
        assert_eq!(time(48_210.0), "48.2 us");
        assert_eq!(time(12_345_678.0), "12.3 ms");
    }

    #[test]
    fn with_too_few_measurements_there_is_no_verdict() {
        assert_eq!(
            verdict(Some(0.92), 1.5, None),
            "0.92 (target: at most 1.5, no verdict)"
        );
    }
}
