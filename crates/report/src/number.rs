//! Numbers for people.

use evenkeel_model::words::LARGE;
use evenkeel_model::{Difference, Ns};

/// A span in the unit that fits.
pub fn seconds(seconds: f64) -> String {
    Ns((seconds * 1e9).round() as u64).to_string()
}

/// A number with so many decimals, or with an exponent: `1.000e308`.
fn fixed(value: f64, decimals: usize) -> String {
    if value.abs() < LARGE { format!("{value:.decimals$}") } else { format!("{value:.3e}") }
}

/// A signed share as a percentage: `-11.0 %`.
pub fn percent(share: f64) -> String {
    if !share.is_finite() {
        return "-".into();
    }
    if share.abs() * 100.0 >= LARGE {
        return format!("{:+.3e} %", (share * 100.0).clamp(f64::MIN, f64::MAX));
    }
    // Adding zero turns the -0.0 of a rounding into 0.0.
    let rounded = (share * 1000.0).round() / 10.0 + 0.0;
    format!("{rounded:+.1} %")
}

/// An effect with half the width of its 95 % interval, if it has one: `-11.0 ±0.8 %`.
pub fn effect(difference: Option<Difference>) -> String {
    let Some(Difference { value, interval, .. }) = difference else { return "-".into() };
    let value = percent(value);
    match interval.map(|(low, high)| 50.0 * (high - low)).filter(|half| *half >= 0.05) {
        Some(half) => format!("{} ±{} %", value.trim_end_matches(" %"), fixed(half, 1)),
        None => value,
    }
}

/// A number with four significant digits.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "-".into();
    }
    fixed(value, decimals(value))
}

/// A span in the unit that fits, with four significant digits.
pub fn time(time: Ns) -> String {
    let ns = time.0 as f64;
    match time.0 {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{} us", number(ns / 1e3)),
        1_000_000..1_000_000_000 => format!("{} ms", number(ns / 1e6)),
        _ => format!("{} s", number(ns / 1e9)),
    }
}

/// A mean with four significant digits and its deviation to the same decimal place, if it has one there.
pub fn spread(mean: f64, deviation: f64) -> String {
    let shown = number(mean);
    if !mean.is_finite() {
        return shown;
    }
    let deviation = fixed(deviation, decimals(mean));
    let zero = deviation.chars().all(|digit| matches!(digit, '0' | '.'));
    if zero { shown } else { format!("{shown} ±{deviation}") }
}

/// The decimals with which a number has four significant digits.
fn decimals(value: f64) -> usize {
    let before_point = if value == 0.0 { 1 } else { value.abs().log10().floor() as i32 + 1 };
    (4 - before_point).clamp(0, 6) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_signed_where_they_are_effects() {
        assert_eq!(percent(-0.1104), "-11.0 %");
        assert_eq!(percent(-0.00001), "+0.0 %");
        assert_eq!(percent(f64::NAN), "-");
        let of = |logs: &[f64]| effect(Difference::of_logarithms(logs.iter().copied()));
        assert_eq!([of(&[-0.1, -0.11]), of(&[-0.1, -0.1]), of(&[])], ["-10.0 ±5.7 %", "-9.5 %", "-"]);
        assert_eq!(number(1.23456), "1.235");
        assert_eq!(number(1234.6), "1235");
        assert_eq!(number(0.012345), "0.01235");
        assert_eq!([number(999_999_999_999_999.0), number(1e308)], ["999999999999999", "1.000e308"]);
        assert_eq!([percent(-1e12), percent(1e15)], ["-100000000000000.0 %", "+1.000e17 %"]);
        assert_eq!([spread(1e20, 3e18), spread(2.0, 1e200)], ["1.000e20 ±3.000e18", "2.000 ±1.000e200"]);
        assert_eq!(seconds(0.25), "250.000 ms");
        assert_eq!(
            [0, 999, 40_000, 815_543, 12_345_678_901].map(|ns| time(Ns(ns))),
            ["0 ns", "999 ns", "40.00 us", "815.5 us", "12.35 s"]
        );
        assert_eq!(spread(1.5, 0.0126), "1.500 ±0.013");
        assert_eq!(spread(1.5, 1e-9), "1.500");
        assert_eq!([spread(f64::INFINITY, f64::NAN), spread(f64::NAN, 0.0)], ["-", "-"]);
    }
}
