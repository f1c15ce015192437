//! Exchanges between two clocks, and the offset that a burst of them gives.
//!
//! An exchange has four timestamps: t1 (send) and t4 (receive) at the reference, t2 (receive) and t3
//! (send) at the local host. `rtt = (t4 - t1) - (t3 - t2)`, `offset = ((t2 - t1) + (t3 - t4)) / 2`,
//! offset = local - reference. The exchange with the smallest rtt represents a burst.
//!
//! # Source
//! Hoefler et al. 2007, section 3.

/// Standard deviation of half the difference of the two directions, as part of half the round trip.
pub(crate) const ASYMMETRY: f64 = 0.05;

/// One burst of exchanges between two hosts, on the clocks of both, ns.
#[derive(Debug, Clone, PartialEq)]
pub struct Burst {
    /// Index of the local host.
    pub local_host: usize,
    /// Index of the reference host.
    pub reference_host: usize,
    /// t1, t2, t3, t4 of each exchange, ns on the clock of its host.
    pub stamps: Vec<[i64; 4]>,
}

impl Burst {
    /// The smallest round trip, ns, >= 0; `None` without a possible exchange.
    #[must_use]
    pub fn round_trip_ns(&self) -> Option<i64> {
        let possible = self
            .stamps
            .iter()
            .filter(|stamps| Knot::is_possible(stamps));
        possible
            .map(|&[t1, t2, t3, t4]| (t4 - t1) - (t3 - t2))
            .min()
    }
}

/// A measured offset at one instant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Knot {
    /// Instant on the local clock, ns.
    pub at_ns: i64,
    /// Local minus reference, ns.
    pub offset_ns: i64,
    /// Standard deviation of the offset, ns.
    pub sd_ns: f64,
    /// Bound on the error of the offset, ns.
    pub bound_ns: i64,
}

/// Offset by the exchange with the smallest round trip; `None` without a possible exchange.
pub(crate) fn knot(stamps: &[[i64; 4]]) -> Option<Knot> {
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
    // The error of a single exchange is half its round trip.
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
    /// Whether four timestamps can be those of an exchange: time goes forward.
    pub fn is_possible(&[t1, t2, t3, t4]: &[i64; 4]) -> bool {
        let (there, back) = (t4.checked_sub(t1), t3.checked_sub(t2));
        matches!((there, back), (Some(there), Some(back)) if back >= 0 && there >= back)
            && t2.checked_sub(t1).is_some()
            && t3.checked_sub(t4).is_some()
    }

    /// Adds a standard deviation of half the difference of the two directions, ns.
    pub fn widen(&mut self, extra_asymmetry_ns: f64) {
        self.sd_ns = self.sd_ns.hypot(extra_asymmetry_ns);
    }

    /// The offset as seen from the other host.
    pub fn reversed(self) -> Self {
        Self {
            at_ns: self.at_ns.saturating_sub(self.offset_ns),
            offset_ns: self.offset_ns.saturating_neg(),
            ..self
        }
    }
}
