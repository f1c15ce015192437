//! Texts of many ranks that are written at the same time, and read one after the other.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::target;

/// Texts of all ranks together that are kept in memory, bytes; each rank's at least [`LEAST_TEXT`].
const MOST_TEXT: usize = 32 << 20;
const LEAST_TEXT: usize = 4 << 10;
/// The text of a rank that is kept in memory, at most.
const MOST_TEXT_OF_RANK: usize = 64 << 10;

/// A part of a text in the file.
#[derive(Debug, Clone, Copy)]
struct Piece {
    begin: u64,
    length: usize,
}

/// The text of a rank.
#[derive(Debug, Default)]
struct TextOfRank {
    pieces: Vec<Piece>,
    /// What comes behind them.
    last: String,
}

/// The texts of all ranks; what is long is in a file without a name.
#[derive(Debug)]
pub(super) struct Spool {
    path: PathBuf,
    file: Option<File>,
    length: u64,
    ranks: Vec<TextOfRank>,
    /// How long a text becomes in memory.
    limit: usize,
}

impl Spool {
    /// Of so many ranks, nothing yet. `path`: where there may be a file for a moment.
    pub(super) fn new(path: PathBuf, n_ranks: usize) -> Self {
        let limit = (MOST_TEXT / n_ranks.max(1)).clamp(LEAST_TEXT, MOST_TEXT_OF_RANK);
        Self {
            path,
            file: None,
            length: 0,
            ranks: std::iter::repeat_with(TextOfRank::default)
                .take(n_ranks)
                .collect(),
            limit,
        }
    }

    /// Where the file is, for messages.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// How many ranks there are.
    pub(super) fn n_ranks(&self) -> usize {
        self.ranks.len()
    }

    /// The text of a rank, to add to.
    pub(super) fn text(&mut self, rank: usize) -> &mut String {
        &mut self.ranks[rank].last
    }

    /// Puts away the text of a rank if it has become long.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn put_away(&mut self, rank: usize) -> io::Result<()> {
        let text = &mut self.ranks[rank];
        if text.last.len() < self.limit {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(target::create_unnamed(&self.path)?),
        };
        file.write_all(text.last.as_bytes())?;
        text.pieces.push(Piece {
            begin: self.length,
            length: text.last.len(),
        });
        self.length += text.last.len() as u64;
        text.last.clear();
        Ok(())
    }

    /// Writes the text of a rank.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn write(&self, rank: usize, out: &mut impl Write) -> io::Result<()> {
        let text = &self.ranks[rank];
        let mut buffer = Vec::new();
        for piece in &text.pieces {
            buffer.resize(piece.length, 0);
            if let Some(file) = &self.file {
                file.read_exact_at(&mut buffer, piece.begin)?;
            }
            out.write_all(&buffer)?;
        }
        out.write_all(text.last.as_bytes())
    }

    /// Whether a rank has no text.
    pub(super) fn is_empty(&self, rank: usize) -> bool {
        self.ranks[rank].pieces.is_empty() && self.ranks[rank].last.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_that_are_written_in_turns_are_read_rank_by_rank_and_leave_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let mut spool = Spool::new(directory.path().join("spool"), 3);
        let mut expected = [String::new(), String::new()];
        for line in 0..20_000 {
            for (rank, expected) in expected.iter_mut().enumerate() {
                let text = format!("{rank} {line}\n");
                expected.push_str(&text);
                spool.text(rank).push_str(&text);
                spool.put_away(rank).unwrap();
            }
        }
        assert!(spool.length > 100_000 && spool.text(0).len() < MOST_TEXT_OF_RANK);
        for (rank, expected) in expected.iter().enumerate() {
            let mut written = Vec::new();
            spool.write(rank, &mut written).unwrap();
            assert!(written == expected.as_bytes(), "rank {rank}");
        }
        assert!(spool.is_empty(2) && !spool.is_empty(1));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
