//! Results on clocks: how hosts were aligned, and the errors of that.

use collbench_clocks::AlignmentMethod;
use collbench_formats::ClockSource;

use crate::judge::causes::sites::Sites;
use crate::judge::inputs::Inputs;
use crate::results::clock::{
    ClockCourse, ClockErrors, ClockSummary, ClosureSummary, HostSummary, PairErrors, Violations,
};
use crate::time::clocks::{Clocks, HostAlignment};

/// Most hosts for which all pairs are listed; beyond, those with the reference host.
const MAX_ALL_PAIRS: usize = 16;
/// Points of the course of a clock.
const COURSE_POINTS: i64 = 400;
/// Hosts whose course is shown.
const MAX_COURSES: usize = 64;

/// What is known of the clocks, and of the sites of their hosts.
pub(crate) fn clock_summary(inputs: &Inputs<'_>, sites: Option<&Sites>) -> ClockSummary {
    let Inputs { run, clocks, .. } = inputs;
    let mut names: Vec<&str> = Vec::new();
    for process in &run.processes {
        let name = match process.trace.identity.clock.source {
            ClockSource::Tsc => "tsc",
            ClockSource::MonotonicRaw => "raw",
            ClockSource::Monotonic => "monotonic",
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.sort_unstable();
    ClockSummary {
        method: clock_method(clocks).into(),
        source: names.join(","),
        reference_host: clocks.hosts[0].name.clone(),
        hosts: clocks
            .hosts
            .iter()
            .enumerate()
            .map(|(index, host)| {
                // The offset against the reference of another group is not known.
                let is_known = host.group == clocks.hosts[0].group;
                let of_own = |of: &dyn Fn(&HostAlignment) -> i64| {
                    is_known.then(|| host.alignment.as_ref().map_or(0, of))
                };
                let drift_ppm = match &host.alignment {
                    None => Some(0.0),
                    Some(own) => own.drift_ppm,
                };
                HostSummary {
                    host: host.name.clone(),
                    offset_ns: of_own(&|own| own.offset_ns),
                    drift_ppm: drift_ppm.filter(|_| is_known),
                    uncertainty_ns: of_own(&|own| own.uncertainty_ns),
                    bound_ns: of_own(&|own| own.bound_ns),
                    group: host.group,
                    site: sites.map(|sites| sites.of_host[index]),
                    granularity_ns: host.granularity_ns,
                    ticks_per_second: host.ticks_per_second,
                    rate_error_ppm: host.rate_error_ppm,
                }
            })
            .collect(),
        violations: violations(inputs),
        errors: clock_errors(clocks),
        closure: clocks.closure.as_ref().map(|closure| ClosureSummary {
            triangles: closure.n_triangles,
            open: closure.n_open,
            hosts: closure.hosts.map(|host| clocks.hosts[host].name.clone()),
            gap_ns: closure.gap_ns,
            error_ns: closure.error_ns,
        }),
        host_sites: sites.map(|sites| sites.summary.clone()),
        courses: clock_courses(clocks),
    }
}

/// How the clocks of the hosts were brought to one time, in words.
fn clock_method(clocks: &Clocks) -> &'static str {
    let bursts = clocks.hosts.iter().filter_map(|host| host.alignment);
    let most = bursts.map(|own| own.n_bursts).max();
    match (clocks.hosts.len(), clocks.n_groups()) {
        (1, _) => "one host: one clock",
        (n_hosts, n_groups) if n_hosts == n_groups => "not aligned: compared within hosts only",
        (_, n_groups) if n_groups > 1 => "only some hosts aligned: compared within groups of hosts",
        _ => match (clocks.method, most) {
            (AlignmentMethod::Offset, _) => "offset at the start; drift not known",
            (AlignmentMethod::TwoPoint, _) => "offsets at start and end, interpolated",
            (AlignmentMethod::Piecewise, _) => "offsets in bursts, interpolated piecewise",
            (AlignmentMethod::Smooth, Some(1)) if !clocks.has_known_drifts() => {
                "offset at one instant; drift not known"
            }
            (AlignmentMethod::Smooth, _) => "offsets smoothed jointly",
        },
    }
}

/// Hosts that left collectives before those they depend on had entered.
fn violations(inputs: &Inputs<'_>) -> Violations {
    let counts = &inputs.sums.counts.causality;
    let have_one_time = inputs.clocks.n_groups() == 1;
    Violations {
        checked: Some(counts.checked).filter(|_| have_one_time),
        before: Some(counts.before).filter(|_| have_one_time),
        after: Some(counts.after).filter(|_| have_one_time),
    }
}

/// Errors of the differences between hosts, at some times of the run.
fn clock_errors(clocks: &Clocks) -> Option<ClockErrors> {
    let n_hosts = clocks.hosts.len();
    let others = |a: usize| {
        if n_hosts <= MAX_ALL_PAIRS || a == 0 {
            a + 1..n_hosts
        } else {
            0..0
        }
    };
    let pairs = (0..n_hosts).flat_map(|a| others(a).map(move |b| (a, b)));
    let have_one_time = |&(a, b): &(usize, usize)| clocks.hosts[a].group == clocks.hosts[b].group;
    let errors = &clocks.errors;
    let times = || 0..errors.at_ns().len();
    let pairs: Vec<PairErrors> = pairs
        .filter(have_one_time)
        .map(|(a, b)| PairErrors {
            host: clocks.hosts[a].name.clone(),
            other: clocks.hosts[b].name.clone(),
            uncertainty_ns: times()
                .map(|time| errors.uncertainty_ns(a, b, time))
                .collect(),
            bound_ns: times().map(|time| errors.bound_ns(a, b, time)).collect(),
        })
        .collect();
    (!pairs.is_empty()).then(|| ClockErrors {
        at_ns: errors.at_ns().to_vec(),
        pairs,
    })
}

/// The offsets of the clocks of hosts over the run.
fn clock_courses(clocks: &Clocks) -> Vec<ClockCourse> {
    let errors = &clocks.errors;
    let Some(&end_ns) = errors.at_ns().last() else {
        return Vec::new();
    };
    let reference = |group: usize| clocks.hosts.iter().position(|host| host.group == group);
    let with_offsets = clocks.hosts.iter().zip(clocks.offsets()).enumerate();
    let aligned = with_offsets.filter(|(_, (_, offset))| offset.correction.is_some());
    aligned
        .take(MAX_COURSES)
        .map(|(index, (host, offset))| {
            let reference = reference(host.group).unwrap_or(index);
            let offset_ns = |time_ns: i64| {
                let at_ns = offset.local_ns(time_ns);
                offset
                    .correction
                    .as_ref()
                    .map_or(0, |own| own.at(at_ns).offset_ns)
            };
            let (first, last) = (offset_ns(0), offset_ns(end_ns));
            let line_ns = |time_ns: i64| {
                let change = i128::from(last) - i128::from(first);
                let moved = change * i128::from(time_ns) / i128::from(end_ns.max(1));
                first.saturating_add(moved as i64)
            };
            let uncertainty_ns = |time_ns: i64| errors.uncertainty_at_ns(index, reference, time_ns);
            let points = (0..=COURSE_POINTS).map(|i| {
                let part = i128::from(end_ns) * i128::from(i) / i128::from(COURSE_POINTS);
                let time_ns = part as i64;
                let course_ns = offset_ns(time_ns).saturating_sub(line_ns(time_ns));
                (time_ns, course_ns, uncertainty_ns(time_ns))
            });
            let bursts = offset.bursts.iter().flat_map(|bursts| &bursts.knots);
            let bursts = bursts.map(|burst| {
                let time_ns = offset.time_ns(burst.at_ns);
                let off_ns = burst.offset_ns.saturating_sub(line_ns(time_ns));
                (time_ns, off_ns, burst.bound_ns)
            });
            ClockCourse {
                host: host.name.clone(),
                points: points.collect(),
                bursts: bursts.collect(),
            }
        })
        .collect()
}
