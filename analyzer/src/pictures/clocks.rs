//! The clocks of several hosts over the run.

use collbench_viz::{ClockCourses, OffsetPoint};

use crate::analysis::{Analysis, ClockCourse};
use crate::words;

/// How to read it.
pub(super) const CAPTION: &str = "Above: how far the clock of each host departs from going evenly, \
     against the reference host: its offset less the straight line from the start to the end of the \
     run, which is what two measurements alone would get wrong. The bands, of the \
     three that bend the most, are two standard deviations of the time that is used, the points are offsets as single bursts of exchanges told them. \
     Below: how far these points lie from the curve. A burst that lies far off was disturbed; many \
     that lie off together are a clock that stepped, or a path that changed.";

/// Clocks that are drawn.
const MAX_CLOCKS: usize = 12;

/// The picture; `None` of one host, and where no clock was aligned.
pub(super) fn clock_courses(analysis: &Analysis) -> Option<ClockCourses> {
    let courses = &analysis.clock.courses;
    let bend = |course: &ClockCourse| {
        let points = course.points.iter();
        points
            .map(|(_, offset_ns, _)| offset_ns.saturating_abs())
            .max()
    };
    let mut shown: Vec<&ClockCourse> = courses.iter().collect();
    // The sort is stable: of equals the first hosts.
    shown.sort_by_key(|course| std::cmp::Reverse(bend(course)));
    let most = shown.first()?;
    let finding = format!(
        "The clock of {} departs from a straight line by up to {}",
        crate::inert::line(&most.host, 40),
        words::duration(bend(most).unwrap_or(0))
    );
    let of_all = match courses.len() > MAX_CLOCKS {
        true => format!("; the {MAX_CLOCKS} of {} that bend the most", courses.len()),
        false => String::new(),
    };
    let subtitle = format!(
        "Against {}: {}{of_all}; {}",
        crate::inert::line(&analysis.clock.reference_host, 40),
        words::alignment(&analysis.clock),
        violations(analysis)
    );
    let mut picture = ClockCourses::new(finding.into(), subtitle.into());
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

fn violations(analysis: &Analysis) -> String {
    let violations = &analysis.clock.violations;
    match (violations.checked, violations.before, violations.after) {
        (Some(checked), Some(before), Some(after)) => format!(
            "left a collective too early: {before} of {checked} before, {after} after alignment"
        ),
        _ => "causality not checked".to_owned(),
    }
}
