//! A part of the grid, with a solution that is known.
//!
//! The exact solution is x^3 - 3 x y^2 on the unit square. It solves the equation of Laplace, and
//! also the equations of differences between neighboring points, since its fourth derivatives are 0:
//! so what the solver ends with is exact but for rounding and the tolerance.

use std::f64::consts::PI;
use std::ops::Range;

use collbench_stats::random::hash;

/// The points of one color are relaxed together: each depends on points of the other color only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Color {
    Red,
    Black,
}

impl Color {
    pub(super) const ALL: [Self; 2] = [Self::Red, Self::Black];
}

/// Some rows of a grid of `n` times `n` unknown points, with one row or column more on each side:
/// the boundary, or a row of a neighbor.
#[derive(Debug, Clone)]
pub(super) struct Strip {
    n: usize,
    /// The unknown rows, counted from 1; row 0 is on the boundary.
    rows: Range<usize>,
    /// Row by row.
    values: Vec<f64>,
}

/// The rows of one of several leaves, which are as equal as can be.
pub(super) fn rows_of(leaf: usize, n_leaves: usize, n: usize) -> Range<usize> {
    1 + leaf * n / n_leaves..1 + (leaf + 1) * n / n_leaves
}

/// The factor of over-relaxation that is best for this equation (Young 1954).
pub(super) fn best_factor(n: usize) -> f64 {
    2.0 / (1.0 + (PI / (n + 1) as f64).sin())
}

impl Strip {
    /// Unknown points are 0 at first.
    pub(super) fn new(n: usize, rows: Range<usize>) -> Self {
        let mut strip = Self {
            n,
            values: vec![0.0; (rows.len() + 2) * (n + 2)],
            rows,
        };
        for row in strip.rows.start - 1..=strip.rows.end {
            for column in 0..n + 2 {
                if [row, column].iter().any(|&at| at == 0 || at == n + 1) {
                    let at = strip.at(row, column);
                    strip.values[at] = strip.exact(row, column);
                }
            }
        }
        strip
    }

    fn at(&self, row: usize, column: usize) -> usize {
        (row + 1 - self.rows.start) * (self.n + 2) + column
    }

    fn exact(&self, row: usize, column: usize) -> f64 {
        let [x, y] = [column, row].map(|at| at as f64 / (self.n + 1) as f64);
        x * x * x - 3.0 * x * y * y
    }

    /// Changes all points of a color; returns the largest change.
    pub(super) fn relax(&mut self, color: Color, factor: f64) -> f64 {
        let width = self.n + 2;
        let mut largest = 0.0_f64;
        for row in self.rows.clone() {
            let begin = 1 + (row + 1 + color as usize) % 2;
            for column in (begin..=self.n).step_by(2) {
                let at = self.at(row, column);
                let values = &self.values;
                let mean =
                    (values[at - width] + values[at + width] + values[at - 1] + values[at + 1])
                        / 4.0;
                let change = factor * (mean - values[at]);
                self.values[at] += change;
                largest = largest.max(change.abs());
            }
        }
        largest
    }

    /// A row: one of its own, or the one before or after them.
    pub(super) fn row(&self, row: usize) -> &[f64] {
        let begin = self.at(row, 0);
        &self.values[begin..begin + self.n + 2]
    }

    /// As [`row`](Self::row), to be changed.
    pub(super) fn row_mut(&mut self, row: usize) -> &mut [f64] {
        let begin = self.at(row, 0);
        let n = self.n;
        &mut self.values[begin..begin + n + 2]
    }

    /// The unknown rows.
    pub(super) fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// The largest difference of an unknown point from the exact solution.
    pub(super) fn error(&self) -> f64 {
        let points = self.points();
        let errors = points.map(|(row, column, value)| (value - self.exact(row, column)).abs());
        errors.fold(0.0, f64::max)
    }

    /// A sum over all unknown points that is the same, for all strips of a grid together, however
    /// the grid is divided, and that differs if any bit of a point differs.
    pub(super) fn checksum(&self) -> u64 {
        let points = self.points();
        let hashes =
            points.map(|(row, column, value)| hash(&[row as u64, column as u64, value.to_bits()]));
        hashes.fold(0, u64::wrapping_add)
    }

    fn points(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        self.rows.clone().flat_map(move |row| {
            let values = self.row(row)[1..=self.n].iter();
            values
                .zip(1..)
                .map(move |(&value, column)| (row, column, value))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Solves with so many strips; returns the number of steps and the strips.
    fn solved(n: usize, n_leaves: usize, tolerance: f64) -> (u32, Vec<Strip>) {
        let strips = (0..n_leaves).map(|leaf| Strip::new(n, rows_of(leaf, n_leaves, n)));
        let mut strips: Vec<Strip> = strips.collect();
        let factor = best_factor(n);
        for step in 1.. {
            let mut change = 0.0_f64;
            for color in Color::ALL {
                for upper in 1..n_leaves {
                    let (first, second) = strips.split_at_mut(upper);
                    let (first, second) = (&mut first[upper - 1], &mut second[0]);
                    let between = second.rows().start;
                    first.row_mut(between).copy_from_slice(second.row(between));
                    second
                        .row_mut(between - 1)
                        .copy_from_slice(first.row(between - 1));
                }
                for strip in &mut strips {
                    change = change.max(strip.relax(color, factor));
                }
            }
            if change < tolerance {
                return (step, strips);
            }
        }
        unreachable!()
    }

    fn checksum(strips: &[Strip]) -> u64 {
        strips
            .iter()
            .map(Strip::checksum)
            .fold(0, u64::wrapping_add)
    }

    #[test]
    fn the_exact_solution_is_found() {
        for n in [1, 2, 17, 40] {
            let (steps, strips) = solved(n, 1, 1e-12);
            assert!(strips[0].error() < 1e-10, "{n}: {}", strips[0].error());
            // The best factor needs some multiple of n, not of its square.
            assert!(steps < 20 + 8 * n as u32, "{n}: {steps}");
        }
        // Without any step nothing is right.
        assert!(Strip::new(17, rows_of(0, 1, 17)).error() > 0.5);
    }

    #[test]
    fn the_solution_is_the_same_to_the_bit_however_the_grid_is_divided() {
        let (steps, whole) = solved(23, 1, 1e-9);
        for n_leaves in [2, 3, 23] {
            let (own_steps, strips) = solved(23, n_leaves, 1e-9);
            assert_eq!((own_steps, checksum(&strips)), (steps, checksum(&whole)));
        }
        let mut other = whole.clone();
        other[0].row_mut(5)[7] += 1e-16;
        assert_ne!(checksum(&other), checksum(&whole));
    }

    #[test]
    fn rows_are_divided_without_gaps() {
        for (n, n_leaves) in [(5, 5), (7, 3), (128, 9)] {
            let all: Vec<usize> = (0..n_leaves)
                .flat_map(|leaf| rows_of(leaf, n_leaves, n))
                .collect();
            assert!(all.into_iter().eq(1..=n));
            assert!((0..n_leaves).all(|leaf| !rows_of(leaf, n_leaves, n).is_empty()));
        }
    }
}
