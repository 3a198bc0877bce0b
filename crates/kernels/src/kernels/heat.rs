//! Heat diffusion on a square plate with cold edges: Jacobi iteration of the five-point stencil.
//!
//! Three parallel loops over rows, as in Cilk's example `heat` (Frigo, Leiserson and Randall, PLDI 1998): the initial state, the
//! steps, and the comparison with the exact solution `exp(-2t) sin x sin y` of `u_t = u_xx + u_yy` on `[0, pi]^2`. With 256 rows
//! of one leaf each that is three times 255 forks, which are the paper's 765 tasks.

use std::f64::consts::PI;

use crate::Pool;
use crate::kernel::{Info, Kernel, Method, Suite, Wrong, digest, ensure, scaled};
use crate::primitives::reduce;

/// `heat`.
#[derive(Debug)]
pub struct Heat;

/// A grid and how often it is stepped.
#[derive(Clone, Copy, Debug)]
pub struct Plate {
    /// Rows (`-nx`), at least 3.
    rows: usize,
    /// Points of a row (`-ny`), at least 3.
    columns: usize,
    /// Time steps (`-nt`).
    steps: usize,
    /// Rows of a task (`-g`).
    rows_a_task: usize,
}

/// Temperatures, row by row, and how far the farthest is from the exact solution.
#[derive(Debug)]
pub struct Temperatures {
    values: Vec<f64>,
    error: f64,
}

impl Kernel for Heat {
    type Input = Plate;
    type Output = Temperatures;

    const INFO: Info = Info {
        name: "heat",
        suite: Suite::Cilk,
        method: Method::Recursive,
        input: "-g 1 -nx 256 -ny 64 -nt 1",
        tasks: 765,
        task_kiloinstructions: 54.0,
    };

    fn input(scale: f64) -> Plate {
        Plate { rows: scaled(256, scale).max(3), columns: 64, steps: 1, rows_a_task: 1 }
    }

    fn run<P: Pool>(pool: &P, plate: &Plate) -> Temperatures {
        let size = plate.rows_a_task * plate.columns;
        let mut now = vec![0.0; plate.rows * plate.columns];
        pool.par_chunks(&mut now, size, |task, rows| {
            for (index, value) in rows.iter_mut().enumerate() {
                *value = plate.exact(task * size + index, 0);
            }
        });
        let mut next = now.clone();
        let (down, across) =
            (plate.time_step() / (plate.row_gap() * plate.row_gap()), plate.time_step() / (plate.gap() * plate.gap()));
        for _ in 0..plate.steps {
            pool.par_chunks(&mut next, size, |task, rows| {
                for (index, row) in rows.chunks_mut(plate.columns).enumerate() {
                    let number = task * plate.rows_a_task + index;
                    // The edges stay as they are.
                    if number > 0 && number + 1 < plate.rows {
                        let [above, here, below] = [number - 1, number, number + 1]
                            .map(|row| &now[row * plate.columns..(row + 1) * plate.columns]);
                        for at in 1..plate.columns - 1 {
                            row[at] = here[at]
                                + down * (above[at] - 2.0 * here[at] + below[at])
                                + across * (here[at - 1] - 2.0 * here[at] + here[at + 1]);
                        }
                    }
                }
            });
            (now, next) = (next, now);
        }
        let worst = |rows: std::ops::Range<usize>| {
            let points = rows.start * plate.columns..rows.end * plate.columns;
            points.map(|at| (now[at] - plate.exact(at, plate.steps)).abs()).fold(0.0, f64::max)
        };
        let error = reduce(pool, 0..plate.rows, plate.rows_a_task, &worst, &f64::max);
        Temperatures { values: now, error }
    }

    /// The initial state is an eigenvector of the discrete operator, so each step multiplies it by the same factor.
    fn check(plate: &Plate, result: &Temperatures) -> Result<(), Wrong> {
        ensure(result.values.len() == plate.rows * plate.columns, || format!("{} points", result.values.len()))?;
        let slow = |gap: f64| 4.0 / (gap * gap) * libm::sin(gap / 2.0).powi(2);
        let factor = 1.0 - plate.time_step() * (slow(plate.row_gap()) + slow(plate.gap()));
        let faded = factor.powi(plate.steps as i32);
        for (at, &value) in result.values.iter().enumerate() {
            let expected = faded * plate.exact(at, 0);
            ensure((value - expected).abs() < 1e-9, || format!("point {at} is {value}, expected {expected}"))?;
        }
        let exact = libm::exp(-2.0 * plate.steps as f64 * plate.time_step());
        let most = (0..result.values.len()).map(|at| plate.exact(at, 0)).fold(0.0, f64::max);
        let error = (exact - faded).abs() * most;
        ensure((result.error - error).abs() < 1e-12, || format!("error {}, expected {error}", result.error))
    }

    fn digest(result: &Temperatures) -> u64 {
        digest(result.values.iter().chain([&result.error]).map(|value| value.to_bits()))
    }
}

impl Plate {
    fn row_gap(&self) -> f64 {
        PI / (self.rows - 1) as f64
    }

    fn gap(&self) -> f64 {
        PI / (self.columns - 1) as f64
    }

    /// Half of what is stable.
    fn time_step(&self) -> f64 {
        let gap = self.row_gap().min(self.gap());
        gap * gap / 8.0
    }

    /// The exact solution after so many steps.
    fn exact(&self, at: usize, steps: usize) -> f64 {
        let (x, y) = ((at / self.columns) as f64 * self.row_gap(), (at % self.columns) as f64 * self.gap());
        libm::exp(-2.0 * self.time_step() * steps as f64) * libm::sin(x) * libm::sin(y)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Serial;
    use crate::testing::verify;

    #[test]
    fn the_papers_plate() {
        verify::<Heat>(&Heat::input(1.0));
    }

    #[test]
    fn a_missing_step_is_found_out() {
        let plate = Plate { rows: 20, columns: 10, steps: 50, rows_a_task: 3 };
        let result = Heat::run(&Serial, &Plate { steps: 49, ..plate });
        assert!(Heat::check(&plate, &result).is_err());
    }

    #[test]
    fn a_missing_point_is_found_out() {
        let plate = Plate { rows: 20, columns: 10, steps: 5, rows_a_task: 3 };
        let mut result = Heat::run(&Serial, &plate);
        result.values.pop();
        assert!(Heat::check(&plate, &result).is_err());
    }

    #[test]
    fn an_error_of_none_is_found_out() {
        for steps in [1, 5] {
            let plate = Plate { steps, ..Heat::input(1.0) };
            let result = Heat::run(&Serial, &plate);
            assert!(Heat::check(&plate, &Temperatures { error: 0.0, ..result }).is_err());
        }
    }

    proptest! {
        #[test]
        fn any_plate(rows in 3_usize..30, columns in 3_usize..30, steps in 0_usize..20, rows_a_task in 1_usize..5) {
            verify::<Heat>(&Plate { rows, columns, steps, rows_a_task });
        }
    }
}
