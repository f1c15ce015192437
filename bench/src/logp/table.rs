//! The figures as text.

use std::io::{self, Write};

use collbench_text::quantity::{self, counted, fine_duration};

use super::figures::{Figures, OfClass};
use super::model::{
    Arrangement, Begins, Check, Cost, Estimate, Limit, Line, OfSize, Parameters, Verdict,
};
use crate::overhead::{empty_table, write_machine};

/// Writes the result.
pub(super) fn write(figures: &Figures, output: &mut impl Write) -> io::Result<()> {
    let n = match figures.hosts.len() {
        0 => "simulated processes".to_owned(),
        n => format!("{n} processes"),
    };
    writeln!(output, "LogP of the links between {n}")?;
    let library = figures.mpi_library.as_deref().unwrap_or("none");
    write_machine(&figures.machine, library, &figures.environment, output)?;
    if let Some(clock) = figures.clock {
        writeln!(output, "  clock    {clock}")?;
    }
    writeln!(output, "  command  {}\n", figures.command.join(" "))?;
    write_round_trips(figures, output)?;
    for of_class in &figures.classes {
        write_class(figures, of_class, output)?;
    }
    write_checks(&figures.checks, output)?;
    if figures.imprecise_times > 0 {
        writeln!(
            output,
            "{} of {} times have wider intervals than was asked for; --thorough, --batches and \
             --seconds give them more repetitions",
            figures.imprecise_times, figures.times
        )?;
    }
    for invalid in &figures.invalid {
        writeln!(output, "invalid: {invalid}")?;
    }
    Ok(())
}

fn write_round_trips(figures: &Figures, output: &mut impl Write) -> io::Result<()> {
    writeln!(output, "Round trips of small messages, by class of links")?;
    let mut table = empty_table(&[
        "links", "pairs", "shortest", "between", "longest", "between ",
    ]);
    for OfClass { class, .. } in &figures.classes {
        let ends = [0, class.pairs.len() - 1].map(|at| &figures.pairs[class.pairs[at]]);
        let mut row = vec![class.name.clone(), class.pairs.len().to_string()];
        for pair in ends {
            row.push(fine_duration(pair.round_trip_ns));
            row.push(format!("{}, {}", pair.from, pair.to));
        }
        table.add_row(row);
    }
    writeln!(output, "{}\n", table.trim_fmt())
}

fn write_class(figures: &Figures, of_class: &OfClass, output: &mut impl Write) -> io::Result<()> {
    let [from, to] = of_class.between.map(|rank| figures.process(rank));
    writeln!(
        output,
        "{}: measured between {from} and {to}",
        of_class.class.name
    )?;
    write_parameters(of_class, output)?;
    if of_class.latency_at_most_ns.is_some() {
        writeln!(output, "  {}", why_a_bound(of_class))?;
    }
    if let Some(parameters) = &of_class.parameters {
        writeln!(output, "  {}\n", regimes(parameters))?;
    }
    if of_class.sizes.is_empty() {
        return Ok(());
    }
    write_sizes(&of_class.sizes, output)?;
    write_lines(of_class, output)
}

