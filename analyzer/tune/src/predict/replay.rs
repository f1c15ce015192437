//! How long the whole run takes with other algorithms (closed loop): processes compute as long between collectives as they
//! did, so that who leaves one earlier enters the next one earlier, and lateness is handed on or absorbed.

use rayon::prelude::*;
use serde::Serialize;

use super::Band;
use super::figure::Figure;
use super::known::{Evaluating, Modelled};
use super::recorded::Recorded;

/// How often deviations are drawn, at least, and at most unless it is said otherwise: as often as so many messages are
/// evaluated.
const LEAST_DRAWS: u64 = 5;
pub(super) const DRAWS: u64 = 40;
const MESSAGES: u64 = 8_000_000;

/// The collectives of a run in an order in which they can be carried out.
#[derive(Debug)]
pub(super) struct Replay<'r> {
    recorded: &'r Recorded,
    most_draws: u64,
    /// Indexes of calls, with the time for which each process had computed before, ns.
    order: Vec<(usize, Vec<f64>)>,
    /// From the first enter to the last leave, ns.
    pub(super) took_ns: f64,
}

impl<'r> Replay<'r> {
    /// Of a run, with at most so many draws; `None` if it has no collectives.
    pub(super) fn new(recorded: &'r Recorded, most_draws: u64) -> Option<Self> {
        let calls = &recorded.calls;
        let enters = calls.iter().flat_map(|call| &call.enters_ns);
        let first_ns = enters.copied().min_by(f64::total_cmp)?;
        // By rank its calls as (enter, index of the call), in the order of time.
        let mut of_rank: Vec<Vec<(f64, usize)>> = vec![Vec::new(); recorded.host_of_rank.len()];
        for (idx, call) in calls.iter().enumerate() {
            for (&rank, &enter_ns) in call.ranks.iter().zip(&call.enters_ns) {
                of_rank.get_mut(rank as usize)?.push((enter_ns, idx));
            }
        }
        for of in &mut of_rank {
            of.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        }
        // A call can be carried out when it is the next one of all its processes.
        let mut next = vec![0; of_rank.len()];
        let mut left_ns = vec![first_ns; of_rank.len()];
        let mut n_waiting: Vec<usize> = calls.iter().map(|call| call.ranks.len()).collect();
        let mut ready = Vec::new();
        let mut is_next = |idx: usize, ready: &mut Vec<usize>| {
            n_waiting[idx] -= 1;
            if n_waiting[idx] == 0 {
                ready.push(idx);
            }
        };
        for of in &of_rank {
            if let Some(&(_, idx)) = of.first() {
                is_next(idx, &mut ready);
            }
        }
        let mut order = Vec::with_capacity(calls.len());
        let mut last_ns = first_ns;
        while let Some(idx) = ready.pop() {
            let call = &calls[idx];
            let each = call
                .ranks
                .iter()
                .zip(call.enters_ns.iter().zip(&call.leaves_ns));
            let computed_ns = each.map(|(&rank, (&enter_ns, &leave_ns))| {
                let left_ns = &mut left_ns[rank as usize];
                last_ns = last_ns.max(leave_ns);
                (enter_ns - std::mem::replace(left_ns, leave_ns)).max(0.0)
            });
            order.push((idx, computed_ns.collect()));
            for &rank in call.ranks.iter() {
                let next = &mut next[rank as usize];
                *next += 1;
                if let Some(&(_, idx)) = of_rank[rank as usize].get(*next) {
                    is_next(idx, &mut ready);
                }
            }
        }
        let took_ns = last_ns - first_ns;
        (took_ns > 0.0).then_some(Self {
            recorded,
            most_draws,
            order,
            took_ns,
        })
    }

    /// How many collectives there are.
    pub(super) fn n_calls(&self) -> usize {
        self.order.len()
    }

    /// How long it takes with what classes run, ns, for some draws of deviations; calls of other classes depend on the
    /// enters of others as those of their operation do, and take as long from then on as they did.
    pub(super) fn takes_ns(&self, runs: &[Option<Modelled<'_>>]) -> Vec<f64> {
        let n_messages: Vec<u64> = runs
            .iter()
            .map(|of| {
                of.as_ref()
                    .map_or(0, |of| of.candidate.schedule.n_messages() as u64)
            })
            .collect();
        let calls = self.order.iter().map(|(idx, _)| &self.recorded.calls[*idx]);
        let in_all: u64 = calls.filter_map(|call| n_messages.get(call.class?)).sum();
        let draws = (MESSAGES / in_all.max(1)).clamp(LEAST_DRAWS, self.most_draws.max(LEAST_DRAWS));
        let each = (0..draws).into_par_iter().map(|draw| {
            let mut evaluators: Vec<Option<Evaluating<'_>>> =
                runs.iter().map(|of| of.as_ref()?.evaluator()).collect();
            let mut at_ns = vec![0.0; self.recorded.host_of_rank.len()];
            let mut enters_ns = Vec::new();
            for (number, (idx, computed_ns)) in self.order.iter().enumerate() {
                let call = &self.recorded.calls[*idx];
                let ranks = || call.ranks.iter().map(|&rank| rank as usize);
                enters_ns.clear();
                enters_ns.extend(ranks().zip(computed_ns).map(|(rank, ns)| at_ns[rank] + ns));
                let evaluator = call
                    .class
                    .and_then(|class| evaluators.get_mut(class)?.as_mut());
                if let Some(evaluator) = evaluator {
                    let first_ns = enters_ns.iter().copied().fold(f64::MAX, f64::min);
                    enters_ns.iter_mut().for_each(|ns| *ns -= first_ns);
                    let mut draws = evaluator.draws(&[2, draw, number as u64], Some(draw));
                    let leaves_ns = evaluator.leaves_ns(&enters_ns, &mut draws);
                    ranks()
                        .zip(leaves_ns)
                        .for_each(|(rank, ns)| at_ns[rank] = first_ns + ns);
                } else {
                    let figure = Figure::of(call.operation, call.root);
                    for (slot, rank) in ranks().enumerate() {
                        let recorded_ns = figure.since_ns(slot, &call.enters_ns);
                        let took_ns = call.leaves_ns[slot] - recorded_ns;
                        let leave_ns = figure.since_ns(slot, &enters_ns) + took_ns;
                        at_ns[rank] = leave_ns.max(enters_ns[slot]);
                    }
                }
            }
            at_ns.into_iter().fold(0.0, f64::max)
        });
        each.collect()
    }

    /// How long the run takes with `changed`, compared with `ran`, for the same draws; with the error of the model, a part of
    /// the time as it ran.
    pub(super) fn compared(
        &self,
        ran_ns: &[f64],
        changed: &[Option<Modelled<'_>>],
        error: f64,
    ) -> Option<Ratios> {
        let changed_ns = self.takes_ns(changed);
        let ratios = changed_ns.iter().zip(ran_ns.iter().cycle());
        let ratios = ratios.map(|(changed, ran)| changed / ran.max(1.0));
        let band = Band::of(ratios.collect())?;
        Some(Ratios {
            p05: band.p05_ns - error,
            median: band.median_ns,
            p95: band.p95_ns + error,
        })
    }
}

/// 5th percentile, median and 95th percentile of ratios of times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Ratios {
    /// The 5th percentile.
    pub p05: f64,
    /// The median.
    pub median: f64,
    /// The 95th percentile.
    pub p95: f64,
}
