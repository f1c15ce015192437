//! What the analyzer makes of traces that are put together record by record, or generated.

mod alignment;
mod built;
mod cut;
mod gaps;
mod invariance;
mod matching;
mod metrics;
mod opened;
mod operation_costs;
mod partition;
mod refused;
mod seeds;
mod stamps;
mod uneven_clocks;
mod verdicts;
