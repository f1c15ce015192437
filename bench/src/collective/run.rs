//! A measurement from its plan to its results.

mod processes;

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, ensure};
use collbench_formats::ClockSource;
use collbench_instrument::{host_identity, host_key, name_of_clock};
use collbench_stats::random::Random;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Root};

use super::Options;
use super::algorithms;
use super::call::is_available;
use super::job::Job;
use super::journal::{Journal, OfJob};
use super::keep;
use super::operation::Operation;
use super::own_trees::{TreeEngine, TreeFiles};
use super::plan::{Lengths, Limits, Method, Plan, Problem, Series, parse};
use super::point::Measurement;
use super::progress::Progress;
use super::results::{Point, Results, Run, SCHEMA};
use super::surroundings::Surroundings;
use crate::machine::{self, Machine, mpi_library};
use crate::measure::global_clock::{ClockError, GlobalClock};
use crate::measure::refinement::Refinement;
use crate::measure::start::StartScheme;
use crate::overhead::{ClockName, settings};
use crate::trees::Hosts;

/// Measures; returns the results, and the folder that they are to be written to, in process 0 only.
///
/// # Errors
/// States what is wrong with the plan, or which file could not be written.
pub(super) fn measure(options: &Options) -> anyhow::Result<Option<(Results, Option<PathBuf>)>> {
    if options.algorithms {
        // SAFETY: no other thread of this process runs before MPI_Init.
        unsafe { std::env::set_var(algorithms::SWITCH.0, algorithms::SWITCH.1) };
    }
    let seed = options.seed.unwrap_or_else(seed_of_now);
    let measured = in_job(
        ClockName::source_or_chosen(options.clock),
        options.network.as_deref(),
        options.cold_cache,
        !options.trees.is_empty(),
        |here| prepare(options, here),
        |job, mut prepared| {
            let (method, trees) = (&prepared.plan.method, prepared.trees.as_ref());
            let measurement = Measurement::new(job, method, trees, options.samples);
            let points = measure_plan(&prepared.plan, seed, measurement, &mut prepared.journal)?;
            Ok((points, prepared))
        },
    )?;
    let Some(((points, prepared), job)) = measured else {
        return Ok(None);
    };
    if !prepared.journal.has_new()
        && let Some(folder) = &prepared.folder
        && let Some(before) = keep::ended(folder)?
    {
        let date = before.run.surroundings.date.as_deref();
        eprintln!(
            "collbench-bench: nothing is left to measure in {}: this is the result of {}; to measure \
             again, choose another directory",
            folder.display(),
            date.unwrap_or("the run before")
        );
        return Ok(Some((before, None)));
    }
    let before = points.iter().map(Point::key);
    let n_before = before.filter(|key| !prepared.journal.is_new(key)).count();
    let results = Results {
        schema: SCHEMA.to_owned(),
        run: Run {
            seed: Some(seed),
            has_cold_caches: options.cold_cache,
            points_before: n_before,
            ..Run::of(job, &prepared.plan.method)
        },
        points,
        guidelines: Vec::new(),
        selection: Vec::new(),
    };
    Ok(Some((results, prepared.folder)))
}

/// A seed that differs from launch to launch.
fn seed_of_now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

/// What is measured, and where results go.
struct Prepared {
    plan: Plan,
    journal: Journal,
    folder: Option<PathBuf>,
    trees: Option<TreeFiles>,
}

/// Where something is about to be measured.
pub(super) struct Here<'a> {
    pub(super) limits: Limits<'a>,
    surroundings: &'a Surroundings,
    /// If operations are measured over trees.
    hosts: Option<&'a Hosts>,
}

/// The job in which something was measured.
pub(super) struct Measured {
    machine: Machine,
    source: ClockSource,
    n_clocks: usize,
    clock_error: ClockError,
    processes: usize,
    surroundings: Surroundings,
}

