//! What it costs that ranks of a host meet in its memory, from the event collectors of a run over trees.

use std::collections::{BTreeMap, HashMap};

use collbench_plans::{Flow, Passing, Paths, Place, Step, steps};
use collbench_schedules::Link;
use collbench_schedules::own_trees::InMemory;

use super::own_trees::collective;
use super::parameters::{Deviations, LEAST, quantile};
use super::recorded::{Class, Instance, Pass};

/// What is measured together: the same operation and payload, as many values that meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Meeting {
    operation: &'static str,
    /// The payload, rounded up to a power of two.
    bytes: u64,
    /// Whether all processes are on one host, where trees have shortcuts.
    is_one_host: bool,
    how: InMemory,
}

/// How long values take from one process of a host to another.
#[derive(Debug, Clone)]
struct Cost {
    median_ns: f64,
    /// By how much they took longer, in the order of time.
    deviations: Deviations,
}

/// What it costs that ranks of a host meet in its memory, as far as it was measured.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    costs: BTreeMap<Meeting, Cost>,
}

impl Meeting {
    fn of(class: &Class, is_one_host: bool, how: InMemory) -> Self {
        Self {
            operation: class.operation.name(),
            bytes: class.bytes.next_power_of_two(),
            is_one_host,
            how,
        }
    }
}

impl Memory {
    /// From classes of calls that ran over trees.
    #[must_use]
    pub fn of<'c>(classes: impl IntoIterator<Item = &'c Class>) -> Self {
        let mut measured: BTreeMap<Meeting, Vec<f64>> = BTreeMap::new();
        for class in classes {
            each_way(class, |meeting, ns| {
                measured.entry(meeting).or_default().push(ns);
            });
        }
        let costs = measured.into_iter().filter_map(|(meeting, times)| {
            let median_ns = quantile(&mut times.clone(), 0.5)?;
            let deviations = times.iter().map(|ns| ns - median_ns);
            let cost = Cost {
                median_ns,
                deviations: Deviations {
                    of_messages_ns: deviations.collect(),
                    of_links_ns: Vec::new(),
                },
            };
            (times.len() >= LEAST).then_some((meeting, cost))
        });
        Self {
            costs: costs.collect(),
        }
    }

    /// How values of a class of calls get from one process of a host to another, with deviations; `None` if it was
    /// not measured.
    pub(super) fn link(
        &self,
        class: &Class,
        is_one_host: bool,
        how: InMemory,
    ) -> Option<(Link, &Deviations)> {
        let cost = self.costs.get(&Meeting::of(class, is_one_host, how))?;
        let link = Link {
            send_overhead_ns: 0.0,
            receive_overhead_ns: 0.0,
            latency_ns: cost.median_ns,
            gap_ns: 0.0,
            gap_per_byte_ns: 0.0,
            receive_gap_ns: 0.0,
            receive_gap_per_byte_ns: 0.0,
            eager_bytes: u64::MAX,
        };
        Some((link, &cost.deviations))
    }
}

/// When values passed the event collectors of a tree in one segment of an instance, ns: by number, towards the bottommost
/// wrapper and back.
#[derive(Debug)]
struct Stamps(Vec<[Option<f64>; 2]>);

impl Stamps {
    /// `None` if the tree has no such event collector.
    fn of(passes: &[Pass], n_collectors: usize) -> Option<Self> {
        let mut stamps = vec![[None; 2]; n_collectors];
        for pass in passes {
            *stamps.get_mut(pass.collector as usize)? = pass.ways_ns;
        }
        Some(Self(stamps))
    }

    fn at(&self, collector: Option<u32>, is_down: bool) -> Option<f64> {
        self.0[collector? as usize][usize::from(!is_down)]
    }

    fn when(&self, passing: Option<Passing>) -> Option<f64> {
        let Passing { collector, is_down } = passing?;
        self.at(Some(collector), is_down)
    }
}

/// A tree that calls ran on.
struct Ran<'p> {
    paths: &'p Paths,
    root: u32,
}

/// Passes each way of a value in the memory of a host, with how long it took, ns.
fn each_way(class: &Class, mut each: impl FnMut(Meeting, f64)) {
    let (Some(tree), Some(collective)) = (&class.tree, collective(class)) else {
        return;
    };
    if tree.wrappers.n_ranks() as usize != class.ranks.len() {
        return;
    }
    let paths = &Paths::new(&tree.wrappers);
    let is_one_host = paths.is_one_host();
    let ran = Ran {
        paths,
        root: class.root as u32,
    };
    let flow = Flow::of(collective);
    let plans = flow.map(|flow| (flow, ran.plans(flow)));
    let n_collectors = paths.n_ranks() + tree.wrappers.all().len();
    for segment in class.instances.iter().flat_map(Instance::segments) {
        let Some(stamps) = Stamps::of(segment, n_collectors) else {
            continue;
        };
        let mut each = |(join, host), is_brought, ns: f64| {
            let contributors = paths.n_meeting(join, host);
            let how = InMemory {
                contributors,
                is_brought,
            };
            each(Meeting::of(class, is_one_host, how), ns.max(0.0));
        };
        match &plans {
            Some((flow, plans)) => {
                let is_brought = *flow == Flow::ToRoot;
                ran.one_way(plans, &stamps, |at, ns| each(at, is_brought, ns));
            }
            None => ran.both_ways(&stamps, &mut each),
        }
    }
}

