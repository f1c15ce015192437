//! Results of `collbench-bench collective` that were kept: lists, compares, merges and describes
//! them.

mod beside;
mod import;
mod kept;
mod list;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::{Args, ValueEnum};

use crate::collective::{self, Comparison, Named, Results, Sheets};
use crate::overhead::write_json;
use beside::Beside;
use import::Import;
use kept::Kept;
use list::List;

/// Lists, compares, merges and describes results of collbench-bench collective
///
/// Takes directories with the results of one run or of many (collective --keep), and files
/// collective.json, and lays them beside the texts of other benchmarks (--import). Needs no launcher.
///
/// Method: Reussner et al. 1999, section 3.3 (several runs) and appendix B (data sheet).
#[derive(Debug, Args)]
pub struct Options {
    /// Directories and files with results
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Compare the results point by point
    #[arg(long, group = "action")]
    compare: bool,
    /// Merge the results of several launches by the medians of their points
    #[arg(long, group = "action")]
    merge: bool,
    /// Print the data sheet: of each operation range, latency, bandwidth and errors
    #[arg(long, group = "action")]
    sheet: bool,
    /// Lay the results beside what OSU's or Intel's MPI benchmarks have printed into these files
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["merge", "sheet"])]
    import: Vec<PathBuf>,
    /// Number of processes on which OSU's benchmarks ran, which their texts do not say
    #[arg(long, value_name = "N", requires = "import", value_parser = clap::value_parser!(u32).range(1..))]
    processes: Option<u32>,
    /// What to print to stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Directory for a page with pictures of all results side by side; with --merge for the merged
    /// result [default: none]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Tables
    Text,
    /// One JSON document
    Json,
}

/// Reads results, and writes what was asked for.
///
/// # Errors
/// Names what cannot be read or written.
pub fn run(options: &Options, output: &mut impl Write) -> anyhow::Result<()> {
    let kept = kept::find(&options.paths)?;
    if let Some(folder) = &options.output {
        let files: Vec<PathBuf> = kept.iter().map(|one| one.path.clone()).collect();
        collective::ensure_kept(&files, folder)?;
    }
    if options.merge {
        return merge(options, &kept, output);
    }
    let processes = options.processes.map(|n| n as usize);
    let texts = options
        .import
        .iter()
        .map(|path| import::read(path, processes));
    let imports: Vec<Import> = texts.collect::<Result<_, _>>()?;
    if let Some(folder) = &options.output {
        write_page(&readable(&kept)?, &imports, folder)?;
    }
    if !imports.is_empty() {
        lay_beside(options.format, &readable(&kept)?, &imports, output)
    } else if options.compare {
        compare(options.format, &readable(&kept)?, output)
    } else if options.sheet {
        sheet(options.format, &readable(&kept)?, output)
    } else {
        let list = List::of(&kept);
        match options.format {
            Format::Text => Ok(list.write(output)?),
            Format::Json => write_json(&list, output),
        }
    }
}

/// The results that were read, with their names.
///
/// # Errors
/// Says why a file cannot be read: figures must not lack a file unnoticed.
fn readable(kept: &[Kept]) -> anyhow::Result<Vec<(&str, &Path, &Results)>> {
    let mut all = Vec::new();
    for one in kept {
        match &one.results {
            Ok(Some(results)) => all.push((one.name.as_str(), one.path.as_path(), results)),
            // A run that has not ended: it has no document.
            Ok(None) => {}
            Err(why) => bail!("{why}"),
        }
    }
    ensure!(!all.is_empty(), "no run has ended: there are no results");
    Ok(all)
}

fn compare(
    format: Format,
    all: &[(&str, &Path, &Results)],
    output: &mut impl Write,
) -> anyhow::Result<()> {
    ensure!(
        all.len() > 1,
        "--compare needs the results of two runs; there is one"
    );
    let files: Vec<PathBuf> = all.iter().map(|(_, path, _)| path.to_path_buf()).collect();
    let results: Vec<Results> = all.iter().map(|(.., results)| (*results).clone()).collect();
    let comparison = Comparison::of(&files, &results);
    match format {
        Format::Text => Ok(comparison.write(output)?),
        Format::Json => write_json(&comparison, output),
    }
}

