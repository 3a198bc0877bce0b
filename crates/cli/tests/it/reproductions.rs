//! The evaluations of the five papers, simulated once for all tests: every row as it was, to the last digit, and the figures
//! that the documentation quotes. `make golden` accepts new ones.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use assert_cmd::Command;
use serde_json::Value;
use snapbox::{assert_data_eq, file};

static ALL: LazyLock<Value> = LazyLock::new(|| {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("evenkeel"));
    let output = command.args(["reproduce", "all", "--format", "json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
});

/// What `evenkeel reproduce all --format json` prints of each paper.
pub fn all() -> &'static [Value] {
    ALL["experiments"].as_array().unwrap()
}

/// Of one paper.
pub fn of(name: &str) -> &'static Value {
    all().iter().find(|report| report["experiment"] == name).unwrap()
}

fn rows(report: &Value) -> &[Value] {
    report["rows"].as_array().unwrap()
}

/// The figures of a summary, those of the null models with dots in their names.
fn summary(report: &Value) -> BTreeMap<String, f64> {
    let mut figures = BTreeMap::new();
    let mut open = vec![(String::new(), &report["summary"])];
    while let Some((name, value)) = open.pop() {
        match value {
            Value::Object(parts) => {
                open.extend(parts.iter().map(|(part, value)| (format!("{name}.{part}"), value)));
            }
            value => {
                figures.insert(name.trim_start_matches('.').to_owned(), value.as_f64().unwrap());
            }
        }
    }
    figures
}

fn number(value: &Value) -> String {
    value.as_f64().map_or_else(|| value.to_string(), |number| format!("{number:.9}"))
}

#[test]
fn every_row_of_every_paper_is_the_known_one() {
    let mut text = String::new();
    for report in all() {
        let _ = writeln!(text, "{}: {} events", report["experiment"], report["events"]);
        // In the order of the names, and to nine decimals: both are JSON's to choose.
        for (name, value) in summary(report) {
            let _ = writeln!(text, "{name}: {value:.9}");
        }
        for row in rows(report) {
            let [id, kind] = ["id", "kind"].map(|field| row[field].as_str().unwrap());
            let [published, simulated, constant, arithmetic] =
                ["published", "simulated", "constant", "arithmetic"].map(|field| number(&row[field]));
            let _ = writeln!(
                text,
                "{id} ({kind}): published {published}, simulated {simulated}, constant {constant}, arithmetic {arithmetic}"
            );
        }
        for gap in report["separation"].as_array().unwrap() {
            let [policy, against] = ["policy", "against"].map(|field| gap[field].as_str().unwrap());
            let [effect, low, high] = ["effect", "low", "high"].map(|field| number(&gap[field]));
            let _ = writeln!(text, "{policy} against {against}: {effect}, from {low} to {high}");
        }
        text.push('\n');
    }
    assert_data_eq!(text, file!["golden/reproductions.txt"]);
}

/// A file of the repository.
fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

/// Names of the papers in the table, in its order.
const PAPERS: [(&str, &str); 5] = [
    ("colab", "COLAB, CGO 2020"),
    ("odroid", "Exploiting asymmetric multi-core processors with flexible system software"),
    ("wash", "Portable performance on asymmetric multicore processors, CGO 2016"),
    ("bias", "Bias scheduling, EuroSys 2010"),
    ("aaws", "Asymmetry-aware work-stealing runtimes, ISCA 2016"),
];

