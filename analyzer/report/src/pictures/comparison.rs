//! Pictures of compared operations: timemaps side by side, and one thread in all traces.

mod trees;

use collbench_analyzer::Analysis;
use collbench_analyzer::compare::ComparedOperation;
use collbench_analyzer::results::{OperationSummary, ProcessTimes};
use collbench_formats::Operation;
use collbench_text::inert;
use collbench_viz as viz;
use collbench_viz::Heading;

use crate::pictures::{PictureFile, timemap, title};
use crate::screen::comparison::verdict;
use crate::words::comparison::letter;

const SIDE_BY_SIDE: &str = "side-by-side";
const ONE_RANK: &str = "one-rank";
const SUBTREE: &str = "subtree-serialization";
const PATH: &str = "one-path";

/// What is in the pictures of an operation.
pub(crate) struct Shown {
    /// The traces.
    pub(crate) traces: Vec<usize>,
    /// What each trace of the comparison is called.
    pub(crate) names: Vec<String>,
    /// How the times of calls differ.
    pub(crate) finding: String,
}

impl Shown {
    /// All traces, each compared with the first.
    pub(crate) fn all(operation: &ComparedOperation) -> Self {
        let traces = 0..operation.indexes.len();
        Self {
            names: traces.clone().map(letter).collect(),
            traces: traces.collect(),
            finding: finding(operation),
        }
    }
}

/// The pictures of one operation, which has the number `number` among those with pictures.
pub(crate) fn of_operation(
    analyses: &[Analysis],
    operation: &ComparedOperation,
    number: usize,
    shown: &Shown,
) -> Vec<PictureFile> {
    let summaries: Vec<InTrace<'_>> = analyses
        .iter()
        .zip(&operation.indexes)
        .enumerate()
        .filter(|(trace, _)| shown.traces.contains(trace))
        .filter_map(|(trace, (analysis, index))| {
            let name = shown.names[trace].clone();
            Some((name, analysis, &analysis.operations[(*index)?]))
        })
        .collect();
    let heading = Heading {
        finding: format!("Mean call of {}: {}", operation.operation, shown.finding).into(),
        operation: title(summaries[0].1, summaries[0].2).into(),
        n_instances: summaries.iter().map(|(_, _, s)| s.instances).sum(),
    };
    let place = (number, &*operation.operation);
    let columns = summaries.iter().map(|(name, analysis, summary)| {
        (
            column(name, analysis).into(),
            timemap::timemap(analysis, summary),
        )
    });
    let mut pictures = Vec::new();
    if let Some(path) = trees::one_path(&heading, &summaries) {
        pictures.push(PictureFile::of(
            place,
            PATH,
            "One rank's path through the tree of each trace",
            trees::ONE_PATH,
            path,
        ));
    }
    if let Some(curves) = trees::serialization(&heading, &summaries) {
        pictures.push(PictureFile::of(
            place,
            SUBTREE,
            "Serialization in the subtree of a host, in each trace",
            trees::SERIALIZATION,
            curves,
        ));
    }
    if let Some(beside) = viz::SideBySide::new(heading.clone(), columns.collect()) {
        pictures.push(PictureFile::of(
            place,
            SIDE_BY_SIDE,
            "Timemaps side by side",
            "The timemaps of all traces on one scale: what is wider takes longer. Left of 0 is \
             waiting; right of 0 are the operation and leaving it.",
            beside,
        ));
    }
    if let Some(comparison) = one_thread(heading, &summaries) {
        pictures.push(PictureFile::of(
            place,
            ONE_RANK,
            "One rank in all traces",
            "The rank with the median wait in A. One line for each trace runs from top to bottom \
             through the stages. Left of 0 is waiting; right of 0 are the operation and leaving it.",
            comparison,
        ));
    }
    pictures
}

/// Whether a file has the name of one of these pictures.
pub(crate) fn is_picture(name: &str) -> bool {
    let kinds = [SIDE_BY_SIDE, ONE_RANK, SUBTREE, PATH].into_iter();
    let mut rests = kinds.filter_map(|kind| name.strip_prefix(kind)?.strip_prefix('-'));
    rests.any(|rest| {
        let parts = rest
            .strip_suffix(".svg")
            .and_then(|stem| stem.split_once('-'));
        parts.is_some_and(|(number, operation)| {
            number.parse::<usize>().is_ok()
                && Operation::ALL.iter().any(|known| known.name() == operation)
        })
    })
}

/// The main figures of the operation in each trace, as a sentence.
fn finding(operation: &ComparedOperation) -> String {
    let parts = operation.differences.iter().take(3).map(|differences| {
        let words = verdict(differences);
        let words = words.replacen("? ", "not distinguishable from A,", 1);
        format!("{}: {words}", letter(differences.trace))
    });
    parts.collect::<Vec<_>>().join("; ")
}

/// An operation in one of the traces, with what that is called.
type InTrace<'a> = (String, &'a Analysis, &'a OperationSummary);

fn column(name: &str, analysis: &Analysis) -> String {
    format!("{name}: {}", inert::line(&analysis.trace.directory, 40))
}

/// The rank with the median wait in the baseline, among those that all traces have.
fn one_thread(heading: Heading, summaries: &[InTrace<'_>]) -> Option<viz::Comparison> {
    let way = |summary: &OperationSummary, rank: u32| {
        let mut threads = summary.threads().iter();
        threads.find(|thread| thread.rank == rank).cloned()
    };
    let mut candidates: Vec<&ProcessTimes> = summaries[0].2.threads().iter().collect();
    candidates.retain(|thread| {
        let mut all = summaries.iter();
        all.all(|(_, _, summary)| way(summary, thread.rank).is_some())
    });
    candidates.sort_by_key(|thread| (thread.wait, thread.rank));
    let rank = candidates.get(candidates.len() / 2)?.rank;
    let mut comparison = viz::Comparison::new(heading);
    for (name, analysis, summary) in summaries {
        let thread = way(summary, rank)?;
        let times = timemap::times_of(summary, &thread);
        comparison.push(
            format!("{}, rank {rank}", column(name, analysis)).into(),
            timemap::stages(summary),
            |stage| times[stage],
        );
    }
    Some(comparison)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_known_by_their_names() {
        for name in [
            "side-by-side-1-MPI_Bcast.svg",
            "one-rank-12-MPI_Scan.svg",
            "one-path-2-MPI_Allreduce.svg",
            "subtree-serialization-1-MPI_Barrier.svg",
        ] {
            assert!(is_picture(name), "{name}");
        }
        for name in [
            "one-rank-notes.svg",
            "one-rank-1-MPI_Foo.svg",
            "one-rank-1-MPI_Bcast",
        ] {
            assert!(!is_picture(name), "{name}");
        }
    }
}
