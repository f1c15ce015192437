//! In-run measurement: short exchanges inside calls that the program makes anyway.
//!
//! Between two measurements a clock wanders: the error in the middle grows with the distance to the
//! power of 3/2, so a long run needs some measurements in between, a few per minute at most. The
//! recorder has no time of its own for them, no thread (the program may have initialized MPI for a
//! single one), and must not make a rank wait for another that it does not wait for anyway. So the
//! leaders measure at *measuring points*: after the leave stamp of a blocking collective on
//! `MPI_COMM_WORLD` that no process leaves before all have entered it.
//!
//! **Which call.** All leaders must use the same call, and none may decide by its own clock. At
//! each measuring point, including those of the start, the first leader announces the next one as a
//! position in the order of calls on `MPI_COMM_WORLD`: the next point is the first call from there
//! on that synchronizes. Calls on a communicator have the same order on all of its processes, and
//! whether a call synchronizes follows from arguments that MPI requires to be equal on all of them
//! ([`synchronizes`]). So all leaders find the same call, and since they learn of it while all of
//! them are at the previous point, none can have passed it. The first leader, whose clock is used
//! for this, estimates the position from the rate of calls so far. Since rates change, it announces
//! points a few times more often than it measures. At most points the leaders only learn where the
//! next one is, in one message each.
//!
//! **Why this cannot hang.** A leader that waits at a measuring point has left a call that no
//! process leaves before all have entered it. So all other leaders are in that call or after it. To
//! leave it they need nothing that the program would do elsewhere, and after it they are at the
//! measuring point before they return to the program. At the point itself everyone follows the same
//! schedule. All communication is on the leaders' own communicator, by the thread that made the
//! call; MPI requires that no other thread calls a collective on the same communicator meanwhile.

use collbench_formats::Operation;

use super::ping::{Transport, WORDS};

/// The position from which on the first measuring point is.
pub(crate) const FIRST_POSITION: u64 = 2;

/// How often to measure, ns, over paths with a smallest round trip above 10 us, and below: when the
/// error of a clock that wanders by 1e-16 s^2/s^3 is about as large as that of the measurement.
const EVERY_ON_ETHERNET_NS: u64 = 30_000_000_000;
const EVERY_ON_FAST_FABRIC_NS: u64 = 5_000_000_000;
const FAST_RTT_NS: u64 = 10_000;

/// Number of measuring points in the time from one measurement to the next, about.
const POINTS_PER_MEASUREMENT: u64 = 4;
/// The number of calls between two measuring points is at most this many times that between the two
/// points before: early calls say little about the rate of later ones.
const FASTEST_GROWTH: u64 = 4;

/// How often to measure, ns, for this smallest round trip.
pub(crate) fn every_ns(rtt_ns: Option<u64>) -> u64 {
    match rtt_ns {
        Some(rtt_ns) if rtt_ns <= FAST_RTT_NS => EVERY_ON_FAST_FABRIC_NS,
        _ => EVERY_ON_ETHERNET_NS,
    }
}

/// Whether no process leaves a call of this operation before all have entered it, provided that it
/// carries data: see [`carries_data`]. Operations are left out whose processes need not all
/// contribute, or not equally much: their payload may be unknown on some processes and known on
/// others.
#[inline(always)]
pub(crate) const fn synchronizes(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::Barrier
            | Operation::Allreduce
            | Operation::Allgather
            | Operation::Alltoall
            | Operation::ReduceScatterBlock
    )
}

/// Whether a call of an operation that [`synchronizes`] really does so: without payload only a
/// barrier must. An unknown payload counts as none; it is known or unknown on all processes alike,
/// like the sizes.
pub(crate) fn carries_data(operation: Operation, payload_bytes: Option<u64>) -> bool {
    operation == Operation::Barrier || payload_bytes.is_some_and(|bytes| bytes > 0)
}

