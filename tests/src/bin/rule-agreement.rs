//! Whether `collbench-tune` says of rule files what the library does with them: makes files up, runs
//! each, and compares every call.

use std::process::ExitCode;

use collbench_tests::{Agreed, Cluster, HanAgreed, RuledLibrary, made_up};

/// What `--help` prints.
const HELP: &str = "\
rule-agreement [--library system|5] [--files N] [--seed N] [--only NUMBER] [--show]
rule-agreement [--library system|5] [--seed N] --written
rule-agreement [--files N] [--seed N] --han [--written]

The status is 1 where something differs.
--only     runs one file of the seed; with --show it is printed
--written  runs files that collbench-tune writes of choices of each algorithm
--han      runs files of coll_han with Open MPI 5 on two simulated hosts, the last of which is written
           by collbench-tune; with --written none is made up
";

/// The command line.
#[derive(Default)]
struct Options {
    is_five: bool,
    files: u64,
    seed: u64,
    only: Option<u64>,
    shows: bool,
    is_written: bool,
    is_of_han: bool,
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        files: 20,
        seed: 1,
        ..Options::default()
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--help" {
            print!("{HELP}");
            std::process::exit(0);
        }
        if word == "--show" {
            options.shows = true;
            continue;
        }
        if word == "--written" {
            options.is_written = true;
            continue;
        }
        if word == "--han" {
            options.is_of_han = true;
            continue;
        }
        let value = words.next().ok_or(format!("{word} needs a value"))?;
        let number = || value.parse().map_err(|_| format!("{word} {value}"));
        match word.as_str() {
            "--library" => options.is_five = value == "5",
            "--files" => options.files = number()?,
            "--seed" => options.seed = number()?,
            "--only" => options.only = Some(number()?),
            _ => return Err(format!("unknown option {word}")),
        }
    }
    Ok(options)
}

/// Runs one file.
fn only(library: &RuledLibrary, options: &Options, number: u64) -> Agreed {
    let payloads = RuledLibrary::payloads(options.seed);
    let made = made_up(options.seed, number, &payloads, library.reader);
    if options.shows {
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
    let files = if options.is_written { 0 } else { options.files };
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
    let options = match options() {
        Ok(options) => options,
        Err(error) => {
            eprintln!("rule-agreement: {error}");
            return ExitCode::from(2);
        }
    };
    if options.is_of_han {
        return of_han(&options);
    }
    let library = match options.is_five {
        true => RuledLibrary::five("ruled.c"),
        false => Some(RuledLibrary::of_the_system("ruled.c")),
    };
    let Some(library) = library else {
        return missing();
    };
    let sum = match options.only {
        None if options.is_written => {
            let name = if options.is_five {
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
