//! `collbench-tune TRACE`: searches faster algorithms and trees.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::ValueEnum;
use collbench_analyzer::RunFiles;
use collbench_text::inert;
use collbench_text::output::{print, write_file};
use collbench_tune::open_mpi::{self, Library, Version};
use collbench_tune::predict::{Found, Given, Recorded, Results, Search, search};

use crate::predict::{Measured, links, read_memory, tree_files};
use crate::{Format, Usage};

#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct Options {
    /// The directory of a recorded run, with messages
    #[arg(value_name = "TRACE", required_unless_present_any = ["man", "completions"])]
    trace: Option<PathBuf>,

    #[command(flatten)]
    measured: Measured,

    /// Begin with the trees of this tree file, too; may be given several times
    #[arg(long, value_name = "FILE")]
    trees: Vec<PathBuf>,

    /// The time to search, at most
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,

    /// Another number gives other random steps; the same one the same result, unless --seconds cuts the search off
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Which results floating-point sums and products may have
    #[arg(long, value_enum, default_value_t = Bits::Reproducible)]
    results: Bits,

    /// What to print to stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Write what is proposed as a file instead
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with = "format")]
    write: Option<Written>,

    /// File to write [default: stdout]
    #[arg(short, long, value_name = "FILE", requires = "write")]
    output: Option<PathBuf>,

    /// Replace the file if it is there
    #[arg(long, requires = "output")]
    force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Bits {
    /// The last digits may differ from those of the recorded run, but not between ranks or from run to run
    Reproducible,
    /// Results are equal to those of the recorded run, to the last bit
    Same,
    /// The last digits may differ between ranks and from run to run
    Any,
}

impl From<Bits> for Results {
    fn from(bits: Bits) -> Self {
        match bits {
            Bits::Reproducible => Self::Reproducible,
            Bits::Same => Self::Same,
            Bits::Any => Self::Any,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Written {
    /// The trees, for collbench-record --trees
    Trees,
    /// The algorithms, as rules of Open MPI's coll_tuned
    Openmpi,
    /// The algorithms, as rules of Open MPI's coll_han, for 5.0
    OpenmpiHan,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let Some(trace) = &options.trace else {
        return Err(Usage("a trace is missing".to_owned()).into());
    };
    let tree_files = tree_files(&options.trees)?;
    let files = RunFiles::open(trace)?;
    let (links, _) = links(options.measured.links.as_deref())?;
    let (over_trees, _) = read_memory(&options.measured.memory)?;
    let recorded = Recorded::read(&files, &mut |_| {})?;
    let given = Given {
        links,
        tree_files,
        over_trees,
    };
    let settings = Search {
        seed: options.seed,
        time: Some(Duration::from_secs(options.seconds)),
        results: options.results.into(),
        ..Search::default()
    };
    let found = search(&recorded, &given, settings)?;
    if let Some(format) = options.write {
        return write(options, format, &found);
    }
    let trace = inert::path(trace);
    (options.format).print(
        || found.to_text(&command(&trace, options)),
        || found.to_json((&trace, files.checksum()), settings),
    )?;
    Ok(ExitCode::SUCCESS)
}

/// The command that finds the same again.
fn command(trace: &str, options: &Options) -> String {
    let mut command = format!("collbench-tune {trace}");
    let mut add = |option: &str, value: &str| command += &format!(" --{option} {value}");
    if let Some(links) = &options.measured.links {
        add("links", &inert::path(links));
    }
    for path in &options.trees {
        add("trees", &inert::path(path));
    }
    for path in &options.measured.memory {
        add("memory", &inert::path(path));
    }
    if options.results != Bits::Reproducible
        && let Some(results) = options.results.to_possible_value()
    {
        add("results", results.get_name());
    }
    if options.seed != 1 {
        add("seed", &options.seed.to_string());
    }
    command
}

fn write(options: &Options, format: Written, found: &Found<'_>) -> anyhow::Result<ExitCode> {
    let output = options.output.as_deref();
    let name = |default: &str| output.map_or_else(|| default.to_owned(), inert::path);
    let (text, commands) = match format {
        Written::Trees => {
            let name = name("trees.toml");
            let commands = vec![format!(
                "collbench-record --trees {name} --no-trace -- mpirun -n N ./app"
            )];
            let text = found.to_tree_file(&commands);
            (
                text.context("no tree is proposed for any call of the run")?,
                commands,
            )
        }
        Written::Openmpi | Written::OpenmpiHan => {
            let version = &found.recorded.library;
            let library = Version::find(version).and_then(Library::of);
            let Some(library) = library else {
                bail!(
                    "the trace is of \"{}\"; rules of Open MPI are for runs of Open MPI",
                    inert::line(version, 60)
                );
            };
            let choices = found.choices();
            if choices.is_empty() {
                bail!("no algorithm is proposed for any call of the run");
            }
            let written = if format == Written::OpenmpiHan {
                open_mpi::han::write(&choices, library, &name("han.txt"))
            } else {
                open_mpi::write(&choices, library, &name("rules.txt"))
            };
            for sentence in &written.left_out {
                anstream::eprintln!("collbench-tune: left out: {}", inert::line(sentence, 200));
            }
            if written.text.is_empty() {
                bail!("nothing of what is proposed can be written in this format");
            }
            (written.text, written.commands)
        }
    };
    put(output, &text, &commands, options.force)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a text to a file, or prints it, and says what uses it.
fn put(output: Option<&Path>, text: &str, commands: &[String], force: bool) -> anyhow::Result<()> {
    let commands = commands.join("\n    ");
    match output {
        None => print(text.as_bytes())?,
        Some(output) => {
            write_file(output, text, force)?;
            print(format!("{}: use it by\n    {commands}\n", inert::path(output)).as_bytes())?;
        }
    }
    Ok(())
}
