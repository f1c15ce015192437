//! A trace in memory: the files of a directory.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

/// What stands under a name in the directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A file with these bytes.
    File(Vec<u8>),
    /// An empty directory.
    Directory,
    /// A symbolic link to this.
    Link(String),
}

/// The files of a trace directory, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trace {
    /// All entries.
    pub entries: BTreeMap<String, Entry>,
}

impl Trace {
    /// Reads the rank files and run.json of a directory.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn read(directory: &Path) -> io::Result<Self> {
        let mut trace = Self::default();
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".trace") || name == "run.json" {
                let bytes = fs::read(entry.path())?;
                trace.entries.insert(name, Entry::File(bytes));
            }
        }
        Ok(trace)
    }

    /// The same with other bytes in its rank files.
    #[must_use]
    pub(crate) fn map_rank_files(mut self, change: impl Fn(&[u8]) -> Vec<u8>) -> Self {
        for name in self.rank_files() {
            if let Some(bytes) = self.bytes_mut(&name) {
                *bytes = change(bytes);
            }
        }
        self
    }

    /// Makes `directory` hold exactly this trace; `before` is what is in it now.
    ///
    /// # Errors
    /// If something cannot be written or removed.
    pub fn replace(&self, before: &Self, directory: &Path) -> io::Result<()> {
        for (name, entry) in &before.entries {
            let path = directory.join(name);
            match (entry, self.entries.get(name)) {
                (_, Some(same)) if same == entry => {}
                // A file that is written over keeps its kind.
                (Entry::File(_), Some(Entry::File(_))) => {}
                (Entry::Directory, _) => fs::remove_dir(path)?,
                _ => fs::remove_file(path)?,
            }
        }
        for (name, entry) in &self.entries {
            if before.entries.get(name) == Some(entry) {
                continue;
            }
            let path = directory.join(name);
            match entry {
                Entry::File(bytes) => fs::write(path, bytes)?,
                Entry::Directory => fs::create_dir(path)?,
                Entry::Link(target) => symlink(target, path)?,
            }
        }
        Ok(())
    }

    /// Names of the rank files that are regular files, in order.
    #[must_use]
    pub fn rank_files(&self) -> Vec<String> {
        let is_rank_file = |entry: &(&String, &Entry)| {
            entry.0.ends_with(".trace") && matches!(entry.1, Entry::File(_))
        };
        let entries = self.entries.iter().filter(is_rank_file);
        entries.map(|(name, _)| name.clone()).collect()
    }

    /// The bytes of a file; empty if it is none.
    #[must_use]
    pub fn bytes(&self, name: &str) -> &[u8] {
        match self.entries.get(name) {
            Some(Entry::File(bytes)) => bytes,
            _ => &[],
        }
    }

    /// The bytes of a file, to be changed; `None` if it is none.
    pub fn bytes_mut(&mut self, name: &str) -> Option<&mut Vec<u8>> {
        match self.entries.get_mut(name) {
            Some(Entry::File(bytes)) => Some(bytes),
            _ => None,
        }
    }

    /// Puts a file in.
    pub fn put(&mut self, name: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.entries.insert(name.into(), Entry::File(bytes.into()));
    }
}
