//! What comes out: the JSON fields that `docs/json.md` promises, the same bytes twice, colours only where they belong.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use evenkeel_sched::POLICIES;
use serde_json::Value;

use crate::reproductions;

/// The page that describes the fields.
const PAGE: &str = include_str!("../../../../docs/json.md");

fn evenkeel(args: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("evenkeel"));
    command.args(args).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command
}

fn stdout(args: &[&str]) -> String {
    let output = evenkeel(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&stdout(args)).unwrap()
}

/// An object has exactly these fields, and the page names each.
fn fields(value: &Value, expected: &[&str]) {
    let found: BTreeSet<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(found, expected.iter().copied().collect());
    for field in expected {
        assert!(PAGE.contains(&format!("`{field}`")), "docs/json.md does not describe {field}");
    }
}

const RUN: [&str; 8] = ["workload", "machine", "policy", "order", "seed", "metrics", "programs", "clusters"];
const METRICS: [&str; 13] = [
    "makespan_s",
    "h_antt",
    "h_stp",
    "energy_j",
    "edp",
    "migrations",
    "context_switches",
    "preemptions",
    "wakeup_mean_s",
    "wakeup_max_s",
    "missed_timers",
    "stale_answers",
    "finished_programs",
];

#[test]
fn sim_prints_the_fields_that_are_documented() {
    let report = json(&["sim", "Sync-1", "--machine", "2B2S", "--policy", "colab", "--format", "json"]);
    fields(&report, &["runs", "events", "seconds"]);
    assert_eq!(report["runs"].as_array().unwrap().len(), 1);
    let run = &report["runs"][0];
    fields(run, &RUN);
    fields(&run["metrics"], &METRICS);
    assert_eq!(run["order"], "declared");
    for program in run["programs"].as_array().unwrap() {
        fields(program, &["name", "turnaround_s"]);
    }
    // What the metrics claim about each other.
    let metric = |name: &str| run["metrics"][name].as_f64().unwrap();
    assert!((metric("edp") - metric("energy_j") * metric("makespan_s")).abs() <= 1e-9 * metric("edp"));
    let last = run["programs"].as_array().unwrap().iter().map(|program| program["turnaround_s"].as_f64().unwrap());
    assert_eq!(last.fold(0.0, f64::max), metric("makespan_s"));
    assert!(metric("h_antt") >= 1.0, "two programs on half the big cores are no faster than each alone on all");
    assert_eq!(metric("finished_programs"), 2.0);
}

#[test]
fn compare_runs_the_whole_product_in_the_order_given_with_the_baseline_added() {
    let args = ["compare", "Comp-1", "Sync-1", "--machine", "2B2S,2B4S", "--policy", "wash", "--seeds", "2"];
    let report = json(&[&args[..], &["--format", "json"]].concat());
    fields(&report, &["runs", "events", "seconds", "headline", "effects"]);
    let effects = report["effects"].as_array().unwrap();
    assert_eq!(effects.len(), 4 + 1, "workloads on machines, then all");
    for (position, effect) in effects.iter().enumerate() {
        fields(effect, &["workload", "machine", "policy", "against", "h_antt", "h_stp", "energy_j", "orders"]);
        for (order, name) in effect["orders"].as_array().unwrap().iter().zip(["big-first", "little-first"]) {
            fields(order, &["order", "h_antt", "h_stp", "energy_j"]);
            assert_eq!(order["order"], name);
        }
        fields(&effect["h_antt"], &["effect", "low", "high", "seeds"]);
        assert_eq!((&effect["policy"], &effect["against"]), (&"wash".into(), &"cfs".into()));
        assert_eq!((effect["workload"].is_null(), &effect["h_antt"]["seeds"]), (position == 4, &2.into()));
    }
    let runs = report["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2 * 2 * 2 * 2 * 2, "workloads, machines, policies, orders, seeds");
    let name = |run: &Value| {
        let text = |field: &str| run[field].as_str().unwrap().to_string();
        format!("{} {} {} {} {}", text("workload"), text("machine"), text("policy"), text("order"), run["seed"])
    };
    let names: Vec<String> = runs.iter().map(name).collect();
    assert_eq!(names[0], "Comp-1 2B2S cfs big-first 1");
    assert_eq!(names[1], "Comp-1 2B2S cfs big-first 2");
    assert_eq!(names[2], "Comp-1 2B2S cfs little-first 1");
    assert_eq!(names[4], "Comp-1 2B2S wash big-first 1");
    assert_eq!(names[8], "Comp-1 2B4S cfs big-first 1");
    assert_eq!(names[31], "Sync-1 2B4S wash little-first 2");
}

#[test]
fn train_writes_a_predictor_and_prints_how_good_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("predictor.toml");
    let report = json(&["train", "--machine", "2B4S", "-o", path.to_str().unwrap(), "--format", "json"]);
    fields(&report, &["machine", "models", "thresholds"]);
    assert_eq!(report["models"].as_array().unwrap().len(), 2, "counters of a big and of a little core");
    for model in report["models"].as_array().unwrap() {
        let names = ["observed_on", "faster", "slower", "intercept", "terms", "mean_error", "programs"];
        fields(model, &names);
        fields(&model["terms"][0], &["counter", "weight"]);
        fields(&model["programs"][0], &["name", "speedup", "predicted"]);
        assert_eq!(model["programs"].as_array().unwrap().len(), 15);
        assert!(model["mean_error"].as_f64().unwrap() < 0.25, "{model}");
    }
    let text = std::fs::read_to_string(path).unwrap();
    assert_eq!(evenkeel_model::Predictor::from_toml(&text, "p").unwrap().models().count(), 2);
}

