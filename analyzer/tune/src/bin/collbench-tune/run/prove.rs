//! What was found, measured alone before the program runs with it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use collbench_text::inert;
use collbench_text::output::write_file;
use collbench_text::quantity::counted;
use collbench_tune::predict::{Found, Recorded};
use collbench_tune::run::{Asked, Proof, launcher};

use super::launch::{Ended, last_lines, status_in_words};
use super::{Runs, beside, tell, time};

/// The folder of the benchmark, and what it is told.
const FOLDER: &str = "alone";
const PLAN: &str = "plan.toml";
const ARRIVALS: &str = "arrivals.json";
const TREES: &str = "trees.toml";
/// What the benchmark writes.
const RESULTS: &str = "collective.json";
/// How long a job takes to begin, to align its clocks and to end, at most.
const AROUND: Duration = Duration::from_secs(60);
/// The part of the time that is given which a proof may take.
const PART: u32 = 5;

/// What came of a proof.
pub(super) enum Proved {
    /// That.
    Made(Proof),
    /// There was nothing to prove.
    Nothing,
    /// A signal came.
    Interrupted,
}

impl Runs<'_> {
    /// Measures what was found by collbench-bench, below the launcher of the program.
    pub(super) fn prove(&self, found: &Found<'_>) -> anyhow::Result<Proved> {
        let Some(asked) = Asked::of(found) else {
            return Ok(Proved::Nothing);
        };
        let without = |why: String| {
            tell(&format!("not measured alone: {why}"));
            Ok(Proved::Made(Proof {
                proven: Vec::new(),
                why_not: Some(why),
            }))
        };
        let Some(before) = launcher(&self.options.command, &found.recorded.command) else {
            return without(
                "which words of the command line are the launcher is not clear".to_owned(),
            );
        };
        let Ok(bench) = beside(OsStr::new("collbench-bench")) else {
            return without("collbench-bench is not installed beside this command".to_owned());
        };
        let limit = AROUND + Duration::from_secs_f64(asked.takes_s());
        let given = self.options.seconds.map(|s| Duration::from_secs(s) / PART);
        if given.is_some_and(|given| given < limit) {
            return without(format!(
                "that takes up to {}, more than a fifth of --seconds",
                time(limit)
            ));
        }
        let folder = self.results.path(FOLDER);
        let arguments = write(&asked, found, &folder)?;
        tell(&format!(
            "measuring what was found alone, with the recorded arrivals: {}, {} at most",
            counted(asked.n_points() as u64, "point"),
            time(limit)
        ));
        let mut command = before.to_vec();
        command.push(bench.into_os_string());
        command.extend(arguments);
        let (ended, _) = self.launch_for(command, &[], Some(limit))?;
        let status = match ended {
            Ended::Interrupted => return Ok(Proved::Interrupted),
            Ended::TooLong => {
                return without(format!(
                    "collbench-bench did not end within {}",
                    time(limit)
                ));
            }
            Ended::Itself(status) => status,
        };
        if !status.success() {
            return without(format!(
                "collbench-bench ended {}, and wrote at last:{}",
                status_in_words(status),
                last_lines(&self.stderr)
            ));
        }
        match read(&asked, &folder, found.recorded) {
            Ok(proof) => {
                proof.proven.iter().for_each(|of| tell(&of.in_words()));
                Ok(Proved::Made(proof))
            }
            Err(why) => without(why),
        }
    }
}

/// Writes the files that the benchmark reads; its arguments.
fn write(asked: &Asked, found: &Found<'_>, folder: &Path) -> anyhow::Result<Vec<OsString>> {
    fs::create_dir(folder).with_context(|| inert::path(folder))?;
    let path = |name: &str| folder.join(name);
    write_file(&path(ARRIVALS), asked.arrivals(), false)?;
    write_file(&path(PLAN), &asked.plan(&path(ARRIVALS)), false)?;
    let mut arguments: Vec<OsString> =
        vec!["collective".into(), "--plan".into(), path(PLAN).into()];
    if asked.has_algorithms() {
        arguments.push("--algorithms".into());
    }
    if let Some(text) = found.to_tree_file(&[]).filter(|_| asked.has_trees()) {
        write_file(&path(TREES), &text, false)?;
        arguments.extend(["--trees".into(), path(TREES).into()]);
    }
    arguments.extend(["--samples".into(), "--output".into(), folder.into()]);
    Ok(arguments)
}

fn read(asked: &Asked, folder: &Path, recorded: &Recorded) -> Result<Proof, String> {
    let path = folder.join(RESULTS);
    let results = fs::read(&path).map_err(|error| format!("{}: {error}", inert::path(&path)))?;
    let proven = asked.read(&results, &folder.join(TREES), recorded)?;
    let n_missing = asked.n_methods() - proven.len();
    Ok(Proof {
        why_not: (n_missing > 0).then(|| {
            format!(
                "{} could not be measured alone",
                counted(n_missing as u64, "proposal")
            )
        }),
        proven,
    })
}
