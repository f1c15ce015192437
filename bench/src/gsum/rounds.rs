//! What one leaf does in all rounds.

use super::{Operation, VALUE_BYTES};
use crate::overhead::Switches;
use crate::trees::{Leaf, Operate, Values, random_order};

/// Calls before those that are timed, at most.
const WARM_UP: u32 = 16;

/// What each leaf does in all rounds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) operation: Operation,
    pub(super) bytes: u64,
    pub(super) calls: u32,
    pub(super) rounds: u32,
    /// Whether calls are timed one by one, instead of in loops.
    pub(super) is_each_timed: bool,
}

/// The calls of one configuration in one round, as a leaf has made them.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Batch {
    /// Time of the loop; 0 if calls were timed one by one.
    pub(super) ticks: u64,
    /// How often the thread was preempted meanwhile.
    pub(super) preempted: u64,
    /// Results that were wrong.
    pub(super) wrong: u64,
}

/// What a leaf has measured.
#[derive(Debug, Default)]
pub(super) struct OfLeaf {
    /// By round and configuration.
    pub(super) batches: Vec<Batch>,
    /// By round and configuration: enter and leave of each call, ticks; empty if loops were timed.
    pub(super) stamps: Vec<u64>,
}

impl Plan {
    /// Makes all calls of all rounds, with these configurations.
    pub(super) fn execute(self, leaf: &mut Leaf, which: &[usize]) -> anyhow::Result<OfLeaf> {
        let n = which.len();
        let n_batches = self.rounds as usize * n;
        let mut done = OfLeaf {
            batches: vec![Batch::default(); n_batches],
            stamps: Vec::new(),
        };
        let n_stamps = 2 * self.calls as usize;
        if self.is_each_timed {
            done.stamps.resize(n_batches * n_stamps, 0);
        }
        let mut calls = Calls::new(self, leaf);
        for round in 0..self.rounds {
            for nth in random_order(round, n) {
                let at = round as usize * n + nth;
                calls.begin_batch();
                for _ in 0..self.calls.min(WARM_UP) {
                    calls.make(leaf.configuration(which[nth]))?;
                }
                leaf.meet()?;
                let before = Switches::so_far()?;
                if self.is_each_timed {
                    let stamps = &mut done.stamps[at * n_stamps..][..n_stamps];
                    for stamps in stamps.as_chunks_mut::<2>().0 {
                        leaf.meet()?;
                        stamps[0] = leaf.clock.now();
                        calls.make(leaf.configuration(which[nth]))?;
                        stamps[1] = leaf.clock.now();
                    }
                } else {
                    let begin = leaf.clock.now();
                    let configuration = leaf.configuration(which[nth]);
                    for _ in 0..self.calls {
                        calls.make(configuration)?;
                    }
                    done.batches[at].ticks = leaf.clock.now() - begin;
                }
                done.batches[at].preempted = Switches::so_far()?.since(before).preempted;
                done.batches[at].wrong = calls.n_wrong();
            }
        }
        Ok(done)
    }
}

/// Calls of one leaf, with their values and the check of their results.
struct Calls {
    operation: Operation,
    number: i32,
    n_leaves: i32,
    values: Values,
    /// The values of a leaf.
    n_values: usize,
    given: Vec<u8>,
    result: Vec<u8>,
    /// Calls of this batch.
    n_calls: i32,
    /// Wrong ones among them, by one value.
    n_wrong: u64,
}

/// What leaf `leaf` gives as value `at`, in call `call` of a batch. Only the first one changes from
/// call to call.
fn value(leaf: i32, at: usize, call: i32) -> i32 {
    let own = leaf.wrapping_add(at as i32);
    if at == 0 { own.wrapping_add(call) } else { own }
}

/// The sum of that over all leaves.
fn sum(n_leaves: i32, at: usize, call: i32) -> i32 {
    // The value of leaf 0 from each leaf, and the numbers of the leaves.
    let numbers = (i64::from(n_leaves) * i64::from(n_leaves - 1) / 2) as i32;
    n_leaves
        .wrapping_mul(value(0, at, call))
        .wrapping_add(numbers)
}

fn at(bytes: &[u8], nth: usize) -> i32 {
    let (values, _) = bytes.as_chunks();
    i32::from_ne_bytes(values[nth])
}

impl Calls {
    fn new(plan: Plan, leaf: &Leaf) -> Self {
        let n_bytes = plan.bytes as usize;
        let n_leaves = leaf.settings.n_leaves();
        let of_all = n_leaves as usize * n_bytes;
        let of_root = if leaf.number == 0 { of_all } else { 0 };
        let (given_bytes, result_bytes) = match plan.operation {
            Operation::Gather => (n_bytes, of_root),
            Operation::Scatter => (of_root, n_bytes),
            Operation::Allgather => (n_bytes, of_all),
            _ => (n_bytes, n_bytes),
        };
        Self {
            operation: plan.operation,
            number: leaf.number as i32,
            n_leaves: n_leaves as i32,
            values: Values::sums_of_integers(),
            n_values: n_bytes / VALUE_BYTES as usize,
            given: vec![0; given_bytes],
            result: vec![0; result_bytes],
            n_calls: 0,
            n_wrong: 0,
        }
    }

    fn n_results(&self) -> usize {
        self.result.len() / VALUE_BYTES as usize
    }

