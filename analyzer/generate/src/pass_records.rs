//! What event collectors record of an instance over a spanning tree of our own.

use collbench_formats::{CallSite, Definition, Module, Semantics, SiteFrame, SpanningTree};

use super::group::Members;
use super::own_trees;
use super::own_trees::{OnTree, OwnTree, Way, WrapperTimes};
use super::rank_file::{Body, NewRecord};
use super::state::{Execution, FileError, Simulation};

impl Simulation<'_> {
    /// Defines the spanning trees of our own in all files.
    pub(super) fn define_trees(&mut self, at: u64) -> Result<(), FileError> {
        for (index, tree) in (0..).zip(&self.scenario.trees) {
            for rank in 0..self.ranks.len() as u32 {
                let definition = Definition::SpanningTree(SpanningTree {
                    index,
                    communicator: 0,
                    threads: tree.threads,
                    name: tree.name.clone(),
                    wrappers: (rank == 0).then(|| tree.wrappers.clone()),
                });
                self.define(rank, definition, at)?;
            }
        }
        Ok(())
    }

    /// Defines the places in the program from which steps are called.
    pub(super) fn define_call_sites(&mut self, at: u64) -> Result<(), FileError> {
        for rank in 0..self.ranks.len() as u32 {
            for (index, place) in (0..).zip(&self.scenario.call_sites) {
                let module = Definition::Module(Module {
                    index,
                    path: place.module.clone(),
                    build_id: Vec::new(),
                });
                self.define(rank, module, at)?;
                let frame = SiteFrame {
                    module: index,
                    address: place.address,
                };
                let site = Definition::CallSite(CallSite {
                    index,
                    frames: vec![frame],
                    is_whole: true,
                });
                self.define(rank, site, at)?;
            }
        }
        Ok(())
    }

    /// Runs an instance over a tree; nobody leaves and nothing is recorded if somebody does not come.
    pub(super) fn run_over(
        &mut self,
        over: usize,
        execution: Execution<'_>,
        members: &Members,
        heard: &[Option<u64>],
    ) -> OnTree {
        self.over_trees[over] += 1;
        let Some(enters) = heard.iter().copied().collect::<Option<Vec<u64>>>() else {
            return OnTree {
                passes: vec![Vec::new(); heard.len() * self.scenario.trees[over].threads as usize],
                ..OnTree::default()
            };
        };
        let tree = &self.scenario.trees[over];
        let root = execution.root(members).unwrap_or(0) as u32 * tree.threads;
        let way = match execution.operation.semantics() {
            Semantics::OneToMany => Way::FromRoot(root),
            Semantics::ManyToOne => Way::ToRoot(root),
            _ => Way::Both,
        };
        let call = self.over_trees[over];
        let times = self.times_of_wrappers(tree, call);
        own_trees::run((tree, &times), way, &tree.arrivals(&enters), call)
    }

    /// What the wrappers of a tree take in its n-th instance.
    fn times_of_wrappers(&self, tree: &OwnTree, nth: u64) -> Vec<WrapperTimes> {
        let wrappers = tree.wrappers.all().iter().zip(&tree.times);
        let wrappers = (0u64..).zip(wrappers).zip(&tree.jitters);
        let times = wrappers.map(|((idx, (wrapper, times)), jitter)| {
            let Some(jitter) = jitter else {
                return *times;
            };
            // Each time of each wrapper is drawn by itself.
            let first = 3 * (nth * tree.times.len() as u64 + idx);
            let draw = |n| self.snap(self.delay_ns(jitter, first + n, wrapper.owner));
            times.delayed([draw(0), draw(1), draw(2)])
        });
        times.collect()
    }

    /// Writes the passes that a member recorded, in all of its threads; returns whether all are in the trace.
    pub(super) fn write_passes(
        &mut self,
        over: usize,
        rank: u32,
        member: usize,
        thread: u32,
    ) -> Result<bool, FileError> {
        let threads = self.scenario.trees[over].threads;
        let mut are_all_recorded = true;
        for of_thread in 0..threads {
            let leaf = member * threads as usize + of_thread as usize;
            let passes = std::mem::take(&mut self.scratch.on_tree.passes[leaf]);
            for &(mut pass, enter, leave) in &passes {
                pass.tree = over as u32;
                let record = NewRecord {
                    thread: thread + of_thread,
                    enter,
                    leave: Some(leave),
                    body: Body::Words(pass.words()),
                };
                let is_recorded = self.write(rank, record)?;
                are_all_recorded &= is_recorded;
                if is_recorded {
                    self.truth.record(rank, leave, None);
                }
            }
        }
        Ok(are_all_recorded)
    }
}
