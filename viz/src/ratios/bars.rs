//! Drawing of ratios as bars.

use super::{RatioBars, at};
use crate::frame::{Head, MARGIN};
use crate::style::{self, Style};
use crate::svg::{Anchor, Sheet, fit, text_width};

// All in px.
const LEFT: f64 = 70.0;
const PLOT: (f64, f64) = (874.0, 260.0);
const AXIS: f64 = 44.0;
const LEGEND_ROW: f64 = 18.0;
const WIDEST_BAR: f64 = 60.0;
const SMALL: f64 = 11.0;
/// From a bar to the upper edge of its number.
const NUMBER_HEIGHT: f64 = 16.0;

/// Rules that bars of ratios add.
const BARS: Style<'static> = Style {
    light: "\
.bar{stroke-width:0}
.one{stroke:#c81414;stroke-width:1.6px;fill:none}
",
    dark: ".one{stroke:#ff6b6b}\n",
};

impl RatioBars {
    /// The picture; see [`Picture::draw`](crate::Picture::draw).
    pub(crate) fn draw(&self, id: &str) -> String {
        let head = Head::new(&self.finding, self.subtitle.as_str());
        let top = f64::from(head.bottom()) + 24.0;
        let bottom = top + PLOT.1;
        let values = self.groups.iter().flat_map(|group| &group.values).flatten();
        // Room for the number above the highest bar.
        let highest = values.copied().fold(1.2, f64::max) * 1.08;
        let n_legend_rows = if self.series.len() > 1 {
            self.series.len()
        } else {
            0
        };
        let height = bottom + AXIS + LEGEND_ROW * n_legend_rows as f64 + 10.0;
        let sheet = head.sheet(height.ceil() as u32);
        let y = |value: f64| bottom - PLOT.1 * value / highest;
        self.draw_axis(&sheet, (top, bottom), highest, &y);
        let width = PLOT.0 / self.groups.len().max(1) as f64;
        let bar = (width * 0.8 / self.series.len().max(1) as f64).min(WIDEST_BAR);
        for (idx, group) in self.groups.iter().enumerate() {
            let middle = LEFT + width * (idx as f64 + 0.5);
            let left = middle - bar * group.values.len() as f64 / 2.0;
            for (series, value) in group.values.iter().enumerate() {
                let x = left + bar * series as f64;
                self.draw_bar(
                    &sheet,
                    (series, *value),
                    (x, bar),
                    (&y, bottom),
                    group.name.as_str(),
                );
            }
            let name = fit(group.name.as_str(), width, SMALL);
            sheet.text(at(middle, bottom + 16.0), Anchor::Middle, "minor", &name);
        }
        sheet.polyline("one", &[at(LEFT, y(1.0)), at(LEFT + PLOT.0, y(1.0))]);
        for (idx, name) in self.series.iter().enumerate().take(n_legend_rows) {
            let y = bottom + AXIS + LEGEND_ROW * (idx as f64 + 0.5);
            let left = f64::from(MARGIN);
            sheet.rectangle(&bar_class(idx), at(left, y - 6.0), at(left + 20.0, y + 6.0));
            sheet.text(
                at(left + 26.0, y + 4.0),
                Anchor::Start,
                "minor",
                name.as_str(),
            );
        }
        let description = format!("{}. {} by {}.", self.subtitle, self.ratio, self.axis);
        sheet.finish(id, &self.finding, &description, &[BARS])
    }

    fn draw_bar(
        &self,
        sheet: &Sheet,
        (series, value): (usize, Option<f64>),
        (x, width): (f64, f64),
        (y, bottom): (&impl Fn(f64) -> f64, f64),
        group: &str,
    ) {
        let (number, top) = match value {
            Some(value) => (format!("{value:.2}"), y(value)),
            None => ("-".to_owned(), bottom),
        };
        let name = self.series.get(series).map_or("", |name| name.as_str());
        let tooltip = format!("{name}, {group}: {number}");
        sheet.group("bars", &[], &tooltip, || {
            if value.is_some() {
                sheet.rectangle(
                    &bar_class(series),
                    at(x + 1.0, top),
                    at(x + width - 1.0, bottom),
                );
            }
            if text_width(&number, SMALL) <= width + 6.0 {
                // The line at 1 does not go through a number, which stands above it then.
                let above = y(1.0);
                let is_crossed = (above..above + NUMBER_HEIGHT).contains(&top);
                let base = if is_crossed { above } else { top };
                let middle = at(x + width / 2.0, base - 4.0);
                sheet.text(middle, Anchor::Middle, "tick", &number);
            }
        });
    }

    fn draw_axis(
        &self,
        sheet: &Sheet,
        (top, bottom): (f64, f64),
        highest: f64,
        y: &impl Fn(f64) -> f64,
    ) {
        let exponent = (highest / 4.0).log10().floor();
        let least = 10.0_f64.powf(exponent);
        let distance = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|factor| factor * least);
        let distance = distance
            .into_iter()
            .find(|distance| highest / distance <= 6.0);
        let distance = distance.unwrap_or(highest);
        let n_ticks = (highest / distance) as u32;
        for tick in 0..=n_ticks {
            let value = f64::from(tick) * distance;
            let ends = [at(LEFT, y(value)), at(LEFT + PLOT.0, y(value))];
            sheet.group("grid", &[], "", || sheet.polyline("", &ends));
            let label = collbench_text::quantity::tick(value);
            sheet.text(at(LEFT - 6.0, y(value) + 4.0), Anchor::End, "tick", &label);
        }
        let ends = [at(LEFT, bottom), at(LEFT + PLOT.0, bottom)];
        sheet.group("axis", &[], "", || sheet.polyline("", &ends));
        let middle = at(LEFT + PLOT.0 / 2.0, bottom + 34.0);
        sheet.text(middle, Anchor::Middle, "minor", self.axis.as_str());
        let corner = at(f64::from(MARGIN), top - 8.0);
        sheet.text(corner, Anchor::Start, "minor", self.ratio.as_str());
    }
}

fn bar_class(series: usize) -> String {
    // Bars side by side need no dash patterns.
    format!(
        "bar {}",
        style::series(series).split(' ').next().unwrap_or_default()
    )
}
