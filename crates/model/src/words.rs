//! Messages of parsers, and numbers, in words for people: no names of the language's types, no hundreds of digits.

use toml::value::Datetime;

use crate::names::suggestion;

/// What a parser expected, and what a person calls that.
const EXPECTED: [(&str, &str); 20] = [
    ("u8", "a whole number from 0 to 255"),
    ("u16", "a whole number from 0 to 65535"),
    ("u32", "a whole number from 0 to 4294967295"),
    ("u64", "a whole number that is not negative"),
    ("usize", "a whole number that is not negative"),
    ("i8", "a whole number from -128 to 127"),
    ("i64", "a whole number"),
    ("f64", "a number"),
    // Said only of whole numbers that are none of `i64`.
    ("any valid TOML value", "a whole number from -2^63 to 2^63 - 1"),
    ("a string", "text in quotes"),
    ("a boolean", "true or false"),
    ("a sequence", "a list in brackets"),
    ("a map", "a table"),
    ("struct Sourced", "a table { value = ..., source = \"...\" }"),
    ("struct CoreText", "a table"),
    ("string or table", "text in quotes"),
    ("a tuple of size 2", "a list of two"),
    ("a tuple of size 3", "a list of three"),
    ("struct OpText", "an operation in braces, such as { compute = \"250 kinst\" }"),
    ("struct SetText", "a table such as { nice = 5 }"),
];

/// A message of a parser of TOML or JSON in plain words, on one line: what was found first, then what was expected.
pub fn plain(message: &str) -> String {
    let message = message.trim_end().replace('\n', "; ");
    if let Some((key, known)) = quoted(&message, "unknown field `") {
        let mut known = known.split('`').skip(1).step_by(2).peekable();
        return match known.peek() {
            None => format!("unknown key \"{}\"", short(key)),
            Some(_) => format!("unknown key \"{}\": {}", short(key), suggestion(key, known)),
        };
    }
    if let Some((word, known)) = quoted(&message, "unknown variant `") {
        let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
        let known = if known.len() > 2 { format!("one of {}", known.join(", ")) } else { known.join(" or ") };
        return format!("\"{}\": expected {known}", short(word));
    }
    if let Some((key, _)) = quoted(&message, "missing field `") {
        return format!("\"{key}\" is missing");
    }
    if let Some((found, expected)) = found_and_expected(&message) {
        return format!("{found}: expected {}", words(expected));
    }
    match message.as_str() {
        "integer number overflowed" | "floating-point number overflowed" | "number out of range" => {
            "the number is too large".into()
        }
        other => other.into(),
    }
}

/// What a parser of TOML says of a text, as [`plain`] does; but it takes a date for a table, which is called a date here.
pub fn of_toml(error: &toml::de::Error, text: &str) -> String {
    let message = error.message();
    let is_date = || error.span().and_then(|span| text.get(span)).is_some_and(|part| part.parse::<Datetime>().is_ok());
    match message.strip_prefix("invalid type: map,") {
        Some(expected) if is_date() => plain(&format!("invalid type: date,{expected}")),
        _ => plain(message),
    }
}

/// Where a byte of a text is, as errors name it: `4:17`, both from 1.
pub fn line_and_column(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|character| *character != '\n').count() + 1;
    format!("{line}:{column}")
}

fn quoted<'a>(message: &'a str, before: &str) -> Option<(&'a str, &'a str)> {
    message.strip_prefix(before)?.split_once('`')
}

/// Takes `invalid type: integer `5`, expected u8` apart.
fn found_and_expected(message: &str) -> Option<(String, &str)> {
    if let Some(expected) = message.strip_prefix("wanted ") {
        return Some(("another kind of value".into(), expected));
    }
    let (what, rest) = message.strip_prefix("invalid ")?.split_once(": ").or_else(|| {
        let rest = message.strip_prefix("invalid length ")?;
        Some(("length", rest))
    })?;
    if let Some(rest) = message.strip_prefix("invalid length ") {
        let (length, expected) = rest.split_once(", expected ")?;
        return Some((format!("a list of {length}"), expected));
    }
    let (found, expected) = rest.rsplit_once(", expected ")?;
    (what == "type" || what == "value").then_some(())?;
    if let Some(float) =
        found.strip_prefix("floating point ").and_then(|float| float.trim_matches('`').parse::<f64>().ok())
        && float.abs() >= LARGE
    {
        return Some((number(float), expected));
    }
    let found = ["integer ", "floating point ", "boolean ", "string ", "character "]
        .iter()
        .find_map(|kind| found.strip_prefix(kind))
        .map_or_else(
            || words(found),
            |value| short(value.trim_end_matches(" as i128").trim_end_matches(" as u128").trim_matches('`')),
        );
    Some((found, expected))
}

