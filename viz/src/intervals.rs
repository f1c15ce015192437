//! Values with their intervals on one axis from 0, as rows below each other.
//!
//! For what was expected beside what was measured: each row has a name, and below it a mark for each value. The
//! numbers stand beside the marks in words, so that neither colours nor a legend are needed to read them.

use collbench_text::quantity::{TimeUnit, fine_duration, tick};

use crate::axes::{self, Axis, BELOW, PLOT_WIDTH, Place, RIGHT, round_steps};
use crate::frame::{Drawn, Head, MARGIN, WIDTH, report_refusal};
use crate::style::{self, CHART, Style};
use crate::svg::{Anchor, Sheet, UNIT, text_width};
use crate::text::cut;
use crate::{CurveAxis, Quantity, Text};

// In px.
/// Height of the name of a row, and of a mark.
const NAME: u32 = 22;
const MARK: u32 = 18;
/// Between two rows.
const GAP: u32 = 10;
/// Above the plot, for the words of the line.
const LINE_WORDS: u32 = 20;
/// Between a mark and its words.
const AIR: i32 = 8;
const SMALL: f64 = 11.0;
/// Characters of the name of a row that fit.
const NAME_CHARS: usize = 120;
const TICKS: usize = 9;
/// The axis ends at so many times the largest value, if intervals are longer.
const MOST_TIMES: f64 = 1.6;

/// Rules that the picture adds.
const INTERVALS: Style<'static> = Style {
    light: "\
.cap{stroke-width:1.6px;fill:none}
.reference{stroke:#c81414;stroke-width:1.6px;fill:none}
",
    dark: ".reference{stroke:#ff6b6b}\n",
};

/// A value with its interval.
#[derive(Debug, Clone)]
pub struct Interval {
    what: Text,
    /// From 0 to 1e18, like both ends.
    value: f64,
    ends: Option<(f64, f64)>,
}

impl Interval {
    /// A value: what it is, such as `measured`, and its interval if that is known. `None` if one of them is negative, not a
    /// number, or 1e18 and more.
    pub fn new(what: impl Into<Text>, value: f64, ends: Option<(f64, f64)>) -> Option<Interval> {
        let is_drawn = |of: f64| (0.0..1e18).contains(&of);
        let are_drawn = ends.is_none_or(|(low, high)| is_drawn(low) && is_drawn(high));
        (is_drawn(value) && are_drawn).then(|| Interval {
            what: what.into(),
            value,
            ends: ends.map(|(low, high)| (low.min(high), low.max(high))),
        })
    }

    /// The lowest and the highest of its numbers.
    fn range(&self) -> (f64, f64) {
        let (low, high) = self.ends.unwrap_or((self.value, self.value));
        (low.min(self.value), high.max(self.value))
    }

    fn words(&self, quantity: Quantity) -> String {
        let number = |value: f64| match quantity {
            Quantity::Time => fine_duration(value),
            Quantity::Number => format!("{value:.3}"),
        };
        let of = format!("{} {}", self.what.as_str(), number(self.value));
        match self.ends {
            None => of,
            Some((low, high)) => format!("{of} ({} to {})", number(low), number(high)),
        }
    }
}

#[derive(Debug, Clone)]
struct Row {
    name: Text,
    marks: Vec<Interval>,
}

impl Row {
    fn height(&self) -> u32 {
        NAME + MARK * self.marks.len() as u32 + GAP
    }
}

/// Values with their intervals, row by row.
#[derive(Debug, Clone)]
pub struct Intervals {
    finding: Text,
    subtitle: Text,
    axis: CurveAxis,
    line: Option<(f64, Text)>,
    rows: Vec<Row>,
}

impl Intervals {
    /// A picture without rows yet. Its axis is linear, and begins at 0.
    pub fn new(
        finding: impl Into<Text>,
        subtitle: impl Into<Text>,
        words: impl Into<Text>,
        quantity: Quantity,
    ) -> Intervals {
        Intervals {
            finding: finding.into(),
            subtitle: subtitle.into(),
            axis: CurveAxis::new(words, quantity),
            line: None,
            rows: Vec::new(),
        }
    }

