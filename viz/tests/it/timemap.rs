//! Examples of timemaps, as snapshots that open in a browser, and properties of all.

use crate::examples::{
    HOSTILE, allreduce, assert_inert, classed, heading, hostile_heading, number, rank, svg,
    times_ns,
};
use collbench_viz::{Line, StageTime, Stages, Timemap};
use proptest::prelude::*;
use roxmltree::{Document, Node};

// Snapshots.

#[test]
fn four_ranks_on_two_hosts() {
    insta::assert_binary_snapshot!(
        "four.svg",
        svg(allreduce(4, 2).with_clock_error(800)).into()
    );
}

#[test]
fn sixteen_ranks_on_four_hosts_are_named() {
    insta::assert_binary_snapshot!("sixteen.svg", svg(allreduce(16, 4)).into());
}

#[test]
fn twenty_four_ranks_on_as_many_hosts_have_a_look_each() {
    insta::assert_binary_snapshot!("twenty-four.svg", svg(allreduce(24, 1)).into());
}

#[test]
fn without_arrival_waits_the_picture_starts_with_the_core() {
    let finding = "The ranks of a host leave one after the other";
    let timemap = allreduce(16, 4).without_down(finding.into());
    insta::assert_binary_snapshot!("way-up.svg", svg(timemap).into());
}

#[test]
fn sixty_four_ranks_on_four_hosts_are_a_band_for_each_host() {
    insta::assert_binary_snapshot!("sixty-four.svg", svg(allreduce(64, 16)).into());
}

#[test]
fn a_thousand_ranks_are_one_band_with_the_medians_of_the_hosts() {
    insta::assert_binary_snapshot!("thousand.svg", svg(allreduce(1_024, 16)).into());
}

#[test]
fn what_is_not_resolvable_is_a_gap() {
    let finding = "Which host waits is below the error of the clocks";
    let mut timemap = Timemap::new(heading(finding), Stages::seen_from_outside());
    for idx in 0..6 {
        let times_ns = times_ns(6, 3, idx);
        timemap.push(rank(idx, idx / 3), |stage| {
            let is_resolvable = stage != 1 && (stage != 3 || idx < 4);
            StageTime::new(times_ns[stage], if is_resolvable { 400 } else { 0 })
        });
    }
    insta::assert_binary_snapshot!("gap.svg", svg(timemap.with_clock_error(1_200)).into());
}

#[test]
fn a_path_through_a_tree_has_as_many_rows_as_stages() {
    let names = |names: &[&str]| names.iter().map(|&name| name.into()).collect();
    let stages = Stages {
        down: names(&[
            "gred on host",
            "proxy to switch",
            "gred on switch",
            "proxy to root",
        ]),
        core: Some("core".into()),
        up: names(&[
            "proxy from root",
            "gred on switch, departure",
            "proxy from switch",
            "gred on host, departure",
        ]),
    };
    let finding = "Ranks behind two proxies need twice the time";
    let mut timemap = Timemap::new(heading(finding), stages);
    for idx in 0..48u64 {
        let n_proxies = 1 + i64::from(idx % 3 > 0);
        let line = Line {
            class: Some(format!("proxies: {n_proxies}").into()),
            ..rank(idx, idx / 2)
        };
        timemap.push(line, |stage| {
            let jitter = (idx as i64 * 37 + stage as i64 * 101) % 9_000;
            let ns = match stage {
                1 | 7 if n_proxies == 1 => 0,
                1 | 3 | 5 | 7 => 60_000 + jitter,
                4 => 1_900,
                _ => 4_000 + jitter,
            };
            StageTime::new(ns, 25_000)
        });
    }
    insta::assert_binary_snapshot!("tree.svg", svg(timemap).into());
}

#[test]
fn without_ranks_the_picture_says_so() {
    let timemap = Timemap::new(heading("Nothing was recorded"), Stages::seen_from_outside());
    let svg = svg(timemap);
    assert!(svg.contains(">no ranks<"), "{svg}");
    Document::parse(&svg).unwrap();
}

// Properties.

