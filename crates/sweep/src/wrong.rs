//! Mistakes in a grid, and where in its text they are.

use std::ops::Range;

use evenkeel_model::words::{line_and_column, of_toml, short};
use toml::Value;
use toml::de::{DeTable, DeValue};

use crate::error::Error;

/// A mistake in a grid.
#[derive(Debug)]
pub struct Wrong {
    at: At,
    what: What,
}

/// Where a mistake is.
#[derive(Debug)]
enum At {
    Span(Range<usize>),
    Spot(Spot),
    /// Nowhere in particular.
    Grid,
}

#[derive(Debug)]
enum What {
    /// The grid is wrong by itself.
    Message(String),
    /// So is something that it names.
    Named { place: String, source: Box<evenkeel_experiment::Error> },
}

/// A key of a grid, or one of its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    path: Vec<String>,
    part: Part,
}

/// Which part of a key and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Key,
    Value,
    /// This item of the value, if it is a list. As TOML has it.
    Item(String),
}

impl Spot {
    /// A key.
    pub fn key<'a>(path: impl IntoIterator<Item = &'a str>) -> Self {
        Self { path: path.into_iter().map(str::to_owned).collect(), part: Part::Key }
    }

    /// A key below one of the tables of what is varied.
    pub fn below(kind: &str, path: &[String]) -> Self {
        Self::key(std::iter::once(kind).chain(path.iter().map(String::as_str)))
    }

    /// The value of the key.
    pub fn value(self) -> Self {
        Self { part: Part::Value, ..self }
    }

    /// This value of the key, or of the list that it has.
    pub fn with(self, value: &Value) -> Self {
        Self { part: Part::Item(value.to_string()), ..self }
    }

    /// A name in a list of names.
    pub fn name(list: &str, name: &str) -> Self {
        Self::key([list]).with(&name.into())
    }

    /// Where it is; where what is above it is, if it is not there itself.
    fn find(&self, text: &str) -> Option<Range<usize>> {
        let document = DeTable::parse(text).ok()?;
        let (mut table, mut found) = (document.get_ref(), None);
        for part in &self.path {
            let Some((key, value)) = table.get_key_value(part.as_str()) else { break };
            found = Some((key, value));
            let DeValue::Table(below) = value.get_ref() else { break };
            table = below;
        }
        let (key, value) = found?;
        let wanted = match &self.part {
            Part::Key => return Some(key.span()),
            Part::Value => return Some(value.span()),
            Part::Item(wanted) => wanted,
        };
        let is_it = |span: Range<usize>| {
            let item = text.get(span).and_then(|text| text.parse::<Value>().ok());
            item.is_some_and(|item| item.to_string() == *wanted)
        };
        let item = value.get_ref().as_array().and_then(|items| items.iter().find(|item| is_it(item.span())));
        Some(item.unwrap_or(value).span())
    }
}

impl Wrong {
    /// What a parser says of a text.
    pub fn parsed(error: &toml::de::Error, text: &str) -> Self {
        Self { at: error.span().map_or(At::Grid, At::Span), what: What::Message(of_toml(error, text)) }
    }

    /// A mistake in this part of the text.
    pub fn there(span: Range<usize>, message: String) -> Self {
        Self { at: At::Span(span), what: What::Message(message) }
    }

    /// A mistake at a spot.
    pub fn at(spot: Spot, message: String) -> Self {
        Self { at: At::Spot(spot), what: What::Message(message) }
    }

    /// A mistake of the whole.
    pub fn whole(message: String) -> Self {
        Self { at: At::Grid, what: What::Message(message) }
    }

    /// Something that is named at a spot.
    pub fn named(spot: Spot, place: impl Into<String>, source: evenkeel_experiment::Error) -> Self {
        Self { at: At::Spot(spot), what: What::Named { place: place.into(), source: Box::new(source) } }
    }

    /// The error about the file that has this text.
    pub fn in_file(self, file: &str, text: &str) -> Error {
        let span = match &self.at {
            At::Span(span) => Some(span.clone()),
            At::Spot(spot) => spot.find(text),
            At::Grid => None,
        };
        self.of(span.map_or(file.to_owned(), |span| format!("{file}:{}", line_and_column(text, span.start))))
    }

    /// The error about what is called so.
    pub fn of(self, file: String) -> Error {
        match self.what {
            What::Message(message) => Error::Grid { file, message },
            What::Named { place, source } => Error::Named { place: format!("{file}: {place}"), source: *source },
        }
    }
}

/// Makes sure that what is varied is written as that, and not as names. `kinds` has an example of each.
pub fn tables(document: &DeTable<'_>, kinds: &[(&str, &str)]) -> Result<(), Wrong> {
    for (kind, example) in kinds {
        let Some(value) = document.get(*kind).filter(|value| !value.get_ref().is_table()) else { continue };
        let names = match *kind {
            "conditions" => String::new(),
            kind => format!("; names come into {}", list_of(kind)),
        };
        let why = format!("{kind}: expected what is varied, such as {kind}.{example}{names}");
        return Err(Wrong::there(value.span(), why));
    }
    Ok(())
}

