//! How a cause is distributed over the run.

use serde::{Deserialize, Serialize};

use crate::results::imbalance::ImbalanceSummary;
use crate::results::over_time::{
    ChangeKind, ChangeSummary, Culprit, DisturbanceSummary, PeriodBasis,
};

/// Least part of what a late party costs in an operation that a periodic disturbance, or phases, must account
/// for to be its course.
const MIN_PART: f64 = 0.5;

/// Kinds of distribution of a cause over the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CourseKind {
    /// At regular intervals.
    Period,
    /// More and more, or less and less.
    Growth,
    /// From some time on.
    Starts,
    /// Until some time.
    Ends,
    /// At one rank or host after the other.
    Moves,
    /// On one of several communicators of the same kind.
    OneCommunicator,
    /// Once, between `MPI_Init` and the first collective.
    AtStart,
    /// Once, between the last collective and `MPI_Finalize`.
    AtEnd,
    /// One of a newer version: only in a document that was read.
    #[serde(other)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Newer,
}

/// How a cause is distributed over the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Course {
    /// The kind of distribution.
    pub kind: CourseKind,
    /// The period, ns; `None` unless there is one.
    pub period_ns: Option<i64>,
    /// Whether the period is constant in time or in steps of the program; `None` without a period, and
    /// where the run cannot tell.
    pub basis: Option<PeriodBasis>,
    /// The period in iterations of the program's loop, which it follows or, where `basis` is `None`, might
    /// follow; without `calls_per_iteration` in calls on the communicator. `None` unless it does.
    #[serde(default)]
    pub every: Option<u64>,
    /// Calls on the communicator in one iteration of the program's loop; `None` without `every`, and where its calls show
    /// no loop.
    #[serde(default)]
    pub calls_per_iteration: Option<u64>,
    /// By how much the lateness per instance changes in one second of the run, ns; `None` unless
    /// it grows or shrinks.
    pub slope_ns_per_s: Option<i64>,
    /// Begin of the first phase in which it is late, ns since the start of the run; `None` unless it
    /// starts, ends or moves.
    pub from_ns: Option<i64>,
    /// End of the last phase in which it is late; `None` unless it starts, ends or moves.
    pub to_ns: Option<i64>,
    /// How much longer than other ranks it took until its first collective, or from its last one to `MPI_Finalize`, ns;
    /// `None` unless it is late at the start or at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_ns: Option<i64>,
}

impl Course {
    /// A course of which nothing but its kind is known.
    #[must_use]
    pub fn new(kind: CourseKind) -> Self {
        Self {
            kind,
            period_ns: None,
            basis: None,
            every: None,
            calls_per_iteration: None,
            slope_ns_per_s: None,
            from_ns: None,
            to_ns: None,
            late_ns: None,
        }
    }

    /// The course of the lateness of `late` in one operation on one communicator; `None` where it is
    /// steady, or not known.
    ///
    /// A periodic disturbance that accounts for half of the cost is the course; else growth, or the
    /// phases in which `late` is late. From results of this process: a document that was read does
    /// not have the costs of all ranks.
    #[must_use]
    pub fn of(
        lateness: &ImbalanceSummary,
        disturbances: &[DisturbanceSummary],
        late: &Culprit,
    ) -> Option<Self> {
        let periodic = disturbances.iter().find(|disturbance| {
            let who = disturbance.late.as_ref();
            who.is_some_and(|who| who == late || includes(who, late))
                && waits_disturbed_ns(lateness, disturbance) as f64
                    >= MIN_PART * waits_caused_ns(lateness, late).max(1) as f64
        });
        match (periodic, &lateness.change) {
            (Some(disturbance), _) => Some(Self {
                period_ns: Some(disturbance.period_ns),
                basis: disturbance.basis,
                every: disturbance.in_step.as_ref().map(|step| step.every),
                calls_per_iteration: (disturbance.in_step.as_ref())
                    .and_then(|step| step.calls_per_iteration),
                ..Self::new(CourseKind::Period)
            }),
            (None, Some(change)) => Self::of_change(change, lateness, late),
            (None, None) => None,
        }
    }

