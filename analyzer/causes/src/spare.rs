//! Instances that are used again.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::ahead::Held;

/// Instances that are done with, whose buffers are used again. Each is only used for one of as many processes: no buffer is
/// larger than needed.
#[derive(Debug, Default)]
pub struct Spare {
    by_length: FxHashMap<usize, Vec<Arc<Held>>>,
}

impl Spare {
    /// An instance of so many processes, which has no calls yet.
    #[must_use]
    pub fn take(&mut self, n: usize) -> Arc<Held> {
        let spare = self.by_length.get_mut(&n).and_then(Vec::pop);
        spare.unwrap_or_default()
    }

    /// Keeps an instance, unless something is still to be done with it.
    pub(crate) fn keep(&mut self, mut held: Arc<Held>) {
        let Some(of) = Arc::get_mut(&mut held) else {
            return;
        };
        let n = of.instance.calls.len();
        of.instance.calls.clear();
        (of.extent_ns, of.not_before_ns, of.awaited) = (None, None, None);
        self.by_length.entry(n).or_default().push(held);
    }

    /// Adds other buffers.
    pub fn merge(&mut self, other: Self) {
        for (n, held) in other.by_length {
            self.by_length.entry(n).or_default().extend(held);
        }
    }

    /// Takes one of `n` equal parts out of it.
    #[must_use]
    pub fn part(&mut self, n: usize) -> Self {
        let parts = self.by_length.iter_mut().map(|(&length, held)| {
            let n_left = held.len() - held.len() / n.max(1);
            (length, held.split_off(n_left))
        });
        Self {
            by_length: parts.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::Calls;

    #[test]
    fn buffers_are_used_for_instances_of_as_many_processes_and_shared_in_parts() {
        let mut spare = Spare::default();
        for n in [2, 3, 3, 3, 3] {
            let mut held = Held::default();
            held.instance.calls.enters_ns = vec![7; n];
            held.instance.calls.leaves_ns = vec![8; n];
            spare.keep(Arc::new(held));
        }
        let mut parts = [spare.part(2), spare.part(1)];
        let reused = |spare: &mut Spare, n: usize| {
            let held = spare.take(n);
            assert_eq!(held.instance.calls, Calls::default());
            held.instance.calls.enters_ns.capacity() >= n
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
