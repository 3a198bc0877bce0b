//! What is published is complete: a crate says what it is, has its licences, and needs no file and no crate that is not published.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use evenkeel_sched::policy::POLICIES;
use toml::{Table, Value};

const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];
/// The other one of crates with a part in the kernel.
const GPL: &str = "LICENSE-GPL-2.0";
const INCLUDES: [&str; 3] = ["include_str!(", "include_bytes!(", "include!("];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn manifest(folder: &Path) -> Table {
    fs::read_to_string(folder.join("Cargo.toml")).unwrap().parse().unwrap()
}

/// A crate of the workspace.
struct Package {
    folder: PathBuf,
    manifest: Table,
    published: bool,
}

impl Package {
    /// A field of its manifest, or of the workspace's if it says so.
    fn field(&self, name: &str, workspace: &Table) -> Option<Value> {
        let own = self.manifest["package"].get(name)?;
        let inherited = own.get("workspace").and_then(Value::as_bool) == Some(true);
        if inherited { workspace["package"].get(name).cloned() } else { Some(own.clone()) }
    }

    /// The words of a field.
    fn words(&self, name: &str, workspace: &Table) -> Vec<String> {
        let list = self.field(name, workspace);
        let words = list.iter().filter_map(Value::as_array).flatten().filter_map(Value::as_str);
        words.map(str::to_owned).collect()
    }

    /// Its dependencies of a kind, those for some targets included.
    fn dependencies(&self, kind: &str) -> Vec<(&String, &Value)> {
        let targets = self.manifest.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
        let tables = self.manifest.get(kind).into_iter().chain(targets.filter_map(|target| target.get(kind)));
        tables.filter_map(Value::as_table).flatten().collect()
    }

    fn name(&self) -> &str {
        self.manifest["package"]["name"].as_str().unwrap()
    }

    /// Its sources whose SPDX line says GPL.
    fn under_the_gpl(&self) -> Vec<PathBuf> {
        let mut sources = Vec::new();
        below(&self.folder.join("src"), &mut sources);
        let says = |line: &str| line.contains("SPDX-License-Identifier: GPL-2.0-only");
        sources.retain(|source| fs::read_to_string(source).is_ok_and(|text| text.lines().next().is_some_and(says)));
        sources
    }
}

/// All crates by their folders' names, and what the workspace says for all.
fn packages() -> (BTreeMap<String, Package>, Table) {
    let mut packages = BTreeMap::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        if folder.is_dir() {
            let manifest = manifest(&folder);
            let published = manifest["package"].get("publish").and_then(Value::as_bool) != Some(false);
            let name = folder.file_name().unwrap().to_string_lossy().into_owned();
            packages.insert(name, Package { folder, manifest, published });
        }
    }
    (packages, manifest(&root())["workspace"].as_table().unwrap().clone())
}

fn published() -> (Vec<Package>, Table) {
    let (packages, workspace) = packages();
    let published: Vec<_> = packages.into_values().filter(|package| package.published).collect();
    assert!(published.len() > 10);
    (published, workspace)
}

#[test]
fn a_published_crate_says_what_it_is_and_has_its_licences() {
    let (published, workspace) = published();
    for package in published {
        let name = package.name();
        let text = |field| package.field(field, &workspace).and_then(|value| Some(value.as_str()?.to_owned()));
        assert!(text("description").is_some_and(|text| text.len() > 10), "{name}: a description");
        let has_gpl = !package.under_the_gpl().is_empty();
        let license = if has_gpl { "(MIT OR Apache-2.0) AND GPL-2.0-only" } else { "MIT OR Apache-2.0" };
        assert_eq!(text("license").as_deref(), Some(license), "{name}");
        assert_eq!(text("documentation"), Some(format!("https://docs.rs/{name}")), "{name}: where it is explained");
        let (keywords, categories) = (package.words("keywords", &workspace), package.words("categories", &workspace));
        // As crates.io wants them.
        let takes = |word: &String| word.len() <= 20 && !word.contains(' ');
        assert!((1..=5).contains(&keywords.len()) && keywords.iter().all(takes), "{name}: 1 to 5 keywords");
        assert!((1..=5).contains(&categories.len()), "{name}: 1 to 5 categories");

        let include = package.words("include", &workspace);
        for file in LICENCES.into_iter().chain(has_gpl.then_some(GPL)) {
            let text = |folder: &Path| fs::read_to_string(folder.join(file)).unwrap_or_default();
            assert!(text(&package.folder) == text(&root()), "{name}: {file} is a link to that of the workspace");
            assert!(packaged(&include, file), "{name}: `include` lacks {file}");
        }
        assert_eq!(text("readme").as_deref(), Some("README.md"), "{name}");
        assert!(packaged(&include, "README.md"), "{name}: `include` lacks README.md");
        let readme = fs::read_to_string(package.folder.join("README.md")).unwrap();
        assert!(readme.starts_with(&format!("# {name}\n")), "{name}: its README begins with its name");
        assert!(!readme.contains("](../"), "{name}: its README has a link to a file that its package lacks");
        assert_eq!(readme.contains("GPL"), has_gpl, "{name}: its README says what is under the GPL");
        let library = fs::read_to_string(package.folder.join("src/lib.rs")).unwrap_or_default();
        if readme.contains("```rust") {
            assert!(library.contains("#[doc = include_str!(\"../README.md\")]"), "{name}: its README is not tested");
        }
    }
}

