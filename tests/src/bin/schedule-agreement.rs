//! Whether the messages of collectives are those of the schedules of their algorithms: runs each
//! algorithm of Open MPI, and compares every call.

use std::process::ExitCode;

use collbench_tests::{RuledLibrary, Schedules, compare_schedules, forced};

/// What `--help` prints.
const HELP: &str = "\
schedule-agreement [--library system|5] [--processes N,N..] [--bytes N,N..] [--algorithm N]

The status is 1 where something differs.
--processes  sizes of communicators [default: 2,3,5,8,12]
--bytes      payloads, multiples of 4 [default: 8,4096,262144]
--algorithm  only the algorithms with this number
";

fn main() -> ExitCode {
    let mut is_five = false;
    let mut processes = vec![2, 3, 5, 8, 12];
    let mut lengths = vec![8, 4096, 262_144];
    let mut algorithms: Vec<u32> = (1..=9).collect();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--help" {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        let value = words.next().unwrap_or_default();
        let numbers = || {
            value
                .split(',')
                .map(str::parse)
                .collect::<Result<Vec<u64>, _>>()
        };
        match (&*word, numbers()) {
            ("--library", _) => is_five = value == "5",
            ("--processes", Ok(of)) => processes = of.into_iter().map(|n| n as usize).collect(),
            ("--bytes", Ok(of)) => lengths = of,
            ("--algorithm", Ok(of)) => algorithms = of.into_iter().map(|n| n as u32).collect(),
            _ => {
                eprintln!("schedule-agreement: {word} {value}");
                return ExitCode::from(2);
            }
        }
    }
    let library = match is_five {
        true => RuledLibrary::five_with("schedules.c"),
        false => Some(RuledLibrary::of_the_system_with("schedules.c")),
    };
    let Some(library) = library else {
        eprintln!("schedule-agreement: Open MPI 5 is missing: run scripts/mpis.sh first");
        return ExitCode::from(2);
    };
    let mut sum = Schedules::default();
    for forced in forced(&algorithms) {
        sum.add(compare_schedules(&library, forced, (&processes, &lengths)));
    }
    for difference in sum.differences.iter().take(40) {
        let short: String = difference.chars().take(600).collect();
        println!("{short}");
    }
    for (algorithm, n) in &sum.equal {
        println!("{n:6} {algorithm}");
    }
    println!(
        "{} calls, {} refused by the library, {} whose order depends on time, {} differences",
        sum.equal.values().sum::<u64>(),
        sum.refused,
        sum.without_order,
        sum.differences.len()
    );
    if sum.differences.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
