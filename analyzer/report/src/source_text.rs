//! The text of source lines, from the files below a directory.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Component, Path, PathBuf};

use collbench_analyzer::Analysis;
use collbench_files::open_regular;

/// A file is read up to here, bytes.
const MAX_BYTES: u64 = 64 << 20;
/// Characters of a line that are kept.
const MAX_LINE: usize = 200;

/// Adds the text of the lines from which collectives are called. Of the path that a compiler noted, as
/// many of the last parts as possible must be below `directory`: `/build/app/src/solver.f90` is there as
/// `build/app/src/solver.f90`, `app/src/solver.f90`, `src/solver.f90` or `solver.f90`.
///
/// Whether the text of any line was found, or there is no line to look for.
pub fn find_texts(analysis: &mut Analysis, directory: &Path) -> bool {
    let mut wanted: BTreeMap<String, BTreeMap<u32, String>> = BTreeMap::new();
    for frame in analysis.sites.iter().flat_map(|site| &site.frames) {
        if let (Some(file), Some(line)) = (&frame.file, frame.line) {
            let lines = wanted.entry(file.clone()).or_default();
            lines.insert(line, String::new());
        }
    }
    for (file, lines) in &mut wanted {
        if let Some(found) = below(directory, file) {
            read(&found, lines);
        }
    }
    let mut is_any_found = false;
    for frame in analysis.sites.iter_mut().flat_map(|site| &mut site.frames) {
        if let (Some(file), Some(line)) = (&frame.file, frame.line) {
            let text = wanted.get(file).and_then(|lines| lines.get(&line));
            frame.text = text.filter(|text| !text.is_empty()).cloned();
            is_any_found |= frame.text.is_some();
        }
    }
    is_any_found || wanted.is_empty()
}

/// The file below the directory that a path means; `None` if there is none.
fn below(directory: &Path, file: &str) -> Option<PathBuf> {
    let names: Vec<&std::ffi::OsStr> = Path::new(file)
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name),
            _ => None,
        })
        .collect();
    let mut tails = (0..names.len()).map(|skipped| {
        let tail: PathBuf = names[skipped..].iter().collect();
        directory.join(tail)
    });
    tails.find(|path| path.is_file())
}

/// Fills in the wanted lines of a file.
fn read(path: &Path, lines: &mut BTreeMap<u32, String>) {
    let Ok(file) = open_regular(path) else {
        return;
    };
    let mut file = BufReader::new(file.take(MAX_BYTES));
    let last = lines.keys().next_back().copied().unwrap_or(0);
    let mut bytes = Vec::new();
    for line in 1..=last {
        bytes.clear();
        match file.read_until(b'\n', &mut bytes) {
            Ok(n) if n > 0 => {}
            _ => return,
        }
        if let Some(text) = lines.get_mut(&line) {
            let whole = String::from_utf8_lossy(&bytes);
            *text = whole.trim().chars().take(MAX_LINE).collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_much_of_a_path_as_possible_must_be_there() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        std::fs::create_dir_all(at.join("app/src")).unwrap();
        for file in ["app/src/a.c", "a.c"] {
            std::fs::write(at.join(file), "one\n  two; \n").unwrap();
        }
        assert_eq!(
            below(at, "/build/app/src/a.c"),
            Some(at.join("app/src/a.c"))
        );
        assert_eq!(below(at, "lib/a.c"), Some(at.join("a.c")));
        assert_eq!(below(at, "../../a.c"), Some(at.join("a.c")));
        for nothing in ["b.c", "", "/", "src"] {
            assert_eq!(below(at, nothing), None, "{nothing}");
        }
        let mut lines = BTreeMap::from([(2, String::new()), (7, String::new())]);
        read(&at.join("a.c"), &mut lines);
        assert_eq!((&*lines[&2], &*lines[&7]), ("two;", ""));
    }
}
