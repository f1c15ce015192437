//! From the times of nonblocking calls, and of their messages, to what hinders the overlap.

use crate::results::overlap::{OverlapDiagnosis, OverlapSummary, SentSummary};
use crate::sums::operation::OperationTally;
use crate::sums::send_times::SendTimes;

/// Shares that differ by less than this are taken for equal.
const NEAR: f64 = 0.2;

/// Times of all calls of a nonblocking operation together, ns.
#[derive(Debug, Clone, Copy)]
struct Times {
    initiation_ns: f64,
    between_ns: f64,
    tests_ns: f64,
    /// In completing calls, without waits for processes that initiate late.
    completion_ns: f64,
}

/// How far an operation went on between its calls; `None` of blocking operations, and without
/// completed calls.
pub(crate) fn overlap(tally: &OperationTally) -> Option<OverlapSummary> {
    let overlap = tally.overlap.as_deref()?;
    if overlap.completion.n() == 0 {
        return None;
    }
    let waits_ns = tally.lags_and_waits.waits().total();
    let (between_ns, bound_ns) = (overlap.between.total(), overlap.overlap_bound.total());
    let times = Times {
        initiation_ns: overlap.initiation.total() as f64,
        between_ns: between_ns as f64,
        tests_ns: between_ns.saturating_sub(bound_ns).max(0) as f64,
        completion_ns: overlap.completion.total().saturating_sub(waits_ns).max(0) as f64,
    };
    let sent = &overlap.sends;
    let n_sent = sent.initiating + sent.between + sent.completing;
    Some(OverlapSummary {
        diagnosis: times.diagnosis(sent),
        sent: (n_sent > 0).then(|| SentSummary {
            initiating: sent.initiating,
            between: sent.between,
            outside_mpi: sent.outside_mpi,
            completing: sent.completing,
            first_in_completion_ns: sent.first_in_completion.summary(None),
        }),
    })
}

impl Times {
    fn diagnosis(self, sent: &SendTimes) -> OverlapDiagnosis {
        let in_mpi_ns = self.initiation_ns + self.tests_ns + self.completion_ns;
        if self.between_ns - self.tests_ns <= NEAR * in_mpi_ns {
            return OverlapDiagnosis::LittleBetween;
        }
        let later = (sent.between + sent.completing) as f64;
        // In which of its tests a collective went on is not recorded. Where there is a single step,
        // all is sent at once, and nothing shows when it arrived.
        if later == 0.0 || self.tests_ns > NEAR * self.between_ns {
            return OverlapDiagnosis::NotVisible;
        }
        // Of messages sent at one rate between the calls and in the completing ones, as many as the
        // part of the time are sent between.
        let part = self.between_ns / (self.between_ns + self.completion_ns);
        let progress = sent.between as f64 / later / part;
        if progress >= 1.0 - NEAR {
            OverlapDiagnosis::GoodOverlap
        } else if progress > NEAR || has_first_step_arrived(sent) {
            OverlapDiagnosis::FirstStepOnly
        } else {
            OverlapDiagnosis::NoProgression
        }
    }
}

/// Whether completing calls could go on with the second step soon after they began.
fn has_first_step_arrived(sent: &SendTimes) -> bool {
    let first_ns = sent.first_in_completion.quantile(50);
    let longest_ns = sent.longest_completion.quantile(50);
    let is_soon = |(first, longest): (i64, i64)| first as f64 <= NEAR * longest as f64;
    sent.initiating > 0 && first_ns.zip(longest_ns).is_some_and(is_soon)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 10 calls with 1 us before, 100 us between, of that `tests_us` in tests, and 50 us after.
    fn diagnosis(sent: [u64; 3], first_us: i64, tests_us: f64) -> OverlapDiagnosis {
        let mut sends = SendTimes {
            initiating: sent[0],
            between: sent[1],
            completing: sent[2],
            ..SendTimes::default()
        };
        for _ in 0..sent[2] {
            sends.first_in_completion.add(first_us * 1000);
            sends.longest_completion.add(60_000);
        }
        let times = Times {
            initiation_ns: 10e3,
            between_ns: 1e6,
            tests_ns: tests_us * 10e3,
            completion_ns: 500e3,
        };
        times.diagnosis(&sends)
    }

    #[test]
    fn what_is_sent_between_the_calls_is_progress() {
        use OverlapDiagnosis::{FirstStepOnly, GoodOverlap, NoProgression, NotVisible};
        // Two thirds of the time are between: with two thirds of the messages all goes on.
        assert_eq!(diagnosis([20, 60, 30], 30, 0.0), GoodOverlap);
        assert_eq!(diagnosis([20, 90, 0], 30, 0.0), GoodOverlap);
        assert_eq!(diagnosis([20, 30, 60], 30, 0.0), FirstStepOnly);
        assert_eq!(diagnosis([20, 0, 90], 30, 0.0), NoProgression);
        // Completing calls can send at once.
        assert_eq!(diagnosis([20, 0, 90], 3, 0.0), FirstStepOnly);
        // But nothing was sent whose arrival that would show.
        assert_eq!(diagnosis([0, 0, 90], 3, 0.0), NoProgression);
        assert_eq!(diagnosis([90, 0, 0], 0, 0.0), NotVisible);
        assert_eq!(diagnosis([0, 0, 0], 0, 0.0), NotVisible);
    }

    #[test]
    fn time_in_tests_is_no_time_for_the_program() {
        assert_eq!(
            diagnosis([20, 60, 30], 30, 10.0),
            OverlapDiagnosis::GoodOverlap
        );
        assert_eq!(
            diagnosis([20, 60, 30], 30, 50.0),
            OverlapDiagnosis::NotVisible
        );
        assert_eq!(
            diagnosis([20, 60, 30], 30, 90.0),
            OverlapDiagnosis::LittleBetween
        );
    }
}
