//! Cholesky factorization of a sparse matrix that is kept as a quadtree: the lower triangular L with L L^T = A.
//!
//! A quadrant without non-zeros is absent. The recursion follows the blocks of
//! `[A00 .; A10 A11] = [L00 .; L10 L11] [L00 .; L10 L11]^T`: factor A00, solve for L10, subtract L10 L10^T from A11, factor what
//! is left; solving and subtracting are parallel over quadrants (the example `cholesky` of Cilk: Frigo, Leiserson and Randall,
//! PLDI 1998; quadtree matrices: Wise, ACM SIGSAM Bulletin 1984).

use crate::inputs::Draw;
use crate::kernel::{Info, Kernel, Method, Suite, Wrong, digest, ensure, scaled};
use crate::{Pool, Serial};

/// The side of a leaf.
const LEAF: usize = 4;
/// Quadrants of this side and smaller are worked on by one task.
const TASK: usize = 8;

/// `clsky`.
#[derive(Debug)]
pub struct Cholesky;

/// A symmetric matrix by the elements of its lower triangle.
#[derive(Debug)]
pub struct Sparse {
    side: usize,
    /// Row, column, value.
    elements: Vec<(usize, usize, f64)>,
}

/// A lower triangular matrix.
#[derive(Debug)]
pub struct Factor {
    /// The side of `quads`, which is a power of two times a leaf's.
    side: usize,
    quads: Quads,
}

/// A square block; `None` is zero.
type Quads = Option<Box<Block>>;

#[derive(Debug)]
enum Block {
    Leaf([[f64; LEAF]; LEAF]),
    /// 00, 01, 10, 11.
    Inner([Quads; 4]),
}

impl Kernel for Cholesky {
    type Input = Sparse;
    type Output = Factor;

    const INFO: Info = Info {
        name: "clsky",
        suite: Suite::Cilk,
        method: Method::Recursive,
        input: "-n 128 -z 256",
        tasks: 3645,
        task_kiloinstructions: 11.0,
    };

    /// `n` rows and `z` elements below the diagonal at random places. The diagonal makes the matrix positive definite.
    fn input(scale: f64) -> Sparse {
        random(scaled(128, libm::cbrt(scale)), scaled(256, libm::cbrt(scale)), 16)
    }

    fn run<P: Pool>(pool: &P, matrix: &Sparse) -> Factor {
        let side = LEAF * matrix.side.div_ceil(LEAF).next_power_of_two();
        let mut quads = None;
        for &(row, column, value) in &matrix.elements {
            set(&mut quads, side, row, column, value);
        }
        // The padding must have a factor, too.
        (matrix.side..side).for_each(|row| set(&mut quads, side, row, row, 1.0));
        Factor { side, quads: factor(pool, side, quads) }
    }

    fn check(matrix: &Sparse, lower: &Factor) -> Result<(), Wrong> {
        let (n, l) = (matrix.side, lower.dense());
        let mut a = vec![vec![0.0; n]; n];
        for &(row, column, value) in &matrix.elements {
            a[row][column] = value;
        }
        for row in 0..n {
            ensure(l[row][row] > 0.0, || format!("the diagonal of row {row} is {}", l[row][row]))?;
            ensure(l[row][row + 1..].iter().all(|&x| x == 0.0), || format!("row {row} is not lower triangular"))?;
            for column in 0..=row {
                let product: f64 = l[row].iter().zip(&l[column]).map(|(x, y)| x * y).sum();
                let error = (product - a[row][column]).abs();
                ensure(error < 1e-9 * a[row][row], || format!("row {row}, column {column} is off by {error}"))?;
            }
        }
        Ok(())
    }

    fn digest(lower: &Factor) -> u64 {
        digest(lower.dense().into_iter().flatten().map(f64::to_bits))
    }
}

fn random(side: usize, elements: usize, seed: u64) -> Sparse {
    let mut draw = Draw::new(seed);
    let mut places = vec![];
    for _ in 0..elements {
        let [a, b] = [(); 2].map(|()| draw.below(side as u64) as usize);
        if a != b {
            places.push((a.max(b), a.min(b)));
        }
    }
    places.sort_unstable();
    places.dedup();
    let mut diagonal = vec![1.0; side];
    let mut elements: Vec<_> = places.into_iter().map(|(row, column)| (row, column, draw.between(-1.0, 1.0))).collect();
    for &(row, column, value) in &elements {
        diagonal[row] += f64::abs(value);
        diagonal[column] += f64::abs(value);
    }
    elements.extend(diagonal.into_iter().enumerate().map(|(row, value)| (row, row, value)));
    Sparse { side, elements }
}

impl Factor {
    fn dense(&self) -> Vec<Vec<f64>> {
        fn copy(quads: &Quads, side: usize, row: usize, column: usize, out: &mut [Vec<f64>]) {
            match quads.as_deref() {
                None => {}
                Some(Block::Leaf(values)) => {
                    for (index, line) in values.iter().enumerate() {
                        out[row + index][column..column + LEAF].copy_from_slice(line);
                    }
                }
                Some(Block::Inner(parts)) => {
                    for (index, part) in parts.iter().enumerate() {
                        copy(part, side / 2, row + index / 2 * side / 2, column + index % 2 * side / 2, out);
                    }
                }
            }
        }
        let mut out = vec![vec![0.0; self.side]; self.side];
        copy(&self.quads, self.side, 0, 0, &mut out);
        out
    }
}

fn set(quads: &mut Quads, side: usize, row: usize, column: usize, value: f64) {
    if side == LEAF {
        if let Block::Leaf(values) = &mut **quads.get_or_insert_with(|| Box::new(Block::Leaf(Default::default()))) {
            values[row][column] = value;
        }
    } else if let Block::Inner(parts) = &mut **quads.get_or_insert_with(|| Box::new(Block::Inner(Default::default()))) {
        let half = side / 2;
        set(&mut parts[row / half * 2 + column / half], half, row % half, column % half, value);
    }
}

