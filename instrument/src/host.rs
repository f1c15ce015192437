//! The host of this process: its clocks, its names, and the launcher that started the process
//! there.

#[allow(unsafe_code)]
mod clock;
#[allow(unsafe_code)]
mod cores;
#[allow(unsafe_code)]
mod identity;
mod launcher;
mod mix;

pub use clock::{Clock, measure_clock};
pub(crate) use cores::Cores;
pub use identity::{HostKey, boot_id, host_identity, host_key, host_name};
pub use launcher::{LauncherRank, is_launcher, launched_job};
pub(crate) use launcher::{all_on_this_host, launched_processes};
pub(crate) use mix::mix;
