//! What a process that was waited for did more than those that waited for it.

use crate::cause::{Attributed, Cause, Costs, UnitCost};
use crate::instance::{Dependence, Instance, Part};
use crate::log::Entry;
use crate::process::{Process, waiting_time};
use crate::shares::divide;
use crate::synchronizations::Since;

/// Members from which the median is taken where each pair is compared since another instant.
const SAMPLED: usize = 64;

/// The waits of an instance for one process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unit<'u> {
    pub(crate) instance: &'u Instance,
    /// Slot of the process that was waited for.
    pub(crate) on: u32,
    /// By slot: since when it is compared; [`Since::Never`] where it did not wait for that one.
    pub(crate) sinces: &'u [Since],
    /// Since when all are compared, whoever waited; [`Since::Never`]: they are not.
    pub(crate) compared_since: Since,
    /// Whether waits of others may be attributed to the causes of these.
    pub(crate) is_remembered: bool,
}

/// Attributes units; the buffers are reused.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// What the process that was waited for did since the instant at hand.
    last: Spent,
    /// Causes of its waits since then.
    causes: Vec<(Cause, i64)>,
    /// Where the costs of each column of the rows are in the unit, as far as there are any.
    places: Vec<Places>,
    /// Where those of the causes of its waits are.
    passed_to: Vec<usize>,
    /// What each member did: waits, own work, and each part of the one that was waited for. One row for
    /// each slot, ns; only those that are needed.
    rows: Vec<i64>,
    /// By column the median of the members, where it was asked for.
    medians: Vec<Option<i64>>,
    values: Vec<i64>,
    /// The instants since which members are compared.
    instants: Vec<i64>,
    /// What each member did that is its own, ns.
    did: Vec<(usize, i64)>,
    weights: Vec<i64>,
    shares: Vec<i64>,
    passed_on: Vec<i64>,
    /// The causes of one wait, by where they are in the unit.
    found: Vec<(usize, i64)>,
    /// What the unit costs.
    unit: Vec<(Cause, UnitCost)>,
}

/// Where the costs of a column are in the unit; [`NOWHERE`] until there are any.
#[derive(Debug, Clone, Copy)]
struct Places {
    /// Of the process that was waited for, or of the operation.
    late: usize,
    /// Of imbalance.
    imbalance: usize,
}

/// Not a place in a unit.
const NOWHERE: usize = usize::MAX;

