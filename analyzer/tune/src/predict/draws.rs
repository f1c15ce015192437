//! Deviations of latencies.

use collbench_stats::random::Random;

/// Deviations that follow one another in time are drawn together, so many.
const BLOCK: usize = 16;
/// All blocks of a draw are from one part of the run and of its links, of so many deviations: conditions change.
const REGION: usize = 128;

/// Deviations of latencies, drawn in blocks from a part of those that were recorded.
pub(super) struct Draws<'d> {
    /// That part, by class.
    classes: Vec<&'d [f64]>,
    /// By class where the next one is, and how many of its block are left.
    next: Vec<(usize, usize)>,
    random: Random,
}

impl<'d> Draws<'d> {
    /// From the deviations of each class of links, ns.
    pub(super) fn new(of_classes: &[&'d [f64]], numbers: &[u64]) -> Self {
        let mut random = Random::of(numbers);
        let classes = of_classes.iter().map(|all| {
            let n_others = all.len().saturating_sub(REGION);
            let first = random.uniform(0, n_others as u64) as usize;
            &all[first..all.len().min(first + REGION)]
        });
        let classes: Vec<&[f64]> = classes.collect();
        Self {
            next: vec![(0, 0); classes.len()],
            classes,
            random,
        }
    }

    /// By how much the next message of a class takes longer, ns.
    pub(super) fn next(&mut self, class: usize) -> f64 {
        let of_class = self.classes[class];
        if of_class.is_empty() {
            return 0.0;
        }
        let (at, left) = &mut self.next[class];
        if *left == 0 {
            *at = self.random.uniform(0, of_class.len() as u64 - 1) as usize;
            *left = BLOCK;
        }
        let deviation_ns = of_class[*at];
        *at = (*at + 1) % of_class.len();
        *left -= 1;
        deviation_ns
    }
}
