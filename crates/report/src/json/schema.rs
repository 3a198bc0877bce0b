//! `docs/json.md`, made of the documents' types and their comments. `SNAPSHOTS=overwrite cargo test` rewrites the page.

use std::fmt::Write;

use schemars::{Schema, schema_for};
use serde_json::{Map, Value};
use snapbox::{assert_data_eq, file};

use super::*;

const INTRODUCTION: &str = "\
# JSON output

`--format json` prints one JSON document; what follows is made of the code that prints it, and a test keeps it so. Unless it says
otherwise, the document goes to standard output, and everything else (progress, warnings, errors) to standard error. The documents
are an interface: fields are added, never renamed or removed, within a version 0.x.

The same simulation prints the same bytes every time, except for `seconds`, and for `computed` of a sweep, of which less is left to do the second time.

Units are part of the names: `_s` is seconds, `_j` is joules, `_w` is watts, `_hz` is hertz. A number that does not exist (no program finished,
nothing to divide by) is `null`.
";

/// The documents, by the commands that print them.
fn documents() -> Vec<(&'static str, Schema)> {
    vec![
        ("`evenkeel sim` and `evenkeel compare`", schema_for!(Runs<'static>)),
        ("`evenkeel sweep` and `evenkeel merge`", schema_for!(Swept<'static>)),
        ("`evenkeel sweep --dry-run`", schema_for!(Planned<'static>)),
        ("`evenkeel reproduce`", schema_for!(Reproductions<'static>)),
        ("`evenkeel train`", schema_for!(Trained<'static>)),
        ("`evenkeel run`", schema_for!(Followed<'static>)),
        ("`evenkeel try`", schema_for!(Tried<'static>)),
        ("`evenkeel scx`", schema_for!(Scheduled<'static>)),
        ("`evenkeel scx --list`", schema_for!(Schedulables)),
        ("`evenkeel top`", schema_for!(Watched<'static>)),
        ("`evenkeel record`", schema_for!(Recorded<'static>)),
        ("`evenkeel topology`", schema_for!(Topology<'static>)),
        ("`evenkeel vm`", schema_for!(Guest<'static>)),
        ("`evenkeel vm bench`", schema_for!(Bench<'static>)),
        ("`evenkeel emulate`", schema_for!(Emulated<'static>)),
        ("`evenkeel machines`", schema_for!(Machines<'static>)),
        ("`evenkeel policies`", schema_for!(Policies)),
        ("`evenkeel workloads`", schema_for!(Workloads)),
    ]
}

#[test]
fn the_page_describes_every_field_of_every_document() {
    let mut page = INTRODUCTION.to_owned();
    for (title, schema) in documents() {
        let root = schema.as_value();
        let _ = write!(page, "\n## {title}\n\n{}\n", description(root));
        let definitions = root["$defs"].as_object().cloned().unwrap_or_default();
        page += &fields(root, &definitions);
        for (path, name) in entries("", root, &definitions) {
            let definition = &definitions[&name];
            let _ = write!(page, "\n### {path}\n\n{}\n", description(definition));
            page += &fields(definition, &definitions);
        }
    }
    assert_data_eq!(page, file!["../../../../docs/json.md"].raw());
}

/// The comment of a type or a field, a line a paragraph.
fn description(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_else(|| panic!("no comment: {schema}"));
    let paragraphs = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

/// The table of an object's fields.
fn fields(object: &Value, definitions: &Map<String, Value>) -> String {
    let mut table = String::from("\n| field | type | meaning |\n| --- | --- | --- |\n");
    for (name, field) in object["properties"].as_object().unwrap() {
        let _ = writeln!(table, "| `{name}` | {} | {} |", kind(field, definitions), description(field));
    }
    table
}

/// What stands in a field.
fn kind(field: &Value, definitions: &Map<String, Value>) -> String {
    if let Some(options) = field["anyOf"].as_array() {
        let kinds: Vec<String> = options.iter().map(|option| kind(option, definitions)).collect();
        return kinds.join(" or ");
    }
    if let Some(name) = reference(field) {
        return if definitions[name]["properties"].is_object() { "object" } else { "string" }.to_owned();
    }
    let name = |name: &str| match name {
        "array" => format!("list of {}s", kind(&field["items"], definitions)),
        name => name.to_owned(),
    };
    match &field["type"] {
        Value::String(one) => name(one),
        Value::Array(several) => several.iter().filter_map(Value::as_str).map(name).collect::<Vec<_>>().join(" or "),
        _ => panic!("a field of no type: {field}"),
    }
}

/// The objects below an object, each once, with the path to it.
fn entries(path: &str, object: &Value, definitions: &Map<String, Value>) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for (name, field) in object["properties"].as_object().unwrap() {
        let nullable = field["anyOf"].as_array().and_then(|options| options.first()).unwrap_or(field);
        let Some(definition) = reference(nullable).or_else(|| reference(&nullable["items"])) else { continue };
        if !definitions[definition]["properties"].is_object() {
            continue;
        }
        let path = if path.is_empty() { format!("`{name}`") } else { format!("{path}, `{name}`") };
        let below = entries(&path, &definitions[definition], definitions);
        for entry in std::iter::once((path, definition.to_owned())).chain(below) {
            if found.iter().all(|(_, known)| *known != entry.1) {
                found.push(entry);
            }
        }
    }
    found
}

/// The name of the definition that a field refers to.
fn reference(field: &Value) -> Option<&str> {
    field["$ref"].as_str()?.strip_prefix("#/$defs/")
}
