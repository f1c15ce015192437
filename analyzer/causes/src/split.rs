//! The waits for a process, divided among what it did more.

use crate::amounts::{in_proportion, largest, smallest, sum_ns};
use crate::cause::{Cause, UnitCost};
use crate::column::{Column, Shares};
use crate::compare::{Comparison, place};
use crate::instance::{Instance, Part};
use crate::processes::Processes;
use crate::remembered::Divided;
use crate::shares::{divide, round};
use crate::spent::{OWN, WAIT};
use crate::unit::Unit;

/// Partners of which each waits for the next one that are followed, at most.
const MOST_PARTNERS: usize = 64;

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

/// The cause that is charged the most, ns.
#[derive(Debug, Clone, Copy, Default)]
struct Most {
    of_all: Option<(Cause, i64)>,
}

impl Most {
    /// Sees what a cause is charged, ns; of equal ones the first in the order of causes is retained.
    #[inline]
    fn see(&mut self, cause: Cause, ns: i64) {
        let is_more = |(known, most_ns): (Cause, i64)| (most_ns, cause) < (ns, known);
        if ns > 0 && self.of_all.is_none_or(is_more) {
            self.of_all = Some((cause, ns));
        }
    }
}

impl Comparison {
    /// The lower median of a column, ns.
    fn median(&mut self, column: usize) -> i64 {
        let column = &self.rows[column * self.n_compared..][..self.n_of_median];
        // The bits of numbers that are not negative are in the order of the numbers.
        self.values.resize(column.len(), 0);
        for (bits, ns) in self.values.iter_mut().zip(column) {
            *bits = ns.to_bits();
        }
        let middle = self.values.len().saturating_sub(1) / 2;
        if self.values.is_empty() {
            return 0;
        }
        f64::from_bits(*self.values.select_nth_unstable(middle).1) as i64
    }

    /// Divides the waits of those that are compared since an instant among what the process that was waited
    /// for did more.
    pub(crate) fn split(
        &mut self,
        unit: &Unit<'_>,
        (from_ns, slots): (i64, &[u32]),
        processes: &mut Processes,
    ) {
        self.own_median_ns = self.median(OWN);
        self.columns.clear();
        for column in OWN..self.last.row.len() {
            let column = self.column(unit, column, from_ns, processes);
            self.columns.push(column);
        }
        if self.sampling > 1 {
            self.retain_waited();
        }
        let split = self.split_waits(unit, slots);
        if unit.is_remembered {
            let divided = Divided {
                slots,
                places: if self.sampling == 1 {
                    slots
                } else {
                    &self.places
                },
                columns: &self.columns,
                causes: &self.causes,
                waited: self.last.row[WAIT] as f64,
                rows: &self.rows,
                in_proportion: &self.in_proportion,
            };
            let n_processes = processes.each.len();
            (processes.remembered).add(unit.instance, n_processes, &divided);
        }
        self.settle_split(unit, slots, &split);
    }

    /// Retains what those did that waited, of a few members that are compared.
    fn retain_waited(&mut self) {
        let mut retained = self.places.clone();
        retained.sort_unstable();
        let n = self.rows.len();
        for row in (0..n).step_by(self.n_compared) {
            for &place in &retained {
                self.rows.push(self.rows[row + place as usize]);
            }
        }
        self.rows.drain(..n);
        self.n_compared = retained.len();
        for place in &mut self.places {
            *place = retained.partition_point(|other| other < place) as u32;
        }
    }

