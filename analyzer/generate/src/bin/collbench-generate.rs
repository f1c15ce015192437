//! The command `collbench-generate`.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use clap_complete::Shell;

#[derive(Debug, Parser)]
#[command(
    name = "collbench-generate",
    version,
    about = "Write a trace with known truth, from a scenario",
    override_usage = "collbench-generate [OPTIONS] SCENARIO OUT",
    after_long_help = AFTER_HELP
)]
struct Arguments {
    /// The scenario file (TOML)
    #[arg(required_unless_present_any = ["completions", "man"])]
    scenario: Option<PathBuf>,
    /// The directory to make: rank files, run.json, and truth.json with what is true of them
    #[arg(required_unless_present_any = ["completions", "man"])]
    out: Option<PathBuf>,
    /// Draw other random numbers than those of the scenario's own seed
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Replace a trace that is in OUT already
    #[arg(long)]
    force: bool,
    /// Write completions for this shell to stdout
    #[arg(long, value_name = "SHELL", exclusive = true)]
    completions: Option<Shell>,
    /// Write the man page to stdout
    #[arg(long, exclusive = true)]
    man: bool,
}

const AFTER_HELP: &str = concat!(
    "Exit status: 0 done, 1 failed, 2 usage.\n\n",
    include_str!("../SCENARIO.md")
);

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read our output has seen enough.
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let mut stderr = anstream::stderr();
            let _ = writeln!(stderr, "collbench-generate: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let mut command = Arguments::command();
    if let Some(shell) = arguments.completions {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut command, "collbench-generate", &mut script);
        io::stdout().write_all(&script)?;
        return Ok(());
    }
    if arguments.man {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        io::stdout().write_all(&page)?;
        return Ok(());
    }
    let (Some(scenario), Some(out)) = (&arguments.scenario, &arguments.out) else {
        return Ok(());
    };
    let truth = collbench_generate::generate(scenario, out, arguments.seed, arguments.force)?;
    let mut stderr = anstream::stderr();
    writeln!(
        stderr,
        "collbench-generate: {} ranks, {} calls, seed {}; next: collbench-analyze {}",
        truth.ranks.len(),
        truth.calls,
        truth.seed,
        out.display()
    )?;
    Ok(())
}
