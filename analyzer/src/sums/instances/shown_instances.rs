//! The few instances that are kept in detail, so that they can be shown.
//!
//! Which ones these are is known at the end only, so each is chosen by an order in which it can be seen at once whether
//! an instance may be among them: the costliest of each stretch of the run, some of each communicator; of each operation
//! the [longest](crate::sums::instances::outliers::Longest), and the costliest of each doubling of durations; and if all instances
//! are few, all. Memory grows with operations and their processes, not with instances. The road not taken is a second
//! pass over the stretches of interest, which would show what happened beside them, but match calls twice.

use std::collections::BTreeSet;

use collbench_stats::bins::{Bins, Sum};
use serde::{Deserialize, Serialize};

use crate::sums::instances::instance_times::{Costliness, InstanceTimes};
use crate::sums::timeline::MAX_BINS;

/// Most instances of one stretch of the run.
const MAX_OF_STRETCH: usize = 4;
/// With more calls and messages than this, not all instances are kept.
const MAX_MARKS: usize = 1 << 14;

/// The instances that are kept in detail of the whole run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ShownInstances {
    /// By stretch of the run in which they have their last enter.
    by_stretch: Bins<CostliestOfStretch, MAX_BINS>,
    all: AllInstances,
}

impl ShownInstances {
    /// Whether an instance on a communicator may be kept.
    #[inline]
    pub(crate) fn may_keep(&mut self, entry: usize, costliness: &Costliness) -> bool {
        let stretch = self.by_stretch.at(costliness.at_ns.0);
        self.all.may_keep() || stretch.may_keep(entry, costliness)
    }

    /// Looks at an instance on a communicator.
    pub(crate) fn add(&mut self, entry: usize, instance: InstanceTimes) {
        let stretch = self.by_stretch.at(instance.costliness.at_ns.0);
        if self.all.may_keep() {
            stretch.add(entry, Box::new(instance.clone()));
            self.all.add(instance);
        } else {
            stretch.add(entry, Box::new(instance));
        }
    }

    /// Adds those of another part of the instances.
    pub(crate) fn merge(&mut self, other: Self) {
        self.by_stretch.merge(other.by_stretch);
        self.all.merge(other.all);
    }

    /// The costliest of each stretch, by time.
    pub(crate) fn costliest(&self) -> impl Iterator<Item = &InstanceTimes> {
        let stretches = self.by_stretch.iter();
        stretches.flat_map(|(_, stretch)| stretch.0.iter().map(|(_, instance)| &**instance))
    }

    /// All instances of two or more calls, if they are few.
    pub(crate) fn all(&self) -> Option<impl Iterator<Item = &InstanceTimes>> {
        (self.all.may_keep()).then(|| self.all.instances.iter())
    }
}

/// The costliest instances of a stretch of the run, one of each communicator: the costliest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct CostliestOfStretch(Vec<(usize, Box<InstanceTimes>)>);

impl CostliestOfStretch {
    fn may_keep(&self, entry: usize, costliness: &Costliness) -> bool {
        let kept = &self.0;
        let least = match kept.iter().find(|(other, _)| *other == entry) {
            Some(of_entry) => Some(of_entry),
            None => kept.get(MAX_OF_STRETCH - 1),
        };
        least.is_none_or(|(_, least)| *costliness > least.costliness)
    }

    fn add(&mut self, entry: usize, instance: Box<InstanceTimes>) {
        if !self.may_keep(entry, &instance.costliness) {
            return;
        }
        let kept = &mut self.0;
        kept.retain(|(other, _)| *other != entry);
        kept.truncate(MAX_OF_STRETCH - 1);
        let at = kept.partition_point(|(_, other)| other.costliness > instance.costliness);
        kept.insert(at, (entry, instance));
    }
}

impl Sum for CostliestOfStretch {
    fn merge(&mut self, other: Self) {
        for (entry, instance) in other.0 {
            self.add(entry, instance);
        }
    }
}

/// All instances, until they are too many; then none.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct AllInstances {
    instances: BTreeSet<InstanceTimes>,
    n_marks: usize,
    are_too_many: bool,
}

impl AllInstances {
    #[inline]
    fn may_keep(&self) -> bool {
        !self.are_too_many
    }

    fn add(&mut self, instance: InstanceTimes) {
        self.n_marks += instance.n_marks();
        if self.n_marks <= MAX_MARKS {
            self.instances.insert(instance);
        } else {
            *self = Self {
                are_too_many: true,
                ..Self::default()
            };
        }
    }

    fn merge(&mut self, other: Self) {
        if self.are_too_many || other.are_too_many {
            *self = Self {
                are_too_many: true,
                ..Self::default()
            };
            return;
        }
        for instance in other.instances {
            if self.may_keep() {
                self.add(instance);
            }
        }
    }
}

/// The costliest instance of each doubling of durations, of one operation.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct CostliestByDuration(
    /// Doubling and instance, ascending.
    Vec<(u32, Box<InstanceTimes>)>,
);

impl CostliestByDuration {
    /// Whether an instance that took so long may be kept.
    #[inline]
    pub(crate) fn may_keep(&self, duration_ns: i64, costliness: &Costliness) -> bool {
        match self.place(duration_ns) {
            Ok(place) => *costliness > self.0[place].1.costliness,
            Err(_) => true,
        }
    }

    /// Looks at an instance that took so long.
    pub(crate) fn add(&mut self, duration_ns: i64, instance: InstanceTimes) {
        if !self.may_keep(duration_ns, &instance.costliness) {
            return;
        }
        self.put(doubling(duration_ns), Box::new(instance));
    }

    /// Adds those of another part of the instances.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (doubling, instance) in &other.0 {
            let place = self.0.binary_search_by_key(doubling, |(other, _)| *other);
            if !place.is_ok_and(|place| self.0[place].1.costliness >= instance.costliness) {
                self.put(*doubling, instance.clone());
            }
        }
    }

    /// Them, by duration.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &InstanceTimes> {
        self.0.iter().map(|(_, instance)| &**instance)
    }

    fn place(&self, duration_ns: i64) -> Result<usize, usize> {
        let doubling = doubling(duration_ns);
        self.0.binary_search_by_key(&doubling, |(other, _)| *other)
    }

    fn put(&mut self, doubling: u32, instance: Box<InstanceTimes>) {
        match self.0.binary_search_by_key(&doubling, |(other, _)| *other) {
            Ok(place) => self.0[place].1 = instance,
            Err(place) => self.0.insert(place, (doubling, instance)),
        }
    }
}

fn doubling(duration_ns: i64) -> u32 {
    duration_ns.max(1).ilog2()
}