/// What a process did since an instant.
#[derive(Debug, Default)]
struct Spent {
    /// Own work, ns.
    own_ns: i64,
    /// Waits, ns.
    wait_ns: i64,
    /// By part, ascending, ns.
    parts: Vec<(Part, i64)>,
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
        attributed: &mut Attributed,
    ) {
        self.unit.clear();
        let mut instants = std::mem::take(&mut self.instants);
        instants.clear();
        for (slot, &since) in unit.sinces.iter().enumerate() {
            let cause = match since {
                Since::Never => continue,
                Since::Instant(from_ns) => {
                    if instants.last() != Some(&from_ns) && !instants.contains(&from_ns) {
                        instants.push(from_ns);
                    }
                    continue;
                }
                Since::Startup => Cause::Startup,
                Since::Forgotten => Cause::Unexplained,
                Since::Unresolved => Cause::Unresolved,
            };
            let Some(wait) = unit.instance.calls[slot].wait else {
                continue;
            };
            let at = self.place(cause);
            self.found.clear();
            self.found.push((at, wait.ns));
            self.settle(unit, slot, 1, processes);
        }
        if let Since::Instant(from_ns) = unit.compared_since
            && !instants.contains(&from_ns)
        {
            instants.push(from_ns);
        }
        for &from_ns in &instants {
            self.compare(unit, from_ns, processes);
            if unit.compared_since == Since::Instant(from_ns) {
                attributed.note_excesses(unit.instance, &self.did);
            }
            for slot in 0..unit.sinces.len() {
                if unit.sinces[slot] == Since::Instant(from_ns) {
                    self.split(unit, slot, processes);
                }
            }
        }
        self.instants = instants;
        self.add_up(unit, hosts, &mut attributed.costs);
    }

    /// Finds out what the members did since an instant.
    fn compare(&mut self, unit: &Unit<'_>, from_ns: i64, processes: &mut [Process]) {
        let Unit { instance, on, .. } = *unit;
        let last_enter_ns = instance.calls[on as usize].enter_ns;
        let last = &mut processes[instance.members[on as usize] as usize];
        self.last.of(last, [from_ns, last_enter_ns]);
        self.causes.clear();
        if self.last.wait_ns > 0 {
            let causes = &mut self.causes;
            last.waits
                .between(from_ns, last_enter_ns, |ns, cause| add(causes, cause, ns));
            causes.sort_unstable();
        }
        let parts = &self.last.parts;
        let width = PARTS + parts.len();
        let n = instance.calls.len();
        let step = sampling(instance);
        self.rows.clear();
        self.rows.resize(width * n, 0);
        self.medians.clear();
        self.medians.resize(width, None);
        self.places.clear();
        let nowhere = Places {
            late: NOWHERE,
            imbalance: NOWHERE,
        };
        self.places.resize(width, nowhere);
        self.passed_to.clear();
        self.did.clear();
        for slot in 0..n {
            let enter_ns = instance.calls[slot].enter_ns;
            let is_compared = unit.sinces[slot] == Since::Instant(from_ns);
            let is_sampled = slot % step == 0 || slot == on as usize;
            if enter_ns <= from_ns || !(is_compared || is_sampled) {
                // Not among those that the median is of.
                self.rows[width * slot + OWN] = -1;
                continue;
            }
            let row = &mut self.rows[width * slot..width * (slot + 1)];
            let process = &mut processes[instance.members[slot] as usize];
            let to_ns = enter_ns.min(last_enter_ns);
            let (mut in_others, mut in_operations) = (0, 0);
            process
                .parts
                .between(from_ns, to_ns, |ns, part| match part {
                    None => row[WAIT] += ns,
                    Some(part) => {
                        if let Part::Operation(_) = part {
                            in_operations += ns;
                        }
                        match parts.iter().position(|(other, _)| *other == part) {
                            Some(at) => row[PARTS + at] += ns,
                            None => in_others += ns,
                        }
                    }
                });
            let in_parts: i64 = row[PARTS..].iter().sum();
            row[OWN] = (to_ns - from_ns - in_others - in_parts - row[WAIT]).max(0);
            if is_sampled {
                let did_ns = to_ns - from_ns - in_operations - row[WAIT];
                self.did.push((slot, did_ns.max(0)));
            }
        }
    }

    /// The lower median of a column, of those that entered after the instant, ns.
    fn median(&mut self, instance: &Instance, column: usize) -> i64 {
        if let Some(median) = self.medians[column] {
            return median;
        }
        let width = PARTS + self.last.parts.len();
        let rows = self.rows.chunks_exact(width).step_by(sampling(instance));
        self.values.clear();
        let values = rows.filter(|row| row[OWN] >= 0).map(|row| row[column]);
        self.values.extend(values);
        let middle = self.values.len().saturating_sub(1) / 2;
        let median = match self.values.len() {
            0 => 0,
            _ => *self.values.select_nth_unstable(middle).1,
        };
        self.medians[column] = Some(median);
        median
    }

    /// How much more own work a member of an instance had than the median, ns; 0 where that is not known.
    fn own_excess(&mut self, instance: &Instance, process: u32) -> i64 {
        let mut members = instance.members.iter();
        let Some(slot) = members.position(|&member| member == process) else {
            return 0;
        };
        let width = PARTS + self.last.parts.len();
        let own_ns = self.rows[width * slot + OWN];
        (own_ns - self.median(instance, OWN)).max(0)
    }

    /// Divides a wait among what the process that was waited for did more.
    fn split(&mut self, unit: &Unit<'_>, slot: usize, processes: &mut [Process]) {
        let Unit { instance, on, .. } = *unit;
        let Some(wait) = instance.calls[slot].wait else {
            return;
        };
        let width = PARTS + self.last.parts.len();
        let row = &self.rows[width * slot..width * (slot + 1)];
        let more = |of_last: i64, own: i64| (of_last - own.max(0)).max(0);
        self.weights.clear();
        self.weights.push(more(self.last.wait_ns, row[WAIT]));
        self.weights.push(more(self.last.own_ns, row[OWN]));
        let parts = self.last.parts.iter().zip(&row[PARTS..]);
        self.weights
            .extend(parts.map(|(&(_, of_last), &own)| more(of_last, own)));
        divide(wait.ns, &self.weights, &mut self.shares);
        let process = instance.members[on as usize];
        self.found.clear();
        for column in OWN..width {
            let (share, more) = (self.shares[column], self.weights[column]);
            if share == 0 {
                continue;
            }
            let (part, of_last) = match column {
                OWN => (None, self.last.own_ns),
                _ => {
                    let (part, ns) = self.last.parts[column - PARTS];
                    (Some(part), ns)
                }
            };
            let cause = match part {
                Some(Part::Operation(operation)) => Cause::Operation(operation),
                _ => Cause::Late { process, part },
            };
            if self.places[column].late == NOWHERE {
                self.places[column].late = self.place(cause);
            }
            let Places { late, imbalance } = self.places[column];
            if let Cause::Operation(_) = cause {
                self.found.push((late, share));
                self.unit[late].1.longest(more);
                continue;
            }
            let above = more.min((of_last - self.median(instance, column)).max(0));
            let of_late = match above == more {
                true => share,
                false => in_proportion(share, above, more),
            };
            let partner = match part {
                Some(Part::PointToPoint(Some(partner))) => Some(partner),
                _ => None,
            };
            // Who waits for a partner that has more work is late because of that.
            let of_partner = partner.map_or(0, |partner| self.own_excess(instance, partner));
            let of_partner = of_partner.min(above);
            let mut ns = of_late;
            if let Some(process) = partner.filter(|_| of_partner > 0) {
                let for_partner = in_proportion(of_late, of_partner, above);
                let at = self.place(Cause::Late {
                    process,
                    part: None,
                });
                self.found.push((at, for_partner));
                self.unit[at].1.longest(of_partner);
                ns -= for_partner;
            }
            if ns > 0 {
                self.found.push((late, ns));
                self.unit[late].1.longest(above - of_partner);
            }
            if share > of_late {
                let communicator = instance.communicator;
                let at = match imbalance {
                    NOWHERE => self.place(Cause::Imbalance { communicator }),
                    at => at,
                };
                self.places[column].imbalance = at;
                self.found.push((at, share - of_late));
            }
        }
        let propagated = self.shares[WAIT];
        let left = wait.ns - self.shares.iter().sum::<i64>();
        let is_known = !self.causes.is_empty();
        let unexplained = left + if is_known { 0 } else { propagated };
        if unexplained > 0 {
            let at = self.place(Cause::Unexplained);
            self.found.push((at, unexplained));
        }
        let n_direct = self.found.len();
        if is_known && propagated > 0 {
            if self.passed_to.is_empty() {
                for at in 0..self.causes.len() {
                    let place = self.place(self.causes[at].0);
                    self.passed_to.push(place);
                }
            }
            self.weights.clear();
            self.weights.extend(self.causes.iter().map(|&(_, ns)| ns));
            divide(propagated, &self.weights, &mut self.passed_on);
            let shares = self.passed_to.iter().zip(&self.passed_on);
            let shares = shares.filter(|&(_, &ns)| ns > 0);
            self.found.extend(shares.map(|(&at, &ns)| (at, ns)));
        }
        self.settle(unit, slot, n_direct, processes);
    }

    /// Adds the causes that were found for the wait in a slot, of which the first are direct.
    fn settle(&mut self, unit: &Unit<'_>, slot: usize, n_direct: usize, processes: &mut [Process]) {
        let call = &unit.instance.calls[slot];
        let Some(wait) = call.wait else {
            return;
        };
        debug_assert_eq!(self.found.iter().map(|found| found.1).sum::<i64>(), wait.ns);
        if wait.is_counted {
            for (n, &(at, ns)) in self.found.iter().enumerate() {
                let cost = &mut self.unit[at].1;
                if n < n_direct {
                    cost.direct_ns = cost.direct_ns.saturating_add(ns);
                } else {
                    cost.propagated_ns = cost.propagated_ns.saturating_add(ns);
                }
            }
        }
        if unit.is_remembered {
            let waits = &mut processes[unit.instance.members[slot] as usize].waits;
            let span = waiting_time(call, wait);
            for &(at, ns) in &self.found {
                waits.push(Entry {
                    ns,
                    ..span.on(self.unit[at].0)
                });
            }
        }
    }

    /// Where the costs of a cause are in the unit.
    fn place(&mut self, cause: Cause) -> usize {
        let at = self.unit.iter().position(|(other, _)| *other == cause);
        at.unwrap_or_else(|| {
            self.unit.push((cause, UnitCost::default()));
            self.unit.len() - 1
        })
    }

    /// Adds what the unit costs.
    fn add_up(&mut self, unit: &Unit<'_>, hosts: &[u32], costs: &mut Costs) {
        let Unit { instance, on, .. } = *unit;
        let on = on as usize;
        let last_ns = instance.calls[on].enter_ns;
        let host = |slot: usize| hosts[instance.members[slot] as usize];
        // How much earlier it would have gone on without the last, and without all of its host.
        let (mut apart_ns, mut host_apart_ns) = (i64::MAX, i64::MAX);
        for (slot, call) in instance.calls.iter().enumerate() {
            let later_ns = last_ns.saturating_sub(call.enter_ns).max(0);
            if slot != on {
                apart_ns = apart_ns.min(later_ns);
            }
            if host(slot) != host(on) {
                host_apart_ns = host_apart_ns.min(later_ns);
            }
        }
        let n = instance.calls.len() as i64;
        for (cause, mut cost) in self.unit.drain(..) {
            if let Cause::Imbalance { .. } = cause {
                cost.longest_ns = cost.direct_ns / n;
            }
            if cost.direct_ns > 0 || cost.propagated_ns > 0 {
                let total = costs.entry((cause, instance.operation)).or_default();
                total.add(&cost, last_ns, [apart_ns, host_apart_ns]);
            }
        }
    }
}

