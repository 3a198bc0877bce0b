//! Figures in the documentation that `evenkeel compare`, `sim` and `train` print.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use assert_cmd::Command;
use evenkeel_model::machines;
use evenkeel_sched::Setup;
use evenkeel_sim::Options;
use evenkeel_workload::format;
use serde_json::Value;

use crate::complaints::fastest;

fn evenkeel(args: &[&str]) -> Value {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("evenkeel"));
    let output = command.args(args).args(["--format", "json"]).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The mean of a metric over seeds and core orders, for each machine and workload under each policy.
type Means = BTreeMap<(String, String, String), f64>;

fn compare(args: &[&str], metric: &str) -> Means {
    let report = evenkeel(&[&["compare"], args].concat());
    let mut all: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for run in report["runs"].as_array().unwrap() {
        let name = |field: &str| run[field].as_str().unwrap().to_owned();
        let key = (name("machine"), name("workload"), name("policy"));
        all.entry(key).or_default().push(run["metrics"][metric].as_f64().unwrap());
    }
    all.into_iter().map(|(key, values)| (key, values.iter().sum::<f64>() / values.len() as f64)).collect()
}

/// The values of a policy over those of another, or over the best of others, case by case.
fn ratios(means: &Means, of: &str, over: impl Fn(&str) -> bool) -> Vec<f64> {
    let cases = means.iter().filter(|((.., policy), _)| policy == of);
    let ratio = |((machine, workload, _), value): (&(String, String, String), &f64)| {
        let others = means.iter().filter(|((m, w, policy), _)| m == machine && w == workload && over(policy));
        value / others.map(|(_, value)| *value).fold(f64::INFINITY, f64::min)
    };
    cases.map(ratio).collect()
}

#[track_caller]
fn says(page: &str, phrase: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = words(&fs::read_to_string(path).unwrap());
    assert!(text.contains(&words(phrase)), "docs/{page} should say: {phrase}");
}

/// The 26 mixes on the four machines of COLAB's evaluation.
fn mixes(policies: &str, metric: &str) -> Means {
    let list = evenkeel(&["workloads"]);
    let mixes = list["mixes"].as_array().unwrap().iter().map(|mix| mix["name"].as_str().unwrap());
    let mixes =
        mixes.filter(|name| ["Sync-", "NSync-", "Comm-", "Comp-", "Rand-"].iter().any(|class| name.starts_with(class)));
    let args = ["--machine", "2B2S,2B4S,4B2S,4B4S", "--policy", policies];
    compare(&mixes.chain(args).collect::<Vec<_>>(), metric)
}

#[test]
fn ready_queues_take_as_long_as_the_page_says() {
    let programs = ["chain", "cholesky", "wavefront", "fork-join", "bodytrack-task", "swaptions-task"];
    let options =
        ["--machine", "odroid-xu3", "--policy", "cfs", "--orders", "declared", "--seeds", "5", "--main", "big"];
    let queues = ["fifo", "steal", "cats", "heft"];
    let columns = queues.map(|queue| compare(&[&programs[..], &options, &["--tasks", queue]].concat(), "makespan_s"));
    for program in programs {
        let cell = |column: &Means| {
            let (_, seconds) = column.iter().find(|((_, workload, _), _)| workload == program).unwrap();
            format!("{:.0}", 1e3 * seconds)
        };
        says("tasks.md", &format!("| `{program}` | {} |", columns.each_ref().map(cell).join(" | ")));
    }
}

#[test]
fn loops_that_are_split_take_as_long_as_the_page_says() {
    let row = |lengths: &[&str], of: &str, machine: &str| {
        let cell = |length: &&str| {
            let [equal, split] = ["", "-split"].map(|split| format!("loop-{length}{split}{of}"));
            let options = ["--machine", machine, "--policy", "eevdf"];
            let means = compare(&[&[equal.as_str(), &split][..], &options].concat(), "makespan_s");
            let seconds = |name: &str| means[&(machine.to_owned(), name.to_owned(), "eevdf".to_owned())];
            format!("{:.2}", seconds(&split) / seconds(&equal))
        };
        lengths.iter().map(cell).collect::<Vec<_>>().join(" | ")
    };
    says("openmp.md", &format!("| 2B2S:1+1 | {} |", row(&["3us", "10us", "100us", "1ms", "10ms"], "", "2B2S:1+1")));
    says("openmp.md", &format!("| 2B2S | | {} | |", row(&["10us", "100us", "1ms"], ":4", "2B2S")));
}

#[test]
fn the_main_thread_matters_as_much_as_the_page_says() {
    let options =
        ["facesim-task", "--machine", "odroid-xu3", "--policy", "cfs", "--orders", "declared", "--seeds", "5"];
    let seconds = |main: &str| {
        let means = compare(&[&options[..], &["--tasks", "fifo", "--main", main]].concat(), "makespan_s");
        means.values().sum::<f64>()
    };
    let (big, default) = (seconds("big"), seconds("default"));
    says("tasks.md", &format!("with `--main big` it takes {big:.1} s instead of {default:.1}"));
}

/// Four threads that do nothing but compute, for some seconds.
const EQUAL: &str = r#"
[[program]]
name = "equal"
phases.compute = { ilp = 2.0, memory_ns = 0 }

[[program.threads]]
name = "worker"
count = 4
do = [{ compute = "6 Ginst" }]
"#;

