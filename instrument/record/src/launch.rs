//! The command collbench-record: preloads the library into a program, and reports afterwards what
//! was recorded.

mod loader;
mod not_preloadable;
mod process;
mod program;
mod relay;
mod run;
mod summary;
mod trees;

pub use process::look_at_sigpipe;

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Parser;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use collbench_command::Installation;
use collbench_files::guard_mappings;
use collbench_formats::Layer;
use collbench_formats::tree::{Policy, TreeRules};
use collbench_instrument::{
    Clock, ExchangeSettings, Form, LauncherRank, Layers, Settings, clock_of_name, directory,
    environment_of, is_launcher,
};
use collbench_text::output::print;
use collbench_text::quantity;
use collbench_version::{Mismatch, VERSION, mismatch, version_of_library};

use crate::compact::compact_recorded;
use crate::interrupt::Interrupted;
use loader::{ASAN_OPTIONS, PRELOAD, asan_options, with_preload};
use not_preloadable::refuse_other_libc;
use process::Ended;
use program::find_program;
use relay::{AGENTS, relay_agent};
use run::RunDocument;

/// Exit status when the options make no sense.
const USAGE: u8 = 2;
/// Exit status when collbench-record itself fails.
const FAILED: u8 = 125;
/// Exit status when COMMAND was found but could not be run.
const CANNOT_RUN: u8 = 126;
/// Exit status when COMMAND was not found.
const NOT_FOUND: u8 = 127;

/// Heading of the options on what is recorded.
const CONTENT: &str = "What is recorded";
/// Heading of the options on what is run in place of the MPI library's operations.
const TREES: &str = "Spanning trees";
/// Heading of the options for the installation of the command.
const INSTALLATION: &str = "Installation";

const AFTER_HELP: &str = "\
Examples:
  collbench-record -- mpirun -n 8 ./app
      record a run into ./trace
  srun -n 8 collbench-record -o trace-1 -- ./app
      inside a launcher, into another directory
  collbench-record --layers +io -- mpirun -n 8 ./app
      record MPI-IO, too
  collbench-record --keep last:16M -- mpirun -n 8 ./app
      keep only the newest calls of a long run
  collbench-record --trees trees.toml -- mpirun -n 8 ./app
      run collectives over the trees of a file, and record them
  collbench-record --trees trees.toml --no-trace -- mpirun -n 8 ./app
      the same without recording

Exit status: that of COMMAND; 125 when recording failed, 126 when COMMAND cannot be run, 127 when \
it is not found.

Environment: COLLBENCH_PRELOAD is the path of the preloaded library if it is neither beside this \
command nor in ../lib. COLLBENCH_RANK is the rank of this process if a launcher has started it whose \
variable with the rank collbench does not know.";

