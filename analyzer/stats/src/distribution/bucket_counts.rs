//! Counts of a histogram, in as little memory as they need.

/// Number of samples in each of consecutive buckets. The counts of all distributions together are
/// larger than any cache, so those of few samples take half of the memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BucketCounts {
    /// At most 65,535 samples in all.
    Short(Vec<u16>),
    Long(Vec<u32>),
}

impl Default for BucketCounts {
    fn default() -> Self {
        Self::Short(Vec::new())
    }
}

impl BucketCounts {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Short(counts) => counts.len(),
            Self::Long(counts) => counts.len(),
        }
    }

    /// Makes room for counts of `n` samples in all.
    pub(super) fn make_long(&mut self, n: u64) {
        if let Self::Short(counts) = self
            && n > u16::MAX.into()
        {
            *self = Self::Long(counts.iter().copied().map(u32::from).collect());
        }
    }

    /// Inserts `before` counts in front, and extends to at least `n` counts.
    pub(super) fn make_room(&mut self, before: usize, n: usize) {
        fn make_room<T: Copy + Default>(counts: &mut Vec<T>, before: usize, n: usize) {
            // The maximum is seldom exceeded: of much room reserved in advance most would stay empty.
            if counts.capacity() < n {
                counts.reserve_exact(n + n / 8 - counts.len());
            }
            if before > 0 {
                counts.splice(0..0, std::iter::repeat_n(T::default(), before));
            }
            counts.resize(n.max(counts.len()), T::default());
        }
        match self {
            Self::Short(counts) => make_room(counts, before, n),
            Self::Long(counts) => make_room(counts, before, n),
        }
    }

    /// Adds 1 to the counts at these indexes, which must exist.
    pub(super) fn count(&mut self, places: &[u32]) {
        let (fours, rest) = places.as_chunks::<4>();
        match self {
            Self::Short(counts) => {
                let mut count = |at: u32| counts[at as usize] += 1;
                fours
                    .iter()
                    .for_each(|four| four.iter().for_each(|&at| count(at)));
                rest.iter().for_each(|&at| count(at));
            }
            Self::Long(_) => self.add(places.iter().copied(), 1),
        }
    }

    /// Adds `n` to the counts at these indexes, which must exist.
    #[inline]
    pub(super) fn add(&mut self, places: impl Iterator<Item = u32>, n: u32) {
        match self {
            // A count cannot exceed the number of samples.
            Self::Short(counts) => places.for_each(|at| counts[at as usize] += n as u16),
            Self::Long(counts) => {
                for at in places {
                    let count = &mut counts[at as usize];
                    *count = count.saturating_add(n);
                }
            }
        }
    }

    /// Adds other counts to those from index `at` on.
    pub(super) fn merge(&mut self, at: usize, other: &Self) {
        match (self, other) {
            (Self::Short(own), Self::Short(other)) => {
                for (own, other) in own[at..].iter_mut().zip(other) {
                    *own += other;
                }
            }
            (Self::Long(own), other) => {
                for (own, other) in own[at..].iter_mut().zip(other.iter()) {
                    *own = own.saturating_add(other);
                }
            }
            (Self::Short(_), Self::Long(_)) => {
                unreachable!("together there are no fewer samples than in one part")
            }
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let (short, long) = match self {
            Self::Short(counts) => (&counts[..], &[][..]),
            Self::Long(counts) => (&[][..], &counts[..]),
        };
        short
            .iter()
            .copied()
            .map(u32::from)
            .chain(long.iter().copied())
    }

    /// For each of some positions in sorted order, ascending, calls `found` with the value given
    /// beside the position and with the index of the bucket that contains it.
    pub(super) fn find(&self, positions: &[(u64, usize)], found: impl FnMut(usize, usize)) {
        match self {
            // All of them together have at most 65,535 samples: no sum overflows.
            Self::Short(counts) => {
                find(counts, positions, found, |part| {
                    part.iter().sum::<u16>().into()
                });
            }
            Self::Long(counts) => find(counts, positions, found, |part| {
                part.iter().map(|&n| u64::from(n)).sum()
            }),
        }
    }
}

/// Counts that are summed at a time while a position is looked for.
const PART: usize = 64;

/// Most parts contain none of the positions: only their `sum` is computed.
fn find<T: Copy + Into<u64>>(
    counts: &[T],
    positions: &[(u64, usize)],
    mut found: impl FnMut(usize, usize),
    sum: impl Fn(&[T]) -> u64,
) {
    let mut positions = positions.iter().peekable();
    let mut n = 0;
    for (first, part) in (0..).step_by(PART).zip(counts.chunks(PART)) {
        let behind = n + sum(part);
        if positions.peek().is_some_and(|&&(at, _)| at < behind) {
            for (place, &times) in (first..).zip(part) {
                n += times.into();
                while let Some(&(_, which)) = positions.next_if(|&&(at, _)| at < n) {
                    found(which, place);
                }
            }
        }
        n = behind;
    }
}
