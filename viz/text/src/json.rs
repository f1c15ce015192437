//! Documents as JSON, harmless for terminals too.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Formatter;

use crate::inert;

/// A document, with a line feed at its end.
#[must_use]
pub fn document(content: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    let formatter = InertFormatter::default();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    let written = content.serialize(&mut serializer);
    debug_assert!(written.is_ok(), "writing to memory cannot fail");
    bytes.push(b'\n');
    // Not lossy: the bytes were written as UTF-8.
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Size of a value in a document, inside `depth` objects and arrays, bytes.
#[must_use]
pub fn n_bytes(content: &impl Serialize, depth: usize) -> u64 {
    let mut count = Count(0);
    let around = || Open {
        on_lines: true,
        at_first: false,
        is_empty: false,
    };
    let formatter = InertFormatter {
        open: (0..depth).map(|_| around()).collect(),
    };
    let mut serializer = serde_json::Serializer::with_formatter(&mut count, formatter);
    let written = content.serialize(&mut serializer);
    debug_assert!(written.is_ok(), "counting cannot fail");
    count.0
}

/// Counts the bytes that are written.
struct Count(u64);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One value per line, and arrays of scalars on one line: the figures of a rank are hundreds of
/// numbers.
///
/// Escapes characters that serde_json leaves unchanged and that a terminal would interpret: C1
/// controls, DEL, direction marks. The values do not change.
#[derive(Default)]
struct InertFormatter {
    /// Arrays and objects that are open.
    open: Vec<Open>,
}

struct Open {
    /// Whether each value has a line of its own: in objects, and in arrays whose first value is an
    /// array or object.
    on_lines: bool,
    /// Whether nothing of the first value has been written yet.
    at_first: bool,
    is_empty: bool,
}

impl InertFormatter {
    fn new_line<W: ?Sized + Write>(&self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b"\n")?;
        for _ in &self.open {
            writer.write_all(b"  ")?;
        }
        Ok(())
    }

    fn begin<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        bracket: &[u8],
        on_lines: bool,
    ) -> io::Result<()> {
        if let Some(around) = self.open.last_mut().filter(|around| around.at_first) {
            around.at_first = false;
            around.on_lines = true;
            self.new_line(writer)?;
        }
        self.open.push(Open {
            on_lines,
            at_first: false,
            is_empty: true,
        });
        writer.write_all(bracket)
    }

    fn end<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        if self
            .open
            .pop()
            .is_some_and(|it| it.on_lines && !it.is_empty)
        {
            self.new_line(writer)?;
        }
        writer.write_all(bracket)
    }
}

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
        self.begin(writer, b"[", false)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        let Some(array) = self.open.last_mut() else {
            return Ok(());
        };
        array.is_empty = false;
        // The kind of the first value is known when it begins.
        array.at_first = first;
        match (array.on_lines, first) {
            (_, true) => Ok(()),
            (false, false) => writer.write_all(b", "),
            (true, false) => {
                writer.write_all(b",")?;
                self.new_line(writer)
            }
        }
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        if let Some(array) = self.open.last_mut() {
            array.at_first = false;
        }
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, b"{", true)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if let Some(object) = self.open.last_mut() {
            object.is_empty = false;
        }
        if !first {
            writer.write_all(b",")?;
        }
        self.new_line(writer)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arrays_of_scalars_are_on_one_line_and_other_values_on_lines_of_their_own() {
        let value =
            json!({"a": [1, null, "\u{9b}"], "b": [[1.5, 2], [], {}], "c": {}, "d": [{"e": []}]});
        let text = document(&value);
        let expected = r#"{
  "a": [1, null, "\u009b"],
  "b": [
    [1.5, 2],
    [],
    {}
  ],
  "c": {},
  "d": [
    {
      "e": []
    }
  ]
}
"#;
        assert_eq!(text, expected);
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).unwrap(),
            value
        );
    }

    #[test]
    fn a_value_takes_as_many_bytes_as_its_document_has_less_its_key() {
        let value = json!([{"a": [[1, 2], [3]]}, {}, "b\u{9b}"]);
        let whole = document(&json!({"k": {"l": value}}));
        let without = document(&json!({"k": {"l": 7}}));
        let bytes = n_bytes(&value, 2);
        assert_eq!(bytes, (whole.len() - without.len() + 1) as u64);
    }

    #[test]
    fn a_scalar_before_an_object_leaves_the_values_as_they_are() {
        let value = json!([null, {"a": [[]]}, [[2], 3]]);
        let text = document(&value);
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).unwrap(),
            value
        );
    }
}
