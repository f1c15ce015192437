//! Horizontal bars of times that are made up of parts, as an overview of several things.
//!
//! Above each bar stands what it is made of, in words: the colours are not needed to read it.

use collbench_text::quantity::{TimeUnit, fine_duration, tick};

use crate::Text;
use crate::axes::{self, Axis, BELOW, LEFT, PLOT_WIDTH, Place, round_steps};
use crate::frame::{Drawn, Head, MARGIN, report_refusal};
use crate::style::{self, CHART};
use crate::svg::{Anchor, Sheet, UNIT};
use crate::text::cut;

/// Height of a bar with its words, and of the bar alone, px.
const ROW: u32 = 46;
const BAR: u32 = 18;
/// Characters that fit above a bar.
const WORDS: usize = 130;
const TICKS: usize = 8;

/// A part of a bar.
#[derive(Debug, Clone)]
pub struct BarPart {
    name: Text,
    /// >= 0, finite.
    ns: f64,
}

impl BarPart {
    /// A part of this length; `None` if it is negative, or 1e18 ns and more.
    pub fn new(name: impl Into<Text>, ns: f64) -> Option<BarPart> {
        (0.0..1e18).contains(&ns).then(|| BarPart {
            name: name.into(),
            ns,
        })
    }
}

#[derive(Debug, Clone)]
struct Row {
    name: Text,
    parts: Vec<BarPart>,
}

impl Row {
    fn total_ns(&self) -> f64 {
        self.parts.iter().map(|part| part.ns).sum()
    }

    /// What the bar shows, in words.
    fn words(&self) -> String {
        let of_part = |part: &BarPart| format!("{} {}", part.name.as_str(), fine_duration(part.ns));
        let parts: Vec<String> = self.parts.iter().map(of_part).collect();
        let total = match parts.len() {
            0 | 1 => String::new(),
            _ => format!(" = {}", fine_duration(self.total_ns())),
        };
        format!("{}: {}{total}", self.name.as_str(), parts.join(" + "))
    }
}

/// Times made up of parts, one bar for each.
///
/// # Source
/// Culler et al. 1996, figure 6.
#[derive(Debug, Clone)]
pub struct StackedBars {
    finding: Text,
    subtitle: Text,
    rows: Vec<Row>,
}

impl StackedBars {
    /// A picture without bars yet.
    pub fn new(finding: impl Into<Text>, subtitle: impl Into<Text>) -> StackedBars {
        StackedBars {
            finding: finding.into(),
            subtitle: subtitle.into(),
            rows: Vec::new(),
        }
    }

    /// Adds a bar below the others. Parts of one name have one colour in all bars.
    pub fn push(&mut self, name: impl Into<Text>, parts: Vec<BarPart>) {
        self.rows.push(Row {
            name: name.into(),
            parts,
        });
    }

    /// Names of all parts, in the order of their first bars.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for part in self.rows.iter().flat_map(|row| &row.parts) {
            if !names.contains(&part.name.as_str()) {
                names.push(part.name.as_str());
            }
        }
        names
    }

    /// The picture; see [`Picture::draw`](crate::Picture::draw).
    pub(crate) fn draw(&self, id: &str) -> String {
        let head = Head::new(&self.finding, self.subtitle.as_str());
        let top = head.bottom() + 14;
        let bottom = top + ROW * (self.rows.len() as u32).max(1) + 10;
        let place = Place {
            left: MARGIN,
            top,
            bottom,
            height: bottom + BELOW,
        };
        let sheet = head.sheet(place.height);
        let drawn = self.draw_bars(&sheet, place);
        report_refusal(drawn, &sheet, (LEFT, top + 20));
        let words: Vec<String> = self.rows.iter().map(Row::words).collect();
        let description = format!("Times and their parts: {}.", words.join("; "));
        sheet.finish(id, &self.finding, &description, &[CHART])
    }

    fn draw_bars(&self, sheet: &Sheet, place: Place) -> Drawn {
        let longest = self.rows.iter().map(Row::total_ns).fold(0.0, f64::max);
        let end = if longest > 0.0 { longest * 1.04 } else { 1.0 };
        let unit = TimeUnit::for_axis(end);
        let steps = round_steps(0.0, end / unit.ns, TICKS, f64::MIN_POSITIVE);
        let ticks: Vec<f64> = steps.into_iter().map(|step| step * unit.ns).collect();
        let x_axis = Axis {
            words: &format!("time, in {}", unit.name),
            ticks: &ticks,
            tick: &|ns| tick(ns / unit.ns),
        };
        let chart = axes::open(sheet, place, (0.0..end, 0.0..1.0), (&x_axis, &Axis::NONE))?;
        let x = |ns: f64| chart.plotting_area().map_coordinate(&(ns, 0.0)).0;
        if self.rows.is_empty() {
            let middle = (LEFT + PLOT_WIDTH / 2) as i32 * UNIT;
            let at = (middle, (place.top + 25) as i32 * UNIT);
            sheet.text(at, Anchor::Middle, "name", "nothing was measured");
        }
        let names = self.names();
        for (idx, row) in self.rows.iter().enumerate() {
            let bar_top = (place.top + ROW * idx as u32 + ROW - BAR) as i32 * UNIT;
            let words = cut(&row.words(), WORDS);
            let at = (x(0.0) + 6 * UNIT, bar_top - 5 * UNIT);
            sheet.text(at, Anchor::Start, "label", &words);
            let mut begin = 0.0;
            for part in &row.parts {
                let color = names.iter().position(|name| *name == part.name.as_str());
                let from = (x(begin), bar_top);
                begin += part.ns;
                let to = (x(begin), bar_top + BAR as i32 * UNIT);
                let title = format!("{} {}", part.name.as_str(), fine_duration(part.ns));
                sheet.group("bar", &[], &title, || {
                    sheet.rectangle(&style::color(color.unwrap_or(0)), from, to);
                });
            }
        }
        Ok(())
    }
}
