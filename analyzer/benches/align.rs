//! Bringing the clocks of 16 hosts to one time: by what each method is given.

use std::fmt::Write as _;
use std::path::PathBuf;

use collbench_analyzer::steps::{Clocks, Run};
use collbench_analyzer::{AlignmentMethod, Options, RunFiles, analyze};
use collbench_generate::generate;
use divan::{Bencher, black_box};
use tempfile::TempDir;

fn main() {
    divan::main();
}

/// What a trace has beside exchanges at both ends.
#[derive(Debug, Clone, Copy)]
enum Has {
    /// Enter and leave of allreduces.
    Collectives,
    /// And the messages inside them.
    Messages,
    /// Exchanges every second, too.
    ExchangesBetween,
}

/// A trace of 64 ranks and 100 s, with 1,000 allreduces.
fn trace(has: Has) -> (TempDir, PathBuf) {
    let between = match has {
        Has::ExchangesBetween => "n = 10\nevery_ns = 1000000000",
        _ => "",
    };
    let inside = match has {
        Has::Messages => "tree = \"binomial\"",
        _ => "latency = { base_ns = 60000 }",
    };
    let mut scenario = format!(
        "schema = 1\ntruth = \"counts\"\n\n[exchanges]\njitter_ns = 3000\n{between}\n\n\
         [network]\njitter = {{ exponential_ns = 3000 }}\n\n\
         [[program]]\noperation = \"MPI_Allreduce\"\nbytes = 8\nrepeat = 1000\n{inside}\n\
         work = [{{ constant_ns = 99900000 }}, {{ exponential_ns = 100000 }}]\n\n"
    );
    for host in 0..16i64 {
        let drift_ppm = (host * 7) % 50 - 25;
        let _ = write!(
            scenario,
            "[[hosts]]\nname = \"h{host}\"\nranks = 4\nclock = \"raw\"\n\
             offset_ns = {}\ndrift_ppm = {drift_ppm}\n\n",
            host * 1_234_567
        );
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("scenario.toml");
    std::fs::write(&file, scenario).expect("a small file");
    let trace = directory.path().join("trace");
    generate(&file, &trace, None, false).expect("a scenario");
    (directory, trace)
}

/// The smoother on exchanges alone: what is left when no pass over the calls is made.
#[divan::bench(args = [Has::Collectives, Has::ExchangesBetween])]
fn smooth_exchanges(bencher: Bencher<'_, '_>, has: Has) {
    let (_directory, trace) = trace(has);
    let files = RunFiles::open(&trace).expect("a trace");
    let run = Run::read(&files).expect("a trace");
    bencher.bench_local(|| Clocks::fit(black_box(&run)));
}

/// A whole analysis, whose clocks are aligned by everything that is there.
#[divan::bench(args = [Has::Collectives, Has::Messages, Has::ExchangesBetween], sample_count = 10)]
fn analysis_smooth(bencher: Bencher<'_, '_>, has: Has) {
    analysis(bencher, has, AlignmentMethod::Smooth);
}

/// The same, whose clocks are aligned from burst to burst: the difference is what smoothing costs.
#[divan::bench(args = [Has::Collectives, Has::Messages, Has::ExchangesBetween], sample_count = 10)]
fn analysis_piecewise(bencher: Bencher<'_, '_>, has: Has) {
    analysis(bencher, has, AlignmentMethod::Piecewise);
}

fn analysis(bencher: Bencher<'_, '_>, has: Has, method: AlignmentMethod) {
    let (_directory, trace) = trace(has);
    let options = Options {
        alignment: method,
        ..Options::default()
    };
    bencher.bench_local(|| {
        let files = RunFiles::open(black_box(&trace)).expect("a trace");
        analyze(&files, &options, &mut |_| {}).expect("a trace")
    });
}
