//! Runs the smoother: from exchanges and collectives to the corrections of all hosts and their
//! errors.

use std::collections::BTreeMap;

use super::closure::{
    Closure, OpenTriangle, Triangle, extra_asymmetry_ns, open_triangles, triangles,
};
use super::constraint::Constraints;
use super::correction::Correction;
use super::errors::{MAX_WITH_COVARIANCES, OffsetErrors};
use super::exchange::{ASYMMETRY, Burst, Knot};
use super::knots::{Knots, Start};
use super::reading::{Readings, readings};
use super::rows::Evidence;
use super::smoother::Smoothed;
use super::{Alignment, AlignmentMethod, Edges};

/// Groups with more hosts are not smoothed together, but hop by hop.
const MAX_TOGETHER: usize = MAX_WITH_COVARIANCES;
/// Number of intervals per knot in which the tightest constraints are retained.
const STRETCHES_PER_KNOT: i64 = 8;

/// What is known before the smoother runs: straight lines per host, and the offsets of all bursts.
#[derive(Debug, Clone)]
pub struct CoarseAlignment {
    /// The measured exchanges.
    pub bursts: Vec<Burst>,
    /// The alignment from burst to burst.
    pub measured: Alignment,
    /// By host: the straight line that converts its time until it is smoothed.
    pub lines: Vec<Option<Correction>>,
    /// By group: start of its time, ns on the clock of its reference.
    pub starts: Vec<i64>,
    /// End of the run, ns since the start.
    pub end_ns: i64,
    /// By pair of hosts: additional standard deviation of half the difference of the two directions
    /// of their path, ns.
    extra_asymmetry_ns: BTreeMap<(usize, usize), f64>,
}

/// Result of the smoother.
#[derive(Debug, Clone)]
pub struct SmoothedAlignment {
    /// By host: its correction; `None` for references.
    pub corrections: Vec<Option<Correction>>,
    /// Errors of the offsets.
    pub errors: OffsetErrors,
    /// Hosts whose fit has no solution or did not converge. A host without a solution is aligned
    /// from burst to burst.
    pub not_converged: Vec<usize>,
    /// The greatest intensity of clock wander that was chosen, s^2/s^3; 0 if none was.
    pub intensity: f64,
}

impl CoarseAlignment {
    /// The coarse alignment from measured offsets.
    pub fn of(n_hosts: usize, bursts: Vec<Burst>, edges: &Edges) -> Self {
        let measured = Alignment::of(n_hosts, edges, AlignmentMethod::Piecewise);
        let lines = measured.corrections.iter();
        Self {
            bursts,
            lines: lines
                .map(|own| own.as_ref().map(Correction::straight))
                .collect(),
            starts: vec![0; measured.n_groups()],
            end_ns: 0,
            extra_asymmetry_ns: BTreeMap::new(),
            measured,
        }
    }

    /// How well the offsets around triangles of hosts close, and the triangles that do not close:
    /// from now on the paths that may be to blame are trusted less.
    pub fn close_triangles(&mut self) -> (Option<Closure>, Vec<OpenTriangle>) {
        let (triangles, rtt_ns) = self.triangles();
        let open = open_triangles(&triangles, &rtt_ns);
        self.extra_asymmetry_ns = extra_asymmetry_ns(&open);
        (Closure::of(&triangles), open)
    }

    /// The triangles of hosts whose three sides were measured, and by pair the smallest round trip,
    /// ns.
    pub fn triangles(&self) -> (Vec<Triangle>, BTreeMap<(usize, usize), f64>) {
        let (readings, rtt_ns) = self.readings();
        let asymmetry_ns = self.asymmetry_ns(&rtt_ns);
        let rate = if self.has_unknown_drift() {
            UNKNOWN_RATE
        } else {
            LINE_RATE
        };
        (triangles(&readings, &asymmetry_ns, rate), rtt_ns)
    }

    /// Repeats the coarse alignment of the same bursts with larger errors for the paths that are
    /// trusted less.
    pub fn remeasured(self, edges: &mut Edges) -> Self {
        for (&(local, reference), knots) in edges.iter_mut() {
            let pair = (local.min(reference), local.max(reference));
            if let Some(extra_asymmetry_ns) = self.extra_asymmetry_ns.get(&pair) {
                knots
                    .iter_mut()
                    .for_each(|knot| knot.widen(*extra_asymmetry_ns));
            }
        }
        Self {
            extra_asymmetry_ns: self.extra_asymmetry_ns,
            ..Self::of(self.lines.len(), self.bursts, edges)
        }
    }

    fn n_hosts(&self) -> usize {
        self.lines.len()
    }

