//! Linear equations with a symmetric positive definite matrix that is banded except for a border.
//!
//! ```text
//! | A   B | |x|   |a|
//! | B'  D | |p| = |b|
//! ```
//!
//! A is banded: the unknowns at one time depend on those at neighbouring times. D is small and
//! dense: the few unknowns that belong to no time. The factor of A has the band of A, and the Schur
//! complement `S = D - B' A^-1 B` is factored as a dense matrix. The alternative is a library for
//! general sparse matrices, which would find this order itself.

/// The lower half of a symmetric banded matrix, row by row.
#[derive(Debug, Clone)]
struct Band {
    n: usize,
    /// Entries left of the diagonal in each row.
    width: usize,
    rows: Vec<f64>,
}

impl Band {
    fn zero(n: usize, width: usize) -> Self {
        Self {
            n,
            width,
            rows: vec![0.0; n * (width + 1)],
        }
    }

    /// The entries of a row, from column `i - width` to the diagonal.
    fn row(&self, i: usize) -> &[f64] {
        &self.rows[i * (self.width + 1)..][..=self.width]
    }

    fn add(&mut self, i: usize, k: usize, value: f64) {
        let (i, k) = (i.max(k), i.min(k));
        debug_assert!(i - k <= self.width);
        self.rows[i * (self.width + 1) + self.width - (i - k)] += value;
    }

    /// The Cholesky factor, in place; `false` if the matrix is not positive definite.
    fn factor(&mut self) -> bool {
        let (width, length) = (self.width, self.width + 1);
        for i in 0..self.n {
            let first = i.saturating_sub(width);
            let (above, row) = self.rows.split_at_mut(i * length);
            for k in first..i {
                // Columns that both rows have, from the first of row i on.
                let n_shared = k - first;
                let of_k = &above[k * length + width - n_shared..][..n_shared];
                let of_i = &row[width - (i - first)..][..n_shared];
                let sum = row[width - (i - k)] - dot(of_i, of_k);
                row[width - (i - k)] = sum / above[k * length + width];
            }
            let of_i = &row[width - (i - first)..width];
            let rest = row[width] - dot(of_i, of_i);
            if rest <= 0.0 || !rest.is_finite() {
                return false;
            }
            row[width] = rest.sqrt();
        }
        true
    }

    /// Solves with the factor, from the first row to the last, for `n_columns` adjacent right-hand
    /// sides.
    fn forward(&self, sides: &mut [f64], n_columns: usize) {
        for i in 0..self.n {
            let first = i.saturating_sub(self.width);
            let (above, rest) = sides.split_at_mut(i * n_columns);
            let side = &mut rest[..n_columns];
            let row = self.row(i);
            for k in first..i {
                let factor = row[self.width - (i - k)];
                if factor != 0.0 {
                    subtract(side, factor, &above[k * n_columns..][..n_columns]);
                }
            }
            let diagonal = row[self.width];
            side.iter_mut().for_each(|value| *value /= diagonal);
        }
    }

    /// Solves with the transposed factor, from the last row to the first.
    fn backward(&self, sides: &mut [f64], n_columns: usize) {
        for i in (0..self.n).rev() {
            let first = i.saturating_sub(self.width);
            let (above, rest) = sides.split_at_mut(i * n_columns);
            let side = &mut rest[..n_columns];
            let row = self.row(i);
            let diagonal = row[self.width];
            side.iter_mut().for_each(|value| *value /= diagonal);
            for k in first..i {
                let factor = row[self.width - (i - k)];
                if factor != 0.0 {
                    subtract(&mut above[k * n_columns..][..n_columns], factor, side);
                }
            }
        }
    }

