//! What a process that was waited for did more than those that waited for it.

use crate::amounts::{add, in_proportion, sum_ns};
use crate::cause::{Cause, Totals, UnitCost, UnitTimes};
use crate::column::{Cell, Charged, Column, largest};
use crate::instance::{Instance, Part};
use crate::log::{Entry, Log};
use crate::of_run::OfRun;
use crate::others::{Others, did_since, others_since};
use crate::process::{Process, did_ns, waiting_time};
use crate::shares::{divide, round};
use crate::spent::{OWN, Spent, WAIT};
use crate::synchronizations::Since;
use crate::unit::Unit;

/// Members of which a median is taken, at least, where only some of them are compared since an instant.
const SAMPLED: usize = 16;
/// Partners of which each waits for the next one that are followed, at most.
const MOST_PARTNERS: usize = 64;

/// Attributes units; the buffers are reused.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// What the process that was waited for did since the instant at hand.
    last: Spent,
    /// Whether that instant is in `MPI_Init`.
    is_start: bool,
    /// Communication point to point, if it mostly polled in what counts as its own work.
    polls: Option<Part>,
    /// Causes of its waits since then.
    causes: Vec<(Cause, i64)>,
    /// What each member did: waits, own work, and each part of the one that was waited for. One row for
    /// each slot, ns; only those that are needed.
    rows: Vec<i64>,
    /// What is charged for each column.
    columns: Vec<Column>,
    values: Vec<i64>,
    /// The median of the own work of members, ns.
    own_median_ns: i64,
    /// The slots of the members of which something must be known, where only some are compared.
    slots: Vec<usize>,
    /// Of how many members one is taken for a median.
    sampling: usize,
    /// What each member did that is its own since the instant since which all are compared, ns; below 0: of
    /// that one it is not known. Empty where none of them waited since that instant.
    did: Vec<i64>,
    /// By slot: time in point-to-point communication, ns; empty where nobody communicated.
    with_partners: Vec<i64>,
    /// What is charged, ns, and that rounded.
    parts: Vec<f64>,
    rounded: Vec<i64>,
    /// What the unit costs.
    unit: Vec<(Cause, UnitCost)>,
}

/// The waits for a process since an instant.
#[derive(Debug, Clone, Copy, Default)]
struct Split {
    /// How long they are, as far as they are part of the costs, ns.
    waited_ns: i64,
    /// What of that is in no column: because it waited itself, ns.
    passed_on: f64,
    /// Not explained by anything that it did more, ns.
    unexplained_ns: i64,
    /// How much longer it waited than any that waited for it, ns.
    most_passed_on: f64,
}

