//! Places in a TOML document, by path: keys of tables, and entries of lists by their `name` or their number from 0.

use toml::{Table, Value};

use crate::names::suggestion;

/// Puts a value where a path leads. The last key may be new, what is above it must be there.
///
/// # Errors
/// Says which part of the path leads nowhere, and what is there.
pub fn set(document: &mut Table, path: &[String], value: Value) -> Result<(), String> {
    let Some((last, above)) = path.split_last() else { return Err("expected a path to a value".into()) };
    match above.split_first() {
        None => drop(document.insert(last.clone(), value)),
        Some((first, rest)) => {
            let mut at = document.get_mut(first).ok_or_else(|| format!("there is no `{first}`"))?;
            for (depth, key) in rest.iter().enumerate() {
                at = below(at, key).map_err(|known| nowhere(&above[..=depth], key, &known))?;
            }
            match at {
                Value::Table(table) => drop(table.insert(last.clone(), value)),
                list => *below(list, last).map_err(|known| nowhere(above, last, &known))? = value,
            }
        }
    }
    Ok(())
}

/// The value where a path leads, if it leads to one.
pub fn get<'a>(document: &'a Table, path: &[String]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(document.get(first)?, |at, key| match at {
        Value::Table(table) => table.get(key),
        Value::Array(list) => position(list, key).and_then(|position| list.get(position)),
        _ => None,
    })
}

/// What is below a value under a key, or what there is instead.
fn below<'a>(at: &'a mut Value, key: &str) -> Result<&'a mut Value, Vec<String>> {
    match at {
        Value::Table(table) => {
            if !table.contains_key(key) {
                return Err(table.keys().cloned().collect());
            }
            Ok(&mut table[key])
        }
        Value::Array(list) => match position(list, key) {
            Some(position) => Ok(&mut list[position]),
            None => {
                Err((0..list.len()).map(|number| name(&list[number]).unwrap_or(&number.to_string()).into()).collect())
            }
        },
        _ => Err(Vec::new()),
    }
}

fn position(list: &[Value], key: &str) -> Option<usize> {
    let named = list.iter().position(|entry| name(entry) == Some(key));
    named.or_else(|| key.parse().ok().filter(|number| *number < list.len()))
}

fn name(entry: &Value) -> Option<&str> {
    entry.get("name")?.as_str()
}

fn nowhere(above: &[String], key: &str, known: &[String]) -> String {
    let place = above.join(".");
    match known {
        [] => format!("`{place}` has no parts, so no `{key}`"),
        known => format!("`{place}` has no `{key}`: {}", suggestion(key, known.iter().map(String::as_str))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> Vec<String> {
        text.split('.').map(str::to_owned).collect()
    }

    #[test]
    fn paths_lead_through_tables_and_lists() {
        let mut document: Table = "a.b = 1\n[[c]]\nname = \"x\"\nd = [1, 2]\n[[c]]\nd = [3]".parse().unwrap();
        for (at, value) in [("a.b", 7), ("a.new", 8), ("c.x.d.1", 9), ("c.1.d.0", 10), ("top", 11)] {
            set(&mut document, &path(at), value.into()).unwrap();
            assert_eq!(get(&document, &path(at)), Some(&value.into()), "{at}");
        }
        assert_eq!(get(&document, &path("c.y.d")), None);
        let mut wrong = |at: &str| set(&mut document, &path(at), 1.into()).unwrap_err();
        assert_eq!(wrong("z.b"), "there is no `z`");
        assert_eq!(wrong("c.y.d"), "`c` has no `y`: known are x, 1");
        assert_eq!(wrong("a.b.c.d"), "`a.b` has no parts, so no `c`");
        assert_eq!(wrong("c.x.d.5"), "`c.x.d` has no `5`: known are 0, 1");
    }
}
