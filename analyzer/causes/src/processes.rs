//! What is retained of all processes.

use crate::ahead::Held;
use crate::cause::Cause;
use crate::instance::{Instance, PartOfProcess, Polled};
use crate::levels::Levels;
use crate::log::{Entry, MOST_ENTRIES};
use crate::process::{Process, blocking_call};
use crate::remembered::Remembered;

/// What is retained of all processes. As long as they do nothing else than blocking calls, in each of which they do the same,
/// that is in columns, and is looked at for many processes at once; otherwise one by one.
#[derive(Debug)]
pub(crate) struct Processes {
    /// Each of them; while their calls are in columns, nothing but waits.
    pub(crate) each: Vec<Process>,
    pub(crate) levels: Levels,
    /// Whether calls are in columns, and whether they ever may be.
    pub(crate) are_in_columns: bool,
    pub(crate) may_be_in_columns: bool,
    /// Their waits, but for those in their logs.
    pub(crate) remembered: Remembered,
    /// Whether anything is in those logs.
    are_waits_logged: bool,
}

impl Processes {
    /// Of so many processes nothing.
    pub(crate) fn new(n: usize, may_be_in_columns: bool) -> Self {
        Self {
            each: (0..n).map(|_| Process::default()).collect(),
            levels: Levels::new(n),
            are_in_columns: may_be_in_columns,
            may_be_in_columns,
            remembered: Remembered::default(),
            are_waits_logged: false,
        }
    }

    /// Moves all calls from columns to the processes, which are looked at one by one from then on.
    #[inline]
    pub(crate) fn take_apart(&mut self) {
        if self.are_in_columns {
            self.move_calls();
        }
    }

    #[cold]
    fn move_calls(&mut self) {
        self.are_in_columns = false;
        let each = &mut self.each;
        self.levels.drain(|process, call| {
            // They do not overlap.
            let _ = each[process].calls.push(call);
        });
    }

    /// Puts the only calls of all processes, those of an instance, into columns, if they did nothing else.
    fn put_together(&mut self, held: &Held) {
        let Instance {
            members,
            calls,
            operation,
            ..
        } = &held.instance;
        // Its only call may be a later one: if the call of this instance took no time, the next one may be noted before it.
        let is_plain = |(slot, &member): (usize, &u32)| {
            let process = &self.each[member as usize];
            let call = blocking_call(*operation, calls, slot);
            process.calls.is_only(&call) && !process.has_others()
        };
        if self.may_be_in_columns
            && members.len() == self.each.len()
            && members.iter().enumerate().all(is_plain)
        {
            let [first_ns, _] = held.enters_ns;
            self.levels.forget_before(i64::MAX);
            if self.levels.add(&held.instance, [first_ns, held.left_ns]) {
                self.are_in_columns = true;
                for process in &mut self.each {
                    process.calls.forget_before(i64::MAX);
                }
            }
        }
    }

    /// Adds what a process did besides its own work, before it entered its next instance.
    pub(crate) fn add_part(&mut self, part: PartOfProcess) {
        self.take_apart();
        let process = &mut self.each[part.process as usize];
        process.besides.push_back(part);
    }

    /// Adds a span in which a process polled, before it entered its next instance.
    pub(crate) fn add_polled(&mut self, polled: Polled) {
        self.take_apart();
        self.each[polled.process as usize].polls.push_back(polled);
    }

    /// Logs what a process did besides.
    pub(crate) fn did(&mut self, of: &PartOfProcess) {
        self.take_apart();
        self.each[of.process as usize].did(of);
    }

    /// Logs a wait of a process.
    pub(crate) fn waited(&mut self, process: u32, entry: Entry<Cause>) {
        self.are_waits_logged = true;
        self.each[process as usize].waits.push(entry);
    }

    /// Moves what processes did besides after they entered an instance in which all were together to what is retained of them from
    /// then on.
    pub(crate) fn pass_on_to(&mut self, next: &mut Self, held: &Held) {
        let Instance { members, calls, .. } = &held.instance;
        if self.are_in_columns {
            return;
        }
        for (&member, &enter_ns) in members.iter().zip(&calls.enters_ns) {
            let [own, next] =
                [&mut self.each, &mut next.each].map(|each| &mut each[member as usize]);
            own.pass_on_to(next, enter_ns);
        }
        if next.each.iter().any(Process::has_others) {
            next.take_apart();
        }
    }

    /// Remembers what the members of an instance did in it; forgets what ended before a time, ns, if all are members.
    pub(crate) fn log_calls(&mut self, held: &Held, forgotten_ns: Option<i64>) {
        if let Some(at_ns) = forgotten_ns {
            self.forget_waits_before(at_ns);
        }
        if self.are_in_columns {
            let are_all = forgotten_ns.is_none_or(|at_ns| self.levels.forget_before(at_ns));
            let [first_ns, _] = held.enters_ns;
            if are_all && self.levels.add(&held.instance, [first_ns, held.left_ns]) {
                return;
            }
            self.take_apart();
        }
        self.log_each_call(&held.instance, forgotten_ns);
        if forgotten_ns.is_some() {
            self.put_together(held);
        }
    }

    fn log_each_call(&mut self, instance: &Instance, forgotten_ns: Option<i64>) {
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

    /// Forgets the waits that ended before a time, ns.
    fn forget_waits_before(&mut self, at_ns: i64) {
        self.are_waits_logged |= self.remembered.forget_before(at_ns, &mut self.each);
        if self.are_waits_logged {
            for process in &mut self.each {
                process.waits.forget_before(at_ns);
            }
            self.are_waits_logged = self.each.iter().any(|process| !process.waits.is_empty());
        }
    }

    /// Makes what the members of an instance did before they entered known, in order of time.
    #[inline]
    pub(crate) fn prepare(&mut self, held: &Held) {
        if self.are_in_columns && self.levels.are_near(held.enters_ns) {
            return;
        }
        self.take_apart();
        let Instance { members, calls, .. } = &held.instance;
        for (&member, &enter_ns) in members.iter().zip(&calls.enters_ns) {
            self.each[member as usize].prepare(enter_ns);
        }
    }

    /// Adds up what the members of an instance did long ago, where that is much, between instants of each, ns.
    pub(crate) fn fold(&mut self, instance: &Instance, instants: impl Fn(u32) -> Vec<i64>) {
        // Columns are never long.
        let are_waits_few = !self.are_waits_logged && self.remembered.most_spans() <= MOST_ENTRIES;
        if self.are_in_columns && are_waits_few {
            return;
        }
        for &member in instance.members.iter() {
            if self.remembered.may_be_long(&self.each[member as usize]) {
                self.remembered.move_to(&mut self.each);
                self.are_waits_logged = true;
            }
            let process = &mut self.each[member as usize];
            if process.is_long() {
                process.fold(&instants(member));
            }
        }
    }
}
