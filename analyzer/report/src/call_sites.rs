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

/// Finds the functions and lines of all places: in the trace, if they were kept there (see
/// [`keep_symbols`](crate::keep_symbols)), and in the files that the program was made of, as far as they are on
/// this machine and have not changed. What is not found stays an address; a remark says why.
pub fn find_lines(analysis: &mut Analysis, trace: &Path) {
    let symbols = Symbols::of_trace(trace);
    for site in &mut analysis.sites {
        let frames = std::mem::take(&mut site.frames);
        for frame in frames {
            let kept = symbols.at(&frame);
            if kept.is_empty() {
                site.frames.push(frame);
            } else {
                site.frames.extend(kept);
            }
        }
    }
    let mut addresses: BTreeMap<Module, BTreeSet<u64>> = BTreeMap::new();
    for frame in analysis.sites.iter().flat_map(|site| &site.frames) {
        if let Some(module) = module_of(frame).filter(|_| !is_known(frame)) {
            addresses.entry(module).or_default().insert(frame.offset);
        }
    }
    let mut troubles = BTreeMap::new();
    let looked_up: Vec<(Module, Vec<u64>, Lines)> = addresses
        .into_par_iter()
        .map(|(module, addresses)| {
            let addresses: Vec<u64> = addresses.into_iter().collect();
            let build_id = module.1.as_deref().map(bytes_of).unwrap_or_default();
            let lines = lines_of(Path::new(&module.0), &build_id, &addresses);
            (module, addresses, lines)
        })
        .collect();
    for (module, _, lines) in &looked_up {
        if let Some(trouble) = lines.trouble {
            troubles.insert(module.0.clone(), trouble.to_string());
        }
    }
    let found: BTreeMap<Module, BTreeMap<u64, Vec<FrameSummary>>> = looked_up
        .into_iter()
        .map(|(module, addresses, lines)| {
            let frames = lines.frames.into_iter().map(|frames| {
                let frames = frames.into_iter().map(|frame| FrameSummary {
                    function: frame.function,
                    file: frame.file,
                    line: frame.line,
                    inlined: frame.is_inlined,
                    ..FrameSummary::default()
                });
                frames.collect()
            });
            let frames = addresses.into_iter().zip(frames).collect();
            (module, frames)
        })
        .collect();
    for site in &mut analysis.sites {
        let frames = std::mem::take(&mut site.frames);
        for frame in frames {
            let module = module_of(&frame).filter(|_| !is_known(&frame));
            let known = module.and_then(|module| found.get(&module)?.get(&frame.offset));
            match known.filter(|known| !known.is_empty()) {
                None => site.frames.push(frame),
                Some(known) => site.frames.extend(known.iter().map(|of| FrameSummary {
                    module: frame.module.clone(),
                    build_id: frame.build_id.clone(),
                    offset: frame.offset,
                    ..of.clone()
                })),
            }
        }
    }
    add_remarks(analysis, &troubles);
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

/// Whether its function or line is known already.
fn is_known(frame: &FrameSummary) -> bool {
    frame.function.is_some() || frame.line.is_some()
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
