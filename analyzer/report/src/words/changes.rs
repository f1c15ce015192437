//! How operations of two traces differ, in sentences: by how much, what changed with it, and where to look.

use collbench_analyzer::compare::{
    ComparedOperation, ComparisonVerdict, Difference, OperationDifferences, OperationFigures,
};
use collbench_analyzer::results::Culprit;
use collbench_text::inert;
use collbench_text::quantity;

use crate::words::difference::{named, signed};
use crate::words::tree_differences as tree_words;
use crate::words::{self, culprit};

/// Characters of the name of an algorithm.
const MAX_ALGORITHM: usize = 60;

/// An operation with its differences in the trace that is described.
pub(crate) type Row<'a> = (&'a ComparedOperation, &'a OperationDifferences);

/// Whether an operation differs.
pub(crate) fn is_named(verdict: ComparisonVerdict) -> bool {
    matches!(
        verdict,
        ComparisonVerdict::Slower | ComparisonVerdict::Faster
    )
}

/// The name of the communicator of an operation.
pub(crate) fn communicator(operation: &ComparedOperation, width: usize) -> String {
    match &operation.communicator {
        Some(name) => inert::line(name, width),
        None => "unknown".to_owned(),
    }
}

/// Smallest to largest payload in a column: `8`, `16..24`, `64 KiB`.
pub(crate) fn bytes(figures: &OperationFigures) -> String {
    words::byte_range(figures.bytes_min, figures.bytes_max)
}

/// Smallest to largest payload in a sentence: `8 bytes`, `16 to 24 bytes`; `None` where it is not known.
pub(crate) fn payload(figures: &OperationFigures) -> Option<String> {
    let (least, most) = figures.bytes_min.zip(figures.bytes_max)?;
    Some(quantity::size_range(least, most))
}

/// The figures of an operation in the first trace that has it.
pub(crate) fn figures(operation: &ComparedOperation) -> Option<&OperationFigures> {
    operation.traces.iter().flatten().next()
}

/// How an operation differs, by how much in total, what changed with it, and where to look.
pub(crate) fn advice(other: &str, row: &Row<'_>) -> Option<String> {
    let (operation, differences) = row;
    let of = |trace: usize| operation.traces.get(trace).and_then(Option::as_ref);
    let [from, to] = [of(0), of(differences.trace)].map(Vec::from_iter);
    advice_on(other, row, (&from, &to))
}

/// An operation in a sentence: `MPI_Bcast on MPI_COMM_WORLD (8 bytes)`.
pub(crate) fn name_in_words((operation, _): &Row<'_>) -> String {
    let with_payload = figures(operation).filter(|of| of.bytes_max != Some(0));
    let payload = with_payload.and_then(payload);
    let payload = payload.map_or_else(String::new, |payload| format!(" ({payload})"));
    let communicator = communicator(operation, 24);
    format!("{} on {communicator}{payload}", operation.operation)
}

/// How an operation differs between two sides, by how much in total, what changed with it, and where to look. `figures`:
/// those of the operation in the runs of each side.
pub(crate) fn advice_on(
    other: &str,
    row: &Row<'_>,
    figures: (&[&OperationFigures], &[&OperationFigures]),
) -> Option<String> {
    let (_, differences) = row;
    let name = name_in_words(row);
    if !is_named(differences.verdict) {
        let median = differences.duration_ns.median.as_ref();
        let is_alone = differences.verdict == ComparisonVerdict::NotDistinguishable;
        let median = median.filter(|median| is_alone && is_named(median.verdict))?;
        return Some(format!(
            "{name}: the means are not distinguishable (a few long instances dominate them), but by \
             the median duration it is {}",
            named(median)
        ));
    }
    let how = differences.call_time_ns.mean.as_ref().map(named);
    let by_ns = signed(differences.total_ns.difference);
    let mut text = format!(
        "{name}: {} per call, {by_ns} in total",
        how.unwrap_or_default()
    );
    for part in changes(other, figures)
        .into_iter()
        .chain(why(other, differences))
    {
        text.push_str("; ");
        text.push_str(&part);
    }
    Some(text)
}

