//! Measuring in between: short exchanges inside calls that the program makes anyway.
//!
//! Between two measurements a clock wanders: the error in the middle grows with the distance to the
//! power of 3/2, so a long run needs some in between, a few per minute at most. The recorder has no
//! time of its own for them, no thread (the program may have begun MPI for a single one), and
//! no right to make a rank wait for another that it does not wait for anyway. So the leaders *meet*:
//! behind a blocking collective on `MPI_COMM_WORLD` which nobody leaves before all have entered it,
//! after its leave stamp.
//!
//! **Which call.** All leaders must take the same one, and none may decide by its own clock. Each
//! meeting, those of the start included, says from which position in the order of calls on
//! `MPI_COMM_WORLD` on the next one is: at the first call there that synchronizes. Calls on a
//! communicator come in the same order on all of its processes, and whether one synchronizes
//! follows from what MPI demands to be equal on all of them ([`synchronizes`]); so all leaders
//! find the same call, and since they learn of it while they are all in the meeting before, none can
//! have passed it. The first leader, whose clock counts here, estimates the position from the rate
//! of calls so far. Rates change: so it lets the leaders meet a few times more often than it wants
//! to measure, and at most of these meetings they only learn where the next one is, in one
//! message each.
//!
//! **Why this cannot hang.** A leader that waits in a meeting has left a call that nobody leaves
//! before all have entered it. So all other leaders are in that call or behind it; to leave it they
//! need nothing that the program would do elsewhere, and behind it they come to the meeting
//! before they return to the program. In the meeting itself everyone follows the same schedule. All
//! communication is on the leaders' own communicator, by the thread that made the call; MPI
//! demands that no other thread makes one on the same communicator meanwhile.

use collbench_formats::Operation;

use super::ping::{Transport, WORDS};

/// The position from which on the first meeting is.
pub(crate) const FIRST: u64 = 2;

/// How often it is measured in between, ns, over paths with a smallest round trip above 10 us, and
/// below: where the error of a clock that wanders by 1e-16 s^2/s^3 has grown as large as that of
/// the measurement, about.
const EVERY_ON_ETHERNET_NS: u64 = 30_000_000_000;
const EVERY_ON_FAST_FABRIC_NS: u64 = 5_000_000_000;
const FAST_RTT_NS: u64 = 10_000;

/// Meetings in the time from one measurement to the next, about.
const POINTS_PER_MEASUREMENT: u64 = 4;
/// From one meeting to the next at most so many times as many calls as from the one before: early
/// calls say little about later ones.
const FASTEST_GROWTH: u64 = 4;

/// How often to measure, ns, with this smallest round trip.
pub(crate) fn every_ns(rtt_ns: Option<u64>) -> u64 {
    match rtt_ns {
        Some(rtt_ns) if rtt_ns <= FAST_RTT_NS => EVERY_ON_FAST_FABRIC_NS,
        _ => EVERY_ON_ETHERNET_NS,
    }
}

/// Whether nobody leaves a call of this operation before all have entered it, if it carries
/// anything: see [`carries_something`]. Not those whose processes need not all contribute, or
/// not equally much: what they carry is not known alike everywhere.
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

/// Whether a call that [`synchronizes`] does: with no payload only a barrier must. What is not
/// known counts as nothing; it is known or not alike on all processes, as the sizes are.
pub(crate) fn carries_something(operation: Operation, payload_bytes: Option<u64>) -> bool {
    operation == Operation::Barrier || payload_bytes.is_some_and(|bytes| bytes > 0)
}

/// Brings words of host 0 to all hosts, from one to the next along a binomial tree.
///
/// No collective: what the library sends within one is what the recorder of messages looks for, and
/// this is none of the program.
///
/// # Errors
/// Those of the transport.
pub(crate) fn pass_on<W: Transport>(
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

/// What the first leader says at a meeting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Announcement {
    /// Whether to measure now.
    pub(crate) measure: bool,
    /// From which position on the next meeting is.
    pub(crate) next: u64,
}

/// Decides, at the first leader, where to meet and when to measure.
#[derive(Debug)]
pub(crate) struct PointSchedule {
    every_ns: u64,
    /// When it was measured last, and when the last meeting was and where.
    measured_ns: u64,
    met_ns: u64,
    met_at: u64,
}

impl PointSchedule {
    /// After the measurements of the start; `every_ns` > 0.
    pub(crate) fn new(every_ns: u64, now_ns: u64) -> Self {
        Self {
            every_ns,
            measured_ns: now_ns,
            met_ns: now_ns,
            met_at: 0,
        }
    }

