//! What a rank does, in the order of time.

use std::collections::BTreeMap;
use std::sync::Arc;

use collbench_schedules::Process;
use collbench_schedules::goal::{self, GoalStyle, OtherEnd, Wait};
use rustc_hash::FxHashMap;

/// The greatest number of a processor: simulators keep it in a byte.
const MOST_CPUS: u32 = 255;

/// What a rank does in an instance.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Steps {
    /// What it does.
    pub(super) process: Process,
    /// By action the other end of its message; the tag begins with 0 in each instance.
    pub(super) ends: Vec<Option<OtherEnd>>,
}

/// What a call of a thread does to the messages of an instance.
#[derive(Debug, Clone)]
pub(super) enum Deed {
    /// It sends and receives all of them.
    Call(Arc<Steps>),
    /// It begins an operation with this number.
    Begin(u64, Arc<Steps>),
    /// It waits for one that was begun.
    Complete(u64),
}

/// A call of a thread.
#[derive(Debug, Clone)]
pub(super) struct Event {
    pub(super) enter_ns: i64,
    pub(super) leave_ns: i64,
    pub(super) thread: u32,
    pub(super) first_tag: u32,
    pub(super) deed: Deed,
}

#[derive(Debug)]
struct Thread {
    /// When its last call returned.
    last_ns: i64,
    /// For what its next step waits.
    waits: Vec<Wait>,
}

/// The calls of a rank, as far as they are not written.
#[derive(Debug)]
pub(super) struct Rank {
    begin_ns: i64,
    /// By enter, then by number.
    pending: BTreeMap<(i64, u64), Event>,
    n_added: u64,
    threads: FxHashMap<u32, Thread>,
    /// Of operations that were begun and not completed for what their completion waits.
    begun: FxHashMap<u64, Vec<Wait>>,
    n_labels: u64,
}

impl Rank {
    /// Without calls yet; the simulation begins at `begin_ns`.
    pub(super) fn new(begin_ns: i64) -> Self {
        Self {
            begin_ns,
            pending: BTreeMap::new(),
            n_added: 0,
            threads: FxHashMap::default(),
            begun: FxHashMap::default(),
            n_labels: 0,
        }
    }

    /// Adds a call.
    pub(super) fn add(&mut self, event: Event) {
        self.pending.insert((event.enter_ns, self.n_added), event);
        self.n_added += 1;
    }

    /// How many calls are not written yet.
    pub(super) fn n_pending(&self) -> usize {
        self.pending.len()
    }

    /// When the last of these was entered.
    pub(super) fn last_pending_ns(&self) -> Option<i64> {
        self.pending
            .last_key_value()
            .map(|((enter_ns, _), _)| *enter_ns)
    }

    /// Writes the calls that were entered before some time; `None`: all.
    pub(super) fn write_until(&mut self, until_ns: Option<i64>, text: &mut String) {
        while let Some(first) = self.pending.first_entry()
            && until_ns.is_none_or(|until_ns| first.key().0 < until_ns)
        {
            let event = first.remove();
            self.write(event, text);
        }
    }

    fn write(&mut self, event: Event, text: &mut String) {
        let Event {
            enter_ns,
            leave_ns,
            thread,
            first_tag,
            deed,
        } = event;
        let cpu = thread.min(MOST_CPUS);
        let begin_ns = self.begin_ns;
        let of_thread = self.threads.entry(thread).or_insert_with(|| Thread {
            last_ns: begin_ns,
            waits: Vec::new(),
        });
        let computed_ns = enter_ns
            .saturating_sub(of_thread.last_ns)
            .max(0)
            .unsigned_abs();
        of_thread.last_ns = of_thread.last_ns.max(leave_ns);
        let computing = compute(text, &mut self.n_labels, computed_ns, cpu, &of_thread.waits);
        of_thread.waits.clear();
        of_thread.waits.push(Wait::End(computing));
        match deed {
            Deed::Call(steps) => {
                let waits = carry_out(text, &mut self.n_labels, &steps, computing, first_tag, cpu);
                if !waits.is_empty() {
                    of_thread.waits = waits;
                }
            }
            Deed::Begin(number, steps) => {
                let waits = carry_out(text, &mut self.n_labels, &steps, computing, first_tag, cpu);
                self.begun.insert(number, waits);
            }
            Deed::Complete(number) => {
                let mut waits = self.begun.remove(&number).unwrap_or_default();
                if !waits.is_empty() {
                    waits.push(Wait::End(computing));
                    let completed = compute(text, &mut self.n_labels, 0, cpu, &waits);
                    of_thread.waits = vec![Wait::End(completed)];
                }
            }
        }
    }
}

