//! What a process that was waited for did more than those that waited for it.

use crate::cause::{Cause, Totals, UnitCost, UnitTimes};
use crate::instance::{Instance, Part, Wait};
use crate::log::Entry;
use crate::process::{Process, waiting_time};

use crate::shares::divide;
use crate::synchronizations::Since;

/// Members of which a median is taken, at least, where only some of them are compared since an instant.
const SAMPLED: usize = 16;

/// The waits of an instance for one process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unit<'u> {
    pub(crate) instance: &'u Instance,
    /// Slot of the process that was waited for.
    pub(crate) on: u32,
    /// By slot: since when it is compared; [`Since::Never`] where it did not wait for that one.
    pub(crate) sinces: &'u [Since],
    /// Since when all members are compared, whoever waited, ns; `None`: they are not.
    pub(crate) all_since_ns: Option<i64>,
    /// Whether waits of others may be attributed to the causes of these.
    pub(crate) is_remembered: bool,
    /// How many instances in which all processes waited for the last there were before, and whether this is
    /// one.
    pub(crate) n_ends: u64,
    pub(crate) is_end: bool,
}

/// Attributes units; the buffers are reused.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// What the process that was waited for did since the instant at hand.
    last: Spent,
    /// Causes of its waits since then.
    causes: Vec<(Cause, i64)>,
    /// What each member did: waits, own work, and each part of the one that was waited for. One row for
    /// each slot, ns; only those that are needed.
    rows: Vec<i64>,
    /// By column the median of the members, where it was asked for, ns.
    medians: Vec<Option<i64>>,
    values: Vec<i64>,
    /// The instants since which members are compared, and how many since each.
    instants: Vec<(i64, usize)>,
    /// Of how many members one is taken for a median.
    sampling: usize,
    /// What each member did that is its own since the instant since which all are compared, ns; below 0: of
    /// that one it is not known. Empty where none of them waited since that instant.
    did: Vec<i64>,
    /// By slot: time in point-to-point communication, ns; empty where nobody communicated.
    with_partners: Vec<i64>,
    /// The waits that are divided, and their slots.
    waits: Vec<(usize, Wait)>,
    /// One row for each of them: by column, how much more of that the process that was waited for did, ns.
    more: Vec<i64>,
    /// The shares of each of them, ns, in rows.
    shares: Vec<i64>,
    passed_on: Vec<i64>,
    /// What the unit costs.
    unit: Vec<(Cause, UnitCost)>,
}

/// Not a column of a row.
const NOWHERE: usize = usize::MAX;

/// What a process did since an instant.
#[derive(Debug, Default)]
struct Spent {
    /// Waits, own work, and each part, ns.
    row: Vec<i64>,
    /// The parts, ascending, ns each.
    parts: Vec<(Part, i64)>,
    /// Of those, communication point to point, ns.
    with_partners_ns: i64,
    /// The operations of its blocking calls, the latest first, and the column of each.
    calls: Vec<(u64, usize)>,
}

/// How long a process that is compared with another was in calls.
#[derive(Debug, Clone, Copy)]
struct Compared {
    /// In collectives, ns.
    in_calls_ns: i64,
    /// In point-to-point communication, ns.
    with_partners_ns: i64,
}

/// Columns of a row before the parts.
const WAIT: usize = 0;
const OWN: usize = 1;
const PARTS: usize = 2;

impl Comparison {
    /// Attributes the waits of a unit.
    pub(crate) fn attribute(
        &mut self,
        unit: &Unit<'_>,
        processes: &mut [Process],
        hosts: &[u32],
        totals: &mut Totals,
    ) {
        self.unit.clear();
        self.did.clear();
        self.with_partners.clear();
        let mut instants = std::mem::take(&mut self.instants);
        instants.clear();
        for (slot, &since) in unit.sinces.iter().enumerate() {
            let cause = match since {
                Since::Never => continue,
                Since::Instant(from_ns) => {
                    let mut known = instants.iter_mut();
                    match known.find(|(other_ns, _)| *other_ns == from_ns) {
                        Some((_, n)) => *n += 1,
                        None => instants.push((from_ns, 1)),
                    }
                    continue;
                }
                Since::Startup => Cause::Startup,
                Since::Forgotten => Cause::Unexplained,
                Since::Unresolved => Cause::Unresolved,
            };
            self.settle(unit, slot, cause, processes);
        }
        for &(from_ns, n_compared) in &instants {
            self.compare(unit, from_ns, n_compared, processes);
            self.split(unit, from_ns, processes);
        }
        self.instants = instants;
        self.add_up(unit, hosts, totals);
    }

