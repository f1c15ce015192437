//! What is measured, in which order: sizes are calibrated, then each cell of the grid.

use std::ops::RangeInclusive;

use super::journal::{
    Cell, CellTimes, Communication, Computation, Entry, Journal, Plan, Reference,
};
use super::metrics::Times;
use super::operation::Operation;
use super::search::{Outcome, TOLERANCE, search};
use super::subject::{Load, Part, Run, Subject};

/// Runs whose median is the time of a size that is tried.
const RUNS_OF_A_TRY: usize = 3;
/// At most this many times the wanted number of runs are made, where runs begin too late.
const MOST_REPETITIONS: usize = 10;
/// At most this many searches for a size whose reference takes the wanted time.
const MOST_SEARCHES: usize = 3;
/// Sizes that a search tries, for the estimate.
const TRIES_ESTIMATED: u64 = 4;
/// What a run takes besides, for the estimate, ns.
const BESIDES_NS: u64 = 5_000_000;

/// What has been measured, and what remains.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Progress {
    /// What was measured last.
    pub(super) what: String,
    /// Number of entries in the journal.
    pub(super) done: usize,
    /// Number of entries at the end.
    pub(super) all: usize,
    /// Estimated time until the end, ns.
    pub(super) remaining_ns: u64,
}

/// Measures what the journal does not have yet.
///
/// # Errors
/// Those of the subject and of the journal.
pub(super) fn measure(
    plan: &Plan,
    subject: &mut impl Subject,
    journal: &mut Journal,
    mut tell: impl FnMut(&Progress),
) -> anyhow::Result<()> {
    tell(&progress(plan, journal, "begins".to_owned()));
    let first = plan
        .operations
        .first()
        .copied()
        .unwrap_or(Operation::Ibcast);
    let mut known = Vec::new();
    for &wanted_ns in &plan.computation_ns {
        if journal.computation(wanted_ns).is_none() {
            let found = computation(plan, subject, first, wanted_ns, &mut known)?;
            journal.add(Entry::Computation(found))?;
            let what = format!("computation of {}", words(wanted_ns));
            tell(&progress(plan, journal, what));
        }
    }
    for &operation in &plan.operations {
        let mut known = Vec::new();
        for &wanted_ns in &plan.communication_ns {
            if journal.communication(operation, wanted_ns).is_none() {
                let found = communication(plan, subject, operation, wanted_ns, &mut known)?;
                journal.add(Entry::Communication(found))?;
                let what = format!("{} of {}", operation.name(), words(wanted_ns));
                tell(&progress(plan, journal, what));
            }
            for &computation_ns in &plan.computation_ns {
                let Some(load) = missing(journal, operation, wanted_ns, computation_ns) else {
                    continue;
                };
                subject.prepare(load)?;
                let (runs, late) = repeat(subject, Part::Overlap, plan.runs)?;
                journal.add(Entry::Cell(Cell {
                    operation,
                    communication_ns: wanted_ns,
                    computation_ns,
                    measured: cell_times(&runs),
                    late,
                }))?;
                let what = format!(
                    "{} of {} with a computation of {}",
                    operation.name(),
                    words(wanted_ns),
                    words(computation_ns)
                );
                tell(&progress(plan, journal, what));
            }
        }
    }
    Ok(())
}

fn words(ns: u64) -> String {
    collbench_text::quantity::round_duration(ns as f64)
}

/// What a cell runs, if it can be measured and has not been.
fn missing(
    journal: &Journal,
    operation: Operation,
    communication_ns: u64,
    computation_ns: u64,
) -> Option<Load> {
    if journal
        .cell(operation, communication_ns, computation_ns)
        .is_some()
    {
        return None;
    }
    let communication = journal.communication(operation, communication_ns)?;
    let computation = journal.computation(computation_ns)?;
    let references = (&communication.alone, &computation.without_mpi);
    match (communication.outcome, computation.outcome, references) {
        (Outcome::Found(length), Outcome::Found(rows), (Some(_), Some(_))) => Some(Load {
            operation,
            length,
            rows,
        }),
        _ => None,
    }
}

