//! Pictures and pages, as snapshots.

mod clock_courses;
mod comparison;
mod curves;
mod durations;
mod examples;
mod heat_maps;
mod imbalance;
mod report;
mod serialization;
mod timemap;
mod tree;