    /// This picture with a line through all rows at a value, with what that means. The line is not drawn if it is
    /// negative, not a number, or 1e18 and more.
    #[must_use]
    pub fn with_line(self, at: f64, words: impl Into<Text>) -> Intervals {
        Intervals {
            line: (0.0..1e18).contains(&at).then(|| (at, words.into())),
            ..self
        }
    }

    /// Adds a row below the others. Marks of the same thing look alike in all rows.
    pub fn push(&mut self, name: impl Into<Text>, marks: impl IntoIterator<Item = Interval>) {
        self.rows.push(Row {
            name: name.into(),
            marks: marks.into_iter().collect(),
        });
    }

    /// What the marks are, in the order of their first rows.
    fn kinds(&self) -> Vec<&str> {
        let mut kinds: Vec<&str> = Vec::new();
        for mark in self.rows.iter().flat_map(|row| &row.marks) {
            if !kinds.contains(&mark.what.as_str()) {
                kinds.push(mark.what.as_str());
            }
        }
        kinds
    }

    /// The right end of the axis: long intervals go beyond it.
    fn end(&self) -> f64 {
        let marks = || self.rows.iter().flat_map(|row| &row.marks);
        let values = marks().map(|mark| mark.value);
        let line = self.line.as_ref().map(|(at, _)| *at);
        let value = values.chain(line).fold(0.0, f64::max);
        let high = marks().map(|mark| mark.range().1).fold(value, f64::max);
        if high > 0.0 {
            1.04 * high.min(MOST_TIMES * value.max(high * 1e-3))
        } else {
            1.0
        }
    }

    /// The picture; see [`Picture::draw`](crate::Picture::draw).
    pub(crate) fn draw(&self, id: &str) -> String {
        let head = Head::new(&self.finding, self.subtitle.as_str());
        let above = if self.line.is_some() { LINE_WORDS } else { 0 };
        let top = head.bottom() + 14 + above;
        let rows: u32 = self.rows.iter().map(Row::height).sum();
        let bottom = top + rows.max(NAME + MARK + GAP);
        let place = Place {
            left: MARGIN,
            top,
            bottom,
            height: bottom + BELOW,
        };
        let sheet = head.sheet(place.height);
        let drawn = self.draw_rows(&sheet, place);
        report_refusal(drawn, &sheet, (MARGIN, top + 20));
        let words: Vec<String> = (self.rows.iter())
            .map(|row| {
                let marks = row.marks.iter().map(|mark| mark.words(self.axis.quantity));
                let marks: Vec<String> = marks.collect();
                format!("{}: {}", row.name.as_str(), marks.join(", "))
            })
            .collect();
        let description = format!("{}: {}.", self.axis.words, words.join("; "));
        sheet.finish(id, &self.finding, &description, &[CHART, INTERVALS])
    }

