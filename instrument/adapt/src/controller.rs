//! Decides which candidates the next calls have.
//!
//! One candidate is **in use**. Others are tried in rounds, blocks in turns with the one in use, that become longer: 2
//! calls, 4, 8. The candidate in use is left
//!
//! - for one that is better by more than 3 %, with its interval, in the time over all processes, and not worse for the
//!   last to arrive;
//! - after few calls already for one that took less than half as long in each of two calls, or less than a quarter in one;
//! - but not again before twice as many calls, nor for one that was left before twice as many calls.
//!
//! The first call of a block counts for none of that: processes come to it from another candidate, each when it has left
//! that.
//!
//! What trying costs is counted: calls of a candidate that is not in use, by what they took longer. No block is begun
//! whose expected cost is more than `cost` of the time in all calls so far, less what was spent, except for the first two
//! calls of each candidate. One that is certainly equal, or about which many rounds have not decided, is tried again after
//! twice as many calls, one that is certainly worse after four times as many, or when the times of the candidate in use
//! [change](crate::change).
//!
//! What an earlier run has [learned](crate::Learned) stands for the first trials: candidates begin as if they had been
//! tried and judged in the first plan. It need not be true here: once one of them has taken less than the one in use, it is
//! judged anew; if all first calls of the one in use take twice as long as then, or half as long, all are tried.

use collbench_stats::random::{Random, hash};

use crate::change::Watch;
use crate::evidence::{Evidence, Gain};
use crate::figures::{BlockFigures, Figures};
use crate::plan::{Block, FIRST_CALLS, Learned, MAX_BLOCKS, Plan};

/// A gain that is worth a switch, and a difference below which candidates are equal.
const WORTH: f64 = 0.03;
/// A candidate about which that many rounds have not decided is tried again at doubling intervals.
const MAX_ROUNDS: u32 = 6;
/// The candidate in use does not change in that many calls at the beginning.
const FIRST_HOLD: u64 = 4;
/// Most blocks of a candidate in a round.
const MAX_TURNS: u32 = 8;
/// A candidate that took that many times as long as the one in use is not tried again after a change before its calls fit
/// what may be spent.
const FAR_WORSE: f64 = 3.0;
/// If the first calls of the candidate in use take so many times as long as in an earlier run, or those of that run did, what
/// was learned in it says nothing about others.
const UNLIKE: f64 = 2.0;
/// Most calls of a candidate in a round.
const MOST_CALLS: u32 = 64;
/// The share of the time in the calls that control points may take, once nothing changes.
const CONTROL_SHARE: f64 = 0.001;
/// And before that, while nothing is tried.
const EARLY_CONTROL_SHARE: f64 = 0.01;
/// Fewest and most calls between control points while nothing is tried.
const STEADY_CALLS: (u64, u64) = (16, 1 << 24);
/// Most blocks between control points while nothing is tried.
const MAX_STEADY_BLOCKS: u64 = 8;
/// Control points are at least this many calls apart in the long run, however long the calls are.
const LEAST_CAP: u64 = 64;
/// Between control points there are that many parts of the calls so far, while nothing is tried: a change is noticed
/// after so many at the latest.
const STEADY_PART: u64 = 6;
/// On hosts with more processes than cores times are apart by chance: so seldom they may be.
const CHANCE_IN_CROWDS: f64 = 1_000.0;

/// How decisions are made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// Number of candidates; the first one is in use at the beginning.
    pub n_candidates: usize,
    /// What an earlier run has found; that candidate is in use at the beginning then.
    pub learned: Option<Learned>,
    /// The share of the time in the calls that trying others may cost.
    pub cost: f64,
    /// Whether all processes wait for all in the operation, so that the last to arrive waits for nobody.
    pub waits_for_all: bool,
    /// Whether a host has more processes than cores.
    pub is_crowded: bool,
    /// Whether the candidate in use may change. If not, it is only said which one would be used.
    pub may_switch: bool,
    /// From it follows the order in which candidates are tried.
    pub seed: u64,
}

/// What is known of a candidate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Standing {
    /// It is in use.
    InUse,
    /// It is being tried.
    Tried,
    /// It is certainly worse.
    Worse,
    /// It is certainly equal.
    Equal,
    /// Many rounds have not decided.
    Undecided,
    /// It could not execute the calls.
    Unable,
}

