//! A rule file of any format, with the library that reads it.

use collbench_formats::Operation;

use crate::call::CallClass;
use crate::decision::Decision;
use crate::explain::{Explained, divide};
use crate::looks::{Format, format_of};
use crate::mpich::{self, MpichFile, OtherFiles};
use crate::open_mpi::han::{self, HanFile};
use crate::open_mpi::{self, ClassicFile, JsonFile, Library, Settings, TunedFile};
use crate::problem::{Position, Problem};

/// A rule file, as a library with its settings reads it.
#[derive(Debug)]
pub struct RuleFile {
    kind: Kind,
    element: Option<u64>,
}

#[derive(Debug)]
enum Kind {
    Classic(Box<Classic>),
    Json(Box<Json>),
    Han(Box<Han>),
    Mpich {
        file: Box<MpichFile>,
        library: String,
    },
}

#[derive(Debug)]
struct Classic {
    text: Vec<u8>,
    file: ClassicFile,
    library: Library,
    settings: Settings,
}

#[derive(Debug)]
struct Json {
    file: JsonFile,
    library: Library,
    settings: Settings,
}

#[derive(Debug)]
struct Han {
    file: HanFile,
    library: Library,
    settings: Settings,
}

/// Why a file cannot be explained.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleFileError {
    /// It is no rule file.
    #[error("no rule file: {0}; expected rules of Open MPI's coll_tuned, or selections of MPICH")]
    Other(String),
    /// The library reads no such file, or how it does is not modelled.
    #[error("{0}")]
    NotRead(String),
}

/// Of rules in JSON.
const UNTESTED: &str = "untested: no Open MPI 6.0 could be run; what is said follows the published schema and the sources of \
                        its branch v6.0.x";

