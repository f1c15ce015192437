//! The command `collbench-tune`: explains, checks and writes rule files of MPI libraries, predicts what
//! other algorithms would have taken, and runs programs with them.

mod predict;
mod run;
mod search;
mod write;

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Parser, Subcommand, ValueEnum};
use collbench_analyzer::{Analysis, RunFiles, analyze};
use collbench_command::Installation;
use collbench_files::guard_mappings;
use collbench_text::inert;
use collbench_text::output::print;
use collbench_tune::mpich::{self, Kind, OtherFiles};
use collbench_tune::open_mpi::{Library, Parameters, Settings, Version};
use collbench_tune::{CallClass, Differences, Report, RuleFile, calls_of, format_of};

/// Exit status: the command line is invalid.
const USAGE: u8 = 2;

/// A rule file is not larger than that, MiB.
const MAX_RULES_MIB: u64 = 1;

const AFTER_HELP: &str = "\
Examples:
  collbench-tune trace
      find faster algorithms and trees for the calls of a recorded run, without running anything
  collbench-tune trace --write trees -o trees.toml
      write the trees to a file for collbench-record --trees
  collbench-tune rules rules.txt trace
      say which line decides each call of a recorded run, and what is wrong with the file
  collbench-tune rules rules.txt --library \"Open MPI 5.0.11\"
      check a file for a version, without a trace
  collbench-tune rules old.txt new.txt trace
      say which calls of a run another file decides differently
  collbench-tune rules collective.json --write openmpi -o rules.txt --library \"Open MPI 5.0.11\"
      write a file of the fastest algorithms that collbench-bench has found
  collbench-tune rules collective.json --write openmpi-han -o han.txt --library \"Open MPI 5.0.11\"
      write a file that lets these count on several hosts, too
  collbench-tune rules collective.json --write trees -o trees.toml
      write the trees that were the fastest, and trees of the shape of an algorithm
  collbench-tune rules selection.json trace --base /usr/lib/x86_64-linux-gnu/libmpich.so.12
      the same of MPICH, with the other files from its library
  collbench-tune predict trace
      say what each algorithm of the library would have taken in a recorded run
  collbench-tune predict trace --trees best --trees trees.toml
      say it of the spanning trees of tree files, too
  collbench-tune score predicted.json trace2 trace3
      say how right that was, from runs with other algorithms
  collbench-tune run -- mpirun -n 64 ./app
      measure whether the program becomes faster with what is predicted to be
  collbench-tune run --trees trees.toml --seconds 600 -- mpirun -n 64 ./app
      with these trees, too, in at most ten minutes

Exit status: 0 nothing wrong; 1 the file has problems or cannot be read; 2 usage.";

/// Finds faster algorithms and trees for the collectives of a recorded run, and says what a rule file of an MPI library
/// does to them.
#[derive(Debug, Parser)]
#[command(
    name = "collbench-tune",
    version, long_version = collbench_version::details(),
    after_help = AFTER_HELP,
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true
)]
struct Options {
    #[command(flatten)]
    installation: Installation,

    #[command(flatten)]
    search: search::Options,

    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Explain and check a rule file
    Rules(Rules),
    /// Predict what other algorithms of the library would have taken in a recorded run
    Predict(predict::Predict),
    /// Compare predictions with runs that were recorded afterwards
    Score(predict::Score),
    /// Run a program with what is predicted to be faster, and without it, in turns
    Run(run::Run),
}

#[derive(Debug, clap::Args)]
struct Rules {
    /// A rule file, or an old and a new one; and a trace whose calls they decide
    #[arg(value_name = "FILE", required = true, num_args = 1..=3)]
    paths: Vec<PathBuf>,

    /// The library that reads the file, such as "Open MPI 5.0.11" [default: that of the trace]; twice:
    /// the old and the new one
    #[arg(long, value_name = "NAME")]
    library: Vec<String>,

