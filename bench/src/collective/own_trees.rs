//! Trees of tree files, over which operations are measured beside the MPI library's algorithms.

use std::path::PathBuf;

use anyhow::{Context, bail};
use collbench_formats::tree::{Collective, Wrappers};
use collbench_paths::{MpiTransport, MpiWorld, Team, TeamOptions, WaitPolicy, n_tags};
use collbench_text::inert;
use collbench_tree_files::TreeFile;
use collbench_trees::wrappers::{Members as OnHosts, Order, tree_for};

use super::algorithms::{Algorithm, By};
use super::operation::Operation;
use super::plan::{Lengths, Plan, Series};
use crate::trees::{Hosts, engine_world};

/// The tree files, in process 0.
pub(super) struct TreeFiles {
    files: Vec<(String, TreeFile)>,
    hosts: Hosts,
}

impl TreeFiles {
    /// Reads the files for a job on these hosts.
    ///
    /// # Errors
    /// What is wrong with them, with its place.
    pub(super) fn read(paths: &[PathBuf], hosts: &Hosts) -> anyhow::Result<Self> {
        let mut files = Vec::new();
        for path in paths {
            let name = inert::path(path);
            let file = TreeFile::read(path)?;
            let problems = file.unknown_hosts(&hosts.names).into_iter();
            let problems: Vec<String> = problems
                .map(|problem| format!("{name}:{problem}"))
                .collect();
            if !problems.is_empty() {
                bail!("{}", problems.join("\n"));
            }
            for remark in &file.remarks {
                eprintln!("collbench-bench: {name}:{remark}");
            }
            files.push((name, file));
        }
        Ok(Self {
            files,
            hosts: hosts.clone(),
        })
    }

    /// Adds to a plan, beside each series of the library's own choice that a file has trees for, one
    /// over these trees.
    ///
    /// # Errors
    /// Names a file of which no tree fits anything in the plan.
    pub(super) fn add_to(&self, plan: &mut Plan) -> anyhow::Result<()> {
        let own_choice = plan.series.iter().filter(|one| one.algorithm.is_none());
        let own_choice: Vec<Series> = own_choice.cloned().collect();
        for (idx, (name, _)) in self.files.iter().enumerate() {
            let over_trees = own_choice.iter().map(|series| Series {
                algorithm: Some(Algorithm {
                    name: format!("trees of {name}"),
                    by: By::TreeFile(idx),
                }),
                ..series.clone()
            });
            let fitting: Vec<Series> = over_trees.filter(|one| self.fits_any(one, plan)).collect();
            if fitting.is_empty() {
                bail!(
                    "--trees {name}: no tree fits any of these operations, lengths and numbers of \
                     processes; collbench-tree shows what its trees are for"
                );
            }
            plan.series.extend(fitting);
        }
        Ok(())
    }

    /// Whether a tree fits any length with which the series begins.
    fn fits_any(&self, series: &Series, plan: &Plan) -> bool {
        let lengths: Vec<u64> = match &series.lengths {
            Lengths::List(list) => list.clone(),
            Lengths::Range(from, to) => {
                let factor = plan.method.refinement.factor;
                crate::measure::refinement::geometric(*from, *to, factor).collect()
            }
        };
        lengths
            .into_iter()
            .any(|bytes| self.tree(series, bytes).is_some())
    }

    /// The tree for a series with this length; `None` if it is not over trees, or if none fits.
    pub(super) fn tree(&self, series: &Series, bytes: u64) -> Option<Wrappers> {
        let By::TreeFile(idx) = series.algorithm.as_ref()?.by else {
            return None;
        };
        let (_, file) = self.files.get(idx)?;
        let Operation::Blocking(_) = Operation::of_name(&series.operation)? else {
            return None;
        };
        let is_named = |one: &Collective| one.operation().name() == series.operation;
        let collective = Collective::ALL.into_iter().find(is_named)?;
        let places = self.hosts.places(&file.rules);
        let places: Vec<_> = super::members::Members::of(series)
            .ranks()
            .into_iter()
            .map(|rank| places[rank])
            .collect();
        let members: OnHosts<'_> = self.hosts.members(&places);
        // What is combined does not depend on the order.
        let call = (collective, series.root.map(|root| root as u32));
        let (_, tree) = tree_for(&file.rules, call, bytes, Order::Any, members)?;
        Some(tree)
    }
}

/// What a process needs to execute operations over trees.
pub(super) struct TreeEngine {
    world: MpiWorld,
    hosts: Hosts,
    me: u32,
    /// Of the messages of the next tree.
    next_tag: u32,
}

