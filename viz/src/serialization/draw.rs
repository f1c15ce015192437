//! Drawing of serialization curves.

use collbench_text::quantity::{TimeUnit, counted_grouped, duration, fine_duration, grouped, tick};
use plotters::prelude::{BLACK, Circle, LineSeries, Polygon};
use plotters::style::Color;

use super::{Curve, Departure, Positions, Serialization};
use crate::axes::{self, ABOVE, Axis, BELOW, LEFT, PLOT_WIDTH, Place, round_steps};
use crate::frame::{Drawn, Head, MARGIN, report_refusal};
use crate::style::{self, CHART};
use crate::svg::{Anchor, Sheet, UNIT};
use crate::text::cut;
use crate::timemap::duration_of;

const PLOT_HEIGHT: u32 = 300;
const LEGEND_ROW: u32 = 20;
/// With more departures they are drawn without points.
const MAX_POINTS: usize = 64;

/// The scales: times in `unit`, positions as integers.
struct Scale {
    unit: TimeUnit,
    x: (f64, f64),
    y: (f64, f64),
}

impl Serialization {
    /// The picture; see [`Picture::draw`](crate::Picture::draw).
    pub(crate) fn draw(&self, id: &str) -> String {
        let head = Head::new(&self.heading.finding, &self.subtitle());
        let scale = self.scale();
        let top = head.bottom() + 14 + ABOVE;
        let bottom = top + PLOT_HEIGHT;
        let n_rows = self.curves.iter().map(Curve::n_legend_rows).sum::<u32>()
            + u32::from(self.clock_error_ns.is_some());
        let place = Place {
            left: LEFT,
            top,
            bottom,
            height: bottom + BELOW + 16 + LEGEND_ROW * n_rows,
        };
        let sheet = head.sheet(place.height);
        let drawn = self.draw_plot(&sheet, place, &scale);
        report_refusal(drawn, &sheet, (LEFT, top + 20));
        self.draw_legend(&sheet, bottom + BELOW + 12);
        sheet.finish(id, &self.heading.finding, &self.description(), &[CHART])
    }

    fn subtitle(&self) -> String {
        let n = u64::from(self.n_ranks);
        let positions = match self.of {
            Positions::Children => {
                format!("up to {}", n.max(1)) + if n == 1 { " child" } else { " children" }
            }
            Positions::Ranks => counted_grouped(n, "rank"),
            Positions::Subtree => format!("{} of a subtree", counted_grouped(n, "rank")),
        };
        format!(
            "{}, {}, {positions}; mean times",
            self.heading.operation,
            counted_grouped(self.heading.n_instances, "instance"),
        )
    }

    fn scale(&self) -> Scale {
        let departures = || self.curves.iter().flat_map(|curve| &curve.departures);
        let times = departures().map(|departure| departure.time.mean_ns());
        // The height above 0 is a result, so the axis includes 0.
        let error = i64::try_from(self.clock_error_ns.unwrap_or(0)).unwrap_or(i64::MAX);
        let ends = times.map(|ns| (ns.saturating_sub(error), ns.saturating_add(error)));
        let (low, high) = ends.fold((0i64, 0i64), |(l, h), (a, b)| (l.min(a), h.max(b)));
        let (low, high) = (low as f64, (high as f64).max(low as f64 + 1.0));
        let unit = TimeUnit::for_axis(high.max(-low));
        let pad = (high - low) * 0.05;
        let y_low = if low < 0.0 { low - pad } else { 0.0 };
        let last = f64::from(self.n_ranks.max(2) - 1);
        Scale {
            unit,
            x: (-0.02 * last, 1.02 * last),
            y: (y_low / unit.ns, (high + pad) / unit.ns),
        }
    }

