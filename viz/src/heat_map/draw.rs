//! Drawing of a heat map: rows and cells, names beside them, the axis and the legend below.

use plotters_backend::BackendCoord;

use super::{Bar, Finer, HeatMap, Row, Shade};
use crate::frame::{MARGIN, WIDTH};
use crate::style::HEAT;
use crate::svg::{Anchor, Sheet, UNIT, at, fit, text_width};

// All in px.
const LEFT: f64 = 196.0;
/// Names of rows end before the cells; names of groups start at the edge.
const NAME_WIDTH: f64 = 96.0;
const GROUP_LEFT: f64 = MARGIN as f64;
const GROUP_WIDTH: f64 = 70.0;
const PLOT_WIDTH: f64 = 640.0;
/// Gap between the cells and the bars beside them.
const BAR_GAP: f64 = 16.0;
const BAR_WIDTH: f64 = 44.0;
/// Height of all rows together, if rows are then neither too high nor too low.
const ROWS_HEIGHT: f64 = 448.0;
const ROW_HEIGHT: std::ops::RangeInclusive<f64> = 10.0..=34.0;
/// Height of a line of small text.
const TEXT_LINE: f64 = 13.0;
/// Least height of a separate row: it is always named.
const APART_HEIGHT: f64 = 14.0;
/// Gap between the separate rows and the others.
const APART: f64 = 10.0;
const AXIS: f64 = 44.0;
const LEGEND_ROW: f64 = 20.0;
const SWATCH: (f64, f64) = (24.0, 12.0);
const SMALL: f64 = 11.0;

/// With more cells only rows have a tooltip, to keep the picture small.
const MAX_CELL_TOOLTIPS: usize = 1_280;

/// Locations of the parts, in px.
struct Layout {
    top: f64,
    rows: Vec<Place>,
    bottom: f64,
    column_width: f64,
    legend: Vec<Entry>,
    height: u32,
}

/// Location of a row, in px.
#[derive(Clone, Copy)]
struct Place {
    y: f64,
    height: f64,
    /// Whether there is room for its name and number: a line of text may be higher than a row.
    has_text: bool,
}

impl Place {
    /// Baseline of a line of text in the middle of the row.
    fn baseline(self) -> f64 {
        self.y + self.height / 2.0 + 4.0
    }
}

/// One entry of the legend and its position.
struct Entry {
    shade: Shade,
    text: String,
    x: f64,
    y: f64,
}

impl HeatMap {
    /// The picture; see [`Picture::draw`](crate::Picture::draw).
    pub(crate) fn draw(&self, id: &str) -> String {
        let layout = self.layout();
        let sheet = self.head.sheet(layout.height);
        if self.rows.is_empty() {
            let at = at(LEFT, layout.top + 20.0);
            sheet.text(at, Anchor::Start, "name", "no ranks");
        }
        let cells = self.rows.iter().flat_map(|row| &row.cells);
        let n_shapes: usize = cells.map(|cell| n_shapes(cell.shade)).sum();
        let has_tooltips = n_shapes <= MAX_CELL_TOOLTIPS;
        let finer = self.finer.as_ref().map(finer_data).unwrap_or_default();
        let data: Vec<(&str, &str)> = finer
            .iter()
            .map(|(name, value)| (*name, &**value))
            .collect();
        sheet.group("plot", &data, "", || {
            for (row, &place) in self.rows.iter().zip(&layout.rows) {
                let targets = targets(row, has_tooltips);
                let mut data = vec![("row", row.name.as_str()), ("ranks", row.ranks.as_str())];
                data.extend(targets.iter().map(|targets| ("columns", targets.as_str())));
                data.extend(row.finer.iter().map(|values| ("finer", values.as_str())));
                sheet.group("ranks", &data, &row.tooltip, || {
                    if has_tooltips {
                        draw_cells(&sheet, row, &layout, place, id)
                    } else {
                        draw_stretches(&sheet, row, &layout, place, id)
                    }
                });
            }
        });
        for (row, &place) in self.rows.iter().zip(&layout.rows) {
            draw_bar(&sheet, &row.bar, place, id);
        }
        self.draw_frames(&sheet, &layout);
        self.draw_names(&sheet, &layout);
        self.draw_axis(&sheet, &layout);
        draw_legend(&sheet, &layout, id);
        sheet.finish(id, &self.finding, &self.description, &[HEAT])
    }