fn write_parameters(of_class: &OfClass, output: &mut impl Write) -> io::Result<()> {
    let mut table = empty_table(&["", "value", "95 % interval", "read from"]);
    let mut add = |name: &str, [value, interval]: [String; 2], from: String| {
        table.add_row(vec![name.to_owned(), value, interval, from]);
    };
    let known = |estimate: Option<Estimate>| match estimate {
        None => ["unknown".to_owned(), String::new()],
        Some(estimate) => [fine_duration(estimate.ns), interval(estimate)],
    };
    let parameters = of_class.parameters.as_ref();
    let with = |read: Option<&super::model::Read>| {
        let Some(read) = read else {
            return (None, "no delay longer than the gap".to_owned());
        };
        let all = || read.from.iter().map(|at| at.m);
        let words = format!(
            "{}, M = {} to {}",
            counted(read.from.len(), "point"),
            all().min().unwrap_or(0),
            all().max().unwrap_or(0)
        );
        (Some(read.estimate), words)
    };
    let round_trip = of_class.signature.round_trip;
    add(
        "RTT",
        known(Some(round_trip.mean)),
        repetitions(&round_trip),
    );
    let (estimate, from) = with(parameters.map(|found| &found.send_overhead));
    add("o_s", known(estimate), from);
    let (estimate, from) = with(parameters.and_then(|found| found.receive_overhead.as_ref()));
    add("o_r", known(estimate), from);
    let is_gap = parameters.is_some_and(|found| found.regimes.limit == Limit::Gap);
    let (estimate, from) = with(parameters.map(|found| &found.gap));
    let name = if is_gap { "g" } else { "g, at most" };
    add(name, known(estimate), from);
    let latency = parameters.and_then(|found| found.latency);
    let overheads = if of_class.shows_receive_overhead() {
        "RTT / 2 - (o_s + o_r)"
    } else {
        "RTT / 2 - (o_s + o_r, directly)"
    };
    match of_class.latency_at_most_ns {
        None => add("L", known(latency), overheads.to_owned()),
        Some(at_most) => {
            let words = [format!("at most {}", fine_duration(at_most)), String::new()];
            add(
                "L",
                words,
                "RTT / 2, less o_s if that is shorter".to_owned(),
            );
        }
    }
    if let Some(receipt) = &of_class.receipt {
        add(
            "o_r, directly",
            known(Some(receipt.mean)),
            repetitions(receipt),
        );
    }
    if let Some(round_trips) = &of_class.round_trips {
        let n = round_trips.messages;
        let gap = format!("(PRTT({n}, 0) - PRTT(1, 0)) / {}", n - 1);
        add("g, by PRTT", known(Some(round_trips.gap())), gap);
        let overhead = format!("(PRTT({n}, d) - PRTT(1, 0)) / {} - d", n - 1);
        add(
            "o_s, by PRTT",
            known(Some(round_trips.overhead())),
            overhead,
        );
    }
    writeln!(output, "{}", table.trim_fmt())
}

/// Why L has a bound only.
fn why_a_bound(of_class: &OfClass) -> &'static str {
    if of_class.parameters.is_some() && of_class.receive_overhead().is_some() {
        "o_s + o_r exceed half the round trip, as in shared memory, where one process still sends while \
         the other receives already: L cannot be told from the overheads, and has a bound only"
    } else {
        "the overheads are not known well enough to be subtracted from half the round trip: L has a \
         bound only"
    }
}

fn repetitions(cost: &Cost) -> String {
    let batches = match cost.batches {
        1 => "1 batch".to_owned(),
        n => format!("{n} batches"),
    };
    format!("{}, {batches}", counted(cost.n, "repetition"))
}

/// Where the regimes end and begin, and what limits the last one.
pub(super) fn regimes(parameters: &Parameters) -> String {
    let regimes = &parameters.regimes;
    let begins = match (regimes.begins, regimes.capacity) {
        (Begins::Replies, _) => "then replies return".to_owned(),
        (Begins::Window, _) => "then the benchmark waits for replies".to_owned(),
        (Begins::Capacity, capacity) => format!(
            "then the network takes no more: its capacity is {}",
            counted(capacity.unwrap_or(0), "request")
        ),
    };
    let limit = match regimes.limit {
        Limit::Gap => "steady state is limited by the gap",
        Limit::Overhead => "steady state is overhead-limited, gap not visible",
        Limit::Capacity => {
            "steady state is limited by the number of requests under way, gap not visible"
        }
    };
    format!(
        "send only up to M = {}, {begins}; steady from M = {}; {limit}",
        regimes.send_only_to, regimes.steady_from
    )
}

fn write_sizes(sizes: &[OfSize], output: &mut impl Write) -> io::Result<()> {
    writeln!(
        output,
        "  Bulk messages of n bytes: T(n) is a store with its reply"
    )?;
    let mut table = empty_table(&[
        "n",
        "T(n)",
        "n / T(n)",
        "o_s(n)",
        "g(n)",
        "limit",
        "g by PRTT",
        "o_s by PRTT",
        "get",
        "o_r(n)",
    ]);
    for size in sizes {
        let transfer_ns = size.signature.round_trip.mean.ns;
        let parameters = size.parameters.as_ref();
        let known = |estimate: Option<Estimate>| {
            estimate.map_or("unknown".to_owned(), |estimate| fine_duration(estimate.ns))
        };
        let limit = parameters.map_or("unknown", |found| match found.regimes.limit {
            Limit::Gap => "gap",
            Limit::Overhead => "overhead",
            Limit::Capacity => "capacity",
        });
        table.add_row(vec![
            quantity::short_bytes(size.bytes as u64),
            fine_duration(transfer_ns),
            bandwidth(size.bytes as f64 / transfer_ns),
            known(parameters.map(|found| found.send_overhead.estimate)),
            known(parameters.map(|found| found.gap.estimate)),
            limit.to_owned(),
            known(size.round_trips.map(|round_trips| round_trips.gap())),
            known(size.round_trips.map(|round_trips| round_trips.overhead())),
            known(size.get.map(|cost| cost.mean)),
            known(size.receipt.map(|cost| cost.mean)),
        ]);
    }
    writeln!(output, "{}", table.trim_fmt())
}

