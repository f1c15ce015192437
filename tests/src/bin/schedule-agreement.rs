//! Whether the messages of collectives are those of the schedules of their algorithms: runs each
//! algorithm of Open MPI, or of MPICH, and compares every call.

use std::process::ExitCode;

use collbench_tests::{MpichSchedules, RuledLibrary, Schedules, compare_schedules, forced};

/// What `--help` prints.
const HELP: &str = "\
schedule-agreement [--library system|5|mpich4|mpich5] [--processes N,N..] [--bytes N,N..] [--algorithm N]

The status is 1 where something differs.
--processes  sizes of communicators [default: 2,3,5,8,12]
--bytes      payloads, multiples of 4 [default: 8,4096,262144]
--algorithm  only the algorithms of Open MPI with this number
";

fn main() -> ExitCode {
    let mut library = "system".to_owned();
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
            ("--library", _) => library.clone_from(&value),
            ("--processes", Ok(of)) => processes = of.into_iter().map(|n| n as usize).collect(),
            ("--bytes", Ok(of)) => lengths = of,
            ("--algorithm", Ok(of)) => algorithms = of.into_iter().map(|n| n as u32).collect(),
            _ => {
                eprintln!("schedule-agreement: {word} {value}");
                return ExitCode::from(2);
            }
        }
    }
    let sum = match &*library {
        "mpich4" => MpichSchedules::of_debian().map(|of| of.compare(&processes, &lengths)),
        "mpich5" => MpichSchedules::five().map(|of| of.compare(&processes, &lengths)),
        _ => {
            let library = match &*library {
                "5" => RuledLibrary::five_with("schedules.c"),
                _ => Some(RuledLibrary::of_the_system_with("schedules.c")),
            };
            library.map(|library| {
                let mut sum = Schedules::default();
                for forced in forced(&algorithms) {
                    sum.add(compare_schedules(&library, forced, (&processes, &lengths)));
                }
                sum
            })
        }
    };
    let Some(sum) = sum else {
        eprintln!("schedule-agreement: the library is missing: run scripts/mpis.sh first");
        return ExitCode::from(2);
    };
    for difference in sum.differences.iter() {
        let short: String = difference.chars().take(600).collect();
        println!("{short}");
    }
    for (algorithm, n) in &sum.equal {
        println!("{n:6} {algorithm}");
    }
    println!(
        "{} calls, {} refused by the library, {} that cannot be compared, {} differences",
        sum.equal.values().sum::<u64>(),
        sum.refused,
        sum.not_comparable,
        sum.differences.len()
    );
    if sum.differences.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
