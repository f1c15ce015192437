//! From ticks to ns: straight lines in integers, so that the same tick is the same ns everywhere,
//! and the line that fits the anchors of a host.

use collbench_formats::Anchor;

use crate::Correction;

/// A straight line from ticks to ns, in integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TickScale {
    /// Origin of the line, ticks.
    pub origin_ticks: i64,
    /// Origin of the line, ns.
    pub origin_ns: i64,
    /// ns per tick, times 2^`shift`.
    pub multiplier: i128,
    /// Exponent of the power of two that the multiplier is divided by.
    pub shift: u32,
}

impl TickScale {
    /// One tick is one ns.
    pub const NANOSECONDS: Self = Self {
        origin_ticks: 0,
        origin_ns: 0,
        // Leaves room for the parts per million of a correction.
        multiplier: 1 << 60,
        shift: 60,
    };

    /// The line through two anchors; `None` unless time goes forward in both and a tick takes less
    /// than a millisecond.
    fn through(a: &Anchor, b: &Anchor) -> Option<Self> {
        let at = |anchor: &Anchor| {
            Some((
                i64::try_from(anchor.ticks.get()).ok()?,
                i64::try_from(anchor.raw_ns.get()).ok()?,
            ))
        };
        let ((a_ticks, a_ns), (b_ticks, b_ns)) = (at(a)?, at(b)?);
        let (ticks, ns) = (b_ticks - a_ticks, b_ns - a_ns);
        if ticks <= 0 || ns <= 0 || ns / ticks >= 1 << 20 {
            return None;
        }
        // ticks
        // < 2^63 and multiplier < 2^62: no product overflows i128.
        let shift = if ns < ticks { 61 } else { 40 };
        Some(Self {
            origin_ticks: a_ticks,
            origin_ns: a_ns,
            multiplier: (i128::from(ns) << shift) / i128::from(ticks),
            shift,
        })
    }

    /// ns at `ticks`, rounded to the nearest.
    #[inline]
    pub fn ns(&self, ticks: i64) -> i64 {
        // No multiplier reaches 2^63 (see `through` and `corrected`), so one multiplication
        // suffices.
        debug_assert!(i64::try_from(self.multiplier).is_ok());
        // Timestamps of a damaged file may have any size.
        let since = ticks.saturating_sub(self.origin_ticks);
        let scaled = i128::from(since) * i128::from(self.multiplier as i64);
        let half = (1i128 << self.shift) >> 1;
        let ns = ((scaled + half) >> self.shift) + i128::from(self.origin_ns);
        ns.clamp(i128::from(i64::MIN / 4), i128::from(i64::MAX / 4)) as i64
    }

    /// This line minus `start_ns`, if no product and no sum overflows 64 bits, which is so in
    /// every undamaged trace of a known clock.
    #[inline]
    pub fn short(&self, start_ns: i64) -> Option<ShortLine> {
        let shift = ShortLine::SHIFT
            .checked_sub(self.shift)
            .filter(|&by| by < 2)?;
        let is_near = ShortLine::is_near(self.origin_ticks as u64)
            && self.origin_ns.unsigned_abs() < ShortLine::FAR;
        let multiplier = (self.multiplier as i64) << shift;
        let origin_ns = i128::from(self.origin_ns.wrapping_sub(start_ns)) << ShortLine::SHIFT;
        let before_origin = i128::from(self.origin_ticks) * i128::from(multiplier);
        is_near.then(|| ShortLine {
            at_zero: origin_ns - before_origin + (1 << (ShortLine::SHIFT - 1)),
            multiplier,
        })
    }

    /// Approximate tick at `ns`; the inverse of [`TickScale::ns`].
    fn ticks(&self, ns: i64) -> i64 {
        let scaled = i128::from(ns.saturating_sub(self.origin_ns)) << self.shift;
        let ticks = scaled / self.multiplier.max(1) + i128::from(self.origin_ticks);
        ticks.clamp(i128::from(i64::MIN / 4), i128::from(i64::MAX / 4)) as i64
    }

    /// This line minus the offset of the clock: lines from burst to burst, each with the tick from
    /// which it holds; the first holds before that too. `None` for offsets that cannot be true.
    pub fn bent(&self, correction: &Correction) -> Option<Vec<(i64, Self)>> {
        let ticks: Vec<i64> = correction
            .knots
            .iter()
            .map(|knot| self.ticks(knot.at_ns))
            .collect();
        if let [only] = ticks[..] {
            let second = i64::try_from(self.span_ticks(1_000_000_000)).ok()?;
            let line = self.corrected(correction, only, only.checked_add(second)?)?;
            return Some(vec![(only, line)]);
        }
        ticks
            .windows(2)
            .map(|pair| Some((pair[0], self.corrected(correction, pair[0], pair[1])?)))
            .collect()
    }

