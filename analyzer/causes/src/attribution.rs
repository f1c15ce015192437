//! Waits to the causes of them, in order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use rayon::prelude::*;
use rustc_hash::FxHashSet;

use crate::ahead::{Ahead, Held};
use crate::cause::{Attributed, Totals};
use crate::charged::Charged;
use crate::hosts::Hosts;
use crate::instance::{Instance, Part, PartOfProcess, Polled};
use crate::of_run::OfRun;
use crate::section::Section;
use crate::spare::Spare;

/// Calls of each process in a section, and calls of all of them, at least: what a section costs besides is little then.
const CALLS_OF_PROCESS: usize = 128;
const CALLS_OF_SECTION: usize = 8192;

/// Attributes the waits of a run. Instances may be added in any order, as far as they are later than the
/// time up to which [`Attribution::advance`] was called.
///
/// The run is divided into sections where an instance ends everything: all processes waited for the last one, all these waits are
/// resolved, and nothing else was under way. No wait behind it is compared with what was before. So sections are attributed in
/// parallel. Where the run is divided depends on its calls only, and what sections cost is added
/// up in order of time: neither the number of threads nor when instances are added changes anything.
#[derive(Debug)]
pub struct Attribution {
    of_run: OfRun,
    n_processes: usize,
    /// What is still to be done with instances that were added since the last advance, in any order.
    new: Vec<Ahead>,
    /// What is still to be done with others, by time.
    ahead: BinaryHeap<Reverse<Ahead>>,
    /// Calls of the instances ahead, once for each time that they are there.
    n_held: usize,
    /// The section that has not ended yet.
    section: Section,
    /// Sections that have ended, whose buffers are used again.
    ended: Vec<Section>,
    divider: Divider,
    /// Of the sections that have ended.
    totals: Totals,
    n_ends: u64,
    spare: Spare,
    /// Up to when waits were attributed, ns, unless what was still to be added was not waited for.
    until_ns: i64,
}

/// Finds where sections end.
#[derive(Debug)]
struct Divider {
    n_processes: usize,
    /// Calls of a section, at least.
    least_calls: usize,
    /// Calls of the section that has not ended.
    n_calls: usize,
    /// When the last of its calls ended, and the last of its instances was entered by all, ns.
    ended_ns: i64,
}

impl Divider {
    /// Where the steps that are due, in order, end sections; `least_pending_ns`: when the first of the instances began of which
    /// something is to be done later.
    fn ends(&mut self, due: &[Ahead], least_pending_ns: i64) -> Vec<usize> {
        // When the first instance began of which something is to be done after each step.
        let mut pending_ns = vec![least_pending_ns; due.len()];
        for at in (1..due.len()).rev() {
            pending_ns[at - 1] = pending_ns[at].min(due[at].held.begin_ns());
        }
        let mut ends = Vec::new();
        for (at, (next, pending_ns)) in due.iter().zip(pending_ns).enumerate() {
            let (at_ns, _, _, step) = next.key;
            let held = &next.held;
            if !step.is_logged {
                continue;
            }
            self.n_calls += held.instance.calls.len();
            let is_end = self.n_calls >= self.least_calls
                && step.is_noted
                && self.ended_ns <= at_ns
                && pending_ns >= at_ns
                && held.is_whole(self.n_processes)
                && step
                    .compared
                    .is_some_and(|last| have_all_waited(held, last));
            if is_end {
                ends.push(at);
                self.n_calls = 0;
            }
            self.ended_ns = if is_end {
                at_ns
            } else {
                self.ended_ns.max(held.left_ns).max(held.enters_ns[1])
            };
        }
        ends
    }
}

/// Whether all members waited for the last one, and all waits are resolved and compared.
fn have_all_waited(held: &Held, last: u32) -> bool {
    let calls = &held.instance.calls;
    let mut waits = calls.waits_ns.iter().zip(&calls.releasers).enumerate();
    calls.is_resolved.iter().all(|&is_resolved| is_resolved)
        && calls.waits_ns.len() == calls.len()
        && waits.all(|(slot, (&ns, &on))| slot == last as usize || (ns > 0 && on == last))
}

