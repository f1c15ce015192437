//! Definitions: what the numbers in events refer to.
//!
//! They are collected here, each with its number, and written when the archive is finished, in the
//! order that OTF2 demands: a definition comes before those that refer to it.

use std::sync::Arc;

use bincode::{Decode, Encode};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::Error;

/// The longest text: longer ones are cut and end with `…`. A definition must fit into one chunk of
/// its file, which has 16 MiB at most.
const LONGEST_TEXT: usize = 4 << 20;

macro_rules! references {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// It belongs to the archive that gave it. Another archive refuses it, or takes it for a
        /// definition of its own with the same number.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
        pub struct $name(pub(crate) u32);
    )*};
}

references! {
    /// A text.
    StringRef;
    /// A kind of attribute of events.
    AttributeRef;
    /// A host.
    HostRef;
    /// A process (OTF2: location group).
    ProcessRef;
    /// A location: a thread of a process, with events of its own.
    LocationRef;
    /// A region: a function or another part of the program.
    RegionRef;
    /// A line of a source file.
    SourceCodeRef;
    /// A communicator.
    CommRef;
    /// A metric.
    MetricRef;
    /// A window for transfers of data.
    WindowRef;
    /// A kind of marker.
    MarkerRef;
}

/// Type of an attribute's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum AttributeType {
    /// An integer that is not negative.
    Unsigned = 4,
    /// An integer of either sign.
    Signed = 8,
    /// A floating-point number.
    Float = 10,
    /// A text.
    String = 11,
    /// A line of a source file.
    SourceCode = 20,
}

/// Type of a metric's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum MetricType {
    /// An integer that is not negative.
    Unsigned = 4,
    /// An integer of either sign.
    Signed = 8,
    /// A floating-point number.
    Float = 10,
}

/// What the value of a metric applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum MetricMode {
    /// A sum since the beginning of the run.
    AccumulatedStart = 0,
    /// A value at the time of the event.
    AbsolutePoint = 0x11,
    /// A value for the time since the last event of this metric.
    AbsoluteLast = 0x21,
    /// A value for the time until the next event of this metric.
    AbsoluteNext = 0x31,
}

/// Definition of a metric.
#[derive(Debug, Clone, Copy)]
pub struct Metric<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it is, in a sentence.
    pub description: &'a str,
    /// Type of its values.
    pub value_type: MetricType,
    /// What a value applies to.
    pub mode: MetricMode,
    /// The unit without a prefix, such as `seconds` or `bytes`.
    pub unit: &'a str,
    /// The values are in units of 10 to this power: -9 for ns.
    pub exponent: i64,
}

/// What a region does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum RegionRole {
    /// Nothing is known of it.
    Unknown = 0,
    /// A function.
    Function = 1,
    /// A part of a function.
    Code = 4,
    /// A barrier.
    Barrier = 15,
    /// A collective from one process to all.
    CollectiveOneToAll = 23,
    /// A collective from all processes to one.
    CollectiveAllToOne = 24,
    /// A collective from all processes to all.
    CollectiveAllToAll = 25,
    /// Another collective.
    CollectiveOther = 26,
    /// Reading or writing files.
    FileIo = 27,
    /// Communication of two processes.
    PointToPoint = 28,
    /// Remote memory access.
    Rma = 29,
    /// A region that the program does not have, made up by the tool.
    Artificial = 31,
}

/// To whom a region belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Paradigm {
    /// Nothing is known of it.
    Unknown = 0,
    /// The program, marked by its author.
    User = 1,
    /// The program, found by a compiler or debug information.
    Compiler = 2,
    /// The MPI library.
    Mpi = 4,
    /// The tool that recorded the trace.
    MeasurementSystem = 6,
}

/// Definition of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it does.
    pub role: RegionRole,
    /// To whom it belongs.
    pub paradigm: Paradigm,
    /// The source file, if it is known.
    pub source_file: Option<&'a str>,
    /// Its first line in the source file; 0 if that is unknown.
    pub begin_line: u32,
}

/// The processes of a communicator.
#[derive(Debug, Clone, Copy)]
pub enum Members<'a> {
    /// The numbers of processes, in the order of their ranks in the communicator. Processes are
    /// numbered from 0 in the order of their definition.
    Processes(&'a [u32]),
    /// Each process has a communicator of its own (`MPI_COMM_SELF`).
    Itself,
}

/// How much attention a marker deserves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Severity {
    /// Not rated.
    None = 0,
    /// Little.
    Low = 1,
    /// More.
    Medium = 2,
    /// Most.
    High = 3,
}

/// To what a marker applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkerScope {
    /// The whole run.
    Global,
    /// A location.
    Location(LocationRef),
    /// A process.
    Process(ProcessRef),
    /// A host.
    Host(HostRef),
    /// A communicator.
    Comm(CommRef),
}

