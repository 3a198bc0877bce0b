//! What stands twice in a list of a grid: it would be run once, which is hardly what was meant.

use std::collections::BTreeSet;

use evenkeel_model::words::short;
use toml::de::{DeTable, DeValue};

use crate::wrong::Wrong;

/// The lists of a grid that have names, or seeds.
const LISTS: [&str; 5] = ["machines", "workloads", "policies", "orders", "seeds"];

/// Makes sure that no list of a grid has an item twice: those of [`LISTS`], and those below the tables `kinds`.
pub fn no_item(document: &DeTable<'_>, kinds: &[&str]) -> Result<(), Wrong> {
    for (key, value) in document.iter() {
        let name = key.get_ref();
        if LISTS.contains(&&**name) || kinds.contains(&&**name) && value.get_ref().is_table() {
            in_lists(name, value.get_ref())?;
        }
    }
    Ok(())
}

fn in_lists(place: &str, value: &DeValue<'_>) -> Result<(), Wrong> {
    match value {
        DeValue::Table(below) => {
            below.iter().try_for_each(|(key, value)| in_lists(&format!("{place}.{}", key.get_ref()), value.get_ref()))
        }
        DeValue::Array(items) => {
            let mut known = BTreeSet::new();
            for item in items.iter() {
                let text = canonical(item.get_ref());
                if known.contains(&text) {
                    let why = format!("{place} has {} twice: expected it once", short(&text));
                    return Err(Wrong::there(item.span(), why));
                }
                known.insert(text);
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// A value as text, which values that are the same have in common: 60 and 60.0 are.
fn canonical(value: &DeValue<'_>) -> String {
    /// Whole numbers up to this have a floating-point number each.
    const EXACT: f64 = (1_u64 << 53) as f64;
    match value {
        DeValue::String(text) => format!("{text:?}"),
        DeValue::Boolean(yes) => yes.to_string(),
        DeValue::Datetime(date) => date.to_string(),
        DeValue::Integer(whole) => i128::from_str_radix(whole.as_str(), whole.radix())
            .map_or_else(|_| whole.as_str().to_owned(), |whole| whole.to_string()),
        DeValue::Float(number) => match number.as_str().parse::<f64>() {
            Ok(number) if number.fract() == 0.0 && number.abs() <= EXACT => (number as i64).to_string(),
            Ok(number) => number.to_string(),
            Err(_) => number.as_str().to_owned(),
        },
        DeValue::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| canonical(item.get_ref())).collect();
            format!("[{}]", items.join(", "))
        }
        DeValue::Table(below) => {
            let items: Vec<String> =
                below.iter().map(|(key, item)| format!("{} = {}", key.get_ref(), canonical(item.get_ref()))).collect();
            format!("{{ {} }}", items.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_twice_is_said_with_its_place() {
        let said = |text: &str| {
            let wrong = no_item(&DeTable::parse(text).unwrap().into_inner(), &["machine", "workload"]).err()?;
            Some(wrong.in_file("g", text).to_string())
        };
        for (text, expected) in [
            ("policies = [\"cfs\", \"gts\", \"cfs\"]", "g:1:27: policies has \"cfs\" twice: expected it once"),
            ("seeds = [\n1,\n2,\n0x1]", "g:4:1: seeds has 1 twice: expected it once"),
            ("machine.costs.tick_us = [60, 60.0]", "g:1:30: machine.costs.tick_us has 60 twice: expected it once"),
            ("machine.a = [0.5, 0, 5e-1]", "g:1:22: machine.a has 0.5 twice: expected it once"),
            ("machine.a = [0, -0.0]", "g:1:17: machine.a has 0 twice: expected it once"),
            ("workload.a = [[[1, 2]], [[1, 2.0]]]", "g:1:25: workload.a has [[1, 2]] twice: expected it once"),
            ("[[machine]]\n[[machine]]", ""),
        ] {
            assert_eq!(said(text).unwrap_or_default(), expected, "{text}");
        }
        for fine in [
            "machine.a = [9007199254740993, 9007199254740992.0, \"1\", 1, true, \"true\"]",
            "machine.a = [[1, 1], [1, 2]]",
            "other = [1, 1]",
            "seeds = [18446744073709551615, 18446744073709551614]",
        ] {
            assert_eq!(said(fine), None);
        }
    }
}
