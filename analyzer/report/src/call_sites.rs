//! Functions and lines for the places from which collectives were called.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{CallSiteSummary, FrameSummary, Remark};
use collbench_sources::{Lines, lines_of};
use collbench_text::inert;
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
    // What is wanted of an interpreter are lines of its scripts.
    let of_scripts = analysis.sites.iter().filter(|site| runs_script(site));
    let with_scripts: BTreeSet<&str> = of_scripts
        .flat_map(|site| &site.frames)
        .filter_map(|frame| frame.module.as_deref())
        .collect();
    let remarks: Vec<Remark> = modules
        .into_iter()
        .filter(|module| !with_scripts.contains(&**module))
        .filter_map(|module| {
            let why = troubles.get(&module)?.clone();
            let why = scripts_not_recorded(analysis, &module).unwrap_or(why);
            Some(Remark::LinesUnknown { module, why })
        })
        .take(MAX_REMARKS)
        .collect();
    analysis.remarks.extend(remarks);
}

/// Whether a call was made from a line of a script.
fn runs_script(site: &CallSiteSummary) -> bool {
    let is_script = |frame: &FrameSummary| frame.module.is_none() && frame.line.is_some();
    site.frames.last().is_some_and(is_script)
}

/// Why no lines of the scripts of an interpreter were recorded, and what to do about it; `None` of other files, and where
/// the layer was on.
fn scripts_not_recorded(analysis: &Analysis, module: &str) -> Option<String> {
    let layer = analysis.trace.layers.get("scripts");
    if !is_interpreter(module) || layer.is_some_and(|layer| layer.on) {
        return None;
    }
    let reason = layer.and_then(|layer| layer.reason.as_deref());
    let has_cure = |reason: &str| {
        ["not requested", "not known to the recorder"]
            .iter()
            .any(|of| reason.starts_with(of))
    };
    let reason = reason.filter(|reason| !has_cure(reason));
    Some(format!(
        "is an interpreter, and lines of its scripts were not recorded ({})",
        reason.map_or_else(
            || "record them with --layers +scripts".to_owned(),
            |reason| inert::line(reason, 120)
        )
    ))
}

/// Whether a file is called like CPython or R, or the library of one: `python3.11`, `libpython3.11.so.1.0`, `R`.
fn is_interpreter(module: &str) -> bool {
    let name = module.rsplit('/').next().unwrap_or(module);
    let name = name.strip_prefix("lib").unwrap_or(name);
    let of_python = name.strip_prefix("python");
    of_python.is_some_and(|rest| rest.chars().all(|c| !c.is_alphabetic()) || rest.contains(".so"))
        || name == "R"
        || name == "R.so"
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