    /// Notes what the members of an instance did since an instant that is their own: not in collectives. The
    /// waits for the last of them have just been attributed, if there were any.
    pub(crate) fn note_excesses(
        &mut self,
        instance: &Instance,
        from_ns: i64,
        processes: &[Process],
        totals: &mut Totals,
    ) {
        if self.did.is_empty() {
            for (&member, &enter_ns) in instance.members.iter().zip(&instance.calls.enters_ns) {
                let in_calls_ns = processes[member as usize].in_calls_ns(from_ns, enter_ns);
                self.did.push(did_ns([from_ns, enter_ns], in_calls_ns));
            }
        }
        totals.note_excesses(instance, &self.did);
        self.did.clear();
    }

    /// Finds out what the members did since an instant, since which so many are compared.
    fn compare(&mut self, unit: &Unit<'_>, from_ns: i64, n_compared: usize, processes: &[Process]) {
        let Unit { instance, on, .. } = *unit;
        let enters_ns = &instance.calls.enters_ns;
        let last_enter_ns = enters_ns[on as usize];
        let last = &processes[instance.members[on as usize] as usize];
        self.last.of(last, [from_ns, last_enter_ns]);
        self.causes.clear();
        if self.last.row[WAIT] > 0 {
            let causes = &mut self.causes;
            last.waits
                .between(from_ns, last_enter_ns, |ns, cause| add(causes, cause, ns));
            causes.sort_unstable();
        }
        let width = self.last.row.len();
        let n = enters_ns.len();
        self.sampling = if n_compared >= SAMPLED {
            1
        } else {
            n.div_ceil(SAMPLED)
        };
        self.rows.clear();
        self.rows.resize(width * n, 0);
        self.medians.clear();
        self.medians.resize(width, None);
        let all_did = self.sampling == 1 && unit.all_since_ns == Some(from_ns);
        let rows = self.rows.chunks_exact_mut(width);
        let members = instance.members.iter().zip(enters_ns);
        for (slot, (row, (&member, &enter_ns))) in rows.zip(members).enumerate() {
            let is_compared = self.sampling == 1
                || slot % self.sampling == 0
                || slot == on as usize
                || unit.sinces[slot] == Since::Instant(from_ns)
                || self.last.with_partners_ns > 0 && self.last.has_partner(member);
            if enter_ns <= from_ns || !is_compared {
                // Not among those that the median is of.
                row[OWN] = -1;
                if all_did {
                    self.did.push(-1);
                }
                continue;
            }
            let span = [from_ns, enter_ns.min(last_enter_ns)];
            let spent = (self.last).compare(&processes[member as usize], span, row);
            if spent.with_partners_ns > 0 {
                self.with_partners.resize(n, 0);
                self.with_partners[slot] = spent.with_partners_ns;
            }
            if all_did {
                self.did.push(did_ns(span, spent.in_calls_ns));
            }
        }
    }

    /// The lower median of a column, of those that entered after the instant, ns.
    fn median(&mut self, column: usize) -> i64 {
        if let Some(median) = self.medians[column] {
            return median;
        }
        self.values.clear();
        let step = self.last.row.len() * self.sampling;
        let mut at = 0;
        while let Some(&own_ns) = self.rows.get(at + OWN) {
            if own_ns >= 0 {
                self.values.push(self.rows[at + column]);
            }
            at += step;
        }
        let middle = self.values.len().saturating_sub(1) / 2;
        let median = if self.values.is_empty() {
            0
        } else {
            *self.values.select_nth_unstable(middle).1
        };
        self.medians[column] = Some(median);
        median
    }