    /// The value of a result that is checked in each call: the first of the last part.
    fn checked(&self) -> usize {
        self.n_results().saturating_sub(self.n_values)
    }

    fn is_root(&self) -> bool {
        self.number == 0
    }

    /// Makes the values of a batch, and forgets earlier results.
    fn begin_batch(&mut self) {
        let (values, _) = self.given.as_chunks_mut();
        for (nth, to) in values.iter_mut().enumerate() {
            let (part, nth) = (nth / self.n_values, nth % self.n_values);
            *to = value(self.number + part as i32, nth, 0).to_ne_bytes();
        }
        self.result.fill(0xee);
        (self.n_calls, self.n_wrong) = (0, 0);
    }

    /// Makes a call, and checks a value of its result that differs from that of the call before.
    #[inline]
    fn make(&mut self, configuration: &mut dyn Operate) -> anyhow::Result<()> {
        let call = self.n_calls;
        self.n_calls += 1;
        let (given, result) = (&mut self.given[..], &mut self.result[..]);
        let (values, _) = given.as_chunks_mut();
        let firsts = values.iter_mut().step_by(self.n_values.max(1));
        for (part, first) in (0..).zip(firsts) {
            *first = value(self.number + part, 0, call).to_ne_bytes();
        }
        // What the root of a broadcast gives is in its buffer.
        let (given, result) = match self.operation {
            Operation::Bcast if self.number == 0 => (&[][..], given),
            _ => (&*given, result),
        };
        let collective = self.operation.collective();
        configuration.execute(collective, given, result, &mut self.values)?;
        let checked = self.checked();
        if let Some(expected) = self.expected(checked, call) {
            self.n_wrong += u64::from(at(&self.result, checked) != expected);
        }
        Ok(())
    }

    /// What this leaf gets as a value; `None` if it gets nothing.
    #[inline]
    fn expected(&self, nth: usize, call: i32) -> Option<i32> {
        match self.operation {
            Operation::Allreduce => Some(sum(self.n_leaves, nth, call)),
            Operation::Reduce => self.is_root().then(|| sum(self.n_leaves, nth, call)),
            Operation::Bcast => (!self.is_root()).then(|| value(0, nth, call)),
            Operation::Barrier => None,
            Operation::Scatter => Some(value(self.number, nth, call)),
            Operation::Gather if !self.is_root() => None,
            Operation::Gather | Operation::Allgather => {
                let leaf = (nth / self.n_values) as i32;
                Some(value(leaf, nth % self.n_values, call))
            }
        }
    }

    /// How many results of this batch were wrong: by one value, and the last one by any.
    fn n_wrong(&self) -> u64 {
        let last = self.n_calls - 1;
        let checked = self.checked();
        let mut others = (0..self.n_results()).filter(|&nth| nth != checked);
        let is_wrong = others.any(|nth| {
            let expected = self.expected(nth, last);
            expected.is_some_and(|expected| at(&self.result, nth) != expected)
        });
        self.n_wrong + u64::from(is_wrong)
    }
}

#[cfg(test)]
mod tests {
    use collbench_formats::tree::Collective;

    use super::*;

    #[test]
    fn sums_are_those_of_the_values() {
        for n_leaves in [1, 2, 7, 300] {
            for (nth, call) in [(0, 0), (0, 999), (5, 999), (1 << 28, 3)] {
                let values = (0..n_leaves).map(|leaf| value(leaf, nth, call));
                let expected = values.fold(0_i32, i32::wrapping_add);
                assert_eq!(sum(n_leaves, nth, call), expected);
            }
        }
    }

    /// Does everything right, but for the calls that are named.
    struct Faulty<'f> {
        n_calls: i32,
        wrong: &'f [i32],
        wrong_value: usize,
    }

    impl Operate for Faulty<'_> {
        fn execute(
            &mut self,
            _: Collective,
            given: &[u8],
            result: &mut [u8],
            _: &mut Values,
        ) -> anyhow::Result<()> {
            let n = given.len() / 4;
            for nth in 0..n {
                let is_wrong = self.wrong.contains(&self.n_calls) && nth == self.wrong_value;
                let value = sum(5, nth, self.n_calls) + i32::from(is_wrong);
                result[4 * nth..][..4].copy_from_slice(&value.to_ne_bytes());
            }
            self.n_calls += 1;
            Ok(())
        }
    }

    fn n_wrong(wrong: &[i32], wrong_value: usize) -> u64 {
        let mut calls = Calls {
            operation: Operation::Allreduce,
            number: 2,
            n_leaves: 5,
            values: Values::sums_of_integers(),
            n_values: 3,
            given: vec![0; 12],
            result: vec![0; 12],
            n_calls: 0,
            n_wrong: 0,
        };
        calls.begin_batch();
        let mut faulty = Faulty {
            n_calls: 0,
            wrong,
            wrong_value,
        };
        for _ in 0..10 {
            calls.make(&mut faulty).unwrap();
        }
        calls.n_wrong()
    }

    #[test]
    fn wrong_results_are_counted() {
        assert_eq!(n_wrong(&[], 0), 0);
        assert_eq!(n_wrong(&[3, 4, 9], 0), 3);
        // Values after the first are looked at in the last call.
        assert_eq!(n_wrong(&[9], 2), 1);
        assert_eq!(n_wrong(&[3], 2), 0);
    }
}
