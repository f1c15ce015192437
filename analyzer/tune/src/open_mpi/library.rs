//! A version of the library, with its table.

use collbench_formats::Operation;

use super::version::{OperationTable, Version, VersionTable};
use super::{v4_1, v5_0, v6_0};

/// A version, with its table.
#[derive(Debug, Clone, Copy)]
pub struct Library {
    /// Which one.
    pub version: Version,
    /// What all releases of it have in common.
    pub table: &'static VersionTable,
}

impl Library {
    /// `None` for a version that has no table.
    #[must_use]
    pub fn of(version: Version) -> Option<Self> {
        let table = match (version.major, version.minor) {
            (4, 1) => &v4_1::TABLE,
            (5, 0) => &v5_0::TABLE,
            (6, 0) => &v6_0::TABLE,
            _ => return None,
        };
        Some(Self { version, table })
    }

    /// Whether its reader knows the line `rule-file-version-2` and the fifth number of a rule.
    #[must_use]
    pub fn reads_version_line(&self) -> bool {
        self.version.release >= self.table.version_line_since
    }

    /// The table of an operation, blocking or not; `None` for one without rules.
    #[must_use]
    pub fn operation(&self, operation: Operation) -> Option<&'static OperationTable> {
        let mut tables = self.table.operations.iter().copied();
        tables.find(|table| table.operation == operation)
    }

    /// The table of an operation by its number in a file.
    #[must_use]
    pub fn operation_by_id(&self, id: i64) -> Option<&'static OperationTable> {
        let mut tables = self.table.operations.iter().copied();
        tables.find(|table| table.id == id)
    }
}

/// The library of a name that has a table, for tests.
#[cfg(test)]
pub(crate) fn library_of(name: &str) -> Library {
    let version = Version::find(name).expect("a version");
    Library::of(version).expect("its table")
}
