//! How the outer form reaches ranks on other hosts, without changing the user's command line.
//!
//! Open MPI starts each rank through an agent if one is set: a command that is put before the
//! program. If the agent is this command with the settings as one word, it does on every host what
//! the inner form does. (Forwarding variables instead would conflict with a `-x` of the user.)

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, bail};
use collbench_instrument::{Settings, environment_of};
use serde::{Deserialize, Serialize};

use super::process::become_program;
use super::program::{check_executable, find_program};
use super::{cannot_run, pass_settings};

/// The variables that set the agent: of Open MPI 4, and of PRRTE, the launcher of Open MPI 5.
pub(super) const AGENTS: [&str; 2] = ["OMPI_MCA_orte_fork_agent", "PRTE_MCA_odls_base_exec_agent"];

/// What an agent has to know.
#[derive(Debug, Serialize, Deserialize)]
struct Relayed {
    /// Variables with the settings.
    variables: Vec<(String, Option<OsString>)>,
    preload: OsString,
}

/// The value of these variables; `None` if it cannot be expressed (it is split at blanks,
/// and has no way to quote them).
pub(super) fn relay_agent(settings: &Settings, preload: &Path) -> anyhow::Result<Option<OsString>> {
    let own = std::env::current_exe().context("finding this command's own file")?;
    if own.as_os_str().as_bytes().contains(&b' ') {
        return Ok(None);
    }
    let variables = environment_of(settings).into_iter();
    let relayed = Relayed {
        variables: variables
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
        preload: preload.into(),
    };
    let mut agent = own.into_os_string();
    agent.push(" --relay ");
    agent.push(to_hex(serde_json::to_string(&relayed)?.as_bytes()));
    agent.push(" --");
    Ok(Some(agent))
}

/// Becomes the program, with the settings in its environment.
pub(super) fn exec(relayed: &str, command: &[OsString]) -> anyhow::Result<ExitCode> {
    let relayed: Relayed = from_hex(relayed)
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .context("--relay: expected settings that collbench-record itself has encoded")?;
    let Some((program, arguments)) = command.split_first() else {
        bail!("--relay: expected a program after it");
    };
    let mut command = match find_program(program) {
        // Open MPI also looks in the current folder, after PATH.
        Err(_) if check_executable(&Path::new(".").join(program)).is_ok() => {
            let mut command = Command::new(Path::new(".").join(program));
            command.arg0(program);
            command
        }
        _ => Command::new(program),
    };
    command.args(arguments);
    pass_settings(&mut command, relayed.variables, relayed.preload.as_ref());
    let error = become_program(&mut command);
    Ok(cannot_run(program, &error))
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .map(|c| c.to_digit(16).map(|digit| digit as u8))
        .collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(
        digits
            .chunks(2)
            .map(|pair| pair[0] << 4 | pair[1])
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_parsed_from_hex_and_other_text_is_refused() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(from_hex(&to_hex(&bytes)), Some(bytes));
        assert_eq!(from_hex("abc"), None);
        assert_eq!(from_hex("zz"), None);
    }
}
