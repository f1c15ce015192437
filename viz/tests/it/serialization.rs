//! Examples of serialization curves, and properties of all.

use crate::examples::{
    HOSTILE, assert_inert, assert_well_formed, heading, hostile_heading, number, svg,
};
use collbench_viz::{Departure, Serialization, StageTime, StraightLine};
use proptest::prelude::*;
use roxmltree::Document;

fn departure(position: u32, mean_ns: i64) -> Departure {
    Departure {
        position,
        time: StageTime::new(mean_ns, 2_500).unwrap(),
        rank: None,
    }
}

/// Ranks that leave one after the other, at uneven distances.
fn leaving(n_ranks: u32, every: usize) -> Serialization {
    let heading = heading("Ranks leave one after the other, each 1.20 us after the one before");
    let mut serialization = Serialization::new(heading, n_ranks);
    let departures = (0..n_ranks).step_by(every);
    let departures = departures.map(|position| {
        let jitter = i64::from(position * 37 % 5) * 90;
        departure(position, 6_300 + 1_200 * i64::from(position) + jitter)
    });
    serialization.push(
        "this trace".into(),
        departures,
        StraightLine::new(6_480.0, 1_200.0),
    );
    serialization
}

#[test]
fn four_ranks_leave_one_after_the_other() {
    insta::assert_binary_snapshot!("four.svg", svg(leaving(4, 1)).into());
}

#[test]
fn a_thousand_ranks_are_a_line_without_points() {
    insta::assert_binary_snapshot!("thousand.svg", svg(leaving(1_024, 10)).into());
}

#[test]
fn configurations_differ_in_name_and_dash() {
    let heading = heading("A tree of two levels lets the ranks go three times as fast");
    let mut serialization = Serialization::new(heading, 8);
    for (name, first_ns, per_rank_ns) in [("flat", 4_000, 900), ("two levels", 6_500, 300)] {
        let departures = (0..8).map(|p| departure(p, first_ns + per_rank_ns * i64::from(p)));
        let line = StraightLine::new(first_ns as f64, per_rank_ns as f64);
        serialization.push(name.into(), departures, line.filter(|_| name == "flat"));
    }
    insta::assert_binary_snapshot!("configurations.svg", svg(serialization).into());
}

#[test]
fn the_clock_error_is_a_band_and_widens_the_axis() {
    let svg = svg(leaving(4, 1).with_clock_error(50_000));
    assert!(svg.contains("clock error, ±50.0 us"), "{svg}");
    let document = Document::parse(&svg).unwrap();
    let mut nodes = document.descendants();
    let band = nodes
        .find(|node| node.tag_name().name() == "polygon")
        .unwrap();
    let points = band.attribute("points").unwrap();
    let ys: Vec<f64> = points
        .split_whitespace()
        .map(|point| point.split_once(',').unwrap().1.parse().unwrap())
        .collect();
    // Four points above, and the same four below, 100 us further down.
    assert_eq!(ys.len(), 8);
    assert!((ys[7] - ys[0] - (ys[4] - ys[3])).abs() < 0.25, "{ys:?}");
    assert!(ys[7] > ys[0] && ys.iter().all(|y| *y > 0.0));
}

#[test]
fn a_child_of_a_node_is_named() {
    let mut nodes = Serialization::new(heading("Nodes"), 2).of_nodes();
    let second = Departure {
        rank: Some(7),
        ..departure(1, 1_500)
    };
    nodes.push("rank 3".into(), [departure(0, 0), second], None);
    let svg = svg(nodes);
    assert!(
        svg.contains("rank 3, position 1 (rank 7): 1.50 us (n = 2,500)"),
        "{svg}"
    );
    assert!(svg.contains("up to 2 children"), "{svg}");
}

#[test]
fn points_are_at_their_times() {
    let svg = svg(leaving(16, 1));
    let document = Document::parse(&svg).unwrap();
    let circles: Vec<(f64, f64)> = document
        .descendants()
        .filter(|node| node.tag_name().name() == "circle")
        .map(|circle| (number(circle, "cx"), number(circle, "cy")))
        .collect();
    assert_eq!(circles.len(), 16);
    let ns = |p: usize| 6_300.0 + 1_200.0 * p as f64 + (p * 37 % 5) as f64 * 90.0;
    let (first, last) = (circles[0], circles[15]);
    for (position, at) in circles.iter().enumerate() {
        let x = first.0 + (last.0 - first.0) * position as f64 / 15.0;
        let part = (ns(position) - ns(0)) / (ns(15) - ns(0));
        let y = first.1 + (last.1 - first.1) * part;
        assert!(
            (at.0 - x).abs() < 0.25 && (at.1 - y).abs() < 0.25,
            "{position}: {at:?}"
        );
    }
    assert!(svg.contains("this trace, position 15: 24.3 us (n = 2,500)"));
    assert!(svg.contains("starts at 6.48 us, each further rank leaves 1.20 us later"));
}

#[test]
fn without_a_line_none_is_drawn_and_without_times_the_picture_says_so() {
    let mut serialization = Serialization::new(heading("Nothing"), 3);
    serialization.push("this trace".into(), [], None);
    let svg = svg(serialization);
    assert!(svg.contains(">not resolvable<"), "{svg}");
    assert!(!svg.contains("straight line"));
    assert_well_formed(&svg);
}

#[test]
fn a_line_that_is_no_number_is_none() {
    assert_eq!(StraightLine::new(f64::NAN, 1.0), None);
    assert_eq!(StraightLine::new(1.0, f64::INFINITY), None);
}

#[test]
fn hostile_names_are_text_and_nothing_else() {
    let mut serialization = Serialization::new(hostile_heading(), 2);
    serialization.push(HOSTILE.into(), [departure(0, 5), departure(1, 7)], None);
    assert_inert(&svg(serialization));
}

proptest! {
    #[test]
    fn any_input_is_a_well_formed_picture_inside_its_frame(
        n_ranks in any::<u32>(),
        curves in prop::collection::vec(
            (
                any::<String>(),
                prop::collection::vec((any::<u32>(), any::<i64>()), 0..90),
                any::<(f64, f64)>(),
            ),
            0..4,
        ),
    ) {
        let mut serialization = Serialization::new(heading("Anything"), n_ranks);
        for (name, points, (at_first_ns, per_rank_ns)) in curves {
            let departures = points.into_iter().map(|(position, ns)| departure(position, ns));
            let line = StraightLine::new(at_first_ns, per_rank_ns);
            serialization.push(name.into(), departures, line);
        }
        let drawn = svg(serialization.clone());
        assert_well_formed(&drawn);
        prop_assert_eq!(drawn, svg(serialization));
    }
}
