//! Since when the members of an instance are compared with the one that was waited for.

use crate::instance::{Dependence, Instance};
use crate::process::{Process, did_ns};
use crate::spent::Spent;
use crate::synchronizations::Partial;
use crate::unit::Unit;

/// How the members of an instance are compared with the one that was waited for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Others<'u> {
    pub(crate) unit: &'u Unit<'u>,
    /// Since when, ns.
    pub(crate) from_ns: i64,
    /// Until when at the latest, ns.
    pub(crate) last_enter_ns: i64,
    /// The instance before in which that one and others were together then, where those who did not may have gone on; and when
    /// all members were together before, ns.
    pub(crate) before: Option<(&'u Partial, i64)>,
    /// Whether all are compared since then, until they entered.
    pub(crate) is_plain: bool,
}

impl Others<'_> {
    /// The span in which what the member in a slot did is compared that entered at a time, ns. Who waited is compared until it
    /// did. Who was not in the instance before together with the one that was waited for, but here before it, is compared since
    /// it left that: it may be ahead.
    #[inline(always)]
    pub(crate) fn span(&self, slot: usize, enter_ns: i64) -> [i64; 2] {
        let calls = &self.unit.instance.calls;
        let completions = &calls.completions;
        if self.is_plain {
            return [self.from_ns, enter_ns.min(self.last_enter_ns)];
        }
        if slot == self.unit.on as usize {
            return [self.from_ns, self.last_enter_ns];
        }
        let begin_ns = completions
            .get(slot)
            .map_or(enter_ns, |of| of.completion_ns);
        let has_waited = || {
            calls.waits_ns[slot] > 0
                && calls.releasers[slot] == self.unit.on
                && self.unit.sinces.is_since(slot, self.from_ns)
        };
        match self.before {
            Some((before, all_ns)) if begin_ns <= self.last_enter_ns && !has_waited() => {
                [before.went_on_ns(slot).max(all_ns), begin_ns]
            }
            _ => [self.from_ns, begin_ns.min(self.last_enter_ns)],
        }
    }

    /// Finds out what the member in a slot did that entered at a time; gives how much of that is its own, ns, below 0 where that
    /// is not known. Notes its time in point-to-point communication for its slot, if there is any.
    #[inline(always)]
    pub(crate) fn compare(
        &self,
        process: &Process,
        (slot, enter_ns): (usize, i64),
        row: &mut [i64],
        last: &Spent,
        with_partners: &mut Vec<i64>,
    ) -> i64 {
        let span = self.span(slot, enter_ns);
        if span[1] <= span[0] {
            // It was there already, and did nothing more.
            return -1;
        }
        let spent = last.compare(process, span, row);
        if spent.with_partners_ns > 0 {
            with_partners.resize(self.unit.instance.calls.len(), 0);
            with_partners[slot] = spent.with_partners_ns;
        }
        did_ns(span, spent.in_calls_ns)
    }
}

/// How the members of the instance of a unit are compared since an instant.
pub(crate) fn others_since<'u>(unit: &'u Unit<'u>, from_ns: i64) -> Others<'u> {
    let Unit { instance, on, .. } = *unit;
    let before = match instance.dependence {
        Dependence::All if instance.calls.are_blocking() => None,
        _ => unit.history.partial_at(instance, on as usize, from_ns),
    };
    let before = before.map(|before| {
        let all_ns = unit.history.shared_ns(instance, on as usize, from_ns);
        (before, all_ns.unwrap_or(i64::MIN))
    });
    Others {
        unit,
        from_ns,
        last_enter_ns: instance.calls.enters_ns[on as usize],
        before,
        is_plain: before.is_none() && instance.calls.are_blocking(),
    }
}

/// What the members of an instance did since a time of each of them, which may depend on when it entered, ns by slot, that is
/// their own.
pub(crate) fn did_since(
    instance: &Instance,
    from_ns: impl Fn(&Process, i64) -> i64,
    processes: &[Process],
) -> Vec<i64> {
    let members = instance.members.iter().zip(&instance.calls.enters_ns);
    let did = members.map(|(&member, &enter_ns)| {
        let process = &processes[member as usize];
        let span @ [from_ns, _] = [from_ns(process, enter_ns), enter_ns];
        let in_calls_ns = process.in_calls_ns(from_ns, enter_ns);
        did_ns(span, in_calls_ns.saturating_add(process.launch_ns(span)))
    });
    did.collect()
}