    /// Divides the waits of those that are compared since an instant among what the process that was waited
    /// for did more.
    fn split(&mut self, unit: &Unit<'_>, from_ns: i64, processes: &mut [Process]) {
        let calls = &unit.instance.calls;
        let width = self.last.row.len();
        self.waits.clear();
        for (slot, &since) in unit.sinces.iter().enumerate() {
            if since == Since::Instant(from_ns) {
                self.waits.extend(calls.wait(slot).map(|wait| (slot, wait)));
            }
        }
        let n_cells = width * self.waits.len();
        self.more.clear();
        self.more.resize(n_cells, 0);
        self.shares.clear();
        self.shares.resize(n_cells, 0);
        let (mut passed_on_ns, mut unexplained_ns) = (0_i64, 0_i64);
        let mut most_passed_on_ns = 0;
        let is_known = !self.causes.is_empty();
        let more = self.more.chunks_exact_mut(width);
        let shares = self.shares.chunks_exact_mut(width);
        for ((&(slot, wait), more), shares) in self.waits.iter().zip(more).zip(shares) {
            let row = &self.rows[width * slot..width * (slot + 1)];
            for ((more, of_last), own) in more.iter_mut().zip(&self.last.row).zip(row) {
                *more = (of_last - own).max(0);
            }
            let shared_ns = divide(wait.ns, more, shares);
            most_passed_on_ns = most_passed_on_ns.max(more[WAIT]);
            if wait.is_counted {
                unexplained_ns = unexplained_ns.saturating_add(wait.ns - shared_ns);
                passed_on_ns = passed_on_ns.saturating_add(shares[WAIT]);
            }
        }
        for column in OWN..width {
            self.charge(unit, column, processes);
        }
        if !is_known {
            unexplained_ns = unexplained_ns.saturating_add(passed_on_ns);
            passed_on_ns = 0;
        }
        if unexplained_ns > 0 {
            let at = self.place(Cause::Unexplained);
            self.unit[at].1.direct(unexplained_ns);
        }
        if passed_on_ns > 0 {
            self.pass_on(passed_on_ns);
            let of_all = sum_ns(self.causes.iter().map(|&(_, ns)| ns));
            for (&(cause, of_cause), &ns) in self.causes.iter().zip(&self.passed_on) {
                if ns > 0 {
                    let at = place(&mut self.unit, cause);
                    let passed_on_ns = in_proportion(most_passed_on_ns, of_cause, of_all);
                    self.unit[at].1.propagated(ns, passed_on_ns);
                }
            }
        }
        if unit.is_remembered {
            self.remember_rest(unit, processes);
        }
    }

    /// Remembers what of the waits is unexplained, and what was passed on.
    fn remember_rest(&mut self, unit: &Unit<'_>, processes: &mut [Process]) {
        let width = self.last.row.len();
        for at in 0..self.waits.len() {
            let (slot, wait) = self.waits[at];
            let shares = &self.shares[width * at..width * (at + 1)];
            let propagated_ns = shares[WAIT];
            let mut unexplained_ns = wait.ns - shares.iter().sum::<i64>();
            if self.causes.is_empty() {
                unexplained_ns += propagated_ns;
            } else if propagated_ns > 0 {
                self.pass_on(propagated_ns);
                for (&(cause, _), &ns) in self.causes.iter().zip(&self.passed_on) {
                    remember(unit, slot, wait, (cause, ns), processes);
                }
            }
            remember(
                unit,
                slot,
                wait,
                (Cause::Unexplained, unexplained_ns),
                processes,
            );
        }
    }

    /// Divides an amount among the causes of the waits of the process that was waited for.
    fn pass_on(&mut self, ns: i64) {
        self.values.clear();
        self.values.extend(self.causes.iter().map(|&(_, ns)| ns));
        self.passed_on.clear();
        self.passed_on.resize(self.values.len(), 0);
        divide(ns, &self.values, &mut self.passed_on);
    }

