//! Traces with known truth, generated from a scenario: the command collbench-generate.
//!
//! A scenario file (TOML) defines hosts with their clocks, communicators, a program, and faults.
//! The simulation executes the program for all ranks on one global time, following MPI's rules
//! about which ranks wait for which; each rank's calls are written as its recorder would have, in
//! the ticks of its host. In addition to the rank files, `truth.json` contains what an analysis
//! must find, computed from the global times by independent code.
//!
//! Everything is streamed: records leave memory chunk by chunk, so memory grows with ranks and
//! communicators, not with calls. There are two exceptions: medians in the truth need all values
//! (`truth = "counts"` omits them), and ranks with several threads are sorted in memory. The same
//! scenario and seed give the same bytes on every machine. [`Truth`] has the fields of
//! `truth.json`.
#![doc = include_str!("SCENARIO.md")]
#![forbid(unsafe_code)]

mod call;
mod clock;
mod construct;
mod delay;
mod exchange;
mod group;
mod message_records;
mod messages;
mod nonblocking;
mod outstanding;
mod own_trees;
mod pass_records;
mod rank_file;
mod scenario;
mod semantics;
mod simulate;
mod state;
mod summary;
#[cfg(test)]
mod tests;
mod truth;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use collbench_formats::{Abi, HostIdentity, Identity, Layer, LayerState, MpiIdentity};
use collbench_stats::random;
use serde_json::json;

pub use messages::{TrueContributor, TrueCriticalPath, TrueEdge, TrueJoin, TrueRound, TrueTree};
pub use scenario::ScenarioError;
pub use summary::Summary;
pub use truth::{
    TrueCommunicator, TrueInFlight, TrueOperation, TruePath, TrueRank, TrueStage, TrueTimes, Truth,
};

use rank_file::RankFile;
use scenario::{Fault, Scenario};
use state::{FileError, Simulation, SimulationError};

/// Name of the file that describes the run.
const RUN_FILE: &str = "run.json";
/// Places in the program that were resolved and kept: part of a trace that somebody compacted.
const SYMBOLS_FILE: &str = "symbols.json";
/// Name of the file with the truth.
const TRUTH_FILE: &str = "truth.json";

/// Why no trace was generated.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// The scenario could not be read.
    #[error("{}: cannot be read: {error}", .path.display())]
    Read {
        /// The scenario file.
        path: PathBuf,
        /// The system's message.
        error: io::Error,
    },
    /// The scenario is invalid.
    #[error("{}: {error}", .path.display())]
    Scenario {
        /// The scenario file.
        path: PathBuf,
        /// What is wrong, and in which line.
        error: ScenarioError,
    },
    /// The output directory already has a trace.
    #[error(
        "{}: already holds a trace; choose another directory, or use --force to replace it",
        .path.display()
    )]
    Exists {
        /// The output directory.
        path: PathBuf,
    },
    /// The output exists and is no trace.
    #[error(
        "{}: expected a trace or an empty directory, found {found}; choose another directory",
        .path.display()
    )]
    NotATrace {
        /// The output directory.
        path: PathBuf,
        /// What is there.
        found: String,
    },
    /// A file could not be written.
    #[error("{}: cannot be written: {error}", .path.display())]
    Write {
        /// Which file or directory.
        path: PathBuf,
        /// The system's message.
        error: io::Error,
    },
}

impl GenerateError {
    fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::Write { path, error }
    }
}

