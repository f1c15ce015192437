//! Examples of values with their intervals, and properties of all.

use crate::examples::{HOSTILE, assert_inert, assert_well_formed, svg};
use collbench_viz::{Interval, Intervals, Quantity};
use proptest::prelude::*;

fn mark(what: &str, value: f64, ends: (f64, f64)) -> Interval {
    Interval::new(what, value, Some(ends)).unwrap()
}

#[test]
fn what_was_expected_stands_beside_what_was_measured() {
    let mut intervals = Intervals::new(
        "with trees the program takes 46.0 % less time (44.7 to 47.3 %), measured in 6 rounds",
        "the program twice and each proposal once in each round",
        "time of the command by that of the program as it is",
        Quantity::Number,
    )
    .with_line(1.0, "as the program is");
    intervals.push(
        "the program itself: its second run of a round by the first",
        [mark("measured", 1.004, (0.981, 1.02))],
    );
    intervals.push(
        "algorithms: no gain that can be told from chance",
        [
            mark("predicted", 0.93, (0.92, 0.94)),
            mark("measured", 0.97, (0.93, 1.01)),
        ],
    );
    intervals.push(
        "trees: faster",
        [
            mark("predicted", 0.52, (0.5, 0.55)),
            mark("measured", 0.54, (0.527, 0.553)),
        ],
    );
    intervals.push("mine.toml: not applied", []);
    let svg = svg(intervals);
    assert_well_formed(&svg);
    insta::assert_binary_snapshot!("ratios.svg", svg.into_bytes());
}

#[test]
fn an_interval_beyond_the_axis_is_drawn_to_its_end_and_told_in_words() {
    let mut times = Intervals::new("f", "s", "time of an instance", Quantity::Time);
    times.push("ring", [mark("measured", 2e6, (1.9e6, 9e7))]);
    times.push(
        "tree",
        [
            mark("predicted", 1e6, (0.9e6, 1.2e6)),
            Interval::new("measured", 1.1e6, None).unwrap(),
        ],
    );
    let svg = svg(times);
    assert_well_formed(&svg);
    assert!(svg.contains(">measured 2.00 ms (1.90 ms to 90.0 ms)</text>"));
    assert!(svg.contains(">measured 1.10 ms</text>"), "no interval");
    assert_eq!(svg.matches("class=\"cap k").count(), 3, "one end is beyond");
    assert!(svg.contains("time of an instance, in ms"));
    assert_eq!(svg.matches("<circle class=\"k0\"").count(), 2, "measured");
    assert_eq!(svg.matches("<rect class=\"k1\"").count(), 1, "predicted");
}

#[test]
fn a_value_has_a_place_on_the_axis() {
    for value in [-1.0, f64::NAN, f64::INFINITY, 1e18] {
        assert!(Interval::new("v", value, None).is_none(), "{value}");
        let ends = Some((1.0, value));
        assert!(Interval::new("v", 1.0, ends).is_none(), "{value}");
    }
}

proptest! {
    #[test]
    fn any_numbers_and_names_give_a_picture(
        values in prop::collection::vec((0.0..1e18f64, prop::option::of((0.0..1e18f64, 0.0..1e18f64))), 0..6),
        line in prop::option::of(any::<f64>()),
        is_time in any::<bool>(),
    ) {
        let quantity = if is_time { Quantity::Time } else { Quantity::Number };
        let mut intervals = Intervals::new(HOSTILE, HOSTILE, HOSTILE, quantity);
        if let Some(at) = line {
            intervals = intervals.with_line(at, HOSTILE);
        }
        for (value, ends) in values {
            intervals.push(HOSTILE, Interval::new(HOSTILE, value, ends));
        }
        let svg = svg(intervals);
        assert_well_formed(&svg);
        assert_inert(&svg);
    }
}
