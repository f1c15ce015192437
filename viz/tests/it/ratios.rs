//! Examples of grids of ratios and of bars, as snapshots, and properties of all.

use crate::examples::{HOSTILE, assert_inert, assert_well_formed, svg};
use collbench_viz::{Palette, RatioAxis, RatioBars, RatioCell, RatioMap, RatioScale, Text};
use proptest::prelude::*;

fn axis(title: &str, n: usize) -> RatioAxis {
    let names = (0..n).map(|idx| format!("{} ms", 1 << idx).into());
    RatioAxis {
        title: title.into(),
        names: names.collect(),
    }
}

/// A library whose first step alone is overlapped, on a grid of 8 x 6 times.
fn grid(palette: Palette) -> RatioMap {
    let mut map = RatioMap::new(
        "MPI_Ibcast: only the first step overlapped in 27 of 40 cells",
        "4 processes, basic",
        axis("communication alone", 8),
        axis("computation alone", 6),
        palette,
    );
    let hidden = |column: usize, row: usize| {
        let (communication, computation) = (f64::from(1 << column), f64::from(1 << row));
        computation.min(0.4 * communication)
    };
    let shorter = |column: usize, row: usize| f64::from(1 << column.min(row));
    let cell = |column: usize, row: usize, value: f64| RatioCell {
        value: (column < 7).then_some(value),
        is_doubtful: column.abs_diff(row) > 4,
        tooltip: format!("{column}, {row}").into(),
    };
    map.push("Overhead ratio", RatioScale::Overhead, |column, row| {
        let value = 1.0 - hidden(column, row) / shorter(column, row);
        cell(column, row, value - if row == 0 { 0.2 } else { 0.0 })
    });
    map.push(
        "Communication ratio",
        RatioScale::FromZero,
        |column, row| {
            cell(
                column,
                row,
                1.0 - hidden(column, row) / f64::from(1 << column),
            )
        },
    );
    map.push("Slowdown", RatioScale::FromOne, |column, row| {
        cell(column, row, 1.0 + 0.01 * (column * row) as f64)
    });
    map
}

#[test]
fn ratios_have_the_colors_of_the_paper() {
    let svg = svg(grid(Palette::Published));
    assert_well_formed(&svg);
    insta::assert_binary_snapshot!("published.svg", svg.into_bytes());
}

#[test]
fn ratios_have_colors_that_everybody_can_tell_apart() {
    let svg = svg(grid(Palette::Lightness));
    assert_well_formed(&svg);
    insta::assert_binary_snapshot!("lightness.svg", svg.into_bytes());
}

#[test]
fn bars_stand_on_zero_with_a_line_at_one() {
    let mut bars = RatioBars::new(
        "Idle MPI slows the computation by up to 27 %",
        "2 processes",
        ["time of the computation".into(), "MPI impact ratio".into()],
        vec!["basic".into(), "progress thread".into()],
    );
    for (name, values) in [
        ("1 ms", [Some(1.01), Some(1.27)]),
        ("2 ms", [Some(1.0), Some(1.19)]),
        ("4 ms", [Some(0.99), None]),
    ] {
        bars.push(name, |series| values[series]);
    }
    let svg = svg(bars);
    assert_well_formed(&svg);
    insta::assert_binary_snapshot!("impact.svg", svg.into_bytes());
}

#[test]
fn a_picture_without_values_says_so() {
    let map = RatioMap::new("f", "s", axis("x", 0), axis("y", 0), Palette::Published);
    let svg_of_map = svg(map);
    assert_well_formed(&svg_of_map);
    assert!(svg_of_map.contains("nothing was measured"));
    let bars = RatioBars::new("f", "s", ["x".into(), "y".into()], Vec::new());
    assert_well_formed(&svg(bars));
}

proptest! {
    #[test]
    fn any_numbers_and_names_give_a_picture(
        values in prop::collection::vec(prop::option::of(any::<f64>()), 12),
        is_doubtful in any::<bool>(),
        n_panels in 0usize..4,
    ) {
        let names = |n: usize| RatioAxis {
            title: HOSTILE.into(),
            names: vec![HOSTILE.into(); n],
        };
        let mut map = RatioMap::new(HOSTILE, HOSTILE, names(4), names(3), Palette::Lightness);
        for _ in 0..n_panels {
            map.push(HOSTILE, RatioScale::Overhead, |column, row| RatioCell {
                value: values[column * 3 + row],
                is_doubtful,
                tooltip: HOSTILE.into(),
            });
        }
        let hostile = || Text::from(HOSTILE);
        let mut bars = RatioBars::new(HOSTILE, HOSTILE, [hostile(), hostile()], vec![hostile(); 3]);
        for group in values.chunks(3) {
            bars.push(HOSTILE, |series| group[series]);
        }
        for svg in [svg(map), svg(bars)] {
            assert_well_formed(&svg);
            assert_inert(&svg);
        }
    }
}
