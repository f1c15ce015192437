//! `collbench-tune predict`.

use std::path::PathBuf;
use std::process::ExitCode;

use collbench_analyzer::RunFiles;
use collbench_text::inert;
use collbench_text::output::{print, write_file};
use collbench_tune::predict::{Recorded, predict};

use crate::Format;

#[derive(Debug, clap::Args)]
pub(crate) struct Predict {
    /// The directory of a recorded run, with messages
    #[arg(value_name = "TRACE")]
    trace: PathBuf,

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

/// Predicts what other algorithms would have taken.
pub(crate) fn run(options: &Predict) -> anyhow::Result<ExitCode> {
    let files = RunFiles::open(&options.trace)?;
    let recorded = Recorded::read(&files, &mut |_| {})?;
    let predictions = predict(&recorded)?;
    let json = || predictions.to_json(&inert::path(&options.trace), files.checksum());
    if let Some(output) = &options.output {
        write_file(output, &json(), options.force)?;
    }
    let text = match options.format {
        Format::Text => predictions.to_text(),
        Format::Json => json(),
    };
    print(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
