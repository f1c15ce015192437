//! Timelines of single instances: which ones the page has, and what leads to them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{CausePlace, Culprit, FoundCause, InstanceTimes, ShownInstance};
use collbench_text::{inert, quantity};
use collbench_viz::{
    InstanceFigure, InstanceTimeline, Text, TimelineCall, TimelineInstance, TimelineMessage,
};

use crate::pictures::title;
use crate::words;
use crate::words::export::{self, Format, Part};

/// How to read the timelines.
pub(crate) const CAPTION: &str = "When each rank was in an instance. Low and pale: it waits for others; high and dark: \
     it is in the operation itself. The dashed line is the arrival of the last; the bar before it, \
     in its colour, is by how much that one is late, where this is a cause of waiting. Arrows are messages from sender to \
     receiver, where these were recorded. Other collectives of the same ranks at that time are faint, as far as they \
     are known. Up to 256 ranks have a row each. Of more, the rows are in order of arrival: the deciles (the rank before \
     which no rank, 10 %, 20 % ... of them, or all others arrive) and the ranks on the critical path, the chain of messages and ranks \
     that ends with the last leave; the others are only lines below, and only messages between rows are shown.";
/// How to read the timeline of all instances.
pub(crate) const CAPTION_OF_ALL: &str = "All collective calls, a row for each rank: what lies between is the time outside \
     of collectives. Low and pale: the rank waits for others; high and dark: it is in the operation itself. Arrows \
     are messages that take long enough to be seen, where messages were recorded.";

/// Most instances on a page, and about how many bytes their pictures take.
const MAX_INSTANCES: usize = 96;
const MAX_BYTES: usize = 3_000_000;
/// So many of them have all their arrows, the others only a few.
const N_WITH_ARROWS: usize = 8;
const ARROWS: usize = 256;
const FEW_ARROWS: usize = 48;
/// Most links to instances of one operation.
const MAX_LINKS: usize = 8;
/// Most calls in the timeline of all instances.
const MAX_CALLS_OF_ALL: usize = 4_000;
/// The part of the run that a message must take to have an arrow in it: some 2 px.
const SHORTEST_ARROW: f64 = 1.0 / 400.0;
/// Most calls beside an instance, for each call of it.
const MAX_BESIDE: usize = 4;

/// The instances that the page has, the costliest first. Their numbers begin with 1.
pub(crate) struct Instances<'a> {
    analysis: &'a Analysis,
    list: Vec<&'a ShownInstance>,
}

impl<'a> Instances<'a> {
    /// The instances of a page on which operations with these indexes have pictures: the worst of each cause, the
    /// outliers and examples of these operations, and the costliest over time, as many as there is room for.
    pub(crate) fn of(analysis: &'a Analysis, drawn: &[usize]) -> Self {
        let all = &analysis.instances.list;
        let mut by_cost: Vec<&ShownInstance> = all.iter().collect();
        by_cost.sort_by_key(|shown| Reverse(shown.times.costliness));
        let of_drawn = |shown: &&&ShownInstance| drawn.contains(&shown.operation);
        let outliers = by_cost.iter().filter(|shown| shown.is_outlier);
        let mut stretches = BTreeSet::new();
        let bin_ns = analysis.timeline.bin_ns.max(1);
        let over_time: Vec<&ShownInstance> = (by_cost.iter().copied())
            .filter(|shown| stretches.insert(shown.times.costliness.at_ns.0 / bin_ns))
            .collect();
        let causes = analysis.causes.iter().filter(|cause| cause.matters);
        let worst = causes.filter_map(|cause| worst_of(analysis, &by_cost, cause));
        let mut wanted: Vec<&ShownInstance> = worst.collect();
        wanted.extend(by_cost.first());
        wanted.extend(outliers.clone().filter(of_drawn).copied());
        // In turns: what a cell, a bar or an outlier leads to.
        let examples = by_cost.iter().filter(of_drawn).copied();
        let mut turns: [Box<dyn Iterator<Item = &ShownInstance>>; 3] = [
            Box::new(over_time.into_iter()),
            Box::new(examples),
            Box::new(outliers.copied()),
        ];
        while wanted.len() < 4 * MAX_INSTANCES {
            let before = wanted.len();
            wanted.extend(turns.iter_mut().filter_map(Iterator::next));
            if wanted.len() == before {
                break;
            }
        }
        Self::that_fit(analysis, wanted)
    }

