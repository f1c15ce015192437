//! Executing what was planned for operations in which data flow one way.

use super::direct_broadcast::DirectBroadcast;
use super::worker::Worker;
use crate::error::Error;
use crate::transport::Transport;
use crate::tree::{Passing, Place, Plan, Step};
use crate::values::{Combine, Header, Position};

/// A process's part of a segment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    /// The payload of one rank in the whole operation, bytes.
    pub(crate) total: usize,
    /// Length of what is in this segment, of all blocks.
    pub(crate) n_bytes: usize,
    /// Whether nothing comes after it.
    pub(crate) is_last: bool,
}

/// Makes what the program brings the value.
pub(crate) fn bring_value<T: Transport>(
    worker: &mut Worker<T>,
    mut bring: impl FnMut(&mut [u8]) -> Part,
) {
    worker.set_value(|buffer| {
        let part = bring(buffer);
        Header {
            total: part.total as u64,
            n_bytes: part.n_bytes,
            is_last: part.is_last,
            ..Header::default()
        }
    });
}

/// What brings this process's part of a segment, into a buffer.
type Bring<'a> = dyn FnMut(&mut [u8]) -> Part + 'a;
/// What takes that which comes to this process, and returns whether it was too long.
type Take<'a> = dyn FnMut(&[u8], &dyn Combine) -> bool + 'a;

/// A plan, with what has been learned about each of its steps in the operation under way.
pub(crate) struct Execution {
    plan: Plan,
    /// What is done instead where that is possible.
    pub(crate) broadcast: Option<DirectBroadcast>,
    /// Whether each step has had its last segment.
    has_ended: Vec<bool>,
    /// The latest header of each input of each step.
    inputs: Vec<Vec<Header>>,
    /// Which inputs of a step have come.
    has_come: Vec<bool>,
    is_truncated: bool,
}

impl Execution {
    pub(crate) fn new(plan: Plan, broadcast: Option<DirectBroadcast>) -> Self {
        let inputs = plan.steps.iter().map(|step| step.inputs.len());
        Self {
            has_ended: vec![false; plan.steps.len()],
            inputs: inputs.map(|n| vec![Header::default(); n]).collect(),
            has_come: vec![false; plan.max_inputs],
            is_truncated: false,
            broadcast,
            plan,
        }
    }

    /// Begins an operation.
    pub(crate) fn begin(&mut self) {
        self.has_ended.fill(false);
        self.is_truncated = false;
    }

    /// Whether each step has had its last segment.
    pub(crate) fn has_ended(&self) -> bool {
        !self.has_ended.contains(&false)
    }

    /// Whether what came to this process was too long, or of different lengths.
    pub(crate) fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    /// All steps of a segment.
    pub(crate) fn segment<T: Transport>(
        &mut self,
        worker: &mut Worker<T>,
        combine: &mut dyn Combine,
        at: Position,
        bring: &mut Bring<'_>,
        take: &mut Take<'_>,
    ) -> Result<(), Error> {
        for nth in 0..self.plan.steps.len() {
            if self.has_ended[nth] {
                continue;
            }
            let step = &self.plan.steps[nth];
            if let [input] = &step.inputs[..] {
                // Nothing to be put together: it is the value as it comes.
                if input.from == Place::Program {
                    bring_value(worker, &mut *bring);
                } else {
                    worker.await_value(input.from, at)?;
                    record_passing(worker, input.passing, at);
                }
            } else {
                let known = (&mut self.inputs[nth][..], &mut self.has_come[..]);
                take_inputs(worker, step, known, at, bring)?;
                worker.merge(&step.merge, combine);
            }
            self.has_ended[nth] = worker.header.is_last;
            self.is_truncated |= forward(worker, step, combine, at, take)?;
        }
        Ok(())
    }
}

/// Forwards the value to wherever it goes from here. Returns whether it was too long for the program.
fn forward<T: Transport>(
    worker: &mut Worker<T>,
    step: &Step,
    combine: &dyn Combine,
    at: Position,
    take: &mut Take<'_>,
) -> Result<bool, Error> {
    for &passing in &step.passings {
        record_passing(worker, Some(passing), at);
    }
    let n_blocks = step.merge.n_result_blocks();
    let mut is_truncated = false;
    for output in &step.outputs {
        record_passing(worker, output.passing, at);
        let blocks = output.blocks.as_deref();
        if output.to == Place::Program {
            is_truncated |= worker.header.is_truncated;
            let value = match blocks {
                Some(blocks) => worker.selection(n_blocks, blocks),
                None => worker.value(),
            };
            is_truncated |= take(value, combine);
        } else {
            let selection = blocks.map(|blocks| (n_blocks, blocks));
            worker.forward(output.to, at, selection)?;
        }
    }
    Ok(is_truncated)
}

/// Waits for the inputs of a step, whichever comes first.
fn take_inputs<T: Transport>(
    worker: &mut Worker<T>,
    step: &Step,
    (known, has_come): (&mut [Header], &mut [bool]),
    at: Position,
    bring: &mut Bring<'_>,
) -> Result<(), Error> {
    let mut n_missing = step.inputs.len();
    let has_come = &mut has_come[..n_missing];
    for (nth, input) in step.inputs.iter().enumerate() {
        // One that was shorter than others brings nothing more.
        let has_ended = at.segment() > 0 && known[nth].is_last;
        if has_ended {
            worker.no_input(nth, known[nth]);
        } else if input.from == Place::Program {
            bring_value(worker, &mut *bring);
            worker.await_input(nth, Place::Program, at)?;
            known[nth] = worker.input_headers[nth];
        }
        has_come[nth] = has_ended || input.from == Place::Program;
        n_missing -= usize::from(has_come[nth]);
    }
    while n_missing > 0 {
        let ((nth, by), has_waited) = worker.wait(|worker| {
            for (nth, input) in step.inputs.iter().enumerate() {
                if has_come[nth] {
                    continue;
                }
                if let Some(by) = worker.take_input(nth, input.from, at)? {
                    return Ok(Some((nth, by)));
                }
            }
            Ok(None)
        })?;
        let input = &step.inputs[nth];
        worker.note_woken(by, has_waited, input.from);
        has_come[nth] = true;
        known[nth] = worker.input_headers[nth];
        n_missing -= 1;
        record_passing(worker, input.passing, at);
    }
    Ok(())
}

fn record_passing<T: Transport>(worker: &mut Worker<T>, passing: Option<Passing>, at: Position) {
    if let Some(Passing { collector, is_down }) = passing {
        let collector = Some(collector);
        let now = worker.stamp(collector);
        let (down, up) = if is_down { (now, 0) } else { (0, now) };
        worker.record(collector, at, down, up);
    }
}
