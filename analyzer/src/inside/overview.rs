//! The trees and other graphs of a run in words.

use std::collections::BTreeMap;

use crate::analysis::{Analysis, OperationSummary};
use crate::inert;
use crate::words::{communicator, counted};

/// How each collective is done, one sentence for each operation and communicator, those with the most
/// time first; where several algorithms are at work, with the payloads of each.
pub(crate) fn algorithms(analysis: &Analysis) -> Vec<String> {
    type Of = (&'static str, Option<usize>);
    let mut order: Vec<Of> = Vec::new();
    let mut found: BTreeMap<Of, BTreeMap<&str, Use>> = BTreeMap::new();
    for operation in &analysis.operations {
        let Some(algorithm) = &operation.algorithm else {
            continue;
        };
        let of = (operation.operation, operation.communicator);
        if !found.contains_key(&of) {
            order.push(of);
        }
        let uses = found.entry(of).or_default();
        uses.entry(algorithm).or_default().add(operation);
    }
    order
        .iter()
        .map(|of| sentence(analysis, *of, &found[of]))
        .collect()
}

fn sentence(
    analysis: &Analysis,
    (operation, id): (&str, Option<usize>),
    uses: &BTreeMap<&str, Use>,
) -> String {
    let mut uses: Vec<(&str, &Use)> = uses.iter().map(|(name, of)| (*name, of)).collect();
    // From small payloads to large ones, as libraries choose.
    uses.sort_by_key(|(name, of)| (of.bytes, *name));
    let name = communicator(analysis, id, MAX_NAME);
    let uses: Vec<String> = uses.iter().map(|(name, of)| of.in_words(name)).collect();
    format!("{operation} on {name}: {}", uses.join("; "))
}

/// Characters of a communicator's name.
const MAX_NAME: usize = 40;

/// Where an algorithm was at work.
#[derive(Debug, Default)]
struct Use {
    /// What else its graph is called everywhere, among so few, where the library has not decided.
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
            let names = match tree.library_name {
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

    fn in_words(&self, name: &str) -> String {
        let payload = match self.bytes {
            Some((0, 0)) | None => String::new(),
            Some((least, most)) if least == most => format!(" of {}", counted(least, "byte")),
            Some((least, most)) => format!(" of {least} to {most} bytes"),
        };
        let tree = match self.tree {
            Some((height, fan_out)) => {
                format!(", {} high, {fan_out} wide", counted(height.into(), "hop"))
            }
            None => String::new(),
        };
        let instances = counted(self.instances, "instance");
        // Among two or three everything is everything.
        let also = match self.also.as_deref().unwrap_or_default() {
            names if names.len() > MAX_ALSO => String::new(),
            names => names.iter().map(|name| format!(" or {name}")).collect(),
        };
        format!(
            "{} ({instances}{payload}{tree})",
            inert::line(&format!("{name}{also}"), MAX_ALGORITHM)
        )
    }
}

/// Other names of a graph that are told.
const MAX_ALSO: usize = 2;
/// Characters of an algorithm's name.
const MAX_ALGORITHM: usize = 80;
