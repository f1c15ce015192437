//! Whether the messages of collectives are those of the schedules of their algorithms: runs each
//! algorithm of Open MPI, or of MPICH, and compares every call.

use std::process::ExitCode;

use collbench_tests::{Asked, MpichSchedules, RuledLibrary, Schedules, compare_schedules, forced};

/// What `--help` prints.
const HELP: &str = "\
schedule-agreement [--library system|5|mpich4|mpich5] [--processes N,N..] [--bytes N,N..] [--algorithm N]

The status is 1 where something differs.
--processes  sizes of communicators [default: 2,3,5,8,12]
--bytes      payloads, multiples of 4 [default: 8,4096,262144]
--algorithm  only the algorithms of Open MPI with this number
";

fn main() -> ExitCode {
    let asked = Asked {
        library: "system".to_owned(),
        processes: vec![2, 3, 5, 8, 12],
        lengths: vec![8, 4096, 262_144],
        algorithms: (1..=9).collect(),
        n_runs: 1,
    };
    let Asked {
        library,
        processes,
        lengths,
        algorithms,
        ..
    } = match asked.or_by_words("schedule-agreement", HELP) {
        Ok(asked) => asked,
        Err(status) => return status,
    };
    let sum = match &*library {
        "mpich4" => {
            MpichSchedules::of_debian("schedules.c").map(|of| of.compare(&processes, &lengths))
        }
        "mpich5" => MpichSchedules::five("schedules.c").map(|of| of.compare(&processes, &lengths)),
        _ => {
            let library = match &*library {
                "5" => RuledLibrary::five("schedules.c"),
                _ => Some(RuledLibrary::of_the_system("schedules.c")),
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
    sum.report()
}
