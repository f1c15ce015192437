//! Drawing of the clocks of hosts.

use collbench_text::quantity::{TimeUnit, duration, grouped, tick};
use plotters::prelude::{BLACK, Circle, LineSeries, Polygon};
use plotters::style::Color;

use super::{ClockOffsets, HostClock, OffsetPoint};
use crate::axes::{self, ABOVE, Axis, BELOW, LEFT, Place, round_steps};
use crate::frame::{Drawn, Head, MARGIN, report_refusal};
use crate::style::{self, CHART};
use crate::svg::{Anchor, Sheet, UNIT};

const CURVES_HEIGHT: u32 = 280;
const RESIDUALS_HEIGHT: u32 = 150;
const LEGEND_ROW: u32 = 20;
/// Most clocks with an uncertainty band; more bands would hide one another.
const MAX_BANDS: usize = 3;
/// Residuals below the uncertainty divided by this have no plot.
const NOTABLE: i64 = 20;

/// Low and high, in `unit`.
#[derive(Clone, Copy)]
struct Scale {
    unit: TimeUnit,
    range: (f64, f64),
}

impl Scale {
    /// Scale from the least to the greatest of `ends`, 0 included.
    fn of(ends: impl Iterator<Item = i64>) -> Scale {
        let (low, high) = ends.fold((0, 1), |(low, high), ns| (ns.min(low), ns.max(high)));
        let (low, high) = (low as f64, high as f64);
        let unit = TimeUnit::for_axis(high.max(-low));
        let pad = 0.05 * (high - low);
        Scale {
            unit,
            range: ((low - pad) / unit.ns, (high + pad) / unit.ns),
        }
    }

    fn value(&self, ns: i64) -> f64 {
        ns as f64 / self.unit.ns
    }

    /// Clamps a value to the plot.
    fn shown(&self, ns: i64) -> f64 {
        self.value(ns).clamp(self.range.0, self.range.1)
    }
}

impl ClockOffsets {
    /// The picture; see [`Picture::draw`](crate::Picture::draw).
    pub(crate) fn draw(&self, id: &str) -> String {
        let head = Head::new(&self.finding, self.subtitle.as_str());
        let top = head.bottom() + 14 + ABOVE;
        let bottom = top + CURVES_HEIGHT;
        let second_top = bottom + BELOW + 20 + ABOVE;
        let second_bottom = second_top + RESIDUALS_HEIGHT;
        let has_residuals = self.has_notable_residuals();
        let plots_end = if has_residuals { second_bottom } else { bottom };
        let legend = plots_end + BELOW + 16;
        let n_rows = self.clocks.len() as u32 + u32::from(!has_residuals);
        let height = legend + LEGEND_ROW * n_rows;
        let place = |top: u32, bottom: u32| Place {
            left: LEFT,
            top,
            bottom,
            height,
        };
        let sheet = head.sheet(height);
        let times = self.clocks.iter().flat_map(|clock| {
            let points = clock.curve.iter().chain(&clock.measured);
            points.map(|point| point.at_ns)
        });
        let x = Scale::of(times);
        let drawn = self.draw_curves(&sheet, place(top, bottom), x);
        report_refusal(drawn, &sheet, (LEFT, top + 20));
        if has_residuals {
            let drawn = self.draw_residuals(&sheet, place(second_top, second_bottom), x);
            report_refusal(drawn, &sheet, (LEFT, second_top + 20));
        } else {
            let y = (legend + LEGEND_ROW * self.clocks.len() as u32 + 4) as i32 * UNIT;
            let at = (MARGIN as i32 * UNIT, y);
            sheet.text(at, Anchor::Start, "minor", &self.residual_words());
        }
        self.draw_legend(&sheet, legend);
        sheet.finish(id, &self.finding, &self.description(), &[CHART])
    }

    /// The largest distance of a measured offset from its curve, ns.
    fn largest_residual_ns(&self) -> i64 {
        let residuals = self.clocks.iter().flat_map(HostClock::residuals);
        let residuals = residuals.map(|point| point.offset_ns.saturating_abs());
        residuals.max().unwrap_or(0)
    }

    /// Whether any measured offset is further from its curve than a small part of the uncertainty:
    /// otherwise a plot would show rounding.
    fn has_notable_residuals(&self) -> bool {
        let errors = self.clocks.iter().map(HostClock::error_ns);
        let least = errors.min().unwrap_or(0);
        self.largest_residual_ns() > (least / NOTABLE).max(1)
    }

    fn residual_words(&self) -> String {
        if self.clocks.iter().all(|clock| clock.measured.is_empty()) {
            return "No offset was measured.".to_owned();
        }
        format!(
            "All measured offsets are within {} of their curves.",
            duration(self.largest_residual_ns().max(1))
        )
    }

