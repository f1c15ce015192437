//! A measurement under a launcher, from `MPI_Init` to `MPI_Finalize`.

use std::sync::OnceLock;

use anyhow::{Context, bail};
use collbench_formats::tree::Wrappers;
use collbench_formats::{Anchor, ClockSource, decode_meta, encode_meta};
use collbench_instrument::Clock;
use collbench_paths::{MpiTransport, MpiWorld, ThreadTransport, WaitPolicy, n_tags};
use mpi::Threading;
use mpi::collective::SystemOperation;
use mpi::environment::Universe;
use mpi::ffi;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Root};

use super::configuration::{Call, Comparison, Configurations, read};
use super::hosts::Hosts;
use super::leaf::{Leaf, LeafTransports, Prepared, PreparedTrees, Settings, TreeUse};
use super::library;
use super::options::TreeOptions;
use super::recorder::Recorder;
use crate::job;
use crate::overhead::ns_per_tick;

/// A measurement that has begun, in each process of the job.
pub(crate) struct Run {
    engine: MpiWorld,
    pub(crate) world: SimpleCommunicator,
    pub(crate) clock: Clock,
    /// The clock before MPI was initialized.
    pub(crate) begin: Anchor,
    pub(crate) hosts: Hosts,
    /// The name of each configuration and its tree of leaves; without one it is the MPI library.
    pub(crate) configurations: Vec<(String, Option<Wrappers>)>,
    /// What only process 0 knows.
    pub(crate) first: Option<First>,
    pub(crate) settings: Settings,
    recorder: Option<Recorder>,
    policy: WaitPolicy,
    /// Dropped last: finalizes MPI.
    _universe: Universe,
}

/// What process 0 knows of the configurations.
#[derive(Debug)]
pub(crate) struct First {
    /// By configuration: the line of the tree file where its tree begins.
    pub(crate) lines: Vec<Option<u32>>,
    pub(crate) comparisons: Vec<Comparison>,
    pub(crate) remarks: Vec<String>,
}

