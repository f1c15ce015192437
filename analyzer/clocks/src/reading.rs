//! The offset that a burst of exchanges gives, from more than its fastest exchange.
//!
//! Queueing delays a message and never speeds it up. So the fastest few messages in each direction,
//! taken separately, are close to an idle path, and half the difference of the directions is the
//! offset plus half the asymmetry. The fastest message alone is not used: on a busy machine a
//! single message is sometimes early by as much as all others wait.
//!
//! A burst may have had no undisturbed moment: then even its fastest messages are slow, which shows
//! by comparison with another burst of the same pair. Equal delays in both directions do no harm.
//! The rest of the burst shows how equal they were: if the median is further above the fastest in
//! one direction than in the other, the delay common to all messages may differ as well.
//!
//! All exchanges of a burst share one moment, in which one direction may be a little faster than at
//! other times. One burst does not show how much that matters, but several do.

use std::collections::BTreeMap;

use super::exchange::{ASYMMETRY, Knot};

/// One burst, on a time that is approximately common to both hosts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reading {
    /// Index of the host with the lower number; `to` is the other.
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// Time of the burst, ns.
    pub(crate) at: f64,
    /// Time of `to` minus that of `from`, plus half the asymmetry of the path, ns.
    pub(crate) difference_ns: f64,
    /// Standard deviation of the difference because of queueing, ns.
    pub(crate) noise_ns: f64,
    /// Standard deviation of the difference because of the moment, common to all exchanges of a
    /// burst: the processors that the processes ran on, other load. ns.
    pub(crate) moment_ns: f64,
    /// Round trip of the fastest exchange, ns.
    rtt_ns: f64,
    /// How unequally the two directions were delayed: 0 to 1.
    unlike: f64,
}

/// Least value of `unlike` that is assumed.
const LEAST_UNLIKE: f64 = 0.2;
/// A burst of up to this many exchanges is one moment; a longer burst is more than one.
const EXCHANGES_PER_MOMENT: f64 = 10.0;
/// Least standard deviation of a difference, ns: timestamps are whole ns, and take some ns to read.
const RESOLUTION_NS: f64 = 10.0;

impl Reading {
    /// Reading of the exchanges of `local` with `reference`; timestamps are ns on the common time.
    /// `None` without a possible exchange.
    fn of(local: usize, reference: usize, stamps: &[[i64; 4]]) -> Option<Self> {
        let possible = || stamps.iter().filter(|stamps| Knot::is_possible(stamps));
        let sorted = |way: fn(&[i64; 4]) -> i64| {
            let mut all: Vec<i64> = possible().map(way).collect();
            all.sort_unstable();
            all
        };
        let there = sorted(|[t1, t2, ..]| t2.saturating_sub(*t1));
        let back = sorted(|[.., t3, t4]| t4.saturating_sub(*t3));
        let rtt = |&[t1, t2, t3, t4]: &[i64; 4]| (t4 - t1) - (t3 - t2);
        let fastest = possible().min_by_key(|stamps| rtt(stamps))?;
        let n = there.len();
        let last = (n / 20).max(2).min(n - 1);
        let mut halves: Vec<f64> = (0..=last)
            .map(|i| (there[i] as f64 - back[i] as f64) / 2.0)
            .collect();
        halves.sort_unstable_by(f64::total_cmp);
        let spread = |way: &[i64]| way[last].saturating_sub(way[0]) as f64;
        let noise_ns = match last {
            // The error of a single exchange is half its round trip.
            0 => rtt(fastest) as f64 / 2.0,
            _ => spread(&there).hypot(spread(&back)) / 2.0 / (last as f64).sqrt(),
        };
        let waited = |way: &[i64]| way[n / 2].saturating_sub(way[0]) as f64;
        let (there_ns, back_ns) = (waited(&there), waited(&back));
        let unlike = (there_ns - back_ns).abs() / (there_ns + back_ns).max(1.0);
        let moments = (n as f64 / EXCHANGES_PER_MOMENT).max(1.0);
        let sign = if local > reference { 1.0 } else { -1.0 };
        Some(Self {
            from: local.min(reference),
            to: local.max(reference),
            at: fastest[0] as f64 / 2.0 + fastest[1] as f64 / 2.0,
            difference_ns: sign * (halves[last / 2] + halves[last.div_ceil(2)]) / 2.0,
            noise_ns: noise_ns.max(RESOLUTION_NS),
            moment_ns: ASYMMETRY * rtt(fastest) as f64 / 2.0 / moments.sqrt(),
            rtt_ns: rtt(fastest) as f64,
            unlike: unlike.max(LEAST_UNLIKE),
        })
    }
}

