//! Why collectives take longer than they need to, in sentences: what is wrong, and what to try.

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{
    AlgorithmTrouble, CausePlace, Confidence, CostFacts, Doubt, OperationCause, OperationSummary,
    UnexplainedOperation, WhyUnexplained,
};
use collbench_text::inert;
use collbench_text::quantity::{counted, duration, short_count, size};

use crate::words;

/// Characters of the name of a host.
const MAX_HOST: usize = 24;
/// How often the data of one rank cross a link in one direction from which on that is often.
const MORE_THAN_ONCE: f64 = 1.5;
/// Characters of the path of a trace.
const MAX_PATH: usize = 120;
/// Characters of the name of an algorithm.
const MAX_NAME: usize = 80;

/// Why a collective takes longer than it needs to, as a sentence without a capital and a full stop.
pub(crate) fn operation_cause(analysis: &Analysis, cause: &OperationCause) -> String {
    let operation = analysis.operations.get(cause.operation);
    let likely = match cause.confidence {
        Confidence::Likely => "probably ",
        Confidence::Sure => "",
    };
    let per_instance = duration(cause.per_instance_ns);
    let subject = subject(analysis, operation);
    match &cause.facts {
        CostFacts::Link {
            median_ns,
            usual_ns,
            n,
            round_trip_ns,
            usual_round_trip_ns,
        } => {
            let round_trip = match (round_trip_ns, usual_round_trip_ns) {
                (Some(own), Some(usual)) if own.saturating_mul(2) >= usual.saturating_mul(3) => {
                    format!(
                        "; the round trip is {}, between others {}",
                        duration(*own),
                        duration(*usual)
                    )
                }
                (Some(own), Some(_)) => format!(
                    "; its round trip outside of collectives, {}, is as usual",
                    duration(*own)
                ),
                _ => String::new(),
            };
            let crossed = match words::own_trees::crossing(analysis, cause) {
                Some(proxy) => format!(" ({proxy})"),
                None => String::new(),
            };
            format!(
                "the link {} is {likely}slow{crossed}: median transfer {}, between others {} (n = \
                 {n}){round_trip}; {subject} takes {per_instance} longer because of it",
                link(&cause.place),
                duration(*median_ns),
                duration(*usual_ns),
            )
        }
        CostFacts::Placement {
            on_path,
            needed_on_path,
            crossing_ns,
            is_of_order,
            sites,
            hosts,
            ..
        } => {
            let order = if *is_of_order {
                " because of the order of ranks"
            } else {
                ""
            };
            let places = match sites {
                0 | 1 => counted(*hosts, "host"),
                _ => counted(*sites, "site"),
            };
            let others = match cause.others.len() {
                0 => String::new(),
                n => format!(", and likewise {}", counted(n, "more operation")),
            };
            format!(
                "{subject} crosses between {places} {on_path} times one after another{order}, where {needed_on_path} \
                 would do, {} each: {likely}{per_instance} more than needed per call{others}",
                duration(*crossing_ns),
            )
        }
        CostFacts::Transfer {
            bytes,
            transfer_ns,
            bytes_per_s,
            most_per_s,
            times,
            is_in_host,
            ..
        } => {
            let (over, most) = if *is_in_host {
                ("", "within a host")
            } else {
                ("over the link ", "over a link")
            };
            let again = match times {
                Some(times) if *times > MORE_THAN_ONCE => {
                    format!("; the same data cross it {times} times")
                }
                _ => String::new(),
            };
            format!(
                "{subject} {likely}takes {per_instance} per call for the transfer of its data: {} {over}{} in {}, \
                 {} bytes per second (the most {most} in this run: {}){again}",
                size(*bytes),
                link(&cause.place),
                duration(*transfer_ns),
                short_count(*bytes_per_s),
                short_count(*most_per_s),
            )
        }
        CostFacts::Received {
            bytes,
            others_bytes,
        } => format!(
            "in {subject} {} receives {} per call, each of the others {} on average: {likely}{per_instance} more \
             per call than if all received as much",
            node(&cause.place),
            size(*bytes),
            size(*others_bytes),
        ),
        CostFacts::Algorithm {
            trouble,
            path_ns,
            needed_ns,
            ranks,
            ..
        } => {
            let what = match trouble {
                AlgorithmTrouble::Depth { hops, fewest } => {
                    format!("takes {hops} hops one after another, where {fewest} are enough")
                }
                AlgorithmTrouble::Linear { children } => format!(
                    "has one rank exchange messages with {children} others, one after another"
                ),
                AlgorithmTrouble::Segments { n, bytes } => {
                    format!(
                        "sends {n} segments of {} over each edge of its tree",
                        size(*bytes)
                    )
                }
            };
            format!(
                "{subject} among {ranks} ranks{} {what}: {} per call, where {likely}{} would do",
                algorithm(operation),
                duration(*path_ns),
                duration(*needed_ns),
            )
        }
        CostFacts::Serialization {
            children,
            spread_ns,
            path_ns,
            needed_ns,
        } => format!(
            "in {subject}{}, {} serves {} one after another, the last {} after the first: {} per \
             call, where {likely}{} would do",
            algorithm(operation),
            node(&cause.place),
            counted(*children, "rank"),
            duration(*spread_ns),
            duration(*path_ns),
            duration(*needed_ns),
        ),
        CostFacts::NoProgress {
            nobody_in_mpi_ns,
            between_ns,
            completion_ns,
        } => {
            let nobody = match nobody_in_mpi_ns {
                Some(ns) => format!(": for {} no rank is in MPI", duration(*ns)),
                None => String::new(),
            };
            format!(
                "{subject} {likely}does not progress between initiation and completion, {} on \
                 average{nobody}; completing it then takes {}",
                duration(*between_ns),
                duration(*completion_ns),
            )
        }
    }
}

