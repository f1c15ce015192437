//! The options that say which configurations are measured.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use collbench_paths::{Idle, WaitPolicy};
use collbench_tree_files::TreeFile;

/// Which configurations are measured, and how their processes wait.
#[derive(Debug, Clone, Args)]
pub(crate) struct TreeOptions {
    /// Measure the tree of this tree file; may be given several times
    #[arg(long = "trees", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Tree files that are not read, with their names.
    #[arg(skip)]
    pub(crate) candidates: Vec<(String, TreeFile)>,
    /// Measure the operations of the MPI library [default: without --trees]
    #[arg(long)]
    pub(crate) library: bool,
    /// Threads of each process; each is a leaf of the tree
    #[arg(long, value_name = "T", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) threads: u32,
    /// Measure each configuration twice, to see how much two equal ones differ
    #[arg(long)]
    pub(crate) control: bool,
    /// Measure each tree with all of its event collectors on, and with all off
    #[arg(long)]
    pub(crate) collectors_cost: bool,
    /// Count rounds in which a leaf was preempted, too
    #[arg(long)]
    pub(crate) all_rounds: bool,
    /// How processes wait in trees [default: spin if each leaf has a core, else yield]
    #[arg(long, value_enum, value_name = "HOW")]
    wait: Option<Waiting>,
}

/// What a process does while it waits in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Waiting {
    /// Keeps its core
    Spin,
    /// Offers its core to others
    Yield,
    /// Sleeps for some microseconds at a time
    Sleep,
}

impl TreeOptions {
    /// How to wait, with so many leaves on a host of so many cores.
    pub(crate) fn policy(&self, n_leaves: usize, n_cores: usize) -> WaitPolicy {
        match self.wait {
            None => WaitPolicy::for_cores(n_leaves, n_cores),
            Some(Waiting::Spin) => WaitPolicy::new(Idle::Spin),
            Some(Waiting::Yield) => WaitPolicy::new(Idle::Yield),
            Some(Waiting::Sleep) => WaitPolicy::new(Idle::Sleep),
        }
    }
}
