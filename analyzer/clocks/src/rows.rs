//! The equations of the smoother: the evidence used around each knot, and its weights.

use std::collections::{BTreeMap, BTreeSet};

use super::constraint::{Constraints, Key, Origin};
use super::knots::Knots;
use super::reading::Reading;

/// Growth of the variance of constraints from collectives per kind of them that a host has, since
/// all come from the same calls: in the fit, and when errors are computed. The first gives the
/// smallest errors in simulations; with the second the stated errors cover them.
const SHARED_WHEN_FITTED: f64 = 1.0;
const SHARED_IN_ERRORS: f64 = 5.0;
/// Most constraints from collectives per host and direction, in number of other hosts.
const KEYS_OF_HOST: usize = 16;
/// Least number of constraints that an interval must have.
const LEAST_IN_STRETCH: u32 = 3;
/// Weight of the prior on disturbances of single bursts, in number of readings.
const MOMENT_PRIOR_READINGS: f64 = 5.0;
/// A reading whose residual exceeds this many standard deviations gets less weight.
const FAR_OFF: f64 = 3.0;

/// All measurements and constraints of the clocks of some hosts.
#[derive(Debug, Clone)]
pub(crate) struct Evidence {
    /// The tightest constraints from collectives and messages.
    pub(crate) constraints: Constraints,
    /// Offsets measured by exchanges.
    pub(crate) readings: Vec<Reading>,
    /// By pair of hosts: standard deviation of half the difference of the two directions of
    /// exchanges, an assumption, ns.
    pub(crate) asymmetry_ns: BTreeMap<(usize, usize), f64>,
}

/// One equation at a knot: `o_to - o_from + p = slack`, with the offsets o and the p of its key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) knot: usize,
    /// Index of its key.
    pub(crate) key: usize,
    /// ns.
    pub(crate) slack: f64,
    /// Standard deviation that is known in advance, ns; 0: none is.
    noise: f64,
    /// Additional standard deviation because of disturbances at that moment, known up to a common
    /// factor, ns.
    moment: f64,
    /// The standard deviation in use, ns.
    pub(crate) sigma: f64,
}

/// All equations, sorted by key.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rows {
    /// Keys, ascending; hosts are indexes into those that are smoothed.
    pub(crate) keys: Vec<Key>,
    /// By key: the p of its equations, the shortest time; for exchanges half the difference of the
    /// two directions, ns.
    pub(crate) least: Vec<f64>,
    /// Equations, by key, then by knot.
    pub(crate) all: Vec<Row>,
    /// By key: standard deviation of p around 0, ns; `None` if nothing is assumed of it.
    pub(crate) asymmetry_ns: Vec<Option<f64>>,
}

/// A key with its equations and what is known of its p.
#[derive(Debug, Clone)]
struct FoundKey {
    key: Key,
    rows: Vec<Row>,
    least: f64,
    asymmetry_ns: Option<f64>,
    /// Spread of the tightest constraints.
    spread: f64,
}

impl Rows {
    /// All readings, and the tightest constraint of each key around each knot, moved to the knot by
    /// the change of the current offsets.
    pub(crate) fn of(
        evidence: &Evidence,
        hosts: &[usize],
        knots: Knots,
        offsets_ns: &[Vec<f64>],
    ) -> Self {
        let mut found = tightest(evidence, hosts, knots, offsets_ns);
        prefer_messages(&mut found, hosts.len(), knots.n);
        retain_steadiest(&mut found, hosts.len());
        found.extend(exchanged(evidence, hosts, knots, offsets_ns));
        Self::sorted(found)
    }

    /// The readings only.
    pub(crate) fn of_exchanges(
        evidence: &Evidence,
        hosts: &[usize],
        knots: Knots,
        offsets_ns: &[Vec<f64>],
    ) -> Self {
        Self::sorted(exchanged(evidence, hosts, knots, offsets_ns))
    }

    fn sorted(mut found: Vec<FoundKey>) -> Self {
        found.sort_by_key(|found| found.key);
        let mut rows = Self::default();
        for (index, found) in found.into_iter().enumerate() {
            let of_key = found.rows.iter();
            rows.all
                .extend(of_key.map(|row| Row { key: index, ..*row }));
            rows.keys.push(found.key);
            rows.least.push(found.least);
            rows.asymmetry_ns.push(found.asymmetry_ns);
        }
        rows
    }
    /// Residual of an equation, ns.
    pub(crate) fn residual(&self, row: &Row, offsets_ns: &[Vec<f64>]) -> f64 {
        let key = self.keys[row.key];
        let offset_ns = offsets_ns[key.to][row.knot] - offsets_ns[key.from][row.knot];
        row.slack - offset_ns - self.least[row.key]
    }

