//! The document of the result.

use collbench_formats::ClockSource;
use collbench_instrument::name_of_clock;
use serde::Serialize;

use super::measurement::{
    COSTS_OF_SIZE, Progress, Sampler, Subject, bulk_sizes, checked, not_checked,
};
use super::messages::{Job, Parameters as Simulated, Pattern, Transfer};
use super::model::{
    Check, Class, Cost, Estimate, Lines, Links, OfSize, Pair, Parameters, Precision, RoundTrips,
    Signature, latency_at_most_ns,
};
use crate::job::Process;
use crate::machine::{Machine, online_cores};
use crate::overhead::settings;

/// Delays of small messages, in gaps.
const DELAYS: [f64; 3] = [0.5, 1.0, 2.0];
/// Requests without a reply at once, at first.
const WINDOW: usize = 64;
/// Costs that small messages on one link are expected to need.
const COSTS_OF_SMALL: usize = 52;
/// Bulk messages without a reply at once, at first.
const BULK_WINDOW: usize = 4;
/// Bytes of the bulk messages with which several senders and receivers are compared.
const CHECKED: usize = 65_536;

/// The document `collbench.bench.logp/1`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Figures {
    schema: &'static str,
    pub(super) machine: Machine,
    pub(super) mpi_library: Option<String>,
    pub(super) command: Vec<String>,
    pub(super) environment: std::collections::BTreeMap<String, String>,
    /// `None` where the network is simulated.
    pub(super) clock: Option<&'static str>,
    /// `point_to_point`, `one_sided` or `simulated`.
    pub(super) network: &'static str,
    /// Parameters of the simulated network.
    pub(super) simulated: Option<Simulated>,
    /// Host of each process, by rank; empty where the network is simulated.
    pub(super) hosts: Vec<String>,
    /// Repetitions in a batch.
    batch: usize,
    pub(super) pairs: Vec<Pair>,
    pub(super) classes: Vec<OfClass>,
    pub(super) checks: Vec<Check>,
    /// Number of times that were measured until they were precise, or given up.
    pub(super) times: usize,
    /// How many of them have an interval that is wider than was asked for.
    pub(super) imprecise_times: usize,
    /// What could not be measured, and why.
    pub(super) invalid: Vec<String>,
}

/// Everything measured with links of one class, between the pair with the median round trip.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct OfClass {
    #[serde(flatten)]
    pub(super) class: Class,
    /// The two processes between which it was measured; the first sends requests.
    pub(super) between: [usize; 2],
    /// Of small messages.
    pub(super) signature: Signature,
    pub(super) parameters: Option<Parameters>,
    /// What L is at most, ns; `None` where it is known.
    pub(super) latency_at_most_ns: Option<f64>,
    /// Time to receive a reply that has arrived: o_r, directly.
    pub(super) receipt: Option<Cost>,
    pub(super) round_trips: Option<RoundTrips>,
    /// Bulk messages, by size.
    pub(super) sizes: Vec<OfSize>,
    pub(super) lines: Lines,
}

/// What is measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) precision: Precision,
    /// The smallest and the largest bulk message, bytes; there are none if the largest is smaller.
    pub(super) sizes: [usize; 2],
}

/// What was measured, in the process that decides.
#[derive(Debug)]
pub(super) struct Measured {
    pairs: Vec<Pair>,
    pub(super) classes: Vec<OfClass>,
    checks: Vec<Check>,
    /// Which checks were not made, and why.
    not_checked: Vec<String>,
}

impl Measured {
    /// Measures everything; `is_on_one_host` of two processes.
    pub(super) fn of<J: Job>(
        job: &mut J,
        plan: Plan,
        is_on_one_host: impl Fn(usize, usize) -> bool,
        progress: Progress,
    ) -> Self {
        let mut sampler = Sampler {
            job,
            precision: plan.precision,
            progress,
        };
        let n = sampler.job.n_processes();
        let n_pairs = n * n.saturating_sub(1) / 2;
        sampler.progress.plan(n_pairs);
        let part = "round trips of all pairs".to_owned();
        sampler.progress.begin(part, n_pairs, 0.0);
        let pairs = sampler.pairs(is_on_one_host);
        let classes = Class::of(&pairs);
        let links = Links::of(&pairs, &classes);
        let n_sizes = bulk_sizes(plan.sizes).count();
        let of_class = COSTS_OF_SMALL + n_sizes * COSTS_OF_SIZE;
        let n_kinds = 1 + usize::from(n_sizes > 0);
        let of_checks = n_kinds * checked(n, &links);
        sampler.progress.plan(classes.len() * of_class + of_checks);
        let classes = classes
            .into_iter()
            .filter_map(|class| OfClass::measure(&mut sampler, class, &pairs, plan.sizes))
            .collect();
        let mut checks = sampler.checks(Transfer::Small, WINDOW, &links);
        let [smallest, largest] = plan.sizes;
        if smallest <= largest {
            let bytes = CHECKED.min(largest);
            checks.extend(sampler.checks(Transfer::Store(bytes), BULK_WINDOW, &links));
        }
        Self {
            not_checked: not_checked(sampler.job.n_processes(), &links),
            pairs,
            classes,
            checks,
        }
    }
}

