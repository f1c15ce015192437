//! Interrupts the recorder: see [`collbench_interrupt`].

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use collbench_interrupt::{HANDLERS, WITH_ANY_LIBRARY, calls};
use collbench_tests::{command, have, release_dir, source_dir};

/// Sends signals into the middle of the recorder, whose handlers call MPI_Abort, fork, exit or
/// siglongjmp
#[derive(Debug, Parser)]
struct Options {
    /// How many experiments on the stand-in of an MPI library, about; 0: none
    #[arg(long, default_value_t = 10_000)]
    count: u64,
    /// How many runs with the MPI library that is installed; 0: none
    #[arg(long, default_value_t = 200)]
    runs: u64,
    /// For the command itself: goes through this program, which is recorded
    #[arg(long, hide = true, num_args = 3, value_names = ["PROGRAM", "STRIDE", "MOST"])]
    go_through: Option<Vec<String>>,
}

/// Calls of the program: behind them a new chunk is opened.
const CALLS: &str = "2060";

/// From so many experiments on, it is counted first how many there could be.
const COUNTED: u64 = 1000;
/// About so many pairs of an instruction and a handler there are.
const ABOUT: u64 = 44_000;

fn main() -> Result<ExitCode> {
    let options = Options::parse();
    if let Some(inner) = &options.go_through {
        return go_through(inner);
    }
    let folder = tempfile::tempdir()?;
    let mut all_right = true;
    if options.count > 0 {
        all_right &= on_stand_in(options.count, folder.path())?;
    }
    if options.runs > 0 {
        all_right &= on_library(options.runs, folder.path())?;
    }
    Ok(if all_right {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn compile(compiler: &str, arguments: &[&str]) -> Result<()> {
    let status = Command::new(compiler).args(arguments).status();
    ensure!(
        status.with_context(|| compiler.to_owned())?.success(),
        "{compiler} {} failed",
        arguments.join(" ")
    );
    Ok(())
}

fn source(name: &str) -> Result<String> {
    let path = source_dir().join("stub").join(name);
    Ok(path.to_str().context("a path of text")?.to_owned())
}

/// The program on the stand-in.
fn build_on_stand_in(folder: &Path) -> Result<PathBuf> {
    let at = folder.to_str().context("a path of text")?;
    let library = format!("{at}/libmpi_stub.so");
    let shared = [
        "-O1",
        "-shared",
        "-fPIC",
        "-pthread",
        "-Wl,-soname,libmpi_stub.so",
    ];
    compile(
        "cc",
        &[&shared[..], &["-o", &library, &source("stub.c")?]].concat(),
    )?;
    let program = folder.join("interrupted");
    let headers = source_dir().join("stub");
    let run_path = format!("-Wl,-rpath,{at}");
    let target = program.to_str().context("a path of text")?;
    let include = headers.to_str().context("a path of text")?;
    compile(
        "cc",
        &[
            "-O1",
            "-rdynamic",
            "-I",
            include,
            "-o",
            target,
            &source("interrupted.c")?,
            &library,
            &run_path,
        ],
    )?;
    Ok(program)
}

#[cfg(not(target_arch = "x86_64"))]
fn on_stand_in(_: u64, _: &Path) -> Result<bool> {
    eprintln!("LEFT OUT: instruction by instruction, which this processor is not known for here");
    Ok(true)
}

#[cfg(not(target_arch = "x86_64"))]
fn go_through(_: &[String]) -> Result<ExitCode> {
    Ok(ExitCode::FAILURE)
}

/// About `count` experiments; gives whether all went well.
#[cfg(target_arch = "x86_64")]
fn on_stand_in(count: u64, folder: &Path) -> Result<bool> {
    if let Err(error) = collbench_interrupt::steps::may_trace() {
        eprintln!("LEFT OUT: instruction by instruction, since nothing may be traced: {error:#}");
        return Ok(true);
    }
    let program = build_on_stand_in(folder)?;
    let both: [&[&str]; 2] = [&[], &["--keep", "last:64k"]];
    let modes = if count < COUNTED {
        &both[..1]
    } else {
        &both[..]
    };
    let mut all_right = true;
    for mode in modes {
        let begin = Instant::now();
        let trace = folder.join("trace");
        let run = |stride: u64, most: u64| -> Result<(bool, String)> {
            let output = Command::new(command("collbench-record"))
                .arg("-o")
                .arg(&trace)
                .arg("--force")
                .args(*mode)
                .arg("--")
                .arg(std::env::current_exe()?)
                .arg("--go-through")
                .arg(&program)
                .args([stride.to_string(), most.to_string()])
                // All copies belong to one run.
                .env("PMIX_NAMESPACE", "interrupted")
                .output()?;
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let line = text.lines().last().unwrap_or_default().to_owned();
            ensure!(!line.is_empty(), "nothing was gone through: {said}");
            for failure in said.lines().filter(|line| line.contains(" at ")) {
                eprintln!("{failure}");
            }
            Ok((output.status.success(), line))
        };
        let wanted = count / modes.len() as u64;
        // To count them takes as long as to go through them: where few are wanted, it is skipped.
        let n_pairs = if count < COUNTED {
            ABOUT
        } else {
            let (_, counted) = run(u64::MAX, 0)?;
            let n_addresses: u64 = counted.split(' ').next().unwrap_or("0").parse()?;
            n_addresses * HANDLERS.len() as u64
        };
        ensure!(
            n_pairs > 4000,
            "only {n_pairs} pairs: was nothing recorded?"
        );
        let stride = (n_pairs / wanted.max(1)).max(1);
        let (is_right, line) = run(stride, wanted)?;
        println!(
            "stand-in {}: {line}, {:.0} s",
            mode.join(" "),
            begin.elapsed().as_secs_f64()
        );
        all_right &= is_right;
    }
    Ok(all_right)
}

#[cfg(target_arch = "x86_64")]
fn go_through(words: &[String]) -> Result<ExitCode> {
    let [program, stride, most] = words else {
        anyhow::bail!("three words");
    };
    let outcome = collbench_interrupt::steps::go_through(
        Path::new(program),
        CALLS,
        stride.parse()?,
        most.parse()?,
    )?;
    println!(
        "{} instructions in {} steps, {} experiments, {} failures",
        outcome.n_addresses,
        outcome.n_steps,
        outcome.n_experiments,
        outcome.failures.len()
    );
    Ok(if outcome.failures.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// At most `runs` runs; gives whether all went well.
fn on_library(runs: u64, folder: &Path) -> Result<bool> {
    if !have(&["mpicc"]) {
        return Ok(true);
    }
    let at = folder.to_str().context("a path of text")?;
    let (program, raises) = (format!("{at}/on-library"), format!("{at}/raises.so"));
    compile(
        "mpicc",
        &[
            "-O1",
            "-rdynamic",
            "-o",
            &program,
            &source("interrupted.c")?,
        ],
    )?;
    compile(
        "cc",
        &[
            "-shared",
            "-fPIC",
            "-o",
            &raises,
            &source("raises.c")?,
            "-ldl",
        ],
    )?;
    let recorder = release_dir().join("collbench-record");
    let recorder = recorder.to_str().context("a path of text")?;
    let trace = format!("{at}/of-library");
    let line: Vec<String> = [recorder, "-o", &trace, "--force", "--", &program, CALLS]
        .map(str::to_owned)
        .to_vec();
    let raises = Path::new(&raises);
    let n_calls = calls::count_calls(&line, raises, folder)?;
    let handlers = &HANDLERS[..WITH_ANY_LIBRARY];
    let stride = (n_calls * handlers.len() as u64).div_ceil(runs).max(1);
    let (mut n, mut failures) = (0, 0);
    let begin = Instant::now();
    let pairs = (0..n_calls).flat_map(|call| handlers.iter().map(move |handler| (call, *handler)));
    for (call, handler) in pairs.step_by(stride as usize) {
        n += 1;
        // What a run leaves that was ended while it made its trace may be no trace.
        let _ = std::fs::remove_dir_all(&trace);
        if let Some(failure) = calls::try_call(&line, raises, call + 1, handler)? {
            eprintln!("{failure}");
            failures += 1;
        }
    }
    println!(
        "MPI library: {n_calls} calls, {n} runs, {failures} failures, {:.0} s",
        begin.elapsed().as_secs_f64()
    );
    Ok(failures == 0)
}
