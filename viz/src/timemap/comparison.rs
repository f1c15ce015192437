//! The comparison timemap: one thread in several configurations.
//!
//! As in a timemap, x is the mean time, accumulated stage by stage, and 0 where the thread enters
//! the innermost wrapper; here each line is the same thread, or the representative of its class, in
//! another configuration. Paths through different trees have different numbers of stages, so y is
//! scaled: all lines begin at the same first level and end at the same last one.

use collbench_text::quantity::{TimeUnit, counted_grouped, duration, grouped, tick};
use plotters::prelude::{BLACK, Circle, LineSeries};
use plotters::style::Color;

use super::band::stretches;
use super::{Heading, StageTime, Stages, cumulate};
use crate::axes::{self, Axis, BELOW, Place, RIGHT, round_steps};
use crate::frame::{Drawn, Head, MARGIN, WIDTH, report_refusal};
use crate::svg::{Anchor, Sheet, UNIT};
use crate::text::{cut, wrap};
use crate::{Text, style};

// In px.
const LEFT: u32 = 196;
const PLOT_HEIGHT: u32 = 340;
const LEGEND_ROW: u32 = 20;
/// Distance between the lines of a name.
const NAME_LINE: f64 = 14.0;

/// One thread in several configurations.
///
/// # Source
/// Bongo et al. 2004, section 4 and figure 3a. Difference: the stages from the root follow below
/// those to the root.
#[derive(Debug, Clone)]
pub struct Comparison {
    heading: Heading,
    paths: Vec<Path>,
}

/// The thread's path in one configuration.
#[derive(Debug, Clone)]
struct Path {
    name: Text,
    stages: Stages,
    times: Vec<Option<StageTime>>,
    /// Accumulated time at the borders of the stages, in ns; 0 at the begin of the core.
    borders_ns: Vec<i64>,
}

impl Comparison {
    /// A comparison without configurations yet. `heading.n_instances` counts the instances of all
    /// of them.
    pub fn new(heading: Heading) -> Comparison {
        Comparison {
            heading,
            paths: Vec::new(),
        }
    }

    /// Adds a configuration by the stages that the thread goes through; the first configuration is
    /// the baseline. `time(stage_idx)` is called once per stage, in the order of [`Stages`];
    /// `None`: not resolved.
    pub fn push(
        &mut self,
        name: Text,
        stages: Stages,
        time: impl FnMut(usize) -> Option<StageTime>,
    ) {
        let times: Vec<_> = (0..stages.len()).map(time).collect();
        let borders_ns = cumulate(&times, stages.down.len());
        self.paths.push(Path {
            name,
            stages,
            times,
            borders_ns,
        });
    }

    /// The picture; see [`Picture::draw`](crate::Picture::draw).
    pub(crate) fn draw(&self, id: &str) -> String {
        let head = Head::new(&self.heading.finding, &self.subtitle());
        let top = head.bottom() + 18;
        let bottom = top + PLOT_HEIGHT;
        let place = Place {
            left: LEFT,
            top,
            bottom,
            height: bottom + BELOW + 16 + LEGEND_ROW * self.paths.len() as u32,
        };
        let sheet = head.sheet(place.height);
        self.draw_levels(&sheet, place);
        let drawn = self.draw_plot(&sheet, place);
        report_refusal(drawn, &sheet, (LEFT, top + 20));
        for (idx, path) in self.paths.iter().enumerate() {
            let y = (bottom + BELOW + 12 + idx as u32 * LEGEND_ROW) as i32 * UNIT;
            let x = MARGIN as i32 * UNIT;
            let class = format!("line {}", style::series(idx));
            sheet.polyline(&class, &[(x, y), (x + 30 * UNIT, y)]);
            let words = cut(&path.summary(self.paths.first()), 130);
            sheet.text(
                (x + 38 * UNIT, y + 4 * UNIT),
                Anchor::Start,
                "minor",
                &words,
            );
        }
        sheet.finish(id, &self.heading.finding, &self.description(), &[])
    }

    fn subtitle(&self) -> String {
        format!(
            "{}, {}, {}; mean times of one rank",
            self.heading.operation,
            counted_grouped(self.heading.n_instances, "instance"),
            counted_grouped(self.paths.len() as u64, "run"),
        )
    }

    /// The stages, if all configurations have the same.
    fn same_stages(&self) -> Option<&Stages> {
        let (first, others) = self.paths.split_first()?;
        let is_same = |path: &Path| path.stages.names().eq(first.stages.names());
        (!first.stages.is_empty() && others.iter().all(is_same)).then_some(&first.stages)
    }

    /// What x = 0 means.
    fn zero_words(&self) -> String {
        let stages = self.same_stages();
        stages.map_or("0".to_owned(), Stages::zero_words)
    }

