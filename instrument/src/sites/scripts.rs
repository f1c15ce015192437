//! Where in a script a thread is, by the interpreters in this process.

use std::ops::Range;

use super::loaded_object::ObjectFinder;
use super::python::{Python, PythonPlace};
use super::r::{R, RPlace};
use super::registers::UsedStack;
use super::script_line::{NO_INTERPRETER, ScriptLine};

/// The interpreters in this process.
#[derive(Debug)]
pub(crate) struct Interpreters {
    python: Option<Python>,
    r: Option<R>,
}

/// The interpreters, and the addresses of the executable or library that each is in.
#[derive(Debug, Default)]
pub(super) struct Scripts {
    python: Option<(Python, Range<usize>)>,
    r: Option<(R, Range<usize>)>,
}

/// A place in a script, as the interpreter's memory has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScriptPlace {
    Python(PythonPlace),
    R(RPlace),
}

impl Interpreters {
    /// Those in this process.
    ///
    /// # Errors
    /// Says why lines of scripts cannot be found.
    pub(crate) fn find() -> Result<Self, &'static str> {
        let (python, r) = (Python::find(), R::find());
        match (&python, &r) {
            (Err(NO_INTERPRETER), Err(why)) | (Err(why), Err(_)) => Err(*why),
            _ => Ok(Self {
                python: python.ok(),
                r: r.ok(),
            }),
        }
    }
}

impl Scripts {
    pub(super) fn of(interpreters: Interpreters, finder: &ObjectFinder) -> Self {
        let Interpreters { python, r } = interpreters;
        let around = |address| Some(finder.object_at(address)?.addresses());
        Self {
            python: python.and_then(|python| {
                let addresses = around(python.an_address_in_it())?;
                Some((python, addresses))
            }),
            r: r.and_then(|r| {
                let addresses = around(r.an_address_in_it())?;
                Some((r, addresses))
            }),
        }
    }

    /// Whether an address is in one of the interpreters.
    pub(super) fn contain(&self, address: usize) -> bool {
        self.python().is_some_and(|of| of.1.contains(&address))
            || self.r().is_some_and(|of| of.1.contains(&address))
    }

    fn python(&self) -> Option<&(Python, Range<usize>)> {
        self.python.as_ref()
    }

    fn r(&self) -> Option<&(R, Range<usize>)> {
        self.r.as_ref()
    }

    /// Where in a script this thread is, whose way up the stack has come to an address in an interpreter and
    /// goes on in `stack`; `None` if it runs none.
    pub(super) fn place(&self, address: usize, stack: UsedStack) -> Option<ScriptPlace> {
        match self.python() {
            Some((python, at)) if at.contains(&address) => python.place().map(ScriptPlace::Python),
            _ => self.r()?.0.place(stack).map(ScriptPlace::R),
        }
    }

    /// The line and the names of a place; only while the thread is there. Allocates.
    pub(super) fn line_of(&self, place: &ScriptPlace) -> Option<ScriptLine> {
        match place {
            ScriptPlace::Python(place) => self.python()?.0.line_of(place),
            ScriptPlace::R(place) => self.r()?.0.line_of(place),
        }
    }
}

impl ScriptPlace {
    /// Numbers that differ where places do.
    pub(super) fn words(&self) -> [usize; 5] {
        match self {
            Self::Python(place) => place.words(),
            Self::R(place) => place.words(),
        }
    }
}