fn words(expected: &str) -> String {
    let known = EXPECTED.iter().find(|(parser, _)| *parser == expected);
    let found = match expected {
        "sequence" => "a list",
        "map" => "a table",
        "date" => "a date",
        "unit value" | "null" => "nothing",
        _ if expected.starts_with("struct ") => "a table",
        _ => expected,
    };
    known.map_or(found, |(_, words)| words).to_owned()
}

/// Text that a person typed, as far as a message needs it.
pub fn short(text: &str) -> String {
    const MOST: usize = 40;
    match text.char_indices().nth(MOST) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

/// A number that is not below this has an exponent instead of digits that nobody counts.
pub const LARGE: f64 = 1e15;

/// A number with as many digits as it takes, and an exponent where those would be many.
pub fn number(value: f64) -> String {
    let usual = value == 0.0 || (1e-6..LARGE).contains(&value.abs()) || !value.is_finite();
    if usual { value.to_string() } else { format!("{value:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parsers_speak_plainly() {
        let cases = [
            ("invalid type: string \"0-1\", expected a sequence", "\"0-1\": expected a list in brackets"),
            ("invalid value: integer `-1`, expected u16", "-1: expected a whole number from 0 to 65535"),
            ("invalid type: floating point `0.5`, expected u64", "0.5: expected a whole number that is not negative"),
            ("invalid type: sequence, expected f64", "a list: expected a number"),
            ("invalid length 3, expected a pair", "a list of 3: expected a pair"),
            ("invalid type: integer `5`, expected struct Unheard", "5: expected a table"),
            (
                "invalid type: integer `9223372036854775808` as i128, expected any valid TOML value",
                "9223372036854775808: expected a whole number from -2^63 to 2^63 - 1",
            ),
            (
                "invalid type: floating point `1000000000000000000000.0`, expected u16",
                "1e21: expected a whole number from 0 to 65535",
            ),
            ("missing field `source`", "\"source\" is missing"),
            ("unknown field `foo`, expected one of `fob`, `bar`", "unknown key \"foo\": did you mean \"fob\"?"),
            ("unknown field `foo`, there are no fields", "unknown key \"foo\""),
            ("unknown variant `x`, expected one of `a`, `b`, `c`", "\"x\": expected one of a, b, c"),
            ("unknown variant `x`, expected `a` or `b`", "\"x\": expected a or b"),
            ("wanted string or table", "another kind of value: expected text in quotes"),
            ("integer number overflowed", "the number is too large"),
            ("key with no value, expected `=`", "key with no value, expected `=`"),
        ];
        for (parser, person) in cases {
            assert_eq!(plain(parser), person);
        }
    }

    #[test]
    fn a_date_is_no_table() {
        #[derive(Debug, serde::Deserialize)]
        struct Text {
            #[expect(dead_code, reason = "none of the texts has a number")]
            x: f64,
        }
        for (value, said) in [
            ("2020-01-01", "a date"),
            ("10:00:00", "a date"),
            ("2020-01-01T10:00:00Z", "a date"),
            ("{ a = 1 }", "a table"),
            ("[1]", "a list"),
        ] {
            let text = format!("x = {value}");
            let error = toml::from_str::<Text>(&text).unwrap_err();
            assert_eq!(of_toml(&error, &text), format!("{said}: expected a number"));
        }
    }

    #[test]
    fn numbers_and_texts_stay_short() {
        assert_eq!([1e300, 0.5, 20.0, f64::NAN, 1e-9].map(number), ["1e300", "0.5", "20", "NaN", "1e-9"]);
        assert_eq!(short(&"9".repeat(300)), format!("{}...", "9".repeat(40)));
    }
}
