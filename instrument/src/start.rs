//! The start of recording, inside `MPI_Init`: which world this is, where its trace is written, and
//! what is known of this process.
//!
//! The processes agree through the file system, not by messages. A message in which only recorded
//! ranks take part would hang or confuse a job in which some ranks are not recorded (another host
//! without the library, a statically linked program among others), and recording must never make a
//! job fail.

#[allow(unsafe_code)]
mod process_in_world;

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use collbench_formats::{
    Anchor, ClockIdentity, Definition, HostIdentity, Identity, Layer, LayerState, MpiIdentity,
    Operation,
};

use crate::directory::{self, DirectoryError};
use crate::exchange::{Start, TickLength};
use crate::file::{Limit, RankFile};
use crate::hooks::find_messages;
use crate::host::{Clock, all_on_this_host, host_identity, measure_clock};
use crate::messages::{MessageSource, watch_endpoints};
use crate::mpi::{
    MpiLibrary, ProcessModel, await_replacements, end_of_replacements, has_function, own_object,
};
use crate::process::{Uncancelled, remember_stderr, say, say_unranked};
use crate::record::{Recorder, Thresholds, record_init};
use crate::settings::{Form, Layers, Settings};
use crate::sites::{CallSites, Interpreters, ObjectFinder};
use crate::trees::{NewWorld, begin_trees};
use process_in_world::ProcessInWorld;

/// How long the other ranks wait for world rank 0 to create the directory.
const DIRECTORY_TIMEOUT: Duration = Duration::from_secs(10);

/// The clocks at the entry of `MPI_Init`. Together with those at its end they give a tick rate,
/// even for a process that is killed at once.
#[derive(Debug, Clone)]
pub struct InitAnchor {
    settings: Settings,
    clock: Clock,
    anchor: Anchor,
}

impl InitAnchor {
    /// Reads the clocks if the process is to be recorded, otherwise `None`.
    #[must_use]
    pub fn take() -> Option<Self> {
        let _uncancelled = Uncancelled::begin();
        catch_unwind(|| {
            remember_stderr();
            let settings = match Settings::from_environment() {
                Ok(settings) => settings?,
                Err(error) => {
                    say_unranked(&format!("not recording: {error}"));
                    return None;
                }
            };
            let clock = match settings.clock {
                None => Clock::of_this_machine(),
                Some(source) => match Clock::of(source) {
                    Some(clock) => clock,
                    None => {
                        say_unranked(
                            "not recording: the time stamp counter of this machine is not \
                             invariant; use --clock raw",
                        );
                        return None;
                    }
                },
            };
            if settings.layers.messages {
                watch_endpoints();
            }
            if settings.trees.is_some() && !WAS_TRIED.load(Ordering::Acquire) {
                await_replacements();
            }
            Some(Self {
                settings,
                clock,
                anchor: clock.anchor(),
            })
        })
        .unwrap_or(None)
    }
}

/// Why recording could not start.
#[derive(Debug, thiserror::Error)]
enum StartError {
    #[error(transparent)]
    Library(#[from] crate::mpi::LibraryError),
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    #[error(
        "rank 0 did not create {path} within {seconds} s; check that all hosts share its file system, \
         and that rank 0, too, was started with collbench-record and could record (if not, it says why)"
    )]
    NoDirectory { path: PathBuf, seconds: u64 },
    #[error(
        "{path} already holds the trace of another MPI run; give each run its own directory (-o)"
    )]
    AnotherRun { path: PathBuf },
    #[error("{path}: {error}; choose a directory with -o that this host can write")]
    File { path: PathBuf, error: String },
}

/// Whether recording was to start in this process.
static WAS_TRIED: AtomicBool = AtomicBool::new(false);

/// Starts to record, if settings ask for it; to be called when `MPI_Init`, `MPI_Init_thread` or
/// `MPI_Session_init` (`operation`) has succeeded. Failures are reported on stderr, and the program
/// runs on unrecorded. Only the first call in a process has an effect.
pub fn start_recording(operation: Operation, init: Option<InitAnchor>) {
    let Some(init) = init else { return };
    let _uncancelled = Uncancelled::begin();
    if WAS_TRIED.swap(true, Ordering::AcqRel) {
        return;
    }
    if let Some(trees) = &init.settings.trees {
        // As with recording, an error in it ends only this.
        let _ = catch_unwind(|| use_trees(operation, trees, init.settings.records));
        end_of_replacements();
    }
    if !init.settings.records {
        return;
    }
    let mut rank = 0;
    let started = catch_unwind(std::panic::AssertUnwindSafe(|| {
        start(operation, init, &mut rank)
    }));
    match started {
        Ok(Ok(())) => {}
        // This happens on all ranks; one of them reports it.
        Ok(Err(StartError::AnotherRun { .. })) if rank > 0 => {}
        Ok(Err(error)) => say(rank, &format!("not recording: {error}")),
        Err(_) => say(rank, "not recording: internal error of collbench (panic)"),
    }
}

