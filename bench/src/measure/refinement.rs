//! Which lengths to measure next, so that lines between the points follow the cost.
//!
//! # Source
//! Reussner et al. 1999, section 3.2: a geometric start, then the segment whose time is predicted
//! worst by the segments beside it is divided at the geometric mean of its ends.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};

use serde::{Deserialize, Serialize};

/// How lengths are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rule {
    /// Ratio of neighbouring lengths at the start, > 1.
    pub factor: f64,
    /// Segments with a smaller error are not divided.
    pub error: f64,
    /// At most this many points.
    pub most: usize,
}

impl Default for Rule {
    fn default() -> Self {
        Self {
            factor: 2.0,
            error: 0.05,
            most: 64,
        }
    }
}

/// The lengths of one operation: those measured, and the order of those to measure.
#[derive(Debug, Clone)]
pub struct Refinement {
    rule: Rule,
    /// All lengths are multiples of this.
    multiple: u64,
    /// Lengths of the start that are not measured yet, descending.
    start: Vec<u64>,
    /// Measured, by length.
    times: BTreeMap<u64, Measured>,
    /// Whether `segments` has all segments: from the end of the start on.
    is_queued: bool,
    segments: BinaryHeap<Segment>,
}

/// The time of a length, ns.
#[derive(Debug, Clone, Copy)]
struct Measured {
    time: f64,
    /// How far it may be wrong.
    error: f64,
}

/// Two neighbouring lengths, with the error of not dividing them when they were put in the queue.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Segment {
    error: f64,
    from: u64,
    to: u64,
}

impl Eq for Segment {}

impl PartialOrd for Segment {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Segment {
    /// By error; of equal errors the shorter length is the greater segment.
    fn cmp(&self, other: &Self) -> Ordering {
        self.error
            .total_cmp(&other.error)
            .then(other.from.cmp(&self.from))
            .then(other.to.cmp(&self.to))
    }
}

impl Refinement {
    /// For lengths from `least` to `greatest`, bytes, all multiples of `multiple` > 0.
    #[must_use]
    pub fn new(least: u64, greatest: u64, multiple: u64, rule: Rule) -> Self {
        let mut start: Vec<u64> = geometric(least, greatest, rule.factor)
            .map(|length| round_to(length as f64, multiple).clamp(least, greatest))
            .collect();
        start.dedup();
        start.reverse();
        Self {
            rule,
            multiple,
            start,
            times: BTreeMap::new(),
            is_queued: false,
            segments: BinaryHeap::new(),
        }
    }

    /// The next length to measure, bytes; `None` if there is none that lowers an error which is too
    /// large, or if enough were measured.
    pub fn next_length(&mut self) -> Option<u64> {
        if self.times.len() >= self.rule.most {
            return None;
        }
        if let Some(length) = self.start.pop() {
            return Some(length);
        }
        if !self.is_queued {
            self.is_queued = true;
            let lengths: Vec<u64> = self.times.keys().copied().collect();
            for pair in lengths.windows(2) {
                self.put(pair[0], pair[1]);
            }
        }
        while let Some(segment) = self.segments.pop() {
            if self.error(segment.from, segment.to) != Some(segment.error) {
                // Divided since, or a point beside it is new, for which it was put in again.
                continue;
            }
            if segment.error < self.rule.error {
                return None;
            }
            let middle = (segment.from as f64 * segment.to as f64).sqrt();
            let length = round_to(middle, self.multiple);
            if segment.from < length && length < segment.to {
                return Some(length);
            }
        }
        None
    }

    /// Whether the points of the start are measured, and segments are divided.
    #[must_use]
    pub fn is_refining(&self) -> bool {
        self.is_queued
    }

    /// Adds the time of a length, and how far it may be wrong, ns. A length that cannot be measured
    /// is left out.
    pub fn add(&mut self, length: u64, time_ns: f64, error_ns: f64) {
        let measured = Measured {
            time: time_ns,
            error: error_ns,
        };
        self.times.insert(length, measured);
        if !self.is_queued {
            return;
        }
        // The two new segments, and those beside them, whose predictions change.
        let below = self.times.range(..length).rev().take(2);
        let above = self.times.range(length + 1..).take(2);
        let mut around: Vec<u64> = below.chain(above).map(|(&length, _)| length).collect();
        around.push(length);
        around.sort_unstable();
        for pair in around.windows(2) {
            self.put(pair[0], pair[1]);
        }
    }

    /// The points measured so far: length in bytes and time in ns, ascending.
    pub fn points(&self) -> impl Iterator<Item = (u64, f64)> {
        self.times
            .iter()
            .map(|(&length, measured)| (length, measured.time))
    }

    fn put(&mut self, from: u64, to: u64) {
        if let Some(error) = self.error(from, to) {
            self.segments.push(Segment { error, from, to });
        }
    }