    fn of_change(
        change: &ChangeSummary,
        lateness: &ImbalanceSummary,
        late: &Culprit,
    ) -> Option<Self> {
        if let Some(growth) = change.growth.as_ref() {
            return (growth.late == *late).then(|| Self {
                slope_ns_per_s: Some(growth.slope_ns_per_s),
                ..Self::new(CourseKind::Growth)
            });
        }
        let phases = change.phases.iter();
        let mut own = phases.filter(|phase| phase.late.as_ref() == Some(late));
        // Where it is not the last as a rule it may still cost the most.
        let in_phases: Option<i64> = own.clone().map(|phase| phase.wait_caused_ns).sum();
        let all_ns = waits_caused_ns(lateness, late) as f64;
        if in_phases.is_some_and(|ns| (ns as f64) < MIN_PART * all_ns) {
            return None;
        }
        let first = own.next()?;
        let last = own.next_back().unwrap_or(first);
        let (begin, end) = (change.phases.first(), change.phases.last());
        let is_one = first.from_ns == last.from_ns;
        let kind = match change.kind {
            ChangeKind::Starts => CourseKind::Starts,
            ChangeKind::Ends => CourseKind::Ends,
            // It follows others, or others follow it.
            ChangeKind::Moves if is_one && end.is_some_and(|end| end.to_ns == last.to_ns) => {
                CourseKind::Starts
            }
            ChangeKind::Moves if is_one && begin.is_some_and(|of| of.from_ns == first.from_ns) => {
                CourseKind::Ends
            }
            ChangeKind::Moves => CourseKind::Moves,
            ChangeKind::ComesAndGoes
            | ChangeKind::Grows
            | ChangeKind::Shrinks
            | ChangeKind::Newer => return None,
        };
        Some(Self {
            from_ns: Some(first.from_ns),
            to_ns: Some(last.to_ns),
            ..Self::new(kind)
        })
    }
}

/// Whether a rank is one of several.
fn includes(several: &Culprit, late: &Culprit) -> bool {
    match (several, late) {
        (Culprit::Ranks(ranks), Culprit::Rank(rank)) => ranks.contains(rank),
        _ => false,
    }
}

/// Waits that the late arrivals of a disturbance ended in one operation on one communicator, ns.
fn waits_disturbed_ns(lateness: &ImbalanceSummary, disturbance: &DisturbanceSummary) -> i64 {
    let own = disturbance.operations.iter().find(|own| {
        own.communicator == lateness.communicator && own.operation == lateness.operation
    });
    own.map_or(0, |own| {
        own.wait_caused_estimate_ns.unwrap_or(own.wait_caused_ns)
    })
}

