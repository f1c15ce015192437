//! The document of a measurement, from its journal.

use collbench_text::quantity::counted;
use serde::{Deserialize, Serialize};

use super::diagnosis::{Diagnosis, regions};
use super::journal::{Cell, Communication, Computation, Journal, Plan, Reference};
use super::metrics::{Measured, Ratios, References, imb_percent, impact_ratio, osu_percent};
use super::operation::{ELEMENT, Operation};
use super::search::Outcome;
use crate::machine::Machine;

/// Name of the document and its version.
const SCHEMA: &str = "collbench.bench.overlap/1";
/// Cells whose wanted times differ by this factor or more are far from the diagonal: their ratios
/// are those of small differences of long times (Denis et al. 2022, section 5.2).
const FAR: u64 = 100;

/// A host is busy if its load exceeds this share of its cores.
const BUSY: f64 = 0.5;

/// Where and how a measurement was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Surroundings {
    pub(super) machine: Machine,
    pub(super) command: Vec<String>,
    /// Whether all processes read one clock.
    pub(super) has_one_clock: bool,
    /// Largest error of a time on the common clock, ns: half the shortest round trip to a host. 0
    /// with one clock.
    pub(super) clock_error_ns: f64,
    /// Whether threads that compute share cores with one another, or with a progress thread.
    pub(super) shares_cores: bool,
    /// Number of cores of the host of the first process.
    pub(super) host_cores: usize,
}

impl Surroundings {
    /// Why the ratios may not be those of the MPI library, if the host was busy already.
    fn busy_words(&self) -> Option<String> {
        let load = self.machine.load?;
        (load > BUSY * self.host_cores as f64).then(|| {
            format!(
                "load {load} on {} before the measurement: other programs compete for the cores, \
                 and slow computation and communication",
                counted(self.host_cores, "core")
            )
        })
    }
}

/// The document `collbench.bench.overlap/1`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Document {
    pub(super) schema: String,
    #[serde(flatten)]
    pub(super) surroundings: Surroundings,
    #[serde(flatten)]
    pub(super) plan: Plan,
    pub(super) computations: Vec<ComputationFigures>,
    pub(super) grids: Vec<Grid>,
    /// What could not be measured or does not count, and why.
    pub(super) invalid: Vec<String>,
}

/// A computation alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ComputationFigures {
    #[serde(flatten)]
    pub(super) computation: Computation,
    /// MPI impact ratio of the slowest process.
    pub(super) impact: Option<f64>,
    /// MPI impact ratio of each process by itself.
    pub(super) processes_impact: Vec<f64>,
}

/// The cells of an operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Grid {
    pub(super) operation: Operation,
    /// By wanted time, ascending.
    pub(super) communications: Vec<CommunicationFigures>,
    /// By wanted time of the communication, then by that of the computation.
    pub(super) cells: Vec<CellFigures>,
    /// Adjacent cells with one diagnosis, the largest region first.
    pub(super) regions: Vec<RegionFigures>,
}

/// A communication alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct CommunicationFigures {
    #[serde(flatten)]
    pub(super) communication: Communication,
    /// Bytes that each process contributes.
    pub(super) bytes: Option<u64>,
}

/// A cell of the grid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct CellFigures {
    /// Wanted times, ns.
    pub(super) communication_ns: u64,
    pub(super) computation_ns: u64,
    /// Whether the two wanted times are so different that the ratios say little.
    pub(super) is_far: bool,
    /// `None` if the cell is empty.
    pub(super) measured: Option<MeasuredCell>,
    /// Why the cell is empty.
    pub(super) empty: Option<Empty>,
}

/// Why a cell is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(super) enum Empty {
    /// Messages or matrices would need more memory.
    Memory,
    /// The smallest size already takes longer.
    SmallestTakesLonger,
    /// No size for the wanted time was found.
    NotConverged,
    /// Runs began too late.
    Late,
    /// The measurement was interrupted.
    NotYetMeasured,
}

impl Empty {
    /// The reason in words.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Memory => "more memory is needed than --memory allows",
            Self::SmallestTakesLonger => "the smallest size takes longer",
            Self::NotConverged => "no size takes the wanted time to within 10 %",
            Self::Late => "no run began at the same time in all processes",
            Self::NotYetMeasured => "not measured yet",
        }
    }

    fn of(outcome: Outcome, has_reference: bool) -> Option<Self> {
        match outcome {
            Outcome::Found(_) if has_reference => None,
            Outcome::Found(_) => Some(Self::Late),
            Outcome::SmallestTakesLonger => Some(Self::SmallestTakesLonger),
            Outcome::LargestIsFaster => Some(Self::Memory),
            Outcome::NotConverged => Some(Self::NotConverged),
        }
    }
}

