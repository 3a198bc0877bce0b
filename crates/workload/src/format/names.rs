//! Shared objects by name, and arrays of them: `tree`, `cells[64]`, `cells[i + 1]`.

use evenkeel_model::names::printable;

use super::error::suggestion;
use super::expr::{Letters, evaluate};

/// Objects of one kind, at most: enough for a lock a cell, and a bound on what a file can hold.
const MOST: usize = 65_536;

/// The objects of one kind.
#[derive(Debug)]
pub(crate) struct Names {
    kind: &'static str,
    arrays: Vec<Array>,
    /// What messages call each object.
    pub names: Vec<String>,
}

#[derive(Debug)]
struct Array {
    name: String,
    first: usize,
    /// `None` for a single object.
    length: Option<usize>,
}

impl Names {
    pub fn new(kind: &'static str) -> Self {
        Self { kind, arrays: Vec::new(), names: Vec::new() }
    }

    /// Adds an object or an array of them and returns how many that makes.
    pub fn declare(&mut self, text: &str, letters: Letters) -> Result<usize, String> {
        printable(text)?;
        let (name, length) = split(text)?;
        if self.arrays.iter().any(|other| other.name == name) {
            return Err(format!("{} \"{name}\" is declared twice", self.kind));
        }
        let length = length.map(|length| evaluate(length, letters)).transpose()?;
        let count = usize::try_from(length.unwrap_or(1)).unwrap_or(0);
        if count == 0 || count > MOST - self.names.len() {
            return Err(format!("\"{text}\": expected an array of 1 to {MOST} objects"));
        }
        self.arrays.push(Array { name: name.into(), first: self.names.len(), length: length.map(|_| count) });
        match length {
            None => self.names.push(name.into()),
            Some(_) => self.names.extend((0..count).map(|at| format!("{name}[{at}]"))),
        }
        Ok(count)
    }

    /// The position of an object. Positions in an array go round: `cells[n]` of `n` cells is `cells[0]`.
    pub fn find(&self, text: &str, letters: Letters) -> Result<u32, String> {
        let (name, at) = split(text)?;
        let array = self.array(name)?;
        let position = match (array.length, at) {
            (None, None) => array.first,
            (Some(length), Some(at)) => array.first + evaluate(at, letters)?.rem_euclid(length as i64) as usize,
            (Some(_), None) => return Err(format!("\"{name}\" is an array: expected \"{name}[0]\" or \"{name}[i]\"")),
            (None, Some(_)) => return Err(format!("\"{name}\" is no array: declare it as \"{name}[n]\"")),
        };
        Ok(position as u32)
    }

    /// The positions of an object, or of all objects of an array: `cells[..]`.
    pub fn find_all(&self, text: &str, letters: Letters) -> Result<std::ops::Range<u32>, String> {
        let (name, at) = split(text)?;
        match (at.map(str::trim), self.array(name)?) {
            (Some(".."), Array { first, length: Some(length), .. }) => Ok(*first as u32..(first + length) as u32),
            _ => self.find(text, letters).map(|position| position..position + 1),
        }
    }

    fn array(&self, name: &str) -> Result<&Array, String> {
        self.arrays.iter().find(|array| array.name == name).ok_or_else(|| {
            let known = self.arrays.iter().map(|array| array.name.as_str());
            format!("unknown {} \"{name}\"{}", self.kind, suggestion(name, known))
        })
    }
}

/// A name, and what stands in brackets after it.
fn split(text: &str) -> Result<(&str, Option<&str>), String> {
    let (name, at) = match text.split_once('[') {
        None => (text, None),
        Some((name, rest)) => {
            let at = rest.strip_suffix(']').ok_or_else(|| format!("\"{text}\": expected \"]\" at the end"))?;
            (name, Some(at))
        }
    };
    if name.trim().is_empty() { Err(format!("\"{text}\": expected a name")) } else { Ok((name.trim(), at)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_in_an_array_go_round() {
        let mut locks = Names::new("lock");
        locks.declare("tree", Letters::default()).unwrap();
        locks.declare("cells[n]", Letters::of_program(Some(4))).unwrap();
        let last = Letters::of_program(Some(4)).in_group(3);
        assert_eq!(locks.find("cells[i]", last), Ok(4));
        assert_eq!(locks.find("cells[i + 1]", last), Ok(1));
        assert_eq!(locks.find("cells[i - 4]", last), Ok(4));
        assert_eq!(locks.names[1], "cells[0]");
        assert_eq!(locks.find_all("cells[..]", last), Ok(1..5));
        assert_eq!(locks.find_all("tree", last), Ok(0..1));
        assert!(locks.find_all("tree[..]", last).is_err());
    }

    #[test]
    fn an_unknown_name_gets_the_nearest_one() {
        let mut locks = Names::new("lock");
        locks.declare("cells[2]", Letters::default()).unwrap();
        let message = locks.find("cell[0]", Letters::default()).unwrap_err();
        assert_eq!(message, "unknown lock \"cell\": did you mean \"cells\"?");
        assert!(locks.find("cells", Letters::default()).unwrap_err().contains("cells[i]"));
        assert!(locks.declare("huge[9999999999]", Letters::default()).is_err());
    }
}