/// Records the collective operations of an unmodified MPI program.
///
/// COMMAND is a launcher line (collbench-record -- mpirun -n 8 ./app), or the program itself
/// inside one (mpirun -n 8 collbench-record -- ./app). Both give the same trace.
#[derive(Debug, Parser)]
#[command(
    name = "collbench-record",
    version, long_version = collbench_version::details(),
    after_help = AFTER_HELP
)]
struct Options {
    /// Trace directory; a relative path starts at the current directory, on every host
    #[arg(short, long, value_name = "DIR", default_value = "trace")]
    output: PathBuf,
    /// Replace an existing trace (never a directory that is not a trace)
    #[arg(long)]
    force: bool,
    /// Layers to record, separated by commas: +NAME and -NAME change the default; NAMES alone are the
    /// whole list, calls included. calls (always), messages and algorithms (of the MPI library,
    /// within collectives), p2p (time in point-to-point communication), io (MPI-IO), rma (windows),
    /// sites (from where calls are made), scripts (lines of Python scripts), switches (whether threads were running), all
    /// [default: calls,messages,algorithms,p2p,sites, as far as the MPI library allows]
    #[arg(
        long, value_name = "LIST", value_delimiter = ',', value_parser = LayerWord,
        allow_hyphen_values = true, help_heading = CONTENT,
    )]
    layers: Option<Vec<String>>,
    /// Libraries that only wrap MPI: begins of their file names, such as libcomm., separated by
    /// commas. With the layer sites, a call through them is made where they were called (the bindings
    /// of MPI, Boost.MPI, PETSc, SLEPc, mpi4py and Rmpi are known)
    #[arg(long, value_name = "NAMES", help_heading = CONTENT)]
    wrappers: Option<String>,
    /// Clock for time stamps [default: tsc where it is invariant, otherwise raw]
    #[arg(
        long, value_name = "CLOCK", value_parser = ["tsc", "raw", "monotonic"],
        help_heading = CONTENT,
    )]
    clock: Option<String>,
    /// Maximum bytes per rank (k, M, G, T are powers of 1024); recording stops cleanly when they are
    /// used up
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_size: Option<u64>,

    /// Keep only the newest records, up to SIZE bytes per rank, such as last:16M; at least last:64k
    #[arg(
        long, value_name = "last:SIZE", value_parser = parse_keep, conflicts_with = "max_size"
    )]
    keep: Option<u64>,
    /// Compact the trace without loss when the run has ended, as collbench-compact does
    #[arg(long)]
    compact: bool,
    /// How hosts measure their clocks against one another: rounds, linear or off; add :SECONDS for
    /// the time between repetitions during the run (0: no repetitions)
    #[arg(
        long, value_name = "HOW", default_value = "rounds",
        value_parser = ExchangeSettings::of_word, help_heading = CONTENT,
    )]
    exchange: ExchangeSettings,
    /// Run the collectives that this tree file names over its trees; collbench-tree begins, checks
    /// and shows such files. Without a file of one's own: best, trees that were measured to be faster
    /// than the MPI library
    #[arg(long, value_name = "FILE", help_heading = TREES)]
    trees: Option<PathBuf>,
    /// Record nothing, and make no directory
    #[arg(
        long, requires = "trees", conflicts_with_all = ["force", "compact", "keep", "max_size"],
        help_heading = TREES,
    )]
    no_trace: bool,
    /// What is done where the tree file has several candidates for the same calls: best finds the best one
    /// while the program runs and uses it, log tries others and only writes down what it finds, off uses the
    /// first one; random:SEED changes all the time, for tests
    #[arg(
        long, requires = "trees", value_name = "HOW", default_value = "best", value_parser = parse_policy,
        help_heading = TREES,
    )]
    adapt: Policy,
    /// Write decisions about candidates to this file, which all hosts share; collbench-tree from-log makes a
    /// tree file of it
    #[arg(long, requires = "trees", value_name = "FILE", help_heading = TREES)]
    adapt_log: Option<PathBuf>,
    /// Begin with what an earlier run has found about the same calls and candidates: a file that it has written by
    /// --adapt-log
    #[arg(long, requires = "trees", value_name = "FILE", help_heading = TREES)]
    adapt_from: Option<PathBuf>,
    #[command(flatten, next_help_heading = INSTALLATION)]
    installation: Installation,
    /// Set by the outer form, for launchers: settings for the program that follows
    #[arg(long, hide = true, value_name = "SETTINGS")]
    relay: Option<String>,
    /// Launcher line, or the program inside one, with its arguments
    #[arg(
        value_name = "COMMAND",
        trailing_var_arg = true,
        required_unless_present_any = ["completions", "man"]
    )]
    command: Vec<OsString>,
}

/// Reads a word of the list of layers: a name, with or without a sign.
#[derive(Debug, Clone, Copy)]
struct LayerWord;

impl LayerWord {
    /// The names, and what they record.
    fn names() -> impl Iterator<Item = PossibleValue> {
        let names = Layer::ALL.map(|layer| PossibleValue::new(layer.name()).help(layer.meaning()));
        let all = PossibleValue::new(Layers::ALL).help("All of them");
        names.into_iter().chain([all])
    }
}

impl TypedValueParser for LayerWord {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        let word = value.to_string_lossy();
        let is_changed = |name: &&str| Layer::from_name(name).is_some();
        if let Some(name) = word.strip_prefix(['+', '-']).filter(is_changed) {
            return Ok(format!("{}{name}", &word[..1]));
        }
        PossibleValuesParser::new(Self::names()).parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(Self::names()))
    }
}

/// Runs the command with the arguments of this process; returns its exit status.
#[must_use]
pub fn main() -> ExitCode {
    let options = Options::parse();
    match run(options) {
        Ok(status) => status,
        Err(error) => {
            tell(&format!("{error:#}"));
            ExitCode::from(FAILED)
        }
    }
}

