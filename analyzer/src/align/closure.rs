//! Whether offsets that were measured around a triangle of hosts come to nothing.
//!
//! Each offset is off by half of what its path takes longer one way than the other. In a triangle
//! the three add up: what three clocks show around it must be 0, and what is left beyond the
//! errors that were assumed is asymmetry, or an exchange that was disturbed.

use super::{Correction, Edges};

/// Three hosts between which offsets contradict one another.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OpenTriangle {
    pub(crate) hosts: [usize; 3],
    /// Sum of the offsets around it, ns.
    pub(crate) gap_ns: i64,
    /// Standard deviation of that, ns.
    pub(crate) sd_ns: f64,
    /// The two with the longest round trip: an asymmetric path is one that is longer one way.
    pub(crate) suspects: (usize, usize),
}

/// Triangles that are looked at; of thousands of hosts not all.
const MAX_TRIANGLES: usize = 10_000;
/// What lies within so many standard deviations is closed.
const WIDE: f64 = 3.0;

/// The triangles whose sides were all measured and that do not close, by their hosts.
pub(crate) fn open_triangles(edges: &Edges) -> Vec<OpenTriangle> {
    let pairs = edges.keys().copied().filter(|(a, b)| a < b);
    let triangles = pairs.flat_map(|(a, b)| {
        let beyond = edges.range((b, b + 1)..=(b, usize::MAX));
        let third = beyond.map(|(&(_, c), _)| c);
        third
            .filter(move |&c| edges.contains_key(&(a, c)))
            .map(move |c| [a, b, c])
    });
    triangles
        .take(MAX_TRIANGLES)
        .filter_map(|hosts| gap(edges, hosts))
        .filter(|triangle| triangle.gap_ns.unsigned_abs() as f64 > WIDE * triangle.sd_ns)
        .collect()
}

/// The gap of a triangle: the middle one of those at the bursts of its first side.
fn gap(edges: &Edges, [a, b, c]: [usize; 3]) -> Option<OpenTriangle> {
    let side = |local: usize, reference: usize| {
        let knots = edges.get(&(local, reference))?.clone();
        Some(Correction { knots })
    };
    let (ab, bc, ca) = (side(a, b)?, side(b, c)?, side(c, a)?);
    let mut gaps: Vec<(i64, f64)> = ab
        .knots
        .iter()
        .map(|first| {
            let on_b = first.at_ns.saturating_sub(first.offset_ns);
            let second = bc.at(on_b);
            let third = ca.at(on_b.saturating_sub(second.offset_ns));
            let sum = first.offset_ns.saturating_add(second.offset_ns);
            let sd_ns = first.sd_ns.hypot(second.sd_ns).hypot(third.sd_ns);
            (sum.saturating_add(third.offset_ns), sd_ns)
        })
        .collect();
    gaps.sort_unstable_by_key(|(gap, _)| *gap);
    let &(gap_ns, sd_ns) = gaps.get(gaps.len() / 2)?;
    let rtt = |side: &Correction| side.knots.iter().map(|knot| knot.bound_ns).min();
    let longest = [(rtt(&ab), (a, b)), (rtt(&bc), (b, c)), (rtt(&ca), (a, c))];
    let (_, suspects) = longest.into_iter().max_by_key(|(rtt, _)| *rtt)?;
    Some(OpenTriangle {
        hosts: [a, b, c],
        gap_ns,
        sd_ns,
        suspects,
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Burst, edges};
    use super::*;

    /// A burst of exchanges that take `there` and `back`, of clocks that show the same.
    fn burst(local_host: usize, reference_host: usize, there: i64, back: i64) -> Burst {
        let stamps = (0..20i64).map(|i| {
            let sent = 1_000_000 + 100_000 * i;
            let received = sent + there + i;
            [sent, received, received + 300, received + 300 + back + i]
        });
        Burst {
            local_host,
            reference_host,
            stamps: stamps.collect(),
        }
    }

    #[test]
    fn a_triangle_of_even_paths_closes() {
        let bursts = [
            burst(1, 0, 20_000, 20_300),
            burst(2, 0, 24_000, 23_800),
            burst(2, 1, 21_000, 21_000),
        ];
        assert_eq!(open_triangles(&edges(&bursts)), []);
    }

    #[test]
    fn a_path_that_is_longer_one_way_opens_it_and_is_named() {
        let bursts = [
            burst(1, 0, 20_000, 20_000),
            burst(2, 0, 20_000, 20_000),
            burst(2, 1, 60_000, 20_000),
            burst(3, 0, 20_000, 20_000),
        ];
        let open = open_triangles(&edges(&bursts));
        assert_eq!(open.len(), 1);
        assert_eq!(open[0].hosts, [0, 1, 2]);
        assert_eq!(open[0].suspects, (1, 2));
        assert!(
            open[0].gap_ns.abs().abs_diff(20_000) < 50,
            "{}",
            open[0].gap_ns
        );
    }
}
