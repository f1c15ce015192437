//! The line of a Python script from which the extension module of MPI is called.
//!
//! The interpreter's own functions must not be called here: bindings release its lock around calls of
//! MPI. But the frames of this thread's functions do not change meanwhile, and where they are in
//! memory follows from the version. A version that is not known, or that was built otherwise, is
//! never trusted: all is read through the kernel, and objects must have the types that they should have.

use std::ffi::{CStr, c_char, c_void};

use super::guarded::{read, word};
use super::python_lines::{LineTable, line_at};
use super::script_line::{NO_INTERPRETER, ScriptLine};
use crate::mpi::find_datum;

/// Where a version has what is needed: offsets in bytes.
#[derive(Debug, PartialEq, Eq)]
struct Layout {
    minor: u32,
    /// In the state of a thread: the word that leads to its innermost frame.
    frame_in_state: usize,
    /// Where that word points to: the innermost frame; `None`: the word itself is its address.
    frame_in_holder: Option<usize>,
    /// In a frame.
    code: usize,
    previous: usize,
    at: At,
    /// In the code of a function.
    first_line: usize,
    lines: usize,
    line_table: LineTable,
    /// Bytes of the header of a text of ASCII, and of another text.
    text_headers: [usize; 2],
}

/// How a frame says which of its instructions runs.
#[derive(Debug, PartialEq, Eq)]
enum At {
    /// As an index, at this offset; an instruction takes so many bytes.
    Index { field: usize, unit: usize },
    /// As the address of the instruction, at this offset; the first one is at that offset in the code.
    Address { field: usize, first: usize },
}

/// Whose frame it is, in frames of 3.12 and later.
const OWNER: usize = 70;
/// The owner of frames without a function, which lead from C to Python.
const NO_FUNCTION: u8 = 3;

/// In the code of a function, of all versions: text of the file name, and behind it the function's.
const FILE_NAME_BEFORE_3_11: usize = 104;
const FILE_NAME: usize = 112;

/// In any object: its type. In any object of variable length: that.
const TYPE: usize = 8;
const LENGTH: usize = 16;
/// In a text: how it is stored.
const TEXT_STATE: usize = 32;
/// In a string of bytes: the first one.
const FIRST_BYTE: usize = 32;

static LAYOUTS: [Layout; 6] = [
    before_3_11(8, 104, 1, LineTable::Increments),
    before_3_11(9, 104, 1, LineTable::Increments),
    before_3_11(10, 96, 2, LineTable::Ranges),
    Layout {
        minor: 11,
        frame_in_state: 56,
        frame_in_holder: Some(8),
        code: 32,
        previous: 48,
        at: At::Address {
            field: 56,
            first: 184,
        },
        first_line: 72,
        lines: 136,
        line_table: LineTable::Locations,
        text_headers: [48, 72],
    },
    since_3_12(12, 56, Some(0), 192),
    since_3_12(13, 72, None, 200),
];

const fn before_3_11(minor: u32, field: usize, unit: usize, line_table: LineTable) -> Layout {
    Layout {
        minor,
        frame_in_state: 24,
        frame_in_holder: None,
        code: 32,
        previous: 24,
        at: At::Index { field, unit },
        first_line: 40,
        lines: 120,
        line_table,
        text_headers: [48, 72],
    }
}

const fn since_3_12(
    minor: u32,
    frame_in_state: usize,
    frame_in_holder: Option<usize>,
    first: usize,
) -> Layout {
    Layout {
        minor,
        frame_in_state,
        frame_in_holder,
        code: 0,
        previous: 8,
        at: At::Address { field: 56, first },
        first_line: 68,
        lines: 136,
        line_table: LineTable::Locations,
        text_headers: [40, 56],
    }
}

/// Frames without a function that are passed on the way to one, at most.
const MAX_PASSED: usize = 4;
/// Bytes of a file name or a function's name, at most.
const MAX_NAME: usize = 4096;
/// Bytes of a table of lines, at most.
const MAX_TABLE: usize = 1 << 20;
/// Bytes of a frame, and of the code of a function, that are read.
const FRAME_BYTES: usize = 112;
const CODE_BYTES: usize = 144;

/// The interpreter in this process.
#[derive(Debug)]
pub(super) struct Python {
    layout: &'static Layout,
    state_of_this_thread: unsafe extern "C" fn() -> *mut c_void,
    code_type: usize,
    text_type: usize,
    bytes_type: usize,
}

