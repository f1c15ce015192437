//! The agreement inside `MPI_Init`: whether trees are used at all.
//!
//! As with the exchange of stamps, no message is sent to a process that does not expect it: the
//! processes first find in a file that all of them have this library. Then each says where it runs,
//! and which tree file it has read, and all make a communicator of ours.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use collbench_formats::tree::{Collectors, CollectorsOfKinds, Form, TreeRules};
use collbench_formats::{ClockSource, decode_meta};
use collbench_paths::{MpiConstants, MpiFunctions, MpiWorld, TransportError};

use super::active::Trees;
use super::adapt_log::AdaptLog;
use super::datatypes::Layout;
use super::devices::may_have_devices;
use super::hosts::{ENTRY_BYTES, Hosts, Location};
use super::learned::FromLog;
use super::predefined::{Predefined, TreeConstants};
use super::replaced::replace;
use super::sites;
use super::tags::Tags;
use super::world::World;
use crate::exchange::{CommunicatorTransport, Decision, Registry, TIMEOUT, Transport};
use crate::host::Clock;
use crate::mpi::{Handle, MpiLibrary, address_of, call_mpi, find_function, replace_functions};
use crate::process::say;

/// The file begins with its checksum.
const CRC32_BYTES: usize = size_of::<u32>();

/// The world of this process, when `MPI_Init` has just made it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewWorld {
    /// Its identity.
    pub(crate) id: u64,
    /// World rank of this process.
    pub(crate) rank: u32,
    /// Number of processes.
    pub(crate) size: u32,
    /// Whether there is `MPI_COMM_WORLD`.
    pub(crate) has_comm_world: bool,
    /// Whether calls are recorded, and with them the passes of event collectors.
    pub(crate) is_recorded: bool,
}