fn model_of(operation: Operation) -> ProcessModel {
    match operation {
        Operation::SessionInit => ProcessModel::Sessions,
        _ => ProcessModel::World,
    }
}

/// Uses the trees that collbench-record has handed over at `path`, if all processes of the world
/// can.
fn use_trees(operation: Operation, path: &Path, is_recorded: bool) {
    let model = model_of(operation);
    // An error is found again, and reported, when recording starts.
    let Ok(library) = MpiLibrary::find(model) else {
        return;
    };
    // SAFETY: this function is called when `operation` has succeeded.
    let world = unsafe { ProcessInWorld::of_this_process(&library, model) };
    let world = NewWorld {
        id: world.id,
        rank: world.rank,
        size: world.world_size,
        has_comm_world: model == ProcessModel::World,
        is_recorded,
    };
    begin_trees(library, world, path);
}

fn start(
    operation: Operation,
    init: InitAnchor,
    rank_for_messages: &mut u32,
) -> Result<(), StartError> {
    let InitAnchor {
        settings,
        clock,
        anchor,
    } = init;
    let model = model_of(operation);
    let library = MpiLibrary::find(model)?;
    // SAFETY: this function is called when `operation` has succeeded.
    let world = unsafe { ProcessInWorld::of_this_process(&library, model) };
    *rank_for_messages = world.rank;
    agree_on_directory(&settings, &world).inspect_err(|_| library.release())?;

    let messages = message_source(settings.layers, model, &library, &world);
    let algorithms = why_no_algorithms(settings.layers);
    let host = host_identity();
    let init = Init {
        entered: anchor,
        left: clock.anchor(),
    };
    let sites = call_sites(&settings);
    let interpreters = interpreters(settings.layers, sites.is_ok());
    let layers = layer_states(
        settings.layers,
        messages.as_ref().err(),
        algorithms,
        sites.as_ref().err().copied(),
        interpreters.as_ref().err().copied(),
    );
    let identity = identity(&library, &world, &host, measure_clock(clock), layers, &init);
    let file = create_file(&settings, &identity).inspect_err(|_| library.release())?;
    let recorder = Recorder::new(
        clock,
        library,
        file,
        world.rank,
        all_on_this_host(world.world_size),
        settings.layers,
        Thresholds::between(&init.entered, &init.left),
    );
    let recorder = recorder.with_sites(
        sites
            .ok()
            .map(|sites| sites.with_scripts(interpreters.ok())),
    );
    let recorder = recorder.activate();
    // SAFETY: the handler only does system calls and atomic stores, which are allowed after fork.
    unsafe { libc::pthread_atfork(None, None, Some(forget_in_child)) };
    // SAFETY: MPI has not ended, and `world` is that of this process.
    unsafe { define_communicators(recorder, &world) };
    exchange_stamps(recorder, model, &settings, &world, &host, &init);
    // After the exchanges, whose messages are not to be recorded.
    if let Ok(messages) = messages {
        // SAFETY: this thread has just initialized MPI; the parent is a communicator.
        unsafe { recorder.record_messages(messages, world.parent) };
    }
    if algorithms.is_none() {
        recorder.record_algorithms();
    }
    record_init(recorder, operation, init.entered.ticks.get());
    Ok(())
}

/// When the library's own `MPI_Init` was entered and left.
struct Init {
    entered: Anchor,
    left: Anchor,
}

