//! Gaps of several senders and receivers.

use super::super::messages::{Job, Pattern, Transfer};
use super::super::model::{Arrangement, Check, Estimate};
use super::sampler::Sampler;
use super::signature::Subject;

impl<J: Job> Sampler<'_, J> {
    /// All arrangements that the number of processes allows, compared with process 0 and the first
    /// one that it sends to there.
    pub(in crate::logp) fn checks(&mut self, transfer: Transfer, window: usize) -> Vec<Check> {
        let n = self.job.n_processes();
        let bytes = transfer.bytes();
        let mut gap = |pattern: Pattern| -> Option<Estimate> {
            self.gap(Subject {
                pattern,
                transfer,
                window,
            })
        };
        let mut checks = Vec::new();
        let mut add = |arrangement, among: (usize, usize), pattern, pair| {
            if let Some(gaps) = gap(pattern).zip(gap(pair)) {
                checks.push(Check::of(arrangement, among, bytes, gaps.into()));
            }
        };
        let half = n / 2;
        if half >= 2 {
            let pattern = Pattern::Halves(half);
            let pair = Pattern::Pair(0, half);
            add(Arrangement::ManyPairs, (half, half), pattern, pair);
        }
        if n < 3 {
            return checks;
        }
        let pair = Pattern::Pair(0, 1);
        add(
            Arrangement::OneToMany,
            (1, n - 1),
            Pattern::OneToMany(n - 1),
            pair,
        );
        let mut counts: Vec<usize> = (1..)
            .map(|exponent| 1 << exponent)
            .take_while(|k| *k < n)
            .collect();
        counts.push(n - 1);
        counts.dedup();
        for k in counts {
            let pair = Pattern::Pair(1, 0);
            add(Arrangement::ManyToOne, (k, 1), Pattern::ManyToOne(k), pair);
        }
        checks
    }
}
