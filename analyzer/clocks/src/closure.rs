//! Whether the offsets measured around a triangle of hosts add up to 0, and which path is to blame
//! where they do not.
//!
//! Each offset is off by half the difference between the two directions of its path. Around a
//! triangle the three offsets must add up to 0; what is left beyond the assumed errors is
//! asymmetry, or disturbed exchanges.
//!
//! One triangle does not show which of its three paths it is. A path that is also a side of a
//! triangle that closes is not. The round trips may decide among the others: a path that is longer
//! in one direction, and otherwise like the others, has a round trip that is longer by twice the
//! gap. That is a hint and no proof, and it is reported as such.

use std::collections::BTreeMap;

use super::reading::Reading;

/// Three hosts whose offsets contradict one another.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenTriangle {
    /// The three hosts.
    pub hosts: [usize; 3],
    /// Gap: sum of the offsets around it, ns.
    pub gap_ns: f64,
    /// Standard deviation of the gap, ns.
    pub sd_ns: f64,
    /// Paths that may be longer in one direction, the likeliest first; at least one.
    pub suspects: Vec<(usize, usize)>,
    /// Why the first suspect is the likeliest.
    pub blame: Blame,
}

/// How the path to blame was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// The other paths are sides of triangles that close.
    OthersClose,
    /// Its round trip is longer by about twice the gap.
    RoundTrip,
    /// It was not found.
    Undecided,
}

/// Most triangles that are checked: thousands of hosts have more.
const MAX_TRIANGLES: usize = 10_000;
/// Standard deviations within which a triangle is closed.
const WIDE: f64 = 3.0;
/// Excess of a round trip, in gaps, that points at its path; exactly it would be 2.
const POINTS: std::ops::RangeInclusive<f64> = 1.3..=3.2;
/// Part of the gap that is attributed to each other path where only the round trip points at one.
const HEDGE: f64 = 1.0 / 3.0;

type Pair = (usize, usize);

/// A triangle whose sides were all measured: a < b < c.
#[derive(Debug, Clone, PartialEq)]
pub struct Triangle {
    /// The three hosts.
    pub hosts: [usize; 3],
    /// Gap: sum of the offsets around it, ns.
    pub gap_ns: f64,
    /// Standard deviation of the gap, ns.
    pub sd_ns: f64,
}

/// How well offsets close around triangles of hosts all of whose sides were measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closure {
    /// Number of such triangles, > 0.
    pub n_triangles: usize,
    /// Number of triangles that are open by more than three standard deviations.
    pub n_open: usize,
    /// The three hosts of the triangle that is open by most standard deviations, ascending.
    pub hosts: [usize; 3],
    /// Gap: sum of the offsets around it, ns.
    pub gap_ns: i64,
    /// Three standard deviations of the gap, ns, > 0.
    pub error_ns: i64,
}

impl Closure {
    /// Closure of these triangles; `None` without any.
    pub fn of(triangles: &[Triangle]) -> Option<Self> {
        let deviations = |triangle: &Triangle| triangle.gap_ns.abs() / triangle.sd_ns;
        let worst = triangles.iter().reduce(|worst, other| {
            if deviations(other) > deviations(worst) {
                other
            } else {
                worst
            }
        })?;
        Some(Self {
            n_triangles: triangles.len(),
            n_open: triangles
                .iter()
                .filter(|triangle| triangle.is_open())
                .count(),
            hosts: worst.hosts,
            gap_ns: worst.gap_ns.round() as i64,
            error_ns: (WIDE * worst.sd_ns).ceil() as i64,
        })
    }
}

impl Triangle {
    fn sides(&self) -> [Pair; 3] {
        let [a, b, c] = self.hosts;
        [(a, b), (b, c), (a, c)]
    }

    fn is_open(&self) -> bool {
        self.gap_ns.abs() > WIDE * self.sd_ns
    }
}

/// All triangles whose sides were measured. `asymmetry_ns`: by pair the standard deviation of half
/// the difference of the two directions. `rate`: standard deviation of the difference of the rates.
pub(crate) fn triangles(
    readings: &[Reading],
    asymmetry_ns: &BTreeMap<Pair, f64>,
    rate: f64,
) -> Vec<Triangle> {
    let mut sides: BTreeMap<Pair, Vec<&Reading>> = BTreeMap::new();
    for reading in readings {
        let side = sides.entry((reading.from, reading.to)).or_default();
        side.push(reading);
    }
    for side in sides.values_mut() {
        side.sort_by(|a, b| a.at.total_cmp(&b.at));
    }
    let all = sides.keys().flat_map(|&(a, b)| {
        let beyond = sides.range((b, b + 1)..=(b, usize::MAX));
        let third = beyond.map(|(&(_, c), _)| c);
        let sides = &sides;
        third
            .filter(move |&c| sides.contains_key(&(a, c)))
            .map(move |c| [a, b, c])
    });
    all.take(MAX_TRIANGLES)
        .filter_map(|hosts @ [a, b, c]| {
            let pairs = [(a, b), (b, c), (a, c)];
            let (gap_ns, noise_ns) = gap(pairs.map(|pair| &sides[&pair][..]), rate)?;
            let asymmetry = pairs.map(|pair| asymmetry_ns.get(&pair).copied().unwrap_or(0.0));
            let sd_ns = asymmetry.into_iter().fold(noise_ns, f64::hypot);
            Some(Triangle {
                hosts,
                gap_ns,
                sd_ns,
            })
        })
        .collect()
}

