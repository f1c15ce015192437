//! Events between recording and writing, ordered by location.
//!
//! Each location has a block in memory. Full blocks go to a temporary file, which no other process
//! sees and which is gone when the archive is, however it ends. A block holds whole
//! events.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bincode::config::{Configuration, Limit, LittleEndian, Varint, standard};

use crate::definitions::AttributeRef;
use crate::error::Error;
use crate::event::{AttributeValue, Event};

/// From this many bytes on, a block goes to the file: with 4,096 locations, 128 MiB in all.
const BLOCK_BYTES: usize = 32 << 10;

/// How events become bytes: small numbers take one. The limit is that of one event.
const ENCODING: Configuration<LittleEndian, Varint, Limit<{ 1 << 24 }>> = standard().with_limit();

/// An event as it is encoded: the time since the one before it, ns, and its attributes.
type Encoded = (u64, Event, Vec<(AttributeRef, AttributeValue)>);

/// The events of one location.
#[derive(Default)]
pub(crate) struct Stream {
    /// Encoded events that are not in the file.
    block: Vec<u8>,
    /// Positions and lengths of blocks in the file.
    blocks: Vec<(u64, u32)>,
    pub n_events: u64,
    /// Times of the first and of the last event, if there are events.
    pub first_ns: u64,
    pub last_ns: u64,
}

/// The events of all locations.
pub(crate) struct Spool {
    directory: PathBuf,
    file: Option<File>,
    length: u64,
    pub streams: Vec<Stream>,
}

