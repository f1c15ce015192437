//! Whether `collbench-tune` says of MPICH's selection files what the library does with them: makes
//! files up, runs each, and compares every call.
//!
//!     mpich-rule-agreement [--files N] [--seed N] [--only NUMBER] [--show]
//!
//! The status is 1 where something differs. `--only` runs one file of the seed, `--show` prints it.

use std::process::ExitCode;

use collbench_tests::{MpichAgreed, MpichLibrary};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str| {
        let place = words.iter().position(|word| word == name)?;
        words.get(place + 1)?.parse::<u64>().ok()
    };
    let shows = words.iter().any(|word| word == "--show");
    let (files, seed) = (
        number("--files").unwrap_or(30),
        number("--seed").unwrap_or(1),
    );
    let numbers = number("--only").map_or(0..files, |only| only..only + 1);
    let Some(library) = MpichLibrary::of_debian() else {
        eprintln!("mpich-rule-agreement: Debian's MPICH is missing: run scripts/mpis.sh first");
        return ExitCode::from(2);
    };
    let mut sum = MpichAgreed::default();
    for number in numbers {
        let agreed = library.compare(seed, number, shows);
        for difference in &agreed.differences {
            println!("{difference}");
        }
        sum.add(agreed);
    }
    println!(
        "seed {seed}: {} files, {} of them refused; {} calls of a process, {} algorithms in them, {} different ones; \
         {} calls said to end the program, {} of them made; {} undefined, not made; {} differences",
        sum.files,
        sum.refused,
        sum.calls,
        sum.algorithms,
        sum.names.len(),
        sum.fatal,
        sum.fatal_made,
        sum.undefined,
        sum.differences.len()
    );
    if sum.differences.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
