//! Results to sentences, for the screen, the page and pictures.

pub(crate) mod adaptations;
pub(crate) mod advice;
pub(crate) mod algorithms;
pub(crate) mod arrivals;
pub(crate) mod call_sites;
pub(crate) mod causes;
pub(crate) mod changes;
mod communicators;
pub(crate) mod comparison;
pub(crate) mod difference;
pub(crate) mod efficiencies;
pub(crate) mod export;
mod facts;
pub(crate) mod faster;
pub(crate) mod findings;
pub(crate) mod hang;
mod host_links;
pub(crate) mod inside;
#[cfg(test)]
pub(crate) mod nothing;
pub(crate) mod operation_costs;
pub(crate) mod other_calls;
pub(crate) mod overlap;
pub(crate) mod own_trees;
mod part_of_run;
pub(crate) mod remarks;
pub(crate) mod sides;
pub(crate) mod slow_operation;
#[cfg(test)]
pub(crate) mod test_differences;
pub(crate) mod tree_differences;
pub(crate) mod uncertainty;
pub(crate) mod why_late;

pub(crate) use communicators::*;
pub(crate) use facts::*;
