//! Calls to events of an archive.

use collbench_otf2::{
    Archive, AttributeRef, AttributeType, AttributeValue, Collective, Error, Event, LocationRef,
    Metric, MetricMode, MetricRef, MetricType, MetricValue, RegionRef, StringRef, Transfer,
};

use super::operations::starting_region;
use super::timeline::{Joins, OPEN, Step, Visit};

/// What a thread did.
#[derive(Debug, Clone, Copy)]
pub(super) enum Deed {
    /// It called.
    Call(Call),
    /// The library sent a message.
    Send(Transfer),
}

/// What a call was.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub(super) form: Form,
    pub(super) region: RegionRef,
    /// Where it is called.
    pub(super) site: Option<StringRef>,
    pub(super) algorithm: Option<StringRef>,
    /// The operation; `None` where an archive has no word for it, or not all processes took part.
    pub(super) collective: Option<Collective>,
    /// Number of the request, if it is nonblocking.
    pub(super) request: u64,
    /// The wait for others; `None`: not known, or not in this call.
    pub(super) wait: Option<Wait>,
    /// What is known of the instance, unless it is complete.
    pub(super) state: Option<StringRef>,
}

/// The part that a call has in an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// All of it.
    Blocking,
    /// It initiates a nonblocking one.
    Initiation,
    /// It starts a persistent one.
    Start,
    /// It completes one.
    Completion,
}

/// A wait.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wait {
    pub(super) ns: u64,
    /// World rank of the process whose arrival ended it.
    pub(super) waited_for: Option<u32>,
    /// The kind of its cause.
    pub(super) cause: Option<StringRef>,
}

impl Joins for Deed {
    /// One call may start, or complete, several operations.
    fn joins(&self, other: &Self) -> bool {
        let (Self::Call(call), Self::Call(other)) = (self, other) else {
            return false;
        };
        matches!(call.form, Form::Start | Form::Completion)
            && (call.form, call.region) == (other.form, other.region)
    }
}

/// Writes events to the locations of an archive.
pub(super) struct Events {
    pub(super) archive: Archive,
    locations: Vec<LocationRef>,
    startall: RegionRef,
    wait: MetricRef,
    site: AttributeRef,
    algorithm: AttributeRef,
    wait_cause: AttributeRef,
    waited_for: AttributeRef,
    state: AttributeRef,
    incomplete: AttributeRef,
    /// The attributes of an event, while it is written.
    attributes: Vec<(AttributeRef, AttributeValue)>,
}

impl Events {
    /// To these locations of an archive.
    pub(super) fn new(mut archive: Archive, locations: Vec<LocationRef>) -> Self {
        let a = &mut archive;
        let text = AttributeType::String;
        let number = AttributeType::Unsigned;
        Self {
            locations,
            startall: a.region(&starting_region(true)),
            wait: a.metric(&Metric {
                name: "wait",
                description: "Time of a call in which its rank waited for others",
                value_type: MetricType::Unsigned,
                mode: MetricMode::AbsolutePoint,
                unit: "seconds",
                exponent: -9,
            }),
            site: a.attribute("call site", "Where the program calls it", text),
            algorithm: a.attribute("algorithm", "The algorithm of the MPI library", text),
            wait_cause: a.attribute("wait cause", "What the wait is charged to", text),
            waited_for: a.attribute(
                "waited for",
                "The world rank whose arrival ended the wait",
                number,
            ),
            state: a.attribute(
                "state",
                "What is known of the calls of all ranks together, unless all returned without an error",
                text,
            ),
            incomplete: a.attribute(
                "incomplete",
                "1: the call did not return; it is left at the end of the archive",
                number,
            ),
            attributes: Vec::new(),
            archive,
        }
    }

    /// Writes what happens next on a location.
    pub(super) fn write(&mut self, location: usize, step: &Step<'_, Deed>) -> Result<(), Error> {
        let location = self.locations[location];
        let (Step::Enter(deeds) | Step::Leave(deeds, _)) = *step;
        let [Visit { what, .. }, ..] = deeds else {
            return Ok(());
        };
        match (what, step) {
            (Deed::Call(call), Step::Enter(calls)) => self.enter(location, call, calls),
            (Deed::Call(call), Step::Leave(calls, at_ns)) => {
                self.leave(location, call, calls, *at_ns)
            }
            (Deed::Send(transfer), Step::Enter(_)) => {
                let event = Event::RmaPut(*transfer);
                self.archive.event(location, deeds[0].enter_ns, &event, &[])
            }
            (Deed::Send(transfer), Step::Leave(_, at_ns)) => {
                let event = Event::RmaOpCompleteBlocking {
                    window: transfer.window,
                    matching_id: transfer.matching_id,
                };
                self.archive.event(location, *at_ns, &event, &[])
            }
        }
    }

