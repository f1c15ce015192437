//! The hosts of a run, without its calls.

use collbench_clocks::AlignmentMethod;
use collbench_trees::sites::Sites;

use crate::time::clocks::Clocks;
use crate::trace::error::RunError;
use crate::trace::files::RunFiles;
use crate::trace::run::Run;

/// On which host each rank of a run was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunHosts {
    /// Names, by the lowest rank on each.
    pub names: Vec<String>,
    /// By world rank the index of its host; `None` for a rank without a file that can be read.
    pub of_rank: Vec<Option<usize>>,
    /// By host the number of its site, from 0, by the round trips that were measured at the begin
    /// and the end of the run; `None` where these do not divide the hosts.
    pub sites: Option<Vec<usize>>,
    /// Whether no two hosts are assumed to be in one site only since they are equally far from others.
    pub are_sites_sure: bool,
}

impl RunHosts {
    /// The hosts of a trace, from the headers of its files and the exchanges between hosts.
    ///
    /// # Errors
    /// [`RunError`] if it cannot be read.
    pub fn of(files: &RunFiles) -> Result<Self, RunError> {
        files.while_whole(&mut |files| {
            let run = Run::read(files)?;
            let (clocks, _) = Clocks::begin(&run, AlignmentMethod::Offset);
            let mut of_rank = vec![None; run.world_size as usize];
            for (process, clock) in run.processes.iter().zip(&clocks.processes) {
                if let Some(host) = of_rank.get_mut(process.rank() as usize) {
                    *host = Some(clock.host);
                }
            }
            let sites = Sites::find(clocks.hosts.len(), &clocks.round_trips_ns);
            Ok(Self {
                names: clocks.hosts.into_iter().map(|host| host.name).collect(),
                of_rank,
                are_sites_sure: sites.as_ref().is_some_and(|sites| sites.is_sure),
                sites: sites.map(|sites| sites.of_host),
            })
        })
    }
}
