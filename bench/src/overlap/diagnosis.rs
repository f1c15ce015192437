//! From the ratios of a cell to what hinders the overlap, in words; and neighboring cells with one
//! diagnosis as a region.
//!
//! # Source
//! Denis et al. 2022, sections 3.2.2 and 3.3, 6.1 for a communication that the computation slows.

use serde::{Deserialize, Serialize};

use super::metrics::Ratios;

/// A ratio differs from a value when it is further away than this.
const NEAR: f64 = 0.2;
/// A computation is slowed when it takes this many times its reference: its times vary less than
/// those of communication.
const SLOWED: f64 = 1.1;

/// What hinders the overlap of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(super) enum Diagnosis {
    /// The overhead ratio is near 0.
    GoodOverlap,
    /// The communication ratio and the overhead ratio are near 1, and the computation is as fast as
    /// alone.
    NoProgression,
    /// The communication ratio is below 1, the computation is as fast as alone, and a part of the
    /// communication remains that could have been hidden.
    FirstStepOnly,
    /// The communication was hidden, at the cost of the computation.
    ComputationSlowed,
    /// The communication took longer than alone, the computation did not.
    CommunicationSlowed,
    /// Both took longer than alone.
    ContentionWithoutOverlap,
    /// The communication ratio is near 1, which has two causes, and the other ratios do not decide.
    TwoCauses,
    /// Faster than the longer of the two references, or the computation faster than its own.
    Imprecise,
}

impl Diagnosis {
    /// The diagnosis of these ratios.
    pub(super) fn of(ratios: Ratios) -> Self {
        let is_slowed = ratios.computation_slowdown > SLOWED;
        let is_near_1 = |ratio: f64| (ratio - 1.0).abs() <= NEAR;
        if ratios.overhead < -NEAR || ratios.computation_slowdown < 1.0 - NEAR {
            Self::Imprecise
        } else if ratios.overhead <= NEAR {
            Self::GoodOverlap
        } else if is_near_1(ratios.communication) {
            if is_slowed {
                Self::TwoCauses
            } else if is_near_1(ratios.overhead) {
                Self::NoProgression
            } else if ratios.overhead < 1.0 {
                Self::FirstStepOnly
            } else {
                Self::TwoCauses
            }
        } else if ratios.communication > 1.0 {
            if is_slowed {
                Self::ContentionWithoutOverlap
            } else {
                Self::CommunicationSlowed
            }
        } else if is_slowed || ratios.overhead > ratios.communication + NEAR {
            // What remains of the communication does not explain the overhead: where the computation
            // is much longer than the communication, a slight slowdown is more than what is hidden.
            Self::ComputationSlowed
        } else {
            Self::FirstStepOnly
        }
    }

    /// Every diagnosis, the best first.
    pub(super) const ALL: [Self; 8] = [
        Self::GoodOverlap,
        Self::FirstStepOnly,
        Self::NoProgression,
        Self::ComputationSlowed,
        Self::CommunicationSlowed,
        Self::ContentionWithoutOverlap,
        Self::TwoCauses,
        Self::Imprecise,
    ];

    /// A few words, for a table.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::GoodOverlap => "good overlap",
            Self::NoProgression => "no progression",
            Self::FirstStepOnly => "only the first step overlapped",
            Self::ComputationSlowed => "computation slowed",
            Self::CommunicationSlowed => "communication slowed",
            Self::ContentionWithoutOverlap => "contention without overlap",
            Self::TwoCauses => "communication ratio near 1, cause not decided",
            Self::Imprecise => "imprecise",
        }
    }

    /// What it means, as a sentence.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::GoodOverlap => {
                "The shorter of communication and computation is almost entirely hidden behind the \
                 longer."
            }
            Self::NoProgression => {
                "The communication does not advance during the computation: all of it happens in \
                 the calls of MPI."
            }
            Self::FirstStepOnly => {
                "Only a part of the communication, such as its first step, advances during the \
                 computation; the rest happens in the completing wait."
            }
            Self::ComputationSlowed => {
                "The communication advances during the computation, which it slows: what it costs \
                 there outweighs what is hidden."
            }
            Self::CommunicationSlowed => {
                "The communication takes longer than alone, and the computation does not: the calls \
                 of MPI take more time than without overlap."
            }
            Self::ContentionWithoutOverlap => {
                "Communication and computation hinder each other: both take longer than alone, and \
                 nothing is hidden."
            }
            Self::TwoCauses => {
                "The calls of MPI take as long as without overlap. Either nothing was overlapped, \
                 or the communication was slowed and a part of it was hidden; these ratios do not \
                 decide which."
            }
            Self::Imprecise => {
                "Faster than communication or computation alone: a reference time is imprecise."
            }
        }
    }
}

