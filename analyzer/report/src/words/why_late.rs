//! Why a rank is late, or a message takes long, in sentences: by whether the ranks were running before their
//! calls and in them, where the layer `switches` was recorded.

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{
    ImbalanceSummary, MOSTLY_RUNNING, OperationSummary, RunningSummary,
};
use collbench_text::quantity::{counted, duration, percent};

/// What a rank did before its calls of an operation; `None` where that was not recorded.
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
    is_mostly(sum.on_core_ns, sum.elapsed_ns)
}

/// Whether a time on a core, ns, is nearly all of a time, ns.
pub(crate) fn is_mostly(on_core_ns: i64, elapsed_ns: i64) -> bool {
    on_core_ns.saturating_mul(100) >= elapsed_ns.saturating_mul(MOSTLY_RUNNING)
}

/// Whether the rank computed, slept, or lost its core to others: preempted, or because it yielded, which the
/// kernel does not count apart.
pub(crate) fn sentence(before: &RunningSummary) -> String {
    let times = |n| counted(n, "time");
    let why = match (is_mostly_running(before), before.blocked, before.preempted) {
        (true, ..) => "it computed or waited in a loop".to_owned(),
        // It had left its core before that time began.
        (false, 0, 0) => "it was not running; why was not recorded".to_owned(),
        (false, blocked, 0) => format!("it slept, blocked or was stopped {}", times(blocked)),
        (false, 0, preempted) => format!("other threads got its core {}", times(preempted)),
        (false, blocked, preempted) => format!(
            "other threads got its core {}, and it slept, blocked or was stopped {}",
            times(preempted),
            times(blocked),
        ),
    };
    format!(
        "before the call, rank {} was on a core for {} of {} ({}): {why}",
        before.rank,
        percent(before.on_core_ns.min(before.elapsed_ns), before.elapsed_ns),
        duration(before.elapsed_ns),
        counted(before.samples, "sample"),
    )
}

/// Whether the two ends of a hop were running in long calls of its operation (of all payloads together): if
/// so, the network is slow or the algorithm. `None` where that was not recorded, or no call was long.
pub(crate) fn inside(
    analysis: &Analysis,
    operation: &OperationSummary,
    ends: [u32; 2],
) -> Option<String> {
    let all = analysis.running.as_deref()?;
    let found = ends.map(|rank| {
        all.iter().find(|sum| {
            let is_of_operation =
                sum.operation == operation.operation && sum.communicator == operation.communicator;
            is_of_operation && sum.place == "inside" && sum.rank == rank && sum.elapsed_ns > 0
        })
    });
    let found: Vec<&RunningSummary> = found.into_iter().flatten().collect();
    inside_in_words(&operation.operation, &found)
}

fn inside_in_words(operation: &str, found: &[&RunningSummary]) -> Option<String> {
    let ends: Vec<String> = found.iter().map(|sum| end(sum)).collect();
    let ends = match &ends[..] {
        [] => return None,
        [only] => only.clone(),
        [one, other, ..] => format!("{one}, and {other}"),
    };
    let is_network = found.len() == 2 && found.iter().all(|sum| is_mostly_running(sum));
    let conclusion = if is_network {
        ": both were running, so it is the network or the algorithm"
    } else {
        ""
    };
    Some(format!(
        " In {operation} calls of 100 us or more, {ends}{conclusion}."
    ))
}

fn end(sum: &RunningSummary) -> String {
    let times = |n| counted(n, "time");
    let why = match (sum.blocked, sum.preempted) {
        (0, 0) => String::new(),
        (blocked, 0) => format!("; slept {}", times(blocked)),
        (0, preempted) => format!("; lost its core {}", times(preempted)),
        (blocked, preempted) => {
            format!(
                "; lost its core {}, slept {}",
                times(preempted),
                times(blocked)
            )
        }
    };
    format!(
        "rank {} was on a core for {} of {} ({}{why})",
        sum.rank,
        percent(sum.on_core_ns.min(sum.elapsed_ns), sum.elapsed_ns),
        duration(sum.elapsed_ns),
        counted(sum.samples, "sample"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(on_core_ns: i64, blocked: u64, preempted: u64) -> RunningSummary {
        RunningSummary {
            rank: 3,
            communicator: Some(0),
            operation: "MPI_Barrier".into(),
            place: "before".into(),
            samples: 1,
            elapsed_ns: 1000,
            on_core_ns,
            blocked,
            preempted,
        }
    }

    #[test]
    fn a_hop_is_slow_by_its_ends_or_by_the_network() {
        let (running, waiting) = (sum(900, 0, 0), sum(70, 0, 6));
        let words = |found: &[&RunningSummary]| inside_in_words("MPI_Barrier", found);
        assert_eq!(words(&[]), None);
        assert_eq!(
            words(&[&running, &running]).unwrap(),
            " In MPI_Barrier calls of 100 us or more, rank 3 was on a core for 90 % of 1.00 us (1 \
             sample), and rank 3 was on a core for 90 % of 1.00 us (1 sample): both were running, so it is \
             the network or the algorithm."
        );
        let one = words(&[&waiting]).unwrap();
        let end = "for 7 % of 1.00 us (1 sample; lost its core 6 times).";
        assert!(one.ends_with(end), "{one}");
        let both = words(&[&running, &waiting]).unwrap();
        assert!(!both.contains("network") && both.ends_with(end), "{both}");
    }

    #[test]
    fn a_sentence_distinguishes_computing_sleeping_and_preemption() {
        let cases = [
            (
                sum(800, 5, 5),
                "80 % of 1.00 us (1 sample): it computed or waited in a loop",
            ),
            (sum(799, 5, 0), "it slept, blocked or was stopped 5 times"),
            (
                sum(0, 0, 1),
                "0 % of 1.00 us (1 sample): other threads got its core 1 time",
            ),
            (
                sum(0, 0, 0),
                "0 % of 1.00 us (1 sample): it was not running; why was not recorded",
            ),
            (
                sum(10, 2, 7),
                "other threads got its core 7 times, and it slept, blocked",
            ),
        ];
        for (sum, words) in cases {
            let sentence = sentence(&sum);
            assert!(sentence.contains(words), "{sentence}");
            assert!(sentence.starts_with("before the call, rank 3 was on a core for "));
        }
    }
}
