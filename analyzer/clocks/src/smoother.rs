//! The joint robust smoother: estimates one time for all hosts from all measurements and
//! constraints.
//!
//! Each host except the first has an offset `o`, piecewise linear between knots that are evenly
//! spaced in time. Its aligned time is `x - o(x)`, where x is the time by a straight line through
//! its first and last measured offset. A constraint "b on host h cannot happen before a on host k"
//! says `o_h - o_k + p <= x_b - x_a`, with p the shortest time between the two. These shortest
//! times are unknowns too, one for each origin and direction: otherwise the paths of a tree, which
//! are longer in one direction than in the other, would pull clocks apart.
//!
//! In each interval around a knot the tightest constraint of each key is used as an equation with
//! an error: the tightest of many is nearly tight. Constraints that are late by chance get less
//! weight. Each burst of exchanges is an equation `o_h - o_k + a = difference`, with the error that
//! the burst itself shows; a is half the difference between the two directions of the path and is
//! common to all bursts of a pair. The rates of clocks change slowly: `o[j-1] - 2 o[j] + o[j+1]` is
//! normal with variance `q dt^3`, and q is chosen by the evidence (marginal likelihood). No
//! measurement determines how much longer one direction is than the other, so this has a stated
//! prior.
//!
//! # Source
//! A random walk of the frequency as in the filters of NTP and PTP daemons; constraints and their
//! hulls as in Duda 1987; unknown shortest times as in Sirdey and Maurice 2008, whose linear
//! program is replaced by least squares here: with jitter these are more accurate, and they give
//! errors.

use std::ops::Range;

use super::banded::{Bordered, Factored};
use super::constraint::Origin;
use super::knots::{Knots, Start, line_through};
use super::rows::{Evidence, Rows};

/// Intensities of the random walk of the frequency that are tried, s^2/s^3.
const INTENSITIES: [f64; 11] = [
    1e-19, 1e-18, 1e-17, 1e-16, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9,
];
/// The least intensity in the first rounds: with a tighter one true wander would look like
/// outliers.
const FIRST_INTENSITY: usize = 5;
const MAX_ROUNDS: usize = 6;
const MAX_REWEIGHTINGS: usize = 12;
/// The fit has converged if the offsets change by less than this between rounds, ns.
const CONVERGED_NS: f64 = 10.0;
/// The fit has also converged if they change by less than this part of the uncertainty that
/// asymmetry leaves.
const CONVERGED_PART: f64 = 0.1;
/// Prior of the intensity: mean and standard deviation, decades.
const USUAL_DECADE: f64 = -16.0;
const DECADES: f64 = 1.5;
/// Factor on the asymmetry of messages when errors are computed, compared with the fit: a process
/// that is busy in one direction receives all its messages late, which no simulation of idle hosts
/// shows.
const MESSAGES_IN_ERRORS: f64 = 2.0;
/// Standard deviation of the rates of straight lines.
const RATE: f64 = 5e-5;

/// Result of a fit.
#[derive(Debug, Clone)]
pub(crate) struct Smoothed {
    pub(crate) knots: Knots,
    /// By host and knot, ns.
    pub(crate) offsets_ns: Vec<Vec<f64>>,
    /// Intensity of the random walk, s^2/s^3.
    pub(crate) intensity: f64,
    /// Whether the last round changed the offsets by next to nothing.
    pub(crate) has_converged: bool,
    /// Sum of squared residuals divided by the degrees of freedom.
    pub(crate) chi2_by_freedom: f64,
    n_moving: usize,
    factored: Factored,
}

/// State of a fit.
struct Fit {
    n_hosts: usize,
    knots: Knots,
    offsets_ns: Vec<Vec<f64>>,
    rows: Rows,
    intensity: usize,
    /// Factor on the asymmetry of messages.
    of_messages: f64,
}

