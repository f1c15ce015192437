//! What is recorded: the document `collbench.run/1`, the file `run.json` of a trace.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::{SystemTime, UNIX_EPOCH};

use collbench_instrument::{Form, directory, host_name};
use serde::Serialize;

/// What was run, when and where.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct RunDocument {
    schema: &'static str,
    /// Version of the recorder.
    recorder: &'static str,
    /// The command that was recorded, word by word.
    command: Vec<String>,
    /// The directory in which the command was given.
    directory: String,
    /// When it was started, ns since 1970-01-01 UTC.
    started_unix_ns: u64,
    /// `outer`: the command is a launcher; `inner`: the command is the program, below a launcher.
    form: &'static str,
    /// Name of the host on which the command was given.
    host: String,
    /// Variables that matter to MPI libraries.
    environment: BTreeMap<String, String>,
}

impl RunDocument {
    /// Of this command, started now.
    ///
    /// # Errors
    /// If there is no current directory.
    pub(super) fn of(command: &[OsString], form: Form) -> anyhow::Result<Self> {
        let words = command
            .iter()
            .map(|word| word.to_string_lossy().into_owned());
        Ok(Self {
            schema: directory::RUN_SCHEMA,
            recorder: env!("CARGO_PKG_VERSION"),
            command: words.collect(),
            directory: std::env::current_dir()?.to_string_lossy().into_owned(),
            started_unix_ns: SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos() as u64,
            form: match form {
                Form::Outer => "outer",
                Form::Inner => "inner",
            },
            host: host_name(),
            environment: environment_that_matters(),
        })
    }

    /// The document, with a line feed at its end.
    pub(super) fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("texts and numbers") + "\n"
    }
}

fn environment_that_matters() -> BTreeMap<String, String> {
    const PREFIXES: [&str; 13] = [
        "OMPI_MCA_",
        "PMIX_MCA_",
        "PRTE_MCA_",
        "MPIR_CVAR_",
        "I_MPI_",
        "UCX_",
        "FI_",
        "OMP_",
        "GOMP_",
        "KMP_",
        "SLURM_JOB_",
        "SLURM_NTASKS",
        "LD_PRELOAD",
    ];
    // Settings of a daemon's own start, which Open MPI passes to ranks, are many and long.
    const MOST: usize = 200;
    let mut variables: Vec<(String, String)> = std::env::vars_os()
        .map(|(name, value)| {
            (
                name.to_string_lossy().into_owned(),
                value.to_string_lossy().into_owned(),
            )
        })
        .filter(|(name, value)| {
            value.len() <= 1024 && PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        })
        .collect();
    variables.sort();
    variables.truncate(MOST);
    variables.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_that_of_the_types() {
        collbench_schemas::check::<RunDocument>(directory::RUN_SCHEMA);
        let run = RunDocument::of(&["mpirun".into(), "./app".into()], Form::Outer).unwrap();
        assert_eq!(
            collbench_schemas::read(run.to_json())["command"][1],
            "./app"
        );
    }
}
