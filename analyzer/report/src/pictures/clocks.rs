//! The clocks of several hosts over the run.

use std::cmp::Reverse;

use collbench_analyzer::Analysis;
use collbench_analyzer::results::ClockCourse;
use collbench_text::quantity;
use collbench_viz::{ClockOffsets, OffsetPoint};

use crate::words;

/// Caption of the picture.
pub(super) const CAPTION: &str = "Above: the offset of each host's clock against the reference \
     host, minus the straight line from the start to the end of the run. This is the error that two \
     measurements alone would leave. The bands, for the three clocks that depart the most, are two \
     standard deviations of the estimate. The points are offsets measured by single bursts of \
     exchanges. Below, where it is notable beside the error: the distance of these points from the \
     curve. A single point far off is a \
     disturbed burst; many points off together are a clock that stepped or a network path that \
     changed.";

/// Most clocks in the picture.
const MAX_CLOCKS: usize = 12;

/// The picture; `None` with one host, or if no clock was aligned.
pub(super) fn clock_offsets(analysis: &Analysis) -> Option<ClockOffsets> {
    let courses = &analysis.clock.courses;
    let mut shown: Vec<&ClockCourse> = courses.iter().collect();
    // The sort is stable: equal clocks stay in the order of hosts.
    shown.sort_by_key(|course| Reverse(bend_ns(course)));
    shown.first()?;
    let finding = finding(&shown);
    let of_all = if courses.len() > MAX_CLOCKS {
        let n = courses.len();
        format!("; the {MAX_CLOCKS} of {n} clocks that depart the most from a straight line")
    } else {
        String::new()
    };
    let subtitle = format!(
        "Against {}: {}{}{of_all}; {}",
        collbench_text::inert::line(&analysis.clock.reference_host, 40),
        words::alignment(&analysis.clock),
        drifts(analysis),
        violations(analysis)
    );
    let mut picture = ClockOffsets::new(finding.into(), subtitle.into());
    for course in shown.into_iter().take(MAX_CLOCKS) {
        let point = |&(at_ns, offset_ns, error_ns): &(i64, i64, i64)| OffsetPoint {
            at_ns,
            offset_ns,
            error_ns,
        };
        let curve = course.points.iter().map(point);
        let measured = course.bursts.iter().map(point);
        picture.push(course.host.as_str().into(), curve, measured);
    }
    Some(picture)
}

/// Largest deviation of a clock from its straight line, ns.
fn bend_ns(course: &ClockCourse) -> i64 {
    let points = course.points.iter();
    let bends = points.map(|(_, offset_ns, _)| offset_ns.saturating_abs());
    bends.max().unwrap_or(0)
}

/// The deviations of the clocks, the largest first; one below its uncertainty is not a deviation.
fn finding(courses: &[&ClockCourse]) -> String {
    let error_ns = |course: &ClockCourse| {
        let errors = course.points.iter().map(|&(_, _, error_ns)| error_ns);
        errors.max().unwrap_or(0)
    };
    let departs = |course: &&&ClockCourse| bend_ns(course) > error_ns(course);
    match courses.iter().find(departs) {
        Some(course) => format!(
            "The clock of {} departs from a straight line by up to {}",
            collbench_text::inert::line(&course.host, 40),
            quantity::duration(bend_ns(course))
        ),
        None => format!(
            "No clock departs from a straight line by more than the error, {}",
            quantity::duration(
                courses
                    .iter()
                    .map(|course| error_ns(course))
                    .max()
                    .unwrap_or(0)
            )
        ),
    }
}

/// The slopes that the picture leaves out.
fn drifts(analysis: &Analysis) -> String {
    let hosts = analysis.clock.hosts.iter().skip(1);
    let drifts: Vec<f64> = hosts.filter_map(|host| host.drift_ppm).collect();
    let least = drifts.iter().copied().min_by(f64::total_cmp);
    let greatest = drifts.iter().copied().max_by(f64::total_cmp);
    match (least, greatest) {
        (Some(least), Some(greatest)) if drifts.len() > 1 => {
            format!("; drifts of {least:.3} to {greatest:.3} ppm")
        }
        (Some(drift), _) => format!("; a drift of {drift:.3} ppm"),
        _ => "; drift not known".to_owned(),
    }
}

fn violations(analysis: &Analysis) -> String {
    let violations = &analysis.clock.violations;
    match (violations.checked, violations.before, violations.after) {
        (Some(checked), Some(before), Some(after)) => format!(
            "a host left a collective too early in {before} of {checked} cases before alignment, \
             in {after} after"
        ),
        _ => "causality not checked".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(host: &str, offset_ns: i64, error_ns: i64) -> ClockCourse {
        ClockCourse {
            host: host.to_owned(),
            points: vec![(0, 0, error_ns / 2), (5, offset_ns, error_ns), (9, 0, 0)],
            bursts: Vec::new(),
        }
    }

    #[test]
    fn a_clock_departs_only_where_it_does_by_more_than_its_error() {
        let (far, near) = (course("far", -80_000, 90_000), course("near", 7_000, 2_000));
        let found = finding(&[&far, &near]);
        assert_eq!(
            found,
            "The clock of near departs from a straight line by up to 7.00 us"
        );
        let found = finding(&[&far, &course("near", 1_000, 2_000)]);
        assert!(
            found.ends_with("by more than the error, 90.0 us"),
            "{found}"
        );
    }
}
