//! What the exchanges know at the start.

use std::path::Path;

use collbench_formats::HostIdentity;

use super::ping::TickLength;
use crate::settings::ExchangeSettings;

/// A process that starts to record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start<'a> {
    pub(crate) directory: &'a Path,
    pub(crate) settings: ExchangeSettings,
    pub(crate) world: u64,
    pub(crate) rank: u32,
    pub(crate) world_size: u32,
    pub(crate) host: &'a HostIdentity,
    pub(crate) tick: TickLength,
    /// Whether the launcher says that all processes are on this host.
    pub(crate) launcher_says_one_host: bool,
}