    /// Instant on a host's clock as ns since the start, by its straight line.
    pub fn time(&self, host: usize, local_ns: i64) -> i64 {
        let reference_ns = match &self.lines[host] {
            None => local_ns,
            Some(line) => line.reference_ns(local_ns),
        };
        reference_ns.saturating_sub(self.starts[self.measured.group_of[host]])
    }

    fn knots(&self) -> Knots {
        // Exchanges begin a little before the start.
        let times = self.bursts.iter().filter_map(|burst| {
            let stamps = burst.stamps.first()?;
            Some(self.time(burst.reference_host, stamps[0]))
        });
        let earliest = times.min().unwrap_or(0);
        let begin_ns = earliest.clamp(-self.end_ns.max(1_000_000_000), 0);
        let n_together = self.n_hosts().min(MAX_TOGETHER);
        Knots::of(begin_ns, self.end_ns, n_together)
    }

    /// An empty set of constraints for the run.
    pub fn constraints(&self) -> Constraints {
        let knots = self.knots();
        let step_ns = knots.step_ns as i64;
        Constraints::new(
            knots.begin_ns as i64 - step_ns / 2,
            step_ns / STRETCHES_PER_KNOT,
            (knots.n + 1) * STRETCHES_PER_KNOT as usize,
        )
    }

    /// Whether constraints between two hosts are used: with few hosts all, with more those of the
    /// hops and of a hypercube, with many those of the hops only.
    pub fn uses_pair(&self, from: usize, to: usize) -> bool {
        let group = self.measured.group_of[from];
        if from == to || group != self.measured.group_of[to] {
            return false;
        }
        let is_hop = |a: usize, b: usize| self.measured.parents[a] == Some(b);
        self.n_hosts() <= ALL_PAIRS
            || is_hop(from, to)
            || is_hop(to, from)
            || (self.n_hosts() <= MAX_TOGETHER && (from ^ to).is_power_of_two())
    }

    /// Whether messages between two hosts are used as constraints: in addition those between
    /// neighbours, as rings have them, if all hosts are smoothed together.
    pub fn uses_messages_of(&self, from: usize, to: usize) -> bool {
        let n_hosts = self.n_hosts();
        let apart = from.abs_diff(to);
        let are_neighbours = apart == 1 || apart + 1 == n_hosts;
        let are_few = n_hosts <= MAX_TOGETHER && are_neighbours;
        let have_one_time = self.measured.group_of[from] == self.measured.group_of[to];
        self.uses_pair(from, to) || (are_few && have_one_time)
    }

    /// Whether the drift of any clock was not measured.
    pub fn has_unknown_drift(&self) -> bool {
        let mut own = self.lines.iter().flatten();
        own.any(|line| line.knots.len() < 2)
    }

    /// Replaces the straight lines whose slope was far off by lines fitted to the result; returns
    /// whether there was any.
    pub fn refit_lines(&mut self, result: &SmoothedAlignment) -> bool {
        let mut any = false;
        for (line, found) in self.lines.iter_mut().zip(&result.corrections) {
            let (Some(line), Some(found)) = (line, found) else {
                continue;
            };
            let (before, after) = (line.drift_ppm(), found.drift_ppm());
            let is_off = after.is_some_and(|after| (after - before.unwrap_or(0.0)).abs() > FAR_PPM);
            if is_off {
                *line = found.straight();
                any = true;
            }
        }
        any
    }

    /// The longest time without a burst of any one host, ns; `None` if no host was measured.
    pub fn longest_gap_ns(&self) -> Option<i64> {
        let gaps = self.measured.corrections.iter().enumerate();
        gaps.filter_map(|(host, own)| {
            let knots = own.as_ref()?.knots.iter();
            let times = knots.map(|knot| self.time(host, knot.at_ns));
            let times: Vec<i64> = [0].into_iter().chain(times).chain([self.end_ns]).collect();
            times
                .windows(2)
                .map(|two| two[1].saturating_sub(two[0]))
                .max()
        })
        .max()
    }

    /// Smooths the clocks of all hosts.
    pub fn smooth(&self, constraints: Constraints) -> SmoothedAlignment {
        let n_hosts = self.n_hosts();
        let has_collectives = constraints.series().next().is_some();
        let evidence = self.evidence(constraints);
        let knots = self.knots();
        let mut result = SmoothedAlignment {
            corrections: self.measured.corrections.clone(),
            errors: OffsetErrors::none(n_hosts, self.end_ns),
            not_converged: Vec::new(),
            intensity: 0.0,
        };
        self.set_measured_errors(&mut result.errors);
        for group in 0..self.measured.n_groups() {
            let in_group = |host: &usize| self.measured.group_of[*host] == group;
            let hosts: Vec<usize> = (0..n_hosts).filter(in_group).collect();
            let is_measured_twice = |&host: &usize| {
                let own = self.measured.corrections[host].as_ref();
                own.is_some_and(|own| own.knots.len() > 1)
            };
            if hosts.len() < 2 || !(has_collectives || hosts.iter().any(is_measured_twice)) {
                continue;
            }
            if hosts.len() <= MAX_TOGETHER {
                self.smooth_together(&hosts, &evidence, knots, &mut result)
            } else {
                self.smooth_by_hops(&hosts, &evidence, knots, &mut result)
            }
        }
        result
    }

