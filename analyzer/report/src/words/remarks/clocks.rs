//! Remarks on the clocks.

use collbench_analyzer::results::{Blame, UnclosedTriangle};
use collbench_text::inert;
use collbench_text::quantity::counted;

pub(super) fn not_aligned(n_hosts: usize, n_groups: usize, reason: Option<&str>) -> String {
    let group = if n_hosts == n_groups {
        "host".to_owned()
    } else {
        format!("of {n_groups} groups of hosts")
    };
    let mut sentence = format!(
        "{n_hosts} hosts, whose clocks are not aligned: times are compared within each {group} \
         only. Where an instance has processes on several of them, its lags and waits are against \
         processes of the same one (lower bounds), its duration is the longest of any, and its core \
         and who came last are not known"
    );
    if let Some(reason) = reason {
        sentence += &format!(". The recorder took no measurements: {reason}");
    }
    sentence
}

pub(super) fn apart(n_ranks: usize, rank: u32) -> String {
    format!(
        "{} (the first is rank {rank}) differ in clock from the other ranks of the host, by \
         more than a message inside of it takes: each is shown as a host of its own",
        counted(n_ranks, "rank")
    )
}

pub(super) fn exchanges_ended(n_ranks: usize, reason: &str) -> String {
    format!(
        "measuring clocks against one another ended early on {}: {reason}",
        counted(n_ranks, "rank")
    )
}

pub(super) fn drift_not_known(n_hosts: usize) -> String {
    format!(
        "the clocks of {} were compared at one instant only, as those of a run that was \
         killed: how fast they drift is not known, so the error of times across hosts grows \
         by 100 us per second from there",
        counted(n_hosts, "host")
    )
}

pub(super) fn no_offset_at_end(n_hosts: usize) -> String {
    format!(
        "the offsets of the clocks of {} were not measured at the end of the run: times \
         across hosts are less sure the later they are",
        counted(n_hosts, "host")
    )
}

pub(super) fn alignment_not_converged(n_hosts: usize) -> String {
    format!(
        "the clocks of {} were not fitted to rest by what was measured: their uncertainty \
         may be too small; compare with --alignment piecewise",
        counted(n_hosts, "host")
    )
}

pub(super) fn wander() -> String {
    "the rates of the clocks change faster than those of free-running ones, as where a \
     daemon sets them; record with --clock raw or tsc"
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
        "host {}: its clocks are up to {:.1} us off one another: a clock stepped, or its time \
         stamp counter is not invariant; record with --clock raw",
        inert::line(host, 40),
        step_ns as f64 / 1e3
    )
}

pub(super) fn not_scaled(host: &str) -> String {
    format!(
        "host {}: its clock readings give no tick rate; ticks are shown as ns",
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
        "the offsets measured between the hosts {}, {} and {} do not close: {:.1} us are left, the \
         error explains {:.1} us",
        inert::line(a, 40),
        inert::line(b, 40),
        inert::line(c, 40),
        *gap_ns as f64 / 1e3,
        *error_ns as f64 / 1e3,
    );
    if *n_triangles > 1 {
        sentence += &format!(" (and so in {} more triangles)", n_triangles - 1);
    }
    let path =
        |[one, other]: &[String; 2]| format!("{}-{}", inert::line(one, 40), inert::line(other, 40));
    let mut paths = suspects.iter().map(path);
    let first = paths.next().unwrap_or_default();
    let others: Vec<String> = paths.collect();
    let others = others.join(" or ");
    sentence += &match blame {
        Blame::OthersClose => format!(
            ". The path {first} takes longer one way than back: the others are also in triangles \
             that close, or too short for it"
        ),
        Blame::RoundTrip => format!(
            ". A path takes longer one way than back, most likely {first}, whose round trip is \
             longer by as much as that makes it; else {others}"
        ),
        Blame::Undecided => format!(
            ". A path takes longer one way than back: {first} or {others}; exchanges along more \
             paths would tell which"
        ),
    };
    sentence + ". The uncertainty has grown by that; the bounds hold"
}
