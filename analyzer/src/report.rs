//! Results to files: pictures, a page that shows them, the JSON document.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use collbench_viz as viz;
use collbench_viz::{Align, Column, Fact, Figure};

use crate::analysis::Analysis;
use crate::json::{SCHEMA, to_json};
use crate::{pictures, words};

/// Why a report could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{path}: cannot be written: {error}; name another place with --output, or --no-pictures")]
pub struct ReportError {
    /// The file or directory.
    pub path: PathBuf,
    /// What the system says.
    pub error: io::Error,
}

/// Writes `index.html`, `analysis.json` and the pictures, those of the `top` first operations
/// among them, into a directory, which is made if need be. Pictures of an earlier report there
/// are removed.
///
/// # Errors
/// [`ReportError`] if anything cannot be written.
pub fn write_report(analysis: &Analysis, directory: &Path, top: usize) -> Result<(), ReportError> {
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |error| ReportError { path, error }
    };
    fs::create_dir_all(directory).map_err(failed(directory))?;
    remove_pictures(directory);
    let write = |name: &str, content: &str| {
        let path = directory.join(name);
        fs::write(&path, content).map_err(failed(&path))
    };
    let mut figures = Vec::new();
    for pictures::Shown { file, figure } in pictures::pictures(analysis, top) {
        write(&file, &figure.picture.to_svg())?;
        figures.push(figure);
    }
    write("index.html", &page(analysis, figures).to_html())?;
    write("analysis.json", &to_json(analysis))
}

/// Removes the pictures of an earlier report from a directory, and nothing that a person has put
/// there: only names that a report gives, and only beside the document of one.
fn remove_pictures(directory: &Path) {
    let is_report = fs::read(directory.join("analysis.json")).is_ok_and(|document| {
        let beginning = &document[..document.len().min(200)];
        String::from_utf8_lossy(beginning).contains(SCHEMA)
    });
    if !is_report {
        return;
    }
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        if pictures::is_picture(&entry.file_name().to_string_lossy()) {
            // One that stays is only a picture too many.
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn page(analysis: &Analysis, figures: Vec<Figure>) -> viz::Report {
    let trace = &analysis.trace;
    let command = trace.command.join(" ");
    let fact = |name: &str, value: String| Fact {
        name: name.into(),
        value: value.into(),
    };
    let calls_ns = analysis.collectives_ns();
    let mut verdict = words::verdict(analysis);
    if !trace.complete {
        let findings = words::counted(trace.damage.len() as u64, "finding");
        verdict.insert(
            0,
            format!("The trace is incomplete: {findings}, see trace.damage in analysis.json."),
        );
    }
    viz::Report {
        title: format!("collbench: {}", crate::inert::line(&command, 200)).into(),
        facts: vec![
            fact("command", command),
            fact("ranks", trace.ranks.to_string()),
            fact("hosts", trace.hosts.join(", ")),
            fact("MPI library", trace.mpi_library.clone()),
            fact("duration", words::duration(trace.duration_ns)),
            fact(
                "collectives",
                format!(
                    "{} calls, {} of all ranks together",
                    trace.calls,
                    words::duration(calls_ns)
                ),
            ),
            fact(
                "clock",
                format!("{}; {}", analysis.clock.source, analysis.clock.method),
            ),
        ],
        verdict: verdict.join("\n").into(),
        remarks: analysis
            .remarks
            .iter()
            .map(|remark| viz::Remark {
                code: remark.code.into(),
                text: remark.text.as_str().into(),
            })
            .collect(),
        operations: operations(analysis),
        ranks: ranks(analysis),
        figures,
    }
}

fn column(name: &str, align: Align) -> Column {
    Column {
        name: name.into(),
        align,
    }
}

fn operations(analysis: &Analysis) -> viz::Table {
    let columns = [
        column("operation", Align::Left),
        column("communicator", Align::Left),
        column("root", Align::Right),
        column("bytes", Align::Right),
        column("calls", Align::Right),
        column("instances", Align::Right),
        column("incomplete", Align::Right),
        column("time in all", Align::Right),
        column("median call", Align::Right),
        column("waiting", Align::Right),
        column("comes last", Align::Left),
    ];
    viz::Table::new(
        columns,
        analysis.operations.iter().map(|operation| {
            let time = operation.call_time_ns.as_ref();
            let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
            [
                operation.operation.into(),
                words::communicator(analysis, operation.communicator, 40).into(),
                or_dash(operation.root.map(|root| root.to_string())).into(),
                words::bytes(operation).into(),
                operation.calls.to_string().into(),
                operation.instances.to_string().into(),
                operation.incomplete.to_string().into(),
                or_dash(time.map(|time| words::duration(time.total))).into(),
                or_dash(time.map(|time| words::duration(time.median))).into(),
                words::waiting(analysis, operation).into(),
                // Not to be broken in a narrow column.
                words::mostly_last(analysis, operation)
                    .replace(' ', "\u{a0}")
                    .into(),
            ]
        }),
    )
}

fn ranks(analysis: &Analysis) -> viz::Table {
    let columns = [
        column("rank", Align::Left),
        column("host", Align::Left),
        column("calls", Align::Right),
        column("time in calls", Align::Right),
        column("waiting", Align::Right),
        column("came last", Align::Right),
        column("came first", Align::Right),
    ];
    viz::Table::new(
        columns,
        analysis.ranks.iter().map(|rank| {
            [
                rank.rank.to_string().into(),
                rank.host.as_str().into(),
                rank.calls.to_string().into(),
                words::duration(rank.call_time_ns).into(),
                rank.wait_ns
                    .map_or_else(|| "-".to_owned(), words::duration)
                    .into(),
                rank.last.to_string().into(),
                rank.first.to_string().into(),
            ]
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pictures_of_an_earlier_report_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let names = [
            "timemap-1-MPI_Bcast.svg",
            "timemap-notes.svg",
            "timemap-9-MPI_Foo.svg",
        ];
        let all_there = || names.map(|name| folder.path().join(name).exists());
        for name in names {
            fs::write(folder.path().join(name), "").unwrap();
        }
        fs::write(folder.path().join("analysis.json"), "mine").unwrap();
        remove_pictures(folder.path());
        assert_eq!(
            all_there(),
            [true, true, true],
            "not beside a document of ours"
        );
        let document = format!("{{\n  \"schema\": \"{SCHEMA}\",");
        fs::write(folder.path().join("analysis.json"), document).unwrap();
        remove_pictures(folder.path());
        assert_eq!(all_there(), [false, true, true]);
    }
}