impl Standing {
    /// Whether it is tried again at doubling intervals only.
    const fn is_dropped(self) -> bool {
        matches!(self, Self::Worse | Self::Equal | Self::Undecided)
    }

    /// As one word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::InUse => "in-use",
            Self::Tried => "tried",
            Self::Worse => "worse",
            Self::Equal => "equal",
            Self::Undecided => "undecided",
            Self::Unable => "unable",
        }
    }
}

/// Why the candidate in use is as it is after a control point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Nothing has decided for another one so far.
    Undecided,
    /// Another one is better by more than 3 %, with its interval.
    Better,
    /// Another one took less than half as long in each call.
    FarBetter,
    /// The one in use could not execute the calls.
    Unable,
    /// The times of the one in use have changed, or are others than in an earlier run: all are tried again.
    Changed,
    /// As `Better` and `FarBetter`, but the candidate in use may not change.
    Kept,
}

impl Reason {
    /// As one word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Undecided => "undecided",
            Self::Better => "better",
            Self::FarBetter => "far-better",
            Self::Unable => "unable",
            Self::Changed => "changed",
            Self::Kept => "kept",
        }
    }
}

/// What is known of a candidate after a control point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CandidateState {
    /// Its standing.
    pub standing: Standing,
    /// Calls that it has executed.
    pub calls: u64,
    /// Time in one call over all processes, ns; before it was tried, what it takes by what an earlier run has found;
    /// `None` if that is not known.
    pub total_ns: Option<f64>,
    /// Its gain over the candidate in use in the time over all processes: less than 0 if it is better. `None` with
    /// fewer than three pairs of blocks.
    pub gain: Option<Gain>,
}

/// A decision.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// The next blocks.
    pub plan: Plan,
    /// The candidate in use.
    pub in_use: usize,
    /// The one that it was before.
    pub before: usize,
    /// Why.
    pub reason: Reason,
    /// What is known of each candidate.
    pub candidates: Vec<CandidateState>,
    /// Time over all processes that calls of candidates that were not in use took longer, ns, without the first two calls of
    /// each.
    pub spent_ns: f64,
    /// Time over all processes that the first two calls of each candidate took longer than those of the best one, ns.
    pub first_ns: f64,
    /// What might have been spent, ns.
    pub allowed_ns: f64,
}

#[derive(Debug, Clone)]
struct Candidate {
    standing: Standing,
    calls: u64,
    /// Rounds since all were tried anew.
    rounds: u32,
    total_ns: Option<f64>,
    /// Its time in a call, as a multiple of that of the candidate in use in the same plan.
    relative: Option<f64>,
    /// Number of the call at which it is tried again.
    again_at: u64,
    /// Number of the call at which it was left.
    left_at: Option<u64>,
}

/// Decides which candidates the next calls have.
#[derive(Debug)]
pub struct Controller {
    options: Options,
    candidates: Vec<Candidate>,
    in_use: usize,
    evidence: Evidence,
    /// Of the times over all processes, and of the least ones.
    watches: [Watch; 2],
    /// Number of the call from which times are what they are now.
    since: u64,
    /// From which call on the time between control points has grown.
    grown_from: u64,
    /// The number of calls in which the candidate in use does not change again, and where they begin.
    hold: u64,
    held_from: u64,
    /// Whether a change was reported, and no other candidate was taken since.
    has_alarm: bool,
    spent_ns: f64,
    first_ns: f64,
    in_calls_ns: f64,
    /// The shortest time of a control point over all processes, ns: in others they have waited for a late process.
    control_ns: Option<f64>,
}

