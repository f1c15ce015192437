//! The signature of a network, and the parameters of LogP that are read from it.
//!
//! # Source
//! Culler et al. 1996, figures 3 and 4. The message cost c(M) approaches its asymptote like 1 / M,
//! so the asymptote is not read from the last point, but as the slope of the time of issue M c(M)
//! over M, which is constant in steady state.

use serde::Serialize;

use super::estimate::{Cost, Estimate};

/// The cost of a request in bursts of one length.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::logp) struct Point {
    /// Requests in a burst.
    pub(in crate::logp) m: usize,
    /// Time of a request.
    #[serde(flatten)]
    pub(in crate::logp) cost: Cost,
}

impl Point {
    /// Time of the whole burst.
    fn issue(&self) -> Estimate {
        self.cost.mean.times(self.m as f64)
    }
}

/// Costs with one delay between requests.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::logp) struct Curve {
    /// The delay as it was measured; 0 for none.
    pub(in crate::logp) delay: Estimate,
    /// Ascending by m; the last three are in steady state.
    pub(in crate::logp) points: Vec<Point>,
}

/// Points of the steady state from which its slope is read.
pub(in crate::logp) const STEADY: usize = 3;
/// Increments of the time of issue that differ less from the slope of the steady state belong to
/// it.
const STEADY_WITHIN: f64 = 0.1;
/// Times that differ less are taken as equal where one of two limits is to be told from the other.
const EQUAL_WITHIN: f64 = 0.05;

impl Curve {
    /// The curve through these points, which have no delay.
    pub(in crate::logp) fn without_delay(points: &[Point]) -> Self {
        Self {
            delay: Estimate::ZERO,
            points: points.to_vec(),
        }
    }

    /// Time from one request to the next in steady state; `None` for fewer than two points, and
    /// where noise hides it.
    pub(in crate::logp) fn steady(&self) -> Option<Estimate> {
        let points: Vec<(f64, Estimate)> = self
            .last_points()
            .iter()
            .map(|point| (point.m as f64, point.issue()))
            .collect();
        Estimate::slope(&points).filter(|slope| slope.ns > 0.0)
    }

    /// The time of a request in steady state, ns; where noise hides it, that in the longest bursts.
    pub(in crate::logp) fn roughly_steady_ns(&self) -> Option<f64> {
        let last = self.points.last()?.cost.mean;
        Some(self.steady().map_or(last.ns, |slope| slope.ns))
    }

    fn last_points(&self) -> &[Point] {
        &self.points[self.points.len().saturating_sub(STEADY)..]
    }

    /// The shortest bursts from which on every further request takes the time of the steady state.
    fn steady_from(&self) -> Option<usize> {
        let slope = self.steady()?;
        let deviates = |pair: &&[Point]| {
            let requests = (pair[1].m - pair[0].m) as f64;
            let increment = pair[1].issue().minus(pair[0].issue()).times(1.0 / requests);
            let difference = increment.minus(slope);
            difference.ns.abs() > STEADY_WITHIN * slope.ns + difference.error_ns
        };
        let last = self.points.windows(2).rfind(deviates);
        Some(last.map_or(self.points[0].m, |pair| pair[1].m))
    }

    /// The points whose requests were all issued before the first reply could return, after
    /// `round_trip_ns`; at least one.
    pub(in crate::logp) fn send_only(&self, round_trip_ns: f64) -> &[Point] {
        let is_before = |point: &&Point| point.issue().ns <= round_trip_ns;
        let n = self.points.iter().take_while(is_before).count();
        &self.points[..n.max(1).min(self.points.len())]
    }
}

/// All curves of one kind of message between the same processes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::logp) struct Signature {
    /// Time until the reply to a single request has been handled.
    pub(in crate::logp) round_trip: Cost,
    /// Requests without a reply at once, at most.
    pub(in crate::logp) window: usize,
    /// By delay, ascending; the first has none.
    pub(in crate::logp) curves: Vec<Curve>,
}

