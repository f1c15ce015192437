//! The process that exchanges stamps for its host.

use collbench_formats::Definition;

use super::in_run::{Announcement, PointSchedule, broadcast};
use super::ping::{StopRule, TickLength, Transport, WORDS, answer, ask};
use super::schedule::{Pair, closing_rounds, rounds};
use super::session::Session;
use super::transport::{CallFailed, CommunicatorTransport};
use crate::settings::Scheme;

/// Rule of exchanges along edges that only close triangles.
const CLOSING: StopRule = StopRule::burst(20);
/// Rule of exchanges of a pair during the run.
const IN_BETWEEN: StopRule = StopRule::burst(10);

/// The process that exchanges stamps for its host.
#[derive(Debug)]
pub(super) struct Leader {
    pub(super) transport: CommunicatorTransport,
    /// Its own number among the leaders.
    pub(super) own: usize,
    /// World ranks of the leaders.
    pub(super) leaders: Vec<u32>,
    pub(super) scheme: Scheme,
    pub(super) tick: TickLength,
    /// The smallest round trip that this leader has seen.
    pub(super) best_rtt_ns: Option<u64>,
    /// Only at the first leader, and only if there are in-run measurements.
    pub(super) schedule: Option<PointSchedule>,
}

impl Leader {
    pub(super) fn now_ns(&mut self) -> u64 {
        self.tick.ns(self.transport.now())
    }

    /// Takes part in the measuring point at this position; returns the position of the next one.
    pub(super) fn measure_in_run(
        &mut self,
        session: &Session<'_>,
        position: u64,
    ) -> Result<u64, CallFailed> {
        let now_ns = self.now_ns();
        let mut words = match &mut self.schedule {
            None => [0; WORDS],
            Some(schedule) => {
                let Announcement { measure, next } = schedule.announce(position, now_ns);
                [u64::from(measure), next, 0, 0]
            }
        };
        broadcast(
            &mut self.transport,
            self.own,
            self.leaders.len(),
            &mut words,
        )?;
        let [measure, next, ..] = words;
        if measure != 0 {
            let rounds = rounds(self.leaders.len(), self.scheme);
            self.go_through(&rounds, IN_BETWEEN, session)?;
        }
        Ok(next)
    }

    /// Takes part in all measurements at the start and at the end.
    pub(super) fn measure(&mut self, session: &Session<'_>) -> Result<(), CallFailed> {
        let n_hosts = self.leaders.len();
        self.go_through(&rounds(n_hosts, self.scheme), StopRule::THOROUGH, session)?;
        self.go_through(&closing_rounds(n_hosts, self.scheme), CLOSING, session)
    }

    /// Takes part in each round, and writes to the trace what was measured of its own clock.
    fn go_through(
        &mut self,
        rounds: &[Vec<Pair>],
        rule: StopRule,
        session: &Session<'_>,
    ) -> Result<(), CallFailed> {
        for pair in rounds.iter().flatten() {
            if pair.reference == self.own {
                let (_, best_ns) = ask(&mut self.transport, pair.local, rule, self.tick)?;
                self.best_rtt_ns = self.best_rtt_ns.into_iter().chain(best_ns).min();
            } else if pair.local == self.own {
                let samples = answer(&mut self.transport, pair.reference, self.tick)?;
                session.define(&Definition::OffsetMeasurement {
                    reference_rank: self.leaders[pair.reference],
                    samples,
                });
            }
        }
        Ok(())
    }
}
