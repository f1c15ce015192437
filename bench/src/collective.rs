//! Measures collective operations, ping-pongs, a master with workers and simple calls: how long they
//! take, by how they are started, over lengths, numbers of processes and roots.

mod algorithms;
mod arrivals;
mod call;
mod compare;
mod guidelines;
mod job;
mod journal;
mod keep;
mod members;
mod merge;
pub mod nonblocking;
mod operation;
mod overlap;
mod own_trees;
mod page;
mod pictures;
mod plan;
mod point;
mod progress;
mod results;
mod run;
mod selection;
mod sheet;
mod surroundings;
mod table;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, ValueEnum};
use collbench_viz::Picture;

use crate::measure::estimate::{ErrorOf, Figure};
use crate::measure::reduction::Reduction;
use crate::measure::start::StartScheme;
use crate::overhead::{ClockName, write_json};
use crate::thorough::Thorough;
use call::Element;
use operation::Operation;
use plan::{Arrivals, Given, Lengths, Limits, Method, Part};

pub(crate) use compare::Comparison;
pub(crate) use journal::NAME as JOURNAL;
pub(crate) use keep::DOCUMENT;
pub(crate) use merge::{ensure_kept, read_results};
pub(crate) use page::{Named, write as write_page};
pub(crate) use results::{Point, Results, Run, SCHEMA as RESULTS_SCHEMA};
pub(crate) use sheet::Sheets;
pub(crate) use table::write as write_text;