    /// Charges the columns for the waits in some slots, which are compared since an instant; gives what is in none of
    /// them. Of all that are compared a wait is charged, of those that did not wait one of 0 ns.
    fn split_waits(&mut self, unit: &Unit<'_>, slots: &[u32]) -> Split {
        let calls = &unit.instance.calls;
        let n = self.n_compared;
        self.waits.clear();
        self.waits.resize(n, 0.0);
        let places = if self.sampling == 1 {
            slots
        } else {
            &self.places[..]
        };
        let is_counted = |slot: u32| calls.is_counted.get(slot as usize).copied();
        let is_counted = |slot: u32| is_counted(slot).unwrap_or(true);
        let are_all_counted = calls.is_counted.is_empty();
        let mut waited_ns = 0_u128;
        for (&slot, &place) in slots.iter().zip(places) {
            let wait_ns = calls.waits_ns[slot as usize];
            self.waits[place as usize] = wait_ns as f64;
            if are_all_counted || is_counted(slot) {
                waited_ns += u128::from(wait_ns.cast_unsigned());
            }
        }
        let mut split = Split {
            waited_ns: i64::try_from(waited_ns).unwrap_or(i64::MAX),
            ..Split::default()
        };
        // So far it is how much more it did of everything.
        self.in_proportion.clear();
        self.in_proportion.resize(n, 0.0);
        let (waited, others) = self.rows.split_at_mut(n);
        let last_waited = self.last.row[WAIT] as f64;
        if last_waited > 0.0 {
            add_more(last_waited, waited, &mut self.in_proportion);
        }
        let rows = others.chunks_exact_mut(n.max(1));
        for (&last_ns, row) in self.last.row[OWN..].iter().zip(rows) {
            take_more(last_ns as f64, row, &self.waits, &mut self.in_proportion);
        }
        if !set_in_proportion(&mut self.in_proportion, &self.waits) {
            let waits = slots.iter().zip(places);
            let unexplained = waits.filter(|&(&slot, &place)| {
                self.in_proportion[place as usize] == 0.0 && is_counted(slot)
            });
            let unexplained_ns = unexplained.map(|(&slot, _)| calls.waits_ns[slot as usize]);
            split.unexplained_ns = sum_ns(unexplained_ns);
        }
        let mut of_counted = &self.in_proportion;
        if !are_all_counted {
            self.of_counted.clone_from(&self.in_proportion);
            for (&slot, &place) in slots.iter().zip(places) {
                if !is_counted(slot) {
                    self.of_counted[place as usize] = 0.0;
                }
            }
            of_counted = &self.of_counted;
        }
        if last_waited > 0.0 {
            let waits = self.waits.iter().zip(of_counted);
            for (&did, (&wait, in_proportion)) in waited.iter().zip(waits) {
                let more = last_waited - smallest(did, last_waited);
                split.passed_on += more * in_proportion;
                if wait > 0.0 {
                    split.most_passed_on = largest(split.most_passed_on, more);
                }
            }
        }
        let rows = others.chunks_exact(n.max(1));
        let columns = self.columns.iter().zip(&self.last.row[OWN..]).zip(rows);
        let shares =
            columns.map(|((column, &last_ns), more)| column.charge(last_ns, more, of_counted));
        self.shares.clear();
        self.shares.extend(shares);
        split
    }