    fn layout(&self) -> Layout {
        // Two lines of text above the bars.
        let top = f64::from(self.head.bottom()) + 16.0 + 2.0 * TEXT_LINE;
        let row_height = (ROWS_HEIGHT / self.rows.len().max(1) as f64)
            .clamp(*ROW_HEIGHT.start(), *ROW_HEIGHT.end());
        let (mut bottom, mut free) = (top, top);
        let mut rows = Vec::with_capacity(self.rows.len());
        for (idx, row) in self.rows.iter().enumerate() {
            if idx > 0 && self.rows[idx - 1].is_apart && !row.is_apart {
                bottom += APART;
            }
            let height = if row.is_apart {
                row_height.max(APART_HEIGHT)
            } else {
                row_height
            };
            let has_text = bottom + 0.5 >= free;
            if has_text {
                free = bottom + TEXT_LINE;
            }
            rows.push(Place {
                y: bottom,
                height,
                has_text,
            });
            bottom += height;
        }
        let bottom = bottom.max(top + 34.0);
        let (legend, end) = self.legend(bottom + AXIS);
        Layout {
            top,
            rows,
            bottom,
            column_width: PLOT_WIDTH / self.n_columns.max(1) as f64,
            legend,
            height: end.ceil() as u32,
        }
    }

    /// The entries of the legend from `top` on, and their lower end.
    fn legend(&self, top: f64) -> (Vec<Entry>, f64) {
        let steps = self.steps.iter().enumerate();
        let steps = steps.map(|(step, text)| (Shade::Step(step), text.as_str()));
        let others = [(Shade::Blank, self.blank), (Shade::Unknown, self.hatching)];
        let (left, right) = (f64::from(MARGIN), f64::from(WIDTH - MARGIN));
        let (mut x, mut y) = (left, top + LEGEND_ROW / 2.0);
        let mut entries = Vec::new();
        for (shade, text) in others[..1].iter().copied().chain(steps).chain([others[1]]) {
            let width = SWATCH.0 + 6.0 + text_width(text, SMALL);
            if x > left && x + width > right {
                (x, y) = (left, y + LEGEND_ROW);
            }
            entries.push(Entry {
                shade,
                text: text.to_owned(),
                x,
                y,
            });
            x += width + 16.0;
        }
        (entries, y + LEGEND_ROW / 2.0 + 6.0)
    }

    /// Frames around the rows, one around those that are separate.
    fn draw_frames(&self, sheet: &Sheet, layout: &Layout) {
        let rows = || self.rows.iter().zip(&layout.rows);
        for is_apart in [true, false] {
            let framed = || rows().filter(|(row, _)| row.is_apart == is_apart);
            if let (Some((_, first)), Some((_, last))) = (framed().next(), framed().next_back()) {
                let to = at(LEFT + PLOT_WIDTH, last.y + last.height);
                sheet.rectangle("frame", at(LEFT, first.y), to);
            }
        }
    }

    /// Names of rows and of groups, as many as there is room for.
    fn draw_names(&self, sheet: &Sheet, layout: &Layout) {
        let mut free = layout.top;
        for (idx, (row, &place)) in self.rows.iter().zip(&layout.rows).enumerate() {
            if place.has_text {
                let at = at(LEFT - 8.0, place.baseline());
                sheet.text(at, Anchor::End, "minor", &fit(&row.name, NAME_WIDTH, SMALL));
            }
            let before = idx.checked_sub(1).map(|idx| &self.rows[idx]);
            let is_first = before.is_none_or(|before| before.group != row.group);
            if is_first && before.is_some_and(|before| !before.is_apart) {
                let ends = [GROUP_LEFT, GROUP_LEFT + GROUP_WIDTH].map(|x| at(x, place.y));
                sheet.polyline("leader", &ends);
            }
            if is_first && place.y + 0.5 >= free {
                let group = fit(row.group.as_str(), GROUP_WIDTH, SMALL);
                let at = at(GROUP_LEFT, place.baseline());
                sheet.text(at, Anchor::Start, "minor", &group);
                free = place.y + TEXT_LINE;
            }
        }
    }