/// What changed beside the times: the algorithm, and who is late; where all runs of a side agree on it.
fn changes(other: &str, (from, to): (&[&OperationFigures], &[&OperationFigures])) -> Vec<String> {
    let mut changes = Vec::new();
    let replaced = changed(from, to, |of| of.spanning_tree.is_some());
    if replaced.is_some() {
        let [from, to] = [from, to].map(|of| tree_words::what_ran(of[0]));
        changes.push(format!("it ran over {from} in A, over {to} in {other}"));
    }
    // The names of one source are compared: the library's, or what was recognized.
    let names = [
        changed(from, to, |of| of.library_name.as_ref()),
        changed(from, to, |of| of.algorithm.as_ref()),
    ];
    let mut names = names.into_iter().flatten();
    let name = names.find_map(|(from, to)| from.zip(to));
    if let Some((from, to)) = name.filter(|_| replaced.is_none()) {
        changes.push(format!(
            "the algorithm changed from {} to {}",
            inert::line(from, MAX_ALGORITHM),
            inert::line(to, MAX_ALGORITHM)
        ));
    }
    if let Some((from, to)) = changed(from, to, |of| of.late.as_ref()) {
        let late = |late: Option<&Culprit>| late.map_or("nobody".to_owned(), culprit);
        changes.push(format!(
            "{} is late in A, {} in {other}",
            late(from),
            late(to)
        ));
    }
    changes
}

