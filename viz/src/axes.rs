//! Two axes with grid, ticks and units, the same in every chart of one quantity over another.
//! plotters provides the scales; its own ticks are missing on a logarithmic axis of less than a
//! decade, so the ticks are chosen here.

use collbench_text::quantity::tick;
use plotters::chart::ChartContext;
use plotters::coord::ranged1d::AsRangedCoord;
use plotters::prelude::{Cartesian2d, ChartBuilder, IntoDrawingArea};

use crate::frame::{MARGIN, Refusal, WIDTH};
use crate::svg::{Anchor, Backend, Sheet, UNIT};

// In px.
/// Room for the tick labels of the y axis, left of the plot.
pub(crate) const LEFT: u32 = 76;
/// Room right of the plot.
pub(crate) const RIGHT: u32 = 24;
/// Width of the plot.
pub(crate) const PLOT_WIDTH: u32 = WIDTH - LEFT - RIGHT;
/// Room for the tick labels and the title of the x axis, below the plot.
pub(crate) const BELOW: u32 = 46;
/// Room for the title of the y axis, above the plot.
pub(crate) const ABOVE: u32 = 24;

pub(crate) type Chart<'a, X, Y> = ChartContext<'a, Backend, Cartesian2d<X, Y>>;

/// Location of the plot between its axes, and the height of the sheet, in px.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) left: u32,
    pub(crate) top: u32,
    pub(crate) bottom: u32,
    pub(crate) height: u32,
}

/// Title of an axis with its unit (may be empty for y), positions of its ticks, and the label of a
/// tick.
pub(crate) struct Axis<'a> {
    pub(crate) words: &'a str,
    pub(crate) ticks: &'a [f64],
    pub(crate) tick: &'a dyn Fn(f64) -> String,
}

impl Axis<'_> {
    /// An axis without ticks and title.
    pub(crate) const NONE: Self = Axis {
        words: "",
        ticks: &[],
        tick: &tick,
    };
}

/// Opens a chart at `place` with grid and axes.
pub(crate) fn open<'a, X, Y>(
    sheet: &Sheet,
    place: Place,
    (x, y): (X, Y),
    (x_axis, y_axis): (&Axis<'_>, &Axis<'_>),
) -> Result<Chart<'a, X::CoordDescType, Y::CoordDescType>, Refusal>
where
    X: AsRangedCoord<Value = f64>,
    Y: AsRangedCoord<Value = f64>,
{
    let unit = UNIT as u32;
    let root = sheet.backend().into_drawing_area();
    let chart = ChartBuilder::on(&root)
        .margin_top(place.top * unit)
        .margin_right(RIGHT * unit)
        .margin_bottom((place.height - place.bottom) * unit)
        .margin_left(place.left * unit)
        .build_cartesian_2d(x, y)?;
    let px = |x: u32, y: u32| (x as i32 * UNIT, y as i32 * UNIT);
    let (left, bottom) = px(place.left, place.bottom);
    let (right, top) = px(WIDTH - RIGHT, place.top);
    let area = chart.plotting_area();
    let origin = (area.get_x_range().start, area.get_y_range().start);
    let xs: Vec<i32> = ticks(x_axis, |x| area.map_coordinate(&(x, origin.1)).0);
    let ys: Vec<i32> = ticks(y_axis, |y| area.map_coordinate(&(origin.0, y)).1);
    sheet.group("grid", &[], "", || {
        for &x in &xs {
            sheet.polyline("", &[(x, top), (x, bottom)]);
        }
        for &y in &ys {
            sheet.polyline("", &[(left, y), (right, y)]);
        }
    });
    sheet.group("axis", &[], "", || {
        sheet.polyline("", &[(left, top), (left, bottom), (right, bottom)]);
        for &x in &xs {
            sheet.polyline("", &[(x, bottom), (x, bottom + 4 * UNIT)]);
        }
        for &y in &ys {
            sheet.polyline("", &[(left - 4 * UNIT, y), (left, y)]);
        }
    });
    for (&x, &value) in xs.iter().zip(x_axis.ticks) {
        let words = (x_axis.tick)(value);
        sheet.text((x, bottom + 17 * UNIT), Anchor::Middle, "tick", &words);
    }
    for (&y, &value) in ys.iter().zip(y_axis.ticks) {
        let words = (y_axis.tick)(value);
        sheet.text((left - 8 * UNIT, y + 4 * UNIT), Anchor::End, "tick", &words);
    }
    let middle = px((place.left + WIDTH - RIGHT) / 2, place.bottom + BELOW - 8);
    sheet.text(middle, Anchor::Middle, "minor", x_axis.words);
    if !y_axis.words.is_empty() {
        let above = px(MARGIN, place.top - 9);
        sheet.text(above, Anchor::Start, "minor", y_axis.words);
    }
    Ok(chart)
}

