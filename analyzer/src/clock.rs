//! Clocks: ticks of a process to nanoseconds on one time, host by host.
//!
//! Processes with equal boot id and time namespace read the same clock. All anchors of all
//! processes of such a host give one straight line from ticks to `CLOCK_MONOTONIC_RAW`, so that
//! the same tick is the same nanosecond in every process of the host and no process is shifted
//! against another. A line for each process would fit its own anchors better, and would invent
//! offsets between processes that have none.
//!
//! The line goes through two anchors: of all pairs the one whose rate has the least error bound,
//! `(width_a + width_b) / 2 / (ticks_b - ticks_a)`. Least squares over all anchors would average
//! the reading noise, but one reading that was interrupted (a wide anchor) or is damaged would
//! bend it; the long base line makes the noise small anyway.
//!
//! Clocks of different hosts are not aligned in this version: a [`Timestamp<Global>`] counts from
//! the start of the run as its own host saw it, and is compared with stamps of that host only.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use collbench_formats::{Anchor, ClockSource};

use crate::run::Run;

/// The domain of a process's own clock: ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Local {}
/// The domain of the analysis: ns since the start of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Global {}

/// An instant in one of the domains; the only way across is [`RankClock::global`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp<Domain> {
    value: i64,
    domain: PhantomData<Domain>,
}

impl Timestamp<Local> {
    /// The instant at which a record says this number of ticks.
    #[must_use]
    pub fn from_ticks(ticks: u64) -> Self {
        Self {
            value: i64::try_from(ticks).unwrap_or(i64::MAX),
            domain: PhantomData,
        }
    }
}

impl Timestamp<Global> {
    /// So many ns after the start of the run.
    ///
    /// Kept within 2^60 ns (36 years) of it, so that no difference or short sum of differences
    /// can overflow, whatever a damaged file says.
    #[must_use]
    pub fn from_ns(ns: i64) -> Self {
        Self {
            value: ns.clamp(-(1 << 60), 1 << 60),
            domain: PhantomData,
        }
    }

    /// ns since the start of the run.
    #[must_use]
    pub fn ns(self) -> i64 {
        self.value
    }
}

/// A straight line from ticks to ns, in integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TickScale {
    origin_ticks: i64,
    origin_ns: i64,
    /// ns per tick, times 2^`shift`.
    multiplier: i128,
    shift: u32,
}

impl TickScale {
    /// One tick is one ns.
    const NANOSECONDS: Self = Self {
        origin_ticks: 0,
        origin_ns: 0,
        multiplier: 1,
        shift: 0,
    };

    /// The line through two anchors; `None` unless time goes forward in both and a tick takes
    /// less than a millisecond.
    fn through(a: &Anchor, b: &Anchor) -> Option<Self> {
        let at = |anchor: &Anchor| {
            Some((
                i64::try_from(anchor.ticks.get()).ok()?,
                i64::try_from(anchor.raw_ns.get()).ok()?,
            ))
        };
        let ((a_ticks, a_ns), (b_ticks, b_ns)) = (at(a)?, at(b)?);
        let (ticks, ns) = (b_ticks - a_ticks, b_ns - a_ns);
        if ticks <= 0 || ns <= 0 || ns / ticks >= 1 << 20 {
            return None;
        }
        // |ticks| < 2^63 and the multiplier < 2^62: no product leaves i128.
        let shift = if ns < ticks { 61 } else { 40 };
        Some(Self {
            origin_ticks: a_ticks,
            origin_ns: a_ns,
            multiplier: (i128::from(ns) << shift) / i128::from(ticks),
            shift,
        })
    }

    /// ns at `ticks`, rounded to the nearest.
    #[inline]
    fn ns(&self, ticks: i64) -> i64 {
        let scaled = i128::from(ticks - self.origin_ticks) * self.multiplier;
        let half = (1i128 << self.shift) >> 1;
        let ns = ((scaled + half) >> self.shift) + i128::from(self.origin_ns);
        ns.clamp(i128::from(i64::MIN / 4), i128::from(i64::MAX / 4)) as i64
    }

    /// ns of a span of `ticks`, rounded up.
    fn span_ns(&self, ticks: u64) -> i64 {
        let ticks = i128::from(ticks.min(1 << 62));
        let up = (1i128 << self.shift) - 1;
        i64::try_from((ticks * self.multiplier + up) >> self.shift).unwrap_or(i64::MAX)
    }

    /// Ticks in a span of `ns`, rounded down.
    fn span_ticks(&self, ns: u64) -> u64 {
        let ns = i128::from(ns.min(1 << 62));
        // Damaged anchors can be so far apart in ticks that the multiplier is 0.
        let ticks = (ns << self.shift) / self.multiplier.max(1);
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }
}

/// The way from one process's ticks to the time of the analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankClock {
    scale: TickScale,
    start_ns: i64,
    /// Index of the host in [`Clocks::hosts`].
    pub host: usize,
}

