//! Measurement programs for MPI collectives: the command collbench-bench.
//!
//! [`collective`] measures collective operations, ping-pongs, a master with workers and simple calls,
//! whose results [`results`] lists, compares and merges; [`overlap`] measures how well nonblocking
//! operations overlap with computation, [`logp`] the overhead, gap and latency of messages.
//! [`gsum`] and [`sor`] measure collective operations over spanning trees of our own, beside those of
//! the MPI library. [`overhead`] measures the cost of recording on this machine, [`clock`] how well
//! the clocks of hosts can be compared, and at what cost. Every result states the machine, the MPI
//! library, the clock and the command line of the measurement, and which measurements were invalid.

pub mod clock;
pub mod collective;
mod folder;
pub mod gsum;
mod job;
pub mod logp;
mod machine;
pub mod measure;
pub mod overhead;
pub mod overlap;
pub mod results;
pub mod sor;
mod thorough;
mod trees;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use collbench_command::Installation;
use collbench_text::output;

pub use machine::Machine;

const AFTER_HELP: &str = "\
Examples:
  collbench-bench overhead
      what recording a call adds, on one process
  collbench-bench overhead --ranks 2
      what recording a call and its messages adds, on two ranks
  mpirun -n 8 collbench-bench collective --output results
      how long collective operations take, with pictures in ./results
  collbench-bench results runs
      which runs the directory ./runs keeps
  mpirun -n 64 collbench-bench clock --output clocks
      how well the clocks of a job can be compared, with pictures in ./clocks
  mpirun -n 8 collbench-bench gsum --library --trees trees.toml
      how long an allreduce takes over the library and over the tree of a file
  collbench-bench clock --simulate 128
      how long measuring clocks would take on 128 hosts
  mpirun -n 2 --map-by node collbench-bench logp --output logp
      overhead, gap and latency of messages between two hosts, with pictures in ./logp
  collbench-bench logp --trace trace
      the same from the messages of a recorded trace
  mpirun -n 2 collbench-bench overlap --communication 1ms..20ms --computation 1ms..20ms
      how well nonblocking collectives overlap with computation

Exit status: 0 measured, 1 failed, 2 usage.";

/// Measures collective operations and their overlap with computation, spanning trees, messages,
/// clocks, and what recording costs.
#[derive(Debug, Parser)]
#[command(
    name = "collbench-bench",
    version, long_version = collbench_version::details(),
    args_conflicts_with_subcommands = true,
    after_help = AFTER_HELP
)]
struct Options {
    #[command(flatten)]
    installation: Installation,
    #[command(subcommand)]
    measurement: Option<Measurement>,
}

#[derive(Debug, Subcommand)]
enum Measurement {
    Overhead(overhead::Options),
    Clock(clock::Options),
    Gsum(gsum::Options),
    Sor(sor::Options),
    // The options of one subcommand are many.
    Collective(Box<collective::Options>),
    Nonblocking(collective::nonblocking::Options),
    Results(results::Options),
    Logp(logp::Options),
    Overlap(overlap::Options),
}

/// Runs the command with the arguments of this process; returns its exit status.
#[must_use]
pub fn main() -> ExitCode {
    let options = Options::parse();
    match run(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("collbench-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: Options) -> anyhow::Result<()> {
    let mut output = Vec::new();
    if let Some(text) = options.installation.asked_for::<Options>()? {
        output = text;
    } else {
        match options.measurement {
            Some(Measurement::Overhead(options)) => overhead::run(&options, &mut output)?,
            Some(Measurement::Clock(options)) => clock::run(&options, &mut output)?,
            Some(Measurement::Gsum(options)) => gsum::run(&options, &mut output)?,
            Some(Measurement::Sor(options)) => sor::run(&options, &mut output)?,
            Some(Measurement::Collective(options)) => collective::run(&options, &mut output)?,
            Some(Measurement::Nonblocking(options)) => {
                collective::nonblocking::run(&options, &mut output)?;
            }
            Some(Measurement::Results(options)) => results::run(&options, &mut output)?,
            Some(Measurement::Logp(options)) => logp::run(&options, &mut output)?,
            Some(Measurement::Overlap(options)) => overlap::run(&options, &mut output)?,
            None => Options::command()
                .error(
                    clap::error::ErrorKind::MissingSubcommand,
                    "expected a command; --help lists them",
                )
                .exit(),
        }
    }
    Ok(output::print(&output)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Options::command().debug_assert();
    }
}
