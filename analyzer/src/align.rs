//! Offsets between the clocks of hosts, from the exchanges that were recorded.
//!
//! An exchange has four stamps: t1 (send) and t4 (receive) at the reference, t2 (receive) and t3
//! (send) at the local host. `rtt = (t4 - t1) - (t3 - t2)`, `offset = ((t2 - t1) + (t3 - t4)) / 2`,
//! offset = local - reference. Of each burst the exchange with the smallest rtt counts. Between two
//! bursts the offset is interpolated, outside it goes on along the nearest two.
//!
//! Hosts that were not measured against the reference itself are reached over others; the error
//! bounds of the hops add, their variances too. Hosts that no exchange connects stay apart: each
//! such group has a time of its own, and its stamps are compared within it only.
//!
//! **Error.** The bound of a burst is half its smallest round trip, which nothing but a faster path
//! can break. The standard deviation has three parts: asymmetry of the path, 5 % of half the round
//! trip; queueing, half of what the better tenth of the exchanges took longer than the best; and
//! between bursts the wander of a clock with random-walk frequency. Asymmetry cannot be seen from
//! two hosts, so that part is an assumption.
//!
//! # Source
//! Hoefler et al. 2007, section 3, for the exchange; Denis et al. 2022, section 4.2, for the
//! interpolation.

use std::collections::{BTreeMap, VecDeque};

/// Part of half the round trip by which the two ways differ, one standard deviation.
const ASYMMETRY: f64 = 0.05;
/// Intensity of the random walk of a clock's frequency, ns^2 per ns^3: 1e-16 s^2/s^3, that of a
/// good server's crystal.
const WANDER: f64 = 1e-16 * 1e-9;
/// By how much the rates of two clocks may differ where nobody measured it: 100 ppm.
const UNKNOWN_DRIFT: f64 = 1e-4;

/// One burst of exchanges between two hosts, on the clocks of both, ns.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Burst {
    /// Index of the host whose clock is `local`.
    pub(crate) local_host: usize,
    /// Index of the host whose clock is the reference.
    pub(crate) reference_host: usize,
    /// t1, t2, t3, t4 of each exchange.
    pub(crate) stamps: Vec<[i64; 4]>,
}

/// What is known of the offset at one instant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Knot {
    /// On the local clock, ns.
    pub(crate) at_ns: i64,
    /// Local minus reference, ns.
    pub(crate) offset_ns: i64,
    /// Standard deviation of that, ns.
    sd_ns: f64,
    /// What its error cannot exceed, ns.
    bound_ns: i64,
}

/// The clock of one host against that of the first host of its group.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Correction {
    /// Ascending in time, at least one.
    pub(crate) knots: Vec<Knot>,
}

/// The clocks of all hosts, in groups that share a time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Alignment {
    /// By host: the number of its group.
    pub(crate) group_of: Vec<usize>,
    /// By host; `None` for the first host of a group, which is its reference.
    pub(crate) corrections: Vec<Option<Correction>>,
}

impl Alignment {
    /// Aligns `n_hosts` hosts by all bursts that were recorded.
    #[must_use]
    pub(crate) fn of(n_hosts: usize, bursts: &[Burst]) -> Self {
        let mut edges: BTreeMap<(usize, usize), Vec<Knot>> = BTreeMap::new();
        for burst in bursts {
            let (local, reference) = (burst.local_host, burst.reference_host);
            if local != reference
                && let Some(knot) = knot(&burst.stamps)
            {
                edges.entry((local, reference)).or_default().push(knot);
                edges
                    .entry((reference, local))
                    .or_default()
                    .push(knot.reversed());
            }
        }
        for knots in edges.values_mut() {
            knots.sort_by_key(|knot| (knot.at_ns, knot.offset_ns));
            knots.dedup_by_key(|knot| knot.at_ns);
        }
        let mut alignment = Self {
            group_of: vec![usize::MAX; n_hosts],
            corrections: vec![None; n_hosts],
        };
        let mut n_groups = 0;
        for first in 0..n_hosts {
            if alignment.group_of[first] == usize::MAX {
                alignment.reach_from(first, n_groups, &edges);
                n_groups += 1;
            }
        }
        alignment
    }

    /// Goes from the reference of a group to all hosts that exchanges connect with it, over as few
    /// hops as possible.
    fn reach_from(
        &mut self,
        first: usize,
        group: usize,
        edges: &BTreeMap<(usize, usize), Vec<Knot>>,
    ) {
        self.group_of[first] = group;
        let mut reached = VecDeque::from([first]);
        while let Some(parent) = reached.pop_front() {
            for local in 0..self.group_of.len() {
                if self.group_of[local] != usize::MAX {
                    continue;
                }
                if let Some(knots) = edges.get(&(local, parent)) {
                    let hop = Correction {
                        knots: knots.clone(),
                    };
                    self.corrections[local] = Some(match &self.corrections[parent] {
                        None => hop,
                        Some(beyond) => hop.then(beyond),
                    });
                    self.group_of[local] = group;
                    reached.push_back(local);
                }
            }
        }
    }

