//! Whether two processes of one host really have one clock, measured by a ping.

use collbench_formats::OffsetSample;

use super::ping::TickLength;

/// How much the clocks of one host may differ beyond the uncertainty of the ping itself and still
/// count as one clock, ns.
const TOLERANCE_NS: i64 = 1_000;

/// Whether exchanges with a process that claims to have the same clock show that it has another.
///
/// The offset from the shortest exchange is wrong by at most half its round trip. A larger offset,
/// by more than [`TOLERANCE_NS`], is a difference of clocks, however slow the exchange was.
pub(crate) fn have_different_clocks(samples: &[OffsetSample], tick: TickLength) -> bool {
    let span = |from: u64, to: u64| i128::from(to) - i128::from(from);
    let rtt = |sample: &OffsetSample| span(sample.t1, sample.t4) - span(sample.t2, sample.t3);
    let Some(best) = samples.iter().min_by_key(|sample| rtt(sample)) else {
        return false;
    };
    let twice_offset = span(best.t1, best.t2) + span(best.t4, best.t3);
    let beyond = (twice_offset.abs() - rtt(best).abs()) / 2;
    u64::try_from(beyond).is_ok_and(|ticks| tick.ns(ticks) > TOLERANCE_NS as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_differ_only_where_no_delay_can_explain_the_difference() {
        let exchange = |offset: i64, there: i64, back: i64| {
            let t1 = 1 << 40;
            let t2 = t1 + there + offset;
            let t3 = t2 + 50;
            let t4 = t1 + there + 50 + back;
            [t1, t2, t3, t4].map(|t| t as u64)
        };
        let differ = |exchanges: &[[u64; 4]]| {
            let sample = |&[t1, t2, t3, t4]: &[u64; 4]| OffsetSample { t1, t2, t3, t4 };
            let samples: Vec<_> = exchanges.iter().map(sample).collect();
            have_different_clocks(&samples, TickLength::NANOSECOND)
        };
        assert!(!differ(&[exchange(0, 400, 90_000), exchange(0, 300, 700)]));
        assert!(!differ(&[exchange(900, 300, 300)]), "within the tolerance");
        assert!(!differ(&[exchange(5_000, 9_000, 9_000)]), "cannot be told");
        assert!(differ(&[
            exchange(5_000, 90_000, 9_000),
            exchange(5_000, 300, 300)
        ]));
        assert!(differ(&[exchange(-5_000, 300, 300)]));
        assert!(!differ(&[]));
    }
}