/// Times and ratios of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct MeasuredCell {
    /// Communication alone, from the first begin to the last end, ns.
    pub(super) communication_alone_ns: f64,
    /// Computation of the slowest process without MPI, ns.
    pub(super) computation_alone_ns: f64,
    /// Both at once, from the first begin to the last end, ns.
    pub(super) total_ns: f64,
    /// Median of each run, ns.
    pub(super) runs_ns: Vec<f64>,
    /// How far the overhead ratio of a run lies from that of the cell, at most; `None` for one run.
    #[serde(default)]
    pub(super) overhead_error: Option<f64>,
    /// Number of runs that began too late, and did not count.
    pub(super) late: usize,
    /// Ratios of the slowest process.
    #[serde(flatten)]
    pub(super) ratios: Ratios,
    /// Ratios of each process by itself, with its own references.
    pub(super) processes: Vec<Option<Ratios>>,
    pub(super) diagnosis: Diagnosis,
    /// Overlap that the OSU microbenchmarks would print for these runs, percent.
    pub(super) osu_percent: Option<f64>,
    /// Overlap that the Intel MPI Benchmarks would print for these runs, percent.
    pub(super) imb_percent: Option<f64>,
}

/// Adjacent cells with one diagnosis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct RegionFigures {
    pub(super) diagnosis: Diagnosis,
    /// Number of its cells.
    pub(super) cells: usize,
    /// Least and greatest wanted time, ns.
    pub(super) communication_ns: [u64; 2],
    pub(super) computation_ns: [u64; 2],
    /// What it means.
    pub(super) text: String,
}

impl Document {
    /// The document of what the journal has.
    pub(super) fn of(plan: &Plan, journal: &Journal, surroundings: Surroundings) -> Self {
        let computations: Vec<ComputationFigures> = plan
            .computation_ns
            .iter()
            .filter_map(|&wanted_ns| journal.computation(wanted_ns))
            .map(ComputationFigures::of)
            .collect();
        let operations = plan.operations.iter();
        let grids: Vec<Grid> = operations
            .map(|&operation| Grid::of(plan, journal, operation))
            .collect();
        Self {
            schema: SCHEMA.to_owned(),
            invalid: surroundings
                .busy_words()
                .into_iter()
                .chain(invalid(&computations, &grids))
                .collect(),
            surroundings,
            computations,
            grids,
            plan: plan.clone(),
        }
    }

    /// Whether a document is one of these.
    pub(super) fn has_this_schema(&self) -> bool {
        self.schema == SCHEMA
    }
}

impl ComputationFigures {
    fn of(computation: &Computation) -> Self {
        let references = computation
            .without_mpi
            .as_ref()
            .zip(computation.idle.as_ref());
        let processes = references.map(|(without, idle)| {
            let pairs = idle.processes_ns.iter().zip(&without.processes_ns);
            pairs
                .filter_map(|(idle, without)| impact_ratio(*idle, *without))
                .collect()
        });
        Self {
            computation: computation.clone(),
            impact: references
                .and_then(|(without, idle)| impact_ratio(idle.slowest_ns, without.slowest_ns)),
            processes_impact: processes.unwrap_or_default(),
        }
    }
}

impl Grid {
    fn of(plan: &Plan, journal: &Journal, operation: Operation) -> Self {
        let mut cells = Vec::new();
        let mut diagnoses = Vec::new();
        for &communication_ns in &plan.communication_ns {
            let mut column = Vec::new();
            for &computation_ns in &plan.computation_ns {
                let cell = CellFigures::of(journal, operation, communication_ns, computation_ns);
                let counted = cell.measured.as_ref().filter(|_| !cell.is_far);
                column.push(counted.map(|measured| measured.diagnosis));
                cells.push(cell);
            }
            diagnoses.push(column);
        }
        let regions = regions(&diagnoses).into_iter().map(|region| {
            let range = |times: &[u64], index: fn(&(usize, usize)) -> usize| {
                let times = region.cells.iter().map(|cell| times[index(cell)]);
                [times.clone().min().unwrap_or(0), times.max().unwrap_or(0)]
            };
            RegionFigures {
                diagnosis: region.diagnosis,
                cells: region.cells.len(),
                communication_ns: range(&plan.communication_ns, |cell| cell.0),
                computation_ns: range(&plan.computation_ns, |cell| cell.1),
                text: region.diagnosis.words().to_owned(),
            }
        });
        let regions = regions.collect();
        let communications = plan.communication_ns.iter();
        let communications = communications
            .filter_map(|&wanted_ns| journal.communication(operation, wanted_ns))
            .map(|communication| CommunicationFigures {
                bytes: match communication.outcome {
                    Outcome::Found(length) => Some(length * ELEMENT),
                    _ => None,
                },
                communication: communication.clone(),
            });
        Self {
            operation,
            communications: communications.collect(),
            cells,
            regions,
        }
    }

    /// The cells that count for a verdict: measured, and not far from the diagonal.
    pub(super) fn counted(&self) -> impl Iterator<Item = (&CellFigures, &MeasuredCell)> {
        let cells = self.cells.iter().filter(|cell| !cell.is_far);
        cells.filter_map(|cell| Some((cell, cell.measured.as_ref()?)))
    }
}