/// Measures collective operations, ping-pongs, a master with workers and simple calls
///
/// Start it with a launcher. Without --plan, --operation and --pattern it measures a default plan. Processes
/// start each repetition together, at an instant of a global clock (--start): late starts are
/// invalid and counted; where all are late, processes start by a barrier. Each point is repeated until the 95 % interval of its trimmed mean is narrow
/// enough. Lengths given as a range are refined where the time changes most.
///
/// Method: Reussner et al. 1999 (patterns, repetition, refinement, several runs); Hoefler et al.
/// 2007, sections 1 and 4 (start schemes, reductions).
#[derive(Debug, Args)]
pub struct Options {
    /// TOML file that says what to measure
    #[arg(long, value_name = "FILE", conflicts_with_all = ["operation", "bytes", "processes", "hosts", "root", "pieces", "start", "compare_schemes", "arrivals", "thorough"])]
    plan: Option<PathBuf>,
    /// Operations to measure, by their names in MPI
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    operation: Vec<String>,
    /// Measure all operations of a pattern, as far as the MPI library has them
    #[arg(long, value_enum, value_name = "PATTERN", value_delimiter = ',', conflicts_with_all = ["plan", "merge", "compare"])]
    pattern: Vec<operation::Pattern>,
    /// Message lengths: a list, or a range that is refined
    #[arg(long, value_name = "N,N,...|FROM:TO", default_value = "8:1048576", value_parser = lengths)]
    bytes: Lengths,
    /// Numbers of processes: a list, or a range that is refined [default: all; with --hosts all on
    /// them]
    #[arg(long, value_name = "N,N,...|FROM:TO", value_parser = counts)]
    processes: Option<Counts>,
    /// Numbers of hosts over which processes are spread evenly [default: the first processes,
    /// wherever they are]
    #[arg(long, value_name = "N", value_delimiter = ',')]
    hosts: Vec<usize>,
    /// Roots of operations that have one [default: 0]
    #[arg(long, value_name = "RANK", value_delimiter = ',')]
    root: Vec<usize>,
    /// Pieces for each worker, for operations of a master and workers [default: 10]
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pieces: Vec<usize>,
    /// How processes start together; one that none of the first 100 repetitions holds is replaced,
    /// unless it is compared with one that cannot be late [default: window; of the default plan
    /// barrier where there are more processes than cores]
    #[arg(long, value_enum, value_name = "SCHEME", value_delimiter = ',')]
    start: Vec<StartScheme>,
    /// Measure with all start schemes
    #[arg(long, conflicts_with_all = ["start", "arrivals"])]
    compare_schemes: bool,
    /// Measure each algorithm that the MPI library can be told to use beside its own choice, in turns
    /// (Open MPI's coll_tuned)
    #[arg(long, conflicts_with_all = ["merge", "compare"])]
    algorithms: bool,
    /// Measure the trees of this tree file beside the library's own choice, in turns, where one fits;
    /// may be given several times
    #[arg(long, value_name = "FILE", conflicts_with_all = ["merge", "compare"])]
    trees: Vec<PathBuf>,
    /// What the order of the points is drawn from [default: different for each launch]
    #[arg(long, value_name = "N", conflicts_with_all = ["merge", "compare"])]
    seed: Option<u64>,
    /// Invalidate the caches before each repetition; what that takes in a loop is subtracted
    #[arg(long, conflicts_with_all = ["merge", "compare"])]
    cold_cache: bool,
    /// When processes arrive: sorted, random, late:PROCESS, or as in the run of a predicted.json or an analysis.json
    /// [default: together]
    #[arg(long, value_name = "PATTERN", value_parser = arrivals::Pattern::of_text)]
    arrivals: Option<arrivals::Pattern>,
    /// Delay of the last process, us, with --arrivals sorted, random or late
    #[arg(long, value_name = "US", default_value_t = 100.0, value_parser = delay, requires = "arrivals")]
    delay: f64,
    /// How the times of the processes become one [default: that of the start scheme]
    #[arg(long, value_enum, value_name = "REDUCTION", conflicts_with = "plan")]
    reduction: Option<Reduction>,
    /// Which figure of the repetitions is the time
    #[arg(
        long,
        value_enum,
        value_name = "FIGURE",
        default_value_t,
        conflicts_with = "plan"
    )]
    figure: Figure,
    /// What messages consist of
    #[arg(
        long,
        value_enum,
        value_name = "TYPE",
        default_value_t,
        conflicts_with = "plan"
    )]
    element: Element,
    /// Half width of the 95 % interval at which repetitions end, percent of the time
    #[arg(long, value_name = "PERCENT", default_value_t = 3.0, value_parser = percent, conflicts_with = "plan")]
    precision: f64,
    /// Standard error that the interval is made of
    #[arg(
        long,
        value_enum,
        value_name = "ERROR",
        default_value_t,
        conflicts_with = "plan"
    )]
    error: ErrorOf,
    /// Greatest number of repetitions
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(10..=1_000_000), conflicts_with = "plan")]
    repetitions: u32,
    /// Longest time for one point [with --thorough 3]
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "0.5",
        default_value_if("thorough", "true", "3"),
        value_parser = seconds,
        conflicts_with = "plan"
    )]
    seconds: f64,
    #[command(flatten)]
    thorough: Thorough,
    /// A start later than this after its instant is invalid, us, but at least the uncertainty of the
    /// clocks
    #[arg(long, value_name = "US", default_value_t = 2.0, value_parser = delay, conflicts_with = "plan")]
    tolerance: f64,
    /// Clock to measure with [default: the one that collbench-record chooses]
    #[arg(long, value_enum, value_name = "CLOCK")]
    clock: Option<ClockName>,
    /// Keep the times of all processes in all repetitions
    #[arg(long)]
    samples: bool,
    /// Do not measure, but merge results of several runs by the medians of their points
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["plan", "operation", "thorough"])]
    merge: Vec<PathBuf>,
    /// Do not measure, but compare results of several runs, point by point
    #[arg(long, value_name = "FILE", num_args = 2.., conflicts_with_all = ["plan", "operation", "thorough", "merge", "output"])]
    compare: Vec<PathBuf>,
    /// List the operations and exit
    #[arg(long)]
    list: bool,
    /// What to print to stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Directory for results and pictures, in which an interrupted run goes on [default: none]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Directory that keeps the results of many runs, each in a directory named by date and host
    #[arg(long, value_name = "DIR", conflicts_with_all = ["output", "merge", "compare"])]
    keep: Option<PathBuf>,
    /// Name of the network, kept with the results [default: the interfaces of the hosts]
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["merge", "compare"])]
    network: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Tables
    Text,
    /// One JSON document
    Json,
    /// One line for each point
    Csv,
}

