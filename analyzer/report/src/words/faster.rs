//! What is predicted to make the run faster, in a sentence.

use collbench_analyzer::Analysis;
use collbench_text::inert;
use collbench_text::quantity::{counted, duration, size};

/// Columns of a method, and of the command line.
const MAX_METHOD: usize = 80;
const MAX_COMMAND: usize = 300;

/// What would be faster, how much of the run that saves, and the command that measures it; `None` where nothing is known that
/// would.
pub(crate) fn sentence(analysis: &Analysis) -> Option<String> {
    let faster = analysis.faster.as_ref()?;
    let percent = |ratio: f64| 100.0 * (1.0 - ratio);
    let bytes = match faster.bytes {
        0 => String::new(),
        bytes => format!(" of {}", size(bytes)),
    };
    let command = analysis.trace.command.join(" ");
    Some(format!(
        "{}{bytes} by {} is predicted to take {} instead of {}, and the run {:.0} % less time ({:.0} to {:.0} %), judging by its \
         first {}; collbench-tune run -- {} measures that",
        faster.operation,
        inert::line(&faster.method, MAX_METHOD),
        duration(faster.predicted_ns),
        duration(faster.ran_ns),
        percent(faster.run_median),
        percent(faster.run_p95),
        percent(faster.run_p05),
        counted(faster.collectives, "collective"),
        inert::line(&command, MAX_COMMAND),
    ))
}

#[cfg(test)]
mod tests {
    use collbench_analyzer::results::FasterSummary;

    use super::*;
    use crate::words::nothing::nothing;

    #[test]
    fn what_is_faster_is_said_with_its_band_and_its_command() {
        let mut analysis = nothing();
        assert_eq!(sentence(&analysis), None);
        analysis.trace.command = ["mpirun", "-n", "8", "./app"].map(str::to_owned).to_vec();
        analysis.faster = Some(FasterSummary {
            operation: "MPI_Allreduce".to_owned(),
            processes: 8,
            bytes: 4,
            method: "tree, ranks linear, hosts exchange".to_owned(),
            ran_ns: 6_310_000,
            predicted_ns: 2_590_000,
            run_p05: 0.52,
            run_median: 0.54,
            run_p95: 0.57,
            collectives: 400,
        });
        assert_eq!(
            sentence(&analysis).unwrap(),
            "MPI_Allreduce of 4 bytes by tree, ranks linear, hosts exchange is predicted to take 2.59 ms instead of 6.31 ms, and the \
             run 46 % less time (43 to 48 %), judging by its first 400 collectives; collbench-tune run -- mpirun -n 8 ./app \
             measures that"
        );
    }
}
