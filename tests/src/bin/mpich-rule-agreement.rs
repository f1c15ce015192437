//! Whether `collbench-tune` says of MPICH's selection files what the library does with them: makes
//! files up, runs each, and compares every call.

use std::process::ExitCode;

use collbench_tests::{MpichAgreed, MpichLibrary};

/// What `--help` prints.
const HELP: &str = "\
mpich-rule-agreement [--library 5] [--files N] [--seed N] [--only NUMBER] [--written] [--show]

Of MPICH 5 only whether it loads a file is compared. The status is 1 where something differs.
--only     runs one file of the seed; with --show it is printed
--written  makes up choices of algorithms instead, which are written as files
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--help") {
        print!("{HELP}");
        return ExitCode::SUCCESS;
    }
    let number = |name: &str| {
        let place = words.iter().position(|word| word == name)?;
        words.get(place + 1)?.parse::<u64>().ok()
    };
    let shows = words.iter().any(|word| word == "--show");
    let is_written = words.iter().any(|word| word == "--written");
    let (files, seed) = (
        number("--files").unwrap_or(30),
        number("--seed").unwrap_or(1),
    );
    let numbers = number("--only").map_or(0..files, |only| only..only + 1);
    let is_five = number("--library") == Some(5);
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
        let agreed = if is_written {
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
