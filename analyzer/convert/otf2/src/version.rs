//! The version of the OTF2 library.

use std::fmt;

/// Version of the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    /// What changes with the interface.
    pub major: u8,
    /// What changes with additions.
    pub minor: u8,
    /// What changes with corrections.
    pub bugfix: u8,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.bugfix)
    }
}
