//! From late arrivals to interruptions.
//!
//! A process that is interrupted before it initiates ten collectives at once is late for all of
//! them, and that is one event, not ten.

use std::collections::BTreeMap;

use collbench_stats::integers::add_ns;

use crate::sums::late_arrivals::LateArrival;

/// Most interruptions that are searched at once.
const MAX_EVENTS: usize = 256;

/// A late arrival, and the index of its operation on its communicator.
pub(crate) type Event = (LateArrival, usize);

/// Late arrivals whose delays overlap with that of the latest of them: one interruption.
#[derive(Debug, Clone)]
pub(crate) struct Interruption {
    /// The latest.
    latest: Event,
    /// Waits that all of them ended, ns, by index of the operation on its communicator.
    pub(crate) caused_ns: BTreeMap<usize, i64>,
}

impl Interruption {
    /// The latest arrival.
    pub(crate) fn arrival(&self) -> &LateArrival {
        &self.latest.0
    }

    /// Index of its operation on its communicator.
    pub(crate) fn group(&self) -> usize {
        self.latest.1
    }
}

/// Groups late arrivals into interruptions, the longest first, and whether there are more;
/// `events`: the latest first.
pub(crate) fn interruptions(events: &[Event]) -> (Vec<Interruption>, bool) {
    let mut interruptions: Vec<Interruption> = Vec::new();
    // By its begin, the end of each, and which it is: none begins before the one in front is over.
    let mut spans: BTreeMap<i64, (i64, usize)> = BTreeMap::new();
    let mut are_more = false;
    for &(arrival, group) in events {
        let from_ns = arrival.since_ns();
        let before = spans.range(..=arrival.at_ns).next_back();
        if let Some((_, &(_, interruption))) = before.filter(|(_, (end_ns, _))| *end_ns >= from_ns)
        {
            let sums = &mut interruptions[interruption].caused_ns;
            add_ns(sums.entry(group).or_default(), arrival.caused_ns);
        } else if interruptions.len() < MAX_EVENTS {
            spans.insert(from_ns, (arrival.at_ns, interruptions.len()));
            interruptions.push(Interruption {
                latest: (arrival, group),
                caused_ns: BTreeMap::from([(group, arrival.caused_ns)]),
            });
        } else {
            are_more = true;
        }
    }
    (interruptions, are_more)
}

#[cfg(test)]
mod tests {
    use collbench_stats::integers::sum_ns;

    use super::*;

    fn arrival(at_ns: i64, excess_ns: i64) -> Event {
        let arrival = LateArrival {
            lateness_ns: excess_ns,
            excess_ns,
            at_ns,
            position: 0,
            sequence: at_ns.unsigned_abs(),
            caused_ns: 10,
            n_late: 1,
            is_on_one_host: true,
            together: 1,
        };
        (arrival, 0)
    }

    #[test]
    fn arrivals_that_are_late_at_once_are_one_stop() {
        let mut events = [
            arrival(1_000, 400),
            // Begun right behind it, and late by as much.
            arrival(1_003, 399),
            arrival(1_006, 399),
            // Another rank, stopped meanwhile, and one that was late before.
            arrival(900, 150),
            arrival(599, 100),
            arrival(3_000, 500),
        ];
        events.sort_unstable_by(|a, b| b.cmp(a));
        let (interruptions, are_more) = interruptions(&events);
        let found: Vec<(i64, i64)> = interruptions
            .iter()
            .map(|it| (it.latest.0.at_ns, sum_ns(it.caused_ns.values().copied())))
            .collect();
        assert_eq!(found, [(3_000, 10), (1_000, 40), (599, 10)]);
        assert!(!are_more);
    }

    #[test]
    fn of_many_stops_the_longest_are_kept() {
        let n = MAX_EVENTS as i64 + 5;
        let mut events: Vec<Event> = (0..n).map(|at| arrival(1_000 * at, 10 + at)).collect();
        events.sort_unstable_by(|a, b| b.cmp(a));
        let (interruptions, are_more) = interruptions(&events);
        assert!(are_more && interruptions.len() == MAX_EVENTS);
        assert_eq!(interruptions[0].latest, events[0]);
    }
}
