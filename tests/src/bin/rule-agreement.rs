//! Whether `collbench-tune` says of rule files what the library does with them: makes files up, runs
//! each, and compares every call.

use std::process::ExitCode;

use clap::Parser;
use collbench_tests::{Agreed, Cluster, HanAgreed, RuledLibrary, made_up};

/// Runs rule files of Open MPI, and compares what the library does in every call with what collbench-tune
/// says of them. The status is 1 where something differs.
#[derive(Parser)]
struct Options {
    /// Open MPI of the system, or Open MPI 5
    #[arg(long, value_parser = ["system", "5"], default_value = "system")]
    library: String,
    /// How many files are made up
    #[arg(long, value_name = "N", default_value_t = 20)]
    files: u64,
    /// Seed of the files
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Run one file of the seed
    #[arg(long, value_name = "NUMBER")]
    only: Option<u64>,
    /// Print that file
    #[arg(long, requires = "only")]
    show: bool,
    /// Run files that collbench-tune writes of choices of each algorithm
    #[arg(long)]
    written: bool,
    /// Run files of coll_han with Open MPI 5 on two simulated hosts, the last of which is written by
    /// collbench-tune; with --written none is made up
    #[arg(long)]
    han: bool,
}

/// Runs one file.
fn only(library: &RuledLibrary, options: &Options, number: u64) -> Agreed {
    let payloads = RuledLibrary::payloads(options.seed);
    let made = made_up(options.seed, number, &payloads, library.reader);
    if options.show {
        println!("{:?} {:?}\n{}", made.faults, made.parameters, made.text);
    }
    let name = format!("file {number}");
    library.compare(&made, &name, &payloads, &library.baseline(&payloads))
}

fn missing() -> ExitCode {
    eprintln!("rule-agreement: Open MPI 5 is missing: run scripts/mpis.sh first");
    ExitCode::from(2)
}

/// Runs files of `coll_han`.
fn of_han(options: &Options) -> ExitCode {
    let links = ["--hosts", "2", "--latency-us", "20"];
    let Some(cluster) = Cluster::up("han-agreement", &links) else {
        return ExitCode::FAILURE;
    };
    let Some(library) = RuledLibrary::five("ruled.c") else {
        return missing();
    };
    let files = if options.written { 0 } else { options.files };
    let sum = HanAgreed::of(&cluster, &library, options.seed, files);
    for difference in &sum.differences {
        println!("{difference}");
    }
    println!(
        "seed {}: {} files, classes of calls {:?}, {} that depend on others, {} differences",
        options.seed,
        sum.files,
        sum.by,
        sum.depends,
        sum.differences.len()
    );
    ExitCode::from(u8::from(!sum.differences.is_empty()))
}

fn main() -> ExitCode {
    let options = Options::parse();
    if options.han {
        return of_han(&options);
    }
    let is_five = options.library == "5";
    let library = if is_five {
        RuledLibrary::five("ruled.c")
    } else {
        Some(RuledLibrary::of_the_system("ruled.c"))
    };
    let Some(library) = library else {
        return missing();
    };
    let sum = match options.only {
        None if options.written => {
            let name = if is_five {
                "Open MPI 5.0.11"
            } else {
                "Open MPI 4.1.4"
            };
            library.run_written(name, options.seed)
        }
        Some(number) => only(&library, &options, number),
        None => library.agree(options.seed, options.files),
    };
    for difference in &sum.differences {
        println!("{difference}");
    }
    println!(
        "seed {}: {} files, {} not run, {} calls {:?}, {} differences",
        options.seed,
        sum.files,
        sum.not_run,
        sum.calls,
        sum.by,
        sum.differences.len()
    );
    ExitCode::from(u8::from(!sum.differences.is_empty()))
}