/// The groups drawn for single threads.
fn lines<'a>(document: &'a Document<'a>) -> Vec<Node<'a, 'a>> {
    document
        .descendants()
        .filter(|node| node.has_attribute("data-ns"))
        .collect()
}

fn points(node: Node<'_, '_>) -> Vec<(f64, f64)> {
    let polylines = node
        .children()
        .filter(|child| child.tag_name().name() == "polyline");
    polylines
        .flat_map(|polyline| polyline.attribute("points").unwrap().split(' '))
        .map(|point| {
            let (x, y) = point.split_once(',').unwrap();
            (x.parse().unwrap(), y.parse().unwrap())
        })
        .collect()
}

#[test]
fn every_rank_is_drawn_where_its_times_add_up_to() {
    let svg = svg(allreduce(16, 4));
    let document = Document::parse(&svg).unwrap();
    let lines = lines(&document);
    assert_eq!(lines.len(), 16);
    // The scale, from two points that are far apart: 0 of the core, and the start of rank 0.
    let start_ns = |idx| -> f64 {
        let [inside, across, ..] = times_ns(16, 4, idx);
        -(inside + across) as f64
    };
    let first = points(lines[0]);
    let (zero, per_ns) = (first[2].0, (first[0].0 - first[2].0) / start_ns(0));
    for (idx, line) in lines.iter().enumerate() {
        let [inside, across, core, leaving_across, leaving_inside] = times_ns(16, 4, idx as u64);
        let end = core + leaving_across + leaving_inside;
        let expected = [
            -inside - across,
            -across,
            0,
            core,
            core + leaving_across,
            end,
        ]
        .map(|ns| ns as f64);
        let drawn = points(*line);
        assert_eq!(drawn.len(), expected.len());
        for (border, (ns, point)) in expected.iter().zip(&drawn).enumerate() {
            assert!(
                (point.0 - (zero + ns * per_ns)).abs() < 0.25,
                "rank {idx}, border {border}"
            );
            assert_eq!(point.1, first[border].1, "rank {idx}, border {border}");
        }
        let data = expected.map(|ns| ns.to_string()).join(" ");
        assert_eq!(line.attribute("data-ns"), Some(data.as_str()), "rank {idx}");
        let title = line
            .children()
            .find(|child| child.tag_name().name() == "title")
            .unwrap();
        assert!(
            title
                .text()
                .unwrap()
                .starts_with(&format!("rank {idx} (n0{})", idx / 4 + 1))
        );
        assert!(title.text().unwrap().contains("core 6.35 us (n = 2,500)"));
    }
}

#[test]
fn the_core_bar_is_as_long_as_the_core() {
    let svg = svg(allreduce(4, 2));
    let document = Document::parse(&svg).unwrap();
    let bar = classed(&document, "core-bar")[0];
    let number = |name: &str| number(bar, name);
    let line = points(lines(&document)[0]);
    assert!((number("x") - line[2].0).abs() < 0.15);
    assert!((number("x") + number("width") - line[3].0).abs() < 0.15);
}

#[test]
fn the_length_of_a_core_that_fills_the_plot_is_in_its_bar_not_on_its_name() {
    let stages = Stages {
        down: Vec::new(),
        core: Some("core".into()),
        up: Vec::new(),
    };
    let mut timemap = Timemap::new(heading("All of it is core"), stages);
    for idx in 0..4 {
        timemap.push(rank(idx, 0), |_| StageTime::new(2_000, 60));
    }
    let svg = svg(timemap);
    let document = Document::parse(&svg).unwrap();
    let found = |what| classed(&document, what)[0];
    let (bar, length) = (found("core-bar"), found("length"));
    assert_eq!(length.text(), Some("core 2.00 us"));
    assert_eq!(length.attribute("text-anchor"), Some("end"));
    let end = number(length, "x");
    let (left, width) = (number(bar, "x"), number(bar, "width"));
    assert!(left + width / 2.0 < end && end < left + width, "{length:?}");
}

