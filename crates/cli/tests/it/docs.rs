//! The documentation's own structure: links lead somewhere, files that it names exist, the architecture is that of the
//! crates' manifests.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use evenkeel_model::Machine;
use evenkeel_sched::{Description, POLICIES};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Files below a folder, but what is built, hidden, or a link: what that leads to is found itself.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_symlink() {
            continue;
        }
        let path = entry.path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with('.') || ["target", "out"].contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

fn with_extension(extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    files(&root(), &mut found);
    found.retain(|path| path.extension().is_some_and(|one| extensions.contains(&&*one.to_string_lossy())));
    found.sort();
    found
}

/// What a page links to, the anchors of its headings, what it has in backticks, and its blocks of code.
#[derive(Default)]
struct Page {
    links: Vec<String>,
    anchors: BTreeSet<String>,
    code: Vec<String>,
    blocks: Vec<String>,
}

impl Page {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let mut page = Self::default();
        let mut heading: Option<String> = None;
        let mut block = false;
        for event in Parser::new_ext(&text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    page.anchors.insert(anchor(&heading.take().unwrap()));
                }
                Event::Start(Tag::CodeBlock(_)) => {
                    block = true;
                    page.blocks.push(String::new());
                }
                Event::End(TagEnd::CodeBlock) => block = false,
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push(dest_url.into_string());
                }
                Event::Text(text) if block => page.blocks.last_mut().unwrap().push_str(&text),
                Event::Code(text) => {
                    heading.iter_mut().for_each(|heading| heading.push_str(&text));
                    page.code.push(text.into_string());
                }
                Event::Text(text) => heading.iter_mut().for_each(|heading| heading.push_str(&text)),
                _ => {}
            }
        }
        page
    }
}

/// What a heading is linked by.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// The file that a link of a page leads to, and the anchor in it; nothing for what is outside of the repository.
fn target(page: &Path, link: &str) -> Option<(PathBuf, Option<String>)> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor.to_owned())));
    let file = if path.is_empty() { page.to_owned() } else { page.parent().unwrap().join(path) };
    Some((file.canonicalize().unwrap_or(file), anchor))
}

