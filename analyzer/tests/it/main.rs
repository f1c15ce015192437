//! What the analyzer makes of traces that are put together record by record, or generated.

mod alignment;
mod built;
mod call_sites;
mod cut;
mod finalize;
mod gaps;
mod innocence;
mod invariance;
mod matching;
mod metrics;
mod opened;
mod operation_costs;
mod own_time;
mod partition;
mod refused;
mod rhythms;
mod run_shorter;
mod seeds;
mod shared_cores;
mod shown_instances;
mod stamps;
mod stopped;
mod threads;
mod uneven_clocks;
mod verdicts;