/// Tags of trees begin again before this one, which every library has.
const TAGS: u32 = 16_384;

impl TreeEngine {
    /// For process `me`. All processes call it together.
    ///
    /// # Errors
    /// What the library lacks.
    pub(super) fn begin(hosts: Hosts, me: u32) -> anyhow::Result<Self> {
        Ok(Self {
            world: engine_world()?,
            hosts,
            me,
            next_tag: 0,
        })
    }

    /// Makes the processes of these ranks ready for operations over a tree; `None` in others. All
    /// processes call it together.
    ///
    /// # Errors
    /// Why they have no memory in common.
    pub(super) fn team(
        &mut self,
        ranks: &[usize],
        tree: &Wrappers,
    ) -> anyhow::Result<Option<Team<MpiTransport>>> {
        let n_tags = n_tags(tree);
        let first_tag = if self.next_tag + n_tags > TAGS {
            0
        } else {
            self.next_tag
        };
        self.next_tag = first_tag + n_tags;
        let Some(me) = ranks.iter().position(|rank| *rank == self.me as usize) else {
            return Ok(None);
        };
        let hosts: Vec<u32> = ranks
            .iter()
            .map(|rank| self.hosts.of_process[*rank])
            .collect();
        let n_here = hosts.iter().filter(|host| **host == hosts[me]).count();
        let (_, n_cores) = self.hosts.leaves_and_cores(self.me as usize, 1);
        let options = TeamOptions {
            first_tag,
            ..TeamOptions::new(WaitPolicy::for_cores(n_here, n_cores))
                .for_processes(hosts.len() as u32)
        };
        let ranks = ranks.iter().map(|rank| *rank as u32).collect();
        // No event collector looks at the clock.
        let transport = MpiTransport::new(self.world, ranks, &hosts, me as u32, || 0);
        let team = Team::new(transport, tree, options);
        team.map(Some).context("the memory of a tree")
    }

    /// Frees its communicator. All processes call it together, without any team.
    ///
    /// # Errors
    /// Which function of the library has failed.
    pub(super) fn end(self) -> anyhow::Result<()> {
        self.world.free().context("the communicator of the trees")
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::collective::plan::Method;

    fn files(texts: &[&str]) -> TreeFiles {
        let file = |text: &&str| TreeFile::parse(text, Path::new("")).unwrap();
        let files = texts.iter().map(file).enumerate();
        TreeFiles {
            files: files.map(|(i, file)| (format!("{i}.toml"), file)).collect(),
            hosts: Hosts::named(&["a", "a", "b", "b"]),
        }
    }

    fn plan(series: Vec<Series>) -> Plan {
        Plan {
            method: Method::default(),
            series,
        }
    }

    const SMALL: &str =
        "[[tree]]\noperations = \"bcast\"\nbytes = \"0-64\"\nshape = \"binomial\"\n";
    const LINEAR: &str = "[[tree]]\noperations = \"bcast\"\nshape = \"linear\"\n";

    #[test]
    fn trees_are_candidates_where_one_fits() {
        let files = files(&[SMALL, LINEAR]);
        let mut plan = plan(vec![
            Series::example("MPI_Bcast", Lengths::Range(8, 1024), 4),
            Series::example("MPI_Bcast", Lengths::List(vec![128]), 2),
            Series::example("MPI_Ibcast", Lengths::List(vec![8]), 4),
            Series::example("MPI_Scan", Lengths::List(vec![8]), 4),
        ]);
        files.add_to(&mut plan).unwrap();
        let added: Vec<_> = plan.series[4..]
            .iter()
            .map(|one| (one.algorithm.as_ref().unwrap().name.as_str(), one.processes))
            .collect();
        let expected = [
            ("trees of 0.toml", 4),
            ("trees of 1.toml", 4),
            ("trees of 1.toml", 2),
        ];
        assert_eq!(added, expected);
        // They are measured in turns with the library's own choice.
        assert_eq!(plan.groups()[0], [0, 4, 5]);
        let small = &plan.series[4];
        assert_eq!(files.tree(small, 64).unwrap().n_ranks(), 4);
        assert!(files.tree(small, 65).is_none());
        assert!(files.tree(&plan.series[0], 8).is_none());
    }

    #[test]
    fn a_file_of_which_nothing_fits_is_refused() {
        let mut plan = plan(vec![Series::example(
            "MPI_Bcast",
            Lengths::List(vec![128]),
            4,
        )]);
        let said = files(&[SMALL]).add_to(&mut plan).unwrap_err().to_string();
        assert!(said.starts_with("--trees 0.toml: no tree fits"), "{said}");
    }
}
