//! Examples of histograms of durations, and properties of all.

use crate::examples::{HOSTILE, assert_inert, assert_well_formed, heading};
use collbench_viz::{Bar, DurationMarks, Durations, Heading, Picture};
use proptest::prelude::*;
use roxmltree::Document;

fn svg(durations: Durations) -> String {
    Picture::from(durations).to_svg()
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
    let marks = DurationMarks {
        median_ns: 17_900,
        mean_ns: 24_300,
        p99_ns: 99_000,
        max_ns: 25_600_000,
    };
    let finding = "Half of the instances take at most 17.9 us, the longest 1,430 times as long";
    Durations::new(heading(finding), marks, bars).unwrap()
}

#[test]
fn a_hill_with_outliers_far_away() {
    insta::assert_binary_snapshot!("hill.svg", svg(hill()).into());
}

#[test]
fn durations_that_hardly_differ() {
    let bars = [(1_000, 1_100, 7), (1_100, 1_200, 2)];
    let bars = bars
        .iter()
        .filter_map(|&(from, to, n)| Bar::new(from, to, n));
    let marks = DurationMarks {
        median_ns: 1_050,
        mean_ns: 1_060,
        p99_ns: 1_150,
        max_ns: 1_150,
    };
    let durations = Durations::new(heading("All take about 1.05 us"), marks, bars).unwrap();
    insta::assert_binary_snapshot!("narrow.svg", svg(durations).into());
}

#[test]
fn bars_are_as_high_as_their_counts_and_the_rare_ones_have_a_ring() {
    let svg = svg(hill());
    let document = Document::parse(&svg).unwrap();
    let bars = document
        .descendants()
        .filter(|n| n.attribute("class") == Some("bar"));
    let mut n_rings = 0;
    let mut heights = Vec::new();
    for bar in bars {
        let children = || bar.children().filter(|child| child.is_element());
        let title = children().next().unwrap().text().unwrap();
        let (_, n) = title.split_once(": ").unwrap();
        let n: f64 = n
            .split(' ')
            .next()
            .unwrap()
            .replace(',', "")
            .parse()
            .unwrap();
        let rectangle = children()
            .find(|child| child.tag_name().name() == "rect")
            .unwrap();
        let height: f64 = rectangle.attribute("height").unwrap().parse().unwrap();
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
    let bars = [(1_024, 1_152, 40), (1_920, 2_048, 80), (2_048, 2_304, 5)];
    let bars = bars
        .iter()
        .filter_map(|&(from, to, n)| Bar::new(from, to, n));
    let marks = DurationMarks {
        median_ns: 1_950,
        mean_ns: 1_900,
        p99_ns: 2_300,
        max_ns: 2_300,
    };
    let svg = svg(Durations::new(heading("Even"), marks, bars).unwrap());
    let document = Document::parse(&svg).unwrap();
    let bars = document
        .descendants()
        .filter(|n| n.attribute("class") == Some("k0"));
    let widths: Vec<f64> = bars
        .map(|bar| bar.attribute("width").unwrap().parse().unwrap())
        .collect();
    assert_eq!(widths.len(), 3);
    // Corners are at tenths of a px.
    assert!(
        widths.iter().all(|width| (width - widths[0]).abs() < 0.21),
        "{widths:?}"
    );
}

#[test]
fn a_bar_twice_as_wide_with_twice_the_count_is_as_high() {
    let bars = [(1_024, 1_152, 40), (1_152, 1_408, 80)];
    let bars = bars
        .iter()
        .filter_map(|&(from, to, n)| Bar::new(from, to, n));
    let marks = DurationMarks {
        median_ns: 1_150,
        mean_ns: 1_150,
        p99_ns: 1_330,
        max_ns: 1_330,
    };
    let svg = svg(Durations::new(heading("Even"), marks, bars).unwrap());
    let document = Document::parse(&svg).unwrap();
    let bars = document
        .descendants()
        .filter(|n| n.attribute("class") == Some("k0"));
    let heights: Vec<&str> = bars.map(|bar| bar.attribute("height").unwrap()).collect();
    assert_eq!(heights[0], heights[1]);
    assert_eq!(heights.len(), 2);
}

#[test]
fn bars_without_width_or_height_are_none_and_without_bars_there_is_no_picture() {
    assert_eq!(Bar::new(5, 5, 1), None);
    assert_eq!(Bar::new(6, 5, 1), None);
    assert_eq!(Bar::new(5, 6, 0), None);
    let marks = DurationMarks {
        median_ns: 0,
        mean_ns: 0,
        p99_ns: 0,
        max_ns: 0,
    };
    assert!(Durations::new(heading("Nothing"), marks, []).is_none());
}

#[test]
fn hostile_names_are_text_and_nothing_else() {
    let heading = Heading {
        finding: HOSTILE.into(),
        operation: HOSTILE.into(),
        n_instances: 1,
    };
    let marks = DurationMarks {
        median_ns: 5,
        mean_ns: 5,
        p99_ns: 5,
        max_ns: 5,
    };
    assert_inert(&svg(
        Durations::new(heading, marks, Bar::new(5, 6, 1)).unwrap()
    ));
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
        let [median_ns, mean_ns, p99_ns, max_ns] = marks.map(|ns| ns >> shift);
        let marks = DurationMarks { median_ns, mean_ns, p99_ns, max_ns };
        if let Some(durations) = Durations::new(heading("Anything"), marks, bars) {
            let svg = svg(durations.clone());
            assert_well_formed(&svg);
            prop_assert_eq!(svg, Picture::from(durations).to_svg());
        }
    }
}
