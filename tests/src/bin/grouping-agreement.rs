//! Whether what reductions give has the bits of the groupings of their algorithms: runs each algorithm of Open MPI,
//! or of MPICH, or trees of all shapes, and compares every call.

use std::process::ExitCode;

use clap::Parser;
use collbench_tests::{
    Cluster, MpichSchedules, RuledLibrary, Runner, Schedules, compare_groupings_of_trees, forced,
    groupings_of,
};

/// Compares what every reduction gives with the grouping of its algorithm. The status is 1 where something
/// differs.
#[derive(Parser)]
struct Options {
    /// 'hosts': Open MPI of the system, on three hosts that are made on this machine, with ranks block by
    /// block and round robin; 'trees': trees of all shapes, on such hosts
    #[arg(
        long,
        value_parser = ["system", "5", "mpich4", "mpich5", "hosts", "trees"],
        default_value = "system"
    )]
    library: String,
    /// Sizes of communicators
    #[arg(long, value_delimiter = ',', default_value = "4,5,6,7,8,9,10,11,12")]
    processes: Vec<usize>,
    /// Payloads, multiples of 8
    #[arg(long, value_delimiter = ',', default_value = "8,264,65536")]
    bytes: Vec<u64>,
    /// Only the algorithms of Open MPI with these numbers
    #[arg(long, value_delimiter = ',', default_value = "1,2,3,4,5,6,7")]
    algorithm: Vec<u32>,
    /// How often
    #[arg(long, value_name = "N", default_value_t = 1)]
    runs: u64,
}

/// Shapes of trees, within a host and of hosts.
const SHAPES: [[&str; 2]; 8] = [
    ["linear", "linear"],
    ["chain 2", "chain 1"],
    ["binary", "4-nomial"],
    ["binomial", "binomial"],
    ["in-order binary", "in-order binary"],
    ["4-nomial", "binary"],
    ["exchange", "linear"],
    ["linear", "exchange"],
];

fn main() -> ExitCode {
    let Options {
        library,
        processes,
        bytes,
        algorithm: algorithms,
        runs,
    } = Options::parse();
    let sizes = (&processes[..], &bytes[..]);
    let mut sum = Schedules::default();
    for _ in 0..runs {
        let found = match &*library {
            "mpich4" => MpichSchedules::of_debian("grouped.c")
                .map(|library| library.compare_groupings(sizes)),
            "mpich5" => {
                MpichSchedules::five("grouped.c").map(|library| library.compare_groupings(sizes))
            }
            "hosts" => with_mappings(sizes.0, |runner| {
                let library = RuledLibrary::of_the_system("grouped.c");
                groupings_of(&library, runner, &forced(&algorithms), sizes)
            }),
            "trees" => with_mappings(sizes.0, |runner| over_trees(runner, sizes)),
            _ => {
                let library = match &*library {
                    "5" => RuledLibrary::five("grouped.c"),
                    _ => Some(RuledLibrary::of_the_system("grouped.c")),
                };
                let here = Runner::default();
                library.map(|library| groupings_of(&library, &here, &forced(&algorithms), sizes))
            }
        };
        let Some(found) = found else {
            eprintln!("grouping-agreement: {library} is missing here: run scripts/mpis.sh first");
            return ExitCode::from(2);
        };
        sum.add(found);
    }
    sum.report()
}

/// What is found on three hosts with both mappings.
fn with_mappings(
    processes: &[usize],
    each: impl Fn(&Runner<'_>) -> Schedules,
) -> Option<Schedules> {
    let cluster = Cluster::up("groupings", &["--hosts", "3"])?;
    let variable = cluster.variable();
    let most = processes.iter().max().copied().unwrap_or(1);
    let blocks = format!("ppr:{}:node", most.div_ceil(3));
    let mut sum = Schedules::default();
    for (by, name) in [(&*blocks, "block by block"), ("node", "round robin")] {
        let found = each(&Runner {
            launcher: vec![cluster.script().into(), "mpirun".into()],
            options: &["--map-by", by],
            variables: &[variable],
        });
        sum.add(found.renamed(|of| format!("{of}, {name}")));
    }
    Some(sum)
}

/// Trees of all shapes.
fn over_trees(runner: &Runner<'_>, sizes: (&[usize], &[u64])) -> Schedules {
    let mut sum = Schedules::default();
    for [ranks, hosts] in SHAPES {
        let of = |operation: &str| {
            format!(
                "[[tree]]\noperations = [\"{operation}\"]\nshape = {{ ranks = \"{ranks}\", hosts = \"{hosts}\" }}\n"
            )
        };
        // An exchange has no root.
        let has_exchange = [ranks, hosts].contains(&"exchange");
        let rooted = if has_exchange {
            String::new()
        } else {
            of("reduce")
        };
        let text = of("allreduce") + &rooted;
        let found = compare_groupings_of_trees(runner, &text, sizes);
        sum.add(found.renamed(|of| format!("{of}: {ranks}, {hosts} of hosts")));
    }
    sum
}