/// How messages are seen; otherwise why they cannot be seen.
fn message_source(
    layers: Layers,
    model: ProcessModel,
    library: &MpiLibrary,
    world: &ProcessInWorld,
) -> Result<MessageSource, String> {
    if !layers.messages {
        Err("not requested (--layers +messages)".to_owned())
    } else if model == ProcessModel::Sessions {
        // The processes of MPI_COMM_WORLD are asked for, which does not exist then.
        Err(
            "the program initializes MPI with sessions, for which messages are not recorded"
                .to_owned(),
        )
    } else {
        find_messages(library.abi, world.rank, world.world_size)
            .map_err(|opaque| opaque.to_string())
    }
}

/// The identity of this process in the trace.
fn identity(
    library: &MpiLibrary,
    world: &ProcessInWorld,
    host: &HostIdentity,
    clock: ClockIdentity,
    layers: Vec<LayerState>,
    init: &Init,
) -> Identity {
    Identity {
        recorder: env!("CARGO_PKG_VERSION").to_owned(),
        world: world.id,
        rank: world.rank,
        world_size: world.world_size,
        pid: std::process::id(),
        spawned: world.is_spawned(),
        host: host.clone(),
        clock,
        mpi: MpiIdentity {
            abi: library.abi,
            library_version: library.version.clone(),
            library_path: library.path.clone(),
            thread_level: library.thread_level,
        },
        layers,
        command: command_line(),
        anchors: vec![init.entered.into(), init.left.into()],
    }
}

/// Creates the file of this process in the trace directory.
fn create_file(settings: &Settings, identity: &Identity) -> Result<RankFile, StartError> {
    let Identity {
        rank, world, pid, ..
    } = identity;
    let folder = &settings.output;
    let name = format!("rank-{rank:06}.{world:016x}.{pid}.trace");
    let limit = match (settings.keep_bytes, settings.max_bytes) {
        (Some(bytes), _) => Limit::Keep(bytes),
        (None, Some(bytes)) => Limit::Max(bytes),
        (None, None) => Limit::None,
    };
    RankFile::create(folder, &name, identity, limit).map_err(|error| StartError::File {
        path: folder.join(name),
        error: error.to_string(),
    })
}

/// Defines the communicators that exist from the beginning.
///
/// # Safety
/// MPI has not ended, and `world` is that of this process.
unsafe fn define_communicators(recorder: &Recorder, world: &ProcessInWorld) {
    recorder.guarded(|| {
        let (communicators, library) = (&recorder.communicators, &recorder.library);
        let predefined =
            communicators.add_predefined(library, world.id, world.rank, world.world_size);
        // SAFETY: the parent is a communicator of the library, which has not ended.
        let of_parent = world
            .parent
            .map(|parent| unsafe { communicators.add_parent(library, parent, world.id) });
        for communicator in predefined.into_iter().chain(of_parent) {
            recorder.write(&Definition::Communicator(communicator))?;
        }
        Ok(())
    });
}

/// Takes part in the exchanges of stamps at the start.
fn exchange_stamps(
    recorder: &Recorder,
    model: ProcessModel,
    settings: &Settings,
    world: &ProcessInWorld,
    host: &HostIdentity,
    init: &Init,
) {
    match model {
        ProcessModel::World => {
            let span = |get: fn(&Anchor) -> u64| get(&init.left).saturating_sub(get(&init.entered));
            recorder.take_part(&Start {
                directory: &settings.output,
                settings: settings.exchange,
                world: world.id,
                rank: world.rank,
                world_size: world.world_size,
                host,
                tick: TickLength::of(
                    span(|anchor| anchor.ticks.get()),
                    span(|anchor| anchor.raw_ns.get()),
                ),
                launcher_says_one_host: all_on_this_host(world.world_size),
            });
        }
        ProcessModel::Sessions => recorder.define(&Definition::ClockExchanges {
            on: false,
            reason: "the program initializes MPI with sessions and has no MPI_COMM_WORLD"
                .to_owned(),
        }),
    }
}

/// A forked child shares the mapping of the parent's file, and must not store into it.
unsafe extern "C" fn forget_in_child() {
    Recorder::disown_in_child();
}

