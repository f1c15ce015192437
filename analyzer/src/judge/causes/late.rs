//! What late processes cost, by what they did more and by operation, one of them and all together.

use std::collections::{BTreeMap, BTreeSet};

use collbench_causes::{Cost, Part};

/// A process, or all processes of a host, with what they cost.
#[derive(Debug, Clone, Default)]
pub(super) struct Late {
    /// By part.
    pub(super) parts: BTreeMap<Option<Part>, Cost>,
    /// By operation in which was waited for them.
    pub(super) operations: BTreeMap<u64, Cost>,
    /// What of that is because of their own work.
    pub(super) own: BTreeMap<u64, Cost>,
}

impl Late {
    pub(super) fn add(&mut self, part: Option<Part>, operation: u64, cost: &Cost) {
        self.parts.entry(part).or_default().merge(cost);
        self.operations.entry(operation).or_default().merge(cost);
        if part.is_none() {
            self.own.entry(operation).or_default().merge(cost);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (part, cost) in &other.parts {
            self.parts.entry(*part).or_default().merge(cost);
        }
        for (operation, cost) in &other.operations {
            self.operations.entry(*operation).or_default().merge(cost);
        }
        for (operation, cost) in &other.own {
            self.own.entry(*operation).or_default().merge(cost);
        }
    }

    pub(super) fn cost(&self) -> Cost {
        total(self.parts.values().copied())
    }

    /// The operation in which others wait for it longest.
    pub(super) fn costliest_operation(&self) -> Option<u64> {
        let costliest = self
            .operations
            .iter()
            .max_by_key(|(_, cost)| cost.direct_ns);
        costliest.map(|(operation, _)| *operation)
    }

    /// What of that it did costs the most; `None` of own work, and where nothing costs anything.
    pub(super) fn costliest_part(&self) -> (Option<Part>, Cost) {
        let costliest = self.parts.iter().max_by_key(|(_, cost)| cost.ns());
        costliest.map_or((None, Cost::default()), |(part, cost)| (*part, *cost))
    }

    /// Whether most of what it costs is because of point-to-point communication.
    pub(super) fn is_by_messages(&self) -> bool {
        let is_message = |part: &Option<Part>| matches!(part, Some(Part::PointToPoint(_)));
        let of_messages = self.parts.iter().filter(|(part, _)| is_message(part));
        2 * i128::from(total(of_messages.map(|(_, cost)| *cost)).ns())
            > i128::from(self.cost().ns())
    }

    /// What it costs, with its time in point-to-point communication counted as its own work: what interrupts its work
    /// interrupts that, too.
    pub(super) fn with_messages_as_own(mut self) -> Self {
        let is_own = |part: &Option<Part>| matches!(part, None | Some(Part::PointToPoint(_)));
        let (own, others) = self.parts.into_iter().partition(|(part, _)| is_own(part));
        let own: BTreeMap<Option<Part>, Cost> = own;
        self.parts = others;
        self.parts.insert(None, total(own.into_values()));
        self
    }

    /// Whether its own work costs more than anything else that it did.
    pub(super) fn is_by_own_work(&self) -> bool {
        !self.parts.is_empty() && self.costliest_part().0.is_none()
    }
}

/// Direct costs of late processes together, ns.
pub(super) struct AllLate {
    /// Of all of them.
    pub(super) direct_ns: i128,
    /// By operation, without those that were found.
    pub(super) by_operation: BTreeMap<u64, i128>,
    /// What of that is because of own work.
    pub(super) own: BTreeMap<u64, i128>,
    /// Those that were found.
    pub(super) found: BTreeSet<u32>,
}

impl AllLate {
    pub(super) fn of(late: &BTreeMap<u32, Late>) -> Self {
        let mut all = Self {
            direct_ns: 0,
            by_operation: BTreeMap::new(),
            own: BTreeMap::new(),
            found: BTreeSet::new(),
        };
        all.without_found(late);
        all.direct_ns = all.by_operation.values().sum();
        all
    }

    /// Adds up anew what those cost that were not found.
    pub(super) fn without_found(&mut self, late: &BTreeMap<u32, Late>) {
        let sums = |of: fn(&Late) -> &BTreeMap<u64, Cost>| {
            let mut sums = BTreeMap::new();
            for (operation, cost) in late.values().flat_map(of) {
                *sums.entry(*operation).or_insert(0) += i128::from(cost.direct_ns);
            }
            sums
        };
        self.by_operation = sums(|of| &of.operations);
        self.own = sums(|of| &of.own);
    }
}

/// Costs added up.
pub(super) fn total(costs: impl Iterator<Item = Cost>) -> Cost {
    costs.fold(Cost::default(), |mut sum, cost| {
        sum.merge(&cost);
        sum
    })
}
