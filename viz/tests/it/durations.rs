//! Examples of histograms of durations, and properties of all.

use crate::examples::{
    assert_inert, assert_well_formed, classed, heading, hostile_heading, number, svg,
};
use collbench_viz::{Bar, DurationMarks, Durations, Heading};
use proptest::prelude::*;
use roxmltree::Document;

/// A histogram of these bars; with the median, the mean, the 99th percentile and the longest, in ns.
fn durations(
    heading: Heading,
    [median_ns, mean_ns, p99_ns, max_ns]: [i64; 4],
    bars: impl IntoIterator<Item = Bar>,
) -> Option<Durations> {
    let marks = DurationMarks {
        median_ns,
        mean_ns,
        p99_ns,
        max_ns,
    };
    Durations::new(heading, marks, bars)
}

fn bars(bars: &[(i64, i64, u64)]) -> impl Iterator<Item = Bar> {
    bars.iter()
        .filter_map(|&(from, to, n)| Bar::new(from, to, n))
}

/// Eight bars per doubling from 1 us on: one peak, and three instances far from it.
fn hill() -> Durations {
    let edge = |step: u32| i64::from(1_024 + 128 * (step % 8)) << (step / 8);
    let bars = (0..120).filter_map(|step| {
        let n = match step {
            20..=52 => 6_000 / (4 + (i64::from(step) - 33).unsigned_abs().pow(2)),
            60 | 90 | 117 => 1,
            _ => 0,
        };
        Bar::new(edge(step), edge(step + 1), n)
    });
    let marks_ns = [17_900, 24_300, 99_000, 25_600_000];
    let finding = "Half of the instances take at most 17.9 us, the longest 1,430 times as long";
    durations(heading(finding), marks_ns, bars).unwrap()
}

#[test]
fn a_hill_with_outliers_far_away() {
    insta::assert_binary_snapshot!("hill.svg", svg(hill()).into());
}

#[test]
fn durations_that_hardly_differ() {
    let bars = bars(&[(1_000, 1_100, 7), (1_100, 1_200, 2)]);
    let heading = heading("All take about 1.05 us");
    let durations = durations(heading, [1_050, 1_060, 1_150, 1_150], bars);
    insta::assert_binary_snapshot!("narrow.svg", svg(durations.unwrap()).into());
}

#[test]
fn bars_are_as_high_as_their_counts_and_the_rare_ones_have_a_ring() {
    let svg = svg(hill());
    let document = Document::parse(&svg).unwrap();
    let mut n_rings = 0;
    let mut heights = Vec::new();
    for bar in classed(&document, "bar") {
        let children = || bar.children().filter(|child| child.is_element());
        let title = children().next().unwrap().text().unwrap();
        let (_, n) = title.split_once(": ").unwrap();
        let n = n.split(' ').next().unwrap().replace(',', "");
        let n: f64 = n.parse().unwrap();
        let rectangle = children().find(|child| child.has_tag_name("rect"));
        let height = number(rectangle.unwrap(), "height");
        let has_ring = children().any(|child| child.tag_name().name() == "circle");
        n_rings += u32::from(has_ring);
        if has_ring {
            assert!(height >= 3.0, "{title}");
        } else {
            heights.push((n, height));
        }
    }
    assert!(n_rings >= 3, "{n_rings}");
    heights.sort_by(|a, b| b.0.total_cmp(&a.0));
    let per_instance = heights[0].1 / heights[0].0;
    for (n, height) in heights {
        assert!(
            (height - n * per_instance).abs() < 0.02 * height + 0.25,
            "{n}: {height}"
        );
    }
    for words in [
        "median 17.9 us",
        "mean 24.3 us",
        "99 % within 99.0 us",
        "longest 25.6 ms",
    ] {
        assert!(svg.contains(&format!(">{words}<")), "{words}");
    }
    assert!(
        svg.contains("99th percentile (3 instances in these bars)"),
        "{svg}"
    );
}

#[test]
fn bars_of_an_eighth_of_a_doubling_are_equally_wide() {
    let bars = bars(&[(1_024, 1_152, 40), (1_920, 2_048, 80), (2_048, 2_304, 5)]);
    let even = durations(heading("Even"), [1_950, 1_900, 2_300, 2_300], bars);
    let svg = svg(even.unwrap());
    let document = Document::parse(&svg).unwrap();
    let bars = classed(&document, "k0").into_iter();
    let widths: Vec<f64> = bars.map(|bar| number(bar, "width")).collect();
    assert_eq!(widths.len(), 3);
    // Corners are at tenths of a px.
    assert!(
        widths.iter().all(|width| (width - widths[0]).abs() < 0.21),
        "{widths:?}"
    );
}

#[test]
fn a_bar_twice_as_wide_with_twice_the_count_is_as_high() {
    let bars = bars(&[(1_024, 1_152, 40), (1_152, 1_408, 80)]);
    let even = durations(heading("Even"), [1_150, 1_150, 1_330, 1_330], bars);
    let svg = svg(even.unwrap());
    let document = Document::parse(&svg).unwrap();
    let bars = classed(&document, "k0").into_iter();
    let heights: Vec<&str> = bars.map(|bar| bar.attribute("height").unwrap()).collect();
    assert_eq!(heights[0], heights[1]);
    assert_eq!(heights.len(), 2);
}

#[test]
fn bars_without_width_or_height_are_none_and_without_bars_there_is_no_picture() {
    assert_eq!(Bar::new(5, 5, 1), None);
    assert_eq!(Bar::new(6, 5, 1), None);
    assert_eq!(Bar::new(5, 6, 0), None);
    assert!(durations(heading("Nothing"), [0; 4], []).is_none());
}

#[test]
fn hostile_names_are_text_and_nothing_else() {
    let durations = durations(hostile_heading(), [5; 4], Bar::new(5, 6, 1));
    assert_inert(&svg(durations.unwrap()));
}

proptest! {
    #[test]
    fn any_input_is_a_well_formed_picture_inside_its_frame(
        marks in any::<[i64; 4]>(),
        bars in prop::collection::vec(any::<(i64, i64, u64)>(), 0..60),
        shift in 0u32..64,
    ) {
        let bars = bars.into_iter().filter_map(|(from, to, n)| {
            Bar::new(from >> shift, to >> shift, n >> shift)
        });
        if let Some(durations) = durations(heading("Anything"), marks.map(|ns| ns >> shift), bars) {
            let drawn = svg(durations.clone());
            assert_well_formed(&drawn);
            prop_assert_eq!(drawn, svg(durations));
        }
    }
}
