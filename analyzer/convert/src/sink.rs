//! A stream of bytes: to a file, compressed or not, or to standard output.

use std::fs::File;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

/// Where bytes go.
#[derive(Debug)]
pub(crate) enum Sink {
    File(File),
    Gzip(GzEncoder<File>),
    Stdout(io::Stdout),
}

impl Sink {
    /// To a file, compressed or not.
    pub(crate) fn to_file(file: File, is_compressed: bool) -> Self {
        if is_compressed {
            Self::Gzip(GzEncoder::new(file, Compression::fast()))
        } else {
            Self::File(file)
        }
    }

    /// To standard output.
    pub(crate) fn to_stdout() -> Self {
        Self::Stdout(io::stdout())
    }

    /// Ends the stream.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self {
            Self::File(_) => Ok(()),
            Self::Gzip(file) => file.finish().map(|_| ()),
            Self::Stdout(mut out) => out.flush(),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Gzip(file) => file.write(bytes),
            Self::Stdout(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Gzip(file) => file.flush(),
            Self::Stdout(out) => out.flush(),
        }
    }
}