/// Writes the trace of the scenario in the file `scenario` into the directory `out`; returns the
/// truth about it.
///
/// `seed` replaces the seed of the scenario. `force` replaces an existing trace.
///
/// # Errors
/// [`GenerateError`]; files written until then remain.
pub fn generate(
    scenario: &Path,
    out: &Path,
    seed: Option<u64>,
    force: bool,
) -> Result<Truth, GenerateError> {
    let text = fs::read_to_string(scenario).map_err(|error| GenerateError::Read {
        path: scenario.to_owned(),
        error,
    })?;
    let wrong = |error| GenerateError::Scenario {
        path: scenario.to_owned(),
        error,
    };
    let scenario = Scenario::parse(&text).map_err(wrong)?;
    group::check(&scenario).map_err(wrong)?;
    let seed = seed.unwrap_or(scenario.seed);

    make_room(out, force)?;
    let simulated = |error| match error {
        SimulationError::File(FileError { path, error }) => GenerateError::Write { path, error },
        SimulationError::Scenario(error) => wrong(error),
    };
    let truth = write_ranks(&scenario, seed, out, simulated)?;
    write_run(&scenario, out)?;
    let path = out.join(TRUTH_FILE);
    // The truth consists of strings and integers, which always have a JSON form.
    let mut json = serde_json::to_vec_pretty(&truth).map_err(io::Error::other);
    if let Ok(json) = &mut json {
        json.push(b'\n');
    }
    json.and_then(|json| fs::write(&path, json))
        .map_err(GenerateError::write(&path))?;
    Ok(truth)
}

/// Makes `out` an empty directory.
fn make_room(out: &Path, force: bool) -> Result<(), GenerateError> {
    match out.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(GenerateError::write(out)(error)),
        Ok(metadata) if !metadata.is_dir() => {
            return Err(GenerateError::NotATrace {
                path: out.to_owned(),
                found: "something that is not a directory".into(),
            });
        }
        Ok(_) => {
            let parts = parts_of_trace(out)?;
            if !parts.is_empty() && !force {
                return Err(GenerateError::Exists {
                    path: out.to_owned(),
                });
            }
            for part in parts {
                let removed = if part.is_dir() {
                    fs::remove_dir_all(&part)
                } else {
                    fs::remove_file(&part)
                };
                removed.map_err(GenerateError::write(&part))?;
            }
        }
    }
    fs::create_dir_all(out).map_err(GenerateError::write(out))
}

/// All entries of a directory, if it is a trace: nothing else is ever removed.
fn parts_of_trace(directory: &Path) -> Result<Vec<PathBuf>, GenerateError> {
    let unreadable = || GenerateError::write(directory);
    let mut parts = Vec::new();
    let mut has_run = false;
    for entry in fs::read_dir(directory).map_err(unreadable())? {
        let entry = entry.map_err(unreadable())?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_dir = entry.file_type().map_err(unreadable())?.is_dir();
        has_run |= name == RUN_FILE;
        let is_part = if is_dir {
            name == "report" || name.starts_with("report-")
        } else {
            [RUN_FILE, TRUTH_FILE, SYMBOLS_FILE].contains(&&*name) || name.ends_with(".trace")
        };
        if !is_part {
            return Err(GenerateError::NotATrace {
                path: directory.to_owned(),
                found: format!("a directory with \"{name}\""),
            });
        }
        parts.push(entry.path());
    }
    if !parts.is_empty() && !has_run {
        return Err(GenerateError::NotATrace {
            path: directory.to_owned(),
            found: format!("a directory without {RUN_FILE}"),
        });
    }
    parts.sort();
    Ok(parts)
}

/// Writes all rank files, with the damage that the scenario asks for; returns the truth about what
/// is left of them.
fn write_ranks(
    scenario: &Scenario,
    seed: u64,
    out: &Path,
    simulated: impl Fn(SimulationError) -> GenerateError,
) -> Result<Truth, GenerateError> {
    let mut lost = vec![0..0; scenario.n_ranks()];
    let mut files = Vec::new();
    for (rank, fault) in scenario.faults.iter().enumerate() {
        if *fault == Fault::Missing {
            lost[rank] = 0..u64::MAX;
            files.push(None);
            continue;
        }
        let host = &scenario.hosts[scenario.host_of[rank]];
        let file = RankFile::create(
            out,
            identity(scenario, seed, rank as u32),
            host.clock.clone(),
            scenario.grid_ns,
            scenario.chunk_calls,
            scenario.has_threads,
            scenario.keep_chunks(rank),
        );
        files.push(Some(file.map_err(GenerateError::write(out))?));
    }
    let simulation = Simulation::new(scenario, seed, files, lost.clone());
    let (truth, files) = simulation.run().map_err(&simulated)?;

    let mut is_damaged = false;
    for (rank, file) in files.into_iter().enumerate() {
        let Some(file) = file else { continue };
        let cut = |at| file.cut(at).map(|left| left..u64::MAX);
        let damaged = match scenario.faults[rank] {
            Fault::CutAtByte(at) => cut(at),
            Fault::CutAtFraction(part) => file
                .length()
                .and_then(|length| cut((length as f64 * part) as u64)),
            Fault::DamagedChunk(number) => file.damage_chunk(number),
            _ => continue,
        };
        lost[rank] = damaged.map_err(GenerateError::write(file.path()))?;
        is_damaged = true;
    }
    if !is_damaged {
        return Ok(truth);
    }
    // What the damage leaves is known only now: repeats the simulation for its truth alone.
    let no_files = lost.iter().map(|_| None).collect();
    let simulation = Simulation::new(scenario, seed, no_files, lost);
    Ok(simulation.run().map_err(&simulated)?.0)
}

