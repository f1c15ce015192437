//! A scenario file as it is written, and its checking.

use std::collections::BTreeMap;
use std::ops::Range;

use collbench_formats::{ClockSource, CompletingCall, Layer, Operation, Semantics};
use serde::Deserialize;
use toml::Spanned;

use super::super::clock::HostClock;
use super::super::clock::Wander;
use super::super::delay::{Amount, Delay};
use super::super::inside::Network;
use super::super::summary::TruthDetail;
use super::{
    Action, Begin, Bytes, Call, CompleteStep, Deed, Exchanges, Fault, Grid, Host, Latency, Root,
    Scenario, ScenarioError, Split, Step,
};
use inside::{WrittenNetwork, WrittenTree};

mod inside;

/// The version of scenario files that this crate reads.
const SCHEMA: u64 = 1;
/// Ranks that a scenario may have: a million files is more than anyone asked for.
const MAX_RANKS: u64 = 1 << 20;
/// Times of a scenario, in ns, stay below 285 years.
const MAX_NS: u64 = 1 << 53;
/// Changes of the rate of one clock.
const MAX_RATE_STEPS: usize = 10_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    schema: Spanned<u64>,
    #[serde(default)]
    name: String,
    seed: Option<u64>,
    grid_ns: Option<Spanned<u64>>,
    uptime_ns: Option<Spanned<u64>>,
    started_unix_ns: Option<Spanned<u64>>,
    chunk_calls: Option<Spanned<u64>>,
    #[serde(default)]
    keep_chunks: Vec<Spanned<u64>>,
    truth: Option<TruthDetail>,
    init_ns: Option<Spanned<u64>>,
    finalize_ns: Option<Spanned<u64>>,
    placement: Option<Placement>,
    hosts: Vec<Spanned<WrittenHost>>,
    exchanges: Option<WrittenExchanges>,
    #[serde(default)]
    threads: BTreeMap<String, Spanned<u32>>,
    latency: Option<Spanned<WrittenLatency>>,
    network: Option<Spanned<WrittenNetwork>>,
    program: Vec<Spanned<WrittenStep>>,
    #[serde(default)]
    faults: Vec<Spanned<WrittenFault>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Placement {
    Block,
    RoundRobin,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenHost {
    name: String,
    ranks: Spanned<u64>,
    #[serde(default)]
    clock: WrittenSource,
    ghz: Option<Spanned<f64>>,
    #[serde(default)]
    offset_ns: i64,
    drift_ppm: Option<Spanned<f64>>,
    wander: Option<Spanned<WrittenWander>>,
    granularity_ticks: Option<Spanned<u64>>,
    anchor_width_ns: Option<Spanned<u64>>,
    #[serde(default)]
    anchor_jitter_ns: u64,
}

/// Changes of a clock's rate.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenWander {
    #[serde(default)]
    amplitude_ppm: f64,
    #[serde(default)]
    period_ns: u64,
    #[serde(default)]
    steps: Vec<WrittenRateStep>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRateStep {
    at_ns: u64,
    ppm: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenExchanges {
    n: Option<Spanned<u64>>,
    one_way_ns: Option<Spanned<u64>>,
    asymmetry_ns: Option<Spanned<u64>>,
    jitter_ns: Option<Spanned<u64>>,
    every_ns: Option<Spanned<u64>>,
    at_end: Option<bool>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum WrittenSource {
    #[default]
    Tsc,
    Raw,
    Monotonic,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenStep {
    repeat: Option<u64>,
    steps: Option<Vec<Spanned<WrittenStep>>>,
    operation: Option<Spanned<String>>,
    on: Option<String>,
    bytes: Option<Spanned<Bytes>>,
    root: Option<Spanned<WrittenRoot>>,
    root_group: Option<Spanned<usize>>,
    makes: Option<Spanned<String>>,
    split: Option<Spanned<Split>>,
    #[serde(default)]
    internal: bool,
    begin_ns: Option<Spanned<u64>>,
    grid: Option<Spanned<Grid>>,
    complete: Option<Spanned<String>>,
    thread: Option<Spanned<u64>>,
    complete_ns: Option<Spanned<u64>>,
    tests: Option<Spanned<u64>>,
    test_ns: Option<Spanned<u64>>,
    phase: Option<i32>,
    #[serde(default)]
    work: Vec<Spanned<WrittenDelay>>,
    latency: Option<Spanned<WrittenLatency>>,
    tree: Option<Spanned<WrittenTree>>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a rank, or \"rotating\"")]
enum WrittenRoot {
    Fixed(u32),
    Word(RotatingWord),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RotatingWord {
    Rotating,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenDelay {
    constant_ns: Option<u64>,
    uniform_ns: Option<[u64; 2]>,
    exponential_ns: Option<u64>,
    normal_ns: Option<[u64; 2]>,
    each_ns: Option<Vec<u64>>,
    noise: Option<WrittenNoise>,
    ranks: Option<Vec<u64>>,
    host: Option<String>,
    share: Option<f64>,
    moves_every: Option<u64>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenNoise {
    period_ns: u64,
    length_ns: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenLatency {
    base_ns: Option<u64>,
    departure_ns: Option<u64>,
    across_hosts_ns: Option<u64>,
    jitter: Option<Spanned<WrittenDelay>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFault {
    rank: u64,
    killed_after_calls: Option<u64>,
    in_flight: Option<bool>,
    #[serde(default)]
    no_finalize: bool,
    cut_at_byte: Option<u64>,
    cut_at_fraction: Option<f64>,
    damaged_chunk: Option<u64>,
    #[serde(default)]
    missing: bool,
    size_reached_after_calls: Option<u64>,
}

impl Scenario {
    /// Reads and checks a scenario file.
    ///
    /// # Errors
    /// [`ScenarioError`] for the first thing that is not as the module's page says.
    pub(crate) fn parse(text: &str) -> Result<Self, ScenarioError> {
        let written: Written = toml::from_str(text).map_err(|error| ScenarioError {
            line: line_of(text, error.span().unwrap_or(0..0)),
            found: error.message().trim().replace('\n', ", "),
            expected: "the fields of a scenario, version 1 (see collbench-generate --help)".into(),
        })?;
        Check {
            text,
            n_ranks: 0,
            hosts: Vec::new(),
            host_of: Vec::new(),
            latency: Latency {
                base_ns: 2_000,
                departure_ns: 0,
                across_hosts_ns: 0,
                jitter: None,
            },
            n_calls: 0,
            n_delays: 0,
        }
        .scenario(written)
    }
}

fn line_of(text: &str, span: Range<usize>) -> usize {
    let before = &text.as_bytes()[..span.start.min(text.len())];
    1 + before.iter().filter(|&&b| b == b'\n').count()
}

/// The checking of one file, with what is known of it so far.
struct Check<'a> {
    text: &'a str,
    n_ranks: u64,
    hosts: Vec<Host>,
    host_of: Vec<usize>,
    /// That of steps which have none of their own.
    latency: Latency,
    n_calls: usize,
    n_delays: u64,
}

impl Check<'_> {
    fn wrong<T>(
        &self,
        span: Range<usize>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Result<T, ScenarioError> {
        Err(ScenarioError {
            line: line_of(self.text, span),
            found: found.into(),
            expected: expected.into(),
        })
    }

    /// A number within limits, or what stands for it when it is left out.
    fn number(
        &self,
        what: &str,
        value: Option<Spanned<u64>>,
        default: u64,
        within: std::ops::RangeInclusive<u64>,
    ) -> Result<u64, ScenarioError> {
        let Some(value) = value else {
            return Ok(default);
        };
        if !within.contains(value.get_ref()) {
            let found = format!("{what} = {}", value.get_ref());
            let expected = format!("{} to {}", within.start(), within.end());
            return self.wrong(value.span(), found, expected);
        }
        Ok(value.into_inner())
    }

    fn scenario(mut self, written: Written) -> Result<Scenario, ScenarioError> {
        if *written.schema.get_ref() != SCHEMA {
            let found = format!("schema = {}", written.schema.get_ref());
            return self.wrong(written.schema.span(), found, format!("schema = {SCHEMA}"));
        }
        let grid_ns = self.number("grid_ns", written.grid_ns, 1, 1..=1_000_000_000)?;
        // A host that has been up for a month shows what large numbers do to small differences.
        let uptime_ns = self.number(
            "uptime_ns",
            written.uptime_ns,
            2_592_000_000_000_000,
            0..=MAX_NS,
        )?;
        let started_unix_ns = self.number(
            "started_unix_ns",
            written.started_unix_ns,
            1_700_000_000_000_000_000,
            0..=1 << 62,
        )?;
        let chunk_calls = self.number("chunk_calls", written.chunk_calls, 2_000, 1..=1 << 20)?;
        let mut keep_chunks = Vec::new();
        for number in written.keep_chunks {
            let number = self.number("keep_chunks", Some(number), 1, 1..=1 << 20)?;
            keep_chunks.push(number as usize);
        }
        let init_ns = self.number("init_ns", written.init_ns, 1_000_000, 0..=MAX_NS)?;
        let finalize_ns = self.number("finalize_ns", written.finalize_ns, 1_000_000, 0..=MAX_NS)?;
        self.read_hosts(
            written.hosts,
            written.placement.unwrap_or(Placement::Block),
            uptime_ns,
            started_unix_ns,
        )?;
        let exchanges = match written.exchanges {
            None => None,
            Some(exchanges) => Some(self.read_exchanges(exchanges)?),
        };
        if let Some(latency) = written.latency {
            self.latency = self.read_latency(latency)?;
        }
        let network = match written.network {
            None => Network::default(),
            Some(network) => self.read_network(network)?,
        };
        let threads = self.read_threads(written.threads)?;
        let program = self.read_steps(written.program)?;
        let has_messages = has_messages(&program);
        let has_threads = !threads.is_empty() || completes_elsewhere(&program);
        let faults = self.read_faults(written.faults, has_threads)?;
        Ok(Scenario {
            name: written.name,
            seed: written.seed.unwrap_or(1),
            grid_ns,
            started_unix_ns,
            chunk_calls: chunk_calls as usize,
            keep_chunks,
            truth: written.truth.unwrap_or(TruthDetail::Full),
            init_ns,
            finalize_ns,
            hosts: self.hosts,
            exchanges,
            host_of: self.host_of,
            threads,
            has_threads,
            network,
            has_messages,
            program,
            faults,
        })
    }

    fn read_hosts(
        &mut self,
        written: Vec<Spanned<WrittenHost>>,
        placement: Placement,
        uptime_ns: u64,
        started_unix_ns: u64,
    ) -> Result<(), ScenarioError> {
        let mut ranks_on = Vec::new();
        for host in written {
            let span = host.span();
            let host = host.into_inner();
            if host.name.is_empty() || self.hosts.iter().any(|other| other.name == host.name) {
                let found = format!("a host named \"{}\"", host.name);
                return self.wrong(span, found, "a name that no other host has");
            }
            let n = self.number("ranks", Some(host.ranks), 0, 1..=MAX_RANKS)?;
            self.n_ranks += n;
            if self.n_ranks > MAX_RANKS {
                let found = format!("{} ranks in all", self.n_ranks);
                return self.wrong(span, found, format!("at most {MAX_RANKS}"));
            }
            ranks_on.push(n);
            let source = match host.clock {
                WrittenSource::Tsc => ClockSource::Tsc,
                WrittenSource::Raw => ClockSource::MonotonicRaw,
                WrittenSource::Monotonic => ClockSource::Monotonic,
            };
            let rate_khz = match host.ghz {
                None if source == ClockSource::Tsc => 2_000_000,
                None => 1_000_000,
                Some(ghz) => {
                    let value = *ghz.get_ref();
                    if source != ClockSource::Tsc {
                        let found = "ghz for a clock that counts ns";
                        return self.wrong(ghz.span(), found, "clock = \"tsc\", or no ghz");
                    }
                    if !(0.001..=10.0).contains(&value) {
                        let found = format!("ghz = {value}");
                        return self.wrong(ghz.span(), found, "0.001 to 10");
                    }
                    (value * 1e6).round() as u64
                }
            };
            let drift_ppb = match host.drift_ppm {
                None => 0,
                Some(ppm) if ppm.get_ref().abs() <= 1000.0 => {
                    (ppm.get_ref() * 1000.0).round() as i64
                }
                Some(ppm) => {
                    let found = format!("drift_ppm = {}", ppm.get_ref());
                    return self.wrong(ppm.span(), found, "-1000 to 1000");
                }
            };
            if host.offset_ns < 0 && host.offset_ns.unsigned_abs() >= uptime_ns {
                let found = format!("offset_ns = {}", host.offset_ns);
                return self.wrong(span, found, format!("more than -uptime_ns = -{uptime_ns}"));
            }
            if host.offset_ns.unsigned_abs() > MAX_NS {
                let found = format!("offset_ns = {}", host.offset_ns);
                return self.wrong(span, found, format!("at most {MAX_NS}"));
            }
            let granularity_ticks =
                self.number("granularity_ticks", host.granularity_ticks, 1, 1..=1 << 32)?;
            let anchor_width_ns = self.number(
                "anchor_width_ns",
                host.anchor_width_ns,
                100,
                0..=1_000_000_000,
            )?;
            self.hosts.push(Host {
                name: host.name,
                clock: HostClock {
                    source,
                    rate_khz,
                    granularity_ticks,
                    uptime_ns,
                    offset_ns: host.offset_ns,
                    drift_ppb,
                    wander: self.read_wander(host.wander)?,
                    started_unix_ns,
                    anchor_width_ns,
                    anchor_jitter_ns: host.anchor_jitter_ns,
                },
            });
        }
        if self.hosts.is_empty() {
            return self.wrong(0..0, "no hosts", "at least one [[hosts]]");
        }
        self.host_of = placed(&ranks_on, placement);
        Ok(())
    }

    fn read_exchanges(&self, written: WrittenExchanges) -> Result<Exchanges, ScenarioError> {
        // Longer than any network, and short enough that no burst outlasts a run by itself.
        let way = 0..=MAX_DELAY_NS;
        let every_ns = match written.every_ns {
            None => None,
            // A run of any length then has a bounded number of them.
            Some(every) => Some(self.number("every_ns", Some(every), 0, 1_000_000..=MAX_NS)?),
        };
        Ok(Exchanges {
            n: self.number("n", written.n, 100, 1..=100_000)?,
            one_way_ns: self.number("one_way_ns", written.one_way_ns, 20_000, way.clone())?,
            asymmetry_ns: self.number("asymmetry_ns", written.asymmetry_ns, 0, way.clone())?,
            jitter_ns: self.number("jitter_ns", written.jitter_ns, 0, way)?,
            every_ns,
            at_end: written.at_end.unwrap_or(true),
        })
    }

    fn read_wander(
        &self,
        written: Option<Spanned<WrittenWander>>,
    ) -> Result<Wander, ScenarioError> {
        let Some(written) = written else {
            return Ok(Wander::default());
        };
        let span = written.span();
        let written = written.into_inner();
        let rates = written.steps.iter().map(|step| step.ppm);
        let mut rates = rates.chain([written.amplitude_ppm]);
        let has_times = written.steps.iter().all(|step| step.at_ns <= MAX_NS)
            && written.period_ns <= MAX_NS
            && written.steps.len() <= MAX_RATE_STEPS;
        if !has_times || !rates.all(|ppm| ppm.abs() <= 1000.0) {
            let found = "a wander of other times or rates";
            return self.wrong(
                span,
                found,
                format!(
                    "rates of -1000 to 1000 ppm, times up to {MAX_NS} ns, at most \
                     {MAX_RATE_STEPS} steps"
                ),
            );
        }
        let ppb = |ppm: f64| (ppm * 1e3).round() as i64;
        let steps = written.steps.iter();
        Ok(Wander {
            amplitude_ppb: ppb(written.amplitude_ppm),
            period_ns: written.period_ns,
            steps: steps.map(|step| (step.at_ns, ppb(step.ppm))).collect(),
        })
    }

    fn read_threads(
        &self,
        written: BTreeMap<String, Spanned<u32>>,
    ) -> Result<BTreeMap<String, u32>, ScenarioError> {
        let mut threads = BTreeMap::new();
        for (name, thread) in written {
            if *thread.get_ref() > 1023 {
                let found = format!("thread {}", thread.get_ref());
                return self.wrong(thread.span(), found, "0 to 1023");
            }
            threads.insert(name, thread.into_inner());
        }
        Ok(threads)
    }

    fn read_steps(
        &mut self,
        written: Vec<Spanned<WrittenStep>>,
    ) -> Result<Vec<Step>, ScenarioError> {
        let spans: Vec<Range<usize>> = written.iter().map(Spanned::span).collect();
        let steps = written.into_iter().map(|step| self.read_step(step));
        let steps = steps.collect::<Result<Vec<_>, _>>()?;
        for (i, span) in spans.into_iter().enumerate() {
            let goes_on = |step: &Step| match &step.action {
                Action::Call(call) => call.inside.is_some() && matches!(call.deed, Deed::Begin(_)),
                Action::Block(_) => false,
            };
            let completes = |step: &Step| match &step.action {
                Action::Call(call) => matches!(call.deed, Deed::Complete(_)),
                Action::Block(_) => false,
            };
            let is_alone = steps[i].repeat == 1 && steps.get(i + 1).is_some_and(completes);
            if goes_on(&steps[i]) && !is_alone {
                let expected = "the step right behind it to complete it";
                return self.wrong(span, "a tree of what is only begun", expected);
            }
        }
        Ok(steps)
    }

    fn read_step(&mut self, step: Spanned<WrittenStep>) -> Result<Step, ScenarioError> {
        let span = step.span();
        let line = line_of(self.text, span.clone());
        let mut step = step.into_inner();
        let repeat = step.repeat.unwrap_or(1);
        if let Some(steps) = step.steps.take() {
            let is_plain = step.operation.is_none()
                && step.on.is_none()
                && step.bytes.is_none()
                && step.root.is_none()
                && step.makes.is_none()
                && step.split.is_none()
                && step.work.is_empty()
                && step.latency.is_none()
                && step.tree.is_none()
                && !step.internal;
            if !is_plain {
                let expected = "only repeat beside steps: what is called stands in the steps";
                return self.wrong(span, "a block with fields of a call", expected);
            }
            let action = Action::Block(self.read_steps(steps)?);
            return Ok(Step {
                line,
                repeat,
                action,
            });
        }
        let call = self.read_call(span, step)?;
        Ok(Step {
            line,
            repeat,
            action: Action::Call(Box::new(call)),
        })
    }

    fn read_call(
        &mut self,
        span: Range<usize>,
        mut step: WrittenStep,
    ) -> Result<Call, ScenarioError> {
        let id = self.n_calls;
        self.n_calls += 1;
        let deed = self.read_deed(&span, &mut step)?;
        let is_marked = matches!(deed, Deed::Complete(_) | Deed::Phase(_));
        let operation = match &step.operation {
            None if step.work.is_empty() && !is_marked => {
                let expected = "an operation, or work, or steps";
                return self.wrong(span, "a step in which nothing happens", expected);
            }
            None => None,
            Some(name) => Some(self.operation(name)?),
        };
        let semantics = operation.map(Operation::semantics);
        let is_constructor = semantics.is_some_and(Semantics::is_constructor);
        match (&step.makes, is_constructor) {
            (Some(makes), false) => {
                let expected = "a communicator constructor as its operation";
                return self.wrong(makes.span(), "makes", expected);
            }
            (None, true) => {
                return self.wrong(
                    span,
                    "a constructor",
                    "makes = \"name of the communicator\"",
                );
            }
            (Some(makes), true) if ["world", "self", ""].contains(&makes.get_ref().as_str()) => {
                let found = format!("makes = \"{}\"", makes.get_ref());
                return self.wrong(makes.span(), found, "a name of its own");
            }
            _ => {}
        }
        if let Some(split) = &step.split {
            self.check_split(split, is_constructor)?;
        }
        let is_rooted = semantics.is_some_and(Semantics::is_rooted);
        let root = match &step.root {
            None => Root::Fixed(0),
            Some(root) if !is_rooted => {
                return self.wrong(root.span(), "root", "an operation that has one");
            }
            Some(root) => match root.get_ref() {
                WrittenRoot::Fixed(rank) if u64::from(*rank) < self.n_ranks => Root::Fixed(*rank),
                WrittenRoot::Fixed(rank) => {
                    let expected = format!("0 to {}, or \"rotating\"", self.n_ranks - 1);
                    return self.wrong(root.span(), format!("root = {rank}"), expected);
                }
                WrittenRoot::Word(RotatingWord::Rotating) => Root::Rotating,
            },
        };
        let root_group = match step.root_group {
            None => 0,
            Some(group) if *group.get_ref() < 2 => group.into_inner(),
            Some(group) => {
                let found = format!("root_group = {}", group.get_ref());
                return self.wrong(group.span(), found, "0 or 1");
            }
        };
        let bytes = self.read_bytes(step.bytes, semantics)?;
        let work = step
            .work
            .into_iter()
            .map(|delay| self.read_delay(delay))
            .collect::<Result<_, _>>()?;
        let inside = match step.tree {
            None => None,
            Some(tree) if step.latency.is_some() => {
                let expected = "one of them: with a tree, [network] says what messages take";
                return self.wrong(tree.span(), "tree and latency", expected);
            }
            Some(tree) => Some(self.read_tree(tree, operation, &bytes, &deed)?),
        };
        let latency = match step.latency {
            None => self.latency.clone(),
            Some(latency) => self.read_latency(latency)?,
        };
        Ok(Call {
            id,
            on: step.on.unwrap_or_else(|| "world".into()),
            operation,
            bytes,
            root,
            root_group,
            makes: step.makes.map(Spanned::into_inner),
            split: step.split.map(Spanned::into_inner).unwrap_or_default(),
            internal: step.internal,
            deed,
            grid: step.grid.map(Spanned::into_inner).unwrap_or_default(),
            work,
            latency,
            inside,
        })
    }

    /// What a step does besides its work.
    fn read_deed(
        &self,
        span: &Range<usize>,
        step: &mut WrittenStep,
    ) -> Result<Deed, ScenarioError> {
        let deeds = [
            step.operation.is_some(),
            step.complete.is_some(),
            step.phase.is_some(),
        ];
        if deeds.iter().filter(|&&deed| deed).count() > 1 {
            let found = "a step that does several things";
            let expected = "one of operation, complete, phase";
            return self.wrong(span.clone(), found, expected);
        }
        let is_completing = step.complete.is_some();
        let beside = [
            step.thread.is_some(),
            step.complete_ns.is_some(),
            step.tests.is_some(),
            step.test_ns.is_some(),
        ];
        if !is_completing && beside.contains(&true) {
            let found = "thread, complete_ns, tests or test_ns";
            return self.wrong(span.clone(), found, "these beside complete only");
        }
        let lengths = 0..=MAX_DELAY_NS;
        if let Some(name) = step.complete.take() {
            let known = CompletingCall::ALL.iter().copied();
            let mut known =
                known.filter(|call| *call != CompletingCall::RequestFree && !call.ends_access());
            let Some(by) = known.clone().find(|call| call.name() == name.get_ref()) else {
                let found = format!("complete = \"{}\"", name.get_ref());
                let names: Vec<&str> = known.by_ref().map(CompletingCall::name).collect();
                return self.wrong(name.span(), found, format!("one of {}", names.join(", ")));
            };
            return Ok(Deed::Complete(CompleteStep {
                by,
                thread: self.number("thread", step.thread.take(), 0, 0..=1023)? as u32,
                complete_ns: self.number(
                    "complete_ns",
                    step.complete_ns.take(),
                    300,
                    lengths.clone(),
                )?,
                n_tests: self.number("tests", step.tests.take(), 0, 0..=1_000_000)? as u32,
                test_ns: self.number("test_ns", step.test_ns.take(), 200, 0..=1_000_000)?,
            }));
        }
        if let Some(level) = step.phase {
            return Ok(Deed::Phase(level));
        }
        let operation = match &step.operation {
            Some(name) => Some(self.operation(name)?),
            None => None,
        };
        let begins = |op: &Operation| {
            op.blocking() != *op && op.semantics() != Semantics::NonblockingConstructor
        };
        let Some(operation) = operation.filter(begins) else {
            if let Some(begin_ns) = &step.begin_ns {
                let expected = "a nonblocking or persistent operation";
                return self.wrong(begin_ns.span(), "begin_ns", expected);
            }
            return Ok(Deed::Call);
        };
        let is_rotating = matches!(
            step.root.as_ref().map(Spanned::get_ref),
            Some(WrittenRoot::Word(_))
        );
        if step.internal || (operation.is_persistent() && is_rotating) {
            let found = format!("{}, internal or with a rotating root", operation.name());
            return self.wrong(
                span.clone(),
                found,
                "an operation of the application, one root",
            );
        }
        Ok(Deed::Begin(Begin {
            begin_ns: self.number("begin_ns", step.begin_ns.take(), 500, lengths)?,
        }))
    }

    fn operation(&self, name: &Spanned<String>) -> Result<Operation, ScenarioError> {
        let known = Operation::ALL
            .iter()
            .copied()
            .filter(|op| op.semantics() != Semantics::Process && op.layer() == Layer::Calls);
        match known.clone().find(|op| op.name() == name.get_ref()) {
            Some(op) => Ok(op),
            None => {
                let found = format!("operation = \"{}\"", name.get_ref());
                let names: Vec<&str> = known.map(Operation::name).collect();
                self.wrong(name.span(), found, format!("one of {}", names.join(", ")))
            }
        }
    }

    fn check_split(
        &self,
        split: &Spanned<Split>,
        is_constructor: bool,
    ) -> Result<(), ScenarioError> {
        let span = split.span();
        if !is_constructor {
            return self.wrong(span, "split", "a communicator constructor as its operation");
        }
        let split = split.get_ref();
        let ways = usize::from(split.parts.is_some())
            + usize::from(split.every.is_some())
            + usize::from(split.hosts)
            + usize::from(split.colours.is_some());
        if ways > 1 || split.parts == Some(0) || split.every == Some(0) {
            let expected = "one of parts = N, every = N, hosts = true, colours = [..], N above 0";
            return self.wrong(span, "split in no way, or in several", expected);
        }
        Ok(())
    }

    fn read_bytes(
        &self,
        bytes: Option<Spanned<Bytes>>,
        semantics: Option<Semantics>,
    ) -> Result<Bytes, ScenarioError> {
        let Some(bytes) = bytes else {
            return Ok(Bytes::Same(0));
        };
        let carries = matches!(
            semantics,
            Some(
                Semantics::AllToAll
                    | Semantics::OneToMany
                    | Semantics::ManyToOne
                    | Semantics::Prefix
                    | Semantics::Neighborhood
            )
        );
        if !carries {
            return self.wrong(bytes.span(), "bytes", "an operation that carries data");
        }
        let largest = match bytes.get_ref() {
            Bytes::Same(bytes) => *bytes,
            Bytes::PerRank(list) if list.len() as u64 != self.n_ranks => {
                let found = format!("a list of {}", list.len());
                let expected = format!("one number for each of the {} ranks", self.n_ranks);
                return self.wrong(bytes.span(), found, expected);
            }
            Bytes::PerRank(list) => list.iter().copied().max().unwrap_or(0),
        };
        // At the root of a scatter, those of all ranks are added up.
        if largest >= 1 << 27 {
            return self.wrong(bytes.span(), format!("{largest} bytes"), "less than 2^27");
        }
        Ok(bytes.into_inner())
    }

    fn read_latency(&mut self, latency: Spanned<WrittenLatency>) -> Result<Latency, ScenarioError> {
        let span = latency.span();
        let latency = latency.into_inner();
        let default = self.latency.clone();
        let jitter = match latency.jitter {
            None => default.jitter,
            Some(jitter) => Some(self.read_delay(jitter)?),
        };
        if let Some(Amount::Noise { .. }) = jitter.as_ref().map(|jitter| &jitter.amount) {
            return self.wrong(span, "noise as jitter", "a distribution");
        }
        let latency = Latency {
            base_ns: latency.base_ns.unwrap_or(default.base_ns),
            departure_ns: latency.departure_ns.unwrap_or(default.departure_ns),
            across_hosts_ns: latency.across_hosts_ns.unwrap_or(default.across_hosts_ns),
            jitter,
        };
        let largest = latency
            .base_ns
            .max(latency.departure_ns)
            .max(latency.across_hosts_ns);
        if largest > MAX_DELAY_NS {
            let expected = format!("at most {MAX_DELAY_NS} ns");
            return self.wrong(span, format!("{largest} ns"), expected);
        }
        Ok(latency)
    }

    fn read_delay(&mut self, delay: Spanned<WrittenDelay>) -> Result<Delay, ScenarioError> {
        let span = delay.span();
        let delay = delay.into_inner();
        let id = self.n_delays;
        self.n_delays += 1;
        let mut amounts = Vec::new();
        amounts.extend(delay.constant_ns.map(Amount::Constant));
        amounts.extend(delay.uniform_ns.map(|[a, b]| Amount::Uniform(a, b)));
        amounts.extend(delay.exponential_ns.map(Amount::Exponential));
        amounts.extend(delay.normal_ns.map(|[mean, sd]| Amount::Normal(mean, sd)));
        amounts.extend(delay.each_ns.map(Amount::Each));
        amounts.extend(delay.noise.map(|noise| Amount::Noise {
            period_ns: noise.period_ns,
            length_ns: noise.length_ns,
        }));
        let n = amounts.len();
        let amount = match (amounts.pop(), n) {
            (Some(amount), 1) => amount,
            _ => {
                let expected = "exactly one of constant_ns, uniform_ns, exponential_ns, \
                                normal_ns, each_ns, noise";
                return self.wrong(span, format!("{n} amounts of time"), expected);
            }
        };
        self.check_amount(&span, &amount)?;
        let share = delay.share.unwrap_or(1.0);
        if !(0.0..=1.0).contains(&share) {
            return self.wrong(span, format!("share = {share}"), "0 to 1");
        }
        if delay.moves_every == Some(0) {
            return self.wrong(span, "moves_every = 0", "a number of instances above 0");
        }
        let ranks = self.named_ranks(&span, delay.ranks, delay.host)?;
        let moves_over: Vec<u32> = match delay.moves_every {
            None => Vec::new(),
            Some(_) => (0..self.n_ranks as u32)
                .filter(|&rank| ranks.as_ref().is_none_or(|named| named[rank as usize]))
                .collect(),
        };
        if delay.moves_every.is_some() && moves_over.is_empty() {
            return self.wrong(span, "moves_every over no ranks", "ranks to move over");
        }
        Ok(Delay {
            id,
            amount,
            ranks,
            share,
            moves_every: delay.moves_every,
            moves_over,
        })
    }

    fn check_amount(&self, span: &Range<usize>, amount: &Amount) -> Result<(), ScenarioError> {
        let largest = match amount {
            Amount::Constant(ns) | Amount::Exponential(ns) => *ns,
            Amount::Uniform(low, high) if low > high => {
                let found = format!("uniform_ns = [{low}, {high}]");
                return self.wrong(span.clone(), found, "the smaller one first");
            }
            Amount::Uniform(_, high) => *high,
            Amount::Normal(mean, sd) => *mean.max(sd),
            Amount::Each(list) if list.len() as u64 != self.n_ranks => {
                let found = format!("each_ns with {} times", list.len());
                let expected = format!("one for each of the {} ranks", self.n_ranks);
                return self.wrong(span.clone(), found, expected);
            }
            Amount::Each(list) => list.iter().copied().max().unwrap_or(0),
            Amount::Noise {
                period_ns,
                length_ns,
            } if length_ns >= period_ns => {
                let found = format!("noise of {length_ns} ns every {period_ns} ns");
                return self.wrong(span.clone(), found, "a length below the period");
            }
            Amount::Noise { period_ns, .. } => *period_ns,
        };
        if largest > MAX_DELAY_NS {
            let expected = format!("at most {MAX_DELAY_NS} ns");
            return self.wrong(span.clone(), format!("{largest} ns"), expected);
        }
        Ok(())
    }

    fn named_ranks(
        &self,
        span: &Range<usize>,
        ranks: Option<Vec<u64>>,
        host: Option<String>,
    ) -> Result<Option<Vec<bool>>, ScenarioError> {
        let mut named = vec![false; self.host_of.len()];
        match (ranks, host) {
            (None, None) => return Ok(None),
            (Some(_), Some(_)) => {
                return self.wrong(span.clone(), "ranks and host", "one of them");
            }
            (Some(ranks), None) => {
                for rank in ranks {
                    if rank >= self.n_ranks {
                        let expected = format!("0 to {}", self.n_ranks - 1);
                        return self.wrong(span.clone(), format!("rank {rank}"), expected);
                    }
                    named[rank as usize] = true;
                }
            }
            (None, Some(host)) => {
                let Some(at) = self.hosts.iter().position(|known| known.name == host) else {
                    let names: Vec<&str> =
                        self.hosts.iter().map(|host| host.name.as_str()).collect();
                    let expected = format!("one of {}", names.join(", "));
                    return self.wrong(span.clone(), format!("host = \"{host}\""), expected);
                };
                for (rank, &on) in self.host_of.iter().enumerate() {
                    named[rank] = on == at;
                }
            }
        }
        Ok(Some(named))
    }

    fn read_faults(
        &self,
        written: Vec<Spanned<WrittenFault>>,
        has_threads: bool,
    ) -> Result<Vec<Fault>, ScenarioError> {
        let mut faults = vec![Fault::None; self.host_of.len()];
        for fault in written {
            let span = fault.span();
            let fault = fault.into_inner();
            let mut kinds = Vec::new();
            kinds.extend(fault.killed_after_calls.map(|after_calls| Fault::Killed {
                after_calls,
                in_flight: fault.in_flight.unwrap_or(true),
            }));
            kinds.extend(fault.no_finalize.then_some(Fault::NoFinalize));
            kinds.extend(fault.cut_at_byte.map(Fault::CutAtByte));
            kinds.extend(fault.cut_at_fraction.map(Fault::CutAtFraction));
            kinds.extend(fault.damaged_chunk.map(Fault::DamagedChunk));
            kinds.extend(fault.missing.then_some(Fault::Missing));
            kinds.extend(
                fault
                    .size_reached_after_calls
                    .map(|after_calls| Fault::SizeReached { after_calls }),
            );
            let [kind] = kinds[..] else {
                let expected = "exactly one of killed_after_calls, no_finalize, cut_at_byte, \
                                cut_at_fraction, damaged_chunk, missing, \
                                size_reached_after_calls";
                return self.wrong(span, format!("{} kinds of fault", kinds.len()), expected);
            };
            if fault.rank >= self.n_ranks {
                let expected = format!("0 to {}", self.n_ranks - 1);
                return self.wrong(span, format!("rank = {}", fault.rank), expected);
            }
            let slot = &mut faults[fault.rank as usize];
            if *slot != Fault::None {
                let found = format!("a second fault of rank {}", fault.rank);
                return self.wrong(span, found, "one fault for each rank");
            }
            if let Fault::CutAtFraction(part) = kind
                && !(0.0..=1.0).contains(&part)
            {
                return self.wrong(span, format!("cut_at_fraction = {part}"), "0 to 1");
            }
            let is_damage = matches!(
                kind,
                Fault::CutAtByte(_) | Fault::CutAtFraction(_) | Fault::DamagedChunk(_)
            );
            if has_threads && is_damage {
                let expected = "no threads: what damage leaves of several is not worked out";
                return self.wrong(span, "a damaged file", expected);
            }
            *slot = kind;
        }
        Ok(faults)
    }
}

/// Whether another thread than the first completes anything.
fn completes_elsewhere(steps: &[Step]) -> bool {
    steps.iter().any(|step| match &step.action {
        Action::Block(steps) => completes_elsewhere(steps),
        Action::Call(call) => matches!(&call.deed, Deed::Complete(step) if step.thread > 0),
    })
}

/// Whether any collective is seen inside.
fn has_messages(steps: &[Step]) -> bool {
    steps.iter().any(|step| match &step.action {
        Action::Block(steps) => has_messages(steps),
        Action::Call(call) => call.inside.is_some(),
    })
}

/// The longest single delay: 11 days, so that sums of many stay far from the ends of u64.
const MAX_DELAY_NS: u64 = 1_000_000_000_000_000;

/// By world rank, the index of its host.
fn placed(ranks_on: &[u64], placement: Placement) -> Vec<usize> {
    let mut host_of = Vec::new();
    match placement {
        Placement::Block => {
            for (host, &n) in ranks_on.iter().enumerate() {
                host_of.extend(std::iter::repeat_n(host, n as usize));
            }
        }
        Placement::RoundRobin => {
            let most = ranks_on.iter().copied().max().unwrap_or(0);
            for round in 0..most {
                let with_room = ranks_on.iter().enumerate().filter(|&(_, &n)| round < n);
                host_of.extend(with_room.map(|(host, _)| host));
            }
        }
    }
    host_of
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "schema = 1\n[[hosts]]\nname = \"a\"\nranks = 4\n";

    fn error(rest: &str) -> ScenarioError {
        Scenario::parse(&format!("{HEAD}{rest}")).unwrap_err()
    }

    #[test]
    fn a_wrong_line_is_named_with_what_was_expected() {
        let wrong = error("[[program]]\noperation = \"MPI_Barier\"\n");
        assert_eq!(wrong.line, 6);
        assert!(wrong.found.contains("MPI_Barier"), "{wrong}");
        assert!(wrong.expected.contains("MPI_Barrier, "), "{wrong}");
        let wrong = error("[[program]]\noperation = \"MPI_Bcast\"\n\nroot = 4\n");
        assert_eq!((wrong.line, wrong.found.as_str()), (8, "root = 4"));
        let wrong = error("[[program]]\noperation = \"MPI_Bcast\"\nroots = 1\n");
        assert_eq!(wrong.line, 7);
        assert!(wrong.found.contains("roots"), "{wrong}");
        let wrong = error("[[program]]\nwork = [\n  { constant_ns = 5 },\n  { share = 0.5 },\n]\n");
        assert_eq!(wrong.line, 8);
        let wrong = error("[[program]]\noperation = \"MPI_Bcast\"\nbytes = \"many\"\n");
        assert_eq!(wrong.line, 7);
        assert!(wrong.found.contains("a number of bytes"), "{wrong}");
    }

    #[test]
    fn another_schema_is_refused() {
        let wrong = Scenario::parse("schema = 2\nhosts = []\nprogram = []\n").unwrap_err();
        assert_eq!(wrong.to_string(), "line 1: schema = 2; expected schema = 1");
    }

    #[test]
    fn ranks_are_placed_in_blocks_or_in_turn() {
        assert_eq!(placed(&[2, 3], Placement::Block), [0, 0, 1, 1, 1]);
        assert_eq!(placed(&[2, 3], Placement::RoundRobin), [0, 1, 0, 1, 1]);
    }

    #[test]
    fn splits_divide_as_they_say() {
        let parent = [0, 1, 2, 3, 4];
        let groups = |split: &str| {
            let split: Split = toml::from_str(split).unwrap();
            split.groups(&parent, &[0, 1, 0, 1, 0])
        };
        assert_eq!(groups("parts = 2"), [vec![0, 1, 2], vec![3, 4]]);
        assert_eq!(groups("every = 2"), [vec![0, 2, 4], vec![1, 3]]);
        assert_eq!(groups("hosts = true"), [vec![0, 2, 4], vec![1, 3]]);
        assert_eq!(groups("colours = [7, -1, 2]"), [vec![2], vec![0]]);
        assert_eq!(groups("reversed = true"), [vec![4, 3, 2, 1, 0]]);
    }

    #[test]
    fn faults_of_ranks_that_do_not_exist_are_refused() {
        let program = "[[program]]\noperation = \"MPI_Barrier\"\n";
        let wrong = error(&format!("{program}[[faults]]\nrank = 4\nmissing = true\n"));
        assert_eq!((wrong.line, wrong.expected.as_str()), (7, "0 to 3"));
    }
}
