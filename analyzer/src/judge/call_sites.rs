//! The places in the program from which collectives are called.

use std::cmp::Reverse;

use collbench_stats::integers::add_ns;

use crate::results::call_sites::{CallSiteSummary, FrameSummary, OperationSite};
use crate::results::operation::OperationSummary;
use crate::sums::operation::OperationTally;
use crate::trace::call_sites::{RunSites, SiteAddress};
use crate::trace::run::Run;

/// All places, by number; functions and lines are not known yet.
pub(crate) fn of_run(run: &Run<'_>) -> Vec<CallSiteSummary> {
    let sites = &run.sites;
    let summary = |(id, site): (usize, &crate::trace::call_sites::RunSite)| CallSiteSummary {
        id,
        frames: (site.way.iter()).map(|at| frame(sites, at)).collect(),
        whole: site.is_whole,
    };
    sites.list.iter().enumerate().map(summary).collect()
}

fn frame(sites: &RunSites, at: &SiteAddress) -> FrameSummary {
    match *at {
        SiteAddress::NoFile(offset) => FrameSummary {
            offset,
            ..FrameSummary::default()
        },
        SiteAddress::Module { module, address } => {
            let module = &sites.modules[module as usize];
            let has_id = !module.build_id.is_empty();
            FrameSummary {
                module: Some(module.path.clone()),
                build_id: has_id.then(|| hexadecimal(&module.build_id)),
                offset: address,
                ..FrameSummary::default()
            }
        }
        SiteAddress::Script { function, line } => {
            let script = &sites.scripts[function as usize];
            let (has_name, has_file) = (!script.function.is_empty(), !script.file.is_empty());
            FrameSummary {
                function: has_name.then(|| script.function.clone()),
                file: has_file.then(|| script.file.clone()),
                line: (line > 0).then_some(line),
                ..FrameSummary::default()
            }
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The places from which an operation was called, by time, the longest first.
pub(crate) fn of_operation(tally: &OperationTally) -> Vec<OperationSite> {
    let sites = tally.sites.iter().map(|(site, members)| {
        let called = members.iter().filter(|member| member.calls > 0);
        let mut summary = OperationSite {
            site: site as usize,
            ranks: called.clone().count() as u64,
            calls: called.clone().map(|member| member.calls).sum(),
            call_time_ns: 0,
            wait_ns: None,
        };
        for member in called {
            add_ns(&mut summary.call_time_ns, member.call_ns);
            if member.n_waits > 0 {
                add_ns(summary.wait_ns.get_or_insert(0), member.wait_ns);
            }
        }
        summary
    });
    let mut sites: Vec<OperationSite> = sites.filter(|site| site.calls > 0).collect();
    sites.sort_by_key(|site| Reverse(site.call_time_ns));
    sites
}

/// The place where an operation waits the most, or, if `in_operation`, takes the longest besides
/// that.
pub(crate) fn costliest(operation: &OperationSummary, in_operation: bool) -> Option<usize> {
    let cost = |site: &&OperationSite| {
        let wait = site.wait_ns.unwrap_or(0);
        if in_operation {
            site.call_time_ns.saturating_sub(wait)
        } else {
            wait
        }
    };
    // The first of several: that with the longer calls.
    let sites = operation.sites.iter().rev();
    sites.max_by_key(cost).map(|site| site.site)
}
