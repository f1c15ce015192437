//! A trace as Perfetto shows it: a process for each host, a track for each rank and thread.
//!
//! Calls are slices with their waits in them. Nonblocking operations overlap: besides the slices of the calls that initiate and
//! complete them they have tracks of their own. Messages inside collectives are instants that flows connect. A counter shows how
//! many ranks wait. Times begin with 0, since Perfetto has none below.

mod packet;
mod slices;
mod track;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use collbench_analyzer::results::{CallSiteSummary, Code};
use collbench_analyzer::rows::{AnalysisOfRows, CallRow, InstanceState, InstanceWithCalls, Rows};
use collbench_formats::CompletingCall;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::ExportError;
use crate::facts::Facts;
use crate::sink::Sink;
use crate::write::{WriteInstances, threads_of};
use packet::{COUNTER, INSTANT, Message, SLICE_BEGIN, SLICE_END, UNIT_COUNT, field};
use slices::{Names, begin_slice, end_slice};
use track::{CallFacts, MessageFacts, Slice, Step, Track, What};

/// Bytes that are written at once.
const BUFFER: usize = 1 << 18;
/// Bytes of a call, about, at most: from which on the size of the file is watched.
const MOST_BYTES_OF_CALL: u64 = 160;
/// Calls that are put in order together, at least.
const CALLS_TOGETHER: u64 = 256;
/// Share of the size that is left for phases, outliers and what the export is of.
const RESERVE: u64 = 64;

/// The stream of packets that belongs to no track of a rank.
const GLOBAL_SEQUENCE: u32 = 1;
/// Tracks that belong to no host.
const WAITING_UUID: u64 = 1;
const OUTLIERS_UUID: u64 = 2;
const EXPORT_UUID: u64 = 3;
/// Where the numbers of other tracks begin.
const FIRST_PHASE_UUID: u64 = 1 << 20;
const FIRST_HOST_UUID: u64 = 1 << 40;
const FIRST_TRACK_UUID: u64 = 1 << 41;
/// Where the numbers of threads begin.
const FIRST_TID: u64 = 1 << 24;

/// Instances that stay however large the file: entry, operation, position.
pub(crate) type Kept = FxHashSet<(Option<usize>, Code, u64)>;

/// How large the file may become, and what stays in any case.
#[derive(Debug)]
pub(crate) struct Limit {
    /// Bytes.
    pub(crate) max_bytes: u64,
    /// Calls that are exported.
    pub(crate) n_calls: u64,
    /// What stays.
    pub(crate) kept: Kept,
}

impl Limit {
    /// Whether so many calls, or ends of messages, may need more than so many bytes.
    pub(crate) fn may_exceed(n_rows: u64, max_bytes: u64) -> bool {
        n_rows.saturating_mul(MOST_BYTES_OF_CALL) > max_bytes
    }
}

/// Writes a Perfetto trace.
pub(crate) struct PerfettoTrace {
    path: PathBuf,
    sink: Sink,
    buffer: Message,
    n_written: u64,
    facts: Facts,
    sites: Vec<CallSiteSummary>,
    limit: Option<Limit>,
    tracks: Vec<Track>,
    /// Where the track of a thread is: by rank and thread.
    of_threads: FxHashMap<(u32, u32), usize>,
    /// The tracks for nonblocking operations of each rank: which, and when it is free, ns.
    lanes: FxHashMap<u32, Vec<(usize, i64)>>,
    /// Ranks that begin to wait, and cease to, by time.
    waiting: BinaryHeap<Reverse<(i64, i64)>>,
    n_waiting: i64,
    n_shown: i64,
    /// What 0 stands for, ns since the start of the run.
    zero_ns: Option<i64>,
    serial: u64,
    n_instances: u64,
    n_calls: u64,
    n_left_out: u64,
    next_flow: u64,
    /// After how many calls everything that is in order is written.
    next_flush: u64,
}

impl PerfettoTrace {
    pub(crate) fn new(sink: Sink, path: &Path, mut facts: Facts, limit: Option<Limit>) -> Self {
        let sites = std::mem::take(&mut facts.sites);
        Self {
            path: path.to_owned(),
            sink,
            buffer: Message::default(),
            n_written: 0,
            facts,
            sites,
            limit,
            tracks: Vec::new(),
            of_threads: FxHashMap::default(),
            lanes: FxHashMap::default(),
            waiting: BinaryHeap::new(),
            n_waiting: 0,
            n_shown: 0,
            zero_ns: None,
            serial: 0,
            n_instances: 0,
            n_calls: 0,
            n_left_out: 0,
            next_flow: 1,
            next_flush: 0,
        }
    }

