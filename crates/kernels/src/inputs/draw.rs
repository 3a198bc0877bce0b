//! Random numbers: ChaCha8 from a seed, and nothing but its integers, so that no platform and no release differ.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Draw(ChaCha8Rng);

impl Draw {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Any 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `0..end`. The bias of multiply and shift is below `end / 2^64`.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(end)) >> 64) as u64
    }

    /// Uniform in `[0, 1)`, a multiple of 2^-53.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform in `[low, high)`.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_by_its_moments() {
        let mut draw = Draw::new(1);
        let n = 100_000;
        let units: Vec<f64> = (0..n).map(|_| draw.unit()).collect();
        let mean = units.iter().sum::<f64>() / f64::from(n);
        let variance = units.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(n);
        assert!((mean - 0.5).abs() < 0.005 && (variance - 1.0 / 12.0).abs() < 0.002, "{mean} {variance}");
        let mut counts = [0; 7];
        (0..n).for_each(|_| counts[draw.below(7) as usize] += 1);
        assert!(counts.iter().all(|&count| (f64::from(count) / f64::from(n) - 1.0 / 7.0).abs() < 0.006), "{counts:?}");
    }

    #[test]
    fn same_seed_same_numbers() {
        assert_eq!(Draw::new(5).bits(), Draw::new(5).bits());
        assert_ne!(Draw::new(5).bits(), Draw::new(6).bits());
    }
}