/// What to try against it, as what follows "next: ".
pub(crate) fn operation_cause_next(analysis: &Analysis, cause: &OperationCause) -> String {
    let operation = analysis.operations.get(cause.operation);
    match &cause.facts {
        CostFacts::Link { .. } => match &cause.place {
            CausePlace::Hosts { .. } => format!(
                "measure the link {} alone (ping, iperf), look at its cables, ports and routes, or \
                 leave one of the two hosts out",
                link(&cause.place)
            ),
            _ => format!(
                "compare where {} are bound: cores, sockets, memory",
                link(&cause.place)
            ),
        },
        CostFacts::Placement {
            is_of_order,
            sites,
            can_use_tree,
            ..
        } => {
            let by = if *sites > 1 {
                "site by site"
            } else {
                "host by host"
            };
            let order = format!(
                "place the ranks {by} (for instance by the order of hosts in the hostfile, and --map-by slot)"
            );
            match (is_of_order, can_use_tree) {
                (true, false) => order,
                (true, true) => format!("{}, or {order}", tree(analysis)),
                (false, true) => tree(analysis),
                (false, false) => {
                    format!("use another algorithm{}", parameter(analysis, operation))
                }
            }
        }
        CostFacts::Transfer {
            bytes_per_s,
            most_per_s,
            times,
            is_in_host,
            can_use_tree,
            ..
        } => {
            let less = "send less data, or do something else meanwhile (nonblocking)";
            match times {
                Some(times) if *times > MORE_THAN_ONCE && *can_use_tree && !is_in_host => {
                    format!("{}; or {less}", tree(analysis))
                }
                _ if *is_in_host => format!("{less}: memory takes that long"),
                _ if bytes_per_s.saturating_mul(2) < *most_per_s => {
                    format!("look at what else goes over the link meanwhile; {less}")
                }
                _ => format!("{less}; else only a faster link helps"),
            }
        }
        CostFacts::Received { .. } => format!(
            "let {} receive less: divide its part of the data among the ranks, or let it receive while others compute \
             (nonblocking)",
            node(&cause.place)
        ),
        CostFacts::Algorithm {
            trouble: AlgorithmTrouble::Segments { .. },
            ..
        } => format!(
            "use larger segments or none, or another algorithm{}",
            parameter(analysis, operation)
        ),
        CostFacts::Algorithm { .. } => {
            format!("use another algorithm{}", parameter(analysis, operation))
        }
        CostFacts::Serialization { .. } => format!(
            "use a tree with fewer children per rank{}",
            parameter(analysis, operation)
        ),
        CostFacts::NoProgress { .. } => "call MPI_Test now and then between initiation and \
             completion, or let the MPI library progress in a thread of its own"
            .to_owned(),
    }
}