    /// Charges the shares of the waits that are in a column of what the process that was waited for did more.
    fn charge(&mut self, unit: &Unit<'_>, column: usize, processes: &mut [Process]) {
        let width = self.last.row.len();
        let (part, of_last) = self.last.column(column);
        let operation = match part {
            Some(Part::Operation(operation)) => Some(operation),
            _ => None,
        };
        let process = unit.instance.members[unit.on as usize];
        let late = match operation {
            Some(operation) => Cause::Operation(operation),
            None => Cause::Late { process, part },
        };
        let imbalance = Cause::Imbalance {
            communicator: unit.instance.communicator,
        };
        let above_ns = match operation {
            Some(_) => of_last,
            None => (of_last - self.median(column)).max(0),
        };
        let (partner, of_partner_ns) = self.partner(unit.instance, part);
        let mut of_late = UnitCost::default();
        let mut of_partner = UnitCost::default();
        let mut imbalance_ns = 0_i64;
        let cells = self.more.iter().zip(&self.shares);
        let cells = cells.skip(column).step_by(width);
        for (&(slot, wait), (&more, &share)) in self.waits.iter().zip(cells) {
            if share == 0 {
                continue;
            }
            // Not more than what it did more than the median is its own fault.
            let above = more.min(above_ns);
            let above_share = if above == more {
                share
            } else {
                in_proportion(share, above, more)
            };
            // Who waits for a partner that has more work is late because of that.
            let for_partner = of_partner_ns.min(above);
            let partner_share = if for_partner > 0 {
                in_proportion(above_share, for_partner, above)
            } else {
                0
            };
            let late_share = above_share - partner_share;
            if wait.is_counted {
                of_late.direct(late_share);
                of_partner.direct(partner_share);
                imbalance_ns = imbalance_ns.saturating_add(share - above_share);
            }
            if late_share > 0 {
                of_late.longest(above - for_partner);
            }
            of_partner.longest(for_partner);
            if unit.is_remembered {
                remember(unit, slot, wait, (late, late_share), processes);
                remember(unit, slot, wait, (partner, partner_share), processes);
                let rest = (imbalance, share - above_share);
                remember(unit, slot, wait, rest, processes);
            }
        }
        for (cause, cost) in [(late, of_late), (partner, of_partner)] {
            if cost.direct_ns > 0 || cost.longest_ns > 0 {
                let at = self.place(cause);
                self.unit[at].1.direct(cost.direct_ns);
                self.unit[at].1.longest(cost.longest_ns);
            }
        }
        if imbalance_ns > 0 {
            let at = self.place(imbalance);
            self.unit[at].1.direct(imbalance_ns);
        }
    }

    /// The partner of a part, as the cause of waits, and how much more own work than the median it had, ns.
    fn partner(&mut self, instance: &Instance, part: Option<Part>) -> (Cause, i64) {
        let Some(Part::PointToPoint(Some(partner))) = part else {
            return (Cause::Unexplained, 0);
        };
        let mut members = instance.members.iter();
        let slot = members.position(|&member| member == partner);
        let own_ns = slot.map_or(0, |slot| self.rows[self.last.row.len() * slot + OWN]);
        let cause = Cause::Late {
            process: partner,
            part: None,
        };
        (cause, (own_ns - self.median(OWN)).max(0))
    }

    /// Charges a wait to one cause.
    fn settle(&mut self, unit: &Unit<'_>, slot: usize, cause: Cause, processes: &mut [Process]) {
        let Some(wait) = unit.instance.calls.wait(slot) else {
            return;
        };
        let at = self.place(cause);
        if wait.is_counted {
            self.unit[at].1.direct(wait.ns);
        }
        if unit.is_remembered {
            remember(unit, slot, wait, (cause, wait.ns), processes);
        }
    }

    /// Where the costs of a cause are in the unit.
    fn place(&mut self, cause: Cause) -> usize {
        place(&mut self.unit, cause)
    }