    /// The line of reference time between two ticks: through the points of this line there, each
    /// minus its offset. `None` if time would go backwards because offsets contradict one another.
    fn corrected(&self, correction: &Correction, from_ticks: i64, to_ticks: i64) -> Option<Self> {
        let at = |ticks: i64| {
            let ns = self.ns(ticks);
            (ns, ns.saturating_sub(correction.at(ns).offset_ns))
        };
        let ((from_ns, from_global_ns), (to_ns, to_global_ns)) = (at(from_ticks), at(to_ticks));
        let (local, global) = (to_ns - from_ns, to_global_ns - from_global_ns);
        // A clock that runs twice as fast as another is damage.
        if local <= 0 || global <= local / 2 || global / 2 >= local {
            return None;
        }
        Some(Self {
            origin_ticks: from_ticks,
            origin_ns: from_global_ns,
            multiplier: self.multiplier
                + self.multiplier * i128::from(global - local) / i128::from(local),
            shift: self.shift,
        })
    }

    /// Length of a span of `ticks`, ns, rounded up.
    pub fn span_ns(&self, ticks: u64) -> i64 {
        let ticks = i128::from(ticks.min(1 << 62));
        let up = (1i128 << self.shift) - 1;
        i64::try_from((ticks * self.multiplier + up) >> self.shift).unwrap_or(i64::MAX)
    }

    /// Number of ticks in a span of `ns`, rounded down.
    pub fn span_ticks(&self, ns: u64) -> u64 {
        let ns = i128::from(ns.min(1 << 62));
        // Damaged anchors can be so far apart in ticks that the multiplier is 0.
        let ticks = (ns << self.shift) / self.multiplier.max(1);
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }
}

/// A line with at most two ns per tick and an origin close to the start, as in undamaged files.
#[derive(Debug, Clone, Copy)]
pub struct ShortLine {
    /// ns at tick 0 and half a ns more, times 2^61.
    at_zero: i128,
    /// ns per tick, times 2^61; below 2^63.
    multiplier: i64,
}

impl ShortLine {
    const SHIFT: u32 = 61;
    const FAR: u64 = 1 << 61;

    /// Whether ticks can be converted.
    #[inline]
    pub fn is_near(ticks: u64) -> bool {
        ticks < Self::FAR
    }

    /// ns at `ticks`, rounded to the nearest.
    #[inline]
    pub fn ns(&self, ticks: u64) -> i64 {
        let scaled = i128::from(ticks as i64) * i128::from(self.multiplier) + self.at_zero;
        (scaled >> Self::SHIFT) as i64
    }
}

/// Most anchors that are tried as the begin of the best line, and most as its end. Undamaged clocks
/// have about as many as the logarithm of the number of anchors; a malicious file could have any
/// number.
const MAX_ANCHORS_TRIED: usize = 256;