/// Why no trees are used. All processes find one of these.
#[derive(Debug, thiserror::Error)]
enum NoTrees {
    #[error("the program initializes MPI with sessions and has no MPI_COMM_WORLD")]
    Sessions,
    #[error("the handles of this MPI library are not known; Open MPI's and MPICH's are")]
    UnknownAbi,
    #[error(
        "{path}: {error}; the folder of the trace directory (-o) must be writable on all hosts"
    )]
    Registry { path: PathBuf, error: io::Error },
    #[error(
        "only {recorded} of {world_size} processes have collbench's library; start all with collbench-record, \
         and no statically linked program"
    )]
    NotAll { recorded: u32, world_size: u32 },
    #[error("{0}: it is not the same file on all hosts, or not what collbench-record has written")]
    File(PathBuf),
    #[error("another process could not use them")]
    Another,
    #[error(
        "buffers may be in the memory of GPUs: a library for them is loaded, or the MPI library takes \
         such buffers and a host has GPUs"
    )]
    Devices,
    #[error("the MPI library's {0} has failed")]
    Failed(&'static str),
    #[error(transparent)]
    World(#[from] TransportError),
}

/// Uses the trees in the file at `path`, if all processes of the world can; to be called by all of
/// them, when `MPI_Init` has succeeded. If not, the user is told once, and the program runs without.
pub(crate) fn begin_trees(library: MpiLibrary, world: NewWorld, path: &Path) {
    match try_begin(library, world, path) {
        Ok(()) => {}
        // It happens to all.
        Err(NoTrees::Another) => {}
        Err(
            NoTrees::File(_)
            | NoTrees::Registry { .. }
            | NoTrees::Sessions
            | NoTrees::UnknownAbi
            | NoTrees::NotAll { .. }
            | NoTrees::Devices
            | NoTrees::Failed(_),
        ) if world.rank > 0 => {}
        Err(error) => say(world.rank, &format!("no trees are used: {error}")),
    }
}

fn try_begin(library: MpiLibrary, world: NewWorld, path: &Path) -> Result<(), NoTrees> {
    if world.size < 2 {
        // No communicator has two processes.
        library.release();
        return Ok(());
    }
    if !world.has_comm_world {
        return Err(NoTrees::Sessions);
    }
    let constants = TreeConstants::of(library.abi).ok_or(NoTrees::UnknownAbi)?;
    let location = Location::of_this_process();
    let registry = agree_on_presence(world, path, &location)?;
    // From here on all processes are here, and make the same calls of the library. The file is
    // complete: it was written before the first process was started.
    let content = fs::read(path).unwrap_or_default();
    let mut rules = decoded(&content);
    if !world.is_recorded {
        rules.iter_mut().for_each(without_collectors);
    }
    let functions = functions();
    let readiness = match (&rules, &functions) {
        (None, _) => Readiness::NoFile,
        (_, Err(_)) => Readiness::NotReady,
        _ if may_have_devices() => Readiness::Devices,
        _ => Readiness::Ready,
    };
    let (locations, all) = exchange(&library, world.size, &location, readiness, &content)?;
    if world.rank == 0 {
        registry.remove();
    }
    let (Some(rules), Ok(functions), Readiness::Ready) = (rules, functions, all) else {
        return Err(match all {
            Readiness::Devices => NoTrees::Devices,
            Readiness::NoFile => NoTrees::File(path.to_owned()),
            _ => NoTrees::Another,
        });
    };
    let mpi_constants = MpiConstants {
        comm_world: library.comm_world,
        errors_return: library.errors_return,
        byte: library.byte,
        status_ignore: library.status_ignore,
        any_source: constants.any_source,
        status_source: library.status_source,
    };
    // SAFETY: these are the functions and constants of the library, which is initialized. When it
    // is finalized, trees are no longer used.
    let ours = unsafe { MpiWorld::new(functions, mpi_constants) }?;
    let mut hosts = Hosts::new(&locations, &rules);
    if sites::are_wanted(&rules) {
        find_sites(&library, world.rank, &mut hosts)?;
    }
    if world.rank == 0
        && let Some(name) = hosts.unknown(&rules)
    {
        say(
            0,
            &format!("the tree file names host {name:?}, which this run does not have"),
        );
    }
    let predefined = Predefined::of(library.abi, |datatype| extents(&library, datatype));
    Trees::activate(World {
        tags: Mutex::new(Tags::new(most_tag(&library, constants.tag_limit_key))),
        library,
        constants,
        predefined,
        log: AdaptLog::of(&rules.adapting),
        learned: FromLog::of(&rules.adapting),
        rules,
        hosts,
        ours,
        rank: world.rank,
        bytes: AtomicUsize::new(0),
        was_told: AtomicBool::new(false),
    });
    replace_functions(replace);
    // SAFETY: the handler only makes an atomic store, which is allowed after fork.
    unsafe { libc::pthread_atfork(None, None, Some(forget_in_child)) };
    Ok(())
}

/// A forked child must neither touch the memory that its parent shares, nor send messages.
unsafe extern "C" fn forget_in_child() {
    Trees::deactivate();
}

/// Finds that all processes of the world are here.
fn agree_on_presence(
    world: NewWorld,
    path: &Path,
    location: &Location,
) -> Result<Registry, NoTrees> {
    let file = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{:016x}{suffix}", world.id));
        PathBuf::from(name)
    };
    let failed = |error| NoTrees::Registry {
        path: file(""),
        error,
    };
    let registry = Registry::at(file(""), file(".decision"), world.size).map_err(failed)?;
    let decision = registry.agree(world.rank, location.key(), TIMEOUT);
    match decision.map_err(failed)? {
        Decision::OneHost | Decision::Exchange => Ok(registry),
        Decision::Missing { recorded } => Err(NoTrees::NotAll {
            recorded,
            world_size: world.size,
        }),
    }
}

/// Gives each host the site that the first process finds by round trips between the hosts.
fn find_sites(library: &MpiLibrary, rank: u32, hosts: &mut Hosts) -> Result<(), NoTrees> {
    let leaders = hosts.first_ranks();
    if !sites::are_measured(leaders.len()) {
        if rank == 0 && leaders.len() > 1 {
            say(0, &hosts.sites_in_words(None));
        }
        return Ok(());
    }
    let failed = |_| NoTrees::Failed("point-to-point communication");
    let clock = Clock::of(ClockSource::MonotonicRaw).unwrap_or_else(Clock::of_this_machine);
    let mut transport = CommunicatorTransport::of_world(library, clock);
    let rank = rank as usize;
    let own = hosts.places[rank].host as usize;
    let leader = leaders[own];
    let found = if rank != leader {
        sites::await_others(&mut transport, leader).map_err(failed)?
    } else if own > 0 {
        sites::take_part(&mut transport, &leaders, own).map_err(failed)?
    } else {
        let (found, measured) = sites::find(&mut transport, &leaders).map_err(failed)?;
        say(0, &hosts.sites_in_words(Some((&found, &measured))));
        found.message()
    };
    if rank == leader {
        let places = hosts.places.iter().enumerate();
        let mates = places.filter(|(_, place)| place.host as usize == own);
        for (mate, _) in mates.filter(|(mate, _)| *mate != rank) {
            transport.send(mate, found).map_err(failed)?;
        }
    }
    hosts.set_sites(&sites::of_message(found).collect::<Vec<_>>());
    Ok(())
}