    fn write_out(&mut self, least: usize) -> Result<(), ExportError> {
        if self.buffer.bytes.len() < least {
            return Ok(());
        }
        self.n_written += self.buffer.bytes.len() as u64;
        let written = self.sink.write_all(&self.buffer.bytes);
        self.buffer.bytes.clear();
        written.map_err(|error| ExportError::io(&self.path, error))
    }

    /// The first packets: hosts, and what belongs to none.
    fn begin(&mut self, first_ns: i64) {
        self.zero_ns = Some(first_ns.min(0));
        let descriptors = [
            (WAITING_UUID, "ranks that wait"),
            (OUTLIERS_UUID, "outliers"),
            (EXPORT_UUID, "export"),
        ];
        for (uuid, name) in descriptors {
            self.descriptor(GLOBAL_SEQUENCE, |track| {
                track.number(field::DESCRIPTOR_UUID, uuid);
                track.text(field::DESCRIPTOR_NAME, name);
                if uuid == WAITING_UUID {
                    track.message(field::DESCRIPTOR_COUNTER, |counter| {
                        counter.number(field::COUNTER_UNIT, UNIT_COUNT);
                    });
                }
            });
        }
        for host in 0..self.facts.hosts.len() {
            let name = std::mem::take(&mut self.facts.hosts[host]);
            self.descriptor(GLOBAL_SEQUENCE, |track| {
                track.number(field::DESCRIPTOR_UUID, FIRST_HOST_UUID + host as u64);
                track.message(field::DESCRIPTOR_PROCESS, |process| {
                    process.number(field::PROCESS_PID, host as u64 + 1);
                    process.text(field::PROCESS_NAME, &name);
                });
            });
        }
    }

    fn descriptor(&mut self, sequence: u32, content: impl FnOnce(&mut Message)) {
        self.buffer.message(field::TRACE_PACKET, |packet| {
            packet.number(field::SEQUENCE_ID, sequence.into());
            packet.message(field::TRACK_DESCRIPTOR, content);
        });
    }

    /// A new track, which is described by `content`.
    fn new_track(&mut self, content: impl FnOnce(&mut Message)) -> usize {
        let number = self.tracks.len();
        let sequence = GLOBAL_SEQUENCE + 1 + number as u32;
        let uuid = FIRST_TRACK_UUID + number as u64;
        self.descriptor(sequence, |track| {
            track.number(field::DESCRIPTOR_UUID, uuid);
            content(track);
        });
        self.tracks.push(Track::new(sequence, uuid));
        number
    }

    fn host_of(&self, rank: u32) -> u64 {
        let known = self.facts.ranks.get(&rank);
        known.map_or(0, |rank| rank.host as u64)
    }

    /// The track of a thread.
    fn thread(&mut self, rank: u32, thread: u32) -> usize {
        if let Some(&known) = self.of_threads.get(&(rank, thread)) {
            return known;
        }
        let host = self.host_of(rank);
        let name = match thread {
            0 => format!("rank {rank}"),
            _ => format!("rank {rank} thread {thread}"),
        };
        // No other thread has it, nor is it the number of a host.
        let tid = FIRST_TID + self.tracks.len() as u64;
        let number = self.new_track(|track| {
            track.number(field::DESCRIPTOR_PARENT, FIRST_HOST_UUID + host);
            track.message(field::DESCRIPTOR_THREAD, |of| {
                of.number(field::THREAD_PID, host + 1);
                of.number(field::THREAD_TID, tid);
                of.text(field::THREAD_NAME, &name);
            });
        });
        self.of_threads.insert((rank, thread), number);
        number
    }

    /// A track of a rank on which there is room for a nonblocking operation.
    fn lane(&mut self, rank: u32, [begin_ns, end_ns]: [i64; 2]) -> usize {
        let lanes = self.lanes.entry(rank).or_default();
        let free = lanes.iter_mut().find(|(_, free_ns)| *free_ns <= begin_ns);
        if let Some((track, free_ns)) = free {
            *free_ns = end_ns;
            return *track;
        }
        let number = lanes.len() + 1;
        let parent = self.thread(rank, 0);
        let parent = self.tracks[parent].uuid;
        let track = self.new_track(|track| {
            track.number(field::DESCRIPTOR_PARENT, parent);
            let name = format!("rank {rank}: nonblocking operations {number}");
            track.text(field::DESCRIPTOR_NAME, &name);
        });
        let lanes = self.lanes.entry(rank).or_default();
        lanes.push((track, end_ns));
        track
    }

