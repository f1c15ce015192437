//! Drawing of a timemap: layout and style are done here, scale and axis by plotters.

use collbench_text::quantity::{TimeUnit, counted_grouped, duration, tick};
use plotters::chart::ChartContext;
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::{
    BLACK, Cartesian2d, ChartBuilder, Circle, DrawingArea, IntoDrawingArea, IntoFont,
    LabelAreaPosition, LineSeries, PathElement, Polygon,
};
use plotters::style::Color;
use plotters_backend::BackendCoord;

use super::band::{Stretch, band, quantile, stretches};
use super::plan::{Group, Plan, Sample, Single};
use super::{Thread, Timemap, duration_of};
use crate::frame::{Drawn, Head, WIDTH, report_refusal};
use crate::labels::{LabelRequest, LabelStrip, spread};
use crate::svg::{Anchor, Backend, Sheet, UNIT, text_width};
use crate::text::{cut, wrap};

// All in px.
const LEFT: u32 = 196;
const RIGHT: u32 = 24;
const PLOT_WIDTH: u32 = WIDTH - LEFT - RIGHT;
const LANE: u32 = 15;
const AXIS: u32 = 46;
const LEGEND_ROW: u32 = 18;
const LEGEND_COLUMNS: usize = 3;

type Chart<'a> = ChartContext<'a, Backend, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// Locations of the parts, in px, and the scale.
struct Layout {
    head: Head,
    starts: LabelStrip,
    ends: LabelStrip,
    plot_top: u32,
    plot_bottom: u32,
    height: u32,
    row_height: f64,
    start_strip: f64,
    end_strip: f64,
    unit: TimeUnit,
    /// In units of time.
    x: (f64, f64),
}

impl Timemap {
    /// The picture; see [`Picture::draw`](crate::Picture::draw).
    pub(crate) fn draw(&self, id: &str) -> String {
        let plan = self.plan();
        let layout = self.layout(&plan);
        let sheet = layout.head.sheet(layout.height);
        self.draw_row_names(&sheet, &layout);
        let drawn = self.draw_plot(&sheet, &plan, &layout, id);
        report_refusal(drawn, &sheet, (LEFT, layout.plot_top + 20));
        draw_legend(&sheet, &plan, &layout);
        sheet.finish(id, &self.heading.finding, &self.description(), &[])
    }

