//! What one leaf does in all rounds.

use anyhow::bail;
use collbench_formats::tree::Collective;

use super::grid::{Color, Strip, best_factor, rows_of};
use super::halo::Halo;
use crate::overhead::Switches;
use crate::trees::{Leaf, Values, random_order};

/// What each leaf does in all rounds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) size: u32,
    pub(super) tolerance: f64,
    pub(super) rounds: u32,
}

/// The solution of one configuration in one round, as a leaf has found it. Times in ticks.
#[derive(Debug, Default, Clone)]
pub(super) struct Solution {
    pub(super) run: u64,
    /// Of the exchanges of rows.
    pub(super) halo: u64,
    /// Of each allreduce.
    pub(super) calls: Vec<u64>,
    pub(super) preempted: u64,
    pub(super) error: f64,
    pub(super) checksum: u64,
}

/// More steps than any problem of this size needs: it does not converge.
fn most_steps(size: u32) -> usize {
    1_000 + 100 * size as usize
}

impl Plan {
    /// Solves the problem in all rounds and configurations. Returns the solutions by round and
    /// configuration.
    pub(super) fn execute(self, leaf: &mut Leaf) -> anyhow::Result<Vec<Solution>> {
        let n = leaf.n_configurations();
        let mut solutions = vec![Solution::default(); self.rounds as usize * n];
        for round in 0..self.rounds {
            for nth in random_order(round, n) {
                leaf.meet()?;
                solutions[round as usize * n + nth] = self.solve(leaf, nth)?;
            }
        }
        Ok(solutions)
    }

    fn solve(self, leaf: &mut Leaf, nth: usize) -> anyhow::Result<Solution> {
        let n = self.size as usize;
        let rows = rows_of(leaf.number as usize, leaf.settings.n_leaves() as usize, n);
        let mut strip = Strip::new(n, rows);
        let mut halo = Halo::new(leaf);
        let mut largest = Values::maxima_of_doubles();
        let factor = best_factor(n);
        let clock = leaf.clock;
        let mut solution = Solution {
            calls: Vec::with_capacity(4 * n),
            ..Solution::default()
        };
        leaf.meet()?;
        let before = Switches::so_far()?;
        let begin = clock.now();
        loop {
            let mut change = 0.0_f64;
            for color in Color::ALL {
                let begin = clock.now();
                halo.exchange(&mut strip)?;
                solution.halo += clock.now() - begin;
                change = change.max(strip.relax(color, factor));
            }
            let mut of_all = [0; size_of::<f64>()];
            let begin = clock.now();
            let configuration = leaf.configuration(nth);
            let given = change.to_ne_bytes();
            configuration.execute(Collective::Allreduce, &given, &mut of_all, &mut largest)?;
            solution.calls.push(clock.now() - begin);
            if f64::from_ne_bytes(of_all) < self.tolerance {
                break;
            }
            if solution.calls.len() > most_steps(self.size) {
                bail!("no solution after {} steps", solution.calls.len());
            }
        }
        solution.run = clock.now() - begin;
        solution.preempted = Switches::so_far()?.since(before).preempted;
        solution.error = strip.error();
        solution.checksum = strip.checksum();
        Ok(solution)
    }

    /// The largest error of a right solution. The changes of the steps that would follow the last
    /// one shrink like a geometric series whose ratio is the factor less one.
    pub(super) fn largest_error(self) -> f64 {
        let ratio = best_factor(self.size as usize) - 1.0;
        10.0 * self.tolerance / (1.0 - ratio)
    }
}