    fn add(&mut self, track: usize, [begin_ns, end_ns]: [i64; 2], what: What) {
        self.serial += 1;
        self.tracks[track].add(Slice {
            begin_ns,
            end_ns,
            serial: self.serial,
            what,
        });
    }

    /// Whether an instance is left out, so that the file does not become too large.
    fn is_left_out(&self, of: &InstanceWithCalls<'_>, rows: &Rows<'_>) -> bool {
        let Some(limit) = &self.limit else {
            return false;
        };
        let n_bytes = u128::from(self.n_written) + self.buffer.bytes.len() as u128;
        let max_bytes = u128::from(limit.max_bytes - limit.max_bytes / RESERVE);
        let share = max_bytes * u128::from(self.n_calls) / u128::from(limit.n_calls.max(1));
        if n_bytes <= share {
            return false;
        }
        let operation = &rows.operations[of.instance.operation as usize];
        let Some(position) = of.instance.position() else {
            return true;
        };
        let name = operation.operation.into();
        !(limit.kept).contains(&(of.instance.entry(), name, position))
    }

    /// Counts those who wait, also in instances that are left out.
    fn add_waits(&mut self, of: &InstanceWithCalls<'_>) {
        for (at, call) in of.calls.iter().enumerate() {
            if let Some([from_ns, to_ns]) = wait_span(of, at, call) {
                self.waiting.push(Reverse((from_ns, 1)));
                self.waiting.push(Reverse((to_ns, -1)));
            }
        }
    }

    fn add_instance(&mut self, of: &InstanceWithCalls<'_>) {
        let (instance, number) = (of.instance, self.n_instances);
        for (at, call) in of.calls.iter().enumerate() {
            let facts = CallFacts {
                operation: instance.operation,
                instance: number,
                bytes: call.bytes(),
                site: call.site(),
                is_complete: instance.state == InstanceState::Complete,
            };
            let thread = self.thread(call.rank, call.thread);
            let end_ns = call.leave_ns().unwrap_or(i64::MAX);
            let mut wait_track = thread;
            match of.overlaps.get(at).copied().flatten() {
                None => self.add(thread, [call.enter_ns, end_ns], What::Call(facts)),
                Some(overlap) => {
                    let initiated = [call.enter_ns, overlap.initiated_ns];
                    self.add(thread, initiated, What::Call(facts));
                    // One that was never completed must not take a track for ever.
                    let known_ns = overlap.completing_ns.unwrap_or(overlap.initiated_ns);
                    let whole = [call.enter_ns, call.leave_ns().unwrap_or(known_ns)];
                    let lane = self.lane(call.rank, whole);
                    self.add(lane, whole, What::Operation(facts));
                    wait_track = lane;
                    if let Some((completing_ns, (by, thread))) =
                        overlap.completing_ns.zip(overlap.completing)
                    {
                        let what = What::Completing {
                            by,
                            instance: number,
                        };
                        self.add(lane, [completing_ns, whole[1]], what);
                        // When a request was given back is not known.
                        let end_ns = match by {
                            CompletingCall::RequestFree => whole[1],
                            _ => end_ns,
                        };
                        let thread = self.thread(call.rank, thread);
                        self.add(thread, [completing_ns, end_ns], what);
                    }
                }
            }
            if let Some(span) = wait_span(of, at, call) {
                let what = What::Wait {
                    rank: call.waited_for(),
                    cause: call.cause(),
                };
                self.add(wait_track, span, what);
            }
        }
        self.add_messages(of);
    }

