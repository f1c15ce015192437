//! Offsets over time: the drift between two clocks, and the error of predicting a burst from its
//! neighbours.

use collbench_formats::OffsetSample;
use collbench_instrument::exchange::TickLength;
use serde::Serialize;

/// A burst counts as disturbed if its shortest round trip exceeds that of the best burst by this
/// factor: something delayed every one of its exchanges, and one direction more than the other.
const DISTURBED: f64 = 1.5;

/// One burst of exchanges, represented by the shortest one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Burst {
    /// Time since the first burst on the reference clock, ns.
    pub(super) at_ns: i64,
    /// Local minus reference, minus the offset of the first undisturbed burst, ns.
    pub(super) offset_ns: i64,
    /// The smallest round trip, ns: the error of the offset is at most half of it.
    pub(super) rtt_ns: u64,
    /// Whether it is disturbed and does not count.
    pub(super) is_disturbed: bool,
}

/// Drift of one clock against another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Drift {
    /// Local against reference, ppm.
    pub(super) ppm: f64,
    /// Two standard errors, from the residuals of the bursts.
    pub(super) error_ppm: f64,
}

/// The exchange of a burst with the shortest round trip.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shortest {
    /// When it was sent, in ticks of the reference.
    t1: u64,
    /// Local minus reference, in halves of a ns.
    twice_offset: i128,
    /// Round trip, ns.
    pub(super) rtt_ns: u64,
}

impl Shortest {
    /// The shortest of these exchanges, on clocks with these tick lengths; `None` without a
    /// possible one.
    pub(super) fn of(
        samples: &[OffsetSample],
        [reference, local]: [TickLength; 2],
    ) -> Option<Self> {
        let ns = |tick: TickLength, ticks: u64| i128::from(tick.ns(ticks));
        samples
            .iter()
            .filter_map(|sample| {
                let there = reference.ns(sample.t4.checked_sub(sample.t1)?);
                let rtt_ns = there.checked_sub(local.ns(sample.t3.checked_sub(sample.t2)?))?;
                let before = ns(local, sample.t2) - ns(reference, sample.t1);
                let behind = ns(local, sample.t3) - ns(reference, sample.t4);
                Some(Self {
                    t1: sample.t1,
                    twice_offset: before + behind,
                    rtt_ns,
                })
            })
            .min_by_key(|shortest| shortest.rtt_ns)
    }

    /// Local minus reference, ns: between processes with one clock, the error of the measurement.
    pub(super) fn offset_ns(&self) -> f64 {
        self.twice_offset as f64 / 2.0
    }
}

/// Whether a burst with this smallest round trip is disturbed, if the best one has `least_ns`.
pub(super) fn is_disturbed(rtt_ns: u64, least_ns: u64) -> bool {
    rtt_ns as f64 > DISTURBED * least_ns as f64
}

/// Bursts of one pair, relative to the first undisturbed one.
pub(super) fn bursts(shortest: &[Shortest], reference: TickLength) -> Vec<Burst> {
    let Some(least_ns) = shortest.iter().map(|each| each.rtt_ns).min() else {
        return Vec::new();
    };
    let is_disturbed = |each: &Shortest| is_disturbed(each.rtt_ns, least_ns);
    // The best one is not disturbed.
    let zero = shortest.iter().find(|each| !is_disturbed(each));
    let zero = zero.map_or(0, |each| each.twice_offset);
    let burst = |each: &Shortest| Burst {
        at_ns: i64::try_from(reference.ns(each.t1.saturating_sub(shortest[0].t1)))
            .unwrap_or(i64::MAX),
        offset_ns: i64::try_from((each.twice_offset - zero) / 2).unwrap_or(i64::MAX),
        rtt_ns: each.rtt_ns,
        is_disturbed: is_disturbed(each),
    };
    shortest.iter().map(burst).collect()
}

/// The slope of the offset by weighted least squares over undisturbed bursts; `None` with fewer
/// than three of them.
///
/// The standard deviation of a burst is assumed to be half the excess of its round trip over the
/// smallest one (a delay in one direction shifts the offset by half of it), but at least the median
/// of these.
pub(super) fn drift(bursts: &[Burst]) -> Option<Drift> {
    let bursts: Vec<&Burst> = bursts.iter().filter(|burst| !burst.is_disturbed).collect();
    let least_ns = bursts.iter().map(|burst| burst.rtt_ns).min()?;
    let above = |burst: &Burst| (burst.rtt_ns - least_ns) as f64 / 2.0;
    let mut all_above: Vec<f64> = bursts.iter().map(|burst| above(burst)).collect();
    all_above.sort_by(f64::total_cmp);
    let floor = all_above[all_above.len() / 2].max(1.0);
    let weighted: Vec<(f64, f64, f64)> = bursts
        .iter()
        .map(|burst| {
            let weight = above(burst).max(floor).powi(-2);
            (weight, burst.at_ns as f64, burst.offset_ns as f64)
        })
        .collect();
    let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        weighted
            .iter()
            .map(|&(w, at, offset)| w * of(at, offset))
            .sum()
    };
    let all = sum(&|_, _| 1.0);
    let (at_mean, offset_mean) = (sum(&|at, _| at) / all, sum(&|_, offset| offset) / all);
    let spread = sum(&|at, _| (at - at_mean).powi(2));
    if bursts.len() < 3 || spread <= 0.0 {
        return None;
    }
    let slope = sum(&|at, offset| (at - at_mean) * (offset - offset_mean)) / spread;
    let chi_square = sum(&|at, offset| (offset - offset_mean - slope * (at - at_mean)).powi(2));
    let variance = chi_square / (bursts.len() - 2) as f64 / spread;
    Some(Drift {
        ppm: 1e6 * slope,
        error_ppm: 2e6 * variance.sqrt(),
    })
}

