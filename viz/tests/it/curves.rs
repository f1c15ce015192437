//! Examples of curves of measurements, and properties of all.

use crate::examples::{HOSTILE, assert_inert, assert_well_formed, svg};
use collbench_viz::{CurveAxis, Curves, Quantity, Stroke};
use proptest::prelude::*;

#[test]
fn a_line_and_points_on_logarithmic_and_linear_axes() {
    let mut curves = Curves::new(
        "The rounds are 9.3 times as fast with 64 hosts",
        "64 hosts, simulated",
        CurveAxis::new("hosts", Quantity::Number).logarithmic(),
        CurveAxis::new("time to measure all", Quantity::Time),
    );
    let sizes = [2.0, 4.0, 8.0, 16.0, 32.0, 64.0f64];
    let linear = sizes.map(|n| (n, 9e6 * (n - 1.0)));
    curves.push("one after the other", Stroke::Line, linear);
    curves.push(
        "in rounds",
        Stroke::Points,
        sizes.map(|n| (n, 1e7 * n.log2())),
    );
    let svg = svg(curves);
    assert_well_formed(&svg);
    assert_eq!(svg.matches("<circle").count(), 6, "a point for each");
    assert!(svg.contains("time to measure all, in ms"), "{svg}");
    assert!(svg.contains("hosts (logarithmic)"));
}

#[test]
fn what_cannot_be_drawn_is_left_out_and_counted() {
    let x = CurveAxis::new("round trip", Quantity::Time).logarithmic();
    let mut curves = Curves::new("f", "s", x, CurveAxis::new("n", Quantity::Number));
    let points = [(0.0, 1.0), (5.0, f64::NAN), (-1.0, 2.0), (7.0, 3.0)];
    curves.push("some", Stroke::Points, points);
    let svg = svg(curves);
    assert_well_formed(&svg);
    assert!(svg.contains("some (3 points left out)"));
    assert_eq!(svg.matches("<circle").count(), 1);
}

#[test]
fn a_picture_without_measurements_says_so() {
    let axis = || CurveAxis::new("t", Quantity::Time);
    let svg = svg(Curves::new(HOSTILE, HOSTILE, axis(), axis()));
    assert_well_formed(&svg);
    assert_inert(&svg);
    assert!(svg.contains("nothing was measured"));
}

proptest! {
    #[test]
    fn any_numbers_give_a_picture(
        points in prop::collection::vec((any::<f64>(), any::<f64>()), 0..20),
        logarithmic in any::<[bool; 2]>(),
        stroke in prop::sample::select(vec![Stroke::Line, Stroke::Points]),
    ) {
        let axis = |is_logarithmic| CurveAxis {
            is_logarithmic,
            ..CurveAxis::new("a", Quantity::Time)
        };
        let mut curves = Curves::new("f", "s", axis(logarithmic[0]), axis(logarithmic[1]));
        curves.push("any", stroke, points);
        assert_well_formed(&svg(curves));
    }
}