    fn add_messages(&mut self, of: &InstanceWithCalls<'_>) {
        let threads = threads_of(of);
        for message in of.messages {
            let ends = [message.sender, message.receiver];
            let ends = ends.map(|rank| (rank, threads.get(&rank).copied()));
            let received_ns = message.received_ns.filter(|&ns| ns > message.sent_ns);
            let flow = match (ends, received_ns) {
                ([(_, Some(_)), (_, Some(_))], Some(_)) => {
                    self.next_flow += 1;
                    Some(self.next_flow)
                }
                _ => None,
            };
            let [(sender, sends), (receiver, receives)] = ends;
            let facts = |other: u32| MessageFacts {
                other,
                bytes: message.bytes,
                flow,
            };
            if let Some(thread) = sends {
                let track = self.thread(sender, thread);
                let at = [message.sent_ns; 2];
                self.add(track, at, What::Send(facts(receiver)));
            }
            if let (Some(thread), Some(at_ns)) = (receives, message.received_ns) {
                let track = self.thread(receiver, thread);
                self.add(track, [at_ns; 2], What::Receive(facts(sender)));
            }
        }
    }

    /// Writes everything before a time, ns.
    fn flush(&mut self, until_ns: i64, names: &Names<'_>) -> Result<(), ExportError> {
        let zero_ns = self.zero_ns.unwrap_or(0);
        for at in 0..self.tracks.len() {
            while let Some(step) = self.tracks[at].next_before(until_ns) {
                let track = &mut self.tracks[at];
                match step {
                    Step::Begin(slice) => {
                        let from = (names, &self.sites[..], zero_ns);
                        begin_slice(&mut self.buffer, track, &slice, from);
                    }
                    Step::End(at_ns, whole_ns) => {
                        end_slice(&mut self.buffer, track, at_ns - zero_ns, whole_ns);
                    }
                }
                self.write_out(BUFFER)?;
            }
        }
        while let Some(&Reverse((at_ns, _))) = self.waiting.peek() {
            if at_ns >= until_ns {
                break;
            }
            while let Some(&Reverse((other_ns, change))) = self.waiting.peek()
                && other_ns == at_ns
            {
                self.n_waiting += change;
                self.waiting.pop();
            }
            self.show_waiting(at_ns - zero_ns);
        }
        self.write_out(BUFFER)
    }

    /// Shows how many ranks wait, unless it is about as many as before.
    fn show_waiting(&mut self, at_ns: i64) {
        let least = (self.facts.ranks.len() as i64 / 16).max(1);
        let change = (self.n_waiting - self.n_shown).abs();
        if change == 0 || (change < least && self.n_waiting > 0) {
            return;
        }
        self.n_shown = self.n_waiting;
        let n_waiting = self.n_waiting;
        self.global_event(at_ns, |event| {
            event.number(field::EVENT_TYPE, COUNTER);
            event.number(field::EVENT_TRACK_UUID, WAITING_UUID);
            event.signed(field::EVENT_COUNTER_VALUE, n_waiting);
        });
    }

    /// An event that belongs to no rank.
    fn global_event(&mut self, at_ns: i64, content: impl FnOnce(&mut Message)) {
        self.buffer.message(field::TRACE_PACKET, |packet| {
            packet.number(field::TIMESTAMP, at_ns.max(0).cast_unsigned());
            packet.number(field::SEQUENCE_ID, GLOBAL_SEQUENCE.into());
            packet.message(field::TRACK_EVENT, content);
        });
    }

    /// The phases that the program marked, and the instances that stick out.
    fn add_findings(&mut self, analyzed: &AnalysisOfRows) {
        let zero_ns = self.zero_ns.unwrap_or(0);
        let analysis = &analyzed.analysis;
        for (number, phase) in analysis.phases.iter().enumerate() {
            let uuid = FIRST_PHASE_UUID + number as u64;
            let name = format!("phase {}", phase.level);
            self.descriptor(GLOBAL_SEQUENCE, |track| {
                track.number(field::DESCRIPTOR_UUID, uuid);
                track.text(field::DESCRIPTOR_NAME, &name);
            });
            for (at_ns, kind) in [(phase.from_ns, SLICE_BEGIN), (phase.to_ns, SLICE_END)] {
                self.global_event(at_ns - zero_ns, |event| {
                    event.number(field::EVENT_TYPE, kind);
                    event.number(field::EVENT_TRACK_UUID, uuid);
                    if kind == SLICE_BEGIN {
                        event.text(field::EVENT_NAME, &name);
                    }
                });
            }
        }
        let mut outliers: Vec<(i64, String)> = Vec::new();
        for operation in &analysis.operations {
            for outlier in &operation.outliers {
                let duration = collbench_text::quantity::duration(outlier.duration_ns);
                let late = outlier.last_rank.map(|rank| format!(", rank {rank} last"));
                let late = late.unwrap_or_default();
                let of = &operation.operation;
                outliers.push((outlier.at_ns, format!("{of}: {duration}{late}")));
            }
        }
        outliers.sort();
        for (at_ns, name) in outliers {
            self.global_event(at_ns - zero_ns, |event| {
                event.number(field::EVENT_TYPE, INSTANT);
                event.number(field::EVENT_TRACK_UUID, OUTLIERS_UUID);
                event.text(field::EVENT_NAME, &name);
            });
        }
    }

