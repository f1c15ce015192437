//! Examples of comparisons of traces and configurations, and properties of all.

use crate::examples::{
    HOSTILE, allreduce, assert_inert, assert_well_formed, heading, hostile_heading, rank, svg,
    times_ns,
};
use collbench_viz::{Comparison, SideBySide, StageTime, Stages, Timemap};
use proptest::prelude::*;
use roxmltree::Document;

fn side_by_side(timemaps: Vec<Timemap>) -> Option<SideBySide> {
    let names = [
        "baseline",
        "tree of two levels",
        "more hosts",
        "fewer",
        "fifth",
    ];
    let columns = names.iter().map(|&name| name.into()).zip(timemaps);
    SideBySide::new(
        heading("The second trace waits half as long"),
        columns.collect(),
    )
}

fn stages(n_down: usize, n_up: usize) -> Stages {
    Stages {
        down: (0..n_down).map(|n| format!("down {n}").into()).collect(),
        core: Some("core".into()),
        up: (0..n_up).map(|n| format!("up {n}").into()).collect(),
    }
}

#[test]
fn two_traces_side_by_side() {
    let timemaps = vec![allreduce(16, 4), allreduce(64, 16)];
    let svg = svg(side_by_side(timemaps).unwrap());
    insta::assert_binary_snapshot!("beside-two.svg", svg.into());
}

#[test]
fn five_traces_take_two_rows_of_columns() {
    let timemaps = [4, 16, 64, 256, 1_024].map(|n| allreduce(n, 4)).into();
    let svg = svg(side_by_side(timemaps).unwrap());
    assert!(svg.len() < 100_000, "{} bytes", svg.len());
    insta::assert_binary_snapshot!("beside-five.svg", svg.into());
}

#[test]
fn timemaps_with_different_stages_cannot_be_side_by_side() {
    let other = Timemap::new(heading("Other"), stages(1, 1));
    assert!(side_by_side(vec![allreduce(4, 2), other]).is_none());
    assert!(side_by_side(vec![]).is_none());
}

#[test]
fn one_thread_under_three_configurations_of_the_same_stages() {
    let mut comparison = Comparison::new(heading("Moving the gred to another host pays"));
    for (idx, name) in ["B4", "B4, gred moved", "B256"].into_iter().enumerate() {
        let times_ns = times_ns(16, 4, 2 + 4 * idx as u64);
        comparison.push(name.into(), Stages::seen_from_outside(), |stage| {
            StageTime::new(times_ns[stage], 2_500)
        });
    }
    let svg = svg(comparison);
    insta::assert_binary_snapshot!("configurations.svg", svg.into());
}

#[test]
fn ways_of_different_length_begin_and_end_at_the_same_levels() {
    let mut comparison = Comparison::new(heading("One level more costs 3 us"));
    for (name, n) in [("flat", 1), ("two levels", 2), ("three levels", 3)] {
        comparison.push(name.into(), stages(n, n), |stage| {
            StageTime::new(1_000 + 500 * stage as i64, 100)
        });
    }
    let svg = svg(comparison);
    let document = Document::parse(&svg).unwrap();
    let lines = document
        .descendants()
        .filter(|node| node.has_attribute("data-ns"));
    let levels: Vec<(String, String, usize)> = lines
        .map(|line| {
            let mut children = line.children();
            let polyline = children
                .find(|c| c.tag_name().name() == "polyline")
                .unwrap();
            let points = polyline.attribute("points").unwrap().split(' ');
            let ys: Vec<&str> = points
                .map(|point| point.split_once(',').unwrap().1)
                .collect();
            (ys[0].to_owned(), ys[ys.len() - 1].to_owned(), ys.len())
        })
        .collect();
    assert_eq!(
        levels.iter().map(|level| level.2).collect::<Vec<_>>(),
        [4, 6, 8]
    );
    assert!(
        levels
            .iter()
            .all(|l| (&l.0, &l.1) == (&levels[0].0, &levels[0].1)),
        "{levels:?}"
    );
    assert!(svg.contains("more than flat<"), "{svg}");
    insta::assert_binary_snapshot!("levels.svg", svg.into());
}

#[test]
fn hostile_names_are_text_and_nothing_else() {
    let heading = hostile_heading();
    let stages = Stages {
        down: vec![HOSTILE.into()],
        core: None,
        up: vec![],
    };
    let mut comparison = Comparison::new(heading.clone());
    comparison.push(HOSTILE.into(), stages.clone(), |_| StageTime::new(5, 5));
    assert_inert(&svg(comparison));
    let timemap = Timemap::new(heading.clone(), stages);
    let columns = vec![(HOSTILE.into(), timemap)];
    assert_inert(&svg(SideBySide::new(heading, columns).unwrap()));
}

proptest! {
    #[test]
    fn any_input_is_a_well_formed_picture_inside_its_frame(
        n_down in 0usize..4,
        n_up in 0usize..4,
        times in prop::collection::vec(
            prop::collection::vec(prop::collection::vec(any::<Option<i64>>(), 8), 0..30), 0..6,
        ),
        name in any::<String>(),
    ) {
        let mut comparison = Comparison::new(heading("Anything"));
        let mut columns = Vec::new();
        for threads in times {
            let mut timemap = Timemap::new(heading("Anything"), stages(n_down, n_up));
            for (idx, times) in threads.iter().enumerate() {
                let time = |stage: usize| times[stage].and_then(|ns| StageTime::new(ns, 1));
                timemap.push(rank(idx as u64, 0), time);
                if idx < 2 {
                    comparison.push(name.as_str().into(), stages(idx, n_up), time);
                }
            }
            columns.push((name.as_str().into(), timemap));
        }
        assert_well_formed(&svg(comparison));
        if let Some(beside) = SideBySide::new(heading("Anything"), columns) {
            assert_well_formed(&svg(beside));
        }
    }
}
