//! Which of several candidates a program has used, in sentences.

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{AdaptationSummary, AdaptedCandidate};
use collbench_text::quantity::{counted, counted_grouped, duration, share, size_range};

use crate::words::communicators;

/// A sentence or two for each operation with several candidates, those with the most calls first.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<String> {
    let mut all: Vec<&AdaptationSummary> = analysis.adaptations.iter().collect();
    all.sort_by_key(|of| std::cmp::Reverse(of.calls));
    all.iter().map(|of| sentence(analysis, of)).collect()
}

/// `MPI_Allreduce on MPI_COMM_WORLD, 8 to 15 bytes`.
pub(crate) fn title(analysis: &Analysis, of: &AdaptationSummary) -> String {
    let mut title = format!(
        "{} on {}",
        &*of.operation,
        communicators::communicator(analysis, Some(of.communicator), 60)
    );
    if let Some(root) = of.root {
        title += &format!(", root {root}");
    }
    if of.bytes_max > 0 {
        title += &format!(", {}", size_range(of.bytes_min, of.bytes_max));
    }
    title
}

fn sentence(analysis: &Analysis, of: &AdaptationSummary) -> String {
    let in_use = &of.candidates[of.in_use];
    let since = of
        .points
        .iter()
        .rev()
        .find(|point| point.in_use != point.before);
    let since = match since {
        Some(point) => format!("since call {}", point.calls),
        None => "from the first call on".to_owned(),
    };
    let time = in_use
        .call_ns
        .map_or(String::new(), |ns| format!(", {} a call", duration(ns)));
    let others = of.candidates.iter().enumerate();
    let others: Vec<String> = others
        .filter(|(nth, _)| *nth != of.in_use)
        .map(|(_, other)| compared(other))
        .collect();
    format!(
        "{}: {} is in use {since}{time}; {}. {} in {}; trying others took {} longer over all ranks, {} of it in their \
         first calls",
        title(analysis, of),
        &*in_use.name,
        others.join("; "),
        counted(of.switches, "change"),
        counted_grouped(of.calls, "call"),
        duration(of.cost_ns.saturating_add(of.first_cost_ns)),
        duration(of.first_cost_ns),
    )
}

/// How another candidate compares with the one in use.
fn compared(other: &AdaptedCandidate) -> String {
    let name = &*other.name;
    let measured = match other.call_ns {
        _ if &*other.standing == "unable" => return format!("{name} could not execute the calls"),
        Some(ns) if other.calls == 0 => {
            let call = duration(ns);
            return format!("{name} was not tried: by an earlier run it takes {call}");
        }
        Some(ns) => format!(
            "{name} took {} in {}",
            duration(ns),
            counted(other.calls, "call")
        ),
        None => return format!("{name} was not tried"),
    };
    match other.longer {
        Some(gain) if gain.lower > 0.0 => {
            takes_longer(name, [gain.estimate, gain.lower, gain.upper])
        }
        Some(gain) if gain.upper < 0.0 => format!(
            "{name} takes {} less ({} to {})",
            share(-gain.estimate),
            share(-gain.upper),
            share(-gain.lower)
        ),
        _ => format!("{measured}, too few or too different to say whether it is better"),
    }
}

/// `the MPI library takes 40 % longer (35 % to 46 %)`, from the share and its interval.
pub(crate) fn takes_longer(name: &str, gain: [f64; 3]) -> String {
    let [estimate, lower, upper] = gain.map(share);
    format!("{name} takes {estimate} longer ({lower} to {upper})")
}