/// The list of a grid that names those of a kind.
pub fn list_of(kind: &str) -> String {
    if kind == "policy" { "policies".into() } else { format!("{kind}s") }
}

/// Makes sure that a table can hold the numbers that are varied.
pub fn numbers(document: &DeTable<'_>, kinds: &[&str]) -> Result<(), Wrong> {
    let varied = kinds.iter().filter_map(|kind| Some((*kind, document.get(*kind)?)));
    for (kind, value) in varied {
        let found = beyond(kind.to_owned(), value.get_ref());
        if let Some((place, number, expected, within)) = found {
            let message = format!("{place} = {}: expected {expected}", short(number));
            return Err(Wrong::there(within.unwrap_or(value.span()), message));
        }
    }
    Ok(())
}

/// A number that no table can hold: its place, itself, what was expected, and where it is if it is within this value.
type Beyond<'a> = (String, &'a str, &'static str, Option<Range<usize>>);

fn beyond<'a>(place: String, value: &'a DeValue<'_>) -> Option<Beyond<'a>> {
    let within = |(place, number, expected, within): Beyond<'a>, span| {
        Some((place, number, expected, Some(within.unwrap_or(span))))
    };
    match value {
        DeValue::Integer(whole) => i64::from_str_radix(whole.as_str(), whole.radix()).is_err().then_some((
            place,
            whole.as_str(),
            "a whole number from -2^63 to 2^63 - 1",
            None,
        )),
        DeValue::Float(number) => {
            let finite = number.as_str().parse().is_ok_and(f64::is_finite);
            (!finite).then_some((place, number.as_str(), "a finite number", None))
        }
        DeValue::Array(items) => {
            items.iter().find_map(|item| within(beyond(place.clone(), item.get_ref())?, item.span()))
        }
        DeValue::Table(below) => below
            .iter()
            .find_map(|(key, item)| within(beyond(format!("{place}.{}", key.get_ref()), item.get_ref())?, item.span())),
        DeValue::String(_) | DeValue::Boolean(_) | DeValue::Datetime(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "names = [\"ä\", \"b\"]\n\n[machine.costs]\ntick_us = [\n  1,\n  2.0,\n]\nx = { y = 7 }\n";

    #[test]
    fn a_spot_is_found_by_line_and_column() {
        let at = |spot: Spot| {
            let Error::Grid { file, .. } = Wrong::at(spot, String::new()).in_file("g", TEXT) else { panic!() };
            file
        };
        let costs = |rest: &str| Spot::key(["machine", "costs", rest]);
        assert_eq!(at(Spot::name("names", "b")), "g:1:15");
        assert_eq!(at(Spot::name("names", "c")), "g:1:9", "the whole list");
        assert_eq!((at(costs("tick_us")), at(costs("tick_us").value())), ("g:4:1".into(), "g:4:11".into()));
        assert_eq!(at(costs("tick_us").with(&2.0.into())), "g:6:3");
        assert_eq!(at(Spot::key(["machine", "costs", "x", "y"]).with(&7.into())), "g:8:11");
        assert_eq!(at(costs("z")), "g:3:10", "what is above it");
        assert_eq!(at(Spot::key(["seeds"])), "g");
    }

    fn document(text: &str) -> DeTable<'_> {
        DeTable::parse(text).unwrap().into_inner()
    }

    #[test]
    fn numbers_that_a_table_cannot_hold_are_mistakes() {
        for (number, expected) in [
            ("inf", "1:17: machine.a = inf: expected a finite number"),
            ("-nan", "1:17: machine.a = -nan: expected a finite number"),
            ("1e400", "1:17: machine.a = 1e400: expected a finite number"),
            ("[[2, inf]]", "1:22: machine.a = inf: expected a finite number"),
            (
                "9223372036854775808",
                "1:17: machine.a = 9223372036854775808: expected a whole number from -2^63 to 2^63 - 1",
            ),
            ("{ b = -9_223_372_036_854_775_809 }", "machine.a.b = -9223372036854775809: expected a whole number"),
        ] {
            let text = format!("machine.a = [1, {number}]");
            let said = numbers(&document(&text), &["workload", "machine"]).unwrap_err().in_file("g", &text).to_string();
            assert!(said.contains(expected), "{said}");
        }
        for fine in ["9223372036854775807", "-9223372036854775808", "1e300", "0xff", "-0.0", "1_0.5_0"] {
            let text = format!("machine.a = {fine}\nseeds = [18446744073709551615]");
            assert!(numbers(&document(&text), &["machine"]).is_ok(), "{fine}");
        }
    }
}