    /// Size of the elements of the program's data, where it is decisive
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..))]
    element: Option<u64>,

    /// What to print to stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Write a rule file instead; FILE has choices: collective.json of collbench-bench collective
    /// --algorithms or --merge
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with_all = ["format", "element"])]
    write: Option<Written>,

    /// MPICH: the library, from which files are taken that the run does not name, or its file of
    /// algorithms [default: libmpich.so.12 where the linker finds it]
    #[arg(long, value_name = "FILE")]
    base: Option<PathBuf>,

    /// Write a format that no library at hand could be run with
    #[arg(long, requires = "write")]
    untested: bool,

    /// File to write [default: stdout]
    #[arg(short, long, value_name = "FILE", requires = "write")]
    output: Option<PathBuf>,

    /// Replace the file if it is there
    #[arg(long, requires = "output")]
    force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Written {
    /// Rules of Open MPI's coll_tuned, in numbers: for 4.1 and 5.0
    Openmpi,
    /// Rules of Open MPI's coll_tuned in JSON, for 6.0: needs --untested
    OpenmpiJson,
    /// Rules of Open MPI's coll_han, for 5.0, which hands calls over to coll_tuned on several hosts
    OpenmpiHan,
    /// Variables of MPICH, or a copy of its own file of algorithms with the choices in it
    Mpich,
    /// Trees of our own, for collbench-record --trees: those that were measured, and those of the shape of
    /// an algorithm
    Trees,
    /// The variable of UCC, for Open MPI's coll_ucc: needs --untested
    Ucc,
    /// The variables of Intel MPI: needs --untested
    Intel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Rows of text
    Text,
    /// One JSON document for scripts
    Json,
}

impl Format {
    /// Prints the text or the document.
    fn print(self, text: impl FnOnce() -> String, json: impl FnOnce() -> String) -> io::Result<()> {
        let printed = match self {
            Self::Text => text(),
            Self::Json => json(),
        };
        print(printed.as_bytes())
    }
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
    if let Some(text) = options.installation.asked_for::<Options>()? {
        print(&text)?;
        return Ok(ExitCode::SUCCESS);
    }
    match &options.action {
        Some(Action::Rules(options)) => rules(options),
        Some(Action::Predict(options)) => predict::run(options),
        Some(Action::Score(options)) => predict::compare(options),
        Some(Action::Run(options)) => run::run(options),
        None => search::run(&options.search),
    }
}

/// A recorded run.
struct Recorded {
    analysis: Analysis,
    calls: Vec<CallClass>,
    parameters: Parameters,
    of_mpich: mpich::Settings,
}

impl Recorded {
    fn read(path: &Path) -> anyhow::Result<Self> {
        let files = RunFiles::open(path)?;
        let options = collbench_analyzer::Options::default();
        let analysis = analyze(&files, &options, &mut |_| {})?;
        let command = &analysis.trace.command;
        let parameters = Parameters::of_run(command, files.environment(), &parameter_files());
        let given = command.windows(3).filter_map(|words| {
            let is_option = matches!(&*words[0], "-env" | "-genv" | "--env" | "--genv");
            is_option.then(|| (words[1].clone(), words[2].clone()))
        });
        let environment = files.environment().clone().into_iter().chain(given);
        let of_mpich = mpich::Settings::of(environment);
        let calls = calls_of(&analysis);
        Ok(Self {
            analysis,
            calls,
            parameters,
            of_mpich,
        })
    }
}

impl Recorded {
    /// What the run did with rule files.
    fn notes(&self, file: &RuleFile, path: &Path) -> Vec<String> {
        if file.is_of_han() {
            return notes_of_han(&self.parameters, path);
        }
        if !file.is_of_mpich() {
            return notes_of_open_mpi(&self.parameters, path);
        }
        let kinds = [Kind::Mpir, Kind::Ch4, Kind::Posix];
        if kinds.iter().any(|kind| self.of_mpich.file(*kind).is_some()) {
            return Vec::new();
        }
        vec![NAMED_NONE.to_owned()]
    }
}

/// What follows from a run without rule file.
const NAMED_NONE: &str = "the recorded run named no rule file: what ran is what the library chose, what follows is what it \
                          would do with this file";

/// Files of parameters of this machine, which the run may have read: names and texts.
fn parameter_files() -> Vec<(String, String)> {
    let of_home = std::env::var_os("HOME").map(|home| {
        let home = PathBuf::from(home);
        home.join(".openmpi/mca-params.conf")
    });
    let of_all = PathBuf::from("/etc/openmpi/openmpi-mca-params.conf");
    let files = of_home.into_iter().chain([of_all]);
    let read = files.filter_map(|path| Some((inert::path(&path), fs::read_to_string(&path).ok()?)));
    read.collect()
}

