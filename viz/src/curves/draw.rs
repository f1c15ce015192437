//! Drawing of curves.

use collbench_text::quantity::{TimeUnit, counted_grouped, round_duration, tick};
use plotters::prelude::{BLACK, Circle, LineSeries};
use plotters::style::Color;

use super::{Curve, CurveAxis, Curves, Quantity, Stroke};
use crate::axes::{self, ABOVE, Axis, BELOW, LEFT, PLOT_WIDTH, Place, round_ratios, round_steps};
use crate::frame::{Drawn, Head, MARGIN, report_refusal};
use crate::style::{self, CHART};
use crate::svg::{Anchor, Sheet, UNIT};
use crate::text::cut;

const PLOT_HEIGHT: u32 = 320;
const LEGEND_ROW: u32 = 20;
const TICKS: usize = 9;

/// An axis with its ends and ticks as plotters gets them: as logarithms if it is logarithmic.
struct Scale {
    is_logarithmic: bool,
    ends: (f64, f64),
    ticks: Vec<f64>,
    /// Unit of a linear axis of times.
    unit: Option<TimeUnit>,
    words: String,
}

impl Scale {
    /// Scale for these values.
    fn of(axis: &CurveAxis, values: impl Iterator<Item = f64>) -> Scale {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
            (low.min(v), high.max(v))
        });
        let (low, high) = if low <= high { (low, high) } else { (1.0, 2.0) };
        let words = axis.words.as_str();
        if axis.is_logarithmic {
            let air = (high / low).powf(0.03).max(1.05);
            let (low, high) = (low / air, high * air);
            let ticks = round_ratios(low, high, TICKS);
            return Scale {
                is_logarithmic: true,
                ends: (low.log10(), high.log10()),
                ticks: ticks.into_iter().map(f64::log10).collect(),
                unit: (axis.quantity == Quantity::Time).then_some(TimeUnit::for_axis(0.0)),
                words: format!("{words} (logarithmic)"),
            };
        }
        // The least distinguishable range at this magnitude, if all values are equal.
        let least = (high.abs().max(low.abs()) * 1e-9).max(1e-9);
        let air = ((high - low) * 0.04).max(least);
        let (low, high) = (low - air, high + air);
        let unit = match axis.quantity {
            Quantity::Number => None,
            Quantity::Time => Some(TimeUnit::for_axis(high.abs().max(low.abs()))),
        };
        let ns = unit.map_or(1.0, |unit| unit.ns);
        let steps = round_steps(low / ns, high / ns, TICKS - 2, f64::MIN_POSITIVE);
        Scale {
            is_logarithmic: false,
            ends: (low, high),
            ticks: steps.into_iter().map(|step| step * ns).collect(),
            unit,
            words: match unit {
                None => words.to_owned(),
                Some(unit) => format!("{words}, in {}", unit.name),
            },
        }
    }

    fn place(&self, value: f64) -> f64 {
        if self.is_logarithmic {
            value.log10()
        } else {
            value
        }
    }

    fn tick(&self, placed: f64) -> String {
        match (self.is_logarithmic, self.unit) {
            (true, Some(_)) => round_duration(10f64.powf(placed)),
            (true, None) => tick(10f64.powf(placed)),
            (false, Some(unit)) => tick(placed / unit.ns),
            (false, None) => tick(placed),
        }
    }
}

impl Curves {
    /// The picture; see [`Picture::draw`](crate::Picture::draw).
    pub(crate) fn draw(&self, id: &str) -> String {
        let head = Head::new(&self.finding, self.subtitle.as_str());
        let top = head.bottom() + 14 + ABOVE;
        let bottom = top + PLOT_HEIGHT;
        let n_rows = self.curves.len() as u32;
        let place = Place {
            left: LEFT,
            top,
            bottom,
            height: bottom + BELOW + 16 + LEGEND_ROW * n_rows,
        };
        let sheet = head.sheet(place.height);
        let drawn = self.draw_plot(&sheet, place);
        report_refusal(drawn, &sheet, (LEFT, top + 20));
        self.draw_legend(&sheet, bottom + BELOW + 12);
        let names: Vec<String> = self.curves.iter().map(Curve::words).collect();
        let (y, x, names) = (&self.y.words, &self.x.words, names.join("; "));
        let description = format!("{y} against {x}: {names}.");
        sheet.finish(id, &self.finding, &description, &[CHART])
    }

    fn draw_plot(&self, sheet: &Sheet, place: Place) -> Drawn {
        let all = || self.curves.iter().flat_map(|curve| &curve.points);
        let x = Scale::of(&self.x, all().map(|point| point.0));
        let y = Scale::of(&self.y, all().map(|point| point.1));
        let axis = |scale: &Scale| scale.ends.0..scale.ends.1;
        let mut chart = axes::open(
            sheet,
            place,
            (axis(&x), axis(&y)),
            (
                &Axis {
                    words: &x.words,
                    ticks: &x.ticks,
                    tick: &|v| x.tick(v),
                },
                &Axis {
                    words: &y.words,
                    ticks: &y.ticks,
                    tick: &|v| y.tick(v),
                },
            ),
        )?;
        if all().next().is_none() {
            let middle = (
                (LEFT + PLOT_WIDTH / 2) as i32 * UNIT,
                (place.top + 40) as i32 * UNIT,
            );
            sheet.text(middle, Anchor::Middle, "name", "nothing was measured");
        }
        for (idx, curve) in self.curves.iter().enumerate() {
            let points = curve.points.iter().map(|p| (x.place(p.0), y.place(p.1)));
            let data = [("name", curve.name.as_str())];
            match curve.stroke {
                Stroke::Line => {
                    let class = format!("line {}", style::series(idx));
                    sheet.group(&class, &data, &curve.words(), || {
                        chart.draw_series(LineSeries::new(points, BLACK))
                    })?;
                }
                Stroke::Points => {
                    let class = format!("point {}", style::series(idx));
                    sheet.group(&class, &data, &curve.words(), || {
                        let circles = points.map(|at| Circle::new(at, 25, BLACK.filled()));
                        chart.draw_series(circles)
                    })?;
                }
            }
        }
        Ok(())
    }

    fn draw_legend(&self, sheet: &Sheet, top: u32) {
        let x = MARGIN as i32 * UNIT;
        for (idx, curve) in self.curves.iter().enumerate() {
            let y = (top + LEGEND_ROW * idx as u32) as i32 * UNIT;
            match curve.stroke {
                Stroke::Line => {
                    let class = format!("line {}", style::series(idx));
                    sheet.polyline(&class, &[(x, y), (x + 30 * UNIT, y)]);
                }
                Stroke::Points => {
                    let class = format!("point {}", style::series(idx));
                    sheet.group(&class, &[], "", || {
                        sheet.rectangle(
                            "",
                            (x + 12 * UNIT, y - 3 * UNIT),
                            (x + 18 * UNIT, y + 3 * UNIT),
                        );
                    });
                }
            }
            let at = (x + 38 * UNIT, y + 4 * UNIT);
            sheet.text(at, Anchor::Start, "minor", &cut(&curve.words(), 130));
        }
    }
}

impl Curve {
    fn words(&self) -> String {
        let name = self.name.as_str();
        match self.n_left_out {
            0 => name.to_owned(),
            n => format!("{name} ({} left out)", counted_grouped(n as u64, "point")),
        }
    }
}
