//! How long some spans of time are together, where they overlap.

/// Spans that are compared with a new one: more threads of a process hardly wait at once.
const MOST_SPANS: usize = 16;

/// The latest of some spans of time, without those parts in which they overlap.
#[derive(Debug, Clone, Default)]
pub(crate) struct Union {
    /// Begin and end, ns; ascending, none touches another.
    spans: Vec<[i64; 2]>,
}

impl Union {
    /// Adds a span that ends at a time, after all others or at most a little before; gives how much of it is in none of
    /// the others, ns.
    pub(crate) fn add(&mut self, [from_ns, to_ns]: [i64; 2]) -> i64 {
        let to_ns = to_ns.max(from_ns);
        let touches = |span: &&[i64; 2]| span[1] >= from_ns && span[0] <= to_ns;
        let inside_ns = |span: &[i64; 2]| span[1].min(to_ns) - span[0].max(from_ns);
        let known_ns: i64 = self.spans.iter().filter(touches).map(inside_ns).sum();
        let touched = self.spans.iter().filter(touches);
        let [begin_ns, end_ns] = touched.fold([from_ns, to_ns], |all, span| {
            [all[0].min(span[0]), all[1].max(span[1])]
        });
        self.spans.retain(|span| !touches(&span));
        let at = self.spans.partition_point(|span| span[1] < begin_ns);
        self.spans.insert(at, [begin_ns, end_ns]);
        if self.spans.len() > MOST_SPANS {
            self.spans.remove(0);
        }
        to_ns - from_ns - known_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_counts_once() {
        let mut union = Union::default();
        let added = [[0, 10], [5, 12], [20, 30], [11, 31], [0, 31], [40, 39]];
        let ns = added.map(|span| union.add(span));
        assert_eq!(ns, [10, 2, 10, 9, 0, 0]);
    }
}
