//! Where a process runs.

use bincode::{Decode, Encode};

use super::wrapper::Level;

/// Where a process runs. Two processes are at one place of a level if their numbers of that level
/// and of all wider levels are equal; `None` is where it is not known, or not at one place, and
/// equal to `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
pub struct Place {
    /// The site of its host.
    pub site: Option<u32>,
    /// The switch of its host.
    pub switch: Option<u32>,
    /// Its host.
    pub host: u32,
    /// Its socket, if it is bound to one.
    pub socket: Option<u32>,
    /// Its core complex, if it is bound to one.
    pub core_complex: Option<u32>,
}

impl Place {
    /// The number at a level; `None` where it is not known, and at the level of ranks.
    #[must_use]
    pub const fn at(&self, level: Level) -> Option<u32> {
        match level {
            Level::Rank => None,
            Level::CoreComplex => self.core_complex,
            Level::Socket => self.socket,
            Level::Host => Some(self.host),
            Level::Switch => self.switch,
            Level::Site => self.site,
        }
    }
}

impl Level {
    /// What processes at these places, at least one, extend across: [`Site`](Self::Site) if they are at
    /// several sites, else [`Host`](Self::Host) if on several hosts, else [`Rank`](Self::Rank).
    #[must_use]
    pub fn across(places: &[Place]) -> Self {
        let are_apart = |level: &Self| {
            places
                .iter()
                .any(|of| of.at(*level) != places[0].at(*level))
        };
        let levels = [Self::Site, Self::Host];
        levels.into_iter().find(are_apart).unwrap_or(Self::Rank)
    }
}
