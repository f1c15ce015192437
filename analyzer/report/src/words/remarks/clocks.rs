//! Remarks on the clocks.

use collbench_analyzer::results::{Blame, UnclosedTriangle};
use collbench_text::inert;
use collbench_text::quantity::counted;

pub(super) fn not_aligned(n_hosts: usize, n_groups: usize, reason: Option<&str>) -> String {
    let (each, one) = if n_hosts == n_groups {
        ("host".to_owned(), "host")
    } else {
        (format!("of {n_groups} groups of hosts"), "group")
    };
    let mut sentence = format!(
        "the clocks of {n_hosts} hosts are not aligned: times are compared within each {each} only. \
         In an instance that spans several {one}s, lags and waits are relative to processes of the \
         same {one} (lower bounds), the duration is the longest of any {one}, and the core and the \
         last rank to arrive are not known"
    );
    if let Some(reason) = reason {
        sentence += &format!(". The recorder took no measurements: {reason}");
    }
    sentence
}

pub(super) fn apart(n_ranks: usize, rank: u32) -> String {
    let (clocks, differ, each) = if n_ranks == 1 {
        (format!("clock of rank {rank}"), "differs", "it")
    } else {
        let clocks = format!("clocks of {n_ranks} ranks (the first is rank {rank})");
        (clocks, "differ", "each")
    };
    format!(
        "the {clocks} {differ} from those of the other ranks on the \
         host by more than a message within the host takes: {each} is shown as a separate host"
    )
}

pub(super) fn exchanges_ended(n_ranks: usize, reason: &str) -> String {
    format!(
        "the measurement of clock offsets ended early on {}: {reason}",
        counted(n_ranks, "rank")
    )
}

pub(super) fn drift_not_known(n_hosts: usize) -> String {
    format!(
        "the clocks of {} were compared at one instant only, as in a run that was killed: their \
         drift is not known, so the error of times across hosts grows by 100 us per second from \
         there",
        counted(n_hosts, "host")
    )
}

pub(super) fn no_offset_at_end(n_hosts: usize) -> String {
    format!(
        "the clock offsets of {} were not measured at the end of the run: the later a time, the \
         larger its error across hosts",
        counted(n_hosts, "host")
    )
}

pub(super) fn alignment_not_converged(n_hosts: usize) -> String {
    format!(
        "the clock fit of {} did not converge: the uncertainty may be too small; compare with \
         --alignment piecewise",
        counted(n_hosts, "host")
    )
}

pub(super) fn wander() -> String {
    "the clock rates change faster than those of free-running clocks, as if a daemon adjusted \
     them; record with --clock raw or tsc"
        .to_owned()
}

pub(super) fn slewed(host: &str, ppb: i64) -> String {
    format!(
        "host {}: the system changed the rate of CLOCK_MONOTONIC by {:.2} ppm during the \
         run; record with --clock raw or tsc",
        inert::line(host, 40),
        ppb as f64 / 1e3
    )
}

pub(super) fn uneven(host: &str, step_ns: i64) -> String {
    format!(
        "host {}: its clocks differ by up to {:.1} us: a clock was stepped, or the time stamp \
         counter is not invariant; record with --clock raw",
        inert::line(host, 40),
        step_ns as f64 / 1e3
    )
}

pub(super) fn not_scaled(host: &str) -> String {
    format!(
        "host {}: the clock readings do not give the tick rate; ticks are shown as ns",
        inert::line(host, 40)
    )
}

pub(super) fn triangle_open(
    UnclosedTriangle {
        hosts: [a, b, c],
        n_triangles,
        gap_ns,
        error_ns,
        suspects,
        blame,
    }: &UnclosedTriangle,
) -> String {
    let mut sentence = format!(
        "the clock offsets measured between hosts {}, {} and {} do not add up to zero: {:.1} us \
         remain, the error explains {:.1} us",
        inert::line(a, 40),
        inert::line(b, 40),
        inert::line(c, 40),
        *gap_ns as f64 / 1e3,
        *error_ns as f64 / 1e3,
    );
    if *n_triangles > 1 {
        let more = counted(n_triangles - 1, "more triangle");
        sentence += &format!(" (likewise in {more})");
    }
    let path =
        |[one, other]: &[String; 2]| format!("{}-{}", inert::line(one, 40), inert::line(other, 40));
    let mut paths = suspects.iter().map(path);
    let first = paths.next().unwrap_or_default();
    let others: Vec<String> = paths.collect();
    let others = others.join(" or ");
    sentence += &match blame {
        Blame::OthersClose => format!(
            ". The path {first} takes longer in one direction: the other paths are also in triangles \
             that close, or are too short"
        ),
        Blame::RoundTrip => format!(
            ". One path takes longer in one direction, most likely {first}, whose round trip is \
             longer by that much; otherwise {others}"
        ),
        Blame::Undecided => format!(
            ". One path takes longer in one direction: {first} or {others}; exchanges along more \
             paths would show which"
        ),
    };
    sentence + ". The uncertainty was increased accordingly; the bounds hold"
}