fn rules(options: &Rules) -> anyhow::Result<ExitCode> {
    let usage = |what: &str| Err(Usage(what.to_owned()).into());
    let (files, traces): (Vec<_>, Vec<_>) = options.paths.iter().partition(|path| !path.is_dir());
    if options.library.len() > 2 {
        return usage("--library more than twice; expected one library, or an old and a new one");
    }
    let recorded = match &traces[..] {
        [] => None,
        [trace] => Some(Recorded::read(trace)?),
        _ => return usage("two directories; expected one trace"),
    };
    if let Some(format) = options.write {
        return match (&files[..], &options.library[..]) {
            ([choices], [] | [_]) => write::write(options, format, choices, recorded.as_ref()),
            _ => usage("--write takes one file of choices and one library"),
        };
    }
    match (&files[..], &options.library[..]) {
        ([file], [] | [_]) => explain(options, file, recorded.as_ref()),
        ([file], [old, new]) => {
            let Some(recorded) = &recorded else {
                return usage("a trace is missing: what changes is told of the calls of a run");
            };
            differences(options, recorded, (file, Some(old)), (file, Some(new)))
        }
        ([old, new], libraries) => {
            let Some(recorded) = &recorded else {
                return usage("a trace is missing: what changes is told of the calls of a run");
            };
            let first = libraries.first();
            let last = libraries.last();
            differences(options, recorded, (old, first), (new, last))
        }
        ([], _) => usage("a rule file is missing: only a trace was given"),
        _ => usage("three files; expected at most an old and a new one, and a trace"),
    }
}

