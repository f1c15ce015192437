//! The written form of a gauge, which depends on its samples alone: not on their order, nor on what is
//! still to be counted.

use serde::{Deserialize, Serialize};

use super::{Counts, Grain, Moments, Numbers};

#[derive(Serialize, Deserialize)]
pub(super) struct Gauge {
    grain: Grain,
    samples: Samples,
}

#[derive(Serialize, Deserialize)]
enum Samples {
    /// Ascending.
    Listed(Vec<i64>),
    Counted {
        moments: Moments,
        /// Bucket and its count, by bucket, where there are some.
        counts: Vec<(i32, u32)>,
    },
}

impl From<super::Gauge> for Gauge {
    fn from(mut of: super::Gauge) -> Self {
        let samples = match of.counts.take() {
            None => {
                of.list.sort_unstable();
                Samples::Listed(of.list)
            }
            Some(mut counted) => {
                counted.add(&of.list, of.grain);
                let counts = (counted.first..).zip(counted.counts.iter());
                Samples::Counted {
                    counts: counts.filter(|&(_, n)| n > 0).collect(),
                    moments: counted.moments,
                }
            }
        };
        Self {
            grain: of.grain,
            samples,
        }
    }
}

impl From<Gauge> for super::Gauge {
    fn from(of: Gauge) -> Self {
        let (list, counts) = match of.samples {
            Samples::Listed(list) => (list, None),
            Samples::Counted { moments, counts } => {
                let mut counted = Counts {
                    first: 0,
                    counts: Numbers::Short(Vec::new()),
                    moments,
                };
                if let (Some(&(least, _)), Some(&(greatest, _))) = (counts.first(), counts.last()) {
                    counted.counts.make_long(counted.moments.n);
                    counted.make_room(least, greatest);
                }
                for (bucket, n) in counts {
                    counted.counts.set((bucket - counted.first) as usize, n);
                }
                (Vec::new(), Some(Box::new(counted)))
            }
        };
        Self {
            grain: of.grain,
            list,
            counts,
        }
    }
}

impl Numbers {
    /// Sets a count, for which there is room.
    fn set(&mut self, place: usize, n: u32) {
        match self {
            Self::Short(counts) => counts[place] = n as u16,
            Self::Long(counts) => counts[place] = n,
        }
    }
}
