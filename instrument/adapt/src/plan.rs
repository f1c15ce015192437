//! Which candidate the next calls have.

use collbench_stats::random::{Random, hash};

/// Most candidates: eight trees, and the MPI library.
pub const MAX_CANDIDATES: usize = 9;
/// Most blocks of a plan: four of each candidate.
pub(crate) const MAX_BLOCKS: usize = 4 * MAX_CANDIDATES;
/// Length of an encoded plan.
pub const PLAN_WORDS: usize = 1 + MAX_BLOCKS;
/// Most calls of a block that are timed.
const MAX_SAMPLES: u32 = 16;
/// Calls of the first candidate before others are tried: communicators with few calls are never adapted.
const CALLS_BEFORE: u32 = 4;
/// Calls for which a candidate is tried at first.
pub(crate) const FIRST_CALLS: u32 = 2;

/// What an earlier run has found about such calls with the same candidates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Learned {
    /// The candidate that was in use at last.
    pub in_use: usize,
    /// Its time in one call over all processes, ns.
    pub in_use_ns: f64,
    /// How many times as long as calls of the one in use those of each candidate took; `None` if that is not known.
    pub relative: [Option<f64>; MAX_CANDIDATES],
}

impl Learned {
    /// Whether a candidate needs no first calls to be known.
    pub(crate) fn is_known(&self, nth: usize) -> bool {
        nth == self.in_use || self.relative[nth].is_some()
    }
}

/// Calls in a row with the same candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Its index.
    pub candidate: u8,
    /// How many; at least one.
    pub calls: u32,
}

/// The next blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Number of the call with which it begins, from 0.
    pub begin: u64,
    /// At least one.
    pub blocks: Vec<Block>,
}

impl Plan {
    /// The plan that all processes have before anything is measured: some calls of the first candidate, which
    /// need no control point, and then the first trial of each other one, in an order that follows from `seed`. If
    /// there is something that an earlier run has `learned`, calls of the candidate that was in use there take the place
    /// of those of the first one, and of the trials of candidates that are known.
    #[must_use]
    pub fn first(n_candidates: usize, seed: u64, learned: Option<&Learned>) -> Self {
        let first = learned.map_or(0, |of| of.in_use);
        let is_known = |nth: usize| learned.map_or(nth == first, |of| of.is_known(nth));
        let unknown = (0..n_candidates).filter(|nth| !is_known(*nth));
        let mut others: Vec<u8> = unknown.map(|nth| nth as u8).collect();
        Random::of(&[seed]).shuffle(&mut others);
        let n_known = n_candidates - others.len();
        let before = Block {
            candidate: first as u8,
            calls: CALLS_BEFORE + FIRST_CALLS * (n_known as u32 - 1),
        };
        let trials = others.into_iter().map(|candidate| Block {
            candidate,
            calls: FIRST_CALLS,
        });
        Self {
            begin: 0,
            blocks: std::iter::once(before).chain(trials).collect(),
        }
    }

    /// One to three calls of any candidate, behind this plan: a test that depends on no time.
    #[must_use]
    pub fn random_next(&self, seed: u64, n_candidates: usize) -> Self {
        let begin = self.end();
        let mut random = Random::of(&[seed, begin]);
        let block = Block {
            candidate: random.below(n_candidates) as u8,
            calls: 1 + random.below(3) as u32,
        };
        Self {
            begin,
            blocks: vec![block],
        }
    }

    /// Number of the first call behind it.
    #[must_use]
    pub fn end(&self) -> u64 {
        let calls = self.blocks.iter().map(|block| u64::from(block.calls));
        self.begin + calls.sum::<u64>()
    }

    /// Which calls of a block are timed, ascending: all of a short one; of a long one a call in each of equal
    /// parts, at any place of the part, so that no period in the program agrees with them.
    pub(crate) fn samples(&self, block: usize) -> impl Iterator<Item = u32> + use<> {
        let calls = self.blocks[block].calls;
        let n = calls.min(MAX_SAMPLES);
        let name = [self.begin, block as u64];
        (0..n).map(move |nth| {
            let [from, to] =
                [nth, nth + 1].map(|nth| (u64::from(calls) * u64::from(nth) / u64::from(n)) as u32);
            let part = u64::from(to - from);
            from + (hash(&[name[0], name[1], u64::from(nth)]) % part) as u32
        })
    }