impl Controller {
    /// Begins with what [`Plan::first`] says.
    ///
    /// # Panics
    /// If there are no candidates, or more than [`MAX_CANDIDATES`](crate::MAX_CANDIDATES).
    #[must_use]
    pub fn new(options: Options) -> Self {
        assert!((1..=crate::MAX_CANDIDATES).contains(&options.n_candidates));
        let in_use = options.learned.map_or(0, |of| of.in_use);
        let candidate = |nth| {
            let relative = options.learned.and_then(|of| of.relative[nth]);
            Candidate {
                standing: match relative {
                    _ if nth == in_use => Standing::InUse,
                    Some(relative) if relative > 1.0 + WORTH => Standing::Worse,
                    Some(relative) if relative >= 1.0 - WORTH => Standing::Equal,
                    _ => Standing::Tried,
                },
                calls: 0,
                rounds: 0,
                total_ns: None,
                relative,
                again_at: 0,
                left_at: None,
            }
        };
        let mut new = Self {
            candidates: (0..options.n_candidates).map(candidate).collect(),
            options,
            in_use,
            evidence: Evidence::default(),
            watches: Default::default(),
            since: 0,
            grown_from: 0,
            hold: FIRST_HOLD,
            held_from: 0,
            has_alarm: false,
            spent_ns: 0.0,
            first_ns: 0.0,
            in_calls_ns: 0.0,
            control_ns: None,
        };
        let first = Plan::first(options.n_candidates, options.seed, options.learned.as_ref());
        for nth in 0..options.n_candidates {
            new.put_off(nth, first.end());
        }
        new
    }

    /// Decides at the end of a plan. `control_ns`: how long the control point before has taken, over all processes.
    pub fn decide(&mut self, plan: &Plan, figures: &Figures, control_ns: Option<f64>) -> Decision {
        let position = plan.end();
        let before = self.in_use;
        self.account(figures);
        let known_ns = self.control_ns.into_iter().chain(control_ns);
        self.control_ns = known_ns.min_by(f64::total_cmp);
        let mut reason = Reason::Undecided;
        let is_surprised = self.is_surprised(figures);
        if self.is_unlike_learned(plan, figures) {
            self.forget_learned();
            reason = Reason::Changed;
        }
        if self.has_changed(figures) || is_surprised {
            self.try_all_again(position);
            // Otherwise calls before and after the change are in one block.
            if is_surprised {
                for block in &figures.blocks {
                    self.evidence.add_calls(block);
                }
            }
            reason = Reason::Changed;
        }
        if let Some((better, why)) = self.better(position) {
            reason = why;
            if why != Reason::Kept {
                self.use_from(better, position);
            }
        }
        self.judge_others(position);
        let plan = self.next_plan(position);
        Decision {
            plan,
            in_use: self.in_use,
            before,
            reason,
            candidates: (0..self.candidates.len())
                .map(|of| self.state(of))
                .collect(),
            spent_ns: self.spent_ns,
            first_ns: self.first_ns,
            allowed_ns: self.options.cost * self.in_calls_ns,
        }
    }

    fn state(&self, nth: usize) -> CandidateState {
        let candidate = &self.candidates[nth];
        let gain = (nth != self.in_use).then(|| self.evidence.of_totals(nth, self.in_use));
        let times = candidate
            .relative
            .zip(self.candidates[self.in_use].total_ns);
        let by_relative = times.map(|(relative, in_use)| relative * in_use);
        CandidateState {
            standing: candidate.standing,
            calls: candidate.calls,
            total_ns: candidate.total_ns.or(by_relative),
            gain: gain.flatten(),
        }
    }

