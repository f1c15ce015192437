//! Instances to an archive in the Open Trace Format 2.
//!
//! Each rank is a process with its threads, each call is entered and left. Where all processes took part, there are the events
//! of a collective operation, which tools that replay a trace count on: one that lacks a participant would stop them.
//!
//! Times are those of the analysis, ns since the start of the run. OTF2 has no negative ones, so if the first call began
//! before that, all are later by a constant, which the description of the archive tells.

mod communicators;
mod description;
mod events;
mod operations;
mod places;
mod timeline;

use std::path::{Path, PathBuf};

use collbench_analyzer::rows::{
    AnalysisOfRows, CallRow, InstanceRow, InstanceState, InstanceWithCalls, MOST_PENDING,
    OperationRow, OverlapRow, Rows,
};
use collbench_formats::Operation;
use collbench_otf2::{
    Archive, Collective, CollectiveOp, Error, Library, RegionRef, Root, StringRef, Transfer,
};

use crate::error::ExportError;
use crate::facts::Facts;
use crate::write::{WriteInstances, threads_of};

use communicators::Communicators;
use description::{description, place};
use events::{Call, Deed, Events, Form, Wait};
use operations::{Part, gathers, transferred};
use places::Places;
use timeline::{OPEN, Timeline, Visit};

/// Whether a file with this name is part of an archive, or of its folder of events.
pub(crate) fn is_known(name: &str) -> bool {
    let of_location = |end| {
        let number = name.strip_prefix("traces/")?.strip_suffix(end)?;
        Some(!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    matches!(name, "traces.otf2" | "traces.def" | "traces")
        || [".evt", ".def"].map(of_location).contains(&Some(true))
}

/// Whether there is a library that writes archives.
///
/// # Errors
/// [`ExportError`] if not; it says where it is from.
pub(crate) fn check_library(output: &Path) -> Result<(), ExportError> {
    let opened = Library::open().map_err(|error| ExportError::format(output, error))?;
    drop(opened);
    Ok(())
}

/// Writes an archive.
pub(crate) struct ArchiveWriter {
    directory: PathBuf,
    events: Events,
    places: Places,
    communicators: Communicators,
    /// By number.
    operations: Vec<KnownOperation>,
    /// The kind of each cause, by number.
    causes: Vec<StringRef>,
    /// By number, those that were met.
    sites: Vec<Option<StringRef>>,
    /// By location.
    timelines: Vec<Timeline<Deed>>,
    clock: Clock,
    n_requests: u64,
    /// `None`: messages are not written.
    n_messages: Option<u64>,
    /// Time of day at the start of the run, ns since 1970.
    started_unix_ns: Option<u64>,
}

/// An operation, as the archive has it.
#[derive(Debug, Clone, Copy)]
struct KnownOperation {
    operation: Operation,
    region: RegionRef,
    collective: Option<CollectiveOp>,
    algorithm: Option<StringRef>,
}

/// From the time of the analysis to that of the archive.
#[derive(Debug, Default)]
struct Clock {
    /// What is added; `None` before the first instance.
    later_by_ns: Option<i64>,
    /// First enter of the newest instance: what comes begins then or later.
    newest_ns: u64,
}

impl Clock {
    fn begin(&mut self, first_enter_ns: i64) {
        self.later_by_ns
            .get_or_insert_with(|| first_enter_ns.min(0).saturating_neg());
        self.newest_ns = self.newest_ns.max(self.at(first_enter_ns));
    }

    fn at(&self, ns: i64) -> u64 {
        let ns = ns.saturating_add(self.later_by_ns.unwrap_or(0));
        u64::try_from(ns).unwrap_or(0)
    }
}

impl ArchiveWriter {
    /// An archive in a directory that is empty.
    ///
    /// # Errors
    /// [`ExportError`] if there is no library, or the directory cannot be used.
    pub(crate) fn create(
        directory: &Path,
        facts: Facts,
        with_messages: bool,
    ) -> Result<Self, ExportError> {
        let created = Library::open().and_then(|library| Archive::create(&library, directory));
        let mut archive = created.map_err(|error| ExportError::format(directory, error))?;
        archive.set_machine("Linux");
        archive.set_creator(&format!("collbench {}", collbench_version::VERSION));
        let (places, locations) = Places::define(&mut archive, &facts);
        let started_unix_ns = facts.started_unix_ns;
        let communicators = Communicators::define(&mut archive, facts, places.n_ranks());
        let timelines = locations.iter().map(|_| Timeline::default()).collect();
        Ok(Self {
            directory: directory.to_owned(),
            events: Events::new(archive, locations),
            places,
            communicators,
            operations: Vec::new(),
            causes: Vec::new(),
            sites: Vec::new(),
            timelines,
            clock: Clock::default(),
            n_requests: 0,
            n_messages: with_messages.then_some(0),
            started_unix_ns,
        })
    }

    /// Defines operations and causes that are new.
    fn define(&mut self, rows: &Rows<'_>) {
        let archive = &mut self.events.archive;
        for row in &rows.operations[self.operations.len()..] {
            self.operations.push(known_operation(archive, row));
        }
        for cause in &rows.causes[self.causes.len()..] {
            self.causes.push(archive.string(cause.kind.code()));
        }
    }

    fn add(&mut self, of: &InstanceWithCalls<'_>) -> Result<(), Error> {
        let instance = of.instance;
        self.clock.begin(instance.first_enter_ns);
        let of_instance = self.instance(instance, of.calls);
        for (at, call) in of.calls.iter().enumerate() {
            let overlap = of.overlaps.get(at).copied().flatten();
            self.add_call(&of_instance, call, overlap)?;
        }
        self.add_messages(of)
    }

    /// Adds the messages inside of an instance to the calls that sent them.
    fn add_messages(&mut self, of: &InstanceWithCalls<'_>) -> Result<(), Error> {
        let (Some(mut n_before), Some(index)) = (self.n_messages, of.instance.communicator())
        else {
            return Ok(());
        };
        let threads = threads_of(of);
        for message in of.messages {
            let sender = threads.get(&message.sender);
            let receiver = self.communicators.rank_of(index, message.receiver);
            let (Some(&thread), Some(remote)) = (sender, receiver) else {
                continue;
            };
            let archive = &mut self.events.archive;
            let transfer = Transfer {
                window: self.communicators.window(archive, index),
                remote,
                bytes: message.bytes,
                matching_id: n_before,
            };
            n_before += 1;
            let [sent_ns, returned_ns] =
                [message.sent_ns, message.send_returned_ns].map(|ns| self.clock.at(ns));
            self.visit(
                (message.sender, thread),
                sent_ns,
                returned_ns,
                Deed::Send(transfer),
            )?;
        }
        self.n_messages = Some(n_before);
        Ok(())
    }

    fn instance(&mut self, row: &InstanceRow, calls: &[CallRow]) -> Instance {
        let known = self.operations[row.operation as usize];
        let archive = &mut self.events.archive;
        let state = match row.state {
            InstanceState::Complete => None,
            InstanceState::Failed => Some("failed"),
            InstanceState::Incomplete => Some("incomplete"),
            InstanceState::Cut => Some("cut"),
            InstanceState::Unmatched => Some("unmatched"),
        };
        let is_whole = match row.state {
            InstanceState::Complete => true,
            InstanceState::Failed => row.last_leave_ns.is_some(),
            _ => false,
        };
        let collective = known.collective.filter(|_| is_whole);
        let exchange = collective.zip(row.communicator()).map(|(op, index)| {
            let root = row.root();
            let root = root.and_then(|rank| self.communicators.rank_of(index, rank));
            let comm = self.communicators.get(archive, index);
            let groups = self.communicators.groups(index);
            Exchange {
                collective: Collective {
                    op,
                    comm,
                    root: root.map_or(Root::None, Root::Rank),
                    bytes_sent: 0,
                    bytes_received: 0,
                },
                communicator: index,
                payloads: if gathers(known.operation) {
                    payloads(calls, groups)
                } else {
                    [None; 2]
                },
            }
        });
        if row.is_overlapped {
            self.n_requests += 1;
        }
        Instance {
            operation: known,
            root: row.root(),
            state: state.map(|state| archive.string(state)),
            exchange,
            request: self.n_requests,
        }
    }

    fn add_call(
        &mut self,
        instance: &Instance,
        row: &CallRow,
        overlap: Option<OverlapRow>,
    ) -> Result<(), Error> {
        let site = row.site().map(|site| self.site(site));
        let mut call = Call {
            form: Form::Blocking,
            region: instance.operation.region,
            site,
            algorithm: instance.operation.algorithm,
            collective: self.collective(instance, row),
            request: instance.request,
            wait: self.wait(row),
            state: instance.state,
        };
        let leave_ns = row.leave_ns().map_or(OPEN, |ns| self.clock.at(ns));
        let enter_ns = self.clock.at(row.enter_ns);
        let thread = (row.rank, row.thread);
        let operation = instance.operation.operation;
        let Some(overlap) = overlap else {
            // Not even initiated, if it is nonblocking.
            if operation.is_initiated() {
                call.collective = None;
            }
            return self.visit(thread, enter_ns, leave_ns, Deed::Call(call));
        };
        let completing = overlap.waited_for_by();
        if completing.is_none() {
            call.collective = None;
        }
        let initiation = Call {
            form: if operation.is_persistent() {
                Form::Start
            } else {
                Form::Initiation
            },
            wait: call.wait.filter(|_| completing.is_none()),
            ..call
        };
        let initiated_ns = self.clock.at(overlap.initiated_ns);
        self.visit(thread, enter_ns, initiated_ns, Deed::Call(initiation))?;
        let Some((completing_ns, by, thread)) = completing else {
            return Ok(());
        };
        let region = operations::completing_region(by);
        let completion = Call {
            form: Form::Completion,
            region: self.events.archive.region(&region),
            site: None,
            algorithm: None,
            ..call
        };
        let completing_ns = self.clock.at(completing_ns);
        let completion = Deed::Call(completion);
        self.visit((row.rank, thread), completing_ns, leave_ns, completion)
    }

    /// The part that a call has in its operation.
    fn collective(&mut self, instance: &Instance, row: &CallRow) -> Option<Collective> {
        let exchange = instance.exchange.as_ref()?;
        let [first, second] = self.communicators.groups(exchange.communicator);
        // In an intercommunicator processes exchange data with those of the other group.
        let (n_peers, peers) = if !second.is_empty() && first.contains(&row.rank) {
            (second.len(), 1)
        } else {
            (first.len(), 0)
        };
        let part = Part {
            payload: row.bytes(),
            is_root: instance.root == Some(row.rank),
            n_peers: n_peers as u64,
            of_peers: exchange.payloads[peers],
        };
        let [bytes_sent, bytes_received] = transferred(instance.operation.operation, part);
        Some(Collective {
            bytes_sent,
            bytes_received,
            ..exchange.collective
        })
    }

    fn wait(&self, row: &CallRow) -> Option<Wait> {
        Some(Wait {
            ns: u64::try_from(row.wait_ns()?).ok()?,
            waited_for: row.waited_for(),
            cause: row.cause().map(|cause| self.causes[cause as usize]),
        })
    }

    /// The text of a call site, which is known at the end.
    fn site(&mut self, number: u32) -> StringRef {
        let at = number as usize;
        if self.sites.len() <= at {
            self.sites.resize(at + 1, None);
        }
        let archive = &mut self.events.archive;
        *self.sites[at].get_or_insert_with(|| archive.reserve_string())
    }

    /// Adds to what a thread of a rank did.
    fn visit(
        &mut self,
        (rank, thread): (u32, u32),
        enter_ns: u64,
        leave_ns: u64,
        what: Deed,
    ) -> Result<(), Error> {
        let Some(location) = self.places.index(rank, thread) else {
            return Ok(());
        };
        let visit = Visit {
            enter_ns,
            leave_ns,
            what,
        };
        let events = &mut self.events;
        self.timelines[location].add(visit, self.clock.newest_ns, &mut |step| {
            events.write(location, &step)
        })
    }

    /// Writes what lies before some time.
    fn advance(&mut self, until_ns: u64) -> Result<(), Error> {
        let events = &mut self.events;
        for (location, timeline) in self.timelines.iter_mut().enumerate() {
            timeline.advance(until_ns, &mut |step| events.write(location, &step))?;
        }
        Ok(())
    }

    /// Leaves all calls that did not return, at the end of everything; gives how many were moved.
    fn close(&mut self) -> Result<u64, Error> {
        self.advance(OPEN)?;
        let end_ns = self.timelines.iter().map(Timeline::last_ns).max();
        let end_ns = end_ns.unwrap_or(0);
        let mut n_moved = 0;
        let events = &mut self.events;
        for (location, timeline) in std::mem::take(&mut self.timelines).into_iter().enumerate() {
            n_moved += timeline.n_moved();
            timeline.close(end_ns, &mut |step| events.write(location, &step))?;
        }
        Ok(n_moved)
    }

    fn end(mut self, analyzed: &AnalysisOfRows) -> Result<(), Error> {
        let n_moved = self.close()?;
        let mut archive = self.events.archive;
        for (number, reserved) in self.sites.iter().enumerate() {
            if let Some(reserved) = *reserved {
                let site = analyzed.analysis.sites.get(number);
                archive.set_string(reserved, &site.map_or_else(String::new, place))?;
            }
        }
        let later_by_ns = self.clock.later_by_ns.unwrap_or(0);
        if let Some(ns) = self.started_unix_ns {
            archive.set_realtime_at_zero(ns.saturating_sub(later_by_ns.unsigned_abs()));
        }
        archive.set_description(&description(analyzed, later_by_ns, n_moved));
        archive.finish()
    }
}

impl WriteInstances for ArchiveWriter {
    fn take(&mut self, rows: &Rows<'_>) -> Result<(), ExportError> {
        self.define(rows);
        let mut written = rows.instances().try_for_each(|of| self.add(&of));
        written = written.and_then(|()| self.advance(self.clock.newest_ns));
        // As many as may wait for an instance that began before them.
        let n_pending: usize = self.timelines.iter().map(Timeline::n_pending).sum();
        if n_pending > MOST_PENDING {
            written = written.and_then(|()| self.advance(OPEN));
        }
        written.map_err(|error| ExportError::format(&self.directory, error))
    }

    fn finish(self: Box<Self>, analyzed: &AnalysisOfRows) -> Result<Option<String>, ExportError> {
        let directory = self.directory.clone();
        let is_without = self.n_messages == Some(0);
        let said = "no messages were recorded in these instances: the archive has none";
        let remark = is_without.then(|| said.to_owned());
        let ended = self.end(analyzed).map(|()| remark);
        ended.map_err(|error| ExportError::format(&directory, error))
    }
}

/// What the calls of an instance have in common.
struct Instance {
    operation: KnownOperation,
    /// World rank.
    root: Option<u32>,
    state: Option<StringRef>,
    /// `None` where there is no event of an operation.
    exchange: Option<Exchange>,
    request: u64,
}

/// The operation of an instance.
struct Exchange {
    /// Without what is sent and received.
    collective: Collective,
    /// Index of the communicator.
    communicator: usize,
    /// Sum of the payloads of each group, if it matters and is known.
    payloads: [Option<u64>; 2],
}

fn known_operation(archive: &mut Archive, row: &OperationRow) -> KnownOperation {
    // Rows have names of operations.
    let operation = Operation::from_name(row.operation).unwrap_or(Operation::Barrier);
    let region = if operation.is_persistent() {
        operations::starting_region(false)
    } else {
        operations::region(operation)
    };
    KnownOperation {
        operation,
        region: archive.region(&region),
        collective: operations::collective(operation),
        algorithm: (row.algorithm.as_deref()).map(|name| archive.string(name)),
    }
}

/// Sum of the payloads of each group; `None` where one is not known.
fn payloads(calls: &[CallRow], groups: [&[u32]; 2]) -> [Option<u64>; 2] {
    let [first, second] = groups.map(<[u32]>::len);
    if calls.len() != first + second {
        return [None; 2];
    }
    let (of_first, of_second) = calls.split_at(first);
    [of_first, of_second].map(|calls| {
        let bytes = calls.iter().map(CallRow::bytes);
        bytes.sum::<Option<u64>>()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_archives_are_known() {
        for name in [
            "traces.otf2",
            "traces.def",
            "traces",
            "traces/12.evt",
            "traces/0.def",
        ] {
            assert!(is_known(name), "{name}");
        }
        for name in [
            "traces.txt",
            "traces/.evt",
            "traces/1.txt",
            "traces/a.evt",
            "1.evt",
            "traces/traces",
        ] {
            assert!(!is_known(name), "{name}");
        }
    }

    #[test]
    fn times_before_the_start_of_the_run_are_kept() {
        let mut clock = Clock::default();
        clock.begin(-40);
        clock.begin(-50);
        assert_eq!([-40, -50, 0, 7].map(|ns| clock.at(ns)), [0, 0, 40, 47]);
        let mut clock = Clock::default();
        clock.begin(9);
        assert_eq!([9, 5].map(|ns| clock.at(ns)), [9, 5]);
    }
}
