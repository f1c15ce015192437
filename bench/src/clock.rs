//! Measures round trips between hosts, the drift of their clocks, and the cost of measuring these.
//!
//! All measurements use the schedule, the exchange and the stop rule of the recorder, over the MPI
//! library in use.

mod drift;
mod figures;
mod measure;
mod participants;
mod pictures;
mod quality;
mod simulation;
mod table;

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::folder;
use crate::overhead::{ClockName, Format};
use crate::thorough::Thorough;
use figures::Figures;
use simulation::Simulation;

/// Measures the clocks of several hosts against one another
///
/// Start it with a launcher. One process of each host takes part; on a single host all processes
/// do, and since they share a clock, every difference is error. It measures round trips; drift, by
/// bursts of exchanges over some time, each of which is also predicted from its two neighbors; what
/// the stop rule costs and how good it is; and how long it takes to measure groups of clocks one
/// after the other and in rounds. With --simulate, which needs no launcher, it runs the same
/// schedule for more hosts on simulated networks.
///
/// Method: Hoefler et al. 2007, sections 2 and 3, figures 4, 5, 6 and 8; exchanges have four time
/// stamps, so that the time between receiving and answering does not count.
#[derive(Debug, Args)]
pub struct Options {
    /// Number of exchanges with each host, for the distribution of round trips [with --thorough 10000]
    #[arg(
        long,
        value_name = "N",
        default_value = "1000",
        default_value_if("thorough", "true", "10000"),
        value_parser = clap::value_parser!(u32).range(10..=10_000_000)
    )]
    exchanges: u32,
    /// Time over which drift is measured [with --thorough 60]
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "10",
        default_value_if("thorough", "true", "60"),
        value_parser = seconds
    )]
    duration: f64,
    #[command(flatten)]
    thorough: Thorough,
    /// Time from one burst of 10 exchanges to the next
    #[arg(long, value_name = "SECONDS", default_value_t = 0.5, value_parser = seconds)]
    interval: f64,
    /// Clock to measure [default: the one that collbench-record chooses]
    #[arg(long, value_enum, value_name = "CLOCK")]
    clock: Option<ClockName>,
    /// Simulate groups of 2, 4, 8 ... up to HOSTS hosts instead of measuring
    #[arg(
        long,
        value_name = "HOSTS",
        value_parser = clap::value_parser!(u32).range(2..=1024),
        conflicts_with_all = ["exchanges", "duration", "thorough", "interval", "clock"]
    )]
    simulate: Option<u32>,
    /// What to print to stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Directory for pictures [default: no pictures]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.001..=1e6).contains(&seconds) => Ok(seconds),
        _ => Err("expected seconds, from 0.001 to 1000000".to_owned()),
    }
}

/// Measures or simulates, and writes the result, in process 0.
///
/// # Errors
/// States what is missing, or which file could not be written.
pub fn run(options: &Options, output: &mut impl Write) -> anyhow::Result<()> {
    if let Some(n_hosts) = options.simulate {
        if let Some(path) = &options.output {
            folder::make(path)?;
        }
        let simulation = Simulation::up_to(n_hosts as usize);
        if let Some(folder) = &options.output {
            pictures::write(&pictures::of_simulation(&simulation), folder)?;
        }
        let text = table::write_simulation;
        return options.format.write(&simulation, text, output);
    }
    let Some(measured) = measure::measure(options)? else {
        return Ok(());
    };
    let figures = Figures::of(&measured, options);
    if let Some(folder) = &options.output {
        pictures::write(&pictures::of_figures(&figures), folder)?;
    }
    options.format.write(&figures, table::write, output)
}
