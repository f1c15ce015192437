//! The measurement, in all processes of the job at once.

use super::Options;
use super::rounds::{OfLeaf, Plan};
use crate::folder;
use crate::measure::global_clock::{GlobalClock, Line};
use crate::trees::{First, Run, Surroundings};

/// What was measured, as process 0 has it at the end.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) surroundings: Surroundings,
    pub(super) first: First,
    pub(super) plan: Plan,
    /// By round: by configuration.
    pub(super) rounds: Vec<Vec<OfAll>>,
    /// Greatest error of one time for all hosts, ns; `None` where it is one clock, or not needed.
    pub(super) clock_error_ns: Option<f64>,
}

/// The calls of one configuration in one round, as all leaves have made them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct OfAll {
    /// Time of a call, ns: that of the loop of the slowest leaf by its calls, or the median of the
    /// times from the first enter to the last leave.
    pub(super) call_ns: f64,
    /// Sum over the leaves.
    pub(super) preempted: u64,
    /// Sum over the leaves.
    pub(super) wrong: u64,
}

/// Words of a batch, as it is gathered.
const WORDS: usize = 3;

/// Measures; returns what was measured in process 0 only.
///
/// # Errors
/// States what is missing or wrong.
pub(super) fn measure(options: &Options) -> anyhow::Result<Option<Measured>> {
    let call = |n_leaves| options.call(n_leaves);
    let check = || options.output.as_deref().map_or(Ok(()), folder::make);
    let Some(mut run) = Run::begin(&options.trees, call, check)? else {
        return Ok(None);
    };
    let plan = Plan {
        operation: options.operation,
        bytes: options.call(run.settings.n_leaves()).bytes,
        calls: options.calls,
        rounds: options.rounds,
        is_each_timed: options.operation.is_one_way(),
    };
    let mut clock = None;
    if plan.is_each_timed {
        let Some(started) = GlobalClock::start(&run.world, run.clock.source())? else {
            return Ok(None);
        };
        clock = Some(started);
    }
    let all: Vec<usize> = (0..run.configurations.len()).collect();
    let of_leaves = run.on_leaves(|leaf| plan.execute(leaf, &all));
    if let Some(clock) = &mut clock {
        clock.measure();
    }
    let n_configurations = run.configurations.len();
    let mut all = of_loops(&run, &of_leaves, plan)?;
    let mut clock_error_ns = None;
    if let Some(clock) = &clock {
        clock_error_ns = largest_error(&run, clock);

        // In all processes, though only the first one has the result.
        for nth in 0..of_leaves[0].batches.len() {
            let call_ns = of_calls(&run, &of_leaves, nth, plan, clock.line());
            if let Some(of_all) = all.get_mut(nth) {
                of_all.call_ns = call_ns;
            }
        }
    }
    let measured = run.first.take().map(|first| Measured {
        surroundings: Surroundings::of(&run),
        first,
        plan,
        rounds: all
            .chunks(n_configurations)
            .map(<[OfAll]>::to_vec)
            .collect(),
        clock_error_ns,
    });
    // It has communicators, too.
    drop(clock);
    run.end()?;
    Ok(measured)
}

/// The greatest error of global time in any process, ns, in process 0; `None` with one clock. All
/// processes call this together.
fn largest_error(run: &Run, clock: &GlobalClock) -> Option<f64> {
    let own = clock.error().bound_ns.to_bits();
    let errors = run.gathered(&[own])?.into_iter().map(f64::from_bits);
    let largest = errors.fold(0.0, f64::max);
    (clock.n_clocks() > 1).then_some(largest)
}

/// By round and configuration, in process 0.
pub(super) fn of_loops(run: &Run, of_leaves: &[OfLeaf], plan: Plan) -> anyhow::Result<Vec<OfAll>> {
    let rate = run.ns_per_tick()?;
    let batches = of_leaves.iter().flat_map(|leaf| &leaf.batches);
    let own: Vec<u64> = batches
        .flat_map(|batch| {
            let ns = batch.ticks as f64 * rate / f64::from(plan.calls);
            [ns.to_bits(), batch.preempted, batch.wrong]
        })
        .collect();
    let Some(all) = run.gathered(&own) else {
        return Ok(Vec::new());
    };
    let n_batches = of_leaves[0].batches.len();
    let of_batch = |nth: usize| {
        let of_leaves = all.chunks_exact(WORDS * n_batches);
        let words = of_leaves.map(|of_leaf| &of_leaf[WORDS * nth..][..WORDS]);
        words.fold(
            OfAll {
                call_ns: 0.0,
                preempted: 0,
                wrong: 0,
            },
            |sum, words| OfAll {
                call_ns: sum.call_ns.max(f64::from_bits(words[0])),
                preempted: sum.preempted + words[1],
                wrong: sum.wrong + words[2],
            },
        )
    };
    Ok((0..n_batches).map(of_batch).collect())
}

/// The median time of a call of one batch from the first enter to the last leave, ns; in process 0,
/// 0 in the others. All processes call this together.
fn of_calls(run: &Run, of_leaves: &[OfLeaf], nth: usize, plan: Plan, clock: Line) -> f64 {
    let n_stamps = 2 * plan.calls as usize;
    let of_leaves = of_leaves.iter();
    let stamps = of_leaves.flat_map(|leaf| &leaf.stamps[nth * n_stamps..][..n_stamps]);
    let own: Vec<u64> = stamps.map(|&ticks| clock.ns(ticks).to_bits()).collect();
    let Some(all) = run.gathered(&own) else {
        return 0.0;
    };
    let leaves: Vec<&[u64]> = all.chunks_exact(n_stamps).collect();
    spans_median(&leaves)
}

/// `leaves`: by leaf, bits of the times of enter and leave of each call.
fn spans_median(leaves: &[&[u64]]) -> f64 {
    let n_stamps = leaves.iter().map(|stamps| stamps.len()).min().unwrap_or(0);
    let spans = (0..n_stamps).step_by(2).map(|enter| {
        let times = |at: usize| leaves.iter().map(move |stamps| f64::from_bits(stamps[at]));
        let first = times(enter).fold(f64::INFINITY, f64::min);
        times(enter + 1).fold(f64::NEG_INFINITY, f64::max) - first
    });
    let median = collbench_stats::spread::Spread::of(spans);
    median.map_or(0.0, |spread| spread.median)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_lasts_from_the_first_enter_to_the_last_leave() {
        let bits = |times: [f64; 6]| times.map(f64::to_bits);
        let leaves = [
            bits([0.0, 5.0, 100.0, 130.0, 200.0, 201.0]),
            bits([2.0, 4.0, 90.0, 120.0, 210.0, 290.0]),
        ];
        // 5, 40, 90
        assert_eq!(spans_median(&leaves.each_ref().map(|leaf| &leaf[..])), 40.0);
    }
}
