//! The plan for a machine of which nothing was said.

use super::{Given, Lengths, Limits, Part};
use crate::measure::refinement::Rule;
use crate::measure::start::StartScheme;

/// How lengths of a range are chosen in the default plan: with 0.5 s for each point it ends within 2
/// minutes on 8 processes, thorough with 3 s within 15.
pub(in crate::collective) fn default_rule(is_thorough: bool) -> Rule {
    let (factor, most) = if is_thorough { (2.0, 27) } else { (8.0, 10) };
    Rule {
        factor,
        most,
        ..Rule::default()
    }
}

/// What the default plan measures: the operations that most programs use, over lengths and numbers
/// of processes.
///
/// With more processes than cores hardly any process would meet an instant, so that they start by
/// barriers there, unless `starts` says something else.
pub(in crate::collective) fn default_parts(
    limits: Limits<'_>,
    starts: &[StartScheme],
) -> Vec<Part> {
    let processes = limits.processes;
    let starts = match starts {
        [] if limits.per_host > limits.cores => vec![StartScheme::Barrier],
        starts => starts.to_vec(),
    };
    let part = |names: &[&str], lengths: Lengths, counts: Vec<usize>| Part {
        processes: counts.into_iter().map(Given::by_option).collect(),
        starts: starts.clone(),
        ..Part::of(names.iter().map(|name| (*name).to_owned()), lengths)
    };
    let mut parts = vec![part(
        &["empty", "MPI_Wtime", "MPI_Comm_rank", "MPI_Iprobe"],
        Lengths::List(vec![0]),
        vec![1],
    )];
    if processes < 2 {
        return parts;
    }
    let powers = (1..=processes.ilog2()).map(|exponent| 1 << exponent);
    let mut counts: Vec<usize> = powers.collect();
    if !processes.is_power_of_two() {
        counts.push(processes);
    }
    parts.extend([
        part(
            &["MPI_Send-MPI_Recv", "MPI_Ssend-MPI_Recv", "MPI_Sendrecv"],
            Lengths::Range(8, 1 << 20),
            Vec::new(),
        ),
        part(
            &["MPI_Bcast", "MPI_Reduce", "MPI_Allreduce", "MPI_Scan"],
            Lengths::Range(8, 1 << 20),
            Vec::new(),
        ),
        part(
            &["MPI_Allgather", "MPI_Alltoall"],
            Lengths::Range(8, 1 << 16),
            Vec::new(),
        ),
        part(
            &[
                "master-MPI_Waitsome",
                "master-MPI_Waitany",
                "master-MPI_Recv-any-source",
            ],
            Lengths::List(vec![256, 1 << 16]),
            Vec::new(),
        ),
        part(
            &["MPI_Barrier", "MPI_Comm_dup", "MPI_Comm_split"],
            Lengths::List(vec![0]),
            counts.clone(),
        ),
        part(
            &["MPI_Bcast", "MPI_Allreduce", "MPI_Alltoall"],
            Lengths::List(vec![256, 1 << 16]),
            counts,
        ),
    ]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::plan::{self, Method, Plan};

    const LIMITS: Limits<'_> = Limits {
        is_available: |_| true,
        ..plan::tests::LIMITS
    };

    #[test]
    fn with_more_processes_than_cores_the_default_plan_starts_by_barriers() {
        let starts = |cores| {
            let limits = Limits { cores, ..LIMITS };
            let parts = default_parts(limits, &[]);
            let plan = Plan::of(Method::default(), &parts, limits).unwrap();
            let of_bcast = plan
                .series
                .into_iter()
                .filter(|one| one.operation == "MPI_Bcast");
            let mut starts: Vec<_> = of_bcast.map(|one| one.start).collect();
            starts.dedup();
            starts
        };
        assert_eq!(starts(4), [StartScheme::Window]);
        assert_eq!(starts(3), [StartScheme::Barrier]);
        // Unless something else is asked for.
        let parts = default_parts(Limits { cores: 1, ..LIMITS }, &[StartScheme::RoundTime]);
        assert!(
            parts
                .iter()
                .all(|part| part.starts == [StartScheme::RoundTime])
        );
    }

    #[test]
    fn the_default_plan_is_possible_for_any_number_of_processes() {
        for processes in [1, 2, 3, 8] {
            let limits = Limits {
                processes,
                ..LIMITS
            };
            let plan = Plan::of(Method::default(), &default_parts(limits, &[]), limits).unwrap();
            assert!(plan.first_points() >= 4);
            for (is_thorough, of_point, allowed) in [(false, 0.5, 120.0), (true, 3.0, 900.0)] {
                let most = plan.series.iter().map(|series| match &series.lengths {
                    Lengths::List(list) => list.len(),
                    Lengths::Range(..) => default_rule(is_thorough).most,
                });
                let seconds = most.sum::<usize>() as f64 * of_point;
                assert!(seconds <= allowed, "{processes}: {seconds} s");
            }
        }
    }
}