impl Spent {
    /// What a process did between two times.
    fn of(&mut self, process: &mut Process, [from_ns, to_ns]: [i64; 2]) {
        self.parts.clear();
        self.wait_ns = 0;
        let (parts, wait_ns) = (&mut self.parts, &mut self.wait_ns);
        process
            .parts
            .between(from_ns, to_ns, |ns, part| match part {
                Some(part) => add(parts, part, ns),
                None => *wait_ns += ns,
            });
        parts.sort_unstable();
        let in_parts: i64 = parts.iter().map(|(_, ns)| ns).sum();
        self.own_ns = (to_ns - from_ns - in_parts - self.wait_ns).max(0);
    }
}

/// The part of an amount that `of` is of `all`, which is > 0.
fn in_proportion(amount: i64, of: i64, all: i64) -> i64 {
    match amount.checked_mul(of) {
        Some(product) => product / all,
        None => (i128::from(amount) * i128::from(of) / i128::from(all)) as i64,
    }
}

/// Of how many members of an instance one is taken for a median.
fn sampling(instance: &Instance) -> usize {
    match instance.dependence {
        Dependence::All => 1,
        _ => instance.calls.len().div_ceil(SAMPLED),
    }
}

/// Adds to the amount of one of some, or adds it to them.
#[inline]
fn add<K: PartialEq>(amounts: &mut Vec<(K, i64)>, key: K, ns: i64) {
    if ns == 0 {
        return;
    }
    match amounts.iter_mut().find(|(other, _)| *other == key) {
        Some((_, amount)) => *amount += ns,
        None => amounts.push((key, ns)),
    }
}