    fn enter(
        &mut self,
        location: LocationRef,
        what: &Call,
        calls: &[Visit<Deed>],
    ) -> Result<(), Error> {
        let enter_ns = calls[0].enter_ns;
        self.attributes.clear();
        if let Some(site) = what.site {
            let value = AttributeValue::String(site);
            self.attributes.push((self.site, value));
        }
        if let Some(algorithm) = what.algorithm {
            let value = AttributeValue::String(algorithm);
            self.attributes.push((self.algorithm, value));
        }
        let event = Event::Enter(self.region(what, calls));
        (self.archive).event(location, enter_ns, &event, &self.attributes)?;
        if what.form == Form::Blocking && what.collective.is_some() {
            let event = Event::MpiCollectiveBegin;
            self.archive.event(location, enter_ns, &event, &[])?;
        }
        Ok(())
    }

    fn leave(
        &mut self,
        location: LocationRef,
        what: &Call,
        calls: &[Visit<Deed>],
        at_ns: u64,
    ) -> Result<(), Error> {
        let each = || calls_of(calls);
        for call in each() {
            self.attributes.clear();
            if let Some((event, describes_wait)) = end_of(call) {
                if describes_wait {
                    self.describe(call.wait);
                }
                self.archive
                    .event(location, at_ns, &event, &self.attributes)?;
            }
            if let Some(Wait { ns, .. }) = call.wait {
                let event = Event::Metric(self.wait, MetricValue::Unsigned(ns));
                self.archive.event(location, at_ns, &event, &[])?;
            }
        }
        self.attributes.clear();
        let waits = each().filter_map(|call| {
            let is_described = end_of(call).is_some_and(|(_, describes_wait)| describes_wait);
            call.wait.filter(|_| !is_described)
        });
        self.describe(waits.max_by_key(|wait| wait.ns));
        if let Some(state) = each().find_map(|call| call.state) {
            let value = AttributeValue::String(state);
            self.attributes.push((self.state, value));
        }
        if calls[0].leave_ns == OPEN {
            let value = AttributeValue::Unsigned(1);
            self.attributes.push((self.incomplete, value));
        }
        let event = Event::Leave(self.region(what, calls));
        (self.archive).event(location, at_ns, &event, &self.attributes)
    }

    fn region(&self, call: &Call, parts: &[Visit<Deed>]) -> RegionRef {
        match call.form {
            Form::Start if parts.len() > 1 => self.startall,
            _ => call.region,
        }
    }

    /// Adds the attributes of a wait.
    fn describe(&mut self, wait: Option<Wait>) {
        let Some(wait) = wait else { return };
        if let Some(cause) = wait.cause {
            let value = AttributeValue::String(cause);
            self.attributes.push((self.wait_cause, value));
        }
        if let Some(rank) = wait.waited_for {
            let value = AttributeValue::Unsigned(rank.into());
            self.attributes.push((self.waited_for, value));
        }
    }
}

fn calls_of(deeds: &[Visit<Deed>]) -> impl Iterator<Item = &Call> {
    deeds.iter().filter_map(|visit| match &visit.what {
        Deed::Call(call) => Some(call),
        Deed::Send(_) => None,
    })
}

/// The event of an operation at the end of a call, and whether its attributes tell of the wait: one call may complete several
/// operations, each with a wait of its own.
fn end_of(call: &Call) -> Option<(Event, bool)> {
    let collective = call.collective?;
    let request = call.request;
    Some(match call.form {
        Form::Blocking => (Event::MpiCollectiveEnd(collective), false),
        Form::Initiation | Form::Start => (Event::NonBlockingCollectiveRequest { request }, false),
        Form::Completion => (
            Event::NonBlockingCollectiveComplete {
                collective,
                request,
            },
            true,
        ),
    })
}
