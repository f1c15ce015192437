//! The correction of a clock between the instants at which its offset is known.
//!
//! # Source
//! Denis et al. 2022, section 4.2, for the interpolation.

use super::AlignmentMethod;
use super::exchange::Knot;

/// Intensity of the random walk of a clock's frequency, ns^2 per ns^3: 1e-16 s^2/s^3, that of a
/// good server's crystal.
const WANDER: f64 = 1e-16 * 1e-9;
/// Standard deviation of the difference of the rates of two clocks if it was not measured: 100 ppm.
const UNKNOWN_DRIFT: f64 = 1e-4;
/// Largest difference of the rates of two clocks: no kernel changes the rate of a clock by more
/// than 500 ppm, and crystals are better.
const LARGEST_DRIFT: f64 = 5e-4;

/// Offset of one host's clock against that of the first host of its group: straight lines from knot
/// to knot, extrapolated at both ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Correction {
    /// Ascending in time, at least one.
    pub knots: Vec<Knot>,
}

impl Correction {
    /// Correction through the offsets of bursts, at least one.
    pub fn through(knots: &[Knot], method: AlignmentMethod) -> Self {
        let (first, last) = (knots[0], knots[knots.len() - 1]);
        let knots = match method {
            AlignmentMethod::Offset => vec![first],
            AlignmentMethod::TwoPoint if knots.len() > 1 => vec![first, last],
            _ => knots.to_vec(),
        };
        Self { knots }
    }

    /// The straight line from the first knot to the last.
    pub fn straight(&self) -> Self {
        Self::through(&self.knots, AlignmentMethod::TwoPoint)
    }

    /// Time of the clock at an instant of the reference, ns.
    pub fn local_ns(&self, reference_ns: i64) -> i64 {
        // The offset changes by parts per million, so each step is closer by that factor.
        (0..5).fold(reference_ns, |local, _| {
            reference_ns.saturating_add(self.at(local).offset_ns)
        })
    }

    /// Time of the reference at an instant of the clock, ns.
    pub fn reference_ns(&self, local_ns: i64) -> i64 {
        local_ns.saturating_sub(self.at(local_ns).offset_ns)
    }

    /// Offset, standard deviation and bound at an instant of the local clock.
    #[must_use]
    pub fn at(&self, at_ns: i64) -> Knot {
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
        Knot {
            at_ns,
            offset_ns: only.offset_ns,
            sd_ns: only.sd_ns.hypot(UNKNOWN_DRIFT * away),
            bound_ns: only
                .bound_ns
                .saturating_add((LARGEST_DRIFT * away).ceil() as i64),
        }
    }

    /// This correction to a host, followed by that of the host to its reference.
    pub fn then(&self, beyond: &Self) -> Self {
        let own = self.knots.iter().map(|knot| knot.at_ns);
        // Knots of the next hop, on this clock. The offset changes by parts per million, so the one
        // at about that time is accurate enough.
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
    pub fn drift_ppm(&self) -> Option<f64> {
        let (first, last) = (self.knots.first()?, self.knots.last()?);
        let ns = last.at_ns as f64 - first.at_ns as f64;
        (ns > 0.0).then(|| 1e6 * (last.offset_ns as f64 - first.offset_ns as f64) / ns)
    }
}

/// Knot at `at_ns` on the line through two bursts.
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
    let wandered = if from_a >= 0.0 && to_b >= 0.0 {
        WANDER * (from_a * to_b).powi(2) / (3.0 * length)
    } else {
        WANDER * from_a.abs().min(to_b.abs()).powi(3) / 3.0
    };
    let bound = weight_a.abs() * a.bound_ns as f64 + weight_b.abs() * b.bound_ns as f64;
    Knot {
        at_ns,
        offset_ns,
        sd_ns: measured.hypot(wandered.sqrt()),
        bound_ns: (bound + 3.0 * wandered.sqrt()).ceil() as i64,
    }
}
