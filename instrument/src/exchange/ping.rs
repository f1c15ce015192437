//! A pair of hosts: ping-pongs with four stamps, until more of them bring no improvement.
//!
//! The reference stamps t1 and sends a question. The local host stamps t2 when it receives and t3
//! when it sends its answer, which has both. The reference stamps t4. Each question also has the
//! stamps t1 and t4 of the exchange before it, so that both sides have all samples at the end,
//! without any message that is not an exchange. Questions and answers have the same size: a longer
//! message would make the path asymmetric.
//!
//! The first exchanges of a pair wait for the other process to arrive, and for connections to be
//! made. They are recorded as samples like all others: their round trips are long, so they have no
//! influence.

use collbench_formats::OffsetSample;

/// Number of words in a message.
pub const WORDS: usize = 4;

/// First word of a question: requests an answer.
const ASKED: u64 = 1;
/// First word of the last question, which only has stamps and requests no answer.
const ENOUGH: u64 = 2;

/// Carries messages between hosts, and has this host's clock.
pub trait Transport {
    /// Why a message could not be sent or received.
    type Error;
    /// The time, in ticks of this host's clock.
    fn now(&mut self) -> u64;
    /// Sends a message to host `to`.
    ///
    /// # Errors
    /// Those of the transport.
    fn send(&mut self, to: usize, words: [u64; WORDS]) -> Result<(), Self::Error>;
    /// Waits for the next message from host `from`.
    ///
    /// # Errors
    /// Those of the transport.
    fn receive(&mut self, from: usize) -> Result<[u64; WORDS], Self::Error>;
}

/// Length of a tick: nanoseconds, times 2^32. Precise enough to compare round trips, not to align
/// clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TickLength(u64);

impl TickLength {
    /// A tick of 1 ns.
    pub const NANOSECOND: Self = Self(1 << 32);

    /// From the length of one span in both units; 1 ns if the span is too short.
    #[must_use]
    pub fn of(ticks: u64, ns: u64) -> Self {
        let scaled = (u128::from(ns) << 32).checked_div(u128::from(ticks));
        match scaled.map(u64::try_from) {
            Some(Ok(length)) if length > 0 => Self(length),
            _ => Self::NANOSECOND,
        }
    }

    /// A span of ticks, in ns.
    #[must_use]
    pub fn ns(self, ticks: u64) -> u64 {
        u64::try_from((u128::from(ticks) * u128::from(self.0)) >> 32).unwrap_or(u64::MAX)
    }
}

/// When a series of exchanges ends.
///
/// # Source
/// Hoefler et al. 2007, section 3.1: exchanges go on until the smallest round trip has not become
/// smaller for N exchanges in a row. N = 100 takes some 180 exchanges and misses the smallest
/// possible round trip by less than 10 % on the networks of the paper. The two limits are ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopRule {
    /// N: exchanges in a row without a smaller round trip.
    pub unimproved: u32,
    /// At most this many exchanges.
    pub most: u32,
    /// No further exchange begins later than this after the first answer, ns.
    pub longest_ns: u64,
}

impl StopRule {
    /// For the start and the end of a run.
    pub const THOROUGH: Self = Self {
        unimproved: 100,
        most: 2_000,
        longest_ns: 2_000_000_000,
    };

    /// Exactly `n` exchanges, unless they take too long.
    #[must_use]
    pub const fn burst(n: u32) -> Self {
        Self {
            unimproved: n,
            most: n,
            longest_ns: 500_000_000,
        }
    }
}

/// Applies a [`StopRule`] to a series of round trips.
#[derive(Debug, Clone)]
pub struct StopMonitor {
    rule: StopRule,
    n: u32,
    since_best: u32,
    best_ns: u64,
}

impl StopMonitor {
    /// Before the first round trip.
    #[must_use]
    pub fn new(rule: StopRule) -> Self {
        Self {
            rule,
            n: 0,
            since_best: 0,
            best_ns: u64::MAX,
        }
    }

    /// Adds a round trip, `elapsed_ns` after the first answer; returns whether the series goes on.
    /// A round trip of 0 ns is ignored, since clocks of different rates cannot measure it.
    pub fn continues(&mut self, rtt_ns: u64, elapsed_ns: u64) -> bool {
        self.n += 1;
        self.since_best += 1;
        if rtt_ns > 0 && rtt_ns < self.best_ns {
            self.best_ns = rtt_ns;
            self.since_best = 0;
        }
        self.n < self.rule.most
            && self.since_best < self.rule.unimproved
            && elapsed_ns < self.rule.longest_ns
    }

    /// Number of exchanges so far.
    #[must_use]
    pub fn n(&self) -> u32 {
        self.n
    }

    /// The smallest round trip so far, ns; `None` if there was none above 0.
    #[must_use]
    pub fn best_ns(&self) -> Option<u64> {
        (self.best_ns < u64::MAX).then_some(self.best_ns)
    }
}

/// Sends questions to host `peer` until the rule ends the series. Returns all samples, with this
/// clock as the reference, and the smallest round trip in ns.
///
/// # Errors
/// Those of the transport.
pub fn ask<W: Transport>(
    transport: &mut W,
    peer: usize,
    rule: StopRule,
    own: TickLength,
) -> Result<(Vec<OffsetSample>, Option<u64>), W::Error> {
    let mut samples: Vec<OffsetSample> = Vec::with_capacity(rule.unimproved as usize * 2);
    let mut monitor = StopMonitor::new(rule);
    let mut begin = None;
    let mut before = [0; 2];
    loop {
        let t1 = transport.now();
        transport.send(peer, [ASKED, before[0], before[1], t1])?;
        let [t2, t3, length, _] = transport.receive(peer)?;
        let t4 = transport.now();
        samples.push(OffsetSample { t1, t2, t3, t4 });
        before = [t1, t4];
        let begin = *begin.get_or_insert(t4);
        let there = TickLength(length).ns(t3.saturating_sub(t2));
        let rtt_ns = own.ns(t4.saturating_sub(t1)).saturating_sub(there);
        if !monitor.continues(rtt_ns, own.ns(t4.saturating_sub(begin))) {
            break;
        }
    }
    transport.send(peer, [ENOUGH, before[0], before[1], 0])?;
    Ok((samples, monitor.best_ns()))
}