fn explain(options: &Rules, path: &Path, recorded: Option<&Recorded>) -> anyhow::Result<ExitCode> {
    let (file, mut notes) = rule_file(options, path, options.library.first(), recorded)?;
    notes.extend(recorded.map_or_else(Vec::new, |run| run.notes(&file, path)));
    let calls = recorded.map(|run| -> Vec<_> {
        let classes = run.calls.iter();
        classes.flat_map(|class| file.explain(class)).collect()
    });
    let mut problems = file.problems();
    if let Some(calls) = &calls {
        problems.extend(file.unused(calls));
        problems.sort();
    }
    let report = Report {
        file: inert::path(path),
        format: file.format(),
        library: file.library(),
        ignored: file.ignored(),
        notes,
        problems,
        calls,
    };
    (options.format).print(|| report.to_text(), || report.to_json())?;
    Ok(if report.problems.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// What changes from one file, or library, to another.
fn differences(
    options: &Rules,
    recorded: &Recorded,
    (old_path, old_library): (&Path, Option<&String>),
    (new_path, new_library): (&Path, Option<&String>),
) -> anyhow::Result<ExitCode> {
    let (old, _) = rule_file(options, old_path, old_library, Some(recorded))?;
    let (new, _) = rule_file(options, new_path, new_library, Some(recorded))?;
    let classes = recorded.calls.iter();
    let changes = classes.clone().flat_map(|class| old.changes(&new, class));
    let differences = Differences {
        old: (inert::path(old_path), old.library()),
        new: (inert::path(new_path), new.library()),
        calls: classes.map(|class| class.calls).sum(),
        changes: changes.collect(),
    };
    (options.format).print(|| differences.to_text(), || differences.to_json())?;
    Ok(ExitCode::SUCCESS)
}

/// Reads a rule file, as the library of this name reads it, else that of the trace; with it, what is to be known of it.
fn rule_file(
    options: &Rules,
    path: &Path,
    library_name: Option<&String>,
    recorded: Option<&Recorded>,
) -> anyhow::Result<(RuleFile, Vec<String>)> {
    let text = read(path, "rule file", MAX_RULES_MIB)?;
    if format_of(&text) == Ok(collbench_tune::Format::Mpich) {
        let (version, number) = version_of_mpich(library_name, recorded)?;
        let settings = recorded.map_or_else(mpich::Settings::default, |run| run.of_mpich.clone());
        let base = base_of_mpich(options)?;
        let from = base.as_ref().map(|(_, path)| {
            format!(
                "files that the run does not name are those of {}",
                inert::path(path)
            )
        });
        let mut others = base.map_or_else(OtherFiles::default, |(others, _)| others);
        for (kind, other) in [(Kind::Mpir, &mut others.mpir), (Kind::Ch4, &mut others.ch4)] {
            if let Some(named) = settings.file(kind) {
                *other = read(Path::new(named), "rule file", MAX_RULES_MIB).ok();
            }
        }
        let library = (version, &*number);
        let file = RuleFile::of_mpich(&text, library, settings, &others, options.element);
        let file = file.with_context(|| inert::path(path))?;
        let notes = file.notes().into_iter().chain(from).collect();
        return Ok((file, notes));
    }
    let library = library(library_name, recorded)?;
    let settings = recorded.map_or_else(Settings::default, |run| {
        let mut settings = run.parameters.settings(library);
        settings.ignores_rules =
            run.parameters.rule_file().is_some() && !run.parameters.uses_rules();
        settings
    });
    let file = RuleFile::of_open_mpi(text, library, settings, options.element);
    let file = file.with_context(|| inert::path(path))?;
    let notes = file.notes();
    Ok((file, notes))
}

/// The model of MPICH that was asked for, else that of the trace, and its version.
fn version_of_mpich(
    name: Option<&String>,
    recorded: Option<&Recorded>,
) -> anyhow::Result<(&'static mpich::Version, String)> {
    const EXPECTED: &str =
        "MPICH 4.0 or 5.0 reads selections in JSON; add --library \"MPICH 4.0.2\" or the like";
    let name = name.or_else(|| recorded.map(|run| &run.analysis.trace.mpi_library));
    let Some(name) = name else {
        return Err(Usage(format!(
            "which library reads the file is not known: {EXPECTED}"
        ))
        .into());
    };
    mpich::Version::find(name).ok_or_else(|| {
        let shown = inert::line(name, 60);
        Usage(format!("the library is \"{shown}\": {EXPECTED}")).into()
    })
}

/// The files that are compiled into MPICH's library, or the file of algorithms that was given, and from where; `None` where
/// neither was given nor found.
fn base_of_mpich(options: &Rules) -> anyhow::Result<Option<(OtherFiles, PathBuf)>> {
    if let Some(path) = &options.base {
        let shown = || inert::path(path);
        let bytes = fs::read(path).with_context(shown)?;
        let others = if mpich::is_selection(&bytes) {
            OtherFiles {
                mpir: Some(bytes),
                ch4: None,
            }
        } else {
            OtherFiles::compiled_in(&bytes)
        };
        if others.mpir.is_none() {
            bail!(
                "{}: no selections of MPICH are in it; expected its library, or a file",
                shown()
            );
        }
        return Ok(Some((others, path.clone())));
    }
    let given = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let usual = [
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib64/mpich/lib",
        "/usr/local/lib",
        "/usr/lib",
    ];
    let folders = std::env::split_paths(&given).chain(usual.map(PathBuf::from));
    let found = folders.into_iter().find_map(|folder| {
        let path = folder.join("libmpich.so.12");
        let others = OtherFiles::compiled_in(&fs::read(&path).ok()?);
        others.mpir.is_some().then_some((others, path))
    });
    Ok(found)
}

/// What the run did with rule files of Open MPI's `coll_han`.
fn notes_of_han(parameters: &Parameters, path: &Path) -> Vec<String> {
    let Some(named) = parameters.han_rule_file() else {
        return vec![NAMED_NONE.to_owned()];
    };
    let mut notes = vec![format!("the recorded run named {named}")];
    if Path::new(named).file_name() != path.file_name() {
        notes.push("this is another file".to_owned());
    }
    if !parameters.uses_han_rules() {
        notes.push(
            "the recorded run did not set coll_han_use_dynamic_file_rules to 1: it read no such file"
                .to_owned(),
        );
    }
    notes
}

/// What the run did with rule files of Open MPI.
fn notes_of_open_mpi(parameters: &Parameters, path: &Path) -> Vec<String> {
    let Some(named) = parameters.rule_file() else {
        return vec![NAMED_NONE.to_owned()];
    };
    let mut notes = Vec::new();
    if let Some(from) = parameters.from("coll_tuned_dynamic_rules_filename") {
        notes.push(format!("the recorded run named {named}, by {from}"));
    }
    if Path::new(named).file_name() != path.file_name() {
        notes.push("this is another file".to_owned());
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
fn library(name: Option<&String>, recorded: Option<&Recorded>) -> anyhow::Result<Library> {
    let Some(name) = name else {
        let Some(run) = recorded else {
            let what = "which library reads the file is not known; add --library \"Open MPI 5.0.11\", or a trace";
            return Err(Usage(what.to_owned()).into());
        };
        let name = &run.analysis.trace.mpi_library;
        let Some(library) = Version::find(name).and_then(Library::of) else {
            let shown = inert::line(name, 60);
            bail!("the trace is of \"{shown}\"; expected Open MPI 4.1, 5.0 or 6.0, or --library");
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

/// The bytes of a file of a kind, which is not larger than so many MiB.
fn read(path: &Path, kind: &str, most_mib: u64) -> anyhow::Result<Vec<u8>> {
    let shown = || inert::path(path);
    let file = File::open(path).with_context(shown)?;
    let mut bytes = Vec::new();
    let most_bytes = most_mib << 20;
    let n = file.take(most_bytes + 1).read_to_end(&mut bytes);
    if n.with_context(shown)? as u64 > most_bytes {
        bail!(
            "{} is larger than {most_mib} MiB, which no {kind} is",
            shown()
        );
    }
    Ok(bytes)
}
