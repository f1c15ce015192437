//! From sums to results: the phases that the program marked.

use std::collections::BTreeMap;

use collbench_stats::integers::add_ns;

use crate::judge::inputs::Inputs;
use crate::results::analysis::MarkedPhase;

/// The phases, by level.
pub(crate) fn marked_phases(inputs: &Inputs<'_>) -> Vec<MarkedPhase> {
    let mut phases: BTreeMap<i32, MarkedPhase> = BTreeMap::new();
    let processes = inputs.findings.processes.iter();
    for of_process in processes.flat_map(|process| &process.phases) {
        let level = of_process.level;
        let phase = phases.entry(level).or_insert_with(|| {
            let sums = inputs.sums.phases.get(&level);
            MarkedPhase {
                level,
                from_ns: of_process.from_ns,
                to_ns: of_process.to_ns,
                processes: 0,
                begun: 0,
                time_ns: 0,
                calls: sums.map_or(0, |sums| sums.n_calls),
                call_time_ns: sums.map_or(0, |sums| sums.call_ns),
                wait_ns: sums.and_then(|sums| sums.wait_ns),
            }
        });
        phase.from_ns = phase.from_ns.min(of_process.from_ns);
        phase.to_ns = phase.to_ns.max(of_process.to_ns);
        phase.processes += 1;
        phase.begun += of_process.n_begun;
        add_ns(&mut phase.time_ns, of_process.time_ns);
    }
    phases.into_values().collect()
}
