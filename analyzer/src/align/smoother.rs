//! The joint robust smoother: one time for all hosts, from everything that says something of it.
//!
//! Every host but the first has a correction `theta`, piecewise linear between knots that are
//! evenly spaced in time; its aligned time is `x - theta(x)`, with x the time by a straight line
//! through its first and last measured offset. A constraint "b on host h cannot happen before a
//! on host k" says `theta_h - theta_k + p <= x_b - x_a`, with p the shortest time of what lies
//! between. These shortest times are unknowns too, one for each kind and direction: without them
//! the paths of a tree, which are longer one way than the other, would pull clocks apart.
//!
//! In each stretch around a knot the tightest constraint of each kind counts, as an equation with
//! an error: the tightest of many is nearly tight. Those that are late by chance weigh less. The
//! rates of clocks change slowly: `theta[j-1] - 2 theta[j] + theta[j+1]` is normal with the variance
//! `q dt^3`, and q is chosen by the evidence. What no measurement can tell, how much longer one way
//! is than the way back, has a prior that is stated.
//!
//! # Source
//! A random walk of the frequency as in the filters of NTP and PTP daemons; constraints and their
//! hulls as in Duda 1987; unknown shortest times as in Sirdey and Maurice 2008, whose linear
//! program this replaces by least squares: with jitter it is more accurate, and gives errors.

use std::ops::Range;

use super::banded::{Bordered, Factored};
use super::constraint::{Harvest, Key, Origin};
use super::exchange::ASYMMETRY;

/// Intensities of the random walk of the frequency that are tried, s^2/s^3.
const INTENSITIES: [f64; 11] = [
    1e-19, 1e-18, 1e-17, 1e-16, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9,
];
/// The least to begin with: loose, for with a tight one true wander would look like outliers.
const FIRST_INTENSITY: usize = 5;
const MAX_ROUNDS: usize = 6;
const MAX_REWEIGHTINGS: usize = 12;
/// Corrections that change less than this between rounds are found, ns.
const CONVERGED_NS: f64 = 10.0;
/// Or less than this part of what the asymmetry of paths leaves open.
const CONVERGED_PART: f64 = 0.1;
/// The intensity that is the most likely beforehand, and how sure that is: decades.
const USUAL_DECADE: f64 = -16.0;
const DECADES: f64 = 1.5;
/// Rates of straight lines are off by no more than this, one standard deviation.
const RATE: f64 = 5e-5;
/// By how much the variance of constraints from collectives grows with each kind of them that a
/// host has: all come from the same calls. Chosen so that the errors of trials are covered.
const SHARED_CALLS: f64 = 2.0;
/// Constraints from collectives that are used of each host, in each direction: other hosts.
const KEYS_OF_HOST: usize = 16;
/// Constraints that a stretch must have, unless they are exchanges.
const LEAST_IN_STRETCH: u32 = 3;

/// What is known of the time of hosts before.
#[derive(Debug, Clone)]
pub(crate) struct Start {
    /// By host: the time x of measured offsets, and the correction there, ascending; of the
    /// first host nothing.
    pub(crate) points: Vec<Vec<(f64, f64)>>,
}

/// The knots.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Knots {
    pub(crate) begin_ns: f64,
    pub(crate) step_ns: f64,
    pub(crate) n: usize,
}

impl Knots {
    /// For a run from `begin_ns` to `end_ns` with so many hosts.
    pub(crate) fn of(begin_ns: i64, end_ns: i64, n_hosts: usize) -> Self {
        let length = (end_ns.saturating_sub(begin_ns)).max(1) as f64;
        let most = (8_000 / n_hosts.max(1)).clamp(64, 1_000) as f64;
        let step = (length / 100.0).clamp(1e8, 5e9).max(length / most);
        Self {
            begin_ns: begin_ns as f64,
            step_ns: step,
            n: (length / step).ceil() as usize + 1,
        }
    }

    pub(crate) fn at(&self, knot: usize) -> f64 {
        self.begin_ns + knot as f64 * self.step_ns
    }