/// Reason why a layer is not in a trace.
const NOT_GENERATED: &str = "a generated trace has none";

fn identity(scenario: &Scenario, seed: u64, rank: u32) -> Identity {
    let host_at = scenario.host_of[rank as usize];
    let host = &scenario.hosts[host_at];
    let world = random::hash(&[seed, scenario.n_ranks() as u64]);
    let has_sites = !scenario.call_sites.is_empty();
    let sites = has_sites.then(|| LayerState::new(Layer::Sites, true, ""));
    let gaps = (scenario.has_gaps).then(|| LayerState::new(Layer::PointToPoint, true, ""));
    let boot = random::hash(&[seed, 2, host_at as u64]);
    let init = [0, scenario.init_ns.next_multiple_of(scenario.grid_ns)];
    Identity {
        recorder: env!("CARGO_PKG_VERSION").into(),
        world,
        rank,
        world_size: scenario.n_ranks() as u32,
        pid: 1000 + rank,
        spawned: false,
        host: HostIdentity {
            name: host.name.clone(),
            boot_id: format!(
                "{:08x}-{:04x}-4000-8000-{host_at:012x}",
                boot as u32,
                (boot >> 32) as u16
            ),
            time_namespace: 4_026_531_834,
        },
        clock: collbench_formats::ClockIdentity {
            source: host.clock.source,
            granularity_ticks: host.clock.granularity_ticks,
            read_cost_milliticks: 20_000,
        },
        mpi: MpiIdentity {
            abi: Abi::Unknown,
            library_version: "none (generated)".into(),
            library_path: String::new(),
            thread_level: if scenario.has_threads { 3 } else { 0 },
        },
        layers: [
            LayerState::new(Layer::Calls, true, ""),
            if scenario.has_messages {
                LayerState::new(Layer::Messages, true, "")
            } else {
                LayerState::new(Layer::Messages, false, NOT_GENERATED)
            },
            LayerState::new(Layer::Algorithms, false, NOT_GENERATED),
        ]
        .into_iter()
        .chain(gaps)
        .chain(sites)
        .collect(),
        command: command(scenario),
        anchors: (1..)
            .zip(init)
            .map(|(i, t)| host.clock.anchor(t, &[world, u64::from(rank), i]).into())
            .collect(),
    }
}

fn command(scenario: &Scenario) -> Vec<String> {
    vec!["collbench-generate".into(), scenario.name.clone()]
}

/// `run.json`, as collbench-record writes it; without properties of this machine.
fn write_run(scenario: &Scenario, out: &Path) -> Result<(), GenerateError> {
    let run = json!({
        "schema": "collbench.run/1",
        "recorder": env!("CARGO_PKG_VERSION"),
        "command": command(scenario),
        "directory": ".",
        "started_unix_ns": scenario.started_unix_ns,
        "form": "generated",
        "host": scenario.hosts[0].name,
        "environment": {},
    });
    let path = out.join(RUN_FILE);
    fs::write(&path, format!("{run:#}\n")).map_err(GenerateError::write(&path))
}