    /// What the file is of, and what is missing.
    fn add_about(&mut self, analyzed: &AnalysisOfRows) {
        let analysis = &analyzed.analysis;
        let mut about = vec![
            ("collbench", collbench_version::VERSION.to_owned()),
            ("command", analysis.trace.command.join(" ")),
            ("zero_ns", self.zero_ns.unwrap_or(0).to_string()),
            ("instances", self.n_instances.to_string()),
            ("complete", analysis.trace.complete.to_string()),
        ];
        for host in &analysis.clock.hosts {
            if let Some(ns) = host.uncertainty_ns {
                let text = format!("{}: {ns} ns", host.host);
                about.push(("clock_uncertainty", text));
            }
        }
        let name = if self.n_left_out > 0 {
            let left_out = self.n_left_out;
            about.push(("instances_left_out", left_out.to_string()));
            let n = self.n_instances;
            format!("{left_out} of {n} instances are left out (--max-size)")
        } else {
            "all instances".to_owned()
        };
        self.global_event(0, |event| {
            event.number(field::EVENT_TYPE, INSTANT);
            event.number(field::EVENT_TRACK_UUID, EXPORT_UUID);
            event.text(field::EVENT_NAME, &name);
            for (name, value) in &about {
                event.message(field::EVENT_DEBUG_ANNOTATION, |annotation| {
                    annotation.text(field::ANNOTATION_NAME, name);
                    annotation.text(field::ANNOTATION_STRING, value);
                });
            }
        });
    }
}

impl WriteInstances for PerfettoTrace {
    fn take(&mut self, rows: &Rows<'_>) -> Result<(), ExportError> {
        let names = Names {
            operations: rows.operations,
            causes: rows.causes,
            communicators: &Arc::clone(&self.facts.entries),
        };
        let mut until_ns = i64::MIN;
        for of in rows.instances() {
            let first_ns = of.instance.first_enter_ns;
            if self.zero_ns.is_none() {
                self.begin(first_ns);
            }
            until_ns = until_ns.max(first_ns);
            self.n_calls += of.calls.len() as u64;
            self.add_waits(&of);
            if self.is_left_out(&of, rows) {
                self.n_left_out += 1;
            } else {
                self.add_instance(&of);
            }
            self.n_instances += 1;
            if self.n_calls >= self.next_flush {
                self.next_flush = self.n_calls + CALLS_TOGETHER.max(4 * self.tracks.len() as u64);
                self.flush(until_ns, &names)?;
            }
        }
        self.flush(until_ns, &names)
    }

    fn finish(
        mut self: Box<Self>,
        analyzed: &AnalysisOfRows,
    ) -> Result<Option<String>, ExportError> {
        if self.zero_ns.is_none() {
            self.begin(0);
        }
        let names = Names {
            operations: &analyzed.operations,
            causes: &analyzed.causes,
            communicators: &Arc::clone(&self.facts.entries),
        };
        self.flush(i64::MAX, &names)?;
        self.add_findings(analyzed);
        self.add_about(analyzed);
        self.write_out(0)?;
        let Self {
            sink,
            path,
            n_left_out,
            n_instances,
            ..
        } = *self;
        sink.finish()
            .map_err(|error| ExportError::io(&path, error))?;
        let said = "instances are left out, so that the file stays below --max-size";
        Ok((n_left_out > 0).then(|| format!("{n_left_out} of {n_instances} {said}")))
    }
}

/// From when to when a call of an instance waited, ns; `None` where it did not, or that is not known.
fn wait_span(of: &InstanceWithCalls<'_>, at: usize, call: &CallRow) -> Option<[i64; 2]> {
    let wait_ns = call.wait_ns().filter(|&ns| ns > 0)?;
    let overlap = of.overlaps.get(at).copied().flatten();
    let completing_ns = overlap.and_then(|overlap| overlap.completing_ns);
    let from_ns = completing_ns.unwrap_or(call.enter_ns);
    Some([from_ns, from_ns.saturating_add(wait_ns)])
}