impl CellFigures {
    fn of(
        journal: &Journal,
        operation: Operation,
        communication_ns: u64,
        computation_ns: u64,
    ) -> Self {
        let communication = journal.communication(operation, communication_ns);
        let computation = journal.computation(computation_ns);
        let cell = journal.cell(operation, communication_ns, computation_ns);
        let alone = communication.and_then(|found| found.alone.as_ref());
        let without_mpi = computation.and_then(|found| found.without_mpi.as_ref());
        let measured = alone
            .zip(without_mpi)
            .zip(cell)
            .and_then(|((alone, without_mpi), cell)| MeasuredCell::of(alone, without_mpi, cell));
        let empty = measured.is_none().then(|| {
            let of_communication =
                communication.and_then(|found| Empty::of(found.outcome, found.alone.is_some()));
            let of_computation =
                computation.and_then(|found| Empty::of(found.outcome, found.without_mpi.is_some()));
            let of_cell = if cell.is_some() {
                Empty::Late
            } else {
                Empty::NotYetMeasured
            };
            of_communication.or(of_computation).unwrap_or(of_cell)
        });
        let longer = communication_ns.max(computation_ns);
        let shorter = communication_ns.min(computation_ns);
        Self {
            communication_ns,
            computation_ns,
            is_far: longer >= shorter.saturating_mul(FAR),
            measured,
            empty,
        }
    }
}

impl MeasuredCell {
    fn of(alone: &Reference, without_mpi: &Reference, cell: &Cell) -> Option<Self> {
        let times = cell.measured.as_ref()?;
        let ratios = Ratios::of(
            Measured {
                total_ns: times.total_ns,
                computation_ns: times.computation_ns,
                in_mpi_ns: times.in_mpi_ns,
            },
            References {
                communication_ns: alone.slowest_ns,
                computation_ns: without_mpi.slowest_ns,
            },
        )?;
        let own = alone.processes_ns.iter().zip(&without_mpi.processes_ns);
        let processes = times.processes.iter().zip(own);
        let processes = processes.map(|(times, (&communication_ns, &computation_ns))| {
            let measured = Measured {
                total_ns: times.total_ns(),
                computation_ns: times.computation_ns,
                in_mpi_ns: times.in_mpi_ns(),
            };
            let references = References {
                communication_ns,
                computation_ns,
            };
            Ratios::of(measured, references)
        });
        let totals = times.processes.iter().map(|times| times.total_ns());
        let computing = times.processes.iter().map(|times| times.computation_ns);
        let (total, computing) = (mean(totals)?, mean(computing)?);
        let distances = times.runs_ns.iter().map(|run| (run - times.total_ns).abs());
        let farthest = distances
            .reduce(f64::max)
            .filter(|_| times.runs_ns.len() > 1);
        let pure = mean(alone.processes_ns.iter().copied())?;
        let computation = mean(without_mpi.processes_ns.iter().copied())?;
        Some(Self {
            communication_alone_ns: alone.slowest_ns,
            computation_alone_ns: without_mpi.slowest_ns,
            total_ns: times.total_ns,
            runs_ns: times.runs_ns.clone(),
            overhead_error: farthest.map(|ns| ns / alone.slowest_ns.min(without_mpi.slowest_ns)),
            late: cell.late,
            ratios,
            processes: processes.collect(),
            diagnosis: Diagnosis::of(ratios),
            osu_percent: osu_percent(total, computing, pure),
            imb_percent: imb_percent(total, pure, computation),
        })
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0_u32), |(sum, n), value| (sum + value, n + 1));
    (n > 0).then(|| sum / f64::from(n))
}

/// What does not count, in sentences.
fn invalid(computations: &[ComputationFigures], grids: &[Grid]) -> Vec<String> {
    let mut sentences = Vec::new();
    let shown = |ns| collbench_text::quantity::round_duration(ns as f64);
    for ComputationFigures { computation, .. } in computations {
        if let Some(why) = Empty::of(computation.outcome, computation.without_mpi.is_some()) {
            let wanted = shown(computation.wanted_ns);
            sentences.push(format!("computation of {wanted}: {}", why.words()));
        }
    }
    for grid in grids {
        let name = grid.operation.name();
        for CommunicationFigures { communication, .. } in &grid.communications {
            if let Some(why) = Empty::of(communication.outcome, communication.alone.is_some()) {
                let wanted = shown(communication.wanted_ns);
                sentences.push(format!("{name} of {wanted}: {}", why.words()));
            }
        }
        let late: usize = grid
            .cells
            .iter()
            .filter_map(|cell| Some(cell.measured.as_ref()?.late))
            .sum();
        if late > 0 {
            let runs = counted(late, "run");
            sentences.push(format!(
                "{name}: {runs} began too late in a process, and did not count"
            ));
        }
    }
    sentences
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_that_of_the_types() {
        collbench_schemas::check::<super::Document>(super::SCHEMA);
    }
}