    /// Whether hosts without common time are left.
    #[must_use]
    pub(crate) fn n_groups(&self) -> usize {
        self.group_of.iter().max().map_or(0, |last| last + 1)
    }
}

/// The offset by the exchange with the smallest round trip; `None` without a possible one.
fn knot(stamps: &[[i64; 4]]) -> Option<Knot> {
    let mut exchanges: Vec<(i64, i64, i64)> = stamps
        .iter()
        .filter_map(|&[t1, t2, t3, t4]| {
            let (there, back) = (t4.checked_sub(t1)?, t3.checked_sub(t2)?);
            let rtt_ns = there.checked_sub(back)?;
            let twice = t2.checked_sub(t1)?.checked_add(t3.checked_sub(t4)?)?;
            let at_ns = t2 + back / 2;
            (back >= 0 && rtt_ns >= 0).then_some((rtt_ns, at_ns, twice.div_euclid(2)))
        })
        .collect();
    exchanges.sort_unstable();
    let &(rtt_ns, at_ns, offset_ns) = exchanges.first()?;
    // Half a round trip is all that a single exchange says.
    let queueing_ns = match exchanges.len() {
        1 => rtt_ns as f64 / 2.0,
        n => (exchanges[(n / 10).max(1)].0 - rtt_ns) as f64 / 2.0,
    };
    let asymmetry_ns = ASYMMETRY * rtt_ns as f64 / 2.0;
    Some(Knot {
        at_ns,
        offset_ns,
        sd_ns: asymmetry_ns.hypot(queueing_ns),
        bound_ns: rtt_ns / 2 + 1,
    })
}

impl Knot {
    /// The same for the other of the two hosts.
    fn reversed(self) -> Self {
        Self {
            at_ns: self.at_ns.saturating_sub(self.offset_ns),
            offset_ns: self.offset_ns.saturating_neg(),
            ..self
        }
    }
}

impl Correction {
    /// Offset, standard deviation and bound at an instant of the local clock.
    #[must_use]
    pub(crate) fn at(&self, at_ns: i64) -> Knot {
        let behind = self.knots.partition_point(|knot| knot.at_ns <= at_ns);
        let n = self.knots.len();
        let [only] = self.knots[..] else {
            let (a, b) = match behind {
                0 => (&self.knots[0], &self.knots[1]),
                _ if behind == n => (&self.knots[n - 2], &self.knots[n - 1]),
                _ => (&self.knots[behind - 1], &self.knots[behind]),
            };
            return between(a, b, at_ns);
        };
        let away = (at_ns as f64 - only.at_ns as f64).abs();
        let drifted = UNKNOWN_DRIFT * away;
        Knot {
            at_ns,
            offset_ns: only.offset_ns,
            sd_ns: only.sd_ns.hypot(drifted),
            bound_ns: only.bound_ns.saturating_add(drifted.ceil() as i64),
        }
    }

    /// This correction to a host, and then that of the host to its reference.
    fn then(&self, beyond: &Self) -> Self {
        let own = self.knots.iter().map(|knot| knot.at_ns);
        // Where the line of the next hop bends, on this clock. The offset changes by parts per
        // million, so that the one at about that time will do.
        let next = beyond.knots.iter().map(|knot| {
            let about = knot.at_ns.saturating_add(self.at(knot.at_ns).offset_ns);
            knot.at_ns.saturating_add(self.at(about).offset_ns)
        });
        let mut times: Vec<i64> = own.chain(next).collect();
        times.sort_unstable();
        times.dedup();
        let sum = |at_ns: i64| {
            let hop = self.at(at_ns);
            let rest = beyond.at(at_ns.saturating_sub(hop.offset_ns));
            Knot {
                at_ns,
                offset_ns: hop.offset_ns.saturating_add(rest.offset_ns),
                sd_ns: hop.sd_ns.hypot(rest.sd_ns),
                bound_ns: hop.bound_ns.saturating_add(rest.bound_ns),
            }
        };
        Self {
            knots: times.into_iter().map(sum).collect(),
        }
    }

    /// Slope of the offset from the first to the last burst, ppm; `None` with one burst.
    #[must_use]
    pub(crate) fn drift_ppm(&self) -> Option<f64> {
        let (first, last) = (self.knots.first()?, self.knots.last()?);
        let ns = last.at_ns as f64 - first.at_ns as f64;
        (ns > 0.0).then(|| 1e6 * (last.offset_ns as f64 - first.offset_ns as f64) / ns)
    }

    /// The greatest two standard deviations, and the greatest bound, from `begin` to `end` on the
    /// local clock, ns.
    #[must_use]
    pub(crate) fn worst(&self, begin_ns: i64, end_ns: i64) -> (i64, i64) {
        const STEPS: i64 = 256;
        let step = (end_ns.saturating_sub(begin_ns) / STEPS).max(1);
        let grid = (0..=STEPS).map(|i| begin_ns.saturating_add(i.saturating_mul(step)).min(end_ns));
        grid.map(|at_ns| self.at(at_ns)).fold((0, 0), |worst, at| {
            let uncertainty_ns = (2.0 * at.sd_ns).ceil() as i64;
            (worst.0.max(uncertainty_ns), worst.1.max(at.bound_ns))
        })
    }
}

