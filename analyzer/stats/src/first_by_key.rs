//! The first few of things by their keys: those that are kept do not depend on who was met first.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde::{Deserialize, Serialize};

/// A list of things in the order of their keys, of which no more than `MOST` are kept, and for each
/// how many instances there are of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FirstByKey<T, const MOST: usize> {
    list: Vec<T>,
}

/// What can be kept.
pub trait Keyed {
    /// What it is told from others by.
    type Key: Ord + ?Sized;

    /// Its key.
    fn key(&self) -> &Self::Key;

    /// Instances.
    fn instances(&self) -> u64;
}

impl<T, const MOST: usize> Default for FirstByKey<T, MOST> {
    fn default() -> Self {
        Self { list: Vec::new() }
    }
}

impl<T: Keyed, const MOST: usize> FirstByKey<T, MOST> {
    /// Those that are kept, by their keys.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.list.iter()
    }

    /// That of the most instances; the first where several have as many.
    pub fn usual(&self) -> Option<&T> {
        self.list.iter().rev().max_by_key(|one| one.instances())
    }

    /// That with a key: what is `new`, if it is kept from now on; `None` if it is not.
    pub fn of(&mut self, key: &T::Key, new: impl FnOnce() -> T) -> Option<&mut T> {
        let at = match self.list.binary_search_by(|one| one.key().cmp(key)) {
            Ok(at) => at,
            Err(at) if at == MOST => return None,
            Err(at) => {
                self.list.insert(at, new());
                self.list.truncate(MOST);
                at
            }
        };
        Some(&mut self.list[at])
    }

    /// Adds those of another part; `add` one to another with the same key.
    pub fn merge(&mut self, other: &Self, add: impl Fn(&mut T, &T))
    where
        T: Clone,
    {
        for theirs in &other.list {
            let mut is_new = false;
            let own = self.of(theirs.key(), || {
                is_new = true;
                theirs.clone()
            });
            if let (Some(own), false) = (own, is_new) {
                add(own, theirs);
            }
        }
    }
}

/// Keeps a value, and of two with the same key the lesser.
pub fn keep_lesser<K: Ord, V: Ord>(kept: &mut BTreeMap<K, V>, key: K, value: V) {
    match kept.entry(key) {
        Entry::Vacant(own) => drop(own.insert(value)),
        Entry::Occupied(mut own) if value < *own.get() => drop(own.insert(value)),
        Entry::Occupied(_) => {}
    }
}
