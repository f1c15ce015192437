//! Buffers that are used again.

use rustc_hash::FxHashMap;

use crate::instance::Calls;

/// Calls of instances that are done with, whose buffers are used again. Those of an instance are only used for one
/// of as many processes: none is larger than needed.
#[derive(Debug, Default)]
pub struct Spare {
    by_length: FxHashMap<usize, Vec<Calls>>,
}

impl Spare {
    /// Empty calls for an instance of so many processes.
    #[must_use]
    pub fn take(&mut self, n: usize) -> Calls {
        let spare = self.by_length.get_mut(&n).and_then(Vec::pop);
        spare.unwrap_or_default()
    }

    /// Keeps the buffers of calls that are not needed any more.
    pub(crate) fn keep(&mut self, mut calls: Calls) {
        let n = calls.len();
        calls.clear();
        self.by_length.entry(n).or_default().push(calls);
    }

    /// Adds other buffers.
    pub(crate) fn merge(&mut self, other: Self) {
        for (n, calls) in other.by_length {
            self.by_length.entry(n).or_default().extend(calls);
        }
    }

    /// Takes one of `n` equal parts out of it.
    #[must_use]
    pub fn part(&mut self, n: usize) -> Self {
        let parts = self.by_length.iter_mut().map(|(&length, calls)| {
            let n_left = calls.len() - calls.len() / n.max(1);
            (length, calls.split_off(n_left))
        });
        Self {
            by_length: parts.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_used_for_instances_of_as_many_processes_and_shared_in_parts() {
        let mut spare = Spare::default();
        for n in [2, 3, 3, 3, 3] {
            spare.keep(Calls {
                enters_ns: vec![7; n],
                leaves_ns: vec![8; n],
                ..Calls::default()
            });
        }
        let mut parts = [spare.part(2), spare.part(1)];
        let reused = |spare: &mut Spare, n: usize| {
            let calls = spare.take(n);
            assert_eq!(calls, Calls::default());
            calls.enters_ns.capacity() >= n
        };
        assert!(!reused(&mut spare, 3));
        assert_eq!(
            [2, 3, 3, 3].map(|n| reused(&mut parts[0], n)),
            [false, true, true, false]
        );
        assert_eq!(
            [2, 3, 3, 3].map(|n| reused(&mut parts[1], n)),
            [true, true, true, false]
        );
    }
}
