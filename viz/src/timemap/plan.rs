//! Which threads of a timemap have a line of their own, which share a band, which are named, and
//! the legend; decided before the layout.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

use collbench_text::quantity::counted_grouped;

use super::{Sides, Thread, Timemap, duration_of};
use crate::style::{self, N_DASHES};

/// More groups share one band.
const MAX_BANDS: usize = 6;
/// More groups are not drawn as medians either.
const MAX_MEDIANS: usize = 64;

/// A line that is drawn separately.
pub(super) struct Single<'a> {
    pub(super) thread: &'a Thread,
    pub(super) class: String,
    /// Label at the start of the line; `end`: at its end; empty for none.
    pub(super) start: String,
    pub(super) end: String,
}

/// Threads that are drawn together.
pub(super) struct Group<'a> {
    pub(super) name: String,
    pub(super) threads: Vec<&'a Thread>,
}

/// Content of a picture, decided before the layout.
pub(super) struct Plan<'a> {
    pub(super) singles: Vec<Single<'a>>,
    pub(super) bands: Vec<(Group<'a>, String)>,
    pub(super) medians: Vec<Group<'a>>,
    pub(super) legend: Vec<Entry>,
}

/// One entry of the legend.
pub(super) struct Entry {
    pub(super) class: String,
    pub(super) sample: Sample,
    pub(super) text: String,
}

/// Samples in the legend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sample {
    Line,
    /// A median in its band.
    Band,
    Area,
}

impl Entry {
    fn new(class: &str, sample: Sample, text: String) -> Entry {
        Entry {
            class: class.to_owned(),
            sample,
            text,
        }
    }
}