impl Smoothed {
    /// Smooths the clocks of at least two hosts, the first of which is the reference. `None` if the
    /// evidence does not determine them.
    pub(crate) fn of(
        hosts: &[usize],
        start: &Start,
        evidence: &Evidence,
        knots: Knots,
    ) -> Option<Self> {
        let offsets_ns = start.points.iter().map(|points| {
            (0..knots.n)
                .map(|knot| line_through(points, knots.at(knot)))
                .collect()
        });
        let mut fit = Fit {
            n_hosts: hosts.len(),
            knots,
            offsets_ns: offsets_ns.collect(),
            rows: Rows::default(),
            intensity: FIRST_INTENSITY,
            of_messages: 1.0,
        };
        // First the exchanges alone, which are certain, if not exact. Where the offsets are far
        // off, a constraint that is tight looks like one that is late by chance.
        fit.rows = Rows::of_exchanges(evidence, hosts, knots, &fit.offsets_ns);
        fit.solve_with_weights()?;
        fit.choose_intensity(FIRST_INTENSITY..INTENSITIES.len())?;
        fit.solve_with_weights()?;
        let mut has_converged = false;
        for round in 0..MAX_ROUNDS {
            let before = fit.offsets_ns.clone();
            fit.rows = Rows::of(evidence, hosts, knots, &fit.offsets_ns);
            if round == 0 {
                // Bursts in between follow even a clock that steps; what a straight line cannot
                // follow makes the errors seem large without being wander.
                fit.rows.weigh(&fit.offsets_ns, fit.n_hosts);
                fit.choose_intensity(FIRST_INTENSITY..INTENSITIES.len())?;
            }
            fit.solve_with_weights()?;
            let chosen = fit.intensity;
            let lowest = if round == 0 {
                0
            } else {
                chosen.saturating_sub(1)
            };
            fit.choose_intensity(lowest..(chosen + 2).min(INTENSITIES.len()))?;
            has_converged = fit.is_near(&before);
            if has_converged {
                break;
            }
        }
        fit.solve(&fit.system().factor()?);
        let chi2_by_freedom = fit.chi2_by_freedom();
        fit.rows.weigh_for_errors(fit.n_hosts);
        fit.of_messages = MESSAGES_IN_ERRORS;
        let factored = fit.system().factor()?;
        Some(Self {
            knots,
            intensity: INTENSITIES[fit.intensity],
            offsets_ns: fit.offsets_ns,
            has_converged,
            chi2_by_freedom,
            n_moving: fit.n_hosts - 1,
            factored,
        })
    }

    /// Covariance matrix of the offsets of all hosts except the first at a knot, ns^2.
    pub(crate) fn covariance(&self, knot: usize) -> Vec<Vec<f64>> {
        let mut rows = self
            .factored
            .covariance(knot * self.n_moving, self.n_moving);
        // Between knots the clock may deviate from the line.
        let bend = self.intensity * 1e-9 * self.knots.step_ns.powi(3) / 48.0;
        let inflation = self.chi2_by_freedom.max(1.0);
        for (i, row) in rows.iter_mut().enumerate() {
            row.iter_mut().for_each(|value| *value *= inflation);
            row[i] += bend;
        }
        rows
    }
}

impl Fit {
    /// Solves and updates the weights in turn until the offsets do not change any more.
    fn solve_with_weights(&mut self) -> Option<()> {
        for _ in 0..MAX_REWEIGHTINGS {
            let before = self.offsets_ns.clone();
            self.rows.weigh(&self.offsets_ns, self.n_hosts);
            self.solve(&self.system().factor()?);
            if self.is_near(&before) {
                break;
            }
        }
        Some(())
    }