/// The four quadrants of a block that is not a leaf.
fn parts(quads: Quads) -> [Quads; 4] {
    match quads.map(|block| *block) {
        Some(Block::Inner(parts)) => parts,
        _ => Default::default(),
    }
}

fn part(quads: &Quads, index: usize) -> &Quads {
    match quads.as_deref() {
        Some(Block::Inner(parts)) => &parts[index],
        _ => &None,
    }
}

fn inner(parts: [Quads; 4]) -> Quads {
    parts.iter().any(Option::is_some).then(|| Box::new(Block::Inner(parts)))
}

/// L with L L^T = A; only A's lower triangle is there.
fn factor<P: Pool>(pool: &P, side: usize, a: Quads) -> Quads {
    if side > LEAF {
        let [a00, _, a10, a11] = parts(a);
        let half = side / 2;
        let l00 = factor(pool, half, a00);
        let l10 = solve(pool, half, a10, &l00);
        let a11 = subtract(pool, half, Part::Lower, a11, &l10, &l10);
        return inner([l00, None, l10, factor(pool, half, a11)]);
    }
    let mut a = a?;
    if let Block::Leaf(l) = &mut *a {
        for column in 0..LEAF {
            for row in column..LEAF {
                let rest = l[row][column] - (0..column).map(|k| l[row][k] * l[column][k]).sum::<f64>();
                l[row][column] = if row == column { rest.sqrt() } else { rest / l[column][column] };
            }
        }
    }
    Some(a)
}

/// X with X L^T = A.
fn solve<P: Pool>(pool: &P, side: usize, a: Quads, l: &Quads) -> Quads {
    let mut a = a?;
    if side > LEAF {
        if side <= pool.grain(TASK) {
            return solve_parts(&Serial, side, Some(a), l);
        }
        return solve_parts(pool, side, Some(a), l);
    }
    if let (Block::Leaf(x), Some(Block::Leaf(l))) = (&mut *a, l.as_deref()) {
        for row in x {
            for column in 0..LEAF {
                let rest = row[column] - (0..column).map(|k| row[k] * l[column][k]).sum::<f64>();
                row[column] = rest / l[column][column];
            }
        }
    }
    Some(a)
}

fn solve_parts<P: Pool>(pool: &P, side: usize, a: Quads, l: &Quads) -> Quads {
    let [a00, a01, a10, a11] = parts(a);
    let half = side / 2;
    // The rows are independent of each other.
    let row = |left: Quads, right: Quads| {
        let x = solve(pool, half, left, part(l, 0));
        let right = subtract(pool, half, Part::All, right, &x, part(l, 2));
        let y = solve(pool, half, right, part(l, 3));
        (x, y)
    };
    let ((x00, x01), (x10, x11)) = pool.join(|| row(a00, a01), || row(a10, a11));
    inner([x00, x01, x10, x11])
}

/// What of a result is wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    All,
    Lower,
}

/// A - B C^T.
fn subtract<P: Pool>(pool: &P, side: usize, wanted: Part, a: Quads, b: &Quads, c: &Quads) -> Quads {
    if b.is_none() || c.is_none() {
        return a;
    }
    if side > LEAF {
        if side <= pool.grain(TASK) {
            return subtract_parts(&Serial, side, wanted, a, b, c);
        }
        return subtract_parts(pool, side, wanted, a, b, c);
    }
    let mut a = a.unwrap_or_else(|| Box::new(Block::Leaf(Default::default())));
    if let (Block::Leaf(a), Some(Block::Leaf(b)), Some(Block::Leaf(c))) = (&mut *a, b.as_deref(), c.as_deref()) {
        for row in 0..LEAF {
            for column in 0..if wanted == Part::Lower { row + 1 } else { LEAF } {
                a[row][column] -= (0..LEAF).map(|k| b[row][k] * c[column][k]).sum::<f64>();
            }
        }
    }
    Some(a)
}

fn subtract_parts<P: Pool>(pool: &P, side: usize, wanted: Part, a: Quads, b: &Quads, c: &Quads) -> Quads {
    let [a00, a01, a10, a11] = parts(a);
    let half = side / 2;
    let quadrant = |a: Quads, wanted: Part, row: usize, column: usize| {
        let a = subtract(pool, half, wanted, a, part(b, 2 * row), part(c, 2 * column));
        subtract(pool, half, wanted, a, part(b, 2 * row + 1), part(c, 2 * column + 1))
    };
    let above = || if wanted == Part::Lower { a01 } else { quadrant(a01, Part::All, 0, 1) };
    let ((a00, a01), (a10, a11)) = pool.join(
        || pool.join(|| quadrant(a00, wanted, 0, 0), above),
        || pool.join(|| quadrant(a10, Part::All, 1, 0), || quadrant(a11, wanted, 1, 1)),
    );
    inner([a00, a01, a10, a11])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::verify;

    #[test]
    fn the_papers_matrix() {
        verify::<Cholesky>(&Cholesky::input(1.0));
    }

    #[test]
    fn a_wrong_element_is_found_out() {
        let matrix = random(9, 10, 1);
        let mut lower = Cholesky::run(&Serial, &matrix);
        set(&mut lower.quads, lower.side, 5, 5, 3.0);
        assert!(Cholesky::check(&matrix, &lower).is_err());
    }

    proptest! {
        #[test]
        fn any_matrix(side in 1_usize..40, elements in 0_usize..100, seed in any::<u64>()) {
            verify::<Cholesky>(&random(side, elements, seed));
        }
    }
}