#[test]
fn equal_threads_progress_as_equally_as_the_page_says() {
    let machine = machines::by_name("2B2S").unwrap();
    let workload = format::load("equal", EQUAL, "equal.toml", None).unwrap();
    let over_ideal = |policy: &str| {
        let options = Options { oracle: true, ..Options::default() };
        let policy = Setup::parse(policy).unwrap().make();
        let outcome = evenkeel_sim::run(&machine, &workload, policy, None, &options, &mut ()).unwrap();
        outcome.makespan.as_secs_f64() / fastest(&machine, &workload, &outcome, machine.all())
    };
    let (equal, fair) = (over_ideal("pfs"), over_ideal("cfs"));
    says("policies/wash.md", &format!("on `2B2S` take {equal:.2} times the ideal time, under CFS {fair:.2} times"));
}

/// The file of a program that docs/machines.md shows.
fn shown(program: &str) -> String {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/machines.md")).unwrap();
    let mut blocks = page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.find(|block| block.contains(&format!("name = \"{program}\"\n"))).unwrap().to_owned()
}

#[test]
fn memory_and_caches_that_are_too_small_cost_as_much_as_the_page_says() {
    let folder = tempfile::tempdir().unwrap();
    let makespans = |files: &[(&str, String)], machines: &[&str]| {
        let paths = files.iter().map(|(name, text)| {
            let path = folder.path().join(name).with_extension("toml");
            fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        });
        let paths: Vec<String> = paths.collect();
        let machines = machines.join(",");
        let mut args: Vec<&str> = paths.iter().map(String::as_str).collect();
        args.extend(["--machine", &machines, "--policy", "eevdf"]);
        compare(&args, "makespan_s")
    };
    let of = |means: &Means, machine: &str, workload: &str| {
        means[&(machine.to_owned(), workload.to_owned(), "eevdf".to_owned())]
    };

    let machines = ["i9-13900k:1+0", "i9-13900k:4+0", "i9-13900k:6+0", "i9-13900k:8+0", "i9-13900k"];
    let triad = makespans(&[("triad", shown("triad"))], &machines);
    let [one, four, six, eight, all] = machines.map(|machine| of(&triad, machine, "triad"));
    says("machines.md", &format!("{one:.1} s on one P core, {four:.2} on four and {six:.2} on six."));
    says("machines.md", &format!("On eight P cores, and on all 24 cores, it takes {eight:.2} s as well"));
    assert!((all - eight).abs() < 0.005, "{all} and {eight} s");

    let one = shown("dictionary");
    let caches = makespans(&[("two", one.repeat(2)), ("dictionary", one)], &["2B2S:2+0"]);
    let [alone, beside] = ["dictionary", "two"].map(|workload| 1e3 * of(&caches, "2B2S:2+0", workload));
    says("machines.md", &format!("how long beside another one of its kind: {alone:.1} and {beside:.1} ms."));
}

#[test]
fn thresholds_of_bias_scheduling_are_those_that_the_page_says() {
    let trained = evenkeel(&["train", "--machine", "x5560-1B3S", "--split", "1.5"]);
    let [starved, offcore] = ["starved", "offcore"].map(|field| trained["thresholds"][field].as_f64().unwrap());
    says("policies/bias.md", &format!("it finds {starved} and {offcore}, where the authors chose 130 and 10"));
}

#[test]
fn eevdf_is_as_near_to_cfs_as_the_page_says() {
    let ratios = ratios(&mixes("cfs,eevdf", "h_antt"), "eevdf", |policy| policy == "cfs");
    let near = ratios.iter().filter(|ratio| (**ratio - 1.0).abs() <= 0.05).count();
    let farthest = ratios.iter().fold(1.0_f64, |most, ratio| most.max(*ratio));
    let phrase = format!(
        "{near} of {} have an H_ANTT within 5 % of CFS's, either way, and the farthest is {:.0} % above it",
        ratios.len(),
        100.0 * (farthest - 1.0)
    );
    says("policies/linux.md", &phrase);
}

#[test]
#[ignore = "every policy on every mix takes a while; `make test-full` runs it"]
fn oracle_is_as_good_a_bound_as_the_page_says() {
    let others = "cfs,eevdf,static,gts,eas,pfs,wash,colab,fcf,bias";
    let of = |oracle: &str, metric| {
        let means = mixes(&format!("{others},{oracle}"), metric);
        let ratios = ratios(&means, oracle, |policy| policy != oracle);
        assert_eq!(ratios.len(), 104);
        let mean = ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64;
        let worst = ratios.iter().fold(0.0_f64, |most, ratio| most.max(*ratio));
        let worse = ratios.iter().filter(|ratio| **ratio > 1.0).count();
        (100.0 * (1.0 - mean.exp()), worse, 100.0 * (worst - 1.0))
    };
    let (less, worse, _) = of("oracle", "h_antt");
    assert_eq!(worse, 0);
    let on = "| H_ANTT of the 26 mixes on 2B2S, 2B4S, 4B2S and 4B4S";
    says("policies/oracle.md", &format!("{on} | {less:.0} % lower on average | none of 104 |"));
    let (less, worse, worst) = of("oracle:goal=makespan", "makespan_s");
    let phrase = format!("| {less:.0} % shorter on average | {worse} of 104, by up to {worst:.0} % |");
    says("policies/oracle.md", &format!("| makespan of the same, `goal=makespan` {phrase}"));
}
