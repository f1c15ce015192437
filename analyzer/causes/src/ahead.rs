//! What is still to be done with instances, in order of time.

use std::sync::Arc;

use crate::instance::{Dependence, Instance, UNCOMPARED};

/// What is to be done with an instance when a time has come.
#[derive(Debug)]
pub(crate) struct Ahead {
    pub(crate) key: Key,
    pub(crate) held: Arc<Held>,
}

/// An instance that is held until everything is done with it.
#[derive(Debug, Clone, Default)]
pub struct Held {
    /// The instance.
    pub instance: Instance,
    /// The first and the last enter, ns.
    pub(crate) enters_ns: [i64; 2],
    /// The last leave, ns.
    pub(crate) left_ns: i64,
    /// Whether some waits are for processes that are not compared.
    pub(crate) has_uncompared: bool,
    /// The slot of the process for which all others waited.
    pub(crate) awaited: Option<u32>,
    /// The first and the last enter and the last leave, ns, where they were noted.
    pub(crate) extent_ns: Option<[i64; 3]>,
    /// When it is looked at at the earliest, ns, whatever its stamps say.
    pub(crate) not_before_ns: Option<i64>,
}

/// The time, ns, and the order at one time: communicator, position, and what is to be done.
type Key = (i64, u32, u64, Step);

/// What is done with an instance at a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Step {
    /// The waits for the process in this slot are attributed.
    pub(crate) on: Option<u32>,
    /// What the members did is compared; slot of the last.
    pub(crate) compared: Option<u32>,
    /// Its processes were inside together.
    pub(crate) is_noted: bool,
    /// What its processes did is logged.
    pub(crate) is_logged: bool,
}

impl PartialEq for Ahead {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Ahead {}

impl PartialOrd for Ahead {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ahead {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

impl From<Instance> for Held {
    fn from(instance: Instance) -> Self {
        Self {
            instance,
            ..Self::default()
        }
    }
}

impl Held {
    /// Notes the first and the last enter and the last leave of its calls, ns: then nobody looks for them.
    pub fn note_extent(&mut self, extent_ns: [i64; 3]) {
        self.extent_ns = Some(extent_ns);
    }

    /// Notes the slot of the last process, for which all others waited: then nobody looks for whom they waited.
    pub fn note_awaited(&mut self, slot: Option<u32>) {
        self.awaited = slot;
    }

    /// Notes that a process had begun other calls at a time, ns, before it made one of these that says it is older: only in a damaged
    /// trace. What was attributed until then was attributed without it.
    pub fn note_not_before(&mut self, not_before_ns: Option<i64>) {
        self.not_before_ns = not_before_ns;
    }

    /// When it began, ns, or is looked at at the earliest.
    pub(crate) fn begin_ns(&self) -> i64 {
        let [first_ns, _] = self.enters_ns;
        self.not_before_ns.map_or(first_ns, |ns| ns.max(first_ns))
    }

    /// Whether all processes of a run of so many wait for all in it.
    pub(crate) fn is_whole(&self, n_processes: usize) -> bool {
        let instance = &self.instance;
        instance.dependence == Dependence::All
            && instance.members.len() == n_processes
            && instance.calls.are_blocking()
            && self.not_before_ns.is_none()
    }
}

impl Ahead {
    /// Adds all that is to be done with an instance of a run of so many processes, in any order. `steps` is an empty buffer.
    pub(crate) fn add(
        mut held: Arc<Held>,
        n_processes: usize,
        found: &mut Vec<Self>,
        steps: &mut Vec<(i64, Step)>,
    ) {
        let Held {
            instance,
            enters_ns,
            left_ns,
            has_uncompared,
            awaited,
            extent_ns,
            ..
        } = Arc::make_mut(&mut held);
        let calls = &instance.calls;
        if calls.is_empty() {
            return;
        }
        let [first_ns, last_ns, last_leave_ns] = extent_ns.unwrap_or_else(|| calls.extent_ns());
        *has_uncompared = false;
        let mut wait_for = |on: u32| {
            if on == UNCOMPARED {
                *has_uncompared = true;
            } else if steps.iter().all(|(_, step)| step.on != Some(on)) {
                let step = Step {
                    on: Some(on),
                    ..Step::default()
                };
                steps.push((calls.enters_ns[on as usize], step));
            }
        };
        let noted = *awaited;
        if let Some(on) = noted {
            wait_for(on);
        } else if let Some((on, n_waited)) = calls.only_releaser() {
            wait_for(on);
            let has_not_waited =
                |on: u32| calls.waits_ns.get(on as usize).is_some_and(|ns| *ns <= 0);
            *awaited = Some(on).filter(|&on| n_waited + 1 == calls.len() && has_not_waited(on));
        } else {
            let waits = calls.waits_ns.iter().zip(&calls.releasers);
            waits
                .filter(|&(&ns, _)| ns > 0)
                .for_each(|(_, &on)| wait_for(on));
        }
        if instance.dependence != Dependence::Nobody {
            let enters_ns = || calls.enters_ns.iter();
            let last = || enters_ns().rposition(|&ns| ns == last_ns).unwrap_or(0) as u32;
            let last = noted.unwrap_or_else(last);
            let of_last = steps
                .iter_mut()
                .find(|(at_ns, step)| *at_ns == last_ns && step.on == Some(last));
            let step = match of_last {
                Some((_, step)) => step,
                None => at(steps, last_ns),
            };
            step.compared = Some(last);
        }
        let noted_ns = match instance.dependence {
            Dependence::All => Some(last_ns),
            Dependence::Pairs | Dependence::Root(_) => Some(first_ns),
            Dependence::Nobody => None,
        };
        *enters_ns = [first_ns, last_ns];
        *left_ns = last_leave_ns;
        // Before the last has entered where all wait for all, nobody can be anywhere else.
        let logged_ns = if held.is_whole(n_processes) {
            last_ns
        } else {
            first_ns
        };
        at(steps, logged_ns).is_logged = true;
        if let Some(noted_ns) = noted_ns {
            at(steps, noted_ns).is_noted = true;
        }
        let instance = &held.instance;
        let not_before_ns = held.not_before_ns.unwrap_or(i64::MIN);
        let key = |(at_ns, step): (i64, Step)| {
            let at_ns = at_ns.max(not_before_ns);
            (at_ns, instance.communicator, instance.position, step)
        };
        let last = steps.pop().map(key);
        for step in steps.drain(..) {
            found.push(Self {
                key: key(step),
                held: Arc::clone(&held),
            });
        }
        found.extend(last.map(|key| Self { key, held }));
    }
}

/// What is done at a time, ns, besides attributing waits; `steps` are those of one instance.
fn at(steps: &mut Vec<(i64, Step)>, at_ns: i64) -> &mut Step {
    let found = steps.iter().position(|(other_ns, _)| *other_ns == at_ns);
    let found = found.unwrap_or_else(|| {
        steps.push((at_ns, Step::default()));
        steps.len() - 1
    });
    &mut steps[found].1
}
