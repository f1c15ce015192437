//! Places in the program, in words.

use collbench_analyzer::Analysis;
use collbench_text::inert;

/// Columns for a place.
const PLACE: usize = 60;

/// The place with this id, as one word such as `solver.f90:312`; `None` where there is none.
pub(crate) fn place(analysis: &Analysis, site: Option<usize>) -> Option<String> {
    let site = analysis.sites.get(site?)?;
    Some(inert::line(&site.place(), PLACE))
}

/// ` at solver.f90:312`, or nothing.
pub(crate) fn at(analysis: &Analysis, site: Option<usize>) -> String {
    place(analysis, site).map_or_else(String::new, |place| format!(" at {place}"))
}
