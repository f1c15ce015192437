//! Deviations of latencies.

use collbench_stats::random::Random;

use super::parameters::Deviations;

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
    /// By class by how much all messages take longer, ns.
    of_links_ns: Vec<f64>,
    random: Random,
}

impl<'d> Draws<'d> {
    /// From the deviations of each class of links: of messages by some numbers, of links by another one.
    pub(super) fn new(of_classes: &[&'d Deviations], numbers: &[u64], link: Option<u64>) -> Self {
        let mut random = Random::of(numbers);
        let mut random_link = link.map(|link| Random::of(&[6, link]));
        let of_links_ns = of_classes.iter().map(|of| {
            let last = (of.of_links_ns.len() as u64).checked_sub(1);
            let (random, last) = random_link.as_mut().zip(last)?;
            Some(of.of_links_ns[random.uniform(0, last) as usize])
        });
        let of_links_ns = of_links_ns.map(Option::unwrap_or_default).collect();
        let classes = of_classes.iter().map(|of| {
            let all = &of.of_messages_ns;
            let n_others = all.len().saturating_sub(REGION);
            let first = random.uniform(0, n_others as u64) as usize;
            &all[first..all.len().min(first + REGION)]
        });
        let classes: Vec<&[f64]> = classes.collect();
        Self {
            next: vec![(0, 0); classes.len()],
            of_links_ns,
            classes,
            random,
        }
    }

    /// By how much the next message of a class takes longer, ns.
    pub(super) fn next(&mut self, class: usize) -> f64 {
        let of_class = self.classes[class];
        let of_link_ns = self.of_links_ns[class];
        if of_class.is_empty() {
            return of_link_ns;
        }
        let (at, left) = &mut self.next[class];
        if *left == 0 {
            *at = self.random.uniform(0, of_class.len() as u64 - 1) as usize;
            *left = BLOCK;
        }
        let deviation_ns = of_class[*at];
        *at = (*at + 1) % of_class.len();
        *left -= 1;
        deviation_ns + of_link_ns
    }
}