/// What is known of the run as a whole.
pub(crate) struct Headline {
    pub machine: String,
    pub creator: String,
    pub description: String,
    pub realtime_at_zero_ns: Option<u64>,
}

/// Number of an OTF2 definition that is not given.
pub(crate) const UNDEFINED: u32 = u32::MAX;

pub(crate) struct AttributeDefinition {
    pub name: StringRef,
    pub description: StringRef,
    pub value_type: AttributeType,
}

pub(crate) struct ProcessDefinition {
    pub name: StringRef,
    pub host: HostRef,
}

pub(crate) struct LocationDefinition {
    pub name: StringRef,
    pub process: ProcessRef,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RegionDefinition {
    pub name: StringRef,
    pub role: u8,
    pub paradigm: u8,
    /// [`UNDEFINED`] if it is unknown.
    pub source_file: u32,
    pub begin_line: u32,
}

/// A group of processes, or that of communicators with one process.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum GroupDefinition {
    Processes(Arc<[u32]>),
    Itself,
}

pub(crate) enum CommDefinition {
    Intra {
        name: StringRef,
        group: u32,
        /// [`UNDEFINED`] if there is none.
        parent: u32,
    },
    Inter {
        name: StringRef,
        groups: [u32; 2],
        /// [`UNDEFINED`] if it is unknown.
        common: u32,
    },
}

pub(crate) struct MetricDefinition {
    pub name: StringRef,
    pub description: StringRef,
    pub value_type: MetricType,
    pub mode: MetricMode,
    pub unit: StringRef,
    pub exponent: i64,
}

pub(crate) struct WindowDefinition {
    pub name: StringRef,
    pub comm: CommRef,
}

pub(crate) struct MarkerDefinition {
    pub group: String,
    pub category: String,
    pub severity: Severity,
}

pub(crate) struct Marker {
    pub kind: MarkerRef,
    pub time_ns: u64,
    pub duration_ns: u64,
    pub scope: MarkerScope,
    pub text: String,
}

/// All definitions of an archive; the position of each in its list is its number.
#[derive(Default)]
pub(crate) struct Definitions {
    pub strings: Vec<Arc<str>>,
    string_numbers: FxHashMap<Arc<str>, u32>,
    /// Texts that may still be set.
    reserved_strings: FxHashSet<u32>,
    pub attributes: Vec<AttributeDefinition>,
    pub hosts: Vec<StringRef>,
    pub processes: Vec<ProcessDefinition>,
    pub locations: Vec<LocationDefinition>,
    pub regions: Vec<RegionDefinition>,
    region_numbers: FxHashMap<RegionDefinition, u32>,
    pub source_code: Vec<(StringRef, u32)>,
    source_code_numbers: FxHashMap<(StringRef, u32), u32>,
    pub groups: Vec<GroupDefinition>,
    group_numbers: FxHashMap<GroupDefinition, u32>,
    pub comms: Vec<CommDefinition>,
    pub metrics: Vec<MetricDefinition>,
    pub windows: Vec<WindowDefinition>,
    pub marker_kinds: Vec<MarkerDefinition>,
    pub markers: Vec<Marker>,
}

impl Definitions {
    /// The number of a text, which is defined once.
    pub(crate) fn string(&mut self, text: &str) -> StringRef {
        if let Some(&number) = self.string_numbers.get(text) {
            return StringRef(number);
        }
        let stored = storable(text, LONGEST_TEXT);
        StringRef(intern(
            &mut self.strings,
            &mut self.string_numbers,
            stored.into(),
        ))
    }

    /// The number of a text that is set later.
    pub(crate) fn reserve_string(&mut self) -> StringRef {
        let number = self.strings.len() as u32;
        self.strings.push("".into());
        self.reserved_strings.insert(number);
        StringRef(number)
    }

    pub(crate) fn set_string(&mut self, reserved: StringRef, text: &str) -> Result<(), Error> {
        if !self.reserved_strings.contains(&reserved.0) {
            return Err(Error::Undefined {
                what: "a reserved string",
                number: reserved.0.into(),
            });
        }
        self.strings[reserved.0 as usize] = storable(text, LONGEST_TEXT).into();
        Ok(())
    }

    pub(crate) fn region(&mut self, region: &Region) -> RegionRef {
        let definition = RegionDefinition {
            name: self.string(region.name),
            role: region.role as u8,
            paradigm: region.paradigm as u8,
            source_file: region
                .source_file
                .map_or(UNDEFINED, |file| self.string(file).0),
            begin_line: region.begin_line,
        };
        RegionRef(intern(
            &mut self.regions,
            &mut self.region_numbers,
            definition,
        ))
    }