/// Answers the questions of host `peer` until the last one. Returns all samples, with the clock of
/// `peer` as the reference.
///
/// # Errors
/// Those of the transport.
pub fn answer<W: Transport>(
    transport: &mut W,
    peer: usize,
    own: TickLength,
) -> Result<Vec<OffsetSample>, W::Error> {
    let mut samples: Vec<OffsetSample> = Vec::new();
    loop {
        let [word, t1_before, t4_before, _] = transport.receive(peer)?;
        let t2 = transport.now();
        if let Some(last) = samples.last_mut() {
            (last.t1, last.t4) = (t1_before, t4_before);
        }
        if word != ASKED {
            return Ok(samples);
        }
        let t3 = transport.now();
        transport.send(peer, [t2, t3, own.0, 0])?;
        samples.push(OffsetSample {
            t1: 0,
            t2,
            t3,
            t4: 0,
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, RecvError, Sender, channel};
    use std::time::Instant;

    use super::*;

    /// A transport between two threads.
    struct Channel {
        to: Sender<[u64; WORDS]>,
        from: Receiver<[u64; WORDS]>,
        /// Ticks per ns, and the offset in ticks.
        clock: (u64, u64),
        epoch: Instant,
    }

    impl Transport for Channel {
        type Error = RecvError;

        fn now(&mut self) -> u64 {
            self.epoch.elapsed().as_nanos() as u64 * self.clock.0 + self.clock.1
        }

        fn send(&mut self, _: usize, words: [u64; WORDS]) -> Result<(), RecvError> {
            self.to.send(words).map_err(|_| RecvError)
        }

        fn receive(&mut self, _: usize) -> Result<[u64; WORDS], RecvError> {
            self.from.recv()
        }
    }

    fn both(rule: StopRule) -> (Vec<OffsetSample>, Vec<OffsetSample>) {
        let ((to_b, from_a), (to_a, from_b)) = (channel(), channel());
        let epoch = Instant::now();
        let mut asking = Channel {
            to: to_b,
            from: from_b,
            clock: (1, 5),
            epoch,
        };
        let mut answering = Channel {
            to: to_a,
            from: from_a,
            clock: (3, 1 << 40),
            epoch,
        };
        std::thread::scope(|scope| {
            let answered =
                scope.spawn(move || answer(&mut answering, 0, TickLength::of(3_000, 1_000)));
            let (asked, _) = ask(&mut asking, 1, rule, TickLength::NANOSECOND).unwrap();
            (asked, answered.join().unwrap().unwrap())
        })
    }

    #[test]
    fn both_sides_have_all_samples_in_order() {
        let (asked, answered) = both(StopRule::burst(37));
        assert_eq!(asked.len(), 37);
        assert_eq!(asked, answered);
        for sample in &asked {
            assert!(
                sample.t1 <= sample.t4 && sample.t2 <= sample.t3,
                "{sample:?}"
            );
            // On one clock, t1 <= t2 <= t3 <= t4.
            let there = [sample.t2, sample.t3].map(|ticks| (ticks - (1 << 40)) / 3);
            let here = [sample.t1, sample.t4].map(|ticks| ticks - 5);
            assert!(here[0] <= there[0] && there[1] <= here[1], "{sample:?}");
        }
        let (asked, _) = both(StopRule::THOROUGH);
        assert!(asked.len() > 100);
    }

    #[test]
    fn it_stops_when_the_smallest_round_trip_has_not_improved_for_so_many() {
        let rule = StopRule {
            unimproved: 3,
            most: 10,
            longest_ns: 1_000,
        };
        let n_seen = |rtts: &[u64]| {
            let mut monitor = StopMonitor::new(rule);
            rtts.iter()
                .take_while(|&&rtt| monitor.continues(rtt, 0))
                .count()
                + 1
        };
        assert_eq!(n_seen(&[9, 9, 9, 9, 9, 9]), 4, "equal is no improvement");
        assert_eq!(n_seen(&[9, 9, 9, 8, 9, 9, 9, 9]), 7);
        assert_eq!(n_seen(&[9, 9, 8, 9, 9, 7, 9, 9, 9, 9]), 9);
        assert_eq!(n_seen(&[20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9]), 10);
        assert_eq!(n_seen(&[0, 0, 0, 5]), 3, "what cannot be is no best one");
        let mut monitor = StopMonitor::new(rule);
        assert!(monitor.continues(9, 999) && !monitor.continues(8, 1_000));
        assert_eq!((monitor.n(), monitor.best_ns()), (2, Some(8)));
    }

    #[test]
    fn ticks_of_any_length_become_ns() {
        assert_eq!(TickLength::of(2_596_000, 1_000_000).ns(2_596_000), 999_999);
        assert_eq!(TickLength::of(10, 1_000).ns(3), 300);
        assert_eq!(TickLength::of(0, 5), TickLength::NANOSECOND);
        assert_eq!(TickLength::of(5, 0), TickLength::NANOSECOND);
        assert_eq!(TickLength::of(7, u64::MAX), TickLength::NANOSECOND);
    }
}