    /// At a meeting at this position.
    pub(crate) fn announce(&mut self, position: u64, now_ns: u64) -> Announcement {
        let step_ns = (self.every_ns / POINTS_PER_MEASUREMENT).max(1);
        let since_measured = now_ns.saturating_sub(self.measured_ns);
        // Half a step early is nearer than what the next meeting would be late.
        let measure = since_measured + step_ns / 2 >= self.every_ns;
        if measure {
            self.measured_ns = now_ns;
        }
        let calls = position.saturating_sub(self.met_at).max(1);
        let took_ns = now_ns.saturating_sub(self.met_ns).max(1);
        let in_step = u128::from(calls) * u128::from(step_ns) / u128::from(took_ns);
        let most = calls.saturating_mul(FASTEST_GROWTH);
        let ahead = u64::try_from(in_step).unwrap_or(most).clamp(1, most);
        (self.met_at, self.met_ns) = (position, now_ns);
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

    /// Positions and times of meetings, and which of them measure, in a program whose call `i`
    /// comes at `at_ns(i)`.
    fn meetings(every_ns: u64, n_calls: u64, at_ns: impl Fn(u64) -> u64) -> Vec<(u64, u64, bool)> {
        let mut schedule = PointSchedule::new(every_ns, 0);
        let mut met = Vec::new();
        let mut next = FIRST;
        for position in 0..n_calls {
            if position >= next {
                let now_ns = at_ns(position);
                let announced = schedule.announce(position, now_ns);
                assert!(announced.next > position);
                met.push((position, now_ns, announced.measure));
                next = announced.next;
            }
        }
        met
    }

    fn measured(met: &[(u64, u64, bool)]) -> Vec<u64> {
        let measured = met.iter().filter(|(.., measure)| *measure);
        measured.map(|(_, now_ns, _)| *now_ns).collect()
    }

    #[test]
    fn a_steady_program_is_measured_as_often_as_wanted_whatever_its_rate() {
        for calls_per_second in [1, 10, 1_000, 100_000] {
            let at_ns = |i: u64| i * (SECOND / calls_per_second);
            let met = meetings(30 * SECOND, 600 * calls_per_second, at_ns);
            let times = measured(&met);
            assert!((18..=22).contains(&times.len()), "{times:?}");
            for pair in times.windows(2) {
                let clock_difference = pair[1] - pair[0];
                assert!(
                    (25 * SECOND..=36 * SECOND).contains(&clock_difference),
                    "{clock_difference}"
                );
            }
            // The first calls, and then four in 30 s.
            assert!(met.len() < 100, "{} meetings", met.len());
        }
    }

    #[test]
    fn a_short_run_is_never_measured_and_hardly_meets() {
        let met = meetings(30 * SECOND, 100_000, |i| i * 100_000);
        assert!(measured(&met).is_empty());
        assert!(met.len() <= 12, "{met:?}");
    }

    #[test]
    fn a_program_that_becomes_faster_is_not_measured_more_often() {
        // A call per second for 100 s, then 100,000 per second.
        let at_ns = |i: u64| match i {
            0..100 => i * SECOND,
            _ => 100 * SECOND + (i - 100) * (SECOND / 100_000),
        };
        let met = meetings(30 * SECOND, 20_000_000, at_ns);
        for pair in measured(&met).windows(2) {
            assert!(pair[1] - pair[0] >= 25 * SECOND);
        }
        assert!(met.len() < 150, "{} meetings", met.len());
    }

    #[test]
    fn a_program_that_becomes_slower_is_measured_again_within_few_steps() {
        // 1,000 calls per second for 100 s, then ten.
        let at_ns = |i: u64| match i {
            0..100_000 => i * (SECOND / 1_000),
            _ => 100 * SECOND + (i - 100_000) * (SECOND / 10),
        };
        let met = meetings(SECOND, 200_000, at_ns);
        let times = measured(&met);
        let longest = times.windows(2).map(|pair| pair[1] - pair[0]).max();
        // A quarter of a second of the fast calls takes 25 s.
        assert!(longest.unwrap() <= 27 * SECOND, "{longest:?}");
        assert!(*times.last().unwrap() > 9_000 * SECOND);
    }

    #[test]
    fn only_calls_that_must_synchronize_count() {
        assert!(carries_something(Operation::Barrier, Some(0)));
        assert!(carries_something(Operation::Allreduce, Some(8)));
        assert!(!carries_something(Operation::Allreduce, Some(0)));
        assert!(!carries_something(Operation::Allreduce, None));
        for operation in [Operation::Bcast, Operation::Allgatherv, Operation::Scan] {
            assert!(!synchronizes(operation), "{operation:?}");
        }
    }

    /// Hosts that are threads.
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
    fn what_the_first_host_says_comes_to_all_once() {
        for n_hosts in 1..=17 {
            let (to, from): (Vec<_>, Vec<_>) = (0..n_hosts).map(|_| channel()).unzip();
            let hear = |(own, from)| {
                let to = to.clone();
                move || {
                    let mut words = [if own == 0 { 7 } else { 0 }; WORDS];
                    let mut transport = Threads { own, to, from };
                    pass_on(&mut transport, own, n_hosts, &mut words).unwrap();
                    let is_more = transport.from.try_recv().is_ok();
                    (words, is_more)
                }
            };
            std::thread::scope(|scope| {
                let threads = from.into_iter().enumerate().map(hear);
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