/// Prepares and measures in process 0, while the other processes do what it commands. Returns what
/// was measured in process 0 only. `network` is its name in the words of the user.
///
/// # Errors
/// Those of `prepare`, before anything is measured, and those of `measure`.
pub(super) fn in_job<P, M>(
    source: ClockSource,
    network: Option<&str>,
    has_cold_caches: bool,
    uses_trees: bool,
    prepare: impl FnOnce(Here<'_>) -> anyhow::Result<P>,
    measure: impl FnOnce(&mut Job, P) -> anyhow::Result<M>,
) -> anyhow::Result<Option<(M, Measured)>> {
    let machine = Machine::here();
    let universe = mpi::initialize().context("MPI is initialized already")?;
    let world = universe.world();
    let host_of = host_of(&world);
    let limits = limits(&world, &host_of);
    let mut surroundings = Surroundings::gather(&world, network);
    let hosts = hosts(&world, source, uses_trees)?;
    let ready = match world.rank() {
        0 => Some(prepare(Here {
            limits,
            surroundings: &surroundings,
            hosts: hosts.as_ref(),
        })),
        _ => None,
    };
    let mut goes_on = ready.as_ref().is_none_or(Result::is_ok);
    world.process_at_rank(0).broadcast_into(&mut goes_on);
    let ready = ready.transpose()?;
    if !goes_on {
        return Ok(None);
    }
    let Some(global) = GlobalClock::start(&world, source)? else {
        return Ok(None);
    };
    let n_clocks = global.n_clocks();
    let begin = |hosts| TreeEngine::begin(hosts, world.rank() as u32);
    let trees = hosts.map(begin).transpose()?;
    let mut job = Job::new(universe.world(), global, has_cold_caches, trees);
    let Some(ready) = ready else {
        let served = job.serve();
        if let Err(error) = &served {
            // The others wait for this process.
            eprintln!("collbench-bench: rank {}: {error:#}", world.rank());
            world.abort(1);
        }
        served?;
        surroundings.complete(&world);
        return Ok(None);
    };
    let measured = measure(&mut job, ready);
    job.finish()?;
    surroundings.complete(&world);
    let job = Measured {
        machine,
        source,
        n_clocks,
        clock_error: job.clock_error(),
        processes: limits.processes,
        surroundings,
    };
    Ok(Some((measured?, job)))
}

impl Run {
    /// How points were measured in this job.
    pub(super) fn of(job: Measured, method: &Method) -> Self {
        Self {
            machine: job.machine,
            mpi_library: mpi_library(),
            command: std::env::args().collect(),
            environment: settings(),
            clock: name_of_clock(job.source).to_owned(),
            clocks: job.n_clocks,
            clock_error: (job.n_clocks > 1).then_some(job.clock_error),
            ranks: job.processes,
            precision: method.precision.relative,
            figure: word(&method.figure),
            element: word(&method.element),
            runs: 1,
            seed: None,
            has_cold_caches: false,
            points_before: 0,
            surroundings: job.surroundings,
        }
    }
}

/// The name of a value on the command line.
fn word(value: &impl clap::ValueEnum) -> String {
    let value = value.to_possible_value();
    value.map_or(String::new(), |value| value.get_name().to_owned())
}

/// The plan, the journal of its points, and the folder in which it lies.
fn prepare(options: &Options, here: Here<'_>) -> anyhow::Result<Prepared> {
    let Here {
        limits,
        surroundings,
        hosts,
    } = here;
    let limits = Limits {
        algorithms: if options.algorithms {
            algorithms::of
        } else {
            limits.algorithms
        },
        ..limits
    };
    let mut plan = plan(options, limits)?;
    ensure!(
        !options.algorithms || plan.series.iter().any(|series| series.algorithm.is_some()),
        "--algorithms: this MPI library has none to choose from for these operations; Open MPI has, \
         for blocking collectives, in its component coll_tuned"
    );
    let trees = hosts.map(|hosts| TreeFiles::read(&options.trees, hosts));
    let trees = trees.transpose()?;
    if let Some(trees) = &trees {
        trees.add_to(&mut plan)?;
    }
    let of_job = OfJob {
        tree_files: texts(&options.trees)?,
        has_cold_caches: options.cold_cache,
        processes: limits.processes,
        hosts: surroundings
            .hosts()
            .into_iter()
            .map(str::to_owned)
            .collect(),
        mpi_library: mpi_library(),
        settings: settings(),
    };
    let folder = match (&options.output, &options.keep) {
        (Some(folder), _) => Some(folder.clone()),
        (None, Some(all)) => {
            crate::folder::make(all)?;
            Some(keep::folder_of_run(all, &plan, &of_job, surroundings)?)
        }
        (None, None) => None,
    };
    let journal = match &folder {
        None => Journal::none(),
        Some(folder) => {
            crate::folder::make(folder)?;
            Journal::open(folder, &plan, &of_job)?
        }
    };
    if journal.n_measured() > 0 {
        eprintln!(
            "collbench-bench: {} points were measured before; going on",
            journal.n_measured()
        );
    }
    Ok(Prepared {
        plan,
        journal,
        folder,
        trees,
    })
}

/// The content of files.
fn texts(files: &[PathBuf]) -> anyhow::Result<Vec<String>> {
    let text = |file: &PathBuf| {
        std::fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))
    };
    files.iter().map(text).collect()
}