/// A command takes what another one prints.
#[test]
fn train_finds_thresholds_for_bias() {
    let thresholds = &json(&["train", "--machine", "2B2S", "--split", "1.5", "--format", "json"])["thresholds"];
    fields(thresholds, &["policy", "split", "starved", "offcore", "programs"]);
    assert_eq!(thresholds["split"], 1.5);
    let programs = thresholds["programs"].as_array().unwrap();
    programs.iter().for_each(|program| fields(program, &["name", "speedup", "starved", "offcore", "wrong_on"]));
    assert_eq!(programs.len(), 29, "SPEC CPU2006");
    let policy = thresholds["policy"].as_str().unwrap();
    stdout(&["sim", "soplex-hmmer-1", "--machine", "2B2S", "--policy", policy]);
    let middle = &json(&["train", "--machine", "2B2S", "--format", "json"])["thresholds"]["split"];
    assert!(middle.as_f64().unwrap() > 1.5, "{middle}");
}

#[test]
fn reproduce_prints_every_published_row_in_the_fields_that_are_documented() {
    let report = reproductions::of("colab");
    fields(
        report,
        &["experiment", "headline", "events", "seconds", "summary", "rows", "effects", "separation", "power"],
    );
    let headline = report["headline"].as_str().unwrap();
    assert!(
        headline.starts_with("H_ANTT of colab:own is ") && headline.contains(" lower than that of cfs (95 %"),
        "{headline}"
    );
    for effect in report["effects"].as_array().unwrap() {
        fields(effect, &["set", "workload", "machine", "policy", "against", "metric", "effect", "low", "high"]);
        let [low, middle, high] = ["low", "effect", "high"].map(|field| effect[field].as_f64());
        // Four logarithms are at most 1.5 deviations from their mean, and the interval has 1.59.
        let within = |(low, high): (f64, f64)| (low - 1e-9..high + 1e-9).contains(&middle.unwrap());
        assert_eq!(low.zip(high).map(within), (effect["set"] == "mixes beside others").then_some(true), "{effect}");
    }
    assert!(report["events"].as_u64().unwrap() > 624, "312 experiments in two core orders");
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), include_str!("../../../../experiments/colab.toml").matches("[[row]]").count());
    for row in rows {
        fields(
            row,
            &[
                "id",
                "what",
                "published",
                "simulated",
                "low",
                "high",
                "difference",
                "constant",
                "arithmetic",
                "source",
                "kind",
            ],
        );
        let number = |field: &str| row[field].as_f64().unwrap();
        assert!((number("simulated") - number("published") - number("difference")).abs() < 1e-12, "{row}");
    }
}

#[test]
fn one_paper_alone_gives_what_it_gives_among_all() {
    let but_for_seconds = |mut report: Value| {
        report["seconds"] = Value::Null;
        report
    };
    let alone = json(&["reproduce", "colab", "--format", "json"]);
    assert_eq!(but_for_seconds(alone), but_for_seconds(reproductions::of("colab").clone()));
}

