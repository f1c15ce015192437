use super::*;
use crate::words::nothing::nothing;
use collbench_analyzer::results::SharedCores;

#[test]
fn a_period_is_told_in_time_or_in_steps_or_as_either() {
    let course = |basis, every, calls_per_iteration| Course {
        period_ns: Some(6_000_000),
        basis,
        every,
        calls_per_iteration,
        ..Course::new(CourseKind::Period)
    };
    let steps = Some(PeriodBasis::Steps);
    for (course, words) in [
        (
            course(Some(PeriodBasis::Time), None, None),
            ", every 6.00 ms",
        ),
        (course(None, None, None), ", every 6.00 ms"),
        (course(steps, Some(3), Some(1)), ", at every 3rd call"),
        (course(steps, Some(7), None), ", at every 7th collective"),
        (
            course(steps, Some(1), Some(2)),
            ", in every iteration of the program's loop",
        ),
        (
            course(None, Some(2), Some(4)),
            ", every 6.00 ms or in every 2nd iteration of the program's loop (its steps are \
             too regular to tell)",
        ),
    ] {
        assert_eq!(period(&course).as_deref(), Some(words));
    }
    assert_eq!(period(&Course::new(CourseKind::Period)), None);
}

fn cause(kind: CauseKind, place: CausePlace) -> FoundCause {
    FoundCause {
        kind,
        by: Some(LateBy::Computing),
        place: Some(place),
        ranks: Vec::new(),
        partner: None,
        origin: None,
        operation: None,
        communicator: None,
        is_completing: false,
        site: None,
        cost_ns: 2_000_000_000,
        of: CostOf::Waiting,
        direct_ns: 2_000_000_000,
        propagated_ns: 0,
        share: Some(0.2),
        run_shorter_ns: None,
        course: None,
        confidence: Confidence::Sure,
        instances: 1,
        largest: None,
        explained_by: None,
        matters: true,
    }
}

#[test]
fn who_is_late_for_the_first_collective_is_told_by_how_much() {
    let analysis = nothing();
    let late = FoundCause {
        course: Some(Course {
            late_ns: Some(1_000_000_000),
            ..Course::new(CourseKind::AtStart)
        }),
        ..cause(CauseKind::LateRank, CausePlace::Rank(3))
    };
    assert_eq!(
        what(&analysis, &late),
        "rank 3 is late for the first collective by 1.00 s: since MPI_Init it is longer outside of \
         MPI (computing, reading input, ...)"
    );
    let several = FoundCause {
        ranks: vec![3, 4],
        by: Some(LateBy::Io),
        ..late
    };
    let words = what(&analysis, &several);
    assert!(
        words.starts_with("ranks 3-4 are late") && words.ends_with("they are longer in MPI-IO"),
        "{words}"
    );
}

#[test]
fn ranks_that_are_late_alike_or_waited_for_in_messages_are_told() {
    let analysis = nothing();
    let alike = FoundCause {
        ranks: vec![4, 5, 6, 7],
        ..cause(CauseKind::Imbalance, CausePlace::Communicator(None))
    };
    let words = what(&analysis, &alike);
    assert!(
        words.starts_with("ranks 4-7 have more to do than the other ranks")
            && words.ends_with("they compute longer, or are interrupted"),
        "{words}"
    );
    let together = FoundCause {
        ranks: vec![4, 5],
        course: Some(Course {
            period_ns: Some(100_000_000),
            basis: Some(PeriodBasis::Time),
            ..Course::new(CourseKind::Period)
        }),
        ..alike
    };
    let words = what(&analysis, &together);
    assert!(
        words.starts_with("ranks 4-5 of ")
            && words.contains(" are late together: they compute longer, or are interrupted")
            && words.ends_with(", every 100 ms"),
        "{words}"
    );
    assert_eq!(
        next(&analysis, &together),
        "look for what stops ranks 4-5 every 100 ms: another process, a timer, a thread that runs now and then"
    );
    let of_messages = FoundCause {
        of: CostOf::PointToPoint,
        ..cause(CauseKind::LateRank, CausePlace::Rank(0))
    };
    assert_eq!(
        what(&analysis, &of_messages),
        "others wait in point-to-point communication for rank 0, which computes longer, or is interrupted"
    );
    let asleep = FoundCause {
        by: Some(LateBy::Sleeping),
        ..of_messages
    };
    assert_eq!(
        what(&analysis, &asleep),
        "others wait in point-to-point communication for rank 0, which sleeps or is stopped"
    );
    assert_eq!(
        next(&analysis, &asleep),
        "look at what keeps rank 0 off its cores: other processes, binding, file I/O"
    );
    let preempted = FoundCause {
        kind: CauseKind::Imbalance,
        by: Some(LateBy::Preempted),
        ranks: vec![2, 3],
        ..asleep
    };
    assert_eq!(
        what(&analysis, &preempted),
        "others wait in point-to-point communication for ranks 2-3, which are preempted"
    );
    assert_eq!(
        next(&analysis, &preempted),
        "look at what keeps ranks 2-3 off their cores: other processes, binding, file I/O"
    );
    let chain = FoundCause {
        by: Some(LateBy::PointToPoint),
        partner: Some(6),
        origin: Some(0),
        ..cause(CauseKind::LateRank, CausePlace::Rank(7))
    };
    assert_eq!(
        what(&analysis, &chain),
        "rank 7 is late: it waits in point-to-point communication with rank 6, which waits for rank 0 \
         in turn, directly or through others"
    );
}