/// The line through the pair of anchors with the least bound on the error of its rate, and that
/// bound in ppm; `None` if no pair gives a rate.
pub fn best_line(mut anchors: Vec<Anchor>) -> Option<(TickScale, f64)> {
    anchors.sort_by_key(|anchor| (anchor.ticks.get(), anchor.raw_ns.get()));
    // The best pair begins at an anchor narrower than all before it, or an earlier one would be
    // better in both respects; and it ends at an anchor narrower than all after it. So few pairs
    // are left to try.
    let width = |anchor: &Anchor| anchor.width_ticks.get();
    let mut narrowest = u64::MAX;
    let mut begins = Vec::new();
    for anchor in &anchors {
        if width(anchor) < narrowest {
            narrowest = width(anchor);
            begins.push(*anchor);
        }
    }
    narrowest = u64::MAX;
    let mut ends = Vec::new();
    for anchor in anchors.iter().rev() {
        if width(anchor) < narrowest {
            narrowest = width(anchor);
            ends.push(*anchor);
        }
    }
    for narrowest_last in [&mut begins, &mut ends] {
        let n_others = narrowest_last.len().saturating_sub(MAX_ANCHORS_TRIED);
        narrowest_last.drain(..n_others);
    }
    let mut best: Option<(TickScale, f64)> = None;
    for a in &begins {
        for b in &ends {
            let Some(line) = TickScale::through(a, b) else {
                continue;
            };
            let ticks = (b.ticks.get() - a.ticks.get()) as f64;
            // At least one ns per reading: the resolution of the clock on the other side.
            let reading = (width(a) as f64 + width(b) as f64) / 2.0;
            let unit = 2f64.powi(line.shift as i32) / line.multiplier as f64;
            let error_ppm = 1e6 * reading.max(unit) / ticks;
            if best.is_none_or(|(_, least)| error_ppm < least) {
                best = Some((line, error_ppm));
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anchor(ticks: u64, raw_ns: u64, width: u64) -> Anchor {
        [ticks, raw_ns, raw_ns, raw_ns, width].into()
    }

    #[test]
    fn ticks_scale_by_the_longest_and_narrowest_pair_of_anchors() {
        // 2.5 ticks per ns; a wide reading far away and a wrong one in between.
        let anchors = vec![
            anchor(1_000, 500, 10),
            anchor(2_501_000, 1_000_500 + 400, 5_000_000),
            anchor(25_001_000, 10_000_500, 10),
            anchor(25_001_001, 10_900_500, 30_000_000),
        ];
        let (line, error_ppm) = best_line(anchors).unwrap();
        assert_eq!(line.ns(1_000), 500);
        assert_eq!(line.ns(25_001_000), 10_000_500);
        assert_eq!(line.ns(1_000 + 2_500), 1_500);
        assert!((error_ppm - 0.4).abs() < 1e-9, "{error_ppm}");
    }

    #[test]
    fn ticks_further_off_than_integers_reach_are_as_far_as_can_be() {
        let line = TickScale::through(&anchor(77, 5_000, 1), &anchor(3_000_077, 1_234_567, 1));
        let line = TickScale {
            origin_ticks: 1 << 62,
            ..line.unwrap()
        };
        assert_eq!(line.ns(i64::MIN), i64::MIN / 4);
        assert_eq!(line.ns(i64::MIN + 1), i64::MIN / 4);
    }

    #[test]
    fn a_short_line_is_the_same_line() {
        let slow = TickScale::through(&anchor(77, 5_000, 1), &anchor(3_000_077, 1_234_567, 1));
        let far = TickScale {
            origin_ns: i64::MAX / 4 - 7,
            origin_ticks: 1 << 60,
            ..slow.unwrap()
        };
        let fast = TickScale {
            multiplier: (1 << 60) + 12_345_678_901,
            ..TickScale::NANOSECONDS
        };
        for line in [slow.unwrap(), far, fast, TickScale::NANOSECONDS] {
            let start_ns = 1_000_000_007;
            let short = line.short(start_ns).unwrap();
            let near = (0..62).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 3]);
            for ticks in near.chain(1 << 60..(1 << 60) + 500) {
                if ShortLine::is_near(ticks) && line.ns(ticks as i64) < i64::MAX / 4 {
                    assert_eq!(short.ns(ticks), line.ns(ticks as i64) - start_ns, "{ticks}");
                }
            }
        }
        // A tick of a microsecond, and an origin that no clock has.
        assert!(TickScale { shift: 40, ..fast }.short(0).is_none());
        let origin_ticks = -1;
        assert!(
            TickScale {
                origin_ticks,
                ..fast
            }
            .short(0)
            .is_none()
        );
    }

    #[test]
    fn a_day_of_ticks_loses_no_nanosecond() {
        // 2.596 GHz over a day, from a tick count beyond the integers of f64.
        let t0 = 1u64 << 60;
        let per_day = 86_400u64 * 2_596_000_000;
        let (line, _) = best_line(vec![
            anchor(t0, 7, 1),
            anchor(t0 + per_day, 7 + 86_400_000_000_000, 1),
        ])
        .unwrap();
        for second in [0u64, 1, 43_200, 86_399, 86_400] {
            let ticks = (t0 + second * 2_596_000_000) as i64;
            assert_eq!(line.ns(ticks), 7 + second as i64 * 1_000_000_000);
        }
        assert_eq!(line.span_ns(26), 11);
        assert_eq!(line.span_ticks(86_400_000_000_000).abs_diff(per_day), 0);
    }

    #[test]
    fn anchors_made_to_be_tried_with_one_another_are_not_all_tried() {
        // First narrower and narrower, then wider and wider: any pair could be the best.
        let n = 100_000u64;
        let anchors = (1..=2 * n).map(|i| anchor(1000 * i, 500 * i, n.abs_diff(i)));
        let (line, _) = best_line(anchors.collect()).unwrap();
        assert_eq!(line.span_ns(2_000_000), 1_000_000);
    }

    #[test]
    fn anchors_that_go_backwards_or_are_alone_give_no_rate() {
        assert!(best_line(vec![]).is_none());
        assert!(best_line(vec![anchor(5, 5, 1)]).is_none());
        assert!(best_line(vec![anchor(5, 9, 1), anchor(6, 2, 1)]).is_none());
    }
}
