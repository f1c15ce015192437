//! A part of a run: the waits of its instances to the causes of them, in order of time.

use crate::ahead::{Ahead, Held, Step};
use crate::cause::{Cause, Totals};
use crate::compare::Comparison;
use crate::history::{History, Sinces};
use crate::instance::{Dependence, Instance, Part, PartOfProcess, UNCOMPARED};
use crate::of_run::OfRun;
use crate::process::waiting_time;
use crate::processes::Processes;
use crate::spare::Spare;
use crate::synchronizations::Since;
use crate::unit::Unit;

/// A part of a run.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) processes: Processes,
    pub(crate) history: History,
    /// When the last wait ends of those instances that have begun and may have begun before others ended,
    /// ns.
    open_until_ns: i64,
    pub(crate) totals: Totals,
    /// How many instances there were in which all processes waited for the last, and all waits are resolved.
    pub(crate) n_ends: u64,
    pub(crate) comparison: Comparison,
    /// Buffers of the instances that are done with.
    pub(crate) spare: Spare,
    sinces: Sinces,
    /// When `MPI_Init` returned to processes, ns, as far as that is not looked at yet.
    pub(crate) begins: Vec<(u32, i64)>,
    /// Whether only the instance at the end of the run is left.
    pub(crate) is_end: bool,
}

impl Section {
    /// The begin of a run of so many processes, whose calls may be kept in columns.
    pub(crate) fn new(n_processes: usize, may_be_in_columns: bool) -> Self {
        Self {
            processes: Processes::new(n_processes, may_be_in_columns),
            history: History::new(n_processes),
            open_until_ns: i64::MIN,
            totals: Totals::default(),
            n_ends: 0,
            comparison: Comparison::default(),
            spare: Spare::default(),
            sinces: Sinces::default(),
            begins: Vec::new(),
            is_end: false,
        }
    }

    /// Becomes what follows an instance in which all processes were together, and before which everything else had ended:
    /// what was done before is in the history as far as it matters. The section is new, or has ended.
    pub(crate) fn follow(&mut self, held: &Held, history: History) {
        self.history = history;
        self.n_ends = 0;
        let [_, last_ns] = held.enters_ns;
        self.open_until_ns = last_ns;
        self.processes.log_calls(held, Some(i64::MAX));
    }

    /// Does what is due, in order of time.
    pub(crate) fn go_on(&mut self, due: Vec<Ahead>, of_run: &OfRun) {
        let n_processes = self.processes.each.len();
        for Ahead { key, held } in due {
            let instance = &held.instance;
            let (at_ns, _, _, step) = key;
            // When all processes of the run are inside, nothing before is looked at again.
            let is_new_begin = step.is_logged
                && step.is_noted
                && held.is_whole(n_processes)
                && at_ns >= self.open_until_ns;
            if step.on.is_some() || step.compared.is_some() {
                if !self.begins.is_empty() {
                    self.begin();
                }
                self.processes.prepare(&held);
                self.attribute(&held, step, is_new_begin, of_run);
            }
            if step.is_logged {
                self.log(&held, is_new_begin.then_some(at_ns));
            }
            if step.is_noted {
                self.history.note(instance, held.enters_ns[1]);
                // At a new begin there is not much to add up.
                if !is_new_begin {
                    let history = &self.history;
                    self.processes
                        .fold(instance, |process| history.instants(process));
                }
            }
            self.spare.keep(held);
        }
    }

    /// Charges the waits of an instance, of which the last member entered at a time, for those that are not compared.
    fn settle_uncompared(&mut self, instance: &Instance, last_ns: i64) {
        let calls = &instance.calls;
        let imbalance = Cause::Imbalance {
            communicator: instance.communicator,
        };
        let mut costs = [(imbalance, 0_i64), (Cause::Unresolved, 0)];
        for (slot, call) in calls.iter().enumerate() {
            let Some(wait) = call.wait.filter(|wait| wait.on == UNCOMPARED) else {
                continue;
            };
            let (cause, cost_ns) = &mut costs[usize::from(!wait.is_resolved)];
            if wait.is_counted {
                *cost_ns = cost_ns.saturating_add(wait.ns);
            }
            let span = waiting_time(calls.completion(slot), wait.ns).on(*cause);
            self.comparison.note_charged(instance, slot, *cause);
            self.processes.waited(instance.members[slot], span);
        }
        for (cause, ns) in costs {
            if ns > 0 {
                let total = self.totals.cost(cause, instance.operation);
                total.add_uncompared(ns, ns / calls.len() as i64, last_ns);
            }
        }
    }

    /// Remembers what the members of an instance did in it, and before; forgets what ended before a time, ns.
    #[inline(never)]
    fn log(&mut self, held: &Held, forgotten_ns: Option<i64>) {
        let Held {
            instance,
            enters_ns: [_, last_ns],
            has_uncompared,
            ..
        } = held;
        for of in &instance.parts {
            self.processes.did(of);
        }
        if *has_uncompared {
            self.settle_uncompared(instance, *last_ns);
        }
        self.open_until_ns = self.open_until_ns.max(*last_ns);
        self.processes.log_calls(held, forgotten_ns);
    }

