//! BucketCounts of samples, in as little memory as they need.

/// How many samples a bucket has, for some that follow one another. The counts of all distributions
/// together are larger than any cache: few samples take half of the memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BucketCounts {
    /// Of no more than 65,535 samples in all.
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

    /// Has room for counts of `n` samples in all.
    pub(super) fn make_long(&mut self, n: u64) {
        if let Self::Short(counts) = self
            && n > u16::MAX.into()
        {
            *self = Self::Long(counts.iter().copied().map(u32::from).collect());
        }
    }

    /// Has `before` more counts in front, and is `n` long at least.
    pub(super) fn make_room(&mut self, before: usize, n: usize) {
        fn make_room<T: Copy + Default>(counts: &mut Vec<T>, before: usize, n: usize) {
            // The greatest sample is seldom exceeded: room in advance would mostly stay empty.
            counts.reserve_exact(n.saturating_sub(counts.len()));
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

    /// Adds `n` to each of some counts; there is room for all of them.
    #[inline]
    pub(super) fn add(&mut self, places: impl Iterator<Item = i32>, n: u32) {
        match self {
            // It cannot be more than there are samples.
            Self::Short(counts) => places.for_each(|at| counts[at as usize] += n as u16),
            Self::Long(counts) => {
                for at in places {
                    let count = &mut counts[at as usize];
                    *count = count.saturating_add(n);
                }
            }
        }
    }

    /// Adds other counts to those from a place on.
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

    /// Hands on for each of some positions, ascending, what comes with it, and the place of the
    /// count that reaches beyond it.
    pub(super) fn find(&self, positions: &[(u64, usize)], found: impl FnMut(usize, usize)) {
        match self {
            // All of them together have no more samples than their integer can tell.
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

/// Histogram that are added up before it is looked which of them is asked for.
const PART: usize = 64;

/// Mostly nothing is asked for in a part: its `sum` is all that is looked at.
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
