//! The table of places from which collectives are called.

use std::collections::BTreeSet;

use collbench_analyzer::Analysis;
use collbench_text::{inert, quantity};
use comfy_table::{CellAlignment, Table, TableStyle};

use crate::screen::lines::{Screen, lines_of};
use crate::words;

/// Rows shown; the JSON has all.
const MAX_ROWS: usize = 20;
/// Heads of the columns after the place.
const HEADS: [&str; 5] = ["operation", "ranks", "calls", "time", "wait"];
/// Least columns of a place.
const MIN_PLACE: usize = 16;

/// The places from which collectives are called, by time in the calls from there, on a terminal of so many
/// columns; a sentence where they were not recorded.
#[must_use]
pub fn by_site_to_text_within(analysis: &Analysis, columns: usize) -> String {
    let mut screen = Screen::new(columns);
    call_sites(&mut screen, analysis);
    screen.text
}

fn call_sites(screen: &mut Screen, analysis: &Analysis) {
    screen.heading("By call site");
    if analysis.sites.is_empty() {
        screen.item("call sites were not recorded; record with --layers +sites");
        return;
    }
    let rows = words::call_sites::rows(analysis);
    let mut table = Table::new();
    table.load_style(TableStyle::new());
    table.set_header(std::iter::once("called at").chain(HEADS));
    let shown = &rows[..rows.len().min(MAX_ROWS)];
    let cells = shown.iter().map(|((_, operation), row)| {
        [
            operation.to_string(),
            row.ranks.to_string(),
            quantity::short_count(row.calls),
            quantity::duration(row.time_ns),
            row.wait_ns.map_or("-".to_owned(), quantity::duration),
        ]
    });
    let cells: Vec<[String; 5]> = cells.collect();
    // What the other columns leave, with the gaps between all; figures are never cut.
    let widths = HEADS.iter().enumerate().map(|(column, head)| {
        let widest = cells
            .iter()
            .map(|cells| cells[column].chars().count())
            .max();
        1 + widest.unwrap_or(0).max(head.len())
    });
    let room = screen.columns().saturating_sub(2 + widths.sum::<usize>());
    for (((place, _), _), cells) in shown.iter().zip(cells) {
        let place = inert::line(place, room.max(MIN_PLACE));
        table.add_row(std::iter::once(place).chain(cells));
    }
    // As in the table of operations.
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((if index == 0 { 2 } else { 0 }, 1));
        if index >= 2 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for line in lines_of(&table) {
        screen.row(&line);
    }
    let texts = shown.iter().filter_map(|((place, _), row)| {
        let text = words::call_sites::text(analysis, row.site)?;
        Some((place.as_str(), text))
    });
    let texts: BTreeSet<(&str, String)> = texts.collect();
    for (place, text) in texts {
        screen.item(&format!("{place}: {text}"));
    }
    if rows.len() > MAX_ROWS {
        let n = (rows.len() - MAX_ROWS) as u64;
        screen.row(&format!("  and {}", quantity::counted(n, "other row")));
    }
}
