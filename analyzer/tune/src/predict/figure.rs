//! How long an instance takes, apart from what late processes cost.

use collbench_formats::Operation;

/// From the times at which processes enter and leave how long an instance takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// From the last enter to the last leave: where all wait for all.
    LastLeave,
    /// The mean over processes of the time from the later one of its enter and that of the root to its leave.
    FromRoot(usize),
    /// The mean over processes of the time from its enter to its leave; of the root from the last enter on.
    ToRoot(usize),
}

impl Figure {
    /// That of an operation.
    #[must_use]
    pub fn of(operation: Operation, root: usize) -> Self {
        match operation {
            Operation::Bcast | Operation::Scatter | Operation::Scatterv => Self::FromRoot(root),
            Operation::Reduce | Operation::Gather | Operation::Gatherv => Self::ToRoot(root),
            _ => Self::LastLeave,
        }
    }

    /// The enter from which on a process could go on, ns: its own, or a later one that it has to wait for.
    #[must_use]
    pub fn since_ns(self, rank: usize, enters_ns: &[f64]) -> f64 {
        match self {
            Self::LastLeave => latest(enters_ns),
            Self::FromRoot(root) => enters_ns[rank].max(enters_ns[root]),
            Self::ToRoot(root) if rank == root => latest(enters_ns),
            Self::ToRoot(_) => enters_ns[rank],
        }
    }

    /// How long an instance takes, ns.
    #[must_use]
    pub fn takes_ns(self, enters_ns: &[f64], leaves_ns: &[f64]) -> f64 {
        if self == Self::LastLeave {
            return latest(leaves_ns) - latest(enters_ns);
        }
        let leaves = leaves_ns.iter().enumerate();
        let sum: f64 = leaves
            .map(|(rank, leave_ns)| leave_ns - self.since_ns(rank, enters_ns))
            .sum();
        sum / leaves_ns.len() as f64
    }
}

fn latest(times: &[f64]) -> f64 {
    times.iter().copied().fold(f64::MIN, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_processes_cost_nothing_but_where_others_depend_on_them() {
        let enters = [0.0, 100.0, 10.0];
        let leaves = [30.0, 130.0, 40.0];
        let takes = |operation| Figure::of(operation, 0).takes_ns(&enters, &leaves);
        assert_eq!(takes(Operation::Allreduce), 30.0);
        assert_eq!(takes(Operation::Bcast), 30.0);
        // The root, which leaves before the last one enters, had not waited for it.
        assert_eq!(takes(Operation::Reduce), (-70.0 + 30.0 + 30.0) / 3.0);
    }
}