    /// The measured offsets, with times converted by the straight lines.
    fn readings(&self) -> Readings {
        let group = |host: usize| self.measured.group_of[host];
        let wanted = self.bursts.iter().filter(|burst| {
            let (local, reference) = (burst.local_host, burst.reference_host);
            local != reference && group(local) == group(reference)
        });
        readings(wanted.map(|burst| {
            let (local, reference) = (burst.local_host, burst.reference_host);
            let on_time = |&[t1, t2, t3, t4]: &[i64; 4]| {
                let [t1, t4] = [t1, t4].map(|at| self.time(reference, at));
                let [t2, t3] = [t2, t3].map(|at| self.time(local, at));
                [t1, t2, t3, t4]
            };
            (local, reference, burst.stamps.iter().map(on_time).collect())
        }))
    }

    /// By pair of hosts with these round trips: standard deviation of half the difference of the
    /// two directions of their path, ns.
    fn asymmetry_ns(
        &self,
        rtt_ns: &BTreeMap<(usize, usize), f64>,
    ) -> BTreeMap<(usize, usize), f64> {
        let of_pair = |(pair, rtt_ns): (&(usize, usize), &f64)| {
            let extra_asymmetry_ns = self.extra_asymmetry_ns.get(pair).copied().unwrap_or(0.0);
            (*pair, (ASYMMETRY * rtt_ns / 2.0).hypot(extra_asymmetry_ns))
        };
        rtt_ns.iter().map(of_pair).collect()
    }

    /// All inputs of the smoother: constraints and measured offsets.
    fn evidence(&self, constraints: Constraints) -> Evidence {
        let (readings, rtt_ns) = self.readings();
        Evidence {
            constraints,
            readings,
            asymmetry_ns: self.asymmetry_ns(&rtt_ns),
        }
    }

    /// (time, correction) of a host at its bursts, relative to its straight line.
    fn points(&self, host: usize) -> Vec<(f64, f64)> {
        let knots = self.measured.corrections[host]
            .iter()
            .flat_map(|own| &own.knots);
        let point = |knot: &Knot| {
            let by_line = self.time(host, knot.at_ns);
            let start = self.starts[self.measured.group_of[host]];
            let by_burst = knot
                .at_ns
                .saturating_sub(knot.offset_ns)
                .saturating_sub(start);
            (by_line as f64, by_line as f64 - by_burst as f64)
        };
        knots.map(point).collect()
    }

    fn smooth_together(
        &self,
        hosts: &[usize],
        evidence: &Evidence,
        knots: Knots,
        result: &mut SmoothedAlignment,
    ) {
        let start = Start {
            points: hosts.iter().map(|&host| self.points(host)).collect(),
        };
        let Some(smoothed) = Smoothed::of(hosts, &start, evidence, knots) else {
            result.not_converged.extend(&hosts[1..]);
            return;
        };
        if !smoothed.has_converged {
            result.not_converged.extend(&hosts[1..]);
        }
        result.intensity = result.intensity.max(smoothed.intensity);
        for (index, &host) in hosts.iter().enumerate().skip(1) {
            result.corrections[host] = self.correction(host, knots, &smoothed.offsets_ns[index]);
        }
        for time in 0..result.errors.at_ns().len() {
            let covariances =
                smoothed.covariance(knots.nearest(result.errors.at_ns()[time] as f64));
            for (i, &host) in hosts[1..].iter().enumerate() {
                let bound_ns = self.bound_ns(host, time, result);
                result.errors.set(time, host, covariances[i][i], bound_ns);
                for (k, &other) in hosts[1..=i].iter().enumerate() {
                    result
                        .errors
                        .set_common(time, [host, other], covariances[i][k]);
                }
            }
        }
    }