    fn log_determinant(&self) -> f64 {
        let diagonals = (0..self.n).map(|i| self.row(i)[self.width]);
        2.0 * diagonals.map(f64::ln).sum::<f64>()
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    // Four independent sums.
    let mut sums = [0.0; 4];
    let (a_blocks, b_blocks) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = a_blocks
        .remainder()
        .iter()
        .zip(b_blocks.remainder())
        .map(|(a, b)| a * b)
        .sum();
    for (a, b) in a_blocks.zip(b_blocks) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

fn subtract(from: &mut [f64], factor: f64, what: &[f64]) {
    for (value, other) in from.iter_mut().zip(what) {
        *value -= factor * other;
    }
}

/// Rows of the border that are multiplied while a row of the corner is in the cache.
const ROWS_TOGETHER: usize = 16;

/// A banded matrix with a border, and its right side.
#[derive(Debug, Clone)]
pub(crate) struct Bordered {
    band: Band,
    /// Row by row, with as many columns as the border has.
    border: Vec<f64>,
    /// Only the lower half of D is used.
    corner: Band,
    /// Right-hand sides.
    band_side: Vec<f64>,
    corner_side: Vec<f64>,
}

impl Bordered {
    /// All zero: `n` unknowns coupled to those up to `width` away, and `n_border` others.
    pub(crate) fn zero(n: usize, width: usize, n_border: usize) -> Self {
        Self {
            band: Band::zero(n, width.min(n.saturating_sub(1))),
            border: vec![0.0; n * n_border],
            corner: Band::zero(n_border, n_border.saturating_sub(1)),
            band_side: vec![0.0; n],
            corner_side: vec![0.0; n_border],
        }
    }

    /// Adds the equation `sum of factors times unknowns = value` with the weight of its square.
    /// Unknowns with an index of `n` or more are those of the border.
    pub(crate) fn add(&mut self, terms: &[(usize, f64)], value: f64, weight: f64) {
        let n = self.band.n;
        let n_border = self.corner.n;
        for (at, &(i, a)) in terms.iter().enumerate() {
            for &(k, b) in &terms[..=at] {
                let product = weight * a * b;
                match (i < n, k < n) {
                    (true, true) => self.band.add(i, k, product),
                    (true, false) => self.border[i * n_border + k - n] += product,
                    (false, true) => self.border[k * n_border + i - n] += product,
                    (false, false) => self.corner.add(i - n, k - n, product),
                }
            }
            if i < n {
                self.band_side[i] += weight * a * value
            } else {
                self.corner_side[i - n] += weight * a * value
            }
        }
    }

    /// The factors; `None` if the matrix is not positive definite.
    pub(crate) fn factor(mut self) -> Option<Factored> {
        let n_border = self.corner.n;
        if !self.band.factor() {
            return None;
        }
        // W = L^-1 B, and then S = D - W' W.
        self.band.forward(&mut self.border, n_border);
        if n_border > 0 {
            // Some rows at a time: the corner is larger than the nearest cache.
            for rows in self.border.chunks(ROWS_TOGETHER * n_border) {
                for i in 0..n_border {
                    let of_corner = &mut self.corner.rows[(i + 1) * n_border - 1 - i..][..=i];
                    for row in rows.chunks_exact(n_border) {
                        if row[i] != 0.0 {
                            subtract(of_corner, row[i], &row[..=i]);
                        }
                    }
                }
            }
        }
        self.corner.factor().then_some(Factored { of: self })
    }
}

/// The factors of a [`Bordered`] matrix.
#[derive(Debug, Clone)]
pub(crate) struct Factored {
    of: Bordered,
}

impl Factored {
    /// Solution; the unknowns of the border are last.
    pub(crate) fn solve(&self) -> Vec<f64> {
        self.solve_for(&self.of.band_side, &self.of.corner_side)
    }

    /// Solution for another right-hand side.
    fn solve_for(&self, band_side: &[f64], corner_side: &[f64]) -> Vec<f64> {
        let Bordered {
            band,
            border,
            corner,
            ..
        } = &self.of;
        let n_border = corner.n;
        let mut x = band_side.to_vec();
        band.forward(&mut x, 1);
        let mut p = corner_side.to_vec();
        if n_border > 0 {
            for (row, &x) in border.chunks_exact(n_border).zip(&x) {
                if x != 0.0 {
                    subtract(&mut p, x, row);
                }
            }
            corner.forward(&mut p, 1);
            corner.backward(&mut p, 1);
            for (row, x) in border.chunks_exact(n_border).zip(&mut x) {
                *x -= dot(row, &p);
            }
        }
        band.backward(&mut x, 1);
        x.extend(p);
        x
    }

    /// Logarithm of the determinant of the whole matrix.
    pub(crate) fn log_determinant(&self) -> f64 {
        self.of.band.log_determinant() + self.of.corner.log_determinant()
    }

    /// Covariances of `n` unknowns of the band from `first` on: rows of the inverse.
    pub(crate) fn covariance(&self, first: usize, n: usize) -> Vec<Vec<f64>> {
        let zero = vec![0.0; self.of.corner.n];
        (0..n)
            .map(|i| {
                let mut side = vec![0.0; self.of.band.n];
                side[first + i] = 1.0;
                self.solve_for(&side, &zero)[first..first + n].to_vec()
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Terms, value and weight.
    type Equation = (Vec<(usize, f64)>, f64, f64);

    /// Solves the same equations densely, by elimination.
    fn dense(n: usize, equations: &[Equation]) -> (Vec<f64>, f64) {
        let mut rows = vec![vec![0.0; n + 1]; n];
        for (terms, value, weight) in equations {
            for &(i, a) in terms {
                for &(k, b) in terms {
                    rows[i][k] += weight * a * b;
                }
                rows[i][n] += weight * a * value;
            }
        }
        let mut log_determinant = 0.0;
        for i in 0..n {
            let pivot = rows[i].clone();
            log_determinant += pivot[i].ln();
            for (k, row) in rows.iter_mut().enumerate() {
                if k != i {
                    let factor = row[i] / pivot[i];
                    row.iter_mut()
                        .zip(&pivot)
                        .for_each(|(value, other)| *value -= factor * other);
                }
            }
        }
        let solution = (0..n).map(|i| rows[i][n] / rows[i][i]).collect();
        (solution, log_determinant)
    }

    /// Twelve unknowns in a band, three in the border.
    fn equations() -> Vec<Equation> {
        let mut equations = Vec::new();
        for i in 0..15 {
            equations.push((vec![(i, 1.0)], i as f64, 0.1 + i as f64 / 40.0));
        }
        for i in 0..10 {
            let bend = vec![(i, 1.0), (i + 1, -2.0), (i + 2, 1.0)];
            equations.push((bend, 0.3, 5.0));
        }
        for i in 0..12 {
            let measured = vec![(i, 1.0), (12 + i % 3, 1.5)];
            equations.push((measured, (i * i) as f64, 2.0));
        }
        equations.push((vec![(13, 0.5), (14, -0.5)], 0.0, 7.0));
        equations
    }

    fn bordered() -> Factored {
        let mut matrix = Bordered::zero(12, 2, 3);
        for (terms, value, weight) in equations() {
            matrix.add(&terms, value, weight);
        }
        matrix.factor().unwrap()
    }

    #[test]
    fn the_solution_and_the_determinant_are_those_of_elimination() {
        let factored = bordered();
        let (expected, log_determinant) = dense(15, &equations());
        for (found, expected) in factored.solve().iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
        assert!((factored.log_determinant() - log_determinant).abs() < 1e-9);
    }

    #[test]
    fn covariances_are_those_of_the_inverse() {
        let factored = bordered();
        let found = factored.covariance(4, 3);
        for (i, row) in found.iter().enumerate() {
            // The column of the inverse is the solution for a unit vector.
            let mut units = equations();
            units.iter_mut().for_each(|(_, value, _)| *value = 0.0);
            let (_, value, weight) = &mut units[4 + i];
            *value = 1.0 / *weight;
            let (expected, _) = dense(15, &units);
            for (found, expected) in row.iter().zip(&expected[4..7]) {
                assert!((found - expected).abs() < 1e-9, "{found} {expected}");
            }
        }
    }

    #[test]
    fn what_is_not_positive_definite_has_no_factor() {
        let mut matrix = Bordered::zero(3, 1, 1);
        matrix.add(&[(0, 1.0), (1, -1.0)], 0.0, 1.0);
        matrix.add(&[(2, 1.0), (3, 1.0)], 0.0, 1.0);
        assert!(matrix.factor().is_none());
    }
}
