//! Parameters of LogGP: overheads, gaps and times as functions of the size of messages.

use serde::Serialize;

use super::estimate::{Cost, Estimate};
use super::line::{Line, Sized};
use super::signature::{Limit, Parameters, Signature};

/// Parametrized round trips of messages of one size.
///
/// # Source
/// Hoefler, Lichei, Rehm, "Low-overhead LogGP parameter assessment for modern interconnection
/// networks", 2007: PRTT(n, d, s) is the time of n messages of s bytes with a delay of d between
/// them, until the reply to the last has been handled. We reply with a small message.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::logp) struct RoundTrips {
    /// n.
    pub(in crate::logp) messages: usize,
    /// PRTT(1, 0, s).
    pub(in crate::logp) single: Cost,
    /// PRTT(n, 0, s).
    pub(in crate::logp) burst: Cost,
    /// PRTT(n, d, s).
    pub(in crate::logp) delayed: Cost,
    /// d as it was measured.
    pub(in crate::logp) delay: Estimate,
}

impl RoundTrips {
    /// g(s) = (PRTT(n, 0, s) - PRTT(1, 0, s)) / (n - 1), or o(s) if that is longer.
    pub(in crate::logp) fn gap(&self) -> Estimate {
        let messages = (self.messages - 1) as f64;
        self.burst
            .mean
            .minus(self.single.mean)
            .times(1.0 / messages)
    }

    /// o(s) = (PRTT(n, d, s) - PRTT(1, 0, s)) / (n - 1) - d, for d longer than the gap.
    pub(in crate::logp) fn overhead(&self) -> Estimate {
        let messages = (self.messages - 1) as f64;
        let each = self
            .delayed
            .mean
            .minus(self.single.mean)
            .times(1.0 / messages);
        each.minus(self.delay)
    }
}

/// Everything measured with messages of one size.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::logp) struct OfSize {
    pub(in crate::logp) bytes: usize,
    /// Of stores; its round trip is T(n).
    pub(in crate::logp) signature: Signature,
    pub(in crate::logp) parameters: Option<Parameters>,
    /// Time of a get.
    pub(in crate::logp) get: Option<Cost>,
    /// Time to receive the data of a get that have arrived.
    pub(in crate::logp) receipt: Option<Cost>,
    pub(in crate::logp) round_trips: Option<RoundTrips>,
}

impl OfSize {
    fn time(&self) -> Estimate {
        self.signature.round_trip.mean
    }
}

/// Times over sizes, as lines.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::logp) struct Lines {
    /// T(n) = T0 + n / R_inf by least squares, as it is commonly derived. T0 need not be the time of
    /// a small message: it may be negative.
    pub(in crate::logp) transfer: Option<Line>,
    /// T(n), o_s(n) and g(n), in as many lines as fit.
    pub(in crate::logp) transfer_segments: Vec<Line>,
    pub(in crate::logp) send_overhead_segments: Vec<Line>,
    pub(in crate::logp) gap_segments: Vec<Line>,
    /// g(n) by parametrized round trips.
    pub(in crate::logp) round_trip_gap_segments: Vec<Line>,
    /// G, ns: the lesser slope of the lines through the gaps of the largest messages, as signatures
    /// and as parametrized round trips show them, since whatever disturbs a burst makes it longer;
    /// `None` if the gap is not visible for any of them.
    pub(in crate::logp) gap_per_byte_ns: Option<f64>,
    /// Sizes from which on a time follows another line, bytes.
    pub(in crate::logp) switches: Vec<usize>,
}

impl Lines {
    /// Of sizes, ascending.
    pub(in crate::logp) fn of(sizes: &[OfSize]) -> Self {
        let of = |time: &dyn Fn(&OfSize) -> Option<Estimate>| -> Vec<Sized> {
            let points = sizes.iter();
            let points = points.filter_map(|size| Some((size.bytes, time(size)?)));
            points.filter(|(_, time)| time.ns > 0.0).collect()
        };
        let parameters =
            |of: fn(&Parameters) -> Estimate| move |size: &OfSize| size.parameters.as_ref().map(of);
        let times = of(&|size| Some(size.time()));
        let transfer_segments = Line::segments(&times);
        let send_overheads = of(&parameters(|found| found.send_overhead.estimate));
        let send_overhead_segments = Line::segments(&send_overheads);
        let gaps = of(&parameters(|found| found.gap.estimate));
        let gap_segments = Line::segments(&gaps);
        let round_trip_gaps = of(&|size| Some(size.round_trips?.gap()));
        let begins = [&transfer_segments, &send_overhead_segments].into_iter();
        let begins = begins.flat_map(|lines| lines.iter().skip(1).map(|line| line.from_bytes));
        let mut switches: Vec<usize> = begins.collect();
        switches.sort_unstable();
        switches.dedup();
        let is_visible = |line: &&Line| {
            let in_line = sizes.iter();
            let mut in_line = in_line.filter(|size| size.bytes >= line.from_bytes);
            in_line.any(|size| {
                let parameters = size.parameters.as_ref();
                parameters.is_some_and(|found| found.regimes.limit == Limit::Gap)
            })
        };
        let round_trip_gap_segments = Line::segments(&round_trip_gaps);
        let largest = least_slope(&gap_segments, &round_trip_gap_segments);
        Self {
            transfer: Line::of_times(&times),
            gap_per_byte_ns: largest
                .filter(|(line, _)| is_visible(line))
                .map(|(line, _)| line.ns_per_byte),
            transfer_segments,
            send_overhead_segments,
            gap_segments,
            round_trip_gap_segments,
            switches,
        }
    }

    /// The line whose slope is G, and whether it is through gaps by parametrized round trips.
    pub(in crate::logp) fn gap_line(&self) -> Option<(&Line, bool)> {
        least_slope(&self.gap_segments, &self.round_trip_gap_segments)
    }
}

/// Of the last lines of both the one with the lesser slope above 0, and whether it is of the second.
fn least_slope<'a>(gaps: &'a [Line], round_trip_gaps: &'a [Line]) -> Option<(&'a Line, bool)> {
    let last = [(gaps.last(), false), (round_trip_gaps.last(), true)].into_iter();
    last.filter_map(|(line, is_by_round_trips)| Some((line?, is_by_round_trips)))
        .filter(|(line, _)| line.ns_per_byte > 0.0)
        .min_by(|(a, _), (b, _)| a.ns_per_byte.total_cmp(&b.ns_per_byte))
}
