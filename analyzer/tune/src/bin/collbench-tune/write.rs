//! What `--write` does: rule files of choices.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use collbench_text::inert;
use collbench_text::output::{print, write_file};
use collbench_text::quantity::counted;
use collbench_tree_files::BEST;
use collbench_tune::open_mpi::{self, Library, han};
use collbench_tune::trees::{self, TreeText};
use collbench_tune::{Choice, Written, choices_of, mpich, write_intel, write_ucc};

use super::{
    MAX_RULES_MIB, Recorded, Rules, Usage, base_of_mpich, library, read, version_of_mpich,
};

/// Writes a rule file of choices.
pub(crate) fn write(
    options: &Rules,
    format: super::Written,
    path: &Path,
    recorded: Option<&Recorded>,
) -> anyhow::Result<ExitCode> {
    if let Some(why) = format.untested()
        && !options.untested
    {
        return Err(Usage(format!("{why}; add --untested")).into());
    }
    let choices =
        choices_of(&read(path, "rule file", MAX_RULES_MIB)?).with_context(|| inert::path(path))?;
    let output = options.output.as_deref();
    let name = output.map_or_else(|| format.file_name().to_owned(), inert::path);
    let of_open_mpi = || library(options.library.first(), recorded);
    let written = match format {
        super::Written::Openmpi => open_mpi::write(&choices, of_numbers(of_open_mpi()?)?, &name),
        super::Written::OpenmpiHan => han::write(&choices, with_han(of_open_mpi()?)?, &name),
        super::Written::OpenmpiJson => {
            let of_6_0 = library(Some(&"Open MPI 6.0".to_owned()), None)?;
            open_mpi::write_json(&choices, of_6_0, &name)
        }
        super::Written::Mpich => for_mpich(options, &choices, recorded, &name)?,
        super::Written::Ucc => write_ucc(&choices, &name),
        super::Written::Intel => write_intel(&choices, &name),
        super::Written::Trees => {
            let folder = path.parent().unwrap_or(Path::new(""));
            trees::write(&choices, &|file| tree_file(file, folder), &name)
        }
    };
    for sentence in &written.left_out {
        anstream::eprintln!("collbench-tune: left out: {}", inert::line(sentence, 200));
    }
    let one_of = if written.commands.len() == 1 {
        "this"
    } else {
        "one of these"
    };
    let commands = written.commands.join("\n    ");
    if written.text.is_empty() && format != super::Written::Mpich {
        bail!("nothing of these choices can be written in this format");
    }
    match output {
        _ if written.text.is_empty() => {
            print(format!("No file is needed; {one_of} is enough:\n    {commands}\n").as_bytes())?;
        }
        None => {
            anstream::eprintln!("collbench-tune: {one_of} uses it:\n    {commands}");
            print(written.text.as_bytes())?;
        }
        Some(output) => {
            write_file(output, &written.text, options.force)?;
            let n = counted(choices.len() as u64, "choice");
            print(format!("{name}: of {n}; {one_of} uses it:\n    {commands}\n").as_bytes())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

impl super::Written {
    /// The name that a file has in command lines, where none is written.
    fn file_name(self) -> &'static str {
        match self {
            Self::Openmpi => "rules.txt",
            Self::OpenmpiHan => "han.txt",
            Self::OpenmpiJson => "rules.json",
            Self::Mpich => "selection.json",
            Self::Trees => "trees.toml",
            Self::Ucc => "ucc.sh",
            Self::Intel => "intel.sh",
        }
    }

    /// Why the format could not be tested.
    fn untested(self) -> Option<&'static str> {
        match self {
            Self::OpenmpiJson => Some("no Open MPI 6.0 could be run to test this format"),
            Self::Ucc => {
                Some("UCC does not show which algorithm runs, so that this could not be tested")
            }
            Self::Intel => Some(
                "Intel MPI does not show which algorithm runs, so that this could not be tested",
            ),
            Self::Openmpi | Self::OpenmpiHan | Self::Mpich | Self::Trees => None,
        }
    }
}

/// A library for which rules in numbers mean what they say.
fn of_numbers(library: Library) -> anyhow::Result<Library> {
    if library.version.major > 5 {
        let what = format!(
            "{} takes rules in numbers for others: --write openmpi-json",
            library.version
        );
        return Err(Usage(what).into());
    }
    Ok(library)
}

/// A library whose `coll_han` follows rules.
fn with_han(library: Library) -> anyhow::Result<Library> {
    if library.version.major != 5 {
        let what = format!(
            "rules of coll_han are written for Open MPI 5.0, not for {}: before 5.0 coll_han does nothing by itself",
            library.version
        );
        return Err(Usage(what).into());
    }
    Ok(library)
}

/// The tree file that was measured by a name: from here, or beside the choices.
fn tree_file(name: &str, beside: &Path) -> Result<TreeText, String> {
    if name == "best" {
        return Ok(TreeText {
            text: BEST.to_owned(),
            folder: PathBuf::new(),
        });
    }
    let here = PathBuf::from(name);
    let path = if here.exists() {
        here
    } else {
        beside.join(name)
    };
    let bytes = read(&path, "rule file", MAX_RULES_MIB).map_err(|error| format!("{error:#}"))?;
    let text = String::from_utf8(bytes).map_err(|_| format!("{name} is no text"))?;
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    Ok(TreeText { text, folder })
}

/// Choices for MPICH: variables alone where that is enough.
fn for_mpich(
    options: &Rules,
    choices: &[Choice],
    recorded: Option<&Recorded>,
    name: &str,
) -> anyhow::Result<Written> {
    let (version, _) = version_of_mpich(options.library.first(), recorded)?;
    let Some(base) = base_of_mpich(options)?.and_then(|(others, _)| others.mpir) else {
        bail!(
            "MPICH's own file of algorithms is needed: name its library, or that file, by --base"
        );
    };
    let (written, left_out) = mpich::write_measured(choices, version, &base)?;
    Ok(Written {
        commands: written.command(name).to_vec(),
        text: written.file.unwrap_or_default(),
        left_out,
    })
}
