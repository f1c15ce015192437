//! The command `collbench-tune`: explains and checks rule files of MPI libraries.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use collbench_analyzer::{Analysis, RunFiles, analyze};
use collbench_files::guard_mappings;
use collbench_text::{inert, man};
use collbench_tune::open_mpi::{
    ClassicFile, Library, Parameters, Settings, Version, check, explain, unused,
};
use collbench_tune::{CallClass, Report, calls_of};

/// Exit status: the command line is invalid.
const USAGE: u8 = 2;

/// A rule file is not larger than that.
const MAX_FILE_BYTES: u64 = 16 << 20;

const AFTER_HELP: &str = "\
Examples:
  collbench-tune rules rules.txt trace
      say which line decides each call of a recorded run, and what is wrong with the file
  collbench-tune rules rules.txt --library \"Open MPI 5.0.11\"
      check a file for a version, without a trace

Exit status: 0 nothing wrong; 1 the file has problems or cannot be read; 2 usage.";

/// Says what a rule file of an MPI library does to the collectives of a program.
#[derive(Debug, Parser)]
#[command(
    name = "collbench-tune",
    version,
    after_help = AFTER_HELP,
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true
)]
struct Options {
    /// Print a completion script for this shell and exit
    #[arg(long, value_name = "SHELL", exclusive = true)]
    completions: Option<clap_complete::Shell>,

    /// Print the man page and exit
    #[arg(long, exclusive = true)]
    man: bool,

    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Explain and check a rule file
    Rules(Rules),
}

#[derive(Debug, clap::Args)]
struct Rules {
    /// A rule file, and a trace whose calls it is explained for
    #[arg(value_name = "FILE|TRACE", required = true, num_args = 1..=2)]
    paths: Vec<PathBuf>,

    /// The library that reads the file, such as "Open MPI 5.0.11" [default: that of the trace]
    #[arg(long, value_name = "NAME")]
    library: Option<String>,

    /// Size of the elements of the program's data, where it is decisive
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..))]
    element: Option<u64>,

    /// What to print to stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Rows of text
    Text,
    /// One JSON document for scripts
    Json,
}

/// An invalid command line.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Usage(String);

fn main() -> ExitCode {
    guard_mappings();
    match run(&Options::parse()) {
        Ok(status) => status,
        Err(error) => {
            anstream::eprintln!("collbench-tune: {error:#}");
            if error.is::<Usage>() {
                ExitCode::from(USAGE)
            } else {
                ExitCode::FAILURE
            }
        }
    }
}

fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let command = &mut Options::command();
    if let Some(shell) = options.completions {
        let mut script = Vec::new();
        clap_complete::generate(shell, command, "collbench-tune", &mut script);
        print(&script)?;
        return Ok(ExitCode::SUCCESS);
    }
    match &options.action {
        Some(Action::Rules(options)) => rules(options),
        None => {
            print(man_pages(command.clone())?.as_bytes())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// The page of the command, followed by those of what it does.
fn man_pages(mut command: clap::Command) -> io::Result<String> {
    command.build();
    let parts: Vec<clap::Command> = command
        .get_subcommands()
        .filter(|part| part.get_name() != "help")
        .cloned()
        .collect();
    let mut pages = String::new();
    for mut command in std::iter::once(command).chain(parts) {
        let usage = command.render_usage().to_string();
        pages += &man::page(&usage, |page| clap_mangen::Man::new(command).render(page))?;
    }
    Ok(pages)
}

/// A recorded run.
struct Recorded {
    analysis: Analysis,
    calls: Vec<CallClass>,
    parameters: Parameters,
}

impl Recorded {
    fn read(path: &Path) -> anyhow::Result<Self> {
        let files = RunFiles::open(path)?;
        let options = collbench_analyzer::Options::default();
        let analysis = analyze(&files, &options, &mut |_| {})?;
        let command = &analysis.trace.command;
        let parameters = Parameters::of_run(command, files.environment(), &[]);
        let calls = calls_of(&analysis);
        Ok(Self {
            analysis,
            calls,
            parameters,
        })
    }
}

fn rules(options: &Rules) -> anyhow::Result<ExitCode> {
    let path = &options.paths[0];
    let text = read(path)?;
    let recorded = options.paths.get(1);
    let recorded = recorded.map(|path| Recorded::read(path)).transpose()?;
    let library = library(options, recorded.as_ref())?;
    let file = ClassicFile::read(&text, library);
    let settings = recorded.as_ref().map_or_else(Settings::default, |run| {
        let mut settings = run.parameters.settings(library);
        settings.ignores_rules =
            run.parameters.rule_file().is_some() && !run.parameters.uses_rules();
        settings
    });
    let calls = recorded.as_ref().map(|run| {
        let classes = run.calls.iter();
        let parts =
            classes.flat_map(|class| explain(&file, library, &settings, class, options.element));
        parts.collect::<Vec<_>>()
    });
    let mut problems = check(&text, &file, library);
    if let Some(calls) = &calls {
        problems.extend(unused(&file, library, calls));
        problems.sort();
    }
    let notes = recorded
        .as_ref()
        .map_or_else(Vec::new, |run| notes(&run.parameters, path));
    let report = Report {
        file: inert::path(path),
        format: "rules of coll_tuned",
        library: library.version.to_string(),
        ignored: file
            .dropped
            .as_ref()
            .map(|dropped| (dropped.at, dropped.why.clone())),
        notes,
        problems,
        calls,
    };
    let text = match options.format {
        Format::Text => report.to_text(),
        Format::Json => report.to_json(),
    };
    print(text.as_bytes())?;
    Ok(if report.problems.is_empty() && report.ignored.is_none() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// What the run did with rule files.
fn notes(parameters: &Parameters, path: &Path) -> Vec<String> {
    let Some(named) = parameters.rule_file() else {
        return vec![
            "the recorded run named no rule file: what ran is what the library chose, what follows is \
             what it would do with this file"
                .to_owned(),
        ];
    };
    let mut notes = Vec::new();
    if Path::new(named).file_name() != path.file_name() {
        notes.push(format!("the recorded run named another rule file, {named}"));
    }
    if !parameters.uses_rules() {
        notes.push(
            "the recorded run did not set coll_tuned_use_dynamic_rules to 1: it read no rule file"
                .to_owned(),
        );
    }
    notes
}

/// The library that was asked for, else that of the trace.
fn library(options: &Rules, recorded: Option<&Recorded>) -> anyhow::Result<Library> {
    let Some(name) = &options.library else {
        let Some(run) = recorded else {
            let what = "which library reads the file is not known; add --library \"Open MPI 5.0.11\", or a trace";
            return Err(Usage(what.to_owned()).into());
        };
        let name = &run.analysis.trace.mpi_library;
        let Some(library) = Version::find(name).and_then(Library::of) else {
            let shown = inert::line(name, 60);
            bail!("the trace is of \"{shown}\"; expected Open MPI 4.1 or 5.0, or --library");
        };
        return Ok(library);
    };
    let Some(library) = Version::find(name).and_then(Library::of) else {
        let shown = inert::line(name, 60);
        return Err(Usage(format!(
            "--library \"{shown}\"; expected \"Open MPI 4.1.4\", \"Open MPI 5.0.11\" or the like"
        ))
        .into());
    };
    Ok(library)
}

/// The bytes of a rule file.
fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let shown = || inert::path(path);
    let file = File::open(path).with_context(shown)?;
    let mut bytes = Vec::new();
    let n = file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes);
    if n.with_context(shown)? as u64 > MAX_FILE_BYTES {
        bail!(
            "{} is larger than 16 MiB, which no rule file is; expected a rule file",
            shown()
        );
    }
    Ok(bytes)
}

/// Prints to stdout; a closed pipe is not an error.
fn print(bytes: &[u8]) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("stdout"),
    }
}