    /// Those of a list for which there is room.
    fn that_fit(analysis: &'a Analysis, wanted: Vec<&'a ShownInstance>) -> Self {
        let (mut met, mut list, mut n_bytes) = (BTreeSet::new(), Vec::new(), 0);
        for shown in wanted {
            let is_full = list.len() == MAX_INSTANCES || n_bytes > MAX_BYTES;
            if !is_full && met.insert(shown.times.costliness) {
                let max_arrows = if list.len() < N_WITH_ARROWS {
                    ARROWS
                } else {
                    FEW_ARROWS
                };
                n_bytes += bytes_of(&shown.times, max_arrows);
                list.push(shown);
            }
        }
        list.sort_by_key(|shown| Reverse(shown.times.costliness));
        Self { analysis, list }
    }

    fn numbered(&self) -> impl Iterator<Item = (usize, &'a ShownInstance)> {
        (1..).zip(self.list.iter().copied())
    }

    /// The figures, the costliest instance first.
    pub(crate) fn figures(&self) -> Vec<InstanceFigure> {
        let figures = self
            .numbered()
            .map(|(number, shown)| self.figure(number, shown));
        figures.collect()
    }

    /// Some instances of an operation, with a few words on each: outliers first.
    pub(crate) fn links(&self, operation: usize) -> Vec<(usize, Text)> {
        let of_it = || {
            self.numbered()
                .filter(|(_, shown)| shown.operation == operation)
        };
        let outliers = of_it().filter(|(_, shown)| shown.is_outlier);
        let others = of_it().filter(|(_, shown)| !shown.is_outlier);
        let links = outliers.chain(others).take(MAX_LINKS);
        let links = links.map(|(number, shown)| {
            let outlier = if shown.is_outlier { ", outlier" } else { "" };
            let words = format!(
                "{} at {}{outlier}",
                quantity::duration(shown.times.duration_ns),
                begin(&shown.times)
            );
            (number, words.into())
        });
        links.collect()
    }

    /// The timeline of the first of the instances of an operation that its links name.
    pub(crate) fn first_of(&self, operation: usize) -> Option<InstanceTimeline> {
        let (number, _) = self.links(operation).into_iter().next()?;
        let shown = self.list.get(number - 1)?;
        Some(self.timeline(1, shown))
    }

    /// The instance that shows best what a cause costs.
    pub(crate) fn worst_of(&self, cause: &FoundCause) -> Option<usize> {
        let worst = worst_of(self.analysis, &self.list, cause)?;
        let mut numbered = self.numbered();
        let found = numbered.find(|(_, shown)| shown.times.costliness == worst.times.costliness);
        found.map(|(number, _)| number)
    }

    /// The outlier that a sentence is on.
    pub(crate) fn outlier_in(&self, sentence: &str) -> Option<usize> {
        let outliers = self.numbered().filter(|(_, shown)| shown.is_outlier);
        let mut on_it = outliers.filter(|(_, shown)| {
            let operation = &self.analysis.operations[shown.operation];
            let mut outliers = operation.outliers.iter();
            let summary = outliers.find(|outlier| {
                let own = (shown.times.sequence, shown.times.duration_ns);
                (outlier.sequence, outlier.duration_ns) == own
            });
            summary.is_some_and(|outlier| {
                let words = words::advice::outlier_words(self.analysis, operation, outlier);
                sentence.contains(&words)
            })
        });
        on_it.next().map(|(number, _)| number)
    }

    /// An instance of an operation that took from one time to below another or, if none is there, at most twice or at
    /// least half as long.
    pub(crate) fn that_took(&self, operation: usize, from_ns: i64, to_ns: i64) -> Option<usize> {
        let of_it = self
            .numbered()
            .filter(|(_, shown)| shown.operation == operation);
        let distance = |ns: i64| {
            let (short, long) = if ns < from_ns {
                (ns, from_ns)
            } else {
                (to_ns - 1, ns)
            };
            if (from_ns..to_ns).contains(&ns) {
                1.0
            } else {
                long as f64 / short.max(1) as f64
            }
        };
        let near = of_it.map(|(number, shown)| (distance(shown.times.duration_ns), number));
        let near = near.filter(|(distance, _)| *distance <= 2.0);
        near.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
            .map(|(_, number)| number)
    }