    pub(crate) fn nearest(&self, x: f64) -> usize {
        let knot = ((x - self.begin_ns) / self.step_ns).round();
        (knot.max(0.0) as usize).min(self.n - 1)
    }

    /// The value of a line with these values at the knots; beyond them it goes on.
    pub(crate) fn value(&self, values: &[f64], x: f64) -> f64 {
        let at = (x - self.begin_ns) / self.step_ns;
        let left = (at.max(0.0) as usize).min(self.n.saturating_sub(2));
        let [a, b] = values[left..left + 2] else {
            return values[0];
        };
        a + (b - a) * (at - left as f64)
    }
}

/// The corrections that were found.
#[derive(Debug, Clone)]
pub(crate) struct Smoothed {
    pub(crate) knots: Knots,
    /// By host and knot, ns.
    pub(crate) theta: Vec<Vec<f64>>,
    /// s^2/s^3.
    pub(crate) intensity: f64,
    /// Whether the last round changed next to nothing.
    pub(crate) has_converged: bool,
    /// Of squares of residuals by the number of residuals less unknowns.
    pub(crate) chi2_by_freedom: f64,
    n_moving: usize,
    factored: Factored,
}

/// One equation: the tightest constraint of a key around a knot.
#[derive(Debug, Clone, Copy)]
struct Row {
    knot: usize,
    /// Index of the key.
    key: usize,
    /// x_b - x_a at the knot, ns.
    slack: f64,
    sigma: f64,
}

/// A key, with its equations and what is known of its least time.
#[derive(Debug, Clone)]
struct FoundKey {
    key: Key,
    rows: Vec<Row>,
    least: f64,
    /// How far the tightest lie apart.
    spread: f64,
}

/// Of keys from collectives, which all say the same of few hosts, keeps for each host and direction
/// those that vary the least: where a rank comes late to all calls, only those against it say
/// anything.
fn keep_the_steadiest(found: &mut Vec<FoundKey>, n_hosts: usize) {
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by(|&a, &b| {
        let by_spread = found[a].spread.total_cmp(&found[b].spread);
        by_spread.then(found[a].key.cmp(&found[b].key))
    });
    let (mut n_from, mut n_to) = (vec![0; n_hosts], vec![0; n_hosts]);
    let mut is_kept = vec![false; found.len()];
    for index in order {
        let key = found[index].key;
        is_kept[index] = !key.origin.is_collective()
            || n_from[key.from] < KEYS_OF_HOST
            || n_to[key.to] < KEYS_OF_HOST;
        if key.origin.is_collective() && is_kept[index] {
            n_from[key.from] += 1;
            n_to[key.to] += 1;
        }
    }
    let mut kept = is_kept.into_iter();
    found.retain(|_| kept.next() == Some(true));
}

/// Finds the corrections.
struct Fit<'h> {
    hosts: &'h [usize],
    n_hosts: usize,
    knots: Knots,
    harvest: &'h Harvest,
    keys: Vec<Key>,
    theta: Vec<Vec<f64>>,
    least: Vec<f64>,
    rows: Vec<Row>,
    intensity: usize,
}

