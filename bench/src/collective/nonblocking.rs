//! Measures what nonblocking collectives cost the program, and whether they make progress while it
//! computes.

mod figures;
mod measure;
mod table;

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use collbench_viz::Picture;

use super::Format;
use super::operation::Operation;
use super::plan::{Given, Lengths, Limits, Method, Part, Plan};
use super::results::Run;
use super::run::{checked, in_job};
use crate::folder;
use crate::measure::start::StartScheme;
use crate::overhead::{ClockName, write_json};
use crate::thorough::Thorough;
use figures::{Point, Results, SCHEMA};

/// Measures what nonblocking collectives cost, and whether they overlap with computation
///
/// Start it with a launcher. For each length it measures the time of the operation followed at once
/// by its wait; finds a computation that takes as long on the fastest process, the same work for
/// all; and begins the operation, computes, and waits. The overhead is given by time (in initiation,
/// tests and wait) and by work (what the whole takes beyond the computation alone), which includes
/// what the time inside MPI hides. Tests during the computation let libraries make progress that
/// make none by themselves.
///
/// Method: Hoefler et al. 2007, sections 4.1 and 4.2, figures 9 to 12; ratios as in metrics.
#[derive(Debug, Args)]
pub struct Options {
    /// Nonblocking operations to measure, by their names in MPI
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        default_value = "MPI_Ibcast,MPI_Iallreduce,MPI_Ialltoall"
    )]
    operation: Vec<String>,
    /// Message lengths
    #[arg(
        long,
        value_name = "N,N,...",
        value_delimiter = ',',
        default_value = "8,64,512,4096,32768,262144"
    )]
    bytes: Vec<u64>,
    /// Bytes for each test during the computation: ceil(length / interval) + 1 tests; 0 for none
    #[arg(
        long,
        value_name = "N,N,...",
        value_delimiter = ',',
        default_value = "0,1024,16384"
    )]
    interval: Vec<u64>,
    /// Numbers of processes [default: all]
    #[arg(long, value_name = "N", value_delimiter = ',')]
    processes: Vec<usize>,
    /// How processes start together: window, round-time or barrier; one that none of the first 100
    /// repetitions holds is replaced by the one after it (round-time, window, barrier)
    #[arg(long, value_enum, value_name = "SCHEME", default_value_t, value_parser = start)]
    start: StartScheme,
    /// Half width of the 95 % interval at which repetitions end, percent of the time
    #[arg(long, value_name = "PERCENT", default_value_t = 3.0, value_parser = super::percent)]
    precision: f64,
    /// Greatest number of repetitions
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
    repetitions: u32,
    /// Longest time for one measurement [with --thorough 2]
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "0.5",
        default_value_if("thorough", "true", "2"),
        value_parser = super::seconds
    )]
    seconds: f64,
    #[command(flatten)]
    thorough: Thorough,
    /// Clock to measure with [default: the one that collbench-record chooses]
    #[arg(long, value_enum, value_name = "CLOCK")]
    clock: Option<ClockName>,
    /// What to print to stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Directory for results and pictures [default: none]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Loops cannot be stopped for a computation.
fn start(text: &str) -> Result<StartScheme, String> {
    let of_text = <StartScheme as clap::ValueEnum>::from_str(text, false);
    let allowed = [
        StartScheme::Window,
        StartScheme::RoundTime,
        StartScheme::Barrier,
    ];
    of_text
        .ok()
        .filter(|scheme| allowed.contains(scheme))
        .ok_or_else(|| "expected window, round-time or barrier".to_owned())
}

impl Options {
    /// What is measured, checked as a plan.
    fn plan(&self, limits: Limits<'_>) -> anyhow::Result<Plan> {
        for name in &self.operation {
            let is_nonblocking = matches!(
                Operation::of_name(name),
                Some(Operation::Nonblocking(_)) | None
            );
            anyhow::ensure!(
                is_nonblocking,
                "{name} is not nonblocking; name one like MPI_Ibcast"
            );
        }
        let mut method = Method {
            seconds: self.seconds,
            ..Method::default()
        };
        method.precision.relative = self.precision / 100.0;
        method.precision.most = self.repetitions as usize;
        let processes = self.processes.iter().copied();
        let lengths = Lengths::List(self.bytes.clone());
        let part = Part {
            processes: processes.map(Given::by_option).collect(),
            starts: vec![self.start],
            ..Part::of(self.operation.iter().cloned(), lengths)
        };
        checked(Plan::of(method, &[part], limits), "")
    }
}

/// Measures and writes the result, in process 0.
///
/// # Errors
/// States what cannot be measured, or which file could not be written.
pub fn run(options: &Options, output: &mut impl Write) -> anyhow::Result<()> {
    let measured = in_job(
        ClockName::source_or_chosen(options.clock),
        None,
        false,
        false,
        |here| {
            if let Some(folder) = &options.output {
                folder::make(folder)?;
            }
            options.plan(here.limits)
        },
        |job, plan| {
            let points = measure::measure(&plan, &options.interval, job)?;
            Ok((points, plan.method))
        },
    )?;
    let Some(((points, method), job)) = measured else {
        return Ok(());
    };
    let results = Results {
        schema: SCHEMA,
        run: Run::of(job, &method),
        points,
    };
    if let Some(folder) = &options.output {
        let mut json = Vec::new();
        write_json(&results, &mut json)?;
        folder::write_file(folder, "nonblocking.json", &json)?;
        let csv = table::csv(&results.points);
        folder::write_file(folder, "nonblocking.csv", csv.as_bytes())?;
        for (name, curves) in table::pictures(&results) {
            folder::write(folder, &name, &Picture::from(curves))?;
        }
    }
    match options.format {
        Format::Text => table::write(&results, output)?,
        Format::Csv => output.write_all(table::csv(&results.points).as_bytes())?,
        Format::Json => write_json(&results, output)?,
    }
    Ok(())
}