fn sheet(
    format: Format,
    all: &[(&str, &Path, &Results)],
    output: &mut impl Write,
) -> anyhow::Result<()> {
    let [(.., results)] = all else {
        bail!("--sheet takes one result; there are {}", all.len());
    };
    let sheets = Sheets::of(results);
    match format {
        Format::Text => {
            collective::write_run(results, output)?;
            Ok(sheets.write(output)?)
        }
        Format::Json => write_json(&sheets, output),
    }
}

fn merge(options: &Options, kept: &[Kept], output: &mut impl Write) -> anyhow::Result<()> {
    let all = readable(kept)?;
    let files: Vec<PathBuf> = all.iter().map(|(_, path, _)| path.to_path_buf()).collect();
    let merged = collective::merged(&files)?;
    if let Some(folder) = &options.output {
        crate::folder::make(folder)?;
        collective::write_files(&merged, folder)?;
    }
    match options.format {
        Format::Text => Ok(collective::write_text(&merged, output)?),
        Format::Json => write_json(&merged, output),
    }
}

fn lay_beside(
    format: Format,
    all: &[(&str, &Path, &Results)],
    imports: &[Import],
    output: &mut impl Write,
) -> anyhow::Result<()> {
    let ours: Vec<(&str, &Results)> = all
        .iter()
        .map(|(name, _, results)| (*name, *results))
        .collect();
    let beside = Beside::of(&ours, imports);
    match format {
        Format::Text => Ok(beside.write(output)?),
        Format::Json => write_json(&beside, output),
    }
}