fn run(options: Options) -> anyhow::Result<ExitCode> {
    if let Some(text) = options.installation.asked_for::<Options>()? {
        print(&text)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(relayed) = &options.relay {
        return relay::exec(relayed, &options.command);
    }
    let layers = match options.layers.as_deref() {
        None => Layers::BY_DEFAULT,
        Some(words) => match Layers::of_list(&words.join(",")) {
            Ok(layers) => layers,
            Err(error) => {
                tell(&format!("--layers {}: {error}", words.join(",")));
                return Ok(ExitCode::from(USAGE));
            }
        },
    };
    if options.adapt_from.is_some() && matches!(options.adapt, Policy::Off | Policy::Log) {
        tell(
            "--adapt-from: with --adapt off and --adapt log the program stays with the first candidate; leave one of both out",
        );
        return Ok(ExitCode::from(USAGE));
    }
    let preload = find_preload()?;
    // What starts ranks itself is no rank: the variables that say so are left over from an outer job.
    let starts_ranks = is_launcher(&options.command[0]);
    let launcher_rank = LauncherRank::of_this_process().filter(|_| !starts_ranks);
    let settings = Settings {
        output: std::env::current_dir()
            .context("the current directory is gone; give an absolute path with -o")?
            .join(&options.output),
        form: if launcher_rank.is_some() {
            Form::Inner
        } else {
            Form::Outer
        },
        clock: chosen_clock(options.clock.as_deref())?,
        max_bytes: options.max_size,
        layers,
        wrappers: options.wrappers.unwrap_or_default(),
        keep_bytes: options.keep,
        exchange: options.exchange,
        trees: None,
        records: !options.no_trace,
    };
    let is_first = launcher_rank.is_none_or(|LauncherRank(rank)| rank == 0);
    check_version(&preload, is_first)?;
    let trees = match &options.trees {
        Some(file) if is_first => {
            let can_look_up = launcher_rank.is_some() || starts_ranks;
            let asked = trees::Asked {
                policy: options.adapt,
                log: options.adapt_log.as_deref(),
                from: options.adapt_from.as_deref(),
            };
            Some(trees::rules_of(file, can_look_up, &asked)?)
        }
        _ => None,
    };
    let settings = Settings {
        trees: (options.trees.is_some()).then(|| trees::path_of(&settings, launcher_rank)),
        ..settings
    };
    let job = Job {
        settings,
        trees,
        force: options.force,
        compact: options.compact,
        preload,
        command: options.command,
    };
    if is_first {
        job.run()
    } else {
        job.become_program()
    }
}

/// What `--adapt` says.
fn parse_policy(text: &str) -> Result<Policy, String> {
    match text.split_once(':') {
        None if text == "best" => Ok(Policy::Best),
        None if text == "log" => Ok(Policy::Log),
        None if text == "off" => Ok(Policy::Off),
        Some(("random", seed)) => {
            let seed = seed.parse().map(Policy::Random);
            seed.map_err(|_| "expected a number as the seed, such as random:1".to_owned())
        }
        _ => Err("expected best, log, off or random:SEED".to_owned()),
    }
}

/// Writes to stderr, in one write. If nobody reads it, there is still the exit status.
fn tell(words: &str) {
    let _ = std::io::stderr().write_all(format!("collbench-record: {words}\n").as_bytes());
}

fn chosen_clock(name: Option<&str>) -> anyhow::Result<Option<collbench_formats::ClockSource>> {
    let Some(source) = name.and_then(clock_of_name) else {
        return Ok(None);
    };
    if Clock::of(source).is_none() {
        bail!("--clock tsc: the time stamp counter of this machine is not invariant; use raw");
    }
    Ok(Some(source))
}

/// What is to be run, and how.
struct Job {
    settings: Settings,
    /// What the tree file says, at the process that hands it over.
    trees: Option<TreeRules>,
    /// Whether an older trace may be replaced.
    force: bool,
    /// Whether the trace is to be compacted.
    compact: bool,
    preload: PathBuf,
    command: Vec<OsString>,
}

impl Job {
    /// Either form, the inner one at rank 0: runs COMMAND, and reports the outcome for all ranks.
    fn run(&self) -> anyhow::Result<ExitCode> {
        let output = &self.settings.output;
        if self.settings.records {
            directory::check_fresh(output, self.force)?;
        }
        if let Err(error) = find_program(&self.command[0]) {
            return Ok(cannot_run(&self.command[0], &error));
        }
        refuse_other_libc(self.programs())?;
        if !self.settings.records {
            return Ok(match self.run_to_its_end(None)? {
                Ok(ended) => ended.pass_on(),
                Err(error) => cannot_run(&self.command[0], &error),
            });
        }
        let run = RunDocument::of(&self.command, self.settings.form)?.to_json();
        // The directory belongs to this command as long as this value exists.
        let mut fresh = None;
        let is_new = match self.settings.form {
            Form::Outer => {
                let fresh = fresh.insert(directory::make_fresh(output, self.force)?);
                directory::write_run(output, run.as_bytes())?;
                fresh.is_new
            }
            // The program creates it, in MPI_Init.
            Form::Inner => {
                if self.force {
                    // Now, not in MPI_Init: if that is never called, no old trace must look like
                    // the new one.
                    directory::remove_old(output)?;
                }
                output.symlink_metadata().is_err()
            }
        };
        let unused = Unused {
            path: output,
            run: &run,
            is_new,
        };
        Ok(match self.run_to_its_end(Some(&run))? {
            Ok(ended) => self.report(ended, unused),
            Err(error) => cannot_run(&self.command[0], &error),
        })
    }

    /// Runs COMMAND over the trees; `run` describes the run, which the inner form passes on.
    fn run_to_its_end(&self, run: Option<&str>) -> anyhow::Result<std::io::Result<Ended>> {
        let _trees = self.hand_over()?;
        Ok(match self.settings.form {
            Form::Outer => process::run(&mut self.relayed()?, process::Signals::Ours),
            Form::Inner => {
                let mut command = self.prepared();
                command.envs(run.map(|run| (directory::RUN_VARIABLE, run)));
                process::run(&mut command, process::Signals::OfTheRank)
            }
        })
    }

    /// Writes what the tree file says where the process with world rank 0 reads it.
    fn hand_over(&self) -> anyhow::Result<Option<trees::HandedOver<'_>>> {
        match (&self.trees, &self.settings.trees) {
            (Some(rules), Some(path)) => trees::hand_over(rules, path).map(Some),
            _ => Ok(None),
        }
    }

    /// The launcher line with settings for all hosts.
    fn relayed(&self) -> anyhow::Result<std::process::Command> {
        let mut command = self.prepared();
        let agent = relay_agent(&self.settings, &self.preload)?;
        for name in AGENTS {
            if std::env::var_os(name).is_some() {
                tell(&format!(
                    "{name} is already set and is not changed; if ranks on other hosts are \
                     missing, use the inner form (mpirun ... collbench-record -- ./app)"
                ));
            } else if let Some(agent) = &agent {
                command.env(name, agent);
            }
        }
        Ok(command)
    }

    /// The inner form at any other rank.
    fn become_program(&self) -> anyhow::Result<ExitCode> {
        refuse_other_libc(self.programs())?;
        let error = process::become_program(&mut self.prepared());
        Ok(cannot_run(&self.command[0], &error))
    }

    /// The words of COMMAND that may be programs: around a launcher all of them; before a program only the
    /// first, since each rank would look for all others in PATH.
    fn programs(&self) -> &[OsString] {
        match self.settings.form {
            Form::Outer => &self.command,
            Form::Inner => &self.command[..1],
        }
    }

    fn prepared(&self) -> std::process::Command {
        let mut command = std::process::Command::new(&self.command[0]);
        command.args(&self.command[1..]);
        let variables = environment_of(&self.settings);
        pass_settings(&mut command, variables, &self.preload);
        command
    }

    /// Reports what was recorded, and ends with the status of COMMAND.
    fn report(&self, ended: Ended, unused: Unused) -> ExitCode {
        guard_mappings();
        let shown = shown_path(&self.settings.output);
        let found = summary::look_at(&self.settings.output, self.settings.form);
        // Removes files only if nothing was recorded; before the end, which may be by a signal.
        drop(unused);
        match found {
            Ok(mut summary) => {
                let compacted = if self.compact {
                    self.make_small(&mut summary)
                } else {
                    Ok(())
                };
                tell(&summary.line(&shown));
                if let Err(error) = compacted {
                    tell(&format!("--compact: {error:#}"));
                    if let Some(interrupted) = error.downcast_ref::<Interrupted>() {
                        return interrupted.end();
                    }
                    if ended.is_success() {
                        return ExitCode::from(FAILED);
                    }
                }
            }
            Err(problem) => {
                tell(&problem.explain(&shown, &self.command, !ended.is_success()));
                if ended.is_success() {
                    return ExitCode::from(FAILED);
                }
            }
        }
        ended.pass_on()
    }

    /// Compacts what was recorded.
    fn make_small(&self, summary: &mut summary::Summary) -> anyhow::Result<()> {
        let outcome = compact_recorded(&self.settings.output, self.settings.form)?;
        summary.n_bytes = outcome.bytes_after;
        let left = [outcome.kept, outcome.refused].concat();
        if let Some((name, why)) = left.first() {
            let files = match left.len() {
                1 => "1 file".to_owned(),
                n => format!("{n} files"),
            };
            tell(&format!("--compact: {files} left unchanged; {name}: {why}"));
        }
        Ok(())
    }
}

