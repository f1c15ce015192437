//! Events of a location to their file.

use crate::abi::{self, Functions};
use crate::definitions::{AttributeRef, MetricType};
use crate::error::Error;
use crate::event::{AttributeValue, Collective, Event, MetricValue, Root};
use crate::spool::Spool;

use super::session::Session;

/// What is known of the events after they were written.
pub(super) struct Written {
    /// How many there are on each location.
    pub(super) n_events: Vec<u64>,
    /// Checksum of those of each location.
    pub(super) checksums: Vec<u32>,
}

impl Session<'_> {
    /// Writes the files of events of all locations.
    pub(super) fn write_events(&self, spool: &mut Spool) -> Result<Written, Error> {
        let mut written = Written {
            n_events: Vec::new(),
            checksums: Vec::new(),
        };
        self.check("open event files", |f, archive| {
            // SAFETY: `archive` is open.
            unsafe { (f.open_evt_files)(archive) }
        })?;
        for location in 0..spool.streams.len() {
            written.n_events.push(spool.streams[location].n_events);
            written
                .checksums
                .push(self.write_location(location, spool)?);
        }
        self.check("close event files", |f, archive| {
            // SAFETY: `archive` is open.
            unsafe { (f.close_evt_files)(archive) }
        })?;
        Ok(written)
    }

    /// Writes the file of events of a location; the result is their checksum.
    fn write_location(&self, location: usize, spool: &mut Spool) -> Result<u32, Error> {
        const ACTION: &str = "write events";
        let f = self.library.functions();
        // SAFETY: `archive` is open and has flush callbacks.
        let writer = unsafe { (f.get_evt_writer)(self.archive, location as u64) };
        let writer = self.check_pointer(ACTION, writer)?;
        // SAFETY: there is nothing to observe.
        let list = self.check_pointer(ACTION, unsafe { (f.attribute_list_new)() })?;
        let events = EventWriter { f, writer, list };
        let checksum = spool.replay(location, |time_ns, event, attributes| {
            match events.write(time_ns, event, attributes) {
                0 => Ok(()),
                code => self.library.check(ACTION, code),
            }
        })?;
        // SAFETY: the list is from the library, and not used after this.
        let code = unsafe { (f.attribute_list_delete)(list) };
        self.library.check(ACTION, code)?;
        // SAFETY: the writer is of this archive, and not used after this.
        let code = unsafe { (f.close_evt_writer)(self.archive, writer) };
        self.library.check(ACTION, code)?;
        Ok(checksum)
    }
}

/// Writes events of one location.
struct EventWriter<'l> {
    f: &'l Functions,
    writer: *mut abi::EvtWriter,
    /// Empty but during [`Self::write`].
    list: *mut abi::AttributeList,
}

impl EventWriter<'_> {
    fn write(
        &self,
        time: u64,
        event: &Event,
        attributes: &[(AttributeRef, AttributeValue)],
    ) -> abi::Code {
        let Self { f, writer, list } = *self;
        for (attribute, value) in attributes {
            let number = attribute.0;
            // SAFETY: the list is from the library and was not deleted.
            let code = unsafe {
                match *value {
                    AttributeValue::Unsigned(value) => (f.add_uint64)(list, number, value),
                    AttributeValue::Signed(value) => (f.add_int64)(list, number, value),
                    AttributeValue::Float(value) => (f.add_double)(list, number, value),
                    AttributeValue::String(text) => (f.add_string_ref)(list, number, text.0),
                    AttributeValue::SourceCode(line) => {
                        (f.add_source_code_location_ref)(list, number, line.0)
                    }
                }
            };
            if code != 0 {
                return code;
            }
        }
        // SAFETY: the writer is from the library and was not closed, and so is the list, which
        // each of these functions empties.
        unsafe {
            match *event {
                Event::Enter(region) => (f.enter)(writer, list, time, region.0),
                Event::Leave(region) => (f.leave)(writer, list, time, region.0),
                Event::MpiCollectiveBegin => (f.mpi_collective_begin)(writer, list, time),
                Event::MpiCollectiveEnd(Collective {
                    op,
                    comm,
                    root,
                    bytes_sent,
                    bytes_received,
                }) => (f.mpi_collective_end)(
                    writer,
                    list,
                    time,
                    op as u8,
                    comm.0,
                    number_of(root),
                    bytes_sent,
                    bytes_received,
                ),
                Event::NonBlockingCollectiveRequest { request } => {
                    (f.non_blocking_collective_request)(writer, list, time, request)
                }
                Event::NonBlockingCollectiveComplete {
                    collective:
                        Collective {
                            op,
                            comm,
                            root,
                            bytes_sent,
                            bytes_received,
                        },
                    request,
                } => (f.non_blocking_collective_complete)(
                    writer,
                    list,
                    time,
                    op as u8,
                    comm.0,
                    number_of(root),
                    bytes_sent,
                    bytes_received,
                    request,
                ),
                Event::Metric(metric, value) => {
                    let (value_type, value) = match value {
                        MetricValue::Unsigned(unsigned_int) => {
                            (MetricType::Unsigned, abi::MetricValue { unsigned_int })
                        }
                        MetricValue::Signed(signed_int) => {
                            (MetricType::Signed, abi::MetricValue { signed_int })
                        }
                        MetricValue::Float(floating_point) => {
                            (MetricType::Float, abi::MetricValue { floating_point })
                        }
                    };
                    let value_type = value_type as u8;
                    (f.metric)(
                        writer,
                        list,
                        time,
                        metric.0,
                        1,
                        &raw const value_type,
                        &raw const value,
                    )
                }
                Event::RmaPut(transfer) => (f.rma_put)(
                    writer,
                    list,
                    time,
                    transfer.window.0,
                    transfer.remote,
                    transfer.bytes,
                    transfer.matching_id,
                ),
                Event::RmaGet(transfer) => (f.rma_get)(
                    writer,
                    list,
                    time,
                    transfer.window.0,
                    transfer.remote,
                    transfer.bytes,
                    transfer.matching_id,
                ),
                Event::RmaOpCompleteBlocking {
                    window,
                    matching_id,
                } => (f.rma_op_complete_blocking)(writer, list, time, window.0, matching_id),
                Event::RmaOpCompleteNonBlocking {
                    window,
                    matching_id,
                } => (f.rma_op_complete_non_blocking)(writer, list, time, window.0, matching_id),
            }
        }
    }
}

fn number_of(root: Root) -> u32 {
    match root {
        Root::None => abi::ROOT_NONE,
        Root::Rank(rank) => rank,
        Root::This => abi::ROOT_SELF,
        Root::ThisGroup => abi::ROOT_THIS_GROUP,
    }
}
