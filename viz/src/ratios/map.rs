//! Drawing of grids of ratios.

use std::collections::BTreeSet;

use plotters_backend::BackendCoord;

use super::color::{class, number_class, rules, step, words};
use super::{Panel, RatioCell, RatioMap, at};
use crate::frame::{MARGIN, WIDTH};
use crate::style::Style;
use crate::svg::{Anchor, Sheet, UNIT, fit, text_width};

// All in px.
/// Width of the names of rows.
const NAMES: f64 = 62.0;
const GAP: f64 = 24.0;
const CELL: std::ops::RangeInclusive<f64> = 6.0..=54.0;
const CELL_HEIGHT: f64 = 30.0;
/// Title of a panel.
const TITLE: f64 = 30.0;
const AXIS: f64 = 44.0;
const LEGEND_ROW: f64 = 18.0;
const SWATCH: (f64, f64) = (20.0, 12.0);
const SMALL: f64 = 11.0;

/// Rules that grids of ratios add, on paper and on screen.
const RULES: &str = "\
.number{font-size:11px}
.ink{fill:#1a1a1a}
.pale{fill:#fff}
.cell rect{shape-rendering:crispEdges}
.cell:hover rect{stroke:#1a1a1a;stroke-width:1px}
.doubtful{fill:none;stroke:#1a1a1a;stroke-width:1.4px;stroke-dasharray:3 3}
.outline{fill:none;stroke:#767676;stroke-width:1px}
.frame{fill:none;stroke:#a6a6a6;stroke-width:1px}
";

/// An entry of a legend.
struct Entry {
    /// Class of the swatch; `None` for hatching.
    class: Option<String>,
    words: String,
}

impl RatioMap {
    /// The picture; see [`Picture::draw`](crate::Picture::draw).
    pub(crate) fn draw(&self, id: &str) -> String {
        let head = self.head();
        let n_panels = self.panels.len().max(1) as f64;
        let room = f64::from(WIDTH - 2 * MARGIN) - GAP * (n_panels - 1.0);
        let panel_width = room / n_panels;
        let n_columns = self.x.names.len().max(1) as f64;
        let cell = ((panel_width - NAMES) / n_columns).clamp(*CELL.start(), *CELL.end());
        let top = f64::from(head.bottom()) + TITLE + 14.0;
        let bottom = top + CELL_HEIGHT * self.y.names.len().max(1) as f64;
        let legends: Vec<Vec<Entry>> = self.panels.iter().map(legend).collect();
        let n_rows = |entries: &Vec<Entry>| {
            place(entries, panel_width)
                .last()
                .map_or(0, |last| last.1 + 1)
        };
        let legend_rows = legends.iter().map(n_rows).max().unwrap_or(0);
        let height = bottom + AXIS + LEGEND_ROW * legend_rows as f64 + 10.0;
        let sheet = head.sheet(height.ceil() as u32);
        for (idx, (panel, legend)) in self.panels.iter().zip(&legends).enumerate() {
            let left = f64::from(MARGIN) + (panel_width + GAP) * idx as f64;
            let grid = Grid {
                left: left + NAMES,
                top,
                bottom,
                cell,
                id,
            };
            let title = fit(panel.title.as_str(), panel_width, 12.0);
            sheet.text(at(left, top - 14.0), Anchor::Start, "name", &title);
            self.draw_panel(&sheet, panel, &grid);
            for ((x, row), entry) in place(legend, panel_width).into_iter().zip(legend) {
                let y = bottom + AXIS + LEGEND_ROW * (row as f64 + 0.5);
                draw_entry(&sheet, entry, (left + x, y), id);
            }
        }
        if self.panels.is_empty() {
            let place = at(f64::from(MARGIN), top);
            sheet.text(place, Anchor::Start, "name", "nothing was measured");
        }
        let rules = [RULES, &rules(self.palette)].concat();
        let titles: Vec<&str> = self
            .panels
            .iter()
            .map(|panel| panel.title.as_str())
            .collect();
        let added = Style {
            light: &rules,
            dark: "",
        };
        let (y, x, titles) = (&self.y.title, &self.x.title, titles.join("; "));
        let description = format!("{}. {y} over {x}: {titles}.", self.subtitle);
        sheet.finish(id, &self.finding, &description, &[added])
    }

    fn draw_panel(&self, sheet: &Sheet, panel: &Panel, grid: &Grid) {
        let n_rows = self.y.names.len();
        for (idx, cell) in panel.cells.iter().enumerate() {
            let (column, row) = (idx / n_rows.max(1), idx % n_rows.max(1));
            let (from, to) = grid.corners(column, row);
            sheet.group("cell", &[], cell.tooltip.as_str(), || {
                self.draw_cell(sheet, panel, cell, (from, to), grid)
            });
        }
        let to = at(
            grid.left + grid.cell * self.x.names.len() as f64,
            grid.bottom,
        );
        sheet.rectangle("frame", at(grid.left, grid.top), to);
        self.draw_names(sheet, grid);
    }

    fn draw_cell(
        &self,
        sheet: &Sheet,
        panel: &Panel,
        cell: &RatioCell,
        (from, to): (BackendCoord, BackendCoord),
        grid: &Grid,
    ) {
        let Some(value) = shown(cell) else {
            sheet.hatched(grid.id, from, to);
            return;
        };
        let step = step(panel.scale, value);
        sheet.rectangle(&class(panel.scale, step), from, to);
        if cell.is_doubtful {
            let inset = 2 * UNIT;
            sheet.rectangle(
                "doubtful",
                (from.0 + inset, from.1 + inset),
                (to.0 - inset, to.1 - inset),
            );
        }
        let number = number(value);
        if text_width(&number, SMALL) + 1.0 <= grid.cell {
            let middle = ((from.0 + to.0) / 2, (from.1 + to.1) / 2 + 4 * UNIT);
            let class = number_class(panel.scale, self.palette, step);
            sheet.text(middle, Anchor::Middle, class, &number);
        }
    }

    fn draw_names(&self, sheet: &Sheet, grid: &Grid) {
        for (row, name) in self.y.names.iter().enumerate() {
            let y = grid.bottom - CELL_HEIGHT * (row as f64 + 0.5) + 4.0;
            let name = fit(name.as_str(), NAMES - 8.0, SMALL);
            sheet.text(at(grid.left - 6.0, y), Anchor::End, "minor", &name);
        }
        let mut free = f64::NEG_INFINITY;
        for (column, name) in self.x.names.iter().enumerate() {
            let x = grid.left + grid.cell * (column as f64 + 0.5);
            let half = text_width(name.as_str(), SMALL) / 2.0;
            if x - half < free {
                continue;
            }
            free = x + half + 3.0;
            let place = at(x, grid.bottom + 16.0);
            sheet.text(place, Anchor::Middle, "minor", name.as_str());
        }
        let middle = grid.left + grid.cell * self.x.names.len() as f64 / 2.0;
        let titles = format!("→ {}, ↑ {}", self.x.title, self.y.title);
        sheet.text(
            at(middle, grid.bottom + 34.0),
            Anchor::Middle,
            "minor",
            &titles,
        );
    }
}

/// Location of a grid, in px.
struct Grid<'a> {
    left: f64,
    top: f64,
    bottom: f64,
    /// Width of a cell.
    cell: f64,
    id: &'a str,
}

impl Grid<'_> {
    /// Corners of a cell, on whole pixels: no seams between neighbours.
    fn corners(&self, column: usize, row: usize) -> (BackendCoord, BackendCoord) {
        let x = |column: usize| (self.left + self.cell * column as f64).round();
        let y = |row: usize| (self.bottom - CELL_HEIGHT * row as f64).round();
        (at(x(column), y(row + 1)), at(x(column + 1), y(row)))
    }
}

/// The value of a cell that is drawn.
fn shown(cell: &RatioCell) -> Option<f64> {
    cell.value.filter(|value| value.is_finite())
}

/// A ratio in few characters.
fn number(value: f64) -> String {
    match value.abs() {
        // Not "-0.00".
        ..0.005 => "0.00".to_owned(),
        ..9.995 => format!("{value:.2}"),
        ..99.5 => format!("{value:.1}"),
        ..9_999.5 => format!("{value:.0}"),
        _ => String::new(),
    }
}

/// The legend of a panel: the steps that it has.
fn legend(panel: &Panel) -> Vec<Entry> {
    let values = panel.cells.iter().filter_map(shown);
    let steps: BTreeSet<usize> = values.map(|value| step(panel.scale, value)).collect();
    let mut entries: Vec<Entry> = steps
        .into_iter()
        .map(|step| Entry {
            class: Some(class(panel.scale, step)),
            words: words(panel.scale, step),
        })
        .collect();
    if panel.cells.iter().any(|cell| shown(cell).is_none()) {
        entries.push(Entry {
            class: None,
            words: "not measured".to_owned(),
        });
    }
    if panel
        .cells
        .iter()
        .any(|cell| cell.is_doubtful && shown(cell).is_some())
    {
        entries.push(Entry {
            class: Some("doubtful".to_owned()),
            words: "says little".to_owned(),
        });
    }
    entries
}

/// Places of the entries of a legend: px from its left, and row.
fn place(entries: &[Entry], width: f64) -> Vec<(f64, usize)> {
    let (mut x, mut row) = (0.0, 0);
    let mut places = Vec::with_capacity(entries.len());
    for entry in entries {
        let own = SWATCH.0 + 6.0 + text_width(&entry.words, SMALL);
        if x > 0.0 && x + own > width {
            (x, row) = (0.0, row + 1);
        }
        places.push((x, row));
        x += own + 12.0;
    }
    places
}

fn draw_entry(sheet: &Sheet, entry: &Entry, (x, y): (f64, f64), id: &str) {
    let (from, to) = (
        at(x, y - SWATCH.1 / 2.0),
        at(x + SWATCH.0, y + SWATCH.1 / 2.0),
    );
    match &entry.class {
        Some(class) => sheet.rectangle(class, from, to),
        None => sheet.hatched(id, from, to),
    }
    if entry.class.as_deref() != Some("doubtful") {
        sheet.rectangle("outline", from, to);
    }
    let place = at(x + SWATCH.0 + 6.0, y + 4.0);
    sheet.text(place, Anchor::Start, "minor", &entry.words);
}
