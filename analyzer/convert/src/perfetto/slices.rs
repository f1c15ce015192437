//! Packets of slices and instants, and the names and texts in them.

use collbench_analyzer::results::CallSiteSummary;
use collbench_analyzer::rows::{CauseRow, OperationRow};

use super::packet::{INSTANT, Message, NEEDS_STATE, SLICE_BEGIN, SLICE_END, STATE_CLEARED, field};
use super::track::{Interned, Name, Slice, Text, Track, What};

/// Names of what is said of slices; the number is the position, from 1.
const ANNOTATIONS: [&str; 12] = [
    "instance",
    "bytes",
    "communicator",
    "root",
    "algorithm",
    "called from",
    "complete",
    "waited for",
    "cause",
    "to",
    "from",
    "wait_ns",
];
const INSTANCE: u64 = 1;
const BYTES: u64 = 2;
const COMMUNICATOR: u64 = 3;
const ROOT: u64 = 4;
const ALGORITHM: u64 = 5;
const CALLED_FROM: u64 = 6;
const COMPLETE: u64 = 7;
const WAITED_FOR: u64 = 8;
const CAUSE: u64 = 9;
const TO: u64 = 10;
const FROM: u64 = 11;
/// Of a wait in which another call begins: how long it is as a whole, ns.
const WAIT_NS: u64 = 12;

/// What numbers stand for.
pub(super) struct Names<'n> {
    pub(super) operations: &'n [OperationRow],
    pub(super) causes: &'n [CauseRow],
    pub(super) communicators: &'n [String],
}

impl Names<'_> {
    fn name(&self, name: Name) -> String {
        let operation = |number: u32| self.operations[number as usize].operation;
        match name {
            Name::Operation(number) => operation(number).to_owned(),
            Name::Completing(by) => by.name().to_owned(),
            Name::Wait => "wait".to_owned(),
            Name::Send => "send".to_owned(),
            Name::Receive => "receive".to_owned(),
        }
    }

    fn text(&self, text: Text, sites: &[CallSiteSummary]) -> String {
        match text {
            Text::Cause(number) => self.causes[number as usize].kind.code().to_owned(),
            Text::Communicator(number) => {
                let communicator = self.operations[number as usize].communicator;
                let name = communicator.and_then(|at| self.communicators.get(at));
                name.map_or_else(|| "not known".to_owned(), Clone::clone)
            }
            Text::Algorithm(number) => {
                let algorithm = &self.operations[number as usize].algorithm;
                algorithm.clone().unwrap_or_default()
            }
            Text::Site(number) => {
                let site = sites.get(number as usize);
                site.map_or_else(|| format!("site {number}"), CallSiteSummary::place)
            }
        }
    }
}