    /// For each rank and each stretch of the run the instance in which it waited most there.
    pub(crate) fn waited_in(&self, bin_ns: i64) -> BTreeMap<(u32, i64), usize> {
        let mut longest: BTreeMap<(u32, i64), (i64, Reverse<usize>)> = BTreeMap::new();
        for (number, shown) in self.numbered() {
            for (rank, from_ns, to_ns) in waits(&shown.times) {
                for bin in from_ns.max(0) / bin_ns..=to_ns.max(0) / bin_ns {
                    let begin_ns = bin.saturating_mul(bin_ns).max(from_ns);
                    let end_ns = (bin + 1).saturating_mul(bin_ns).min(to_ns);
                    if end_ns > begin_ns {
                        let own = (end_ns - begin_ns, Reverse(number));
                        let known = longest.entry((rank, bin)).or_insert(own);
                        *known = own.max(*known);
                    }
                }
            }
        }
        let places = longest.into_iter();
        places
            .map(|(place, (_, number))| (place, number.0))
            .collect()
    }

    fn figure(&self, number: usize, shown: &'a ShownInstance) -> InstanceFigure {
        let (analysis, times) = (self.analysis, &shown.times);
        let operation = &analysis.operations[shown.operation];
        let hosts = hosts(analysis);
        let ranks: Vec<u32> = times.calls.iter().map(|call| call.rank).collect();
        let of_ranks: BTreeSet<&str> = ranks.iter().map(|rank| host(&hosts, *rank)).collect();
        let communicator = words::communicator(analysis, operation.communicator, 40);
        InstanceFigure {
            number,
            heading: heading(analysis, shown).into(),
            operation: (&*operation.operation).into(),
            communicator: communicator.into(),
            phase: times
                .phase
                .map_or_else(String::new, |level| level.to_string())
                .into(),
            ranks: ranges(&ranks),
            hosts: of_ranks
                .into_iter()
                .map(|host| inert::line(host, 60).into())
                .collect(),
            sites: sites(analysis, times).into_iter().map(Text::from).collect(),
            timeline: self.timeline(number, shown),
            export: export::command(analysis, Part::Instance(number, shown), Format::Perfetto),
        }
    }

    /// The timeline of an instance with what happened beside it.
    pub(crate) fn timeline(&self, number: usize, shown: &'a ShownInstance) -> InstanceTimeline {
        let (analysis, times) = (self.analysis, &shown.times);
        let operation = &analysis.operations[shown.operation];
        let (begin_ns, end_ns) = times.span_ns();
        let margin_ns = (end_ns.saturating_sub(begin_ns) / 8).max(1);
        let stretch_ns = (
            begin_ns.saturating_sub(margin_ns),
            end_ns.saturating_add(margin_ns),
        );
        let called_at = match &sites(analysis, times)[..] {
            [] => String::new(),
            [place] => format!(", called at {place}"),
            [place, others @ ..] => format!(
                ", called at {place} and {}",
                quantity::counted(others.len(), "other place")
            ),
        };
        let subtitle = format!(
            "{}, call {}{called_at}",
            title(analysis, operation),
            times.sequence
        );
        let origin = format!(
            "the first enter at {} of the run",
            quantity::begin(begin_ns, times.duration_ns)
        );
        let mut timeline = InstanceTimeline::new(
            finding(analysis, shown).into(),
            subtitle.into(),
            stretch_ns,
            (begin_ns, origin.into()),
        )
        .with_arrows(if number <= N_WITH_ARROWS {
            ARROWS
        } else {
            FEW_ARROWS
        });
        let hosts = hosts(analysis);
        for call in &times.calls {
            timeline.push_rank(call.rank, inert::line(host(&hosts, call.rank), 60).into());
        }
        for beside in self.beside(shown, stretch_ns) {
            timeline.push(instance(analysis, beside, true));
        }
        timeline.push(instance(analysis, shown, false));
        timeline
    }

