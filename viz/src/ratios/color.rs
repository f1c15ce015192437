//! Steps of ratios and their colours.

use std::fmt::Write as _;

use super::{Palette, RatioScale};

/// Number of steps of a scale.
pub(super) const N_STEPS: usize = 10;

/// Colours of the steps.
type Colors = [&'static str; N_STEPS];

/// Blue below 0, green at 0, yellow at 1, red above.
const OVERHEAD: Colors = [
    "#4a78d6", "#1a9641", "#57b453", "#8fca52", "#bfdc50", "#e3e84e", "#ffe632", "#fdae3c",
    "#f1652f", "#c81414",
];
/// Blue where it is good, red where it is bad.
const CONCURRENCY: Colors = [
    "#2645d8", "#4250d4", "#5f58c9", "#7a5cba", "#945da8", "#ab5a92", "#c0527a", "#d04560",
    "#da3444", "#de1a26",
];
/// Blue below 0, then darker and darker.
const OVERHEAD_BY_LIGHTNESS: Colors = [
    "#6baed6", "#fff9e0", "#feeab0", "#fed98e", "#fdc160", "#fb9f38", "#ec7014", "#cc4c02",
    "#993404", "#662506",
];
/// Darker and darker.
const CONCURRENCY_BY_LIGHTNESS: Colors = [
    "#fcfbfd", "#efedf5", "#dadaeb", "#c6c7e1", "#aaa8d0", "#9189c1", "#7667ae", "#5d3d98",
    "#46177c", "#2a0054",
];

/// Upper limits of all steps but the last.
fn limits(scale: RatioScale) -> [f64; N_STEPS - 1] {
    match scale {
        RatioScale::Overhead => [-0.1, 0.1, 0.3, 0.5, 0.7, 0.9, 1.1, 1.5, 2.0],
        RatioScale::FromZero => [0.1, 0.25, 0.4, 0.55, 0.7, 0.9, 1.1, 1.5, 2.0],
        RatioScale::FromOne => [1.02, 1.05, 1.1, 1.15, 1.2, 1.3, 1.5, 1.75, 2.0],
    }
}

/// The step of a value.
pub(super) fn step(scale: RatioScale, value: f64) -> usize {
    let limits = limits(scale);
    limits
        .iter()
        .position(|limit| value < *limit)
        .unwrap_or(N_STEPS - 1)
}

/// The range of a step in words.
pub(super) fn words(scale: RatioScale, step: usize) -> String {
    let limits = limits(scale);
    match (
        step.checked_sub(1).and_then(|at| limits.get(at)),
        limits.get(step),
    ) {
        (None, Some(limit)) => format!("below {limit}"),
        (Some(from), Some(to)) => format!("{from} to {to}"),
        (Some(limit), None) => format!("{limit} or more"),
        (None, None) => String::new(),
    }
}

fn colors(scale: RatioScale, palette: Palette) -> &'static Colors {
    match (scale, palette) {
        (RatioScale::Overhead, Palette::Published) => &OVERHEAD,
        (_, Palette::Published) => &CONCURRENCY,
        (RatioScale::Overhead, Palette::Lightness) => &OVERHEAD_BY_LIGHTNESS,
        (_, Palette::Lightness) => &CONCURRENCY_BY_LIGHTNESS,
    }
}

/// The class of a step.
pub(super) fn class(scale: RatioScale, step: usize) -> String {
    match scale {
        RatioScale::Overhead => format!("o{step}"),
        RatioScale::FromZero | RatioScale::FromOne => format!("c{step}"),
    }
}

/// The class of a number on a step: dark on light, light on dark.
pub(super) fn number_class(scale: RatioScale, palette: Palette, step: usize) -> &'static str {
    if luminance(colors(scale, palette)[step]) > 0.3 {
        "number ink"
    } else {
        "number pale"
    }
}

/// Rules for all steps.
pub(super) fn rules(palette: Palette) -> String {
    let mut rules = String::new();
    for scale in [RatioScale::Overhead, RatioScale::FromZero] {
        for (step, color) in colors(scale, palette).iter().enumerate() {
            let _ = writeln!(rules, ".{}{{fill:{color}}}", class(scale, step));
        }
    }
    rules
}

/// Relative luminance of a colour, by WCAG.
fn luminance(color: &str) -> f64 {
    let channel = |at: usize| {
        let digits = color.get(at..at + 2).unwrap_or_default();
        let value = f64::from(u8::from_str_radix(digits, 16).unwrap_or(0)) / 255.0;
        if value <= 0.04045 {
            value / 12.92
        } else {
            ((value + 0.055) / 1.055).powf(2.4)
        }
    };
    0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCALES: [RatioScale; 3] = [
        RatioScale::Overhead,
        RatioScale::FromZero,
        RatioScale::FromOne,
    ];

    #[test]
    fn the_published_colors_are_where_the_paper_has_them() {
        let color = |value| {
            colors(RatioScale::Overhead, Palette::Published)[step(RatioScale::Overhead, value)]
        };
        let channels = |value: f64| {
            let color = color(value);
            [1, 3, 5].map(|at| u8::from_str_radix(&color[at..at + 2], 16).unwrap())
        };
        let [red, green, blue] = channels(0.0);
        assert!(green > 100 && red < green && blue < green, "green at 0");
        let [red, green, blue] = channels(1.0);
        assert!(red > 200 && green > 200 && blue < 100, "yellow at 1");
        let [red, green, blue] = channels(3.0);
        assert!(red > 150 && green < 50 && blue < 50, "red above 1");
        let [red, _, blue] = channels(-0.5);
        assert!(blue > 150 && red < blue, "blue below 0");
    }

    #[test]
    fn colors_for_everybody_differ_in_lightness() {
        for scale in SCALES {
            let colors = colors(scale, Palette::Lightness);
            // Below 0 is another hue.
            let first = usize::from(scale == RatioScale::Overhead);
            for pair in colors[first..].windows(2) {
                assert!(luminance(pair[0]) > 1.1 * luminance(pair[1]), "{pair:?}");
            }
        }
    }

    #[test]
    fn every_value_has_a_step_that_holds_it() {
        for scale in SCALES {
            let limits = limits(scale);
            assert!(limits.windows(2).all(|pair| pair[0] < pair[1]));
            assert_eq!(step(scale, f64::MIN), 0);
            assert_eq!(step(scale, f64::MAX), N_STEPS - 1);
            for (idx, limit) in limits.into_iter().enumerate() {
                assert_eq!(step(scale, limit - 1e-9), idx);
                assert_eq!(step(scale, limit), idx + 1);
            }
        }
        assert_eq!(words(RatioScale::Overhead, 1), "-0.1 to 0.1");
        assert_eq!(words(RatioScale::FromOne, 0), "below 1.02");
        assert_eq!(words(RatioScale::FromOne, 9), "2 or more");
    }

    #[test]
    fn numbers_can_be_read_on_their_cells() {
        for palette in [Palette::Published, Palette::Lightness] {
            for scale in SCALES {
                for (step, color) in colors(scale, palette).iter().enumerate() {
                    let paper = luminance(color) + 0.05;
                    let contrast = match number_class(scale, palette, step) {
                        "number ink" => paper / (luminance("#1a1a1a") + 0.05),
                        _ => 1.05 / paper,
                    };
                    // WCAG asks for 3 where text is large; the same number is in the tooltip.
                    assert!(contrast >= 3.0, "{color}: {contrast}");
                }
            }
        }
    }
}