/// Writes down computing for some time; gives its label.
fn compute(text: &mut String, n_labels: &mut u64, ns: u64, cpu: u32, waits: &[Wait]) -> u64 {
    *n_labels += 1;
    goal::compute(text, *n_labels, ns, cpu);
    for of in waits {
        goal::wait(text, *n_labels, *of);
    }
    *n_labels
}

/// Writes down the steps of an instance, which wait for what has the label `after`; gives for what the end of the operation
/// waits.
fn carry_out(
    text: &mut String,
    n_labels: &mut u64,
    steps: &Steps,
    after: u64,
    first_tag: u32,
    cpu: u32,
) -> Vec<Wait> {
    let n_actions = steps.process.actions.len() as u64;
    if n_actions == 0 {
        return Vec::new();
    }
    let first_label = *n_labels + 1;
    *n_labels += n_actions;
    let style = GoalStyle {
        first_label,
        first_tag,
        cpu,
        // How long it takes was not measured.
        combine_ns_per_byte: 0.0,
    };
    steps.process.write_goal(text, style, &steps.ends);
    goal::wait(text, first_label, Wait::End(after));
    let at_end = steps.process.at_end.iter();
    let mut waits: Vec<Wait> = at_end
        .map(|at| Wait::End(first_label + *at as u64))
        .collect();
    // All others began before the last one did.
    if !(steps.process.at_end).contains(&(n_actions as usize - 1)) {
        waits.push(Wait::Begin(*n_labels));
    }
    waits
}

#[cfg(test)]
mod tests {
    use collbench_schedules::{Action, What};

    use super::*;

    /// Sends to rank 1, receives from it, and waits for that.
    fn exchange() -> Arc<Steps> {
        let actions = [
            What::Send {
                to: 1,
                bytes: 8,
                is_synchronous: false,
            },
            What::Receive { from: Some(1) },
        ];
        let end = OtherEnd {
            rank: 1,
            bytes: 8,
            tag: 0,
        };
        Arc::new(Steps {
            process: Process {
                actions: (actions.into_iter())
                    .map(|what| Action {
                        what,
                        after: Vec::new(),
                    })
                    .collect(),
                at_end: vec![1],
            },
            ends: vec![Some(end); 2],
        })
    }

    fn event([enter_ns, leave_ns]: [i64; 2], thread: u32, first_tag: u32, deed: Deed) -> Event {
        Event {
            enter_ns,
            leave_ns,
            thread,
            first_tag,
            deed,
        }
    }

    fn text(events: impl IntoIterator<Item = Event>) -> String {
        let mut rank = Rank::new(100);
        events.into_iter().for_each(|event| rank.add(event));
        let mut text = String::new();
        rank.write_until(Some(120), &mut text);
        rank.write_until(None, &mut text);
        assert_eq!(rank.n_pending(), 0);
        text
    }

    #[test]
    fn between_calls_is_computing_in_the_order_of_time() {
        let text = text([
            event([160, 200], 0, 9, Deed::Call(exchange())),
            event([110, 150], 0, 5, Deed::Call(exchange())),
        ]);
        let expected = "l1: calc 10\n\
             l2: send 8b to 1 tag 5\nl3: recv 8b from 1 tag 5\nl3 irequires l2\nl2 requires l1\n\
             l4: calc 10\nl4 requires l3\n\
             l5: send 8b to 1 tag 9\nl6: recv 8b from 1 tag 9\nl6 irequires l5\nl5 requires l4\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn only_the_completion_waits_for_what_was_begun() {
        let text = text([
            event([110, 112], 0, 0, Deed::Begin(1, exchange())),
            event([130, 140], 0, 0, Deed::Complete(1)),
            event([145, 150], 1, 0, Deed::Complete(2)),
        ]);
        let expected = "l1: calc 10\n\
             l2: send 8b to 1 tag 0\nl3: recv 8b from 1 tag 0\nl3 irequires l2\nl2 requires l1\n\
             l4: calc 18\nl4 requires l1\n\
             l5: calc 0\nl5 requires l3\nl5 requires l4\n\
             l6: calc 45 cpu 1\n";
        assert_eq!(text, expected);
    }
}