#[test]
fn the_debian_package_says_which_sources_are_under_the_gpl() {
    let copyright = fs::read_to_string(root().join("packaging/debian/copyright")).unwrap();
    let stanza = copyright.split("\n\n").find(|stanza| stanza.contains("\nLicense: GPL-2\n")).unwrap();
    let (files, _) = stanza.strip_prefix("Files: ").unwrap().split_once("\nCopyright:").unwrap();
    let named = |file: &str| {
        files.split_whitespace().any(|pattern| match pattern.split_once('*') {
            Some((before, after)) => file.starts_with(before) && file.ends_with(after),
            None => file == pattern,
        })
    };
    let mut checked = 0;
    for source in published().0.iter().flat_map(Package::under_the_gpl) {
        let file = source.strip_prefix(root()).unwrap().to_string_lossy();
        assert!(named(&file), "packaging/debian/copyright does not name {file}");
        checked += 1;
    }
    assert!(checked > 30, "only {checked}");
}

#[test]
fn a_published_crate_needs_no_crate_that_is_not() {
    let (packages, workspace) = packages();
    let version = &workspace["package"]["version"];
    let shared = &workspace["dependencies"];
    let mut checked = 0;
    for package in packages.values().filter(|package| package.published) {
        for kind in ["dependencies", "build-dependencies", "dev-dependencies"] {
            for (name, value) in package.dependencies(kind) {
                let Some(other) = name.strip_prefix("evenkeel-") else { continue };
                let inherited = value.get("workspace").and_then(Value::as_bool) == Some(true);
                let stated = if inherited { &shared[name.as_str()] } else { value }.get("version");
                let place = format!("{}: {kind}: {name}", package.name());
                checked += 1;
                // Cargo leaves out dev-dependencies that are paths alone; all others must be found by their version.
                if kind == "dev-dependencies" && stated.is_none() {
                    continue;
                }
                assert!(packages[other].published, "{place} is not published");
                assert_eq!(stated, Some(version), "{place} has the workspace's version");
            }
        }
    }
    assert!(checked > 50, "only {checked}");
}

#[test]
fn a_published_crate_includes_only_files_of_its_package() {
    let (published, workspace) = published();
    let mut checked = 0;
    for package in published {
        let include = package.words("include", &workspace);
        let mut sources = Vec::new();
        below(&package.folder.join("src"), &mut sources);
        for source in sources.iter().filter(|source| source.extension().is_some_and(|one| one == "rs")) {
            for path in included(source) {
                let place = format!("{}: {}", source.strip_prefix(root()).unwrap().display(), path.display());
                let path = lexical(&source.parent().unwrap().join(&path));
                let within = path.strip_prefix(&package.folder);
                let within = within.unwrap_or_else(|_| panic!("{place} is outside of the crate; put a link into it"));
                assert!(path.is_file(), "{place} does not exist");
                assert!(
                    packaged(&include, &within.to_string_lossy()),
                    "{place} is not among `include` of the manifest"
                );
                checked += 1;
            }
        }
        if let Ok(script) = fs::read_to_string(package.folder.join("build.rs")) {
            assert!(packaged(&include, "build.rs"), "{}: `include` lacks build.rs", package.name());
            assert!(!script.contains("\"../"), "{}: build.rs needs a file outside of the crate", package.name());
        }
    }
    assert!(checked > 70, "only {checked}");
}

#[test]
fn the_list_of_crates_says_which_are_not_published() {
    let text = fs::read_to_string(root().join("crates/README.md")).unwrap();
    let (_, rest) = text.split_once("all but ").unwrap();
    let listed: BTreeSet<&str> = rest.split_once(".\n").unwrap().0.split('`').skip(1).step_by(2).collect();
    let (packages, _) = packages();
    let others = packages.iter().filter(|(_, package)| !package.published).map(|(name, _)| name.as_str());
    assert_eq!(listed, others.collect(), "crates/README.md");
}