    /// Adds to the unit what was charged for its columns for the waits in some slots, and what of these is in none of them:
    /// together, they are rounded.
    fn settle_split(&mut self, unit: &Unit<'_>, slots: &[u32], split: &Split) {
        let mut most = Most::default();
        let mut imbalance = 0.0;
        let mut parts = std::mem::take(&mut self.parts);
        let mut rounded = std::mem::take(&mut self.rounded);
        parts.clear();
        for (column, Shares { all, late, partner }) in self.columns.iter().zip(&self.shares) {
            imbalance += all - late.direct - partner.direct;
            parts.push(late.direct);
            if column.of_partner > 0.0 {
                parts.push(partner.direct);
            }
        }
        parts.extend([
            imbalance.max(0.0),
            split.passed_on,
            split.unexplained_ns as f64,
        ]);
        round(split.waited_ns, &parts, &mut rounded);
        let mut charged = rounded.iter().copied();
        let mut next_ns = || charged.next().unwrap_or(0);
        for (column, Shares { late, partner, .. }) in self.columns.iter().zip(&self.shares) {
            let late = (next_ns(), late.longest);
            most.see(column.late, late.0);
            charge(&mut self.unit, column.late, late);
            if column.of_partner > 0.0 {
                let partner = (next_ns(), partner.longest);
                most.see(column.partner, partner.0);
                charge(&mut self.unit, column.partner, partner);
            }
        }
        let imbalance_ns = next_ns();
        let mut passed_on_ns = next_ns();
        let mut unexplained_ns = next_ns();
        if self.causes.is_empty() {
            unexplained_ns += passed_on_ns;
            passed_on_ns = 0;
        }
        for (cause, ns) in [
            (imbalance_of(unit.instance), imbalance_ns),
            (Cause::Unexplained, unexplained_ns),
        ] {
            if ns > 0 {
                most.see(cause, ns);
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
                    most.see(cause, ns);
                    let at = place(&mut self.unit, cause);
                    let passed_on_ns = in_proportion(most_ns, of_cause, of_all);
                    self.unit[at].1.propagated(ns, passed_on_ns);
                }
            }
        }
        (self.parts, self.rounded) = (parts, rounded);
        if unit.instance.id != 0
            && let Some((cause, _)) = most.of_all
        {
            for &slot in slots {
                self.note_charged(unit.instance, slot as usize, cause);
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
        processes: &Processes,
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
            above: above_ns as f64,
            of_partner: of_partner_ns as f64,
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
        processes: &Processes,
    ) -> Option<(u32, i64)> {
        let Unit { instance, on, .. } = *unit;
        let last_enter_ns = instance.calls.enters_ns[on as usize];
        let (mut before, mut at) = (instance.members[on as usize], partner);
        let mut first = None;
        for _ in 0..MOST_PARTNERS {
            let Some(process) = processes.each.get(at as usize) else {
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
}

/// Charges a cause for waits, ns; by how much it made the process late, at most.
fn charge(unit: &mut Vec<(Cause, UnitCost)>, cause: Cause, (direct_ns, longest): (i64, f64)) {
    let longest_ns = longest as i64;
    if direct_ns > 0 || longest_ns > 0 {
        let at = place(unit, cause);
        unit[at].1.direct(direct_ns);
        unit[at].1.longest(longest_ns);
    }
}

/// Adds how much more the process that was waited for did of something than each that is compared.
#[inline(never)]
fn add_more(last: f64, row: &[f64], more: &mut [f64]) {
    for (more, &did) in more.iter_mut().zip(row) {
        *more += last - smallest(did, last);
    }
}

/// As [`add_more`], and puts that in place of what those did that waited, 0 in place of what others did.
#[inline(never)]
fn take_more(last: f64, row: &mut [f64], waits: &[f64], more: &mut [f64]) {
    let n = row.len();
    let (waits, more) = (&waits[..n], &mut more[..n]);
    for at in 0..n {
        let of_it = last - smallest(row[at], last);
        row[at] = if waits[at] > 0.0 { of_it } else { 0.0 };
        more[at] += row[at];
    }
}

/// Divides waits by how much more the process did that was waited for, 0 where that is nothing; gives whether it did more wherever
/// one waited.
#[inline(never)]
fn set_in_proportion(more: &mut [f64], waits: &[f64]) -> bool {
    let mut unexplained = 0;
    for (more, &wait) in more.iter_mut().zip(waits) {
        let in_proportion = wait / *more;
        unexplained |= if *more > 0.0 { 0 } else { wait.to_bits() };
        *more = if *more > 0.0 { in_proportion } else { 0.0 };
    }
    unexplained == 0
}

/// That the members of the communicator of an instance had more to do than others.
fn imbalance_of(instance: &Instance) -> Cause {
    Cause::Imbalance {
        communicator: instance.communicator,
    }
}