    fn draw_axis(&self, sheet: &Sheet, layout: &Layout) {
        let bottom = layout.bottom;
        let ends = [at(LEFT, bottom), at(LEFT + PLOT_WIDTH, bottom)];
        sheet.group("axis", &[], "", || sheet.polyline("", &ends));
        let place = self.axis.ends.map(|(start, end)| {
            let numbers = [LEFT, LEFT + PLOT_WIDTH, layout.top, bottom, start, end];
            numbers.map(|number| number.to_string())
        });
        let names = ["left", "right", "top", "bottom", "start", "end"];
        let place = place.iter().flatten().map(String::as_str);
        let data: Vec<(&str, &str)> = names.into_iter().zip(place).collect();
        sheet.group("ticks", &data, "", || {
            let mut free = f64::NEG_INFINITY;
            for (column, label) in &self.axis.ticks {
                let x = LEFT + column * layout.column_width;
                let half = text_width(label, SMALL) / 2.0;
                if x - half < free || x + half > f64::from(WIDTH) {
                    continue;
                }
                free = x + half + 6.0;
                let ends = [at(x, bottom), at(x, bottom + 4.0)];
                sheet.group("axis", &[], "", || sheet.polyline("", &ends));
                sheet.text(at(x, bottom + 16.0), Anchor::Middle, "tick", label);
            }
        });
        let middle = at(LEFT + PLOT_WIDTH / 2.0, bottom + 34.0);
        sheet.text(middle, Anchor::Middle, "minor", &self.axis.name);
        let bars = LEFT + PLOT_WIDTH + BAR_GAP;
        for (line, text) in (0..).zip(self.bars) {
            let y = layout.top - 6.0 - TEXT_LINE * f64::from(1 - line);
            sheet.text(at(bars, y), Anchor::Start, "minor", text);
        }
    }
}

/// What the page has to know to show shorter columns.
fn finer_data(finer: &Finer) -> Vec<(&'static str, String)> {
    vec![
        ("parts", finer.n_parts.to_string()),
        ("highest", finer.highest.to_string()),
        (
            "limits",
            finer.limits.map(|limit| limit.to_string()).join(" "),
        ),
        ("column", finer.column_ns.to_string()),
        ("before", finer.n_before.to_string()),
    ]
}

/// Where the columns of a row lead to, unless its cells say that themselves: `,3,3,`.
fn targets(row: &Row, do_cells_say: bool) -> Option<String> {
    let is_any = row.cells.iter().any(|cell| cell.leads_to.is_some());
    (is_any && !do_cells_say).then(|| {
        let cells = row.cells.iter();
        let targets = cells.map(|cell| cell.leads_to.map_or_else(String::new, |to| to.to_string()));
        targets.collect::<Vec<_>>().join(",")
    })
}

/// A group for each cell with its tooltip, and with its number if there is room.
fn draw_cells(sheet: &Sheet, row: &Row, layout: &Layout, place: Place, id: &str) {
    for (column, cell) in row.cells.iter().enumerate() {
        let (from, to) = cell_corners(layout, place, column, column + 1);
        let leads_to = cell.leads_to.map(|number| number.to_string());
        let data: Vec<(&str, &str)> = leads_to.iter().map(|to| ("to", to.as_str())).collect();
        sheet.group("cell", &data, &cell.tooltip, || {
            if cell.shade != Shade::Unknown {
                sheet.rectangle(&class(cell.shade), from, to);
            }
            if is_hatched(cell.shade) {
                sheet.hatched(id, from, to);
            }
            let has_room = text_width(&cell.number, SMALL) + 4.0 <= layout.column_width
                && place.height >= TEXT_LINE + 1.0;
            if has_room && !cell.number.is_empty() {
                let class = match cell.shade {
                    Shade::Step(step) | Shade::Least(step) => format!("number on{step}"),
                    Shade::Blank | Shade::Unknown => "number".to_owned(),
                };
                let middle = (f64::from(from.0 + to.0)) / 2.0 / f64::from(UNIT);
                let at = at(middle, place.baseline());
                sheet.text(at, Anchor::Middle, &class, &cell.number);
            }
        });
    }
}

