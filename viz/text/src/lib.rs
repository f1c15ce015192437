//! Quantities and foreign text in readable form: one place for both, below everything that prints
//! or draws.
//!
//! [`quantity`] formats durations with a unit, counts and shares; [`inert`] makes names and paths
//! that others wrote harmless for terminals and readers, [`json`] does so for documents, [`shell`] for command lines;
//! [`output`] prints, and writes files.
#![forbid(unsafe_code)]

pub mod inert;
pub mod json;
pub mod output;
pub mod quantity;
pub mod shell;