/// On the line through two bursts.
fn between(a: &Knot, b: &Knot, at_ns: i64) -> Knot {
    let (from_a, to_b) = (at_ns as f64 - a.at_ns as f64, b.at_ns as f64 - at_ns as f64);
    let length = b.at_ns as f64 - a.at_ns as f64;
    let change = i128::from(b.offset_ns) - i128::from(a.offset_ns);
    let part = i128::from(at_ns) - i128::from(a.at_ns);
    let moved = change * part / (i128::from(b.at_ns) - i128::from(a.at_ns)).max(1);
    let offset_ns = (i128::from(a.offset_ns) + moved).clamp(-(1 << 62), 1 << 62) as i64;
    // Outside of the two one weight is above 1 and the other below 0: errors grow.
    let (weight_a, weight_b) = (to_b / length, from_a / length);
    let measured = (weight_a * a.sd_ns).hypot(weight_b * b.sd_ns);
    let wandered = match from_a >= 0.0 && to_b >= 0.0 {
        true => WANDER * (from_a * to_b).powi(2) / (3.0 * length),
        false => WANDER * from_a.abs().min(to_b.abs()).powi(3) / 3.0,
    };
    let bound = weight_a.abs() * a.bound_ns as f64 + weight_b.abs() * b.bound_ns as f64;
    Knot {
        at_ns,
        offset_ns,
        sd_ns: measured.hypot(wandered.sqrt()),
        bound_ns: (bound + 3.0 * wandered.sqrt()).ceil() as i64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A burst whose best exchange took 2 * `way_ns`, at `at_ns` of the local clock.
    fn burst(hosts: (usize, usize), at_ns: i64, offset_ns: i64, way_ns: i64) -> Burst {
        let exchange = |i: i64| {
            let t2 = at_ns + 1_000 * i;
            let there = way_ns + 10 * i;
            let t1 = t2 - offset_ns - there;
            [t1, t2, t2 + 30, t2 + 30 - offset_ns + way_ns]
        };
        Burst {
            local_host: hosts.0,
            reference_host: hosts.1,
            stamps: (0..20).map(exchange).collect(),
        }
    }

    #[test]
    fn two_bursts_give_the_offset_at_all_times() {
        // 10 ppm over a second.
        let bursts = [
            burst((1, 0), 5_000, 7_000, 400),
            burst((1, 0), 1_000_005_000, 17_000, 400),
        ];
        let alignment = Alignment::of(2, &bursts);
        assert_eq!(alignment.group_of, [0, 0]);
        let correction = alignment.corrections[1].as_ref().unwrap();
        for (at_ns, offset_ns) in [
            (5_000, 7_000),
            (500_005_000, 12_000),
            (1_000_005_000, 17_000),
        ] {
            assert!(correction.at(at_ns + 15).offset_ns.abs_diff(offset_ns) <= 1);
        }
        assert!((correction.drift_ppm().unwrap() - 10.0).abs() < 1e-6);
        let (uncertainty_ns, bound_ns) = correction.worst(0, 1_000_010_000);
        assert!((400..450).contains(&bound_ns), "{bound_ns}");
        assert!((20..=80).contains(&uncertainty_ns), "{uncertainty_ns}");
    }

    #[test]
    fn hosts_are_reached_over_others_in_either_direction_and_bounds_add() {
        // 1 against 0; 2 measured as the reference of 1; 3 alone.
        let bursts = [
            burst((1, 0), 1_000_000, 500, 100),
            burst((1, 2), 1_000_000, -300, 50),
        ];
        let alignment = Alignment::of(4, &bursts);
        assert_eq!(alignment.group_of, [0, 0, 0, 1]);
        assert_eq!(alignment.n_groups(), 2);
        // local 1 = reference + 500; local 1 = local 2 - 300, so local 2 = reference + 800.
        let at = alignment.corrections[2].as_ref().unwrap().at(1_000_300);
        assert!(at.offset_ns.abs_diff(800) <= 1, "{}", at.offset_ns);
        assert!((152..=156).contains(&at.bound_ns), "{}", at.bound_ns);
    }

    #[test]
    fn impossible_exchanges_are_no_measurement() {
        let stamps = vec![[0, i64::MAX, i64::MIN, 5], [10, 5, 4, 20], [10, 5, 50, 20]];
        let burst = Burst {
            local_host: 1,
            reference_host: 0,
            stamps,
        };
        assert_eq!(Alignment::of(2, &[burst]).n_groups(), 2);
    }

    #[test]
    fn with_one_burst_the_error_grows_with_time() {
        let alignment = Alignment::of(2, &[burst((1, 0), 0, 5, 100)]);
        let correction = alignment.corrections[1].as_ref().unwrap();
        assert_eq!(correction.drift_ppm(), None);
        let (near, far) = (correction.at(1_000), correction.at(1_000_000_000));
        assert!(far.bound_ns >= near.bound_ns + 99_000);
        assert!(far.sd_ns > 50_000.0);
    }
}
