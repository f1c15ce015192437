//! Loops over lists of times as numbers. Each list is an argument: only then it is known that none is a part of another, and two
//! numbers are computed at once. What does not hold for all is in the first bits of numbers: none is compared alone.

use crate::amounts::{largest, smallest};

/// Times are less than this after or before the base, ns, which is 26 days: as numbers of 53 bits they and their differences are
/// exact.
pub(crate) const RANGE_NS: i64 = 1 << 51;

/// A time relative to another that is less than [`RANGE_NS`] away from it, ns. Such a number, added to 1.5 * 2^52, is in the
/// last bits of the sum: that is done to two numbers at once, where they are converted one by one otherwise.
#[inline(always)]
pub(crate) fn relative(ns: i64, base_ns: i64) -> f64 {
    const ZERO: f64 = 6_755_399_441_055_744.0;
    let bits = ZERO.to_bits().wrapping_add(ns.wrapping_sub(base_ns) as u64);
    f64::from_bits(bits) - ZERO
}

/// Times that are near enough relative to another, ns, but none later than a limit.
#[inline]
pub(crate) fn set_ends(ends: &mut [f64], times_ns: &[i64], base_ns: i64, limit: f64) {
    for (end, &ns) in ends.iter_mut().zip(times_ns) {
        *end = smallest(relative(ns, base_ns), limit);
    }
}

/// Calls with their waits, relative to a time, ns; gives whether all are near enough, and none is over before its wait.
#[inline]
pub(crate) fn set_calls(
    enters: &mut [f64],
    releases: &mut [f64],
    leaves: &mut [f64],
    (enters_ns, waits_ns, leaves_ns): (&[i64], &[i64], &[i64]),
    base_ns: i64,
) -> bool {
    let n = enters.len();
    let (releases, leaves) = (&mut releases[..n], &mut leaves[..n]);
    let (enters_ns, waits_ns, leaves_ns) = (&enters_ns[..n], &waits_ns[..n], &leaves_ns[..n]);
    let (mut far, mut signs) = (0, 0);
    for at in 0..n {
        let times_ns = [
            (enters_ns[at], base_ns),
            (waits_ns[at], 0),
            (leaves_ns[at], base_ns),
        ];
        far |= times_ns.map(distance).iter().fold(0, |all, ns| all | ns);
        let [enter, wait, leave] = times_ns.map(|(ns, base_ns)| relative(ns, base_ns));
        let release = enter + largest(wait, 0.0);
        signs |= (leave - release).to_bits();
        (enters[at], releases[at], leaves[at]) = (enter, release, leave);
    }
    far >> 52 == 0 && signs >> 63 == 0
}

/// Below 2^52 where a time is near enough to another, ns.
#[inline(always)]
fn distance((ns, base_ns): (i64, i64)) -> u64 {
    (ns.wrapping_sub(base_ns) as u64).wrapping_add(RANGE_NS as u64)
}

/// Whether no time is after another.
pub(crate) fn are_in_order(before: &[f64], after: &[f64]) -> bool {
    let differences = before
        .iter()
        .zip(after)
        .map(|(before, after)| after - before);
    differences.fold(0, |signs, ns| signs | ns.to_bits()) >> 63 == 0
}

/// Turns how long processes were in some calls into what is left of their spans without these calls and their waits.
#[inline]
pub(crate) fn set_rest(in_calls: &mut [f64], from: &[f64], to: &[f64], waits: &[f64]) {
    let n = in_calls.len();
    let (from, to, waits) = (&from[..n], &to[..n], &waits[..n]);
    for at in 0..n {
        in_calls[at] = to[at] - from[at] - waits[at] - in_calls[at];
    }
}

#[inline]
pub(crate) fn subtract(from: &mut [f64], numbers: &[f64]) {
    for (from, number) in from.iter_mut().zip(numbers) {
        *from -= number;
    }
}

/// 0 in place of what is below.
#[inline]
pub(crate) fn set_not_below_0(numbers: &mut [f64]) {
    for number in numbers {
        *number = largest(*number, 0.0);
    }
}

/// How long a process waited in a call that is in part in a span, ns, and how long it was in its operation.
#[inline(always)]
fn within([enter, release, leave]: [f64; 3], [from, to]: [f64; 2]) -> [f64; 2] {
    [(enter, release), (release, leave)].map(|(begin, end)| {
        let begin = largest(begin, from);
        largest(smallest(end, to), begin) - begin
    })
}

/// Adds that of processes one after the other.
#[inline(never)]
pub(crate) fn add_range(
    enters: &[f64],
    releases: &[f64],
    leaves: &[f64],
    from: &[f64],
    to: &[f64],
    waits: &mut [f64],
    operations: &mut [f64],
) {
    let n = from.len();
    let (enters, releases, leaves) = (&enters[..n], &releases[..n], &leaves[..n]);
    let (to, waits, operations) = (&to[..n], &mut waits[..n], &mut operations[..n]);
    for at in 0..n {
        let call = [enters[at], releases[at], leaves[at]];
        let [wait, operation] = within(call, [from[at], to[at]]);
        waits[at] += wait;
        operations[at] += operation;
    }
}

/// Adds that of some processes.
#[inline(never)]
pub(crate) fn add_some(
    [enters, releases, leaves]: [&[f64]; 3],
    processes: &[u32],
    from: &[f64],
    to: &[f64],
    waits: &mut [f64],
    operations: &mut [f64],
) {
    // Then the number of a process is only looked at once.
    let (releases, leaves) = (&releases[..enters.len()], &leaves[..enters.len()]);
    let n = processes.len();
    let (from, to) = (&from[..n], &to[..n]);
    let (waits, operations) = (&mut waits[..n], &mut operations[..n]);
    for (at, &process) in processes.iter().enumerate() {
        let process = process as usize;
        let call = [enters[process], releases[process], leaves[process]];
        let [wait, operation] = within(call, [from[at], to[at]]);
        waits[at] += wait;
        operations[at] += operation;
    }
}
