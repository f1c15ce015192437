//! One leaf of the trees: a thread of a process.

use collbench_formats::tree::{Contributor, Wrappers};
use collbench_instrument::Clock;
use collbench_paths::{
    MpiTransport, Pass, Team, TeamOptions, ThreadTransport, Transport, WaitPolicy,
};

use super::leaves;
use super::library;
use super::operation::{Operate, OverLibrary, OverTrees};
use super::recorder::Recorder;

/// Passes of event collectors that a leaf keeps in memory where it is not recorded. Later ones take
/// the places of the first.
const KEPT_PASSES: usize = 1 << 15;

/// How many leaves there are, and whether they have cores.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) n_processes: u32,
    pub(crate) n_threads: u32,
    /// Whether leaves share cores: on some host there are more leaves than cores.
    pub(crate) share_cores: bool,
    /// Whether rounds count in which a leaf was preempted: where leaves share cores, and on demand.
    pub(crate) all_rounds_count: bool,
    /// Whether this run is recorded.
    pub(crate) is_recorded: bool,
}

impl Settings {
    pub(crate) fn n_leaves(self) -> u32 {
        self.n_processes * self.n_threads
    }
}

/// One leaf.
pub(crate) struct Leaf {
    /// `process * n_threads + thread`.
    pub(crate) number: u32,
    pub(crate) settings: Settings,
    pub(crate) clock: Clock,
    /// Also joins all leaves between measurements.
    library: OverLibrary,
    /// By configuration; `None`: on the library.
    trees: Vec<Option<Box<dyn Operate>>>,
}

/// What a thread needs to become a leaf.
pub(super) struct Prepared {
    pub(super) number: u32,
    pub(super) settings: Settings,
    pub(super) clock: Clock,
    pub(super) policy: WaitPolicy,
    /// In the thread that records the calls of its process.
    pub(super) recorder: Option<Recorder>,
    /// By configuration; `None`: on the library.
    pub(super) configurations: Vec<Option<PreparedTrees>>,
    /// For joining the threads of this process, if there are several.
    pub(super) joined: Option<ThreadTransport<MpiTransport>>,
}

/// Two identical trees that are used in turns.
pub(super) struct PreparedTrees {
    pub(super) tree: Wrappers,
    pub(super) uses: [TreeUse; 2],
    pub(super) transports: LeafTransports,
}

/// What differs between identical trees.
#[derive(Clone, Copy)]
pub(super) struct TreeUse {
    pub(super) first_tag: u32,
    /// Where passes of event collectors are recorded, with the index of the tree there.
    pub(super) defined: Option<(Recorder, u32)>,
}

/// The transports of a leaf for two trees: of a process with one thread, or of one of several
/// threads.
pub(super) enum LeafTransports {
    OfProcess([MpiTransport; 2]),
    OfThread([ThreadTransport<MpiTransport>; 2]),
}

impl Leaf {
    /// Makes the leaf, together with all other leaves.
    ///
    /// # Errors
    /// Why it has no memory in common with the others.
    pub(super) fn new(prepared: Prepared) -> anyhow::Result<Self> {
        let options = TeamOptions::new(prepared.policy);
        let options = options.for_processes(prepared.settings.n_leaves());
        let threads = match prepared.joined {
            Some(transport) => {
                let tree = leaves::of_one_process(prepared.settings.n_threads)?;
                Some(Team::new(transport, &tree, options)?)
            }
            None => None,
        };
        let recorder = prepared.recorder;
        let trees = prepared.configurations.into_iter().map(|trees| {
            let Some(PreparedTrees {
                tree,
                uses,
                transports,
            }) = trees
            else {
                return Ok(None);
            };
            let with = (&tree, uses, options);
            Ok::<_, anyhow::Error>(Some(match transports {
                LeafTransports::OfProcess(both) => over_trees(both, with, recorder)?,
                LeafTransports::OfThread(both) => over_trees(both, with, recorder)?,
            }))
        });
        Ok(Self {
            number: prepared.number,
            settings: prepared.settings,
            clock: prepared.clock,
            trees: trees.collect::<Result<_, _>>()?,
            library: OverLibrary::new(threads),
        })
    }

    /// Waits for all leaves.
    ///
    /// # Errors
    /// Why that has failed.
    pub(crate) fn meet(&mut self) -> anyhow::Result<()> {
        self.library.barrier()
    }

    /// The operations of a configuration.
    pub(crate) fn configuration(&mut self, nth: usize) -> &mut dyn Operate {
        match &mut self.trees[nth] {
            Some(trees) => &mut **trees,
            None => &mut self.library,
        }
    }

    /// Number of configurations.
    pub(crate) fn n_configurations(&self) -> usize {
        self.trees.len()
    }
}

fn over_trees<T: Transport + 'static>(
    transports: [T; 2],
    (tree, uses, options): (&Wrappers, [TreeUse; 2], TeamOptions),
    recorder: Option<Recorder>,
) -> anyhow::Result<Box<dyn Operate>> {
    let [one, other] = transports;
    let team = |transport, of: TreeUse| {
        let first_tag = of.first_tag;
        let options = TeamOptions {
            first_tag,
            ..options
        };
        let mut team = Team::new(transport, tree, options)?;
        if has_collectors(tree) {
            team.set_collect(Some(match of.defined {
                Some((recorder, index)) => Box::new(move |pass| recorder.pass(index, &pass)),
                None => kept_in_memory(),
            }));
        }
        Ok::<_, anyhow::Error>(team)
    };
    Ok(Box::new(OverTrees {
        teams: [team(one, uses[0])?, team(other, uses[1])?],
        next: 0,
        recorder: recorder.map(|recorder| (recorder, library::comm_world())),
    }))
}

/// Whether any event collector is on.
fn has_collectors(tree: &Wrappers) -> bool {
    (0..).zip(tree.all()).any(|(idx, wrapper)| {
        let mut contributors = wrapper.contributors.iter();
        contributors.any(|&of: &Contributor| tree.collects(of, idx))
    })
}

/// Keeps the latest passes, as a recorder would.
fn kept_in_memory() -> collbench_paths::Collect {
    let empty = Pass {
        down: 0,
        up: 0,
        call: 0,
        collector: 0,
        segment: 0,
    };
    let mut kept = vec![empty; KEPT_PASSES];
    let mut next = 0;
    Box::new(move |pass| {
        kept[next] = pass;
        next = (next + 1) % KEPT_PASSES;
    })
}
