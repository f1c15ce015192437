//! Ranks and where they run.

use collbench_analyzer::RunHosts;
use collbench_formats::tree::{HostTopology, Place, TreeRules};
use collbench_text::inert;
use collbench_trees::wrappers::{Members, group_hosts, host_fits, place_on};

/// Most ranks that trees are made for.
pub(super) const MAX_RANKS: u64 = 1 << 20;

/// The ranks of a communicator, and where each of them runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranks {
    /// Names of the hosts, by their number in `places`.
    pub hosts: Vec<String>,
    /// The place of each rank; at least one.
    pub places: Vec<Place>,
}

/// Why there are no ranks to make trees for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RanksError {
    /// A part of the list of hosts is not a name with a number of ranks.
    #[error("\"{}\" in --hosts; expected a name and a number of ranks, such as node1:4", inert::line(.0, 60))]
    Part(String),
    /// There are too many.
    #[error("{0} ranks; expected at most {MAX_RANKS}")]
    TooMany(u64),
    /// A rank of the trace has no file that can be read.
    #[error(
        "the trace has no readable file of rank {0}, so that its host is not known; give the hosts with --hosts"
    )]
    Unknown(u32),
}

impl Ranks {
    /// The ranks of a list such as `a:4,b:4`, in its order. A host that is listed several times is
    /// one host.
    ///
    /// # Errors
    /// [`RanksError::Part`] and [`RanksError::TooMany`].
    pub fn of_list(list: &str) -> Result<Self, RanksError> {
        let mut ranks = Self {
            hosts: Vec::new(),
            places: Vec::new(),
        };
        let mut n_ranks = 0;
        for part in list.split(',') {
            let wrong = || RanksError::Part(part.to_owned());
            let (name, n) = part.trim().rsplit_once(':').ok_or_else(wrong)?;
            let n: u64 = n.parse().ok().filter(|&n| n > 0).ok_or_else(wrong)?;
            if name.is_empty() {
                return Err(wrong());
            }
            n_ranks += n.min(MAX_RANKS + 1);
            if n_ranks > MAX_RANKS {
                return Err(RanksError::TooMany(n_ranks));
            }
            let known = ranks.hosts.iter().position(|host| host == name);
            let host = known.unwrap_or_else(|| {
                ranks.hosts.push(name.to_owned());
                ranks.hosts.len() - 1
            });
            let place = Place {
                host: host as u32,
                ..Place::default()
            };
            ranks.places.extend((0..n).map(|_| place));
        }
        Ok(ranks)
    }

    /// The ranks of a recorded run, at the sites that its round trips show.
    ///
    /// # Errors
    /// [`RanksError::Unknown`] and [`RanksError::TooMany`].
    pub fn of_run(run: &RunHosts) -> Result<Self, RanksError> {
        if run.of_rank.len() as u64 > MAX_RANKS {
            return Err(RanksError::TooMany(run.of_rank.len() as u64));
        }
        let mut places = Vec::with_capacity(run.of_rank.len());
        for (rank, host) in (0..).zip(&run.of_rank) {
            let host = host.ok_or(RanksError::Unknown(rank))?;
            places.push(Place {
                host: host as u32,
                site: run.sites.as_ref().map(|sites| sites[host] as u32),
                ..Place::default()
            });
        }
        Ok(Self {
            hosts: run.names.clone(),
            places,
        })
    }

    /// Puts ranks at the sites, switches, sockets and core complexes that a tree file describes.
    /// Ranks of a described host are assumed to be bound to its cores in their order.
    pub fn describe(&mut self, rules: &TreeRules) {
        group_hosts(rules, &self.hosts, &mut self.places);
        let mut n_before = vec![0; self.hosts.len()];
        for place in &mut self.places {
            let (host, nth) = (
                &self.hosts[place.host as usize],
                &mut n_before[place.host as usize],
            );
            let is_described = |names: &[String]| names.iter().any(|name| host_fits(name, host));
            if let Some(described) = rules.hosts.iter().find(|of| is_described(&of.hosts)) {
                let cpus = core_cpus(&described.topology, *nth);
                (place.core_complex, place.socket) = place_on(&described.topology, &cpus);
            }
            *nth += 1;
        }
    }

    /// The ranks, for making trees.
    #[must_use]
    pub fn members(&self) -> Members<'_> {
        Members {
            hosts: &self.hosts,
            places: &self.places,
        }
    }

    /// Number of ranks.
    #[must_use]
    pub fn n(&self) -> u32 {
        self.places.len() as u32
    }

    /// As an option of the command: `--hosts a:4,b:4`.
    #[must_use]
    pub fn as_option(&self) -> String {
        let runs = self.places.chunk_by(|a, b| a.host == b.host);
        let part = |run: &[Place]| format!("{}:{}", self.hosts[run[0].host as usize], run.len());
        let parts: Vec<String> = runs.map(part).collect();
        format!("--hosts {}", parts.join(","))
    }

    /// The site of each host, by number; `None` where no host has one.
    #[must_use]
    pub fn sites(&self) -> Option<Vec<u32>> {
        let mut sites = vec![None; self.hosts.len()];
        for place in &self.places {
            sites[place.host as usize] = place.site;
        }
        sites.into_iter().collect()
    }
}

/// The processors of the nth core of a host, from 0, beginning again after the last one.
fn core_cpus(topology: &HostTopology, nth: usize) -> Vec<u32> {
    let mut cores: Vec<(u32, u32, u32)> = topology
        .cpus
        .iter()
        .map(|cpu| (cpu.socket, cpu.core_complex, cpu.core))
        .collect();
    cores.sort_unstable();
    cores.dedup();
    let Some(&(.., core)) = cores.get(nth % cores.len().max(1)) else {
        return Vec::new();
    };
    let cpus = topology.cpus.iter().filter(|cpu| cpu.core == core);
    cpus.map(|cpu| cpu.number).collect()
}
