//! From sums to results: the instances that are shown in detail.

use std::collections::{BTreeMap, BTreeSet};

use crate::judge::inputs::Inputs;
use crate::judge::operations::by_time;
use crate::judge::over_time::outlier_limit;
use crate::results::shown_instances::{ShownInstance, ShownInstances};
use crate::sums::instances::instance_times::{Costliness, InstanceTimes};
use crate::sums::instances::operation_key::OperationKey;

/// Most calls and messages of all of them.
const MAX_MARKS: usize = 1 << 18;

/// The instances that are shown in detail: all, if they are few; else the costliest over time, and for each operation
/// the longest ones and the costliest of each doubling of durations, as many as there is room for.
pub(crate) fn shown_instances(inputs: &Inputs<'_>) -> ShownInstances {
    let operations = by_time(inputs);
    let numbers = (0..)
        .zip(&operations)
        .map(|(number, (key, _))| (*key, number));
    let mut chosen = Chosen {
        numbers: numbers.collect(),
        outliers: BTreeSet::new(),
        met: BTreeSet::new(),
        n_marks: 0,
        list: Vec::new(),
    };
    for (_, tally) in &operations {
        let outliers = outlier_limit(&tally.duration).map(|least| tally.longest.beyond(least));
        let outliers = outliers.into_iter().flatten();
        let times = outliers.filter_map(|long| long.times.as_ref());
        chosen.outliers.extend(times.map(|times| times.costliness));
    }
    let shown = &inputs.sums.shown;
    shown.costliest().for_each(|times| chosen.add(times));
    let all = shown.all();
    let are_all = all.is_some();
    all.into_iter()
        .flatten()
        .for_each(|times| chosen.add(times));
    for (_, tally) in &operations {
        let longest = tally.longest.beyond(i64::MIN);
        let longest = longest.filter_map(|long| long.times.as_deref());
        longest.for_each(|times| chosen.add(times));
        tally.costliest.iter().for_each(|times| chosen.add(times));
    }
    let mut list = chosen.list;
    list.sort_by_key(|shown| (shown.times.span_ns(), shown.times.costliness));
    ShownInstances { are_all, list }
}

struct Chosen<'a> {
    /// Numbers of operations in the results.
    numbers: BTreeMap<&'a OperationKey, usize>,
    outliers: BTreeSet<Costliness>,
    met: BTreeSet<Costliness>,
    n_marks: usize,
    list: Vec<ShownInstance>,
}

impl Chosen<'_> {
    /// Adds an instance, unless it is there, or there is no more room.
    fn add(&mut self, times: &InstanceTimes) {
        let n_marks = self.n_marks.saturating_add(times.n_marks());
        let Some(&operation) = self.numbers.get(&times.key) else {
            return;
        };
        if n_marks > MAX_MARKS || !self.met.insert(times.costliness) {
            return;
        }
        self.n_marks = n_marks;
        self.list.push(ShownInstance {
            operation,
            is_outlier: self.outliers.contains(&times.costliness),
            times: times.in_order(),
        });
    }
}
