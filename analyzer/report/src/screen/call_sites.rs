//! The table of places from which collectives are called.

use std::collections::BTreeSet;

use collbench_analyzer::Analysis;
use collbench_text::{inert, quantity};

use crate::screen::lines::{Screen, table_lines};
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
    let shown = &rows[..rows.len().min(MAX_ROWS)];
    let cells = shown.iter().map(|((_, operation), row)| {
        [
            operation.to_string(),
            row.ranks.len().to_string(),
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
    let lines = shown.iter().zip(cells).map(|(((place, _), _), cells)| {
        let place = inert::line(place, room.max(MIN_PLACE));
        std::iter::once(place).chain(cells)
    });
    let heads = std::iter::once("called at").chain(HEADS);
    for line in table_lines(heads, lines, |column| column >= 2, None) {
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