/// What all runs of a side have in common, and differs between the sides.
fn changed<'a, T: PartialEq>(
    from: &[&'a OperationFigures],
    to: &[&'a OperationFigures],
    pick: impl Fn(&'a OperationFigures) -> T,
) -> Option<(T, T)> {
    let common = |of: &[&'a OperationFigures]| {
        let first = pick(of.first()?);
        of.iter().all(|of| pick(of) == first).then_some(first)
    };
    let (from, to) = common(from).zip(common(to))?;
    (from != to).then_some((from, to))
}

/// What a difference comes from, as far as waiting and core show, and where to look.
fn why(other: &str, differences: &OperationDifferences) -> Option<String> {
    let verdict = |difference: &Option<Difference>| difference.as_ref().map(|d| d.verdict);
    let wait = verdict(&differences.wait_ns.mean);
    let core = verdict(&differences.core_ns.mean);
    let by = |difference: &Option<Difference>| {
        let ns = difference.as_ref().map_or(0, |d| d.difference_ns);
        quantity::duration(ns.saturating_abs())
    };
    let (wait_by, core_by) = (by(&differences.wait_ns.mean), by(&differences.core_ns.mean));
    let slower = Some(ComparisonVerdict::Slower);
    let faster = Some(ComparisonVerdict::Faster);
    Some(match differences.verdict {
        ComparisonVerdict::Slower if wait == slower && core == slower => format!(
            "more waiting (+{wait_by} per call) and a longer operation (core +{core_by}): look at \
             who is late in {other}, and at the algorithm and the network"
        ),
        ComparisonVerdict::Slower if wait == slower => format!(
            "more waiting (+{wait_by} per call): look at who is late in {other}, by collbench-analyze \
             on it alone"
        ),
        ComparisonVerdict::Slower if core == slower => format!(
            "the operation itself takes longer (core +{core_by}), not the waiting: look at the \
             algorithm, the placement and the network"
        ),
        ComparisonVerdict::Faster if wait == faster && core == faster => {
            format!("less waiting (-{wait_by} per call) and a shorter operation (core -{core_by})")
        }
        ComparisonVerdict::Faster if wait == faster => {
            format!("less waiting (-{wait_by} per call): the ranks arrive closer together")
        }
        ComparisonVerdict::Faster if core == faster => {
            format!("the operation itself is faster (core -{core_by}); the waiting is not shorter")
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::test_differences::differences;

    fn figures(late: u32, algorithm: &str) -> OperationFigures {
        OperationFigures {
            communicator: Some(0),
            root: Some(0),
            bytes_min: Some(8),
            bytes_max: Some(8),
            calls: 100,
            instances: 100,
            duration_ns: None,
            call_time_ns: None,
            wait_ns: None,
            core_ns: None,
            algorithm: Some(algorithm.to_owned()),
            library_name: None,
            spanning_tree: None,
            late: Some(Culprit::Rank(late)),
        }
    }

    #[test]
    fn the_main_difference_is_named_without_a_known_reason_too() {
        let operation = ComparedOperation {
            operation: "MPI_Bcast".into(),
            communicator: Some("MPI_COMM_WORLD".to_owned()),
            traces: vec![Some(figures(1, "binomial")), Some(figures(3, "pipeline"))],
            differences: Vec::new(),
            indexes: vec![Some(0), Some(0)],
        };
        let slower = differences(ComparisonVerdict::Slower, (1, 3));
        assert_eq!(
            advice("B", &(&operation, &slower)).unwrap(),
            "MPI_Bcast on MPI_COMM_WORLD (8 bytes): x5.98 slower (5.90 to 6.10) per call, +3.17 s in \
             total; the algorithm changed from binomial to pipeline; rank 1 is late in A, rank 3 in B"
        );
        let open = differences(ComparisonVerdict::NotDistinguishable, (1, 3));
        assert_eq!(advice("B", &(&operation, &open)), None);
    }

    #[test]
    fn what_ran_over_a_spanning_tree_in_one_of_the_traces_is_told_whether_it_differs_or_not() {
        let over_tree = |name: &str| OperationFigures {
            spanning_tree: Some(name.to_owned()),
            algorithm: None,
            ..figures(1, "")
        };
        let compared = |name: &'static str, traces| ComparedOperation {
            operation: name.into(),
            communicator: Some("MPI_COMM_WORLD".to_owned()),
            traces,
            differences: Vec::new(),
            indexes: vec![Some(0), Some(0)],
        };
        let with_tree = |name: &'static str, tree| {
            let traces = vec![Some(figures(1, "linear")), Some(over_tree(tree))];
            compared(name, traces)
        };
        let operations = [
            with_tree("MPI_Bcast", "line 1 of the tree file"),
            with_tree("MPI_Reduce", "line 1 of the tree file"),
            with_tree("MPI_Reduce", "line 1 of the tree file"),
            with_tree("MPI_Barrier", "line 7 of the tree file"),
            compared(
                "MPI_Gather",
                vec![Some(over_tree("a.toml:2")), Some(figures(1, "linear"))],
            ),
            compared(
                "MPI_Scatter",
                vec![Some(over_tree("one")), Some(over_tree("two"))],
            ),
            compared(
                "MPI_Scan",
                vec![Some(figures(1, "linear")), Some(figures(1, "chain"))],
            ),
        ];
        let open = differences(ComparisonVerdict::NotDistinguishable, (-5, 5));
        let rows: Vec<Row<'_>> = operations.iter().map(|of| (of, &open)).collect();
        let rows: Vec<&Row<'_>> = rows.iter().collect();
        assert_eq!(
            tree_words::replaced("B", &rows),
            [
                "over a spanning tree in B, with the MPI library in A: MPI_Bcast and MPI_Reduce (line 1 of the \
                 tree file), MPI_Barrier (line 7 of the tree file)",
                "over a spanning tree in A, with the MPI library in B: MPI_Gather (a.toml:2)",
            ]
        );
        let faster = differences(ComparisonVerdict::Faster, (-3, -1));
        let text = advice("B", &(&operations[0], &faster)).unwrap();
        assert!(
            text.contains(
                "; it ran over the MPI library's linear in A, over the spanning tree of line 1 of the tree \
                 file in B"
            ),
            "{text}"
        );
    }
}