/// Searches the size of the matrices, and measures them without MPI and with MPI idle.
fn computation(
    plan: &Plan,
    subject: &mut impl Subject,
    operation: Operation,
    wanted_ns: u64,
    known: &mut Vec<(u64, f64)>,
) -> anyhow::Result<Computation> {
    let wanted = Wanted {
        ns: wanted_ns,
        sizes: 1..=subject.most_rows(),
        exponent: 3.0,
        part: Part::WithoutMpi,
        load: |operation, rows| Load {
            operation,
            length: 0,
            rows,
        },
        time: Run::slowest_computation_ns,
        slowest: Run::slowest_computation_ns,
        own: |times| times.computation_ns,
    };
    let (outcome, without_mpi) = wanted.calibrate(plan, subject, operation, known)?;
    let idle = match without_mpi {
        Some(_) => wanted.measure(plan, subject, Part::Idle)?,
        None => None,
    };
    Ok(Computation {
        wanted_ns,
        outcome,
        without_mpi,
        idle,
    })
}

/// Searches the length of the message, and measures it alone.
fn communication(
    plan: &Plan,
    subject: &mut impl Subject,
    operation: Operation,
    wanted_ns: u64,
    known: &mut Vec<(u64, f64)>,
) -> anyhow::Result<Communication> {
    let wanted = Wanted {
        ns: wanted_ns,
        sizes: 1..=subject.longest(operation),
        exponent: 1.0,
        part: Part::Communication,
        load: |operation, length| Load {
            operation,
            length,
            rows: 0,
        },
        time: Run::since_last_begin_ns,
        slowest: Run::collective_ns,
        own: Times::total_ns,
    };
    let (outcome, alone) = wanted.calibrate(plan, subject, operation, known)?;
    Ok(Communication {
        operation,
        wanted_ns,
        outcome,
        alone,
    })
}

/// What is searched: a size with which a part takes some time.
struct Wanted {
    ns: u64,
    sizes: RangeInclusive<u64>,
    /// Exponent of the power law that times follow roughly.
    exponent: f64,
    part: Part,
    load: fn(Operation, u64) -> Load,
    /// Time of a size that is tried.
    time: fn(&Run) -> f64,
    /// Time of the reference.
    slowest: fn(&Run) -> f64,
    /// Time of the reference in one process.
    own: fn(Times) -> f64,
}

impl Wanted {
    /// The size, and the reference measured with it. Where the reference shows that the tries were
    /// disturbed, the search continues with it.
    fn calibrate(
        &self,
        plan: &Plan,
        subject: &mut impl Subject,
        operation: Operation,
        known: &mut Vec<(u64, f64)>,
    ) -> anyhow::Result<(Outcome, Option<Reference>)> {
        let mut searches_left = MOST_SEARCHES;
        loop {
            let outcome = search(
                self.ns as f64,
                self.sizes.clone(),
                self.exponent,
                known,
                |size| {
                    subject.prepare((self.load)(operation, size))?;
                    tried(subject, self.part, self.time)
                },
            )?;
            let Outcome::Found(size) = outcome else {
                return Ok((outcome, None));
            };
            subject.prepare((self.load)(operation, size))?;
            let reference = self.measure(plan, subject, self.part)?;
            searches_left -= 1;
            let ns = reference.as_ref().map(|reference| reference.slowest_ns);
            let is_off = |ns: &f64| (ns / self.ns as f64 - 1.0).abs() > 2.0 * TOLERANCE;
            match ns.filter(is_off) {
                Some(ns) if searches_left > 0 => {
                    known.retain(|(tried, _)| *tried != size);
                    known.push((size, ns));
                }
                // The tries were disturbed, or the reference varies.
                Some(_) => return Ok((Outcome::NotConverged, None)),
                None => return Ok((outcome, reference)),
            }
        }
    }

    /// The reference of what is prepared; `None` if no run began in time.
    fn measure(
        &self,
        plan: &Plan,
        subject: &mut impl Subject,
        part: Part,
    ) -> anyhow::Result<Option<Reference>> {
        let (runs, late) = repeat(subject, part, plan.runs)?;
        let slowest_ns = median(runs.iter().map(self.slowest).collect());
        Ok(slowest_ns.map(|slowest_ns| Reference {
            slowest_ns,
            processes_ns: by_process(&runs, self.own),
            runs: runs.len(),
            late,
        }))
    }
}