    /// Other instances that are known in a stretch of the run, the nearest of them if they are many.
    fn beside(
        &self,
        shown: &ShownInstance,
        (from_ns, to_ns): (i64, i64),
    ) -> Vec<&'a ShownInstance> {
        let (begin_ns, end_ns) = shown.times.span_ns();
        let middle_ns = begin_ns.midpoint(end_ns);
        let others = self.analysis.instances.list.iter().filter(|other| {
            let (begin_ns, end_ns) = other.times.span_ns();
            begin_ns <= to_ns
                && end_ns >= from_ns
                && other.times.costliness != shown.times.costliness
        });
        let mut others: Vec<&ShownInstance> = others.collect();
        others.sort_by_key(|other| {
            let (begin_ns, end_ns) = other.times.span_ns();
            (begin_ns.midpoint(end_ns) - middle_ns).abs()
        });
        let mut room = MAX_BESIDE * shown.times.calls.len();
        others.retain(|other| {
            let fits = other.times.calls.len() <= room;
            room -= if fits { other.times.calls.len() } else { 0 };
            fits
        });
        others
    }
}

/// The timeline of all instances, if they are known and few.
pub(crate) fn of_all(analysis: &Analysis) -> Option<InstanceTimeline> {
    let shown = &analysis.instances;
    let n_calls: usize = shown.list.iter().map(|shown| shown.times.calls.len()).sum();
    if !shown.are_all || shown.list.len() < 2 || n_calls > MAX_CALLS_OF_ALL {
        return None;
    }
    let spans = || shown.list.iter().map(|shown| shown.times.span_ns());
    let stretch_ns = (
        spans().map(|(begin_ns, _)| begin_ns).min()?,
        spans().map(|(_, end_ns)| end_ns).max()?,
    );
    let finding = format!(
        "{} in {}",
        quantity::counted(shown.list.len(), "collective"),
        quantity::duration(stretch_ns.1.saturating_sub(stretch_ns.0))
    );
    let subtitle = format!(
        "All collectives of two ranks or more, {}",
        quantity::counted_grouped(n_calls as u64, "call")
    );
    let origin = (0, "the start of the run".into());
    let mut timeline = InstanceTimeline::new(finding.into(), subtitle.into(), stretch_ns, origin)
        .with_shortest_arrow(SHORTEST_ARROW);
    let hosts = hosts(analysis);
    let calls = shown.list.iter().flat_map(|shown| &shown.times.calls);
    let ranks: BTreeSet<u32> = calls.map(|call| call.rank).collect();
    for rank in ranks {
        timeline.push_rank(rank, inert::line(host(&hosts, rank), 60).into());
    }
    for shown in &shown.list {
        timeline.push(instance(analysis, shown, false));
    }
    Some(timeline)
}

/// The instance among some, the costliest first, that shows best what a cause costs: the costliest in which it acts.
fn worst_of<'a>(
    analysis: &Analysis,
    by_cost: &[&'a ShownInstance],
    cause: &FoundCause,
) -> Option<&'a ShownInstance> {
    let hosts = hosts(analysis);
    let last = |shown: &ShownInstance| {
        let last = shown.times.last?;
        Some(shown.times.calls[last].rank)
    };
    let is_of = |shown: &ShownInstance| cause.operation.is_none_or(|of| shown.operation == of);
    // The longest message between two ends, which a predicate on two ranks knows.
    let longest_message = |is_between: &dyn Fn(u32, u32) -> bool| {
        let transfer_ns = |shown: &ShownInstance| {
            let calls = &shown.times.calls;
            let messages = shown.times.messages.iter().filter(|message| {
                let (from, to) = (message.from as usize, message.to as usize);
                let (from, to) = (calls[from].rank, calls[to].rank);
                is_between(from, to) || is_between(to, from)
            });
            messages.filter_map(|message| message.transfer_ns()).max()
        };
        let known = by_cost
            .iter()
            .filter_map(|shown| Some((transfer_ns(shown)?, *shown)));
        known
            .max_by_key(|(ns, shown)| (*ns, shown.times.costliness))
            .map(|(_, shown)| shown)
    };
    match &cause.place {
        Some(CausePlace::Rank(rank)) => {
            let mut late = by_cost.iter().filter(|shown| last(shown) == Some(*rank));
            late.next().copied()
        }
        Some(CausePlace::Host(name)) => {
            let is_there = |shown: &&&ShownInstance| {
                last(shown).is_some_and(|rank| hosts.get(&rank) == Some(&name.as_str()))
            };
            by_cost.iter().find(is_there).copied()
        }
        Some(CausePlace::Ranks { from, to }) => {
            longest_message(&|sender, receiver| (sender, receiver) == (*from, *to))
        }
        Some(CausePlace::Hosts { from, to }) => longest_message(&|sender, receiver| {
            let ends = (hosts.get(&sender), hosts.get(&receiver));
            ends == (Some(&from.as_str()), Some(&to.as_str()))
        }),
        _ if cause.operation.is_some() => by_cost.iter().find(|shown| is_of(shown)).copied(),
        _ => None,
    }
}

