//! The code that docs/runtime.md and the README show is compiled and run: each block is a part of a test or an example. Indentation does not count.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fs;
use std::path::Path;

const SOURCES: [(&str, &str); 3] =
    [("rust", "../runtime/tests/it/guide.rs"), ("c", "examples/cores.c"), ("cpp", "examples/guide.cpp")];

fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).collect()
}

#[test]
fn the_guide_shows_what_is_compiled() {
    check("../../docs/runtime.md", &SOURCES);
}

#[test]
fn the_readme_shows_what_is_compiled() {
    check("README.md", &[("c", "examples/parallel_for.c")]);
}

fn check(page: &str, sources: &[(&str, &str)]) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(here.join(page)).unwrap();
    // Text and blocks in turn.
    let blocks: Vec<&str> = page.split("```").skip(1).step_by(2).collect();
    for &(language, path) in sources {
        let source = fs::read_to_string(here.join(path)).unwrap();
        let source = lines(&source);
        let of = blocks.iter().filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n'));
        let of: Vec<_> = of.collect();
        assert!(!of.is_empty(), "nothing is shown in {language}");
        for block in of {
            let block = lines(block.trim());
            assert!(source.windows(block.len()).any(|part| part == block), "not in {path}:\n{}", block.join("\n"));
        }
    }
}
