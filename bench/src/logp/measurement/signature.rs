//! Measures a signature: the lengths of bursts and the delays follow from what was measured before.

use super::super::messages::{Job, Pattern, Timed, Transfer};
use super::super::model::{Curve, Estimate, Point, STEADY, Signature};
use super::sampler::{Repeated, Sampler};

/// Greatest window.
const LARGEST_WINDOW: usize = 512;
/// The gap is visible only if the window is worth so much more than a round trip.
const ROUND_TRIPS: f64 = 1.2;
/// A window twice as large is of no use if it makes requests faster by no more than this factor.
const FASTER: f64 = 1.05;
/// The steady state begins with bursts of so many windows. The window fills up by the idle time of
/// the processor with each request: where that is a tenth of the gap, after ten windows.
const WINDOWS: usize = 8;
/// Where bursts are long and the processor is idle, with bursts of so many windows.
const FEW_WINDOWS: usize = 2;
/// Repetitions that show roughly how long it takes to send one message.
const ROUGH: usize = 5;
/// Bursts that take longer are long, ns.
const LONG_NS: f64 = 1e8;
/// Fewest requests in the longest bursts with a delay, and in long ones.
const FEWEST: usize = 32;
const FEWEST_OF_LONG: usize = 8;

/// The steady state of bursts without a delay.
pub(super) struct Steady {
    pub(super) window: usize,
    /// Requests in its shortest bursts.
    from: usize,
    points: Vec<Point>,
}

/// Between which processes, and with what, a signature is measured.
#[derive(Debug, Clone, Copy)]
pub(in crate::logp) struct Subject {
    pub(in crate::logp) pattern: Pattern,
    pub(in crate::logp) transfer: Transfer,
    /// Requests without a reply at once, at first.
    pub(in crate::logp) window: usize,
}

impl Subject {
    /// With this number of requests without a reply at once.
    pub(in crate::logp) fn repeated(self, window: usize) -> Repeated {
        Repeated {
            pattern: self.pattern,
            transfer: self.transfer,
            window,
        }
    }
}

