//! Results to files: pictures, a page that shows them, the JSON document.
//!
//! The stages of a timemap are those seen from outside. On one host nothing is waited for across
//! hosts, so those rows have no length; with several hosts, whose clocks are not aligned, they
//! and the core are not resolvable. Operations without a core (rooted ones, scans, Comm_free)
//! have two stages: the wait until the process could go on, and the operation from there on.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use collbench_formats::Operation;
use collbench_viz as viz;
use collbench_viz::{Align, Column, Fact, Figure, Heading, Line, Picture, StageTime, Stages};

use crate::analysis::{Analysis, OperationSummary, ThreadWay};
use crate::json::{SCHEMA, to_json};
use crate::words;

/// Why a report could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{path}: cannot be written: {error}; name another place with --output, or --no-pictures")]
pub struct ReportError {
    /// The file or directory.
    pub path: PathBuf,
    /// What the system says.
    pub error: io::Error,
}

/// Writes `index.html`, `analysis.json`, and for each of the `top` first operations a timemap,
/// into a directory, which is made if need be. Pictures of an earlier report there are removed.
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
    for (n, operation) in drawn(analysis, top).enumerate() {
        let picture = Picture::from(timemap(analysis, operation));
        let name = format!("timemap-{}-{}.svg", n + 1, operation.operation);
        write(&name, &picture.to_svg())?;
        figures.push(figure(analysis, operation, picture));
    }
    write("index.html", &page(analysis, figures).to_html())?;
    write("analysis.json", &to_json(analysis))
}

/// The operations that get pictures: the first ones by time of which there is a whole instance.
fn drawn(analysis: &Analysis, top: usize) -> impl Iterator<Item = &OperationSummary> {
    let operations = analysis.operations.iter();
    operations.filter(|o| !o.threads.is_empty()).take(top)
}

/// Removes the timemaps of an earlier report from a directory, and nothing that a person has put
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
        if is_timemap(&entry.file_name().to_string_lossy()) {
            // One that stays is only a picture too many.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether a file has the name of a timemap: `timemap-3-MPI_Bcast.svg`.
fn is_timemap(name: &str) -> bool {
    let parts = name
        .strip_prefix("timemap-")
        .and_then(|rest| rest.strip_suffix(".svg"))
        .and_then(|rest| rest.split_once('-'));
    parts.is_some_and(|(number, operation)| {
        number.parse::<usize>().is_ok()
            && Operation::ALL.iter().any(|known| known.name() == operation)
    })
}

/// The timemap of one operation.
fn timemap(analysis: &Analysis, operation: &OperationSummary) -> viz::Timemap {
    let heading = Heading {
        finding: words::finding(analysis, operation).into(),
        operation: title(analysis, operation).into(),
        n_instances: operation.instances,
    };
    let is_one_host = analysis.clock.hosts.len() == 1;
    let has_core = operation.departure_wait_ns.is_some();
    let mut stages = match has_core {
        true => Stages::seen_from_outside(),
        false => Stages {
            down: Stages::seen_from_outside().down,
            core: None,
            up: vec!["the operation itself".into()],
        },
    };
    if is_one_host {
        for stage in stages.down.iter_mut().chain(&mut stages.up) {
            if stage.as_str().contains("across hosts") {
                *stage = format!("{stage} (one host: none)").into();
            }
        }
    }
    let mut timemap = viz::Timemap::new(heading, stages);
    for thread in &operation.threads {
        let times = stage_times(thread, is_one_host, has_core);
        let line = Line {
            name: format!("rank {}", thread.rank).into(),
            host: thread.host.as_str().into(),
            class: None,
        };
        timemap.push(line, |stage| times[stage]);
    }
    timemap
}

/// Times of a thread: wait inside and across hosts, core, leaving across and inside hosts; or
/// wait inside and across, operation.
fn stage_times(thread: &ThreadWay, is_one_host: bool, has_core: bool) -> [Option<StageTime>; 5] {
    let time = |mean: Option<(i64, u64)>| mean.and_then(|(mean, n)| StageTime::new(mean, n));
    let across = match is_one_host {
        true => thread
            .wait
            .or(thread.inside)
            .and_then(|(_, n)| StageTime::new(0, n)),
        false => None,
    };
    let inside = match is_one_host || !has_core {
        true => time(thread.inside),
        false => None,
    };
    [
        time(thread.wait),
        across,
        inside,
        across,
        time(thread.departure_wait),
    ]
}

fn title(analysis: &Analysis, operation: &OperationSummary) -> String {
    let mut title = format!(
        "{}, {}",
        operation.operation,
        words::communicator(analysis, operation.communicator, 60)
    );
    if let Some(root) = operation.root {
        title.push_str(&format!(", root {root}"));
    }
    if operation.bytes_max.is_some_and(|bytes| bytes > 0) {
        title.push_str(&format!(", {} bytes", words::bytes(operation)));
    }
    title
}

fn figure(analysis: &Analysis, operation: &OperationSummary, picture: Picture) -> Figure {
    let caption = match operation.departure_wait_ns.is_some() {
        true => {
            "One line per rank, top to bottom through the stages; how far it moves to the right \
             is the mean time spent there. x = 0 is the arrival of the last rank: to the left \
             is waiting, to the right the operation and leaving it."
        }
        false => {
            "One line per rank, top to bottom through the stages; how far it moves to the right \
             is the mean time spent there. x = 0 is when the rank had what it waited for: to \
             the left is waiting, to the right the operation itself."
        }
    };
    Figure {
        heading: title(analysis, operation).into(),
        caption: caption.into(),
        picture,
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
    fn only_timemaps_of_an_earlier_report_are_removed() {
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