fn ticks(axis: &Axis<'_>, map: impl Fn(f64) -> i32) -> Vec<i32> {
    axis.ticks.iter().map(|&value| map(value)).collect()
}

/// About `n` round numbers from `low` to `high`: multiples of 1, 2 or 5 times a power of ten, at
/// least `least_step` apart.
pub(crate) fn round_steps(low: f64, high: f64, n: usize, least_step: f64) -> Vec<f64> {
    let rough = ((high - low) / n.max(1) as f64).max(least_step);
    let decade = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * decade);
    let step = steps.into_iter().find(|&step| step >= rough * 0.999);
    let step = step.unwrap_or(10.0 * decade);
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    (first..=last).map(|idx| idx as f64 * step).collect()
}

/// Round numbers for a logarithmic axis from `low` to `high`, both above 0: at most `n`, as dense
/// as that allows.
pub(crate) fn round_ratios(low: f64, high: f64, n: usize) -> Vec<f64> {
    let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let within = |digits: &[f64], every: usize| -> Vec<f64> {
        let powers = decades.clone().step_by(every);
        let numbers = powers.flat_map(|power| digits.iter().map(move |d| d * 10f64.powi(power)));
        numbers.filter(|v| (low..=high).contains(v)).collect()
    };
    let tries = [
        within(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], 1),
        within(&[1.0, 2.0, 5.0], 1),
        within(&[1.0], 1),
        within(&[1.0], 3),
    ];
    if tries[0].len() < 4 {
        return round_steps(low, high, n.min(6), f64::MIN_POSITIVE);
    }
    let fits = tries.into_iter().find(|ticks| ticks.len() <= n);
    fits.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn steps_are_round_and_inside() {
        assert_eq!(
            round_steps(0.0, 10.0, 5, 1.0),
            [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
        );
        assert_eq!(round_steps(-3.0, 17.0, 4, 1.0), [0.0, 5.0, 10.0, 15.0]);
        assert_eq!(round_steps(0.0, 2.0, 5, 1.0), [0.0, 1.0, 2.0]);
    }

    #[test]
    fn ratios_are_as_dense_as_there_is_room() {
        assert_eq!(
            round_ratios(1.0, 1e6, 10),
            [1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6]
        );
        assert_eq!(
            round_ratios(90.0, 2_500.0, 8),
            [100.0, 200.0, 500.0, 1e3, 2e3]
        );
        assert_eq!(
            round_ratios(100.0, 140.0, 8),
            [100.0, 110.0, 120.0, 130.0, 140.0]
        );
    }

    proptest! {
        #[test]
        fn an_axis_always_has_some_ticks_and_never_too_many(
            low in 1e-3..1e17f64, ratio in 1.05..1e15f64, n in 8usize..12,
        ) {
            let ticks = round_ratios(low, low * ratio, n);
            prop_assert!((1..=n).contains(&ticks.len()), "{ticks:?}");
            prop_assert!(ticks.is_sorted() && ticks[0] >= low * 0.999);
        }
    }
}