impl Timemap {
    fn groups(&self) -> Vec<Group<'_>> {
        let mut idx_of = HashMap::new();
        let mut groups: Vec<Group<'_>> = Vec::new();
        for thread in &self.threads {
            let name = thread.line.group();
            let idx = *idx_of.entry(name).or_insert_with(|| {
                groups.push(Group {
                    name: name.to_string(),
                    threads: Vec::new(),
                });
                groups.len() - 1
            });
            groups[idx].threads.push(thread);
        }
        groups
    }

    pub(super) fn plan(&self) -> Plan<'_> {
        let groups = self.groups();
        let mut plan = if self.threads.len() <= Self::MAX_SINGLE_LINES {
            self.plan_singles(&groups)
        } else {
            self.plan_bands(groups)
        };
        if let Some(error_ns) = self.clock_error_ns {
            let shown = duration_of(error_ns);
            let text = format!("clock error, ±{shown}");
            plan.legend.push(Entry::new("error", Sample::Area, text));
        }
        plan
    }

    /// One line per thread: each with its own style if there are few, else in that of its group.
    fn plan_singles<'a>(&'a self, groups: &[Group<'a>]) -> Plan<'a> {
        let few = self.threads.len() <= N_DASHES;
        let by_group = !few && (2..=MAX_BANDS).contains(&groups.len());
        let has_down = !self.stages.down.is_empty();
        let extremes = self.extremes();
        let mut legend = Vec::new();
        let mut singles = Vec::new();
        for (idx, thread) in self.threads.iter().enumerate() {
            let look = match groups
                .iter()
                .position(|g| g.name == thread.line.group().as_str())
            {
                Some(group_idx) if by_group => group_idx,
                _ => idx,
            };
            let class = style::series(look);
            if !by_group {
                legend.push(Entry::new(&class, Sample::Line, thread.line.full_name()));
            }
            let name = thread.line.name.cut(20);
            let ends_far = extremes
                .iter()
                .any(|e| e.thread_idx == idx && e.up.is_some());
            singles.push(Single {
                thread,
                class,
                start: if has_down {
                    name.clone()
                } else {
                    String::new()
                },
                end: if few || !has_down || ends_far {
                    name
                } else {
                    String::new()
                },
            });
        }
        if by_group {
            for (idx, group) in groups.iter().enumerate() {
                legend.push(Entry::new(&style::series(idx), Sample::Line, group.title()));
            }
        }
        Plan {
            singles,
            bands: Vec::new(),
            medians: Vec::new(),
            legend,
        }
    }

    /// Bands, and the extreme threads by name.
    fn plan_bands<'a>(&'a self, groups: Vec<Group<'a>>) -> Plan<'a> {
        let mut plan = Plan {
            singles: vec![],
            bands: vec![],
            medians: vec![],
            legend: vec![],
        };
        if groups.len() <= MAX_BANDS {
            plan.bands = groups
                .into_iter()
                .enumerate()
                .map(|(idx, group)| (group, style::series(idx)))
                .collect();
        } else {
            let all = Group {
                name: "all".into(),
                threads: self.threads.iter().collect(),
            };
            plan.bands = vec![(all, style::series(0))];
            if groups.len() <= MAX_MEDIANS {
                plan.medians = groups;
            }
        }
        for (group, class) in &plan.bands {
            plan.legend
                .push(Entry::new(class, Sample::Band, group.title()));
        }
        if !plan.medians.is_empty() {
            let has_classes = self
                .threads
                .iter()
                .any(|thread| thread.line.class.is_some());
            let noun = if has_classes { "classes" } else { "hosts" };
            let text = format!("median of each of {} {noun}", plan.medians.len());
            plan.legend.push(Entry::new("thin", Sample::Line, text));
        }
        for (idx, extreme) in self.extremes().into_iter().enumerate() {
            let thread = &self.threads[extreme.thread_idx];
            let class = format!("extreme {}", style::dash(idx));
            let name = thread.line.name.cut(20);
            let label = |role: Option<&str>| match role {
                Some(role) => format!("{name}: {role}"),
                None => name.clone(),
            };
            plan.legend
                .push(Entry::new(&class, Sample::Line, thread.line.full_name()));
            plan.singles.push(Single {
                thread,
                class,
                start: if self.stages.down.is_empty() {
                    String::new()
                } else {
                    label(extreme.down)
                },
                end: label(extreme.up),
            });
        }
        plan
    }

    /// The threads with the longest and the shortest paths, the first of equal ones.
    ///
    /// A thread without a stage that others resolve has no length to compare.
    fn extremes(&self) -> Vec<Extreme> {
        let n_down = self.stages.down.len();
        let mut extremes: Vec<Extreme> = Vec::new();
        let mut mark = |thread_idx: usize| -> usize {
            let known = extremes.iter().position(|e| e.thread_idx == thread_idx);
            known.unwrap_or_else(|| {
                extremes.push(Extreme {
                    thread_idx,
                    down: None,
                    up: None,
                });
                extremes.len() - 1
            })
        };
        let down = self.longest_and_shortest(0..n_down, Thread::down_ns);
        let down = down.map(|(longest, shortest)| (mark(longest), mark(shortest)));
        let up = self.longest_and_shortest(n_down..self.stages.len(), Thread::up_ns);
        let up = up.map(|(longest, shortest)| (mark(longest), mark(shortest)));
        let [to_left, to_right] = match self.sides {
            Sides::BeforeAndAfter => [
                ["longest before 0", "shortest before 0"],
                ["longest after 0", "shortest after 0"],
            ],
            Sides::ToAndFromRoot => [
                ["longest to the root", "shortest to the root"],
                ["longest from the root", "shortest from the root"],
            ],
        };
        if let Some((longest, shortest)) = down {
            extremes[longest].down = Some(to_left[0]);
            extremes[shortest].down = Some(to_left[1]);
        }
        if let Some((longest, shortest)) = up {
            extremes[longest].up = Some(to_right[0]);
            extremes[shortest].up = Some(to_right[1]);
        }
        extremes
    }

    /// Indexes of the threads with the longest and the shortest path through `stages`, measured by
    /// `length`; `None` if all are equal.
    fn longest_and_shortest(
        &self,
        stages: Range<usize>,
        length: fn(&Thread) -> i64,
    ) -> Option<(usize, usize)> {
        let by_any = |stage: usize| self.threads.iter().any(|t| t.times[stage].is_some());
        let resolved: Vec<bool> = stages.clone().map(by_any).collect();
        let lengths = || {
            let threads = self.threads.iter().enumerate();
            let complete = threads.filter(|(_, thread)| {
                let mut times = thread.times[stages.clone()].iter().zip(&resolved);
                times.all(|(time, &resolved)| time.is_some() || !resolved)
            });
            complete.map(|(idx, thread)| (length(thread), idx))
        };
        let (longest_ns, longest) = lengths().max_by_key(|&(ns, idx)| (ns, Reverse(idx)))?;
        let (shortest_ns, shortest) = lengths().min()?;
        (longest_ns > shortest_ns).then_some((longest, shortest))
    }
}

/// A thread that stands out, and in which respect.
struct Extreme {
    thread_idx: usize,
    down: Option<&'static str>,
    up: Option<&'static str>,
}

impl Group<'_> {
    pub(super) fn title(&self) -> String {
        format!(
            "{} ({})",
            self.name,
            counted_grouped(self.threads.len() as u64, "rank")
        )
    }
}
