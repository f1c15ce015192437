//! What all processes together have measured.

use collbench_stats::median::Median;

use crate::follow::IMPOSSIBLE;
use crate::plan::Plan;

/// Of a block.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockFigures {
    /// Its candidate.
    pub candidate: usize,
    /// Its calls.
    pub calls: u32,
    /// Whether the candidate could not execute one of its calls.
    pub is_impossible: bool,
    /// Of each timed call the time in it over all processes, ns; without those that are not known.
    pub totals: Vec<f64>,
    /// Of the same calls the least time over the processes, ns. Where all wait for all it is that of the last to arrive,
    /// which waits for nobody.
    pub least: Vec<f64>,
    /// Processes that lost their core in it.
    pub n_interrupted: u64,
}

/// Of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// By block.
    pub blocks: Vec<BlockFigures>,
}

impl Figures {
    /// From what all processes [have measured](crate::Follower::own). What is missing counts as unknown.
    #[must_use]
    pub fn of<'p>(plan: &Plan, processes: impl IntoIterator<Item = &'p [i64]>) -> Self {
        let n_samples = plan.n_samples();
        let (mut least, mut times) = (vec![i64::MAX; n_samples], vec![0; n_samples]);
        let mut interrupted = vec![0; plan.blocks.len()];
        for own in processes {
            let (own_times, own_interrupted) = own.split_at(n_samples.min(own.len()));
            let sums = times.iter_mut().zip(&mut least).zip(own_times);
            for ((sum, least), own) in sums {
                *sum = own.saturating_add(*sum);
                *least = (*least).min(*own);
            }
            for (sum, own) in interrupted.iter_mut().zip(own_interrupted) {
                *sum += own.clamp(&0, &1);
            }
        }
        let mut at = 0;
        let blocks = plan.blocks.iter().enumerate().map(|(nth, block)| {
            let timed = plan.samples(nth).count();
            let range = at..at + timed;
            at += timed;
            let (least, totals) = (&least[range.clone()], &times[range]);
            // Of two clock readings that are equal nothing is known but that.
            let time = |ns: i64| ns.max(1) as f64;
            let is_known = |least: i64| (0..i64::MAX).contains(&least);
            let known = least
                .iter()
                .zip(totals)
                .filter(|(least, _)| is_known(**least));
            let (known_least, totals) = known
                .map(|(&least, &total)| (time(least), time(total)))
                .unzip();
            BlockFigures {
                candidate: usize::from(block.candidate),
                calls: block.calls,
                is_impossible: least.contains(&IMPOSSIBLE),
                totals,
                least: known_least,
                n_interrupted: interrupted[nth] as u64,
            }
        });
        Self {
            blocks: blocks.collect(),
        }
    }
}

impl BlockFigures {
    /// Mean time in a call over all processes, ns.
    pub(crate) fn total(&self) -> Option<f64> {
        mean(&self.totals)
    }

    /// The times without that of the first call, to which processes came from another candidate, each when it had left
    /// that; of each known call that over all processes, and the least.
    pub(crate) fn settled(&self) -> (&[f64], &[f64]) {
        // Of a long block the first timed call is seldom the first one.
        let n_first =
            usize::from(self.totals.len() > 1 && self.totals.len() == self.calls as usize);
        (&self.totals[n_first..], &self.least[n_first..])
    }

    /// Mean time in a call over all processes, ns, without the first call.
    pub(crate) fn settled_total(&self) -> Option<f64> {
        mean(self.settled().0)
    }

    /// Median over its calls, without the first one, of the least time in a call, ns.
    pub(crate) fn typical_least(&self) -> Option<f64> {
        let least = self.settled().1.iter().copied();
        Median::of(least).map(|median| median.value)
    }
}

fn mean(times: &[f64]) -> Option<f64> {
    let n = times.len();
    (n > 0).then(|| times.iter().sum::<f64>() / n as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Block;

    #[test]
    fn times_of_all_processes_are_those_of_the_calls_of_each_block() {
        let block = |candidate, calls| Block { candidate, calls };
        let plan = Plan {
            begin: 0,
            blocks: vec![block(1, 2), block(0, 1), block(2, 1)],
        };
        let figures = Figures::of(
            &plan,
            [&[5, 63, -2, 0, 0, 1, 1][..], &[45, 7, -2, 0, 0, 1, 0]],
        );
        let [one, other, last] = &figures.blocks[..] else {
            panic!("three blocks");
        };
        assert_eq!((one.total(), one.settled_total()), (Some(60.0), Some(70.0)));
        assert_eq!(one.typical_least(), Some(7.0));
        assert_eq!((one.candidate, one.n_interrupted), (1, 0));
        assert_eq!((other.total(), other.n_interrupted), (None, 2));
        assert!(other.is_impossible && !one.is_impossible);
        assert_eq!((last.total(), last.n_interrupted), (Some(1.0), 1));
        let unknown = Figures::of(&plan, [&[-1, 70, 3, 0][..]]);
        assert_eq!(unknown.blocks[0].total(), Some(70.0), "of the known one");
        assert!(!unknown.blocks[0].is_impossible);
        let missing = Figures::of(&plan, [&[][..]]);
        assert!(missing.blocks.iter().all(|block| block.total().is_none()));
    }
}
