//! Places in the program from which operations are called, in two traces. When a program changes, its
//! lines move; a place that moved by some lines is the same one.

use std::collections::BTreeMap;

use collbench_stats::integers::add_ns;
use serde::{Deserialize, Serialize};

use crate::compare::compared::Change;
use crate::results::analysis::Analysis;
use crate::results::call_sites::CallSiteSummary;
use crate::results::code::Code;

/// The calls of an operation from one place, in the baseline and in another trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedSite {
    /// Index of the other trace.
    pub trace: usize,
    /// Name of the standard.
    pub operation: Code,
    /// The calls in the baseline; `None` where it has none from there.
    pub baseline: Option<SiteFigures>,
    /// The calls in the other trace; `None` where it has none from there.
    pub other: Option<SiteFigures>,
    /// Change of the time in the calls, ns; a trace without calls from there has 0.
    pub call_time_ns: Change,
}

/// The calls of an operation from one place, of all communicators and payloads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SiteFigures {
    /// The place, as one word: `solver.f90:312`.
    pub place: String,
    /// Ids of the ways up the stack that lead there, in the analysis of the trace.
    pub sites: Vec<usize>,
    /// Calls of complete instances.
    pub calls: u64,
    /// Time in them, ns.
    pub call_time_ns: i64,
    /// Their known waits, ns; `None` where none is known.
    pub wait_ns: Option<i64>,
}

/// What places have in common that may be the same: operation, function, source file or module.
type Group = (Code, String, String);

/// Within a group by line, or, where that is not known, by address.
type Places = BTreeMap<u64, SiteFigures>;

/// The places of all traces beside those of the first one, by change of the time in their calls.
pub(crate) fn compare(analyses: &[Analysis]) -> Vec<ComparedSite> {
    let baseline = places(&analyses[0]);
    let mut compared = Vec::new();
    for (trace, other) in analyses.iter().enumerate().skip(1) {
        let mut others = places(other);
        // Where one of them has no call sites, there is nothing to compare.
        if baseline.is_empty() || others.is_empty() {
            continue;
        }
        for (group, mut here) in baseline.clone() {
            let mut there = others.remove(&group).unwrap_or_default();
            for (one, two) in pairs(&here, &there) {
                let (one, two) = (here.remove(&one), there.remove(&two));
                compared.push(site(trace, &group.0, one, two));
            }
            let left = here.into_values();
            compared.extend(left.map(|one| site(trace, &group.0, Some(one), None)));
            let new = there.into_values();
            compared.extend(new.map(|two| site(trace, &group.0, None, Some(two))));
        }
        for (group, there) in others {
            let new = there.into_values();
            compared.extend(new.map(|two| site(trace, &group.0, None, Some(two))));
        }
    }
    // Stable: those of equal change stay in the order of their places.
    let change = |site: &ComparedSite| site.call_time_ns.difference.saturating_abs();
    compared.sort_by_key(|site| (site.trace, std::cmp::Reverse(change(site))));
    compared
}

fn site(
    trace: usize,
    operation: &Code,
    baseline: Option<SiteFigures>,
    other: Option<SiteFigures>,
) -> ComparedSite {
    let time = |of: &Option<SiteFigures>| of.as_ref().map_or(0, |figures| figures.call_time_ns);
    ComparedSite {
        trace,
        operation: operation.clone(),
        call_time_ns: Change::new(time(&baseline), time(&other)),
        baseline,
        other,
    }
}

fn places(analysis: &Analysis) -> BTreeMap<Group, Places> {
    let mut groups: BTreeMap<Group, Places> = BTreeMap::new();
    for operation in &analysis.operations {
        for of in &operation.sites {
            let Some(summary) = analysis.sites.get(of.site) else {
                continue;
            };
            let (function, file, position) = position(summary);
            let group = (operation.operation.clone(), function, file);
            let places = groups.entry(group).or_default();
            let figures = places.entry(position).or_insert_with(|| SiteFigures {
                place: summary.place(),
                sites: Vec::new(),
                calls: 0,
                call_time_ns: 0,
                wait_ns: None,
            });
            if !figures.sites.contains(&of.site) {
                figures.sites.push(of.site);
            }
            figures.calls += of.calls;
            add_ns(&mut figures.call_time_ns, of.call_time_ns);
            if let Some(wait_ns) = of.wait_ns {
                add_ns(figures.wait_ns.get_or_insert(0), wait_ns);
            }
        }
    }
    groups
}

/// Function, file and line of a place; where these are not known, the module and the address in it. An
/// address says something of the same build only.
fn position(site: &CallSiteSummary) -> (String, String, u64) {
    let Some(frame) = site.own_frame().or(site.frames.last()) else {
        return Default::default();
    };
    let last = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let function = frame.function.clone().unwrap_or_default();
    let module = frame.module.as_deref().map(last).unwrap_or_default();
    match (&frame.file, frame.line) {
        (Some(file), Some(line)) => (function, last(file), line.into()),
        _ if frame.function.is_some() => (function, module, frame.offset),
        _ => {
            let build = frame.build_id.clone().unwrap_or_default();
            (build, format!("{module}+{:x}", frame.offset), 0)
        }
    }
}

/// Which places of two traces, by their lines, are the same. If there are as many, the first is the first;
/// else those that have moved by as many lines as most have.
fn pairs(here: &Places, there: &Places) -> Vec<(u64, u64)> {
    if here.len() == there.len() {
        return here.keys().copied().zip(there.keys().copied()).collect();
    }
    let moves = here
        .keys()
        .flat_map(|one| there.keys().map(|two| two.wrapping_sub(*one)));
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    for by in moves {
        *counts.entry(by).or_default() += 1;
    }
    // Of several, the shortest way.
    let distance = |by: u64| by.cast_signed().unsigned_abs();
    let best = counts
        .into_iter()
        .max_by_key(|&(by, n)| (n, std::cmp::Reverse(distance(by))));
    let Some((by, _)) = best else {
        return Vec::new();
    };
    let moved = here.keys().map(|&one| (one, one.wrapping_add(by)));
    moved.filter(|(_, two)| there.contains_key(two)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(lines: &[u64]) -> Places {
        let figures = |line: &u64| SiteFigures {
            place: format!("a.c:{line}"),
            sites: Vec::new(),
            calls: 1,
            call_time_ns: 1,
            wait_ns: None,
        };
        lines.iter().map(|line| (*line, figures(line))).collect()
    }

    #[test]
    fn places_that_moved_by_some_lines_are_the_same() {
        let same = |here: &[u64], there: &[u64]| pairs(&at(here), &at(there));
        assert_eq!(same(&[10, 20], &[13, 27]), [(10, 13), (20, 27)]);
        assert_eq!(
            same(&[10, 20, 30], &[13, 23, 28, 33]),
            [(10, 13), (20, 23), (30, 33)]
        );
        assert_eq!(same(&[10, 20, 30], &[20, 30]), [(20, 20), (30, 30)]);
        assert_eq!(same(&[10], &[9, 12]), [(10, 9)]);
        assert!(same(&[], &[9]).is_empty());
    }
}
