//! The same attribution without any bound on memory, and as literally as possible: everything is
//! looked up in the list of all instances.

use std::collections::BTreeMap;

use collbench_causes::{Cause, Dependence, Instance};

/// A wait with its causes.
struct Attributed {
    process: u32,
    /// Begin and end, ns.
    span: [i64; 2],
    causes: Vec<(Cause, i64)>,
}

/// Those that waited in an instance for the process in a slot and are compared since an instant: number of
/// the instance, slot, ns.
type Group = (usize, usize, i64);

/// Direct and propagated cost of each cause, ns. `begins_ns`: when `MPI_Init` returned to each process; empty where that
/// is not known.
pub(crate) fn costs(
    instances: &[Instance],
    begins_ns: &[i64],
) -> BTreeMap<(Cause, u64), (i64, i64)> {
    // In order of the end of waits.
    let mut units = Vec::new();
    for (number, instance) in instances.iter().enumerate() {
        for (slot, call) in instance.calls.iter().enumerate() {
            if let Some(wait) = call.wait {
                units.push((
                    call.completion_ns + wait.ns,
                    instance.communicator,
                    number,
                    slot,
                ));
            }
        }
    }
    units.sort_unstable();
    let mut done: Vec<Attributed> = Vec::new();
    // What those pass on that waited in one instance for one process and are compared since one instant.
    let mut passed_on: BTreeMap<Group, (Vec<(Cause, i64)>, i64)> = BTreeMap::new();
    let mut costs: BTreeMap<(Cause, u64), (i64, i64)> = BTreeMap::new();
    for (end_ns, _, number, slot) in units {
        let instance = &instances[number];
        let call = instance.calls.call(slot);
        let wait = call.wait.unwrap();
        let on = wait.on as usize;
        let mut causes = Vec::new();
        let common = last_common(instances, number, [slot, on]);
        let is_start = common.is_none();
        match common.or(begins_ns.iter().min().copied()) {
            None => causes.push((Cause::Startup, wait.ns, true)),
            Some(from_ns) => {
                let span_of = |slot: usize| {
                    let since = (from_ns, is_start);
                    compared_span(instances, number, [slot, on], since)
                };
                let spent = |slot: usize| {
                    let [from_ns, to_ns] = span_of(slot);
                    let process = instance.members[slot];
                    let mut spent = spent(instances, process, [from_ns, to_ns]);
                    // Who had not begun by then, and is compared with others all the same, did not work before.
                    let begin_ns = begins_ns.get(process as usize).copied();
                    if let Some(launch_ns) = begin_ns.map(|begin_ns| begin_ns - from_ns)
                        && launch_ns > 0
                    {
                        *spent.entry(What::Own).or_default() -= launch_ns;
                        spent.insert(What::Launch, launch_ns);
                    }
                    spent
                };
                let (own, of_last) = (spent(slot), spent(on));
                let mut more: Vec<(What, i64)> = Vec::new();
                for (&what, &ns) in &of_last {
                    more.push((what, (ns - own.get(&what).unwrap_or(&0)).max(0)));
                }
                for ((what, more), share) in more.iter().zip(largest_remainder(wait.ns, &more)) {
                    let of_what = of_last[what];
                    match *what {
                        What::Waits => {
                            let to_ns = instance.calls.enters_ns[on];
                            let waits = waits(&done, instance.members[on], [from_ns, to_ns]);
                            let of_waits = largest_remainder(share, &waits);
                            if waits.is_empty() {
                                causes.push((Cause::Unexplained, share, true));
                            }
                            for ((cause, _), ns) in waits.iter().zip(of_waits) {
                                causes.push((*cause, ns, false));
                            }
                            if !waits.is_empty() {
                                let group = passed_on.entry((number, on, from_ns));
                                group.or_insert((waits, 0)).1 += share;
                            }
                        }
                        What::Launch => causes.push((Cause::Startup, share, true)),
                        What::Operation(operation) => {
                            causes.push((Cause::Operation(operation), share, true));
                        }
                        What::Own if *more > 0 => {
                            // Who was there already did nothing more.
                            let own_ns = |slot| {
                                let span = span_of(slot);
                                match span[1] > span[0] {
                                    true => spent(slot).get(&What::Own).copied().unwrap_or(0),
                                    false => 0,
                                }
                            };
                            let mut all: Vec<i64> = (0..instance.calls.len()).map(own_ns).collect();
                            all.sort_unstable();
                            let median = all[(all.len() - 1) / 2];
                            let above = (of_what - median).clamp(0, *more);
                            let late = share * above / more;
                            let process = instance.members[on];
                            let part = None;
                            let of_late = if is_start {
                                Cause::LateAtStart { process, part }
                            } else {
                                Cause::Late { process, part }
                            };
                            causes.push((of_late, late, true));
                            let communicator = instance.communicator;
                            causes.push((Cause::Imbalance { communicator }, share - late, true));
                        }
                        What::Own => {}
                    }
                }
            }
        }
        for &(cause, ns, _) in causes
            .iter()
            .filter(|(_, ns, is_direct)| *ns > 0 && *is_direct)
        {
            costs.entry((cause, instance.operation)).or_default().0 += ns;
        }
        done.push(Attributed {
            process: instance.members[slot],
            span: [call.completion_ns, end_ns],
            causes: causes
                .into_iter()
                .map(|(cause, ns, _)| (cause, ns))
                .collect(),
        });
    }
    for (&(number, ..), (waits, ns)) in &passed_on {
        for (&(cause, _), ns) in waits.iter().zip(largest_remainder(*ns, waits)) {
            if ns > 0 {
                costs
                    .entry((cause, instances[number].operation))
                    .or_default()
                    .1 += ns;
            }
        }
    }
    costs
}

