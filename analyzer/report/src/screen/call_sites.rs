//! The table of places from which collectives are called.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use collbench_analyzer::Analysis;
use collbench_stats::integers::add_ns;
use collbench_text::quantity;
use comfy_table::{CellAlignment, Table, TableStyle};

use crate::screen::lines::{Screen, lines_of};
use crate::words;

/// Rows shown; the JSON has all.
const MAX_ROWS: usize = 20;

/// One operation, called from one place.
#[derive(Debug, Clone, Copy, Default)]
struct Row {
    ranks: u64,
    calls: u64,
    time_ns: i64,
    wait_ns: Option<i64>,
}

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
    let rows = rows(analysis);
    let mut table = Table::new();
    table.load_style(TableStyle::new());
    table.set_header(["called at", "operation", "ranks", "calls", "time", "wait"]);
    for ((place, operation), row) in rows.iter().take(MAX_ROWS) {
        table.add_row([
            (*place).clone(),
            operation.to_string(),
            row.ranks.to_string(),
            quantity::short_count(row.calls),
            quantity::duration(row.time_ns),
            row.wait_ns.map_or("-".to_owned(), quantity::duration),
        ]);
    }
    for column in 2..6 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for line in lines_of(&table) {
        screen.row(&line);
    }
    if rows.len() > MAX_ROWS {
        let n = (rows.len() - MAX_ROWS) as u64;
        screen.row(&format!("  and {}", quantity::counted(n, "other row")));
    }
}

/// By place and operation, the longest time first. Ways that end at one line are one place.
fn rows(analysis: &Analysis) -> Vec<((String, &str), Row)> {
    let mut rows: BTreeMap<(String, &str), Row> = BTreeMap::new();
    for operation in &analysis.operations {
        for of in &operation.sites {
            let place = words::call_sites::place(analysis, Some(of.site));
            let place = place.unwrap_or_else(|| "an unknown place".to_owned());
            let row = rows.entry((place, &*operation.operation)).or_default();
            row.ranks = row.ranks.max(of.ranks);
            row.calls += of.calls;
            add_ns(&mut row.time_ns, of.call_time_ns);
            if let Some(wait_ns) = of.wait_ns {
                add_ns(row.wait_ns.get_or_insert(0), wait_ns);
            }
        }
    }
    let mut rows: Vec<_> = rows.into_iter().collect();
    // Stable: rows of equal time stay in the order of their places.
    rows.sort_by_key(|(_, row)| Reverse(row.time_ns));
    rows
}
