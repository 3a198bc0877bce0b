//! How well a run went. Times are in seconds, energies in joules; ratios have no unit.

/// Heterogeneous normalised turnaround time of one program: its turnaround over that of the same program alone on a
/// machine of only big cores (COLAB 5.1). Lower is better.
pub fn h_ntt(turnaround: f64, alone_on_big: f64) -> f64 {
    turnaround / alone_on_big
}

/// Heterogeneous average normalised turnaround time of a mix: the mean of [`h_ntt`] (COLAB 5.1). Lower is better.
/// Pairs are (turnaround, alone on big). `None` for an empty mix.
pub fn h_antt(programs: &[(f64, f64)]) -> Option<f64> {
    let sum: f64 = programs.iter().map(|(mixed, alone)| h_ntt(*mixed, *alone)).sum();
    (!programs.is_empty()).then(|| sum / programs.len() as f64)
}

/// Heterogeneous system throughput of a mix: the sum of the programs' normalised progress (COLAB 5.1). Higher is better.
pub fn h_stp(programs: &[(f64, f64)]) -> f64 {
    programs.iter().map(|(mixed, alone)| alone / mixed).sum()
}

/// Average normalised turnaround time: as [`h_antt`], with each program alone on the machine of the mix as the baseline
/// (Eyerman and Eeckhout, IEEE Micro 2008).
pub fn antt(programs: &[(f64, f64)]) -> Option<f64> {
    h_antt(programs)
}

/// System throughput: as [`h_stp`], with each program alone on the machine of the mix as the baseline (Eyerman and
/// Eeckhout, IEEE Micro 2008).
pub fn stp(programs: &[(f64, f64)]) -> f64 {
    h_stp(programs)
}

/// Speedup over a reference time ("Exploiting Asymmetric Multi-Core Processors with Flexible System Software",
/// Equation 1, where the reference is the serial program on one little core).
pub fn speedup(reference: f64, time: f64) -> f64 {
    reference / time
}

/// Energy over a reference energy (the same paper, Equation 2).
pub fn normalised_energy(energy: f64, reference: f64) -> f64 {
    energy / reference
}

/// Energy-delay product, in joule seconds (the same paper, Equation 3, before normalisation).
pub fn edp(energy: f64, time: f64) -> f64 {
    energy * time
}

/// The ideal speedup over one little core (the same paper, Equation 4): `big * perf_ratio + little`.
pub fn ideal_speedup(big: usize, little: usize, perf_ratio: f64) -> f64 {
    big as f64 * perf_ratio + little as f64
}

/// Geometric mean of positive values; `None` if there are none.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().map(|value| libm::log(*value)).sum();
    (!values.is_empty()).then(|| libm::exp(sum / values.len() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_worked_by_hand() {
        // One program took twice as long as alone on big cores, the other four times.
        let mix = [(2.0, 1.0), (8.0, 2.0)];
        assert_eq!(h_antt(&mix), Some(3.0));
        assert_eq!(h_stp(&mix), 0.75);
        assert_eq!((antt(&mix), stp(&mix)), (Some(3.0), 0.75));
        assert_eq!(h_antt(&[]), None);
    }

    /// The paper's own figure: adding four little cores to four big ones at the mean ratio of 2.96 is ideally worth 33 %.
    #[test]
    fn equation_4_gives_the_published_ideal() {
        let gain = ideal_speedup(4, 4, 2.96) / ideal_speedup(4, 0, 2.96) - 1.0;
        assert!((gain - 0.33).abs() < 0.01, "{gain}");
    }

    #[test]
    fn means_and_products() {
        assert!((geometric_mean(&[1.0, 4.0]).unwrap() - 2.0).abs() < 1e-12);
        assert_eq!(geometric_mean(&[]), None);
        assert_eq!((edp(3.0, 2.0), normalised_energy(3.0, 2.0), speedup(6.0, 2.0)), (6.0, 1.5, 3.0));
    }
}
