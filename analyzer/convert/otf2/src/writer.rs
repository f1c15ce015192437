//! Definitions and events to the files of an archive, by the OTF2 library.
//!
//! Everything happens in one call. After the first error the library is not called again, not even
//! to close the archive: after a failed write it would use memory that it has released. What it
//! holds by then, some MiB and the open file, is not given back.

mod callbacks;
mod definitions;
mod events;
mod markers;
mod session;
mod trace_id;

use std::fs;
use std::path::Path;

use crate::definitions::{Definitions, Headline};
use crate::error::Error;
use crate::library::{self, Library};
use crate::spool::Spool;

use definitions::{Clock, Constant};
use session::Session;

/// Writes an archive into a directory that is empty.
pub(crate) fn write(
    library: &Library,
    directory: &Path,
    headline: &Headline,
    definitions: &mut Definitions,
    spool: &mut Spool,
) -> Result<(), Error> {
    definitions.check_references()?;
    let constant = Constant::new(definitions, headline);
    let definitions = &*definitions;
    let clock = Clock::of(spool, headline);
    let _alone = library::exclusive();

    let archive = Session::create(library, directory, definitions.longest() as u64)?;
    archive.write_headline(headline)?;
    let written = archive.write_events(spool)?;
    archive.write_local_definitions(written.n_events.len())?;
    archive.write_definitions(definitions, &constant, &clock, &written.n_events)?;
    if !definitions.marker_kinds.is_empty() {
        archive.write_markers(definitions)?;
    }
    let closed = archive
        .close()
        .and_then(|()| trace_id::set(library, directory, &written.checksums));
    if closed.is_err() {
        // The anchor file says that the archive is complete. If it cannot be removed, the error
        // itself says what to know.
        let _ = fs::remove_file(session::anchor_file(directory));
    }
    closed
}
