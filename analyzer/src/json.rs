//! Results to JSON: one document, inert also for terminals.

use std::io::{self, Write};

/// The name of the document's form, and its version.
pub(crate) const SCHEMA: &str = "collbench.analysis/1";

use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter};

use crate::analysis::Analysis;
use crate::inert;

/// The document, with a line feed at its end.
#[must_use]
pub fn to_json(analysis: &Analysis) -> String {
    document(analysis)
}

/// Any document, likewise.
pub(crate) fn document(content: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    let formatter = InertFormatter(PrettyFormatter::new());
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    let written = content.serialize(&mut serializer);
    debug_assert!(written.is_ok(), "writing to memory cannot fail");
    bytes.push(b'\n');
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Escapes what serde_json leaves as it is and a terminal would obey: C1 controls, DEL, marks of
/// direction. The values stay the same.
struct InertFormatter(PrettyFormatter<'static>);

impl Formatter for InertFormatter {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut begin = 0;
        for (at, c) in fragment
            .char_indices()
            .filter(|(_, c)| inert::is_active(*c))
        {
            writer.write_all(&fragment.as_bytes()[begin..at])?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            begin = at + c.len_utf8();
        }
        writer.write_all(&fragment.as_bytes()[begin..])
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}
