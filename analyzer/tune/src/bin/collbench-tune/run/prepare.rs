//! How proposals reach the library: their files, and what uses these.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use collbench_text::output::write_file;
use collbench_text::{inert, shell};
use collbench_tune::run::{Ending, Tried};
use collbench_tune::{Means, Value};

use super::propose::Proposed;
use super::results::Results;

/// How a run with a proposal reaches the library.
pub(super) struct Reaching {
    pub(super) variables: Vec<(String, OsString)>,
    pub(super) trees: Option<PathBuf>,
}

/// Writes the file of a proposal, and says how it is used.
pub(super) fn prepare(
    command: &[OsString],
    results: &Results,
    idx: usize,
    proposed: Proposed,
) -> anyhow::Result<(Reaching, Tried)> {
    let proposal = proposed.proposal;
    let command = words(command.iter().map(OsString::as_os_str));
    let mut reach = Reaching {
        variables: Vec::new(),
        trees: None,
    };
    let (shown, file) = match &proposal.means {
        Means::Environment { file, variables } => {
            let name = file.as_ref().map(|file| &*file.name);
            if let Some(file) = file {
                write_file(&results.path(&file.name), &file.text, false)?;
            }
            let mut shown = Vec::new();
            for (variable, value) in variables {
                let of = |path: fn(&Results, &str) -> PathBuf| match value {
                    Value::Text(text) => OsString::from(text),
                    Value::File => path(results, name.unwrap_or_default()).into(),
                };
                reach.variables.push((variable.clone(), of(Results::path)));
                shown.push(format!("{variable}={}", words([&*of(Results::final_path)])));
            }
            let file = name.map(|name| inert::path(&results.final_path(name)));
            (format!("{} {command}", shown.join(" ")), file)
        }
        Means::Trees(text) => {
            let path = match proposed.own_file {
                Some(path) => path,
                None => {
                    let name = format!("{}-{}.toml", file_name(&proposal.name), idx + 1);
                    write_file(&results.path(&name), text, false)?;
                    reach.trees = Some(results.path(&name));
                    results.final_path(&name)
                }
            };
            reach.trees.get_or_insert_with(|| path.clone());
            let trees = words([path.as_os_str()]);
            let shown = format!("collbench-record --trees {trees} --no-trace -- {command}");
            (shown, Some(inert::path(&path)))
        }
    };
    let tried = Tried {
        predicted: None,
        proposal,
        checked: Vec::new(),
        ending: Ending::AsTheProgram,
        command: shown,
        file,
    };
    Ok((reach, tried))
}

/// What a file for a proposal is called.
pub(super) fn file_name(name: &str) -> String {
    let base = name.rsplit('/').next().unwrap_or(name);
    let base = base.strip_suffix(".toml").unwrap_or(base);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let plain = base.chars().map(|c| if is_plain(c) { c } else { '-' });
    plain.collect::<String>().trim_start_matches('.').to_owned()
}

/// Words as a shell reads them.
fn words<'w>(words: impl IntoIterator<Item = &'w OsStr>) -> String {
    let quoted = words
        .into_iter()
        .map(|word| shell::word(&word.to_string_lossy()));
    quoted.collect::<Vec<_>>().join(" ")
}