/// Gap around a triangle, the mean over the bursts of its first side, and its standard deviation
/// from queueing and drift; the last side counts negative.
fn gap([ab, bc, ac]: [&[&Reading]; 3], rate: f64) -> Option<(f64, f64)> {
    // The burst of another side that is the nearest in time.
    let at = |side: &[&Reading], time: f64| {
        let away = |reading: &Reading| (reading.at - time).abs();
        let nearest = side.iter().min_by(|a, b| away(a).total_cmp(&away(b)))?;
        let drifted_ns = rate * away(nearest);
        let error_ns = nearest.noise_ns.hypot(nearest.moment_ns).hypot(drifted_ns);
        Some((nearest.difference_ns, error_ns))
    };
    let (mut weights, mut sum) = (0.0, 0.0);
    for reading in ab {
        let ((second, second_ns), (third, third_ns)) = (at(bc, reading.at)?, at(ac, reading.at)?);
        let own_ns = reading.noise_ns.hypot(reading.moment_ns);
        let noise_ns = own_ns.hypot(second_ns).hypot(third_ns);
        let weight = 1.0 / (noise_ns * noise_ns);
        weights += weight;
        sum += weight * (reading.difference_ns + second - third);
    }
    (weights > 0.0).then(|| (sum / weights, (1.0 / weights).sqrt()))
}

/// The triangles that do not close, with the paths to blame. `rtt_ns`: by pair the smallest round
/// trip.
pub fn open_triangles(triangles: &[Triangle], rtt_ns: &BTreeMap<Pair, f64>) -> Vec<OpenTriangle> {
    let open = triangles.iter().filter(|triangle| triangle.is_open());
    open.map(|open| {
        let gap_ns = open.gap_ns.abs();
        // In a triangle that closes, and would not if this path were off by the gap.
        let is_cleared = |pair: &Pair| {
            triangles.iter().any(|other| {
                let would_show = WIDE * other.sd_ns < gap_ns / 2.0;
                !other.is_open() && would_show && other.sides().contains(pair)
            })
        };
        let rtt = |pair: Pair| rtt_ns.get(&pair).copied().unwrap_or(0.0);
        // No direction takes less than 0.
        let is_long_enough = |pair: &Pair| rtt(*pair) / 2.0 > gap_ns - WIDE * open.sd_ns;
        let sides = open.sides();
        let possible = sides.iter().copied().filter(is_long_enough);
        let mut suspects: Vec<Pair> = possible.filter(|pair| !is_cleared(pair)).collect();
        if suspects.is_empty() {
            // More than one path is asymmetric.
            suspects.extend(sides);
        }
        suspects.sort_by(|&a, &b| rtt(b).total_cmp(&rtt(a)).then(a.cmp(&b)));
        let others = sides.into_iter().filter(|pair| *pair != suspects[0]);
        let longest_other = others.map(rtt).fold(0.0, f64::max);
        let blame = match suspects.len() {
            1 => Blame::OthersClose,
            _ if POINTS.contains(&((rtt(suspects[0]) - longest_other) / gap_ns)) => {
                Blame::RoundTrip
            }
            _ => Blame::Undecided,
        };
        OpenTriangle {
            hosts: open.hosts,
            gap_ns: open.gap_ns,
            sd_ns: open.sd_ns,
            suspects,
            blame,
        }
    })
    .collect()
}

/// By path: additional standard deviation of half the asymmetry because of open triangles, ns.
pub fn extra_asymmetry_ns(open: &[OpenTriangle]) -> BTreeMap<Pair, f64> {
    let mut room: BTreeMap<Pair, f64> = BTreeMap::new();
    for triangle in open {
        for (index, &pair) in triangle.suspects.iter().enumerate() {
            let part = match (triangle.blame, index) {
                (Blame::RoundTrip, 1..) => HEDGE,
                _ => 1.0,
            };
            let of_pair = room.entry(pair).or_insert(0.0);
            *of_pair = of_pair.max(part * triangle.gap_ns.abs());
        }
    }
    room
}

#[cfg(test)]
mod tests {
    use super::super::exchange::ASYMMETRY;
    use super::super::reading::readings;
    use super::*;

