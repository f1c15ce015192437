//! The written form of a distribution, which depends on its samples alone: not on their order, nor on
//! what is still to be counted.

use serde::{Deserialize, Serialize};

use super::{Counts, Rough};

#[derive(Serialize, Deserialize)]
pub(super) struct Distribution {
    n: u64,
    total: i128,
    squares: Option<u128>,
    min: i64,
    max: i64,
    samples: Samples,
}

#[derive(Serialize, Deserialize)]
enum Samples {
    /// Ascending.
    Listed(Vec<i64>),
    /// Bucket of a magnitude, and its count, by bucket, where there are some.
    Counted {
        positive: Vec<(u32, u32)>,
        negative: Vec<(u32, u32)>,
    },
}

impl From<super::Distribution> for Distribution {
    fn from(of: super::Distribution) -> Self {
        let samples = match &of.samples {
            super::Samples::Rough(rough) => {
                let rough = rough.counted();
                Samples::Counted {
                    positive: sparse(&rough.positive),
                    negative: sparse(&rough.negative),
                }
            }
            listed => Samples::Listed(listed.sorted()),
        };
        Self {
            n: of.n,
            total: of.total,
            squares: of.squares,
            min: of.min,
            max: of.max,
            samples,
        }
    }
}

impl From<Distribution> for super::Distribution {
    fn from(of: Distribution) -> Self {
        let samples = match of.samples {
            Samples::Listed(list) => {
                let mut samples = super::Samples::Short(Vec::new());
                samples.add_all(&list);
                samples
            }
            Samples::Counted { positive, negative } => super::Samples::Rough(Box::new(Rough {
                positive: counts(&positive),
                negative: counts(&negative),
                pending: Vec::new(),
            })),
        };
        Self {
            n: of.n,
            total: of.total,
            squares: of.squares,
            min: of.min,
            max: of.max,
            samples,
        }
    }
}

fn sparse(counts: &Counts) -> Vec<(u32, u32)> {
    let counts = (0..).zip(counts.0.iter().copied());
    counts.filter(|&(_, n)| n > 0).collect()
}

fn counts(sparse: &[(u32, u32)]) -> Counts {
    let n_buckets = sparse.last().map_or(0, |&(bucket, _)| bucket as usize + 1);
    let mut counts = vec![0; n_buckets];
    for &(bucket, n) in sparse {
        counts[bucket as usize] = n;
    }
    Counts(counts)
}