    /// Adds what the unit costs.
    fn add_up(&mut self, unit: &Unit<'_>, hosts: &[u32], totals: &mut Totals) {
        let Unit { instance, on, .. } = *unit;
        let on = on as usize;
        let enters_ns = &instance.calls.enters_ns;
        let last_ns = enters_ns[on];
        let host = |slot: usize| hosts[instance.members[slot] as usize];
        let host_of_last = host(on);
        let with_partners = &self.with_partners;
        // How much earlier it would have gone on without the last, and without all of its host. Who
        // communicated for longer than the cause may have waited for that.
        let times = |cause: Option<usize>| {
            let own_ns = cause.and_then(|slot| with_partners.get(slot));
            let (mut before_ns, mut other_host_ns) = (i64::MIN, i64::MIN);
            for (slot, &enter_ns) in enters_ns.iter().enumerate() {
                let longer_ns = match (own_ns, with_partners.get(slot)) {
                    (Some(own_ns), Some(ns)) => (ns - own_ns).max(0),
                    _ => 0,
                };
                let begin_ns = enter_ns.saturating_sub(longer_ns);
                if begin_ns > before_ns && slot != on && Some(slot) != cause {
                    before_ns = begin_ns;
                }
                if begin_ns > other_host_ns && host(slot) != host_of_last {
                    other_host_ns = begin_ns;
                }
            }
            UnitTimes {
                last_ns,
                apart_ns: last_ns.saturating_sub(before_ns).max(0),
                host_apart_ns: last_ns.saturating_sub(other_host_ns).max(0),
                is_end: unit.is_end,
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
                let times = match cause {
                    Cause::Late { process, .. } if !with_partners.is_empty() => {
                        let mut members = instance.members.iter();
                        times(members.position(|&member| member == process))
                    }
                    _ => usual,
                };
                let total = totals.cost(cause, instance.operation);
                total.add(&cost, &times);
            }
        }
    }
}

impl Spent {
    /// What a process did between two times.
    fn of(&mut self, process: &Process, [from_ns, to_ns]: [i64; 2]) {
        self.parts.clear();
        let parts = &mut self.parts;
        let mut wait_ns = 0_i64;
        process.between(from_ns, to_ns, |ns, part| match part {
            Some(part) => add(parts, part, ns),
            None => wait_ns = wait_ns.saturating_add(ns),
        });
        parts.sort_unstable();
        let in_parts = sum_ns(parts.iter().map(|&(_, ns)| ns));
        let own_ns = to_ns
            .saturating_sub(from_ns)
            .saturating_sub(in_parts)
            .saturating_sub(wait_ns)
            .max(0);
        self.row.clear();
        self.row.extend([wait_ns, own_ns]);
        self.row.extend(parts.iter().map(|&(_, ns)| ns));
        let with_partners = self.parts.iter().filter(|(part, _)| part.has_partner());
        self.with_partners_ns = sum_ns(with_partners.map(|&(_, ns)| ns));
        let mut calls = std::mem::take(&mut self.calls);
        calls.clear();
        process.calls.between(from_ns, to_ns, |_, _, operation| {
            calls.push((operation, self.place(Part::Operation(operation))));
        });
        self.calls = calls;
    }

    /// The part in a column, and how much of it, ns; `None`: own work.
    fn column(&self, column: usize) -> (Option<Part>, i64) {
        if column == OWN {
            return (None, self.row[OWN]);
        }
        let (part, ns) = self.parts[column - PARTS];
        (Some(part), ns)
    }

    /// The column of a part; [`NOWHERE`] where it did nothing of that.
    fn place(&self, part: Part) -> usize {
        let at = self.parts.iter().position(|(other, _)| *other == part);
        at.map_or(NOWHERE, |at| PARTS + at)
    }

    /// Whether a process is one that it communicated with.
    fn has_partner(&self, process: u32) -> bool {
        let with = Part::PointToPoint(Some(process));
        self.parts.iter().any(|&(part, _)| part == with)
    }

