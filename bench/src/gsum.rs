//! Measures a collective operation of all threads of a job, in a loop, over spanning trees of our
//! own and over the MPI library.

mod calibration;
mod figures;
mod measure;
mod rounds;
mod table;

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use collbench_formats::tree::Collective;

use crate::overhead::Format;
use crate::thorough::Thorough;
use crate::trees::{Call, TreeOptions, rounds_picture};
use figures::Figures;

/// Times a collective operation over spanning trees of our own and over the MPI library
///
/// Start it with a launcher. In each round every configuration makes the same number of calls, in
/// an order that changes from round to round: the trees of tree files, each twice, used in turns,
/// and the MPI library. A round in which a thread was preempted does not count, unless leaves share
/// cores. Operations without a root are timed in a loop; those with a root from the first enter to
/// the last leave, on one time for all hosts. Every result is checked.
///
/// Method: Bongo, Anshus and Bjorndalen 2004, section 4: Gsum measures the time that T threads take
/// for N allreduce operations that sum T values, on two identical trees in turns.
#[derive(Debug, Args)]
pub struct Options {
    #[command(flatten)]
    trees: TreeOptions,
    /// Operation to measure
    #[arg(long, value_enum, value_name = "OPERATION", default_value_t = Operation::Allreduce)]
    operation: Operation,
    /// Measure all operations with payloads from 8 bytes to 1 MiB over some trees, and write a tree file
    /// with those that were faster than the library
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = [
            "operation", "bytes", "calls", "rounds", "thorough", "output", "files", "library",
            "threads", "control", "collectors_cost",
        ]
    )]
    calibrate: Option<PathBuf>,
    /// Payload, a multiple of 4 [default: 4 for each thread of the job]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(4..=1 << 30))]
    bytes: Option<u64>,
    /// Calls of each configuration in a round
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    calls: u32,
    /// Rounds [with --thorough 2000]
    #[arg(
        long,
        value_name = "N",
        default_value = "200",
        default_value_if("thorough", "true", "2000"),
        value_parser = clap::value_parser!(u32).range(1..=100_000)
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

/// The operations that can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Operation {
    /// MPI_Allreduce: sum of 32-bit integers
    Allreduce,
    /// MPI_Reduce: sum of 32-bit integers, to rank 0
    Reduce,
    /// MPI_Bcast, from rank 0
    Bcast,
    /// MPI_Barrier, without payload
    Barrier,
    /// MPI_Gather, to rank 0
    Gather,
    /// MPI_Scatter, from rank 0
    Scatter,
    /// MPI_Allgather
    Allgather,
}

impl Operation {
    fn collective(self) -> Collective {
        match self {
            Self::Allreduce => Collective::Allreduce,
            Self::Reduce => Collective::Reduce,
            Self::Bcast => Collective::Bcast,
            Self::Barrier => Collective::Barrier,
            Self::Gather => Collective::Gather,
            Self::Scatter => Collective::Scatter,
            Self::Allgather => Collective::Allgather,
        }
    }

    /// Whether each leaf gives or gets a part of its own.
    fn moves_parts(self) -> bool {
        matches!(self, Self::Gather | Self::Scatter | Self::Allgather)
    }

    /// Whether data flow in one direction only. Then processes may leave before others come, and a
    /// loop would time how far they run ahead.
    fn is_one_way(self) -> bool {
        self.collective().has_root()
    }
}

impl Options {
    /// The measured call, on so many leaves.
    fn call(&self, n_leaves: u32) -> Call {
        Call {
            collective: self.operation.collective(),
            bytes: match self.operation {
                Operation::Barrier => 0,
                _ => self.bytes.unwrap_or(u64::from(n_leaves) * VALUE_BYTES),
            },
        }
    }
}

/// Bytes of a value.
const VALUE_BYTES: u64 = size_of::<i32>() as u64;

/// Measures, and writes the result in process 0.
///
/// # Errors
/// States what is missing, or which file is wrong or could not be written.
pub fn run(options: &Options, output: &mut impl Write) -> anyhow::Result<()> {
    if let Some(bytes) = options.bytes {
        anyhow::ensure!(
            bytes.is_multiple_of(VALUE_BYTES),
            "--bytes {bytes}: values have {VALUE_BYTES} bytes; give a multiple of that"
        );
    }
    if let Some(file) = &options.calibrate {
        return calibration::run(options, file, output);
    }
    anyhow::ensure!(
        options.trees.threads == 1 || !options.operation.moves_parts(),
        "--threads {}: gather, scatter and allgather are measured with one thread in each process",
        options.trees.threads
    );
    let Some(measured) = measure::measure(options)? else {
        return Ok(());
    };
    let figures = Figures::of(measured);
    if let Some(folder) = &options.output {
        rounds_picture(&figures.call(), "time of a call", figures.times(), folder)?;
    }
    options.format.write(&figures, table::write, output)
}
