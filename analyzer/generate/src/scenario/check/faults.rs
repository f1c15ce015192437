//! Checks the faults of a scenario.

use toml::Spanned;

use super::file::Check;
use crate::scenario::written::WrittenFault;
use crate::scenario::{Fault, ScenarioError};

impl Check<'_> {
    pub(super) fn read_faults(
        &self,
        written: Vec<Spanned<WrittenFault>>,
        has_threads: bool,
    ) -> Result<Vec<Fault>, ScenarioError> {
        let mut faults = vec![Fault::None; self.host_of.len()];
        for fault in written {
            let span = fault.span();
            let fault = fault.into_inner();
            let mut kinds = Vec::new();
            kinds.extend(fault.killed_after_calls.map(|after_calls| Fault::Killed {
                after_calls,
                in_flight: fault.in_flight.unwrap_or(true),
            }));
            kinds.extend(fault.no_finalize.then_some(Fault::NoFinalize));
            kinds.extend(fault.cut_at_byte.map(Fault::CutAtByte));
            kinds.extend(fault.cut_at_fraction.map(Fault::CutAtFraction));
            kinds.extend(fault.damaged_chunk.map(Fault::DamagedChunk));
            kinds.extend(fault.missing.then_some(Fault::Missing));
            kinds.extend(
                fault
                    .size_reached_after_calls
                    .map(|after_calls| Fault::SizeReached { after_calls }),
            );
            let [kind] = kinds[..] else {
                let expected = "exactly one of killed_after_calls, no_finalize, cut_at_byte, \
                                cut_at_fraction, damaged_chunk, missing, \
                                size_reached_after_calls";
                return self.wrong(span, format!("{} kinds of faults", kinds.len()), expected);
            };
            if fault.rank >= self.n_ranks {
                let expected = format!("0 to {}", self.n_ranks - 1);
                return self.wrong(span, format!("rank = {}", fault.rank), expected);
            }
            let slot = &mut faults[fault.rank as usize];
            if *slot != Fault::None {
                let found = format!("a second fault for rank {}", fault.rank);
                return self.wrong(span, found, "at most one fault per rank");
            }
            if let Fault::CutAtFraction(part) = kind
                && !(0.0..=1.0).contains(&part)
            {
                return self.wrong(span, format!("cut_at_fraction = {part}"), "0 to 1");
            }
            let is_damage = matches!(
                kind,
                Fault::CutAtByte(_) | Fault::CutAtFraction(_) | Fault::DamagedChunk(_)
            );
            if has_threads && is_damage {
                let expected = "a scenario without threads, since the truth about a damaged file is \
                                computed for one thread only";
                return self.wrong(span, "a damaged file", expected);
            }
            *slot = kind;
        }
        Ok(faults)
    }
}
