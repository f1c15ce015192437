//! What a process did, from the times at which it did it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::schedule::{Action, Process, What};

/// Something that a process did at some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timed {
    /// What it did.
    pub what: What,
    /// When it began, ns.
    pub begin_ns: i64,
    /// When it had ended; `None` where that is not known: then nothing waits for it before the end.
    pub end_ns: Option<i64>,
}

impl Process {
    /// What a process did, in the order in which it began. Each action waits for those that had ended when it began.
    #[must_use]
    pub fn that_ran(did: &[Timed]) -> Self {
        let mut under_way = BinaryHeap::new();
        let mut is_waited = vec![false; did.len()];
        let mut actions = Vec::with_capacity(did.len());
        for (at, of) in did.iter().enumerate() {
            let mut after = Vec::new();
            while let Some(&Reverse((end_ns, other))) = under_way.peek()
                && end_ns <= of.begin_ns
            {
                under_way.pop();
                is_waited[other] = true;
                after.push(other);
            }
            after.sort_unstable();
            actions.push(Action {
                what: of.what,
                after,
            });
            under_way.extend(of.end_ns.map(|end_ns| Reverse((end_ns, at))));
        }
        Self {
            at_end: (0..did.len()).filter(|at| !is_waited[*at]).collect(),
            actions,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_waits_for_what_had_ended_when_it_began() {
        let receive = |begin_ns, end_ns| Timed {
            what: What::Receive { from: Some(1) },
            begin_ns,
            end_ns,
        };
        let send = |begin_ns| Timed {
            what: What::Send {
                to: 2,
                bytes: 8,
                is_synchronous: false,
            },
            begin_ns,
            end_ns: None,
        };
        let process = Process::that_ran(&[
            receive(0, Some(50)),
            receive(1, Some(20)),
            receive(2, None),
            send(20),
            send(30),
            receive(60, Some(70)),
        ]);
        let after: Vec<&[usize]> = process.actions.iter().map(|of| &of.after[..]).collect();
        assert_eq!(after, [&[][..], &[], &[], &[1], &[], &[0]]);
        assert_eq!(process.at_end, [2, 3, 4, 5]);
    }
}
