//! Names and files.

use std::path::Path;

use evenkeel_experiment::{Error, catalog};

fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_string()
}

#[test]
fn a_file_is_what_its_ending_says() {
    let folder = tempfile::tempdir().unwrap();
    let tasks = r#"{ "tasks": { "a": { "loop": 3, "run": 1000, "colour": 3 } } }"#;
    let found = catalog::workload(&file(folder.path(), "one.json", tasks)).unwrap();
    assert_eq!((found.workload.programs.len(), found.recorded_on.is_none()), (1, true));
    assert!(found.warnings.iter().any(|warning| warning.contains("colour")), "{:?}", found.warnings);
    let other = catalog::workload(&file(folder.path(), "one.yaml", "")).unwrap_err();
    assert!(other.to_string().contains("expected an rt-app file (.json)"), "{other}");
    let board = concat!(env!("CARGO_MANIFEST_DIR"), "/../topology/tests/it/files/big-little.dtb");
    let found = catalog::machine(board).unwrap();
    assert_eq!(found.machine.name, "big-little");
}

#[test]
fn mistakes_name_the_file_and_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let workload =
        |name: &str, text: &str| catalog::workload(&file(folder.path(), name, text)).unwrap_err().to_string();
    assert!(workload("bad.json", "{\n  \"tasks\": [\n}").contains("bad.json:3"));
    assert!(workload("bad.toml", "[[program]\n").contains("bad.toml:1"));
    let machine = catalog::machine(&file(folder.path(), "broken.toml", "name = \n")).unwrap_err().to_string();
    assert!(machine.contains("broken.toml:1"), "{machine}");
    let missing = catalog::machine("./nowhere.toml").unwrap_err();
    assert!(matches!(missing, Error::Unreadable { .. }), "{missing}");
    assert_eq!(missing.to_string(), "cannot read ./nowhere.toml");
}

#[test]
fn unknown_names_are_told_apart_by_type() {
    assert!(matches!(catalog::machine("2B3S"), Err(Error::NoMachine(_))));
    assert!(matches!(catalog::workload("feret"), Err(Error::NoWorkload(_))));
    assert!(matches!(catalog::policy("colba"), Err(Error::Policy(_))));
    let part = catalog::machine("odroid-xu3:5+0").unwrap_err().to_string();
    assert!(part.starts_with("odroid-xu3:5+0: "), "{part}");
}
