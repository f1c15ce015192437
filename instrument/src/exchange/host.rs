//! Which processes have one clock: by what the kernel says, and by a ping.

use std::fs;

use collbench_formats::{ClockSource, HostIdentity, OffsetSample};

use super::ping::TickLength;
use super::roster::HostKey;
use crate::communicators::mix;

/// By how much clocks of one host may differ without being called two, ns, beyond what the ping
/// itself leaves open.
const TOLERANCE_NS: i64 = 1_000;

/// What is equal for all processes that say to have the same clock, and for no others; never all
/// zeros.
#[must_use]
pub fn host_key(host: &HostIdentity, source: ClockSource) -> HostKey {
    let name = match host.boot_id.as_str() {
        "" => &host.name,
        boot_id => boot_id,
    };
    let mut words: Vec<u64> = name.bytes().map(u64::from).collect();
    words.extend([host.time_namespace, source as u64]);
    let mut key = [0; size_of::<HostKey>()];
    let (low, high) = key.split_at_mut(8);
    // All zeros would be nobody.
    low.copy_from_slice(&(mix(&words) | 1).to_le_bytes());
    words.push(1);
    high.copy_from_slice(&mix(&words).to_le_bytes());
    key
}

/// A number for the time namespace of this process, equal where the kernel shifts the clocks of
/// processes alike: containers with a namespace each, none of which shifts anything, have one clock.
/// 0 where nothing is shifted.
pub(crate) fn time_namespace() -> u64 {
    let link = |name: &str| fs::read_link(format!("/proc/self/ns/{name}")).ok();
    let Some(own) = link("time") else { return 0 };
    // The offsets told are those that children would have.
    let offsets = match link("time_for_children") {
        Some(of_children) if of_children == own => fs::read_to_string("/proc/self/timens_offsets"),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    };
    match offsets {
        Ok(offsets) => number_of_offsets(&offsets),
        Err(_) => inode_in(&own.to_string_lossy()),
    }
}

/// From lines of a clock's name, seconds and nanoseconds.
fn number_of_offsets(offsets: &str) -> u64 {
    let words: Vec<&str> = offsets.split_whitespace().collect();
    let is_shift = |word: &&str| word.parse::<i64>().is_ok_and(|number| number != 0);
    if !words.iter().any(is_shift) {
        return 0;
    }
    let bytes: Vec<u64> = words.join(" ").bytes().map(u64::from).collect();
    mix(&bytes).max(1)
}

/// The number in the target of a link to a namespace: `time:[4026531834]`.
fn inode_in(link: &str) -> u64 {
    link.trim_start_matches("time:[")
        .trim_end_matches(']')
        .parse()
        .unwrap_or(0)
}

/// Whether exchanges with a process that says to have the same clock show that it has another.
///
/// The offset of the shortest exchange is off by half its round trip at most: what lies beyond that
/// and [`TOLERANCE_NS`] is a difference of clocks, however slow the exchange was.
pub(crate) fn is_apart(samples: &[OffsetSample], tick: TickLength) -> bool {
    let span = |from: u64, to: u64| i128::from(to) - i128::from(from);
    let rtt = |sample: &OffsetSample| span(sample.t1, sample.t4) - span(sample.t2, sample.t3);
    let Some(best) = samples.iter().min_by_key(|sample| rtt(sample)) else {
        return false;
    };
    let twice_offset = span(best.t1, best.t2) + span(best.t4, best.t3);
    let beyond = (twice_offset.abs() - rtt(best).abs()) / 2;
    u64::try_from(beyond).is_ok_and(|ticks| tick.ns(ticks) > TOLERANCE_NS as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(boot_id: &str, time_namespace: u64) -> HostIdentity {
        HostIdentity {
            name: "h".into(),
            boot_id: boot_id.into(),
            time_namespace,
        }
    }

    #[test]
    fn hosts_differ_by_boot_by_shift_and_by_clock() {
        let keys = [
            host_key(&host("a", 0), ClockSource::Tsc),
            host_key(&host("b", 0), ClockSource::Tsc),
            host_key(&host("a", 1), ClockSource::Tsc),
            host_key(&host("a", 0), ClockSource::Monotonic),
            host_key(&host("", 0), ClockSource::Tsc),
        ];
        for (i, key) in keys.iter().enumerate() {
            assert!(!keys[..i].contains(key) && *key != [0; 16]);
        }
        assert_eq!(keys[0], host_key(&host("a", 0), ClockSource::Tsc));
    }

    #[test]
    fn namespaces_that_shift_alike_have_one_number() {
        let none = "monotonic           0         0\nboottime            0         0\n";
        assert_eq!(number_of_offsets(none), 0);
        let shifted = number_of_offsets("monotonic  86400  5\nboottime  86400  5\n");
        assert_ne!(shifted, 0);
        assert_eq!(
            shifted,
            number_of_offsets("monotonic 86400 5\nboottime 86400 5")
        );
        assert_ne!(
            shifted,
            number_of_offsets("monotonic 86400 6\nboottime 86400 5")
        );
        assert_eq!(inode_in("time:[4026531834]"), 4_026_531_834);
        assert_eq!(inode_in("nonsense"), 0);
    }

    #[test]
    fn clocks_are_two_only_where_no_delay_can_explain_the_difference() {
        let exchange = |offset: i64, there: i64, back: i64| {
            let t1 = 1 << 40;
            let t2 = t1 + there + offset;
            let t3 = t2 + 50;
            let t4 = t1 + there + 50 + back;
            [t1, t2, t3, t4].map(|t| t as u64)
        };
        let apart = |exchanges: &[[u64; 4]]| {
            let sample = |&[t1, t2, t3, t4]: &[u64; 4]| OffsetSample { t1, t2, t3, t4 };
            let samples: Vec<_> = exchanges.iter().map(sample).collect();
            is_apart(&samples, TickLength::NANOSECOND)
        };
        assert!(!apart(&[exchange(0, 400, 90_000), exchange(0, 300, 700)]));
        assert!(!apart(&[exchange(900, 300, 300)]), "within the tolerance");
        assert!(!apart(&[exchange(5_000, 9_000, 9_000)]), "cannot be told");
        assert!(apart(&[
            exchange(5_000, 90_000, 9_000),
            exchange(5_000, 300, 300)
        ]));
        assert!(apart(&[exchange(-5_000, 300, 300)]));
        assert!(!apart(&[]));
    }
}