impl Ran<'_> {
    fn plans(&self, flow: Flow) -> Vec<Vec<Step>> {
        let ranks = 0..self.paths.n_ranks() as u32;
        ranks
            .map(|me| steps(self.paths, flow, self.root, me))
            .collect()
    }

    /// From when a value is in the memory of a host to when the process that waits for it has passed it on.
    fn one_way(
        &self,
        plans: &[Vec<Step>],
        stamps: &Stamps,
        mut each: impl FnMut((usize, u32), f64),
    ) {
        let mut put: HashMap<Place, (usize, Option<f64>)> = HashMap::new();
        for (me, step) in plans.iter().enumerate().flat_map(each_step) {
            for output in &step.outputs {
                let at_ns = stamps
                    .when(output.passing)
                    .or_else(|| begun_ns(step, stamps));
                put.insert(output.to, (me, at_ns));
            }
        }
        for (me, step) in plans.iter().enumerate().flat_map(each_step) {
            let mut last: Option<(f64, Option<usize>)> = None;
            for input in &step.inputs {
                let (at_ns, join) = match input.from {
                    Place::Program => continue,
                    Place::Message { .. } => (stamps.when(input.passing), None),
                    place => match put.get(&place) {
                        Some((writer, _)) if *writer == me => continue,
                        Some((_, at_ns)) => (*at_ns, place.join(self.paths)),
                        None => (None, None),
                    },
                };
                // Without all of them it is not known which was the last one.
                let Some(at_ns) = at_ns else {
                    last = None;
                    break;
                };
                if last.is_none_or(|(other_ns, _)| other_ns < at_ns) {
                    last = Some((at_ns, join));
                }
            }
            let in_memory = step
                .inputs
                .iter()
                .find(|of| of.from.join(self.paths).is_some());
            let ended = in_memory.and_then(|of| stamps.when(of.passing));
            let mut outputs = step.outputs.iter();
            let ended = ended.or_else(|| outputs.find_map(|of| stamps.when(of.passing)));
            if let (Some((at_ns, Some(join))), Some(ended_ns)) = (last, ended) {
                each((join, self.paths.hosts[me]), ended_ns - at_ns);
            }
        }
    }

    /// From when the last value is brought to a join to when the result goes on; and from when the result of all is there
    /// to when each contributor has it.
    fn both_ways(&self, stamps: &Stamps, each: &mut impl FnMut((usize, u32), bool, f64)) {
        for (at, join) in self.paths.joins.iter().enumerate() {
            let edges = || {
                join.contributors
                    .iter()
                    .map(|&edge| &self.paths.edges[edge])
            };
            let host = |rank: u32| self.paths.hosts[rank as usize];
            let is_local = edges().all(|edge| host(edge.owner) == host(join.owner));
            if join.is_exchange && !is_local {
                continue;
            }
            let arrivals = edges().map(|edge| {
                let end = usize::from(edge.is_proxy);
                Some((stamps.at(edge.collectors[end], true)?, edge))
            });
            let last = arrivals
                .collect::<Option<Vec<_>>>()
                .into_iter()
                .flatten()
                .max_by(|a, b| a.0.total_cmp(&b.0));
            let Some((last_ns, last)) = last else {
                continue;
            };
            let local = edges().filter(|edge| !edge.is_proxy);
            let back = local.filter_map(|edge| Some((stamps.at(edge.collectors[0], false)?, edge)));
            let back: Vec<_> = back.collect();
            if join.is_exchange {
                for (back_ns, _) in back {
                    each((at, host(last.owner)), true, back_ns - last_ns);
                }
                continue;
            }
            // Where it is the bottommost one, the first that has the result has made it.
            let first = back.iter().min_by(|a, b| a.0.total_cmp(&b.0)).copied();
            let (result, acts) = match join.below {
                Some(below) => {
                    let collector = self.paths.edges[below].collectors[0];
                    let [down, up] = [true, false].map(|is_down| stamps.at(collector, is_down));
                    (down.zip(up), join.owner)
                }
                None => match first {
                    Some((ns, edge)) => (Some((ns, ns)), edge.owner),
                    None => (None, join.owner),
                },
            };
            let Some((down_ns, up_ns)) = result else {
                continue;
            };
            let place = (at, host(join.owner));
            let is_here = last.is_proxy || join.is_owned && last.owner == acts;
            if !is_here {
                each(place, true, down_ns - last_ns);
            }
            for (back_ns, _) in back.iter().filter(|(_, edge)| edge.owner != acts) {
                each(place, false, back_ns - up_ns);
            }
        }
    }
}

/// The steps of a process, each with its rank.
fn each_step((me, steps): (usize, &Vec<Step>)) -> impl Iterator<Item = (usize, &Step)> {
    steps.iter().map(move |step| (me, step))
}

/// When a step has taken its values, as far as event collectors show it, ns.
fn begun_ns(step: &Step, stamps: &Stamps) -> Option<f64> {
    let inputs = step.inputs.iter().filter_map(|input| input.passing);
    let passings = inputs.chain(step.passings.iter().copied());
    let times = passings.filter_map(|passing| stamps.when(Some(passing)));
    times.max_by(f64::total_cmp)
}
