//! One process that examines case after case, and tells each on its stdout.
//!
//! A line before each case and one after it: where a case ends the process, the one that watches
//! it knows which it was.

use std::fs;
use std::io::{self, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use collbench_analyzer::Options;

use crate::base::Bases;
use crate::case::Case;
use crate::examine::{Failure, Further, Outcome, analyze_trace, examine};
use crate::trace::Trace;

/// Every so-manyth case gets a report with pictures, is compared with what it was before its mutations, and is
/// analysed several times.
const REPORT_EVERY: u64 = 32;

/// The cases of one process.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// Seed of all cases.
    pub seed: u64,
    /// Number of the first.
    pub first: u64,
    /// Numbers stay below this.
    pub end: u64,
    /// From one to the next.
    pub step: u64,
}

/// What the last panic said, and where: the hook is told, the unwinding is not.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// Examines the cases of a span, in the directory `scratch`, which exists and is this process's
/// own.
///
/// # Errors
/// If `scratch` or stdout cannot be written to.
pub fn work(span: Span, scratch: &Path, out: &mut dyn Write) -> anyhow::Result<()> {
    panic::set_hook(Box::new(|info| {
        let mut panic = PANIC.lock().unwrap_or_else(PoisonError::into_inner);
        *panic = info.to_string();
    }));
    let bases = Bases::generate(scratch)?;
    let directory = scratch.join("trace");
    fs::create_dir_all(&directory)?;
    let mut before = Trace::default();
    let mut number = span.first;
    while number < span.end {
        writeln!(out, "begin {number}")?;
        out.flush()?;
        let case = Case::new(&bases, span.seed, number);
        case.trace.replace(&before, &directory)?;
        forget_peak();
        let begin = Instant::now();
        let has_report = number.is_multiple_of(REPORT_EVERY);
        let examined = panic::catch_unwind(AssertUnwindSafe(|| {
            if has_report {
                examine_case(&case, scratch)
            } else {
                examine(&directory, case.known.as_ref(), None)
            }
        }));
        let micros = begin.elapsed().as_micros();
        let found = match examined {
            Ok(Ok(outcome)) => word(outcome).to_owned(),
            Ok(Err(failure)) => format!("failed {}", failure.escape_debug()),
            Err(_) => {
                let panic = PANIC.lock().unwrap_or_else(PoisonError::into_inner);
                format!("panicked {}", panic.escape_debug())
            }
        };
        writeln!(out, "end {number} {micros} {} {found}", peak_kib())?;
        before = case.trace;
        number = number.saturating_add(span.step);
    }
    out.flush()?;
    Ok(())
}

/// Looks at all there is to be seen of a case that is in the directory `trace` of `scratch`.
///
/// # Errors
/// As [`examine`]; and if `scratch` cannot be written to.
pub fn examine_case(case: &Case, scratch: &Path) -> Result<Outcome, Failure> {
    let before = scratch.join("before");
    let write = || -> io::Result<()> {
        if before.exists() {
            fs::remove_dir_all(&before)?;
        }
        fs::create_dir_all(&before)?;
        case.before.replace(&Trace::default(), &before)
    };
    write().map_err(|error| error.to_string())?;
    let baseline = analyze_trace(&before, &Options::default());
    let baseline = baseline.map_err(|error| format!("before all mutations: {error}"))?;
    let further = Further {
        report: &scratch.join("report"),
        baseline: &baseline,
    };
    examine(&scratch.join("trace"), case.known.as_ref(), Some(further))
}

pub(crate) const OUTCOMES: [Outcome; 3] =
    [Outcome::Complete, Outcome::Incomplete, Outcome::Refused];

pub(crate) fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Complete => "complete",
        Outcome::Incomplete => "incomplete",
        Outcome::Refused => "refused",
    }
}

/// Lets the peak of resident memory begin anew; where the kernel cannot, peaks are those of all
/// cases until then.
fn forget_peak() {
    let _: io::Result<()> = fs::write("/proc/self/clear_refs", "5");
}

/// Peak of resident memory, mapped pages included, in KiB; 0 where the kernel does not tell.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.unwrap_or(0)
}
