//! Why a rank is late, in words: by what it did in front of its calls, where the kernel was asked.

use crate::analysis::{Analysis, ImbalanceSummary};
use crate::running::RunningSummary;
use crate::words::{counted, duration, percent};

/// From this part of the time on a thread counts as running, in percent.
const MOSTLY_RUNNING: i64 = 80;

/// What a rank did in front of its calls of an operation; `None` where nobody asked.
pub(crate) fn before<'a>(
    analysis: &'a Analysis,
    verdict: &ImbalanceSummary,
    rank: u32,
) -> Option<&'a RunningSummary> {
    let mut all = analysis.running.as_deref()?.iter();
    all.find(|sum| {
        let is_of_operation =
            sum.communicator == Some(verdict.communicator) && sum.operation == verdict.operation;
        is_of_operation && sum.place == "before" && sum.rank == rank && sum.elapsed_ns > 0
    })
}

/// Whether a thread was on a core nearly all the time.
pub(crate) fn is_mostly_running(sum: &RunningSummary) -> bool {
    sum.on_core_ns.saturating_mul(100) >= sum.elapsed_ns.saturating_mul(MOSTLY_RUNNING)
}

/// What the rank did: it computed, or it was not running.
pub(crate) fn sentence(before: &RunningSummary) -> String {
    let times = |n| counted(n, "time");
    let why = match (is_mostly_running(before), before.blocked, before.preempted) {
        (true, ..) => "it computed, or waited in a loop".to_owned(),
        (false, blocked, 0) => {
            format!(
                "it slept, waited for something or was stopped, {}",
                times(blocked)
            )
        }
        (false, 0, preempted) => format!("others got its core, {}", times(preempted)),
        (false, blocked, preempted) => format!(
            "others got its core {}, and it slept, waited for something or was stopped {}",
            times(preempted),
            times(blocked),
        ),
    };
    format!(
        "in the {} in front of it ({}) rank {} was on a core for {}: {why}",
        duration(before.elapsed_ns),
        counted(before.samples, "sample"),
        before.rank,
        percent(before.on_core_ns.min(before.elapsed_ns), before.elapsed_ns),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(on_core_ns: i64, blocked: u64, preempted: u64) -> RunningSummary {
        RunningSummary {
            rank: 3,
            communicator: Some(0),
            operation: "MPI_Barrier",
            place: "before",
            samples: 1,
            elapsed_ns: 1000,
            on_core_ns,
            blocked,
            preempted,
        }
    }

    #[test]
    fn a_sentence_tells_computing_from_sleeping_and_from_losing_the_core() {
        let cases = [
            (sum(800, 5, 5), "80 %: it computed, or waited in a loop"),
            (
                sum(799, 5, 0),
                "it slept, waited for something or was stopped, 5 times",
            ),
            (sum(0, 0, 1), "0 %: others got its core, 1 time"),
            (sum(10, 2, 7), "others got its core 7 times, and it slept"),
        ];
        for (sum, words) in cases {
            let sentence = sentence(&sum);
            assert!(sentence.contains(words), "{sentence}");
            assert!(sentence.starts_with("in the 1.00 us in front of it (1 sample) rank 3"));
        }
    }
}
