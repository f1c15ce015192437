//! Functions and lines that were found once, kept in the trace: for when the machine or the files are gone.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use collbench_analyzer::Analysis;
use collbench_analyzer::results::FrameSummary;
use collbench_files::Folder;
use collbench_sources::SourceFrame;
use serde::{Deserialize, Serialize};

use crate::page::{ReportDirectory, ReportError};

/// The file in the trace.
const FILE: &str = "symbols.json";
const SCHEMA: &str = "collbench.symbols/1";
/// A longer file is not read, bytes.
const MAX_BYTES: u64 = 256 << 20;

/// The functions at an address, as a document.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Entry {
    /// Executable or library.
    module: String,
    /// Its build id; null where it has none.
    build_id: Option<String>,
    /// The address in it.
    offset: u64,
    /// The innermost first.
    functions: Vec<Function>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Function {
    /// Its name; null where it is not known.
    function: Option<String>,
    /// Source file.
    file: Option<String>,
    /// Line in that.
    line: Option<u32>,
    /// Whether it was inlined into the one that follows.
    inlined: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct File {
    schema: String,
    /// What is at each address.
    addresses: Vec<Entry>,
}

/// What stands for an address: module, build id, offset.
pub(crate) type Key = (String, Option<String>, u64);

/// That of a frame; `None` of code that is in no file.
fn key(frame: &FrameSummary) -> Option<Key> {
    Some((frame.module.clone()?, frame.build_id.clone(), frame.offset))
}

/// Functions and lines by address.
#[derive(Debug, Default)]
pub(crate) struct Symbols(BTreeMap<Key, Vec<Function>>);

impl Symbols {
    /// Those of a trace; none if it has no such file, or a damaged one.
    pub(crate) fn of_trace(trace: &Path) -> Self {
        Self::read(trace).unwrap_or_default()
    }

    fn read(trace: &Path) -> Option<Self> {
        let file = Folder::open(trace).ok()?.file(FILE).ok()?;
        let mut bytes = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
        let file: File = serde_json::from_slice(&bytes).ok()?;
        if file.schema != SCHEMA {
            return None;
        }
        let entries = file.addresses.into_iter();
        let of_key = entries.map(|of| ((of.module, of.build_id, of.offset), of.functions));
        Some(Self(of_key.collect()))
    }

    /// Whether the functions at the address of a frame were looked for, or need not be.
    pub(crate) fn has(&self, frame: &FrameSummary) -> bool {
        key(frame).is_none_or(|key| self.0.contains_key(&key))
    }

    /// Adds the functions at an address, the innermost first; none if none are known.
    pub(crate) fn add(&mut self, at: Key, frames: Vec<SourceFrame>) {
        let functions = frames.into_iter().map(|of| Function {
            function: of.function,
            file: of.file,
            line: of.line,
            inlined: of.is_inlined,
        });
        self.0.insert(at, functions.collect());
    }

    /// The functions at the address of a frame, the innermost first; empty where none are known.
    pub(crate) fn at(&self, frame: &FrameSummary) -> Vec<FrameSummary> {
        let functions = key(frame).and_then(|key| self.0.get(&key));
        let functions = functions.map_or(&[][..], Vec::as_slice);
        let frames = functions.iter().map(|of| FrameSummary {
            function: of.function.clone(),
            file: of.file.clone(),
            line: of.line,
            inlined: of.inlined,
            text: None,
            ..frame.clone()
        });
        frames.collect()
    }
}

/// Keeps the functions and lines that are known of the places of a run in its trace.
///
/// # Errors
/// [`ReportError`] names the file that could not be written.
pub fn keep_symbols(analysis: &Analysis, trace: &Path) -> Result<(), ReportError> {
    let mut found: BTreeMap<Key, Vec<Function>> = BTreeMap::new();
    for site in &analysis.sites {
        // Functions that were inlined at one address follow each other.
        for at_address in site.frames.chunk_by(FrameSummary::is_at_address_of) {
            let Some(module) = &at_address[0].module else {
                continue;
            };
            let is_known = |frame: &FrameSummary| frame.function.is_some() || frame.line.is_some();
            if !at_address.iter().all(is_known) {
                continue;
            }
            let (build_id, offset) = (at_address[0].build_id.clone(), at_address[0].offset);
            let functions = at_address.iter().map(|frame| Function {
                function: frame.function.clone(),
                file: frame.file.clone(),
                line: frame.line,
                inlined: frame.inlined,
            });
            found.insert((module.clone(), build_id, offset), functions.collect());
        }
    }
    let addresses = found.into_iter();
    let addresses = addresses.map(|((module, build_id, offset), functions)| Entry {
        module,
        build_id,
        offset,
        functions,
    });
    let document = File {
        schema: SCHEMA.to_owned(),
        addresses: addresses.collect(),
    };
    ReportDirectory::at(trace)?.write(FILE, &crate::to_json(&document))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_that_of_the_types() {
        collbench_schemas::check::<super::File>(super::SCHEMA);
    }
}
