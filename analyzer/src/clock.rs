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
//! Clocks of different hosts are aligned where offsets between them were measured. Hosts that no
//! measurement connects form groups with a time of their own: a [`Timestamp<Global>`] counts from
//! the start of the run as its group saw it, and is compared with stamps of that group only.

use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;

use std::sync::Arc;

use collbench_formats::{Anchor, ClockSource, Definition, HostIdentity};

use crate::align::errors::OffsetErrors;
use crate::align::{AlignmentMethod, Correction};
use crate::remarks::Remark;
use crate::run::Run;

mod alignment;
mod steadiness;

pub(crate) use alignment::HostOffset;

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
        // With room for the parts per million of a correction.
        multiplier: 1 << 60,
        shift: 60,
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
        // No multiplier reaches 2^63 (see `through` and `corrected`): so one multiplication does.
        debug_assert!(i64::try_from(self.multiplier).is_ok());
        let scaled = i128::from(ticks - self.origin_ticks) * i128::from(self.multiplier as i64);
        let half = (1i128 << self.shift) >> 1;
        let ns = ((scaled + half) >> self.shift) + i128::from(self.origin_ns);
        ns.clamp(i128::from(i64::MIN / 4), i128::from(i64::MAX / 4)) as i64
    }

    /// [`TickScale::ns`] where no product and no sum needs more than its integer: a tick takes a
    /// ns or less, and none of the ticks is further than 2^61 from the origin. (That is so in
    /// every trace of a known clock that is not damaged.)
    #[inline]
    fn short_spans(&self, ticks: [u64; 2]) -> Option<[i64; 2]> {
        const FAR: u64 = 1 << 61;
        let multiplier = self.multiplier as i64;
        let spans = ticks.map(|ticks| (ticks as i64).wrapping_sub(self.origin_ticks));
        let is_far = spans[0].unsigned_abs() | spans[1].unsigned_abs() | ticks[0] | ticks[1];
        if self.shift < 60 || is_far >= FAR || self.origin_ns.unsigned_abs() >= FAR {
            return None;
        }
        let half = (1i128 << self.shift) >> 1;
        Some(spans.map(|span| {
            let scaled = i128::from(span) * i128::from(multiplier) + half;
            (scaled >> self.shift) as i64 + self.origin_ns
        }))
    }

    /// About the tick at `ns`; the inverse of [`TickScale::ns`].
    fn ticks(&self, ns: i64) -> i64 {
        let scaled = i128::from(ns.saturating_sub(self.origin_ns)) << self.shift;
        let ticks = scaled / self.multiplier.max(1) + i128::from(self.origin_ticks);
        ticks.clamp(i128::from(i64::MIN / 4), i128::from(i64::MAX / 4)) as i64
    }

    /// This line less the offset of the clock: lines from burst to burst, each with the tick from
    /// which it holds, the first also before that. `None` for offsets that cannot be true.
    fn bent(&self, correction: &Correction) -> Option<Vec<(i64, Self)>> {
        let ticks: Vec<i64> = correction
            .knots
            .iter()
            .map(|knot| self.ticks(knot.at_ns))
            .collect();
        if let [only] = ticks[..] {
            let second = i64::try_from(self.span_ticks(1_000_000_000)).ok()?;
            let line = self.corrected(correction, only, only.checked_add(second)?)?;
            return Some(vec![(only, line)]);
        }
        ticks
            .windows(2)
            .map(|pair| Some((pair[0], self.corrected(correction, pair[0], pair[1])?)))
            .collect()
    }

    /// The line of reference time between two ticks: through this line's points there, each less
    /// its offset. `None` where offsets contradict one another so far that time goes backwards.
    fn corrected(&self, correction: &Correction, from_ticks: i64, to_ticks: i64) -> Option<Self> {
        let at = |ticks: i64| {
            let ns = self.ns(ticks);
            (ns, ns.saturating_sub(correction.at(ns).offset_ns))
        };
        let ((from_ns, from_global_ns), (to_ns, to_global_ns)) = (at(from_ticks), at(to_ticks));
        let (local, global) = (to_ns - from_ns, to_global_ns - from_global_ns);
        // A clock that runs twice as fast as another is damage.
        if local <= 0 || global <= local / 2 || global / 2 >= local {
            return None;
        }
        Some(Self {
            origin_ticks: from_ticks,
            origin_ns: from_global_ns,
            multiplier: self.multiplier
                + self.multiplier * i128::from(global - local) / i128::from(local),
            shift: self.shift,
        })
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

/// One line for all times.
fn one_line(scale: TickScale) -> Arc<[(i64, TickScale)]> {
    Arc::new([(i64::MIN, scale)])
}

/// The way from one process's ticks to the time of the analysis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankClock {
    /// From ticks to the clock of the host, ns.
    scale: TickScale,
    /// From ticks to the time of the group: the first line up to the tick of the second, and so
    /// on; at least one.
    lines: Arc<[(i64, TickScale)]>,
    start_ns: i64,
    /// Index of the host in [`Clocks::hosts`].
    pub host: usize,
}