    /// The labels beside the plot: the stages if they are the same for all, else the ends.
    fn draw_levels(&self, sheet: &Sheet, place: Place) {
        let px = |x: u32, y: f64| (x as i32 * UNIT, (y * f64::from(UNIT)) as i32);
        let (top, height) = (f64::from(place.top), f64::from(PLOT_HEIGHT));
        let Some(stages) = self.same_stages() else {
            for (y, words) in [
                (top + 10.0, "first stage"),
                (top + height - 2.0, "last stage"),
            ] {
                sheet.text(px(LEFT - 8, y), Anchor::End, "name", words);
            }
            let words = "each run's stages,";
            sheet.text(
                px(LEFT - 8, top + height / 2.0),
                Anchor::End,
                "minor",
                words,
            );
            let words = "evenly spaced";
            sheet.text(
                px(LEFT - 8, top + height / 2.0 + 14.0),
                Anchor::End,
                "minor",
                words,
            );
            return;
        };
        let row = height / stages.len() as f64;
        for (stage, name) in stages.names().enumerate() {
            let from = top + stage as f64 * row;
            let class = if stages.core_idx() == Some(stage) {
                "core"
            } else if stage % 2 == 0 {
                "row"
            } else {
                "paper"
            };
            sheet.rectangle(class, px(LEFT, from), px(WIDTH - RIGHT, from + row));
            let n_lines = if row >= 2.0 * NAME_LINE + 4.0 { 2 } else { 1 };
            let lines = wrap(name.as_str(), 24, n_lines);
            let mut y = from + row / 2.0 + 11.0 - lines.len() as f64 * NAME_LINE / 2.0;
            for line in &lines {
                sheet.text(px(LEFT - 8, y), Anchor::End, "name", line);
                y += NAME_LINE;
            }
        }
    }

    fn draw_plot(&self, sheet: &Sheet, place: Place) -> Drawn {
        let borders = self.paths.iter().flat_map(|path| &path.borders_ns);
        let (low, high) = borders.fold((0, 0), |(l, h): (i64, i64), &x| (l.min(x), h.max(x)));
        let (low, high) = (low as f64, (high as f64).max(low as f64 + 1.0));
        let unit = TimeUnit::for_axis(high.max(-low));
        let pad = (high - low) * 0.03;
        let x = ((low - pad) / unit.ns, (high + pad) / unit.ns);
        let words = format!(
            "mean time before (left) and after (right) {}, in {}",
            self.zero_words(),
            unit.name
        );
        let xs = round_steps(x.0, x.1, 8, f64::MIN_POSITIVE);
        let x_axis = Axis {
            words: &words,
            ticks: &xs,
            tick: &tick,
        };
        // Levels are counted downwards, from 0 to 1; plotters counts upwards.
        let axes = (&x_axis, &Axis::NONE);
        let mut chart = axes::open(sheet, place, (x.0..x.1, -1.0..0.0), axes)?;
        let at = |x: f64, y: f64| chart.plotting_area().map_coordinate(&(x, y));
        sheet.polyline("zero", &[at(0.0, 0.0), at(0.0, -1.0)]);
        if self.paths.is_empty() {
            let middle = at((x.0 + x.1) / 2.0, -0.5);
            sheet.text(middle, Anchor::Middle, "name", "no runs");
        }
        for (idx, path) in self.paths.iter().enumerate() {
            let n_stages = path.stages.len();
            let point = |border: usize| {
                let level = border as f64 / n_stages.max(1) as f64;
                (path.borders_ns[border] as f64 / unit.ns, -level)
            };
            let borders: Vec<String> = path.borders_ns.iter().map(i64::to_string).collect();
            let data = [("name", path.name.as_str()), ("ns", &borders.join(" "))];
            let class = format!("line {}", style::series(idx));
            sheet.group(&class, &data, &path.tooltip(self.paths.first()), || {
                for (first, end) in stretches(n_stages, |stage| path.times[stage].is_some()) {
                    chart.draw_series(LineSeries::new((first..=end).map(point), BLACK))?;
                    let points = (first..=end).map(point);
                    chart.draw_series(points.map(|at| Circle::new(at, 28, BLACK.filled())))?;
                }
                Drawn::Ok(())
            })?;
        }
        Ok(())
    }

    fn description(&self) -> String {
        let mut text = format!("Comparison timemap of {}.", self.subtitle());
        for path in &self.paths {
            text.push_str(&format!(" {}.", path.summary(self.paths.first())));
        }
        text
    }
}

impl Path {
    fn down_ns(&self) -> i64 {
        self.borders_ns.first().map_or(0, |ns| ns.saturating_neg())
    }

    fn up_ns(&self) -> i64 {
        self.borders_ns.last().copied().unwrap_or(0)
    }

    fn is_resolved(&self) -> bool {
        self.times.iter().all(Option::is_some)
    }

    /// The times to the root and from the root, and their sum compared with the baseline's.
    fn summary(&self, baseline: Option<&Path>) -> String {
        let all = |path: &Path| path.down_ns().saturating_add(path.up_ns());
        let mut words = format!(
            "{}: {} before 0, {} after 0, {} in total",
            self.name.cut(40),
            duration(self.down_ns()),
            duration(self.up_ns()),
            duration(all(self)),
        );
        if !self.is_resolved() {
            words.push_str(" (as far as resolvable)");
            return words;
        }
        let baseline = baseline.filter(|path| path.is_resolved() && !std::ptr::eq(*path, self));
        if let Some(baseline) = baseline {
            let than = baseline.name.cut(30);
            let difference = all(self).saturating_sub(all(baseline));
            let less = if difference < 0 { "less" } else { "more" };
            let by = duration(difference.saturating_abs());
            words.push_str(&format!(", {by} {less} than {than}"));
        }
        words
    }

    fn tooltip(&self, baseline: Option<&Path>) -> String {
        let mut words = self.summary(baseline);
        for (name, time) in self.stages.names().zip(&self.times) {
            words.push_str(&match time {
                Some(time) => {
                    format!(
                        "\n{name} {} (n = {})",
                        duration(time.mean_ns),
                        grouped(time.n)
                    )
                }
                None => format!("\n{name} not resolvable"),
            });
        }
        words
    }
}