#[test]
fn reproduce_aaws_prints_every_row_and_where_the_time_of_every_kernel_goes() {
    let report = reproductions::of("aaws");
    fields(
        report,
        &[
            "experiment",
            "headline",
            "events",
            "seconds",
            "summary",
            "rows",
            "effects",
            "separation",
            "power",
            "breakdown",
        ],
    );
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), include_str!("../../../../experiments/aaws.toml").matches("[[row]]").count());
    let table_iii = rows.iter().filter(|row| row["source"] == "Table III");
    assert_eq!(table_iii.clone().count(), 88);
    for row in table_iii.filter(|row| row["id"].as_str().unwrap().ends_with("1B7L-IO")) {
        let number = |field: &str| row[field].as_f64().unwrap();
        assert_eq!(row["kind"], "calibration");
        assert!((number("simulated") / number("published") - 1.0).abs() < 0.01, "calibrated: {row}");
    }
    let breakdown = report["breakdown"].as_array().unwrap();
    assert_eq!(breakdown.len(), 22 * (5 * 3 + 3 + 2 + 2), "kernels x techniques x machines");
    for kernel in breakdown {
        let parts = ["serial", "high_parallel", "scarce", "ample", "other_low"];
        let others =
            ["set", "workload", "machine", "policy", "seconds", "energy_j", "mugs_per_minst", "transitions_per_10_us"];
        fields(kernel, &[&others[..], &parts].concat());
        let all: f64 = parts.iter().map(|part| kernel[part].as_f64().unwrap()).sum();
        assert!((all - 1.0).abs() < 1e-9, "{kernel}");
    }
}

#[test]
fn the_same_command_prints_the_same_bytes_but_for_seconds() {
    let once = || {
        let args = ["compare", "Sync-1", "--machine", "2B2S,4B4S", "--policy", "cfs,gts,wash,colab", "--noise"];
        let text = stdout(&[&args[..], &["--format", "json"]].concat());
        text.lines().filter(|line| !line.starts_with("  \"seconds\"")).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(once(), once());
}

#[test]
fn a_part_of_a_machine_and_a_governor_change_what_a_run_takes() {
    let energy = |machine: &str, governor: &str| {
        let args =
            ["sim", "radix", "--policy", "cfs", "--machine", machine, "--governor", governor, "--format", "json"];
        let run = &json(&args)["runs"][0];
        assert_eq!(run["machine"], machine);
        (run["metrics"]["makespan_s"].as_f64().unwrap(), run["metrics"]["energy_j"].as_f64().unwrap())
    };
    let big = energy("odroid-xu3:4+0", "performance");
    let little = energy("odroid-xu3:0+4", "performance");
    let slow = energy("odroid-xu3:4+0", "userspace:400MHz");
    assert!(little.0 > 1.5 * big.0 && little.1 < big.1, "{little:?} and {big:?}");
    let watts = |(seconds, joules): (f64, f64)| joules / seconds;
    assert!(slow.0 > 1.5 * big.0 && watts(slow) < 0.5 * watts(big), "{slow:?} and {big:?}");
}

#[test]
fn lists_print_the_fields_that_are_documented() {
    let machines = json(&["machines", "--format", "json"]);
    fields(&machines["machines"][0], &["name", "description", "clusters"]);
    let cluster = ["name", "core_type", "cores", "capacity", "max_frequency_hz"];
    fields(&machines["machines"][0]["clusters"][0], &cluster);
    let policies = json(&["policies", "--format", "json"]);
    fields(&policies["policies"][0], &["name", "summary", "source", "knobs"]);
    fields(&policies["governors"][0], &["name", "summary", "source"]);
    fields(&policies["techniques"][0], &["name", "summary", "source"]);
    let workloads = json(&["workloads", "--format", "json"]);
    fields(&workloads["programs"][0], &["name", "description", "source", "threads", "max_threads"]);
    fields(&workloads["mixes"][0], &["name", "class", "programs", "threads"]);
    assert_eq!(workloads["programs"].as_array().unwrap().len(), evenkeel_workload::suite::programs().count());
    assert_eq!(workloads["mixes"].as_array().unwrap().len(), evenkeel_workload::mix::mixes().count());
}

/// A policy that must know the future schedules no real kernel.
#[test]
fn every_policy_for_real_kernels_is_listed_with_where_it_can_decide() {
    let listed = json(&["scx", "--list", "--format", "json"]);
    fields(&listed, &["policies"]);
    let listed = listed["policies"].as_array().unwrap();
    listed.iter().for_each(|policy| fields(policy, &["name", "in_kernel", "summary"]));
    let found = listed.iter().map(|policy| (policy["name"].as_str().unwrap(), policy["in_kernel"].as_bool().unwrap()));
    let live = POLICIES.iter().filter(|policy| !policy.foresight);
    let expected: Vec<_> = live.map(|policy| (policy.name, policy.in_kernel.is_some())).collect();
    assert_eq!(found.collect::<Vec<_>>(), expected);
    let text = stdout(&["scx", "--list"]);
    // Behind the heading.
    let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows.len(), expected.len(), "{text}");
    for (row, (name, in_kernel)) in rows.iter().zip(expected) {
        let place = if in_kernel { ["in", "the", "kernel"] } else { ["in", "this", "process"] };
        assert_eq!((row[0], &row[1..4]), (name, &place[..]), "{text}");
    }
}