/// One path for all cells of a shade, with neighbours as one rectangle.
fn draw_stretches(sheet: &Sheet, row: &Row, layout: &Layout, place: Place, id: &str) {
    let mut shapes: Vec<(Shade, Vec<(BackendCoord, BackendCoord)>)> = Vec::new();
    let mut column = 0;
    for stretch in row.cells.chunk_by(|a, b| a.shade == b.shade) {
        let corners = cell_corners(layout, place, column, column + stretch.len());
        let shade = stretch[0].shade;
        match shapes.iter_mut().find(|(known, _)| *known == shade) {
            Some((_, shapes)) => shapes.push(corners),
            None => shapes.push((shade, vec![corners])),
        }
        column += stretch.len();
    }
    for (shade, shapes) in shapes {
        if shade != Shade::Unknown {
            sheet.rectangles(&class(shade), &shapes);
        }
        if is_hatched(shade) {
            sheet.hatched_all(id, &shapes);
        }
    }
}

fn draw_bar(sheet: &Sheet, bar: &Bar, place: Place, id: &str) {
    let left = LEFT + PLOT_WIDTH + BAR_GAP;
    let (top, bottom) = (place.y + place.height * 0.15, place.y + place.height * 0.85);
    if let Some(length) = bar.length {
        let to = at(left + BAR_WIDTH * length.clamp(0.0, 1.0), bottom);
        sheet.rectangle("bar-room", at(left, top), at(left + BAR_WIDTH, bottom));
        if bar.is_hatched && length > 0.0 {
            sheet.hatched(id, at(left, top), to);
            sheet.rectangle("frame", at(left, top), to);
        } else {
            sheet.rectangle("bar", at(left, top), to);
        }
    }
    if place.has_text {
        let at = at(left + BAR_WIDTH + 4.0, place.baseline());
        sheet.text(at, Anchor::Start, "tick", &bar.number);
    }
}

fn draw_legend(sheet: &Sheet, layout: &Layout, id: &str) {
    for entry in &layout.legend {
        let from = at(entry.x, entry.y - SWATCH.1 / 2.0);
        let to = at(entry.x + SWATCH.0, entry.y + SWATCH.1 / 2.0);
        match entry.shade {
            Shade::Unknown => sheet.hatched(id, from, to),
            shade => sheet.rectangle(&class(shade), from, to),
        }
        sheet.rectangle("outline", from, to);
        let at = at(entry.x + SWATCH.0 + 6.0, entry.y + 4.0);
        sheet.text(at, Anchor::Start, "minor", &entry.text);
    }
}

/// Corners of the cells `from` to `end` of a row, on whole pixels: no seams between neighbours.
fn cell_corners(
    layout: &Layout,
    place: Place,
    from: usize,
    end: usize,
) -> (BackendCoord, BackendCoord) {
    let x = |column: usize| (LEFT + column as f64 * layout.column_width).round();
    (
        at(x(from), place.y.round()),
        at(x(end), (place.y + place.height).round()),
    )
}

/// How many shapes a cell takes: one that is shaded and hatched is as large as two.
fn n_shapes(shade: Shade) -> usize {
    1 + usize::from(matches!(shade, Shade::Least(_)))
}

fn is_hatched(shade: Shade) -> bool {
    matches!(shade, Shade::Least(_) | Shade::Unknown)
}

fn class(shade: Shade) -> String {
    match shade {
        Shade::Blank => "blank".to_owned(),
        Shade::Step(step) | Shade::Least(step) => format!("step{step}"),
        Shade::Unknown => String::new(),
    }
}
