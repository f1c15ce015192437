//! An archive, from its definitions and events to its files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::definitions::{
    AttributeDefinition, AttributeRef, AttributeType, CommDefinition, CommRef, Definitions,
    GroupDefinition, Headline, HostRef, LocationDefinition, LocationRef, Marker, MarkerDefinition,
    MarkerRef, MarkerScope, Members, Metric, MetricDefinition, MetricRef, ProcessDefinition,
    ProcessRef, Region, RegionRef, Severity, SourceCodeRef, StringRef, UNDEFINED, WindowDefinition,
    WindowRef, storable, storable_text,
};
use crate::error::Error;
use crate::event::{AttributeValue, Collective, Event};
use crate::library::Library;
use crate::spool::{Spool, Stream};
use crate::writer;

/// The longest name of a machine, creator or description: they share the smallest chunk.
const LONGEST_HEADLINE: usize = 16 << 10;

/// An archive that is being made: definitions and events are added, and [`finish`](Self::finish)
/// writes them.
///
/// In texts, `\u{fffd}` takes the place of NUL, which ends a text in OTF2. Texts of more than 4 MiB
/// (16 KiB for machine, creator and description) are cut and end with `…`.
///
/// If it is dropped before it is finished, nothing of it remains.
pub struct Archive {
    library: Library,
    directory: PathBuf,
    /// Whether the directory did not exist before.
    is_new: bool,
    headline: Headline,
    definitions: Definitions,
    spool: Spool,
}

