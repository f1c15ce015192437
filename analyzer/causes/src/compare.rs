//! What a process that was waited for did more than those that waited for it.

use crate::amounts::{add, smallest};
use crate::cause::{Cause, Totals, UnitCost, UnitTimes};
use crate::charged::Charged;
use crate::column::{Column, Shares};
use crate::instance::{Instance, Part};
use crate::levels::{Levels, Spans};
use crate::of_run::OfRun;
use crate::others::{Others, did_since, others_since};
use crate::process::{Process, did_ns, waiting_time};
use crate::processes::Processes;
use crate::spent::{OWN, Spent, WAIT};
use crate::synchronizations::Since;
use crate::unit::Unit;

/// Members of which a median is taken, at least, where only some of them are compared since an instant.
const SAMPLED: usize = 16;

/// Attributes units; the buffers are reused.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// What the process that was waited for did since the instant at hand.
    pub(crate) last: Spent,
    /// Whether that instant is in `MPI_Init`.
    pub(crate) is_start: bool,
    /// Communication point to point, if it mostly polled in what counts as its own work.
    pub(crate) polls: Option<Part>,
    /// Causes of its waits since then.
    pub(crate) causes: Vec<(Cause, i64)>,
    /// What those did that are compared: waits, own work, and each part of the one that was waited for, ns. One column after the
    /// other; in numbers that are exact up to 2^53 ns, which is 104 days. Once their waits are divided, all but waits are how much
    /// more that one did.
    pub(crate) rows: Vec<f64>,
    /// How many are compared; of the first of them the median is taken.
    pub(crate) n_compared: usize,
    pub(crate) n_of_median: usize,
    /// What one of them did.
    row: Vec<i64>,
    /// The columns but for waits, and what is charged for each.
    pub(crate) columns: Vec<Column>,
    pub(crate) shares: Vec<Shares>,
    pub(crate) values: Vec<u64>,
    /// The median of the own work of members, ns.
    pub(crate) own_median_ns: i64,
    /// How long each waits that is compared, 0 if it does not, and how much of that is for each ns that the process did more that was
    /// waited for; and that, of waits that are part of the costs.
    pub(crate) waits: Vec<f64>,
    pub(crate) in_proportion: Vec<f64>,
    pub(crate) of_counted: Vec<f64>,
    /// The slots of the members of which something must be known, where only some are compared, and where among them
    /// those are that waited.
    slots: Vec<usize>,
    spans: Spans,
    pub(crate) places: Vec<u32>,
    /// Of how many members one is taken for a median.
    pub(crate) sampling: usize,
    /// What each member did that is its own since the instant since which all are compared, ns; below 0: of
    /// that one it is not known. Empty where none of them waited since that instant.
    did: Vec<f64>,
    /// By slot: time in point-to-point communication, ns; empty where nobody communicated.
    with_partners: Vec<i64>,
    /// What is charged, ns, and that rounded.
    pub(crate) parts: Vec<f64>,
    pub(crate) rounded: Vec<i64>,
    /// What the unit costs.
    pub(crate) unit: Vec<(Cause, UnitCost)>,
    /// Single waits with their causes, of instances of which these are asked for.
    pub(crate) charged: Vec<Charged>,
}

impl Comparison {
    /// Attributes the waits of a unit.
    pub(crate) fn attribute(
        &mut self,
        unit: &Unit<'_>,
        processes: &mut Processes,
        of_run: &OfRun,
        totals: &mut Totals,
    ) {
        self.unit.clear();
        self.did.clear();
        self.with_partners.clear();
        for &(slot, since) in &unit.sinces.others {
            let cause = match since {
                Since::Startup => Cause::Startup,
                Since::Unresolved => Cause::Unresolved,
                Since::Forgotten | Since::Instant(_) => Cause::Unexplained,
            };
            self.settle(unit, slot, cause, processes);
        }
        for (from_ns, slots) in unit.sinces.instants() {
            self.compare(unit, from_ns, slots, processes);
            self.split(unit, (from_ns, slots), processes);
        }
        self.add_up(unit, of_run, totals);
    }

