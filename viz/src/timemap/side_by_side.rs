//! Several timemaps side by side, on the same scales: one column per trace.
//!
//! The columns share rows and time axis, so lengths can be compared. In a column few threads have a
//! thin line each, many are drawn as a band; the thick line is the median of all.

use collbench_text::quantity::{TimeUnit, counted_grouped, duration, tick};

use super::band::{band, quantile, stretches};
use super::{Heading, Thread, Timemap};
use crate::axes::round_steps;
use crate::frame::{Head, MARGIN, WIDTH};
use crate::svg::{Anchor, Sheet, UNIT, at};
use crate::text::{cut, wrap};
use crate::{Text, style};

// In px.
const LEFT: f64 = 176.0;
const RIGHT: f64 = 24.0;
const BETWEEN: f64 = 20.0;
const COLUMN_HEAD: f64 = 54.0;
const AXIS: f64 = 44.0;
const LEGEND: f64 = 26.0;
/// Columns beside one another; more columns continue below.
const MAX_COLUMNS: usize = 4;
/// Characters per px of a column's width.
const CHARS_PER_PX: f64 = 0.125;

/// Timemaps of the same stages side by side.
///
/// # Source
/// Bongo et al. 2004, section 4, compares timemaps of configurations by eye.
#[derive(Debug, Clone)]
pub struct SideBySide {
    heading: Heading,
    columns: Vec<(Text, Timemap)>,
}

/// The time scale, shared by all columns.
struct Scale {
    unit: TimeUnit,
    /// In ns.
    x: (f64, f64),
    row_height: f64,
    /// Width of a column in px.
    width: f64,
}

impl SideBySide {
    /// The timemaps with the names of their columns, the baseline first; `None` without any, or if
    /// their stages differ: rows would not correspond.
    pub fn new(heading: Heading, columns: Vec<(Text, Timemap)>) -> Option<SideBySide> {
        let (_, first) = columns.first()?;
        let is_same = |(_, timemap): &(Text, Timemap)| {
            timemap.stages.names().eq(first.stages.names())
                && timemap.stages.down.len() == first.stages.down.len()
                && timemap.stages.core.is_some() == first.stages.core.is_some()
        };
        columns
            .iter()
            .all(is_same)
            .then_some(SideBySide { heading, columns })
    }

    /// The picture; see [`Picture::draw`](crate::Picture::draw).
    pub(crate) fn draw(&self, id: &str) -> String {
        let head = Head::new(&self.heading.finding, &self.subtitle());
        let scale = self.scale();
        let n_stages = self.columns[0].1.stages.len().max(1);
        let block = COLUMN_HEAD + scale.row_height * n_stages as f64 + AXIS;
        let n_blocks = self.columns.len().div_ceil(MAX_COLUMNS);
        let first_top = f64::from(head.bottom()) + 10.0;
        let bottom = first_top + block * n_blocks as f64;
        let sheet = head.sheet((bottom + LEGEND) as u32);
        for (idx, (name, timemap)) in self.columns.iter().enumerate() {
            let top = first_top + block * (idx / MAX_COLUMNS) as f64;
            if idx % MAX_COLUMNS == 0 {
                draw_row_names(&sheet, timemap, &scale, top + COLUMN_HEAD);
            }
            let left = LEFT + (scale.width + BETWEEN) * (idx % MAX_COLUMNS) as f64;
            let name = cut(name.as_str(), (scale.width * CHARS_PER_PX) as usize);
            sheet.text(at(left, top + 18.0), Anchor::Start, "name", &name);
            let ranks = counted_grouped(timemap.threads.len() as u64, "rank");
            sheet.text(at(left, top + 32.0), Anchor::Start, "minor", &ranks);
            let instances = counted_grouped(timemap.heading.n_instances, "instance");
            sheet.text(at(left, top + 46.0), Anchor::Start, "minor", &instances);
            let class = style::series(idx);
            let column = Column {
                timemap,
                scale: &scale,
                left,
                top: top + COLUMN_HEAD,
            };
            column.draw(&sheet, &class, id);
        }
        draw_legend(&sheet, bottom + 8.0);
        sheet.finish(id, &self.heading.finding, &self.description(), &[])
    }

