//! Whether `collbench-tune` says of MPICH's selection files what the library does with them: makes
//! files up, runs each, and compares every call.

use std::process::ExitCode;

use clap::Parser;
use collbench_tests::{MpichAgreed, MpichLibrary};

/// Runs selection files of MPICH, and compares what the library does in every call with what collbench-tune
/// says of them. The status is 1 where something differs.
#[derive(Parser)]
struct Options {
    /// MPICH 4 of Debian, or MPICH 5, of which only whether it loads a file is compared
    #[arg(long, value_parser = ["4", "5"], default_value = "4")]
    library: String,
    /// How many files are made up
    #[arg(long, value_name = "N", default_value_t = 30)]
    files: u64,
    /// Seed of the files
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Run one file of the seed
    #[arg(long, value_name = "NUMBER")]
    only: Option<u64>,
    /// Make up choices of algorithms instead, which are written as files
    #[arg(long)]
    written: bool,
    /// Print the files
    #[arg(long)]
    show: bool,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let (seed, shows) = (options.seed, options.show);
    let numbers = options.only.map_or(0..options.files, |only| only..only + 1);
    let is_five = options.library == "5";
    let library = if is_five {
        MpichLibrary::five()
    } else {
        MpichLibrary::of_debian()
    };
    let Some(library) = library else {
        eprintln!("mpich-rule-agreement: MPICH is missing: run scripts/mpis.sh first");
        return ExitCode::from(2);
    };
    let mut sum = MpichAgreed::default();
    for number in numbers {
        let agreed = if options.written {
            library.compare_written(seed, number, shows)
        } else {
            library.compare(seed, number, shows)
        };
        for difference in &agreed.differences {
            println!("{difference}");
        }
        sum.add(agreed);
    }
    println!(
        "seed {seed}: {} files, {} of them refused, {} ended in MPI_Init later; {} calls of a process, {} algorithms in them, {} different ones; \
         {} calls said to end the program, {} of them made; {} undefined, not made; {} differences",
        sum.files,
        sum.refused,
        sum.ended_later,
        sum.calls,
        sum.algorithms,
        sum.names.len(),
        sum.fatal,
        sum.fatal_made,
        sum.undefined,
        sum.differences.len()
    );
    ExitCode::from(u8::from(!sum.differences.is_empty()))
}