    /// Notes what the members of an instance did since a time, ns by slot, that is their own: not in collectives. The
    /// waits for the last of them have just been attributed, if there were any.
    #[inline]
    pub(crate) fn note_excesses(
        &mut self,
        instance: &Instance,
        from_ns: impl Fn(usize) -> i64,
        (processes, has_partners): (&mut Processes, bool),
        totals: &mut Totals,
    ) {
        if self.did.is_empty() && !self.look_up_own(instance, &from_ns, processes) {
            processes.take_apart();
            let members = instance.members.iter().zip(&instance.calls.enters_ns);
            for (slot, (&member, &enter_ns)) in members.enumerate() {
                let from_ns = from_ns(slot);
                let process = &processes.each[member as usize];
                let in_calls_ns = process.in_calls_ns(from_ns, enter_ns);
                self.did
                    .push(did_ns([from_ns, enter_ns], in_calls_ns) as f64);
            }
        }
        totals.note_excesses(instance, &self.did);
        if has_partners {
            let mut is_any = false;
            let members = instance.members.iter().zip(&instance.calls.enters_ns);
            for (slot, ((&member, &enter_ns), did)) in members.zip(&mut self.did).enumerate() {
                if *did >= 0.0 {
                    let process = &processes.each[member as usize];
                    let (ns, _) = process.with_partners([from_ns(slot), enter_ns]);
                    is_any |= ns > 0;
                    *did = (*did - ns as f64).max(0.0);
                }
            }
            if is_any {
                totals.note_own_excesses(instance, &self.did);
            }
        }
        self.did.clear();
    }

    /// Notes what the members of an instance did since they left their last collectives that is their own, ns, and between
    /// initiation and completion.
    pub(crate) fn note_gaps(
        &mut self,
        instance: &Instance,
        (processes, has_partners): (&Processes, bool),
        totals: &mut Totals,
    ) {
        let sums = totals.gaps(instance);
        let members = instance.members.iter().zip(&instance.calls.enters_ns);
        if processes.are_in_columns {
            processes.levels.add_gaps(instance, sums);
        } else {
            for ((&member, &enter_ns), sum) in members.zip(&mut *sums) {
                let process = &processes.each[member as usize];
                let left_ns = process.left_before(enter_ns).unwrap_or(enter_ns);
                *sum += enter_ns - left_ns;
                if has_partners {
                    let (with_partners_ns, _) = process.with_partners([left_ns, enter_ns]);
                    *sum -= with_partners_ns;
                }
            }
        }
        for (sum, of) in sums.iter_mut().zip(&instance.calls.completions) {
            *sum += (of.completion_ns - of.initiated_ns).max(0);
        }
    }

    /// Notes what the members of a first instance did since `MPI_Init`, ns, that is their own.
    pub(crate) fn note_start(
        &mut self,
        instance: &Instance,
        from_ns: i64,
        processes: &mut Processes,
        totals: &mut Totals,
    ) {
        processes.take_apart();
        totals.note_start(
            instance,
            did_since(instance, |_, _| from_ns, &processes.each),
        );
        self.did.clear();
    }

    /// Notes what the members of the last instance did that is their own since each of them left its last collective, and since
    /// an instant, ns.
    pub(crate) fn note_end(
        &mut self,
        instance: &Instance,
        from_ns: i64,
        processes: &mut Processes,
        totals: &mut Totals,
    ) {
        processes.take_apart();
        let left_ns = |process: &Process, enter_ns: i64| {
            let left_ns = process.left_before(enter_ns);
            left_ns.map_or(from_ns, |ns| ns.max(from_ns))
        };
        let did_ns = [
            did_since(instance, left_ns, &processes.each),
            did_since(instance, |_, _| from_ns, &processes.each),
        ];
        totals.note_end(instance, did_ns);
        self.did.clear();
    }