/// The readings of some bursts, and by pair of hosts the smallest round trip, ns.
pub(crate) type Readings = (Vec<Reading>, BTreeMap<(usize, usize), f64>);

/// Readings of bursts: local host, reference host, timestamps on a time that is approximately
/// common to all.
pub(crate) fn readings(bursts: impl Iterator<Item = (usize, usize, Vec<[i64; 4]>)>) -> Readings {
    let mut readings: Vec<Reading> = bursts
        .filter_map(|(local, reference, stamps)| Reading::of(local, reference, &stamps))
        .collect();
    let mut least: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    for reading in &readings {
        let of_pair = least
            .entry((reading.from, reading.to))
            .or_insert(f64::INFINITY);
        *of_pair = of_pair.min(reading.rtt_ns);
    }
    for reading in &mut readings {
        // If two equal delays add up to this, their difference is anything up to all of it.
        let waited_ns = reading.rtt_ns - least[&(reading.from, reading.to)];
        let by_waiting_ns = reading.unlike * waited_ns / 12f64.sqrt();
        reading.noise_ns = reading.noise_ns.hypot(by_waiting_ns);
    }
    (readings, least)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exchanges whose directions take these times, ns, between clocks that show the same time.
    fn stamps(directions: &[(i64, i64)]) -> Vec<[i64; 4]> {
        let exchange = |(i, (there, back)): (usize, &(i64, i64))| {
            let t1 = 1_000_000 * i as i64;
            [t1, t1 + there, t1 + there + 300, t1 + there + 300 + back]
        };
        directions.iter().enumerate().map(exchange).collect()
    }

    fn reading(directions: &[(i64, i64)]) -> Reading {
        Reading::of(1, 0, &stamps(directions)).unwrap()
    }

    #[test]
    fn a_single_early_message_does_not_decide() {
        let mut directions: Vec<(i64, i64)> = (0..100)
            .map(|i| (50_000 + 40 * i, 50_010 + 40 * i))
            .collect();
        let quiet = reading(&directions);
        assert!((quiet.difference_ns + 5.0).abs() < 1.0, "{quiet:?}");
        directions[7].0 = 20_000;
        let early = reading(&directions);
        assert!(early.difference_ns.abs() < 100.0, "{early:?}");
        assert!(early.noise_ns > 2_000.0, "{early:?}");
    }

    #[test]
    fn a_slow_burst_is_trusted_as_far_as_both_directions_were_delayed_alike() {
        let burst = |there: i64, back: i64, wide: i64| -> Vec<(i64, i64)> {
            (0..40).map(|i| (there + 10 * i, back + wide * i)).collect()
        };
        let fast = (1, 0, stamps(&burst(50_000, 50_000, 10)));
        let alike = (1, 0, stamps(&burst(90_000, 90_000, 10)));
        // Only the direction back is delayed, and it has the wider spread.
        let unlike = (1, 0, stamps(&burst(50_000, 130_000, 2_000)));
        let (found, least) = readings([fast, alike, unlike].into_iter());
        assert_eq!(least[&(0, 1)], 100_000.0);
        assert!(found[0].noise_ns < 50.0, "{found:?}");
        assert!((2_000.0..8_000.0).contains(&found[1].noise_ns), "{found:?}");
        assert!(
            (found[2].difference_ns + 40_000.0).abs() < 2_000.0,
            "{found:?}"
        );
        assert!(found[2].noise_ns > 20_000.0, "{found:?}");
    }

    #[test]
    fn the_lower_host_is_first_whichever_measured() {
        let directions: Vec<(i64, i64)> = (0..10).map(|i| (1_000 + i, 3_000 + i)).collect();
        let asked = Reading::of(1, 0, &stamps(&directions)).unwrap();
        let answered = Reading::of(0, 1, &stamps(&directions)).unwrap();
        assert_eq!((asked.from, asked.to), (0, 1));
        assert_eq!((answered.from, answered.to), (0, 1));
        assert_eq!(asked.difference_ns, -1_000.0);
        assert_eq!(answered.difference_ns, 1_000.0);
    }

    #[test]
    fn one_exchange_says_no_more_than_half_its_round_trip() {
        assert_eq!(reading(&[(3_000, 1_000)]).noise_ns, 2_000.0);
        assert_eq!(Reading::of(1, 0, &[[10, 5, 4, 20]]), None);
    }
}