/// What the first transition is due to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::logp) enum Begins {
    /// Replies return while requests are being issued.
    Replies,
    /// As many requests wait for replies as the network takes.
    Capacity,
    /// As many requests wait for replies as the benchmark allows.
    Window,
}

/// What the time of a request is in steady state without a delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::logp) enum Limit {
    /// The gap.
    Gap,
    /// o_s + o_r: the processor is the bottleneck, and the gap is not visible.
    Overhead,
    /// The round trip, divided by the number of requests that may wait for replies.
    Capacity,
}

/// Where the regimes of the curve without a delay end and begin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::logp) struct Regimes {
    /// The longest bursts that are issued before a reply is handled.
    pub(in crate::logp) send_only_to: usize,
    /// What ends that regime.
    pub(in crate::logp) begins: Begins,
    /// The shortest bursts from which on every further request takes the same time.
    pub(in crate::logp) steady_from: usize,
    /// What that time is.
    pub(in crate::logp) limit: Limit,
    /// Requests that wait for replies at once, where the network takes no more; `None` where
    /// replies return before that.
    pub(in crate::logp) capacity: Option<usize>,
}

/// A parameter, and the points from which it was read.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::logp) struct Read {
    #[serde(flatten)]
    pub(in crate::logp) estimate: Estimate,
    pub(in crate::logp) from: Vec<ReadAt>,
}

/// A point of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::logp) struct ReadAt {
    pub(in crate::logp) delay_ns: f64,
    pub(in crate::logp) m: usize,
}

fn read_at<'a>(curve: &'a Curve, points: &'a [Point]) -> impl Iterator<Item = ReadAt> + 'a {
    points.iter().map(|point| ReadAt {
        delay_ns: curve.delay.ns,
        m: point.m,
    })
}

/// The parameters of LogP.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::logp) struct Parameters {
    /// o_s: time of the processor to send a message, including an unsuccessful poll.
    pub(in crate::logp) send_overhead: Read,
    /// o_r: time of the processor to receive a reply; `None` if no delay is longer than the idle
    /// time of the processor.
    pub(in crate::logp) receive_overhead: Option<Read>,
    /// g, if the time of a request in steady state is the gap; else its upper bound.
    pub(in crate::logp) gap: Read,
    /// L: half the round trip, less both overheads; `None` if these are larger. See
    /// [`Self::with_receipt`].
    pub(in crate::logp) latency: Option<Estimate>,
    pub(in crate::logp) regimes: Regimes,
}

impl Parameters {
    /// Read from a signature by the steps of the paper; `None` if it has no curve of two points.
    pub(in crate::logp) fn of(signature: &Signature) -> Option<Self> {
        let curve = signature.curves.first()?;
        let gap = Read {
            estimate: curve.steady()?,
            from: read_at(curve, curve.last_points()).collect(),
        };
        let round_trip_ns = signature.round_trip.mean.ns;
        let send_only = curve.send_only(round_trip_ns);
        let n_sent: usize = send_only.iter().map(|point| point.m).sum();
        let issue = Estimate::sum(send_only.iter().map(|point| (1.0, point.issue())));
        let send_overhead = Read {
            estimate: issue.times(1.0 / n_sent as f64),
            from: read_at(curve, send_only).collect(),
        };
        let overheads = both_overheads(signature, gap.estimate);
        let receive_overhead = overheads.as_ref().map(|both| Read {
            estimate: both.estimate.minus(send_overhead.estimate),
            from: both.from.clone(),
        });
        // Not from o_s and o_r, whose errors are not independent: o_r has that of o_s.
        let latency = overheads.as_ref().and_then(|both| {
            let half = signature.round_trip.mean.times(0.5);
            Some(half.minus(both.estimate)).filter(|latency| latency.ns > 0.0)
        });
        let send_only_to = send_only.last().map_or(1, |point| point.m);
        let (begins, capacity) = begins(signature, send_only_to, send_overhead.estimate.ns);
        let allowed = capacity.unwrap_or(signature.window) as f64;
        let is_busy = overheads.is_some_and(|both| {
            let idle = gap.estimate.minus(both.estimate);
            idle.ns <= (EQUAL_WITHIN * gap.estimate.ns).max(idle.error_ns)
        });
        let limit = if is_busy {
            Limit::Overhead
        } else if gap.estimate.ns * allowed <= (1.0 + EQUAL_WITHIN) * round_trip_ns {
            Limit::Capacity
        } else {
            Limit::Gap
        };
        let regimes = Regimes {
            send_only_to,
            begins,
            steady_from: curve.steady_from()?,
            limit,
            capacity,
        };
        Some(Self {
            send_overhead,
            receive_overhead,
            gap,
            latency,
            regimes,
        })
    }
}

