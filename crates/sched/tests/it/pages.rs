//! Every policy has a section on a page of `docs/policies/`, and the part of it that follows from the code is as the code
//! has it.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use evenkeel_sched::POLICIES;
use evenkeel_sched::policy::{Description, Reads};

const END: &str = "<!-- end -->";

fn begin(policy: &Description) -> String {
    format!("<!-- from the code: {} -->\n", policy.name)
}

/// What the code says of a policy.
fn facts(policy: &Description) -> String {
    let mut text = format!("*{}.*\n\n", capital(policy.summary));
    let _ = writeln!(text, "- Source: {}.", policy.source);
    let hooks: Vec<String> = policy.hooks().map(|hook| format!("`{}`", hook.method())).collect();
    let differs = if hooks.is_empty() { "no hook".to_owned() } else { hooks.join(", ") };
    let _ = writeln!(text, "- Differs from CFS in {differs}.");
    match policy.reads {
        Reads::Nothing => {}
        Reads::Speedups => text += "- Reads speedups, where a host can predict or measure them.\n",
        Reads::Stalls { without } => {
            let _ = writeln!(text, "- Reads counters of stalls; where a host has none, it {without}.");
        }
    }
    if policy.foresight {
        text += "- Must know the future, which only the simulator knows.\n";
    }
    if !policy.knobs.is_empty() {
        text += "\n| knob | default | what it sets |\n| --- | --- | --- |\n";
        for knob in policy.knobs {
            let words = knob.value.words();
            let words = if words.is_empty() { String::new() } else { format!(" (`{}`)", words.join("`, `")) };
            let _ = writeln!(text, "| `{}` | {} | {}{words} |", knob.name, knob.value, knob.summary);
        }
    }
    text
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn pages() -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/policies");
    let entries = fs::read_dir(folder).expect("the pages are there");
    let paths = entries.map(|entry| entry.expect("a page").path());
    paths.map(|path| (path.clone(), fs::read_to_string(path).expect("a page of text"))).collect()
}

#[test]
fn what_the_pages_say_of_a_policy_is_what_its_code_says() {
    let mut wrong = Vec::new();
    for policy in POLICIES.iter().copied() {
        let (begin, name) = (begin(policy), policy.name);
        let page = pages().into_iter().find(|(_, text)| text.contains(&begin));
        let Some((path, text)) = page else {
            wrong.push(format!("{name}: no page of docs/policies/ has a section \"## {name}\" with {begin}{END}"));
            continue;
        };
        let from = text.find(&begin).expect("found before") + begin.len();
        let to = from + text[from..].find(END).unwrap_or_else(|| panic!("{name}: {END} is missing"));
        let headed = text[..from].ends_with(&format!("# {name}\n\n{begin}"));
        if !headed {
            wrong.push(format!("{name}: its section does not begin with its name"));
        }
        if text[from..to] != facts(policy) {
            if std::env::var("SNAPSHOTS").is_ok_and(|word| word == "overwrite") {
                let new = format!("{}{}{}", &text[..from], facts(policy), &text[to..]);
                fs::write(&path, new).expect("the page can be written");
            } else {
                wrong.push(format!("{name}: {} differs; `make golden` writes it:\n{}", path.display(), facts(policy)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_lists_policies_for_users_lists_all() {
    let read = |path: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
        fs::read_to_string(path).expect("a page of text")
    };
    let (readme, run) = (read("README.md"), read("docs/run.md"));
    for policy in POLICIES.iter() {
        let name = policy.name;
        assert!(readme.contains(&format!("`{name}`")), "README.md does not name {name}");
        assert_eq!(
            run.contains(&format!("\n| [`{name}`](")),
            !policy.foresight,
            "docs/run.md, \"Which policy\": {name}"
        );
    }
}