    fn layout(&self, plan: &Plan<'_>) -> Layout {
        let (low_ns, high_ns) = self.extent_ns();
        let unit = TimeUnit::for_axis(high_ns.max(-low_ns));
        let pad = (high_ns - low_ns).max(1.0) * 0.03;
        let x = ((low_ns - pad) / unit.ns, (high_ns + pad) / unit.ns);
        let n_rows = self.stages.len().max(1);
        let row_height = if n_rows <= 5 {
            72.0
        } else {
            (360.0 / n_rows as f64).max(36.0)
        };

        let head = Head::new(&self.heading.finding, &self.subtitle(plan));
        let place = |border: fn(&Thread) -> i64,
                     text: for<'s, 't> fn(&'s Single<'t>) -> &'s str| {
            let requests: Vec<LabelRequest> = plan
                .singles
                .iter()
                .filter(|single| !text(single).is_empty())
                .map(|single| {
                    let at = (border(single.thread) as f64 / unit.ns - x.0) / (x.1 - x.0);
                    LabelRequest {
                        center: f64::from(LEFT) + at * f64::from(PLOT_WIDTH),
                        width: text_width(text(single), 11.0) + 8.0,
                    }
                })
                .collect();
            spread(&requests, f64::from(LEFT), f64::from(LEFT + PLOT_WIDTH))
        };
        let starts = place(|t| t.down_ns().saturating_neg(), |single| &single.start);
        let ends = place(Thread::up_ns, |single| &single.end);
        let strip = |strip: &LabelStrip| match strip.n_lanes {
            0 => 8.0,
            n_lanes => strip.leader_height + n_lanes as f64 * f64::from(LANE) + 4.0,
        };
        let (start_strip, end_strip) = (strip(&starts), strip(&ends));
        let plot_top = head.bottom() + 18;
        let plot_height = start_strip + n_rows as f64 * row_height + end_strip;
        let plot_bottom = plot_top + plot_height.ceil() as u32;
        let legend_rows = plan.legend.len().div_ceil(LEGEND_COLUMNS) as u32;
        let height = plot_bottom + AXIS + 14 + LEGEND_ROW * legend_rows + 4;
        Layout {
            head,
            starts,
            ends,
            plot_top,
            plot_bottom,
            height,
            row_height,
            start_strip,
            end_strip,
            unit,
            x,
        }
    }

    /// The least and the greatest x, 0 included; at least 1 ns wide.
    pub(super) fn extent_ns(&self) -> (f64, f64) {
        let borders = self.threads.iter().flat_map(|thread| &thread.borders_ns);
        let (low, high) = borders.fold((0, 0), |(l, h): (i64, i64), &x| (l.min(x), h.max(x)));
        if low == high {
            (-1.0, 1.0)
        } else {
            (low as f64, high as f64)
        }
    }

    /// What the picture is of, in a sentence.
    fn subtitle(&self, plan: &Plan<'_>) -> String {
        let bands = if plan.bands.is_empty() {
            ""
        } else {
            "; bands: median, middle 50 % and 90 % of ranks"
        };
        format!(
            "{}, {}, {}; mean times{bands}",
            self.heading.operation,
            counted_grouped(self.heading.n_instances, "instance"),
            counted_grouped(self.threads.len() as u64, "rank"),
        )
    }

    /// Name and numbers of each stage, beside its row.
    fn draw_row_names(&self, sheet: &Sheet, layout: &Layout) {
        for (stage, name) in self.stages.names().enumerate() {
            let numbers = self.numbers(stage);
            let n_lines = ((layout.row_height - 4.0) / 14.0) as usize;
            let names = wrap(
                name.as_str(),
                26,
                n_lines.saturating_sub(numbers.len()).clamp(1, 2),
            );
            let room = n_lines.saturating_sub(names.len());
            let n_numbers = numbers.len().min(room);
            let used = (names.len() + n_numbers) as f64 * 14.0;
            let top = f64::from(layout.plot_top) + layout.start_strip;
            let mut y = top + layout.row_height * (stage as f64 + 0.5) - used / 2.0 + 11.0;
            let lines = names.iter().map(|line| ("name", line));
            let lines = lines.chain(numbers.iter().take(room).map(|line| ("minor", line)));
            for (class, line) in lines {
                let at = ((LEFT as i32 - 8) * UNIT, (y * f64::from(UNIT)) as i32);
                sheet.text(at, Anchor::End, class, line);
                y += 14.0;
            }
        }
    }

    fn draw_plot(&self, sheet: &Sheet, plan: &Plan<'_>, layout: &Layout, id: &str) -> Drawn {
        let root: DrawingArea<Backend, Shift> = sheet.backend().into_drawing_area();
        let unit = UNIT as u32;
        let n_rows = self.stages.len().max(1) as f64;
        let mut chart = ChartBuilder::on(&root)
            .margin_top(layout.plot_top * unit)
            .margin_left(LEFT * unit)
            .margin_right(RIGHT * unit)
            .margin_bottom((layout.height - layout.plot_bottom - AXIS) * unit)
            .set_label_area_size(LabelAreaPosition::Bottom, AXIS * unit)
            .build_cartesian_2d(
                layout.x.0..layout.x.1,
                // Rows are counted downwards, from 0; plotters counts upwards.
                -n_rows - layout.end_strip / layout.row_height
                    ..layout.start_strip / layout.row_height,
            )?;
        self.draw_rows(sheet, &chart, layout, id);
        self.draw_axis(sheet, &mut chart, layout)?;
        if self.threads.is_empty() {
            let at = (
                (LEFT + PLOT_WIDTH / 2) as i32 * UNIT,
                chart_y(&chart, n_rows / 2.0),
            );
            sheet.text(at, Anchor::Middle, "name", "no ranks");
        }
        self.draw_core(sheet, &chart, layout);
        for (group, class) in &plan.bands {
            self.draw_band(sheet, &mut chart, layout, group, class)?;
        }
        for group in &plan.medians {
            let stretches = band(&group.threads, self.stages.len());
            sheet.group("thin", &[("group", &group.name)], &group.title(), || {
                draw_medians(&mut chart, layout, &stretches)
            })?;
        }
        for single in &plan.singles {
            self.draw_single(sheet, &mut chart, layout, single)?;
        }
        draw_labels(sheet, &chart, plan, layout, n_rows);
        self.draw_words(sheet, &chart, layout);
        Ok(())
    }

    /// Backgrounds: every other row, the core's row, hatching where nothing is resolved, and the
    /// clock error.
    fn draw_rows(&self, sheet: &Sheet, chart: &Chart<'_>, layout: &Layout, id: &str) {
        let (left, right) = (LEFT as i32 * UNIT, (LEFT + PLOT_WIDTH) as i32 * UNIT);
        for stage in 0..self.stages.len() {
            let from = (left, chart_y(chart, stage as f64));
            let to = (right, chart_y(chart, stage as f64 + 1.0));
            if self.stages.core_idx() == Some(stage) {
                sheet.rectangle("core", from, to);
            } else if stage % 2 == 0 {
                sheet.rectangle("row", from, to);
            }
            if !self.threads.is_empty() && !self.is_resolved(stage) {
                sheet.hatched(id, from, to);
            }
        }
        if let Some(error_ns) = self.clock_error_ns {
            let error = error_ns as f64 / layout.unit.ns;
            let x = |x: f64| chart_x(chart, x.clamp(layout.x.0, layout.x.1));
            let n_rows = self.stages.len() as f64;
            let from = (x(-error), chart_y(chart, 0.0));
            sheet.rectangle("error", from, (x(error), chart_y(chart, n_rows)));
        }
    }

    fn draw_axis(&self, sheet: &Sheet, chart: &mut Chart<'_>, layout: &Layout) -> Drawn {
        let label = |value: &f64| tick(*value);
        let font = || ("sans-serif", 11 * UNIT).into_font();
        sheet.group("grid", &[], "", || {
            chart
                .configure_mesh()
                .disable_y_mesh()
                .disable_axes()
                .x_max_light_lines(1)
                .x_labels(9)
                .draw()
        })?;
        sheet.group("axis", &[], "", || {
            chart
                .configure_mesh()
                .disable_mesh()
                .disable_y_axis()
                .x_labels(9)
                .x_label_formatter(&label)
                .x_label_style(font())
                .set_all_tick_mark_size(4 * UNIT)
                .draw()
        })?;
        let middle = (LEFT + PLOT_WIDTH / 2) as i32 * UNIT;
        let at = (middle, (layout.plot_bottom + AXIS - 8) as i32 * UNIT);
        let words = format!("{}, in {}", self.axis_words(), layout.unit.name);
        sheet.text(at, Anchor::Middle, "minor", &words);
        let zero = chart_x(chart, 0.0);
        let (top, bottom) = (
            layout.plot_top as i32 * UNIT,
            layout.plot_bottom as i32 * UNIT,
        );
        sheet.polyline("zero", &[(zero, top), (zero, bottom)]);
        Ok(())
    }

    /// The core's stage and the median of its means.
    fn core_length(&self) -> Option<(usize, i64)> {
        let stage = self.stages.core_idx()?;
        let means = self.means(stage);
        (!means.is_empty()).then(|| (stage, quantile(&means, 50)))
    }

    /// The bar of the core's length, below the lines.
    fn draw_core(&self, sheet: &Sheet, chart: &Chart<'_>, layout: &Layout) {
        let Some((stage, length_ns)) = self.core_length() else {
            return;
        };
        let end = chart_x(chart, length_ns as f64 / layout.unit.ns);
        let from = (chart_x(chart, 0.0), chart_y(chart, stage as f64 + 0.2));
        sheet.rectangle("core-bar", from, (end, chart_y(chart, stage as f64 + 0.8)));
    }

    /// Texts on top of the lines: the core's length, and what is not resolved.
    fn draw_words(&self, sheet: &Sheet, chart: &Chart<'_>, layout: &Layout) {
        let (left, right) = (LEFT as i32 * UNIT, (LEFT + PLOT_WIDTH) as i32 * UNIT);
        for stage in 0..self.stages.len() {
            if !self.threads.is_empty() && self.means(stage).is_empty() {
                let at = (
                    (left + right) / 2,
                    chart_y(chart, stage as f64 + 0.5) + 4 * UNIT,
                );
                sheet.text(at, Anchor::Middle, "length", "not resolvable");
            }
        }
        let (Some((stage, length_ns)), Some(name)) = (self.core_length(), &self.stages.core) else {
            return;
        };
        let error = self.error_ns(stage);
        let error = error.map_or(String::new(), |ns| format!(" ±{}", duration_of(ns)));
        let length = if self.is_resolved(stage) {
            format!("{}{error}", duration(length_ns))
        } else {
            format!("not resolved:{error}")
        };
        let text = format!("{} {length}", name.cut(20));
        let end = chart_x(chart, length_ns as f64 / layout.unit.ns);
        let zero = chart_x(chart, 0.0);
        let y = chart_y(chart, stage as f64 + 0.5) + 4 * UNIT;
        let room = (text_width(&text, 11.0) * f64::from(UNIT)) as i32 + 8 * UNIT;
        let (begin, end) = (end.min(zero), end.max(zero));
        // Right of the bar, left of it, or inside it if there is no room.
        let (x, anchor) = if end + room <= right {
            (end + 6 * UNIT, Anchor::Start)
        } else if begin - room >= left {
            (begin - 6 * UNIT, Anchor::End)
        } else {
            (end - 6 * UNIT, Anchor::End)
        };
        sheet.text((x, y), anchor, "length", &text);
    }

    fn draw_band(
        &self,
        sheet: &Sheet,
        chart: &mut Chart<'_>,
        layout: &Layout,
        group: &Group<'_>,
        class: &str,
    ) -> Drawn {
        let stretches = band(&group.threads, self.stages.len());
        let class = format!("band {class}");
        sheet.group(&class, &[("group", &group.name)], &group.title(), || {
            for (class, low, high) in [("outer", 0, 4), ("inner", 1, 3)] {
                let side = |stretch: &Stretch, which: usize| -> Vec<(f64, f64)> {
                    let at = |border: &super::band::Spread| {
                        [
                            border.p05,
                            border.p25,
                            border.median,
                            border.p75,
                            border.p95,
                        ][which]
                    };
                    let borders = stretch.borders.iter().enumerate();
                    borders
                        .map(|(idx, border)| {
                            (
                                at(border) as f64 / layout.unit.ns,
                                row(stretch.first_stage + idx),
                            )
                        })
                        .collect()
                };
                sheet.group(class, &[], "", || {
                    chart.draw_series(stretches.iter().map(|stretch| {
                        let mut outline = side(stretch, low);
                        outline.extend(side(stretch, high).into_iter().rev());
                        Polygon::new(outline, BLACK.filled())
                    }))?;
                    Drawn::Ok(())
                })?;
            }
            sheet.group("line", &[], "", || draw_medians(chart, layout, &stretches))
        })
    }

    fn draw_single(
        &self,
        sheet: &Sheet,
        chart: &mut Chart<'_>,
        layout: &Layout,
        single: &Single<'_>,
    ) -> Drawn {
        let thread = single.thread;
        let class = format!("line {}", single.class);
        let borders: Vec<String> = thread.borders_ns.iter().map(i64::to_string).collect();
        let borders = borders.join(" ");
        let mut data = vec![
            ("name", thread.line.name.as_str()),
            ("group", thread.line.group().as_str()),
            ("ns", &borders),
        ];
        data.extend(thread.line.name.rank().map(|rank| ("ranks", rank)));
        let point = |border: usize| {
            (
                thread.borders_ns[border] as f64 / layout.unit.ns,
                row(border),
            )
        };
        sheet.group(&class, &data, &self.tooltip(thread), || {
            let drawn = stretches(self.stages.len(), |stage| thread.times[stage].is_some());
            for &(first, end) in &drawn {
                chart.draw_series(LineSeries::new((first..=end).map(point), BLACK))?;
            }
            if let (Some(first), Some(last)) = (drawn.first(), drawn.last()) {
                let ends = [point(first.0), point(last.1)];
                chart.draw_series(ends.map(|at| Circle::new(at, 25, BLACK.filled())))?;
            }
            Ok(())
        })
    }
}