impl RankClock {
    /// The instant on the time of the analysis.
    #[must_use]
    #[inline]
    pub fn global(&self, local: Timestamp<Local>) -> Timestamp<Global> {
        Timestamp::from_ns(self.scale.ns(local.value) - self.start_ns)
    }

    /// Length of a span of ticks, ns.
    #[must_use]
    pub fn span_ns(&self, ticks: u64) -> i64 {
        self.scale.span_ns(ticks)
    }

    /// Number of ticks in a span, whose length is in ns.
    #[must_use]
    pub fn span_ticks(&self, ns: u64) -> u64 {
        self.scale.span_ticks(ns)
    }
}

/// The clock that the processes of one host share.
#[derive(Debug, Clone, PartialEq)]
pub struct HostClock {
    /// Name of the host; made unique where hosts with different clocks have one name.
    pub name: String,
    /// Smallest difference of two stamps that means something: the largest step seen between
    /// two readings in any of its processes, ns, > 0.
    pub granularity_ns: i64,
    /// Bound on the error of the tick rate, ppm; `None` where a tick is a ns by definition.
    pub rate_error_ppm: Option<f64>,
    /// Ticks per second; `None` where a tick is a ns by definition.
    pub ticks_per_second: Option<f64>,
    /// Whether the anchors did not give a rate: ticks are then taken for ns.
    pub is_unscaled: bool,
}

/// The clocks of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Clocks {
    /// One for each clock, by the lowest rank on it.
    pub hosts: Vec<HostClock>,
    /// One for each process of the run, in its order.
    pub processes: Vec<RankClock>,
}

