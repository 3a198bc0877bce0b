//! The table of kernels, for programs that run all of them.

use crate::Pool;
use crate::kernel::{Info, Kernel, Wrong};
use crate::kernels::bfs::{BfsDeterministic, BfsNonDeterministic};
use crate::kernels::black_scholes::BlackScholes;
use crate::kernels::cholesky::Cholesky;
use crate::kernels::cilksort::CilkSort;
use crate::kernels::dictionary::Dictionary;
use crate::kernels::duplicates::RemoveDuplicates;
use crate::kernels::heat::Heat;
use crate::kernels::hull::ConvexHull;
use crate::kernels::independent_set::IndependentSet;
use crate::kernels::knapsack::Knapsack;
use crate::kernels::matmul::MatrixMultiply;
use crate::kernels::nbody::NBody;
use crate::kernels::neighbours::NearestNeighbours;
use crate::kernels::quicksort::{QuickSortNumbers, QuickSortWords};
use crate::kernels::radix_sort::{RadixSortExponential, RadixSortUniform};
use crate::kernels::sample_sort::SampleSort;
use crate::kernels::spanning_tree::SpanningTree;
use crate::kernels::suffix_array::SuffixArray;
use crate::kernels::tree_search::TreeSearch;

/// `Kernel` has types of its own for input and output, so a list of kernels needs an enum of each.
macro_rules! rows {
    ($($kernel:ident),*) => {
        /// A row of Table III by its kernel.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Row {
            $(#[doc = concat!("[`", stringify!($kernel), "`]")] $kernel),*
        }

        /// All rows, in the order of Table III.
        pub const ROWS: &[Row] = &[$(Row::$kernel),*];

        impl Row {
            /// What Table III says.
            pub fn info(self) -> Info {
                match self { $(Self::$kernel => $kernel::INFO),* }
            }

            /// The row's input. `scale` multiplies the work roughly: 1 is the paper's size.
            pub fn problem(self, scale: f64) -> Problem {
                Problem(match self { $(Self::$kernel => Input::$kernel($kernel::input(scale))),* })
            }
        }

        enum Input {
            $($kernel(<$kernel as Kernel>::Input)),*
        }

        enum Output {
            $($kernel(<$kernel as Kernel>::Output)),*
        }

        impl Problem {
            /// Runs the kernel on `pool`.
            pub fn run<P: Pool>(&self, pool: &P) -> Answer {
                Answer(match &self.0 { $(Input::$kernel(input) => Output::$kernel($kernel::run(pool, input))),* })
            }

            /// Whether `answer` is one to this problem.
            pub fn check(&self, answer: &Answer) -> Result<(), Wrong> {
                match (&self.0, &answer.0) {
                    $((Input::$kernel(input), Output::$kernel(output)) => $kernel::check(input, output),)*
                    _ => crate::kernel::ensure(false, || "the answer is another kernel's".into()),
                }
            }
        }

        impl Answer {
            /// A digest of what is the same in every correct run, on any pool.
            pub fn digest(&self) -> u64 {
                match &self.0 { $(Output::$kernel(output) => $kernel::digest(output)),* }
            }
        }
    };
}

rows!(
    BfsDeterministic,
    BfsNonDeterministic,
    QuickSortNumbers,
    QuickSortWords,
    SampleSort,
    Dictionary,
    ConvexHull,
    RadixSortUniform,
    RadixSortExponential,
    NearestNeighbours,
    IndependentSet,
    NBody,
    RemoveDuplicates,
    SuffixArray,
    SpanningTree,
    Cholesky,
    CilkSort,
    Heat,
    Knapsack,
    MatrixMultiply,
    BlackScholes,
    TreeSearch
);

impl Row {
    /// The row of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        ROWS.iter().copied().find(|row| row.info().name == name)
    }
}

/// A kernel with an input.
pub struct Problem(Input);

/// What a kernel found.
pub struct Answer(Output);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;
    use crate::testing::Tiny;

    #[test]
    fn every_row_runs_and_is_checked() {
        for row in ROWS {
            let problem = row.problem(0.01);
            let (serial, parallel) = (problem.run(&Serial), Tiny::install(|| problem.run(&Tiny)));
            assert_eq!(problem.check(&parallel), Ok(()), "{}", row.info().name);
            assert_eq!(serial.digest(), parallel.digest(), "{}", row.info().name);
            assert_eq!(Row::by_name(row.info().name), Some(*row));
        }
    }

    #[test]
    fn an_answer_to_another_problem_is_none() {
        let answer = Row::Heat.problem(0.01).run(&Serial);
        assert!(Row::Knapsack.problem(0.01).check(&answer).is_err());
    }

    /// The same bytes everywhere: a change of an input or of a result shows here.
    #[test]
    fn the_answers_are_what_they_were() {
        let digests: Vec<String> = ROWS
            .iter()
            .map(|row| format!("{} {:016x}", row.info().name, row.problem(0.01).run(&Serial).digest()))
            .collect();
        assert_eq!(digests.join("\n"), include_str!("digests.txt").trim_end());
    }
}
