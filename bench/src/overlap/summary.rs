//! What the cells of an operation say together.

use collbench_stats::spread::Spread;
use collbench_text::quantity::counted;

use super::diagnosis::Diagnosis;
use super::document::{Document, RegionFigures};
use super::operation::Operation;
use super::words;

/// An operation in one of several documents. Cells far from the diagonal do not count.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Summary {
    pub(super) operation: Operation,
    /// Index of the document.
    pub(super) document: usize,
    /// Number of measured cells.
    pub(super) cells: usize,
    pub(super) median_overhead: Option<f64>,
    pub(super) worst_overhead: Option<f64>,
    /// Median of the MPI impact ratios over the times of the computation.
    pub(super) impact: Option<f64>,
    /// The most frequent diagnosis, and its number of cells.
    pub(super) most: Option<(Diagnosis, usize)>,
}

impl Summary {
    /// The summaries of all operations, by operation and then by document.
    pub(super) fn of_all(documents: &[Document]) -> Vec<Self> {
        let mut operations: Vec<Operation> = Vec::new();
        for document in documents {
            for grid in &document.grids {
                if !operations.contains(&grid.operation) {
                    operations.push(grid.operation);
                }
            }
        }
        let of = |operation: Operation| {
            let all = documents.iter().enumerate();
            all.filter_map(move |(idx, document)| Self::of(document, idx, operation))
        };
        operations.into_iter().flat_map(of).collect()
    }

    fn of(document: &Document, idx: usize, operation: Operation) -> Option<Self> {
        let mut grids = document.grids.iter();
        let grid = grids.find(|grid| grid.operation == operation)?;
        let overhead = Spread::of(grid.counted().map(|(_, cell)| cell.ratios.overhead));
        let impacts = document.computations.iter().filter_map(|one| one.impact);
        let count = |diagnosis: Diagnosis| {
            let cells = grid
                .counted()
                .filter(|(_, cell)| cell.diagnosis == diagnosis);
            (diagnosis, cells.count())
        };
        // Of equally frequent ones, the better.
        let counts = Diagnosis::ALL.into_iter().rev().map(count);
        let most = counts.filter(|(_, n)| *n > 0).max_by_key(|(_, n)| *n);
        Some(Self {
            operation,
            document: idx,
            cells: overhead.map_or(0, |spread| spread.n),
            median_overhead: overhead.map(|spread| spread.median),
            worst_overhead: overhead.map(|spread| spread.max),
            impact: Spread::of(impacts).map(|spread| spread.median),
            most,
        })
    }

    /// The most frequent diagnosis, with its share of the cells.
    pub(super) fn verdict(&self) -> String {
        match self.most {
            None => "nothing was measured".to_owned(),
            Some((diagnosis, n)) => {
                format!(
                    "{} ({n} of {})",
                    diagnosis.name(),
                    counted(self.cells, "cell")
                )
            }
        }
    }
}

/// A region with its limits, as a sentence.
pub(super) fn region_words(region: &RegionFigures) -> String {
    let range = |[from, to]: [u64; 2]| {
        if from == to {
            words(from)
        } else {
            format!("{} to {}", words(from), words(to))
        }
    };
    let name = region.diagnosis.name();
    let (first, rest) = name.split_at(1);
    format!(
        "{}{rest}: {}, communication {}, computation {}.",
        first.to_uppercase(),
        counted(region.cells, "cell"),
        range(region.communication_ns),
        range(region.computation_ns)
    )
}