    fn draw_plot(&self, sheet: &Sheet, place: Place, scale: &Scale) -> Drawn {
        let last = f64::from(self.n_ranks.max(2) - 1);
        let xs = round_steps(0.0, last, 10, 1.0);
        let ys = round_steps(scale.y.0, scale.y.1, 6, f64::MIN_POSITIVE);
        let (x_words, y_words) = match self.of {
            Positions::Children => (
                "children of a node in the order in which it serves them (0 is served first)",
                "mean wait of a child behind its siblings",
            ),
            Positions::Ranks => (
                "position in the order of departure (0 leaves first)",
                "mean time from the last arrival until the rank leaves",
            ),
            Positions::Subtree => (
                "position in the order of departure (0 departs first)",
                "up latency + departure wait",
            ),
        };
        let words = format!("{y_words}, in {}", scale.unit.name);
        let x_axis = Axis {
            words: x_words,
            ticks: &xs,
            tick: &|v| grouped(v as u64),
        };
        let y_axis = Axis {
            words: &words,
            ticks: &ys,
            tick: &tick,
        };
        let (x, y) = (scale.x.0..scale.x.1, scale.y.0..scale.y.1);
        let mut chart = axes::open(sheet, place, (x, y), (&x_axis, &y_axis))?;
        let at = |d: &Departure| {
            let ns = d.time.mean_ns() as f64;
            (f64::from(d.position), ns / scale.unit.ns)
        };
        if self.curves.iter().all(|curve| curve.departures.is_empty()) {
            let middle = (
                (LEFT + PLOT_WIDTH / 2) as i32 * UNIT,
                (place.top + 40) as i32 * UNIT,
            );
            sheet.text(middle, Anchor::Middle, "name", "not resolvable");
        }
        if let Some(error_ns) = self.clock_error_ns {
            let error = error_ns as f64 / scale.unit.ns;
            for curve in self
                .curves
                .iter()
                .filter(|curve| !curve.departures.is_empty())
            {
                let above = curve.departures.iter().map(at).map(|(x, y)| (x, y + error));
                let below = curve.departures.iter().rev().map(at);
                let below = below.map(|(x, y)| (x, y - error));
                let band: Vec<(f64, f64)> = above.chain(below).collect();
                sheet.group("error", &[], &error_words(error_ns), || {
                    chart.draw_series([Polygon::new(band, BLACK.filled())])
                })?;
            }
        }
        for (idx, curve) in self.curves.iter().enumerate() {
            if let Some(line) = curve.line {
                // The part inside the plot.
                let points = (0..=200).map(|step| last * f64::from(step) / 200.0);
                let points = points.map(|x| (x, line.at(x) / scale.unit.ns));
                let points = points.filter(|(_, y)| (scale.y.0..=scale.y.1).contains(y));
                let points: Vec<(f64, f64)> = points.collect();
                let ends = points.first().into_iter().chain(points.last()).copied();
                sheet.group("fit", &[], "", || {
                    chart.draw_series(LineSeries::new(ends, BLACK))
                })?;
            }
            let class = format!("line {}", style::series(idx));
            let data = [("name", curve.name.as_str())];
            sheet.group(&class, &data, &curve.tooltip(), || {
                chart.draw_series(LineSeries::new(curve.departures.iter().map(at), BLACK))
            })?;
            if curve.departures.len() > MAX_POINTS {
                continue;
            }
            for departure in &curve.departures {
                let class = format!("point {}", style::series(idx));
                sheet.group(&class, &[], &curve.point_tooltip(departure), || {
                    chart.draw_series([Circle::new(at(departure), 35, BLACK.filled())])
                })?;
            }
        }
        Ok(())
    }

    fn draw_legend(&self, sheet: &Sheet, top: u32) {
        let mut y = top as i32 * UNIT;
        let x = MARGIN as i32 * UNIT;
        let mut entry = |class: &str, words: &str| {
            sheet.polyline(class, &[(x, y), (x + 30 * UNIT, y)]);
            sheet.text(
                (x + 38 * UNIT, y + 4 * UNIT),
                Anchor::Start,
                "minor",
                &cut(words, 130),
            );
            y += LEGEND_ROW as i32 * UNIT;
        };
        for (idx, curve) in self.curves.iter().enumerate() {
            entry(&format!("line {}", style::series(idx)), &curve.summary());
            if let Some(words) = curve.line_words() {
                entry("fit-line", &words);
            }
        }
        if let Some(error_ns) = self.clock_error_ns {
            let from = (x, y - 5 * UNIT);
            sheet.rectangle("error", from, (x + 30 * UNIT, y + 5 * UNIT));
            let at = (x + 38 * UNIT, y + 4 * UNIT);
            sheet.text(at, Anchor::Start, "minor", &error_words(error_ns));
        }
    }

    fn description(&self) -> String {
        let mut text = format!("Serialization curve of {}.", self.subtitle());
        for curve in &self.curves {
            text.push_str(&format!(" {}.", curve.summary()));
            if let Some(words) = curve.line_words() {
                text.push_str(&format!(" {words}."));
            }
        }
        if let Some(error_ns) = self.clock_error_ns {
            text.push_str(&format!(" {}.", error_words(error_ns)));
        }
        text
    }
}

/// The uncertainty of the clocks, for the legend.
fn error_words(error_ns: u64) -> String {
    format!("clock error, ±{}", duration_of(error_ns))
}

impl Curve {
    fn n_legend_rows(&self) -> u32 {
        1 + u32::from(self.line.is_some())
    }

    /// First and last departure as a sentence.
    fn summary(&self) -> String {
        match (self.departures.first(), self.departures.last()) {
            (Some(first), Some(last)) => format!(
                "{}: {} at position {}, {} at position {}",
                self.name.cut(40),
                duration(first.time.mean_ns()),
                grouped(u64::from(first.position)),
                duration(last.time.mean_ns()),
                grouped(u64::from(last.position)),
            ),
            _ => format!("{}: not resolvable", self.name.cut(40)),
        }
    }

    fn line_words(&self) -> Option<String> {
        let line = self.line?;
        Some(format!(
            "straight-line fit: starts at {}, each further rank leaves {} later",
            fine_duration(line.at_first_ns),
            fine_duration(line.per_rank_ns),
        ))
    }

    fn tooltip(&self) -> String {
        let line = self
            .line_words()
            .map_or(String::new(), |words| format!("\n{words}"));
        format!("{}{line}", self.summary())
    }

    fn point_tooltip(&self, departure: &Departure) -> String {
        let whose = departure.rank;
        let whose = whose.map_or(String::new(), |rank| format!(" (rank {rank})"));
        format!(
            "{}, position {}{whose}: {} (n = {})",
            self.name,
            grouped(u64::from(departure.position)),
            duration(departure.time.mean_ns()),
            grouped(departure.time.n()),
        )
    }
}
