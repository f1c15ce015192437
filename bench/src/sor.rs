//! Measures a solver whose test for convergence is an allreduce, over spanning trees of our own and
//! over the MPI library.

mod figures;
mod grid;
mod halo;
mod measure;
mod solve;
mod table;

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::overhead::Format;
use crate::thorough::Thorough;
use crate::trees::{TreeOptions, rounds_picture};
use figures::Figures;

/// Times a solver with an allreduce in each step, over trees of our own and over the MPI library
///
/// Start it with a launcher. It solves the equation of Laplace on a square by red-black successive
/// over-relaxation. Each thread has some rows of the grid; neighbors exchange rows point to point,
/// and an allreduce of the largest change says when to stop. In each round every configuration
/// solves the problem once: the trees of tree files, each twice, used in turns, and the MPI library.
/// A round in which a thread was preempted does not count, unless leaves share cores. Every solution
/// is compared with the exact one, and with those of the other configurations, which are the same to
/// the bit.
///
/// Method: Bongo, Anshus and Bjorndalen 2004, section 4.
#[derive(Debug, Args)]
pub struct Options {
    #[command(flatten)]
    trees: TreeOptions,
    /// Unknown points on each side of the square
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=16_384))]
    size: u32,
    /// Largest change of a point in the last step
    #[arg(long, value_name = "CHANGE", default_value_t = 1e-10, value_parser = tolerance)]
    tolerance: f64,
    /// Rounds [with --thorough 100]
    #[arg(
        long,
        value_name = "N",
        default_value = "10",
        default_value_if("thorough", "true", "100"),
        value_parser = clap::value_parser!(u32).range(1..=10_000)
    )]
    rounds: u32,
    #[command(flatten)]
    thorough: Thorough,
    /// What to print to stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Directory for pictures [default: no pictures]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(tolerance) if (1e-13..=0.1).contains(&tolerance) => Ok(tolerance),
        _ => Err("expected a change, from 1e-13 to 0.1".to_owned()),
    }
}

/// Measures, and writes the result in process 0.
///
/// # Errors
/// States what is missing, or which file is wrong or could not be written.
pub fn run(options: &Options, output: &mut impl Write) -> anyhow::Result<()> {
    let Some(measured) = measure::measure(options)? else {
        return Ok(());
    };
    let figures = Figures::of(measured);
    if let Some(folder) = &options.output {
        let about = format!("{}, {}", figures.problem(), figures.surroundings.in_words());
        rounds_picture(&about, "time of a solution", figures.times(), folder)?;
    }
    options.format.write(&figures, table::write, output)
}