fn agree_on_directory(settings: &Settings, world: &ProcessInWorld) -> Result<(), StartError> {
    if world.is_spawned() {
        // The world that spawned this one has created the directory.
        return Ok(());
    }
    let (path, rank, world) = (&settings.output, world.rank, world.id);
    match settings.form {
        Form::Inner if rank == 0 => {
            // An older trace was removed before the program was started, if the user asked for it.
            let fresh = directory::make_fresh(path, false)?;
            if let Some(run) = std::env::var_os(directory::RUN_VARIABLE) {
                use std::os::unix::ffi::OsStrExt;
                directory::write_run(path, run.as_bytes())?;
            }
            directory::claim(path, world)?;
            fresh.keep_until_exit();
            Ok(())
        }
        Form::Inner => {
            let begin = Instant::now();
            while directory::claimed_by(path) != Some(world) {
                if begin.elapsed() > DIRECTORY_TIMEOUT {
                    return Err(StartError::NoDirectory {
                        path: path.clone(),
                        seconds: DIRECTORY_TIMEOUT.as_secs(),
                    });
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            Ok(())
        }
        Form::Outer => {
            if directory::claim(path, world)? == world {
                Ok(())
            } else {
                if rank == 0 {
                    directory::mark_refused(path, world);
                }
                Err(StartError::AnotherRun { path: path.clone() })
            }
        }
    }
}

fn command_line() -> Vec<String> {
    // Arguments may be as long as the system allows; the first ones are the most useful.
    const LONGEST: usize = 64 << 10;
    let mut bytes = fs::read("/proc/self/cmdline").unwrap_or_default();
    bytes.truncate(LONGEST);
    bytes
        .split(|&byte| byte == 0)
        .filter(|argument| !argument.is_empty())
        .map(|argument| String::from_utf8_lossy(argument).into_owned())
        .collect()
}

/// Why the names of algorithms are not recorded; `None` if they are.
fn why_no_algorithms(layers: Layers) -> Option<&'static str> {
    if !layers.algorithms {
        return Some("not requested (--layers +algorithms)");
    }
    // One of the oldest functions: Open MPI has it since version 3.
    let is_named = has_function(c"ompi_coll_base_bcast_intra_binomial");
    (!is_named).then_some("this MPI library does not name its algorithms (Open MPI does)")
}

/// What finds out from where calls are made; otherwise why that is not recorded.
fn call_sites(settings: &Settings) -> Result<CallSites, &'static str> {
    if !settings.layers.sites {
        return Err("not requested (--layers +sites)");
    }
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        return Err("not supported on this processor (but on x86-64 and AArch64)");
    }
    let finder = ObjectFinder::find();
    let finder = finder.ok_or("the C library is too old for it (glibc 2.35 is needed)")?;
    let own = own_object().ok_or("the preloaded library was not found in memory")?;
    Ok(CallSites::new(finder, own, &settings.wrappers))
}

/// What finds lines of scripts; otherwise why these are not recorded.
fn interpreters(layers: Layers, has_sites: bool) -> Result<Interpreters, &'static str> {
    if !layers.scripts {
        Err("not requested (--layers +scripts)")
    } else if !has_sites {
        Err("call sites are not recorded")
    } else {
        Interpreters::find()
    }
}

/// The states of layers for the trace. `opaque` is why messages are not seen, `unnamed` why
/// algorithms are not, `placeless` why call sites are not, and `scriptless` why lines of scripts are
/// not.
fn layer_states(
    layers: Layers,
    opaque: Option<&String>,
    unnamed: Option<&str>,
    placeless: Option<&str>,
    scriptless: Option<&str>,
) -> Vec<LayerState> {
    [
        (Layer::Calls, true, ""),
        (
            Layer::Messages,
            opaque.is_none(),
            opaque.map_or("", String::as_str),
        ),
        (
            Layer::Algorithms,
            unnamed.is_none(),
            unnamed.unwrap_or_default(),
        ),
        (
            Layer::Switches,
            layers.switches,
            "not requested (--layers +switches)",
        ),
        (Layer::Io, layers.io, "not requested (--layers +io)"),
        (Layer::Rma, layers.rma, "not requested (--layers +rma)"),
        (
            Layer::PointToPoint,
            layers.p2p,
            "not requested (--layers +p2p)",
        ),
        (
            Layer::Sites,
            placeless.is_none(),
            placeless.unwrap_or_default(),
        ),
        (
            Layer::Scripts,
            scriptless.is_none(),
            scriptless.unwrap_or_default(),
        ),
    ]
    .into_iter()
    .map(|(layer, on, why_off)| {
        let reason = match (on, layers.has_by_default(layer)) {
            (false, _) => why_off,
            (true, true) => LayerState::BY_DEFAULT,
            (true, false) => "",
        };
        LayerState::new(layer, on, reason)
    })
    .collect()
}