#[test]
fn the_table_of_reproductions_is_what_their_rows_add_up_to() {
    let mut table = String::from(
        "| experiment | paper | results | right sign | within a third | close | within 10 % | rank correlation | one effect for all: close | \
         arithmetic: close | neither close | of these close here |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    let line = |table: &mut String, names: &str, sums: &BTreeMap<String, f64>, correlation: &str| {
        let share = |part: &str, whole: &str| format!("{:.0} %", 100.0 * sums[part] / sums[whole]);
        let [sign, third] = [("sign", "compared"), ("within_a_third", "effects")].map(|(a, b)| share(a, b));
        let [close, tenth, constant, arithmetic] =
            ["close", "within_ten_percent", "null.constant.close", "null.arithmetic.close"]
                .map(|part| share(part, "results"));
        let _ = writeln!(
            table,
            "| {names} | {} | {sign} | {third} | {close} | {tenth} |{correlation} | {constant} | {arithmetic} | {} | {} |",
            sums["results"],
            sums["null.left"],
            share("null.left_close", "null.left"),
        );
    };
    let mut sums = BTreeMap::new();
    for (name, paper) in PAPERS {
        if name == "aaws" {
            line(&mut table, "the four above | ", &sums, "");
        }
        let own = summary(of(name));
        line(&mut table, &format!("`{name}` | {paper}"), &own, &format!(" {:.2}", own["rank_correlation"]));
        for (key, value) in own {
            *sums.entry(key).or_default() += value;
        }
    }
    line(&mut table, "all | ", &sums, "");
    let within = format!("(`within`: {} results, of which {} are close)", sums["tolerant"], sums["tolerant_close"]);
    assert!(fs::read_to_string(path("docs/reproductions.md")).unwrap().contains(&within), "not in the page: {within}");
    let table = table.replace(" |  |", " | |");
    generated("docs/reproductions.md", "the summaries of `evenkeel reproduce all --format json`", &table);
}

/// What stands between two comments in a page is generated.
pub fn generated(page: &str, from: &str, expected: &str) {
    let (begin, end) = (format!("<!-- generated from {from} -->\n"), "<!-- end of what is generated -->\n");
    let text = fs::read_to_string(path(page)).unwrap();
    let from = text.find(&begin).unwrap_or_else(|| panic!("{page} has no `{}`", begin.trim())) + begin.len();
    let to = from + text[from..].find(end).unwrap();
    if text[from..to] == *expected {
        return;
    }
    assert!(
        std::env::var("SNAPSHOTS").is_ok_and(|mode| mode == "overwrite"),
        "{page} has other figures; `make golden` accepts these:\n{expected}"
    );
    fs::write(path(page), format!("{}{expected}{}", &text[..from], &text[to..])).unwrap();
}

/// Phrases of the documentation: `figures.txt` explains.
#[test]
fn figures_in_the_text_are_those_of_the_rows() {
    let mut page = (String::new(), String::new());
    let mut wrong = String::new();
    let mut checked = 0;
    for line in include_str!("figures.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if [".md", ".toml"].iter().any(|end| line.ends_with(end)) {
            page = (line.to_owned(), words(&fs::read_to_string(path(line)).unwrap()));
            continue;
        }
        let expected = words(&filled(line));
        checked += 1;
        if !page.1.contains(&expected) {
            let _ = writeln!(wrong, "{}: {expected}", page.0);
        }
    }
    assert!(checked > 30 && wrong.is_empty(), "these phrases are not in the documentation:\n{wrong}");
}

/// Without line breaks.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A phrase with the values of what is in braces.
fn filled(phrase: &str) -> String {
    let mut text = String::new();
    let mut rest = phrase;
    while let Some((before, more)) = rest.split_once('{') {
        let (value, after) = more.split_once('}').unwrap();
        text += before;
        text += &figure(value);
        rest = after;
    }
    text + rest
}

/// `[published] PAPER/ROW FORMAT`, `effect PAPER/SET MACHINE POLICY WORKLOADS FORMAT`, `gap|low|high PAPER/POLICY FORMAT`.
fn figure(value: &str) -> String {
    let (what, format) = value.rsplit_once(' ').unwrap();
    let number = match what.split_once(' ') {
        Some(("effect", effect)) => effects(effect),
        Some(("gap", name)) => gap(name, "effect"),
        Some((end @ ("low" | "high"), name)) => gap(name, end),
        Some(("published", name)) => row(name, "published"),
        _ => row(what, "simulated"),
    };
    let number = number.abs();
    match format.strip_prefix('%') {
        Some(digits) => format!("{:.*}", digits.parse().unwrap_or(0), 100.0 * number),
        None => format!("{:.*}", format.trim_start_matches('.').parse().unwrap(), number),
    }
}

fn row(name: &str, field: &str) -> f64 {
    let (paper, id) = name.split_once('/').unwrap();
    let row = rows(of(paper)).iter().find(|row| row["id"] == id);
    row.unwrap_or_else(|| panic!("there is no row {name}"))[field].as_f64().unwrap()
}

/// A paper's policy against another one: the `effect`, or the `low` or `high` end of its interval.
fn gap(name: &str, field: &str) -> f64 {
    let (paper, against) = name.split_once('/').unwrap();
    let gap = of(paper)["separation"].as_array().unwrap().iter().find(|gap| gap["against"] == against);
    gap.unwrap_or_else(|| panic!("there is no gap {name}"))[field].as_f64().unwrap()
}