    /// Takes over what was measured: estimates, evidence, and what trying has cost.
    fn account(&mut self, figures: &Figures) {
        // A process that lost its core in a block says nothing about trees.
        let is_undisturbed = |block: &&BlockFigures| block.n_interrupted == 0;
        let n_undisturbed = figures.blocks.iter().filter(is_undisturbed).count();
        let keeps_all = 2 * n_undisturbed <= figures.blocks.len();
        let kept = || {
            let blocks = figures.blocks.iter();
            blocks.filter(move |block| keeps_all || is_undisturbed(block))
        };
        for block in kept() {
            self.evidence.add_calls(block);
        }
        // The first calls of a candidate set up connections and memory.
        let is_first = |block: &&BlockFigures| self.candidates[block.candidate].rounds == 0;
        let in_plan = |nth: usize| figures.blocks.iter().any(|block| block.candidate == nth);
        let is_round = (0..self.candidates.len()).any(|nth| nth != self.in_use && in_plan(nth));
        if is_round {
            self.evidence
                .add_round(kept().filter(|block| !is_first(block)));
        }
        for (nth, candidate) in self.candidates.iter_mut().enumerate() {
            let own = || figures.blocks.iter().filter(|block| block.candidate == nth);
            if in_plan(nth) && own().all(|block| block.is_impossible) {
                candidate.standing = Standing::Unable;
            }
            let of_candidate = |block: &&BlockFigures| block.candidate == nth;
            let mut blocks: Vec<&BlockFigures> = kept().filter(of_candidate).collect();
            if blocks.is_empty() {
                // All were disturbed: better than nothing.
                blocks = own().collect();
            }
            let blocks = blocks.into_iter();
            if candidate.rounds == 0 {
                let calls = blocks.flat_map(|block| block.settled().0.iter().copied());
                candidate.total_ns = calls.min_by(f64::total_cmp).or(candidate.total_ns);
            } else {
                let totals: Vec<f64> = blocks.filter_map(BlockFigures::settled_total).collect();
                if !totals.is_empty() {
                    let mean = totals.iter().sum::<f64>() / totals.len() as f64;
                    candidate.total_ns = Some(mean);
                }
            }
        }
        self.account_costs(figures);
        let in_use_ns = self.candidates[self.in_use].total_ns;
        let is_compared = in_plan(self.in_use);
        let candidates = self.candidates.iter_mut().enumerate();
        for (_, candidate) in candidates.filter(|(nth, _)| in_plan(*nth)) {
            candidate.rounds += 1;
            if is_compared {
                let times = candidate.total_ns.zip(in_use_ns);
                candidate.relative = times.map(|(time, in_use)| time / in_use);
            }
        }
    }

    /// Adds up what trying has cost: beyond the candidate in use, in the first calls beyond the best one.
    fn account_costs(&mut self, figures: &Figures) {
        let known = self.candidates.iter().filter_map(|of| of.total_ns);
        let best_ns = known.min_by(f64::total_cmp).unwrap_or(0.0);
        let in_use_ns = self.candidates[self.in_use].total_ns.unwrap_or(best_ns);
        for block in &figures.blocks {
            let candidate = &mut self.candidates[block.candidate];
            let is_first = candidate.calls < u64::from(FIRST_CALLS);
            candidate.calls += u64::from(block.calls);
            let calls = f64::from(block.calls);
            let took = block.total().unwrap_or(in_use_ns);
            self.in_calls_ns += calls * took.min(best_ns);
            if is_first {
                self.first_ns += calls * (took - best_ns).max(0.0);
            } else if block.candidate != self.in_use {
                self.spent_ns += calls * (took - in_use_ns).max(0.0);
            }
        }
    }

    /// Whether the times of the candidate in use are others than they were.
    fn has_changed(&mut self, figures: &Figures) -> bool {
        let in_use = self.in_use;
        if self.candidates[in_use].rounds < 2 {
            return false;
        }
        let blocks: Vec<&BlockFigures> = figures
            .blocks
            .iter()
            .filter(|block| block.candidate == in_use)
            .collect();
        // Where nothing else is tried, each block is long.
        let is_steady = blocks.len() == figures.blocks.len();
        let n_together = if is_steady { 1 } else { blocks.len().max(1) };
        blocks.chunks(n_together).any(|blocks| {
            let totals = upper_quartile(blocks, |block| &block.totals);
            let least = upper_quartile(blocks, |block| &block.least);
            let [of_totals, of_least] = &mut self.watches;
            let [totals, least] = [
                totals.is_some_and(|time| of_totals.add(time)),
                least.is_some_and(|time| of_least.add(time)),
            ];
            // A late process changes only the first, a disturbance mostly only one.
            totals && (least || !self.options.waits_for_all)
        })
    }

    /// Whether each call of the candidate in use in the first plan took far longer than in an earlier run, or each far
    /// less.
    fn is_unlike_learned(&self, plan: &Plan, figures: &Figures) -> bool {
        let Some(learned) = self.options.learned.filter(|_| plan.begin == 0) else {
            return false;
        };
        let blocks = figures.blocks.iter();
        let of_in_use = blocks.filter(|block| block.candidate == self.in_use);
        let times: Vec<f64> = of_in_use
            .flat_map(|block| block.settled().0.to_vec())
            .collect();
        let is_longer = |time: &f64| *time > UNLIKE * learned.in_use_ns;
        let is_shorter = |time: &f64| *time * UNLIKE < learned.in_use_ns;
        !times.is_empty() && (times.iter().all(is_longer) || times.iter().all(is_shorter))
    }