#[test]
fn every_link_leads_somewhere() {
    let mut wrong = Vec::new();
    let mut checked = 0;
    for path in with_extension(&["md"]) {
        for link in Page::read(&path).links {
            let Some((file, anchor)) = target(&path, &link) else { continue };
            checked += 1;
            let there = file.exists()
                && anchor.is_none_or(|anchor| {
                    file.extension().is_some_and(|one| one == "md") && Page::read(&file).anchors.contains(&anchor)
                });
            if !there {
                wrong.push(format!("{}: {link}", path.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(checked > 100 && wrong.is_empty(), "these links lead nowhere:\n{}", wrong.join("\n"));
}

#[test]
fn every_page_can_be_reached_from_the_readme() {
    let mut seen = BTreeSet::new();
    let mut next = vec![root().join("README.md")];
    while let Some(path) = next.pop() {
        if !seen.insert(path.clone()) {
            continue;
        }
        let links = Page::read(&path).links.into_iter().filter_map(|link| target(&path, &link));
        for (file, _) in links {
            let mut below = vec![file.clone()];
            if file.is_dir() {
                files(&file, &mut below);
            }
            next.extend(below.into_iter().filter(|one| one.extension().is_some_and(|one| one == "md")));
        }
    }
    let pages = with_extension(&["md"]).into_iter().filter(|page| page.starts_with(root().join("docs")));
    let lost: Vec<_> = pages.filter(|page| !seen.contains(page)).collect();
    assert!(lost.is_empty(), "no link leads to {lost:?}");
}

/// Comments, help texts and data files.
#[test]
fn pages_that_the_code_names_exist() {
    let mut wrong = Vec::new();
    let mut checked = 0;
    for path in with_extension(&["rs", "c", "h", "hpp", "cpp", "toml", "txt", "bash"]) {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        for (at, _) in text.match_indices("docs/") {
            let name: String =
                text[at..].chars().take_while(|c| c.is_alphanumeric() || ['/', '-', '_', '.'].contains(c)).collect();
            let name = name.trim_end_matches('.');
            if !name.ends_with(".md") {
                continue;
            }
            checked += 1;
            if !root().join(name).exists() {
                wrong.push(format!("{}: {name}", path.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(checked > 30 && wrong.is_empty(), "these pages do not exist:\n{}", wrong.join("\n"));
}

/// Code moves; the tables of questions and words must follow.
#[test]
fn files_that_the_architecture_names_exist() {
    let crates: Vec<String> = manifests().into_keys().collect();
    let page = Page::read(&root().join("docs/ARCHITECTURE.md"));
    let named = page.code.iter().filter(|code| {
        let (first, rest) = code.split_once('/').unwrap_or_default();
        crates.iter().any(|one| one == first) && !rest.is_empty()
    });
    let (there, lost): (Vec<_>, Vec<_>) = named.partition(|code| root().join("crates").join(code).exists());
    assert!(there.len() > 60 && lost.is_empty(), "docs/ARCHITECTURE.md names files that do not exist: {lost:?}");
}

#[test]
fn the_machine_that_is_documented_loads() {
    let text = fs::read_to_string(root().join("docs/machines.md")).unwrap();
    let example = text.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let machine = Machine::from_toml(example, "docs/machines.md").unwrap();
    assert_eq!((machine.core_types[0].name.as_str(), machine.big().len(), machine.little().len()), ("swift", 2, 4));
}

/// The policies that decide in the kernel, and all others that need no foresight.
#[test]
fn the_page_about_the_kernel_says_which_policy_decides_where() {
    let text = fs::read_to_string(root().join("docs/kernel.md")).unwrap();
    let named = |from: &str, to: &str| {
        let (_, rest) = text.split_once(from).unwrap_or_else(|| panic!("docs/kernel.md lacks: {from}"));
        let names = rest.split_once(to).unwrap().0.split('`').skip(1).step_by(2);
        names.map(str::to_owned).collect::<BTreeSet<_>>()
    };
    let (inside, others): (Vec<_>, Vec<_>) =
        POLICIES.iter().filter(|policy| !policy.foresight).partition(|policy| policy.in_kernel.is_some());
    let names = |policies: Vec<&&Description>| policies.iter().map(|policy| policy.name.to_owned()).collect();
    assert_eq!(named("the default where it can be): ", ". The program"), names(inside), "in the kernel");
    assert_eq!(named("The others need no path in the kernel of their own: ", "\n\n"), names(others), "the others");
}

/// Each crate, the crates of the workspace that it depends on, and those of them that a feature turns on.
fn manifests() -> Manifests {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let Ok(manifest) = fs::read_to_string(folder.join("Cargo.toml")) else { continue };
        let manifest: toml::Table = manifest.parse().unwrap();
        let mut dependencies = [BTreeSet::new(), BTreeSet::new()];
        for (name, of) in manifest.get("dependencies").and_then(toml::Value::as_table).into_iter().flatten() {
            if let Some(name) = name.strip_prefix("evenkeel-") {
                let optional = of.get("optional").and_then(toml::Value::as_bool).unwrap_or(false);
                dependencies[usize::from(optional)].insert(name.to_owned());
            }
        }
        all.insert(folder.file_name().unwrap().to_string_lossy().into_owned(), dependencies);
    }
    all
}

/// The drawing, without what is said beside it.
fn drawing() -> Vec<Vec<String>> {
    let page = Page::read(&root().join("docs/ARCHITECTURE.md"));
    let lines = page.blocks[0].lines().map(|line| line.chars().take(48).collect::<String>());
    let words = |line: String| {
        let words = line.split(|c: char| !c.is_alphanumeric() && c != '-').map(|word| word.trim_matches('-'));
        words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    lines.map(words).collect()
}

#[test]
fn the_drawing_of_the_architecture_has_every_crate_above_what_it_depends_on() {
    let drawing = drawing();
    let line = |name: &str| drawing.iter().position(|line| line.iter().any(|word| word == name));
    let last = |name: &str| drawing.iter().rposition(|line| line.iter().any(|word| word == name));
    let manifests = manifests();
    for name in manifests.keys() {
        let at = line(name).unwrap_or_else(|| panic!("docs/ARCHITECTURE.md does not draw {name}"));
        let all = direct(&manifests, name);
        // One that another dependency brings along needs no arrow.
        for below in all.iter().filter(|one| !all.iter().any(|other| other != *one && reaches(&manifests, other, one)))
        {
            assert!(last(below) > Some(at), "docs/ARCHITECTURE.md: {name} depends on {below}, which stands above it");
        }
    }
}

type Manifests = BTreeMap<String, [BTreeSet<String>; 2]>;

fn direct<'a>(manifests: &'a Manifests, name: &str) -> Vec<&'a String> {
    manifests[name].iter().flatten().collect()
}

fn reaches(manifests: &Manifests, from: &str, to: &str) -> bool {
    from == to || direct(manifests, from).into_iter().any(|next| reaches(manifests, next, to))
}

#[test]
fn the_list_of_crates_has_the_dependencies_of_their_manifests() {
    let text = fs::read_to_string(root().join("crates/README.md")).unwrap();
    let rows: BTreeMap<&str, &str> = text
        .lines()
        .filter_map(|line| {
            let name = line.strip_prefix("| [`")?.split('`').next()?;
            Some((name, line.trim_end_matches('|').rsplit_once('|')?.1.trim()))
        })
        .collect();
    for (name, [always, optional]) in manifests() {
        let list =
            |names: &BTreeSet<String>| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let mut expected = list(&always);
        if !optional.is_empty() {
            expected += &format!("; {} on request", list(&optional));
        }
        assert_eq!(rows.get(name.as_str()), Some(&expected.as_str()), "crates/README.md, {name}");
    }
}