    pub(crate) fn source_code(&mut self, file: &str, line: u32) -> SourceCodeRef {
        let file = self.string(file);
        SourceCodeRef(intern(
            &mut self.source_code,
            &mut self.source_code_numbers,
            (file, line),
        ))
    }

    pub(crate) fn group(&mut self, group: GroupDefinition) -> u32 {
        intern(&mut self.groups, &mut self.group_numbers, group)
    }

    /// Whether there is a definition of this number among `defined` of them.
    pub(crate) fn check(what: &'static str, number: u32, defined: usize) -> Result<(), Error> {
        if (number as usize) < defined {
            Ok(())
        } else {
            Err(Error::Undefined {
                what,
                number: number.into(),
            })
        }
    }

    /// Whether definitions refer only to definitions that there are, and there is a location for
    /// each process, and for the archive, without which it cannot be read.
    pub(crate) fn check_references(&self) -> Result<(), Error> {
        Self::check("location", 0, self.locations.len())?;
        for process in &self.processes {
            Self::check("host", process.host.0, self.hosts.len())?;
        }
        for location in &self.locations {
            Self::check("process", location.process.0, self.processes.len())?;
        }
        if let Some(process) = self.first_locations().position(|first| first == u64::MAX) {
            return Err(Error::Undefined {
                what: "a location of process",
                number: process as u64,
            });
        }
        for group in &self.groups {
            if let GroupDefinition::Processes(numbers) = group {
                for number in numbers.iter() {
                    Self::check("process", *number, self.processes.len())?;
                }
            }
        }
        for (number, comm) in self.comms.iter().enumerate() {
            let (CommDefinition::Intra { parent: other, .. }
            | CommDefinition::Inter { common: other, .. }) = comm;
            if *other != UNDEFINED {
                Self::check("communicator", *other, number)?;
            }
        }
        for window in &self.windows {
            Self::check("communicator", window.comm.0, self.comms.len())?;
        }
        for marker in &self.markers {
            match marker.scope {
                MarkerScope::Global => {}
                MarkerScope::Location(location) => {
                    Self::check("location", location.0, self.locations.len())?;
                }
                MarkerScope::Process(process) => {
                    Self::check("process", process.0, self.processes.len())?;
                }
                MarkerScope::Host(host) => Self::check("host", host.0, self.hosts.len())?,
                MarkerScope::Comm(comm) => {
                    Self::check("communicator", comm.0, self.comms.len())?;
                }
            }
        }
        Ok(())
    }

    /// The first location of each process; `u64::MAX` if it has none.
    pub(crate) fn first_locations(&self) -> impl Iterator<Item = u64> {
        let mut first = vec![u64::MAX; self.processes.len()];
        for (number, location) in (0..).zip(&self.locations) {
            if let Some(first) = first.get_mut(location.process.0 as usize) {
                *first = (*first).min(number);
            }
        }
        first.into_iter()
    }

    /// The longest definition, in bytes, at most.
    pub(crate) fn longest(&self) -> usize {
        let strings = self.strings.iter().map(|text| text.len());
        let markers = self.markers.iter().map(|marker| marker.text.len());
        let kinds = self
            .marker_kinds
            .iter()
            .map(|kind| kind.group.len() + kind.category.len());
        let groups = self.groups.iter().map(|group| match group {
            // Each number takes a length and up to 4 bytes.
            GroupDefinition::Processes(members) => 5 * members.len(),
            GroupDefinition::Itself => 0,
        });
        strings
            .chain(markers)
            .chain(kinds)
            .chain(groups)
            .chain([5 * self.processes.len()])
            .max()
            .unwrap_or(0)
            + 128
    }
}

/// The number of a definition, which is defined if it is new.
fn intern<T: Clone + Eq + std::hash::Hash>(
    list: &mut Vec<T>,
    numbers: &mut FxHashMap<T, u32>,
    definition: T,
) -> u32 {
    *numbers.entry(definition).or_insert_with_key(|definition| {
        list.push(definition.clone());
        (list.len() - 1) as u32
    })
}

/// A text as OTF2 can keep it: without NUL bytes, which end a text there, and at most `longest`
/// bytes long.
pub(crate) fn storable(text: &str, longest: usize) -> String {
    let mut stored = text.replace('\0', "\u{fffd}");
    if stored.len() > longest {
        let mut end = longest - '…'.len_utf8();
        while !stored.is_char_boundary(end) {
            end -= 1;
        }
        stored.truncate(end);
        stored.push('…');
    }
    stored
}

/// Text of a marker, or a description: as [`storable`], of the length of the longest text.
pub(crate) fn storable_text(text: &str) -> String {
    storable(text, LONGEST_TEXT)
}