fn lengths(text: &str) -> Result<Lengths, String> {
    numbers(text, "bytes", Lengths::List, Lengths::Range)
}

/// A list of numbers, or a range, `FROM:TO`; the error says of what they are.
fn numbers<T: FromStr, R>(
    text: &str,
    of: &str,
    list: fn(Vec<T>) -> R,
    range: fn(T, T) -> R,
) -> Result<R, String> {
    let number = |text: &str| -> Result<T, String> {
        let number = text.trim().parse();
        number.map_err(|_| format!("{text}: expected a number of {of}"))
    };
    match text.split_once(':') {
        Some((from, to)) => Ok(range(number(from)?, number(to)?)),
        None => text
            .split(',')
            .map(number)
            .collect::<Result<_, _>>()
            .map(list),
    }
}

/// Numbers of processes on the command line.
#[derive(Debug, Clone)]
enum Counts {
    List(Vec<usize>),
    Range(usize, usize),
}

fn counts(text: &str) -> Result<Counts, String> {
    numbers(text, "processes", Counts::List, Counts::Range)
}

fn percent(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(percent) if (0.01..100.0).contains(&percent) => Ok(percent),
        _ => Err("expected percent, from 0.01 to 100".to_owned()),
    }
}

fn delay(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(us) if (0.0..=1e7).contains(&us) => Ok(us),
        _ => Err("expected microseconds, up to 10000000".to_owned()),
    }
}

pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.001..=1e5).contains(&seconds) => Ok(seconds),
        _ => Err("expected seconds, from 0.001 to 100000".to_owned()),
    }
}

impl Options {
    fn method(&self) -> Method {
        let mut method = Method {
            seconds: self.seconds,
            reduction: self.reduction,
            figure: self.figure,
            element: self.element,
            tolerance_ns: (self.tolerance * 1e3).round() as i64,
            ..Method::default()
        };
        if self.operation.is_empty() && self.pattern.is_empty() {
            method.refinement = plan::default_rule(self.thorough.is_asked);
        }
        method.precision.relative = self.precision / 100.0;
        method.precision.error = self.error;
        method.precision.most = self.repetitions as usize;
        method
    }

    /// What the options say, for a job of so many processes.
    fn parts(&self, limits: Limits<'_>) -> Vec<Part> {
        let starts = if self.compare_schemes {
            StartScheme::ALL.to_vec()
        } else {
            self.start.clone()
        };
        if self.operation.is_empty() && self.pattern.is_empty() {
            return plan::default_parts(limits, &starts);
        }
        let of_patterns = Operation::all().filter(|operation| {
            self.pattern.contains(&operation.pattern()) && call::is_available(*operation)
        });
        let mut operations = self.operation.clone();
        for name in of_patterns.map(Operation::name) {
            if !operations.contains(&name) {
                operations.push(name);
            }
        }
        let given = |list: &[usize]| list.iter().copied().map(Given::by_option).collect();
        vec![Part {
            operations: operations.into_iter().map(Given::by_option).collect(),
            lengths: Given::by_option(self.bytes.clone()),
            processes: match &self.processes {
                Some(Counts::List(list)) => given(list),
                _ => Vec::new(),
            },
            process_range: match self.processes {
                Some(Counts::Range(least, greatest)) => Some(Given::by_option((least, greatest))),
                _ => None,
            },
            hosts: given(&self.hosts),
            roots: given(&self.root),
            pieces: given(&self.pieces),
            starts,
            arrivals: self.arrivals.clone().map(|pattern| {
                Given::by_option(Arrivals {
                    pattern,
                    delay_ns: (self.delay * 1e3).round() as i64,
                })
            }),
            algorithms: None,
        }]
    }
}

