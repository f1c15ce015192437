//! Places in the program, in words.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use collbench_analyzer::Analysis;
use collbench_analyzer::results::OperationSummary;
use collbench_stats::integers::add_ns;
use collbench_text::inert;

/// Columns for a place.
const PLACE: usize = 60;
/// Columns for the text of a line.
const TEXT: usize = 120;

/// One operation, called from one place.
#[derive(Debug, Clone, Default)]
pub(crate) struct Row {
    /// Ranks that called from there.
    pub(crate) ranks: BTreeSet<u32>,
    /// Their calls.
    pub(crate) calls: u64,
    /// Time in these, ns.
    pub(crate) time_ns: i64,
    /// What is known of the time waited in them, ns.
    pub(crate) wait_ns: Option<i64>,
    /// Id of one of the places that it is of.
    pub(crate) site: usize,
}

/// The place with this id, as one word such as `solver.f90:312`; `None` where there is none.
pub(crate) fn place(analysis: &Analysis, site: Option<usize>) -> Option<String> {
    let site = analysis.sites.get(site?)?;
    Some(inert::line(&site.place(), PLACE))
}

/// ` at solver.f90:312`, or nothing.
pub(crate) fn at(analysis: &Analysis, site: Option<usize>) -> String {
    place(analysis, site).map_or_else(String::new, |place| format!(" at {place}"))
}

/// The text of the line of this place; `None` where it is not known.
pub(crate) fn text(analysis: &Analysis, site: usize) -> Option<String> {
    let text = analysis.sites.get(site)?.own_frame()?.text.as_ref()?;
    Some(inert::line(text, TEXT))
}

/// The places from which an operation was called, each once, the one with the longest calls first.
pub(crate) fn of_operation(analysis: &Analysis, operation: &OperationSummary) -> Vec<String> {
    let mut places: Vec<String> = Vec::new();
    for of in &operation.sites {
        let found = place(analysis, Some(of.site));
        places.extend(found.filter(|place| !places.contains(place)));
    }
    places
}

/// By place and operation, the longest time first. Ways that end at one line are one place.
pub(crate) fn rows(analysis: &Analysis) -> Vec<((String, &str), Row)> {
    let mut rows: BTreeMap<(String, &str), Row> = BTreeMap::new();
    for operation in &analysis.operations {
        for of in &operation.sites {
            let place = place(analysis, Some(of.site));
            let place = place.unwrap_or_else(|| "an unknown place".to_owned());
            let row = rows.entry((place, &*operation.operation)).or_default();
            row.ranks.extend(operation.called_by(of.site));
            row.site = of.site;
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
