//! Schedules in GOAL, the language of LogGOPSim.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::schedule::{Schedule, UnmatchedError, What};

impl Schedule {
    /// The schedule in GOAL. The messages from one process to another have ascending tags. Combining a byte takes
    /// `combine_ns_per_byte`.
    ///
    /// # Errors
    /// [`UnmatchedError`] if not each send has a receive, and each receive a send.
    ///
    /// # Source
    /// Hoefler, Siebert, Lumsdaine 2009 (Group Operation Assembly Language); the grammar is that of LogGOPSim's `txt2bin`.
    pub fn to_goal(&self, combine_ns_per_byte: f64) -> Result<String, UnmatchedError> {
        let mut tags: BTreeMap<(usize, usize), u32> = BTreeMap::new();
        // By process and action the other process, the length and the tag of its message.
        let mut ends: BTreeMap<(usize, usize), (usize, u64, u32)> = BTreeMap::new();
        for of in self.messages()? {
            let tag = tags.entry((of.from, of.to)).or_default();
            ends.insert((of.from, of.send), (of.to, of.bytes, *tag));
            ends.insert((of.to, of.receive), (of.from, of.bytes, *tag));
            *tag += 1;
        }
        let mut text = format!("num_ranks {}\n", self.processes.len());
        for (rank, process) in self.processes.iter().enumerate() {
            let _ = writeln!(text, "\nrank {rank} {{");
            for (at, action) in process.actions.iter().enumerate() {
                let number = at + 1;
                let end = ends.get(&(rank, at));
                let _ = match (action.what, end) {
                    (What::Send { .. }, Some((to, bytes, tag))) => {
                        writeln!(text, "l{number}: send {bytes}b to {to} tag {tag}")
                    }
                    (What::Receive { .. }, Some((from, bytes, tag))) => {
                        writeln!(text, "l{number}: recv {bytes}b from {from} tag {tag}")
                    }
                    (What::Combine { bytes }, _) => {
                        let ns = (bytes as f64 * combine_ns_per_byte).round();
                        writeln!(text, "l{number}: calc {ns}")
                    }
                    _ => Ok(()),
                };
                if at > 0 {
                    let _ = writeln!(text, "l{number} irequires l{at}");
                }
                for other in &action.after {
                    let _ = writeln!(text, "l{number} requires l{}", other + 1);
                }
            }
            text.push_str("}\n");
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use crate::Program;
    use crate::schedule::Schedule;

    #[test]
    fn what_actions_wait_for_is_written_behind_them() {
        let mut first = Program::new(0);
        first.send(1, 8);
        first.recv(1);
        let mut second = Program::new(1);
        second.recv(0);
        second.combine(8);
        second.send(0, 16);
        let schedule = Schedule {
            processes: vec![first.finish(), second.finish()],
        };
        let expected = "num_ranks 2\n\n\
             rank 0 {\nl1: send 8b to 1 tag 0\nl2: recv 16b from 1 tag 0\nl2 irequires l1\nl2 requires l1\n}\n\n\
             rank 1 {\nl1: recv 8b from 0 tag 0\nl2: calc 4\nl2 irequires l1\nl2 requires l1\n\
             l3: send 16b to 0 tag 0\nl3 irequires l2\nl3 requires l2\n}\n";
        assert_eq!(schedule.to_goal(0.5).as_deref(), Ok(expected));
    }
}
