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

/// Times relative to another, ns; gives whether they are near enough.
#[inline]
pub(crate) fn set_times(times: &mut [f64], times_ns: &[i64], base_ns: i64) -> bool {
    let mut far = 0;
    for (time, &ns) in times.iter_mut().zip(times_ns) {
        far |= (ns.wrapping_sub(base_ns) as u64).wrapping_add(RANGE_NS as u64);
        *time = relative(ns, base_ns);
    }
    far >> 52 == 0
}

/// When waits ended that begin with calls; gives whether they are not too long.
#[inline]
pub(crate) fn set_releases(releases: &mut [f64], enters: &[f64], waits_ns: &[i64]) -> bool {
    let mut far = 0;
    for ((release, enter), &ns) in releases.iter_mut().zip(enters).zip(waits_ns) {
        far |= (ns as u64).wrapping_add(RANGE_NS as u64);
        *release = enter + largest(relative(ns, 0), 0.0);
    }
    far >> 52 == 0
}

/// Whether no time is after another.
pub(crate) fn are_in_order(before: &[f64], after: &[f64]) -> bool {
    let differences = before
        .iter()
        .zip(after)
        .map(|(before, after)| after - before);
    differences.fold(0, |signs, ns| signs | ns.to_bits()) >> 63 == 0
}

/// Replaces how long processes were in some calls by how much of their spans is left beside that and waits.
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