#[test]
fn a_stage_within_the_clock_error_is_hatched_and_not_a_number() {
    let draw = |error_ns| {
        let mut timemap = Timemap::new(heading("Error"), Stages::seen_from_outside());
        for idx in 0..4 {
            let times_ns = times_ns(4, 2, idx);
            timemap.push(rank(idx, idx / 2), |stage| {
                let time = StageTime::new(times_ns[stage], 2_500)?;
                // The core is between stamps of different hosts.
                Some(time.with_error((stage == 2).then_some(error_ns)))
            });
        }
        svg(timemap)
    };
    let hatched = |svg: &str| svg.matches("<rect fill=\"url(#collbench-hatch)\"").count();
    let notable = draw(2_000);
    assert!(notable.contains(">core 6.35 us ±2.00 us<"), "{notable}");
    assert_eq!(hatched(&notable), 0);
    assert!(
        notable.contains("core 6.35 us ±2.00 us (n = 2,500)\n"),
        "in tooltips"
    );
    let larger = draw(7_000);
    assert!(larger.contains(">core not resolved: ±7.00 us<"), "{larger}");
    assert!(larger.contains(">not resolved:<") && larger.contains(">clock error ±7.00 us<"));
    assert_eq!(hatched(&larger), 1);
}

#[test]
fn without_the_path_to_the_root_the_path_from_it_is_unchanged() {
    let ways = |timemap: Timemap| -> Vec<Vec<i64>> {
        let svg = svg(timemap);
        let document = Document::parse(&svg).unwrap();
        let numbers = |line: &Node<'_, '_>| -> Vec<i64> {
            let numbers = line.attribute("data-ns").unwrap().split(' ');
            numbers.map(|number| number.parse().unwrap()).collect()
        };
        lines(&document).iter().map(numbers).collect()
    };
    let whole = ways(allreduce(16, 4));
    let up = ways(allreduce(16, 4).without_down("Up".into()));
    assert_eq!(
        up,
        whole
            .iter()
            .map(|borders| borders[2..].to_vec())
            .collect::<Vec<_>>()
    );
}

#[test]
fn a_thread_is_drawn_only_where_it_could_be_resolved() {
    let mut timemap = Timemap::new(heading("Gap"), Stages::seen_from_outside());
    for idx in 0..2 {
        timemap.push(rank(idx, idx), |stage| {
            StageTime::new(100, u64::from(stage != 1 && (stage != 3 || idx == 0)))
        });
    }
    let svg = svg(timemap);
    let document = Document::parse(&svg).unwrap();
    let n_points = |line: &Node<'_, '_>| -> Vec<usize> {
        let drawn = line
            .children()
            .filter_map(|child| child.attribute("points"));
        drawn.map(|points| points.split(' ').count()).collect()
    };
    // Stage 0, then stages 2 to 4; stage 0, then 2, then 4.
    let stretches: Vec<_> = lines(&document).iter().map(n_points).collect();
    assert_eq!(stretches, [vec![2, 4], vec![2, 2, 2]]);
    let hatched = |n: &Node<'_, '_>| n.attribute("fill") == Some("url(#collbench-hatch)");
    assert_eq!(document.descendants().filter(hatched).count(), 1);
    assert!(svg.contains(">1 of 2 not resolvable<"));
}

#[test]
fn bands_name_the_ranks_with_the_longest_and_the_shortest_paths() {
    for (n_ranks, n_bands, n_thin) in [(64, 4, 0), (1_024, 1, 64)] {
        let svg = svg(allreduce(n_ranks, 16));
        let document = Document::parse(&svg).unwrap();
        let of_class = |class| {
            let nodes = classed(&document, class).into_iter();
            nodes.filter(|node| node.has_tag_name("g")).count()
        };
        assert_eq!((of_class("band"), of_class("thin")), (n_bands, n_thin));
        let way = |rank: u64| {
            let [inside, across, core, leaving_across, leaving_inside] =
                times_ns(n_ranks, 16, rank);
            (inside + across, core + leaving_across + leaving_inside)
        };
        let longest = (0..n_ranks).max_by_key(|&rank| way(rank).0).unwrap();
        let latest = (0..n_ranks).max_by_key(|&rank| way(rank).1).unwrap();
        for label in [
            format!(">rank {longest}: longest before 0<"),
            format!(">rank {}: shortest before 0<", n_ranks - 1),
            format!(">rank {latest}: longest after 0<"),
        ] {
            assert!(svg.contains(&label), "{label}");
        }
    }
}