    /// Candidates have first calls, but for those that have had them.
    fn forget_learned(&mut self) {
        let untried = self.candidates.iter_mut().filter(|of| of.calls == 0);
        for candidate in untried {
            candidate.standing = Standing::Tried;
            candidate.relative = None;
        }
    }

    /// Whether one that was certainly worse took far less in each of its calls than the candidate in use in the same plan:
    /// what is known of them is no longer true.
    fn is_surprised(&self, figures: &Figures) -> bool {
        if self.options.is_crowded {
            // So few calls are apart by chance.
            return false;
        }
        let mut of_plan = Evidence::default();
        for block in &figures.blocks {
            of_plan.add_calls(block);
        }
        let by_least = self.options.waits_for_all;
        let is_worse = |nth: &usize| self.candidates[*nth].standing == Standing::Worse;
        let mut worse = (0..self.candidates.len()).filter(is_worse);
        worse.any(|nth| of_plan.is_far_better(nth, self.in_use, by_least, None))
    }

    /// Forgets what is known of other candidates.
    fn try_all_again(&mut self, position: u64) {
        if self.has_alarm {
            // The last one has changed nothing.
            self.watches.iter_mut().for_each(Watch::was_false);
        }
        self.has_alarm = true;
        self.watches.iter_mut().for_each(Watch::begin_again);
        self.evidence.clear();
        self.since = position;
        // A false alarm must not bring all control points of the beginning again.
        self.grown_from += (position - self.grown_from) / 2;
        (self.hold, self.held_from) = (FIRST_HOLD, position.saturating_sub(FIRST_HOLD));
        let in_use_ns = self.candidates[self.in_use].total_ns;
        for candidate in &mut self.candidates {
            // What others take is not known any more: they have first calls again, but for those that took very
            // much longer in the same plan, and took longer than the one in use takes now.
            let times = candidate.total_ns.zip(in_use_ns);
            let known = candidate.relative.zip(times);
            let relative = known.map(|(then, (time, in_use))| then.min(time / in_use));
            candidate.relative = relative.filter(|relative| *relative > FAR_WORSE);
            candidate.rounds = 0;
            candidate.left_at = None;
            if candidate.standing.is_dropped() {
                candidate.standing = Standing::Tried;
            }
        }
    }

    /// Whether calls of a candidate may be made again: it was not left just now.
    fn may_return(&self, nth: usize, position: u64) -> bool {
        let since = |of: u64| of.saturating_sub(self.since);
        let left_at = self.candidates[nth].left_at;
        left_at.is_none_or(|left_at| since(position) >= 2 * since(left_at))
    }

    /// A candidate that is better than the one in use.
    fn better(&self, position: u64) -> Option<(usize, Reason)> {
        let is_held = position < self.held_from + self.hold;
        let is_unable = self.candidates[self.in_use].standing == Standing::Unable;
        let others = (0..self.candidates.len()).filter(|&nth| {
            nth != self.in_use
                && self.candidates[nth].standing != Standing::Unable
                && self.candidates[nth].total_ns.is_some()
        });
        let reason = |nth: usize| {
            if is_unable {
                return Some(Reason::Unable);
            }
            if is_held || !self.may_return(nth, position) {
                return None;
            }
            let reason = if self.is_far_better(nth, self.in_use) {
                Reason::FarBetter
            } else if self.is_better(nth) {
                Reason::Better
            } else {
                return None;
            };
            Some(if self.options.may_switch {
                reason
            } else {
                Reason::Kept
            })
        };
        let found = others.filter_map(|nth| Some((nth, reason(nth)?)));
        let time = |nth: usize| self.candidates[nth].total_ns.unwrap_or(f64::INFINITY);
        found.min_by(|one, other| time(one.0).total_cmp(&time(other.0)))
    }