impl RankClock {
    /// The instant on the time of the analysis.
    #[must_use]
    #[inline]
    pub fn global(&self, local: Timestamp<Local>) -> Timestamp<Global> {
        Timestamp::from_ns(self.line_at(local.value).ns(local.value) - self.start_ns)
    }

    /// The instants of two stamps, ticks, as two of [`RankClock::global`]: made for many stamps of
    /// one clock.
    #[must_use]
    #[inline]
    pub(crate) fn both(&self, enter: u64, leave: u64) -> [Timestamp<Global>; 2] {
        if let [(_, line)] = &self.lines[..]
            && let Some(both) = line.short_spans([enter, leave])
        {
            return both.map(|ns| Timestamp::from_ns(ns.wrapping_sub(self.start_ns)));
        }
        [enter, leave].map(|ticks| self.global(Timestamp::from_ticks(ticks)))
    }

    #[inline]
    fn line_at(&self, ticks: i64) -> &TickScale {
        match &self.lines[..] {
            [(_, only)] => only,
            lines => {
                let behind = lines.partition_point(|(from, _)| *from <= ticks);
                &lines[behind.saturating_sub(1)].1
            }
        }
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
    /// Number of the group of hosts that share a time.
    pub group: usize,
    /// How it was brought to the time of its group; `None` for the reference of the group, the
    /// host with the lowest rank.
    pub alignment: Option<HostAlignment>,
}

/// The clock of a host against that of its group's reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostAlignment {
    /// Local minus reference at the start of the run, ns.
    pub offset_ns: i64,
    /// Slope of the offset from the first measurement to the last, ppm; `None` with one.
    pub drift_ppm: Option<f64>,
    /// Two standard deviations of the offset, ns: the greatest in the run.
    pub uncertainty_ns: i64,
    /// What the error of the offset cannot exceed, ns: the greatest in the run.
    pub bound_ns: i64,
    /// Bursts of exchanges behind it, of all hops.
    pub n_bursts: usize,
}

/// The clocks of a run.
#[derive(Debug, Clone)]
pub struct Clocks {
    /// One for each clock, by the lowest rank on it.
    pub hosts: Vec<HostClock>,
    /// One for each process of the run, in its order.
    pub processes: Vec<RankClock>,
    /// How hosts were brought to one time.
    pub method: AlignmentMethod,
    /// How wrong that may be, over the run.
    pub errors: OffsetErrors,
    /// By host the offset of its clock from the reference of its group.
    offsets: Vec<HostOffset>,
    /// What is wrong with them.
    pub(crate) remarks: Vec<Remark>,
}

/// What tells the clocks of processes apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum ClockKey<'a> {
    Boot(&'a str, u64),
    /// The boot id could not be read.
    Name(&'a str),
    /// A ping has shown that this process has another clock than its host.
    Apart(usize),
}

impl<'a> ClockKey<'a> {
    /// By what the kernel says.
    fn of(host: &'a HostIdentity) -> Self {
        match host.boot_id.as_str() {
            "" => Self::Name(&host.name),
            boot_id => Self::Boot(boot_id, host.time_namespace),
        }
    }
}

impl Clocks {
    /// Fits the clock of each host to the anchors of all its processes, and aligns them by the
    /// exchanges that were recorded.
    #[must_use]
    pub fn fit(run: &Run<'_>) -> Self {
        let (mut clocks, preliminary) = Self::begin(run, AlignmentMethod::Smooth);
        if let Some(preliminary) = preliminary {
            let joint = preliminary.smooth(preliminary.harvest());
            clocks.take(run, &preliminary, joint);
        }
        clocks
    }

    /// Fits the clock of each host to the anchors of all its processes.
    fn of_hosts(run: &Run<'_>) -> Self {
        let mut indexes = BTreeMap::new();
        let mut members: Vec<Vec<usize>> = Vec::new();
        let by_kernel: Vec<ClockKey<'_>> = run
            .processes
            .iter()
            .map(|rank_file| ClockKey::of(&rank_file.trace.identity.host))
            .collect();
        // Processes of one host alone send each other nothing.
        let is_checked = by_kernel.iter().any(|key| *key != by_kernel[0]);
        for (process, mut key) in by_kernel.into_iter().enumerate() {
            if is_checked && is_apart(run, process) {
                key = ClockKey::Apart(process);
            }
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
                    lines: one_line(TickScale::NANOSECONDS),
                    start_ns: 0,
                    host: 0
                };
                run.processes.len()
            ],
            method: AlignmentMethod::default(),
            errors: OffsetErrors::default(),
            offsets: Vec::new(),
            remarks: Vec::new(),
        };
        let mut names = HostNames::default();
        for members in &members {
            clocks.fit_host(run, members, &mut names);
        }
        clocks
    }

    /// Two standard deviations of a difference between stamps of two hosts, ns, the greatest in the
    /// run: 0 on one host, `None` where their clocks have no common time.
    #[must_use]
    pub fn uncertainty_ns(&self, a: usize, b: usize) -> Option<i64> {
        if a == b {
            return Some(0);
        }
        let have_common_time = self.hosts[a].group == self.hosts[b].group;
        have_common_time.then(|| self.errors.worst_uncertainty_ns(a, b))
    }

    /// Whether the drift of every clock that was measured is known.
    pub(crate) fn has_known_drifts(&self) -> bool {
        let mut own = self.hosts.iter().filter_map(|host| host.alignment);
        own.all(|own| own.drift_ppm.is_some())
    }

    /// How many groups of hosts there are whose stamps can be compared.
    #[must_use]
    pub fn n_groups(&self) -> usize {
        let groups = self.hosts.iter().map(|host| host.group + 1);
        groups.max().unwrap_or(0)
    }

    fn fit_host(&mut self, run: &Run<'_>, members: &[usize], names: &mut HostNames) {
        let source = |process: usize| run.processes[process].trace.identity.clock.source;
        let first = &run.processes[members[0]].trace.identity;
        let mut host = HostClock {
            name: names.add(&first.host.name),
            granularity_ns: 1,
            rate_error_ppm: None,
            ticks_per_second: None,
            is_unscaled: false,
            group: 0,
            alignment: None,
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
                self.processes[member].lines = one_line(scale);
                self.processes[member].host = self.hosts.len();
                let ticks = run.processes[member].trace.identity.clock.granularity_ticks;
                host.granularity_ns = host.granularity_ns.max(scale.span_ns(ticks));
            }
        }
        self.hosts.push(host);
    }
}