    /// Updates the weights of all equations. Constraints: by key the scale of the residuals below
    /// the median; those above it are late and get less weight. Readings: the known standard
    /// deviation, with less weight for large residuals.
    pub(crate) fn weigh(&mut self, offsets_ns: &[Vec<f64>], n_hosts: usize) {
        let by_moments = self.moments(offsets_ns);
        let shared = self.shared(SHARED_WHEN_FITTED, n_hosts);
        let mut from = 0;
        while from < self.all.len() {
            let key = self.all[from].key;
            let of_key = self.all[from..].iter().take_while(|row| row.key == key);
            let residuals: Vec<f64> = of_key.map(|row| self.residual(row, offsets_ns)).collect();
            let own = from..from + residuals.len();
            from = own.end;
            let rows = self.all[own].iter_mut().zip(&residuals);
            if self.keys[key].origin == Origin::Exchange {
                for (row, residual) in rows {
                    let noise = row.noise.hypot(by_moments * row.moment);
                    let off = residual.abs() / noise;
                    row.sigma = noise * (off / FAR_OFF).max(1.0).sqrt();
                }
                continue;
            }
            let mut scale = scale_of(&residuals);
            if self.keys[key].origin.is_collective() {
                scale *= shared;
            }
            for (row, &residual) in rows {
                row.sigma = if residual <= scale {
                    scale
                } else {
                    scale + 2.0 * (residual - scale)
                };
            }
        }
    }
}

impl Rows {
    /// Factor on the standard deviations of constraints from collectives: those of the same calls
    /// are not independent.
    fn shared(&self, by_kind: f64, n_hosts: usize) -> f64 {
        let n_collective = self.keys.iter().filter(|key| key.origin.is_collective());
        let n_by_host = n_collective.count() as f64 / n_hosts as f64;
        (by_kind * n_by_host).max(1.0).sqrt()
    }

    /// Sets the weights of constraints from collectives as the computation of errors needs them.
    pub(crate) fn weigh_for_errors(&mut self, n_hosts: usize) {
        let [fitted, in_errors] =
            [SHARED_WHEN_FITTED, SHARED_IN_ERRORS].map(|by_kind| self.shared(by_kind, n_hosts));
        let keys = &self.keys;
        let collective = self
            .all
            .iter_mut()
            .filter(|row| keys[row.key].origin.is_collective());
        collective.for_each(|row| row.sigma *= in_errors / fitted);
    }

    /// Factor on the disturbances of single bursts, estimated from the readings; 1 as far as they
    /// are too few.
    fn moments(&self, offsets_ns: &[Vec<f64>]) -> f64 {
        let readings = self.all.iter().filter(|row| row.moment > 0.0);
        let excess = readings.clone().map(|row| {
            let unexplained = self.residual(row, offsets_ns).powi(2) - row.noise.powi(2);
            (unexplained / row.moment.powi(2)).clamp(0.0, FAR_OFF * FAR_OFF)
        });
        // A straight line goes through any two readings of a pair.
        let n_pairs = self
            .keys
            .iter()
            .filter(|key| key.origin == Origin::Exchange);
        let n_free = readings.count().saturating_sub(2 * n_pairs.count()) as f64;
        ((MOMENT_PRIOR_READINGS + excess.sum::<f64>()) / (MOMENT_PRIOR_READINGS + n_free)).sqrt()
    }
}

impl Row {
    fn new(knot: usize, slack: f64) -> Self {
        Self {
            knot,
            key: 0,
            slack,
            noise: 0.0,
            moment: 0.0,
            sigma: 1.0,
        }
    }
}

/// The tightest constraint of each key around each knot.
fn tightest(
    evidence: &Evidence,
    hosts: &[usize],
    knots: Knots,
    offsets_ns: &[Vec<f64>],
) -> Vec<FoundKey> {
    let index_of = |host: usize| hosts.iter().position(|&own| own == host);
    let mut found = Vec::new();
    let mut slacks: Vec<(f64, u32)> = Vec::new();
    for (key, stretches) in evidence.constraints.series() {
        let (Some(from), Some(to)) = (index_of(key.from), index_of(key.to)) else {
            continue;
        };
        let key = Key { from, to, ..key };
        slacks.clear();
        slacks.resize(knots.n, (f64::INFINITY, 0));
        for tightest in stretches {
            let (from, to) = (tightest.from as f64, tightest.to as f64);
            let knot = knots.nearest(from);
            let to_knot = knots.change(&offsets_ns[key.to], to, knot);
            let from_knot = knots.change(&offsets_ns[key.from], from, knot);
            let (least, n) = &mut slacks[knot];
            *least = least.min((to - from) + to_knot - from_knot);
            *n += tightest.n;
        }
        let mut paths = Vec::new();
        let mut rows = Vec::new();
        for (knot, &(slack, n)) in slacks.iter().enumerate() {
            if n >= LEAST_IN_STRETCH {
                paths.push(slack - (offsets_ns[key.to][knot] - offsets_ns[key.from][knot]));
                rows.push(Row::new(knot, slack));
            }
        }
        if !rows.is_empty() {
            let least = quantile(&mut paths, 0.2);
            found.push(FoundKey {
                key,
                rows,
                least,
                asymmetry_ns: None,
                spread: least - quantile(&mut paths, 0.02),
            });
        }
    }
    found
}