    fn is_far_better(&self, of: usize, than: usize) -> bool {
        let chance = self.options.is_crowded.then_some(CHANCE_IN_CROWDS);
        let by_least = self.options.waits_for_all;
        self.evidence.is_far_better(of, than, by_least, chance)
    }

    fn is_better(&self, nth: usize) -> bool {
        let is_worth = |gain: Gain| gain.upper < -WORTH;
        let is_not_worse = |gain: Gain| gain.estimate <= 0.0;
        self.evidence
            .of_totals(nth, self.in_use)
            .is_some_and(is_worth)
            && (!self.options.waits_for_all
                || self
                    .evidence
                    .of_least(nth, self.in_use)
                    .is_some_and(is_not_worse))
    }

    fn use_from(&mut self, better: usize, position: u64) {
        let left = &mut self.candidates[self.in_use];
        left.left_at = Some(position);
        if left.standing != Standing::Unable {
            left.standing = Standing::Tried;
        }
        if let Some(of_better) = self.candidates[better].relative {
            for candidate in &mut self.candidates {
                candidate.relative = candidate.relative.map(|relative| relative / of_better);
            }
        }
        self.in_use = better;
        self.candidates[better].standing = Standing::InUse;
        self.hold = 2 * self.hold.max(position - self.held_from);
        self.held_from = position;
        self.watches.iter_mut().for_each(Watch::begin_again);
        if std::mem::take(&mut self.has_alarm) {
            self.watches.iter_mut().for_each(Watch::was_true);
        }
    }

    /// Drops candidates that are certainly worse or equal.
    fn judge_others(&mut self, position: u64) {
        for nth in 0..self.candidates.len() {
            let candidate = &mut self.candidates[nth];
            if candidate.standing == Standing::Worse
                && candidate.relative.is_some_and(|of| of < 1.0)
            {
                candidate.standing = Standing::Tried;
            }
            if self.candidates[nth].standing != Standing::Tried
                || self.candidates[nth].total_ns.is_none()
            {
                continue;
            }
            let gain = self.evidence.of_totals(nth, self.in_use);
            let is_worse = gain.is_some_and(|gain| gain.lower > WORTH);
            let is_equal = gain.is_some_and(|gain| gain.lower > -WORTH && gain.upper < WORTH);
            let standing = if is_worse || self.is_far_better(self.in_use, nth) {
                Standing::Worse
            } else if is_equal {
                Standing::Equal
            } else if self.candidates[nth].rounds > MAX_ROUNDS {
                Standing::Undecided
            } else {
                continue;
            };
            let candidate = &mut self.candidates[nth];
            candidate.standing = standing;
            self.put_off(nth, position);
        }
    }

    /// A candidate is not tried before there were twice as many calls as now, since times are what they are; four times as
    /// many if it is certainly worse.
    fn put_off(&mut self, nth: usize, position: u64) {
        let candidate = &mut self.candidates[nth];
        let factor = match candidate.standing {
            Standing::Worse => 4,
            _ => 2,
        };
        candidate.again_at = self.since + factor * (position - self.since);
    }

    /// What a call of a candidate is expected to cost, ns over all processes: by how much longer it took when both were
    /// measured, since times of other plans may be those of a busier machine.
    fn excess_ns(&self, nth: usize) -> f64 {
        let in_use_ns = self.candidates[self.in_use].total_ns.unwrap_or(0.0);
        let relative = self.candidates[nth].relative.unwrap_or(1.0);
        in_use_ns * (relative - 1.0).max(0.0)
    }

    /// Calls of a candidate in its next round.
    fn calls_of(&self, nth: usize) -> u32 {
        let candidate = &self.candidates[nth];
        if candidate.standing == Standing::Worse && candidate.rounds > 0 {
            return 2 * FIRST_CALLS;
        }
        (FIRST_CALLS << candidate.rounds.min(16)).min(MOST_CALLS)
    }

