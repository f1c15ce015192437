//! The clocks of hosts on one time: lines of processes bent by what was found of their hosts.

use std::collections::BTreeMap;
use std::sync::Arc;

use collbench_clocks::closure::OpenTriangle;
use collbench_clocks::errors::OffsetErrors;
use collbench_clocks::smoothed_alignment::{CoarseAlignment, SmoothedAlignment, simple_errors};
use collbench_clocks::{Alignment, AlignmentMethod, Burst, Correction, edges};
use collbench_formats::Definition;

use crate::remark::{Remark, UnclosedTriangle};
use crate::time::clocks::{Clocks, HostAlignment, TickScale, Timestamp, start_ticks};
use crate::trace::run::{Run, latest_sure};

/// The offset of a host's clock from the reference of its group.
#[derive(Debug, Clone)]
pub(crate) struct HostOffset {
    /// `None`: it is the reference.
    pub(crate) correction: Option<Correction>,
    /// Offsets of bursts, with their bounds; `None` for references.
    pub(crate) bursts: Option<Correction>,
    /// Start of the time of the analysis, ns on the clock of the reference.
    start_ns: i64,
}

impl HostOffset {
    /// What the clock of the host showed at a time of the analysis, ns.
    pub(crate) fn local_ns(&self, time_ns: i64) -> i64 {
        let reference_ns = time_ns.saturating_add(self.start_ns);
        match &self.correction {
            None => reference_ns,
            Some(correction) => correction.local_ns(reference_ns),
        }
    }

    /// The time of the analysis at what the clock of the host showed, ns.
    pub(crate) fn time_ns(&self, local_ns: i64) -> i64 {
        let reference_ns = match &self.correction {
            None => local_ns,
            Some(correction) => correction.reference_ns(local_ns),
        };
        reference_ns.saturating_sub(self.start_ns)
    }
}

impl Clocks {
    /// The clocks of a run, those of several hosts by a simple method, or on the way to the
    /// smoother, which is then still to be asked.
    pub(crate) fn begin(run: &Run<'_>, method: AlignmentMethod) -> (Self, Option<CoarseAlignment>) {
        let mut clocks = Self::of_hosts(run);
        clocks.method = method;
        let n_hosts = clocks.hosts.len();
        clocks.remarks.extend(clocks.unsteady(run));
        if n_hosts < 2 {
            clocks.apply_corrections(run, &mut vec![None; n_hosts], &mut vec![0; n_hosts]);
            return (clocks, None);
        }
        let bursts = clocks.bursts(run);
        clocks.round_trips_ns = round_trips_ns(&bursts);
        let mut edges = edges(&bursts);
        let mut coarse = CoarseAlignment::of(n_hosts, bursts, &edges);
        clocks.set_lines(run, &mut coarse);
        let (closure, open) = coarse.close_triangles();
        clocks.closure = closure;
        if !open.is_empty() {
            coarse = coarse.remeasured(&mut edges);
            clocks.set_lines(run, &mut coarse);
            clocks.remark_open_triangles(&open);
        }
        clocks.remark_missing_offsets(run, &coarse);
        if method == AlignmentMethod::Smooth {
            return (clocks, Some(coarse));
        }
        let mut simple = Alignment::of(n_hosts, &edges, method);
        let mut errors = OffsetErrors::none(n_hosts, coarse.end_ns);
        let starts = clocks.apply_corrections(run, &mut simple.corrections, &mut simple.group_of);
        simple_errors(&simple, &starts, &mut errors);
        clocks.errors = errors;
        clocks.describe(&simple.corrections, &coarse);
        (clocks, None)
    }

    /// Sets the time of hosts by straight lines, before the smoother has run.
    pub(crate) fn set_lines(&mut self, run: &Run<'_>, coarse: &mut CoarseAlignment) {
        let mut groups = coarse.measured.group_of.clone();
        let mut lines = coarse.lines.clone();
        coarse.starts = self.apply_corrections(run, &mut lines, &mut groups);
        coarse.lines = lines;
        coarse.measured.set_groups(groups);
        let ends = run.processes.iter().zip(&self.processes);
        let ends = ends.filter_map(|(file, clock)| {
            // A process that was killed ran on after its last anchor.
            let last = Some(latest_sure(&file.trace)).filter(|&ticks| ticks > 0)?;
            Some(clock.global(Timestamp::from_ticks(last)).ns())
        });
        coarse.end_ns = ends.max().unwrap_or(0).max(0);
        self.describe(&coarse.lines.clone(), coarse);
    }