/// Of a workload, or the `mean`, the `least` or the `most` of several (`mean:a,b`), or of all (`mean`).
fn effects(of_what: &str) -> f64 {
    let [name, machine, policy, workloads] = of_what.split(' ').collect::<Vec<_>>()[..] else { panic!("{of_what}") };
    let (paper, set) = name.split_once('/').unwrap();
    let all = of(paper)["effects"].as_array().unwrap();
    let (sum_up, list) = match workloads.split_once(':') {
        Some((sum_up @ ("mean" | "least" | "most"), list)) => (sum_up, list),
        _ if workloads == "mean" => ("mean", ""),
        _ => ("mean", workloads),
    };
    let fits = |one: &&Value| {
        let is = |field: &str, value: &str| one[field] == value;
        let listed = list.is_empty() || list.split(',').any(|name| is("workload", name));
        is("set", set) && is("machine", machine) && is("policy", policy) && listed
    };
    let values: Vec<f64> = all.iter().filter(fits).map(|one| one["effect"].as_f64().unwrap()).collect();
    assert!(
        !values.is_empty() && (list.is_empty() || list.split(',').count() == values.len()),
        "no effects: {of_what}"
    );
    let sizes = values.iter().map(|value| value.abs());
    match sum_up {
        "least" => sizes.fold(f64::INFINITY, f64::min),
        "most" => sizes.fold(0.0, f64::max),
        _ => values.iter().sum::<f64>() / values.len() as f64,
    }
}

/// What the page says of it, although its effect is not 0.
#[test]
fn one_policy_is_not_told_apart_from_colab() {
    let [low, high] = ["low", "high"].map(|end| gap("colab/eas", end));
    assert!(low <= 0.0 && high >= 0.0, "{low} to {high}");
}

/// Figures are checked without their signs; these are of what others do better than a paper's policy, and of what they do worse.
#[test]
fn what_separates_policies_has_the_signs_that_the_page_says() {
    let longer = ["colab/pfs", "colab/gts", "colab/fcf", "colab/colab", "wash/fcf", "wash/colab"];
    for name in longer.into_iter().chain(["odroid/fcf", "odroid/colab", "odroid/pfs", "bias/fcf", "bias/colab"]) {
        assert!(gap(name, "low") > 0.0, "{name}: {}", gap(name, "low"));
    }
    for name in ["colab/cfs", "colab/wash", "wash/bind-vm", "wash/gts", "wash/cfs", "odroid/gts", "odroid/static"] {
        assert!(gap(name, "high") < 0.0, "{name}: {}", gap(name, "high"));
    }
    let next = of("bias")["separation"].as_array().unwrap()[0]["against"].as_str().unwrap();
    assert_eq!(next, "colab", "the next best policy");
}

/// What the page of the policy says under "Loses".
#[test]
fn colab_loses_to_cfs_in_none_of_its_results() {
    let results = rows(of("colab")).iter().filter_map(|row| {
        let what = row["id"].as_str().unwrap().strip_suffix("-antt-colab-vs-cfs")?;
        Some((row["simulated"].as_f64().unwrap(), what))
    });
    let mut results: Vec<_> = results.collect();
    results.sort_by(|a, b| b.0.total_cmp(&a.0));
    assert!(results[0].0 < 0.0, "{results:?}");
    assert_eq!([results[0].1, results[1].1], ["dedup", "freqmine"], "gain least");
}

/// The command under "Whose reading".
#[test]
fn the_defaults_of_colab_are_as_close_as_the_page_says() {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("evenkeel"));
    command.args(["reproduce", "colab", "--with", "colab:own=colab", "--format", "json"]);
    let defaults: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    let [own, defaults] = [of("colab"), &defaults].map(|report| {
        let turnaround = rows(report).iter().find(|row| row["id"] == "all-antt-colab-vs-cfs").unwrap();
        let percent = -100.0 * turnaround["simulated"].as_f64().unwrap();
        (report["summary"]["close"].as_u64().unwrap(), report["summary"]["results"].as_u64().unwrap(), percent)
    });
    let expected = format!(
        "With COLAB's defaults {} of its {} rows are close instead of {}, and turnaround over all mixes is {:.0} instead of {:.0} % lower than under CFS:",
        defaults.0, defaults.1, own.0, defaults.2, own.2
    );
    let page = words(&fs::read_to_string(path("docs/reproductions.md")).unwrap());
    assert!(page.contains(&expected), "not in the page: {expected}");
}