/// A place in a script, as the interpreter's memory has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PythonPlace {
    /// Address of the function's code.
    code: usize,
    /// Of the instruction in it, bytes.
    offset: usize,
    first_line: u32,
    file_name: usize,
    name: usize,
    lines: usize,
}

impl PythonPlace {
    /// Numbers that differ where places do. Memory of functions that are gone may be used again, mostly
    /// by functions that differ in one of these.
    pub(super) fn words(&self) -> [usize; 5] {
        let first = self.first_line as usize;
        [self.code, self.offset, first, self.file_name, self.name]
    }
}

impl Python {
    /// The interpreter in this process.
    ///
    /// # Errors
    /// Says why lines of its scripts cannot be found.
    pub(super) fn find() -> Result<Self, &'static str> {
        let found = [
            c"Py_GetVersion",
            c"PyGILState_GetThisThreadState",
            c"PyCode_Type",
            c"PyUnicode_Type",
            c"PyBytes_Type",
        ]
        .map(find_datum);
        let [version, state, code_type, text_type, bytes_type] = found;
        if found.contains(&0) {
            return Err(NO_INTERPRETER);
        }
        // SAFETY: functions of the interpreter with these names have these signatures.
        let (version, state_of_this_thread) = unsafe {
            type Version = unsafe extern "C" fn() -> *const c_char;
            type State = unsafe extern "C" fn() -> *mut c_void;
            (
                std::mem::transmute::<*const (), Version>(std::ptr::with_exposed_provenance(
                    version,
                )),
                std::mem::transmute::<*const (), State>(std::ptr::with_exposed_provenance(state)),
            )
        };
        // SAFETY: it returns a C string that stays, whoever holds the interpreter's lock.
        let version = unsafe { CStr::from_ptr(version()) };
        let layout = layout_of(&version.to_string_lossy());
        Ok(Self {
            layout: layout
                .ok_or("lines of scripts of Python are known of CPython 3.8 to 3.13 only")?,
            state_of_this_thread,
            code_type,
            text_type,
            bytes_type,
        })
    }

    /// An address in the executable or library that the interpreter is in.
    pub(super) fn an_address_in_it(&self) -> usize {
        self.state_of_this_thread as *const () as usize
    }

    /// Where in a script this thread is; `None` if it runs none.
    pub(super) fn place(&self) -> Option<PythonPlace> {
        // SAFETY: the function only returns a value specific to the thread, and needs no lock.
        let state = unsafe { (self.state_of_this_thread)() };
        if state.is_null() {
            return None;
        }
        self.place_of(state as usize)
    }

    fn place_of(&self, state: usize) -> Option<PythonPlace> {
        let layout = self.layout;
        let mut frame_at = word(state.wrapping_add(layout.frame_in_state))?;
        if let Some(holder) = layout.frame_in_holder {
            frame_at = word(frame_at.wrapping_add(holder))?;
        }
        for _ in 0..MAX_PASSED {
            let mut frame = [0; FRAME_BYTES];
            read(frame_at, &mut frame)?;
            let code_at = word_in(&frame, layout.code)?;
            let is_of_function = layout.minor < 12 || frame[OWNER] != NO_FUNCTION;
            let mut code = [0; CODE_BYTES];
            if is_of_function && read(code_at, &mut code).is_some() {
                if word_in(&code, TYPE)? != self.code_type {
                    return None;
                }
                return self.place_in(&frame, (&code, code_at));
            }
            frame_at = word_in(&frame, layout.previous)?;
        }
        None
    }

    fn place_in(&self, frame: &[u8], (code, code_at): (&[u8], usize)) -> Option<PythonPlace> {
        let layout = self.layout;
        let offset = match layout.at {
            At::Index { field, unit } => usize::try_from(int_in(frame, field)?)
                .ok()?
                .checked_mul(unit)?,
            At::Address { field, first } => {
                word_in(frame, field)?.checked_sub(code_at.checked_add(first)?)?
            }
        };
        let file_name = if layout.minor < 11 {
            FILE_NAME_BEFORE_3_11
        } else {
            FILE_NAME
        };
        Some(PythonPlace {
            code: code_at,
            offset,
            first_line: u32::try_from(int_in(code, layout.first_line)?).ok()?,
            file_name: word_in(code, file_name)?,
            name: word_in(code, file_name + 8)?,
            lines: word_in(code, layout.lines)?,
        })
    }

    /// The line and the names of a place; only while the thread is there. Allocates.
    pub(super) fn line_of(&self, place: &PythonPlace) -> Option<ScriptLine> {
        let file = self.text(place.file_name)?;
        let table = self.bytes(place.lines);
        let line = table.and_then(|table| {
            line_at(
                self.layout.line_table,
                &table,
                place.first_line,
                place.offset,
            )
        });
        Some(ScriptLine {
            file,
            function: self.text(place.name).unwrap_or_default(),
            line: line.unwrap_or(0),
        })
    }

    /// The text at an address.
    fn text(&self, at: usize) -> Option<String> {
        const COMPACT: u8 = 0x20;
        const ASCII: u8 = 0x40;
        let mut header = [0; 40];
        read(at, &mut header)?;
        let state = header[TEXT_STATE];
        if word_in(&header, TYPE)? != self.text_type || state & COMPACT == 0 {
            return None;
        }
        let bytes_each = usize::from(state >> 2 & 7);
        let length = word_in(&header, LENGTH)?;
        let begin = at.checked_add(self.layout.text_headers[usize::from(state & ASCII == 0)])?;
        let n_bytes = length.checked_mul(bytes_each)?;
        if n_bytes > MAX_NAME || ![1, 2, 4].contains(&bytes_each) {
            return None;
        }
        let mut bytes = vec![0; n_bytes];
        read(begin, &mut bytes)?;
        let letters = bytes.chunks_exact(bytes_each).map(|letter| {
            let mut number = [0; 4];
            number[..bytes_each].copy_from_slice(letter);
            char::from_u32(u32::from_le_bytes(number)).unwrap_or(char::REPLACEMENT_CHARACTER)
        });
        Some(letters.collect())
    }

    /// The string of bytes at an address.
    fn bytes(&self, at: usize) -> Option<Vec<u8>> {
        let mut header = [0; FIRST_BYTE];
        read(at, &mut header)?;
        let length = word_in(&header, LENGTH)?;
        if word_in(&header, TYPE)? != self.bytes_type || length > MAX_TABLE {
            return None;
        }
        let mut bytes = vec![0; length];
        read(at.checked_add(FIRST_BYTE)?, &mut bytes)?;
        Some(bytes)
    }
}

