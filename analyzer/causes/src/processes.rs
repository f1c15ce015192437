//! What is retained of all processes.

use crate::instance::Instance;
use crate::process::Process;
use crate::remembered::Remembered;

/// What is retained of all processes.
#[derive(Debug)]
pub(crate) struct Processes {
    pub(crate) each: Vec<Process>,
    /// Their waits, but for those in their logs.
    pub(crate) remembered: Remembered,
}

impl Processes {
    /// Of so many processes nothing.
    pub(crate) fn new(n: usize) -> Self {
        Self {
            each: (0..n).map(|_| Process::default()).collect(),
            remembered: Remembered::default(),
        }
    }

    /// Remembers what the members of an instance did in it; forgets what ended before a time, ns.
    pub(crate) fn log_calls(&mut self, instance: &Instance, forgotten_ns: Option<i64>) {
        if let Some(at_ns) = forgotten_ns {
            self.remembered.forget_before(at_ns, &mut self.each);
        }
        let calls = &instance.calls;
        for (slot, &member) in instance.members.iter().enumerate() {
            let process = &mut self.each[member as usize];
            process.did_until(calls.enters_ns[slot]);
            if let Some(at_ns) = forgotten_ns {
                process.forget_before(at_ns);
            }
            process.called(instance.operation, calls, slot);
            // Others may wait for its messages before it is in an instance with them.
            process.sort_parts();
        }
    }

    /// Makes what the members of an instance did before they entered known, in order of time.
    pub(crate) fn prepare(&mut self, instance: &Instance) {
        let enters_ns = &instance.calls.enters_ns;
        for (&member, &enter_ns) in instance.members.iter().zip(enters_ns) {
            self.each[member as usize].prepare(enter_ns);
        }
    }

    /// Adds up what the members of an instance did long ago, where that is much, between instants of each, ns.
    #[inline(never)]
    pub(crate) fn fold(&mut self, instance: &Instance, instants: impl Fn(u32) -> Vec<i64>) {
        for &member in instance.members.iter() {
            if self.remembered.may_be_long(&self.each[member as usize]) {
                self.remembered.move_to(&mut self.each);
            }
            let process = &mut self.each[member as usize];
            if process.is_long() {
                process.fold(&instants(member));
            }
        }
    }
}