/// Measures, or merges results, and writes the result, in process 0.
///
/// # Errors
/// States what is wrong with the plan, or which file could not be read or written.
pub fn run(options: &Options, output: &mut impl Write) -> anyhow::Result<()> {
    if options.list {
        for operation in Operation::all() {
            writeln!(output, "{}", operation.name())?;
        }
        return Ok(());
    }
    if !options.compare.is_empty() {
        let all = merge::read(&options.compare)?;
        let comparison = Comparison::of(&options.compare, &all);
        return match options.format {
            Format::Json => write_json(&comparison, output),
            Format::Text => Ok(comparison.write(output)?),
            Format::Csv => anyhow::bail!("--compare prints text or json, not csv"),
        };
    }
    let results = if options.merge.is_empty() {
        run::measure(options)?
    } else {
        if let Some(folder) = &options.output {
            ensure_kept(&options.merge, folder)?;
        }
        Some((merged(&options.merge)?, options.output.clone()))
    };
    let Some((mut results, folder)) = results else {
        return Ok(());
    };
    judge(&mut results);
    if let Some(folder) = &folder {
        crate::folder::make(folder)?;
        write_files(&results, folder)?;
    }
    match options.format {
        Format::Text => table::write(&results, output)?,
        Format::Csv => output.write_all(table::csv(&results).as_bytes())?,
        Format::Json => write_json(&results, output)?,
    }
    Ok(())
}

/// The medians of the points of several results.
///
/// # Errors
/// Names the file that cannot be read, or that measured something else.
pub(crate) fn merged(files: &[PathBuf]) -> anyhow::Result<Results> {
    let mut results = merge::of_files(files)?;
    judge(&mut results);
    Ok(results)
}

/// Adds what follows from the points.
fn judge(results: &mut Results) {
    results.guidelines = guidelines::violations(results);
    results.selection = selection::of(results);
}

/// Number of points in the journal of a run; 0 if it cannot be read.
pub(crate) fn points_in_journal(path: &Path) -> usize {
    journal::n_points(&std::fs::read_to_string(path).unwrap_or_default())
}

/// Writes where and how results were measured, and which starts were given up.
pub(crate) fn write_run(results: &Results, output: &mut impl Write) -> std::io::Result<()> {
    table::write_run("Collective operations", &results.run, output)?;
    table::write_given_up(results, output)
}

/// Writes all files of a result into a directory: documents, tables, the page and pictures.
///
/// # Errors
/// Names the file.
pub(crate) fn write_files(results: &Results, folder: &Path) -> anyhow::Result<()> {
    let write = |name: &str, content: &[u8]| crate::folder::write_file(folder, name, content);
    write("collective.csv", table::csv(results).as_bytes())?;
    let samples = table::samples_csv(results);
    if !samples.is_empty() {
        write("samples.csv", samples.as_bytes())?;
    }
    let mut sheets = Vec::new();
    Sheets::of(results).write(&mut sheets)?;
    write("sheet.txt", &sheets)?;
    let alone = Named {
        name: String::new(),
        results,
    };
    write_page(&[alone], folder)?;
    for (name, curves) in pictures::of_results(results) {
        crate::folder::write(folder, &name, &Picture::from(curves))?;
    }
    // Last: where it is, the run has ended, and nothing is missing.
    let mut json = Vec::new();
    write_json(results, &mut json)?;
    write(keep::DOCUMENT, &json)
}

/// Results of two processes on two hosts, with two points that take this long and four times as
/// long.
#[cfg(test)]
pub(crate) fn example_results(date: &str, time_ns: f64) -> Results {
    use surroundings::{Place, Surroundings};
    let point = |bytes, time| Point::example("MPI_Bcast", bytes, Some(time));
    let mut results = Results::example(vec![point(8, time_ns), point(4_096, 4.0 * time_ns)]);
    let place = |host: &str, mhz| Place {
        host: host.to_owned(),
        cores: Some("0-3".to_owned()),
        core: Some(1),
        core_mhz: [Some(mhz), None],
    };
    results.run.surroundings = Surroundings {
        date: Some(date.to_owned()),
        user: Some("alice".to_owned()),
        network: vec!["eth0, 10000 Mb/s".to_owned()],
        placement: vec![place("a", 2_100.0), place("b", 3_000.0)],
    };
    results
}
