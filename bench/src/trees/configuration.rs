//! The configurations of a measurement, and which of them are compared.

use std::path::Path;

use anyhow::{Context, bail};
use collbench_formats::tree::{Collective, Collectors, Wrappers};
use collbench_text::{inert, quantity};
use collbench_tree_files::TreeFile;
use collbench_trees::wrappers::{Order, tree_for};

use super::hosts::Hosts;
use super::leaves;
use super::options::TreeOptions;

/// What executes the operations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Configuration {
    /// Differs from that of all other configurations.
    pub(crate) name: String,
    /// The tree of all leaves; `None`: the MPI library.
    pub(crate) tree: Option<Tree>,
}

/// A tree of a tree file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tree {
    /// Line of the file where its rule begins, from 1.
    pub(crate) line: u32,
    /// Its ranks are leaves.
    pub(crate) wrappers: Wrappers,
}

/// Two configurations that are compared, by index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Comparison {
    pub(crate) of: usize,
    pub(crate) with: usize,
    pub(crate) against: Against,
}

/// Why two configurations are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Against {
    /// The other one is the first of all.
    First,
    /// They are the same.
    Control,
    /// The other one has all event collectors off, and this one all on.
    CollectorsOff,
}

/// The call that trees are made for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    pub(crate) collective: Collective,
    /// Bytes of one process.
    pub(crate) bytes: u64,
}

impl Call {
    /// The leaf, and the process, that is the root.
    const ROOT: u32 = 0;

    fn root(self) -> Option<u32> {
        self.collective.has_root().then_some(Self::ROOT)
    }
}

/// All configurations of a measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Configurations {
    pub(super) all: Vec<Configuration>,
    pub(super) comparisons: Vec<Comparison>,
    pub(super) remarks: Vec<String>,
}

/// Reads the tree files of the options, each with its name.
///
/// # Errors
/// Everything that is wrong with them, with its place.
pub(super) fn read(options: &TreeOptions) -> anyhow::Result<Vec<(String, TreeFile)>> {
    let read = |path: &std::path::PathBuf| Ok((name_of(path), TreeFile::read(path)?));
    let known = options.candidates.iter().cloned().map(Ok);
    options.files.iter().map(read).chain(known).collect()
}

fn name_of(path: &Path) -> String {
    inert::path(path)
}

impl Configurations {
    /// The configurations for a call on all processes of a job.
    ///
    /// # Errors
    /// Hosts in a tree file that are not there, each with its place.
    pub(super) fn of(
        options: &TreeOptions,
        files: &[(String, TreeFile)],
        call: Call,
        hosts: &Hosts,
    ) -> anyhow::Result<Self> {
        check_hosts(files, hosts)?;
        let mut configurations = Self {
            all: Vec::new(),
            comparisons: Vec::new(),
            remarks: Vec::new(),
        };
        if options.library || files.is_empty() {
            configurations.push("library", None);
        }
        for (name, file) in files {
            let remarks = file.remarks.iter();
            let remarks = remarks.map(|remark| format!("{name}:{remark}"));
            configurations.remarks.extend(remarks);
            let tree = tree_of(file, options.threads, call, hosts)?;
            if tree.is_none() {
                configurations.remarks.push(format!(
                    "{name}: no tree fits {} of {} on {}; the calls go to the MPI library",
                    call.collective.operation().name(),
                    quantity::counted_grouped(call.bytes, "byte"),
                    quantity::counted(hosts.of_process.len(), "rank"),
                ));
            }
            configurations.add(options, name, tree);
        }
        configurations.compare_with_first();
        if options.control {
            configurations.repeat_all();
        }
        Ok(configurations)
    }

    fn add(&mut self, options: &TreeOptions, name: &str, tree: Option<Tree>) {
        let tree = match tree {
            Some(tree) if options.collectors_cost => tree,
            tree => {
                self.push(name, tree);
                return;
            }
        };
        let with = |collectors| {
            Some(Tree {
                wrappers: leaves::with_collectors(&tree.wrappers, collectors),
                ..tree
            })
        };
        let off = self.push(&format!("{name}, collectors off"), with(Collectors::NONE));
        let on = self.push(&format!("{name}, collectors on"), with(Collectors::ALL));
        self.comparisons.push(Comparison {
            of: on,
            with: off,
            against: Against::CollectorsOff,
        });
    }

    /// Adds a configuration under a name that no other one has. Returns its index.
    fn push(&mut self, name: &str, tree: Option<Tree>) -> usize {
        let is_taken = |name: &str| self.all.iter().any(|other| other.name == name);
        let names = (2..).map(|nth| format!("{name} ({nth})"));
        let mut names = std::iter::once(name.to_owned()).chain(names);
        let name = names.find(|name| !is_taken(name));
        self.all.push(Configuration {
            name: name.unwrap_or_default(),
            tree,
        });
        self.all.len() - 1
    }

    fn compare_with_first(&mut self) {
        for of in 1..self.all.len() {
            let is_compared = |with: usize| {
                let mut all = self.comparisons.iter();
                all.any(|other| (other.of, other.with) == (of, with))
            };
            if !is_compared(0) {
                self.comparisons.push(Comparison {
                    of,
                    with: 0,
                    against: Against::First,
                });
            }
        }
    }

    fn repeat_all(&mut self) {
        for with in 0..self.all.len() {
            let Configuration { name, tree } = self.all[with].clone();
            let of = self.push(&format!("{name}, again"), tree);
            self.comparisons.push(Comparison {
                of,
                with,
                against: Against::Control,
            });
        }
    }
}

