//! What the recorder reports of measuring the clocks of hosts against one another.

use std::collections::BTreeMap;

use collbench_formats::Definition;
use collbench_text::inert;

use crate::time::clocks::Clocks;
use crate::trace::run::Run;

/// Characters of a reason that are shown.
const LONGEST_REASON: usize = 200;

/// The recorder's reports other than measurements.
#[derive(Debug, Default)]
pub(crate) struct Exchanges {
    /// Why there are none.
    pub(crate) not_taken: Option<String>,
    /// Why they ended early: one reason of each process that says so.
    pub(crate) ended: Vec<String>,
    /// Ranks whose clock is not that of their host.
    pub(crate) apart: Vec<u32>,
    /// By process, its pauses for measurements while the program ran, ticks.
    pub(crate) pause_ticks: BTreeMap<usize, Vec<u64>>,
}

impl Exchanges {
    /// The reports of all processes. Skipped on one host clock, where there are none, since
    /// definitions may be many.
    pub(crate) fn of(run: &Run<'_>, clocks: &Clocks) -> Self {
        let mut exchanges = Self::default();
        if clocks.hosts.len() < 2 {
            return exchanges;
        }
        for (index, process) in run.processes.iter().enumerate() {
            for definition in process.trace.definitions.iter() {
                match definition {
                    Definition::ClockExchanges { on, reason } if !reason.is_empty() => {
                        let reason = inert::line(&reason, LONGEST_REASON);
                        if on {
                            exchanges.ended.push(reason)
                        } else {
                            exchanges.not_taken = exchanges.not_taken.or(Some(reason))
                        }
                    }
                    Definition::ClockApart { .. } => exchanges.apart.push(process.rank()),
                    Definition::Pause { begin, end } => {
                        let pauses = exchanges.pause_ticks.entry(index).or_default();
                        pauses.push(end.saturating_sub(begin));
                    }
                    _ => {}
                }
            }
            process.give_back(0, u64::MAX);
        }
        exchanges
    }
}
