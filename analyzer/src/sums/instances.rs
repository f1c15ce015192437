//! Single instances: the longest, the costliest, and what is kept of them.

pub(crate) mod instance_times;
pub(crate) mod operation_key;
pub(crate) mod outliers;
pub(crate) mod shown_instances;