/// A packet with the begin of a slice, or an instant.
pub(super) fn begin_slice(
    buffer: &mut Message,
    track: &mut Track,
    slice: &Slice,
    (names, sites, zero_ns): (&Names<'_>, &[CallSiteSummary], i64),
) {
    let is_first = track.interned.is_none();
    let uuid = track.uuid;
    let interned = track.interned.get_or_insert_default();
    let mut new = Message::default();
    if is_first {
        for (iid, name) in (1..).zip(ANNOTATIONS) {
            intern(&mut new, field::INTERNED_ANNOTATION_NAME, iid, name);
        }
    }
    let mut event = Message::default();
    let name = match slice.what {
        What::Call(of) | What::Operation(of) => Name::Operation(of.operation),
        What::Completing { by, .. } => Name::Completing(by),
        What::Wait { .. } => Name::Wait,
        What::Send(_) => Name::Send,
        What::Receive(_) => Name::Receive,
    };
    let kind = if slice.what.is_instant() {
        INSTANT
    } else {
        SLICE_BEGIN
    };
    event.number(field::EVENT_TYPE, kind);
    let mut said = Said {
        event: &mut event,
        new: &mut new,
        interned,
        names,
        sites,
    };
    let name = said.name(name);
    said.event.number(field::EVENT_NAME_IID, name);
    match slice.what {
        What::Call(of) | What::Operation(of) => {
            let operation = &names.operations[of.operation as usize];
            said.number(INSTANCE, of.instance);
            if let Some(bytes) = of.bytes {
                said.number(BYTES, bytes);
            }
            said.text(COMMUNICATOR, Text::Communicator(of.operation));
            if let Some(root) = operation.root {
                said.number(ROOT, root.into());
            }
            if operation.algorithm.is_some() {
                said.text(ALGORITHM, Text::Algorithm(of.operation));
            }
            if let Some(site) = of.site {
                said.text(CALLED_FROM, Text::Site(site));
            }
            if !of.is_complete {
                said.number(COMPLETE, 0);
            }
        }
        What::Completing { instance, .. } => said.number(INSTANCE, instance),
        What::Wait { rank, cause } => {
            if let Some(rank) = rank {
                said.number(WAITED_FOR, rank.into());
            }
            if let Some(cause) = cause {
                said.text(CAUSE, Text::Cause(cause));
            }
        }
        What::Send(of) | What::Receive(of) => {
            let is_send = matches!(slice.what, What::Send(_));
            said.number(if is_send { TO } else { FROM }, of.other.into());
            said.number(BYTES, of.bytes);
            if let Some(flow) = of.flow {
                let field = if is_send {
                    field::EVENT_FLOW_ID
                } else {
                    field::EVENT_TERMINATING_FLOW_ID
                };
                said.event.fixed(field, flow);
            }
        }
    }
    let sequence = track.sequence;
    let at_ns = (slice.begin_ns - zero_ns).max(0);
    buffer.message(field::TRACE_PACKET, |packet| {
        packet.number(field::TIMESTAMP, at_ns.cast_unsigned());
        packet.number(field::SEQUENCE_ID, sequence.into());
        let cleared = if is_first { STATE_CLEARED } else { 0 };
        packet.number(field::SEQUENCE_FLAGS, NEEDS_STATE | cleared);
        if is_first {
            packet.message(field::PACKET_DEFAULTS, |defaults| {
                defaults.message(field::DEFAULTS_TRACK_EVENT, |defaults| {
                    defaults.number(field::EVENT_TRACK_UUID, uuid);
                });
            });
        }
        if !new.bytes.is_empty() {
            packet.message(field::INTERNED_DATA, |data| {
                data.bytes.extend_from_slice(&new.bytes);
            });
        }
        packet.message(field::TRACK_EVENT, |of| {
            of.bytes.extend_from_slice(&event.bytes);
        });
    });
}

/// A packet with the end of the innermost slice; of a wait that is longer than its slice, how long it is, ns.
pub(super) fn end_slice(buffer: &mut Message, track: &Track, at_ns: i64, whole_ns: Option<i64>) {
    buffer.message(field::TRACE_PACKET, |packet| {
        packet.number(field::TIMESTAMP, at_ns.max(0).cast_unsigned());
        packet.number(field::SEQUENCE_ID, track.sequence.into());
        packet.number(field::SEQUENCE_FLAGS, NEEDS_STATE);
        packet.message(field::TRACK_EVENT, |event| {
            event.number(field::EVENT_TYPE, SLICE_END);
            if let Some(ns) = whole_ns {
                event.message(field::EVENT_DEBUG_ANNOTATION, |annotation| {
                    annotation.number(field::ANNOTATION_NAME_IID, WAIT_NS);
                    annotation.number(field::ANNOTATION_UINT, ns.max(0).cast_unsigned());
                });
            }
        });
    });
}

/// A text that packets call by number from now on.
fn intern(new: &mut Message, list: u32, iid: u64, text: &str) {
    new.message(list, |entry| {
        entry.number(field::IID, iid);
        entry.text(field::INTERNED_TEXT, text);
    });
}

/// What is said of a slice.
struct Said<'s> {
    event: &'s mut Message,
    /// Names and texts that are not yet known.
    new: &'s mut Message,
    interned: &'s mut Interned,
    names: &'s Names<'s>,
    sites: &'s [CallSiteSummary],
}

impl Said<'_> {
    fn name(&mut self, name: Name) -> u64 {
        let next = self.interned.names.len() as u64 + 1;
        let iid = *self.interned.names.entry(name).or_insert(next);
        if iid == next {
            let text = self.names.name(name);
            intern(self.new, field::INTERNED_EVENT_NAME, iid, &text);
        }
        iid
    }

    fn number(&mut self, name: u64, value: u64) {
        self.event
            .message(field::EVENT_DEBUG_ANNOTATION, |annotation| {
                annotation.number(field::ANNOTATION_NAME_IID, name);
                annotation.number(field::ANNOTATION_UINT, value);
            });
    }

    fn text(&mut self, name: u64, text: Text) {
        let next = self.interned.texts.len() as u64 + 1;
        let iid = *self.interned.texts.entry(text).or_insert(next);
        if iid == next {
            let text = self.names.text(text, self.sites);
            intern(self.new, field::INTERNED_STRING, iid, &text);
        }
        self.event
            .message(field::EVENT_DEBUG_ANNOTATION, |annotation| {
                annotation.number(field::ANNOTATION_NAME_IID, name);
                annotation.number(field::ANNOTATION_STRING_IID, iid);
            });
    }
}
