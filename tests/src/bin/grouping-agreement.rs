//! Whether what reductions give has the bits of the groupings of their algorithms: runs each algorithm of Open MPI,
//! or of MPICH, or trees of all shapes, and compares every call.

use std::process::ExitCode;

use collbench_tests::{
    Asked, Cluster, MpichSchedules, RuledLibrary, Runner, Schedules, compare_groupings_of_trees,
    forced, groupings_of,
};

/// What `--help` prints.
const HELP: &str = "\
grouping-agreement [--library system|5|mpich4|mpich5|hosts|trees] [--processes N,N..] [--bytes N,N..] [--algorithm N] [--runs N]

The status is 1 where something differs. 'hosts': Open MPI of the system, on three hosts that are made on this machine,
with ranks block by block and round robin. 'trees': trees of all shapes, on such hosts.
--processes  sizes of communicators [default: 4,5,6,7,8,9,10,11,12]
--bytes      payloads, multiples of 8 [default: 8,264,65536]
--algorithm  only the algorithms of Open MPI with this number
--runs       how often [default: 1]
";

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
    let asked = Asked {
        library: "system".to_owned(),
        processes: (4..=12).collect(),
        lengths: vec![8, 264, 65_536],
        algorithms: (1..=7).collect(),
        n_runs: 1,
    };
    let Asked {
        library,
        processes,
        lengths,
        algorithms,
        n_runs,
    } = match asked.or_by_words("grouping-agreement", HELP) {
        Ok(asked) => asked,
        Err(status) => return status,
    };
    let sizes = (&processes[..], &lengths[..]);
    let mut sum = Schedules::default();
    for _ in 0..n_runs {
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
