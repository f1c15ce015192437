//! What one process did, in order of time.

/// Entries after which old ones are added up.
pub(crate) const MOST_ENTRIES: usize = 8192;
/// The newest entries, which are not added up.
const KEPT_ENTRIES: usize = 4096;

/// Entries that are looked at one by one.
const SHORT: usize = 16;
/// Forgotten entries that are not removed yet, at most.
const MOST_FORGOTTEN: usize = 64;

/// A span of time that was spent on something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry<W> {
    /// When it ended, ns.
    pub(crate) end_ns: i64,
    /// How long it lasted, ns.
    pub(crate) span_ns: i64,
    /// How much of that is counted, ns.
    pub(crate) ns: i64,
    /// On what.
    pub(crate) what: W,
}

/// The spans of a process, by their end. New ones may come in any order, but only those up to some
/// time are looked at.
#[derive(Debug)]
pub(crate) struct Log<W> {
    entries: Vec<Entry<W>>,
    /// Entries at the begin that are forgotten.
    n_forgotten: usize,
    /// Entries that are in order, with those; the rest was added since.
    n_sorted: usize,
    /// The longest span, ns.
    longest_ns: i64,
    /// When the last span ends, ns.
    latest_ns: i64,
    /// Entries after which old ones are added up.
    most: usize,
}

impl<W> Entry<W> {
    /// This span, spent on something else.
    #[inline]
    pub(crate) fn on<V>(self, what: V) -> Entry<V> {
        Entry {
            end_ns: self.end_ns,
            span_ns: self.span_ns,
            ns: self.ns,
            what,
        }
    }

    /// How much of it is counted between two times, ns; in proportion if it lies partly outside.
    #[inline]
    pub(crate) fn within(&self, from_ns: i64, to_ns: i64) -> i64 {
        let begin_ns = self.end_ns.saturating_sub(self.span_ns);
        if from_ns <= begin_ns && self.end_ns <= to_ns {
            return self.ns;
        }
        let inside_ns = self.end_ns.min(to_ns).saturating_sub(begin_ns.max(from_ns));
        if inside_ns <= 0 {
            return 0;
        }
        if self.ns == self.span_ns {
            return inside_ns;
        }
        (i128::from(self.ns) * i128::from(inside_ns) / i128::from(self.span_ns)) as i64
    }
}

impl<W> Default for Log<W> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            n_forgotten: 0,
            n_sorted: 0,
            longest_ns: 0,
            latest_ns: i64::MIN,
            most: MOST_ENTRIES,
        }
    }
}

impl<W: Copy + Ord> Log<W> {
    /// Adds a span, if anything of it is counted.
    #[inline]
    pub(crate) fn push(&mut self, entry: Entry<W>) {
        if entry.ns <= 0 {
            return;
        }
        let in_order = self.n_sorted == self.entries.len()
            && self
                .entries
                .last()
                .is_none_or(|last| key(last) <= key(&entry));
        self.longest_ns = self.longest_ns.max(entry.span_ns);
        self.latest_ns = self.latest_ns.max(entry.end_ns);
        self.entries.push(entry);
        self.n_sorted += usize::from(in_order);
    }

    /// Puts what was added into order.
    #[inline]
    pub(crate) fn sort(&mut self) {
        if self.n_sorted != self.entries.len() {
            self.sort_new();
        }
    }

    #[cold]
    fn sort_new(&mut self) {
        let (sorted, new) =
            self.entries[self.n_forgotten..].split_at_mut(self.n_sorted - self.n_forgotten);
        new.sort_unstable_by_key(key);
        // Mostly everything new is behind what is old.
        let overlap = match (sorted.last(), new.first()) {
            (Some(last), Some(first)) => key(first) < key(last),
            _ => false,
        };
        if overlap {
            self.entries[self.n_forgotten..].sort_by_key(key);
        }
        self.n_sorted = self.entries.len();
    }

    /// The entries that are not forgotten, in order.
    #[inline]
    fn sorted(&self) -> &[Entry<W>] {
        debug_assert_eq!(self.n_sorted, self.entries.len());
        &self.entries[self.n_forgotten..]
    }

    /// When the last span ended that was spent on something wanted, no later than a time, ns. The log must be in order.
    pub(crate) fn last_end(&self, at_ns: i64, is_wanted: impl Fn(W) -> bool) -> Option<i64> {
        let mut before = self.sorted().iter().rev();
        let last = before.find(|entry| entry.end_ns <= at_ns && is_wanted(entry.what));
        last.map(|entry| entry.end_ns)
    }

