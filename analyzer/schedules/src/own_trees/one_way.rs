//! Operations in which data flow one way: to the root, or from it.

use std::collections::HashMap;

use collbench_plans::{Flow, Paths, Place, Step, steps};

use super::Blocks;
use super::written::{IN_MEMORY, InMemory, Written};

/// What each process does in each segment of an operation, by rank.
#[derive(Debug)]
pub(super) struct Plans<'p> {
    paths: &'p Paths,
    flow: Flow,
    steps: Vec<Vec<Step>>,
    /// What lies in the memory of a host: who puts it there, and who takes it.
    in_memory: HashMap<Place, Shared>,
}

/// A value in the memory of a host.
#[derive(Debug, Default)]
struct Shared {
    writer: Option<u32>,
    readers: Vec<u32>,
}

impl<'p> Plans<'p> {
    pub(super) fn new(paths: &'p Paths, flow: Flow, root: u32) -> Self {
        let ranks = 0..paths.n_ranks() as u32;
        let steps: Vec<Vec<Step>> = ranks.map(|me| steps(paths, flow, root, me)).collect();
        let mut in_memory: HashMap<Place, Shared> = HashMap::new();
        for (me, steps) in (0..).zip(&steps) {
            for step in steps {
                let is_in_memory = |place: &Place| place.join(paths).is_some();
                let puts = step.outputs.iter().map(|of| of.to);
                for place in puts.filter(is_in_memory) {
                    in_memory.entry(place).or_default().writer = Some(me);
                }
                let takes = step.inputs.iter().map(|of| of.from);
                for place in takes.filter(is_in_memory) {
                    in_memory.entry(place).or_default().readers.push(me);
                }
            }
        }
        Self {
            paths,
            flow,
            steps,
            in_memory,
        }
    }

    /// Writes down what a process does in a segment with so many bytes of each rank.
    pub(super) fn write(&self, blocks: Blocks, bytes: u64, written: &mut Written) {
        for step in &self.steps[written.rank() as usize] {
            let messages = step.inputs.iter().filter_map(|input| match input.from {
                Place::Program => None,
                Place::Message { other, tag } => Some((other, tag)),
                in_memory => {
                    let writer = self.in_memory[&in_memory].writer;
                    writer.map(|writer| (writer, IN_MEMORY))
                }
            });
            written.receive_all(messages);
            written.combine(step.inputs.len(), bytes);
            for output in &step.outputs {
                let bytes = bytes * blocks.of_ranks(output.ranks.len());
                if let Place::Message { other, tag } = output.to {
                    written.send(other, tag, bytes);
                } else if let Some(join) = output.to.join(self.paths) {
                    let host = self.paths.hosts[written.rank() as usize];
                    let how = InMemory {
                        contributors: self.paths.n_meeting(join, host),
                        is_brought: self.flow == Flow::ToRoot,
                    };
                    for &reader in &self.in_memory[&output.to].readers {
                        written.put(reader, how, bytes);
                    }
                }
            }
        }
    }
}