    fn subtitle(&self) -> String {
        format!(
            "{}, {}, {}; mean times on the same scales",
            self.heading.operation,
            counted_grouped(self.heading.n_instances, "instance"),
            counted_grouped(self.columns.len() as u64, "trace"),
        )
    }

    fn scale(&self) -> Scale {
        let extents = self.columns.iter().map(|(_, timemap)| timemap.extent_ns());
        let (low, high) = extents.fold((0.0, 0.0), |(low, high): (f64, f64), extent| {
            (low.min(extent.0), high.max(extent.1))
        });
        let pad = (high - low) * 0.04;
        let n_columns = self.columns.len().min(MAX_COLUMNS) as f64;
        let room = f64::from(WIDTH) - LEFT - RIGHT - BETWEEN * (n_columns - 1.0);
        let n_stages = self.columns[0].1.stages.len().max(1) as f64;
        Scale {
            unit: TimeUnit::for_axis(high.max(-low)),
            x: (low - pad, high + pad),
            row_height: (320.0 / n_stages).clamp(36.0, 64.0),
            width: room / n_columns,
        }
    }

    fn description(&self) -> String {
        let mut text = format!("Timemaps side by side of {}.", self.subtitle());
        for (name, timemap) in &self.columns {
            text.push_str(&format!(" {name}:"));
            for (stage, stage_name) in timemap.stages.names().enumerate() {
                let numbers = timemap.numbers(stage).join(", ");
                text.push_str(&format!(" {stage_name}: {numbers}."));
            }
        }
        text
    }
}

/// One timemap and its location, in px.
struct Column<'a> {
    timemap: &'a Timemap,
    scale: &'a Scale,
    left: f64,
    top: f64,
}