    /// Passes what was spent between two times: ns, and on what. The log must be in order.
    #[inline]
    pub(crate) fn between(&self, from_ns: i64, to_ns: i64, mut found: impl FnMut(i64, W)) {
        let longest_ns = self.longest_ns;
        let entries = self.sorted();
        let begin = match entries.len() {
            0..=SHORT => 0,
            _ => entries.partition_point(|entry| entry.end_ns <= from_ns),
        };
        for entry in &entries[begin..] {
            // Of what ends later, only what began before reaches into it.
            if entry.end_ns.saturating_sub(longest_ns) >= to_ns {
                break;
            }
            let ns = entry.within(from_ns, to_ns);
            if ns > 0 {
                found(ns, entry.what);
            }
        }
    }

    /// Forgets what ended before a time, ns.
    #[inline]
    pub(crate) fn forget_before(&mut self, at_ns: i64) {
        if self.latest_ns > at_ns {
            self.forget_some_before(at_ns);
        } else if !self.entries.is_empty() {
            self.entries.clear();
            (self.longest_ns, self.latest_ns) = (0, i64::MIN);
            (self.n_forgotten, self.n_sorted) = (0, 0);
        }
    }

    #[inline(never)]
    fn forget_some_before(&mut self, at_ns: i64) {
        self.sort();
        let entries = self.sorted();
        let n = entries
            .iter()
            .take_while(|entry| entry.end_ns <= at_ns)
            .count();
        self.n_forgotten += n;
        if self.n_forgotten > MOST_FORGOTTEN {
            self.drop_forgotten();
        }
    }

    fn drop_forgotten(&mut self) {
        self.entries.drain(..self.n_forgotten);
        self.n_sorted -= self.n_forgotten;
        self.n_forgotten = 0;
    }

    /// Whether a span ends after a time, ns.
    #[inline]
    pub(crate) fn has_after(&self, at_ns: i64) -> bool {
        self.latest_ns > at_ns
    }

    /// Whether nothing is in it that is not forgotten.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many entries there are, but for those that are forgotten.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.n_forgotten
    }

    /// Whether there are so many entries that old ones should be added up.
    #[inline]
    pub(crate) fn is_long(&self) -> bool {
        self.len() > self.most
    }

    /// Adds up old entries between boundaries, ascending, where there are many: what was spent
    /// between two of them stays known.
    pub(crate) fn fold(&mut self, boundaries: &[i64]) {
        if !self.is_long() {
            return;
        }
        self.sort();
        self.drop_forgotten();
        let n_old = self.entries.len() - KEPT_ENTRIES;
        let old: Vec<Entry<W>> = self.entries.drain(..n_old).collect();
        let mut pieces: Vec<Entry<W>> = Vec::new();
        for entry in old {
            let begin_ns = entry.end_ns.saturating_sub(entry.span_ns);
            let first = boundaries.partition_point(|&at| at <= begin_ns);
            let last = boundaries.partition_point(|&at| at < entry.end_ns);
            let inner = boundaries[first..last.max(first)].iter().copied();
            let mut from_ns = begin_ns;
            let mut left_ns = entry.ns;
            for to_ns in inner.chain([entry.end_ns]) {
                let ns = if to_ns == entry.end_ns {
                    left_ns
                } else {
                    entry.within(from_ns, to_ns)
                };
                left_ns -= ns;
                pieces.push(Entry {
                    end_ns: to_ns,
                    span_ns: to_ns - from_ns,
                    ns,
                    what: entry.what,
                });
                from_ns = to_ns;
            }
        }
        let segment = |entry: &Entry<W>| boundaries.partition_point(|&at| at < entry.end_ns);
        pieces.sort_by_key(|entry| (segment(entry), entry.what, key(entry)));
        let mut folded: Vec<Entry<W>> = Vec::new();
        for piece in pieces {
            match folded.last_mut() {
                Some(last) if last.what == piece.what && segment(last) == segment(&piece) => {
                    let begin_ns = last.end_ns - last.span_ns;
                    let begin_ns = begin_ns.min(piece.end_ns - piece.span_ns);
                    last.end_ns = last.end_ns.max(piece.end_ns);
                    last.span_ns = last.end_ns - begin_ns;
                    last.ns = last.ns.saturating_add(piece.ns);
                }
                _ => folded.push(piece),
            }
        }
        folded.sort_by_key(key);
        self.entries.splice(..0, folded);
        self.n_sorted = self.entries.len();
        // Where nothing could be added up, it is not tried again at once.
        self.most = (self.entries.len() + KEPT_ENTRIES).max(MOST_ENTRIES);
    }
}

/// The order of entries.
fn key<W: Copy>(entry: &Entry<W>) -> (i64, i64, W) {
    (entry.end_ns, -entry.span_ns, entry.what)
}
