//! What is measured, in which order, over any job.

mod bulk;
mod checks;
mod pairs;
mod progress;
mod sampler;
mod signature;

pub(super) use bulk::{COSTS_OF_SIZE, bulk_sizes};
pub(super) use checks::{checked, not_checked};
pub(super) use progress::Progress;
pub(super) use sampler::Sampler;
pub(super) use signature::Subject;
