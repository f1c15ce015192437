//! Examples of bars made up of parts.

use crate::examples::{HOSTILE, assert_inert, assert_well_formed, svg};
use collbench_viz::{BarPart, StackedBars};

fn part(name: &str, ns: f64) -> BarPart {
    BarPart::new(name, ns).unwrap()
}

#[test]
fn bars_say_what_they_are_made_of_and_parts_of_one_name_look_alike() {
    let mut bars = StackedBars::new("One way takes 9.90 us", "three platforms");
    bars.push(
        "LAN, one way",
        vec![
            part("o_s", 1_400.0),
            part("L", 6_300.0),
            part("o_r", 2_200.0),
        ],
    );
    bars.push("LAN", vec![part("g", 7_600.0)]);
    bars.push("WAN, one way", vec![part("L", 5e6), part("o_r", 2_200.0)]);
    let svg = svg(bars);
    assert_well_formed(&svg);
    assert!(svg.contains("LAN, one way: o_s 1.40 us + L 6.30 us + o_r 2.20 us = 9.90 us"));
    assert!(svg.contains(">LAN: g 7.60 us<"), "no sum of one part");
    assert_eq!(svg.matches("<rect class=\"k1\"").count(), 2, "L");
    assert_eq!(svg.matches("<rect class=\"k3\"").count(), 1, "g");
}

#[test]
fn no_bars_and_hostile_names_give_a_picture() {
    let mut bars = StackedBars::new(HOSTILE, HOSTILE);
    let empty = svg(bars.clone());
    assert!(empty.contains("nothing was measured"));
    bars.push(HOSTILE, vec![part(HOSTILE, 0.0)]);
    for svg in [empty, svg(bars)] {
        assert_well_formed(&svg);
        assert_inert(&svg);
    }
}

#[test]
fn a_part_has_a_length() {
    for ns in [-1.0, f64::NAN, f64::INFINITY, 1e18] {
        assert!(BarPart::new("p", ns).is_none(), "{ns}");
    }
}