/// Runs a part until `n` runs have begun in time, after one that warms up. Returns these, and the
/// number of those that began too late.
fn repeat(subject: &mut impl Subject, part: Part, n: usize) -> anyhow::Result<(Vec<Run>, usize)> {
    subject.run(part)?;
    let (mut runs, mut late) = (Vec::with_capacity(n), 0);
    while runs.len() < n && runs.len() + late < n * MOST_REPETITIONS {
        let run = subject.run(part)?;
        if run.is_late {
            late += 1;
        } else {
            runs.push(run);
        }
    }
    Ok((runs, late))
}

/// The time of a size that was tried. Late runs count as well: a busy machine makes a size a little
/// wrong, and the reference of that size is measured afterwards.
fn tried(subject: &mut impl Subject, part: Part, time: fn(&Run) -> f64) -> anyhow::Result<f64> {
    subject.run(part)?;
    let mut times = Vec::with_capacity(RUNS_OF_A_TRY);
    for _ in 0..RUNS_OF_A_TRY {
        times.push(time(&subject.run(part)?));
    }
    Ok(median(times).unwrap_or(0.0))
}

fn cell_times(runs: &[Run]) -> Option<CellTimes> {
    let of = |figure: fn(&Run) -> f64| median(runs.iter().map(figure).collect());
    let calls = by_process(runs, |times| times.call_ns);
    let computations = by_process(runs, |times| times.computation_ns);
    let waits = by_process(runs, |times| times.wait_ns);
    let processes = calls.into_iter().zip(computations).zip(waits);
    Some(CellTimes {
        total_ns: of(Run::collective_ns)?,
        computation_ns: of(Run::slowest_computation_ns)?,
        in_mpi_ns: of(Run::slowest_in_mpi_ns)?,
        processes: processes
            .map(|((call_ns, computation_ns), wait_ns)| Times {
                call_ns,
                computation_ns,
                wait_ns,
            })
            .collect(),
        runs_ns: runs.iter().map(Run::collective_ns).collect(),
    })
}

/// The median of a time of each process over the runs.
fn by_process(runs: &[Run], time: fn(Times) -> f64) -> Vec<f64> {
    let n = runs
        .iter()
        .map(|run| run.processes.len())
        .min()
        .unwrap_or(0);
    let of_process = |process: usize| {
        let times = runs.iter().map(|run| time(run.processes[process].times()));
        median(times.collect()).unwrap_or(0.0)
    };
    (0..n).map(of_process).collect()
}

fn median(values: Vec<f64>) -> Option<f64> {
    collbench_stats::spread::Spread::of(values).map(|spread| spread.median)
}

/// How far the measurement is.
fn progress(plan: &Plan, journal: &Journal, what: String) -> Progress {
    let of_runs = |ns: u64, runs: u64| (ns + BESIDES_NS) * runs;
    let runs = plan.runs as u64 + 1;
    let searched = TRIES_ESTIMATED * (RUNS_OF_A_TRY as u64 + 1);
    let (mut remaining_ns, mut all) = (0, plan.computation_ns.len());
    for &wanted_ns in &plan.computation_ns {
        if journal.computation(wanted_ns).is_none() {
            remaining_ns += of_runs(wanted_ns, searched + 2 * runs);
        }
    }
    for &operation in &plan.operations {
        for &wanted_ns in &plan.communication_ns {
            all += 1;
            let known = journal.communication(operation, wanted_ns);
            if known.is_none() {
                remaining_ns += of_runs(wanted_ns, searched + runs);
            }
            for &computation_ns in &plan.computation_ns {
                let is_expected = known.is_none()
                    || journal.computation(computation_ns).is_none()
                    || missing(journal, operation, wanted_ns, computation_ns).is_some();
                if is_expected {
                    remaining_ns += of_runs(wanted_ns + computation_ns, runs);
                }
                all += usize::from(
                    is_expected || journal.cell(operation, wanted_ns, computation_ns).is_some(),
                );
            }
        }
    }
    Progress {
        what,
        done: journal.computations.len() + journal.communications.len() + journal.cells.len(),
        all,
        remaining_ns,
    }
}
