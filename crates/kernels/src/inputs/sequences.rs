//! Sequences of numbers: uniform (`randomSeq`) and with many duplicates (`exptSeq`).

use super::Draw;

/// Integers are below this: the largest 32-bit integer in two's complement is the last.
const INTEGERS: u64 = 1 << 31;

/// `randomSeq_*_int`: uniform integers below 2^31.
pub fn uniform_integers(len: usize, seed: u64) -> Vec<u32> {
    let mut draw = Draw::new(seed);
    (0..len).map(|_| draw.below(INTEGERS) as u32).collect()
}

/// `exptSeq_*_int`: integers below 2^31. Of as many uniform values the i-th is picked with a probability of about
/// `1 / (i ln len)`, so some of them come very often.
pub fn exponential_integers(len: usize, seed: u64) -> Vec<u32> {
    let mut draw = Draw::new(seed);
    let values: Vec<u32> = (0..len).map(|_| draw.below(INTEGERS) as u32).collect();
    exponential_ranks(len, &mut draw).map(|rank| values[rank]).collect()
}

/// `exptSeq_*_double`: numbers in `[0, 1)`, picked as those of [`exponential_integers`].
pub fn exponential_doubles(len: usize, seed: u64) -> Vec<f64> {
    let mut draw = Draw::new(seed);
    let values: Vec<f64> = (0..len).map(|_| draw.unit()).collect();
    exponential_ranks(len, &mut draw).map(|rank| values[rank]).collect()
}

/// Which of `len` values comes next: `floor(len^u)` of a uniform `u` is i with probability `ln(1 + 1/i) / ln len`.
fn exponential_ranks(len: usize, draw: &mut Draw) -> impl Iterator<Item = usize> {
    let log = libm::log(len as f64);
    (0..len).map(move |_| (libm::exp(log * draw.unit()) as usize).clamp(1, len) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_integers_have_the_mean_and_the_range() {
        let values = uniform_integers(50_000, 1);
        let mean = values.iter().map(|&x| f64::from(x)).sum::<f64>() / 50_000.0 / INTEGERS as f64;
        assert!((mean - 0.5).abs() < 0.006, "{mean}");
        assert!(values.iter().all(|&x| u64::from(x) < INTEGERS));
    }

    #[test]
    fn the_rank_of_an_exponential_sequence_is_uniform_in_its_logarithm() {
        let len = 50_000;
        let ranks: Vec<usize> = exponential_ranks(len, &mut Draw::new(1)).collect();
        let log = (len as f64).ln();
        for rank in [1, 2, 3, 10] {
            let share = ranks.iter().filter(|&&r| r == rank - 1).count() as f64 / len as f64;
            let expected = (1.0 + 1.0 / rank as f64).ln() / log;
            assert!((share - expected).abs() < 0.003, "rank {rank}: {share}, expected {expected}");
        }
        let mean = ranks.iter().map(|&r| (r as f64 + 1.0).ln() / log).sum::<f64>() / len as f64;
        // Half, less what the floor takes.
        assert!((0.45..0.5).contains(&mean), "{mean}");
    }

    #[test]
    fn doubles_have_duplicates() {
        let mut values = exponential_doubles(10_000, 1);
        values.sort_by(f64::total_cmp);
        values.dedup();
        assert!((1_000..5_000).contains(&values.len()), "{} different values", values.len());
    }
}
