//! Parameters of LogP from the messages that a trace recorded inside collectives.
//!
//! o_s is the median duration of a sending call, o_r that of the shortest few receives, whose
//! messages had arrived before; half the shortest round trip less these is L. Nothing here compares
//! clocks of different hosts.

mod read;
mod robust;
mod samples;

use std::io::{self, Write};
use std::path::Path;

use collbench_text::quantity::{counted, fine_duration};
use serde::Serialize;

use super::links::{self, KnownClass};
use super::model::{Class, Estimate, Pair};
use crate::overhead::empty_table;
use read::Process;
use samples::Samples;

/// The part of receives that are shorter than what is taken for o_r: no receive is shorter than its
/// overhead, and in programs that communicate much few messages have arrived before.
const SHORTEST: f64 = 0.02;

/// The document `collbench.bench.logp/1` of a recorded trace.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Recorded {
    schema: &'static str,
    command: Vec<String>,
    network: &'static str,
    trace: String,
    /// Host of each process of the trace, by rank.
    hosts: Vec<String>,
    /// Pairs of processes that sent messages to each other.
    pairs: Vec<Pair>,
    classes: Vec<OfClass>,
    /// What the benchmark measured before, of a links file.
    beside: Vec<KnownClass>,
    /// What could not be measured, and why.
    invalid: Vec<String>,
}

/// Parameters of links of one class. `None`: fewer than 30 messages show it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OfClass {
    #[serde(flatten)]
    class: Class,
    /// Small messages, by their sends and by their receives.
    sends: usize,
    receives: usize,
    /// o_s.
    send_overhead: Option<Estimate>,
    /// o_r.
    receive_overhead: Option<Estimate>,
    /// L, without the error of the shortest round trip.
    latency: Option<Estimate>,
    /// Where o_r is unknown, what L is at most: half the shortest round trip less o_s, ns.
    latency_at_most_ns: Option<f64>,
    /// Time from one send to the next one in the same call: o_s or g, whichever is longer.
    send_interval: Option<Estimate>,
    /// Its slope over the size of messages, ns per byte.
    interval_per_byte: Option<Estimate>,
}

impl Recorded {
    /// Reads a trace, and the links file beside which it is shown.
    ///
    /// # Errors
    /// Says which file cannot be read.
    pub(super) fn of(directory: &Path, beside: Option<&Path>) -> anyhow::Result<Self> {
        let beside = beside.map_or(Ok(Vec::new()), links::read)?;
        let processes = read::processes(directory)?;
        let (pairs, n_round_trips) = samples::round_trips(&processes);
        let classes = Class::of(&pairs).into_iter();
        let classes: Vec<OfClass> = classes
            .map(|class| OfClass::of(class, &pairs, &processes))
            .collect();
        Ok(Self {
            schema: "collbench.bench.logp/1",
            command: std::env::args().collect(),
            network: "recorded",
            trace: directory.display().to_string(),
            invalid: invalid(&processes, &classes, n_round_trips),
            hosts: processes.into_iter().map(|process| process.host).collect(),
            pairs,
            classes,
            beside,
        })
    }
}

impl OfClass {
    fn of(class: Class, pairs: &[Pair], processes: &[Process]) -> Self {
        let mut samples = Samples::default();
        for process in processes {
            let links = class.pairs.iter().map(|&idx| &pairs[idx]);
            let partners: Vec<usize> = links
                .filter_map(|pair| match process.rank {
                    rank if rank == pair.from => Some(pair.to),
                    rank if rank == pair.to => Some(pair.from),
                    _ => None,
                })
                .collect();
            samples.add(process, |partner| partners.contains(&partner));
        }
        let send_overhead = robust::quantile(&samples.sends_ns, 0.5);
        // Longer ones waited for their messages.
        let is_overhead = |received: &Estimate| received.ns < class.from_ns / 2.0;
        let receive_overhead = robust::quantile(&samples.receives_ns, SHORTEST);
        let receive_overhead = receive_overhead.filter(is_overhead);
        let (latency, latency_at_most_ns) = latency(class.from_ns, send_overhead, receive_overhead);
        let times: Vec<f64> = samples
            .intervals
            .iter()
            .map(|interval| interval.1)
            .collect();
        Self {
            sends: samples.sends_ns.len(),
            receives: samples.receives_ns.len(),
            send_overhead,
            receive_overhead,
            latency,
            latency_at_most_ns,
            send_interval: robust::quantile(&times, 0.5),
            interval_per_byte: robust::slope(&samples.intervals),
            class,
        }
    }
}

/// L by the shortest round trip and the overheads, or, where o_r is unknown, what it is at most, ns.
fn latency(
    round_trip_ns: f64,
    sent: Option<Estimate>,
    received: Option<Estimate>,
) -> (Option<Estimate>, Option<f64>) {
    let half = Estimate {
        ns: round_trip_ns / 2.0,
        error_ns: 0.0,
    };
    let Some(sent) = sent else {
        return (None, None);
    };
    let at_most = Estimate::sum([(1.0, half), (-1.0, sent)]);
    match received {
        Some(received) => {
            let latency = at_most.minus(received);
            (Some(latency).filter(|latency| latency.ns > 0.0), None)
        }
        None => (None, Some(at_most.ns).filter(|ns| *ns > 0.0)),
    }
}

