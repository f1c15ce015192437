//! How far a process is in the plan, and what it has measured.

use crate::plan::Plan;

/// Stands for a time that is not known.
const UNKNOWN: i64 = -1;
/// Stands for the time of a call that its candidate could not execute.
pub(crate) const IMPOSSIBLE: i64 = -2;

/// What is known of a call that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Took {
    /// How long this process was in it, ns.
    Ns(i64),
    /// It was not timed, or an error has ended it.
    Unknown,
    /// Its candidate could not execute it, on no process.
    Impossible,
}

/// What comes next on a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The plan has ended: a control point, and then a new plan.
    Control,
    /// A call.
    Call(Step),
}

/// A call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Its candidate.
    pub candidate: u8,
    /// Whether it is timed.
    pub is_timed: bool,
    /// Whether it is the first one of a block.
    pub begins: bool,
    /// Whether it is the last one of a block.
    pub ends: bool,
    /// So many calls after it have the same candidate, and are not timed, nor do they end the block.
    pub plain: u32,
}

/// How far a process is in the plan, and what it has measured.
#[derive(Debug, Clone)]
pub struct Follower {
    plan: Plan,
    block: usize,
    /// Calls of the block that were made.
    made: u32,
    /// The calls of the block that are timed and were not made, the next one last.
    timed: Vec<u32>,
    times: Vec<i64>,
    interrupted: Vec<i64>,
}

impl Follower {
    /// Begins with a plan.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        let mut new = Self {
            block: 0,
            made: 0,
            timed: Vec::new(),
            times: Vec::with_capacity(plan.n_samples()),
            interrupted: Vec::with_capacity(plan.blocks.len()),
            plan,
        };
        new.begin_block();
        new
    }

    fn begin_block(&mut self) {
        self.timed.clear();
        if self.block < self.plan.blocks.len() {
            self.timed.extend(self.plan.samples(self.block));
            self.timed.reverse();
        }
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The next call. It is the same until a call was [made](Self::made).
    #[must_use]
    pub fn next(&self) -> Next {
        let Some(block) = self.plan.blocks.get(self.block) else {
            return Next::Control;
        };
        let next_timed = self.timed.last().copied();
        let is_timed = next_timed == Some(self.made);
        let nth_timed = self.timed.len().wrapping_sub(if is_timed { 2 } else { 1 });
        let end = block.calls - 1;
        let until = self.timed.get(nth_timed).copied().unwrap_or(end).min(end);
        Next::Call(Step {
            candidate: block.candidate,
            is_timed,
            begins: self.made == 0,
            ends: self.made == end,
            plain: until.saturating_sub(self.made + 1),
        })
    }

    /// A call was made. If it has ended a block, `was_interrupted` says whether the process lost its core in the
    /// block.
    pub fn made(&mut self, took: Took, was_interrupted: bool) {
        let Next::Call(step) = self.next() else {
            return;
        };
        if step.is_timed {
            self.timed.pop();
            self.times.push(match took {
                Took::Ns(time_ns) => time_ns.max(0),
                Took::Unknown => UNKNOWN,
                Took::Impossible => IMPOSSIBLE,
            });
        }
        self.made += 1;
        if step.ends {
            self.interrupted.push(i64::from(was_interrupted));
            self.block += 1;
            self.made = 0;
            self.begin_block();
        }
    }

    /// So many plain calls were made, which nobody has looked at.
    pub fn made_plain(&mut self, calls: u32) {
        self.made += calls;
    }

    /// What this process has measured: its time in each timed call, ns, and then for each block whether it was
    /// interrupted.
    #[must_use]
    pub fn own(&self) -> Vec<i64> {
        self.times
            .iter()
            .chain(&self.interrupted)
            .copied()
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Block;

    fn plan(blocks: &[(u8, u32)]) -> Plan {
        let block = |&(candidate, calls): &(u8, u32)| Block { candidate, calls };
        Plan {
            begin: 40,
            blocks: blocks.iter().map(block).collect(),
        }
    }

    /// The candidate of each call, by calls one by one.
    fn one_by_one(plan: &Plan) -> (Vec<u8>, Follower) {
        let mut follower = Follower::new(plan.clone());
        let mut candidates = Vec::new();
        while let Next::Call(step) = follower.next() {
            candidates.push(step.candidate);
            let time = candidates.len() as i64;
            follower.made(Took::Ns(time), false);
        }
        (candidates, follower)
    }

    #[test]
    fn all_calls_of_a_plan_are_made_whether_plain_ones_are_looked_at_or_not() {
        let plan = plan(&[(0, 4), (2, 100), (1, 1), (0, 17)]);
        let (candidates, follower) = one_by_one(&plan);
        let mut quickly = Follower::new(plan.clone());
        let mut at = 0;
        let mut n_looked_at = 0;
        while let Next::Call(step) = quickly.next() {
            n_looked_at += 1;
            assert_eq!(step.candidate, candidates[at]);
            at += 1;
            quickly.made(Took::Ns(at as i64), false);
            let plain = step.plain as usize;
            assert!(
                candidates[at..at + plain]
                    .iter()
                    .all(|of| *of == step.candidate)
            );
            quickly.made_plain(step.plain);
            at += plain;
        }
        assert_eq!(at, candidates.len());
        assert_eq!(at as u64, plan.end() - plan.begin);
        assert_eq!(quickly.own(), follower.own());
        assert!(n_looked_at < 4 + 2 * 16 + 2 + 1 + 17, "{n_looked_at}");
    }

    #[test]
    fn each_timed_call_has_a_time_and_each_block_whether_it_was_interrupted() {
        let plan = plan(&[(0, 2), (1, 1)]);
        let mut follower = Follower::new(plan.clone());
        follower.made(Took::Ns(10), true);
        follower.made(Took::Unknown, true);
        follower.made(Took::Impossible, false);
        assert_eq!(follower.next(), Next::Control);
        follower.made(Took::Ns(1), true);
        assert_eq!(follower.own(), [10, -1, -2, 1, 0]);
        assert_eq!(plan.n_samples(), 3);
    }
}