/// Names of host clocks, each once.
#[derive(Default)]
struct HostNames {
    taken: BTreeSet<String>,
    /// By name how many clocks there are of it.
    numbers: BTreeMap<String, u64>,
}

impl HostNames {
    /// The name for one more clock of a host called `name`: numbered from the second on.
    fn add(&mut self, name: &str) -> String {
        let number = self.numbers.entry(name.to_owned()).or_default();
        loop {
            *number += 1;
            let numbered = match *number {
                1 => name.to_owned(),
                n => format!("{name} ({n})"),
            };
            if self.taken.insert(numbered.clone()) {
                return numbered;
            }
        }
    }
}

/// Whether the recorder has found that a process has another clock than its host.
fn is_apart(run: &Run<'_>, process: usize) -> bool {
    let mut definitions = run.processes[process].trace.definitions.iter();
    definitions.any(|definition| matches!(definition, Definition::ClockApart { .. }))
}

/// When the process left `MPI_Init`; without that reading its first anchor, or its first call.
fn start_ticks(run: &Run<'_>, process: usize) -> Option<Timestamp<Local>> {
    let trace = &run.processes[process].trace;
    let of_init = trace.identity.anchors.get(1).map(|anchor| anchor[0]);
    let first_anchor = trace.anchors.first().map(|anchor| anchor.ticks.get());
    let first_call = || {
        let firsts = trace
            .chunks
            .iter()
            .filter_map(|chunk| chunk.records.first());
        firsts.map(|record| record.enter.get()).min()
    };
    of_init
        .filter(|&ticks| ticks != 0)
        .or(first_anchor)
        .or_else(first_call)
        .map(Timestamp::from_ticks)
}

/// Anchors at which the best line may begin, or end, that are tried. Of honest clocks there are
/// about as many as the logarithm of the number of anchors; a file could be made of nothing else.
const MAX_ANCHORS_TRIED: usize = 256;

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
    for narrowest_last in [&mut begins, &mut ends] {
        let n_others = narrowest_last.len().saturating_sub(MAX_ANCHORS_TRIED);
        narrowest_last.drain(..n_others);
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
    fn anchors_made_to_be_tried_with_one_another_are_not_all_tried() {
        // Ever narrower, then ever wider: any two of them could be the best.
        let n = 100_000u64;
        let anchors = (1..=2 * n).map(|i| anchor(1000 * i, 500 * i, n.abs_diff(i)));
        let (line, _) = best_line(anchors.collect()).unwrap();
        assert_eq!(line.span_ns(2_000_000), 1_000_000);
    }

    #[test]
    fn clocks_of_one_name_are_numbered() {
        let mut names = HostNames::default();
        let added = ["a", "a (2)", "a", "a", "b"].map(|name| names.add(name));
        assert_eq!(added, ["a", "a (2)", "a (3)", "a (4)", "b"]);
    }

    #[test]
    fn anchors_that_go_backwards_or_are_alone_give_no_rate() {
        assert!(best_line(vec![]).is_none());
        assert!(best_line(vec![anchor(5, 5, 1)]).is_none());
        assert!(best_line(vec![anchor(5, 9, 1), anchor(6, 2, 1)]).is_none());
    }
}
