//! Drawing of a histogram of durations.

use collbench_text::quantity::{counted_grouped, duration, round_duration, tick};

use super::{Bar, Durations, ns_at, step};
use crate::axes::{self, ABOVE, Axis, BELOW, LEFT, PLOT_WIDTH, Place, round_ratios, round_steps};
use crate::frame::{Drawn, Head, MARGIN, report_refusal};
use crate::labels::{LabelRequest, LabelStrip, spread};
use crate::style::CHART;
use crate::svg::{Anchor, Sheet, UNIT, text_width};

// In px.
const BARS_HEIGHT: u32 = 280;
const LANE: u32 = 15;
const LEGEND: u32 = 26;
/// Height of the lowest bar.
const LEAST_HEIGHT: i32 = 3;
/// Bars lower than this have a ring above them.
const LOW: i32 = 6;

/// A duration with its name, and the class of its line.
struct Mark {
    words: String,
    class: &'static str,
    ns: f64,
}

struct Layout {
    head: Head,
    place: Place,
    labels: LabelStrip,
    /// Room above the highest bar for the labels.
    strip: f64,
    /// Ends of the axis of time, in steps.
    x: (f64, f64),
    /// Height of the highest bar, instances per step.
    most: f64,
}

impl Durations {
    /// The picture; see [`Picture::draw`](crate::Picture::draw).
    pub(crate) fn draw(&self, id: &str) -> String {
        let marks = self.marks();
        let layout = self.layout(&marks);
        let place = layout.place;
        let sheet = layout.head.sheet(place.height);
        let drawn = self.draw_plot(&sheet, &marks, &layout, id);
        report_refusal(drawn, &sheet, (LEFT, place.top + 20));
        self.draw_legend(&sheet, &layout, id);
        sheet.finish(
            id,
            &self.heading.finding,
            &self.description(&marks),
            &[CHART],
        )
    }

    fn marks(&self) -> [Mark; 4] {
        let mark = |name: &str, class, ns: i64| Mark {
            words: format!("{name} {}", duration(ns)),
            class,
            ns: (ns as f64).max(0.5),
        };
        let marks = &self.marks;
        [
            mark("median", "mark", marks.median_ns),
            mark("mean", "mark d1", marks.mean_ns),
            mark("99 % within", "mark d2", marks.p99_ns),
            mark("longest", "mark d3", marks.max_ns),
        ]
    }

    fn layout(&self, marks: &[Mark]) -> Layout {
        let ends = self.bars.iter().map(|bar| bar.ends());
        let all = ends.chain(marks.iter().map(|mark| (step(mark.ns), step(mark.ns))));
        let wide = |(low, high): (f64, f64), end: (f64, f64)| (low.min(end.0), high.max(end.1));
        let (low, high) = all.fold((f64::INFINITY, 0.0), wide);
        // A margin at both ends.
        let air = ((high - low) * 0.03).max(0.5);
        let x = ((low - air).max(0.0), high + air);
        let requests: Vec<LabelRequest> = marks
            .iter()
            .map(|mark| LabelRequest {
                center: f64::from(LEFT)
                    + (step(mark.ns) - x.0) / (x.1 - x.0) * f64::from(PLOT_WIDTH),
                width: text_width(&mark.words, 11.0) + 10.0,
            })
            .collect();
        let labels = spread(&requests, f64::from(LEFT), f64::from(LEFT + PLOT_WIDTH));
        let strip = labels.leader_height + labels.n_lanes as f64 * f64::from(LANE) + 4.0;
        let head = Head::new(&self.heading.finding, &self.subtitle());
        let top = head.bottom() + 14 + ABOVE;
        let bottom = top + strip.ceil() as u32 + BARS_HEIGHT;
        Layout {
            head,
            place: Place {
                left: LEFT,
                top,
                bottom,
                height: bottom + BELOW + LEGEND,
            },
            labels,
            strip,
            x,
            most: self.bars.iter().map(|bar| bar.height()).fold(0.0, f64::max),
        }
    }

    fn subtitle(&self) -> String {
        format!(
            "{}, {}; duration: from the first enter to the last leave",
            self.heading.operation,
            counted_grouped(self.heading.n_instances, "instance"),
        )
    }

