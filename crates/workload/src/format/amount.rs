//! Amounts with their units in the text: `"250 kinst"`, `"3 ms"`.

use evenkeel_model::Ns;
use evenkeel_model::words::short;

use crate::program::Work;

/// Units of work and of time, as multiples of one instruction and of one nanosecond.
const WORK: [(&str, f64); 4] = [("inst", 1.0), ("kinst", 1e3), ("Minst", 1e6), ("Ginst", 1e9)];
const TIME: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
/// The largest amount: 10^15 instructions or nanoseconds (twelve days), which a f64 still counts one by one.
const LARGEST: f64 = 1e15;

/// An amount of work: instructions, or what the calibration core does in a time.
pub(crate) fn work(text: &str) -> Result<Work, String> {
    let (number, unit) = split(text);
    if let Some(scale) = scale(&WORK, unit) {
        return amount(text, number, scale).map(Work::Instructions);
    }
    if let Some(scale) = scale(&TIME, unit) {
        return amount(text, number, scale).map(|ns| Work::Time(Ns(ns)));
    }
    Err(format!(
        "expected work such as \"250 kinst\" or \"3 ms\" (inst, kinst, Minst, Ginst, ns, us, ms, s), not \"{text}\""
    ))
}

/// A span of time.
pub(crate) fn time(text: &str) -> Result<Ns, String> {
    let (number, unit) = split(text);
    let scale = scale(&TIME, unit)
        .ok_or_else(|| format!("expected a time such as \"20 us\" or \"3 ms\" (ns, us, ms, s), not \"{text}\""))?;
    amount(text, number, scale).map(Ns)
}

fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    (text[..end].trim_end(), &text[end..])
}

fn scale(units: &[(&str, f64)], unit: &str) -> Option<f64> {
    units.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale)
}

fn amount(text: &str, number: &str, scale: f64) -> Result<u64, String> {
    let value: f64 = number.parse().map_err(|_| format!("expected a number before the unit, not \"{text}\""))?;
    let value = (value * scale).round();
    if value.is_sign_negative() && value != 0.0 {
        return Err(format!("\"{text}\" is negative: an amount is zero or more"));
    }
    if value > LARGEST {
        let text = short(text);
        return Err(format!("\"{text}\" is too much: at most 1000000 Ginst or 1000000 s"));
    }
    Ok(value as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_scale_and_decimals_are_exact_enough() {
        assert_eq!(work("2.5 Minst"), Ok(Work::Instructions(2_500_000)));
        assert_eq!(work("0.1ms"), Ok(Work::Time(Ns(100_000))));
        assert_eq!(time("20 us"), Ok(Ns(20_000)));
    }

    #[test]
    fn a_missing_or_foreign_unit_is_an_error() {
        for text in ["", "5", "ms", "-1 ms", "1e30 s", "5 min", "inf s", "NaN ms", "3 MS"] {
            assert!(time(text).is_err(), "{text}");
        }
        assert!(time("5 kinst").is_err_and(|why| why.contains("a time")));
        assert!(work("5 apples").is_err_and(|why| why.contains("kinst")));
    }
}