    fn draw_curves(&self, sheet: &Sheet, place: Place, x: Scale) -> Drawn {
        let ends = self.clocks.iter().flat_map(|clock| {
            let points = clock.curve.iter();
            points.flat_map(|point| [lower(point), upper(point)])
        });
        let y = Scale::of(ends);
        let words = format!("offset minus a straight line, in {}", y.unit.name);
        let mut chart = self.open(sheet, place, (x, y), &words)?;
        for (idx, clock) in self.clocks.iter().take(MAX_BANDS).enumerate() {
            let at = |point: &OffsetPoint, ns: i64| (x.value(point.at_ns), y.value(ns));
            let above = clock.curve.iter().map(|point| at(point, upper(point)));
            let below = clock.curve.iter().rev();
            let below = below.map(|point| at(point, lower(point)));
            let band: Vec<(f64, f64)> = above.chain(below).collect();
            let class = format!("{} outer", style::series(idx));
            sheet.group(&class, &[], "", || {
                chart.draw_series([Polygon::new(band, BLACK.filled())])
            })?;
        }
        for (idx, clock) in self.clocks.iter().enumerate() {
            let curve = clock.curve.iter();
            let curve = curve.map(|point| (x.value(point.at_ns), y.value(point.offset_ns)));
            let class = format!("line {}", style::series(idx));
            let data = [("name", clock.host.as_str())];
            sheet.group(&class, &data, &clock.summary(), || {
                chart.draw_series(LineSeries::new(curve, BLACK))
            })?;
            let class = format!("point {}", style::series(idx));
            for point in &clock.measured {
                let middle = (x.value(point.at_ns), y.shown(point.offset_ns));
                sheet.group(&class, &[], &clock.point_words(point), || {
                    chart.draw_series([Circle::new(middle, 25, BLACK.filled())])
                })?;
            }
        }
        Ok(())
    }

    fn draw_residuals(&self, sheet: &Sheet, place: Place, x: Scale) -> Drawn {
        let residuals = self.clocks.iter().flat_map(HostClock::residuals);
        let y = Scale::of(residuals.map(|point| point.offset_ns));
        let words = format!("measured offset minus the curve, in {}", y.unit.name);
        let mut chart = self.open(sheet, place, (x, y), &words)?;
        for (idx, clock) in self.clocks.iter().enumerate() {
            let class = format!("point {}", style::series(idx));
            for point in clock.residuals() {
                let middle = (x.value(point.at_ns), y.value(point.offset_ns));
                sheet.group(&class, &[], &clock.point_words(&point), || {
                    chart.draw_series([Circle::new(middle, 25, BLACK.filled())])
                })?;
            }
        }
        Ok(())
    }

    /// Opens a plot of times against offsets.
    fn open<'a>(
        &self,
        sheet: &Sheet,
        place: Place,
        (x, y): (Scale, Scale),
        words: &str,
    ) -> Result<
        axes::Chart<
            'a,
            plotters::coord::types::RangedCoordf64,
            plotters::coord::types::RangedCoordf64,
        >,
        crate::frame::Refusal,
    > {
        let xs = round_steps(x.range.0.max(0.0), x.range.1, 10, f64::MIN_POSITIVE);
        // Times are integers of ns.
        let ys = round_steps(y.range.0, y.range.1, 6, 1.0 / y.unit.ns);
        let x_words = format!("time since the start of the run, in {}", x.unit.name);
        let x_axis = Axis {
            words: &x_words,
            ticks: &xs,
            tick: &tick,
        };
        let y_axis = Axis {
            words,
            ticks: &ys,
            tick: &tick,
        };
        let ranges = (x.range.0..x.range.1, y.range.0..y.range.1);
        axes::open(sheet, place, ranges, (&x_axis, &y_axis))
    }

    fn draw_legend(&self, sheet: &Sheet, top: u32) {
        let x = MARGIN as i32 * UNIT;
        for (idx, clock) in self.clocks.iter().enumerate() {
            let y = (top + LEGEND_ROW * idx as u32) as i32 * UNIT;
            let class = format!("line {}", style::series(idx));
            sheet.polyline(&class, &[(x, y), (x + 30 * UNIT, y)]);
            let at = (x + 38 * UNIT, y + 4 * UNIT);
            sheet.text(at, Anchor::Start, "minor", &clock.summary());
        }
    }

    fn description(&self) -> String {
        let mut text = format!("Clocks of hosts over time. {}", self.subtitle.as_str());
        for clock in &self.clocks {
            text.push_str(&format!(" {}.", clock.summary()));
        }
        text
    }
}

impl HostClock {
    /// Largest deviation from a straight line and its uncertainty, as a sentence.
    fn summary(&self) -> String {
        let offsets = || self.curve.iter().map(|point| point.offset_ns);
        let most = offsets().map(i64::saturating_abs).max().unwrap_or(0);
        let error = self.error_ns();
        let course = if most <= error {
            format!("straight within its error, ±{}", duration(error))
        } else {
            let most = duration(most);
            format!("up to {most} off the straight line, ±{}", duration(error))
        };
        let residuals = self.residuals().map(|point| point.offset_ns);
        let mut off: Vec<i64> = residuals.map(i64::saturating_abs).collect();
        off.sort_unstable();
        let measured = match off.get(off.len() / 2) {
            Some(&median) => format!(
                "{} bursts, half of them within {} of the curve",
                grouped(off.len() as u64),
                duration(median)
            ),
            None => "no bursts".to_owned(),
        };
        format!("{}: {course}; {measured}", self.host.cut(40))
    }

    /// The largest uncertainty of its curve, ns.
    fn error_ns(&self) -> i64 {
        let errors = self.curve.iter().map(|point| point.error_ns.max(0));
        errors.max().unwrap_or(0)
    }

    fn point_words(&self, point: &OffsetPoint) -> String {
        format!(
            "{} at {}: {} (error at most {})",
            self.host.cut(40),
            duration(point.at_ns),
            duration(point.offset_ns),
            duration(point.error_ns)
        )
    }
}

fn upper(point: &OffsetPoint) -> i64 {
    point.offset_ns.saturating_add(point.error_ns.max(0))
}

fn lower(point: &OffsetPoint) -> i64 {
    point.offset_ns.saturating_sub(point.error_ns.max(0))
}