/// The readings of exchanges, by pair of hosts.
fn exchanged(
    evidence: &Evidence,
    hosts: &[usize],
    knots: Knots,
    offsets_ns: &[Vec<f64>],
) -> Vec<FoundKey> {
    let index_of = |host: usize| hosts.iter().position(|&own| own == host);
    let mut found: BTreeMap<Key, FoundKey> = BTreeMap::new();
    for reading in &evidence.readings {
        let (Some(from), Some(to)) = (index_of(reading.from), index_of(reading.to)) else {
            continue;
        };
        let origin = Origin::Exchange;
        let key = Key { origin, from, to };
        let pair = (reading.from, reading.to);
        let of_pair = found.entry(key).or_insert_with(|| FoundKey {
            key,
            rows: Vec::new(),
            least: 0.0,
            asymmetry_ns: evidence.asymmetry_ns.get(&pair).copied(),
            spread: 0.0,
        });
        let knot = knots.nearest(reading.at);
        let to_knot = knots.change(&offsets_ns[to], reading.at, knot);
        let from_knot = knots.change(&offsets_ns[from], reading.at, knot);
        let slack = reading.difference_ns + to_knot - from_knot;
        of_pair.rows.push(Row {
            noise: reading.noise_ns,
            moment: reading.moment_ns,
            ..Row::new(knot, slack)
        });
    }
    let mut found: Vec<FoundKey> = found.into_values().collect();
    for of_pair in &mut found {
        let key = of_pair.key;
        let off =
            |row: &Row| row.slack - (offsets_ns[key.to][row.knot] - offsets_ns[key.from][row.knot]);
        of_pair.least = quantile(&mut of_pair.rows.iter().map(off).collect::<Vec<_>>(), 0.5);
    }
    found
}

/// Scale of the residuals of the tightest constraints of one key on the tight side, ns.
fn scale_of(residuals: &[f64]) -> f64 {
    let mut sorted = residuals.to_vec();
    match sorted.len() {
        8.. => ((quantile(&mut sorted, 0.2) - quantile(&mut sorted, 0.02)) / 1.2).max(20.0),
        _ => {
            let least = sorted.iter().copied().fold(f64::INFINITY, f64::min);
            let most = sorted.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            ((most - least) / 2.0).max(60.0)
        }
    }
}

/// Drops constraints from collectives between hosts that messages connect, directly or over other
/// hosts: the collectives consist of these messages, and are late whenever one of them is.
fn prefer_messages(found: &mut Vec<FoundKey>, n_hosts: usize, n_knots: usize) {
    let is_message = |found: &&FoundKey| found.key.origin == Origin::Message;
    let directions: BTreeSet<(usize, usize, usize)> = found
        .iter()
        .filter(is_message)
        .flat_map(|found| {
            let key = found.key;
            found
                .rows
                .iter()
                .map(move |row| (row.knot, key.from, key.to))
        })
        .collect();
    if directions.is_empty() {
        return;
    }
    // By knot and host: the lowest host that messages connect it with.
    let mut tied: Vec<Vec<usize>> = vec![(0..n_hosts).collect(); n_knots];
    for &(knot, from, to) in &directions {
        if from < to && directions.contains(&(knot, to, from)) {
            let of_knot = &mut tied[knot];
            let (a, b) = (
                of_knot[from].min(of_knot[to]),
                of_knot[from].max(of_knot[to]),
            );
            of_knot.iter_mut().for_each(|own| {
                if *own == b {
                    *own = a;
                }
            });
        }
    }
    for of_key in found.iter_mut() {
        let key = of_key.key;
        if key.origin.is_collective() {
            of_key
                .rows
                .retain(|row| tied[row.knot][key.from] != tied[row.knot][key.to]);
        }
    }
    found.retain(|of_key| !of_key.rows.is_empty());
}

/// Of the keys from collectives, which are redundant, retains for each host and direction those with
/// the smallest spread: if a rank is late in all calls, only constraints with its host are tight.
fn retain_steadiest(found: &mut Vec<FoundKey>, n_hosts: usize) {
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

/// The quantile `part`, interpolated linearly; of at least one value.
fn quantile(values: &mut [f64], part: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let at = part * (values.len() - 1) as f64;
    let left = at as usize;
    let right = (left + 1).min(values.len() - 1);
    values[left] + (values[right] - values[left]) * (at - left as f64)
}
