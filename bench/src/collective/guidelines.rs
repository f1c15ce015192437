//! Performance guidelines: operations that take longer than others that do the same.
//!
//! # Source
//! Träff, Gropp and Thakur, Self-consistent MPI performance guidelines, 2010; Hunold and
//! Carpen-Amarie, PGMPITune.

use super::results::{Instead, Point, Results, Violation};

/// A message length in terms of the length m of a guideline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    /// m.
    Same,
    /// m times the number of processes.
    Whole,
}

use Length::{Same, Whole};

impl Length {
    fn bytes(self, m: u64, processes: usize) -> Option<u64> {
        match self {
            Same => Some(m),
            Whole => m.checked_mul(processes as u64),
        }
    }
}

/// An operation, and operations that do the same one after the other.
type Guideline = ((&'static str, Length), &'static [(&'static str, Length)]);

const GUIDELINES: [Guideline; 9] = [
    (("MPI_Gather", Same), &[("MPI_Allgather", Same)]),
    (("MPI_Scatter", Same), &[("MPI_Bcast", Whole)]),
    (("MPI_Reduce", Same), &[("MPI_Allreduce", Same)]),
    (("MPI_Allgather", Same), &[("MPI_Alltoall", Same)]),
    (
        ("MPI_Allgather", Same),
        &[("MPI_Gather", Same), ("MPI_Bcast", Whole)],
    ),
    (
        ("MPI_Allreduce", Same),
        &[("MPI_Reduce", Same), ("MPI_Bcast", Same)],
    ),
    (
        ("MPI_Bcast", Whole),
        &[("MPI_Scatter", Same), ("MPI_Allgather", Same)],
    ),
    (
        ("MPI_Allreduce", Whole),
        &[("MPI_Reduce_scatter_block", Same), ("MPI_Allgather", Same)],
    ),
    (
        ("MPI_Reduce", Whole),
        &[("MPI_Reduce_scatter_block", Same), ("MPI_Gather", Same)],
    ),
];

/// All violations among the points of these results, in the order of the points.
///
/// An operation should not take longer than others that do the same ([`GUIDELINES`]), nor than the
/// same with longer messages (the message could be padded) or with more processes. Of several
/// longer messages, or larger numbers of processes, the fastest is named.
pub(super) fn violations(results: &Results) -> Vec<Violation> {
    // What the library does by itself; of algorithms there is a table of its own.
    let own_choice = results
        .points
        .iter()
        .filter(|point| point.algorithm.is_none());
    let points: Vec<Point> = own_choice.cloned().collect();
    let points = &points[..];
    let mut found = Vec::new();
    for point in points {
        found.extend(
            GUIDELINES
                .iter()
                .filter_map(|guideline| by_others(point, guideline, points)),
        );
        let comparable = |other: &&Point| {
            other.operation == point.operation
                && is_like(point, other)
                && (other.root, other.pieces) == (point.root, point.pieces)
        };
        let longer = points
            .iter()
            .filter(comparable)
            .filter(|other| other.processes == point.processes && other.bytes > point.bytes);
        found.extend(by_fastest(point, longer));
        let larger = points
            .iter()
            .filter(comparable)
            // Of master and workers, more processes do more work.
            .filter(|other| point.pieces.is_none() && other.bytes == point.bytes)
            .filter(|other| other.processes > point.processes);
        found.extend(by_fastest(point, larger));
    }
    found
}

/// Whether two points were measured in the same way.
fn is_like(point: &Point, other: &Point) -> bool {
    (point.start, point.reduction, &point.arrivals) == (other.start, other.reduction, &other.arrivals)
        && point.hosts == other.hosts
        // Delays depend on the number of processes.
        && (point.arrivals.is_none() || point.processes == other.processes)
}

/// A point against other operations with as many processes.
fn by_others(point: &Point, guideline: &Guideline, points: &[Point]) -> Option<Violation> {
    let ((name, length), others) = guideline;
    if point.operation != *name {
        return None;
    }
    let bytes = point.bytes?;
    let processes = point.processes;
    let m = match length {
        Same => bytes,
        Whole if bytes.is_multiple_of(processes as u64) => bytes / processes as u64,
        Whole => return None,
    };
    let instead: Option<Vec<&Point>> = others
        .iter()
        .map(|(name, length)| {
            let bytes = length.bytes(m, processes);
            points.iter().find(|other| {
                other.operation == *name
                    && other.bytes == bytes
                    && other.processes == processes
                    && is_like(point, other)
                    && (other.root == point.root || other.root.is_none() || point.root.is_none())
            })
        })
        .collect();
    violation(point, &instead?)
}

fn by_fastest<'a>(point: &Point, others: impl Iterator<Item = &'a Point>) -> Option<Violation> {
    let time = |other: &&Point| other.time_ns.unwrap_or(f64::INFINITY);
    let fastest = others.min_by(|a, b| time(a).total_cmp(&time(b)))?;
    violation(point, &[fastest])
}

/// If the intervals of both sides do not overlap, and no time is doubtful.
fn violation(point: &Point, instead: &[&Point]) -> Option<Violation> {
    let mut all = instead.iter().copied().chain([point]);
    if all.any(Point::is_doubtful) {
        return None;
    }
    let time_ns = point.time_ns?;
    let least = time_ns * (1.0 - point.relative_error?);
    let (mut instead_ns, mut most) = (0.0, 0.0);
    for other in instead {
        let other_ns = other.time_ns?;
        instead_ns += other_ns;
        most += other_ns * (1.0 + other.relative_error?);
    }
    (least > most).then(|| Violation {
        operation: point.operation.clone(),
        bytes: point.bytes,
        processes: point.processes,
        start: point.start.word().to_owned(),
        time_ns,
        instead: instead
            .iter()
            .map(|other| Instead {
                operation: other.operation.clone(),
                bytes: other.bytes,
                processes: other.processes,
            })
            .collect(),
        instead_ns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(operation: &str, bytes: u64, time_ns: f64) -> Point {
        Point::example(operation, bytes, Some(time_ns))
    }

    fn words(points: Vec<Point>) -> Vec<String> {
        let found = violations(&Results::example(points));
        found.iter().map(Violation::words).collect()
    }

    #[test]
    fn an_allreduce_that_is_slower_than_reduce_and_bcast_is_named() {
        let parts = |allreduce| {
            let mut all = point("MPI_Allreduce", 64, allreduce);
            all.root = None;
            vec![
                all,
                point("MPI_Reduce", 64, 2_000.0),
                point("MPI_Bcast", 64, 1_500.0),
                // Of another length, and started otherwise.
                point("MPI_Bcast", 32, 10.0),
                Point {
                    start: crate::measure::start::StartScheme::Barrier,
                    ..point("MPI_Reduce", 64, 10.0)
                },
            ]
        };
        assert_eq!(
            words(parts(4_000.0)),
            [
                "MPI_Allreduce of 64 bytes on 4 processes takes 4.00 us, MPI_Reduce of 64 bytes on 4 \
                 processes and MPI_Bcast of 64 bytes on 4 processes 3.50 us"
            ]
        );
        // 1 % of error on either side: not distinguishable.
        assert_eq!(words(parts(3_560.0)), [""; 0]);
        // Half of the starts were missed.
        let mut doubtful = parts(4_000.0);
        doubtful[1].missed = 2;
        assert_eq!(words(doubtful), [""; 0]);
    }

    #[test]
    fn blocks_and_whole_messages_are_told_apart() {
        // A broadcast of 4 x 64 bytes as a scatter and an allgather of 64 each.
        let found = words(vec![
            point("MPI_Bcast", 256, 9_000.0),
            point("MPI_Scatter", 64, 2_000.0),
            point("MPI_Allgather", 64, 3_000.0),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("MPI_Scatter of 64 bytes"), "{found:?}");
        let not_divisible = words(vec![
            point("MPI_Bcast", 255, 9_000.0),
            point("MPI_Scatter", 63, 2_000.0),
            point("MPI_Allgather", 63, 3_000.0),
        ]);
        assert_eq!(not_divisible, [""; 0]);
    }

    #[test]
    fn a_time_that_falls_with_the_length_or_the_processes_is_named_with_the_fastest() {
        let on_8 = |bytes, time| Point {
            processes: 8,
            ..point("MPI_Alltoall", bytes, time)
        };
        let found = violations(&Results::example(vec![
            point("MPI_Alltoall", 1_000, 5_000.0),
            point("MPI_Alltoall", 31_000, 9_000.0),
            point("MPI_Alltoall", 32_768, 6_000.0),
            point("MPI_Alltoall", 65_536, 8_000.0),
            on_8(1_000, 4_000.0),
            Point::example("MPI_Alltoall", 1 << 20, None),
        ]));
        let pairs: Vec<_> = found
            .iter()
            .map(|one| (one.bytes, one.instead[0].bytes, one.instead[0].processes))
            .collect();
        assert_eq!(
            pairs,
            [
                (Some(1_000), Some(1_000), 8),
                (Some(31_000), Some(32_768), 4)
            ]
        );
    }

    #[test]
    fn every_operation_of_a_guideline_exists() {
        for ((name, _), others) in GUIDELINES {
            for name in others.iter().map(|(name, _)| *name).chain([name]) {
                assert!(
                    super::super::operation::Operation::of_name(name).is_some(),
                    "{name}"
                );
            }
        }
    }
}
