//! How many runs there will be, of what, and for how long.

use std::time::Duration;

use collbench_stats::blocks::least_blocks;
use collbench_stats::random::Random;

/// Probability that any verdict on any proposal is chance, on each side, at most.
const TAIL: f64 = 0.025;
/// A run may take so many times as long as the program did, and so much longer.
const MOST_TIMES: u32 = 3;
const MOST_MORE: Duration = Duration::from_secs(10);
/// All runs together may take so much more than expected, where nobody gave a limit.
const MARGIN: f64 = 2.0;
/// Runs differ: so many times as long as expected they take for the number of rounds that fit into a limit.
const RESERVE: f64 = 1.1;

/// What is run in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// The program as it is, the first or the second time.
    Baseline(usize),
    /// The proposal of this index.
    Proposal(usize),
}

/// What will be run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// How many rounds, at most.
    pub n_rounds: usize,
    /// How many proposals.
    pub n_proposals: usize,
    /// How long the program took.
    pub run: Duration,
    /// How long it took when it was recorded.
    pub recorded: Duration,
    /// How long all runs after the first one may take together.
    pub limit: Duration,
}

/// Rounds that fit into a limit are too few to tell anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "in the time that is left there can be {n_rounds} rounds, and less than {least} show nothing; expected --seconds {seconds} \
     or more"
)]
pub struct TooLittleTime {
    /// How many rounds fit.
    pub n_rounds: usize,
    /// How many are needed.
    pub least: usize,
    /// How long they would take, with what was done before, s.
    pub seconds: u64,
}

impl Plan {
    /// A plan for a program that took so long, and so long when it was recorded. `spent` was used of the time that is given.
    ///
    /// # Errors
    /// [`TooLittleTime`] if no verdict is possible in the time that is given.
    pub fn new(
        n_rounds: usize,
        n_proposals: usize,
        [run, recorded]: [Duration; 2],
        given: Option<Duration>,
        spent: Duration,
    ) -> Result<Self, TooLittleTime> {
        let least = least_rounds(n_proposals);
        let mut plan = Self {
            n_rounds: n_rounds.max(least),
            n_proposals,
            run,
            recorded,
            limit: Duration::ZERO,
        };
        let Some(given) = given else {
            plan.limit = plan.expected().mul_f64(MARGIN) + MOST_MORE;
            return Ok(plan);
        };
        plan.limit = given.saturating_sub(spent);
        let of_turn = run.as_secs_f64().max(1e-3) * RESERVE;
        let of_recorded = recorded.as_secs_f64() * RESERVE * n_proposals as f64;
        let of_rounds = plan.limit.as_secs_f64() - of_recorded;
        let fit = (of_rounds / (of_turn * plan.n_turns() as f64)).max(0.0) as usize;
        if fit < least {
            plan.n_rounds = least;
            let needed = spent + plan.expected().mul_f64(RESERVE);
            return Err(TooLittleTime {
                n_rounds: fit,
                least,
                seconds: needed.as_secs() + 1,
            });
        }
        plan.n_rounds = plan.n_rounds.min(fit);
        Ok(plan)
    }

    /// How many runs a round has.
    #[must_use]
    pub fn n_turns(&self) -> usize {
        2 + self.n_proposals
    }

    /// How many runs there are, with a recorded one of each proposal.
    #[must_use]
    pub fn n_runs(&self) -> usize {
        self.n_proposals + self.n_rounds * self.n_turns()
    }

    /// How long all of them take, if each takes as long as the program did.
    #[must_use]
    pub fn expected(&self) -> Duration {
        let of = |run: Duration, n: usize| run * u32::try_from(n).unwrap_or(u32::MAX);
        of(self.recorded, self.n_proposals) + of(self.run, self.n_rounds * self.n_turns())
    }

    /// How long a run may take; one that takes longer is ended.
    #[must_use]
    pub fn limit_of_run(&self) -> Duration {
        self.run.max(self.recorded) * MOST_TIMES + MOST_MORE
    }

    /// The turns of a round, in an order drawn at random, without those of the proposals that `is_out` names.
    #[must_use]
    pub fn turns(&self, seed: u64, round: usize, is_out: impl Fn(usize) -> bool) -> Vec<Turn> {
        let proposals = (0..self.n_proposals).filter(|&idx| !is_out(idx));
        let mut turns = vec![Turn::Baseline(0), Turn::Baseline(1)];
        turns.extend(proposals.map(Turn::Proposal));
        let mut random = Random::of(&[seed, round as u64]);
        random.shuffle(&mut turns);
        turns
    }
}

/// The probability for one of several proposals.
pub(super) fn tail(n_proposals: usize) -> f64 {
    TAIL / n_proposals.max(1) as f64
}

/// Rounds without which there is no verdict.
#[must_use]
pub(super) fn least_rounds(n_proposals: usize) -> usize {
    least_blocks(tail(n_proposals))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn without_a_limit_all_rounds_are_run_in_twice_the_time_they_take() {
        let plan = Plan::new(10, 2, [3 * SECOND; 2], None, SECOND).unwrap();
        assert_eq!((plan.n_turns(), plan.n_runs()), (4, 42));
        assert_eq!(plan.expected(), 126 * SECOND);
        assert_eq!(plan.limit, 262 * SECOND);
        assert_eq!(plan.limit_of_run(), 19 * SECOND);
    }

    #[test]
    fn recording_may_take_longer_than_running() {
        let plan = Plan::new(10, 2, [SECOND, 5 * SECOND], None, SECOND).unwrap();
        assert_eq!(plan.expected(), 50 * SECOND);
        assert_eq!(plan.limit_of_run(), 25 * SECOND);
    }

    #[test]
    fn with_a_limit_there_are_as_many_rounds_as_fit_or_none() {
        // 100 s - 4 s; a run counts as 3.3 s: 2 recorded ones, and 4 of each round.
        let plan = Plan::new(10, 2, [3 * SECOND; 2], Some(100 * SECOND), 4 * SECOND).unwrap();
        assert_eq!((plan.n_rounds, plan.limit), (6, 96 * SECOND));
        let why = Plan::new(10, 2, [3 * SECOND; 2], Some(40 * SECOND), 4 * SECOND).unwrap_err();
        assert_eq!((why.n_rounds, why.least), (2, 4));
        // What it asks for is enough.
        let seconds = Duration::from_secs(why.seconds);
        assert!(Plan::new(10, 2, [3 * SECOND; 2], Some(seconds), 4 * SECOND).is_ok());
        let few = Plan::new(1, 1, [SECOND; 2], None, SECOND).unwrap();
        assert_eq!(few.n_rounds, 4, "fewer tell nothing");
    }

    #[test]
    fn each_turn_is_at_each_place_equally_often() {
        let plan = Plan::new(10, 1, [SECOND; 2], None, SECOND).unwrap();
        let mut first = [0; 3];
        for round in 0..3000 {
            let turns = plan.turns(7, round, |_| false);
            assert_eq!(turns.len(), 3);
            first[match turns[0] {
                Turn::Baseline(nth) => nth,
                Turn::Proposal(_) => 2,
            }] += 1;
        }
        assert!(first.iter().all(|n| (900..1100).contains(n)), "{first:?}");
        assert_eq!(plan.turns(7, 3, |_| false), plan.turns(7, 3, |_| false));
        assert_eq!(plan.turns(7, 3, |_| true).len(), 2);
    }
}
