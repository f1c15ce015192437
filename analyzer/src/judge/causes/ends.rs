//! How late what others wait for makes all ranks where they meet: the run is shorter by no more than that.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use crate::communicators::CommunicatorEntry;
use crate::judge::causes::Finder;
use crate::judge::causes::late::Late;
use crate::selection::Selection;

impl Finder<'_, '_> {
    /// By how much late ones make the run longer, at most, ns: by how much they make those late that all wait for.
    ///
    /// That is no bound where all ranks have waited for them before, on communicators of some: they are equally late when they
    /// meet, and nobody waits. In a part of the run, they may not meet.
    pub(super) fn at_ends_ns(&self, of: &Late) -> i64 {
        let cost = of.cost();
        let reached = self
            .smaller_entries(of)
            .flat_map(|entry| entry.ranks.iter().flatten());
        self.at_ends_unless_reached_ns(cost.at_ends_ns, reached)
    }

    /// The same if the cause is removed from all communicators of the same names, such as all parts of a split one: if only one part
    /// were earlier, the run would be no shorter.
    pub(super) fn at_ends_of_parts_ns(&self, of: &Late) -> i64 {
        let names: BTreeSet<&str> = self.smaller_entries(of).map(|entry| &*entry.name).collect();
        let parts = self.inputs.communicators.entries.iter();
        let parts = parts.filter(|entry| names.contains(&*entry.name));
        self.at_ends_unless_reached_ns(
            of.cost().at_ends_ns,
            parts.flat_map(|entry| entry.ranks.iter().flatten()),
        )
    }

    fn at_ends_unless_reached_ns<'r>(
        &self,
        at_ends_ns: i64,
        reached: impl Iterator<Item = &'r u32>,
    ) -> i64 {
        let reached: FxHashSet<&u32> = reached.collect();
        let instances = Selection {
            ranks: Vec::new(),
            ..self.inputs.selection.clone()
        };
        let is_part = instances != Selection::default();
        let are_all = reached.len() >= self.inputs.run.processes.len();
        if are_all || is_part && !reached.is_empty() {
            i64::MAX
        } else {
            at_ends_ns
        }
    }

    /// The communicators of some of the ranks on which others wait for late ones.
    fn smaller_entries(&self, of: &Late) -> impl Iterator<Item = &CommunicatorEntry> {
        let entries = &self.inputs.communicators.entries;
        let operations = of
            .operations
            .keys()
            .filter_map(|hash| self.operations.get(hash));
        let entries = operations.filter_map(|(_, key)| entries.get(key.entry?));
        entries.filter(|entry| entry.size < self.inputs.run.processes.len() as u64)
    }
}
