//! Matrix multiplication, recursively: C = A B by halves of C's longer side, all of them at the same time.
//!
//! The recursion keeps what a task touches in some cache, whatever its size (Frigo, Leiserson, Prokop and Ramachandran,
//! "Cache-Oblivious Algorithms", FOCS 1999; Cilk's example `matmul`).

use crate::Pool;
use crate::inputs::Draw;
use crate::kernel::{Info, Kernel, Method, Suite, Wrong, digest, ensure, scaled};

/// Columns that are summed in registers, and rows.
const STRIP: usize = 8;
const ROWS: usize = 2;
/// The most rows of a block of C that one task computes, and the most strips.
const LEAF_ROWS: usize = 16;
const LEAF_STRIPS: usize = LEAF_ROWS / STRIP;

/// `matmul`.
#[derive(Debug)]
pub struct MatrixMultiply;

/// A square matrix, row by row.
#[derive(Debug)]
pub struct Matrix {
    side: usize,
    /// A row is whole strips; the last is filled up with zeros.
    strips: Vec<[f64; STRIP]>,
}

impl Matrix {
    fn zero(side: usize) -> Self {
        Self { side, strips: vec![[0.0; STRIP]; side * side.div_ceil(STRIP)] }
    }

    fn random(side: usize, draw: &mut Draw) -> Self {
        let mut matrix = Self::zero(side);
        for row in matrix.strips.chunks_mut(side.div_ceil(STRIP)) {
            row.as_flattened_mut()[..side].iter_mut().for_each(|value| *value = draw.between(-1.0, 1.0));
        }
        matrix
    }

    /// How many strips a row has.
    fn width(&self) -> usize {
        self.side.div_ceil(STRIP)
    }

    fn row(&self, row: usize) -> &[f64] {
        &self.strips[row * self.width()..(row + 1) * self.width()].as_flattened()[..self.side]
    }

    /// The matrix times a vector.
    fn times(&self, vector: &[f64]) -> Vec<f64> {
        (0..self.side).map(|row| self.row(row).iter().zip(vector).map(|(x, y)| x * y).sum()).collect()
    }
}

impl Kernel for MatrixMultiply {
    type Input = (Matrix, Matrix);
    type Output = Matrix;

    const INFO: Info = Info {
        name: "matmul",
        suite: Suite::Cilk,
        method: Method::Recursive,
        input: "200",
        tasks: 2047,
        task_kiloinstructions: 33.0,
    };

    fn input(scale: f64) -> (Matrix, Matrix) {
        let side = scaled(200, libm::cbrt(scale));
        let mut draw = Draw::new(19);
        (Matrix::random(side, &mut draw), Matrix::random(side, &mut draw))
    }

    fn run<P: Pool>(pool: &P, (a, b): &(Matrix, Matrix)) -> Matrix {
        let mut c = Matrix::zero(a.side);
        let strips = c.width();
        let rows = c.strips.chunks_mut(strips).collect();
        multiply(pool, a, b, Block { rows, first_row: 0, first_strip: 0, strips });
        c
    }

    /// C x = A (B x) for three random vectors x (Freivalds, 1977), and one element computed directly.
    fn check((a, b): &(Matrix, Matrix), c: &Matrix) -> Result<(), Wrong> {
        let mut draw = Draw::new(20);
        for _ in 0..3 {
            let x: Vec<f64> = (0..a.side).map(|_| draw.between(-1.0, 1.0)).collect();
            for (row, (left, right)) in c.times(&x).into_iter().zip(a.times(&b.times(&x))).enumerate() {
                let error = (left - right).abs();
                ensure(error < 1e-12 * (a.side * a.side) as f64, || format!("row {row} is off by {error}"))?;
            }
        }
        let last = a.side - 1;
        let element: f64 = (0..a.side).map(|k| a.row(last)[k] * b.row(k)[0]).sum();
        ensure((element - c.row(last)[0]).abs() < 1e-12 * a.side as f64, || "the last row's first element".into())
    }

    fn digest(c: &Matrix) -> u64 {
        digest(c.strips.as_flattened().iter().map(|value| value.to_bits()))
    }
}

/// A part of C.
struct Block<'a> {
    rows: Vec<&'a mut [[f64; STRIP]]>,
    first_row: usize,
    first_strip: usize,
    strips: usize,
}

impl Block<'_> {
    /// The upper and the lower half.
    fn rows(self) -> (Self, Self) {
        let Self { mut rows, first_row, first_strip, strips } = self;
        let half = rows.len() / 2;
        let below = Self { rows: rows.split_off(half), first_row: first_row + half, first_strip, strips };
        (Self { rows, first_row, first_strip, strips }, below)
    }

    /// The left and the right half.
    fn strips(self) -> (Self, Self) {
        let Self { rows, first_row, first_strip, strips } = self;
        let half = strips / 2;
        let (left, right) = rows.into_iter().map(|row| row.split_at_mut(half)).unzip();
        let right = Self { rows: right, first_row, first_strip: first_strip + half, strips: strips - half };
        (Self { rows: left, first_row, first_strip, strips: half }, right)
    }
}

fn multiply<P: Pool>(pool: &P, a: &Matrix, b: &Matrix, c: Block<'_>) {
    let tall = c.rows.len() >= c.strips * STRIP;
    let (first, second) = if tall && c.rows.len() > pool.grain(LEAF_ROWS) {
        c.rows()
    } else if c.strips > pool.grain(LEAF_STRIPS) {
        c.strips()
    } else {
        return multiply_serially(a, b, c);
    };
    pool.join(|| multiply(pool, a, b, first), || multiply(pool, a, b, second));
}

fn multiply_serially(a: &Matrix, b: &Matrix, mut c: Block<'_>) {
    for strip in 0..c.strips {
        let column = b.strips[c.first_strip + strip..].iter().step_by(b.width());
        for (pair, rows) in c.rows.chunks_mut(ROWS).enumerate() {
            let first = c.first_row + pair * ROWS;
            // An odd last row is computed twice.
            let second = first + rows.len() - 1;
            let mut sums = [[0.0; STRIP]; ROWS];
            for ((x, y), values) in a.row(first).iter().zip(a.row(second)).zip(column.clone()) {
                for (at, value) in values.iter().enumerate() {
                    sums[0][at] += x * value;
                    sums[1][at] += y * value;
                }
            }
            rows.iter_mut().zip(sums).for_each(|(row, sums)| row[strip] = sums);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Serial;
    use crate::testing::verify;

    #[test]
    fn medium_matrices() {
        verify::<MatrixMultiply>(&MatrixMultiply::input(0.1));
    }

    #[test]
    fn a_wrong_element_is_found_out() {
        let input = MatrixMultiply::input(0.001);
        let mut c = MatrixMultiply::run(&Serial, &input);
        c.strips[0][7] += 1e-6;
        assert!(MatrixMultiply::check(&input, &c).is_err());
    }

    proptest! {
        #[test]
        fn any_matrices(side in 1_usize..40, seed in any::<u64>()) {
            let mut draw = Draw::new(seed);
            verify::<MatrixMultiply>(&(Matrix::random(side, &mut draw), Matrix::random(side, &mut draw)));
        }
    }
}