/// The hosts of all processes, if they are asked for; collective.
fn hosts(
    world: &SimpleCommunicator,
    source: ClockSource,
    uses_trees: bool,
) -> anyhow::Result<Option<Hosts>> {
    if !uses_trees {
        return Ok(None);
    }
    let gathered = crate::job::gather(world, source, Ok(()))?;
    Ok(gathered.map(|(processes, ())| Hosts::gather(world, &processes)))
}

fn plan(options: &Options, limits: Limits<'_>) -> anyhow::Result<Plan> {
    let (name, given) = match &options.plan {
        None => {
            let parts = options.parts(limits);
            (String::new(), Ok((options.method(), parts)))
        }
        Some(file) => {
            let text = std::fs::read_to_string(file);
            let text = text.with_context(|| format!("reading {}", file.display()))?;
            (file.display().to_string(), parse(&text))
        }
    };
    checked(
        given.and_then(|(method, parts)| Plan::of(method, &parts, limits)),
        &name,
    )
}

/// A plan from the file of this name, or what is wrong with it.
pub(super) fn checked(plan: Result<Plan, Vec<Problem>>, file: &str) -> anyhow::Result<Plan> {
    plan.map_err(|problems| {
        let words: Vec<String> = problems.iter().map(|problem| problem.words(file)).collect();
        anyhow::anyhow!("{}", words.join("\n"))
    })
}

/// Whether the time of a series depends on a message length.
pub(super) fn has_length(series: &Series) -> bool {
    Operation::of_name(&series.operation).is_some_and(Operation::has_length)
}

/// What the processes of this job can measure; collective.
fn limits<'a>(world: &SimpleCommunicator, host_of: &'a [usize]) -> Limits<'a> {
    let own = available_memory().unwrap_or(u64::MAX);
    let mut memory = vec![0; world.size() as usize];
    world.all_gather_into(&own, &mut memory[..]);
    let on_host = |host: usize| host_of.iter().filter(|other| **other == host).count();
    let least = memory.into_iter().min();
    Limits {
        processes: world.size() as usize,
        cores: machine::online_cores(),
        per_host: host_of.iter().map(|host| on_host(*host)).max().unwrap_or(1),
        host_of,
        memory: least.filter(|memory| *memory < u64::MAX),
        is_available,
        algorithms: |_| Vec::new(),
    }
}

