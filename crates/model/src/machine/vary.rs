//! Machine files with other values: what a study varies.

use toml::{Table, Value};

use super::Machine;
use super::file::{LIBRARY, MachineError};
use crate::names::suggestion;
use crate::tree;

/// Values of a cluster that come without a source. So do the name of the machine and its description.
const PLAIN: [&str; 5] = ["name", "core", "threads", "node", "cache"];

/// Whether a path has a meaning on the machine of a file: its core type or its cluster is there.
pub fn has(document: &Table, path: &[String]) -> bool {
    let Some(name) = path.get(1) else { return true };
    let clusters = || document.get("cluster").and_then(Value::as_array).into_iter().flatten();
    let says = |key: &'static str| clusters().any(|cluster| cluster.get(key).and_then(Value::as_str) == Some(name));
    match path[0].as_str() {
        "core" => says("core"),
        "cluster" => says("name"),
        _ => true,
    }
}

/// A machine from the text of a file with some of its values replaced: `costs.tick_us`, `cluster.little.memory_gbps`,
/// `core.cortex-a57.width`. Core types that the file takes from the library can be changed as well.
///
/// # Errors
/// The file has a mistake, a path leads nowhere, or the machine cannot exist. Lines are those of the file as it was changed, so
/// messages had better say what was changed.
pub fn varied(text: &str, file: &str, settings: &[(Vec<String>, Value)]) -> Result<Machine, MachineError> {
    // What is wrong with the file itself is said with its lines.
    changed(text, file, settings).map_err(|error| Machine::from_toml(text, file).err().unwrap_or(error))
}

fn changed(text: &str, file: &str, settings: &[(Vec<String>, Value)]) -> Result<Machine, MachineError> {
    let fault = |message: String| MachineError { file: file.to_owned(), line: 1, message };
    let parse = |text: &str| text.parse::<Table>().map_err(|error| fault(error.message().to_owned()));
    let mut document = parse(text)?;
    for (path, value) in settings {
        if let [first, name, ..] = &path[..]
            && first == "core"
            && tree::get(&document, &path[..2]).is_none()
        {
            let library = parse(LIBRARY)?;
            let Some(known) = tree::get(&library, &path[..2]) else {
                let types: Vec<&String> =
                    library.get("core").and_then(Value::as_table).map_or_else(Vec::new, |types| types.keys().collect());
                let hint = suggestion(name, types.iter().map(|name| name.as_str()));
                return Err(fault(format!("unknown core type {name:?}: {hint}")));
            };
            let types = document.entry("core").or_insert_with(|| Table::new().into());
            types.as_table_mut().map(|types| types.insert(name.clone(), known.clone()));
        }
        one_value(&document, path).map_err(fault)?;
        let plain = match &path[..] {
            [only] => ["name", "description"].contains(&only.as_str()),
            [first, .., last] => first == "cluster" && PLAIN.contains(&last.as_str()),
            [] => false,
        };
        let value = if plain { value.clone() } else { sourced(value) };
        tree::set(&mut document, path, value).map_err(fault)?;
    }
    Machine::from_toml(&document.to_string(), file)
}

/// Makes sure that a path leads to one value: not to what has values below it, nor below a value.
fn one_value(document: &Table, path: &[String]) -> Result<(), String> {
    let place = path.join(".");
    let ends_early = |length: &usize| tree::get(document, &path[..*length]).is_some_and(is_sourced);
    if let Some(length) = (1..path.len()).find(ends_early) {
        return Err(format!("`{}` is one value: it has no `{}`", path[..length].join("."), path[length]));
    }
    let below = match tree::get(document, path) {
        Some(value) if is_sourced(value) => return Ok(()),
        Some(Value::Table(table)) => table.keys().next().cloned(),
        Some(Value::Array(parts)) => parts.first().and_then(|part| part.get("name")?.as_str().map(str::to_owned)),
        None if place == "core" => Some("cortex-a57".into()),
        _ => return Ok(()),
    };
    let such_as = below.map_or_else(String::new, |key| format!(", such as `{place}.{key}`"));
    Err(format!("`{place}` is a table: expected a value in it{such_as}"))
}