/// What tells the clocks of processes apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum ClockKey<'a> {
    Boot(&'a str, u64),
    /// The boot id could not be read.
    Name(&'a str),
}

impl Clocks {
    /// Fits the clock of each host to the anchors of all its processes.
    #[must_use]
    pub fn fit(run: &Run<'_>) -> Self {
        let mut indexes = BTreeMap::new();
        let mut members: Vec<Vec<usize>> = Vec::new();
        for (process, rank_file) in run.processes.iter().enumerate() {
            let host = &rank_file.trace.identity.host;
            let key = match host.boot_id.as_str() {
                "" => ClockKey::Name(&host.name),
                boot_id => ClockKey::Boot(boot_id, host.time_namespace),
            };
            let index = *indexes.entry(key).or_insert_with(|| {
                members.push(Vec::new());
                members.len() - 1
            });
            members[index].push(process);
        }
        let mut clocks = Self {
            hosts: Vec::new(),
            processes: vec![
                RankClock {
                    scale: TickScale::NANOSECONDS,
                    start_ns: 0,
                    host: 0
                };
                run.processes.len()
            ],
        };
        for members in members {
            clocks.fit_host(run, &members);
        }
        clocks
    }

    fn fit_host(&mut self, run: &Run<'_>, members: &[usize]) {
        let source = |process: usize| run.processes[process].trace.identity.clock.source;
        let first = &run.processes[members[0]].trace.identity;
        let mut host = HostClock {
            name: self.unique_name(&first.host.name),
            granularity_ns: 1,
            rate_error_ppm: None,
            ticks_per_second: None,
            is_unscaled: false,
        };
        // The domain is CLOCK_MONOTONIC_RAW, but where all processes agree on another clock in
        // ns nothing needs converting.
        let is_mixed = members.iter().any(|&m| source(m) != source(members[0]));
        for clock in [
            ClockSource::Tsc,
            ClockSource::MonotonicRaw,
            ClockSource::Monotonic,
        ] {
            let of_source: Vec<usize> = members
                .iter()
                .copied()
                .filter(|&m| source(m) == clock)
                .collect();
            let needs_fit = match clock {
                ClockSource::Tsc => true,
                ClockSource::MonotonicRaw => false,
                ClockSource::Monotonic => is_mixed,
            };
            let mut scale = TickScale::NANOSECONDS;
            if needs_fit && !of_source.is_empty() {
                let anchors = of_source
                    .iter()
                    .flat_map(|&m| run.processes[m].trace.anchors.iter().copied());
                match best_line(anchors.collect()) {
                    Some((line, error_ppm)) => {
                        scale = line;
                        host.rate_error_ppm = Some(error_ppm);
                        host.ticks_per_second =
                            Some(1e9 * 2f64.powi(line.shift as i32) / line.multiplier as f64);
                    }
                    None => host.is_unscaled = true,
                }
            }
            for member in of_source {
                self.processes[member].scale = scale;
                self.processes[member].host = self.hosts.len();
                let ticks = run.processes[member].trace.identity.clock.granularity_ticks;
                host.granularity_ns = host.granularity_ns.max(scale.span_ns(ticks));
            }
        }
        let start_ns = members
            .iter()
            .filter_map(|&m| {
                let ticks = start_ticks(run, m)?;
                Some(self.processes[m].scale.ns(ticks.value))
            })
            .min()
            .unwrap_or(0);
        for &member in members {
            self.processes[member].start_ns = start_ns;
        }
        self.hosts.push(host);
    }

    fn unique_name(&self, name: &str) -> String {
        let is_taken = |name: &str| self.hosts.iter().any(|host| host.name == name);
        if !is_taken(name) {
            return name.to_owned();
        }
        (2..)
            .map(|n| format!("{name} ({n})"))
            .find(|name| !is_taken(name))
            .unwrap_or_default()
    }
}

/// When the process left `MPI_Init`; without that reading its first anchor, or its first call.
fn start_ticks(run: &Run<'_>, process: usize) -> Option<Timestamp<Local>> {
    let trace = &run.processes[process].trace;
    let of_init = trace.identity.anchors.get(1).map(|anchor| anchor[0]);
    let first_anchor = trace.anchors.first().map(|anchor| anchor.ticks.get());
    let first_call = trace
        .chunks
        .iter()
        .filter_map(|chunk| chunk.records.first())
        .map(|record| record.enter.get())
        .min();
    of_init
        .filter(|&ticks| ticks != 0)
        .or(first_anchor)
        .or(first_call)
        .map(Timestamp::from_ticks)
}

/// The line through the pair of anchors with the least bound on the error of its rate, and that
/// bound in ppm; `None` where no pair gives a rate.
fn best_line(mut anchors: Vec<Anchor>) -> Option<(TickScale, f64)> {
    anchors.sort_by_key(|anchor| (anchor.ticks.get(), anchor.raw_ns.get()));
    // The best pair begins at an anchor narrower than all before it, else an earlier one would
    // be better in both; likewise at the end. So few pairs are left to try.
    let width = |anchor: &Anchor| anchor.width_ticks.get();
    let mut narrowest = u64::MAX;
    let mut begins = Vec::new();
    for anchor in &anchors {
        if width(anchor) < narrowest {
            narrowest = width(anchor);
            begins.push(*anchor);
        }
    }
    narrowest = u64::MAX;
    let mut ends = Vec::new();
    for anchor in anchors.iter().rev() {
        if width(anchor) < narrowest {
            narrowest = width(anchor);
            ends.push(*anchor);
        }
    }
    let mut best: Option<(TickScale, f64)> = None;
    for a in &begins {
        for b in &ends {
            let Some(line) = TickScale::through(a, b) else {
                continue;
            };
            let ticks = (b.ticks.get() - a.ticks.get()) as f64;
            // At least a ns in each reading: that is the unit of the clock on the other side.
            let reading = (width(a) as f64 + width(b) as f64) / 2.0;
            let unit = 2f64.powi(line.shift as i32) / line.multiplier as f64;
            let error_ppm = 1e6 * reading.max(unit) / ticks;
            if best.is_none_or(|(_, least)| error_ppm < least) {
                best = Some((line, error_ppm));
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anchor(ticks: u64, raw_ns: u64, width: u64) -> Anchor {
        [ticks, raw_ns, raw_ns, raw_ns, width].into()
    }

    #[test]
    fn ticks_scale_by_the_longest_and_narrowest_pair_of_anchors() {
        // 2.5 ticks per ns; a wide reading far out and a wrong one in between.
        let anchors = vec![
            anchor(1_000, 500, 10),
            anchor(2_501_000, 1_000_500 + 400, 5_000_000),
            anchor(25_001_000, 10_000_500, 10),
            anchor(25_001_001, 10_900_500, 30_000_000),
        ];
        let (line, error_ppm) = best_line(anchors).unwrap();
        assert_eq!(line.ns(1_000), 500);
        assert_eq!(line.ns(25_001_000), 10_000_500);
        assert_eq!(line.ns(1_000 + 2_500), 1_500);
        assert!((error_ppm - 0.4).abs() < 1e-9, "{error_ppm}");
    }

    #[test]
    fn a_day_of_ticks_loses_no_nanosecond() {
        // 2.596 GHz over a day, from a tick count beyond the integers of f64.
        let t0 = 1u64 << 60;
        let per_day = 86_400u64 * 2_596_000_000;
        let (line, _) = best_line(vec![
            anchor(t0, 7, 1),
            anchor(t0 + per_day, 7 + 86_400_000_000_000, 1),
        ])
        .unwrap();
        for second in [0u64, 1, 43_200, 86_399, 86_400] {
            let ticks = (t0 + second * 2_596_000_000) as i64;
            assert_eq!(line.ns(ticks), 7 + second as i64 * 1_000_000_000);
        }
        assert_eq!(line.span_ns(26), 11);
        assert_eq!(line.span_ticks(86_400_000_000_000).abs_diff(per_day), 0);
    }

    #[test]
    fn anchors_that_go_backwards_or_are_alone_give_no_rate() {
        assert!(best_line(vec![]).is_none());
        assert!(best_line(vec![anchor(5, 5, 1)]).is_none());
        assert!(best_line(vec![anchor(5, 9, 1), anchor(6, 2, 1)]).is_none());
    }
}
