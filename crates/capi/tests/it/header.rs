//! `evenkeel.h` is what cbindgen makes of the sources. `SNAPSHOTS=overwrite` writes it.

use std::path::Path;
use std::{env, fs};

/// In the order in which a reader of the header needs them.
const SOURCES: [&str; 7] = ["status", "callback", "options", "pool", "fork", "loops", "graph"];

#[test]
fn the_header_is_current() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = fs::read_dir(here.join("src")).unwrap().count();
    assert_eq!(sources, SOURCES.len() + 1, "a source is missing in the list");

    let config = cbindgen::Config::from_file(here.join("cbindgen.toml")).unwrap();
    let builder = SOURCES.iter().fold(cbindgen::Builder::new().with_config(config), |builder, source| {
        builder.with_src(here.join("src").join(source).with_extension("rs"))
    });
    let mut made = Vec::new();
    builder.generate().unwrap().write(&mut made);
    let made = String::from_utf8(made).unwrap();

    let path = here.join("include/evenkeel.h");
    if env::var("SNAPSHOTS").is_ok_and(|what| what == "overwrite") {
        fs::write(path, made).unwrap();
    } else {
        let current = fs::read_to_string(path).unwrap_or_default();
        assert!(made == current, "evenkeel.h is not what its sources say; SNAPSHOTS=overwrite writes it");
    }
}
