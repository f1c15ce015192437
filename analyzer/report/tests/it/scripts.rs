//! Calls from scripts: what is said where their lines are not known.

use std::path::Path;

use collbench_analyzer::results::Remark;
use collbench_formats::{
    CallSite, CallSiteChange, Definition, Layer, LayerState, Module, Operation, Record, SCRIPT,
    ScriptFunction, SiteFrame,
};
use collbench_report::find_lines;

use crate::built::{START, TestTrace, call};

/// Why lines of calls from a file that is not there are not known. `scripts`: whether the layer was on, and why not.
/// With `line`, a line of a script is known of one call from it.
fn why(path: &str, scripts: Option<(bool, &str)>, line: Option<u64>) -> Option<String> {
    let mut trace = TestTrace::new(2);
    for process in &mut trace.processes {
        let layers = &mut process.identity.layers;
        layers.push(LayerState::new(Layer::Sites, true, ""));
        layers.extend(scripts.map(|(on, why)| LayerState::new(Layer::Scripts, on, why)));
        let interpreter = |address| SiteFrame { module: 0, address };
        let script = line.map(|line| SiteFrame {
            module: SCRIPT,
            address: line,
        });
        // MPI_Finalize comes from the interpreter itself.
        let ways = [
            [interpreter(16)].into_iter().chain(script).collect(),
            vec![interpreter(32)],
        ];
        process.definitions.push(Definition::Module(Module {
            index: 0,
            path: path.to_owned(),
            build_id: Vec::new(),
        }));
        process
            .definitions
            .push(Definition::ScriptFunction(ScriptFunction {
                index: 0,
                file: "writer.py".to_owned(),
                name: "main".to_owned(),
            }));
        for (index, frames) in (0..).zip(ways) {
            let is_whole = true;
            let site = CallSite {
                index,
                frames,
                is_whole,
            };
            process.definitions.push(Definition::CallSite(site));
            let at = 1000 * (u64::from(index) + 1);
            let words = CallSiteChange { index }.words();
            process.call(Record::of_words(words, START + at - 1, 0));
            process.call(call(Operation::Barrier, 0, -1, 0, (at, at + 100)));
        }
    }
    let mut analysis = trace.analyze();
    find_lines(&mut analysis, Path::new("/nowhere"));
    let mut remarks = analysis.remarks.iter();
    remarks.find_map(|remark| match remark {
        Remark::LinesUnknown { module, why } => {
            assert_eq!(module, path);
            Some(why.clone())
        }
        _ => None,
    })
}

#[test]
fn of_an_interpreter_lines_of_scripts_are_wanted_and_not_its_own() {
    let why = |path, scripts, line| why(path, scripts, line).unwrap_or_default();
    let cure = "is an interpreter, and lines of its scripts were not recorded (record them with --layers +scripts)";
    let off = Some((false, "not requested (--layers +scripts)"));
    for path in [
        "/nowhere/python3.11",
        "/nowhere/libpython3.11.so.1.0",
        "/nowhere/libR.so",
    ] {
        assert_eq!(why(path, off, None), cure, "{path}");
        assert_eq!(why(path, None, None), cure, "{path}");
    }
    let python = "/nowhere/python3.7";
    let reason = "lines of scripts of Python are known of CPython 3.8 to 3.13 only";
    assert_eq!(
        why(python, Some((false, reason)), None),
        cure.replace("record them with --layers +scripts", reason)
    );
    // With lines of scripts nothing is missing; else it is as of any other program.
    assert_eq!(why(python, Some((true, "")), Some(17)), "");
    let gone = "is not there, or cannot be read";
    assert_eq!(why(python, Some((true, "")), None), gone);
    assert_eq!(why("/nowhere/pythonic", off, None), gone);
}