fn invalid(processes: &[Process], classes: &[OfClass], n_round_trips: usize) -> Vec<String> {
    let mut invalid = Vec::new();
    let n_cut = processes.iter().filter(|process| process.is_cut).count();
    if n_cut > 0 {
        invalid.push(format!(
            "{n_cut} of {} ranks: only the first {} messages of each are used, and no round trips",
            processes.len(),
            read::MOST
        ));
    }
    if n_round_trips == 0 {
        invalid.push(
            "round trips: no two ranks sent messages to each other whose ends were all recorded, on a \
             communicator of the program; were messages recorded (--layers +messages)?"
                .to_owned(),
        );
    }
    for of_class in classes {
        let fewest = of_class.sends.min(of_class.receives);
        if fewest < robust::LEAST {
            invalid.push(format!(
                "{}: {} sends and {} receives of at most 4096 bytes were recorded with both ends; \
                 {} are needed",
                of_class.class.name,
                of_class.sends,
                of_class.receives,
                robust::LEAST
            ));
        } else if of_class.receive_overhead.is_none() {
            invalid.push(format!(
                "o_r of {}: next to none of {} receives is shorter than half the shortest round trip: \
                 their messages had not arrived before",
                of_class.class.name, of_class.receives
            ));
        }
    }
    invalid
}

/// Writes the result as text.
pub(super) fn write(recorded: &Recorded, output: &mut impl Write) -> io::Result<()> {
    let n = counted(recorded.hosts.len(), "rank");
    writeln!(
        output,
        "LogP of the links between {n}, from messages inside collectives"
    )?;
    writeln!(output, "  trace    {}", recorded.trace)?;
    writeln!(output, "  command  {}\n", recorded.command.join(" "))?;
    let mut table = empty_table(&[
        "links",
        "pairs",
        "shortest round trip",
        "o_s",
        "o_r",
        "L",
        "send to send",
        "per byte",
    ]);
    for of_class in &recorded.classes {
        let known = |estimate: Option<Estimate>| match estimate {
            None => "unknown".to_owned(),
            Some(Estimate { ns, error_ns }) => {
                format!("{} +- {}", fine_duration(ns), fine_duration(error_ns))
            }
        };
        let per_byte = of_class.interval_per_byte;
        table.add_row(vec![
            of_class.class.name.clone(),
            of_class.class.pairs.len().to_string(),
            fine_duration(of_class.class.from_ns),
            known(of_class.send_overhead),
            known(of_class.receive_overhead),
            match of_class.latency_at_most_ns {
                Some(ns) => format!("at most {}", fine_duration(ns)),
                None => known(of_class.latency),
            },
            known(of_class.send_interval),
            per_byte.map_or("unknown".to_owned(), |slope| {
                // Also turns -0 into 0.
                let ns = (slope.ns * 1e4).round() / 1e4 + 0.0;
                format!("{ns:.4} +- {:.4} ns", slope.error_ns)
            }),
        ]);
    }
    for known in &recorded.beside {
        table.add_row(known_row(known));
    }
    writeln!(output, "{}\n", table.trim_fmt())?;
    for invalid in &recorded.invalid {
        writeln!(output, "invalid: {invalid}")?;
    }
    Ok(())
}

/// What the benchmark measured of a class, in the columns of the table: the gap stands below the
/// time from send to send.
fn known_row(known: &KnownClass) -> Vec<String> {
    let of = |ns: Option<f64>| ns.map_or("unknown".to_owned(), fine_duration);
    let at_most = if known.g_is_visible { "" } else { "at most " };
    let gap = known
        .g_ns
        .map(|ns| format!("{at_most}{}", fine_duration(ns)));
    let per_byte = known.G_ns.map(|ns| format!("{ns:.4} ns"));
    let unknown = || "unknown".to_owned();
    vec![
        format!("{}, benchmark", known.name),
        String::new(),
        fine_duration(known.round_trip_from_ns),
        of(known.o_s_ns),
        of(known.o_r_ns),
        of(known.L_ns),
        gap.unwrap_or_else(unknown),
        per_byte.unwrap_or_else(unknown),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_receive_overhead_the_latency_has_a_bound_only() {
        let of = |ns: f64| Some(Estimate { ns, error_ns: 1.0 });
        let (exact, at_most) = latency(270e3, of(24e3), of(3e3));
        assert_eq!(exact.map(|exact| exact.ns), Some(108e3));
        assert_eq!(at_most, None);
        assert_eq!(latency(270e3, of(24e3), None), (None, Some(111e3)));
        assert_eq!(latency(270e3, None, of(3e3)), (None, None));
        assert_eq!(latency(40e3, of(24e3), None), (None, None));
    }

    #[test]
    fn the_schema_is_that_of_the_types() {
        #[derive(schemars::JsonSchema)]
        #[serde(untagged)]
        #[expect(dead_code, reason = "only its schema is needed")]
        enum Logp {
            Measured(Box<super::super::figures::Figures>),
            Recorded(Recorded),
        }
        collbench_schemas::check::<Logp>("collbench.bench.logp/1");
    }
}
