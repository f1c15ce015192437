//! What is measured, in which order, over any job.

mod bulk;
mod checks;
mod pairs;
mod sampler;
mod signature;

pub(super) use checks::not_checked;
pub(super) use sampler::Sampler;
pub(super) use signature::Subject;
