//! An empty analysis, which tests fill in.

use std::collections::BTreeMap;

use collbench_analyzer::AlignmentMethod;
use collbench_analyzer::results::{
    Analysis, ClockSummary, DetailsSummary, LookedAt, OperationCosts, ShownInstances, Timeline,
    TraceSummary, Violations,
};

/// The analysis of a run without ranks or calls.
pub(crate) fn nothing() -> Analysis {
    Analysis {
        adaptations: Vec::new(),
        algorithms: None,
        running: None,
        faster: None,
        trace: TraceSummary {
            directory: String::new(),
            command: Vec::new(),
            mpi_library: String::new(),
            ranks: 0,
            hosts: Vec::new(),
            calls: 0,
            messages: None,
            message_ends: None,
            bytes: 0,
            duration_ns: 0,
            complete: true,
            layers: BTreeMap::new(),
            damage: Vec::new(),
            shared_cores: Vec::new(),
            window: None,
        },
        restriction: None,
        alignment: AlignmentMethod::default(),
        looked_at: LookedAt::default(),
        clock: ClockSummary {
            method: "".into(),
            source: String::new(),
            reference_host: String::new(),
            hosts: Vec::new(),
            violations: Violations::default(),
            errors: None,
            closure: None,
            host_sites: None,
            courses: Vec::new(),
        },
        communicators: Vec::new(),
        totals: BTreeMap::new(),
        ranks: Vec::new(),
        operations: Vec::new(),
        sites: Vec::new(),
        efficiencies: None,
        other_calls: Vec::new(),
        operation_costs: OperationCosts::default(),
        causes: Vec::new(),
        imbalance: Vec::new(),
        disturbances: Vec::new(),
        timeline: Timeline::default(),
        fine_timeline: Timeline::default(),
        instances: ShownInstances::default(),
        classes: Vec::new(),
        phases: Vec::new(),
        unfinished: Vec::new(),
        hang: None,
        mismatches: Vec::new(),
        never_completed: Vec::new(),
        details: DetailsSummary::default(),
        remarks: Vec::new(),
    }
}