    fn draw_rows(&self, sheet: &Sheet, place: Place) -> Drawn {
        let end = self.end();
        let unit = match self.axis.quantity {
            Quantity::Time => Some(TimeUnit::for_axis(end)),
            Quantity::Number => None,
        };
        let of_unit = unit.map_or(1.0, |unit| unit.ns);
        let steps = round_steps(0.0, end / of_unit, TICKS, f64::MIN_POSITIVE);
        let ticks: Vec<f64> = steps.into_iter().map(|step| step * of_unit).collect();
        let words = match unit {
            None => self.axis.words.as_str().to_owned(),
            Some(unit) => format!("{}, in {}", self.axis.words.as_str(), unit.name),
        };
        let x_axis = Axis {
            words: &words,
            ticks: &ticks,
            tick: &|value| tick(value / of_unit),
        };
        let chart = axes::open(sheet, place, (0.0..end, 0.0..1.0), (&x_axis, &Axis::NONE))?;
        let x = |value: f64| {
            let area = chart.plotting_area();
            area.map_coordinate(&(value.min(end), 0.0)).0
        };
        let px = |y: u32| y as i32 * UNIT;
        if let Some((at, words)) = &self.line {
            let at = x(*at);
            sheet.polyline(
                "reference",
                &[(at, px(place.top - 4)), (at, px(place.bottom))],
            );
            let half = (text_width(words.as_str(), SMALL) / 2.0) as i32 * UNIT;
            let rightmost = (px(WIDTH - MARGIN) - half).max(px(MARGIN));
            let above = (at.min(rightmost), px(place.top - 9));
            sheet.text(above, Anchor::Middle, "minor", words.as_str());
        }
        if self.rows.is_empty() {
            let middle = px(MARGIN + PLOT_WIDTH / 2);
            let at = (middle, px(place.top + 25));
            sheet.text(at, Anchor::Middle, "name", "nothing was measured");
        }
        let kinds = self.kinds();
        let mut y = place.top;
        for row in &self.rows {
            let at = (x(0.0) + 6 * UNIT, px(y + 16));
            let name = cut(row.name.as_str(), NAME_CHARS);
            sheet.text(at, Anchor::Start, "label name", &name);
            for (nth, mark) in (0..).zip(&row.marks) {
                let middle = px(y + NAME + MARK * nth) + px(MARK) / 2;
                let kind = kinds.iter().position(|kind| *kind == mark.what.as_str());
                self.draw_mark(sheet, mark, (kind.unwrap_or(0), middle), (&x, end));
            }
            y += row.height();
        }
        Ok(())
    }

    fn draw_mark(
        &self,
        sheet: &Sheet,
        mark: &Interval,
        (kind, y): (usize, i32),
        (x, end): (&impl Fn(f64) -> i32, f64),
    ) {
        let words = mark.words(self.axis.quantity);
        let color = style::color(kind);
        let (low, high) = mark.range();
        let (left, middle, right) = (x(low), x(mark.value), x(high));
        sheet.group("bar", &[], &words, || {
            if mark.ends.is_some() {
                let (above, below) = (y - 4 * UNIT, y + 4 * UNIT);
                sheet.rectangle(&format!("{color} inner"), (left, above), (right, below));
                let cap = format!("cap {color}");
                sheet.polyline(&cap, &[(left, above), (left, below)]);
                // One that goes on beyond the axis has no end there.
                if high <= end {
                    sheet.polyline(&cap, &[(right, above), (right, below)]);
                }
            }
            // Kinds differ in shape, too.
            if kind.is_multiple_of(2) {
                sheet.ring(&color, (middle, y), 4 * UNIT);
            } else {
                let half = 35;
                let (from, to) = ((middle - half, y - half), (middle + half, y + half));
                sheet.rectangle(&color, from, to);
            }
        });
        let width = text_width(&words, SMALL) as i32 * UNIT;
        let (after, before) = (
            right.max(middle + 4 * UNIT) + AIR * UNIT,
            left.min(middle - 4 * UNIT) - AIR * UNIT,
        );
        let (leftmost, rightmost) = (x(0.0), (WIDTH - RIGHT) as i32 * UNIT);
        let line = self.line.as_ref().map(|(at, _)| x(*at));
        let is_free = |from: i32, to: i32| !line.is_some_and(|at| (from..=to).contains(&at));
        let is_after = after + width <= rightmost;
        let is_before = before - width >= leftmost;
        let (at, anchor) = if is_after && (is_free(after, after + width) || !is_before) {
            (after, Anchor::Start)
        } else if is_before {
            (before, Anchor::End)
        } else {
            (leftmost + AIR * UNIT, Anchor::Start)
        };
        sheet.text((at, y + 4 * UNIT), anchor, "label", &words);
    }
}