impl Archive {
    /// An archive without contents in `directory`, which is created if it does not exist.
    ///
    /// Its anchor file will be `traces.otf2` in this directory. The path that is given is also
    /// used later, when events are written, so it must still lead there.
    ///
    /// # Errors
    /// [`Error::NotEmpty`] if there is something in the directory, [`Error::File`] if it cannot be
    /// created or read.
    pub fn create(library: &Library, directory: &Path) -> Result<Self, Error> {
        let file_error = |source| Error::File {
            path: directory.to_owned(),
            source,
        };
        let is_new = match fs::create_dir(directory) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(directory).map_err(file_error)?;
                true
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let mut entries = fs::read_dir(directory).map_err(file_error)?;
                if entries.next().is_some() {
                    return Err(Error::NotEmpty {
                        directory: directory.to_owned(),
                    });
                }
                false
            }
            Err(error) => return Err(file_error(error)),
        };
        Ok(Self {
            library: library.clone(),
            directory: directory.to_owned(),
            is_new,
            headline: Headline {
                machine: "machine".to_owned(),
                creator: String::new(),
                description: String::new(),
                realtime_at_zero_ns: None,
            },
            definitions: Definitions::default(),
            spool: Spool::new(directory),
        })
    }

    /// Sets the name of the machine, the root of the tree of hosts.
    pub fn set_machine(&mut self, name: &str) {
        self.headline.machine = storable(name, LONGEST_HEADLINE);
    }

    /// Sets the name and version of the program that writes the archive.
    pub fn set_creator(&mut self, name: &str) {
        self.headline.creator = storable(name, LONGEST_HEADLINE);
    }

    /// Sets what the run was.
    pub fn set_description(&mut self, text: &str) {
        self.headline.description = storable(text, LONGEST_HEADLINE);
    }

    /// Sets the wall-clock time at time 0 of the events, in ns since 1970-01-01 (UTC).
    pub fn set_realtime_at_zero(&mut self, ns: u64) {
        self.headline.realtime_at_zero_ns = Some(ns);
    }

    /// Defines a text. Equal texts have one number.
    pub fn string(&mut self, text: &str) -> StringRef {
        self.definitions.string(text)
    }

    /// Defines a text that is not known yet: it is empty until [`set_string`](Self::set_string)
    /// sets it. It has a number of its own, even if another text is equal.
    pub fn reserve_string(&mut self) -> StringRef {
        self.definitions.reserve_string()
    }

    /// Sets a text that was [reserved](Self::reserve_string).
    ///
    /// # Errors
    /// [`Error::Undefined`] if it was not reserved.
    pub fn set_string(&mut self, reserved: StringRef, text: &str) -> Result<(), Error> {
        self.definitions.set_string(reserved, text)
    }

    /// Defines a kind of attribute of events.
    pub fn attribute(
        &mut self,
        name: &str,
        description: &str,
        value_type: AttributeType,
    ) -> AttributeRef {
        let definition = AttributeDefinition {
            name: self.string(name),
            description: self.string(description),
            value_type,
        };
        self.definitions.attributes.push(definition);
        AttributeRef(self.definitions.attributes.len() as u32 - 1)
    }

    /// Defines a host of the machine.
    pub fn host(&mut self, name: &str) -> HostRef {
        let name = self.string(name);
        self.definitions.hosts.push(name);
        HostRef(self.definitions.hosts.len() as u32 - 1)
    }

    /// Defines a process. Tools take the numbers of processes for ranks in `MPI_COMM_WORLD`, so
    /// they should be defined in that order, beginning with rank 0.
    pub fn process(&mut self, name: &str, host: HostRef) -> ProcessRef {
        let name = self.string(name);
        self.definitions
            .processes
            .push(ProcessDefinition { name, host });
        ProcessRef(self.definitions.processes.len() as u32 - 1)
    }

    /// Defines a thread of a process. Every process needs one: ranks of communicators stand for
    /// the first thread of a process.
    pub fn location(&mut self, name: &str, process: ProcessRef) -> LocationRef {
        let name = self.string(name);
        self.definitions
            .locations
            .push(LocationDefinition { name, process });
        self.spool.streams.push(Stream::default());
        LocationRef(self.definitions.locations.len() as u32 - 1)
    }

    /// Defines a region. Equal regions have one number.
    pub fn region(&mut self, region: &Region) -> RegionRef {
        self.definitions.region(region)
    }

    /// Defines a line of a source file. Equal lines have one number.
    pub fn source_code(&mut self, file: &str, line: u32) -> SourceCodeRef {
        self.definitions.source_code(file, line)
    }

    /// Defines a communicator.
    pub fn comm(&mut self, name: &str, members: Members, parent: Option<CommRef>) -> CommRef {
        let group = match members {
            Members::Processes(numbers) => GroupDefinition::Processes(numbers.into()),
            Members::Itself => GroupDefinition::Itself,
        };
        let definition = CommDefinition::Intra {
            name: self.string(name),
            group: self.definitions.group(group),
            parent: parent.map_or(UNDEFINED, |comm| comm.0),
        };
        self.add_comm(definition)
    }

    /// Defines an intercommunicator between two groups of processes, which are numbered as in
    /// [`Members::Processes`]. `common` is a communicator that has all processes of both.
    ///
    /// The Python package otf2 cannot read archives with intercommunicators (as of version 3.2).
    pub fn intercomm(
        &mut self,
        name: &str,
        groups: [&[u32]; 2],
        common: Option<CommRef>,
    ) -> CommRef {
        let definition = CommDefinition::Inter {
            name: self.string(name),
            groups: groups.map(|numbers| {
                self.definitions
                    .group(GroupDefinition::Processes(numbers.into()))
            }),
            common: common.map_or(UNDEFINED, |comm| comm.0),
        };
        self.add_comm(definition)
    }

    fn add_comm(&mut self, definition: CommDefinition) -> CommRef {
        self.definitions.comms.push(definition);
        CommRef(self.definitions.comms.len() as u32 - 1)
    }

    /// Defines a metric.
    pub fn metric(&mut self, metric: &Metric) -> MetricRef {
        let definition = MetricDefinition {
            name: self.string(metric.name),
            description: self.string(metric.description),
            value_type: metric.value_type,
            mode: metric.mode,
            unit: self.string(metric.unit),
            exponent: metric.exponent,
        };
        self.definitions.metrics.push(definition);
        MetricRef(self.definitions.metrics.len() as u32 - 1)
    }

    /// Defines a window for transfers between the processes of a communicator.
    pub fn window(&mut self, name: &str, comm: CommRef) -> WindowRef {
        let name = self.string(name);
        self.definitions
            .windows
            .push(WindowDefinition { name, comm });
        WindowRef(self.definitions.windows.len() as u32 - 1)
    }

    /// Defines a kind of marker, as a category in a group of categories.
    pub fn marker_kind(&mut self, group: &str, category: &str, severity: Severity) -> MarkerRef {
        self.definitions.marker_kinds.push(MarkerDefinition {
            group: storable_text(group),
            category: storable_text(category),
            severity,
        });
        MarkerRef(self.definitions.marker_kinds.len() as u32 - 1)
    }

    /// Marks a part of the run. Markers are kept in memory until the archive is finished.
    ///
    /// # Errors
    /// [`Error::Undefined`] if there is no such kind.
    pub fn marker(
        &mut self,
        kind: MarkerRef,
        time_ns: u64,
        duration_ns: u64,
        scope: MarkerScope,
        text: &str,
    ) -> Result<(), Error> {
        Definitions::check("marker", kind.0, self.definitions.marker_kinds.len())?;
        self.definitions.markers.push(Marker {
            kind,
            time_ns,
            duration_ns,
            scope,
            text: storable_text(text),
        });
        Ok(())
    }

    /// Adds an event to a location, with attributes.
    ///
    /// Locations may be given in any order. The times of one location must not decrease; those of
    /// different locations are independent.
    ///
    /// # Errors
    /// [`Error::TimeDecreases`], [`Error::Undefined`] and [`Error::WrongType`] if the event is
    /// refused; the archive is as it was before. [`Error::Temporary`] if there is no space for it.
    pub fn event(
        &mut self,
        location: LocationRef,
        time_ns: u64,
        event: &Event,
        attributes: &[(AttributeRef, AttributeValue)],
    ) -> Result<(), Error> {
        self.check_event(event)?;
        for (attribute, value) in attributes {
            self.check_attribute(*attribute, *value)?;
        }
        self.spool.push(location.0, time_ns, event, attributes)
    }

    fn check_event(&self, event: &Event) -> Result<(), Error> {
        let defined = &self.definitions;
        match *event {
            Event::Enter(region) | Event::Leave(region) => {
                Definitions::check("region", region.0, defined.regions.len())
            }
            Event::MpiCollectiveBegin | Event::NonBlockingCollectiveRequest { .. } => Ok(()),
            Event::MpiCollectiveEnd(Collective { comm, .. })
            | Event::NonBlockingCollectiveComplete {
                collective: Collective { comm, .. },
                ..
            } => Definitions::check("communicator", comm.0, defined.comms.len()),
            Event::Metric(metric, value) => {
                Definitions::check("metric", metric.0, defined.metrics.len())?;
                if defined.metrics[metric.0 as usize].value_type == value.value_type() {
                    Ok(())
                } else {
                    Err(Error::WrongType {
                        what: "metric",
                        number: metric.0.into(),
                    })
                }
            }
            Event::RmaPut(transfer) | Event::RmaGet(transfer) => {
                Definitions::check("window", transfer.window.0, defined.windows.len())
            }
            Event::RmaOpCompleteBlocking { window, .. }
            | Event::RmaOpCompleteNonBlocking { window, .. } => {
                Definitions::check("window", window.0, defined.windows.len())
            }
        }
    }

    fn check_attribute(&self, attribute: AttributeRef, value: AttributeValue) -> Result<(), Error> {
        let defined = &self.definitions;
        Definitions::check("attribute", attribute.0, defined.attributes.len())?;
        if defined.attributes[attribute.0 as usize].value_type != value.value_type() {
            return Err(Error::WrongType {
                what: "attribute",
                number: attribute.0.into(),
            });
        }
        match value {
            AttributeValue::String(text) => {
                Definitions::check("string", text.0, defined.strings.len())
            }
            AttributeValue::SourceCode(line) => {
                Definitions::check("source code location", line.0, defined.source_code.len())
            }
            _ => Ok(()),
        }
    }

    /// Writes the archive.
    ///
    /// # Errors
    /// [`Error::Otf2`] if the library cannot write it, as on a full disk; [`Error::Temporary`] if
    /// events cannot be read again. Files that were written remain then, without the anchor file,
    /// so nothing takes them for an archive.
    pub fn finish(mut self) -> Result<(), Error> {
        writer::write(
            &self.library,
            &self.directory,
            &self.headline,
            &mut self.definitions,
            &mut self.spool,
        )?;
        Ok(())
    }
}

impl Drop for Archive {
    fn drop(&mut self) {
        if self.is_new {
            // Succeeds only if there is nothing in it; there is no harm in it if it remains.
            let _ = fs::remove_dir(&self.directory);
        }
    }
}
