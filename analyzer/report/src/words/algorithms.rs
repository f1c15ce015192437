//! The algorithms of a run's collectives, in sentences.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use collbench_analyzer::Analysis;
use collbench_analyzer::results::OperationSummary;
use collbench_text::{
    inert,
    quantity::{counted, size_range},
};

use crate::words::communicators;

/// Which algorithms each collective uses: one sentence for each operation and the communicators on which it
/// uses the same, those with the most time first; of several algorithms with the payloads of each.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<String> {
    type Of<'a> = (&'a str, Option<usize>);
    let mut order: Vec<Of<'_>> = Vec::new();
    let mut found: BTreeMap<Of<'_>, BTreeMap<&str, Use>> = BTreeMap::new();
    for operation in &analysis.operations {
        let Some(algorithm) = &operation.algorithm else {
            continue;
        };
        let of = (&*operation.operation, operation.communicator);
        if !found.contains_key(&of) {
            order.push(of);
        }
        let uses = found.entry(of).or_default();
        uses.entry(algorithm).or_default().add(operation);
    }
    let mut alike: Vec<Alike<'_>> = Vec::new();
    let mut known: BTreeMap<(&str, Vec<LooksLike<'_>>), usize> = BTreeMap::new();
    for of in order {
        let uses = found.remove(&of).unwrap_or_default();
        let looks_like = uses.iter().map(|(name, of)| of.looks_like(name));
        let key = (of.0, looks_like.collect());
        match known.entry(key) {
            Entry::Occupied(at) => alike[*at.get()].add(of.1, &uses),
            Entry::Vacant(new) => {
                new.insert(alike.len());
                alike.push(Alike {
                    operation: of.0,
                    communicators: vec![of.1],
                    uses,
                });
            }
        }
    }
    let sentences = alike.iter().map(|alike| alike.sentence(analysis));
    sentences.collect()
}

/// An operation, and communicators on which it uses the same algorithms.
struct Alike<'a> {
    operation: &'a str,
    communicators: Vec<Option<usize>>,
    uses: BTreeMap<&'a str, Use>,
}

impl<'a> Alike<'a> {
    fn add(&mut self, communicator: Option<usize>, uses: &BTreeMap<&'a str, Use>) {
        self.communicators.push(communicator);
        for (own, other) in self.uses.values_mut().zip(uses.values()) {
            own.instances += other.instances;
        }
    }

    fn sentence(&self, analysis: &Analysis) -> String {
        let mut uses: Vec<(&str, &Use)> = self.uses.iter().map(|(name, of)| (*name, of)).collect();
        // From small payloads to large ones, as libraries choose.
        uses.sort_by_key(|(name, of)| (of.bytes, *name));
        let names = communicators(analysis, &self.communicators, MAX_NAME, MAX_COMMUNICATORS);
        let uses: Vec<String> = uses.iter().map(|(name, of)| of.in_words(name)).collect();
        format!("{} on {names}: {}", self.operation, uses.join("; "))
    }
}

/// Communicators that are named.
const MAX_COMMUNICATORS: usize = 3;
/// Characters of a communicator's name.
const MAX_NAME: usize = 40;

/// All that is shown of an algorithm but for the number of instances.
type LooksLike<'a> = (&'a str, Vec<String>, Option<(u64, u64)>, Option<(u32, u32)>);

/// The use of an algorithm.
#[derive(Debug, Default)]
struct Use {
    /// Other algorithms that have the same graph in all instances; empty where the library named one.
    also: Option<Vec<String>>,
    instances: u64,
    bytes: Option<(u64, u64)>,
    /// The one tree, if it is one: height and fan-out.
    tree: Option<(u32, u32)>,
}

impl Use {
    fn add(&mut self, operation: &OperationSummary) {
        self.instances += operation.instances;
        if let (Some(least), Some(most)) = (operation.bytes_min, operation.bytes_max) {
            let (own_least, own_most) = self.bytes.unwrap_or((least, most));
            self.bytes = Some((own_least.min(least), own_most.max(most)));
        }
        let tree = operation.trees.as_ref().and_then(|trees| trees.first());
        if let Some(tree) = tree {
            // The library's name decides.
            let names = match operation.library_name {
                Some(_) => &[],
                None => &tree.also[..],
            };
            match &mut self.also {
                Some(also) => also.retain(|name| names.contains(name)),
                None => self.also = Some(names.to_vec()),
            }
        }
        self.tree = tree
            .and_then(|tree| tree.height.zip(tree.fan_out))
            .or(self.tree);
    }

    fn looks_like<'a>(&self, name: &'a str) -> LooksLike<'a> {
        let also = self.also.clone().unwrap_or_default();
        (name, also, self.bytes, self.tree)
    }

    fn in_words(&self, name: &str) -> String {
        let payload = match self.bytes {
            Some((0, 0)) | None => String::new(),
            Some((least, most)) => format!(" of {}", size_range(least, most)),
        };
        let tree = match self.tree {
            Some((height, fan_out)) => {
                format!(", height {height}, fan-out {fan_out}")
            }
            None => String::new(),
        };
        let instances = counted(self.instances, "instance");
        // In a small group many algorithms have the same graph.
        let also = match self.also.as_deref().unwrap_or_default() {
            names if names.len() > MAX_ALSO => format!(" or {} other names", names.len()),
            names => names.iter().map(|name| format!(" or {name}")).collect(),
        };
        format!(
            "{} ({instances}{payload}{tree})",
            inert::line(&format!("{name}{also}"), MAX_ALGORITHM)
        )
    }
}

/// Other names of a graph that are listed.
const MAX_ALSO: usize = 2;
/// Characters of an algorithm's name.
const MAX_ALGORITHM: usize = 80;
