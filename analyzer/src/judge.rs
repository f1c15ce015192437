//! From sums to results: verdicts, hangs, trees, operations.

pub(crate) mod behaviour;
pub(crate) mod call_sites;
pub(crate) mod causes;
pub(crate) mod change;
pub(crate) mod classes;
pub(crate) mod clock_summary;
pub(crate) mod damage;
pub(crate) mod details;
pub(crate) mod disturbances;
pub(crate) mod efficiencies;
pub(crate) mod exchanges;
pub(crate) mod growth;
pub(crate) mod hang;
pub(crate) mod imbalances;
pub(crate) mod inputs;
pub(crate) mod marked_phases;
pub(crate) mod operations;
pub(crate) mod other_calls;
pub(crate) mod over_time;
pub(crate) mod paths;
pub(crate) mod remarks;
pub(crate) mod summarize;
pub(crate) mod trace;
pub(crate) mod tree_figures;
pub(crate) mod trees;
pub(crate) mod verdict;
