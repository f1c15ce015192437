//! A rule file of any format, with the library that reads it.

use crate::call::CallClass;
use crate::decision::Decision;
use crate::explain::{Explained, divide};
use crate::looks::{Format, format_of};
use crate::open_mpi::{self, ClassicFile, Library, Settings};
use crate::problem::{Position, Problem};

/// A rule file, as a library with its settings reads it.
#[derive(Debug)]
pub struct RuleFile {
    kind: Kind,
    element: Option<u64>,
}

#[derive(Debug)]
enum Kind {
    Classic {
        text: Vec<u8>,
        file: ClassicFile,
        library: Library,
        settings: Settings,
    },
}

/// Why a file cannot be explained.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleFileError {
    /// It is no rule file.
    #[error("no rule file: {0}; expected rules of Open MPI's coll_tuned")]
    Other(String),
    /// It is one that this version does not read.
    #[error("{0} are not read yet; expected rules of coll_tuned, in numbers")]
    NotRead(&'static str),
}

/// A class of calls, or a part of it, that two files decide differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed<'c> {
    /// By the old file.
    pub old: Explained<'c>,
    /// By the new file.
    pub new: Explained<'c>,
}

impl RuleFile {
    /// Reads a file of Open MPI. `element` is the size of the elements of the program's data, where it is
    /// known.
    ///
    /// # Errors
    /// [`RuleFileError`] if it is none.
    pub fn of_open_mpi(
        text: Vec<u8>,
        library: Library,
        settings: Settings,
        element: Option<u64>,
    ) -> Result<Self, RuleFileError> {
        match format_of(&text).map_err(RuleFileError::Other)? {
            Format::OpenMpiClassic => {}
            other => return Err(RuleFileError::NotRead(other.words())),
        }
        let file = ClassicFile::read(&text, library);
        Ok(Self {
            kind: Kind::Classic {
                text,
                file,
                library,
                settings,
            },
            element,
        })
    }

    /// Its format, in words.
    #[must_use]
    pub fn format(&self) -> &'static str {
        match self.kind {
            Kind::Classic { .. } => Format::OpenMpiClassic.words(),
        }
    }

    /// The library that reads it.
    #[must_use]
    pub fn library(&self) -> String {
        match &self.kind {
            Kind::Classic { library, .. } => library.version.to_string(),
        }
    }

    /// Why the library ignores all of it, and where.
    #[must_use]
    pub fn ignored(&self) -> Option<(Position, String)> {
        let Kind::Classic { file, .. } = &self.kind;
        let dropped = file.dropped.as_ref()?;
        Some((dropped.at, dropped.why.clone()))
    }

    /// What is wrong with it, by place.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        let Kind::Classic {
            text,
            file,
            library,
            ..
        } = &self.kind;
        open_mpi::check(text, file, *library)
    }

    /// Rules that none of these calls comes to.
    #[must_use]
    pub fn unused(&self, calls: &[Explained<'_>]) -> Vec<Problem> {
        let Kind::Classic { file, library, .. } = &self.kind;
        open_mpi::unused(file, *library, calls)
    }

    /// What decides the calls of a class, in parts where the decision changes; nothing for operations
    /// that no rule file names.
    #[must_use]
    pub fn explain<'c>(&self, class: &'c CallClass) -> Vec<Explained<'c>> {
        if !open_mpi::has_number(class.operation) {
            return Vec::new();
        }
        let parts = divide(class, self.starts(class), |bytes| self.decide(class, bytes));
        let is_whole = parts.len() == 1;
        let explained = |(bytes, decision)| self.explained(class, bytes, is_whole, decision);
        parts.into_iter().map(explained).collect()
    }

    /// What of the calls of a class another file decides differently.
    #[must_use]
    pub fn changes<'c>(&self, new: &Self, class: &'c CallClass) -> Vec<Changed<'c>> {
        if !open_mpi::has_number(class.operation) {
            return Vec::new();
        }
        let mut starts = self.starts(class);
        starts.extend(new.starts(class));
        let parts = divide(class, starts, |bytes| {
            (self.decide(class, bytes), new.decide(class, bytes))
        });
        let is_whole = parts.len() == 1;
        let changed = parts
            .into_iter()
            .filter(|(_, (old, new))| !old.does_as(new))
            .map(|(bytes, (by_old, by_new))| Changed {
                old: self.explained(class, bytes, is_whole, by_old),
                new: new.explained(class, bytes, is_whole, by_new),
            });
        changed.collect()
    }

    fn explained<'c>(
        &self,
        class: &'c CallClass,
        bytes: (u64, u64),
        is_whole: bool,
        decision: Decision,
    ) -> Explained<'c> {
        let size = |bytes| self.size(class, bytes);
        Explained {
            class,
            bytes,
            size: size(bytes.0).zip(size(bytes.1)),
            is_whole,
            decision,
        }
    }

    fn starts(&self, class: &CallClass) -> Vec<u64> {
        let Kind::Classic { file, library, .. } = &self.kind;
        open_mpi::starts(file, *library, class)
    }

    fn size(&self, class: &CallClass, bytes: u64) -> Option<u64> {
        let Kind::Classic { library, .. } = &self.kind;
        open_mpi::size(*library, class, bytes, self.element)
    }

    fn decide(&self, class: &CallClass, bytes: u64) -> Decision {
        let Kind::Classic {
            file,
            library,
            settings,
            ..
        } = &self.kind;
        let call = open_mpi::Call::of(class, bytes, self.element);
        open_mpi::decide(file, *library, settings, call)
    }
}