impl Run {
    /// Initializes MPI, and makes the configurations for the call that is made on so many leaves.
    /// Process 0 makes this check first. `None` if another process says why nothing can be measured.
    ///
    /// # Errors
    /// What is missing or wrong.
    pub(crate) fn begin(
        options: &TreeOptions,
        call: impl Fn(u32) -> Call,
        check: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<Option<Self>> {
        let found = clock_of_recorder()?;
        let clock = *CLOCK.get_or_init(|| found);
        let begin = clock.anchor();
        let wanted = match options.threads {
            1 => Threading::Single,
            _ => Threading::Multiple,
        };
        let initialized = mpi::initialize_with_threading(wanted);
        let (universe, provided) = initialized.context("MPI is initialized already")?;
        let world = universe.world();
        let ready = if world.rank() == 0 {
            check_threads(options.threads, provided)
                .and_then(|()| check())
                .and_then(|()| read(options))
        } else {
            Ok(Vec::new())
        };
        let Some((processes, files)) = job::gather(&world, clock.source(), ready)? else {
            return Ok(None);
        };
        let hosts = Hosts::gather(&world, &processes);
        let call = call(world.size() as u32 * options.threads);
        let found = (world.rank() == 0).then(|| Configurations::of(options, &files, call, &hosts));
        let Some((configurations, first)) = told_by_first(&world, found)? else {
            return Ok(None);
        };
        let (n_beside, n_cores) = hosts.leaves_and_cores(world.rank() as usize, options.threads);
        let mut share_cores = u8::from(n_beside > n_cores);
        let own = share_cores;
        world.all_reduce_into(&own, &mut share_cores, SystemOperation::max());
        let recorder = Recorder::find();
        Ok(Some(Self {
            engine: library::engine_world()?,
            settings: Settings {
                n_processes: world.size() as u32,
                n_threads: options.threads,
                share_cores: share_cores > 0,
                all_rounds_count: options.all_rounds || share_cores > 0,
                is_recorded: recorder.is_some(),
            },
            policy: options.policy(n_beside, n_cores),
            world,
            clock,
            begin,
            hosts,
            configurations,
            first,
            recorder,
            _universe: universe,
        }))
    }

    /// Length of a tick of this process's clock since the beginning, ns.
    ///
    /// # Errors
    /// If the clock did not advance.
    pub(crate) fn ns_per_tick(&self) -> anyhow::Result<f64> {
        let now = self.clock.anchor();
        let rate = ns_per_tick(self.begin.into(), now.into());
        Ok(rate
            .context("a clock did not advance during the measurement")?
            .0)
    }

    /// The words of all processes, equally many of each, in process 0. All processes call this
    /// together.
    pub(crate) fn gathered(&self, own: &[u64]) -> Option<Vec<u64>> {
        let first = self.world.process_at_rank(0);
        if self.world.rank() > 0 {
            first.gather_into(own);
            return None;
        }
        let mut all = vec![0; own.len() * self.settings.n_processes as usize];
        first.gather_into_root(own, &mut all[..]);
        Some(all)
    }

    /// Frees what the trees have used. All processes call this together.
    ///
    /// # Errors
    /// Which function of the library has failed.
    pub(crate) fn end(self) -> anyhow::Result<()> {
        self.engine.free().context("the communicator of the trees")
    }

    /// Runs `work` on all leaves of this process at the same time, in all processes. Returns what it
    /// returns, by thread.
    ///
    /// If it fails, the whole job is aborted: the other leaves would wait forever.
    pub(crate) fn on_leaves<R: Send>(
        &self,
        work: impl Fn(&mut Leaf) -> anyhow::Result<R> + Sync,
    ) -> Vec<R> {
        let prepared = self.prepare();
        let world_rank = self.world.rank();
        let run = |prepared: Prepared| {
            let done = Leaf::new(prepared).and_then(|mut leaf| work(&mut leaf));
            done.unwrap_or_else(|error| abort(world_rank, &error))
        };
        let mut prepared = prepared.into_iter();
        let own = prepared.next();
        std::thread::scope(|scope| {
            let others: Vec<_> = prepared
                .map(|prepared| scope.spawn(|| run(prepared)))
                .collect();
            let own = own.into_iter().map(run);
            let own: Vec<R> = own.collect();
            let others = others.into_iter().map(|other| {
                let panicked = |_| abort(world_rank, &anyhow::anyhow!("a thread has panicked"));
                other.join().unwrap_or_else(panicked)
            });
            own.into_iter().chain(others).collect()
        })
    }

    /// What each thread needs to become a leaf, by thread.
    fn prepare(&self) -> Vec<Prepared> {
        let Settings { n_threads, .. } = self.settings;
        let me = self.world.rank() as u32;
        let mut joined = Vec::new();
        if n_threads > 1 {
            joined = ThreadTransport::of_process(n_threads, || {
                MpiTransport::new(self.engine, vec![me], &[0], 0, now)
            });
        }
        let mut joined = joined.into_iter();
        let mut prepared: Vec<Prepared> = (0..n_threads)
            .map(|thread| Prepared {
                number: me * n_threads + thread,
                settings: self.settings,
                clock: self.clock,
                policy: self.policy,
                // The call of a process is recorded once.
                recorder: self.recorder.filter(|_| thread == 0),
                configurations: Vec::new(),
                joined: joined.next(),
            })
            .collect();
        let mut first_tag = 0;
        for (name, tree) in &self.configurations {
            let Some(tree) = tree else {
                for leaf in &mut prepared {
                    leaf.configurations.push(None);
                }
                continue;
            };
            let uses = [(); 2].map(|()| {
                let defined = self.recorder.and_then(|recorder| {
                    let comm = library::comm_world();
                    let index = recorder.define(comm, n_threads, name, tree, me == 0)?;
                    Some((recorder, index))
                });
                let use_of_tree = TreeUse { first_tag, defined };
                first_tag += n_tags(tree);
                use_of_tree
            });
            for (leaf, transports) in prepared.iter_mut().zip(self.transports()) {
                leaf.configurations.push(Some(PreparedTrees {
                    tree: tree.clone(),
                    uses,
                    transports,
                }));
            }
        }
        prepared
    }

    /// The transports of all threads of this process, for two trees.
    fn transports(&self) -> Vec<LeafTransports> {
        let Settings {
            n_threads,
            n_processes,
            ..
        } = self.settings;
        let process = || {
            let ranks = (0..n_processes).collect();
            let me = self.world.rank() as u32;
            MpiTransport::new(self.engine, ranks, &self.hosts.of_process, me, now)
        };
        if n_threads == 1 {
            return vec![LeafTransports::OfProcess([process(), process()])];
        }
        let [one, other] = [(); 2].map(|()| ThreadTransport::of_process(n_threads, process));
        let both = one.into_iter().zip(other);
        both.map(|(a, b)| LeafTransports::OfThread([a, b]))
            .collect()
    }
}

fn check_threads(n_threads: u32, provided: Threading) -> anyhow::Result<()> {
    if n_threads > 1 && provided < Threading::Multiple {
        bail!(
            "--threads {n_threads}: the MPI library lets only one thread call it at a time \
             ({provided:?}, not MPI_THREAD_MULTIPLE); start more processes with one thread each"
        );
    }
    Ok(())
}

/// The clock of this process: that of the recorder if it is recorded, so that passes of event
/// collectors have its ticks.
fn clock_of_recorder() -> anyhow::Result<Clock> {
    let name = std::env::var("COLLBENCH_CLOCK").unwrap_or_default();
    let source = match name.as_str() {
        "tsc" => ClockSource::Tsc,
        "raw" => ClockSource::MonotonicRaw,
        "monotonic" => ClockSource::Monotonic,
        _ => return Ok(Clock::of_this_machine()),
    };
    Clock::of(source).with_context(|| format!("COLLBENCH_CLOCK={name}: it cannot be trusted here"))
}

/// The clock of this process.
static CLOCK: OnceLock<Clock> = OnceLock::new();

/// Reads the clock of this process.
fn now() -> u64 {
    CLOCK.get().map_or(0, |clock| clock.now())
}

/// By configuration: its name, and its tree of leaves.
type Told = Vec<(String, Option<Wrappers>)>;

/// Tells all processes which configurations process 0 has found. `None` in the others if it has
/// found none.
fn told_by_first(
    world: &SimpleCommunicator,
    found: Option<anyhow::Result<Configurations>>,
) -> anyhow::Result<Option<(Told, Option<First>)>> {
    let mut encoded = (Vec::new(), 0);
    let found = match found {
        Some(Ok(found)) => {
            let all = found.all.iter();
            let told = all.map(|configuration| {
                let tree = configuration
                    .tree
                    .as_ref()
                    .map(|tree| tree.wrappers.clone());
                (configuration.name.clone(), tree)
            });
            encoded = encode_meta(&told.collect::<Told>())?;
            Some(Ok(found))
        }
        other => other,
    };
    let mut sizes = [encoded.0.len() as u64, encoded.1.into()];
    let first = world.process_at_rank(0);
    first.broadcast_into(&mut sizes[..]);
    let found = found.transpose()?;
    if sizes[0] == 0 {
        return Ok(None);
    }
    encoded.0.resize(sizes[0] as usize, 0);
    first.broadcast_into(&mut encoded.0[..]);
    let told: Told = decode_meta(&encoded.0, sizes[1] as u32)?;
    let first = found.map(|found| First {
        lines: found
            .all
            .iter()
            .map(|configuration| configuration.tree.as_ref().map(|tree| tree.line))
            .collect(),
        comparisons: found.comparisons,
        remarks: found.remarks,
    });
    Ok(Some((told, first)))
}

/// Ends the whole job.
fn abort(world_rank: i32, error: &anyhow::Error) -> ! {
    eprintln!("collbench-bench: rank {world_rank}: {error:#}");
    // SAFETY: MPI is initialized.
    unsafe { ffi::MPI_Abort(ffi::RSMPI_COMM_WORLD, 1) };
    std::process::abort()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_threads_need_a_library_that_they_may_all_call() {
        assert!(check_threads(1, Threading::Single).is_ok());
        assert!(check_threads(4, Threading::Multiple).is_ok());
        let error = check_threads(4, Threading::Serialized).unwrap_err();
        assert!(error.to_string().contains("MPI_THREAD_MULTIPLE"), "{error}");
    }
}