/// The hosts by rank.
fn hosts(analysis: &Analysis) -> BTreeMap<u32, &str> {
    let ranks = analysis.ranks.iter();
    ranks.map(|rank| (rank.rank, rank.host.as_str())).collect()
}

/// The places in the program from which an instance was called, each once, by call.
fn sites(analysis: &Analysis, times: &InstanceTimes) -> Vec<String> {
    let mut sites = Vec::new();
    for site in (0..times.calls.len()).filter_map(|call| times.site_of(call)) {
        if !sites.contains(&site) {
            sites.push(site);
        }
    }
    // Ways that end at one line are one place.
    let mut places: Vec<String> = Vec::new();
    for site in sites {
        let place = words::call_sites::place(analysis, Some(site));
        places.extend(place.filter(|place| !places.contains(place)));
    }
    places
}

fn host<'h>(hosts: &BTreeMap<u32, &'h str>, rank: u32) -> &'h str {
    hosts.get(&rank).copied().unwrap_or_default()
}

/// When an instance begins, by which it is selected.
fn begin(times: &InstanceTimes) -> String {
    quantity::begin(times.first_enter_ns, times.duration_ns)
}

/// An instance in a line: what, when, how long, and who arrived last.
fn heading(analysis: &Analysis, shown: &ShownInstance) -> String {
    let times = &shown.times;
    let operation = &analysis.operations[shown.operation];
    let mut parts = vec![format!(
        "{} at {}: {}",
        operation.operation,
        begin(times),
        quantity::duration(times.duration_ns)
    )];
    if times.costliness.wait_ns > 0 {
        parts.push(format!(
            "ranks wait {}",
            quantity::duration(times.costliness.wait_ns)
        ));
    }
    parts.extend(
        times
            .last
            .map(|last| format!("rank {} last", times.calls[last].rank)),
    );
    parts.extend(shown.is_outlier.then(|| "outlier".to_owned()));
    parts.join(", ")
}

/// What is to be seen in an instance, as a sentence.
fn finding(analysis: &Analysis, shown: &ShownInstance) -> String {
    let times = &shown.times;
    let waiting = quantity::percent(times.costliness.wait_ns, times.costliness.call_ns);
    let messages = times.messages.iter();
    let longest = messages.filter_map(|message| Some((message.transfer_ns()?, message)));
    let longest = longest.max_by_key(|(ns, _)| *ns).map(|(ns, message)| {
        let rank = |index: u32| times.calls[index as usize].rank;
        let (from, to) = (rank(message.from), rank(message.to));
        format!(
            "; its slowest hop takes {}, from rank {from} to rank {to}",
            quantity::duration(ns)
        )
    });
    let Some(last) = times.last.filter(|_| is_mostly_waiting(times)) else {
        return format!(
            "It takes {}, and {waiting} of the time in its calls is waiting{}",
            quantity::duration(times.duration_ns),
            longest.unwrap_or_default()
        );
    };
    let rank = times.calls[last].rank;
    let cause = late_rank(analysis, shown);
    let cause = cause.map_or_else(String::new, |cause| {
        format!(". The cause: {}", words::causes::what(analysis, cause))
    });
    format!(
        "Rank {rank} {}, {} after the next; {waiting} of the time in the calls is waiting{cause}",
        words::arrivals::is_last(&analysis.operations[shown.operation].operation),
        quantity::duration(times.excess_ns)
    )
}

fn is_mostly_waiting(times: &InstanceTimes) -> bool {
    times.costliness.wait_ns > 0 && 2 * times.costliness.wait_ns >= times.costliness.call_ns
}

