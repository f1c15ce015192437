//! The versions that there are models of.

use super::version::Version;
use super::{table_4_0, table_5_0};

static VERSIONS: [Version; 2] = [table_4_0::VERSION, table_5_0::VERSION];

impl Version {
    /// The model of version `number`, such as `4.0.2`: that of 5.0 from 5 on, else that of 4.0.
    #[must_use]
    pub fn of(number: &str) -> &'static Self {
        let major = number
            .split('.')
            .next()
            .and_then(|major| major.parse::<u32>().ok());
        &VERSIONS[usize::from(major.is_some_and(|major| major >= 5))]
    }

    /// The model for a library of this name, with the number of its version: `MPICH 4.0.2`, or what
    /// `MPI_Get_library_version` says. `None` for other libraries, those made from MPICH included, and for other versions than
    /// 4.0 and 5.0, whose algorithms are others.
    #[must_use]
    pub fn find(library: &str) -> Option<(&'static Self, String)> {
        let after = library.trim_start().strip_prefix("MPICH")?;
        let after = after
            .trim_start()
            .trim_start_matches("Version")
            .trim_start_matches(':');
        let number: String = after
            .trim_start()
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || *c == '.')
            .collect();
        let is_known = VERSIONS.iter().any(|version| {
            number
                .strip_prefix(version.number)
                .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
        });
        is_known.then(|| (Self::of(&number), number))
    }
}