    /// Finds out what the members did since an instant, since which those in some slots are compared that waited.
    fn compare(&mut self, unit: &Unit<'_>, from_ns: i64, slots: &[u32], processes: &mut Processes) {
        let Unit { instance, on, .. } = *unit;
        let enters_ns = &instance.calls.enters_ns;
        let last_enter_ns = enters_ns[on as usize];
        let process = instance.members[on as usize] as usize;
        self.last.of(processes, process, [from_ns, last_enter_ns]);
        let last = &processes.each[process];
        self.is_start = unit.origin_ns == Some(from_ns);
        self.polls = last.polls_between([from_ns, last_enter_ns], self.last.row[OWN]);
        self.causes.clear();
        if self.last.row[WAIT] > 0 {
            let causes = &mut self.causes;
            let mut add = |ns: i64, cause: Cause| add(causes, cause, ns);
            last.waits.between(from_ns, last_enter_ns, &mut add);
            (processes.remembered).between(process, [from_ns, last_enter_ns], add);
            causes.sort_unstable();
        }
        let n = enters_ns.len();
        self.sampling = if slots.len() >= SAMPLED {
            1
        } else {
            n.div_ceil(SAMPLED)
        };
        self.n_of_median = n.div_ceil(self.sampling);
        self.slots.clear();
        if self.sampling > 1 {
            self.choose(unit, slots);
        }
        self.n_compared = if self.sampling > 1 {
            self.slots.len()
        } else {
            n
        };
        let is_noted = self.sampling == 1 && unit.all_since_ns == Some(from_ns);
        let others = others_since(unit, from_ns);
        if !(processes.are_in_columns && self.compare_columns(&others, is_noted, &processes.levels))
        {
            processes.take_apart();
            self.compare_each(&others, is_noted, &processes.each);
        }
    }

    /// Finds out what members did, whose calls are in columns; whether it is noted what of that is their own. Gives whether they are
    /// all compared since times that are near enough.
    fn compare_columns(&mut self, others: &Others<'_>, is_noted: bool, levels: &Levels) -> bool {
        let instance = others.unit.instance;
        let (members, enters_ns) = (&instance.members, &instance.calls.enters_ns);
        let spans = &mut self.spans;
        spans.clear();
        if others.is_plain {
            let Some(span) = levels.span([others.from_ns, others.last_enter_ns]) else {
                return false;
            };
            if self.sampling == 1 {
                spans.processes.extend_from_slice(members);
                levels.ends(enters_ns, span[1], &mut spans.to);
            } else {
                let processes = self.slots.iter().map(|&slot| members[slot]);
                spans.processes.extend(processes);
                let ends = self.slots.iter().map(|&slot| levels.near(enters_ns[slot]));
                spans.to.extend(ends.map(|end| smallest(end, span[1])));
            }
            spans.begin_at(span);
        } else {
            for place in 0..self.n_compared {
                let slot = self.slots.get(place).copied().unwrap_or(place);
                let Some(span) = levels.span(others.span(slot, enters_ns[slot])) else {
                    return false;
                };
                spans.push(members[slot], span);
            }
        }
        let n = self.n_compared;
        self.rows.clear();
        self.rows.resize(self.last.row.len() * n, 0.0);
        let column_of = |operation: u64| self.last.column_of(operation);
        levels.add_up(spans, &mut self.rows, column_of);
        if is_noted {
            spans.did(&self.rows[OWN * n..][..n], &mut self.did);
        }
        true
    }