/// Brings words of host 0 to all hosts, along a binomial tree of messages.
///
/// It does not use a collective: the recorder records the messages that the library sends inside
/// collectives, and this is not one of the program.
///
/// # Errors
/// Those of the transport.
pub(crate) fn broadcast<W: Transport>(
    transport: &mut W,
    own: usize,
    n_hosts: usize,
    words: &mut [u64; WORDS],
) -> Result<(), W::Error> {
    let mut distance = n_hosts.next_power_of_two() / 2;
    while distance > 0 {
        if own % (2 * distance) == distance {
            *words = transport.receive(own - distance)?;
        } else if own.is_multiple_of(2 * distance) && own + distance < n_hosts {
            transport.send(own + distance, *words)?;
        }
        distance /= 2;
    }
    Ok(())
}

/// The message of the first leader at a measuring point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Announcement {
    /// Whether to measure now.
    pub(crate) measure: bool,
    /// The position from which on the next measuring point is.
    pub(crate) next: u64,
}

/// Decides, at the first leader, where measuring points are and when to measure.
#[derive(Debug)]
pub(crate) struct PointSchedule {
    every_ns: u64,
    /// Time of the last measurement; then time and position of the last measuring point.
    measured_ns: u64,
    point_ns: u64,
    point_at: u64,
}

impl PointSchedule {
    /// Starts after the measurements of the start; `every_ns` > 0.
    pub(crate) fn new(every_ns: u64, now_ns: u64) -> Self {
        Self {
            every_ns,
            measured_ns: now_ns,
            point_ns: now_ns,
            point_at: 0,
        }
    }