/// The cause that the verdict names for the one that arrives last, if the instance shows it.
fn late_rank<'a>(analysis: &'a Analysis, shown: &ShownInstance) -> Option<&'a FoundCause> {
    let times = &shown.times;
    let last = times.last.filter(|_| is_mostly_waiting(times))?;
    let rank = Culprit::Rank(times.calls[last].rank);
    let operation = &analysis.operations[shown.operation];
    let at = (&*operation.operation, operation.communicator);
    words::causes::first_named(analysis, &rank, at)
}

fn instance(analysis: &Analysis, shown: &ShownInstance, is_beside: bool) -> TimelineInstance {
    let times = &shown.times;
    let operation = &analysis.operations[shown.operation];
    let rank_of = |index: usize| times.calls[index].rank;
    let calls = times
        .calls
        .iter()
        .enumerate()
        .map(|(index, call)| TimelineCall {
            rank: call.rank,
            enter_ns: call.enter_ns,
            leave_ns: call.leave_ns,
            wait_ns: call.wait_ns(),
            released_by: call.released_by().map(rank_of),
            completion_ns: (times.completions.get(index))
                .map(|times| (times.initiated_ns, times.completion_ns)),
        });
    let messages = times.messages.iter().filter_map(|message| {
        Some(TimelineMessage {
            from: rank_of(message.from as usize),
            to: rank_of(message.to as usize),
            bytes: message.bytes,
            sent_ns: message.sent_ns,
            posted_ns: message.posted_ns,
            received_ns: message.received_ns?,
        })
    });
    TimelineInstance {
        name: format!("{} (call {})", operation.operation, times.sequence).into(),
        is_beside,
        last: times.last.map(|last| (rank_of(last), times.excess_ns)),
        is_late: !is_beside && late_rank(analysis, shown).is_some(),
        on_path: times
            .on_path
            .iter()
            .map(|&index| rank_of(index as usize))
            .collect(),
        calls: calls.collect(),
        messages: messages.collect(),
    }
}

/// The waits of an instance: rank, begin and end, ns.
fn waits(times: &InstanceTimes) -> impl Iterator<Item = (u32, i64, i64)> {
    times.calls.iter().enumerate().filter_map(|(index, call)| {
        let completion = times.completions.get(index);
        let from_ns = completion.map_or(call.enter_ns, |times| times.completion_ns);
        let wait_ns = call.wait_ns().filter(|ns| *ns > 0)?;
        Some((call.rank, from_ns, from_ns.saturating_add(wait_ns)))
    })
}

/// About how many bytes the picture of an instance takes, with what happened beside it.
fn bytes_of(times: &InstanceTimes, max_arrows: usize) -> usize {
    let (fixed, of_arrow) = (3_000, 330);
    let n_calls = times.calls.len();
    let of_calls = if n_calls > InstanceTimes::MAX_SHOWN_WHOLE {
        // Rows for some, and bands of lines.
        300 * (80 + times.on_path.len()).min(320) + 65 * n_calls
    } else {
        400 * n_calls
    };
    fixed + of_calls + of_arrow * times.messages.len().min(max_arrows)
}