    /// Applies the result of the smoother.
    pub(crate) fn take(
        &mut self,
        run: &Run<'_>,
        coarse: &CoarseAlignment,
        smoothed: SmoothedAlignment,
    ) {
        let mut corrections = smoothed.corrections;
        let mut groups = coarse.measured.group_of.clone();
        self.apply_corrections(run, &mut corrections, &mut groups);
        self.errors = smoothed.errors;
        self.describe(&corrections, coarse);
        if !smoothed.not_converged.is_empty() {
            let n_hosts = smoothed.not_converged.len();
            self.remarks.push(Remark::AlignmentNotConverged { n_hosts });
        }
        if smoothed.intensity > UNSTEADY {
            self.remarks.push(Remark::ClocksWander);
        }
    }

    /// Sets the time of each process: its own line minus the offset of its host. The time of each
    /// group begins with its first process. A host whose offsets are impossible leaves its group.
    /// Returns the start of each group, ns on the clock of its reference.
    fn apply_corrections(
        &mut self,
        run: &Run<'_>,
        corrections: &mut [Option<Correction>],
        group_of: &mut [usize],
    ) -> Vec<i64> {
        let mut n_groups = group_of.iter().max().map_or(0, |last| last + 1);
        for (host, own) in corrections.iter_mut().enumerate() {
            let Some(correction) = own else { continue };
            // Most processes of a host have one scale.
            let mut bent: Vec<(TickScale, Arc<[_]>)> = Vec::new();
            let mut of_process = Vec::new();
            for (process, clock) in self.processes.iter().enumerate() {
                if clock.host != host {
                    continue;
                }
                let lines = match bent.iter().find(|(scale, _)| *scale == clock.scale()) {
                    Some((_, lines)) => Some(lines.clone()),
                    None => clock.scale().bent(correction).map(|lines| {
                        let lines: Arc<[_]> = lines.into();
                        bent.push((clock.scale(), lines.clone()));
                        lines
                    }),
                };
                of_process.push((process, lines));
            }
            if of_process.iter().any(|(_, lines)| lines.is_none()) {
                group_of[host] = n_groups;
                n_groups += 1;
                *own = None;
                continue;
            }
            for (process, lines) in of_process {
                if let Some(lines) = lines {
                    self.processes[process].set_lines(lines);
                }
            }
        }
        for (host, &group) in self.hosts.iter_mut().zip(&*group_of) {
            host.group = group;
        }
        let mut starts = vec![i64::MAX; n_groups];
        for (process, clock) in self.processes.iter().enumerate() {
            if let Some(ticks) = start_ticks(run, process) {
                let start = &mut starts[self.hosts[clock.host].group];
                *start = (*start).min(clock.group_ns(ticks));
            }
        }
        for start in starts.iter_mut().filter(|start| **start == i64::MAX) {
            *start = 0;
        }
        for clock in &mut self.processes {
            clock.set_start_ns(starts[self.hosts[clock.host].group]);
        }
        starts
    }

    /// Describes for each host how its clock is aligned.
    fn describe(&mut self, corrections: &[Option<Correction>], coarse: &CoarseAlignment) {
        let reference = |group: usize| self.hosts.iter().position(|host| host.group == group);
        let references: Vec<_> = (0..self.n_groups()).map(reference).collect();
        let mut starts = vec![0; self.hosts.len()];
        for clock in &self.processes {
            starts[clock.host] = clock.start_ns();
        }
        self.offsets = corrections
            .iter()
            .zip(&coarse.measured.corrections)
            .zip(&starts)
            .map(|((own, measured), &start_ns)| HostOffset {
                correction: own.clone(),
                bursts: measured.clone(),
                start_ns,
            })
            .collect();
        for (host, own) in corrections.iter().enumerate() {
            self.hosts[host].alignment = own.as_ref().map(|correction| {
                let reference = references[self.hosts[host].group].unwrap_or(host);
                let measured = coarse.measured.corrections[host].as_ref();
                HostAlignment {
                    offset_ns: correction.at(correction.local_ns(starts[host])).offset_ns,
                    drift_ppm: correction.drift_ppm(),
                    uncertainty_ns: self.errors.worst_uncertainty_ns(host, reference),
                    bound_ns: self.errors.worst_bound_ns(host, reference),
                    n_bursts: measured.map_or(0, |measured| measured.knots.len()),
                }
            });
        }
    }

