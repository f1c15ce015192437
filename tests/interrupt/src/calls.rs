//! A signal in front of each call of the C library that the recorder makes, in a run for each.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::{Handler, PATIENCE};

/// How `line` ends where the signal is raised in front of the call `number`, counted from 1; as a
/// failure, or `None` where it is as it should be. `raises` is the library of `tests/stub/raises.c`.
///
/// # Errors
/// Where it cannot be run.
pub fn try_call(
    line: &[String],
    raises: &Path,
    number: u64,
    handler: Handler,
) -> Result<Option<String>> {
    let mut command = command(line, raises)?;
    command
        .env("INTERRUPTED_AT", number.to_string())
        .env("INTERRUPTED_BY", handler.signal.to_string());
    let mut child = command.spawn().context("a recorded program")?;
    let begin = Instant::now();
    let how = loop {
        match child.try_wait()? {
            Some(status) if status.code() == Some(handler.status) => return Ok(None),
            Some(status) => break status.to_string(),
            None if begin.elapsed() > PATIENCE => {
                child.kill()?;
                child.wait()?;
                break "hangs".to_owned();
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    Ok(Some(format!(
        "{} before call {number}: {how}",
        handler.does
    )))
}

/// How many calls the recorder makes in `line`, undisturbed.
///
/// # Errors
/// Where it cannot be run, or fails.
pub fn count_calls(line: &[String], raises: &Path, folder: &Path) -> Result<u64> {
    let counted = folder.join("count");
    // Counted are calls up to one that never comes.
    let status = command(line, raises)?
        .env("INTERRUPTED_AT", "1000000000")
        .env("INTERRUPTED_BY", "0")
        .env("INTERRUPTED_COUNT", &counted)
        .status()?;
    anyhow::ensure!(
        status.success(),
        "undisturbed, the program ends with {status}"
    );
    let text = fs::read_to_string(&counted).context("no call of the recorder was seen")?;
    Ok(text.trim().parse()?)
}

fn command(line: &[String], raises: &Path) -> Result<Command> {
    let (program, arguments) = line.split_first().context("a command")?;
    let mut command = Command::new(program);
    command.args(arguments).env("LD_PRELOAD", raises);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command)
}
