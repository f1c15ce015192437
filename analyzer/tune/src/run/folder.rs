//! What a program writes into its directory.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Files that are looked at, at most.
const MOST_FILES: usize = 10_000;
/// Names that are written out.
const SHOWN: usize = 3;

/// The files of a directory and those below it: their lengths, and when they were changed.
#[derive(Debug, Clone, Default)]
pub struct Files {
    of: BTreeMap<PathBuf, (u64, Option<SystemTime>)>,
}

/// What was written between two looks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// Files that were not there before.
    pub created: Vec<PathBuf>,
    /// Files that are another length, or were changed later.
    pub changed: Vec<PathBuf>,
}

impl Files {
    /// Looks at a directory, but not at `without`, and at no more than the first 10,000 files. Links are not followed, and what
    /// cannot be read is left out.
    #[must_use]
    pub fn of(directory: &Path, without: &Path) -> Self {
        let mut files = Self::default();
        let mut open = vec![directory.to_owned()];
        while let Some(folder) = open.pop() {
            let Ok(entries) = fs::read_dir(&folder) else {
                continue;
            };
            let mut entries: Vec<_> = entries.flatten().collect();
            entries.sort_by_key(fs::DirEntry::file_name);
            for entry in entries {
                let path = entry.path();
                if path == without || files.of.len() >= MOST_FILES {
                    continue;
                }
                match entry.metadata() {
                    Ok(metadata) if metadata.is_dir() => open.push(path),
                    Ok(metadata) if metadata.is_file() => {
                        let name = path.strip_prefix(directory).unwrap_or(&path).to_owned();
                        files
                            .of
                            .insert(name, (metadata.len(), metadata.modified().ok()));
                    }
                    _ => {}
                }
            }
        }
        files
    }

    /// What was written since an earlier look.
    #[must_use]
    pub fn since(&self, before: &Self) -> Written {
        // Where not all files were seen, others may have been.
        let is_whole = before.of.len() < MOST_FILES;
        let mut written = Written::default();
        for (path, now) in &self.of {
            match before.of.get(path) {
                None if is_whole => written.created.push(path.clone()),
                Some(then) if then != now => written.changed.push(path.clone()),
                _ => {}
            }
        }
        written
    }
}

impl Written {
    /// What a user reads; `None` if nothing was written.
    #[must_use]
    pub fn in_words(&self) -> Option<String> {
        let parts = [("changed", &self.changed), ("created", &self.created)];
        let parts = parts.iter().filter(|(_, paths)| !paths.is_empty());
        let parts: Vec<String> = parts
            .map(|(what, paths)| {
                let mut names: Vec<String> = (paths.iter().take(SHOWN))
                    .map(|path| collbench_text::inert::path(path))
                    .collect();
                if paths.len() > SHOWN {
                    names.push(format!("{} more", paths.len() - SHOWN));
                }
                format!("{what} {}", names.join(", "))
            })
            .collect();
        (!parts.is_empty()).then(|| {
            format!(
                "the program {}; if it reads them when it starts, a later run differs from the first one",
                parts.join(" and ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_creates_and_changes_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("sub")).unwrap();
        fs::create_dir(path("own")).unwrap();
        fs::write(path("input"), "1").unwrap();
        fs::write(path("sub/log"), "1").unwrap();
        let look = || Files::of(folder.path(), &path("own"));
        let before = look();
        assert_eq!(look().since(&before), Written::default());
        assert_eq!(Written::default().in_words(), None);
        fs::write(path("sub/log"), "12").unwrap();
        for name in ["own/a", "b", "c", "d", "e\u{1b}"] {
            fs::write(path(name), "").unwrap();
        }
        let written = look().since(&before);
        assert_eq!(written.changed, [PathBuf::from("sub/log")]);
        let words = written.in_words().unwrap();
        assert!(
            words.starts_with("the program changed sub/log and created b, c, d, 1 more;"),
            "{words}"
        );
    }
}