    /// Adds remarks on triangles of hosts whose offsets do not add up to 0: one for each set of
    /// suspected paths, with the triangle of the largest gap.
    fn remark_open_triangles(&mut self, open: &[OpenTriangle]) {
        let name = |host: usize| self.hosts[host].name.clone();
        let mut by_suspects: BTreeMap<&[(usize, usize)], (&OpenTriangle, usize)> = BTreeMap::new();
        for triangle in open {
            let (worst, n) = by_suspects
                .entry(&triangle.suspects)
                .or_insert((triangle, 0));
            *n += 1;
            if triangle.gap_ns.abs() > worst.gap_ns.abs() {
                *worst = triangle;
            }
        }
        let remark = |(triangle, n_triangles): (&OpenTriangle, usize)| {
            let paths = triangle.suspects.iter();
            Remark::TriangleOpen(UnclosedTriangle {
                hosts: triangle.hosts.map(name),
                n_triangles,
                gap_ns: triangle.gap_ns.round() as i64,
                error_ns: (3.0 * triangle.sd_ns).ceil() as i64,
                suspects: paths.map(|&(a, b)| [name(a), name(b)]).collect(),
                blame: triangle.blame,
            })
        };
        let remarks: Vec<Remark> = by_suspects.into_values().map(remark).collect();
        self.remarks.extend(remarks);
    }

    /// Remarks on hosts whose offset was not measured where it should have been.
    fn remark_missing_offsets(&mut self, run: &Run<'_>, coarse: &CoarseAlignment) {
        let end_ns = coarse.end_ns;
        // A run that was cut off has no measurement at its end, however short it was.
        let least_ns = if run.is_incomplete() { 0 } else { MISSING_NS };
        let is_early = |offset: &HostOffset| {
            let last = offset
                .bursts
                .as_ref()
                .and_then(|bursts| bursts.knots.last());
            last.is_some_and(|last| {
                let missing_ns = end_ns.saturating_sub(offset.time_ns(last.at_ns));
                missing_ns > least_ns && missing_ns > end_ns / 10
            })
        };
        let n_hosts = self
            .offsets
            .iter()
            .filter(|offset| is_early(offset))
            .count();
        if n_hosts > 0 {
            self.remarks.push(Remark::NoOffsetAtEnd { n_hosts });
        }
    }

    /// By host the offset of its clock; empty for one host.
    pub(crate) fn offsets(&self) -> &[HostOffset] {
        &self.offsets
    }

    /// The exchanges that all processes recorded, on the clocks of their hosts.
    fn bursts(&self, run: &Run<'_>) -> Vec<Burst> {
        let mut bursts = Vec::new();
        for (local, rank_file) in run.processes.iter().enumerate() {
            for definition in rank_file.trace.definitions.iter() {
                let Definition::OffsetMeasurement {
                    reference_rank,
                    samples,
                } = definition
                else {
                    continue;
                };
                let Some(reference) = run.process_of_rank(reference_rank) else {
                    continue;
                };
                let ns = |process: usize, ticks: u64| {
                    self.processes[process].host_ns(Timestamp::from_ticks(ticks))
                };
                bursts.push(Burst {
                    local_host: self.processes[local].host,
                    reference_host: self.processes[reference].host,
                    stamps: samples
                        .iter()
                        .map(|sample| {
                            [
                                ns(reference, sample.t1),
                                ns(local, sample.t2),
                                ns(local, sample.t3),
                                ns(reference, sample.t4),
                            ]
                        })
                        .collect(),
                });
            }
            rank_file.give_back(0, u64::MAX);
        }
        bursts
    }
}

/// The smallest round trip between each two hosts that were measured, ns.
fn round_trips_ns(bursts: &[Burst]) -> BTreeMap<(usize, usize), i64> {
    let mut round_trips = BTreeMap::new();
    for burst in bursts {
        let hosts = (burst.local_host, burst.reference_host);
        let pair = (hosts.0.min(hosts.1), hosts.0.max(hosts.1));
        if let (Some(ns), true) = (burst.round_trip_ns(), pair.0 != pair.1) {
            let least = round_trips.entry(pair).or_insert(ns);
            *least = ns.min(*least);
        }
    }
    round_trips
}

/// Clocks whose rate wanders more than this, s^2/s^3, are not free-running crystals.
const UNSTEADY: f64 = 5e-14;
/// A run that goes on this long after its last offset measurement lacks one at the end, ns.
const MISSING_NS: i64 = 1_000_000_000;