/// Of rules of `coll_han`.
const OFF_IN_4_1: &str = "coll_han has priority 0 in Open MPI 4.1, and does nothing; what it does with a higher \
                          coll_han_priority is not modelled";

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
        let format = format_of(&text).map_err(RuleFileError::Other)?;
        let reads_json = library.version.major >= 6;
        let kind = match format {
            Format::OpenMpiClassic if !reads_json => Kind::Classic(Box::new(Classic {
                file: ClassicFile::read(&text, library),
                text,
                library,
                settings,
            })),
            Format::OpenMpiHan if !reads_json => Kind::Han(Box::new(Han {
                file: HanFile::read(&text, library),
                library,
                settings,
            })),
            Format::OpenMpiJson if reads_json => Kind::Json(Box::new(Json {
                file: JsonFile::read(&text, library),
                library,
                settings,
            })),
            Format::Mpich => {
                return Err(RuleFileError::Other(format!("it has {}", format.words())));
            }
            Format::OpenMpiJson => {
                return Err(RuleFileError::NotRead(format!(
                    "{} does not read rules in JSON, which are for Open MPI 6.0: it takes the file for \
                     numbers; write it with --write openmpi",
                    library.version
                )));
            }
            Format::OpenMpiClassic | Format::OpenMpiHan => {
                return Err(RuleFileError::NotRead(format!(
                    "how {} reads {} is not modelled: its sources take the sizes of communicators for \
                     others than 5.0 does; rules in JSON are read",
                    library.version,
                    format.words()
                )));
            }
        };
        Ok(Self { kind, element })
    }

    /// Reads a file of MPICH. `number` is the version that reads it, `others` are the other files of the run; `element` is as
    /// for [`Self::of_open_mpi`].
    ///
    /// # Errors
    /// [`RuleFileError`] if it is none.
    pub fn of_mpich(
        text: &[u8],
        (version, number): (&'static mpich::Version, &str),
        settings: mpich::Settings,
        others: &OtherFiles,
        element: Option<u64>,
    ) -> Result<Self, RuleFileError> {
        let file = MpichFile::read(text, version, settings, others);
        let file = file.ok_or_else(|| {
            let looks = format_of(text).map(|format| format!("it has {}", format.words()));
            RuleFileError::Other(looks.unwrap_or_else(|looks| looks))
        })?;
        let kind = Kind::Mpich {
            file: Box::new(file),
            library: format!("MPICH {number}"),
        };
        Ok(Self { kind, element })
    }

    /// Its format, in words.
    #[must_use]
    pub fn format(&self) -> &'static str {
        match &self.kind {
            Kind::Classic(_) => Format::OpenMpiClassic.words(),
            Kind::Json(_) => Format::OpenMpiJson.words(),
            Kind::Han(_) => Format::OpenMpiHan.words(),
            Kind::Mpich { file, .. } => file.format(),
        }
    }

    /// Whether MPICH reads it.
    #[must_use]
    pub fn is_of_mpich(&self) -> bool {
        matches!(self.kind, Kind::Mpich { .. })
    }

    /// Whether `coll_han` of Open MPI reads it.
    #[must_use]
    pub fn is_of_han(&self) -> bool {
        matches!(self.kind, Kind::Han(_))
    }

    /// The library that reads it.
    #[must_use]
    pub fn library(&self) -> String {
        match &self.kind {
            Kind::Classic(of) => of.library.version.to_string(),
            Kind::Json(of) => of.library.version.to_string(),
            Kind::Han(of) => of.library.version.to_string(),
            Kind::Mpich { library, .. } => library.clone(),
        }
    }

    /// What is to be known of the file and the run as a whole.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        match &self.kind {
            Kind::Mpich { file, .. } => file.notes().to_vec(),
            Kind::Json(_) => vec![UNTESTED.to_owned()],
            Kind::Han(of) if of.library.version.major < 5 => vec![OFF_IN_4_1.to_owned()],
            Kind::Classic(_) | Kind::Han(_) => Vec::new(),
        }
    }

    /// That and why the library ignores all of it, or does not get past it, and where.
    #[must_use]
    pub fn ignored(&self) -> Option<(Position, String)> {
        match &self.kind {
            Kind::Classic(of) => {
                let dropped = of.file.dropped.as_ref()?;
                let why = &dropped.why;
                let sentence = format!("the library ignores the whole file, without a word: {why}");
                Some((dropped.at, sentence))
            }
            Kind::Han(_) | Kind::Json(_) => {
                let fault = match &self.kind {
                    Kind::Json(of) => of.file.ignored()?,
                    Kind::Han(of) => of.file.faults.first()?,
                    Kind::Classic(_) | Kind::Mpich { .. } => return None,
                };
                let why = &fault.why;
                let sentence = if fault.crashes {
                    format!("MPI_Init crashes with a segmentation fault: {why}")
                } else {
                    format!("the library ignores the whole file: {why}")
                };
                Some((fault.at, sentence))
            }
            Kind::Mpich { file, .. } => file.ignored(),
        }
    }

    /// What is wrong with it, by place.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        match &self.kind {
            Kind::Classic(of) => open_mpi::check(&of.text, &of.file, of.library),
            Kind::Json(of) => open_mpi::check_json(&of.file, of.library),
            Kind::Han(of) => han::check(&of.file, of.library),
            Kind::Mpich { file, .. } => file.problems(),
        }
    }

    /// Rules that none of these calls comes to.
    #[must_use]
    pub fn unused(&self, calls: &[Explained<'_>]) -> Vec<Problem> {
        match &self.kind {
            Kind::Classic(of) => open_mpi::unused(&of.file, of.library, calls),
            Kind::Json(of) => open_mpi::unused_json(&of.file, of.library, calls),
            Kind::Han(of) => han::unused(&of.file, calls),
            Kind::Mpich { file, .. } => file.unused(calls, self.element),
        }
    }

    /// Whether files of its format have rules for an operation.
    fn has_rules_for(&self, operation: Operation) -> bool {
        match &self.kind {
            Kind::Classic(_) | Kind::Json(_) | Kind::Han(_) => open_mpi::has_number(operation),
            Kind::Mpich { .. } => MpichFile::has_rules_for(operation),
        }
    }

    /// What decides the calls of a class, in parts where the decision changes; nothing for operations
    /// that no rule file names.
    #[must_use]
    pub fn explain<'c>(&self, class: &'c CallClass) -> Vec<Explained<'c>> {
        if !self.has_rules_for(class.operation) {
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
        if !self.has_rules_for(class.operation) {
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
        match &self.kind {
            Kind::Classic(of) => open_mpi::starts(TunedFile::Classic(&of.file), of.library, class),
            Kind::Json(of) => open_mpi::starts(TunedFile::Json(&of.file), of.library, class),
            Kind::Han(of) => han::starts(&of.file, class),
            Kind::Mpich { file, .. } => file.starts(class),
        }
    }

    fn size(&self, class: &CallClass, bytes: u64) -> Option<u64> {
        match &self.kind {
            Kind::Classic(of) => open_mpi::size(of.library, class, bytes, self.element),
            Kind::Json(of) => open_mpi::size(of.library, class, bytes, self.element),
            Kind::Han(_) => han::size(class, bytes),
            Kind::Mpich { file, .. } => file.size(class, bytes),
        }
    }

    fn decide(&self, class: &CallClass, bytes: u64) -> Decision {
        match &self.kind {
            Kind::Classic(of) => {
                let call = open_mpi::Call::of(class, bytes, self.element);
                let file = TunedFile::Classic(&of.file);
                open_mpi::decide(file, of.library, &of.settings, call)
            }
            Kind::Json(of) => {
                let call = open_mpi::Call::of(class, bytes, self.element);
                let file = TunedFile::Json(&of.file);
                open_mpi::decide(file, of.library, &of.settings, call)
            }
            Kind::Han(of) => han::decide(&of.file, of.library, &of.settings, class, bytes),
            Kind::Mpich { file, .. } => file.decide(class, bytes, self.element),
        }
    }
}
