//! The first few items by key: which items are retained does not depend on the order in which they
//! were met.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde::{Deserialize, Serialize};

/// At most `MOST` items, those with the least keys, in ascending order, each with its number of
/// instances.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FirstByKey<T, const MOST: usize> {
    list: Vec<T>,
}

/// An item with a key.
pub trait Keyed {
    /// What distinguishes it from other items.
    type Key: Ord + ?Sized;

    /// The key.
    fn key(&self) -> &Self::Key;

    /// Number of instances.
    fn instances(&self) -> u64;
}

impl<T, const MOST: usize> Default for FirstByKey<T, MOST> {
    fn default() -> Self {
        Self { list: Vec::new() }
    }
}

impl<T: Keyed, const MOST: usize> FirstByKey<T, MOST> {
    /// The retained items, ascending by key.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.list.iter()
    }

    /// The item with the most instances; the first by key of several with the same number.
    pub fn usual(&self) -> Option<&T> {
        self.list.iter().rev().max_by_key(|one| one.instances())
    }

    /// The item with this key: inserts `new()` if the key is among the first; `None` if it is not.
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

    /// Merges the items of another part; `add` adds one item to another with the same key.
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

/// Inserts a value, or replaces a greater value with the same key.
pub fn keep_lesser<K: Ord, V: Ord>(kept: &mut BTreeMap<K, V>, key: K, value: V) {
    match kept.entry(key) {
        Entry::Vacant(own) => drop(own.insert(value)),
        Entry::Occupied(mut own) if value < *own.get() => drop(own.insert(value)),
        Entry::Occupied(_) => {}
    }
}
