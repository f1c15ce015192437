//! From where in the program collectives are called.

use serde::{Deserialize, Serialize};

/// A place in the program: a way up the stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallSiteSummary {
    /// Its index in the list.
    pub id: usize,
    /// The functions on the way, the innermost first: libraries that only wrap MPI, then the one that
    /// called them, or MPI. A function that was inlined stands before the one that it was inlined
    /// into.
    pub frames: Vec<FrameSummary>,
    /// Whether the way could be followed out of all libraries that only wrap MPI.
    pub whole: bool,
}

/// One function on a way up the stack, and where it made its call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FrameSummary {
    /// Its name; `None` where it is not known.
    pub function: Option<String>,
    /// The source file, as its compiler named it; `None` where it is not known.
    pub file: Option<String>,
    /// The line there; `None` where it is not known.
    pub line: Option<u32>,
    /// Path of the executable or library, as the program saw it; `None` for code that is in none.
    pub module: Option<String>,
    /// The build id of that file in hexadecimal digits; `None` if it has none.
    pub build_id: Option<String>,
    /// The return address in that file; in none, the address in memory.
    pub offset: u64,
    /// Whether it was inlined into the next one.
    pub inlined: bool,
    /// The text of the line, where the source files were looked for; `None` otherwise.
    pub text: Option<String>,
}

/// The calls of an operation from one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OperationSite {
    /// Id of the place.
    pub site: usize,
    /// Ranks that called from there.
    pub ranks: u64,
    /// Calls of complete instances.
    pub calls: u64,
    /// Time in them, ns.
    pub call_time_ns: i64,
    /// Their known waits, ns; `None` where none is known.
    pub wait_ns: Option<i64>,
}

/// Parts of the paths of header files whose functions wrap MPI, and are inlined into programs.
const WRAPPING_HEADERS: [&str; 4] = ["/boost/mpi/", "/mpi/cxx/", "/mpicxx.h", "/mpi.h"];

/// The name of a function of C++ without the types of its arguments: of `A::f(int) const` it is `A::f`. Other names
/// stay as they are.
fn without_arguments(name: &str) -> &str {
    let end = name.strip_suffix(" const").unwrap_or(name);
    if !end.ends_with(')') {
        return name;
    }
    let mut depth = 0;
    for (at, letter) in end.char_indices().rev() {
        match letter {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        // Not the whole name: `(anonymous namespace)` begins some.
        if depth == 0 {
            return if at > 0 { &end[..at] } else { name };
        }
    }
    name
}

impl FrameSummary {
    fn is_of_wrapping_header(&self) -> bool {
        let file = self.file.as_deref().unwrap_or_default();
        self.inlined && WRAPPING_HEADERS.iter().any(|part| file.contains(part))
    }

    /// Whether it is at the same address as another one: one of them was inlined into the other.
    #[must_use]
    pub fn is_at_address_of(&self, other: &Self) -> bool {
        self.module.is_some()
            && (&self.module, &self.build_id, self.offset)
                == (&other.module, &other.build_id, other.offset)
    }

    /// The line, or what is known instead of it, as one word: `solver.f90:312`, `halo() in libhalo.so`,
    /// `lmp+0x51c3f2`. Names are those of files, as they are.
    #[must_use]
    pub fn place(&self) -> String {
        let last = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
        let module = self.module.as_deref().map(last);
        match (&self.file, self.line, &self.function) {
            (Some(file), Some(line), _) => format!("{}:{line}", last(file)),
            (Some(file), None, _) => last(file),
            (None, _, Some(function)) => {
                let function = without_arguments(function);
                match module {
                    Some(module) => format!("{function}() in {module}"),
                    None => format!("{function}()"),
                }
            }
            (None, _, None) => match module {
                Some(module) => format!("{module}+{:#x}", self.offset),
                None => format!("generated code at {:#x}", self.offset),
            },
        }
    }
}

impl CallSiteSummary {
    /// The function that people look for: the innermost one that is in no library that only wraps
    /// MPI; `None` if the way could not be followed that far.
    #[must_use]
    pub fn own_frame(&self) -> Option<&FrameSummary> {
        let last = self.frames.last().filter(|_| self.whole)?;
        // What was inlined into it is as much of the program, but for what wraps MPI in header files.
        let is_inlined = |frame: &&FrameSummary| {
            (frame.offset, &frame.module) == (last.offset, &last.module)
                && !frame.is_of_wrapping_header()
        };
        self.frames.iter().find(is_inlined).or(Some(last))
    }

    /// Where that is, as one word; of a way that could not be followed, its last known place.
    #[must_use]
    pub fn place(&self) -> String {
        let frame = self.own_frame().or(self.frames.last());
        frame.map_or_else(|| "an unknown place".to_owned(), FrameSummary::place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_named_without_the_types_of_their_arguments() {
        let place = |function: &str| {
            let frame = FrameSummary {
                function: Some(function.to_owned()),
                module: Some("/opt/lib.so".to_owned()),
                ..FrameSummary::default()
            };
            frame.place()
        };
        let names = [
            ("halo", "halo() in lib.so"),
            ("A::f()", "A::f() in lib.so"),
            ("A::f(int (*) [2], B<int>) const", "A::f() in lib.so"),
            (
                "(anonymous namespace)::f(int)",
                "(anonymous namespace)::f() in lib.so",
            ),
            ("A::operator()(int)", "A::operator()() in lib.so"),
            ("solver_mod_MOD_step", "solver_mod_MOD_step() in lib.so"),
            ("odd)", "odd)() in lib.so"),
        ];
        for (function, expected) in names {
            assert_eq!(place(function), expected);
        }
    }
}