impl Attribution {
    /// Of a run of which nothing is known yet; the host of each process, by any number.
    #[must_use]
    pub fn new(hosts: &[u32]) -> Self {
        let n_processes = hosts.len();
        Self {
            of_run: OfRun {
                hosts: Hosts::new(hosts),
                has_partners: false,
                have_threads: FxHashSet::default(),
            },
            n_processes,
            new: Vec::new(),
            ahead: BinaryHeap::new(),
            n_held: 0,
            section: Section::new(n_processes, true),
            ended: Vec::new(),
            divider: Divider {
                n_processes,
                least_calls: CALLS_OF_SECTION.max(CALLS_OF_PROCESS * n_processes),
                n_calls: 0,
                ended_ns: i64::MIN,
            },
            totals: Totals::default(),
            n_ends: 0,
            spare: Spare::default(),
            until_ns: i64::MIN,
        }
    }

    /// Divides the run into sections of at least so many calls.
    #[must_use]
    pub fn with_sections_of(mut self, n_calls: usize) -> Self {
        self.divider.least_calls = n_calls;
        self
    }

    /// Looks at processes one by one, always.
    #[must_use]
    pub fn without_columns(mut self) -> Self {
        self.section = Section::new(self.n_processes, false);
        self
    }

    /// Adds when `MPI_Init` returned to a process, ns, before anything else of it.
    pub fn add_begin(&mut self, process: u32, left_ns: i64) {
        self.section.begins.push((process, left_ns));
    }

    /// Adds that several threads of a process make calls, before anything else of it.
    pub fn add_threads(&mut self, process: u32) {
        self.of_run.have_threads.insert(process);
    }

    /// Adds a span in which a process polled, before it entered its next instance.
    pub fn add_polled(&mut self, polled: &Polled) {
        self.section.processes.add_polled(*polled);
    }

    /// Adds what a process did besides its own work, before it entered its next instance.
    pub fn add_part(&mut self, part: PartOfProcess) {
        self.of_run.has_partners |= matches!(part.part, Part::PointToPoint(_));
        self.section.processes.add_part(part);
    }

    /// Adds an instance.
    pub fn add(&mut self, instance: Instance) {
        let held = Arc::new(Held::from(instance));
        Ahead::add(held, self.n_processes, &mut self.new, &mut Vec::new());
    }

    /// Adds instances.
    pub fn add_all(&mut self, instances: Vec<Arc<Held>>) {
        let n_processes = self.n_processes;
        let parts = instances.into_par_iter().fold(
            <(Vec<Ahead>, Vec<_>)>::default,
            |(mut found, mut steps), held| {
                Ahead::add(held, n_processes, &mut found, &mut steps);
                (found, steps)
            },
        );
        let parts: Vec<Vec<Ahead>> = parts.map(|(found, _)| found).collect();
        self.new.extend(parts.into_iter().flatten());
    }

    /// Attributes the waits that ended before a time: everything that began before it was added.
    pub fn advance(&mut self, until_ns: i64) {
        let due = self.due(until_ns);
        let ahead = self.ahead.iter();
        let pending_ns = ahead.map(|Reverse(next)| next.held.begin_ns());
        // What several threads of a process do at once counts once, over the whole run.
        let ends = if self.of_run.have_threads.is_empty() {
            let pending_ns = pending_ns.min().unwrap_or(i64::MAX);
            self.divider.ends(&due, pending_ns)
        } else {
            Vec::new()
        };
        let mut parts = self.divide(due, &ends);
        let of_run = &self.of_run;
        let sections = parts.par_iter_mut();
        sections.for_each(|(section, due)| section.go_on(std::mem::take(due), of_run));
        let mut sections = parts.into_iter().map(|(section, _)| section);
        let mut before = sections.next();
        for next in sections {
            if let Some(ended) = before.replace(next) {
                self.end_section(ended);
            }
        }
        if let Some(last) = before {
            self.section = last;
        }
        self.spare.merge(std::mem::take(&mut self.section.spare));
    }

