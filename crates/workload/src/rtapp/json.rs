//! Values of the JSON text with their lines, and what is said when one has the wrong type.

use std::ops::RangeInclusive;

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::notes::{Notes, RtAppError};

/// What rt-app holds numbers in.
pub(super) const MAX_INT: i64 = i32::MAX as i64;

/// A key with its value.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    pub(super) key: &'a str,
    pub(super) line: u32,
    value: &'a Value<'a>,
}

/// The text's root object, as rt-app's own parser (json-c) and workgen take it: comments, trailing commas, repeated
/// keys. Nesting is limited by the parser.
pub(super) fn root<'a>(notes: &Notes, text: &'a str) -> Result<Object<'a>, RtAppError> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_single_quoted_strings: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options)
        .map_err(|error| notes.error(notes.line(error.range().start), format!("not JSON: {}", error.kind())))?;
    match parsed.value {
        Some(Value::Object(object)) => Ok(object),
        Some(other) => {
            let line = notes.line(other.range().start);
            Err(notes.error(line, format!("expected an object with \"tasks\", found {}", kind(&other))))
        }
        None => Err(notes.error(1, "expected an object with \"tasks\", found nothing")),
    }
}

/// The fields of an object in their order.
pub(super) fn fields<'a>(notes: &Notes, object: &'a Object<'a>) -> Vec<Field<'a>> {
    let field = |prop: &'a ObjectProp<'a>| Field {
        key: prop.name.as_str(),
        line: notes.line(prop.range.start),
        value: &prop.value,
    };
    object.properties.iter().map(field).collect()
}

/// The value of a setting, which a file should state once. As in json-c, the last one counts.
pub(super) fn setting<'a>(notes: &mut Notes, fields: &[Field<'a>], key: &str) -> Option<Field<'a>> {
    let mut found = None;
    for field in fields.iter().filter(|field| field.key == key) {
        if let Some(before) = found.replace(*field) {
            notes.warn(before.line, key, format!("given again on line {}, which counts", field.line));
        }
    }
    found
}

impl<'a> Field<'a> {
    fn wrong(&self, notes: &Notes, expected: &str) -> RtAppError {
        let found = kind(self.value);
        notes.error(self.line, format!("\"{}\": expected {expected}, found {found}", self.key))
    }

    /// A whole number within `range`; `what` says what it counts.
    pub(super) fn integer(&self, notes: &Notes, range: RangeInclusive<i64>, what: &str) -> Result<i64, RtAppError> {
        integer(self.value, &range).ok_or_else(|| {
            let (low, high) = range.clone().into_inner();
            self.wrong(notes, &format!("{what}, a whole number from {low} to {high}"))
        })
    }

    /// A time in microseconds, the unit of all events.
    pub(super) fn us(&self, notes: &Notes) -> Result<evenkeel_model::Ns, RtAppError> {
        let us = self.integer(notes, 0..=MAX_INT, "microseconds")?;
        Ok(evenkeel_model::Ns::from_us(us as u64))
    }

    pub(super) fn string(&self, notes: &Notes) -> Result<&'a str, RtAppError> {
        self.maybe_string().ok_or_else(|| self.wrong(notes, "a string"))
    }

    pub(super) fn maybe_string(&self) -> Option<&'a str> {
        self.value.as_string_lit().map(|string| string.value.as_ref())
    }

    pub(super) fn is_number(&self) -> bool {
        self.value.as_number_lit().is_some()
    }

    pub(super) fn boolean(&self, notes: &Notes) -> Result<bool, RtAppError> {
        let value = self.value.as_boolean_lit().map(|boolean| boolean.value);
        value.ok_or_else(|| self.wrong(notes, "true or false"))
    }

    /// The fields of an object.
    pub(super) fn object(&self, notes: &Notes, what: &str) -> Result<Vec<Field<'a>>, RtAppError> {
        let object = self.value.as_object().ok_or_else(|| self.wrong(notes, what))?;
        Ok(fields(notes, object))
    }

    /// An array of whole numbers within `range`; `what` says what it lists.
    pub(super) fn integers(
        &self,
        notes: &Notes,
        range: RangeInclusive<i64>,
        what: &str,
    ) -> Result<Vec<i64>, RtAppError> {
        let array = self.value.as_array().ok_or_else(|| self.wrong(notes, what))?;
        let element = |value| {
            integer(value, &range).ok_or_else(|| {
                let line = notes.line(value.range().start);
                notes.error(line, format!("\"{}\": expected {what}, found {}", self.key, kind(value)))
            })
        };
        array.elements.iter().map(element).collect()
    }
}

fn integer(value: &Value<'_>, range: &RangeInclusive<i64>) -> Option<i64> {
    let number: i64 = value.as_number_lit()?.value.parse().ok()?;
    range.contains(&number).then_some(number)
}

/// A value as a message shows it.
fn kind(value: &Value<'_>) -> String {
    match value {
        Value::StringLit(string) => format!("the string \"{}\"", string.value.chars().take(40).collect::<String>()),
        Value::NumberLit(number) => number.value.chars().take(40).collect(),
        Value::BooleanLit(boolean) => boolean.value.to_string(),
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::NullKeyword(_) => "null".to_owned(),
    }
}
