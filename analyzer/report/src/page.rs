//! Writes results to files: pictures, the page that shows them, the JSON document.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use collbench_analyzer::{Analysis, Selection};
use collbench_files::Folder;

use crate::document::{ANALYSIS_SCHEMA, Document, to_json};
use crate::pictures::{self, PictureFile};
use crate::words;

mod analysis;
mod cells;
pub(crate) mod comparison;
mod own_trees;

/// Why a report could not be written.
#[derive(Debug, thiserror::Error)]
#[error(
    "{}: cannot be written: {error}; choose another directory with --output, or use --no-pictures",
    collbench_text::inert::path(.path)
)]
pub struct ReportError {
    /// The file or directory.
    pub path: PathBuf,
    /// The system's message.
    pub error: io::Error,
}

/// Writes `index.html`, `analysis.json` and the pictures, including those of the first `top`
/// operations, into a directory, which is created if necessary. Pictures of an earlier report there
/// are removed.
///
/// # Errors
/// [`ReportError`] if anything cannot be written.
pub fn write_report(analysis: &Analysis, directory: &Path, top: usize) -> Result<(), ReportError> {
    let directory = ReportDirectory::at(directory)?;
    write_into(analysis, &directory, top)
}

/// Name of the directory of an analysis in its trace: `report`, or of a part of the run
/// `report-MPI_Allreduce-from-1.5s`, so that a look at a part does not replace the report of the whole.
#[must_use]
pub fn report_name(selection: &Selection) -> String {
    match selection.file_name() {
        Some(part) => format!("report-{part}"),
        None => "report".to_owned(),
    }
}

/// Writes a report into the [directory for it](report_name) in a trace, without following links: users other
/// than the trace's owner may have created one there.
///
/// # Errors
/// [`ReportError`] if anything cannot be written.
pub fn write_report_of_trace(
    analysis: &Analysis,
    trace: &Path,
    top: usize,
) -> Result<(), ReportError> {
    let whole = Selection::default();
    let selection = analysis.restriction.as_ref().unwrap_or(&whole);
    let directory = ReportDirectory::within(trace, &report_name(selection))?;
    write_into(analysis, &directory, top)
}

fn write_into(
    analysis: &Analysis,
    directory: &ReportDirectory,
    top: usize,
) -> Result<(), ReportError> {
    remove_pictures(
        directory,
        ("analysis.json", ANALYSIS_SCHEMA),
        pictures::is_picture,
    );
    let write = |name: &str, content: &str| directory.write(name, content);
    let write_pictures = |shown: &[PictureFile]| {
        let mut pictures = shown.iter();
        pictures.try_for_each(|PictureFile { file, figure, dot }| {
            write(file, &figure.picture.to_svg())?;
            match dot {
                Some(dot) => write(&file.replace(".svg", ".dot"), dot),
                None => Ok(()),
            }
        })
    };
    let instances = pictures::instances(analysis, top);
    let of_run = pictures::of_run(analysis, &instances);
    write_pictures(&of_run)?;
    let inside = words::inside::paragraphs(analysis);
    let mut groups = Vec::new();
    for (operation, shown) in pictures::of_operations(analysis, top, &instances) {
        write_pictures(&shown)?;
        groups.push(analysis::group(analysis, &inside, operation, shown));
    }
    write_pictures(&pictures::timelines(analysis, top, &instances))?;
    let page = analysis::page(analysis, (&inside, &instances), of_run, groups);
    write("index.html", &page.to_html())?;
    write("analysis.json", &to_json(&Document::of(analysis)))
}

/// The open directory of a report.
#[derive(Debug)]
pub(crate) struct ReportDirectory {
    folder: Folder,
    /// For error messages.
    path: PathBuf,
}

impl ReportDirectory {
    /// A directory named by the user, created if necessary.
    pub(crate) fn at(path: &Path) -> Result<Self, ReportError> {
        let opened = fs::create_dir_all(path).and_then(|()| Folder::open(path));
        Self::of(opened, path.to_path_buf())
    }