    /// What is to be done before a time, in order.
    fn due(&mut self, until_ns: i64) -> Vec<Ahead> {
        let is_late = |next: &Ahead| next.key.0 < self.until_ns;
        debug_assert!(!self.new.iter().any(is_late), "what began before was added");
        if until_ns < i64::MAX {
            self.until_ns = self.until_ns.max(until_ns);
        }
        let mut due = Vec::with_capacity(self.new.len());
        while let Some(Reverse(next)) = self.ahead.peek()
            && next.key.0 < until_ns
        {
            let next = self.ahead.pop().map(|Reverse(next)| next);
            self.n_held -= next
                .as_ref()
                .map_or(0, |next| next.held.instance.calls.len());
            due.extend(next);
        }
        for next in self.new.drain(..) {
            if next.key.0 < until_ns {
                due.push(next);
            } else {
                self.n_held += next.held.instance.calls.len();
                self.ahead.push(Reverse(next));
            }
        }
        due.sort_unstable_by(|a, b| a.key.0.cmp(&b.key.0).then_with(|| a.cmp(b)));
        due
    }

    /// The section that has not ended and those that follow it, each with what is due.
    fn divide(&mut self, mut due: Vec<Ahead>, ends: &[usize]) -> Vec<(Section, Vec<Ahead>)> {
        let mut sections = Vec::with_capacity(ends.len() + 1);
        let mut section = std::mem::replace(&mut self.section, Section::new(0, true));
        let mut begin = 0;
        for &end in ends {
            let mut history = section.history.clone();
            history.begin(&section.begins);
            for next in &due[begin..=end] {
                if next.key.3.is_noted {
                    history.note(&next.held.instance, next.held.enters_ns[1]);
                }
            }
            begin = end + 1;
            let held = &due[end].held;
            let ended = self.ended.pop();
            let may_be_in_columns = section.processes.may_be_in_columns;
            let mut next =
                ended.unwrap_or_else(|| Section::new(self.n_processes, may_be_in_columns));
            next.follow(held, history);
            section.processes.pass_on_to(&mut next.processes, held);
            sections.push(std::mem::replace(&mut section, next));
        }
        sections.push(section);
        let mut parts: Vec<Vec<Ahead>> = Vec::with_capacity(sections.len());
        for &end in ends.iter().rev() {
            parts.push(due.split_off(end + 1));
        }
        parts.push(due);
        sections.into_iter().zip(parts.into_iter().rev()).collect()
    }

    fn end_section(&mut self, mut section: Section) {
        self.totals.merge(&mut section.totals, self.n_ends);
        self.n_ends += section.n_ends;
        self.spare.merge(std::mem::take(&mut section.spare));
        self.ended.push(section);
    }

    /// The buffers of the instances that are done with, to be used for others.
    #[must_use]
    pub fn take_spare(&mut self) -> Spare {
        std::mem::take(&mut self.spare)
    }

    /// Single waits that were attributed since this was asked for last, in any order: of instances of which their causes are
    /// asked for.
    #[must_use]
    pub fn take_charged(&mut self) -> Vec<Charged> {
        let mut charged = std::mem::take(&mut self.section.comparison.charged);
        for section in &mut self.ended {
            charged.append(&mut section.comparison.charged);
        }
        charged
    }

    /// How many calls are held, because they may have to be attributed later than what is still to be
    /// added.
    #[must_use]
    pub fn n_held(&self) -> usize {
        let new = self.new.iter().map(|next| next.held.instance.calls.len());
        self.n_held + new.sum::<usize>()
    }

    /// The causes of all waits, those at the end of the run included, where that is an instance of its own.
    #[must_use]
    pub fn finish(mut self, end: Option<Instance>) -> Attributed {
        self.advance(i64::MAX);
        let mut section = self.section;
        self.totals.merge(&mut section.totals, self.n_ends);
        // That all waited for the last one once more does not say how late it was made by what was before.
        self.totals.end(self.n_ends + section.n_ends);
        section.totals = self.totals;
        section.is_end = true;
        if let Some(end) = end {
            let mut due = Vec::new();
            let held = Arc::new(Held::from(end));
            Ahead::add(held, self.n_processes, &mut due, &mut Vec::new());
            due.sort_unstable();
            section.go_on(due, &self.of_run);
        }
        section.totals.finish(section.n_ends)
    }
}