/// The unit's command, with what stands in the file that users change.
#[test]
fn the_unit_starts_what_the_debian_package_installs() {
    let read = |name: &str| fs::read_to_string(root().join("packaging").join(name)).unwrap();
    let (unit, settings) = (read("evenkeel-scx.service"), read("evenkeel-scx.default"));
    let after = |text: &str, start: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(start));
        line.unwrap_or_else(|| panic!("there is no line {start}")).to_owned()
    };
    let command = after(&unit, "ExecStart=/");
    let (program, words) = command.split_once(' ').unwrap();
    let (folder, name) = program.rsplit_once('/').unwrap();
    assert!(read("debian/evenkeel.install").lines().any(|line| line == format!("{name} {folder}")), "{program}");
    let file = after(&unit, "EnvironmentFile=-/");
    assert!(read("debian/rules").contains(&format!("evenkeel-scx.default debian/evenkeel/{file}\n")), "{file}");

    let policy = after(&settings, "EVENKEEL_POLICY=");
    assert_eq!(policy, after(&unit, "Environment=EVENKEEL_POLICY="), "where the file is missing");
    assert!(POLICIES.iter().any(|known| known.name == policy && !known.foresight), "{policy}");
    let options = after(&settings, "EVENKEEL_OPTIONS=");
    let words = words.replace("${EVENKEEL_POLICY}", &policy).replace("$EVENKEEL_OPTIONS", &options);
    let mut parsed = Command::new(assert_cmd::cargo::cargo_bin!("evenkeel"));
    // A wrong option before this one is an error.
    let parsed = parsed.args(words.split_whitespace()).arg("--help").output().unwrap();
    assert!(parsed.status.success(), "{words}: {}", String::from_utf8_lossy(&parsed.stderr));
    let help = String::from_utf8(parsed.stdout).unwrap();
    for word in settings.split_whitespace().filter(|word| word.starts_with("--")) {
        let option = word.trim_end_matches(|letter: char| !letter.is_ascii_alphanumeric());
        assert!(help.split_whitespace().any(|known| known == option), "{option} of the file is no option");
    }
}

/// Files below a folder, as cargo packages them: those that links lead to, too.
fn below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            below(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// The files that a source includes. Names that a macro puts together are those in quotes in the same source, where there is
/// such a file.
fn included(source: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(source).unwrap();
    let mut paths = Vec::new();
    for (at, include) in INCLUDES.iter().flat_map(|include| text.match_indices(include)) {
        let rest = text[at + include.len()..].trim_start();
        if rest.starts_with('"') {
            paths.push(rest.split('"').nth(1).unwrap().into());
        } else if let Some((parts, _)) = rest.strip_prefix("concat!(").and_then(|rest| rest.split_once(')')) {
            // What is made while building is no file of the package.
            if parts.contains("env!(") {
                continue;
            }
            let literals: Vec<&str> = parts.split('"').skip(1).step_by(2).collect();
            let &[before, after] = &literals[..] else { panic!("{}: {parts}", source.display()) };
            let names = text.split('"').skip(1).step_by(2).map(|name| format!("{before}{name}{after}"));
            let made: Vec<PathBuf> =
                names.map(PathBuf::from).filter(|path| source.parent().unwrap().join(path).is_file()).collect();
            assert!(!made.is_empty(), "{}: {parts} names no file", source.display());
            paths.extend(made);
        } else {
            panic!("{}: this test cannot read {include}{}", source.display(), rest.lines().next().unwrap_or_default());
        }
    }
    paths
}

/// Without `..`, which must not go through links here: a package has none.
fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => assert!(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

/// Whether a package has a file, by the patterns of its manifest: a file or a folder, all files of a folder with an ending or a
/// beginning, and with `!` what is left out again.
fn packaged(include: &[String], file: &str) -> bool {
    let matches = |pattern: &str| {
        let pattern = pattern.strip_prefix('/').unwrap_or_else(|| panic!("expected /{pattern}"));
        match pattern.split_once('*') {
            None => Path::new(file).starts_with(pattern),
            Some((before, after)) => {
                let rest = file.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
                rest.is_some_and(|rest| !rest.contains('/'))
            }
        }
    };
    let last = include.iter().rev().find(|pattern| matches(pattern.trim_start_matches('!')));
    last.is_some_and(|pattern| !pattern.starts_with('!'))
}