#[test]
fn who_is_waited_for_in_completing_calls_and_messages_without_a_culprit_are_told() {
    let analysis = nothing();
    let to_complete = FoundCause {
        of: CostOf::OperationTime,
        ..cause(CauseKind::LateRank, CausePlace::Rank(3))
    };
    assert_eq!(
        what(&analysis, &to_complete),
        "others wait in the calls that complete nonblocking collectives for rank 3, which computes \
         longer, or is interrupted"
    );
    assert!(next(&analysis, &to_complete).contains("between calls of MPI"));
    let nobody = FoundCause {
        by: Some(LateBy::PointToPoint),
        ..cause(CauseKind::Imbalance, CausePlace::Communicator(None))
    };
    let words = what(&analysis, &nobody);
    assert!(
        words.starts_with("point-to-point communication takes some ranks of")
            && words.ends_with("longer than others, and none stands out"),
        "{words}"
    );
    assert!(next(&analysis, &nobody).starts_with("look at the messages before"));
}

#[test]
fn of_a_rank_that_is_late_to_collectives_and_to_messages_there_is_one_sentence() {
    let mut analysis = nothing();
    let to_collectives = cause(CauseKind::LateRank, CausePlace::Rank(0));
    let to_messages = FoundCause {
        of: CostOf::PointToPoint,
        run_shorter_ns: Some(1_000_000),
        ..to_collectives.clone()
    };
    analysis.causes = vec![to_collectives, to_messages];
    analysis.looked_at.to_ns = 40_000_000;
    assert!(begin_with_a_culprit(&analysis));
    // Less than one part in fifty.
    analysis.looked_at.to_ns = 60_000_000;
    assert!(!begin_with_a_culprit(&analysis));
    let all = sentences(&analysis);
    assert_eq!(all.len(), 2, "{all:?}");
    assert!(
        all[0].contains(
            "costs 2.00 s of waiting in point-to-point communication (20 % of the time of all ranks) \
             and 2.00 s of waiting in collectives (20 %)"
        ),
        "{all:?}"
    );
    assert!(explain_messages(&analysis));
}

#[test]
fn more_ranks_than_cores_are_named_with_their_host() {
    let mut analysis = nothing();
    analysis.trace.shared_cores = vec![SharedCores {
        host: "n01".into(),
        ranks: 8,
        cores: 2,
    }];
    let lost = FoundCause {
        by: Some(LateBy::Preempted),
        ..cause(CauseKind::Algorithm, CausePlace::Communicator(None))
    };
    let words = what(&analysis, &lost);
    assert!(
        words.starts_with("8 ranks share 2 cores of host n01: some leave"),
        "{words}"
    );
    assert!(next(&analysis, &lost).starts_with("run no more ranks than there are cores"));
    // They hide nothing of the program.
    let late = |rank| FoundCause {
        cost_ns: 1_000_000_000,
        ..cause(CauseKind::LateRank, CausePlace::Rank(rank))
    };
    analysis.causes = std::iter::once(lost).chain((0..5).map(late)).collect();
    let all = sentences(&analysis);
    let is_next = |at: usize| all[at].starts_with("next: ");
    assert!(
        all[0].starts_with("rank 0 is late") && is_next(1),
        "{all:?}"
    );
    let n_late = all
        .iter()
        .filter(|words| words.contains(" is late"))
        .count();
    assert_eq!(n_late, MOST, "{all:?}");
}

#[test]
fn causes_are_named_by_how_much_shorter_the_run_could_be_without_a_bound_where_ranks_share_cores() {
    let shorter = |percent: i64, cause: FoundCause| FoundCause {
        run_shorter_ns: Some(percent * 1_000_000),
        ..cause
    };
    let late = |rank, percent| {
        let late = cause(CauseKind::LateRank, CausePlace::Rank(rank));
        shorter(percent, late)
    };
    let on_all = |kind| cause(kind, CausePlace::Communicator(None));
    let cores = FoundCause {
        by: Some(LateBy::Preempted),
        ..on_all(CauseKind::Algorithm)
    };
    let mut analysis = nothing();
    analysis.looked_at.to_ns = 100_000_000;
    let nobody = shorter(8, on_all(CauseKind::Imbalance));
    analysis.causes = vec![late(1, 5), nobody, late(2, 13), late(3, 0)];
    let found = |analysis: &Analysis, words: &[&str]| {
        let mut all = sentences(analysis);
        all.retain(|of| !of.starts_with("next: "));
        assert_eq!(all.len(), words.len(), "{all:?}");
        for (sentence, words) in all.iter().zip(words) {
            assert!(sentence.contains(words), "{words}: {all:?}");
        }
    };
    found(
        &analysis,
        &[
            "could be up to 13 % shorter",
            "work differs",
            "could be up to 5 % shorter",
            "rank 3",
        ],
    );
    analysis.trace.shared_cores = vec![SharedCores {
        host: "n01".into(),
        ranks: 4,
        cores: 2,
    }];
    analysis.causes.insert(0, shorter(20, cores));
    found(
        &analysis,
        &[
            "could be about 13 % shorter",
            "could be about 8 % shorter",
            "could be about 5 % shorter",
            "4 ranks share 2 cores of host n01",
            "rank 3",
            "as ranks share cores, the run can become shorter than that",
        ],
    );
    let all = sentences(&analysis).join("; ");
    assert!(
        !all.contains("up to") && !all.contains("20 % shorter"),
        "{all}"
    );
}