/// Two threads that never end, and a key that does not exist.
const RT_APP: &str = r#"{
    "tasks": {
        "busy": { "loop": -1, "run": 5000, "timer": { "ref": "tick", "period": 16000 } },
        "other": { "loop": -1, "run": 2000, "sleep": 1000, "colour": 3 }
    },
    "global": { "duration": 1, "calibration": "CPU0" }
}"#;

#[test]
fn rt_app_files_run_until_their_duration_and_warn_once_on_standard_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two.json");
    std::fs::write(&path, RT_APP).unwrap();
    let args =
        ["compare", path.to_str().unwrap(), "--machine", "odroid-xu3", "--policy", "cfs,gts", "--format", "json"];
    let output = evenkeel(&args).output().unwrap();
    let warnings = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{warnings}");
    assert_eq!(warnings.matches("colour").count(), 1, "{warnings}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    for run in report["runs"].as_array().unwrap() {
        assert_eq!(run["metrics"]["makespan_s"], 1.0);
        assert_eq!(run["metrics"]["finished_programs"], 0);
        assert_eq!(run["programs"][0]["turnaround_s"], Value::Null);
        assert!(run["metrics"]["h_antt"].as_f64().unwrap() > 0.0, "by the work done");
    }
}

#[test]
fn colours_are_for_terminals_and_no_color_takes_them_away() {
    let args = ["compare", "Sync-1", "--machine", "2B2S", "--policy", "cfs,colab"];
    let text = |name: &str| {
        let output = evenkeel(&args).env(name, "1").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(!stdout(&args).contains('\u{1b}'), "a pipe is no terminal");
    assert!(text("CLICOLOR_FORCE").contains("\u{1b}[1m"), "the best is bold");
    assert!(!text("NO_COLOR").contains('\u{1b}'));
}

/// Runs a command that writes a file into a folder of its own, and gives back the file.
fn written(args: &[&str], flag: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("evenkeel"));
    command.current_dir(folder.path()).args(args).args([flag, "file"]);
    command.assert().success();
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing but the file is left");
    std::fs::read(folder.path().join("file")).unwrap()
}

fn page(args: &[&str]) -> String {
    let page = String::from_utf8(written(args, "--html")).unwrap();
    assert_eq!(page, String::from_utf8(written(args, "--html")).unwrap(), "the same bytes");
    // The namespace of SVG is a name and no address.
    let others = page.replace("http://www.w3.org/2000/svg", "");
    for outside in ["http://", "https://", "src=", "<link", "@import"] {
        assert!(!others.contains(outside), "a page needs nothing from outside: {outside}");
    }
    page
}

#[test]
fn the_page_of_a_reproduction_holds_every_published_row() {
    let page = page(&["reproduce", "colab"]);
    for row in reproductions::of("colab")["rows"].as_array().unwrap() {
        assert!(page.contains(&format!("id=\"{}\"", row["id"].as_str().unwrap())), "{row}");
    }
}

#[test]
fn the_page_of_a_comparison_shows_every_core_under_every_policy() {
    let page = page(&["compare", "Sync-1", "ferret", "--machine", "2B2S", "--policy", "cfs,colab"]);
    let timelines: Vec<serde_json::Value> = (page.split("<script type=\"application/json\">").skip(1))
        .map(|rest| serde_json::from_str(rest.split("</script>").next().unwrap()).unwrap())
        .collect();
    assert_eq!(timelines.len(), 2, "one a workload");
    for timeline in &timelines {
        for (run, policy) in timeline["runs"].as_array().unwrap().iter().zip(["cfs", "colab"]) {
            assert_eq!((run["title"].as_str().unwrap(), run["cores"].as_array().unwrap().len()), (policy, 4));
            assert!(run["spans"]["count"].as_u64().unwrap() > 100, "spans");
        }
    }
    assert!(timelines[1]["runs"][0]["threads"].to_string().contains("rank"), "threads are named");
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
}

#[test]
fn a_trace_is_written_whole() {
    let trace = written(&["sim", "Sync-1", "--machine", "2B2S", "--policy", "wash"], "--trace");
    assert!(trace.len() > 10_000 && trace[0] == 0x0a, "a Trace message of many packets: {} bytes", trace.len());
}

