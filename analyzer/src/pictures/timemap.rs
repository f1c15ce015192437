//! The timemap of an operation.
//!
//! Its stages are those seen from outside. On one host nothing is waited for across hosts, so
//! those rows have no length; with several hosts, whose clocks are not aligned, they and the core
//! are not resolvable. Operations without a core (rooted ones, scans, Comm_free) have two stages:
//! the wait until the process could go on, and the operation from there on.

use collbench_viz as viz;
use collbench_viz::{Heading, Line, StageTime, Stages};

use super::title;
use crate::analysis::{Analysis, OperationSummary, ThreadWay};
use crate::words;

/// How to read it.
pub(super) fn caption(operation: &OperationSummary) -> &'static str {
    match operation.departure_wait_ns.is_some() {
        true => {
            "One line per rank, top to bottom through the stages; how far it moves to the right \
             is the mean time spent there. x = 0 is the arrival of the last rank: to the left \
             is waiting, to the right the operation and leaving it."
        }
        false => {
            "One line per rank, top to bottom through the stages; how far it moves to the right \
             is the mean time spent there. x = 0 is when the rank had what it waited for: to \
             the left is waiting, to the right the operation itself."
        }
    }
}

/// The timemap of one operation.
pub(super) fn timemap(analysis: &Analysis, operation: &OperationSummary) -> viz::Timemap {
    let heading = Heading {
        finding: words::finding(analysis, operation).into(),
        operation: title(analysis, operation).into(),
        n_instances: operation.instances,
    };
    let is_one_host = analysis.clock.hosts.len() == 1;
    let has_core = operation.departure_wait_ns.is_some();
    let mut stages = match has_core {
        true => Stages::seen_from_outside(),
        false => Stages {
            down: Stages::seen_from_outside().down,
            core: None,
            up: vec!["the operation itself".into()],
        },
    };
    if is_one_host {
        for stage in stages.down.iter_mut().chain(&mut stages.up) {
            if stage.as_str().contains("across hosts") {
                *stage = format!("{stage} (one host: none)").into();
            }
        }
    }
    let mut timemap = viz::Timemap::new(heading, stages);
    for thread in &operation.threads {
        let times = stage_times(thread, is_one_host, has_core);
        let line = Line {
            name: format!("rank {}", thread.rank).into(),
            host: thread.host.as_str().into(),
            class: None,
        };
        timemap.push(line, |stage| times[stage]);
    }
    timemap
}

/// Times of a thread: wait inside and across hosts, core, leaving across and inside hosts; or
/// wait inside and across, operation.
fn stage_times(thread: &ThreadWay, is_one_host: bool, has_core: bool) -> [Option<StageTime>; 5] {
    let time = |mean: Option<(i64, u64)>| mean.and_then(|(mean, n)| StageTime::new(mean, n));
    let across = match is_one_host {
        true => thread
            .wait
            .or(thread.inside)
            .and_then(|(_, n)| StageTime::new(0, n)),
        false => None,
    };
    let inside = match is_one_host || !has_core {
        true => time(thread.inside),
        false => None,
    };
    [
        time(thread.wait),
        across,
        inside,
        across,
        time(thread.departure_wait),
    ]
}