/// Waits that the arrivals of a rank or host ended in one operation on one communicator, ns.
fn waits_caused_ns(lateness: &ImbalanceSummary, late: &Culprit) -> i64 {
    let hosts = lateness.hosts.iter();
    match late {
        Culprit::Rank(rank) => hosts
            .flat_map(|host| &host.members)
            .filter(|member| member.rank == *rank)
            .map(|member| member.wait_caused_ns)
            .sum(),
        Culprit::Ranks(ranks) => hosts
            .flat_map(|host| &host.members)
            .filter(|member| ranks.contains(&member.rank))
            .map(|member| member.wait_caused_ns)
            .sum(),
        Culprit::Host(name) => hosts
            .filter(|host| host.host == *name)
            .map(|host| host.wait_caused_ns)
            .sum(),
        Culprit::Newer => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::detail::Detail;
    use crate::results::imbalance::{HostLateness, RankLateness};
    use crate::results::over_time::{DisturbedOperation, GrowthSummary, PhaseSummary};

    const LATE: Culprit = Culprit::Rank(3);

    /// Rank 3 of host `node1` has caused 900 of 1,000 ns.
    fn lateness(change: Option<ChangeSummary>) -> ImbalanceSummary {
        let member = |(rank, wait_caused_ns)| RankLateness {
            rank,
            last: 10,
            wait_caused_ns,
        };
        let host = HostLateness {
            host: "node1".to_owned(),
            ranks: 2,
            last: 20,
            wait_caused_ns: 1_000,
            members: [(2, 100), (3, 900)].map(member).into(),
        };
        ImbalanceSummary {
            communicator: 0,
            operation: "MPI_Barrier".into(),
            path: Vec::new(),
            culprit: Some(LATE),
            share: Some(0.9),
            wait_caused_ns: Some(900),
            excess_ns: Some(900),
            most_waited_for: None,
            hosts: vec![host].into(),
            all_waits_caused_ns: 1_000,
            instances: 20,
            resolved: 20,
            sections: Detail::default(),
            change,
        }
    }

    fn disturbance(late: Culprit, wait_caused_ns: i64) -> DisturbanceSummary {
        DisturbanceSummary {
            period_ns: 70,
            period_error_ns: 1,
            scatter_ns: 1,
            n: 9,
            is_least: false,
            excess_ns: 5,
            late: Some(late),
            wait_caused_ns,
            basis: Some(PeriodBasis::Time),
            in_step: None,
            operations: vec![DisturbedOperation {
                communicator: 0,
                operation: "MPI_Barrier".into(),
                wait_caused_ns,
                wait_caused_estimate_ns: None,
            }],
        }
    }

    fn change(kind: ChangeKind, late: &[Option<u32>]) -> ChangeSummary {
        let phases = (0..).zip(late).map(|(n, late)| PhaseSummary {
            from_ns: 100 * n,
            to_ns: 100 * (n + 1),
            late: late.map(Culprit::Rank),
            share: None,
            wait_caused_ns: None,
            resolved: 10,
        });
        ChangeSummary {
            kind,
            phases: phases.collect(),
            growth: None,
        }
    }

    #[test]
    fn a_disturbance_is_the_course_of_the_one_whose_cost_it_is() {
        let course = |disturbance| Course::of(&lateness(None), &[disturbance], &LATE);
        let periodic = Course {
            period_ns: Some(70),
            basis: Some(PeriodBasis::Time),
            ..Course::new(CourseKind::Period)
        };
        assert_eq!(course(disturbance(LATE, 450)), Some(periodic));
        // It explains too little, or is that of another rank.
        assert_eq!(course(disturbance(LATE, 449)), None);
        assert_eq!(course(disturbance(Culprit::Rank(2), 900)), None);
        let host = Culprit::Host("node1".to_owned());
        let of_host = disturbance(host.clone(), 500);
        assert_eq!(
            Course::of(&lateness(None), &[of_host], &host),
            Some(periodic)
        );
    }

    #[test]
    fn without_a_disturbance_the_course_is_how_lateness_changed() {
        let course = |change| Course::of(&lateness(Some(change)), &[], &LATE);
        let since = |kind, from_ns, to_ns| Course {
            from_ns: Some(from_ns),
            to_ns: Some(to_ns),
            ..Course::new(kind)
        };
        assert_eq!(
            course(change(ChangeKind::Starts, &[None, Some(3)])),
            Some(since(CourseKind::Starts, 100, 200))
        );
        assert_eq!(
            course(change(
                ChangeKind::Moves,
                &[Some(3), Some(1), Some(3), Some(2)]
            )),
            Some(since(CourseKind::Moves, 0, 300))
        );
        assert_eq!(
            course(change(ChangeKind::Moves, &[Some(1), None, Some(3)])),
            Some(since(CourseKind::Starts, 200, 300))
        );
        assert_eq!(
            course(change(ChangeKind::Moves, &[Some(3), Some(1)])),
            Some(since(CourseKind::Ends, 0, 100))
        );
        assert_eq!(course(change(ChangeKind::Ends, &[Some(1), None])), None);
        // It caused 900 ns in all.
        let ends = |wait_caused_ns| {
            let mut ends = change(ChangeKind::Ends, &[Some(3), None]);
            ends.phases[0].wait_caused_ns = Some(wait_caused_ns);
            course(ends)
        };
        assert_eq!(ends(450), Some(since(CourseKind::Ends, 0, 100)));
        assert_eq!(ends(449), None);
        let growth = Some(GrowthSummary {
            late: LATE,
            slope_ns_per_s: -70,
            at_begin_ns: 100,
            at_end_ns: 30,
        });
        let shrinks = ChangeSummary {
            growth,
            ..change(ChangeKind::Shrinks, &[Some(3)])
        };
        assert_eq!(
            course(shrinks),
            Some(Course {
                slope_ns_per_s: Some(-70),
                ..Course::new(CourseKind::Growth)
            })
        );
    }
}
