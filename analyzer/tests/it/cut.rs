//! Files that somebody cuts while they are analysed: no signal, no panic, no figure of what was half
//! there; the analysis is of what there is then, and names them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use collbench_analyzer::results::Remark;
use collbench_analyzer::{Analysis, AnalyzeError, Options, RunError, RunFiles, analyze};
use collbench_files::guard_mappings;

const SCENARIO: &str = r#"
schema = 1
name = "cut"
chunk_calls = 2000
[[hosts]]
name = "node1"
ranks = 2
clock = "raw"
[[program]]
repeat = 20000
steps = [
  { operation = "MPI_Allreduce", bytes = 64, work = [{ exponential_ns = 5000 }] },
]
"#;

fn trace_in(directory: &Path) -> (PathBuf, PathBuf) {
    guard_mappings();
    let trace = crate::seeds::trace_in(directory, SCENARIO, None);
    let mut files: Vec<PathBuf> = fs::read_dir(&trace)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "trace"))
        .collect();
    files.sort();
    (trace, files.remove(1))
}

/// The analysis of a trace, of which `cut` is called when something was read, with how often.
fn analyzed(trace: &Path, mut cut: impl FnMut(usize)) -> Result<Analysis, AnalyzeError> {
    let mut n = 0;
    let mut last = u64::MAX;
    let options = Options {
        window: Some(1 << 12),
        ..Options::default()
    };
    analyze(&RunFiles::open(trace)?, &options, &mut |progress| {
        // Of each way through the trace the first.
        if progress.n_done < last {
            cut(n);
            n += 1;
        }
        last = progress.n_done;
    })
}

fn set_length(path: &Path, length: u64) {
    let file = File::options().write(true).open(path).unwrap();
    file.set_len(length).unwrap();
}

#[test]
fn a_file_that_is_cut_once_is_analysed_as_it_is_then_and_named() {
    let directory = tempfile::tempdir().unwrap();
    let (trace, victim) = trace_in(directory.path());
    let length = fs::metadata(&victim).unwrap().len();
    // By pages, and within one.
    for cut in [length / 3, length - 1] {
        trace_in(directory.path());
        let mut n_cut = 0;
        let mut analysis = analyzed(&trace, |n| {
            if n == 0 {
                set_length(&victim, cut);
            }
            n_cut += 1;
        })
        .unwrap();
        assert!(n_cut > 1, "it was looked at once more");
        let remark = analysis
            .remarks
            .iter()
            .find(|remark| remark.code() == "became_shorter");
        let name = victim.file_name().unwrap().to_str().unwrap();
        let names = vec![name.to_owned()];
        assert_eq!(remark, Some(&Remark::BecameShorter { names }));
        assert!(!analysis.trace.complete, "cut to {cut} of {length}");
        // As if it had been so from the beginning.
        let again = analyzed(&trace, |_| {}).unwrap();
        analysis
            .remarks
            .retain(|remark| remark.code() != "became_shorter");
        assert_eq!(format!("{again:#?}"), format!("{analysis:#?}"));
    }
}

#[test]
fn a_file_that_is_cut_again_and_again_is_an_error_with_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let (trace, victim) = trace_in(directory.path());
    let length = fs::metadata(&victim).unwrap().len();
    let refused = analyzed(&trace, |n| {
        set_length(&victim, length - length / 8 * (n as u64 + 1))
    });
    let Err(AnalyzeError::Run(RunError::BecomesShorter { name, .. })) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(Some(name.as_str()), victim.file_name().unwrap().to_str());
}