/// Why it is unknown what the time of an operation is spent on, and what would show it.
pub(crate) fn untold_operation(analysis: &Analysis, unexplained: &UnexplainedOperation) -> String {
    let subject = subject(analysis, analysis.operations.get(unexplained.operation));
    let time = duration(unexplained.operation_time_ns);
    let why = match unexplained.why {
        WhyUnexplained::NoMessages => {
            "messages were not recorded; record with --layers +messages".to_owned()
        }
        WhyUnexplained::Opaque => {
            "the MPI library sent its data without visible messages, for instance through shared \
             memory"
                .to_owned()
        }
        WhyUnexplained::PathUnknown(doubt) => format!(
            "the critical path is not known: {}",
            words::inside::why(doubt)
        ),
    };
    let remedy = match unexplained.why {
        WhyUnexplained::PathUnknown(Doubt::NoCommonTime | Doubt::UnresolvedClocks) => {
            "; record again with more exchanges between the clocks (--exchange)"
        }
        _ => "",
    };
    format!("{subject} takes {time} beside waits: {why}{remedy}")
}

/// `MPI_Bcast on MPI_COMM_WORLD (64 KiB)`.
fn subject(analysis: &Analysis, operation: Option<&OperationSummary>) -> String {
    let Some(operation) = operation else {
        return "the operation".to_owned();
    };
    let payload = payload(operation);
    let on = words::communicator_with(analysis, operation.communicator, 30, payload);
    format!("{} on {on}", operation.operation)
}

/// `64 KiB`: the largest payload; `None` if there is none.
pub(crate) fn payload(operation: &OperationSummary) -> Option<String> {
    operation.bytes_max.filter(|&bytes| bytes > 0).map(size)
}

/// ` (binomial)`: as the library names the algorithm, else as it was recognized.
fn algorithm(operation: Option<&OperationSummary>) -> String {
    let name = operation.and_then(|of| of.library_name.as_ref().or(of.algorithm.as_ref()));
    match name {
        Some(name) => format!(" ({})", inert::line(name, MAX_NAME)),
        None => String::new(),
    }
}

fn link(place: &CausePlace) -> String {
    match place {
        CausePlace::Hosts { from, to } => format!(
            "between {} and {}",
            inert::line(from, MAX_HOST),
            inert::line(to, MAX_HOST)
        ),
        CausePlace::Ranks { from, to } => format!("between ranks {from} and {to}"),
        _ => String::new(),
    }
}

fn node(place: &CausePlace) -> String {
    match place {
        CausePlace::Node(rank) => format!("rank {rank}"),
        _ => "a rank".to_owned(),
    }
}

/// How a tree that crosses as seldom as it can is made, and used.
fn tree(analysis: &Analysis) -> String {
    format!(
        "use a tree by sites and hosts: collbench-tree make hierarchical --trace {} -o trees.toml, then \
         collbench-record --trees trees.toml",
        inert::line(&analysis.trace.directory, MAX_PATH)
    )
}

/// How the algorithm of an operation is chosen in this MPI library, in front of which stands what to
/// do; empty where that is not known.
fn parameter(analysis: &Analysis, operation: Option<&OperationSummary>) -> String {
    operation.map_or_else(String::new, |of| parameter_of(analysis, &of.operation))
}