/// The span in which what the process in a slot of an instance did is compared with the one that was waited for, since an
/// instant, ns: until it waited or that one entered. Who was not together with that one at this instant may be ahead: it
/// is compared since it left the instance that the other one was in then.
fn compared_span(
    instances: &[Instance],
    number: usize,
    [slot, on]: [usize; 2],
    (from_ns, is_start): (i64, bool),
) -> [i64; 2] {
    let this = &instances[number];
    let enter_ns = this.calls.enters_ns[on];
    if slot == on {
        return [from_ns, enter_ns];
    }
    let call = this.calls.call(slot);
    let waited = call.wait.is_some_and(|wait| wait.on as usize == on)
        && last_common(instances, number, [slot, on]).map_or(is_start, |at_ns| at_ns == from_ns);
    let is_whole = this.dependence == Dependence::All && this.calls.are_blocking();
    let before = instances.iter().rev().find(|other| {
        let of = other.calls.call(on.min(other.calls.len() - 1));
        other.communicator == this.communicator
            && other.position < this.position
            && !is_common(other)
            && of.enter_ns <= from_ns
            && from_ns <= of.leave_ns
    });
    // Where all were together last, nobody is ahead.
    let commons = instances.iter().filter(|other| {
        other.communicator == this.communicator
            && other.position < this.position
            && is_common(other)
    });
    let last = commons.max_by_key(|other| other.position);
    let last_ns = last.and_then(|other| other.calls.iter().map(|call| call.completion_ns).max());
    let is_ahead = call.completion_ns <= enter_ns && last_ns != Some(from_ns);
    match before.filter(|_| is_ahead && !waited && !is_whole) {
        Some(before) => {
            let of = before.calls.call(slot);
            let went_on_ns = if of.is_blocking() {
                of.leave_ns
            } else {
                of.initiated_ns
            };
            // Unless all members were together after that.
            let n_all = instances
                .iter()
                .flat_map(|of| of.members.iter())
                .max()
                .map_or(0, |of| of + 1);
            let together = instances.iter().filter(|other| {
                let has_all = other.communicator == this.communicator
                    || other.members.len() == n_all as usize;
                has_all && is_common(other)
            });
            let together_ns = together.filter_map(|other| {
                let last_ns = other.calls.iter().map(|call| call.completion_ns).max();
                last_ns.filter(|&ns| ns <= from_ns)
            });
            [
                together_ns
                    .max()
                    .map_or(went_on_ns, |ns| ns.max(went_on_ns)),
                call.completion_ns,
            ]
        }
        None => [from_ns, call.completion_ns.min(enter_ns)],
    }
}

/// Whether all members of an instance were inside of it together.
fn is_common(instance: &Instance) -> bool {
    let calls = || instance.calls.iter();
    let last_ns = calls().map(|call| call.completion_ns).max();
    let first_ns = calls().map(|call| call.leave_ns).min();
    instance.dependence == Dependence::All && (instance.calls.are_blocking() || last_ns <= first_ns)
}

