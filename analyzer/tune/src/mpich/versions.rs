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
}