    /// Finds out what the members of an instance did since a time of each slot, ns, that is their own, if calls are in columns and
    /// these times near enough; gives whether that is so.
    fn look_up_own(
        &mut self,
        instance: &Instance,
        from_ns: impl Fn(usize) -> i64,
        processes: &Processes,
    ) -> bool {
        if !processes.are_in_columns {
            return false;
        }
        let levels = &processes.levels;
        let spans = &mut self.spans;
        spans.clear();
        spans.processes.extend_from_slice(&instance.members);
        levels.ends(&instance.calls.enters_ns, f64::INFINITY, &mut spans.to);
        let n = instance.members.len();
        if !levels.begin(spans, n, from_ns) {
            return false;
        }
        self.rows.clear();
        self.rows.resize(2 * n, 0.0);
        levels.add_up(spans, &mut self.rows, |_| OWN);
        spans.did(&self.rows[OWN * n..], &mut self.did);
        true
    }

    /// Finds out what members did, one by one; whether it is noted what of that is their own.
    fn compare_each(&mut self, others: &Others<'_>, is_noted: bool, processes: &[Process]) {
        let instance = others.unit.instance;
        let (n, width) = (self.n_compared, self.last.row.len());
        self.rows.clear();
        self.rows.resize(width * n, 0.0);
        if is_noted {
            self.did.clear();
        }
        let mut row = std::mem::take(&mut self.row);
        row.resize(width, 0);
        for place in 0..n {
            let slot = self.slots.get(place).copied().unwrap_or(place);
            let process = &processes[instance.members[slot] as usize];
            let at = (slot, instance.calls.enters_ns[slot]);
            row.fill(0);
            let did_ns = others.compare(process, at, &mut row, &self.last, &mut self.with_partners);
            let cells = self.rows[place..].iter_mut().step_by(n);
            for (cell, &ns) in cells.zip(&row) {
                *cell = ns as f64;
            }
            if is_noted {
                self.did.push(did_ns as f64);
            }
        }
        self.row = row;
    }

    /// Lists the members that are compared where not all are: those of which a median is taken, the one that was
    /// waited for, those who waited, and its partners; and where among them
    /// those are who waited.
    fn choose(&mut self, unit: &Unit<'_>, waited: &[u32]) {
        let members = &unit.instance.members;
        self.slots.clear();
        self.slots.extend((0..members.len()).step_by(self.sampling));
        let n_sampled = self.slots.len();
        let n_waited = waited.len();
        let waited = waited.iter().map(|&slot| slot as usize);
        let is_partner = |slot: &usize| self.last.has_partner(members[*slot]);
        let partners = match self.last.with_partners_ns {
            0 => 0..0,
            _ => 0..members.len(),
        };
        let partners = partners.filter(is_partner);
        self.places.clear();
        for (at, slot) in waited.chain([unit.on as usize]).chain(partners).enumerate() {
            let place = if slot % self.sampling == 0 {
                slot / self.sampling
            } else {
                let mut more = self.slots[n_sampled..].iter();
                let known = more.position(|&other| other == slot);
                known.map_or_else(
                    || {
                        self.slots.push(slot);
                        self.slots.len() - 1
                    },
                    |at| n_sampled + at,
                )
            };
            if at < n_waited {
                self.places.push(place as u32);
            }
        }
    }

    /// Charges a wait to one cause.
    fn settle(&mut self, unit: &Unit<'_>, slot: usize, cause: Cause, processes: &mut Processes) {
        let calls = &unit.instance.calls;
        let wait_ns = calls.waits_ns[slot];
        self.note_charged(unit.instance, slot, cause);
        let at = self.place(cause);
        if calls.is_counted.get(slot).copied().unwrap_or(true) {
            self.unit[at].1.direct(wait_ns);
        }
        if unit.is_remembered {
            let span = waiting_time(calls.completion(slot), wait_ns);
            processes.waited(unit.instance.members[slot], span.on(cause));
        }
    }

    /// Notes the cause of the wait of a process, if that is asked for.
    #[inline]
    pub(crate) fn note_charged(&mut self, instance: &Instance, slot: usize, cause: Cause) {
        if instance.id != 0 {
            self.charged.push(Charged {
                id: instance.id,
                slot: slot as u32,
                wait_ns: instance.calls.waits_ns[slot],
                cause,
            });
        }
    }