/// Ascending numbers as ranges.
fn ranges(ranks: &[u32]) -> Vec<(u32, u32)> {
    let mut sorted = ranks.to_vec();
    sorted.sort_unstable();
    let runs = sorted.chunk_by(|a, b| a + 1 == *b);
    runs.filter_map(|run| Some((*run.first()?, *run.last()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use collbench_analyzer::{Options, RunFiles, analyze};

    use super::*;

    fn of_scenario(name: &str) -> Analysis {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/browser/scenarios");
        let directory = tempfile::tempdir().unwrap();
        let trace = directory.path().join("trace");
        let file = folder.join(format!("{name}.toml"));
        collbench_generate::generate(&file, &trace, None, false).unwrap();
        let files = RunFiles::open(&trace).unwrap();
        analyze(&files, &Options::default(), &mut |_| {}).unwrap()
    }

    fn drawn(analysis: &Analysis) -> Vec<usize> {
        (0..analysis.operations.len().min(5)).collect()
    }

    #[test]
    fn a_stretch_of_a_rank_leads_to_the_instance_in_which_it_waited_most_there() {
        let analysis = of_scenario("sixty-four");
        let instances = Instances::of(&analysis, &drawn(&analysis));
        let bin_ns = analysis.timeline.bin_ns;
        let waited_in = instances.waited_in(bin_ns);
        let n_bins = analysis.timeline.ranks[0].calls.len() as i64;
        let mut n_told = 0;
        for rank in [0, 17, 37, 63] {
            for bin in 0..n_bins {
                let overlap = |shown: &ShownInstance| {
                    let call = shown.times.calls.iter().find(|call| call.rank == rank)?;
                    let end_ns = call.enter_ns + call.wait_ns()?;
                    Some(end_ns.min((bin + 1) * bin_ns) - call.enter_ns.max(bin * bin_ns))
                };
                let overlaps = || instances.list.iter().filter_map(|shown| overlap(shown));
                let most = overlaps().max().filter(|ns| *ns > 0);
                let found = waited_in.get(&(rank, bin)).copied();
                let found = found.and_then(|number| overlap(instances.list[number - 1]));
                assert_eq!(found, most, "rank {rank}, stretch {bin}");
                n_told += usize::from(most.is_some());
            }
        }
        assert!(n_told > 20, "{n_told}");
    }

    #[test]
    fn a_bar_of_durations_leads_to_one_that_took_so_long_if_there_is_one() {
        let analysis = of_scenario("four");
        let instances = Instances::of(&analysis, &drawn(&analysis));
        let mut n_exact = 0;
        for (index, operation) in analysis.operations.iter().enumerate() {
            for bucket in operation.duration_histogram.iter() {
                let is_in = |shown: &&ShownInstance| {
                    let range = bucket.from_ns..bucket.to_ns;
                    shown.operation == index && range.contains(&shown.times.duration_ns)
                };
                let is_any = instances.list.iter().any(&is_in);
                let found = instances.that_took(index, bucket.from_ns, bucket.to_ns);
                let found = found.map(|number| instances.list[number - 1]);
                assert_eq!(found.as_ref().is_some_and(is_in), is_any, "{bucket:?}");
                let is_near = |shown: &ShownInstance| {
                    let ns = shown.times.duration_ns;
                    shown.operation == index && 2 * ns >= bucket.from_ns && ns <= 2 * bucket.to_ns
                };
                assert!(found.is_none_or(is_near));
                n_exact += usize::from(is_any);
            }
        }
        assert!(n_exact > 10, "{n_exact}");
    }

    #[test]
    fn the_worst_instance_of_a_late_rank_is_the_costliest_to_which_it_came_last() {
        let analysis = of_scenario("four");
        let instances = Instances::of(&analysis, &drawn(&analysis));
        let late = |cause: &&FoundCause| cause.place == Some(CausePlace::Rank(2));
        let cause = analysis.causes.iter().find(late).unwrap();
        let worst = &instances.list[instances.worst_of(cause).unwrap() - 1].times;
        let came_last = analysis.instances.list.iter().filter(|shown| {
            let times = &shown.times;
            times.last.is_some_and(|last| times.calls[last].rank == 2)
        });
        let costliest = came_last.map(|shown| shown.times.costliness).max();
        assert_eq!(Some(worst.costliness), costliest);
    }

    #[test]
    fn a_heading_names_the_first_enter_with_which_the_axis_begins() {
        let analysis = of_scenario("four");
        let instances = Instances::of(&analysis, &drawn(&analysis));
        for (figure, shown) in instances.figures().into_iter().zip(&instances.list) {
            let enters = shown.times.calls.iter().map(|call| call.enter_ns);
            let first = quantity::begin(enters.min().unwrap(), shown.times.duration_ns);
            let heading = figure.heading.to_string();
            assert!(heading.contains(&format!(" at {first}: ")), "{heading}");
            let picture = collbench_viz::Picture::from(figure.timeline).to_svg();
            let axis = format!("time since the first enter at {first} of the run");
            assert!(picture.contains(&axis), "{heading}: {axis}");
        }
    }

    #[test]
    fn the_pictures_of_many_ranks_take_a_few_megabytes() {
        let analysis = of_scenario("thousand");
        let instances = Instances::of(&analysis, &drawn(&analysis));
        let pictures = instances
            .figures()
            .into_iter()
            .map(|figure| collbench_viz::Picture::from(figure.timeline).to_svg().len());
        let n_bytes: usize = pictures.sum();
        assert!(instances.list.len() > 10 && n_bytes < 4 << 20, "{n_bytes}");
    }
}
