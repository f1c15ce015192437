//! The host of this process: its clocks, its names, and who has started the process there.

#[allow(unsafe_code)]
mod clock;
mod launcher;

pub use clock::{Clock, measure_clock};
pub use launcher::LauncherRank;
pub(crate) use launcher::{all_on_this_host, hydra_job, launched_processes};
