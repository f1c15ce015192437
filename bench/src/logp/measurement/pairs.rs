//! Round trips between all pairs of processes.

use super::super::messages::{Job, Pattern, Timed, Transfer};
use super::super::model::Pair;
use super::sampler::{Repeated, Sampler};

impl<J: Job> Sampler<'_, J> {
    /// Each pair once; `is_on_one_host` of two processes.
    pub(in crate::logp) fn pairs(
        &mut self,
        is_on_one_host: impl Fn(usize, usize) -> bool,
    ) -> Vec<Pair> {
        let n = self.job.n_processes();
        let pairs = (0..n).flat_map(|from| (from + 1..n).map(move |to| (from, to)));
        let pair = |(from, to)| {
            let repeated = Repeated {
                pattern: Pattern::Pair(from, to),
                transfer: Transfer::Small,
                window: 1,
            };
            Some(Pair {
                from,
                to,
                is_on_one_host: is_on_one_host(from, to),
                round_trip_ns: self.cost(repeated, Timed::RoundTrip)?.mean.ns,
            })
        };
        pairs.filter_map(pair).collect()
    }
}