    /// A burst of exchanges that take `there` and `back`, between clocks that show the same time.
    fn burst(
        local: usize,
        reference: usize,
        there: i64,
        back: i64,
    ) -> (usize, usize, Vec<[i64; 4]>) {
        let stamps = (0..20i64).map(|i| {
            let sent = 1_000_000 + 100_000 * i;
            let received = sent + there + i;
            [sent, received, received + 300, received + 300 + back + i]
        });
        (local, reference, stamps.collect())
    }

    type Bursts<'b> = &'b [(usize, usize, Vec<[i64; 4]>)];

    fn measured(bursts: Bursts<'_>) -> (Vec<Triangle>, BTreeMap<Pair, f64>) {
        let (readings, rtt_ns) = readings(bursts.iter().cloned());
        let asymmetry = |(&pair, rtt)| (pair, ASYMMETRY * rtt / 2.0);
        let asymmetry_ns = rtt_ns.iter().map(asymmetry).collect();
        (triangles(&readings, &asymmetry_ns, 0.0), rtt_ns)
    }

    fn open(bursts: Bursts<'_>) -> Vec<OpenTriangle> {
        let (triangles, rtt_ns) = measured(bursts);
        open_triangles(&triangles, &rtt_ns)
    }

    #[test]
    fn a_triangle_of_even_paths_closes() {
        let bursts = [
            burst(1, 0, 20_000, 20_300),
            burst(2, 0, 24_000, 23_800),
            burst(2, 1, 21_000, 21_000),
        ];
        assert_eq!(open(&bursts), []);
        let closure = Closure::of(&measured(&bursts).0).unwrap();
        assert_eq!((closure.n_triangles, closure.n_open), (1, 0));
        assert_eq!(closure.hosts, [0, 1, 2]);
        // Offsets: 1 is 150 ns too early, 2 is 100 ns too late.
        assert!((245..=255).contains(&closure.gap_ns.abs()), "{closure:?}");
        // Three times 5 % of half of each round trip, plus disturbances of single bursts.
        assert!((5_000..8_000).contains(&closure.error_ns), "{closure:?}");
        assert_eq!(Closure::of(&measured(&bursts[..2]).0), None);
    }

    #[test]
    fn of_one_triangle_the_path_with_the_longer_round_trip_is_the_likeliest() {
        let bursts = [
            burst(1, 0, 20_000, 20_000),
            burst(2, 0, 20_000, 20_000),
            burst(2, 1, 60_000, 20_000),
            burst(3, 0, 20_000, 20_000),
        ];
        let open = open(&bursts);
        assert_eq!(open.len(), 1);
        assert_eq!(open[0].hosts, [0, 1, 2]);
        assert_eq!(open[0].suspects[0], (1, 2));
        assert_eq!(open[0].blame, Blame::RoundTrip);
        assert!((open[0].gap_ns.abs() - 20_000.0).abs() < 50.0, "{open:?}");
        let room = extra_asymmetry_ns(&open);
        assert!(room[&(1, 2)] > 2.9 * room[&(0, 1)], "{room:?}");
    }

    #[test]
    fn in_one_triangle_with_equal_round_trips_no_path_is_to_blame() {
        let bursts = [
            burst(1, 0, 20_000, 20_000),
            burst(2, 0, 10_000, 30_000),
            burst(2, 1, 20_000, 20_000),
        ];
        let open = open(&bursts);
        assert_eq!(open[0].blame, Blame::Undecided);
        assert_eq!(open[0].suspects.len(), 3);
        let room = extra_asymmetry_ns(&open);
        assert_eq!(room[&(0, 1)], room[&(1, 2)]);
    }

    #[test]
    fn a_round_trip_that_is_longer_for_another_reason_does_not_point() {
        let bursts = [
            burst(1, 0, 20_000, 50_000),
            burst(2, 0, 20_000, 20_000),
            burst(2, 1, 60_000, 60_000),
        ];
        assert_eq!(open(&bursts)[0].blame, Blame::Undecided);
    }

    #[test]
    fn a_path_that_is_in_all_triangles_that_do_not_close_is_to_blame() {
        // All pairs of four hosts; 0 and 2 have equal round trips, one direction of which is
        // longer.
        let mut bursts = Vec::new();
        for (a, b) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
            let asymmetry = if (a, b) == (0, 2) { 15_000 } else { 0 };
            bursts.push(burst(b, a, 20_000 + asymmetry, 20_000 - asymmetry));
        }
        let open = open(&bursts);
        assert_eq!(open.len(), 2);
        let closure = Closure::of(&measured(&bursts).0).unwrap();
        assert_eq!((closure.n_triangles, closure.n_open), (4, 2));
        assert!([0, 2].iter().all(|host| closure.hosts.contains(host)));
        assert!(closure.gap_ns.abs() > closure.error_ns, "{closure:?}");
        for triangle in &open {
            assert_eq!(triangle.blame, Blame::OthersClose);
            assert_eq!(triangle.suspects, [(0, 2)]);
        }
        assert_eq!(extra_asymmetry_ns(&open).len(), 1);
    }
}
