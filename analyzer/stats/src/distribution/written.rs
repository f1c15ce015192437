//! The serialized form of a distribution. It depends on the samples alone: neither on their order
//! nor on how many have been counted yet.

use serde::{Deserialize, Serialize};

use crate::distribution::histogram::Histogram;
use crate::distribution::precision::Precision;
use crate::distribution::sample_list::SampleList;
use crate::moments::Moments;

#[derive(PartialEq, Serialize, Deserialize)]
pub(super) struct Distribution {
    precision: Precision,
    samples: Samples,
}

#[derive(PartialEq, Serialize, Deserialize)]
enum Samples {
    /// Ascending, ns.
    Listed(Vec<i64>),
    Counted {
        moments: Moments,
        /// Minimum and maximum, ns.
        range: [i64; 2],
        /// Index and count of the buckets that are not empty, ascending.
        buckets: Vec<(i32, u32)>,
    },
}

impl From<super::Distribution> for Distribution {
    fn from(of: super::Distribution) -> Self {
        let samples = match of.histogram {
            None => Samples::Listed(of.list.sorted()),
            Some(mut histogram) => {
                of.list.count(&mut histogram);
                Samples::Counted {
                    moments: *histogram.moments(),
                    range: histogram.range(),
                    buckets: histogram.buckets().collect(),
                }
            }
        };
        Self {
            precision: of.precision,
            samples,
        }
    }
}

impl TryFrom<Distribution> for super::Distribution {
    type Error = &'static str;

    fn try_from(of: Distribution) -> Result<Self, Self::Error> {
        let precision = of.precision;
        let mut distribution = Self::new(precision);
        match of.samples {
            Samples::Listed(list) if list.len() > precision.max_exact() => {
                return Err("a distribution lists more samples than are kept");
            }
            Samples::Listed(list) => {
                let mut listed = SampleList::default();
                listed.extend(&list);
                distribution.list = listed;
            }
            Samples::Counted {
                moments,
                range,
                buckets,
            } => {
                let histogram = Histogram::of_buckets(precision, moments, range, &buckets)
                    .filter(|_| moments.n() > precision.max_exact() as u64)
                    .ok_or("the counts of a distribution are not those of its samples")?;
                distribution.histogram = Some(Box::new(histogram));
            }
        }
        Ok(distribution)
    }
}
