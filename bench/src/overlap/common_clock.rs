//! Clocks of hosts, as the first process knows them.
//!
//! # Source
//! Denis et al. 2022, section 4.2: instants to come are extrapolated from an earlier and from the
//! latest exchange, which must be far enough apart; stamps of the past are interpolated between the
//! exchanges before and after them.

use std::collections::VecDeque;

/// Exchanges from which an instant is extrapolated are at least this far apart, ns.
pub(super) const BASE: i64 = 1_000_000_000;
/// They are not much further apart than this, ns: drift changes.
const LONGEST_BASE: i64 = 30_000_000_000;

/// The result of one burst of exchanges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Reading {
    /// Local time of the exchange, ns.
    pub(super) at: i64,
    /// Local less reference, ns.
    pub(super) offset: f64,
    /// Shortest round trip, ns.
    pub(super) round_trip: i64,
}

/// A clock, by its exchanges with the reference. Without exchanges it is the reference.
#[derive(Debug, Clone, Default)]
pub(super) struct HostClock {
    readings: VecDeque<Reading>,
}

impl HostClock {
    /// Adds a reading, later than all others.
    pub(super) fn add(&mut self, reading: Reading) {
        self.readings.push_back(reading);
        while self
            .readings
            .get(1)
            .is_some_and(|second| reading.at - second.at >= LONGEST_BASE)
        {
            self.readings.pop_front();
        }
    }

    /// Time until instants can be extrapolated, ns, if the local time is `now`.
    pub(super) fn time_until_base(&self, now: i64) -> i64 {
        let first = self.readings.front();
        first.map_or(0, |first| (first.at + BASE - now).max(0))
    }

    /// The local time of an instant to come of the reference.
    pub(super) fn local(&self, reference: i64) -> i64 {
        let (Some(first), Some(last)) = (self.readings.front(), self.readings.back()) else {
            return reference;
        };
        let near = reference + last.offset.round() as i64;
        let offset = match last.at - first.at {
            ..BASE => last.offset,
            _ => line(*first, *last, near),
        };
        reference + offset.round() as i64
    }

    /// The time of the reference at a local instant: interpolated between the readings around it,
    /// by the nearest one outside.
    pub(super) fn reference(&self, local: i64) -> i64 {
        let after = self.readings.partition_point(|reading| reading.at < local);
        let before = after
            .checked_sub(1)
            .and_then(|before| self.readings.get(before));
        let offset = match (before, self.readings.get(after)) {
            (None, None) => 0.0,
            (Some(one), None) | (None, Some(one)) => one.offset,
            (Some(before), Some(after)) => line(*before, *after, local),
        };
        local - offset.round() as i64
    }

    /// Shortest round trip of all readings, ns.
    pub(super) fn shortest_round_trip(&self) -> Option<i64> {
        self.readings.iter().map(|reading| reading.round_trip).min()
    }
}

/// The offset at a local instant, on the line through two readings.
fn line(from: Reading, to: Reading, local: i64) -> f64 {
    match to.at - from.at {
        0 => to.offset,
        span => {
            let slope = (to.offset - from.offset) / span as f64;
            to.offset + slope * (local - to.at) as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that is 5 ms ahead at local time 0 and gains 50 us in a second.
    fn drifting(seconds: impl IntoIterator<Item = f64>) -> HostClock {
        let mut clock = HostClock::default();
        for second in seconds {
            clock.add(Reading {
                at: (second * 1e9) as i64,
                offset: 5e6 + 50e3 * second,
                round_trip: 20_000,
            });
        }
        clock
    }

    #[test]
    fn instants_to_come_follow_the_drift() {
        let clock = drifting([0.0, 2.0]);
        // At reference time 4 s the local clock is ahead by 5 ms + 50 us x 4.00525.
        let local = clock.local(4_000_000_000);
        assert!((local - 4_005_200_260).abs() < 1_000, "{local}");
        assert!((clock.reference(1_000_000_000) - 994_950_000).abs() <= 1);
    }

    #[test]
    fn exchanges_too_close_together_are_not_extrapolated() {
        let clock = drifting([0.0, 0.1]);
        assert_eq!(clock.local(4_000_000_000), 4_005_005_000);
        assert_eq!(clock.time_until_base(300_000_000), 700_000_000);
        assert_eq!(drifting([0.0, 2.0]).time_until_base(2_000_000_000), 0);
    }

    #[test]
    fn the_reference_itself_is_not_moved() {
        let clock = HostClock::default();
        assert_eq!((clock.local(7), clock.reference(7)), (7, 7));
        assert_eq!(clock.time_until_base(0), 0);
        assert_eq!(clock.shortest_round_trip(), None);
    }

    #[test]
    fn old_exchanges_are_forgotten_and_the_base_stays_long_enough() {
        let clock = drifting((0..100).map(f64::from));
        assert!(clock.readings.len() <= 32);
        let base = clock.readings.back().unwrap().at - clock.readings.front().unwrap().at;
        assert!(base >= LONGEST_BASE - BASE, "{base}");
    }

    #[test]
    fn stamps_outside_of_all_exchanges_have_the_nearest_offset() {
        let clock = drifting([1.0, 2.0]);
        assert_eq!(clock.reference(0), -5_050_000);
        assert_eq!(clock.reference(3_000_000_000), 2_994_900_000);
    }
}