fn parameter_of(analysis: &Analysis, operation: &str) -> String {
    let name = operation.strip_prefix("MPI_").unwrap_or(operation);
    let name = name.trim_end_matches("_init").to_lowercase();
    let name = match name.strip_prefix('i') {
        Some(blocking) => blocking.to_owned(),
        None => name,
    };
    let library = &analysis.trace.mpi_library;
    if library.contains("Open MPI") {
        let forced = format!("coll_tuned_{name}_algorithm");
        if analysis.trace.command.contains(&forced) {
            return format!(": the command forces one by --mca {forced}; leave that out");
        }
        let Some(better) = open_mpi_algorithm(&name) else {
            return String::new();
        };
        return format!(
            ", for instance by --mca coll_tuned_use_dynamic_rules 1 --mca {forced} {better}"
        );
    }
    if library.contains("MPICH") {
        let Some(better) = mpich_algorithm(&name) else {
            return String::new();
        };
        let variable = format!("MPIR_CVAR_{}_INTRA_ALGORITHM", name.to_uppercase());
        return format!(", for instance by {variable}={better}");
    }
    String::new()
}

/// The number of an algorithm of logarithmic depth in Open MPI's component `tuned`, with its name.
fn open_mpi_algorithm(operation: &str) -> Option<&'static str> {
    Some(match operation {
        "bcast" => "6 (binomial)",
        "reduce" => "5 (binomial)",
        "allreduce" => "3 (recursive doubling)",
        "barrier" => "3 (recursive doubling)",
        "gather" | "scatter" => "2 (binomial)",
        _ => return None,
    })
}