impl Column<'_> {
    fn at(&self, ns: f64, border: usize) -> (i32, i32) {
        let part = (ns - self.scale.x.0) / (self.scale.x.1 - self.scale.x.0);
        let y = self.top + border as f64 * self.scale.row_height;
        at(self.left + part * self.scale.width, y)
    }

    fn draw(&self, sheet: &Sheet, class: &str, id: &str) {
        let timemap = self.timemap;
        let n_stages = timemap.stages.len();
        for stage in 0..n_stages {
            let from = self.at(self.scale.x.0, stage);
            let to = self.at(self.scale.x.1, stage + 1);
            if timemap.stages.core_idx() == Some(stage) {
                sheet.rectangle("core", from, to);
            } else if stage % 2 == 0 {
                sheet.rectangle("row", from, to);
            }
            if timemap.means(stage).is_empty() {
                sheet.hatched(id, from, to);
            }
        }
        self.draw_axis(sheet, n_stages);
        let threads: Vec<&Thread> = timemap.threads.iter().collect();
        let stretches_of_band = band(&threads, n_stages);
        if threads.len() <= Timemap::MAX_SINGLE_LINES {
            for thread in &timemap.threads {
                sheet.group("thin", &[], &timemap.tooltip(thread), || {
                    for (first, end) in stretches(n_stages, |stage| thread.times[stage].is_some()) {
                        let at = |border| self.at(thread.borders_ns[border] as f64, border);
                        sheet.polyline("", &(first..=end).map(at).collect::<Vec<_>>());
                    }
                });
            }
        } else {
            for stretch in &stretches_of_band {
                let borders = || stretch.borders.iter().zip(stretch.first_stage..);
                let low_and_high = [
                    (
                        "outer",
                        borders()
                            .map(|(s, b)| (s.p05, s.p95, b))
                            .collect::<Vec<_>>(),
                    ),
                    ("inner", borders().map(|(s, b)| (s.p25, s.p75, b)).collect()),
                ];
                sheet.group(&format!("band {class}"), &[], "", || {
                    for (part, sides) in low_and_high {
                        let low = sides.iter().map(|&(low, _, b)| self.at(low as f64, b));
                        let high = sides
                            .iter()
                            .rev()
                            .map(|&(_, high, b)| self.at(high as f64, b));
                        let outline: Vec<_> = low.chain(high).collect();
                        sheet.group(part, &[], "", || sheet.polygon(&outline));
                    }
                });
            }
        }
        let words = format!(
            "median of {}",
            counted_grouped(threads.len() as u64, "rank")
        );
        sheet.group(&format!("line {class}"), &[], &words, || {
            for stretch in &stretches_of_band {
                let borders = stretch.borders.iter().zip(stretch.first_stage..);
                let at = borders.map(|(spread, border)| self.at(spread.median as f64, border));
                sheet.polyline("", &at.collect::<Vec<_>>());
            }
        });
        self.draw_numbers(sheet, n_stages);
    }

    fn draw_axis(&self, sheet: &Sheet, n_stages: usize) {
        let unit = self.scale.unit;
        let n_ticks = (self.scale.width / 60.0).clamp(3.0, 8.0) as usize;
        let (low, high) = (self.scale.x.0 / unit.ns, self.scale.x.1 / unit.ns);
        let rows = n_stages.max(1);
        for value in round_steps(low, high, n_ticks, f64::MIN_POSITIVE) {
            let (top, bottom) = (self.at(value * unit.ns, 0), self.at(value * unit.ns, rows));
            let class = if value == 0.0 { "zero" } else { "" };
            sheet.group("grid", &[], "", || sheet.polyline(class, &[top, bottom]));
            let at = (bottom.0, bottom.1 + 14 * UNIT);
            sheet.text(at, Anchor::Middle, "tick", &tick(value));
        }
        let middle = self.left + self.scale.width / 2.0;
        let y = self.top + rows as f64 * self.scale.row_height + 30.0;
        let words = format!("mean time, in {}", unit.name);
        sheet.text(at(middle, y), Anchor::Middle, "minor", &words);
    }

    /// The median of each stage in its row, on the side away from the line.
    fn draw_numbers(&self, sheet: &Sheet, n_stages: usize) {
        for stage in 0..n_stages {
            let means = self.timemap.means(stage);
            let words = if means.is_empty() {
                "not resolvable".to_owned()
            } else {
                duration(quantile(&means, 50))
            };
            let mut places: Vec<i64> = self
                .timemap
                .threads
                .iter()
                .map(|thread| thread.borders_ns[stage])
                .collect();
            places.sort_unstable();
            let line = self.at(quantile(&places, 50) as f64, stage).0;
            let (left, right) = (self.left + 4.0, self.left + self.scale.width - 4.0);
            let is_left = f64::from(line) < (left + right) / 2.0 * f64::from(UNIT);
            let y = self.top + (stage as f64 + 0.5) * self.scale.row_height + 4.0;
            if is_left {
                sheet.text(at(right, y), Anchor::End, "length", &words)
            } else {
                sheet.text(at(left, y), Anchor::Start, "length", &words)
            }
        }
    }
}

fn draw_row_names(sheet: &Sheet, timemap: &Timemap, scale: &Scale, top: f64) {
    for (stage, name) in timemap.stages.names().enumerate() {
        let lines = wrap(name.as_str(), 20, 2);
        let middle = top + (stage as f64 + 0.5) * scale.row_height;
        let mut y = middle - lines.len() as f64 * 7.0 + 11.0;
        for line in &lines {
            sheet.text(at(LEFT - 8.0, y), Anchor::End, "name", line);
            y += 14.0;
        }
    }
}

fn draw_legend(sheet: &Sheet, y: f64) {
    let x = f64::from(MARGIN);
    sheet.polyline("line k0", &[at(x, y), at(x + 30.0, y)]);
    let words = "median of all ranks; thin lines: one rank each; bands: middle 50 % and 90 % of \
                 ranks; numbers: median time in the stage";
    sheet.text(at(x + 38.0, y + 4.0), Anchor::Start, "minor", words);
}
