//! Markers to their file.

use crate::abi;
use crate::definitions::{Definitions, MarkerScope};
use crate::error::Error;

use super::definitions::node_of;
use super::session::{Session, c_string};

impl Session<'_> {
    /// Writes all markers with their kinds.
    pub(super) fn write_markers(&self, definitions: &Definitions) -> Result<(), Error> {
        const ACTION: &str = "write markers";
        let f = self.library.functions();
        // SAFETY: `archive` is open and has flush callbacks.
        let writer = unsafe { (f.get_marker_writer)(self.archive) };
        let writer = self.check_pointer(ACTION, writer)?;
        for (number, kind) in (0..).zip(&definitions.marker_kinds) {
            let (group, category) = (c_string(&kind.group), c_string(&kind.category));
            // SAFETY: the writer is open, and the library copies the texts.
            let code = unsafe {
                (f.write_def_marker)(
                    writer,
                    number,
                    group.as_ptr(),
                    category.as_ptr(),
                    kind.severity as u8,
                )
            };
            self.library.check(ACTION, code)?;
        }
        for marker in &definitions.markers {
            let (scope, of) = match marker.scope {
                MarkerScope::Global => (abi::SCOPE_GLOBAL, 0),
                MarkerScope::Location(location) => (abi::SCOPE_LOCATION, location.0),
                MarkerScope::Process(process) => (abi::SCOPE_LOCATION_GROUP, process.0),
                MarkerScope::Host(host) => (abi::SCOPE_SYSTEM_TREE_NODE, node_of(host.0)),
                MarkerScope::Comm(comm) => (abi::SCOPE_COMM, comm.0),
            };
            let text = c_string(&marker.text);
            // SAFETY: the writer is open, and the library copies the text.
            let code = unsafe {
                (f.write_marker)(
                    writer,
                    marker.time_ns,
                    marker.duration_ns,
                    marker.kind.0,
                    scope,
                    of.into(),
                    text.as_ptr(),
                )
            };
            self.library.check(ACTION, code)?;
        }
        // SAFETY: the writer is of this archive, and not used after this.
        let code = unsafe { (f.close_marker_writer)(self.archive, writer) };
        self.library.check(ACTION, code)
    }
}
