//! Broadcasts of which a process only gives or only takes the value, in the memory of its host, with
//! nothing between the buffer of the program and shared memory.

use super::lent::{give, lend, take_all};
use super::worker::Worker;
use crate::error::Error;
use crate::transport::Transport;
use crate::tree::{Input, Output, Paths, Place, Plan, Step, Value};
use crate::values::Position;

/// What a process does in a broadcast in which it only gives or only takes, in the memory of its host
/// and without event collectors.
#[derive(Debug)]
pub(crate) enum DirectBroadcast {
    /// It publishes what the program has as each of `values`.
    Give {
        values: Vec<Value>,
        /// Whether all others only take it.
        is_to_all: bool,
    },
    /// It takes this.
    Take(Value),
}

impl DirectBroadcast {
    /// `None` if it does something else.
    pub(crate) fn of<T: Transport>(plan: &Plan, paths: &Paths, worker: &Worker<T>) -> Option<Self> {
        let [step] = &plan.steps[..] else {
            return None;
        };
        let Step {
            inputs,
            passings,
            outputs,
            ..
        } = step;
        let [
            Input {
                from,
                passing: None,
            },
        ] = inputs[..]
        else {
            return None;
        };
        let is_whole = |output: &Output| output.blocks.is_none() && output.passing.is_none();
        if !passings.is_empty() || !outputs.iter().all(is_whole) {
            return None;
        }
        if from == Place::Program {
            let others = outputs.iter().filter(|output| output.to != Place::Program);
            let values = others.map(|output| worker.shared_value(output.to));
            return Some(Self::Give {
                values: values.collect::<Option<_>>()?,
                is_to_all: is_flat(paths),
            });
        }
        let is_for_program = matches!(
            outputs[..],
            [Output {
                to: Place::Program,
                ..
            }]
        );
        let value = worker.shared_value(from).filter(|_| is_for_program);
        value.map(Self::Take)
    }

    /// Gives all others what the root has, in the operation with this number.
    ///
    /// # Errors
    /// [`Error::Truncated`] if that is longer than the buffer.
    #[inline]
    pub(crate) fn execute<T: Transport>(
        &self,
        worker: &mut Worker<T>,
        call: u64,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        let begin = Position::new(call, 0);
        let is_truncated = match self {
            Self::Give { values, is_to_all } => {
                let given = &*buffer;
                let total = given.len();
                let to = values.iter().map(|&value| (value, given));
                let begin = if *is_to_all && worker.copies_once(total) {
                    lend(worker, to.clone(), begin, total)?
                } else {
                    Some(begin)
                };
                if let Some(begin) = begin {
                    give(worker, to, begin, (total, worker.segment_bytes))?;
                }
                false
            }
            Self::Take(value) => take_all(worker, *value, begin, buffer)?,
        };
        worker.finish(Position::end(call));
        if is_truncated {
            return Err(Error::Truncated);
        }
        Ok(())
    }
}

/// Whether all ranks meet in one place on one host, without event collectors on their way there:
/// whichever is the root, all others take what it publishes, and do nothing else.
fn is_flat(paths: &Paths) -> bool {
    let is_plain = |&edge: &usize| {
        let edge = &paths.edges[edge];
        edge.collectors == [None; 2] && !edge.is_proxy
    };
    paths.meeting_place().is_some() && paths.first_edges.iter().all(is_plain)
}