fn write_lines(of_class: &OfClass, output: &mut impl Write) -> io::Result<()> {
    let lines = &of_class.lines;
    if let Some(line) = &lines.transfer {
        writeln!(
            output,
            "  T0 = {}, R_inf = {}: least squares over all n; T0 is not the time of a small message",
            fine_duration(line.intercept_ns),
            rate(line),
        )?;
    }
    if let Some((line, is_by_round_trips)) = lines.gap_line() {
        let (name, words) = match lines.gap_per_byte_ns {
            Some(_) => ("G", ""),
            None => ("G, at most", " (gap not visible)"),
        };
        writeln!(
            output,
            "  {name} = {:.4} ns/byte, {}{words}: the slope of g(n){} from {} to {} bytes",
            line.ns_per_byte,
            rate(line),
            if is_by_round_trips { " by PRTT" } else { "" },
            line.from_bytes,
            line.to_bytes
        )?;
    }
    let switches: Vec<String> = lines.switches.iter().map(usize::to_string).collect();
    if !switches.is_empty() {
        let switches = switches.join(", ");
        writeln!(
            output,
            "  T(n) or o_s(n) follows another line from {switches} bytes on"
        )?;
    }
    writeln!(output)
}

/// The bandwidth of a line.
fn rate(line: &Line) -> String {
    if line.ns_per_byte > 0.0 {
        bandwidth(1.0 / line.ns_per_byte)
    } else {
        "unknown".to_owned()
    }
}

/// A bandwidth, given in bytes per ns.
pub(super) fn bandwidth(bytes_per_ns: f64) -> String {
    let megabytes = 1e3 * bytes_per_ns;
    if megabytes >= 999.5 {
        format!("{:.2} GB/s", megabytes / 1e3)
    } else if megabytes >= 9.995 {
        format!("{megabytes:.1} MB/s")
    } else {
        format!("{megabytes:.2} MB/s")
    }
}

fn write_checks(checks: &[Check], output: &mut impl Write) -> io::Result<()> {
    if checks.is_empty() {
        return Ok(());
    }
    writeln!(
        output,
        "The gap of several senders and receivers, compared with that of one pair"
    )?;
    let mut table = empty_table(&[
        "arrangement",
        "links",
        "bytes",
        "gap",
        "of a pair",
        "ratio",
        "LogP",
        "verdict",
    ]);
    for check in checks {
        table.add_row(vec![
            arrangement(check),
            check.links.clone(),
            check.bytes.to_string(),
            fine_duration(check.gap.ns),
            fine_duration(check.gap_of_pair.ns),
            format!("{:.2}", check.ratio),
            format!("{:.0}", check.expected),
            verdict(check).to_owned(),
        ]);
    }
    writeln!(output, "{}\n", table.trim_fmt())
}

fn arrangement(check: &Check) -> String {
    match check.arrangement {
        Arrangement::ManyPairs => format!("{} pairs", check.senders),
        Arrangement::OneToMany => format!("1 to {}", check.receivers),
        Arrangement::ManyToOne => format!("{} to 1", check.senders),
    }
}

fn verdict(check: &Check) -> &'static str {
    match (check.verdict, check.arrangement) {
        (Verdict::AsModel, _) => "as the model says",
        (Verdict::Undecided, _) => "undecided: the intervals are too wide",
        (Verdict::Smaller, Arrangement::OneToMany) => {
            "smaller: between two processes the receiver is the bottleneck"
        }
        (Verdict::Smaller, Arrangement::ManyPairs) => "smaller: the pair compared with is slower",
        (Verdict::Smaller, Arrangement::ManyToOne) => {
            "smaller: one sender does not use the receiver's full rate"
        }
        (Verdict::Larger, Arrangement::ManyPairs) => "larger: pairs share a bottleneck",
        (Verdict::Larger, Arrangement::OneToMany) => {
            "larger: several partners cost the sender time"
        }
        (Verdict::Larger, Arrangement::ManyToOne) => "larger: contention slows down the receiver",
    }
}

fn interval(estimate: Estimate) -> String {
    let Estimate { ns, error_ns } = estimate;
    format!(
        "{} to {}",
        fine_duration(ns - error_ns),
        fine_duration(ns + error_ns)
    )
}
