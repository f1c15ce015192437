//! Where and how something was measured over trees.

use std::collections::BTreeMap;
use std::io::{self, Write};

use collbench_formats::tree::{WrapperKind, Wrappers};
use collbench_instrument::name_of_clock;
use collbench_text::quantity;
use serde::Serialize;

use super::run::Run;
use crate::machine::Machine;
use crate::overhead::{first_line, settings, write_machine};

/// Where and how something was measured.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Surroundings {
    command: Vec<String>,
    collbench: &'static str,
    machine: Machine,
    mpi_library: Option<String>,
    /// Settings of Open MPI made by the user.
    environment: BTreeMap<String, String>,
    clock: &'static str,
    pub(crate) processes: u32,
    pub(crate) threads: u32,
    pub(crate) hosts: Vec<String>,
    /// Whether some host has more leaves than cores.
    share_cores: bool,
    /// Whether rounds count in which a leaf was preempted.
    pub(crate) all_rounds_count: bool,
    /// Whether the measurement itself was recorded.
    is_recorded: bool,
    #[serde(skip)]
    pub(crate) names: Vec<String>,
    /// By configuration; `None`: the library.
    #[serde(skip)]
    pub(crate) trees: Vec<Option<TreeFigures>>,
}

/// Properties of a tree.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TreeFigures {
    /// Greatest number of joins on the path of a leaf.
    pub(crate) height: u32,
    /// Proxies: paths that cross hosts.
    pub(crate) proxies: usize,
    /// Event collectors that are on.
    pub(crate) collectors: usize,
}

impl Surroundings {
    pub(crate) fn of(run: &Run) -> Self {
        let settings_of_run = run.settings;
        Self {
            command: std::env::args().collect(),
            collbench: env!("CARGO_PKG_VERSION"),
            machine: Machine::here(),
            mpi_library: mpi::environment::library_version()
                .ok()
                .map(|version| first_line(&version)),
            environment: settings(),
            clock: name_of_clock(run.clock.source()),
            processes: settings_of_run.n_processes,
            threads: settings_of_run.n_threads,
            hosts: run.hosts.names.clone(),
            share_cores: settings_of_run.share_cores,
            all_rounds_count: settings_of_run.all_rounds_count,
            is_recorded: settings_of_run.is_recorded,
            names: run
                .configurations
                .iter()
                .map(|(name, _)| name.clone())
                .collect(),
            trees: run
                .configurations
                .iter()
                .map(|(_, tree)| tree.as_ref().map(TreeFigures::of))
                .collect(),
        }
    }

    /// Of one thread of each of four processes on two hosts, which measured these configurations on
    /// the library.
    #[cfg(test)]
    pub(crate) fn made_up(names: &[&str]) -> Self {
        Self {
            command: vec!["collbench-bench".to_owned()],
            collbench: "0.0.0",
            machine: Machine::default(),
            mpi_library: None,
            environment: BTreeMap::new(),
            clock: "raw",
            processes: 4,
            threads: 1,
            hosts: vec!["a".to_owned(), "b".to_owned()],
            share_cores: false,
            all_rounds_count: false,
            is_recorded: false,
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            trees: vec![None; names.len()],
        }
    }

    /// `4 processes with 2 threads each, on 2 hosts`.
    pub(crate) fn in_words(&self) -> String {
        let processes = match self.processes {
            1 => "1 process".to_owned(),
            n => format!("{n} processes"),
        };
        let threads = match self.threads {
            1 => String::new(),
            n => format!(" with {n} threads each"),
        };
        let hosts = quantity::counted(self.hosts.len(), "host");
        format!("{processes}{threads} on {hosts}")
    }

    /// Writes all but what was measured.
    pub(crate) fn write(&self, output: &mut impl Write) -> io::Result<()> {
        let library = self.mpi_library.as_deref().unwrap_or("unknown");
        write_machine(&self.machine, library, &self.environment, output)?;
        writeln!(output, "  clock    {}", self.clock)?;
        writeln!(output, "  command  {}", self.command.join(" "))?;
        if self.share_cores {
            writeln!(
                output,
                "  Leaves share cores: times include waiting for a core, and all rounds count."
            )?;
        }
        if self.is_recorded {
            writeln!(
                output,
                "  This run is recorded, which is part of the times."
            )?;
        }
        writeln!(output)
    }
}

impl TreeFigures {
    fn of(tree: &Wrappers) -> Self {
        let of_kind = |kind| {
            tree.all()
                .iter()
                .filter(|wrapper| wrapper.kind == kind)
                .count()
        };
        let collectors = (0..).zip(tree.all()).map(|(idx, wrapper)| {
            let contributors = wrapper.contributors.iter();
            contributors.filter(|of| tree.collects(**of, idx)).count()
        });
        Self {
            height: tree.height(),
            proxies: of_kind(WrapperKind::Proxy),
            collectors: collectors.sum(),
        }
    }
}