/// What time is spent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Waits,
    Own,
    Operation(u64),
    Launch,
}

/// How much of a span lies within another.
fn overlap(a: [i64; 2], b: [i64; 2]) -> i64 {
    (a[1].min(b[1]) - a[0].max(b[0])).max(0)
}

/// What a process spent its time on within a span, ns.
fn spent(instances: &[Instance], process: u32, within: [i64; 2]) -> BTreeMap<What, i64> {
    let mut spent = BTreeMap::new();
    let mut own = within[1] - within[0];
    for instance in instances {
        let Some(slot) = instance
            .members
            .iter()
            .position(|&member| member == process)
        else {
            continue;
        };
        let call = instance.calls.call(slot);
        let waited_ns = call.wait.map_or(0, |wait| wait.ns);
        let waited = overlap([call.completion_ns, call.completion_ns + waited_ns], within);
        *spent.entry(What::Waits).or_default() += waited;
        own -= waited;
        let spans = [
            [call.enter_ns, call.initiated_ns],
            [call.completion_ns + waited_ns, call.leave_ns],
        ];
        let ns: i64 = spans.into_iter().map(|span| overlap(span, within)).sum();
        own -= ns;
        *spent
            .entry(What::Operation(instance.operation))
            .or_default() += ns;
    }
    spent.insert(What::Own, own);
    spent
}

/// The causes of the waits of a process within a span.
fn waits(done: &[Attributed], process: u32, within: [i64; 2]) -> Vec<(Cause, i64)> {
    let mut causes: Vec<(Cause, i64)> = Vec::new();
    for wait in done.iter().filter(|wait| wait.process == process) {
        let length = wait.span[1] - wait.span[0];
        for &(cause, ns) in &wait.causes {
            let ns = ns * overlap(wait.span, within) / length;
            match causes.iter_mut().find(|(other, _)| *other == cause) {
                Some((_, sum)) => *sum += ns,
                None if ns > 0 => causes.push((cause, ns)),
                None => {}
            }
        }
    }
    causes.sort_unstable();
    causes
}

/// The last instant at which two processes were inside of an earlier instance in which they depend on
/// each other.
fn last_common(instances: &[Instance], number: usize, slots: [usize; 2]) -> Option<i64> {
    let this = &instances[number];
    let processes = slots.map(|slot| this.members[slot]);
    let limit_ns = slots
        .map(|slot| this.calls.enters_ns[slot])
        .into_iter()
        .min()?;
    let instants = instances
        .iter()
        .enumerate()
        .filter_map(|(other, instance)| {
            let slot_of = |process| {
                instance
                    .members
                    .iter()
                    .position(|&member| member == process)
            };
            let [a, b] = [slot_of(processes[0])?, slot_of(processes[1])?];
            let (x, y) = (instance.calls.call(a), instance.calls.call(b));
            let depends = match instance.dependence {
                Dependence::All | Dependence::Pairs => true,
                Dependence::Root(root) => [a, b].contains(&(root as usize)),
                Dependence::Nobody => false,
            };
            let at_ns = if is_common(instance) {
                instance.calls.iter().map(|call| call.completion_ns).max()?
            } else {
                x.completion_ns.max(y.completion_ns)
            };
            let is_inside = at_ns <= x.leave_ns.min(y.leave_ns);
            // One of them waited in its completing call until the other initiated it.
            let waited = [(x, b), (y, a)].into_iter().find_map(|(call, other)| {
                let is_on = call.wait.is_some_and(|wait| wait.on as usize == other);
                (is_on && !call.is_blocking()).then(|| instance.calls.enters_ns[other])
            });
            let at_ns = if is_inside {
                depends.then_some(at_ns)
            } else {
                waited
            };
            at_ns.filter(|&at_ns| other != number && at_ns <= limit_ns)
        });
    instants.max()
}

/// Shares of an amount in proportion to weights, rounded so that they add up.
fn largest_remainder<K>(amount: i64, weights: &[(K, i64)]) -> Vec<i64> {
    let total: i64 = weights.iter().map(|(_, weight)| weight).sum();
    if total == 0 {
        return vec![0; weights.len()];
    }
    let mut shares: Vec<i64> = weights.iter().map(|(_, w)| amount * w / total).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|&at| -(amount * weights[at].1 % total));
    let left = amount - shares.iter().sum::<i64>();
    for &at in order.iter().take(left as usize) {
        shares[at] += 1;
    }
    shares
}