impl<J: Job> Sampler<'_, J> {
    /// The signature with a curve for each of `delays`, which are parts of the gap, ascending;
    /// `None` if nobody sends requests.
    pub(in crate::logp) fn signature(
        &mut self,
        subject: Subject,
        delays: &[f64],
    ) -> Option<Signature> {
        let round_trip = self.differing(subject.repeated(1), Timed::RoundTrip)?;
        let round_trip_ns = round_trip.mean.ns;
        let Steady {
            window,
            from,
            points: last,
        } = self.window(subject, round_trip_ns)?;
        let repeated = subject.repeated(window);
        let mut points = Vec::new();
        for m in powers_of_two(from) {
            points.push(self.point(repeated, m, 0.0)?);
        }
        points.extend(last);
        let mut without = Curve {
            delay: Estimate::ZERO,
            points,
        };
        self.find_transition(repeated, &mut without, round_trip_ns)?;
        let gap_ns = without.roughly_steady_ns()?;
        let send_ns = without.points[0].cost.mean.ns;
        let mut curves = vec![without];
        for part in delays {
            let delay_ns = part * gap_ns;
            // Shorter delays than the idle time of the processor lead to the gap, in long bursts only.
            let half = if *part < 1.0 {
                from
            } else {
                half_of_bursts(round_trip_ns, send_ns + delay_ns)
            };
            curves.push(self.delayed(repeated, delay_ns, half)?);
        }
        Some(Signature {
            round_trip,
            window,
            curves,
        })
    }

    /// The steady state with the least window with which the gap is visible, as far as there is one.
    pub(super) fn window(&mut self, subject: Subject, round_trip_ns: f64) -> Option<Steady> {
        let mut window = subject.window;
        let mut before: Option<f64> = None;
        loop {
            let steady = self.steady_with(subject, window)?;
            let gap_ns = Curve::without_delay(&steady.points).roughly_steady_ns()?;
            let is_visible = gap_ns * window as f64 > ROUND_TRIPS * round_trip_ns;
            let is_no_faster = before.is_some_and(|before| before < FASTER * gap_ns);
            if is_visible || is_no_faster || window >= LARGEST_WINDOW {
                return Some(steady);
            }
            before = Some(gap_ns);
            window *= 2;
        }
    }

    /// The steady state with a window.
    fn steady_with(&mut self, subject: Subject, window: usize) -> Option<Steady> {
        let repeated = subject.repeated(window);
        let from = WINDOWS * window;
        let few = FEW_WINDOWS * window;
        let rough_ns = self.rough_ns(repeated, few, 1)?;
        if rough_ns * (2 * from) as f64 > LONG_NS {
            let points = self.steady(repeated, few, 0.0)?;
            let gap_ns = Curve::without_delay(&points).roughly_steady_ns()?;
            let send_ns = self.rough_ns(repeated, 1, ROUGH)?;
            // After this many requests the window is full, at the latest.
            let full = window as f64 / (1.0 - send_ns / gap_ns).max(0.01);
            if full < few as f64 {
                return Some(Steady {
                    window,
                    from: few,
                    points,
                });
            }
        }
        Some(Steady {
            window,
            from,
            points: self.steady(repeated, from, 0.0)?,
        })
    }

    /// The time of a request in bursts of `m`, ns: the shortest of so many repetitions.
    fn rough_ns(&mut self, repeated: Repeated, m: usize, repetitions: usize) -> Option<f64> {
        let timed = Timed::Issue { m, delay_ns: 0.0 };
        self.shortest_ns(repeated, timed, repetitions)
    }

    /// Points of the steady state, from bursts of `m` to those of twice as many requests.
    fn steady(&mut self, repeated: Repeated, m: usize, delay_ns: f64) -> Option<Vec<Point>> {
        let lengths = (0..STEADY).map(|i| m + i * m / (STEADY - 1));
        let point = |m| {
            let cost = self.differing(repeated, Timed::Issue { m, delay_ns })?;
            Some(Point { m, cost })
        };
        lengths.map(point).collect()
    }

    fn point(&mut self, repeated: Repeated, m: usize, delay_ns: f64) -> Option<Point> {
        let cost = self.cost(repeated, Timed::Issue { m, delay_ns })?;
        Some(Point { m, cost })
    }

    /// The gap alone, with the window of the subject; `None` if nobody sends requests, and where noise hides it.
    pub(in crate::logp) fn gap(&mut self, subject: Subject) -> Option<Estimate> {
        let steady = self.steady_with(subject, subject.window)?;
        Curve::without_delay(&steady.points).steady()
    }

    /// Adds points to a curve until the longest bursts that are only sent are known exactly.
    fn find_transition(
        &mut self,
        repeated: Repeated,
        curve: &mut Curve,
        round_trip_ns: f64,
    ) -> Option<()> {
        loop {
            let n = curve.send_only(round_trip_ns).len();
            let Some(next) = curve.points.get(n) else {
                return Some(());
            };
            let m = curve.points[n - 1].m.midpoint(next.m);
            if m == curve.points[n - 1].m {
                return Some(());
            }
            let point = self.point(repeated, m, 0.0)?;
            curve.points.insert(n, point);
        }
    }

    /// The curve with a delay; its longest bursts have twice `half` requests.
    fn delayed(&mut self, repeated: Repeated, delay_ns: f64, half: usize) -> Option<Curve> {
        let timed = Timed::Computation {
            m: fewest(delay_ns),
            delay_ns,
        };
        let delay = self.differing(repeated, timed)?;
        let mut points = Vec::new();
        for m in powers_of_two(half) {
            points.push(self.point(repeated, m, delay_ns)?);
        }
        points.extend(self.steady(repeated, half, delay_ns)?);
        Some(Curve {
            delay: delay.mean,
            points,
        })
    }
}

/// Half the requests of the longest bursts with a delay: twice as many as are issued, one every
/// `each_ns`, until the first reply returns.
fn half_of_bursts(round_trip_ns: f64, each_ns: f64) -> usize {
    let requests = 2.0 * round_trip_ns / each_ns;
    (requests.ceil() as usize)
        .next_power_of_two()
        .clamp(fewest(each_ns) / 2, 2 * LARGEST_WINDOW)
}

/// Fewest requests in the longest bursts with a delay, where a request is issued every `each_ns`.
fn fewest(each_ns: f64) -> usize {
    if each_ns * FEWEST as f64 > LONG_NS {
        FEWEST_OF_LONG
    } else {
        FEWEST
    }
}

/// 1, 2, 4 ... below `end`.
fn powers_of_two(end: usize) -> impl Iterator<Item = usize> {
    (0..usize::BITS)
        .map(|exponent| 1 << exponent)
        .take_while(move |m| *m < end)
}