/// Absolute difference of each undisturbed burst, except the first and the last, from the line
/// through its two neighbours, ns.
pub(super) fn held_out(bursts: &[Burst]) -> Vec<f64> {
    let counted: Vec<&Burst> = bursts.iter().filter(|burst| !burst.is_disturbed).collect();
    let errors = counted.windows(3).filter_map(|three| {
        let [a, b, c] = [three[0], three[1], three[2]].map(|burst| burst.at_ns as f64);
        let offset = |burst: &Burst| burst.offset_ns as f64;
        let part = (b - a) / (c - a);
        let line = offset(three[0]) + part * (offset(three[2]) - offset(three[0]));
        (c > a).then(|| (offset(three[1]) - line).abs())
    });
    errors.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn burst(at_ns: i64, offset_ns: i64) -> Burst {
        Burst {
            at_ns,
            offset_ns,
            rtt_ns: 1_000,
            is_disturbed: false,
        }
    }

    fn line(n: i64) -> Vec<Burst> {
        (0..n)
            .map(|i| burst(i * 1_000_000_000, 250 + i * 30_000))
            .collect()
    }

    #[test]
    fn a_straight_drift_is_found_and_leaves_no_error() {
        let bursts = line(20);
        let found = drift(&bursts).unwrap();
        assert!((found.ppm - 30.0).abs() < 1e-9, "{found:?}");
        assert!(found.error_ppm < 1e-9, "{found:?}");
        assert_eq!(held_out(&bursts), [0.0; 18]);
        assert_eq!(drift(&bursts[..2]), None);
        assert!(held_out(&bursts[..2]).is_empty());
    }

    #[test]
    fn a_burst_that_is_off_is_off_against_its_neighbours() {
        let bursts = [burst(0, 0), burst(10, 500), burst(30, 0)];
        assert_eq!(held_out(&bursts), [500.0]);
    }

    #[test]
    fn disturbed_bursts_count_for_nothing() {
        let mut bursts = line(20);
        bursts[7].offset_ns += 5_000_000;
        assert!((drift(&bursts).unwrap().ppm - 30.0).abs() > 0.1);
        bursts[7].is_disturbed = true;
        assert!((drift(&bursts).unwrap().ppm - 30.0).abs() < 1e-9);
        assert_eq!(held_out(&bursts), [0.0; 17]);
    }

    #[test]
    fn the_stated_error_of_the_drift_covers_it() {
        let mut random = collbench_stats::random::Random::from_state(3);
        let mut n_covered = 0;
        for _ in 0..400 {
            let bursts: Vec<Burst> = (0..30)
                .map(|i| {
                    let [there, back] = [(); 2].map(|()| random.exponential_real(4_000.0));
                    Burst {
                        rtt_ns: (200_000.0 + there + back) as u64,
                        ..burst(i * 100_000_000, i * 700 + ((there - back) / 2.0) as i64)
                    }
                })
                .collect();
            let Drift { ppm, error_ppm } = drift(&bursts).unwrap();
            n_covered += u32::from((ppm - 7.0).abs() <= error_ppm);
        }
        assert!((370..=398).contains(&n_covered), "{n_covered} of 400");
    }

    #[test]
    fn the_shortest_exchange_gives_the_offset_for_any_tick() {
        // Local clock: three ticks per ns, 1,000,000 ns ahead; 400 ns in each direction.
        let local = TickLength::of(3_000, 1_000);
        let exchange = |t1: u64, there: u64, back: u64| OffsetSample {
            t1,
            t2: (t1 + there + 1_000_000) * 3,
            t3: (t1 + there + 50 + 1_000_000) * 3,
            t4: t1 + there + 50 + back,
        };
        let samples = [exchange(100, 9_000, 400), exchange(50_000, 400, 400)];
        let ticks = [TickLength::NANOSECOND, local];
        let found = Shortest::of(&samples, ticks).unwrap();
        assert!(found.rtt_ns.abs_diff(800) <= 2, "{found:?}");
        assert!((found.offset_ns() - 1_000_000.0).abs() <= 2.0, "{found:?}");
        assert!(Shortest::of(&[], [TickLength::NANOSECOND; 2]).is_none());
    }

    #[test]
    fn offsets_count_from_the_first_burst_that_is_not_disturbed() {
        let shortest = |t1: u64, offset: i128, rtt_ns: u64| Shortest {
            t1,
            twice_offset: 2 * offset,
            rtt_ns,
        };
        let all = [
            shortest(500, 70_000, 90_000),
            shortest(700, 1_000, 2_000),
            shortest(900, 1_004, 2_900),
        ];
        let found = bursts(&all, TickLength::NANOSECOND);
        let expected = [(0, 69_000, true), (200, 0, false), (400, 4, false)];
        let seen = found.iter().map(|b| (b.at_ns, b.offset_ns, b.is_disturbed));
        assert!(seen.eq(expected), "{found:?}");
        assert!(bursts(&[], TickLength::NANOSECOND).is_empty());
    }
}