fn is_sourced(value: &Value) -> bool {
    value.get("value").is_some()
}

fn sourced(value: &Value) -> Value {
    let source = Value::from("varied");
    Table::from_iter([("value".to_owned(), value.clone()), ("source".to_owned(), source)]).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CoreTypeId, Ns, machines};

    fn settings(pairs: &[(&str, Value)]) -> Vec<(Vec<String>, Value)> {
        let path = |path: &str| path.split('.').map(str::to_owned).collect();
        pairs.iter().map(|(at, value)| (path(at), value.clone())).collect()
    }

    #[test]
    fn values_of_a_file_and_of_the_library_are_replaced_and_others_stay() {
        let text = machines::text("2B2S").unwrap();
        let changed = settings(&[
            ("costs.tick_us", 1000.into()),
            ("costs.wake_us", 3.into()),
            ("cluster.little.memory_gbps", 2.5.into()),
            ("cluster.little.node", 1.into()),
            ("core.cortex-a57.width", 2.0.into()),
        ]);
        let machine = varied(text, "m.toml", &changed).unwrap();
        assert_eq!((machine.costs.tick, machine.costs.wake), (Ns::from_ms(1), Ns::from_us(3)));
        assert_eq!((machine.clusters[1].memory_gbps, machine.clusters[1].node), (Some(2.5), 1));
        let stock = machines::by_name("2B2S").unwrap();
        assert_eq!((machine.core_types[0].width, stock.core_types[0].width), (2.0, 2.4));
        assert_eq!(machine.core_types[1], stock.core_types[1]);
        assert_eq!(varied(text, "m.toml", &[]).unwrap(), stock);
        assert_eq!(machine.capacity(CoreTypeId(0)), 1024);
    }

    #[test]
    fn what_leads_nowhere_is_said() {
        let text = machines::text("2B2S").unwrap();
        let error = |at: &str, value: Value| varied(text, "m.toml", &settings(&[(at, value)])).unwrap_err().message;
        assert_eq!(error("cluster.litle.node", 1.into()), "`cluster` has no `litle`: did you mean \"little\"?");
        assert!(error("costs.tik_us", 1.into()).contains("tik_us"));
        assert!(error("core.cortex-a57.width", 0.into()).contains("width"));
        assert!(error("core.cortex-a75.width", 1.into()).starts_with("unknown core type \"cortex-a75\": did you mean"));
        let table = |place: &str, first: &str| {
            format!("`{place}` is a table: expected a value in it, such as `{place}.{first}`")
        };
        for (place, first) in [
            ("costs", "context_switch_us"),
            ("cluster", "big"),
            ("cluster.little", "cache_mb"),
            ("core", "cortex-a57"),
            ("core.cortex-a53", "activity"),
        ] {
            assert_eq!(error(place, 5.into()), table(place, first));
        }
        assert_eq!(error("costs.tick_us.value", 5.into()), "`costs.tick_us` is one value: it has no `value`");
        assert_eq!(error("name", 5.into()), "5: expected text in quotes");
        assert_eq!(error("costs.tick_us", Value::Datetime("2020-01-01".parse().unwrap())), "a date: expected a number");
    }

    #[test]
    fn paths_apply_to_machines_that_have_such_cores() {
        let document: Table = machines::text("2B2S").unwrap().parse().unwrap();
        let has = |at: &str| has(&document, &settings(&[(at, 1.into())])[0].0);
        assert!(has("costs.tick_us") && has("core.cortex-a53.width") && has("cluster.big.node"));
        assert!(!has("core.cortex-a7.width") && !has("cluster.middle.node"));
    }
}
