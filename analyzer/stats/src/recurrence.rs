//! Whether events recur at every so many steps, from a sample of steps.
//!
//! For each number of steps m the remainder is looked at that has most of the events. By chance it has as many as its part
//! of the sample (binomial, times the number of remainders that are tried). A sample may leave out
//! most of the steps, so that it finds a recurrence of any length of run; but not a rare one, of which
//! it holds too few events.

use std::collections::BTreeMap;

use crate::chance::binomial_tail;

/// Largest p-value of a recurrence that is reported.
const MAX_P: f64 = 1e-3;
/// Fewest events.
const MIN_EVENTS: usize = 12;
/// Least part of the events that are at the steps of the recurrence, and of those steps that have an event.
const MIN_PART: f64 = 0.7;
/// Most steps that are tried: of more, a sample holds too few events.
const MAX_STEPS: u64 = 16;

/// Events at every so many steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recurrence {
    /// Number of steps; at least 2.
    pub steps: u64,
    /// The remainder of the steps that have an event, below `steps`.
    pub phase: u64,
}

impl Recurrence {
    /// Whether a step is one of those.
    #[must_use]
    pub fn has(&self, step: u64) -> bool {
        step % self.steps == self.phase
    }
}

/// The recurrence of events among sampled steps: each with whether it has an event. One of `n_tried` samples that are
/// searched.
///
/// The fewest steps of which the events fill a remainder; of its multiples that have the same events, the largest: if
/// only every second step is in the sample, every third of those is every sixth step.
#[must_use]
pub fn recurrence(sampled: &[(u64, bool)], n_tried: usize) -> Option<Recurrence> {
    let n_events = sampled.iter().filter(|(_, is_event)| *is_event).count();
    if n_events < MIN_EVENTS {
        return None;
    }
    let n_remainders: u64 = (2..=MAX_STEPS).sum();
    let is_filled = |filled: &Filled| {
        let chance = filled.n_steps as f64 / sampled.len() as f64;
        let is_most = filled.n_events as f64 >= MIN_PART * n_events as f64;
        let is_full = filled.n_events as f64 >= MIN_PART * filled.n_steps as f64;
        is_most && is_full && chance < 1.0 && {
            let p = binomial_tail(n_events as u64, filled.n_events as u64, chance);
            p * n_remainders as f64 * n_tried.max(1) as f64 <= MAX_P
        }
    };
    let found = (2..=MAX_STEPS).find_map(|steps| {
        let filled = Filled::of(sampled, steps)?;
        is_filled(&filled).then_some(filled)
    })?;
    let multiples = (2..=MAX_STEPS / found.steps).rev().map(|n| n * found.steps);
    let mut alike = multiples.filter_map(|steps| Filled::of(sampled, steps));
    let largest = alike
        .find(|filled| filled.n_events >= found.n_events)
        .unwrap_or(found);
    Some(Recurrence {
        steps: largest.steps,
        phase: largest.phase,
    })
}

/// The remainder with most of the events, among equals the smallest.
#[derive(Debug, Clone, Copy)]
struct Filled {
    steps: u64,
    phase: u64,
    n_events: usize,
    n_steps: usize,
}

impl Filled {
    fn of(sampled: &[(u64, bool)], steps: u64) -> Option<Self> {
        let mut counts: BTreeMap<u64, (usize, usize)> = BTreeMap::new();
        for &(step, is_event) in sampled {
            let (n_events, n_steps) = counts.entry(step % steps).or_default();
            *n_events += usize::from(is_event);
            *n_steps += 1;
        }
        let most = counts.into_iter().rev().max_by_key(|(_, (n, _))| *n);
        let (phase, (n_events, n_steps)) = most?;
        Some(Self {
            steps,
            phase,
            n_events,
            n_steps,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// A sample of 256 of so many steps.
    fn sample(
        random: &mut Random,
        n_steps: u64,
        has_event: &mut dyn FnMut(&mut Random, u64) -> bool,
    ) -> Vec<(u64, bool)> {
        let steps = (0..256).map(|_| {
            let step = random.bits() % n_steps;
            (step, has_event(random, step))
        });
        steps.collect()
    }

    #[test]
    fn events_at_every_so_many_steps_are_told_among_others() {
        for seed in 0..30 {
            let random = &mut Random::from_state(seed);
            for steps in [2, 3, 5, 8] {
                for n_steps in [600, 1_000_000] {
                    let mut has_event = |random: &mut Random, step: u64| {
                        // A few are missing, and a few are there by chance.
                        (step % steps == 1 && random.unit() > 0.05) || random.unit() < 0.01
                    };
                    let sampled = sample(random, n_steps, &mut has_event);
                    let found = recurrence(&sampled, 1);
                    assert_eq!(found, Some(Recurrence { steps, phase: 1 }), "seed {seed}");
                }
            }
        }
    }

    #[test]
    fn of_an_operation_in_a_loop_of_two_the_steps_of_all_operations_are_counted() {
        let sampled: Vec<(u64, bool)> = (0..200).map(|n| (2 * n + 1, n % 3 == 0)).collect();
        let found = recurrence(&sampled, 1).unwrap();
        assert_eq!((found.steps, found.phase), (6, 1));
        assert!(found.has(7) && !found.has(3));
    }

    #[test]
    fn random_events_recur_at_most_as_often_as_is_allowed() {
        let mut n_found = 0;
        for seed in 0..500 {
            let random = &mut Random::from_state(seed);
            let part = 0.05 + 0.9 * random.unit();
            let sampled = sample(random, 10_000, &mut |random, _| random.unit() < part);
            n_found += usize::from(recurrence(&sampled, 1).is_some());
            // Of all steps.
            let all: Vec<(u64, bool)> = (0..48).map(|step| (step, random.unit() < part)).collect();
            n_found += usize::from(recurrence(&all, 1).is_some());
        }
        assert!(n_found <= 2, "{n_found} of 1000");
    }

    #[test]
    fn events_at_all_steps_do_not_recur() {
        let all: Vec<(u64, bool)> = (0..100).map(|step| (step, true)).collect();
        assert_eq!(recurrence(&all, 1), None);
        assert_eq!(recurrence(&[], 1), None);
    }
}