    /// The error of not dividing the segment (b, c), whose neighbours are a and d:
    /// min(|d1| / t_b, |d2| / t_c, (c - b) / b). d1 is the distance of t_b from the line through c
    /// and d, d2 that of t_c from the line through a and b, each less what the errors of the three
    /// times explain (which the paper does not subtract). `None` if b and c are not neighbours.
    fn error(&self, from: u64, to: u64) -> Option<f64> {
        let (_, b) = self.times.range(from..=from).next()?;
        let (&next, c) = self.times.range(from + 1..).next()?;
        if next != to {
            return None;
        }
        let before = self.times.range(..from).next_back();
        let after = self.times.range(to + 1..).next();
        let by_before = before.map(|a| distance((to, c), (from, b), a) / c.time);
        let by_after = after.map(|d| distance((from, b), (to, c), d) / b.time);
        let by_length = (to - from) as f64 / from.max(1) as f64;
        let errors = [by_before, by_after, Some(by_length)].into_iter().flatten();
        errors.min_by(f64::total_cmp)
    }
}

/// Distance of a point from the line through two others, less what the errors of all three explain,
/// ns.
fn distance(point: (u64, &Measured), near: (u64, &Measured), far: (&u64, &Measured)) -> f64 {
    let [x, x1, x2] = [point.0, near.0, *far.0].map(|length| length as f64);
    let part = (x - x1) / (x2 - x1);
    let line = near.1.time + (far.1.time - near.1.time) * part;
    let explained = point.1.error + near.1.error * (1.0 - part).abs() + far.1.error * part.abs();
    ((point.1.time - line).abs() - explained).max(0.0)
}

/// `least`, `least` times `factor`, and so on below `greatest`, and `greatest`; rounded to bytes.
pub fn geometric(least: u64, greatest: u64, factor: f64) -> impl Iterator<Item = u64> {
    let first = least.max(1) as f64;
    let powers = std::iter::successors(Some(first), move |length| Some(length * factor));
    let below = powers
        .map(|length| length.round() as u64)
        .take_while(move |&length| length < greatest);
    // Of a range from 0, 0 comes before 1.
    let zero = (least == 0 && greatest > 0).then_some(0);
    zero.into_iter().chain(below).chain([greatest])
}

fn round_to(length: f64, multiple: u64) -> u64 {
    (length / multiple as f64).round() as u64 * multiple
}

#[cfg(test)]
mod tests {
    use collbench_stats::random::Random;

    use super::*;

    const LEAST: u64 = 8;
    const GREATEST: u64 = 1 << 20;

    fn refined(rule: Rule, mut cost: impl FnMut(u64) -> f64) -> Refinement {
        let mut refinement = Refinement::new(LEAST, GREATEST, 1, rule);
        while let Some(length) = refinement.next_length() {
            let time = cost(length);
            refinement.add(length, time, 0.0);
        }
        refinement
    }

    /// Latency and bandwidth, and from `switch` on another protocol, which is slower by a fifth.
    fn with_switch(switch: u64) -> impl Fn(u64) -> f64 + Copy {
        move |length| {
            let factor = if length >= switch { 1.2 } else { 1.0 };
            factor * (3_000.0 + length as f64 / 2.0)
        }
    }

    /// Largest difference of the line between neighbouring points from the cost, over the cost.
    fn worst(points: &[(u64, f64)], cost: impl Fn(u64) -> f64) -> f64 {
        let mut worst = 0f64;
        for length in geometric(LEAST, GREATEST, 1.01) {
            let i = points
                .partition_point(|(x, _)| *x <= length)
                .clamp(1, points.len() - 1);
            let ((a, t_a), (b, t_b)) = (points[i - 1], points[i]);
            let line = t_a + (t_b - t_a) * (length as f64 - a as f64) / (b as f64 - a as f64);
            worst = worst.max((line - cost(length)).abs() / cost(length));
        }
        worst
    }

    #[test]
    fn a_switch_of_protocol_between_grid_points_is_found_within_ten_percent() {
        // A grid finds it as well whatever its place only if its ratio is 1.1.
        let grid = geometric(LEAST, GREATEST, 1.1).count();
        for switch in [100, 1_025, 4_097, 12_289, 70_000, 300_001] {
            let points = refined(Rule::default(), with_switch(switch));
            let points: Vec<u64> = points.points().map(|(length, _)| length).collect();
            let i = points.partition_point(|length| *length < switch);
            let (below, above) = (points[i - 1], points[i]);
            assert!(
                above as f64 <= 1.1 * below as f64,
                "{switch}: {below} {above}"
            );
            assert!(
                2 * points.len() <= grid,
                "{switch}: {} and {grid}",
                points.len()
            );
        }
    }

