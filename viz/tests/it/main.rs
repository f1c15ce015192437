//! Pictures and pages, as snapshots.

mod clock_courses;
mod comparison;
mod curves;
mod durations;
mod examples;
mod heat_maps;
mod imbalance;
mod instance_timeline;
mod intervals;
mod ratios;
mod report;
mod serialization;
mod stacked_bars;
mod timemap;
mod tree;
