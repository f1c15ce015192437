//! The command `collbench-mutate`: damaged traces through the analyzer, by the thousand.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Parser;
use collbench_mutate::{Bases, Case, Limits, Span, Trace, examine_case, seeds, watch, work};

/// Damages small traces in every way, and lets the analyzer read them.
///
/// Exit status: 0 all were analyzed or refused as they should be; 1 some were not, and are named
/// by number.
#[derive(Debug, Parser)]
#[command(name = "collbench-mutate", version)]
struct Options {
    /// How many traces
    #[arg(long, value_name = "N", default_value_t = 3000)]
    count: u64,

    /// Seed of all of them
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Number of the first
    #[arg(long, value_name = "N", default_value_t = 0)]
    first: u64,

    /// Processes at a time [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    jobs: Option<u64>,

    /// Address space that a process may have, MiB
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    memory: u64,

    /// Time that one trace may take, seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    time: u64,

    /// This one trace only, in this process and without limits
    #[arg(long, value_name = "NUMBER")]
    only: Option<u64>,

    /// With --only: leave the trace and its report in this directory
    #[arg(long, value_name = "DIR", requires = "only")]
    keep: Option<PathBuf>,

    /// Only leave what a fuzzer begins with in this directory, one for each target; files that are
    /// there stay as they are
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,

    /// For the processes that this command starts: the directory to work in
    #[arg(long, value_name = "DIR", hide = true)]
    work: Option<PathBuf>,

    /// For the processes that this command starts: the step from one number to the next
    #[arg(long, value_name = "N", hide = true, default_value_t = 1)]
    step: u64,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("collbench-mutate: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> anyhow::Result<bool> {
    if let Some(scratch) = &options.work {
        let span = Span {
            seed: options.seed,
            first: options.first,
            end: options.first.saturating_add(options.count),
            step: options.step,
        };
        return work(span, scratch, &mut io::stdout()).map(|()| true);
    }
    let scratch = scratch()?;
    if let Some(corpus) = &options.corpus {
        return write_corpus(corpus, &Bases::generate(scratch.path())?).map(|()| true);
    }
    if let Some(number) = options.only {
        return only(options, number, scratch.path());
    }
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let limits = Limits {
        memory_kib: options.memory.saturating_mul(1024),
        time: Duration::from_secs(options.time),
    };
    let command = std::env::current_exe().context("cannot find this command")?;
    let summary = watch(
        &command,
        scratch.path(),
        limits,
        (options.seed, options.first, options.count),
        options.jobs.unwrap_or(cores),
    )?;
    println!("{summary}");
    if !summary.failures.is_empty() {
        println!(
            "again, alone: collbench-mutate --seed {} --only NUMBER --keep DIR",
            options.seed
        );
    }
    Ok(summary.failures.is_empty())
}

/// Adds the seeds whose names, and bytes, are not there yet.
fn write_corpus(corpus: &Path, bases: &Bases) -> anyhow::Result<()> {
    for seed in seeds(bases) {
        let directory = corpus.join(seed.target);
        let path = directory.join(seed.name);
        let is_there = || -> io::Result<bool> {
            for entry in fs::read_dir(&directory)? {
                if fs::read(entry?.path())? == seed.bytes {
                    return Ok(true);
                }
            }
            Ok(path.exists())
        };
        let write = || {
            if is_there()? {
                Ok(())
            } else {
                fs::write(&path, &seed.bytes)
            }
        };
        fs::create_dir_all(&directory)
            .and_then(|()| write())
            .with_context(|| format!("{}: cannot be written", path.display()))?;
    }
    Ok(())
}

/// A directory for many small files, in memory where there is such a file system.
fn scratch() -> anyhow::Result<tempfile::TempDir> {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .context("cannot make a directory for the traces")
}

fn only(options: &Options, number: u64, scratch: &Path) -> anyhow::Result<bool> {
    let case = Case::new(&Bases::generate(scratch)?, options.seed, number);
    println!("case {number}: {}", case.base);
    for mutation in &case.mutations {
        println!("  {}", mutation.escape_debug());
    }
    // Left where it can be looked at.
    let directory = options.keep.as_deref().unwrap_or(scratch);
    let trace = directory.join("trace");
    fs::create_dir_all(&trace)?;
    case.trace.replace(&Trace::default(), &trace)?;
    let examined = examine_case(&case, directory);
    println!("{examined:?}");
    Ok(examined.is_ok())
}