    /// What another process did in a span, ns, by column; the row is all 0 before.
    #[inline]
    fn compare(&self, process: &Process, [from_ns, to_ns]: [i64; 2], row: &mut [i64]) -> Compared {
        let mut in_calls = 0_i64;
        let mut expected = self.calls.iter();
        let mut wait_ns = 0_i64;
        process
            .calls
            .between(from_ns, to_ns, |waited_ns, operation_ns, operation| {
                let column = match expected.next() {
                    Some(&(other, column)) if other == operation => column,
                    _ => self.place(Part::Operation(operation)),
                };
                wait_ns = wait_ns.saturating_add(waited_ns);
                in_calls = in_calls
                    .saturating_add(waited_ns)
                    .saturating_add(operation_ns);
                if let Some(cell) = row.get_mut(column) {
                    *cell = cell.saturating_add(operation_ns);
                }
            });
        row[WAIT] = wait_ns;
        let (mut in_others, mut with_partners_ns) = (0_i64, 0_i64);
        if process.has_parts() {
            process.parts_between(from_ns, to_ns, |ns, part| {
                if matches!(part, None | Some(Part::Operation(_))) {
                    in_calls = in_calls.saturating_add(ns);
                } else {
                    in_others = in_others.saturating_add(ns);
                }
                let column = match part {
                    None => WAIT,
                    Some(part) if part.has_partner() => {
                        with_partners_ns = with_partners_ns.saturating_add(ns);
                        return;
                    }
                    Some(part) => self.place(part),
                };
                if let Some(cell) = row.get_mut(column) {
                    *cell = cell.saturating_add(ns);
                }
            });
            // With whom it communicated does not matter to how long that took.
            if self.with_partners_ns > 0 && with_partners_ns > 0 {
                for (&(part, ns), cell) in self.parts.iter().zip(&mut row[PARTS..]) {
                    if part.has_partner() {
                        *cell = in_proportion(with_partners_ns, ns, self.with_partners_ns);
                    }
                }
            }
        }
        row[OWN] = to_ns
            .saturating_sub(from_ns)
            .saturating_sub(in_calls)
            .saturating_sub(in_others)
            .max(0);
        Compared {
            in_calls_ns: in_calls,
            with_partners_ns,
        }
    }
}

/// What a process did in a span that is its own, of which so much was in collectives, ns; -1 where the
/// span is empty.
fn did_ns([from_ns, to_ns]: [i64; 2], in_calls_ns: i64) -> i64 {
    if to_ns > from_ns {
        to_ns
            .saturating_sub(from_ns)
            .saturating_sub(in_calls_ns)
            .max(0)
    } else {
        -1
    }
}

/// Remembers that a part of the wait in a slot, ns, has a cause.
#[inline]
fn remember(
    unit: &Unit<'_>,
    slot: usize,
    wait: Wait,
    (cause, ns): (Cause, i64),
    processes: &mut [Process],
) {
    if ns <= 0 {
        return;
    }
    let instance = unit.instance;
    let waits = &mut processes[instance.members[slot] as usize].waits;
    let span = waiting_time(instance.calls.completion(slot), wait);
    waits.push(Entry {
        ns,
        ..span.on(cause)
    });
}

/// Where the costs of a cause are in a unit.
fn place(unit: &mut Vec<(Cause, UnitCost)>, cause: Cause) -> usize {
    let at = unit.iter().position(|(other, _)| *other == cause);
    at.unwrap_or_else(|| {
        unit.push((cause, UnitCost::default()));
        unit.len() - 1
    })
}

/// A sum that stops at the largest number, ns: damaged traces have times as long as that.
fn sum_ns(amounts: impl Iterator<Item = i64>) -> i64 {
    amounts.fold(0, i64::saturating_add)
}

/// The part of an amount that `of` is of `all`, which is > 0.
fn in_proportion(amount: i64, of: i64, all: i64) -> i64 {
    match amount.checked_mul(of) {
        Some(product) => product / all,
        None => (i128::from(amount) * i128::from(of) / i128::from(all)) as i64,
    }
}

/// Adds to the amount of one of some, or adds it to them.
#[inline]
fn add<K: PartialEq>(amounts: &mut Vec<(K, i64)>, key: K, ns: i64) {
    if ns == 0 {
        return;
    }
    match amounts.iter_mut().find(|(other, _)| *other == key) {
        Some((_, amount)) => *amount = amount.saturating_add(ns),
        None => amounts.push((key, ns)),
    }
}
