//! An operation that differs between two traces, for tests.

use collbench_analyzer::compare::{
    Change, ComparisonVerdict, Difference, OperationDifferences, QuantityDifferences,
};

/// An operation that takes six times as long, by 2 ms a call, with this verdict and interval, ns.
pub(crate) fn differences(
    verdict: ComparisonVerdict,
    interval_ns: (i64, i64),
) -> OperationDifferences {
    let mean = Difference {
        verdict,
        difference_ns: 2_000_000,
        interval_ns: Some(interval_ns),
        ratio: Some(5.98),
        ratio_interval: Some((5.9, 6.1)),
        p: Some(0.01),
        resolution_ns: None,
        instances_needed: None,
        runs_needed: None,
    };
    let change = Change {
        difference: 3_170_000_000,
        ratio: Some(5.98),
    };
    OperationDifferences {
        trace: 1,
        verdict,
        total_ns: change,
        duration_ns: QuantityDifferences::default(),
        call_time_ns: QuantityDifferences {
            mean: Some(mean),
            median: None,
        },
        wait_ns: QuantityDifferences::default(),
        core_ns: QuantityDifferences::default(),
        trees: Vec::new(),
    }
}
