//! Archives in the Open Trace Format 2 (OTF2), which Vampir, Scalasca and other tools read.
//!
//! Events and definitions are collected by an [`Archive`] and written by the OTF2 library when it
//! is finished. The [`Library`] is opened at run time, so building and starting a program needs
//! neither OTF2 nor its headers. Its interface is declared by hand, for version 3.
//!
//! # Why events are kept aside first
//!
//! Until the archive is finished, events are in memory and in a temporary file, ordered by
//! location, so the OTF2 library sees one location after another. Given events of all locations in
//! turn, it would keep up to 4.25 MiB (a chunk, and the buffer of a file) and an open file for each
//! location, which is 17 GiB for 4,096 of them. All its calls are then in one place, which matters
//! after errors: the library must not be called again for an archive that it could not write.
//!
//! The same calls give the same bytes, whenever and wherever the archive is written.
#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod abi;
mod archive;
mod definitions;
mod error;
mod event;
#[allow(unsafe_code)]
mod library;
mod spool;
mod version;
#[allow(unsafe_code)]
mod writer;

pub use archive::Archive;
pub use definitions::{
    AttributeRef, AttributeType, CommRef, HostRef, LocationRef, MarkerRef, MarkerScope, Members,
    Metric, MetricMode, MetricRef, MetricType, Paradigm, ProcessRef, Region, RegionRef, RegionRole,
    Severity, SourceCodeRef, StringRef, WindowRef,
};
pub use error::Error;
pub use event::{AttributeValue, Collective, CollectiveOp, Event, MetricValue, Root, Transfer};
pub use library::Library;
pub use version::Version;
