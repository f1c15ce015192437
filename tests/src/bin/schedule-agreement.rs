//! Whether the messages of collectives are those of the schedules of their algorithms: runs each
//! algorithm of Open MPI, or of MPICH, and compares every call.

use std::process::ExitCode;

use clap::Parser;
use collbench_tests::{MpichSchedules, RuledLibrary, Schedules, compare_schedules, forced};

/// Compares the messages of every call with the schedule of its algorithm. The status is 1 where something
/// differs.
#[derive(Parser)]
struct Options {
    #[arg(long, value_parser = ["system", "5", "mpich4", "mpich5"], default_value = "system")]
    library: String,
    /// Sizes of communicators
    #[arg(long, value_delimiter = ',', default_value = "2,3,5,8,12")]
    processes: Vec<usize>,
    /// Payloads, multiples of 4
    #[arg(long, value_delimiter = ',', default_value = "8,4096,262144")]
    bytes: Vec<u64>,
    /// Only the algorithms of Open MPI with these numbers
    #[arg(long, value_delimiter = ',', default_value = "1,2,3,4,5,6,7,8,9")]
    algorithm: Vec<u32>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let (processes, lengths) = (&options.processes[..], &options.bytes[..]);
    let sum = match &*options.library {
        "mpich4" => {
            MpichSchedules::of_debian("schedules.c").map(|of| of.compare(processes, lengths))
        }
        "mpich5" => MpichSchedules::five("schedules.c").map(|of| of.compare(processes, lengths)),
        library => {
            let library = match library {
                "5" => RuledLibrary::five("schedules.c"),
                _ => Some(RuledLibrary::of_the_system("schedules.c")),
            };
            library.map(|library| {
                let mut sum = Schedules::default();
                for forced in forced(&options.algorithm) {
                    sum.add(compare_schedules(&library, forced, (processes, lengths)));
                }
                sum
            })
        }
    };
    let Some(sum) = sum else {
        eprintln!("schedule-agreement: the library is missing: run scripts/mpis.sh first");
        return ExitCode::from(2);
    };
    sum.report()
}
