//! Schedules in GOAL, the language of LogGOPSim.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::schedule::{Process, Schedule, UnmatchedError, What};

/// The other end of a message, as a send or a receive names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherEnd {
    /// The rank of the other process.
    pub rank: u32,
    /// How long the message is.
    pub bytes: u64,
    /// By which it is told from other messages from the same process to the same one.
    pub tag: u32,
}

/// How the actions of a process are written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GoalStyle {
    /// The number in the label of the first action, which is `l` with the number; the others count up.
    pub first_label: u64,
    /// What is added to the tags of all messages.
    pub first_tag: u32,
    /// The processor that executes them.
    pub cpu: u32,
    /// How long it takes to combine a byte, ns.
    pub combine_ns_per_byte: f64,
}

impl Process {
    /// Adds its actions in GOAL. `ends`: by position the other ends of its messages; what has none is written as computing
    /// that takes no time.
    pub fn write_goal(&self, text: &mut String, style: GoalStyle, ends: &[Option<OtherEnd>]) {
        for (number, (at, action)) in (style.first_label..).zip(self.actions.iter().enumerate()) {
            match (action.what, ends.get(at).copied().flatten()) {
                (What::Send { .. }, Some(end)) => message(text, number, style, ("send", "to"), end),
                (What::Receive { .. }, Some(end)) => {
                    message(text, number, style, ("recv", "from"), end);
                }
                (What::Combine { bytes }, _) => {
                    let ns = (bytes as f64 * style.combine_ns_per_byte).round();
                    compute(text, number, ns as u64, style.cpu);
                }
                _ => compute(text, number, 0, style.cpu),
            }
            // What waits for its end waits for its begin.
            if at > 0 && !action.after.contains(&(at - 1)) {
                wait(text, number, Wait::Begin(number - 1));
            }
            for other in &action.after {
                wait(text, number, Wait::End(style.first_label + *other as u64));
            }
        }
    }
}

/// For what something waits: the begin or the end of what has this number in its label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// The end.
    End(u64),
    /// The begin.
    Begin(u64),
}

/// Adds that what has the number `label` in its label waits for something else.
pub fn wait(text: &mut String, label: u64, wait: Wait) {
    let (word, other) = match wait {
        Wait::End(other) => (" requires l", other),
        Wait::Begin(other) => (" irequires l", other),
    };
    add(text, "l", label);
    add(text, word, other);
    text.push('\n');
}

/// Adds computing for some time, ns, on a processor.
pub fn compute(text: &mut String, label: u64, ns: u64, cpu: u32) {
    add(text, "l", label);
    add(text, ": calc ", ns);
    end(text, cpu);
}

fn message(
    text: &mut String,
    label: u64,
    style: GoalStyle,
    (what, direction): (&str, &str),
    of: OtherEnd,
) {
    add(text, "l", label);
    text.push_str(": ");
    text.push_str(what);
    add(text, " ", of.bytes);
    text.push_str("b ");
    text.push_str(direction);
    add(text, " ", of.rank.into());
    add(text, " tag ", (style.first_tag + of.tag).into());
    end(text, style.cpu);
}

fn end(text: &mut String, cpu: u32) {
    if cpu > 0 {
        add(text, " cpu ", cpu.into());
    }
    text.push('\n');
}

fn add(text: &mut String, before: &str, number: u64) {
    text.push_str(before);
    text.push_str(itoa::Buffer::new().format(number));
}

impl Schedule {
    /// By process and action the other end of its message; the messages from one process to another have ascending tags.
    ///
    /// # Errors
    /// [`UnmatchedError`] if not each send has a receive, and each receive a send.
    pub fn other_ends(&self) -> Result<Vec<Vec<Option<OtherEnd>>>, UnmatchedError> {
        let mut tags: BTreeMap<(usize, usize), u32> = BTreeMap::new();
        let no_ends = |process: &Process| vec![None; process.actions.len()];
        let mut ends: Vec<Vec<Option<OtherEnd>>> = self.processes.iter().map(no_ends).collect();
        for of in self.messages()? {
            let next = tags.entry((of.from, of.to)).or_default();
            let tag = *next;
            *next += 1;
            let end = |rank: usize| OtherEnd {
                rank: rank as u32,
                bytes: of.bytes,
                tag,
            };
            ends[of.from][of.send] = Some(end(of.to));
            ends[of.to][of.receive] = Some(end(of.from));
        }
        Ok(ends)
    }

    /// The schedule in GOAL. Combining a byte takes `combine_ns_per_byte`.
    ///
    /// # Errors
    /// [`UnmatchedError`] if not each send has a receive, and each receive a send.
    ///
    /// # Source
    /// Hoefler, Siebert, Lumsdaine 2009 (Group Operation Assembly Language); the grammar is that of LogGOPSim's `txt2bin`.
    pub fn to_goal(&self, combine_ns_per_byte: f64) -> Result<String, UnmatchedError> {
        let ends = self.other_ends()?;
        let style = GoalStyle {
            first_label: 1,
            first_tag: 0,
            cpu: 0,
            combine_ns_per_byte,
        };
        let mut text = format!("num_ranks {}\n", self.processes.len());
        for (rank, (process, ends)) in self.processes.iter().zip(&ends).enumerate() {
            let _ = writeln!(text, "\nrank {rank} {{");
            process.write_goal(&mut text, style, ends);
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
             rank 0 {\nl1: send 8b to 1 tag 0\nl2: recv 16b from 1 tag 0\nl2 requires l1\n}\n\n\
             rank 1 {\nl1: recv 8b from 0 tag 0\nl2: calc 4\nl2 requires l1\n\
             l3: send 16b to 0 tag 0\nl3 requires l2\n}\n";
        assert_eq!(schedule.to_goal(0.5).as_deref(), Ok(expected));
    }
}
