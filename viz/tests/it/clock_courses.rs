//! Examples of clock offsets, and properties of all.

use crate::examples::{HOSTILE, assert_inert, assert_well_formed, classed, svg};
use collbench_viz::{ClockOffsets, OffsetPoint};
use proptest::prelude::*;
use roxmltree::Document;

fn point(at_ns: i64, offset_ns: i64, error_ns: i64) -> OffsetPoint {
    OffsetPoint {
        at_ns,
        offset_ns,
        error_ns,
    }
}

/// Two clocks over 100 s: one deviates by +4 us, one by -1 us; a burst of the first was disturbed.
fn two() -> ClockOffsets {
    let finding = "The clock of n2 departs from a straight line by up to 4 us";
    let mut clocks = ClockOffsets::new(finding.into(), "Against n1".into());
    for (host, most_ns) in [("n2", 4_000), ("n3", -1_000)] {
        let bend = |second: i64| most_ns * second * (100 - second) / 2_500;
        let curve = (0..=100).map(|second| point(second * 1_000_000_000, bend(second), 300));
        let measured = [0, 25, 50, 75, 100].map(|second| {
            let disturbed = if host == "n2" && second == 75 { 900 } else { 0 };
            point(second * 1_000_000_000, bend(second) + disturbed, 20_000)
        });
        clocks.push(host.into(), curve, measured);
    }
    clocks
}

#[test]
fn each_clock_has_a_curve_a_band_and_its_bursts_twice() {
    let svg = svg(two());
    assert_well_formed(&svg);
    let document = Document::parse(&svg).unwrap();
    let of_class = |class| classed(&document, class).len();
    assert_eq!(of_class("outer"), 2);
    // An offset curve, and a line in the legend.
    assert_eq!(of_class("line"), 4);
    assert_eq!(of_class("point"), 20);
    assert!(
        svg.contains("n2: up to 4.00 us off the straight line, ±300 ns; 5 bursts"),
        "{svg}"
    );
}

#[test]
fn a_disturbed_burst_is_as_far_from_the_curve_as_it_was_disturbed() {
    assert!(svg(two()).contains("n2 at 75.0 s: 900 ns (error at most 20.0 us)"));
}

#[test]
fn residuals_far_below_the_error_have_no_plot() {
    let mut clocks = ClockOffsets::new("Straight".into(), "Against n1".into());
    let ends = || [0, 90_000_000_000].into_iter();
    let curve = ends().map(|at_ns| point(at_ns, 0, 5_130_000));
    let measured = ends().map(|at_ns| point(at_ns, 3, 6_000_000));
    clocks.push("n2".into(), curve, measured);
    let svg = svg(clocks);
    assert_well_formed(&svg);
    assert!(!svg.contains("minus the curve"), "{svg}");
    assert!(svg.contains(">All measured offsets are within 3 ns of their curves.<"));
    assert!(svg.contains("n2: straight within its error, ±5.13 ms; 2 bursts"));
}

#[test]
fn names_are_inert() {
    let mut clocks = ClockOffsets::new(HOSTILE.into(), HOSTILE.into());
    clocks.push(HOSTILE.into(), [point(0, 0, 0)], []);
    assert_inert(&svg(clocks));
}

proptest! {
    #[test]
    fn anything_is_drawn(
        points in prop::collection::vec(any::<(i64, i64, i64)>(), 0..20),
        bursts in prop::collection::vec(any::<(i64, i64, i64)>(), 0..20),
    ) {
        let mut clocks = ClockOffsets::new("any".into(), "".into());
        let of = |list: Vec<(i64, i64, i64)>| list.into_iter().map(|(at, offset, error)| point(at, offset, error));
        clocks.push("n".into(), of(points), of(bursts));
        assert_well_formed(&svg(clocks));
    }
}