impl Parameters {
    /// Whether o_r is larger than its error.
    pub(in crate::logp) fn shows_receive_overhead(&self) -> bool {
        let read = self.receive_overhead.as_ref();
        read.is_some_and(|read| read.estimate.ns > read.estimate.error_ns)
    }

    /// With L from o_r as it was measured directly, where the delays do not show o_r.
    pub(in crate::logp) fn with_receipt(
        self,
        signature: &Signature,
        receipt: Option<Estimate>,
    ) -> Self {
        let Some(receipt) = receipt.filter(|_| !self.shows_receive_overhead()) else {
            return self;
        };
        let half = signature.round_trip.mean.times(0.5);
        let latency = half.minus(self.send_overhead.estimate).minus(receipt);
        Self {
            latency: Some(latency).filter(|latency| latency.ns > 0.0),
            ..self
        }
    }
}

/// What L is at most where it is not known, ns: half the round trip, less o_s if that leaves anything,
/// at the upper end of the interval. `None` where L is known.
pub(in crate::logp) fn latency_at_most_ns(
    signature: &Signature,
    parameters: Option<&Parameters>,
) -> Option<f64> {
    let half = signature.round_trip.mean.times(0.5);
    let without_sending = parameters.map(|found| half.minus(found.send_overhead.estimate));
    let at_most = without_sending.filter(|left| left.ns > 0.0).unwrap_or(half);
    let is_known = parameters.is_some_and(|found| found.latency.is_some());
    (!is_known).then_some(at_most.ns + at_most.error_ns)
}

/// o_s + o_r = g' - D, the mean over all delays that are longer than the idle time of the processor,
/// which is less than the gap; `None` without such a delay.
fn both_overheads(signature: &Signature, gap: Estimate) -> Option<Read> {
    let longer: Vec<(&Curve, Estimate)> = signature
        .curves
        .iter()
        .filter(|curve| curve.delay.ns >= gap.ns)
        .filter_map(|curve| Some((curve, curve.steady()?)))
        .collect();
    let part = 1.0 / longer.len().checked_sub(1).map(|n| n + 1)? as f64;
    let terms = longer
        .iter()
        .flat_map(|(curve, steady)| [(part, *steady), (-part, curve.delay)]);
    Some(Read {
        estimate: Estimate::sum(terms),
        from: longer
            .iter()
            .flat_map(|(curve, _)| read_at(curve, curve.last_points()))
            .collect(),
    })
}