/// The command under "Big cores that take over at once", and the notes that say the same.
#[test]
fn without_takeovers_colab_gains_as_little_as_the_page_says() {
    let groups = [("Sync", 4), ("NSync", 4), ("Comm", 4), ("Comp", 4), ("Rand", 10)];
    let mixes = groups.iter().flat_map(|(group, count)| (1..=*count).map(move |number| format!("{group}-{number}")));
    let own = "colab:blame=all:deal=turn";
    let policies = ["cfs".to_owned(), own.to_owned(), format!("{own}:takeover=blamed"), format!("{own}:takeover=none")];
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("evenkeel"));
    command.arg("compare").args(mixes).args(["--machine", "2B2S,2B4S,4B2S,4B4S", "--policy", &policies.join(",")]);
    let output = command.output().unwrap();
    let table = String::from_utf8(output.stdout).unwrap();
    let (_, means) =
        table.split_once("Mean effect against cfs over 104 combinations").unwrap_or_else(|| panic!("{table}"));
    let [all, blamed, none] = [1, 2, 3].map(|policy| {
        let lines = means.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let turnaround =
            lines.filter(|words| words.first() == Some(&policies[policy].as_str())).map(|words| words[1]).next_back();
        turnaround.unwrap().to_owned()
    });
    let page = words(&fs::read_to_string(path("docs/reproductions.md")).unwrap());
    let expected = format!(
        "turnaround changes by {all} %, by {blamed} % if big cores take over only threads that others wait for (`takeover=blamed`), and by {none} % if they take none"
    );
    assert!(page.contains(&expected), "not in the page: {expected}");
    let notes = fs::read_to_string(path("experiments/colab.toml")).unwrap();
    let said: Vec<&str> = notes.split("with takeover=none it ").skip(1).collect();
    assert_eq!(said.len(), 5);
    assert!(
        none.parse::<f64>().unwrap() > -0.5 && said.iter().all(|note| note.starts_with("gains nothing over all mixes")),
        "{none}"
    );
}

/// A simulated amount over the published one, less one, of the rows of the work-stealing paper that `keep` accepts.
fn misses(keep: impl Fn(&str) -> bool) -> Vec<(String, f64)> {
    let all = rows(of("aaws")).iter().map(|row| {
        let [published, simulated] = ["published", "simulated"].map(|field| row[field].as_f64().unwrap());
        (row["id"].as_str().unwrap().to_owned(), simulated / published - 1.0)
    });
    all.filter(|(id, _)| keep(id)).collect()
}

#[test]
fn kernels_and_model_meet_the_paper_as_the_page_says() {
    let page = words(&fs::read_to_string(path("docs/reproductions.md")).unwrap());
    let says = |phrase: String| assert!(page.contains(&phrase), "docs/reproductions.md should say: {phrase}");
    let kernels = misses(|id| id.starts_with("t3-") && id.ends_with("-4B4L-IO"));
    let near = kernels.iter().filter(|(_, miss)| miss.abs() <= 0.1).count();
    says(format!("{near} of {} kernels are within 10 %", kernels.len()));
    let fast = ["bfs-d", "mis", "sarray", "sptree"].map(|name| {
        let id = format!("t3-{name}-4B4L-IO");
        kernels.iter().find(|(of, _)| *of == id).unwrap().1
    });
    let [least, most] = [f64::min, f64::max].map(|pick| 100.0 * fast.into_iter().reduce(pick).unwrap());
    says(format!("*bfs-d, mis, sarray, sptree on 4B4L are {least:.0} to {most:.0} % too fast.*"));
    let stated = misses(|id| id.starts_with("model-stated-") && id.contains("volts"));
    let most = stated.iter().fold(0.0_f64, |most, (_, miss)| most.max(miss.abs()));
    says(format!("voltages up to {:.0} % off its published ones", 100.0 * most));
    let matched = misses(|id| id.starts_with("model-matched-"));
    let off: Vec<_> = matched.iter().filter(|(_, miss)| miss.abs() > 0.01).map(|(id, _)| id.as_str()).collect();
    assert_eq!(off, ["model-matched-0B1L-feasible-over-one-little"], "all others within 1 %, as the page says");
}