impl Smoothed {
    /// Smooths the clocks of at least two hosts, the first of which is the reference, by the
    /// constraints between them. `None` where the measurements do not determine
    /// them.
    pub(crate) fn of(
        hosts: &[usize],
        start: &Start,
        harvest: &Harvest,
        knots: Knots,
    ) -> Option<Self> {
        let theta = start.points.iter().map(|points| {
            (0..knots.n)
                .map(|knot| line_through(points, knots.at(knot)))
                .collect()
        });
        let mut fit = Fit {
            hosts,
            n_hosts: hosts.len(),
            knots,
            harvest,
            keys: Vec::new(),
            theta: theta.collect(),
            least: Vec::new(),
            rows: Vec::new(),
            intensity: FIRST_INTENSITY,
        };
        let mut has_converged = false;
        for round in 0..MAX_ROUNDS {
            let before = fit.theta.clone();
            fit.collect_rows();
            if round == 0 {
                // Bursts in between follow even a clock that steps; what a line cannot follow
                // makes the errors seem large, and tells of no wander.
                fit.weigh();
                fit.choose_intensity(FIRST_INTENSITY..INTENSITIES.len())?;
            }
            for _ in 0..MAX_REWEIGHTINGS {
                let before = fit.theta.clone();
                fit.weigh();
                fit.solve(&fit.system().factor()?);
                if fit.is_near(&before) {
                    break;
                }
            }
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
        let factored = fit.system().factor()?;
        fit.solve(&factored);
        let chi2_by_freedom = fit.chi2_by_freedom();
        Some(Self {
            knots,
            intensity: INTENSITIES[fit.intensity],
            theta: fit.theta,
            has_converged,
            chi2_by_freedom,
            n_moving: fit.n_hosts - 1,
            factored,
        })
    }

    /// Variances and covariances of the corrections of all hosts but the first at a knot, ns^2.
    pub(crate) fn covariance(&self, knot: usize) -> Vec<Vec<f64>> {
        let mut rows = self
            .factored
            .covariance(knot * self.n_moving, self.n_moving);
        // Between knots the clock may leave the line.
        let bend = self.intensity * 1e-9 * self.knots.step_ns.powi(3) / 48.0;
        let inflation = self.chi2_by_freedom.max(1.0);
        for (i, row) in rows.iter_mut().enumerate() {
            row.iter_mut().for_each(|value| *value *= inflation);
            row[i] += bend;
        }
        rows
    }
}

impl Fit<'_> {
    /// The tightest constraint of each key around each knot, with what the corrections change
    /// from there to the knot taken out.
    fn collect_rows(&mut self) {
        self.rows.clear();
        self.keys.clear();
        self.least.clear();
        let mut slacks: Vec<(f64, u32)> = Vec::new();
        let index_of = |host: usize| self.hosts.iter().position(|&own| own == host);
        let mut found: Vec<FoundKey> = Vec::new();
        for (key, stretches) in self.harvest.series() {
            let (Some(from), Some(to)) = (index_of(key.from), index_of(key.to)) else {
                continue;
            };
            let key = Key { from, to, ..key };
            slacks.clear();
            slacks.resize(self.knots.n, (f64::INFINITY, 0));
            for tightest in stretches {
                let (from, to) = (tightest.from as f64, tightest.to as f64);
                let knot = self.knots.nearest(from);
                let theta = |host: usize, x: f64| self.knots.value(&self.theta[host], x);
                let moved = |host: usize, x: f64| self.theta[host][knot] - theta(host, x);
                let slack = (to - from) + moved(key.to, to) - moved(key.from, from);
                let (least, n) = &mut slacks[knot];
                *least = least.min(slack);
                *n += tightest.n;
            }
            let enough = match key.origin {
                Origin::Exchange => 1,
                _ => LEAST_IN_STRETCH,
            };
            let mut paths = Vec::new();
            let mut rows = Vec::new();
            for (knot, &(slack, n)) in slacks.iter().enumerate() {
                if n >= enough {
                    let theta = self.theta[key.to][knot] - self.theta[key.from][knot];
                    paths.push(slack - theta);
                    rows.push(Row {
                        knot,
                        key: 0,
                        slack,
                        sigma: 1.0,
                    });
                }
            }
            if !rows.is_empty() {
                let least = quantile(&mut paths, 0.2);
                found.push(FoundKey {
                    key,
                    rows,
                    least,
                    spread: least - quantile(&mut paths, 0.02),
                });
            }
        }
        keep_the_steadiest(&mut found, self.n_hosts);
        found.sort_by_key(|found| found.key);
        for (index, found) in found.into_iter().enumerate() {
            let rows = found.rows.iter();
            self.rows.extend(rows.map(|row| Row { key: index, ..*row }));
            self.keys.push(found.key);
            self.least.push(found.least);
        }
    }