    /// Number of calls that are timed.
    #[must_use]
    pub fn n_samples(&self) -> usize {
        let of_blocks = self.blocks.iter();
        of_blocks
            .map(|block| block.calls.min(MAX_SAMPLES) as usize)
            .sum()
    }

    /// As numbers that are carried to the other processes.
    #[must_use]
    pub fn encoded(&self) -> [i64; PLAN_WORDS] {
        let mut words = [0; PLAN_WORDS];
        words[0] = self.begin as i64;
        for (word, block) in words[1..].iter_mut().zip(&self.blocks) {
            *word = i64::from(block.calls) << 8 | i64::from(block.candidate);
        }
        words
    }

    /// What was [encoded](Self::encoded); `None` if it is no plan of so many candidates.
    #[must_use]
    pub fn decoded(words: &[i64; PLAN_WORDS], n_candidates: usize) -> Option<Self> {
        let blocks = words[1..].iter().take_while(|word| **word != 0);
        let block = |word: &i64| {
            let candidate = (word & 0xff) as u8;
            let calls = u32::try_from(word >> 8).ok().filter(|calls| *calls > 0)?;
            (usize::from(candidate) < n_candidates).then_some(Block { candidate, calls })
        };
        let blocks: Vec<Block> = blocks.map(block).collect::<Option<_>>()?;
        (!blocks.is_empty()).then_some(Self {
            begin: words[0] as u64,
            blocks,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_plan_tries_each_candidate_once_in_the_same_order_for_the_same_seed() {
        let plan = Plan::first(5, 7, None);
        assert_eq!(plan, Plan::first(5, 7, None));
        assert_eq!(plan.end(), 4 + 4 * 2);
        let mut tried: Vec<u8> = plan.blocks[1..].iter().map(|of| of.candidate).collect();
        tried.sort_unstable();
        assert_eq!(tried, [1, 2, 3, 4]);
        assert!((0..20).any(|seed| Plan::first(5, seed, None) != plan));
    }

    #[test]
    fn with_what_was_learned_the_first_plan_is_as_long_and_tries_only_what_is_not_known() {
        let mut learned = Learned {
            in_use: 3,
            in_use_ns: 1.0,
            relative: [None; MAX_CANDIDATES],
        };
        learned.relative[0] = Some(2.0);
        learned.relative[1] = Some(1.0);
        let plan = Plan::first(5, 7, Some(&learned));
        assert_eq!(plan.end(), Plan::first(5, 7, None).end());
        let blocks = plan.blocks.iter().map(|of| (of.candidate, of.calls));
        let mut blocks: Vec<_> = blocks.collect();
        assert_eq!(blocks.remove(0), (3, 4 + 2 * 2));
        blocks.sort_unstable();
        assert_eq!(blocks, [(2, 2), (4, 2)]);
    }

    #[test]
    fn a_plan_is_read_as_it_was_encoded_and_nothing_else_is_a_plan() {
        let plan = Plan::first(MAX_CANDIDATES, 3, None);
        let words = plan.encoded();
        assert_eq!(Plan::decoded(&words, MAX_CANDIDATES), Some(plan));
        assert_eq!(Plan::decoded(&words, 3), None, "it has more candidates");
        assert_eq!(Plan::decoded(&[0; PLAN_WORDS], 9), None, "it has no block");
        assert_eq!(Plan::decoded(&[-1; PLAN_WORDS], 9), None);
    }

    #[test]
    fn some_calls_of_long_blocks_are_timed_and_all_of_short_ones() {
        let block = |calls| Block {
            candidate: 0,
            calls,
        };
        let plan = Plan {
            begin: 100,
            blocks: vec![block(3), block(16), block(1_000)],
        };
        assert_eq!(plan.samples(0).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(plan.samples(1).count(), 16);
        let long: Vec<u32> = plan.samples(2).collect();
        assert!(long.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(long.len() == 16 && long[15] < 1_000);
        let distances = long.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(distances.collect::<std::collections::BTreeSet<_>>().len() > 8);
        assert_eq!(plan.n_samples(), 35);
    }
}