impl OfClass {
    fn measure<J: Job>(
        sampler: &mut Sampler<'_, J>,
        class: Class,
        pairs: &[Pair],
        sizes: [usize; 2],
    ) -> Option<Self> {
        let Pair { from, to, .. } = pairs[class.median_pair()];
        let subject = Subject {
            pattern: Pattern::Pair(from, to),
            transfer: Transfer::Small,
            window: WINDOW,
        };
        let part = format!("{}, small messages", class.name);
        let elapsed_ns = sampler.job.elapsed_ns();
        sampler.progress.begin(part, COSTS_OF_SMALL, elapsed_ns);
        let signature = sampler.signature(subject, &DELAYS)?;
        let receipt = sampler.receipt(subject.repeated(1), signature.round_trip.mean);
        let round_trips = sampler.round_trips(subject.pattern, Transfer::Small);
        let sizes = sampler.sizes(subject.pattern, sizes, &class.name);
        let parameters = Parameters::of(&signature)
            .map(|found| found.with_receipt(&signature, receipt.map(|cost| cost.mean)));
        Some(Self {
            class,
            between: [from, to],
            latency_at_most_ns: latency_at_most_ns(&signature, parameters.as_ref()),
            parameters,
            receipt,
            round_trips,
            lines: Lines::of(&sizes),
            signature,
            sizes,
        })
    }

    /// All times that were measured until they were precise.
    fn costs(&self) -> impl Iterator<Item = &Cost> {
        let of_sizes = self.sizes.iter().flat_map(|size| {
            let others = size.get.iter().chain(&size.receipt);
            of_signature(&size.signature).chain(others)
        });
        of_signature(&self.signature)
            .chain(&self.receipt)
            .chain(of_sizes)
    }

    /// Whether the delays show o_r.
    pub(super) fn shows_receive_overhead(&self) -> bool {
        let parameters = self.parameters.as_ref();
        parameters.is_some_and(Parameters::shows_receive_overhead)
    }

    /// o_r, as the delays show it, else as it was measured directly.
    pub(super) fn receive_overhead(&self) -> Option<Estimate> {
        let read = self.parameters.as_ref();
        let read = read.and_then(|found| found.receive_overhead.as_ref());
        if self.shows_receive_overhead() || self.receipt.is_none() {
            return read.map(|read| read.estimate);
        }
        self.receipt.map(|cost| cost.mean)
    }
}

fn of_signature(signature: &Signature) -> impl Iterator<Item = &Cost> {
    let points = signature.curves.iter().flat_map(|curve| &curve.points);
    points
        .map(|point| &point.cost)
        .chain([&signature.round_trip])
}

/// The job in which it was measured.
#[derive(Debug)]
pub(super) struct Setting {
    pub(super) mpi_library: Option<String>,
    pub(super) clock: Option<ClockSource>,
    pub(super) processes: Vec<Process>,
    pub(super) simulated: Option<Simulated>,
    /// What carried messages.
    pub(super) network: &'static str,
    /// Bulk messages that arrived with other data than were sent.
    pub(super) n_damaged: u64,
}

impl Figures {
    pub(super) fn of(measured: Measured, setting: Setting, plan: Plan) -> Self {
        let invalid = invalid(&measured, &setting);
        let costs = || measured.classes.iter().flat_map(OfClass::costs);
        Self {
            times: costs().count(),
            imprecise_times: costs().filter(|cost| !cost.is_precise).count(),
            schema: "collbench.bench.logp/1",
            machine: Machine::here(),
            mpi_library: setting.mpi_library,
            command: std::env::args().collect(),
            environment: settings(),
            clock: setting.clock.map(name_of_clock),
            network: setting.network,
            simulated: setting.simulated,
            hosts: setting.processes.into_iter().map(|one| one.host).collect(),
            batch: plan.precision.batch,
            pairs: measured.pairs,
            classes: measured.classes,
            checks: measured.checks,
            invalid,
        }
    }

    /// A process by its rank and host.
    pub(super) fn process(&self, rank: usize) -> String {
        match self.hosts.get(rank) {
            Some(host) => format!("rank {rank} on {host}"),
            None => format!("process {rank}"),
        }
    }
}

fn invalid(measured: &Measured, setting: &Setting) -> Vec<String> {
    let mut invalid = Vec::new();
    for of_class in &measured.classes {
        if !of_class.shows_receive_overhead() {
            invalid.push(format!(
                "o_r of {}: not larger than its error; see \"o_r, directly\" and the parametrized \
                 round trips instead",
                of_class.class.name
            ));
        }
    }
    invalid.extend(measured.not_checked.iter().cloned());
    let on_its_host = |a: &Process| {
        let others = setting.processes.iter();
        others.filter(|b| a.clock == b.clock).count()
    };
    let most = setting.processes.iter().map(on_its_host).max();
    let cores = online_cores();
    if let Some(most) = most.filter(|most| *most > cores) {
        invalid.push(format!(
            "all times: {most} processes of one host share {cores} cores, and wait for one another's"
        ));
    }
    if setting.n_damaged > 0 {
        invalid.push(format!(
            "{} bulk messages: arrived with other data than were sent",
            setting.n_damaged
        ));
    }
    invalid
}