    fn draw_plot(&self, sheet: &Sheet, marks: &[Mark], layout: &Layout, id: &str) -> Drawn {
        let most = layout.most;
        let xs = round_ratios(ns_at(layout.x.0).max(0.5), ns_at(layout.x.1), 9);
        let xs: Vec<f64> = xs.into_iter().map(step).collect();
        let ys = round_steps(0.0, most, 5, if most < 1.0 { 0.1 } else { 1.0 });
        let x_axis = Axis {
            words: "duration of an instance (logarithmic: eight bars of equal width for each doubling)",
            ticks: &xs,
            tick: &|x| round_duration(ns_at(x)),
        };
        let y_axis = Axis {
            words: "number of instances in a bar",
            ticks: &ys,
            tick: &tick,
        };
        let y_end = most * (1.0 + layout.strip.ceil() / f64::from(BARS_HEIGHT));
        let ends = (layout.x.0..layout.x.1, 0.0..y_end);
        let chart = axes::open(sheet, layout.place, ends, (&x_axis, &y_axis))?;
        let at = |x: f64, y: f64| chart.plotting_area().map_coordinate(&(x, y));
        for bar in &self.bars {
            let (from, to) = bar.ends();
            let (left, bottom) = at(from, 0.0);
            let (right, top) = at(to, bar.height());
            // A thin gap between neighbours if there is room for it.
            let gap = if right - left > 4 * UNIT { UNIT / 2 } else { 0 };
            let corners = (
                (left + gap, bottom),
                (right - gap, top.min(bottom - LEAST_HEIGHT * UNIT)),
            );
            let leads_to = bar.leads_to.map(|number| number.to_string());
            let counts = bar.parts.map(|parts| {
                let ends = [bar.from_ns, bar.to_ns].map(i64::unsigned_abs);
                let numbers = ends.into_iter().chain(parts);
                let words: Vec<String> = numbers.map(|number| number.to_string()).collect();
                words.join(" ")
            });
            let data = [("to", &leads_to), ("counts", &counts)];
            let data = data
                .iter()
                .filter_map(|(name, of)| Some((*name, of.as_deref()?)));
            let data: Vec<(&str, &str)> = data.collect();
            sheet.group("bar", &data, &self.tooltip(bar), || {
                if self.is_slow(bar) {
                    sheet.rectangle("slow", corners.0, corners.1);
                    sheet.hatched(id, corners.0, corners.1);
                } else {
                    sheet.rectangle("k0", corners.0, corners.1);
                }
                if bottom - top < LOW * UNIT {
                    let middle = ((left + right) / 2, corners.1.1 - 5 * UNIT);
                    sheet.ring("ring", middle, 3 * UNIT);
                }
            });
        }
        let mut labels = Vec::new();
        for (mark, placed) in marks.iter().zip(&layout.labels.placed) {
            let (x, bottom) = at(step(mark.ns), 0.0);
            let bars_top = at(step(mark.ns), most).1;
            let above = layout.labels.leader_height + placed.lane as f64 * f64::from(LANE);
            let px = |v: f64| (v * f64::from(UNIT)) as i32;
            let label = (px(placed.center), bars_top - px(above));
            let line = [(x, bottom), (x, bars_top), (label.0, label.1 + 3 * UNIT)];
            sheet.polyline(mark.class, &line);
            labels.push((label, &mark.words));
        }
        // Above all lines, which may pass below a label of another lane.
        for (at, words) in labels {
            sheet.text(at, Anchor::Middle, "label", words);
        }
        Ok(())
    }

    /// Whether a bar contains only durations above the 99th percentile.
    fn is_slow(&self, bar: &Bar) -> bool {
        bar.from_ns > self.marks.p99_ns
    }

    /// The text below the picture, with samples of the marks that it explains.
    fn draw_legend(&self, sheet: &Sheet, layout: &Layout, id: &str) {
        let middle = layout.place.bottom + BELOW + 12;
        let px = |x: u32, y: u32| (x as i32 * UNIT, y as i32 * UNIT);
        let slow = self.bars.iter().filter(|bar| self.is_slow(bar));
        let n_slow = slow.fold(0u64, |n, bar| n.saturating_add(bar.n));
        if n_slow > 0 {
            let (from, to) = (px(MARGIN, middle - 5), px(MARGIN + 30, middle + 5));
            sheet.rectangle("slow", from, to);
            sheet.hatched(id, from, to);
            let slow = counted_grouped(n_slow, "instance");
            let words = format!("above the 99th percentile ({slow} in these bars)");
            sheet.text(px(MARGIN + 38, middle + 4), Anchor::Start, "minor", &words);
        }
        let to_scale = |bar: &Bar| bar.height() / layout.most * f64::from(BARS_HEIGHT);
        if self.bars.iter().any(|bar| to_scale(bar) < f64::from(LOW)) {
            let x = MARGIN + 480;
            sheet.ring("ring", px(x, middle), 3 * UNIT);
            let words = format!("few instances (bars are at least {LEAST_HEIGHT} px high)");
            sheet.text(px(x + 12, middle + 4), Anchor::Start, "minor", &words);
        }
    }

    fn tooltip(&self, bar: &Bar) -> String {
        format!(
            "{} to {}: {}",
            duration(bar.from_ns),
            duration(bar.to_ns),
            counted_grouped(bar.n, "instance")
        )
    }

    fn description(&self, marks: &[Mark]) -> String {
        let marks: Vec<&str> = marks.iter().map(|mark| mark.words.as_str()).collect();
        format!(
            "Distribution of durations, {}: {}.",
            self.subtitle(),
            marks.join(", ")
        )
    }
}
