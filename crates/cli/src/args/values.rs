//! Values and options that several commands have.

use std::ops::RangeInclusive;
use std::time::Duration;

use clap::{Args, ValueEnum};
use evenkeel_model::Ns;

/// How results are printed.
#[derive(Clone, Copy, Debug, Args)]
pub struct Output {
    /// A table for people or JSON for programs
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

/// Output formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Table,
    /// For programs; the fields are described in docs/json.md
    Json,
}

/// A duration with its unit.
pub(super) fn duration(text: &str) -> Result<Ns, String> {
    let found = parsed(text)?;
    (found <= Ns::LONGEST).then_some(found).ok_or_else(|| "expected at most 292 years".into())
}

/// A duration, [`Ns::NEVER`] if it is longer.
fn parsed(text: &str) -> Result<Ns, String> {
    let expected = || "expected a duration with its unit, such as 500us, 10ms or 60s";
    let parsed: Duration = humantime::parse_duration(text).map_err(|_| expected())?;
    Ok(u64::try_from(parsed.as_nanos()).map_or(Ns::NEVER, Ns))
}

/// A duration of some length.
pub(super) fn positive(text: &str) -> Result<Ns, String> {
    let found = duration(text)?;
    (found > Ns::ZERO).then_some(found).ok_or_else(|| "expected more than no time".into())
}

/// A whole number of a range.
pub(super) fn whole<N: TryFrom<u64>>(text: &str, range: RangeInclusive<u64>) -> Result<N, String> {
    let found = text.trim().parse().ok().filter(|number| range.contains(number));
    let expected = || format!("expected a whole number from {} to {}", range.start(), range.end());
    found.and_then(|number: u64| N::try_from(number).ok()).ok_or_else(expected)
}

/// A number of a range.
pub(super) fn number(text: &str, range: RangeInclusive<f64>) -> Result<f64, String> {
    let found = text.trim().parse().ok().filter(|number| range.contains(number));
    found.ok_or_else(|| format!("expected a number from {} to {}", range.start(), range.end()))
}

/// A duration of a range.
pub(super) fn duration_within(text: &str, range: &RangeInclusive<Ns>) -> Result<Ns, String> {
    let found = parsed(text)?;
    let expected = || format!("{text}: expected {} to {}", range.start(), range.end());
    range.contains(&found).then_some(found).ok_or_else(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_a_unit_and_cannot_be_negative() {
        assert_eq!(duration("500us"), Ok(Ns::from_us(500)));
        assert_eq!(duration("60s"), Ok(Ns::from_secs(60)));
        assert!(duration("60").unwrap_err().contains("500us"));
        assert!(duration("-5ms").is_err());
    }

    #[test]
    fn what_begins_now_and_lasts_for_a_duration_has_an_end() {
        assert!(duration("292y").is_ok());
        for longer in ["293y", "584y", "1000y"] {
            assert_eq!(positive(longer).unwrap_err(), "expected at most 292 years");
            let within = duration_within(longer, &(Ns::from_ms(1)..=Ns::from_secs(10))).unwrap_err();
            assert!(within.ends_with("expected 1.000 ms to 10.000 s"), "{within}");
        }
    }

    #[test]
    fn a_number_that_is_too_large_is_told_the_largest() {
        assert_eq!(whole::<u64>("18446744073709551615", 0..=u64::MAX), Ok(u64::MAX));
        let wrong = whole::<u64>("18446744073709551616", 0..=u64::MAX).unwrap_err();
        assert_eq!(wrong, "expected a whole number from 0 to 18446744073709551615");
    }
}
