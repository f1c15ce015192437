//! More numbers of processes, where the time changes most.
//!
//! # Source
//! Reussner et al. 1999, section 3.2.

use super::has_length;
use crate::collective::plan::{Lengths, Plan, Series};
use crate::measure::refinement::Refinement;

/// Refines all ranges of processes of a plan whose first numbers are measured, for each length that
/// was asked for, of a range of lengths for both ends.
///
/// `measure` measures series that differ in their start or algorithm at a length, if that is not
/// done yet; whether refinement chose the number of processes is its last argument. It returns the
/// time of the first series and how far that may be wrong, ns.
///
/// # Errors
/// Those of `measure`.
pub(super) fn refine(
    plan: &Plan,
    mut measure: impl FnMut(Vec<&Series>, u64, bool) -> anyhow::Result<Option<(f64, f64)>>,
) -> anyhow::Result<()> {
    for group in plan.groups() {
        let group: Vec<&Series> = group.iter().map(|&i| &plan.series[i]).collect();
        let first = group[0];
        let Some((least, greatest)) = first.process_range else {
            continue;
        };
        // The groups of a range differ in nothing but the number of processes.
        if first.processes != least {
            continue;
        }
        let lengths = match &first.lengths {
            Lengths::List(list) if has_length(first) => list.clone(),
            Lengths::List(_) => vec![0],
            &Lengths::Range(from, to) => vec![from, to],
        };
        for bytes in lengths {
            let rule = plan.method.refinement;
            let mut refinement = Refinement::new(least as u64, greatest as u64, 1, rule);
            while let Some(processes) = refinement.next_length() {
                let of_count = |series: &&Series| Series {
                    processes: processes as usize,
                    ..(*series).clone()
                };
                let series: Vec<Series> = group.iter().map(of_count).collect();
                let series: Vec<&Series> = series.iter().collect();
                let measured = measure(series, bytes, refinement.is_refining())?;
                if let Some((time_ns, error_ns)) = measured {
                    refinement.add(processes, time_ns, error_ns);
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::plan::tests::plan;

    #[test]
    fn a_step_between_two_numbers_of_processes_is_found() {
        let text = "[[measure]]\noperations = [\"MPI_Bcast\", \"MPI_Barrier\"]\nlengths = [8, 64]\n\
                    from_processes = 2\nto_processes = 8\nstarts = [\"barrier\", \"none\"]\n";
        let mut measured = Vec::new();
        refine(&plan(text).unwrap(), |series, bytes, is_refined| {
            assert_eq!(series.len(), 2);
            measured.push((
                series[0].operation.clone(),
                bytes,
                series[0].processes,
                is_refined,
            ));
            // A second switch in the network from 6 processes on.
            let steps = if series[0].processes < 6 { 1.0 } else { 3.0 };
            Ok(Some((steps * 1e3, 1.0)))
        })
        .unwrap();
        for (operation, bytes) in [("MPI_Bcast", 8), ("MPI_Bcast", 64), ("MPI_Barrier", 0)] {
            let of: Vec<(usize, bool)> = measured
                .iter()
                .filter(|one| (one.0.as_str(), one.1) == (operation, bytes))
                .map(|one| (one.2, one.3))
                .collect();
            assert_eq!(&of[..3], [(2, false), (4, false), (8, false)]);
            assert!(of.contains(&(6, true)) && of.contains(&(5, true)), "{of:?}");
        }
    }
}