/// What the file says; `None` if it is not what collbench-record has written.
fn decoded(content: &[u8]) -> Option<TreeRules> {
    let (crc32, encoded) = content.split_first_chunk::<CRC32_BYTES>()?;
    decode_meta(encoded, u32::from_le_bytes(*crc32)).ok()
}

/// Switches event collectors off: they would read the clock for nothing.
fn without_collectors(rules: &mut TreeRules) {
    for rule in &mut rules.rules {
        rule.collectors = CollectorsOfKinds::uniform(Collectors::NONE);
        if let Form::Nodes(nodes) = &mut rule.form {
            for node in nodes {
                (node.collectors, node.proxy_collectors) = (None, None);
            }
        }
    }
}

/// Whether a process can use trees. If they differ, the greatest is that of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Readiness {
    Ready,
    /// Buffers may be in memory that it cannot read.
    Devices,
    /// It has not the file that the others have.
    NoFile,
    NotReady,
}

impl Readiness {
    fn decoded(byte: u8) -> Self {
        match byte {
            0 => Self::Ready,
            1 => Self::Devices,
            2 => Self::NoFile,
            _ => Self::NotReady,
        }
    }
}

/// Where all processes run, by world rank, and whether all can use trees.
fn exchange(
    library: &MpiLibrary,
    n_processes: u32,
    own: &Location,
    readiness: Readiness,
    content: &[u8],
) -> Result<(Vec<Location>, Readiness), NoTrees> {
    /// The location, readiness, and the checksum at the begin of the file.
    const BYTES: usize = ENTRY_BYTES + 1 + CRC32_BYTES;
    let mut given = [readiness as u8; BYTES];
    given[..ENTRY_BYTES].copy_from_slice(&own.encoded());
    let crc32 = content.first_chunk::<CRC32_BYTES>().copied();
    given[ENTRY_BYTES + 1..].copy_from_slice(&crc32.unwrap_or_default());
    let mut all = vec![[0u8; BYTES]; n_processes as usize];
    let (from, to) = (address_of(&mut given), all.as_mut_ptr() as usize);
    let (byte, comm) = (library.byte, library.comm_world);
    let code = call_mpi!(c"PMPI_Allgather"; from, BYTES, byte, to, BYTES, byte, comm);
    if code != 0 {
        return Err(NoTrees::Failed("MPI_Allgather"));
    }
    let location = |entry: &[u8; BYTES]| {
        let (location, _) = entry.split_first_chunk::<ENTRY_BYTES>()?;
        Some(Location::decoded(location))
    };
    let locations = all.iter().filter_map(location).collect();
    let has_other_file =
        |entry: &[u8; BYTES]| entry[ENTRY_BYTES + 1..] != all[0][ENTRY_BYTES + 1..];
    let readiness = |entry: &[u8; BYTES]| match Readiness::decoded(entry[ENTRY_BYTES]) {
        own if has_other_file(entry) => own.max(Readiness::NoFile),
        own => own,
    };
    let of_all = all.iter().map(readiness).max();
    Ok((locations, of_all.unwrap_or(Readiness::NotReady)))
}

fn functions() -> Result<MpiFunctions, &'static std::ffi::CStr> {
    // SAFETY: these are the functions of these names, and the library stays loaded.
    unsafe { MpiFunctions::find(find_function) }
}

/// Size and extent of a predefined datatype; `None` if it has none.
fn extents(library: &MpiLibrary, datatype: Handle) -> Option<(usize, usize)> {
    // SAFETY: it is a predefined datatype.
    let (size, layout) = unsafe { (library.type_bytes(datatype)?, Layout::of(datatype)?) };
    Some((
        usize::try_from(size).ok()?,
        usize::try_from(layout.extent).ok()?,
    ))
}

/// The largest tag of the library, less those that the transport uses itself.
fn most_tag(library: &MpiLibrary, key: usize) -> u32 {
    /// That of the MPI standard.
    const LEAST: i32 = 32_767;
    const OF_TRANSPORT: u32 = 16;
    let (mut value, mut is_set) = (0usize, 0i32);
    let code = call_mpi!(c"PMPI_Comm_get_attr";
        library.comm_world, key, address_of(&mut value), address_of(&mut is_set));
    let most = if code == 0 && is_set != 0 && value != 0 {
        // SAFETY: the value of this attribute is the address of an `int`.
        unsafe { (value as *const i32).read() }
    } else {
        LEAST
    };
    most.max(LEAST) as u32 - OF_TRANSPORT
}