/// The layout of a version, such as `3.11.2 (main, Nov 30 2024) [GCC 12.2.0]`; `None` where it is not
/// known, or the interpreter was built otherwise.
fn layout_of(version: &str) -> Option<&'static Layout> {
    let number = version.strip_prefix("3.")?;
    let minor = number.split('.').next()?.parse::<u32>().ok()?;
    if version.contains("free-threading") {
        return None;
    }
    LAYOUTS.iter().find(|layout| layout.minor == minor)
}

fn word_in(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = bytes.get(at..at + size_of::<usize>())?;
    Some(usize::from_ne_bytes(bytes.try_into().ok()?))
}

fn int_in(bytes: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_found_by_version() {
        let minor = |version| layout_of(version).map(|layout| layout.minor);
        assert_eq!(minor("3.11.2 (main, Nov 30 2024) [GCC 12.2.0]"), Some(11));
        assert_eq!(minor("3.9.18"), Some(9));
        assert_eq!(
            minor("3.13.0 experimental free-threading build (main"),
            None
        );
        for other in ["2.7.18", "3.7.16", "3.14.0a1", "3.x", "", "11.3"] {
            assert_eq!(minor(other), None, "{other}");
        }
    }

    extern "C" fn no_state() -> *mut c_void {
        std::ptr::null_mut()
    }

    #[test]
    fn memory_that_is_no_interpreter_is_no_place() {
        let words: Vec<usize> = (0..64).map(|i| i * 0x1357_9bdf_0246).collect();
        let itself = [words.as_ptr().expose_provenance(); 64];
        for layout in &LAYOUTS {
            let python = Python {
                layout,
                state_of_this_thread: no_state,
                code_type: 1,
                text_type: 2,
                bytes_type: 3,
            };
            assert_eq!(python.place(), None);
            for state in [
                8,
                usize::MAX - 8,
                words.as_ptr().expose_provenance(),
                itself.as_ptr().expose_provenance(),
            ] {
                assert_eq!(python.place_of(state), None);
                assert_eq!(python.text(state), None);
                assert_eq!(python.bytes(state), None);
            }
        }
    }
}