    fn next_plan(&mut self, position: u64) -> Plan {
        let is_wanted = |nth: usize| {
            let candidate = &self.candidates[nth];
            match candidate.standing {
                Standing::Tried => true,
                Standing::InUse | Standing::Unable => false,
                _ => position >= candidate.again_at,
            }
        };
        let wanted: Vec<usize> = (0..self.candidates.len())
            .filter(|&nth| is_wanted(nth))
            .collect();
        let mut left = (self.options.cost * self.in_calls_ns - self.spent_ns).max(0.0);
        // Rounds become longer by chance.
        let expected = |nth: usize, calls: u32| 1.25 * f64::from(calls) * self.excess_ns(nth);
        // One that does not fit makes no rounds shorter.
        let fits = |nth: &usize| expected(*nth, self.calls_of(*nth)) <= left;
        let wanted: Vec<usize> = wanted.into_iter().filter(fits).collect();
        let calls = wanted.iter().map(|&nth| self.calls_of(nth)).min();
        let calls = calls.unwrap_or(0);
        let mut planned = Vec::new();
        for nth in wanted {
            let expected = expected(nth, calls);
            if expected <= left {
                left -= expected;
                planned.push(nth);
            }
        }
        let mut random = Random::of(&[hash(&[self.options.seed, position])]);
        if planned.is_empty() {
            return self.steady(position, &mut random);
        }
        for &nth in &planned {
            self.put_off(nth, position);
        }
        self.round(position, planned, calls, &mut random)
    }

    /// Blocks of the candidates in turns: in some order, then the other way round, and so on.
    fn round(&self, position: u64, mut order: Vec<usize>, calls: u32, random: &mut Random) -> Plan {
        order.push(self.in_use);
        random.shuffle(&mut order);
        // Many short ones say more about chance than few long ones.
        let most = (MAX_BLOCKS / order.len()) as u32;
        // Where processes run ahead of one another, only long ones show what calls cost.
        let most = most.min(if self.options.waits_for_all {
            MAX_TURNS
        } else {
            2
        });
        let n_turns = (calls / FIRST_CALLS).clamp(1, most);
        let calls = calls / n_turns;
        // No period of the program may agree with the length of blocks.
        let calls = calls + random.below(calls as usize / 4 + 1) as u32;
        let mut blocks = Vec::with_capacity(n_turns as usize * order.len());
        for _ in 0..n_turns {
            blocks.extend(order.iter().map(|&nth| Block {
                candidate: nth as u8,
                calls,
            }));
            order.reverse();
        }
        Plan {
            begin: position,
            blocks,
        }
    }

    /// Calls of the candidate in use, the more the longer nothing has changed: as many blocks as there would be control
    /// points if these took no time.
    fn steady(&self, position: u64, random: &mut Random) -> Plan {
        let in_use_ns = self.candidates[self.in_use].total_ns.unwrap_or(1.0);
        let control_ns = self.control_ns.unwrap_or(0.0);
        let of_share = |share: f64| (control_ns / in_use_ns / share) as u64;
        let enough = of_share(CONTROL_SHARE).max(LEAST_CAP);
        let calls = ((position - self.grown_from) / STEADY_PART).min(enough);
        let calls = calls.clamp(STEADY_CALLS.0, STEADY_CALLS.1);
        let again_at = self.candidates.iter().map(|of| of.again_at);
        let next_trial = again_at.filter(|at| *at > position).min();
        let most = next_trial.map_or(u64::MAX, |at| at - position);
        let most = most.min(calls * MAX_STEADY_BLOCKS);
        let all_calls = of_share(EARLY_CONTROL_SHARE).min(most).max(calls);
        let n_blocks = all_calls.div_ceil(calls);
        let calls = (all_calls / n_blocks) as usize;
        let blocks = (0..n_blocks).map(|_| Block {
            candidate: self.in_use as u8,
            calls: (calls + random.below(calls / 4 + 1)) as u32,
        });
        Plan {
            begin: position,
            blocks: blocks.collect(),
        }
    }
}

/// The upper quartile of times of some blocks: a change in the middle of a block shows in the slower ones of its calls.
fn upper_quartile(
    blocks: &[&BlockFigures],
    of: impl Fn(&BlockFigures) -> &Vec<f64>,
) -> Option<f64> {
    let mut times: Vec<f64> = blocks.iter().flat_map(|block| of(block)).copied().collect();
    times.sort_by(f64::total_cmp);
    times.get(times.len() * 3 / 4).copied()
}

#[cfg(test)]
mod tests;
