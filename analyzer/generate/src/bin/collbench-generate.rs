//! The command `collbench-generate`.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use collbench_command::Installation;
use collbench_text::output;
use collbench_text::quantity::counted;

#[derive(Debug, Parser)]
#[command(
    name = "collbench-generate",
    version, long_version = collbench_version::details(),
    about = "Generates a trace with known truth from a scenario, without MPI",
    override_usage = "collbench-generate [OPTIONS] SCENARIO OUT",
    after_help = AFTER_HELP,
    after_long_help = AFTER_LONG_HELP
)]
struct Arguments {
    /// Scenario file (TOML); --help describes its fields
    #[arg(required_unless_present_any = ["completions", "man"])]
    scenario: Option<PathBuf>,
    /// Directory to create, with rank files, run.json, and truth.json with the true values
    #[arg(required_unless_present_any = ["completions", "man"])]
    out: Option<PathBuf>,
    /// Seed of the random numbers, instead of the seed of the scenario
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Replace a trace that is already in OUT
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    installation: Installation,
}

/// What the short and the long help have in common.
macro_rules! after_help {
    () => {
        "\
Examples:
  collbench-generate late.toml trace
      generate a trace
  collbench-generate --seed 7 --force late.toml trace
      generate it again with other random numbers
  collbench-analyze trace
      analyze it

Exit status: 0 done, 1 failed, 2 usage."
    };
}

const AFTER_HELP: &str = after_help!();
const AFTER_LONG_HELP: &str = concat!(after_help!(), "\n\n", include_str!("../SCENARIO.md"));

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let mut stderr = anstream::stderr();
            let _ = writeln!(stderr, "collbench-generate: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if let Some(text) = arguments.installation.asked_for::<Arguments>()? {
        return Ok(output::print(&text)?);
    }
    let (Some(scenario), Some(out)) = (&arguments.scenario, &arguments.out) else {
        return Ok(());
    };
    let truth = collbench_generate::generate(scenario, out, arguments.seed, arguments.force)?;
    let mut stderr = anstream::stderr();
    // The trace is there, whoever reads this.
    let _ = writeln!(
        stderr,
        "collbench-generate: {}, {}, seed {}; next: collbench-analyze {}",
        counted(truth.ranks.len() as u64, "rank"),
        counted(truth.calls, "call"),
        truth.seed,
        out.display()
    );
    Ok(())
}