/// What ends the regime in which requests are only sent, and the capacity that it shows.
///
/// Replies could return only after `RTT / o_s` requests; if it ends well before, no more requests
/// were taken.
fn begins(
    signature: &Signature,
    send_only_to: usize,
    send_overhead_ns: f64,
) -> (Begins, Option<usize>) {
    const WELL_BEFORE: f64 = 0.8;
    let sent_ns = (send_only_to + 1) as f64 * send_overhead_ns;
    if sent_ns >= WELL_BEFORE * signature.round_trip.mean.ns {
        (Begins::Replies, None)
    } else if send_only_to >= signature.window {
        (Begins::Window, None)
    } else {
        (Begins::Capacity, Some(send_only_to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(ns: f64, error_ns: f64) -> Cost {
        Cost {
            mean: Estimate { ns, error_ns },
            min_ns: ns,
            n: 100,
            batches: 2,
            is_precise: true,
        }
    }

    /// Requests that take this long each in bursts of any length.
    fn curve(delay: Estimate, each_ns: f64, error_ns: f64) -> Curve {
        let point = |m: usize| Point {
            m,
            cost: cost(each_ns, error_ns / m as f64),
        };
        Curve {
            delay,
            points: [1, 100, 150, 200].map(point).to_vec(),
        }
    }

    #[test]
    fn an_uncertain_send_overhead_does_not_make_the_latency_uncertain() {
        let delay = Estimate {
            ns: 9_000.0,
            error_ns: 3.0,
        };
        let signature = |error_of_one: f64| {
            let mut without = curve(Estimate::ZERO, 8_000.0, 0.0);
            // o_s is read from the burst of one only: longer ones take longer than a round trip.
            without.points[0].cost = cost(1_000.0, error_of_one);
            Signature {
                round_trip: cost(30_000.0, 8.0),
                window: 64,
                curves: vec![without, curve(delay, 12_000.0, 0.0)],
            }
        };
        let found = |error_of_one: f64| Parameters::of(&signature(error_of_one)).unwrap();
        let (certain, uncertain) = (found(0.0), found(500.0));
        assert_eq!(uncertain.send_overhead.estimate.error_ns, 500.0);
        let received = uncertain.receive_overhead.unwrap().estimate;
        assert_eq!(received.ns, 2_000.0);
        assert!((received.error_ns - 500.0f64.hypot(3.0)).abs() < 1e-9);
        // Half the round trip, less g' - D: 15 us - 3 us, of which neither depends on o_s.
        let latency = uncertain.latency.unwrap();
        assert_eq!(latency.ns, 12_000.0);
        assert!((latency.error_ns - 5.0).abs() < 1e-9, "{latency:?}");
        assert_eq!(certain.latency, Some(latency));
    }

    #[test]
    fn a_receive_overhead_that_is_not_seen_does_not_hide_the_latency() {
        let delay = |error_ns| Estimate {
            ns: 9_000.0,
            error_ns,
        };
        let signature = |error_ns: f64| Signature {
            round_trip: cost(30_000.0, 0.0),
            window: 64,
            curves: vec![
                curve(Estimate::ZERO, 8_000.0, 0.0),
                // g' - D is 16 us, longer than half the round trip.
                curve(delay(error_ns), 25_000.0, 0.0),
            ],
        };
        let receipt = Some(Estimate {
            ns: 1_000.0,
            error_ns: 10.0,
        });
        let found = |error_ns: f64| {
            let signature = signature(error_ns);
            let found = Parameters::of(&signature).unwrap();
            assert_eq!(found.latency, None);
            found.with_receipt(&signature, receipt)
        };
        // o_r = 8 us +- 20 us: 15 us - 8 us - 1 us.
        let uncertain = found(20_000.0);
        assert_eq!(uncertain.latency.unwrap().ns, 6_000.0);
        assert_eq!(uncertain.latency.unwrap().error_ns, 10.0);
        // Where it is seen, there is a bound only: 15 us - 8 us.
        let contradicted = found(0.0);
        assert_eq!(contradicted.latency, None);
        let at_most = |found: Option<&Parameters>| latency_at_most_ns(&signature(0.0), found);
        assert_eq!(at_most(Some(&contradicted)), Some(7_000.0));
        assert_eq!(at_most(Some(&uncertain)), None);
        // Without parameters nothing is subtracted, nor is what takes longer than the half.
        assert_eq!(at_most(None), Some(15_000.0));
        let mut long = contradicted;
        long.send_overhead.estimate.ns = 20_000.0;
        assert_eq!(at_most(Some(&long)), Some(15_000.0));
    }
}
