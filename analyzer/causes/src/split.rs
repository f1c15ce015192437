//! The waits for a process, divided among what it did more.

use crate::amounts::{in_proportion, largest, smallest, sum_ns};
use crate::cause::Cause;
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
        let split = self.split_waits(unit, slots);
        if unit.is_remembered {
            let divided = Divided {
                slots,
                columns: &self.columns,
                causes: &self.causes,
                more: &self.more,
                in_proportion: &self.in_proportion,
            };
            let n_processes = processes.each.len();
            (processes.remembered).add(unit.instance, n_processes, &divided);
        }
        self.settle_split(unit, &split);
    }

    /// Charges the columns for the waits in some slots, which are compared since an instant; gives what is in none of
    /// them.
    fn split_waits(&mut self, unit: &Unit<'_>, slots: &[u32]) -> Split {
        let calls = &unit.instance.calls;
        self.compare_waits(slots);
        self.shares.clear();
        let mut split = Split::default();
        let is_counted = |slot: u32| calls.is_counted.get(slot as usize).copied();
        let is_counted = |slot: u32| is_counted(slot).unwrap_or(true);
        let are_all_counted = calls.is_counted.is_empty();
        // So far it is how much more it did of everything.
        let mut is_any_unexplained = false;
        for (&slot, in_proportion) in slots.iter().zip(&mut self.in_proportion) {
            let wait_ns = calls.waits_ns[slot as usize];
            let more = *in_proportion;
            is_any_unexplained |= more == 0.0;
            *in_proportion = if more > 0.0 {
                wait_ns as f64 / more
            } else {
                0.0
            };
        }
        let waits_ns = slots
            .iter()
            .map(|&slot| (slot, calls.waits_ns[slot as usize]));
        split.waited_ns = if are_all_counted {
            sum_ns(waits_ns.map(|(_, ns)| ns))
        } else {
            sum_ns(
                waits_ns
                    .filter(|&(slot, _)| is_counted(slot))
                    .map(|(_, ns)| ns),
            )
        };
        if is_any_unexplained {
            let waits = slots.iter().zip(&self.in_proportion);
            let unexplained = waits.filter(|&(&slot, &ns)| ns == 0.0 && is_counted(slot));
            let unexplained_ns = unexplained.map(|(&slot, _)| calls.waits_ns[slot as usize]);
            split.unexplained_ns = sum_ns(unexplained_ns);
        }
        let mut of_counted = &self.in_proportion;
        if !are_all_counted {
            let counted = slots.iter().zip(&self.in_proportion);
            let counted = counted.map(|(&slot, &ns)| if is_counted(slot) { ns } else { 0.0 });
            self.of_counted.clear();
            self.of_counted.extend(counted);
            of_counted = &self.of_counted;
        }
        let mut more = self.more.chunks_exact(slots.len().max(1));
        let waited = more.next().filter(|_| self.last.row[WAIT] > 0);
        for (&more, in_proportion) in waited.into_iter().flatten().zip(of_counted) {
            split.most_passed_on = largest(split.most_passed_on, more);
            split.passed_on += more * in_proportion;
        }
        let shares = self.columns.iter().zip(&self.last.row[OWN..]).zip(more);
        let shares =
            shares.map(|((column, &last_ns), more)| column.charge(last_ns, more, of_counted));
        self.shares.extend(shares);
        split
    }

    /// Finds out how much more the process that was waited for did than those in some slots, by column and slot, and of
    /// everything, by slot.
    fn compare_waits(&mut self, slots: &[u32]) {
        let (n, width) = (slots.len(), self.last.row.len());
        let places = if self.sampling == 1 {
            slots
        } else {
            &self.places[..]
        };
        // All of them are written.
        self.more.resize(n * width, 0.0);
        self.in_proportion.clear();
        self.in_proportion.resize(n, 0.0);
        find_runs(places, self.sampling == 1, &mut self.runs);
        let rows = self.rows.chunks_exact(self.n_compared.max(1));
        let columns = self.last.row.iter().zip(rows);
        for ((&last_ns, row), more) in columns.zip(self.more.chunks_exact_mut(n.max(1))) {
            let last = last_ns as f64;
            for &(begin, place, n) in &self.runs {
                let end = begin + n;
                let of_all = &mut self.in_proportion[begin..end];
                add_more(last, &row[place..place + n], &mut more[begin..end], of_all);
            }
        }
    }

    /// Adds to the unit what was charged for its columns, and what of its waits is in none of them: together, they are rounded.
    fn settle_split(&mut self, unit: &Unit<'_>, split: &Split) {
        let mut imbalance = 0.0;
        let mut parts = std::mem::take(&mut self.parts);
        let mut rounded = std::mem::take(&mut self.rounded);
        parts.clear();
        for Shares { all, late, partner } in &self.shares {
            imbalance += all - late.direct - partner.direct;
            parts.extend([late.direct, partner.direct]);
        }
        parts.extend([
            imbalance.max(0.0),
            split.passed_on,
            split.unexplained_ns as f64,
        ]);
        round(split.waited_ns, &parts, &mut rounded);
        let (of_columns, rest) = rounded.split_at(2 * self.columns.len());
        let [imbalance_ns, mut passed_on_ns, mut unexplained_ns] = [rest[0], rest[1], rest[2]];
        let columns = self.columns.iter().zip(&self.shares);
        for ((column, shares), direct_ns) in columns.zip(of_columns.chunks_exact(2)) {
            let charges = [
                (column.late, shares.late.longest),
                (column.partner, shares.partner.longest),
            ];
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

/// Finds out how much more the process that was waited for did of something than each of some, and adds that up.
#[inline(never)]
fn add_more(last: f64, own: &[f64], more: &mut [f64], of_all: &mut [f64]) {
    let n = own.len();
    let (more, of_all) = (&mut more[..n], &mut of_all[..n]);
    for at in 0..n {
        more[at] = last - smallest(own[at], last);
        of_all[at] += more[at];
    }
}

/// Finds out where places are one after the other. Mostly that is everywhere but where the one is that was waited for: where they
/// are ascending the ends of runs are searched.
fn find_runs(places: &[u32], are_ascending: bool, runs: &mut Vec<(usize, usize, usize)>) {
    let n = places.len();
    runs.clear();
    let mut begin = 0;
    while begin < n {
        let first = places[begin] as usize;
        let is_in_run = |at: usize| places[at] as usize == first + at - begin;
        let mut end = begin + 1;
        if are_ascending {
            let mut after = if is_in_run(n - 1) { end } else { n };
            end = if after == end { n } else { end };
            while end < after {
                let middle = end.midpoint(after);
                if is_in_run(middle) {
                    end = middle + 1;
                } else {
                    after = middle;
                }
            }
        } else {
            while end < n && is_in_run(end) {
                end += 1;
            }
        }
        runs.push((begin, first, end - begin));
        begin = end;
    }
}

/// That the members of the communicator of an instance had more to do than others.
fn imbalance_of(instance: &Instance) -> Cause {
    Cause::Imbalance {
        communicator: instance.communicator,
    }
}
