//! Which trees a file has for an operation, by what was measured with some payloads.

use collbench_stats::median::Median;

/// A tree is used where the 95 % interval of its ratio ends below this: a call takes some tens of
/// nanoseconds more where the preloaded library makes it.
const LIMIT: f64 = 0.9;

/// What was measured with one payload.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) bytes: u64,
    /// By candidate: its time divided by that of the library; `None` if it was not measured.
    pub(super) ratios: Vec<Option<Median>>,
}

/// A candidate, and the payloads that it is used for: least and greatest, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) candidate: usize,
    pub(super) bytes: (u64, u64),
}

impl Row {
    /// By candidate: its ratio if it is certainly faster than the library.
    fn faster(&self, candidate: usize) -> Option<f64> {
        let ratio = self.ratios[candidate]?;
        let (_, most) = ratio.interval?;
        (most < LIMIT).then_some(ratio.value)
    }

    /// The fastest candidate, if one is certainly faster than the library with this payload and that of
    /// another row, and thus between them. What counts is the greater ratio.
    fn fastest(&self, other: &Self) -> Option<usize> {
        let of = |candidate: usize| {
            let ratio = self.faster(candidate)?.max(other.faster(candidate)?);
            Some((ratio, candidate))
        };
        let all = (0..self.ratios.len()).filter_map(of);
        let least = all.min_by(|one, other| one.0.total_cmp(&other.0));
        least.map(|(_, candidate)| candidate)
    }
}

/// The trees for an operation that was measured with these payloads, in ascending order. Smaller ones than
/// the first are as the first; larger ones than the last are left to the library.
pub(super) fn chosen(rows: &[Row]) -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    let mut add = |candidate: Option<usize>, bytes: (u64, u64)| {
        let Some(candidate) = candidate.filter(|_| bytes.0 <= bytes.1) else {
            return;
        };
        match rules.last_mut() {
            Some(last) if last.candidate == candidate && last.bytes.1 + 1 == bytes.0 => {
                last.bytes.1 = bytes.1;
            }
            _ => rules.push(Rule { candidate, bytes }),
        }
    };
    let mut least = 0;
    for (nth, row) in rows.iter().enumerate() {
        add(row.fastest(row), (least, row.bytes));
        if let Some(next) = rows.get(nth + 1) {
            add(row.fastest(next), (row.bytes + 1, next.bytes - 1));
            least = next.bytes;
        }
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of two candidates: ratios with intervals of 2 % to both sides; 0 if not measured.
    fn row(bytes: u64, ratios: [f64; 2]) -> Row {
        let median = |value: f64| Median {
            n: 15,
            value,
            interval: Some((0.98 * value, 1.02 * value)),
        };
        Row {
            bytes,
            ratios: ratios.map(|of| (of > 0.0).then(|| median(of))).to_vec(),
        }
    }

    fn rules(rows: &[Row]) -> Vec<(usize, u64, u64)> {
        let all = chosen(rows).into_iter();
        all.map(|rule| (rule.candidate, rule.bytes.0, rule.bytes.1))
            .collect()
    }

    #[test]
    fn a_tree_is_used_between_payloads_with_which_it_is_faster() {
        let rows = [
            row(8, [0.5, 0.6]),
            row(512, [0.4, 0.3]),
            row(4096, [0.95, 0.89]),
        ];
        // With 4,096 bytes the interval of the second reaches beyond 0.9.
        assert_eq!(rules(&rows), [(0, 0, 511), (1, 512, 512)]);
        let rows = [
            row(8, [1.2, 0.0]),
            row(512, [0.4, 0.0]),
            row(4096, [0.5, 0.0]),
        ];
        assert_eq!(rules(&rows), [(0, 512, 4096)]);
    }

    #[test]
    fn without_a_faster_tree_or_an_interval_the_library_is_used() {
        assert_eq!(rules(&[row(8, [0.99, 1.5]), row(512, [0.0, 1.0])]), []);
        let mut few = row(8, [0.2, 0.0]);
        few.ratios[0] = Median::of([0.2; 5]);
        assert_eq!(rules(&[few]), []);
    }

    #[test]
    fn a_barrier_has_one_payload() {
        assert_eq!(rules(&[row(0, [0.5, 0.0])]), [(0, 0, 0)]);
    }
}