impl Comparison {
    /// Attributes the waits of a unit.
    pub(crate) fn attribute(
        &mut self,
        unit: &Unit<'_>,
        processes: &mut [Process],
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
        (processes, has_partners): (&[Process], bool),
        totals: &mut Totals,
    ) {
        let members = || instance.members.iter().zip(&instance.calls.enters_ns);
        if self.did.is_empty() {
            for (slot, (&member, &enter_ns)) in members().enumerate() {
                let from_ns = from_ns(slot);
                let in_calls_ns = processes[member as usize].in_calls_ns(from_ns, enter_ns);
                self.did.push(did_ns([from_ns, enter_ns], in_calls_ns));
            }
        }
        totals.note_excesses(instance, &self.did);
        if has_partners {
            let mut is_any = false;
            for (slot, ((&member, &enter_ns), did_ns)) in members().zip(&mut self.did).enumerate() {
                if *did_ns >= 0 {
                    let process = &processes[member as usize];
                    let (ns, _) = process.with_partners([from_ns(slot), enter_ns]);
                    is_any |= ns > 0;
                    *did_ns = (*did_ns - ns).max(0);
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
        (processes, has_partners): (&[Process], bool),
        totals: &mut Totals,
    ) {
        let sums = totals.gaps(instance);
        let members = instance.members.iter().zip(&instance.calls.enters_ns);
        for ((&member, &enter_ns), sum) in members.zip(&mut *sums) {
            let process = &processes[member as usize];
            let left_ns = process.left_before(enter_ns).unwrap_or(enter_ns);
            *sum += enter_ns - left_ns;
            if has_partners {
                let (with_partners_ns, _) = process.with_partners([left_ns, enter_ns]);
                *sum -= with_partners_ns;
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
        processes: &[Process],
        totals: &mut Totals,
    ) {
        totals.note_start(instance, did_since(instance, |_, _| from_ns, processes));
        self.did.clear();
    }

    /// Notes what the members of the last instance did that is their own since each of them left its last collective, and since
    /// an instant, ns.
    pub(crate) fn note_end(
        &mut self,
        instance: &Instance,
        from_ns: i64,
        processes: &[Process],
        totals: &mut Totals,
    ) {
        let left_ns = |process: &Process, enter_ns: i64| {
            let left_ns = process.left_before(enter_ns);
            left_ns.map_or(from_ns, |ns| ns.max(from_ns))
        };
        let did_ns = [
            did_since(instance, left_ns, processes),
            did_since(instance, |_, _| from_ns, processes),
        ];
        totals.note_end(instance, did_ns);
        self.did.clear();
    }

    /// Finds out what the members did since an instant, since which those in some slots are compared that waited.
    fn compare(&mut self, unit: &Unit<'_>, from_ns: i64, slots: &[u32], processes: &[Process]) {
        let Unit { instance, on, .. } = *unit;
        let enters_ns = &instance.calls.enters_ns;
        let last_enter_ns = enters_ns[on as usize];
        let last = &processes[instance.members[on as usize] as usize];
        self.last.of(last, [from_ns, last_enter_ns]);
        self.is_start = unit.origin_ns == Some(from_ns);
        self.polls = last.polls_between([from_ns, last_enter_ns], self.last.row[OWN]);
        self.causes.clear();
        if self.last.row[WAIT] > 0 {
            let causes = &mut self.causes;
            last.waits
                .between(from_ns, last_enter_ns, |ns, cause| add(causes, cause, ns));
            causes.sort_unstable();
        }
        let width = self.last.row.len();
        let n = enters_ns.len();
        self.sampling = if slots.len() >= SAMPLED {
            1
        } else {
            n.div_ceil(SAMPLED)
        };
        self.rows.clear();
        self.rows.resize(width * n, 0);
        if self.sampling > 1 {
            self.choose(unit, slots);
            let slots = std::mem::take(&mut self.slots);
            let others = others_since(unit, from_ns);
            for &slot in &slots {
                let row = &mut self.rows[width * slot..][..width];
                let process = &processes[instance.members[slot] as usize];
                let at = (slot, enters_ns[slot]);
                others.compare(process, at, row, &self.last, &mut self.with_partners);
            }
            self.slots = slots;
            return;
        }
        let is_noted = unit.all_since_ns == Some(from_ns);
        if is_noted {
            self.did.clear();
        }
        let others = others_since(unit, from_ns);
        if others.is_plain {
            match width {
                2 => return self.compare_plain::<2>(&others, is_noted, processes),
                3 => return self.compare_plain::<3>(&others, is_noted, processes),
                4 => return self.compare_plain::<4>(&others, is_noted, processes),
                5 => return self.compare_plain::<5>(&others, is_noted, processes),
                _ => {}
            }
        }
        let rows = self.rows.chunks_exact_mut(width);
        let members = instance.members.iter().zip(enters_ns);
        for (at, ((&member, &enter_ns), row)) in members.zip(rows).enumerate() {
            let process = &processes[member as usize];
            let at = (at, enter_ns);
            let did_ns = others.compare(process, at, row, &self.last, &mut self.with_partners);
            if is_noted {
                self.did.push(did_ns);
            }
        }
    }

    /// Finds out what the members did that are all compared since one instant until they entered.
    fn compare_plain<const WIDTH: usize>(
        &mut self,
        others: &Others<'_>,
        is_noted: bool,
        processes: &[Process],
    ) {
        let instance = others.unit.instance;
        let did = if is_noted {
            &mut self.did
        } else {
            &mut self.values
        };
        did.clear();
        did.resize(instance.members.len(), 0);
        let (rows, _) = self.rows.as_chunks_mut::<WIDTH>();
        let members = instance.members.iter().zip(&instance.calls.enters_ns);
        let found = rows.iter_mut().zip(did);
        for (slot, ((&member, &enter_ns), (row, did_ns))) in members.zip(found).enumerate() {
            let process = &processes[member as usize];
            let [from_ns, to_ns] = [others.from_ns, enter_ns.min(others.last_enter_ns)];
            if to_ns <= from_ns || process.has_parts() {
                let at = (slot, enter_ns);
                let with_partners = &mut self.with_partners;
                *did_ns = others.compare_other(process, at, row, &self.last, with_partners);
                continue;
            }
            let mut cells = [0; WIDTH];
            let span = [from_ns, to_ns];
            let in_calls_ns = self.last.compare_calls(process, span, &mut cells);
            *row = cells;
            *did_ns = (to_ns - from_ns - in_calls_ns).max(0);
        }
    }

    /// Lists the members that are compared where not all are: those of which a median is taken, the one that was
    /// waited for, those who waited, and its partners.
    fn choose(&mut self, unit: &Unit<'_>, waited: &[u32]) {
        let members = &unit.instance.members;
        self.slots.clear();
        self.slots.extend((0..members.len()).step_by(self.sampling));
        let n_sampled = self.slots.len();
        let waited = waited.iter().map(|&slot| slot as usize);
        let is_partner = |slot: &usize| self.last.has_partner(members[*slot]);
        let partners = match self.last.with_partners_ns {
            0 => 0..0,
            _ => 0..members.len(),
        };
        let partners = partners.filter(is_partner);
        for slot in waited.chain([unit.on as usize]).chain(partners) {
            if slot % self.sampling != 0 && !self.slots[n_sampled..].contains(&slot) {
                self.slots.push(slot);
            }
        }
    }

    /// The lower median of a column, ns.
    fn median(&mut self, column: usize) -> i64 {
        self.values.clear();
        let step = self.last.row.len() * self.sampling;
        let column = self.rows.iter().skip(column).step_by(step);
        self.values.extend(column);
        let middle = self.values.len().saturating_sub(1) / 2;
        if self.values.is_empty() {
            return 0;
        }
        *self.values.select_nth_unstable(middle).1
    }

    /// Divides the waits of those that are compared since an instant among what the process that was waited
    /// for did more.
    fn split(
        &mut self,
        unit: &Unit<'_>,
        (from_ns, slots): (i64, &[u32]),
        processes: &mut [Process],
    ) {
        let width = self.last.row.len();
        self.own_median_ns = self.median(OWN);
        self.columns.clear();
        for column in OWN..width {
            let column = self.column(unit, column, from_ns, processes);
            self.columns.push(column);
        }
        // Loops over few columns are unrolled where their number is known.
        let split = match width {
            2 => self.split_waits(unit, slots, processes, &mut [Cell::default(); 2]),
            3 => self.split_waits(unit, slots, processes, &mut [Cell::default(); 3]),
            4 => self.split_waits(unit, slots, processes, &mut [Cell::default(); 4]),
            5 => self.split_waits(unit, slots, processes, &mut [Cell::default(); 5]),
            _ => self.split_waits(unit, slots, processes, &mut vec![Cell::default(); width]),
        };
        self.settle_split(unit, &split);
    }

    /// Charges the columns for the waits in some slots, which are compared since an instant; gives what is in none of
    /// them. Always inline: callers know how many columns there are.
    #[inline(always)]
    fn split_waits(
        &mut self,
        unit: &Unit<'_>,
        slots: &[u32],
        processes: &mut [Process],
        cells: &mut [Cell],
    ) -> Split {
        let Unit { instance, .. } = *unit;
        let calls = &instance.calls;
        let width = cells.len();
        let mut split = Split::default();
        cells[WAIT].last_ns = self.last.row[WAIT];
        for (cell, column) in cells[OWN..].iter_mut().zip(&self.columns) {
            *cell = column.cell;
        }
        for &slot in slots {
            let slot = slot as usize;
            let wait_ns = calls.waits_ns[slot];
            let is_counted = calls.is_counted.get(slot).copied().unwrap_or(true);
            let mut more = 0.0;
            let row = &self.rows[width * slot..][..width];
            for (cell, own_ns) in cells.iter_mut().zip(row) {
                cell.more = (cell.last_ns - own_ns).max(0) as f64;
                more += cell.more;
            }
            let in_proportion = if more > 0.0 {
                wait_ns as f64 / more
            } else {
                0.0
            };
            let counted = if is_counted { in_proportion } else { 0.0 };
            if is_counted {
                split.waited_ns = split.waited_ns.saturating_add(wait_ns);
            }
            if more == 0.0 && is_counted {
                split.unexplained_ns = split.unexplained_ns.saturating_add(wait_ns);
            }
            let [waited, columns @ ..] = &mut *cells else {
                continue;
            };
            split.most_passed_on = largest(split.most_passed_on, waited.more);
            split.passed_on += waited.more * counted;
            if !unit.is_remembered {
                for cell in columns {
                    cell.charge(counted);
                }
                continue;
            }
            let span = waiting_time(calls.completion(slot), wait_ns);
            let waits = &mut processes[instance.members[slot] as usize].waits;
            if more == 0.0 {
                remember(waits, span, Cause::Unexplained, wait_ns as f64);
            }
            for (cell, column) in columns.iter_mut().zip(&self.columns) {
                let Charged { late, partner } = cell.charge(counted);
                let rest = cell.more - late - partner;
                remember(waits, span, column.late, late * in_proportion);
                remember(waits, span, column.partner, partner * in_proportion);
                remember(waits, span, imbalance_of(instance), rest * in_proportion);
            }
            self.remember_passed_on(waits, span, waited.more * in_proportion);
        }
        for (column, cell) in self.columns.iter_mut().zip(&cells[OWN..]) {
            column.cell = *cell;
        }
        split
    }

    /// Adds to the unit what was charged for its columns, and what of its waits is in none of them: together, they are rounded.
    fn settle_split(&mut self, unit: &Unit<'_>, split: &Split) {
        let mut imbalance = 0.0;
        let mut parts = std::mem::take(&mut self.parts);
        let mut rounded = std::mem::take(&mut self.rounded);
        parts.clear();
        for Column { cell, .. } in &self.columns {
            imbalance += cell.shares - cell.late.direct - cell.partner.direct;
            parts.extend([cell.late.direct, cell.partner.direct]);
        }
        parts.extend([
            imbalance.max(0.0),
            split.passed_on,
            split.unexplained_ns as f64,
        ]);
        round(split.waited_ns, &parts, &mut rounded);
        let (of_columns, rest) = rounded.split_at(2 * self.columns.len());
        let [imbalance_ns, mut passed_on_ns, mut unexplained_ns] = [rest[0], rest[1], rest[2]];
        for (column, direct_ns) in self.columns.iter().zip(of_columns.chunks_exact(2)) {
            let Column {
                late,
                partner,
                cell,
            } = *column;
            let charges = [(late, cell.late.longest), (partner, cell.partner.longest)];
            for ((cause, longest), &direct_ns) in charges.into_iter().zip(direct_ns) {
                let longest_ns = longest as i64;
                if direct_ns > 0 || longest_ns > 0 {
                    let at = place(&mut self.unit, cause);
                    self.unit[at].1.direct(direct_ns);
                    self.unit[at].1.longest(longest_ns);
                }
            }
        }
        if self.causes.is_empty() {
            unexplained_ns += passed_on_ns;
            passed_on_ns = 0;
        }
        for (cause, ns) in [
            (imbalance_of(unit.instance), imbalance_ns),
            (Cause::Unexplained, unexplained_ns),
        ] {
            if ns > 0 {
                let at = place(&mut self.unit, cause);
                self.unit[at].1.direct(ns);
            }
        }
        if passed_on_ns > 0 {
            divide(passed_on_ns, &self.causes, &mut parts, &mut rounded);
            let most_ns = split.most_passed_on as i64;
            let of_all = sum_ns(self.causes.iter().map(|&(_, ns)| ns));
            for (&(cause, of_cause), &ns) in self.causes.iter().zip(&rounded) {
                if ns > 0 {
                    let at = place(&mut self.unit, cause);
                    let passed_on_ns = in_proportion(most_ns, of_cause, of_all);
                    self.unit[at].1.propagated(ns, passed_on_ns);
                }
            }
        }
        (self.parts, self.rounded) = (parts, rounded);
    }

    /// Remembers how much of a wait was passed on, ns.
    #[inline]
    fn remember_passed_on(&self, waits: &mut Log<Cause>, span: Entry<()>, ns: f64) {
        if self.causes.is_empty() {
            remember(waits, span, Cause::Unexplained, ns);
        } else if ns > 0.0 {
            let of_all: f64 = self.causes.iter().map(|&(_, ns)| ns as f64).sum();
            for &(cause, of_cause) in &self.causes {
                remember(waits, span, cause, ns * (of_cause as f64 / of_all));
            }
        }
    }

    /// What is charged for the shares of waits in a column of what the process that was waited for did more since an
    /// instant; the median of own work is known.
    fn column(
        &mut self,
        unit: &Unit<'_>,
        column: usize,
        from_ns: i64,
        processes: &[Process],
    ) -> Column {
        let process = unit.instance.members[unit.on as usize];
        let (part, of_last) = self.last.column(column);
        let part = part.or(self.polls);
        let (late, above_ns) = match part {
            Some(Part::Operation(operation)) => (Cause::Operation(operation), of_last),
            Some(Part::Launch) => (Cause::Startup, of_last),
            _ => {
                let median_ns = match column {
                    OWN => self.own_median_ns,
                    _ => self.median(column),
                };
                (self.late(process, part), (of_last - median_ns).max(0))
            }
        };
        let origin = match part {
            Some(Part::PointToPoint(Some(partner))) if above_ns > 0 => {
                self.origin(unit, partner, above_ns, from_ns, processes)
            }
            _ => None,
        };
        let (partner, of_partner_ns) = match origin {
            Some((origin, more_ns)) => (self.late(origin, None), more_ns),
            None => (Cause::Unexplained, 0),
        };
        Column {
            late,
            partner,
            cell: Cell {
                last_ns: of_last,
                above: above_ns as f64,
                of_partner: of_partner_ns as f64,
                ..Cell::default()
            },
        }
    }

    /// A process had more of something since the instant at hand.
    fn late(&self, process: u32, part: Option<Part>) -> Cause {
        if self.is_start {
            Cause::LateAtStart { process, part }
        } else {
            Cause::Late { process, part }
        }
    }

    /// The process whose own work a process waited for that communicated with `partner` since an instant for `waited_ns`
    /// longer than others, and how much more than the median it worked, ns: the partner, or, where that only waited, too,
    /// the one that it waited for. `None` where none of them had more work.
    fn origin(
        &self,
        unit: &Unit<'_>,
        partner: u32,
        waited_ns: i64,
        from_ns: i64,
        processes: &[Process],
    ) -> Option<(u32, i64)> {
        let Unit { instance, on, .. } = *unit;
        let last_enter_ns = instance.calls.enters_ns[on as usize];
        let (mut before, mut at) = (instance.members[on as usize], partner);
        let mut first = None;
        for _ in 0..MOST_PARTNERS {
            let Some(process) = processes.get(at as usize) else {
                return first;
            };
            // One that is no member may work as long as others wait for it.
            let mut members = instance.members.iter().zip(&instance.calls.enters_ns);
            let enter_ns = members
                .find(|(member, _)| **member == at)
                .map(|(_, ns)| *ns);
            let span = [
                from_ns,
                enter_ns.unwrap_or(last_enter_ns).min(last_enter_ns),
            ];
            let (with_partners_ns, next) = process.with_partners(span);
            let mut did_ns = 0_i64;
            process.between(span[0], span[1], |ns, _| did_ns = did_ns.saturating_add(ns));
            let own_ns = span[1].saturating_sub(span[0]).saturating_sub(did_ns);
            let more_ns = (own_ns - self.own_median_ns).max(0);
            if more_ns > waited_ns / 2 {
                return Some((at, more_ns));
            }
            if at == partner && more_ns > 0 {
                first = Some((at, more_ns));
            }
            // Who hardly waited passes nothing on.
            match next {
                Some(next) if with_partners_ns > waited_ns / 2 && next != before => {
                    (before, at) = (at, next);
                }
                _ => return first,
            }
        }
        first
    }

    /// Charges a wait to one cause.
    fn settle(&mut self, unit: &Unit<'_>, slot: usize, cause: Cause, processes: &mut [Process]) {
        let calls = &unit.instance.calls;
        let wait_ns = calls.waits_ns[slot];
        let at = self.place(cause);
        if calls.is_counted.get(slot).copied().unwrap_or(true) {
            self.unit[at].1.direct(wait_ns);
        }
        if unit.is_remembered {
            let span = waiting_time(calls.completion(slot), wait_ns);
            let waits = &mut processes[unit.instance.members[slot] as usize].waits;
            waits.push(span.on(cause));
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
        let width = self.last.row.len();
        let have_all_waited = unit.sinces.n_waited() + 1 >= instance.calls.len();
        let are_apart = unit.is_last || unit.all_since_ns != Some(from_ns);
        let is_one = unit.sinces.n_instants() == 1 && self.sampling == 1;
        let are_known = have_all_waited && are_apart && is_one;
        let rows = if are_known { &self.rows[..] } else { &[] };
        let last_waited_ns = self.last.row.first().copied().unwrap_or(0);
        let waited_ns = |slot: usize| {
            let own_ns = rows.get(width * slot + WAIT).copied().unwrap_or(0);
            (own_ns - last_waited_ns).max(0)
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

/// Remembers that about so much of a wait, ns, which is in a span, has a cause.
#[inline(always)]
fn remember(waits: &mut Log<Cause>, span: Entry<()>, cause: Cause, ns: f64) {
    let ns = (ns + 0.5) as i64;
    if ns > 0 {
        waits.push(Entry {
            ns,
            ..span.on(cause)
        });
    }
}

/// That the members of the communicator of an instance had more to do than others.
fn imbalance_of(instance: &Instance) -> Cause {
    Cause::Imbalance {
        communicator: instance.communicator,
    }
}

/// Where the costs of a cause are in a unit.
fn place(unit: &mut Vec<(Cause, UnitCost)>, cause: Cause) -> usize {
    let at = unit.iter().position(|(other, _)| *other == cause);
    at.unwrap_or_else(|| {
        unit.push((cause, UnitCost::default()));
        unit.len() - 1
    })
}