/// The name of an algorithm of logarithmic depth in MPICH.
fn mpich_algorithm(operation: &str) -> Option<&'static str> {
    Some(match operation {
        "bcast" | "reduce" | "gather" | "scatter" => "binomial",
        "allreduce" => "recursive_doubling",
        "barrier" => "k_dissemination",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::nothing::nothing;
    use collbench_analyzer::results::{OperationCauseKind, TraceSummary};

    fn cause(place: CausePlace, confidence: Confidence, facts: CostFacts) -> OperationCause {
        OperationCause {
            kind: OperationCauseKind::Algorithm,
            place,
            operation: 0,
            others: Vec::new(),
            cost_ns: 1_000_000,
            per_instance_ns: 12_000,
            instances: 100,
            run_shorter_ns: 1_200_000,
            confidence,
            facts,
        }
    }

    #[test]
    fn a_slow_link_is_described_with_both_hosts_and_what_is_usual() {
        let place = CausePlace::Hosts {
            from: "n-3".into(),
            to: "n-5".into(),
        };
        let facts = CostFacts::Link {
            median_ns: 1_520_000,
            usual_ns: 62_000,
            n: 240,
            round_trip_ns: Some(3_010_000),
            usual_round_trip_ns: Some(121_000),
        };
        let link = cause(place, Confidence::Sure, facts);
        assert_eq!(
            operation_cause(&nothing(), &link),
            "the link between n-3 and n-5 is slow: median transfer 1.52 ms, between others 62.0 us \
             (n = 240); the round trip is 3.01 ms, between others 121 us; the operation takes 12.0 \
             us longer because of it"
        );
        let next = operation_cause_next(&nothing(), &link);
        assert!(next.contains("between n-3 and n-5 alone"), "{next}");
    }

    #[test]
    fn what_to_try_depends_on_the_library_and_on_what_was_forced() {
        let of = |mpi_library: &str, command: &[&str], name: &str| {
            let empty = nothing();
            let command = command.iter().map(|&word| word.to_owned()).collect();
            let analysis = Analysis {
                trace: TraceSummary {
                    mpi_library: mpi_library.to_owned(),
                    command,
                    ..empty.trace
                },
                ..empty
            };
            parameter_of(&analysis, name)
        };
        assert_eq!(
            of("Open MPI v4.1.4", &[], "MPI_Bcast"),
            ", for instance by --mca coll_tuned_use_dynamic_rules 1 --mca \
             coll_tuned_bcast_algorithm 6 (binomial)"
        );
        let forced = ["mpirun", "--mca", "coll_tuned_bcast_algorithm", "1", "./a"];
        assert_eq!(
            of("Open MPI v4.1.4", &forced, "MPI_Bcast"),
            ": the command forces one by --mca coll_tuned_bcast_algorithm; leave that out"
        );
        assert_eq!(
            of("MPICH Version: 4.2.0", &[], "MPI_Iallreduce"),
            ", for instance by MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM=recursive_doubling"
        );
        assert_eq!(of("Open MPI v4.1.4", &[], "MPI_Scan"), "");
        assert_eq!(of("another library", &[], "MPI_Bcast"), "");
    }

    #[test]
    fn a_transfer_has_its_bandwidth_and_crossings_the_tree_that_has_one() {
        let place = CausePlace::Hosts {
            from: "h1".into(),
            to: "h2".into(),
        };
        let with = |times| CostFacts::Transfer {
            bytes: 1_048_576,
            transfer_ns: 9_240_000,
            bytes_per_s: 113_000_000,
            most_per_s: 115_000_000,
            times: Some(times),
            is_in_host: false,
            can_use_tree: true,
        };
        let once = cause(place.clone(), Confidence::Sure, with(1.0));
        assert_eq!(
            operation_cause(&nothing(), &once),
            "the operation takes 12.0 us per call for the transfer of its data: 1 MiB over the link between h1 \
             and h2 in 9.24 ms, 113M bytes per second (the most over a link in this run: 115M)"
        );
        let next = operation_cause_next(&nothing(), &once);
        assert!(next.starts_with("send less data"), "{next}");
        let again = cause(place, Confidence::Sure, with(4.0));
        let next = operation_cause_next(&nothing(), &again);
        assert!(next.contains("make hierarchical"), "{next}");
        let facts = CostFacts::Placement {
            crossings: 24,
            fewest: 2,
            on_path: 3.0,
            needed_on_path: 1,
            crossing_ns: 2_060_000,
            is_of_order: true,
            sites: 2,
            hosts: 8,
            can_use_tree: true,
        };
        let order = cause(CausePlace::Communicator(Some(0)), Confidence::Sure, facts);
        assert_eq!(
            operation_cause(&nothing(), &order),
            "the operation crosses between 2 sites 3 times one after another because of the order of ranks, where 1 \
             would do, 2.06 ms each: 12.0 us more than needed per call"
        );
        let next = operation_cause_next(&nothing(), &order);
        assert!(
            next.contains("make hierarchical") && next.contains("site by site"),
            "{next}"
        );
    }

    #[test]
    fn a_rank_that_receives_most_is_described_with_what_the_others_receive() {
        let facts = CostFacts::Received {
            bytes: 50_331_648,
            others_bytes: 2_048,
        };
        let one = cause(CausePlace::Node(2), Confidence::Likely, facts);
        assert_eq!(
            operation_cause(&nothing(), &one),
            "in the operation rank 2 receives 48 MiB per call, each of the others 2048 bytes on average: probably \
             12.0 us more per call than if all received as much"
        );
        let next = operation_cause_next(&nothing(), &one);
        assert!(next.starts_with("let rank 2 receive less"), "{next}");
    }

    #[test]
    fn an_assumption_is_said() {
        let facts = CostFacts::Algorithm {
            trouble: AlgorithmTrouble::Segments { n: 256, bytes: 256 },
            path_ns: 2_000_000,
            needed_ns: 270_000,
            ranks: 16,
            bytes: 65_536,
        };
        let place = CausePlace::Communicator(Some(0));
        let text = operation_cause(&nothing(), &cause(place, Confidence::Likely, facts));
        assert_eq!(
            text,
            "the operation among 16 ranks sends 256 segments of 256 bytes over each edge of its tree: 2.00 ms \
             per call, where probably 270 us would do"
        );
    }
}
