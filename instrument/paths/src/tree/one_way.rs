//! What a process does in operations in which data flow one way, with the blocks of their values.

use collbench_plans::{Flow, Passing, Paths, Place};

use crate::values::{Merge, Shape, positions};

/// A value that is taken.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) from: Place,
    /// The event collector that it passes on its arrival.
    pub(crate) passing: Option<Passing>,
}

/// A value that is forwarded.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) to: Place,
    /// Which of the blocks; `None` for all.
    pub(crate) blocks: Option<Vec<u32>>,
    pub(crate) passing: Option<Passing>,
}

/// One thing to do: take some values, put them together, forward them.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) inputs: Vec<Input>,
    pub(crate) merge: Merge,
    /// Event collectors that the value passes within this process.
    pub(crate) passings: Vec<Passing>,
    pub(crate) outputs: Vec<Output>,
}

/// What a process does in one segment of an operation, in this order.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    /// The most inputs of a step.
    pub(crate) max_inputs: usize,
}

impl Plan {
    /// What process `me` does.
    pub(crate) fn new(paths: &Paths, flow: Flow, shape: Shape, root: u32, me: u32) -> Self {
        let steps = collbench_plans::steps(paths, flow, root, me).into_iter();
        let steps: Vec<Step> = steps.map(|step| Step::of(step, shape)).collect();
        let max_inputs = steps.iter().map(|step| step.inputs.len()).max();
        Self {
            max_inputs: max_inputs.unwrap_or(0),
            steps,
        }
    }
}

impl Step {
    fn of(step: collbench_plans::Step, shape: Shape) -> Self {
        let sets: Vec<&[u32]> = step.inputs.iter().map(|input| &input.ranks[..]).collect();
        let merge = Merge::new(&sets, shape);
        let mut all = sets.concat();
        all.sort_unstable();
        let outputs = step.outputs.into_iter().map(|output| {
            let is_part = shape == Shape::PerRank && output.ranks != all;
            Output {
                to: output.to,
                blocks: is_part.then(|| positions(&all, &output.ranks, shape)),
                passing: output.passing,
            }
        });
        Self {
            outputs: outputs.collect(),
            merge,
            passings: step.passings,
            inputs: (step.inputs.into_iter())
                .map(|input| Input {
                    from: input.from,
                    passing: input.passing,
                })
                .collect(),
        }
    }
}