/// By process, the index of its host, in the order of their first processes. Collective.
fn host_of(world: &SimpleCommunicator) -> Vec<usize> {
    let key = host_key(&host_identity(), ClockSource::Monotonic);
    let mut own = [0u64; 2];
    for (word, bytes) in own.iter_mut().zip(key.chunks_exact(8)) {
        *word = u64::from_le_bytes(bytes.try_into().unwrap_or_default());
    }
    let mut all = vec![0; 2 * world.size() as usize];
    world.all_gather_into(&own[..], &mut all[..]);
    let mut known: Vec<&[u64]> = Vec::new();
    all.chunks_exact(2)
        .map(|key| match known.iter().position(|other| *other == key) {
            Some(host) => host,
            None => {
                known.push(key);
                known.len() - 1
            }
        })
        .collect()
}

/// Memory that this host can give to processes, bytes.
fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find(|line| line.starts_with("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

/// All points of a plan, in an arbitrary order that differs from launch to launch, so that what
/// drifts does not always meet the same points.
///
/// Series at which a run ended are measured after the others, and in them the length at which it
/// ended after the others.
fn measure_plan(
    plan: &Plan,
    seed: u64,
    mut measurement: Measurement<'_>,
    journal: &mut Journal,
) -> anyhow::Result<Vec<Point>> {
    let mut progress = Progress::of(plan.first_points());
    let mut random = Random::of(&[seed]);
    let mut groups = plan.groups();
    random.shuffle(&mut groups);
    groups.sort_by_key(|group| {
        let mut series = group.iter().map(|&i| &plan.series[i]);
        series.any(|series| !journal.crashing(series).is_empty())
    });
    let mut points = Vec::new();
    let mut reported = HashSet::new();
    let mut courses = Courses {
        measurement: &mut measurement,
        journal,
        progress: &mut progress,
        reported: &mut reported,
    };
    for group in groups {
        let mut course = courses.of(group.iter().map(|&i| plan.series[i].clone()).collect());
        course.with_one_start(|course| course.measure(plan, &mut random))?;
        points.append(&mut course.points);
    }
    processes::refine(plan, |series, bytes, is_refined| {
        let mut course = courses.of(series.into_iter().cloned().collect());
        let first = &course.series[0];
        let key = first.key(has_length(first).then_some(bytes));
        if let Some(known) = points.iter().find(|point| point.key() == key) {
            return Ok(known.time_and_error());
        }
        let measured = course.with_one_start(|course| course.measure_length(bytes, is_refined))?;
        points.append(&mut course.points);
        Ok(measured)
    })?;
    sort(&mut points, plan);
    Ok(points)
}

/// By operation in the order of the plan; within one, what is compared lies side by side.
fn sort(points: &mut [Point], plan: &Plan) {
    let names: Vec<String> = plan
        .series
        .iter()
        .map(|series| series.operation.clone())
        .collect();
    points.sort_by_key(|point| {
        let operation = names.iter().position(|name| *name == point.operation);
        let mut schemes = StartScheme::ALL.iter();
        let start = schemes.position(|scheme| *scheme == point.start);
        (
            (operation, point.processes, point.hosts),
            (point.root, point.pieces),
            point.arrivals.clone(),
            (point.bytes, start, point.algorithm.clone()),
        )
    });
}

/// What all groups of series are measured with.
struct Courses<'m, 'j> {
    measurement: &'m mut Measurement<'j>,
    journal: &'m mut Journal,
    progress: &'m mut Progress,
    /// Keys of all points of the plan so far.
    reported: &'m mut HashSet<String>,
}

impl<'j> Courses<'_, 'j> {
    /// The course of a group of series; with the start for which a run before has given up theirs.
    fn of(&mut self, series: Vec<Series>) -> GroupCourse<'_, 'j> {
        let next = |series: &Vec<Series>| {
            let mut starts = series.iter().map(|one| one.start);
            starts.find_map(|start| fallen_back(series, start))
        };
        let journal = &*self.journal;
        let is_known = |series: &Vec<Series>| series.iter().any(|one| journal.has_fallen_back(one));
        let replaced = std::iter::successors(next(&series), next);
        let known = replaced.filter(is_known).last();
        GroupCourse {
            series: known.unwrap_or(series),
            replaced_by: None,
            measurement: &mut *self.measurement,
            journal: &mut *self.journal,
            progress: &mut *self.progress,
            reported: &mut *self.reported,
            points: Vec::new(),
        }
    }
}

/// A group with another start in the place of one that is given up, in all series that have it, so
/// that algorithms are compared with the same start; `None` where several starts are compared, of
/// which one cannot be late or is the one that would take its place.
fn fallen_back(group: &[Series], given_up: StartScheme) -> Option<Vec<Series>> {
    let next = given_up.fallback()?;
    let gives_times = |one: &Series| !one.start.has_instants() || one.start == next;
    if group.iter().any(gives_times) {
        return None;
    }
    let replaced = |one: &Series| {
        if one.start == given_up {
            one.fallen_back()
        } else {
            Some(one.clone())
        }
    };
    group.iter().map(replaced).collect()
}

/// Series that differ only in their start or algorithm, while they are measured in turns.
struct GroupCourse<'m, 'j> {
    series: Vec<Series>,
    /// The series with another start, once theirs is given up.
    replaced_by: Option<Vec<Series>>,
    measurement: &'m mut Measurement<'j>,
    journal: &'m mut Journal,
    progress: &'m mut Progress,
    /// Keys of all points of the plan so far.
    reported: &'m mut HashSet<String>,
    points: Vec<Point>,
}

impl GroupCourse<'_, '_> {
    /// Makes a measurement, and makes it again with another start when its own is given up: the
    /// points of a group have one start.
    fn with_one_start<T>(
        &mut self,
        mut measure: impl FnMut(&mut Self) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        loop {
            let measured = measure(self)?;
            let Some(series) = self.replaced_by.take() else {
                return Ok(measured);
            };
            self.series = series;
            self.progress.again(self.points.len());
            for point in self.points.drain(..) {
                self.reported.remove(&point.key());
            }
        }
    }

    /// Measures all lengths. Lengths of a range are chosen by the times of the first series.
    fn measure(&mut self, plan: &Plan, random: &mut Random) -> anyhow::Result<()> {
        let has_length = has_length(&self.series[0]);
        let crashing: Vec<Option<u64>> = self
            .series
            .iter()
            .flat_map(|series| self.journal.crashing(series))
            .collect();
        let is_crashing = |bytes: u64| crashing.contains(&has_length.then_some(bytes));
        let mut last = Vec::new();
        match self.series[0].lengths.clone() {
            Lengths::List(mut list) => {
                random.shuffle(&mut list);
                let (crashing, others): (Vec<u64>, Vec<u64>) =
                    list.iter().partition(|&&bytes| is_crashing(bytes));
                for bytes in others {
                    self.measure_length(bytes, false)?;
                }
                last.extend(crashing);
            }
            Lengths::Range(from, to) => {
                let (element, rule) = (plan.method.element, plan.method.refinement);
                let mut refinement = Refinement::new(from, to, element.size(), rule);
                // A length at which a run ended is measured after all others, and then refined as they are.
                let mut deferred = Vec::new();
                loop {
                    let bytes = match refinement.next_length() {
                        Some(bytes) if last.contains(&bytes) => continue,
                        Some(bytes) if is_crashing(bytes) && !deferred.contains(&bytes) => {
                            deferred.push(bytes);
                            last.push(bytes);
                            continue;
                        }
                        Some(bytes) => bytes,
                        None => match last.pop() {
                            Some(bytes) => bytes,
                            None => break,
                        },
                    };
                    let measured = self.measure_length(bytes, refinement.is_refining())?;
                    if let Some((time_ns, error_ns)) = measured {
                        refinement.add(bytes, time_ns, error_ns);
                    }
                }
            }
        }
        for bytes in last {
            self.measure_length(bytes, false)?;
        }
        Ok(())
    }

    /// Measures the series that no run before has measured at this length. Returns the time of the
    /// first series and how far it may be wrong, ns; nothing once a start is given up.
    fn measure_length(
        &mut self,
        bytes: u64,
        is_refined: bool,
    ) -> anyhow::Result<Option<(f64, f64)>> {
        if self.replaced_by.is_some() {
            return Ok(None);
        }
        let bytes = has_length(&self.series[0]).then_some(bytes);
        let missing: Vec<&Series> = self
            .series
            .iter()
            .filter(|series| self.journal.measured(&series.key(bytes)).is_none())
            .filter(|series| self.measurement.can_measure(series, bytes))
            .collect();
        for series in &missing {
            self.journal.begin(series.key(bytes))?;
        }
        let mut new = Vec::new();
        if !missing.is_empty() {
            new = self.measurement.measure(&missing, bytes)?;
        }
        let given_up = new.iter().filter(|point| point.time_ns.is_none());
        let mut given_up = given_up.map(|point| point.start);
        self.replaced_by = given_up.find_map(|start| fallen_back(&self.series, start));
        if self.replaced_by.is_some() {
            return Ok(None);
        }
        for point in &mut new {
            point.is_refined = is_refined;
            self.journal.end(point)?;
        }
        let mut first = None;
        for (i, series) in self.series.iter().enumerate() {
            let key = series.key(bytes);
            let of_key = new.iter().find(|point| point.key() == key);
            let point = of_key.or_else(|| self.journal.measured(&key)).cloned();
            self.progress.add(usize::from(is_refined));
            if let Some(point) = point {
                // Several parts of a plan may ask for the same.
                let is_new = self.reported.insert(key);
                if i == 0 {
                    first = point.time_and_error();
                }
                if is_new {
                    self.points.push(point);
                }
            }
        }
        Ok(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_replaced_in_all_series_unless_another_gives_times() {
        let group = |starts: &[StartScheme]| -> Vec<Series> {
            let words: Vec<&str> = starts.iter().map(|start| start.word()).collect();
            let text = format!("[[measure]]\noperations = [\"MPI_Barrier\"]\nstarts = {words:?}\n");
            super::super::plan::tests::plan(&text).unwrap().series
        };
        let starts = |series: Option<Vec<Series>>| -> Option<Vec<_>> {
            let pairs = |one: &Series| (one.start, one.start_asked);
            Some(series?.iter().map(pairs).collect())
        };
        use StartScheme::{Barrier, RoundTime, Window};
        let mut alone = group(&[RoundTime]);
        alone.push(alone[0].clone());
        let once = fallen_back(&alone, RoundTime).unwrap();
        let asked = Some(RoundTime);
        assert_eq!(starts(Some(once.clone())), Some(vec![(Window, asked); 2]));
        let twice = fallen_back(&once, Window);
        assert_eq!(starts(twice.clone()), Some(vec![(Barrier, asked); 2]));
        assert_eq!(fallen_back(&twice.unwrap(), Barrier), None);
        // Where starts are compared, one that gives times is enough.
        assert_eq!(fallen_back(&group(&[Window, Barrier]), Window), None);
        let both = group(&[Window, RoundTime]);
        assert_eq!(fallen_back(&both, RoundTime), None);
        assert_eq!(
            starts(fallen_back(&both, Window)),
            Some(vec![(Barrier, Some(Window)), (RoundTime, None)])
        );
    }

    #[test]
    fn every_order_is_about_as_frequent_as_the_others() {
        let mut counts = std::collections::BTreeMap::new();
        for seed in 0..6_000 {
            let mut values = [1, 2, 3];
            Random::of(&[seed]).shuffle(&mut values);
            *counts.entry(values).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        // Five standard deviations of a binomial distribution are 145.
        assert!(
            counts.values().all(|n: &i32| (n - 1_000).abs() < 145),
            "{counts:?}"
        );
    }
}
