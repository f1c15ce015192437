//! From an instance to its figures.

pub(crate) mod algorithm_finder;
pub(crate) mod critical_path;
pub(crate) mod critical_tally;
pub(crate) mod held_up;
pub(crate) mod inside;
pub(crate) mod order;
pub(crate) mod outside;
pub(crate) mod passes;
pub(crate) mod progress_times;
pub(crate) mod shapes;