/// The plotters y of a border between rows.
fn row(border: usize) -> f64 {
    -(border as f64)
}

fn chart_x(chart: &Chart<'_>, x: f64) -> i32 {
    chart.plotting_area().map_coordinate(&(x, 0.0)).0
}

fn chart_y(chart: &Chart<'_>, rows_down: f64) -> i32 {
    chart.plotting_area().map_coordinate(&(0.0, -rows_down)).1
}

fn draw_medians(chart: &mut Chart<'_>, layout: &Layout, stretches: &[Stretch]) -> Drawn {
    chart.draw_series(stretches.iter().map(|stretch| {
        let points = stretch.borders.iter().enumerate().map(|(idx, border)| {
            (
                border.median as f64 / layout.unit.ns,
                row(stretch.first_stage + idx),
            )
        });
        PathElement::new(points.collect::<Vec<_>>(), BLACK)
    }))?;
    Ok(())
}

/// Names at the starts of lines above the first row, and at their ends below the last.
fn draw_labels(sheet: &Sheet, chart: &Chart<'_>, plan: &Plan<'_>, layout: &Layout, n_rows: f64) {
    let px = |v: f64| (v * f64::from(UNIT)) as i32;
    let mut texts: Vec<(BackendCoord, &str)> = Vec::new();
    let starts = plan
        .singles
        .iter()
        .filter(|single| !single.start.is_empty());
    for (single, placed) in starts.zip(&layout.starts.placed) {
        let first_ns = single.thread.down_ns().saturating_neg();
        let line = (
            chart_x(chart, first_ns as f64 / layout.unit.ns),
            chart_y(chart, 0.0),
        );
        let above = layout.starts.leader_height + placed.lane as f64 * f64::from(LANE);
        let at = (px(placed.center), line.1 - px(above));
        sheet.polyline("leader", &[(at.0, at.1 + 2 * UNIT), line]);
        texts.push((at, &single.start));
    }
    let ends = plan.singles.iter().filter(|single| !single.end.is_empty());
    for (single, placed) in ends.zip(&layout.ends.placed) {
        let last_ns = single.thread.up_ns();
        let line = (
            chart_x(chart, last_ns as f64 / layout.unit.ns),
            chart_y(chart, n_rows),
        );
        let below = layout.ends.leader_height + 9.0 + placed.lane as f64 * f64::from(LANE);
        let at = (px(placed.center), line.1 + px(below));
        sheet.polyline("leader", &[(at.0, at.1 - 10 * UNIT), line]);
        texts.push((at, &single.end));
    }
    for (at, text) in texts {
        sheet.text(at, Anchor::Middle, "label", text);
    }
}

fn draw_legend(sheet: &Sheet, plan: &Plan<'_>, layout: &Layout) {
    let column_width = (WIDTH as i32 - 32) / LEGEND_COLUMNS as i32;
    for (idx, entry) in plan.legend.iter().enumerate() {
        let (column, line) = ((idx % LEGEND_COLUMNS) as i32, (idx / LEGEND_COLUMNS) as i32);
        let x = (16 + column * column_width) * UNIT;
        let y = (layout.plot_bottom + AXIS + 14) as i32 * UNIT + line * LEGEND_ROW as i32 * UNIT;
        let (from, to) = ((x, y - 5 * UNIT), (x + 30 * UNIT, y + 5 * UNIT));
        match entry.sample {
            Sample::Band => sheet.rectangle(&format!("{} outer", entry.class), from, to),
            Sample::Area => sheet.rectangle(&entry.class, from, to),
            Sample::Line => {}
        }
        if entry.sample != Sample::Area {
            let class = format!("line {}", entry.class);
            sheet.polyline(&class, &[(x, y), (x + 30 * UNIT, y)]);
        }
        let at = (x + 37 * UNIT, y + 4 * UNIT);
        sheet.text(at, Anchor::Start, "minor", &cut(&entry.text, 42));
    }
}