/// Reports why a program could not be run; returns the status that a shell would give.
fn cannot_run(program: &OsStr, error: &std::io::Error) -> ExitCode {
    tell(&format!("{}: {error}", program.display()));
    ExitCode::from(if error.kind() == std::io::ErrorKind::NotFound {
        NOT_FOUND
    } else {
        CANNOT_RUN
    })
}

/// When dropped, removes what this command has written, if nothing was recorded.
struct Unused<'a> {
    path: &'a Path,
    run: &'a str,
    is_new: bool,
}

impl Drop for Unused<'_> {
    fn drop(&mut self) {
        directory::remove_unused(self.path, self.run, self.is_new);
    }
}

/// Puts the variables of settings and the preloaded library into the environment of a command.
fn pass_settings(
    command: &mut std::process::Command,
    variables: impl IntoIterator<Item = (impl AsRef<OsStr>, Option<OsString>)>,
    preload: &Path,
) {
    for (name, value) in variables {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let user = std::env::var_os;
    command.env(PRELOAD, with_preload(preload, user(PRELOAD)));
    command.env(ASAN_OPTIONS, asan_options(user(ASAN_OPTIONS)));
}

/// The preloaded library: named by `COLLBENCH_PRELOAD`, or next to this command, or in ../lib.
fn find_preload() -> anyhow::Result<PathBuf> {
    const NAME: &str = "libcollbench_preload.so";
    if let Some(path) = std::env::var_os("COLLBENCH_PRELOAD") {
        let path = PathBuf::from(path);
        if !path.is_file() {
            bail!("COLLBENCH_PRELOAD={}: no such file", path.display());
        }
        return absolute_without_separators(&path);
    }
    let own = std::env::current_exe().context("finding this command's own file")?;
    let folder = own.parent().unwrap_or(Path::new("/"));
    let places = [folder.join(NAME), folder.join("../lib").join(NAME)];
    match places.iter().find(|place| place.is_file()) {
        Some(place) => absolute_without_separators(place),
        None => bail!(
            "{NAME} is neither in {} nor in ../lib; install it there, or set COLLBENCH_PRELOAD to \
             its path",
            folder.display()
        ),
    }
}

/// Refuses a preloaded library of another version, and says if it is only of another commit.
fn check_version(preload: &Path, tells: bool) -> anyhow::Result<()> {
    // What is no library is found by the loader, which says so.
    let Some(other) = version_of_library(preload) else {
        return Ok(());
    };
    let both = || {
        format!(
            "{} is of version {other}, this command of {VERSION}; install both from one archive or \
             build, and do not let COLLBENCH_PRELOAD name another",
            preload.display()
        )
    };
    match mismatch(&other) {
        Some(Mismatch::Number) => bail!(both()),
        Some(Mismatch::Commit) if tells => tell(&both()),
        _ => {}
    }
    Ok(())
}

/// The path, absolute. The loader splits LD_PRELOAD at blanks and colons, and has no way to quote
/// them.
fn absolute_without_separators(path: &Path) -> anyhow::Result<PathBuf> {
    let path = path
        .canonicalize()
        .with_context(|| path.display().to_string())?;
    if path.to_string_lossy().contains([' ', ':']) {
        bail!(
            "{}: the loader cannot preload a library from a path with spaces or colons; install it \
             elsewhere, or set COLLBENCH_PRELOAD to the path of a copy",
            path.display()
        );
    }
    Ok(path)
}

/// The path as the user would type it here.
fn shown_path(path: &Path) -> String {
    let relative = std::env::current_dir().ok().and_then(|here| {
        path.strip_prefix(here)
            .ok()
            .filter(|rest| !rest.as_os_str().is_empty())
            .map(PathBuf::from)
    });
    relative
        .unwrap_or_else(|| path.to_owned())
        .display()
        .to_string()
}

fn parse_keep(text: &str) -> Result<u64, String> {
    match text.strip_prefix("last:") {
        Some(size) => parse_size(size),
        None => Err("expected last:SIZE, such as last:16M".to_owned()),
    }
}

fn parse_size(text: &str) -> Result<u64, String> {
    quantity::parse_size(text, (64 << 10, "64k"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_used_unchanged() {
        let options = Options::parse_from([
            "collbench-record",
            "-o",
            "t",
            "mpirun",
            "-n",
            "4",
            "./a",
            "--force",
        ]);
        assert_eq!(options.command, ["mpirun", "-n", "4", "./a", "--force"]);
        assert!(!options.force);
        assert!(Options::try_parse_from(["collbench-record"]).is_err());
        assert!(Options::try_parse_from(["collbench-record", "--no-such-option"]).is_err());
        let options = Options::parse_from(["collbench-record", "--", "-odd-name", "-x"]);
        assert_eq!(options.command, ["-odd-name", "-x"]);
    }
}