/// All hosts that tree files name must be there.
fn check_hosts(files: &[(String, TreeFile)], hosts: &Hosts) -> anyhow::Result<()> {
    let unknown = files.iter().flat_map(|(name, file)| {
        let problems = file.unknown_hosts(&hosts.names).into_iter();
        problems.map(move |problem| format!("{name}:{problem}"))
    });
    let unknown: Vec<String> = unknown.collect();
    if !unknown.is_empty() {
        bail!("{}", unknown.join("\n"));
    }
    Ok(())
}

/// The tree of a file for a call; `None` if none fits.
fn tree_of(
    file: &TreeFile,
    n_threads: u32,
    call: Call,
    hosts: &Hosts,
) -> anyhow::Result<Option<Tree>> {
    let places = hosts.places(&file.rules);
    let found = tree_for(
        &file.rules,
        (call.collective, call.root()),
        call.bytes,
        Order::Any,
        hosts.members(&places),
    );
    let Some((rule, of_processes)) = found else {
        return Ok(None);
    };
    Ok(Some(Tree {
        line: file.rules.rules[rule].line,
        wrappers: leaves::of_threads(&of_processes, n_threads).context("too many threads")?,
    }))
}

#[cfg(test)]
mod tests {
    use clap::{Args, FromArgMatches};

    use super::*;

    const ALLREDUCE: Call = Call {
        collective: Collective::Allreduce,
        bytes: 8,
    };

    fn options(arguments: &[&str]) -> TreeOptions {
        let command = TreeOptions::augment_args(clap::Command::new("test").no_binary_name(true));
        TreeOptions::from_arg_matches(&command.get_matches_from(arguments)).unwrap()
    }

    fn file(text: &str) -> TreeFile {
        TreeFile::parse(text, Path::new("")).unwrap()
    }

    fn binomial() -> (String, TreeFile) {
        let text = "[[tree]]\noperations = \"allreduce\"\nshape = \"binomial\"\n";
        ("b.toml".to_owned(), file(text))
    }

    fn names(configurations: &Configurations) -> Vec<&str> {
        let all = configurations.all.iter();
        all.map(|configuration| configuration.name.as_str())
            .collect()
    }

    fn of(arguments: &[&str], files: &[(String, TreeFile)]) -> anyhow::Result<Configurations> {
        let hosts = Hosts::named(&["a", "a", "b", "b"]);
        Configurations::of(&options(arguments), files, ALLREDUCE, &hosts)
    }

    #[test]
    fn without_tree_files_the_library_is_measured() {
        let found = of(&[], &[]).unwrap();
        assert_eq!(names(&found), ["library"]);
        assert_eq!(found.all[0].tree, None);
        assert_eq!(found.comparisons, []);
        let found = of(&[], &[binomial()]).unwrap();
        assert_eq!(names(&found), ["b.toml"]);
    }

    #[test]
    fn trees_have_a_leaf_for_each_thread() {
        let found = of(&["--library", "--threads", "3"], &[binomial()]).unwrap();
        assert_eq!(names(&found), ["library", "b.toml"]);
        let tree = found.all[1].tree.as_ref().unwrap();
        assert_eq!((tree.line, tree.wrappers.n_ranks()), (1, 12));
        let first = Comparison {
            of: 1,
            with: 0,
            against: Against::First,
        };
        assert_eq!(found.comparisons, [first]);
        assert_eq!(found.remarks, [] as [&str; 0]);
    }

    #[test]
    fn the_same_file_may_be_given_twice() {
        let found = of(&[], &[binomial(), binomial()]).unwrap();
        assert_eq!(names(&found), ["b.toml", "b.toml (2)"]);
    }

    #[test]
    fn collectors_are_measured_on_and_off_and_everything_again_as_a_control() {
        let found = of(&["--collectors-cost", "--control"], &[binomial()]).unwrap();
        assert_eq!(
            names(&found),
            [
                "b.toml, collectors off",
                "b.toml, collectors on",
                "b.toml, collectors off, again",
                "b.toml, collectors on, again",
            ]
        );
        let against = found.comparisons.iter();
        let against: Vec<_> = against
            .map(|comparison| (comparison.of, comparison.with, comparison.against))
            .collect();
        assert_eq!(
            against,
            [
                (1, 0, Against::CollectorsOff),
                (2, 0, Against::Control),
                (3, 1, Against::Control),
            ]
        );
        let collects = |of: usize| {
            let tree = &found.all[of].tree.as_ref().unwrap().wrappers;
            tree.all()
                .iter()
                .map(|wrapper| wrapper.collectors)
                .collect::<Vec<_>>()
        };
        assert!(collects(0).iter().all(|on| *on == Collectors::NONE));
        assert!(collects(1).iter().all(|on| *on == Collectors::ALL));
    }

    #[test]
    fn a_file_without_a_fitting_tree_is_measured_on_the_library_with_one_remark() {
        let of_bcast = file("[[tree]]\noperations = \"bcast\"\nshape = \"linear\"\n");
        let files = [("c.toml".to_owned(), of_bcast)];
        let found = of(&["--collectors-cost"], &files).unwrap();
        assert_eq!(names(&found), ["c.toml"]);
        assert_eq!(found.all[0].tree, None);
        assert_eq!(
            found.remarks,
            [
                "c.toml: no tree fits MPI_Allreduce of 8 bytes on 4 ranks; the calls go to the MPI \
              library"
            ]
        );
    }

    #[test]
    fn hosts_that_are_not_there_are_refused_with_their_places() {
        let text =
            "[[tree]]\noperations = \"allreduce\"\nshape = \"linear\"\nhosts = [\"a\", \"c\"]\n";
        let error = of(&[], &[("d.toml".to_owned(), file(text))]).unwrap_err();
        let said = error.to_string();
        assert!(
            said.starts_with("d.toml:4:15: no host is called \"c\""),
            "{said}"
        );
    }
}