    #[test]
    fn half_the_points_of_the_sparsest_grid_with_the_same_error_are_enough() {
        for switch in [1_025, 12_289, 70_000] {
            let cost = |length: u64| {
                let jump = if length >= switch { 9_000.0 } else { 0.0 };
                // Steep at the switch over a fifth of its length, so that a grid can follow it.
                let part =
                    ((length as f64 - switch as f64) / (0.2 * switch as f64)).clamp(-1.0, 0.0);
                let ramp = if length < switch {
                    9_000.0 * (1.0 + part)
                } else {
                    jump
                };
                3_000.0 + length as f64 / 2.0 + ramp
            };
            let points: Vec<(u64, f64)> = refined(Rule::default(), cost).points().collect();
            let error = worst(&points, cost);
            let grid = (1..800)
                .map(|i| 2.0 - f64::from(i) * 0.00125)
                .find_map(|factor| {
                    let grid: Vec<_> = geometric(LEAST, GREATEST, factor)
                        .map(|x| (x, cost(x)))
                        .collect();
                    (worst(&grid, cost) <= error).then_some(grid.len())
                });
            let grid = grid.unwrap_or(usize::MAX);
            assert!(
                2 * points.len() <= grid,
                "{switch}: {} and {grid}",
                points.len()
            );
        }
    }

    #[test]
    fn a_straight_line_needs_no_more_than_the_start_even_with_some_noise() {
        let mut random = Random::from_state(8);
        let exact = refined(Rule::default(), |m| 3_000.0 + m as f64 / 2.0);
        assert_eq!(exact.points().count(), 18);
        let noisy = refined(Rule::default(), |m| {
            (3_000.0 + m as f64 / 2.0) * random.uniform_real(0.995, 1.005)
        });
        assert!(noisy.points().count() <= 22, "{}", noisy.points().count());
    }

    #[test]
    fn what_the_errors_of_the_times_explain_is_not_refined_and_what_they_do_not_is() {
        let points_with = |error: f64| {
            let mut random = Random::from_state(8);
            let mut refinement = Refinement::new(LEAST, GREATEST, 1, Rule::default());
            while let Some(length) = refinement.next_length() {
                let time = with_switch(300_000)(length) * random.uniform_real(0.95, 1.05);
                refinement.add(length, time, error * time);
            }
            let lengths: Vec<u64> = refinement.points().map(|(length, _)| length).collect();
            lengths
        };
        let known = points_with(0.05);
        assert!(known.len() <= 22, "{}", known.len());
        assert!(points_with(0.0).len() > known.len() + 5);
        // A switch that is larger than the errors is found all the same.
        let mut refinement = Refinement::new(LEAST, GREATEST, 1, Rule::default());
        while let Some(length) = refinement.next_length() {
            let time = if length < 3_000 { 1_000.0 } else { 4_000.0 };
            refinement.add(length, time, 0.05 * time);
        }
        let lengths: Vec<u64> = refinement.points().map(|(length, _)| length).collect();
        let i = lengths.partition_point(|length| *length < 3_000);
        assert!(
            lengths[i] as f64 <= 1.1 * lengths[i - 1] as f64,
            "{lengths:?}"
        );
    }

    #[test]
    fn the_number_of_points_is_bounded_and_each_is_measured_once() {
        let mut random = Random::from_state(1);
        let rule = Rule {
            most: 30,
            ..Rule::default()
        };
        let mut measured = Vec::new();
        let wild = refined(rule, |m| {
            measured.push(m);
            random.uniform_real(1e3, 1e6)
        });
        assert_eq!(wild.points().count(), 30);
        let n = measured.len();
        measured.sort_unstable();
        measured.dedup();
        assert_eq!(measured.len(), n);
    }

    #[test]
    fn lengths_are_multiples_and_within_the_range() {
        let mut refinement = Refinement::new(8, 4_000, 8, Rule::default());
        while let Some(length) = refinement.next_length() {
            assert!(length % 8 == 0 && (8..=4_000).contains(&length), "{length}");
            let jump = if length > 700 { 50.0 } else { 1.0 };
            refinement.add(length, jump * 1_000.0, 0.0);
        }
        let one = Refinement::new(64, 64, 1, Rule::default()).next_length();
        assert_eq!(one, Some(64));
        let from_zero: Vec<u64> = geometric(0, 9, 2.0).collect();
        assert_eq!(from_zero, [0, 1, 2, 4, 8, 9]);
    }

    #[test]
    fn the_queue_gives_the_segment_that_a_search_of_all_finds() {
        let cost = with_switch(5_000);
        let mut refinement = Refinement::new(LEAST, GREATEST, 1, Rule::default());
        while let Some(length) = refinement.next_length() {
            if refinement.times.len() > 18 {
                let lengths: Vec<u64> = refinement.times.keys().copied().collect();
                let pairs = lengths.windows(2);
                let worst = pairs.max_by(|p, q| {
                    let error = |pair: &[u64]| refinement.error(pair[0], pair[1]).unwrap();
                    error(p).total_cmp(&error(q)).then(q[0].cmp(&p[0]))
                });
                let worst = worst.unwrap();
                assert!(worst[0] < length && length < worst[1]);
            }
            refinement.add(length, cost(length), 0.0);
        }
    }
}