    /// Whether the offsets are equal to those before, up to the tolerance.
    fn is_near(&self, before: &[Vec<f64>]) -> bool {
        let changes = before
            .iter()
            .flatten()
            .zip(self.offsets_ns.iter().flatten());
        let change = changes.fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()));
        let open_ns = self.rows.asymmetry_ns.iter().flatten();
        let open_ns = open_ns.copied().fold(f64::INFINITY, f64::min);
        let open_ns = if open_ns.is_finite() { open_ns } else { 0.0 };
        change < CONVERGED_NS.max(CONVERGED_PART * open_ns)
    }

    /// Index of the unknown of a host's offset at a knot; `None` for the first host, which has
    /// none.
    fn unknown(&self, host: usize, knot: usize) -> Option<usize> {
        Some(knot * (self.n_hosts - 1) + host.checked_sub(1)?)
    }

    /// The equations with the current weights.
    fn system(&self) -> Bordered {
        let n_moving = self.n_hosts - 1;
        let n = n_moving * self.knots.n;
        let mut system = Bordered::zero(n, 2 * n_moving, self.rows.keys.len());
        for row in &self.rows.all {
            let key = self.rows.keys[row.key];
            let terms = [
                self.unknown(key.to, row.knot).map(|unknown| (unknown, 1.0)),
                self.unknown(key.from, row.knot)
                    .map(|unknown| (unknown, -1.0)),
                Some((n + row.key, 1.0)),
            ];
            let terms: Vec<_> = terms.into_iter().flatten().collect();
            system.add(&terms, row.slack, 1.0 / (row.sigma * row.sigma));
        }
        let weight = 1.0 / self.bend_variance(self.intensity);
        for knot in 1..self.knots.n.saturating_sub(1) {
            for host in 0..n_moving {
                let at = |knot: usize| knot * n_moving + host;
                let bend = [(at(knot - 1), 1.0), (at(knot), -2.0), (at(knot + 1), 1.0)];
                system.add(&bend, 0.0, weight);
            }
        }
        // All steps together have the weight of one with the standard deviation RATE.
        let n_steps = self.knots.n.saturating_sub(1).max(1);
        let rate = RATE * self.knots.step_ns;
        let weight = 1.0 / (rate * rate * n_steps as f64);
        for unknown in 0..n.saturating_sub(n_moving) {
            system.add(&[(unknown, 1.0), (unknown + n_moving, -1.0)], 0.0, weight);
        }
        for (a, b, weight) in self.asymmetries() {
            system.add(&[(n + a, 0.5), (n + b, -0.5)], 0.0, weight);
        }
        for (key, sigma) in self.open_asymmetries() {
            system.add(&[(n + key, 1.0)], 0.0, 1.0 / (sigma * sigma));
        }
        // No offset exceeds 0.1 s and no path takes more than 10 s: this keeps unknowns finite that
        // no measurement determines.
        for unknown in 0..n {
            system.add(&[(unknown, 1.0)], 0.0, 1e-16);
        }
        for key in 0..self.rows.keys.len() {
            system.add(&[(n + key, 1.0)], 0.0, 1e-20);
        }
        system
    }

    /// Variance of the second difference of an offset, ns^2.
    fn bend_variance(&self, intensity: usize) -> f64 {
        // s^2/s^3 are 1e18 ns^2 per 1e27 ns^3.
        INTENSITIES[intensity] * 1e-9 * self.knots.step_ns.powi(3)
    }

    /// Pairs of keys that are the two directions of one path, and the weight of their equality.
    fn asymmetries(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        let (keys, least) = (&self.rows.keys, &self.rows.least);
        keys.iter().enumerate().filter_map(move |(a, key)| {
            let b = keys.binary_search(&key.reversed()).ok()?;
            let mean = ((least[a] + least[b]) / 2.0).abs().max(20.0);
            let doubt = match key.origin {
                Origin::Message => self.of_messages,
                _ => 1.0,
            };
            let sigma = doubt * asymmetry_share(key.origin)? * mean;
            (a < b).then_some((a, b, 1.0 / (sigma * sigma)))
        })
    }

    /// Keys of exchanges, and the weight with which half the difference of their two directions is
    /// 0.
    fn open_asymmetries(&self) -> impl Iterator<Item = (usize, f64)> {
        let by_key = self.rows.asymmetry_ns.iter().enumerate();
        by_key.filter_map(|(key, sigma)| Some((key, (*sigma)?)))
    }

    fn solve(&mut self, factored: &Factored) {
        let solution = factored.solve();
        let n_moving = self.n_hosts - 1;
        for (host, offsets_ns) in self.offsets_ns.iter_mut().enumerate().skip(1) {
            for (knot, value) in offsets_ns.iter_mut().enumerate() {
                *value = solution[knot * n_moving + host - 1];
            }
        }
        self.rows
            .least
            .copy_from_slice(&solution[n_moving * self.knots.n..]);
    }

    /// Twice the negative logarithm of the likelihood of all equations except those of smoothness,
    /// and the sum of squares of these.
    fn chi2(&self) -> (f64, f64) {
        let of_rows = self
            .rows
            .all
            .iter()
            .map(|row| (self.rows.residual(row, &self.offsets_ns) / row.sigma).powi(2));
        let least = &self.rows.least;
        let of_paths = self
            .asymmetries()
            .map(|(a, b, weight)| weight * ((least[a] - least[b]) / 2.0).powi(2));
        let of_exchanges = self
            .open_asymmetries()
            .map(|(key, sigma)| (least[key] / sigma).powi(2));
        let bends = self.offsets_ns[1..].iter().flat_map(|offsets_ns| {
            offsets_ns
                .windows(3)
                .map(|three| (three[0] - 2.0 * three[1] + three[2]).powi(2))
        });
        (
            of_rows.chain(of_paths).chain(of_exchanges).sum(),
            bends.sum(),
        )
    }

    /// Chooses the intensity with the greatest evidence, with the current weights.
    fn choose_intensity(&mut self, among: Range<usize>) -> Option<()> {
        let n_bends = (self.n_hosts - 1) * self.knots.n.saturating_sub(2);
        let (offsets_ns, least) = (self.offsets_ns.clone(), self.rows.least.clone());
        let mut best: Option<(f64, usize)> = None;
        for intensity in among {
            self.intensity = intensity;
            let factored = self.system().factor()?;
            self.solve(&factored);
            let (of_rows, bends) = self.chi2();
            let variance = self.bend_variance(intensity);
            let evidence = -(of_rows + bends / variance) / 2.0
                - factored.log_determinant() / 2.0
                - n_bends as f64 / 2.0 * variance.ln()
                - ((INTENSITIES[intensity].log10() - USUAL_DECADE) / DECADES).powi(2) / 2.0;
            self.offsets_ns.clone_from(&offsets_ns);
            self.rows.least.clone_from(&least);
            if best.is_none_or(|(most, _)| evidence > most) {
                best = Some((evidence, intensity));
            }
        }
        self.intensity = best?.1;
        Some(())
    }

    fn chi2_by_freedom(&self) -> f64 {
        let freedom = self.rows.all.len().saturating_sub(self.rows.keys.len());
        let (of_rows, _) = self.chi2();
        of_rows / freedom.max(1) as f64
    }
}

/// Standard deviation of the difference between the two directions as part of the shortest time: an
/// assumption. `None` for exchanges, whose directions are not distinguished.
fn asymmetry_share(origin: Origin) -> Option<f64> {
    match origin {
        Origin::Exchange => None,
        Origin::Message => Some(0.1),
        Origin::AllToAll | Origin::FromRoot | Origin::ToRoot => Some(0.3),
    }
}
