//! Whether what reductions give has the bits of the groupings of their algorithms: runs each algorithm of Open MPI,
//! or of MPICH, or trees of all shapes on several hosts, and compares every call.

use std::process::ExitCode;

use collbench_tests::{
    Cluster, MpichSchedules, RuledLibrary, Runner, Schedules, compare_groupings_of_trees, forced,
    groupings_of,
};

/// What `--help` prints.
const HELP: &str = "\
grouping-agreement [--library system|5|mpich4|mpich5|trees] [--processes N,N..] [--bytes N,N..] [--algorithm N] [--runs N]

The status is 1 where something differs. 'trees': those of all shapes, on three hosts that are made on this machine, with
ranks block by block and round robin; their segments are compared too.
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
    let mut library = "system".to_owned();
    let mut processes: Vec<usize> = (4..=12).collect();
    let mut lengths = vec![8, 264, 65_536];
    let mut algorithms: Vec<u32> = (1..=7).collect();
    let mut n_runs = 1;
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--help" {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        let value = words.next().unwrap_or_default();
        let numbers = value.split(',').map(str::parse);
        match (&*word, numbers.collect::<Result<Vec<u64>, _>>()) {
            ("--library", _) => library.clone_from(&value),
            ("--processes", Ok(of)) => processes = of.into_iter().map(|n| n as usize).collect(),
            ("--bytes", Ok(of)) => lengths = of,
            ("--algorithm", Ok(of)) => algorithms = of.into_iter().map(|n| n as u32).collect(),
            ("--runs", Ok(of)) => n_runs = of[0],
            _ => {
                eprintln!("grouping-agreement: {word} {value}");
                return ExitCode::from(2);
            }
        }
    }
    let sizes = (&processes[..], &lengths[..]);
    let mut sum = Schedules::default();
    for _ in 0..n_runs {
        let found = match &*library {
            "mpich4" => MpichSchedules::of_debian_with("grouped.c")
                .map(|library| library.compare_groupings(sizes)),
            "mpich5" => MpichSchedules::five_with("grouped.c")
                .map(|library| library.compare_groupings(sizes)),
            "trees" => over_trees(sizes),
            _ => {
                let library = match &*library {
                    "5" => RuledLibrary::five_with("grouped.c"),
                    _ => Some(RuledLibrary::of_the_system_with("grouped.c")),
                };
                library.map(|library| groupings_of(&library, &forced(&algorithms), sizes))
            }
        };
        let Some(found) = found else {
            eprintln!("grouping-agreement: {library} is missing here: run scripts/mpis.sh first");
            return ExitCode::from(2);
        };
        sum.add(found);
    }
    for difference in &sum.differences {
        let short: String = difference.chars().take(600).collect();
        println!("{short}");
    }
    for (algorithm, n) in &sum.equal {
        println!("{n:6} {algorithm}");
    }
    println!(
        "{} calls, {} refused by the library, {} differences",
        sum.equal.values().sum::<u64>(),
        sum.refused,
        sum.differences.len()
    );
    if sum.differences.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// On three hosts, with both mappings.
fn over_trees(sizes: (&[usize], &[u64])) -> Option<Schedules> {
    let cluster = Cluster::up("groupings", &["--hosts", "3"])?;
    let variable = cluster.variable();
    let mut sum = Schedules::default();
    for mapping in ["slot", "node"] {
        let most = sizes.0.iter().max().copied().unwrap_or(1);
        let slots = format!("ppr:{}:node", most.div_ceil(3));
        let by = if mapping == "slot" { &*slots } else { mapping };
        for [ranks, hosts] in SHAPES {
            let text = format!(
                "[[tree]]\noperations = [\"allreduce\"]\nshape = {{ ranks = \"{ranks}\", hosts = \"{hosts}\" }}\n"
            );
            let rooted = text.replace("allreduce", "reduce");
            let has_exchange = [ranks, hosts].contains(&"exchange");
            let text = if has_exchange { text } else { text + &rooted };
            let runner = Runner {
                launcher: vec![cluster.script().into(), "mpirun".into()],
                options: &["--map-by", by],
                variables: &[variable],
            };
            let found = compare_groupings_of_trees(&runner, &text, sizes);
            sum.add(found.renamed(|of| format!("{of}: {ranks}, {hosts} of hosts, by {mapping}")));
        }
    }
    Some(sum)
}
