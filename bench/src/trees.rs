//! Collective operations over spanning trees of our own in measurements, beside those of the MPI
//! library: which configurations are measured, and how a process or each of its threads executes
//! operations in them.

mod options;

mod hosts;

mod leaves;

mod configuration;

mod recorder;

mod library;

mod operation;

mod leaf;

mod run;

mod rounds;

mod surroundings;

mod comparisons;

mod pictures;

pub(crate) use comparisons::{ComparisonFigures, comparisons, median_in_words};
pub(crate) use configuration::Call;
#[cfg(test)]
pub(crate) use configuration::{Against, Comparison};
pub(crate) use hosts::Hosts;
pub(crate) use leaf::Leaf;
pub(crate) use library::engine_world;
pub(crate) use operation::{Operate, Values};
pub(crate) use options::TreeOptions;
pub(crate) use pictures::rounds_picture;
pub(crate) use rounds::{left_out, random_order, rounds_that_count, with_wrong_results};
pub(crate) use run::{First, Run};
pub(crate) use surroundings::{Surroundings, TreeFigures};
