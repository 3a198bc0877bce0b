//! Sums over cells, from which effects are told with their intervals.

use std::ops::Range;

use evenkeel_model::Difference;

use super::{Effects, METRICS};

/// Seeds that are summed up together, so that no memory is taken by each of very many.
#[derive(Clone, Copy, Debug)]
pub struct Blocks {
    seeds: usize,
    pub blocks: usize,
}

impl Blocks {
    /// Up to so many seeds are each by itself. With as many blocks an interval is 1.0012 times as wide as with infinitely many:
    /// Student's quantile of 1023 degrees of freedom.
    const MOST: usize = 1024;

    pub fn of(seeds: usize) -> Self {
        Self { seeds, blocks: seeds.min(Self::MOST) }
    }

    pub fn seeds(self, block: usize) -> Range<usize> {
        block * self.seeds / self.blocks..(block + 1) * self.seeds / self.blocks
    }

    /// The difference that logarithms amount to, of which the sum of each block is known. Blocks are clusters of a sample: how far
    /// their sums are from what the mean of all has them expect says how uncertain it is (Cochran, Sampling Techniques, 9A).
    pub fn difference(self, sums: impl Iterator<Item = f64> + Clone) -> Option<Difference> {
        let share = self.blocks as f64 / self.seeds as f64;
        let mean = sums.clone().sum::<f64>() / self.seeds as f64;
        // With a seed each this is the sum itself.
        let of = |(block, sum): (usize, f64)| sum * share + mean * (1.0 - self.seeds(block).len() as f64 * share);
        Difference::of_logarithms(sums.enumerate().map(of))
    }
}

/// The sums of all policies.
#[derive(Clone, Debug)]
pub struct Tally {
    pub blocks: Blocks,
    sums: Vec<[Sums; METRICS]>,
}

impl Tally {
    pub fn new(policies: usize, blocks: Blocks) -> Self {
        let sums = Sums { of_blocks: vec![0.0; blocks.blocks], cells: 0 };
        Self { blocks, sums: vec![std::array::from_fn(|_| sums.clone()); policies] }
    }

    pub fn add(&mut self, policy: usize, metric: usize, logs: &[f64]) {
        let sums = &mut self.sums[policy][metric];
        sums.cells += 1;
        sums.of_blocks.iter_mut().zip(logs).for_each(|(sum, log)| *sum += log);
    }

    /// In how many cells a policy is compared by the first metric.
    pub fn cells(&self, policy: usize) -> u64 {
        self.sums[policy][0].cells
    }

    pub fn effects(&self, policy: usize) -> Effects {
        let [h_antt, h_stp, energy] = [0, 1, 2].map(|metric| {
            let Sums { of_blocks, cells } = &self.sums[policy][metric];
            let cells = (*cells > 0).then_some(*cells as f64)?;
            self.blocks.difference(of_blocks.iter().map(|sum| sum / cells))
        });
        Effects { h_antt, h_stp, energy }
    }
}

/// For each block of seeds the sum over cells of the logarithms of ratios, and how many cells that is.
#[derive(Clone, Debug)]
struct Sums {
    of_blocks: Vec<f64>,
    cells: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::digest;

    /// Numbers from -0.4 to 0.6, by chance.
    fn logs(seeds: usize) -> Vec<f64> {
        (0..seeds).map(|seed| f64::from(digest(&seed)[0]) / 255.0 - 0.4).collect()
    }

    #[test]
    fn blocks_of_seeds_tell_as_much_as_seeds() {
        for seeds in [1, 2, 1024, 1025, 2047, 100_000] {
            let (logs, blocks) = (logs(seeds), Blocks::of(seeds));
            let all: Vec<usize> = (0..blocks.blocks).flat_map(|block| blocks.seeds(block)).collect();
            assert_eq!(all, (0..seeds).collect::<Vec<_>>(), "each is in one block");
            let sums = (0..blocks.blocks).map(|block| logs[blocks.seeds(block)].iter().sum());
            let (found, exact) = (blocks.difference(sums), Difference::of_logarithms(logs.clone()));
            let (found, exact) = (found.unwrap(), exact.unwrap());
            if seeds <= Blocks::MOST {
                assert_eq!(found, exact);
            }
            assert!((found.value - exact.value).abs() < 1e-9, "{seeds}: {found:?} {exact:?}");
            let (found, exact) = (found.error.unwrap_or(1.0), exact.error.unwrap_or(1.0));
            assert!((found / exact - 1.0).abs() < 0.1, "{seeds}: {found} {exact}");
        }
    }
}
