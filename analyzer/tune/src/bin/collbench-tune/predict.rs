//! `collbench-tune predict` and `score`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::{Context, bail};
use collbench_analyzer::RunFiles;
use collbench_text::inert;
use collbench_text::output::write_file;
use collbench_tree_files::TreeFile;
use collbench_tune::predict::{
    Benchmarked, Given, MadeFrom, MeasuredLinks, NamedTreeFile, Recorded, Written, predict, score,
};

use crate::{Format, read};

/// A links file is not larger than that, MiB: a thousand processes have half a million links.
const MAX_LINKS_MIB: u64 = 256;
/// A measurement with samples is not larger than that, MiB.
const MAX_MEASUREMENT_MIB: u64 = 1024;

/// What was measured besides the trace.
#[derive(Debug, clap::Args)]
pub(crate) struct Measured {
    /// Take the parameters of links from this file of collbench-bench logp --links, and from the trace those of links that
    /// it does not have
    #[arg(long, value_name = "FILE")]
    pub(crate) links: Option<PathBuf>,

    /// Take what it costs that ranks of a host meet in its memory from this run over trees, too; may be given several
    /// times
    #[arg(long, value_name = "TRACE")]
    pub(crate) memory: Vec<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Predict {
    /// The directory of a recorded run, with messages
    #[arg(value_name = "TRACE")]
    trace: PathBuf,

    #[command(flatten)]
    measured: Measured,

    /// Predict the trees of this tree file, too; may be given several times
    #[arg(long, value_name = "FILE")]
    trees: Vec<PathBuf>,

    /// What to print to stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Write the JSON document to this file, too
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace the file if it is there
    #[arg(long, requires = "output")]
    force: bool,
}

/// Reads tree files.
pub(crate) fn tree_files(paths: &[PathBuf]) -> anyhow::Result<Vec<NamedTreeFile>> {
    paths.iter().map(|path| tree_file(path)).collect()
}

/// Reads a tree file, or `best`.
fn tree_file(path: &Path) -> anyhow::Result<NamedTreeFile> {
    let file = TreeFile::read(path)?;
    let crc32 = match path.to_str() {
        Some("best") => crc32fast::hash(collbench_tree_files::BEST.as_bytes()),
        _ => crc32fast::hash(&fs::read(path).with_context(|| inert::path(path))?),
    };
    Ok(NamedTreeFile {
        name: inert::path(path),
        crc32,
        file,
    })
}

/// Predicts what other algorithms, and trees, would have taken.
pub(crate) fn run(options: &Predict) -> anyhow::Result<ExitCode> {
    let tree_files = tree_files(&options.trees)?;
    let files = RunFiles::open(&options.trace)?;
    let (links, links_crc32) = links(options.measured.links.as_deref())?;
    let recorded = Recorded::read(&files, &mut |_| {})?;
    let (over_trees, memory) = read_memory(&options.measured.memory)?;
    let given = Given {
        links,
        tree_files,
        over_trees,
    };
    let predictions = predict(&recorded, given)?;
    let trace = inert::path(&options.trace);
    let json = || {
        predictions.to_json(&MadeFrom {
            trace: &trace,
            trace_crc32: files.checksum(),
            links_crc32,
            memory: &memory,
        })
    };
    if let Some(output) = &options.output {
        write_file(output, &json(), options.force)?;
    }
    (options.format).print(|| predictions.to_text(), json)?;
    Ok(ExitCode::SUCCESS)
}

/// The directory of a run, and the checksum of its files.
type Checksum = (String, u32);

/// Runs over trees, and the directory of each with the checksum of its files.
pub(crate) fn read_memory(paths: &[PathBuf]) -> anyhow::Result<(Vec<Recorded>, Vec<Checksum>)> {
    let (mut over_trees, mut memory) = (Vec::new(), Vec::new());
    for path in paths {
        let (files, trace) = (RunFiles::open(path)?, inert::path(path));
        let run = Recorded::read(&files, &mut |_| {}).with_context(|| trace.clone())?;
        if run.classes.iter().all(|class| class.tree.is_none()) {
            bail!(
                "{trace}: none of its collectives ran over trees; expected a run of collbench-record --trees FILE"
            );
        }
        over_trees.push(run);
        memory.push((trace, files.checksum()));
    }
    Ok((over_trees, memory))
}

/// A links file and its checksum, if one is given.
pub(crate) fn links(path: Option<&Path>) -> anyhow::Result<(Option<MeasuredLinks>, Option<u32>)> {
    let Some(path) = path else {
        return Ok((None, None));
    };
    let text = read(path, "links file", MAX_LINKS_MIB)?;
    let links = MeasuredLinks::parse(&text).with_context(|| inert::path(path))?;
    Ok((Some(links), Some(crc32fast::hash(&text))))
}

#[derive(Debug, clap::Args)]
pub(crate) struct Score {
    /// Predictions, as collbench-tune predict -o has written them
    #[arg(value_name = "PREDICTED")]
    predicted: PathBuf,

    /// Directories of runs that were recorded afterwards with the algorithms that were predicted, or files of collbench-bench
    /// collective --algorithms --samples --format json
    #[arg(value_name = "MEASURED", required = true)]
    measured: Vec<PathBuf>,

    /// What to print to stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Draw measured over predicted times into this SVG file, too
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace the file if it is there
    #[arg(long, requires = "output")]
    force: bool,
}

/// When the newest file of a directory was changed, or a file.
fn changed(path: &Path) -> io::Result<SystemTime> {
    let mut latest = fs::metadata(path)?.modified()?;
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            latest = latest.max(entry?.metadata()?.modified()?);
        }
    }
    Ok(latest)
}

/// Compares predictions with runs.
pub(crate) fn compare(options: &Score) -> anyhow::Result<ExitCode> {
    let shown = || inert::path(&options.predicted);
    let text = fs::read(&options.predicted).with_context(shown)?;
    let written = Written::parse(&text).with_context(shown)?;
    let predicted_at = changed(&options.predicted).with_context(shown)?;
    let (mut recorded, mut benchmarked) = (Vec::new(), Vec::new());
    for path in &options.measured {
        let shown = || inert::path(path);
        if changed(path).with_context(shown)? < predicted_at {
            bail!(
                "{} is older than the predictions, which may have been made from it; expected a run that was recorded afterwards",
                shown()
            );
        }
        if path.is_dir() {
            let files = RunFiles::open(path)?;
            recorded.push(Recorded::read(&files, &mut |_| {}).with_context(shown)?);
        } else {
            let text = read(path, "measurement", MAX_MEASUREMENT_MIB)?;
            benchmarked.push(Benchmarked::parse(&text).with_context(shown)?);
        }
    }
    let score = score(&written, &recorded, &benchmarked)?;
    if let Some(output) = &options.output {
        write_file(output, &score.to_svg(), options.force)?;
    }
    (options.format).print(|| score.to_text(), || score.to_json())?;
    Ok(ExitCode::SUCCESS)
}