    /// Smooths each host against the one that it was measured against. Constraints from collectives
    /// with other hosts are not used, and the work grows linearly with the number of hosts.
    fn smooth_by_hops(
        &self,
        hosts: &[usize],
        evidence: &Evidence,
        knots: Knots,
        result: &mut SmoothedAlignment,
    ) {
        let mut found: BTreeMap<usize, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
        let n_times = result.errors.at_ns().len();
        found.insert(hosts[0], (vec![0.0; knots.n], vec![0.0; n_times]));
        let mut waiting: Vec<usize> = hosts[1..].to_vec();
        // Parents first; a group is a tree, so each round finds some hosts.
        while !waiting.is_empty() {
            let n_before = waiting.len();
            waiting.retain(|&host| {
                let Some(parent) = self.measured.parents[host] else {
                    return false;
                };
                let Some((of_parent, parent_variances)) = found.get(&parent) else {
                    return true;
                };
                let points = self.points(host).into_iter();
                let less_parent = |(x, offset_ns)| (x, offset_ns - knots.value(of_parent, x));
                let start = Start {
                    points: vec![Vec::new(), points.map(less_parent).collect()],
                };
                let hop = Smoothed::of(&[parent, host], &start, evidence, knots);
                let Some(hop) = hop else {
                    result.not_converged.push(host);
                    return false;
                };
                if !hop.has_converged {
                    result.not_converged.push(host);
                }
                result.intensity = result.intensity.max(hop.intensity);
                let both = hop.offsets_ns[1].iter().zip(of_parent);
                let offsets_ns: Vec<f64> = both.map(|(own, parent)| own + parent).collect();
                result.corrections[host] = self.correction(host, knots, &offsets_ns);
                let variances: Vec<f64> = (0..n_times)
                    .map(|time| {
                        let knot = knots.nearest(result.errors.at_ns()[time] as f64);
                        parent_variances[time] + hop.covariance(knot)[0][0]
                    })
                    .collect();
                for (time, &variance) in variances.iter().enumerate() {
                    let bound_ns = self.bound_ns(host, time, result);
                    result.errors.set(time, host, variance, bound_ns);
                }
                found.insert(host, (offsets_ns, variances));
                false
            });
            if waiting.len() == n_before {
                result.not_converged.append(&mut waiting);
            }
        }
    }

    /// The straight line of a host minus the offsets that the smoother found.
    fn correction(&self, host: usize, knots: Knots, offsets_ns: &[f64]) -> Option<Correction> {
        let line = self.lines[host].as_ref()?;
        let start = self.starts[self.measured.group_of[host]];
        let knots = offsets_ns.iter().enumerate().map(|(knot, offset_ns)| {
            let by_line = start.saturating_add(knots.at(knot).round() as i64);
            let at_ns = line.local_ns(by_line);
            let aligned = by_line.saturating_sub(offset_ns.round() as i64);
            Knot {
                at_ns,
                offset_ns: at_ns.saturating_sub(aligned),
                sd_ns: 0.0,
                bound_ns: 0,
            }
        });
        Some(Correction {
            knots: knots.collect(),
        })
    }

    /// Bound on the offset of a host at one of the times: that of its bursts plus the distance of
    /// the smoothed offset from them.
    fn bound_ns(&self, host: usize, time: usize, result: &SmoothedAlignment) -> i64 {
        let both = (&result.corrections[host], &self.measured.corrections[host]);
        let (Some(smoothed), Some(measured)) = both else {
            return 0;
        };
        let start = self.starts[self.measured.group_of[host]];
        let at_ns = smoothed.local_ns(start.saturating_add(result.errors.at_ns()[time]));
        let by_bursts = measured.at(at_ns);
        let departs_ns = smoothed.at(at_ns).offset_ns.abs_diff(by_bursts.offset_ns);
        let departs_ns = i64::try_from(departs_ns).unwrap_or(i64::MAX);
        by_bursts.bound_ns.saturating_add(departs_ns)
    }

    /// Sets the errors of what is aligned from burst to burst.
    fn set_measured_errors(&self, errors: &mut OffsetErrors) {
        simple_errors(&self.measured, &self.starts, errors);
    }
}

/// Standard deviation of the difference of the rates of two clocks after conversion by straight
/// lines: for lines through two bursts or more, and for other lines.
const LINE_RATE: f64 = 2e-6;
const UNKNOWN_RATE: f64 = 1e-4;
/// Error of a slope, ppm, from which on a line hides which constraints bind.
const FAR_PPM: f64 = 1.0;
/// Up to this many hosts the collectives constrain all pairs.
const ALL_PAIRS: usize = 16;

/// Sets the errors of an alignment by straight lines, from those of its bursts. `starts`: by group,
/// ns on the clock of its reference.
pub fn simple_errors(alignment: &Alignment, starts: &[i64], errors: &mut OffsetErrors) {
    for (host, own) in alignment.corrections.iter().enumerate() {
        let Some(own) = own else { continue };
        for time in 0..errors.at_ns().len() {
            let start = starts[alignment.group_of[host]];
            let at_ns = own.local_ns(start.saturating_add(errors.at_ns()[time]));
            let knot = own.at(at_ns);
            errors.set(time, host, knot.sd_ns * knot.sd_ns, knot.bound_ns);
        }
    }
}