#[test]
fn a_rank_with_a_gap_of_its_own_is_never_called_the_shortest() {
    let mut timemap = Timemap::new(heading("Gap"), Stages::seen_from_outside());
    for idx in 0..40 {
        timemap.push(rank(idx, idx), |stage| {
            StageTime::new(100 + idx as i64, u64::from(idx != 7 || stage != 1))
        });
    }
    let svg = svg(timemap);
    assert!(svg.contains(">rank 0: shortest before 0<"), "{svg}");
}

#[test]
fn hostile_names_are_text_and_nothing_else() {
    for n_ranks in [2, 200] {
        let stages = Stages {
            down: vec![HOSTILE.into()],
            core: Some(HOSTILE.into()),
            up: vec![HOSTILE.into()],
        };
        let mut timemap = Timemap::new(hostile_heading(), stages);
        for _ in 0..n_ranks {
            let name = HOSTILE.into();
            let line = Line {
                name,
                host: HOSTILE.into(),
                class: Some(HOSTILE.into()),
            };
            timemap.push(line, |_| StageTime::new(5, 5));
        }
        assert_inert(&svg(timemap));
    }
}

prop_compose! {
    fn any_timemap()(
        n_down in 0usize..4,
        has_core in any::<bool>(),
        n_up in 0usize..4,
        clock_error in any::<Option<u64>>(),
        threads in prop::collection::vec(
            (any::<String>(), 0u8..9, prop::collection::vec(any::<Option<i64>>(), 9)),
            0..60,
        ),
    ) -> Timemap {
        let stages = Stages {
            down: vec!["down".into(); n_down],
            core: has_core.then(|| "core".into()),
            up: vec!["up".into(); n_up],
        };
        let mut timemap = Timemap::new(heading("Anything"), stages);
        for (name, host, times) in threads {
            let line = Line { name: name.into(), host: format!("n{host}").into(), class: None };
            timemap.push(line, |stage| times[stage].and_then(|ns| StageTime::new(ns, 1)));
        }
        match clock_error {
            Some(ns) => timemap.with_clock_error(ns),
            None => timemap,
        }
    }
}

proptest! {
    #[test]
    fn any_input_is_a_well_formed_picture_inside_its_frame(timemap in any_timemap()) {
        let svg = svg(timemap);
        let document = Document::parse(&svg).unwrap();
        prop_assert!(!svg.contains("could not be drawn"));
        let size = |name| number(document.root_element(), name);
        let (width, height) = (size("width"), size("height"));
        for polyline in document.descendants().filter(|n| n.tag_name().name() == "polyline") {
            for (x, y) in points(polyline.parent().unwrap()) {
                prop_assert!((0.0..=width).contains(&x) && (0.0..=height).contains(&y), "{x},{y}");
            }
        }
    }

    #[test]
    fn the_same_input_gives_the_same_bytes(timemap in any_timemap()) {
        prop_assert_eq!(svg(timemap.clone()), svg(timemap));
    }

    #[test]
    fn a_line_never_goes_back_while_time_goes_on(
        times in prop::collection::vec(prop::array::uniform5(0i64..1_000_000_000), 1..24),
    ) {
        let mut timemap = Timemap::new(heading("Forward"), Stages::seen_from_outside());
        for (idx, times_ns) in times.iter().enumerate() {
            timemap.push(rank(idx as u64, 0), |stage| StageTime::new(times_ns[stage], 1));
        }
        let svg = svg(timemap);
        let document = Document::parse(&svg).unwrap();
        let lines = lines(&document);
        prop_assert_eq!(lines.len(), times.len());
        for line in lines {
            let points = points(line);
            prop_assert_eq!(points.len(), 6);
            prop_assert!(points.is_sorted_by(|a, b| a.0 <= b.0 && a.1 < b.1));
        }
    }
}