impl Spool {
    /// No events. The temporary file will be in `directory`.
    pub(crate) fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            file: None,
            length: 0,
            streams: Vec::new(),
        }
    }

    fn trouble(&self, source: io::Error) -> Error {
        Error::Temporary {
            directory: self.directory.clone(),
            source,
        }
    }

    /// Adds an event to the location with this number.
    pub(crate) fn push(
        &mut self,
        location: u32,
        time_ns: u64,
        event: &Event,
        attributes: &[(AttributeRef, AttributeValue)],
    ) -> Result<(), Error> {
        let Some(stream) = self.streams.get_mut(location as usize) else {
            return Err(Error::Undefined {
                what: "location",
                number: location.into(),
            });
        };
        if stream.n_events == 0 {
            stream.first_ns = time_ns;
        } else if time_ns < stream.last_ns {
            return Err(Error::TimeDecreases {
                location: location.into(),
                time_ns,
                last_ns: stream.last_ns,
            });
        }
        let encoded = (time_ns - stream.last_ns, event, attributes);
        bincode::encode_into_std_write(encoded, &mut stream.block, ENCODING).map_err(|error| {
            Error::Temporary {
                directory: self.directory.clone(),
                source: io::Error::other(error),
            }
        })?;
        stream.last_ns = time_ns;
        stream.n_events += 1;
        if stream.block.len() >= BLOCK_BYTES {
            self.flush(location)?;
        }
        Ok(())
    }

    fn flush(&mut self, location: u32) -> Result<(), Error> {
        if self.file.is_none() {
            let file = tempfile::tempfile_in(&self.directory);
            self.file = Some(file.map_err(|source| self.trouble(source))?);
        }
        let (Some(file), Some(stream)) = (&self.file, self.streams.get_mut(location as usize))
        else {
            return Ok(());
        };
        file.write_all_at(&stream.block, self.length)
            .map_err(|source| Error::Temporary {
                directory: self.directory.clone(),
                source,
            })?;
        stream.blocks.push((self.length, stream.block.len() as u32));
        self.length += stream.block.len() as u64;
        stream.block.clear();
        Ok(())
    }

    /// Passes the events of a location in their order to `write`, and releases them. The result is
    /// a checksum of the events.
    pub(crate) fn replay(
        &mut self,
        location: usize,
        mut write: impl FnMut(u64, &Event, &[(AttributeRef, AttributeValue)]) -> Result<(), Error>,
    ) -> Result<u32, Error> {
        let stream = std::mem::take(&mut self.streams[location]);
        let mut checksum = crc32fast::Hasher::new();
        let mut time_ns = 0;
        let mut pass = |mut encoded: &[u8]| {
            checksum.update(encoded);
            while !encoded.is_empty() {
                let decoded = bincode::decode_from_slice::<Encoded, _>(encoded, ENCODING);
                let Ok(((since_ns, event, attributes), n_bytes)) = decoded else {
                    return Err(Error::Temporary {
                        directory: self.directory.clone(),
                        source: io::Error::new(
                            io::ErrorKind::InvalidData,
                            "it does not hold what was written to it",
                        ),
                    });
                };
                encoded = &encoded[n_bytes..];
                time_ns += since_ns;
                write(time_ns, &event, &attributes)?;
            }
            Ok(())
        };
        if let Some(file) = &self.file {
            let mut block = Vec::new();
            for &(position, length) in &stream.blocks {
                block.resize(length as usize, 0);
                file.read_exact_at(&mut block, position)
                    .map_err(|source| Error::Temporary {
                        directory: self.directory.clone(),
                        source,
                    })?;
                pass(&block)?;
            }
        }
        pass(&stream.block)?;
        Ok(checksum.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definitions::{CommRef, MetricRef, RegionRef, SourceCodeRef, StringRef, WindowRef};
    use crate::event::{Collective, CollectiveOp, MetricValue, Root, Transfer};

    #[test]
    fn events_of_many_locations_in_turn_come_back_by_location() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut spool = Spool::new(directory.path());
        spool.streams.resize_with(3, Stream::default);
        let n = 50_000;
        for i in 0..n {
            for location in 0..3 {
                let event = Event::Enter(RegionRef(i * 3 + location));
                spool
                    .push(location, u64::from(i) * 1000, &event, &[])
                    .expect("there is space");
            }
        }
        assert!(spool.length > 0, "nothing was written to the file");
        for location in 0..3 {
            let mut next = 0;
            spool
                .replay(location, |time_ns, event, _| {
                    assert_eq!(time_ns, u64::from(next) * 1000);
                    assert_eq!(*event, Event::Enter(RegionRef(next * 3 + location as u32)));
                    next += 1;
                    Ok(())
                })
                .expect("the file is readable");
            assert_eq!(next, n);
        }
    }

    #[test]
    fn events_of_all_kinds_come_back_with_their_attributes() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut spool = Spool::new(directory.path());
        spool.streams.push(Stream::default());
        let (window, comm, metric) = (WindowRef(3), CommRef(u32::MAX), MetricRef(300));
        let (matching_id, request) = (u64::MAX, 1 << 40);
        let transfer = Transfer {
            window,
            remote: 70_000,
            bytes: 1 << 33,
            matching_id,
        };
        let roots = [
            Root::None,
            Root::Rank(u32::MAX),
            Root::This,
            Root::ThisGroup,
        ];
        let collectives = roots.map(|root| Collective {
            op: CollectiveOp::DestroyHandleAndDeallocate,
            comm,
            root,
            bytes_sent: 0,
            bytes_received: u64::MAX,
        });
        let values = [
            MetricValue::Unsigned(u64::MAX),
            MetricValue::Signed(i64::MIN),
            MetricValue::Float(-0.1),
        ];
        let mut events = vec![
            Event::Enter(RegionRef(0)),
            Event::Leave(RegionRef(u32::MAX)),
            Event::MpiCollectiveBegin,
            Event::NonBlockingCollectiveRequest { request },
            Event::NonBlockingCollectiveComplete {
                collective: collectives[1],
                request,
            },
            Event::RmaPut(transfer),
            Event::RmaGet(transfer),
            Event::RmaOpCompleteBlocking {
                window,
                matching_id,
            },
            Event::RmaOpCompleteNonBlocking {
                window,
                matching_id,
            },
        ];
        events.extend(collectives.map(Event::MpiCollectiveEnd));
        events.extend(values.map(|value| Event::Metric(metric, value)));
        let attributes = [
            AttributeValue::Unsigned(u64::MAX),
            AttributeValue::Signed(-1),
            AttributeValue::Float(1e300),
            AttributeValue::String(StringRef(7)),
            AttributeValue::SourceCode(SourceCodeRef(251)),
        ]
        .map(|value| (AttributeRef(9), value));
        for (n, event) in events.iter().enumerate() {
            let attributes = &attributes[..n % 6];
            spool
                .push(0, n as u64, event, attributes)
                .expect("an event");
        }
        let mut n = 0;
        let check = |time_ns, event: &Event, found: &[(AttributeRef, AttributeValue)]| {
            assert_eq!((time_ns, event), (n as u64, &events[n]));
            assert_eq!(*found, attributes[..n % 6]);
            n += 1;
            Ok(())
        };
        spool.replay(0, check).expect("nothing is in a file");
        assert_eq!(n, events.len());
    }

    #[test]
    fn a_time_that_decreases_is_refused_and_changes_nothing() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut spool = Spool::new(directory.path());
        spool.streams.push(Stream::default());
        let event = Event::MpiCollectiveBegin;
        spool.push(0, 5, &event, &[]).expect("the first event");
        spool.push(0, 5, &event, &[]).expect("an equal time");
        let refused = spool.push(0, 4, &event, &[]);
        assert!(matches!(refused, Err(Error::TimeDecreases { .. })));
        let mut times = Vec::new();
        spool
            .replay(0, |time_ns, _, _| {
                times.push(time_ns);
                Ok(())
            })
            .expect("nothing is in a file");
        assert_eq!(times, [5, 5]);
    }
}