    fn residual(&self, row: &Row) -> f64 {
        let key = self.keys[row.key];
        let theta = self.theta[key.to][row.knot] - self.theta[key.from][row.knot];
        row.slack - theta - self.least[row.key]
    }

    /// Whether the corrections are those of before, as far as it matters.
    fn is_near(&self, before: &[Vec<f64>]) -> bool {
        let changes = before.iter().flatten().zip(self.theta.iter().flatten());
        let change = changes.fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()));
        let exchanges = self.keys.iter().zip(&self.least);
        let ways = exchanges.filter(|(key, _)| key.origin == Origin::Exchange);
        let shortest = ways.map(|(_, way)| *way).fold(f64::INFINITY, f64::min);
        let open_ns = match shortest.is_finite() {
            true => part_of_way(Origin::Exchange) * shortest,
            false => 0.0,
        };
        change < CONVERGED_NS.max(CONVERGED_PART * open_ns)
    }

    /// By key the scale of the residuals below the usual; above it they weigh less.
    fn weigh(&mut self) {
        let n_collective = self.keys.iter().filter(|key| key.origin.is_collective());
        let n_by_host = n_collective.count() as f64 / self.n_hosts as f64;
        let shared = (SHARED_CALLS * n_by_host).max(1.0).sqrt();
        let mut from = 0;
        while from < self.rows.len() {
            let key = self.rows[from].key;
            let n = self.rows[from..]
                .iter()
                .take_while(|row| row.key == key)
                .count();
            let residuals: Vec<f64> = self.rows[from..from + n]
                .iter()
                .map(|row| self.residual(row))
                .collect();
            let mut sorted = residuals.clone();
            let mut scale = match n {
                8.. => ((quantile(&mut sorted, 0.2) - quantile(&mut sorted, 0.02)) / 1.2).max(20.0),
                _ => {
                    let least = sorted.iter().copied().fold(f64::INFINITY, f64::min);
                    let most = sorted.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    ((most - least) / 2.0).max(60.0)
                }
            };
            if self.keys[key].origin == Origin::Exchange {
                // The correction follows the difference of the two ways of a burst; only their
                // sum is left in the residuals, which is half of what there was.
                scale *= std::f64::consts::SQRT_2;
            }
            if self.keys[key].origin.is_collective() {
                // All come from the same calls, and are not independent.
                scale *= shared;
            }
            for (row, residual) in self.rows[from..from + n].iter_mut().zip(residuals) {
                row.sigma = match residual <= scale {
                    true => scale,
                    false => scale + 2.0 * (residual - scale),
                };
            }
            from += n;
        }
    }

    /// Unknown of a host's correction at a knot; `None` for the first host, which has none.
    fn unknown(&self, host: usize, knot: usize) -> Option<usize> {
        Some(knot * (self.n_hosts - 1) + host.checked_sub(1)?)
    }

    /// The equations, with the weights as they are.
    fn system(&self) -> Bordered {
        let n_moving = self.n_hosts - 1;
        let n = n_moving * self.knots.n;
        let mut system = Bordered::zero(n, 2 * n_moving, self.keys.len());
        for row in &self.rows {
            let key = self.keys[row.key];
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
        // All steps together say as much as one sure to RATE.
        let n_steps = self.knots.n.saturating_sub(1).max(1);
        let rate = RATE * self.knots.step_ns;
        let weight = 1.0 / (rate * rate * n_steps as f64);
        for unknown in 0..n.saturating_sub(n_moving) {
            system.add(&[(unknown, 1.0), (unknown + n_moving, -1.0)], 0.0, weight);
        }
        for (a, b, weight) in self.asymmetries() {
            system.add(&[(n + a, 0.5), (n + b, -0.5)], 0.0, weight);
        }
        // Nothing is further off than 0.1 s, no way takes longer than 10 s: keeps what no
        // measurement determines finite.
        for unknown in 0..n {
            system.add(&[(unknown, 1.0)], 0.0, 1e-16);
        }
        for key in 0..self.keys.len() {
            system.add(&[(n + key, 1.0)], 0.0, 1e-20);
        }
        system
    }

    /// Variance of the second difference of a correction, ns^2.
    fn bend_variance(&self, intensity: usize) -> f64 {
        // s^2/s^3 are 1e18 ns^2 by 1e27 ns^3.
        INTENSITIES[intensity] * 1e-9 * self.knots.step_ns.powi(3)
    }

    /// Keys that are each other's way back, and the weight of their being alike.
    fn asymmetries(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        self.keys.iter().enumerate().filter_map(|(a, key)| {
            let b = self.keys.binary_search(&key.reversed()).ok()?;
            let part = part_of_way(key.origin);
            let mean = ((self.least[a] + self.least[b]) / 2.0).abs().max(20.0);
            let sigma = part * mean;
            (a < b).then_some((a, b, 1.0 / (sigma * sigma)))
        })
    }

    fn solve(&mut self, factored: &Factored) {
        let solution = factored.solve();
        let n_moving = self.n_hosts - 1;
        for (host, theta) in self.theta.iter_mut().enumerate().skip(1) {
            for (knot, value) in theta.iter_mut().enumerate() {
                *value = solution[knot * n_moving + host - 1];
            }
        }
        self.least
            .copy_from_slice(&solution[n_moving * self.knots.n..]);
    }

    /// Twice the negative logarithm of the likelihood of all but the smoothness, and the sum of
    /// squares of that.
    fn chi2(&self) -> (f64, f64) {
        let of_rows = self
            .rows
            .iter()
            .map(|row| (self.residual(row) / row.sigma).powi(2));
        let of_paths = self
            .asymmetries()
            .map(|(a, b, weight)| weight * ((self.least[a] - self.least[b]) / 2.0).powi(2));
        let bends = self.theta[1..].iter().flat_map(|theta| {
            theta
                .windows(3)
                .map(|three| (three[0] - 2.0 * three[1] + three[2]).powi(2))
        });
        (of_rows.chain(of_paths).sum(), bends.sum())
    }

    /// Takes the one of some intensities with the greatest evidence, the weights being as they are.
    fn choose_intensity(&mut self, among: Range<usize>) -> Option<()> {
        let n_bends = (self.n_hosts - 1) * self.knots.n.saturating_sub(2);
        let (theta, least) = (self.theta.clone(), self.least.clone());
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
            self.theta.clone_from(&theta);
            self.least.clone_from(&least);
            if best.is_none_or(|(most, _)| evidence > most) {
                best = Some((evidence, intensity));
            }
        }
        self.intensity = best?.1;
        Some(())
    }

    fn chi2_by_freedom(&self) -> f64 {
        let freedom = self.rows.len().saturating_sub(self.keys.len()).max(1);
        let (of_rows, _) = self.chi2();
        of_rows / freedom as f64
    }
}