/// Adjacent cells with one diagnosis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) diagnosis: Diagnosis,
    /// (row, column) of its cells, ascending.
    pub(super) cells: Vec<(usize, usize)>,
}

/// The regions of a grid: cells that share a side and a diagnosis are in one region. The largest
/// first; of equal ones, that with the first cell.
pub(super) fn regions(grid: &[Vec<Option<Diagnosis>>]) -> Vec<Region> {
    let at = |(row, column): (usize, usize)| grid.get(row)?.get(column).copied().flatten();
    let mut seen: Vec<Vec<bool>> = grid.iter().map(|row| vec![false; row.len()]).collect();
    let mut regions = Vec::new();
    for row in 0..grid.len() {
        for column in 0..grid[row].len() {
            let Some(diagnosis) = at((row, column)).filter(|_| !seen[row][column]) else {
                continue;
            };
            let mut cells = vec![(row, column)];
            seen[row][column] = true;
            let mut next = 0;
            while let Some(&(row, column)) = cells.get(next) {
                next += 1;
                let sides = [
                    (row.wrapping_sub(1), column),
                    (row + 1, column),
                    (row, column.wrapping_sub(1)),
                    (row, column + 1),
                ];
                for side in sides {
                    if at(side) == Some(diagnosis) && !seen[side.0][side.1] {
                        seen[side.0][side.1] = true;
                        cells.push(side);
                    }
                }
            }
            cells.sort_unstable();
            regions.push(Region { diagnosis, cells });
        }
    }
    regions.sort_by_key(|region| std::cmp::Reverse(region.cells.len()));
    regions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diagnosis(overhead: f64, computation_slowdown: f64, communication: f64) -> Diagnosis {
        Diagnosis::of(Ratios {
            overhead,
            computation_slowdown,
            communication,
        })
    }

    #[test]
    fn each_case_of_section_3_3_has_its_name() {
        assert_eq!(diagnosis(0.05, 1.02, 0.03), Diagnosis::GoodOverlap);
        assert_eq!(diagnosis(1.0, 1.0, 1.0), Diagnosis::NoProgression);
        assert_eq!(diagnosis(0.75, 1.0, 0.75), Diagnosis::FirstStepOnly);
        assert_eq!(diagnosis(1.6, 1.5, 0.05), Diagnosis::ComputationSlowed);
        assert_eq!(diagnosis(0.9, 1.08, 0.05), Diagnosis::ComputationSlowed);
        assert_eq!(
            diagnosis(2.4, 1.5, 1.3),
            Diagnosis::ContentionWithoutOverlap
        );
    }

    #[test]
    fn a_communication_ratio_near_1_is_decided_by_the_overhead_ratio_or_not_at_all() {
        assert_eq!(diagnosis(1.05, 1.0, 1.0), Diagnosis::NoProgression);
        assert_eq!(diagnosis(1.5, 1.4, 1.0), Diagnosis::TwoCauses);
        assert_eq!(diagnosis(1.6, 1.0, 1.0), Diagnosis::TwoCauses);
    }

    #[test]
    fn a_communication_that_alone_is_slowed_is_told_from_contention() {
        assert_eq!(diagnosis(1.9, 1.0, 2.0), Diagnosis::CommunicationSlowed);
        assert_eq!(
            diagnosis(1.9, 1.2, 2.0),
            Diagnosis::ContentionWithoutOverlap
        );
    }

    #[test]
    fn faster_than_the_references_is_imprecise_and_not_good() {
        assert_eq!(diagnosis(-0.4, 1.0, 0.1), Diagnosis::Imprecise);
        assert_eq!(diagnosis(0.1, 0.7, 0.9), Diagnosis::Imprecise);
    }

    #[test]
    fn every_diagnosis_is_listed_once_with_words_of_its_own() {
        let mut names: Vec<&str> = Diagnosis::ALL.iter().map(|one| one.name()).collect();
        let mut words: Vec<&str> = Diagnosis::ALL.iter().map(|one| one.words()).collect();
        for list in [&mut names, &mut words] {
            list.sort_unstable();
            list.dedup();
            assert_eq!(list.len(), Diagnosis::ALL.len());
        }
    }

    #[test]
    fn regions_are_of_cells_that_touch() {
        let (g, n) = (Some(Diagnosis::GoodOverlap), Some(Diagnosis::NoProgression));
        let grid = vec![vec![n, n, g], vec![n, None, g], vec![g, n, n]];
        let found = regions(&grid);
        let cells: Vec<_> = found.iter().map(|region| region.cells.clone()).collect();
        assert_eq!(
            cells,
            [
                vec![(0, 0), (0, 1), (1, 0)],
                vec![(0, 2), (1, 2)],
                vec![(2, 1), (2, 2)],
                vec![(2, 0)],
            ]
        );
        assert_eq!(found[0].diagnosis, Diagnosis::NoProgression);
    }
}