    /// The announcement at the measuring point at this position.
    pub(crate) fn announce(&mut self, position: u64, now_ns: u64) -> Announcement {
        let step_ns = (self.every_ns / POINTS_PER_MEASUREMENT).max(1);
        let since_measured = now_ns.saturating_sub(self.measured_ns);
        // Measuring half a step early is closer to the goal than measuring at the next point.
        let measure = since_measured + step_ns / 2 >= self.every_ns;
        if measure {
            self.measured_ns = now_ns;
        }
        let calls = position.saturating_sub(self.point_at).max(1);
        let took_ns = now_ns.saturating_sub(self.point_ns).max(1);
        let in_step = u128::from(calls) * u128::from(step_ns) / u128::from(took_ns);
        let most = calls.saturating_mul(FASTEST_GROWTH);
        let ahead = u64::try_from(in_step).unwrap_or(most).clamp(1, most);
        (self.point_at, self.point_ns) = (position, now_ns);
        Announcement {
            measure,
            next: position.saturating_add(ahead),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// Position, time, and whether it measures, of all measuring points in a program that makes
    /// call `i` at `at_ns(i)`.
    fn measuring_points(
        every_ns: u64,
        n_calls: u64,
        at_ns: impl Fn(u64) -> u64,
    ) -> Vec<(u64, u64, bool)> {
        let mut schedule = PointSchedule::new(every_ns, 0);
        let mut points = Vec::new();
        let mut next = FIRST_POSITION;
        for position in 0..n_calls {
            if position >= next {
                let now_ns = at_ns(position);
                let announced = schedule.announce(position, now_ns);
                assert!(announced.next > position);
                points.push((position, now_ns, announced.measure));
                next = announced.next;
            }
        }
        points
    }

    fn measured(points: &[(u64, u64, bool)]) -> Vec<u64> {
        let measured = points.iter().filter(|(.., measure)| *measure);
        measured.map(|(_, now_ns, _)| *now_ns).collect()
    }

    #[test]
    fn a_steady_program_is_measured_as_often_as_wanted_whatever_its_rate() {
        for calls_per_second in [1, 10, 1_000, 100_000] {
            let at_ns = |i: u64| i * (SECOND / calls_per_second);
            let points = measuring_points(30 * SECOND, 600 * calls_per_second, at_ns);
            let times = measured(&points);
            assert!((18..=22).contains(&times.len()), "{times:?}");
            for pair in times.windows(2) {
                let interval = pair[1] - pair[0];
                assert!(
                    (25 * SECOND..=36 * SECOND).contains(&interval),
                    "{interval}"
                );
            }
            // The first calls, and then four in 30 s.
            assert!(points.len() < 100, "{} measuring points", points.len());
        }
    }

    #[test]
    fn a_short_run_is_never_measured_and_has_few_measuring_points() {
        let points = measuring_points(30 * SECOND, 100_000, |i| i * 100_000);
        assert!(measured(&points).is_empty());
        assert!(points.len() <= 12, "{points:?}");
    }

    #[test]
    fn a_program_that_becomes_faster_is_not_measured_more_often() {
        // A call per second for 100 s, then 100,000 per second.
        let at_ns = |i: u64| match i {
            0..100 => i * SECOND,
            _ => 100 * SECOND + (i - 100) * (SECOND / 100_000),
        };
        let points = measuring_points(30 * SECOND, 20_000_000, at_ns);
        for pair in measured(&points).windows(2) {
            assert!(pair[1] - pair[0] >= 25 * SECOND);
        }
        assert!(points.len() < 150, "{} measuring points", points.len());
    }

    #[test]
    fn a_program_that_becomes_slower_is_measured_again_within_few_steps() {
        // 1,000 calls per second for 100 s, then ten.
        let at_ns = |i: u64| match i {
            0..100_000 => i * (SECOND / 1_000),
            _ => 100 * SECOND + (i - 100_000) * (SECOND / 10),
        };
        let points = measuring_points(SECOND, 200_000, at_ns);
        let times = measured(&points);
        let longest = times.windows(2).map(|pair| pair[1] - pair[0]).max();
        // A quarter of a second of the fast calls takes 25 s.
        assert!(longest.unwrap() <= 27 * SECOND, "{longest:?}");
        assert!(*times.last().unwrap() > 9_000 * SECOND);
    }

    #[test]
    fn only_calls_that_must_synchronize_count() {
        assert!(carries_data(Operation::Barrier, Some(0)));
        assert!(carries_data(Operation::Allreduce, Some(8)));
        assert!(!carries_data(Operation::Allreduce, Some(0)));
        assert!(!carries_data(Operation::Allreduce, None));
        for operation in [Operation::Bcast, Operation::Allgatherv, Operation::Scan] {
            assert!(!synchronizes(operation), "{operation:?}");
        }
    }

    /// Threads in place of hosts.
    struct Threads {
        own: usize,
        to: Vec<Sender<(usize, [u64; WORDS])>>,
        from: Receiver<(usize, [u64; WORDS])>,
    }

    impl Transport for Threads {
        type Error = ();

        fn now(&mut self) -> u64 {
            0
        }

        fn send(&mut self, to: usize, words: [u64; WORDS]) -> Result<(), ()> {
            self.to[to].send((self.own, words)).map_err(drop)
        }

        fn receive(&mut self, from: usize) -> Result<[u64; WORDS], ()> {
            let (sender, words) = self.from.recv().map_err(drop)?;
            if sender == from { Ok(words) } else { Err(()) }
        }
    }

    #[test]
    fn a_message_of_the_first_host_reaches_each_host_once() {
        for n_hosts in 1..=17 {
            let (to, from): (Vec<_>, Vec<_>) = (0..n_hosts).map(|_| channel()).unzip();
            let receive_on = |(own, from)| {
                let to = to.clone();
                move || {
                    let mut words = [if own == 0 { 7 } else { 0 }; WORDS];
                    let mut transport = Threads { own, to, from };
                    broadcast(&mut transport, own, n_hosts, &mut words).unwrap();
                    let is_more = transport.from.try_recv().is_ok();
                    (words, is_more)
                }
            };
            std::thread::scope(|scope| {
                let threads = from.into_iter().enumerate().map(receive_on);
                let threads: Vec<_> = threads.map(|thread| scope.spawn(thread)).collect();
                for thread in threads {
                    assert_eq!(thread.join().unwrap(), ([7; WORDS], false));
                }
            });
        }
    }

    #[test]
    fn fast_fabrics_are_measured_more_often() {
        assert_eq!(every_ns(Some(3_000)), 5 * SECOND);
        assert_eq!(every_ns(Some(50_000)), 30 * SECOND);
        assert_eq!(every_ns(None), 30 * SECOND);
    }
}
