//! From the figures of instances to sums.

pub(crate) mod behaviour;
pub(crate) mod column_buffer;
pub(crate) mod columns;
pub(crate) mod context;
pub(crate) mod counts;
pub(crate) mod graphs;
pub(crate) mod instances;
pub(crate) mod irregular;
pub(crate) mod lags_and_waits;
pub(crate) mod late_arrivals;
pub(crate) mod lateness;
pub(crate) mod members;
pub(crate) mod mismatch;
pub(crate) mod never_completed;
pub(crate) mod operation;
pub(crate) mod orders;
pub(crate) mod process;
pub(crate) mod run_sums;
pub(crate) mod sections;
pub(crate) mod send_times;
pub(crate) mod serialization;
pub(crate) mod shown_at;
pub(crate) mod sites;
pub(crate) mod tally;
pub(crate) mod timeline;
pub(crate) mod unfinished;