    /// Where the costs of a cause are in the unit.
    fn place(&mut self, cause: Cause) -> usize {
        place(&mut self.unit, cause)
    }

    /// Adds what the unit costs.
    fn add_up(&mut self, unit: &Unit<'_>, of_run: &OfRun, totals: &mut Totals) {
        let Unit { instance, on, .. } = *unit;
        let on = on as usize;
        let with_partners = &self.with_partners;
        let from_ns = unit.sinces.instants().map(|(from_ns, _)| from_ns).max();
        let from_ns = from_ns.unwrap_or(i64::MAX);
        // Who waited before, maybe for the same cause, might have come earlier, too.
        let have_all_waited = unit.sinces.n_waited() + 1 >= instance.calls.len();
        let are_apart = unit.is_last || unit.all_since_ns != Some(from_ns);
        let is_one = unit.sinces.n_instants() == 1 && self.sampling == 1;
        let are_known = have_all_waited && are_apart && is_one;
        let rows = if are_known {
            &self.rows[WAIT * self.n_compared..][..self.n_compared]
        } else {
            &[]
        };
        let last_waited_ns = self.last.row.first().copied().unwrap_or(0);
        let waited_ns = |slot: usize| {
            let own_ns = rows.get(slot).copied().unwrap_or(0.0);
            (own_ns as i64 - last_waited_ns).max(0)
        };
        // Who communicated for longer than the cause may have waited for that.
        let times = |cause: Option<usize>| {
            let own_ns = cause.and_then(|slot| with_partners.get(slot));
            let longer_ns = |slot: usize| match (own_ns, with_partners.get(slot)) {
                (Some(own_ns), Some(ns)) => (ns - own_ns).max(0),
                _ => 0,
            };
            let skipped = [on, cause.unwrap_or(on)];
            let [before_ns, other_host_ns] = if own_ns.is_none() && !are_known {
                of_run.hosts.others(instance, on, skipped, |_| 0)
            } else {
                let longer_ns = |slot: usize| longer_ns(slot).saturating_add(waited_ns(slot));
                of_run.hosts.others(instance, on, skipped, longer_ns)
            };
            let last_ns = instance.calls.enters_ns[on];
            UnitTimes {
                from_ns,
                last_ns,
                apart_ns: last_ns.saturating_sub(before_ns).max(0),
                host_apart_ns: last_ns.saturating_sub(other_host_ns).max(0),
                is_end: unit.is_end,
                has_all: unit.has_all,
                n_ends: unit.n_ends,
            }
        };
        let usual = times(None);
        let n = instance.calls.len() as i64;
        for (cause, mut cost) in self.unit.drain(..) {
            if let Cause::Imbalance { .. } = cause {
                cost.longest_ns = cost.direct_ns / n;
            }
            if cost.direct_ns > 0 || cost.propagated_ns > 0 {
                let process = cause.process();
                let mut times = match process {
                    Some(process) if !with_partners.is_empty() => {
                        let mut members = instance.members.iter();
                        times(members.position(|&member| member == process))
                    }
                    _ => usual,
                };
                // Who did not wait does not limit it: that one may have run ahead, or have waited for the cause before.
                if !have_all_waited && matches!(cause, Cause::Late { part: None, .. }) {
                    (times.apart_ns, times.host_apart_ns) = (i64::MAX, i64::MAX);
                }
                if process.is_some_and(|process| of_run.have_threads.contains(&process)) {
                    totals.add_of_threads(cause, &mut cost, &mut times);
                }
                totals.add(cause, (instance.operation, have_all_waited), &cost, &times);
            }
        }
        if unit.is_end {
            totals.forget_counted();
        }
    }
}

/// Where the costs of a cause are in a unit.
pub(crate) fn place(unit: &mut Vec<(Cause, UnitCost)>, cause: Cause) -> usize {
    let at = unit.iter().position(|(other, _)| *other == cause);
    at.unwrap_or_else(|| {
        unit.push((cause, UnitCost::default()));
        unit.len() - 1
    })
}
