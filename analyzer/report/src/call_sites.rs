//! Functions and lines for the places from which collectives were called.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{CallSiteSummary, FrameSummary, Remark};
use collbench_sources::{Lines, lines_of};
use rayon::prelude::*;

use crate::symbols::Symbols;

/// Files of which a remark says that their lines are not known.
const MAX_REMARKS: usize = 3;

/// A file that addresses are in: its path, and its build id in hexadecimal digits.
type Module = (String, Option<String>);

/// Finds the functions and lines of all places, as [`LineFinder`] does.
pub fn find_lines(analysis: &mut Analysis, trace: &Path) {
    LineFinder::of_trace(trace).find(analysis);
}

/// What finds the functions and lines of places: in the trace, if they were kept there (see
/// [`keep_symbols`](crate::keep_symbols)), and in the files that the program was made of, as far as they are on
/// this machine and have not changed. Each address is looked for once.
#[derive(Debug)]
pub struct LineFinder {
    symbols: Symbols,
    /// By file why it has no lines.
    troubles: BTreeMap<String, String>,
}

impl LineFinder {
    /// What finds them for analyses of a trace.
    #[must_use]
    pub fn of_trace(trace: &Path) -> Self {
        Self {
            symbols: Symbols::of_trace(trace),
            troubles: BTreeMap::new(),
        }
    }

    /// Finds the functions and lines of all places. What is not found stays an address; a remark says why.
    pub fn find(&mut self, analysis: &mut Analysis) {
        self.find_at(&mut analysis.sites);
        add_remarks(analysis, &self.troubles);
    }

    /// Finds the functions and lines of places. What is not found stays an address.
    pub fn find_at(&mut self, sites: &mut [CallSiteSummary]) {
        let mut addresses: BTreeMap<Module, BTreeSet<u64>> = BTreeMap::new();
        let frames = sites.iter().flat_map(|site| &site.frames);
        for frame in frames.filter(|frame| !self.symbols.has(frame)) {
            if let Some(module) = module_of(frame) {
                addresses.entry(module).or_default().insert(frame.offset);
            }
        }
        let looked_up: Vec<(Module, Vec<u64>, Lines)> = addresses
            .into_par_iter()
            .map(|(module, addresses)| {
                let addresses: Vec<u64> = addresses.into_iter().collect();
                let build_id = module.1.as_deref().map(bytes_of).unwrap_or_default();
                let lines = lines_of(Path::new(&module.0), &build_id, &addresses);
                (module, addresses, lines)
            })
            .collect();
        for ((path, build_id), addresses, lines) in looked_up {
            if let Some(trouble) = lines.trouble {
                self.troubles.insert(path.clone(), trouble.to_string());
            }
            for (offset, frames) in addresses.into_iter().zip(lines.frames) {
                let at = (path.clone(), build_id.clone(), offset);
                self.symbols.add(at, frames);
            }
        }
        for site in sites {
            let frames = std::mem::take(&mut site.frames);
            for frame in frames {
                let known = self.symbols.at(&frame);
                if known.is_empty() {
                    site.frames.push(frame);
                } else {
                    site.frames.extend(known);
                }
            }
        }
    }
}

/// Remarks on the files of which lines were wanted and are not known.
fn add_remarks(analysis: &mut Analysis, troubles: &BTreeMap<String, String>) {
    let own = analysis.sites.iter().filter_map(CallSiteSummary::own_frame);
    let without = own.filter(|frame| frame.line.is_none());
    let modules: BTreeSet<String> = without.filter_map(|frame| frame.module.clone()).collect();
    let remarks: Vec<Remark> = modules
        .into_iter()
        .filter_map(|module| {
            let why = troubles.get(&module)?.clone();
            Some(Remark::LinesUnknown { module, why })
        })
        .take(MAX_REMARKS)
        .collect();
    analysis.remarks.extend(remarks);
}

fn module_of(frame: &FrameSummary) -> Option<Module> {
    Some((frame.module.clone()?, frame.build_id.clone()))
}

/// The bytes of hexadecimal digits.
fn bytes_of(digits: &str) -> Vec<u8> {
    let pairs = (0..digits.len() / 2).map(|i| digits.get(2 * i..2 * i + 2));
    pairs
        .map_while(|pair| u8::from_str_radix(pair?, 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_ids_are_read_from_their_digits() {
        assert_eq!(bytes_of("00ff1a"), [0, 255, 26]);
        assert_eq!(bytes_of(""), [0u8; 0]);
        assert_eq!(bytes_of("1"), [0u8; 0]);
    }
}