    /// A directory in a trace, created if necessary.
    fn within(trace: &Path, name: &str) -> Result<Self, ReportError> {
        let opened = Folder::open(trace).and_then(|trace| {
            match trace.create_folder(name) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            trace.folder(name).map_err(|error| {
                let found = trace.metadata_of(name);
                if found.is_ok_and(|found| found.is_symlink()) {
                    io::Error::other("it is a link, and links inside a trace are not followed")
                } else {
                    error
                }
            })
        });
        Self::of(opened, trace.join(name))
    }

    fn of(opened: io::Result<Folder>, path: PathBuf) -> Result<Self, ReportError> {
        match opened {
            Ok(folder) => Ok(Self { folder, path }),
            Err(error) => Err(ReportError { path, error }),
        }
    }

    /// Creates a file, replacing any of this name instead of writing into it: it might be a link to
    /// another file.
    pub(crate) fn write(&self, name: &str, content: &str) -> Result<(), ReportError> {
        let gone = match self.folder.remove_file(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
        gone.and_then(|()| self.folder.create(name)?.write_all(content.as_bytes()))
            .map_err(|error| ReportError {
                path: self.path.join(name),
                error,
            })
    }
}

/// Removes the pictures of an earlier report from a directory, and no other files: only names that
/// a report uses, and only if the directory contains a report's document (with its name and
/// schema).
pub(crate) fn remove_pictures(
    directory: &ReportDirectory,
    (document, schema): (&str, &str),
    is_picture: fn(&str) -> bool,
) {
    let mut beginning = Vec::new();
    let read = directory
        .folder
        .file(document)
        .and_then(|file| file.take(200).read_to_end(&mut beginning));
    let is_report = read.is_ok() && String::from_utf8_lossy(&beginning).contains(schema);
    if !is_report {
        return;
    }
    for name in directory.folder.names().unwrap_or_default() {
        if is_picture(&name.to_string_lossy()) {
            // If removing fails, there is an outdated picture, which does no harm.
            let _ = directory.folder.remove_file(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pictures_of_an_earlier_report_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let names = [
            "timemap-1-MPI_Bcast.svg",
            "timemap-1-MPI_Bcast-without-waits.svg",
            "arrival-order-12-MPI_Scan.svg",
            "waits-over-time.svg",
            "serialization-1-MPI_Barrier.svg",
            "durations-1-MPI_Barrier.svg",
            "imbalance-1-MPI_Barrier.svg",
            "imbalance-1-MPI_Barrier.dot",
            "tree-1-MPI_Barrier.dot",
            "durations-1-MPI_Barrier.dot",
            "timemap-notes.svg",
            "timemap-9-MPI_Foo.svg",
            "arrival-order-1-MPI_Bcast-without-waits.svg",
        ];
        let all_there = || names.map(|name| folder.path().join(name).exists());
        for name in names {
            fs::write(folder.path().join(name), "").unwrap();
        }
        fs::write(folder.path().join("analysis.json"), "mine").unwrap();
        remove_pictures(
            &ReportDirectory::at(folder.path()).unwrap(),
            ("analysis.json", ANALYSIS_SCHEMA),
            pictures::is_picture,
        );
        assert_eq!(all_there(), [true; 13], "not beside a document of ours");
        let document = format!("{{\n  \"schema\": \"{ANALYSIS_SCHEMA}\",");
        fs::write(folder.path().join("analysis.json"), document).unwrap();
        remove_pictures(
            &ReportDirectory::at(folder.path()).unwrap(),
            ("analysis.json", ANALYSIS_SCHEMA),
            pictures::is_picture,
        );
        let (gone, stays) = ([false; 9], [true; 4]);
        assert_eq!(all_there()[..], [&gone[..], &stays[..]].concat());
    }
}