#[test]
fn a_predictor_file_gives_what_training_afresh_gives_and_must_fit_the_machine() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("predictor.toml");
    let path = path.to_str().unwrap();
    stdout(&["train", "--machine", "2B2S", "-o", path]);
    let fresh = ["sim", "Sync-2", "--machine", "2B2S", "--policy", "colab"];
    let with_file = [&fresh[..], &["--predictor", path]].concat();
    assert_eq!(stdout(&with_file), stdout(&fresh));
    let bundled = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machines/rk3588.toml"));
    let own = folder.path().join("own.toml");
    std::fs::write(&own, bundled.unwrap().replace("name = \"rk3588\"", "name = \"board\"")).unwrap();
    for (machine, named) in [("rk3588", "rk3588"), (own.to_str().unwrap(), "FILE")] {
        let other = ["sim", "Sync-2", "--machine", machine, "--policy", "colab", "--predictor", path];
        let output = evenkeel(&other).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains(&format!("evenkeel train --machine {named} -o OTHER.toml")), "{error}");
    }
}

/// A machine with a big core, a little one, and frequencies of both.
fn two_kinds(folder: &Path) -> PathBuf {
    let cpus = folder.join("sys/devices/system/cpu");
    for (cpu, capacity, khz) in [("cpu0", "1024", "666000"), ("cpu1", "512", "333000")] {
        std::fs::create_dir_all(cpus.join(cpu).join("cpufreq")).unwrap();
        std::fs::write(cpus.join(cpu).join("cpu_capacity"), capacity).unwrap();
        for (file, khz) in [("cpuinfo_min_freq", "100000"), ("cpuinfo_max_freq", khz)] {
            std::fs::write(cpus.join(cpu).join("cpufreq").join(file), khz).unwrap();
        }
    }
    std::fs::write(cpus.join("online"), "0-1").unwrap();
    folder.to_owned()
}

#[test]
fn topology_prints_this_machine_or_another_and_saves_it() {
    let report = json(&["topology", "--format", "json"]);
    let names = ["origin", "model", "kinds", "clusters", "cpus", "power", "sustained", "notes", "abilities"];
    fields(&report, &names);
    fields(&report["kinds"][0], &["name", "design", "capacity", "source", "cpus"]);
    fields(&report["clusters"][0], &["cpus", "shared"]);
    let cpu = ["id", "kind", "cluster", "siblings", "node", "frequencies_hz", "base_hz", "powers"];
    fields(&report["cpus"][0], &cpu);
    fields(&report["abilities"][0], &["name", "available", "detail", "remedy", "without"]);
    assert_eq!(report["kinds"][0]["capacity"], 1024);

    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../topology/tests/it/files/big-little.dtb");
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("board.toml");
    let save = ["topology", file, "--ratio", "4", "--save", saved.to_str().unwrap()];
    let text = stdout(&save);
    assert!(text.contains("cortex-a76"), "{text}");
    let powers = "big 0.23 to 1.00 W, little 0.10 to 0.37 W (from devicetree (dynamic-power-coefficient))";
    assert!(text.contains(powers), "{text}");
    let report = json(&["topology", file, "--format", "json"]);
    assert!(report["abilities"].is_null() && report["kinds"][1]["capacity"] == 398, "{report}");
    assert_eq!(report["cpus"][2]["powers"][1], serde_json::json!({"frequency_hz": 2_400_000_000_u64, "watts": 0.9984}));
    assert!(report["sustained"].is_null(), "{report}");
    let tree = two_kinds(folder.path());
    let powers = |args: &[&str]| {
        let named = [("EVENKEEL_SYSFS", tree.to_str().unwrap()), ("EVENKEEL_POWERS", "aaws-4B4L")];
        String::from_utf8(evenkeel(args).envs(named).output().unwrap().stdout).unwrap()
    };
    for args in [&["topology"][..], &["topology", "--big", "1", "--little", "0"]] {
        let text = powers(args);
        assert!(text.contains("a busy core uses: big ") && text.contains(" W (from machine file)"), "{text}");
    }
    // What is saved is a machine of the simulator, and so is the file itself.
    let text = std::fs::read_to_string(&saved).unwrap();
    let machine = evenkeel_model::Machine::from_toml(&text, "board.toml").unwrap();
    assert_eq!((machine.name.as_str(), machine.capacity(evenkeel_model::CoreTypeId(1))), ("board", 256));
    let report = json(&["sim", "Sync-1", "--machine", file, "--policy", "cfs", "--format", "json"]);
    assert_eq!(report["runs"][0]["machine"], "big-little");
}
