//! Results to files: pictures, a page that shows them, the JSON document.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::analysis::Analysis;
use crate::json::{SCHEMA, to_json};
use crate::pictures::{self, Shown};

mod page;

/// Why a report could not be written.
#[derive(Debug, thiserror::Error)]
#[error(
    "{}: cannot be written: {error}; name another place with --output, or --no-pictures",
    crate::inert::path(.path)
)]
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
    remove_pictures(directory, ("analysis.json", SCHEMA), pictures::is_picture);
    let write = |name: &str, content: &str| {
        let path = directory.join(name);
        write_new(&path, content).map_err(failed(&path))
    };
    let write_pictures = |shown: &[Shown]| {
        let mut pictures = shown.iter();
        pictures.try_for_each(|Shown { file, figure, dot }| {
            write(file, &figure.picture.to_svg())?;
            match dot {
                Some(dot) => write(&file.replace(".svg", ".dot"), dot),
                None => Ok(()),
            }
        })
    };
    let of_run = pictures::of_run(analysis);
    write_pictures(&of_run)?;
    let mut groups = Vec::new();
    for (operation, shown) in pictures::of_operations(analysis, top) {
        write_pictures(&shown)?;
        groups.push(page::group(analysis, operation, shown));
    }
    write(
        "index.html",
        &page::page(analysis, of_run, groups).to_html(),
    )?;
    write("analysis.json", &to_json(analysis))
}

/// Writes a file in the place of whatever has this name: not into it, which might be a link to
/// another one that somebody has put there.
pub(crate) fn write_new(path: &Path, content: &str) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::File::create_new(path)?.write_all(content.as_bytes())
}

/// Removes the pictures of an earlier report from a directory, and nothing that a person has put
/// there: only names that a report gives, and only beside the document (its name and its schema)
/// of one.
pub(crate) fn remove_pictures(
    directory: &Path,
    (document, schema): (&str, &str),
    is_picture: fn(&str) -> bool,
) {
    let document = directory.join(document);
    // A pipe would wait for a writer.
    let is_file = document
        .symlink_metadata()
        .is_ok_and(|found| found.is_file());
    let is_report = is_file
        && fs::read(document).is_ok_and(|document| {
            let beginning = &document[..document.len().min(200)];
            String::from_utf8_lossy(beginning).contains(schema)
        });
    if !is_report {
        return;
    }
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        if is_picture(&entry.file_name().to_string_lossy()) {
            // One that stays is only a picture too many.
            let _ = fs::remove_file(entry.path());
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
            folder.path(),
            ("analysis.json", SCHEMA),
            pictures::is_picture,
        );
        assert_eq!(all_there(), [true; 13], "not beside a document of ours");
        let document = format!("{{\n  \"schema\": \"{SCHEMA}\",");
        fs::write(folder.path().join("analysis.json"), document).unwrap();
        remove_pictures(
            folder.path(),
            ("analysis.json", SCHEMA),
            pictures::is_picture,
        );
        let (gone, stays) = ([false; 9], [true; 4]);
        assert_eq!(all_there()[..], [&gone[..], &stays[..]].concat());
    }
}
