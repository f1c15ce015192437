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

use collbench_clocks::AlignmentMethod;
use collbench_clocks::closure::Closure;
use collbench_clocks::errors::OffsetErrors;
use collbench_formats::{ClockSource, Definition, HostIdentity};

use crate::remark::Remark;
use crate::trace::run::Run;

mod alignment;
mod steadiness;

pub(crate) use alignment::HostOffset;
use collbench_clocks::rank_clock::RankClock;
use collbench_clocks::tick_scale::{TickScale, best_line};
use collbench_clocks::timestamp::{Local, Timestamp};

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
    /// How well offsets around triangles of hosts close; `None` where no three hosts were measured
    /// against one another.
    pub closure: Option<Closure>,
    /// By host the offset of its clock from the reference of its group.
    offsets: Vec<HostOffset>,
    /// Smallest round trip of the exchanges between two hosts, by their indexes, ascending; ns.
    pub round_trips_ns: BTreeMap<(usize, usize), i64>,
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
        let (mut clocks, coarse) = Self::begin(run, AlignmentMethod::Smooth);
        if let Some(coarse) = coarse {
            let smoothed = coarse.smooth(coarse.constraints());
            clocks.take(run, &coarse, smoothed);
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
            processes: vec![RankClock::new(0, TickScale::NANOSECONDS); run.processes.len()],
            method: AlignmentMethod::default(),
            errors: OffsetErrors::default(),
            closure: None,
            offsets: Vec::new(),
            round_trips_ns: BTreeMap::new(),
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
                self.processes[member] = RankClock::new(self.hosts.len(), scale);
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
    used: BTreeSet<String>,
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
            if self.used.insert(numbered.clone()) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_of_one_name_are_numbered() {
        let mut names = HostNames::default();
        let added = ["a", "a (2)", "a", "a", "b"].map(|name| names.add(name));
        assert_eq!(added, ["a", "a (2)", "a (3)", "a (4)", "b"]);
    }
}