fn write_page(
    all: &[(&str, &Path, &Results)],
    imports: &[Import],
    folder: &Path,
) -> anyhow::Result<()> {
    crate::folder::make(folder)?;
    let ours = all.iter().map(|(name, _, results)| Named {
        name: (*name).to_owned(),
        results,
    });
    let theirs = imports.iter().map(|import| Named {
        name: format!("{} ({})", import.program.word(), import.path.display()),
        results: &import.results,
    });
    let named: Vec<Named<'_>> = ours.chain(theirs).collect();
    collective::write_page(&named, folder).context("the page")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::collective::example_results;

    /// A directory of three runs that have ended and one that has not.
    fn runs() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let dates = ["2026-11-22T10:00:00Z", "2026-11-23T09:30:00Z"];
        for (n, date) in dates.into_iter().enumerate() {
            let results = example_results(date, 1_000.0 * (n + 1) as f64);
            let run = folder.path().join(format!("{}-a", date.replace(':', "-")));
            fs::create_dir(&run).unwrap();
            let text = serde_json::to_string(&results).unwrap();
            fs::write(run.join("collective.json"), text).unwrap();
        }
        let begun = folder.path().join("2026-11-24-begun");
        fs::create_dir(&begun).unwrap();
        fs::write(begun.join("points.jsonl"), "{\"begin\":\"MPI_Bcast\"}\n").unwrap();
        // What else lies there is no run.
        fs::create_dir(folder.path().join("notes")).unwrap();
        folder
    }

    fn printed(arguments: &[&str], folder: &Path) -> anyhow::Result<String> {
        #[derive(clap::Parser)]
        struct Command {
            #[command(flatten)]
            options: Options,
        }
        let folder = folder.to_str().unwrap();
        let command = ["results", folder]
            .into_iter()
            .chain(arguments.iter().copied());
        let command = <Command as clap::Parser>::try_parse_from(command)?;
        let mut output = Vec::new();
        run(&command.options, &mut output)?;
        Ok(String::from_utf8(output)?)
    }

    #[test]
    fn runs_are_listed_by_date_with_where_they_were_measured() {
        let folder = runs();
        let text = printed(&[], folder.path()).unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
        assert!(lines[1].starts_with("2026-11-22T10-00-00Z-a"), "{text}");
        for expected in [
            "2026-11-22 10:00",
            "alice",
            "a and 1 more",
            "2100 to 3000 MHz",
            "eth0, 10000 Mb/s",
            "Some MPI 1.0",
        ] {
            assert!(lines[1].contains(expected), "{expected} is not in {text}");
        }
        assert!(
            text.contains("interrupted: 2026-11-24-begun has 0 points"),
            "{text}"
        );
        let json = printed(&["--format", "json"], folder.path()).unwrap();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["schema"], "collbench.bench.results/1");
        assert_eq!(json["runs"].as_array().unwrap().len(), 3);
        assert_eq!(
            json["runs"][0]["placement"],
            "a: ranks 0 on cores 0-3; b: ranks 1 on cores 0-3"
        );
        assert_eq!(json["runs"][2]["state"], "interrupted");
    }

    #[test]
    fn runs_are_compared_merged_described_and_drawn() {
        let folder = runs();
        let compared = printed(&["--compare", "--format", "json"], folder.path()).unwrap();
        let compared: serde_json::Value = serde_json::from_str(&compared).unwrap();
        assert_eq!(
            compared["points"][0]["times_ns"],
            serde_json::json!([1_000.0, 2_000.0])
        );
        assert_eq!(compared["points"][0]["fastest"], 0);
        let output = folder.path().join("merged");
        let arguments = ["--merge", "--output", output.to_str().unwrap()];
        let merged = printed(&arguments, folder.path()).unwrap();
        assert!(merged.contains("medians of 2 runs"), "{merged}");
        // The merged result is a result as others are.
        let one = fs::read_to_string(output.join("sheet.txt")).unwrap();
        assert!(one.contains("latency         1.50 us at 8 bytes"), "{one}");
        assert!(printed(&["--sheet"], &output).unwrap().contains(&one));
        let refused = printed(&["--sheet"], folder.path())
            .unwrap_err()
            .to_string();
        assert!(
            refused.contains("--sheet takes one result; there are 3"),
            "{refused}"
        );
        let page = folder.path().join("page");
        printed(&["--output", page.to_str().unwrap()], folder.path()).unwrap();
        let page = fs::read_to_string(page.join("index.html")).unwrap();
        for expected in [
            "is the fastest at",
            "Bandwidth over length",
            "2026-11-22T10-00-00Z-a: 4 processes",
        ] {
            assert!(page.contains(expected), "{expected}");
        }
    }

    #[test]
    fn the_result_of_a_run_is_not_overwritten() {
        let folder = runs();
        let first = folder.path().join("2026-11-22T10-00-00Z-a");
        let before = fs::read(first.join("collective.json")).unwrap();
        for action in [&["--merge"][..], &[]] {
            let arguments = [action, &["--output", first.to_str().unwrap()]].concat();
            let said = printed(&arguments, folder.path()).unwrap_err().to_string();
            assert!(said.contains("would be overwritten"), "{said}");
        }
        assert_eq!(fs::read(first.join("collective.json")).unwrap(), before);
        assert_eq!(fs::read_dir(&first).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_read_is_listed_and_ends_a_comparison() {
        let folder = runs();
        let broken = folder.path().join("2026-11-25-broken");
        fs::create_dir(&broken).unwrap();
        fs::write(broken.join("collective.json"), "{}").unwrap();
        let text = printed(&[], folder.path()).unwrap();
        assert!(
            text.contains("unreadable: ") && text.contains("2026-11-25-broken"),
            "{text}"
        );
        let said = printed(&["--compare"], folder.path())
            .unwrap_err()
            .to_string();
        assert!(said.contains("2026-11-25-broken"), "{said}");
        let said = printed(&[], &folder.path().join("notes"))
            .unwrap_err()
            .to_string();
        assert!(said.contains("has no results"), "{said}");
    }
}