    /// Looks at when `MPI_Init` returned to processes. All are known to which it did before what is attributed now.
    #[cold]
    fn begin(&mut self) {
        let Some(origin_ns) = self.history.begin(&self.begins) else {
            return;
        };
        for (process, left_ns) in std::mem::take(&mut self.begins) {
            self.processes.did(&PartOfProcess {
                process,
                part: Part::Launch,
                span_ns: [origin_ns, left_ns.max(origin_ns)],
                ns: left_ns.saturating_sub(origin_ns),
            });
        }
    }

    /// Attributes the waits of an instance for one process, and compares what its members did. At a new begin
    /// nothing before is looked at again.
    #[inline(never)]
    fn attribute(&mut self, held: &Held, step: Step, is_new_begin: bool, of_run: &OfRun) {
        let Held {
            instance,
            enters_ns: [first_ns, _],
            ..
        } = held;
        let all_since_ns = step
            .compared
            .and_then(|last| self.history.shared_ns(instance, last as usize, *first_ns))
            .filter(|&ns| {
                let is_whole =
                    instance.dependence == Dependence::All && instance.calls.are_blocking();
                is_whole || self.is_end || !self.history.is_partial_since(instance, ns)
            });
        if let Some(on) = step.on {
            let mut sinces = std::mem::take(&mut self.sinces);
            self.history.since_of_waits(held, on as usize, &mut sinces);
            // Of a broadcast with a late root, too, nobody goes on before.
            let is_waited_for_by_all =
                is_new_begin || sinces.n_waited() + 1 == self.processes.each.len();
            let is_end = is_waited_for_by_all && sinces.are_resolved();
            let unit = Unit {
                instance,
                on,
                sinces: &sinces,
                all_since_ns,
                is_remembered: !is_new_begin,
                n_ends: self.n_ends,
                is_end,
                is_last: self.is_end,
                has_all: instance.members.len() == self.processes.each.len(),
                origin_ns: self.history.origin_ns(),
                history: &self.history,
            };
            self.processes.each[instance.members[on as usize] as usize].prepare_waits();
            self.comparison
                .attribute(&unit, &mut self.processes, of_run, &mut self.totals);
            self.n_ends += u64::from(is_end);
            self.sinces = sinces;
        }
        if let Some(last) = step.compared {
            self.note_excesses(instance, last as usize, all_since_ns, of_run);
            let is_whole = instance.dependence == Dependence::All
                && instance.members.len() == self.processes.each.len();
            // Where its members were on no other communicator meanwhile, excesses tell the same.
            let is_known = is_whole || self.history.is_last(instance.communicator);
            if !(is_known && instance.calls.are_blocking()) {
                self.comparison.note_gaps(
                    instance,
                    (&self.processes, of_run.has_partners),
                    &mut self.totals,
                );
            }
        }
    }

    /// Notes what the members of an instance, of which the last is in a slot, did more than the others since an instant that
    /// all share, ns. Where some may have run ahead of the others since then, as those with low ranks do in scans, it is since
    /// each of them left the instance before.
    fn note_excesses(
        &mut self,
        instance: &Instance,
        last: usize,
        shared_ns: Option<i64>,
        of_run: &OfRun,
    ) {
        let (processes, totals) = (&mut self.processes, &mut self.totals);
        let comparison = &mut self.comparison;
        let has_partners = of_run.has_partners;
        if let Some(from_ns) = shared_ns.filter(|_| !self.is_end) {
            comparison.note_excesses(instance, |_| from_ns, (processes, has_partners), totals);
            return;
        }
        let before = self.history.previous_partial(instance);
        // Only where all wait for all may it be the first of its members.
        if let Some(before) =
            before.filter(|_| !self.is_end && instance.dependence != Dependence::All)
        {
            comparison.note_excesses(
                instance,
                |slot| before.went_on_ns(slot),
                (processes, has_partners),
                totals,
            );
            return;
        }
        let from_ns = match self.history.since_of_last(instance, last) {
            Since::Instant(from_ns) => Some(shared_ns.unwrap_or(from_ns)),
            _ => shared_ns,
        };
        match (from_ns, before) {
            (Some(from_ns), _) if self.is_end => {
                comparison.note_end(instance, from_ns, processes, totals);
            }
            (None, _) if self.is_end => {
                totals.note_end(instance, [(); 2].map(|()| vec![-1; instance.calls.len()]));
            }
            (Some(from_ns), _) if self.history.origin_ns() == Some(from_ns) => {
                comparison.note_start(instance, from_ns, processes, totals);
            }
            (_, Some(before)) => {
                comparison.note_excesses(
                    instance,
                    |slot| before.went_on_ns(slot),
                    (processes, has_partners),
                    totals,
                );
            }
            (Some(from_ns), None) => {
                comparison.note_excesses(instance, |_| from_ns, (processes, has_partners), totals);
            }
            (None, None) => {}
        }
    }
}