/// Part of the shortest time by which the two ways differ, one standard deviation: an assumption.
fn part_of_way(origin: Origin) -> f64 {
    match origin {
        Origin::Exchange => ASYMMETRY,
        Origin::Message => 0.1,
        Origin::AllToAll | Origin::FromRoot | Origin::ToRoot => 0.3,
    }
}

/// The value at `x` of straight lines from point to point, which go on before the first and behind
/// the last; 0 without points.
pub(super) fn line_through(points: &[(f64, f64)], x: f64) -> f64 {
    match points {
        [] => 0.0,
        [(_, only)] => *only,
        _ => {
            let behind = points.partition_point(|point| point.0 <= x);
            let left = behind.saturating_sub(1).min(points.len() - 2);
            let ((x0, y0), (x1, y1)) = (points[left], points[left + 1]);
            match x1 > x0 {
                true => y0 + (y1 - y0) * (x - x0) / (x1 - x0),
                false => y0,
            }
        }
    }
}

/// The value below which so large a part lies, between two of them in proportion; at least one.
fn quantile(values: &mut [f64], part: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let at = part * (values.len() - 1) as f64;
    let left = at as usize;
    let right = (left + 1).min(values.len() - 1);
    values[left] + (values[right] - values[left]) * (at - left as f64)
}
